// pybind11 bindings of the rates of a core and of counted instructions, for `jitterfly bench`.

#include "binding_helpers.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "limits/rates.h"

namespace py = pybind11;

namespace {

std::pair<std::int64_t, std::int64_t> count(const jf::Program& program, std::uint64_t seed,
                                            std::int64_t realizations, std::int64_t most) {
  if (realizations < 1 || realizations > 1 << 20 || most < 1)
    throw std::invalid_argument("realizations must be 1 to 2^20, most at least 1");
  const jf::Poll poll = jf::make_poll();
  const auto found =
      jf::without_gil([&] { return jf::limits::count(program, seed, realizations, most, poll); });
  return {found.all, found.vector};
}

bool is_vector(const std::string& code) {
  if (code.size() < 8) throw std::invalid_argument("eight bytes are needed");
  return jf::limits::is_vector(reinterpret_cast<const unsigned char*>(code.data()));
}

void check(std::int64_t bytes) {
  if (bytes < 128 || bytes > std::int64_t{1} << 40)
    throw std::invalid_argument("bytes must be 128 to 2^40");
}

}  // namespace

void jf::bind_limits(py::module_& m) {
  m.def("cannot_count", &jf::limits::cannot_count, "'' if instructions can be counted, else why.");
  m.def("count_instructions", &count, py::arg("program"), py::arg("seed"), py::arg("realizations"),
        py::arg("most") = std::int64_t{1} << 25, "(all, vector) of the busiest thread.");
  m.def("is_vector", [](const py::bytes& code) { return is_vector(code); }, py::arg("code"));
  m.def("issue_rates", &jf::limits::issue_rates, py::arg("isa"), py::arg("seconds"),
        py::call_guard<py::gil_scoped_release>());
  m.def(
      "bandwidth",
      [](std::int64_t bytes, bool copy, double seconds) {
        check(bytes);
        const py::gil_scoped_release release;
        return (copy ? jf::limits::copy_rate : jf::limits::read_rate)(bytes, seconds);
      },
      py::arg("bytes"), py::arg("copy"), py::arg("seconds"), "Bytes per second.");
}
