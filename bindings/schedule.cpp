// pybind11 bindings of application schedules: reading, planning, running, explaining.
#include "schedule/plan.h"

#include <pybind11/stl.h>

#include <memory>

#include "binding_helpers.h"

namespace py = pybind11;

namespace jf {
namespace {

using schedule::Plan;
using schedule::Schedule;

// Reads the schedule at `path` into `file`, an open and empty file, and maps that.
std::unique_ptr<Schedule> read_schedule(const std::string& path, int file) {
  return without_gil([&] {
    schedule::read_file(path, file);
    return std::make_unique<Schedule>(file);
  });
}

// Columns kind, size, peer, tag, cpu, nic, line of the operations of a rank.
py::array_t<std::uint64_t> operations_of(const Schedule& s, std::uint32_t rank) {
  if (rank >= s.ranks()) throw std::invalid_argument("there is no such rank");
  const schedule::RankView view = s.rank(rank);
  py::array_t<std::uint64_t> out({static_cast<py::ssize_t>(view.count), py::ssize_t{7}});
  std::uint64_t* at = out.mutable_data();
  for (const schedule::Operation* o = view.operations; o < view.operations + view.count; ++o)
    for (const std::uint64_t value :
         {std::uint64_t{o->kind}, o->size, std::uint64_t{o->peer}, std::uint64_t{o->tag},
          std::uint64_t{o->cpu}, std::uint64_t{o->nic}, std::uint64_t{o->line}})
      *at++ = value;
  return out;
}

py::tuple operation(const Schedule& s, std::uint32_t rank, std::uint32_t number) {
  if (rank >= s.ranks() || number >= s.rank(rank).count)
    throw std::invalid_argument("there is no such operation");
  const schedule::Operation& o = s.rank(rank).operations[number];
  return py::make_tuple(o.kind, o.size, o.peer, o.tag, o.cpu, o.nic, o.line);
}

// (operation, what it waits for, whether for its start only) of a rank.
py::array_t<std::uint32_t> requirements_of(const Schedule& s, std::uint32_t rank) {
  if (rank >= s.ranks()) throw std::invalid_argument("there is no such rank");
  const schedule::RankView view = s.rank(rank);
  py::array_t<std::uint32_t> out(
      {static_cast<py::ssize_t>(view.first[view.count]), py::ssize_t{3}});
  std::uint32_t* at = out.mutable_data();
  for (std::uint32_t i = 0; i < view.count; ++i)
    for (std::uint32_t k = view.first[i]; k < view.first[i + 1]; ++k) {
      const std::uint32_t one = view.dependents[k];
      for (const std::uint32_t value :
           {one & ~schedule::kOnStart, i, std::uint32_t{(one & schedule::kOnStart) != 0}})
        *at++ = value;
    }
  return out;
}

schedule::PollActions make_action_poll() {
  return [poll = make_poll()] { poll(0); };
}

Plan make_plan(const Schedule& s, const Program& program, const Ticks& wire, const Ticks& cpu,
               const Array<std::uint64_t>& largest_eager, const Array<std::uint32_t>& slots,
               const Array<std::uint32_t>& spans, const Array<std::uint64_t>& factors,
               const Array<std::uint32_t>& mark_of, std::uint32_t marks, bool equally_fast) {
  if (wire.size() != cpu.size())
    throw std::invalid_argument(
        "wire and cpu must have an entry for each level and size of messages");
  schedule::Network network;
  for (py::ssize_t i = 0; i < wire.size(); ++i)
    network.bytes.push_back({wire.data()[i], cpu.data()[i]});
  network.largest_eager = to_vector<std::uint64_t>(largest_eager);
  network.levels = {to_vector<std::uint32_t>(slots), to_vector<std::uint32_t>(spans)};
  const schedule::PollActions poll = make_action_poll();
  schedule::Marks kept{marks, to_vector<std::uint32_t>(mark_of)};
  schedule::Factors slow = to_vector<std::uint64_t>(factors);
  return without_gil([&] {
    return schedule::make_plan(s, program, std::move(network), std::move(slow), equally_fast,
                               std::move(kept), poll);
  });
}

Ticks simulate_schedule(const Plan& plan, const Program& program, std::uint64_t seed,
                        std::int64_t first, std::int64_t count, int threads,
                        const std::optional<py::function>& progress, bool arrival_order,
                        const std::string& backend) {
  check_realizations(first, count);
  check_threads(threads);
  const bool gpu = use_gpu(backend);
  if (gpu && arrival_order)
    throw std::invalid_argument("the order of arrival is found on the CPU only");
  Ticks out({static_cast<py::ssize_t>(count), 2 + py::ssize_t{plan.marks.count}});
  Tick* data = out.mutable_data();
  const Poll poll = make_poll(progress);
  without_gil([&] {
    const Request request{seed, first, count, false, threads};
    if (gpu)
      schedule::gpu::simulate(program, plan, request, data, poll);
    else
      schedule::simulate(program, plan, request, arrival_order, data, poll);
  });
  return out;
}

// Begin and end of each operation.
Ticks operation_times(const Plan& plan, const Program& program, std::uint64_t seed,
                      std::int64_t realization, bool arrival_order) {
  check_realizations(realization, 1);
  Ticks out({static_cast<py::ssize_t>(plan.schedule->operations()), py::ssize_t{2}});
  Tick* data = out.mutable_data();
  const Poll poll = make_poll();
  const auto number = static_cast<std::uint32_t>(realization);
  without_gil(
      [&] { schedule::operation_times(program, plan, seed, number, arrival_order, data, poll); });
  return out;
}

std::int64_t schedule_memory(const Plan& plan, const Program& program, std::int64_t count,
                             int threads, const std::string& backend) {
  check_threads(threads);
  const Request request{0, 0, count, false, threads};
  const bool gpu = use_gpu(backend);
  return without_gil([&] {
    return gpu ? schedule::gpu::memory(program, plan, request)
               : schedule::memory(program, plan, request);
  });
}

using Numbers = Array<std::uint32_t>;

// See PathSums: what is written for each realization; of operations how often and for how long they
// are on paths; of ranks.
py::tuple explain_schedule(const Plan& plan, const Program& program, std::uint64_t seed,
                           const Numbers& realizations, bool quiet, int threads,
                           const std::optional<py::function>& progress) {
  check_threads(threads);
  const auto operations = static_cast<py::ssize_t>(plan.schedule->operations());
  Ticks out({realizations.size(), py::ssize_t{schedule::kPathWords}});
  Numbers counts(operations);
  Ticks times({operations, py::ssize_t{2}});
  Ticks ranks({static_cast<py::ssize_t>(plan.ranks), py::ssize_t{2 * schedule::kRankSums + 1}});
  const schedule::PathSums sums{counts.mutable_data(), times.mutable_data(), ranks.mutable_data()};
  std::fill_n(sums.of_operations, counts.size(), 0);
  std::fill_n(sums.times_of_operations, times.size(), 0);
  std::fill_n(sums.of_ranks, ranks.size(), 0);
  const schedule::PathRequest request{seed, realizations.data(), realizations.size(), threads,
                                      quiet};
  Tick* const data = out.mutable_data();
  const Poll poll = make_poll(progress);
  without_gil([&] { schedule::explain(program, plan, request, data, sums, poll); });
  return py::make_tuple(out, counts, times, ranks);
}

Ticks critical_path(const Plan& plan, const Program& program, std::uint64_t seed,
                    std::int64_t realization, bool quiet) {
  check_realizations(realization, 1);
  const auto number = static_cast<std::uint32_t>(realization);
  const Poll poll = make_poll();
  const std::vector<Tick> words = without_gil(
      [&] { return schedule::critical_path(program, plan, {seed, &number, 1, 1, quiet}, poll); });
  Ticks out({static_cast<py::ssize_t>(words.size()) / schedule::kStepWords,
             py::ssize_t{schedule::kStepWords}});
  std::copy(words.begin(), words.end(), out.mutable_data());
  return out;
}

}  // namespace

void bind_schedule(py::module_& m) {
  py::class_<Schedule>(m, "Schedule", "The operations of an application, mapped from a file.")
      .def_property_readonly("ranks", &Schedule::ranks)
      .def_property_readonly("cpus", &Schedule::cpus)
      .def_property_readonly("nics", &Schedule::nics)
      .def_property_readonly("operations", &Schedule::operations)
      .def_property_readonly("sends", &Schedule::sends)
      .def_property_readonly("receives", &Schedule::receives)
      .def_property_readonly("longest_calculation", &Schedule::longest_calculation, "ns")
      .def_property_readonly("sizes", &Schedule::sizes)
      .def_property_readonly("begins", &Schedule::begins)
      .def("write", &Schedule::write, py::arg("file"), py::call_guard<py::gil_scoped_release>())
      .def("operation", &operation, py::arg("rank"), py::arg("number"), "One row of operations_of.")
      .def("operations_of", &operations_of, py::arg("rank"),
           "uint64 (n, 7): kind (1 send, 2 recv, 3 calc), size, peer, tag, cpu, nic, line")
      .def("requirements_of", &requirements_of, py::arg("rank"),
           "uint32 (m, 3): operation, what it waits for, whether for its start only");
  py::register_exception<schedule::NotWritten>(m, "NotWritten", PyExc_RuntimeError);
  m.def("read_schedule", &read_schedule, py::arg("path"), py::arg("file"),
        "GOAL text, LogGOPSim's binary or a file of ours, translated into an open file.");

  py::class_<Plan>(m, "SchedulePlan", "A schedule in the order of its execution.")
      .def(py::init(&make_plan), py::arg("schedule"), py::arg("program"), py::arg("wire"),
           py::arg("cpu"), py::arg("largest_eager"),
           py::arg("slots") = Array<std::uint32_t>(py::ssize_t{0}),
           py::arg("spans") = Array<std::uint32_t>(py::ssize_t{0}),
           py::arg("factors") = Array<std::uint64_t>(py::ssize_t{0}),
           py::arg("mark_of") = Array<std::uint32_t>(py::ssize_t{0}), py::arg("marks") = 0,
           py::arg("equally_fast") = true, py::keep_alive<1, 2>(),
           "wire, cpu: of each level of the machine and size of messages, ticks; largest_eager: of "
           "each level. slots, spans: see Levels of cuda/schedule/plan.h. factors: of each rank, "
           "in units of 2^-32; or empty. equally_fast: they count in the times of the run without "
           "noise, and not in its order. Messages are those of ranks that are equally fast.")
      .def_property_readonly("reached", [](const Plan& p) { return p.reached; })
      .def_property_readonly("actions", [](const Plan& p) { return p.actions.size(); })
      .def_property_readonly("events", [](const Plan& p) { return p.events; })
      .def_property_readonly(
          "cpu_time", [](const Plan& p) { return py::make_tuple(p.compute, p.communication); },
          "Ticks of calculations, and of messages, of all ranks together; without noise.")
      .def_property_readonly(
          "short_receives",
          [](const Plan& p) {
            const schedule::ShortReceives& r = p.short_receives;
            return py::make_tuple(r.count, r.rank, r.operation, r.sent);
          },
          "How many; rank and number of the first, and bytes of its message.")
      .def_property_readonly("completion", [](const Plan& p) { return p.completion; });
  m.def("simulate_schedule", &simulate_schedule, py::arg("plan"), py::arg("program"),
        py::arg("seed"), py::arg("first"), py::arg("count"), py::arg("threads") = 0,
        py::arg("progress") = py::none(), py::arg("arrival_order") = false,
        py::arg("backend") = "cpu",
        "int64 (count, 2 + marks): when the last CPU is free, of which rank it is, and marks");
  m.def("operation_times", &operation_times, py::arg("plan"), py::arg("program"), py::arg("seed"),
        py::arg("realization"), py::arg("arrival_order") = false,
        "int64 (operations, 2): begin and end");
  m.def("schedule_memory", &schedule_memory, py::arg("plan"), py::arg("program"), py::arg("count"),
        py::arg("threads") = 0, py::arg("backend") = "cpu", "Bytes that simulate_schedule holds.");
  m.def("explain_schedule", &explain_schedule, py::arg("plan"), py::arg("program"), py::arg("seed"),
        py::arg("realizations"), py::arg("quiet") = false, py::arg("threads") = 0,
        py::arg("progress") = py::none(),
        "int64 (count, words), of operations uint32 (n,) and int64 (n, 2), of ranks int64: see "
        "cuda/schedule/plan.h");
  m.def("critical_path", &critical_path, py::arg("plan"), py::arg("program"), py::arg("seed"),
        py::arg("realization"), py::arg("quiet") = false,
        "int64 (steps, words): see cuda/schedule/plan.h");
  m.def(
      "memory_to_explain",
      [](const Plan& plan, const Program& program) {
        return schedule::memory_to_explain(program, plan);
      },
      py::arg("plan"), py::arg("program"),
      "Bytes that a thread of explain_schedule holds at most.");
}

}  // namespace jf
