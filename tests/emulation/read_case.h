// Reads simulation cases from standard input, as test_kernels.py and test_sanitizers.py write them.
#pragma once

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "congestion/program.h"
#include "core/engine.h"
#include "portable_loops.h"

namespace jf_read {

using jf::Tick;

template <class T>
T read() {
  T value{};
  if (!(std::cin >> value)) throw std::runtime_error("the case is cut short");
  return value;
}

template <class T>
std::vector<T> read_many() {
  std::vector<T> values(read<std::size_t>());
  for (T& value : values) value = read<T>();
  return values;
}

inline jf::HostDelay read_delay() {
  const auto kind = read<std::string>();
  const auto last = read<std::uint64_t>();
  const auto make = [&kind]() -> jf::HostDelay {
    if (kind == "constant") return jf::HostDelay::constant(read<Tick>());
    if (kind == "smooth") return jf::HostDelay::smooth(read_many<std::uint64_t>());
    if (kind == "samples") return jf::HostDelay::samples(read_many<Tick>());
    if (kind == "pieces") {
      const auto edges = read_many<std::uint64_t>();
      const auto top = read_many<Tick>(), drop = read_many<Tick>();
      return jf::HostDelay::pieces(edges, top, drop);
    }
    if (kind != "counts") throw std::runtime_error("unknown kind of delay: " + kind);
    const auto value = read<Tick>();
    return jf::HostDelay::counts(value, read_many<std::uint64_t>());
  };
  return make().with_last(last);
}

inline jf::Scope read_scope() {
  jf::Scope s;
  s.node_ranks = read<std::int64_t>();
  s.in_compute = read<bool>();
  s.in_communication = read<bool>();
  s.window.begin = read<Tick>();
  s.window.end = read<Tick>();
  for (const auto acts : read_many<int>()) s.hosts.push_back(static_cast<std::uint8_t>(acts));
  s.holds = read<Tick>();
  if (!read<bool>()) return s;
  const jf::HostDelay on = read_delay(), off = read_delay();
  const auto share = read<std::uint64_t>();
  const jf::HostDelay busy = read_delay(), idle = read_delay();
  s.bursts = jf::OnAndOff{on, off, {share, busy, idle}, read<std::int64_t>()};
  return s;
}

inline void read_congestion(jf::Program& p) {
  jf::congestion::Program network;
  network.hosts = read<std::uint32_t>();
  network.used = read<std::uint32_t>();
  network.ranks = read<std::uint32_t>();
  network.perturbation = read<std::int32_t>();
  network.set_levels({0}, {}, {}, {});
  const auto m = read_many<std::uint32_t>(), w = read_many<std::uint32_t>(),
             cables = read_many<std::uint32_t>();
  const auto key = read<int>();
  const auto salt = read<std::uint64_t>();
  network.set_fat_tree(m, w, cables, key, salt, read<bool>());
  p.add_congestion(network);
}

inline void read_source(jf::Program& p) {
  const auto role = read<std::string>();
  const jf::Scope scope = read_scope();
  if (role == "periodic") {
    const auto period = read<Tick>(), duration = read<Tick>();
    const bool stationary = read<bool>();
    p.add_periodic(period, duration, stationary, read_many<Tick>(), scope);
  } else if (role == "renewal") {
    const jf::HostDelay gap = read_delay(), duration = read_delay();
    if (!read<bool>()) return p.add_renewal(gap, duration, nullptr, scope);
    jf::Program::Stationary start;
    start.share = read<std::uint64_t>();
    start.busy = read_delay();
    start.idle = read_delay();
    p.add_renewal(gap, duration, &start, scope);
  } else if (role == "trace") {
    const auto begins = read_many<Tick>(), ends = read_many<Tick>();
    const auto length = read<Tick>();
    p.add_trace(begins, ends, length, read_many<Tick>(), scope);
  } else if (role == "traces") {
    std::vector<jf::Program::Recording> recordings(read<std::size_t>());
    for (auto& one : recordings) {
      one.begins = read_many<Tick>();
      one.ends = read_many<Tick>();
      one.length = read<Tick>();
    }
    p.add_traces(recordings, read_many<std::int32_t>(), scope);
  } else if (role == "step") {
    const bool at_send = read<bool>();
    p.add_step(read_delay(), at_send, scope);
  } else if (role == "rank_delay") {
    const bool once = read<bool>();
    p.add_rank_delay(read_delay(), scope.node_ranks, once, scope.hosts);
  } else if (role == "rank_speed") {
    p.add_rank_speed(read_delay(), scope.node_ranks, scope.hosts, scope.holds);
  } else if (role == "message") {
    const auto links = read<std::uint64_t>();
    p.add_message(read_delay(), scope, links);
  } else if (role == "jitter") {
    const auto cost = read<std::int32_t>();
    const auto duration = read<Tick>();
    p.add_jitter(duration, read_many<std::uint64_t>(), scope, cost);
  } else if (role == "weather") {
    const auto cost = read<std::int32_t>();
    const auto way = read<Tick>();
    p.add_weather(read_delay(), scope, way, cost);
  } else if (role == "congestion") {
    read_congestion(p);
  } else {
    throw std::runtime_error("unknown source: " + role);
  }
}

inline jf::Program read_program() {
  jf::Program p;
  p.log2_ranks = read<int>();
  p.rows = read<int>();
  p.one_rank = read<bool>();
  jf::Costs& c = p.costs;
  for (Tick* cost : {&c.send, &c.receive, &c.transit, &c.combine, &c.work, &c.forward, &c.patience,
                     &c.ask, &c.request})
    *cost = read<Tick>();
  p.mirrors = read_many<std::int32_t>();
  p.more_ranks = read<std::int64_t>() - (std::int64_t{1} << p.log2_ranks);
  const std::vector<std::int32_t> words = read_many<std::int32_t>();
  for (std::size_t i = 0; i + 11 <= words.size(); i += 11) {
    const std::int32_t* w = words.data() + i;
    p.steps.push_back({w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10]});
  }
  const std::vector<Tick> costs = read_many<Tick>();
  for (std::size_t i = 0; i + 4 <= costs.size(); i += 4)
    p.message_costs.push_back({costs[i], costs[i + 1], costs[i + 2], costs[i + 3]});
  const std::vector<std::int32_t> messages = read_many<std::int32_t>();
  auto listed = std::make_shared<std::vector<jf::ListedMessage>>();
  for (std::size_t i = 0; i + 3 <= messages.size(); i += 3)
    listed->push_back({messages[i], messages[i + 1], messages[i + 2]});
  p.listed_messages = std::move(listed);
  p.rank_times = std::make_shared<std::vector<Tick>>(read_many<Tick>());
  p.link_times = {read<Tick>()};
  const std::vector<Tick> link_times = read_many<Tick>();
  p.link_times.insert(p.link_times.end(), link_times.begin(), link_times.end());
  const std::vector<Tick> combines = read_many<Tick>();
  for (std::size_t i = 0; i < combines.size(); ++i) p.message_costs[i].combine = combines[i];
  p.finish();
  for (auto sources = read<int>(); sources > 0; --sources) read_source(p);
  return p;
}

inline jf::Request read_request() {
  jf::Request request;
  request.seed = read<std::uint64_t>();
  request.first = read<std::int64_t>();
  request.count = read<std::int64_t>();
  request.full_statistics = read<bool>();
  return request;
}

// Does one case after the other, as long as there are any; each writes a line.
template <class Case>
void run_lines(Case&& run_case) {
  while (std::cin >> std::ws && !std::cin.eof()) {
    try {
      run_case();
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what();
    }
    std::cout << std::endl;
  }
}

}  // namespace jf_read
