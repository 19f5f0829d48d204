// pybind11 bindings of network congestion: simulate, routes of messages.

#include "binding_helpers.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>

#include "congestion/program.h"

namespace py = pybind11;
namespace congestion = jf::congestion;
using congestion::Program;
using jf::Array;

namespace {

using Numbers = std::vector<std::uint32_t>;

using jf::as_array;

Program make(std::uint32_t hosts, std::uint32_t used, std::uint32_t ranks, int perturbation,
             const Array<std::uint32_t>& offsets, const Array<std::uint32_t>& senders,
             const Array<std::uint32_t>& receivers, const Array<std::uint32_t>& chain) {
  Program program;
  program.hosts = hosts;
  program.used = used;
  program.ranks = ranks;
  program.perturbation = perturbation;
  program.set_levels(jf::to_vector<std::uint32_t>(offsets), jf::to_vector<std::uint32_t>(senders),
                     jf::to_vector<std::uint32_t>(receivers), jf::to_vector<std::uint32_t>(chain));
  return program;
}

void check_network(const Program& program) {
  if (!program.fat_tree && program.next.empty())
    throw std::invalid_argument("the program has no network yet");
}

py::tuple simulate_congestion(const Program& program, std::uint64_t seed, std::int64_t first,
                              std::int64_t count, bool all, const std::string& backend, int threads,
                              bool histogram, const std::optional<py::function>& progress) {
  check_network(program);
  jf::check_realizations(first, count);
  const bool gpu = jf::use_gpu(backend);
  jf::check_threads(threads);
  if (histogram && !all) throw std::invalid_argument("histogram needs all");
  const jf::Request request{seed, first, count, all, threads};
  py::array_t<std::int64_t> out({static_cast<py::ssize_t>(count), py::ssize_t{congestion::kWords}});
  std::vector<std::uint64_t> bins(histogram ? program.most_messages() + 1 : 0);
  const jf::Poll poll = jf::make_poll(progress);
  std::int64_t* const data = out.mutable_data();
  jf::without_gil([&] {
    (gpu ? congestion::gpu::simulate : congestion::simulate)(
        program, request, data, histogram ? bins.data() : nullptr, poll);
  });
  return py::make_tuple(out, as_array(bins));
}

py::dict capture(const Program& program, std::uint64_t seed, std::int64_t realization,
                 const std::optional<Array<std::uint32_t>>& placement) {
  check_network(program);
  if (realization < 0 || realization >= std::int64_t{1} << 32)
    throw std::invalid_argument("realization must lie in [0, 2^32)");
  Numbers hosts;
  if (placement) {
    hosts = jf::to_vector<std::uint32_t>(*placement);
    std::vector<bool> seen(program.hosts);
    bool ok = hosts.size() == program.hosts;
    for (const std::uint32_t host : hosts) {
      ok = ok && host < program.hosts && !seen[host];
      if (ok) seen[host] = true;
    }
    if (!ok) throw std::invalid_argument("placement must be a permutation of the hosts");
  }
  const congestion::Capture found = jf::without_gil([&] {
    return congestion::capture(program, seed, static_cast<std::uint32_t>(realization), hosts);
  });
  py::dict result;
  result["host_of_rank"] = as_array(found.host_of_rank);
  result["offsets"] = as_array(found.offsets);
  result["senders"] = as_array(found.senders);
  result["receivers"] = as_array(found.receivers);
  result["w"] = as_array(found.w);
  return result;
}

// The counters (links) on each message's route, filled up with 2^32 - 1: shape (messages, longest).
py::array_t<std::uint32_t> routes(const Program& program, const Array<std::uint32_t>& from,
                                  const Array<std::uint32_t>& to,
                                  const Array<std::uint32_t>& keys) {
  check_network(program);
  if (from.size() != to.size() || keys.size() != to.size())
    throw std::invalid_argument("from, to and keys must be as many");
  std::vector<Numbers> found(static_cast<std::size_t>(from.size()));
  std::size_t longest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::uint32_t s = from.data()[i], d = to.data()[i];
    if (s >= program.hosts || d >= program.hosts || keys.data()[i] >= congestion::kMaxHosts)
      throw std::invalid_argument("from and to must be hosts, keys below 2^20");
    const auto visit = [&](std::uint32_t edge) { found[i].push_back(edge); };
    if (program.fat_tree)
      program.tree.route(s, d, keys.data()[i], visit);
    else
      program.table().route(s, d, 0, visit);
    longest = std::max(longest, found[i].size());
  }
  py::array_t<std::uint32_t> out(
      {static_cast<py::ssize_t>(found.size()), static_cast<py::ssize_t>(longest)});
  std::uint32_t* at = out.mutable_data();
  for (const Numbers& route : found) {
    std::fill(std::copy(route.begin(), route.end(), at), at + longest, congestion::kNoEdge);
    at += longest;
  }
  return out;
}

// The next cycle of a random permutation without fixed points, if `left` things remain.
std::uint32_t cycle_length(std::uint64_t u, std::uint32_t left) {
  if (left < 2) throw std::invalid_argument("left must be at least 2");
  return congestion::cycle_length(u, left);
}

}  // namespace

void jf::bind_congestion(py::module_& m) {
  using congestion::Program;
  py::class_<Program>(m, "CongestionProgram")
      .def(py::init(&make), py::kw_only(), py::arg("hosts"), py::arg("used"), py::arg("ranks"),
           py::arg("perturbation"), py::arg("offsets"), py::arg("senders"), py::arg("receivers"),
           py::arg("chain"))
      .def("set_fat_tree", &Program::set_fat_tree, py::arg("m"), py::arg("w"), py::arg("p"),
           py::arg("key"), py::arg("salt") = 0, py::arg("whole") = false)
      .def(
          "set_table",
          [](Program& self, std::uint32_t nodes, const Array<std::uint32_t>& next,
             const Array<std::uint32_t>& head) {
            self.set_table(nodes, jf::to_vector<std::uint32_t>(next),
                           jf::to_vector<std::uint32_t>(head));
          },
          py::arg("nodes"), py::arg("next"), py::arg("head"))
      .def("memory", &congestion::memory, py::arg("threads") = 0,
           "Bytes that congestion will hold on the CPU, results aside.");
  m.def(
      "congestion", &simulate_congestion, py::arg("program"), py::arg("seed"), py::arg("first"),
      py::arg("count"), py::arg("all") = false, py::arg("backend") = "cpu", py::arg("threads") = 0,
      py::arg("histogram") = false, py::arg("progress") = py::none(),
      "int64 (count, 8): orcs, orcs1, ready; sum_max, inverse, messages, largest, dropped if all; "
      "and the histogram of w.");
  m.def("congestion_capture", &capture, py::arg("program"), py::arg("seed"), py::arg("realization"),
        py::arg("placement") = py::none());
  m.def("congestion_routes", &routes, py::arg("program"), py::arg("from_"), py::arg("to"),
        py::arg("keys"));
  m.def("cycle_length", &cycle_length, py::arg("u"), py::arg("left"));
}
