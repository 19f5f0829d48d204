// pybind11 module `jitterfly._core`: programs, simulate, ready times, explain, memory, devices. It
// checks arguments, and leaves everything else to cuda/. Ctrl-C while the engine runs: `make_poll`
// in binding_helpers.h.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>

#include "binding_helpers.h"
#include "build_info.h"
#include "congestion/loads.h"
#include "core/engine.h"

namespace py = pybind11;
using jf::Tick;
using jf::Ticks;

namespace {

// --- A second Ctrl-C or SIGTERM. Python's own handlers are called when the main thread is back in
// Python, which a library or a driver may keep from it for long.

using Clock = std::chrono::steady_clock;
std::atomic<Clock::rep> first_signal, same_for;  // when it came, or 0; and what is no second one
std::atomic<void (*)(int)> handler_of_python;
static_assert(std::atomic<Clock::rep>::is_always_lock_free);

void count_signals(int number) {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (!first_signal.compare_exchange_strong(first, now) && now - first >= same_for)
    _exit(128 + number);
  handler_of_python.load()(number);
}
void end_on_second_signal(const std::vector<int>& numbers, double seconds) {
  same_for =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)).count();
  first_signal = 0;
  for (const int number : numbers) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    handler_of_python = action.sa_handler;
    action.sa_handler = count_signals;
    sigaction(number, &action, nullptr);
  }
}

jf::Program make_program(int log2_ranks, const jf::Array<std::int32_t>& steps, int rows, Tick send,
                         Tick receive, Tick transit, Tick combine, Tick work, Tick forward,
                         bool one_rank, std::vector<std::int32_t> mirrors, Tick patience, Tick ask,
                         Tick request, const std::optional<std::int64_t>& ranks,
                         const std::optional<Ticks>& messages, Tick load,
                         const std::vector<Tick>& loads,
                         const std::optional<jf::Array<std::int32_t>>& listed,
                         const std::optional<Ticks>& rank_times,
                         const std::vector<Tick>& combines) {
  if (steps.ndim() != 2 || steps.shape(1) != 11)
    throw std::invalid_argument("steps must have the shape (n, 11)");
  if (messages && (messages->ndim() != 2 || messages->shape(1) != 4))
    throw std::invalid_argument("messages must have the shape (m, 4)");
  jf::Program p;
  p.log2_ranks = log2_ranks;
  if (ranks && log2_ranks >= 0 && log2_ranks <= 30) {
    const std::int64_t least = std::int64_t{1} << log2_ranks;
    if (*ranks < least || *ranks >= 2 * least)
      throw std::invalid_argument("ranks must lie in [2^log2_ranks, 2^(log2_ranks + 1))");
    p.more_ranks = *ranks - least;
  }
  p.rows = rows;
  p.one_rank = one_rank;
  p.costs = {send, receive, transit, combine, work, forward, patience, ask, request};
  p.mirrors = std::move(mirrors);
  const auto s = steps.unchecked<2>();
  for (py::ssize_t i = 0; i < s.shape(0); ++i)
    p.steps.push_back({s(i, 0), s(i, 1), s(i, 2), s(i, 3), s(i, 4), s(i, 5), s(i, 6), s(i, 7),
                       s(i, 8), s(i, 9), s(i, 10)});
  if (messages) {
    const auto m = messages->unchecked<2>();
    for (py::ssize_t i = 0; i < m.shape(0); ++i)
      p.message_costs.push_back({m(i, 0), m(i, 1), m(i, 2), m(i, 3)});
  }
  if (!combines.empty() && combines.size() != p.message_costs.size())
    throw std::invalid_argument("combines must be one for each of messages");
  for (std::size_t i = 0; i < combines.size(); ++i) p.message_costs[i].combine = combines[i];
  if (listed) {
    if (listed->ndim() != 2 || listed->shape(1) != 3)
      throw std::invalid_argument("listed must have the shape (n, 3)");
    const auto l = listed->unchecked<2>();
    auto all = std::make_shared<std::vector<jf::ListedMessage>>();
    all->reserve(static_cast<std::size_t>(l.shape(0)));
    for (py::ssize_t i = 0; i < l.shape(0); ++i) all->push_back({l(i, 0), l(i, 1), l(i, 2)});
    p.listed_messages = std::move(all);
  }
  if (rank_times)
    p.rank_times = std::make_shared<std::vector<Tick>>(rank_times->data(),
                                                       rank_times->data() + rank_times->size());
  if (load < 0 ||
      std::any_of(
          loads.begin(), loads.end(), [](Tick t) { return t < 0; }) ||
      (!loads.empty() && loads.size() != p.message_costs.size()))
    throw std::invalid_argument("loads must be one for each of messages, and none negative");
  p.link_times = {load};
  p.link_times.insert(p.link_times.end(), loads.begin(), loads.end());
  p.finish();
  return p;
}

jf::Request make_request(std::uint64_t seed, std::int64_t first, std::int64_t count,
                         const std::string& statistics, int threads) {
  jf::check_realizations(first, count);
  if (statistics != "max" && statistics != "all")
    throw std::invalid_argument("statistics must be 'max' or 'all'");
  jf::check_threads(threads);
  return {seed, first, count, statistics == "all", threads};
}

Ticks simulate(const jf::Program& p, std::uint64_t seed, std::int64_t first, std::int64_t count,
               const std::string& statistics, const std::string& backend, int threads,
               const std::optional<py::function>& progress) {
  const jf::Request request = make_request(seed, first, count, statistics, threads);
  const bool gpu = jf::use_gpu(backend);
  std::vector<py::ssize_t> shape{count, p.rows};
  if (request.full_statistics) shape.push_back(4);
  Ticks out(shape);
  Tick* data = out.mutable_data();
  const jf::Poll poll = jf::make_poll(progress);
  jf::without_gil([&] { (gpu ? jf::gpu::simulate : jf::cpu::simulate)(p, request, data, poll); });
  return out;
}

py::tuple explain(const jf::Program& p, std::uint64_t seed, std::int64_t first, std::int64_t count,
                  const std::vector<Tick>& combine, int threads,
                  const std::optional<py::function>& progress) {
  const jf::Request request = make_request(seed, first, count, "max", threads);
  Ticks out({static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(jf::kExplained)});
  Ticks of_ranks({static_cast<py::ssize_t>(p.ranks()), static_cast<py::ssize_t>(jf::kRankParts),
                  static_cast<py::ssize_t>(2)});
  Tick *data = out.mutable_data(), *ranks = of_ranks.mutable_data();
  std::fill(ranks, ranks + of_ranks.size(), 0);
  const jf::Poll poll = jf::make_poll(progress);
  jf::without_gil([&] { jf::cpu::explain(p, request, combine, data, ranks, poll); });
  return py::make_tuple(out, of_ranks);
}

Ticks ready_times(const jf::Program& p, std::uint64_t seed, std::int64_t realization) {
  jf::check_realizations(realization, 1);
  Ticks out({static_cast<py::ssize_t>(p.rows), static_cast<py::ssize_t>(p.ranks())});
  Tick* data = out.mutable_data();
  const jf::Poll poll = jf::make_poll();
  jf::without_gil([&] { jf::cpu::ready_times(p, seed, realization, data, poll); });
  return out;
}

// The rows of draws, shape (planes, draws) as Loads has them, and the table of loads, shape (rows,
// ranks).
py::tuple loads(const jf::Program& p, std::uint64_t seed, std::int64_t realization) {
  if (p.loads == nullptr) throw std::invalid_argument("the program has no congestion");
  jf::check_realizations(realization, 1);
  const std::vector<std::int32_t>& rows = p.loads->rows();
  const auto draws = static_cast<py::ssize_t>(p.loads->draws());
  py::array_t<std::int32_t> of_draws({static_cast<py::ssize_t>(rows.size()) / draws, draws});
  std::copy(rows.begin(), rows.end(), of_draws.mutable_data());
  const auto stride = static_cast<py::ssize_t>(p.loads->stride());
  py::array_t<std::uint16_t> table(
      {static_cast<py::ssize_t>(p.loads->table_size()) / stride, stride});
  std::uint16_t* data = table.mutable_data();
  jf::without_gil([&] {
    jf::congestion::load_maker(*p.loads, seed)(static_cast<std::uint32_t>(realization), data,
                                               std::atomic<bool>(false));
  });
  return py::make_tuple(of_draws, table);
}

Ticks phases(const jf::Program& p, std::uint64_t seed, std::int64_t realization,
             std::size_t number) {
  std::size_t source = 0, periodic = 0;
  for (; source < p.intervals.size(); ++source)
    if (p.intervals[source].kind == jf::kPeriodicIntervals && periodic++ == number) break;
  if (source == p.intervals.size())
    throw std::invalid_argument("the program has no such periodic noise");
  jf::check_realizations(realization, 1);
  Ticks out(static_cast<py::ssize_t>(p.ranks()));
  Tick* data = out.mutable_data();
  const jf::Poll poll = jf::make_poll();
  jf::without_gil([&] { jf::cpu::phases(p, source, seed, realization, data, poll); });
  return out;
}

Ticks busy(const jf::Program& p, std::uint64_t seed, std::int64_t realization, std::int64_t rank,
           Tick until, bool compute) {
  jf::check_realizations(realization, 1);
  if (rank < 0 || rank >= p.ranks()) throw std::invalid_argument("there is no such rank");
  const jf::Poll poll = jf::make_poll();
  const std::vector<Tick> found = jf::without_gil(
      [&] { return jf::cpu::busy(p, seed, realization, rank, until, compute, poll); });
  Ticks out({static_cast<py::ssize_t>(found.size() / 2), py::ssize_t{2}});
  std::copy(found.begin(), found.end(), out.mutable_data());
  return out;
}

std::int64_t memory(const jf::Program& p, const std::string& backend, int threads,
                    std::int64_t count) {
  const jf::Request request = make_request(0, 0, count, "max", threads);
  const bool gpu = jf::use_gpu(backend);
  return jf::without_gil([&] { return (gpu ? jf::gpu::memory : jf::cpu::memory)(p, request); });
}

// Bytes of the loads of a realization under congestion, and of what makes them on the host.
std::pair<std::int64_t, std::int64_t> load_bytes(const jf::Program& p) {
  if (p.loads == nullptr) return {0, 0};
  const std::int64_t table = std::int64_t{sizeof(std::uint16_t)} * p.loads->table_size();
  return {table, p.loads->bytes() - table};
}

std::vector<std::uint32_t> philox(const std::array<std::uint32_t, 4>& c,
                                  const std::array<std::uint32_t, 2>& key) {
  const jf::Words r = jf::philox4x32_10({{c[0], c[1], c[2], c[3]}}, key[0], key[1]);
  return {r.w, r.w + 4};
}

Tick advance_periodic(Tick period, Tick duration, bool stationary, Tick phase, Tick t, Tick w) {
  const jf::Periodic noise{period, duration, stationary, jf::NodeSize::of(1), nullptr, true, true};
  Tick next = noise.first_of(phase);
  noise.seek(next, t);
  return noise.advance(next, t, w);
}

py::dict device_dict(const jf::gpu::Device& d) {
  py::dict r;
  r["index"] = d.index;
  r["name"] = d.name;
  r["capability"] = d.capability;
  r["memory"] = d.memory;
  r["shared_memory_per_block"] = d.shared_memory_per_block;
  r["multiprocessors"] = d.multiprocessors;
  r["clock_khz"] = d.clock_khz;
  r["driver_version"] = d.driver_version;
  r["runtime_version"] = d.runtime_version;
  return r;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The engines. Times are int64 ticks of 1 ps; see jitterfly.program for the steps.";

  py::class_<jf::Program> program(m, "Program",
                                  "An algorithm as steps, with its costs and its noise.");
  jf::bind_noise(m, program);
  jf::bind_record(m);
  jf::bind_statistics(m);
  jf::bind_limits(m);
  jf::bind_congestion(m);
  jf::bind_schedule(m);
  program.def("add_congestion", &jf::Program::add_congestion, py::arg("network"))
      .def(py::init(&make_program), py::kw_only(), py::arg("log2_ranks"), py::arg("steps"),
           py::arg("rows"), py::arg("send"), py::arg("receive"), py::arg("transit"),
           py::arg("combine"), py::arg("work"), py::arg("forward"), py::arg("one_rank") = false,
           py::arg("mirrors") = std::vector<std::int32_t>{1}, py::arg("patience") = 0,
           py::arg("ask") = 0, py::arg("request") = 0, py::arg("ranks") = py::none(),
           py::arg("messages") = py::none(), py::arg("load") = 0,
           py::arg("loads") = std::vector<Tick>{}, py::arg("listed") = py::none(),
           py::arg("rank_times") = py::none(), py::arg("combines") = std::vector<Tick>{})
      .def_property_readonly("ranks", &jf::Program::ranks)
      .def_property_readonly("has_copies", &jf::Program::has_copies)
      .def_property_readonly("load_bytes", &load_bytes)
      .def_readonly("rows", &jf::Program::rows);

  m.def("simulate", &simulate, py::arg("program"), py::arg("seed"), py::arg("first"),
        py::arg("count"), py::arg("statistics") = "max", py::arg("backend") = "cpu",
        py::arg("threads") = 0, py::arg("progress") = py::none(),
        "int64 (count, rows), or (count, rows, 4): max, min, hi, lo; sum = hi * 2^32 + lo.");
  m.def("explain", &explain, py::arg("program"), py::arg("seed"), py::arg("first"),
        py::arg("count"), py::arg("combine"), py::arg("threads") = 0,
        py::arg("progress") = py::none(),
        "int64 (count, 5 + causes), and (ranks, parts, 2), sums over realizations as hi, lo: see "
        "cuda/core/engine.h");
  m.def("ready_times", &ready_times, py::arg("program"), py::arg("seed"), py::arg("realization"),
        "int64 (rows, ranks); INT64_MIN where a rank is not in the row's step.");
  m.def("loads", &loads, py::arg("program"), py::arg("seed"), py::arg("realization"),
        "w - 1 of messages: int32 (planes, draws), the row of originals (64 steps of each cycle a "
        "plane), forwards, copies to each mirror; uint16 (rows, ranks, rounded up to 8), by "
        "receivers.");
  m.def("phases", &phases, py::arg("program"), py::arg("seed"), py::arg("realization"),
        py::arg("number") = 0, "int64 (ranks,) of that periodic source");
  m.def("busy", &busy, py::arg("program"), py::arg("seed"), py::arg("realization"), py::arg("rank"),
        py::arg("until"), py::arg("compute"), "int64 (n, 2)");
  m.def("memory", &memory, py::arg("program"), py::arg("backend"), py::arg("threads") = 0,
        py::arg("count") = std::int64_t{1} << 31, "Bytes of state held by simulate.");
  m.def("philox", &philox, py::arg("counter"), py::arg("key"));
  m.def("advance_periodic", &advance_periodic, py::arg("period"), py::arg("duration"),
        py::arg("stationary"), py::arg("phase"), py::arg("t"), py::arg("w"));

  m.def("hardware_threads", &jf::cpu::hardware_threads,
        "Threads that are taken where none are asked for.");
  m.def("control_group_threads", &jf::cpu::control_group_threads, py::arg("root") = "",
        "What control groups limit this process to, rounded up; 0: nothing.");
  m.def("gpu_memory_available", &jf::gpu::available_memory,
        py::call_guard<py::gil_scoped_release>(),
        "Bytes of GPU memory that simulate may take now; 0 without a device.");
  m.def("end_on_second_signal", &end_on_second_signal, py::arg("numbers"), py::arg("seconds"),
        "Of these signals, which Python handles, a second one ends the process at once, whatever "
        "it does, with the code 128 + number; but not so many seconds after the first. "
        "signal.signal takes that back.");
  m.def("cuda_status", &jf::gpu::status, py::call_guard<py::gil_scoped_release>(),
        "'' if a GPU can be used, else why not.");
  m.def("device_count", &jf::gpu::device_count, py::call_guard<py::gil_scoped_release>(),
        "The GPUs that CUDA shows this process; none is started for it.");
  m.def("use_device", &jf::gpu::use_device, py::arg("number"),
        py::call_guard<py::gil_scoped_release>(),
        "Lets all that this thread runs with backend 'cuda' run on this GPU.");
  m.def("devices", [] {
    py::list list;
    for (const jf::gpu::Device& d : jf::gpu::devices()) list.append(device_dict(d));
    return list;
  });
  m.attr("kernel_digest") = jf::build::kKernelDigest;
  m.def("build_info", [] {
    py::dict d;
    d["version"] = jf::build::kVersion;
    d["compiler"] = jf::build::kCompiler;
    d["cuda"] = jf::build::kCuda;
    d["cuda_architectures"] = jf::build::kCudaArchitectures;
    d["cuda_note"] = jf::build::kCudaNote;
    d["instruction_sets"] = jf::build::kInstructionSets;
    d["sanitize"] = jf::build::kSanitize;
    d["instruction_set"] = jf::cpu::instruction_set();
    d["threads"] = jf::cpu::hardware_threads();
    return d;
  });
}
