// pybind11 bindings of noise sources: adding each kind to a program, draws of delays.

#include "binding_helpers.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace py = pybind11;

namespace jf {
namespace {

// Of each rank, whether a source acts on it; none: on all.
using OnRanks = std::optional<py::array_t<bool, py::array::c_style | py::array::forcecast>>;

ActsOn acts_on(const OnRanks& hosts) {
  if (!hosts) return {};
  return {hosts->data(), hosts->data() + hosts->size()};
}

using Start = std::optional<std::tuple<std::uint64_t, HostDelay, HostDelay>>;
// Times on and off, the start, and how many ranks are on at the same times.
using Bursts =
    std::optional<std::tuple<HostDelay, HostDelay, std::tuple<std::uint64_t, HostDelay, HostDelay>,
                             std::int64_t>>;

std::optional<OnAndOff> on_and_off(const Bursts& given) {
  if (!given) return {};
  const auto& [on, off, start, node_ranks] = *given;
  return OnAndOff{
      on, off, {std::get<0>(start), std::get<1>(start), std::get<2>(start)}, node_ranks};
}

std::vector<Tick> optional_ticks(const std::optional<Ticks>& values) {
  return values ? to_vector<Tick>(*values) : std::vector<Tick>{};
}

void add_periodic(Program& p, Tick period, Tick duration, bool stationary, std::int64_t node_ranks,
                  const std::optional<Ticks>& phases, bool in_compute, bool in_communication,
                  Tick begin, Tick end, const OnRanks& hosts, const Bursts& bursts) {
  p.add_periodic(
      period, duration, stationary, optional_ticks(phases),
      {node_ranks, in_compute, in_communication, {begin, end}, acts_on(hosts), on_and_off(bursts)});
}

void add_renewal(Program& p, const HostDelay& gap, const HostDelay& duration,
                 const Start& stationary, std::int64_t node_ranks, bool in_compute,
                 bool in_communication, Tick begin, Tick end, const OnRanks& hosts,
                 const Bursts& bursts) {
  std::optional<Program::Stationary> start;
  if (stationary)
    start = {std::get<0>(*stationary), std::get<1>(*stationary), std::get<2>(*stationary)};
  p.add_renewal(
      gap, duration, start ? &*start : nullptr,
      {node_ranks, in_compute, in_communication, {begin, end}, acts_on(hosts), on_and_off(bursts)});
}

void add_trace(Program& p, const Ticks& starts, const Ticks& ends, Tick length,
               const std::optional<Ticks>& offsets, std::int64_t node_ranks, bool in_compute,
               bool in_communication, Tick begin, Tick end, const OnRanks& hosts,
               const Bursts& bursts) {
  p.add_trace(
      to_vector<Tick>(starts), to_vector<Tick>(ends), length, optional_ticks(offsets),
      {node_ranks, in_compute, in_communication, {begin, end}, acts_on(hosts), on_and_off(bursts)});
}

using Recordings = std::vector<std::tuple<Ticks, Ticks, Tick>>;

void add_traces(Program& p, const Recordings& recordings,
                const py::array_t<std::int32_t, py::array::c_style>& of_ranks,
                std::int64_t node_ranks, bool in_compute, bool in_communication, Tick begin,
                Tick end, const OnRanks& hosts, const Bursts& bursts) {
  std::vector<Program::Recording> given;
  for (const auto& [starts, ends, length] : recordings)
    given.push_back({to_vector<Tick>(starts), to_vector<Tick>(ends), length});
  p.add_traces(
      given, to_vector<std::int32_t>(of_ranks),
      {node_ranks, in_compute, in_communication, {begin, end}, acts_on(hosts), on_and_off(bursts)});
}

void add_step(Program& p, const HostDelay& delay, bool at_send, std::int64_t node_ranks,
              bool in_compute, bool in_communication, Tick begin, Tick end, const OnRanks& hosts) {
  p.add_step(delay, at_send,
             {node_ranks, in_compute, in_communication, {begin, end}, acts_on(hosts)});
}

void add_rank_delay(Program& p, const HostDelay& delay, std::int64_t node_ranks, bool once,
                    const OnRanks& hosts) {
  p.add_rank_delay(delay, node_ranks, once, acts_on(hosts));
}

void add_rank_speed(Program& p, const HostDelay& factor, std::int64_t node_ranks,
                    const OnRanks& hosts, Tick holds) {
  p.add_rank_speed(factor, node_ranks, acts_on(hosts), holds);
}

void add_message(Program& p, const HostDelay& delay, std::int64_t node_ranks, Tick begin, Tick end,
                 const OnRanks& hosts, std::uint64_t links, Tick holds) {
  p.add_message(delay, {node_ranks, true, true, {begin, end}, acts_on(hosts), {}, holds}, links);
}

void add_weather(Program& p, const HostDelay& delay, std::int64_t node_ranks, Tick begin, Tick end,
                 Tick way, std::int32_t cost, const OnRanks& hosts, Tick holds) {
  p.add_weather(delay, {node_ranks, true, true, {begin, end}, acts_on(hosts), {}, holds}, way,
                cost);
}

void add_jitter(Program& p, Tick duration, const WordArray& survival, std::int64_t node_ranks,
                Tick begin, Tick end, std::int32_t cost, const OnRanks& hosts) {
  p.add_jitter(duration, to_vector<std::uint64_t>(survival),
               {node_ranks, true, true, {begin, end}, acts_on(hosts)}, cost);
}

Ticks apply(const HostDelay& d, const WordArray& u) {
  Ticks out(u.size());
  std::transform(u.data(), u.data() + u.size(), out.mutable_data(),
                 [&d](std::uint64_t v) { return d.of(v); });
  return out;
}

Ticks draw(const HostDelay& d, std::uint64_t seed, std::uint32_t purpose, std::uint32_t key,
           std::uint32_t realization, std::uint64_t first, std::uint32_t count) {
  Ticks out(static_cast<py::ssize_t>(count));
  Tick* data = out.mutable_data();
  for (std::uint32_t i = 0; i < count; ++i)
    data[i] = d.of(uniform64(seed, purpose, first + i, key, realization));
  return out;
}

// The largest of draws number 0 and 1 of all keys, which are halves of a block, in realization 0
// first.
Tick largest_of(const HostDelay& d, std::uint64_t seed, std::uint32_t purpose,
                std::uint64_t draws) {
  Tick largest = 0;
  for (std::uint64_t i = 0; 2 * i < draws; ++i) {
    if (i % (1 << 22) == 0 && PyErr_CheckSignals() != 0) throw py::error_already_set();
    const auto pair = uniform_pair(seed, purpose, 0, static_cast<std::uint32_t>(i),
                                   static_cast<std::uint32_t>(i >> 32));
    largest = later(largest, d.of(pair.even));
    if (2 * i + 1 < draws) largest = later(largest, d.of(pair.odd));
  }
  return largest;
}

}  // namespace

void bind_noise(py::module_& m, py::class_<Program>& program) {
  py::class_<HostDelay>(m, "Delay", "A delay as integer tables, a function of a 64-bit uniform.")
      .def_static("constant", &HostDelay::constant, py::arg("value"))
      .def_static(
          "smooth",
          [](const WordArray& w) { return HostDelay::smooth(to_vector<std::uint64_t>(w)); },
          py::arg("words"))
      .def_static(
          "samples", [](const Ticks& v) { return HostDelay::samples(to_vector<Tick>(v)); },
          py::arg("values"))
      .def_static(
          "pieces",
          [](const WordArray& edges, const Ticks& top, const Ticks& drop) {
            return HostDelay::pieces(to_vector<std::uint64_t>(edges), to_vector<Tick>(top),
                                     to_vector<Tick>(drop));
          },
          py::arg("edges"), py::arg("top"), py::arg("drop"))
      .def_static(
          "counts",
          [](Tick value, const WordArray& survival) {
            return HostDelay::counts(value, to_vector<std::uint64_t>(survival));
          },
          py::arg("value"), py::arg("survival"))
      .def("with_last", &HostDelay::with_last, py::arg("last"))
      .def("apply", &apply, py::arg("u"))
      .def("draw", &draw, py::arg("seed"), py::arg("purpose"), py::arg("key"),
           py::arg("realization"), py::arg("first"), py::arg("count"))
      .def("largest_of", &largest_of, py::arg("seed"), py::arg("purpose"), py::arg("draws"))
      .def_readonly("largest", &HostDelay::largest);

  m.def("uniform",
        [](std::uint64_t seed, std::uint32_t purpose, std::uint32_t key, std::uint32_t realization,
           std::uint64_t number) { return uniform64(seed, purpose, number, key, realization); });

  const auto node_ranks = py::arg("node_ranks") = 1;
  const auto compute = py::arg("in_compute") = true;
  const auto communication = py::arg("in_communication") = true;
  const auto begin = py::arg("begin") = INT64_MIN;
  const auto end = py::arg("end") = INT64_MAX;
  const auto hosts = py::arg("hosts") = py::none();
  const auto bursts = py::arg("bursts") = py::none();
  const auto holds = py::arg("holds") = 0;
  program
      .def("add_periodic", &add_periodic, py::arg("period"), py::arg("duration"),
           py::arg("stationary"), node_ranks, py::arg("phases") = py::none(), compute,
           communication, begin, end, hosts, bursts)
      .def("add_renewal", &add_renewal, py::arg("gap"), py::arg("duration"),
           py::arg("stationary") = py::none(), node_ranks, compute, communication, begin, end,
           hosts, bursts)
      .def("add_trace", &add_trace, py::arg("starts"), py::arg("ends"), py::arg("length"),
           py::arg("offsets") = py::none(), node_ranks, compute, communication, begin, end, hosts,
           bursts)
      .def("add_traces", &add_traces, py::arg("recordings"), py::arg("of_ranks"), node_ranks,
           compute, communication, begin, end, hosts, bursts)
      .def("add_step", &add_step, py::arg("delay"), py::arg("at_send"), node_ranks, compute,
           communication, begin, end, hosts)
      .def("add_rank_delay", &add_rank_delay, py::arg("delay"), node_ranks, py::arg("once") = false,
           hosts)
      .def("add_rank_speed", &add_rank_speed, py::arg("factor"), node_ranks, hosts, holds)
      .def("add_message", &add_message, py::arg("delay"), node_ranks, begin, end, hosts,
           py::arg("links") = 0, holds)
      .def("add_weather", &add_weather, py::arg("delay"), node_ranks, begin, end,
           py::arg("way") = 0, py::arg("cost") = -1, hosts, holds)
      .def("add_jitter", &add_jitter, py::arg("duration"), py::arg("survival"), node_ranks, begin,
           end, py::arg("cost") = -1, hosts);
}

}  // namespace jf
