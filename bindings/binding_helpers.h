// Helpers that all bindings share: release of the GIL, Ctrl-C polling (`make_poll`), argument
// checks.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "core/engine.h"

namespace jf {

template <class T>
using Array = pybind11::array_t<T, pybind11::array::c_style | pybind11::array::forcecast>;
using Ticks = Array<Tick>;
using WordArray = Array<std::uint64_t>;

template <class T, class A>
std::vector<T> to_vector(const A& a) {
  return std::vector<T>(a.data(), a.data() + a.size());
}

template <class T>
pybind11::array_t<T> as_array(const std::vector<T>& values) {
  return pybind11::array_t<T>(static_cast<pybind11::ssize_t>(values.size()), values.data());
}

template <class F>
auto without_gil(F&& f) {
  const pybind11::gil_scoped_release release;
  return f();
}

// Checks for signals (Ctrl-C), and calls `progress` with the number of realizations done.
inline Poll make_poll(const std::optional<pybind11::function>& progress = std::nullopt) {
  return [progress](std::int64_t done) {
    const pybind11::gil_scoped_acquire hold;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    if (progress) (*progress)(done);
    return true;
  };
}

inline void check_realizations(std::int64_t first, std::int64_t count) {
  constexpr std::int64_t kRealizations = std::int64_t{1} << 32;
  if (first < 0 || count < 0 || first > kRealizations || count > kRealizations - first)
    throw std::invalid_argument("realizations must lie in [0, 2^32)");
}
inline void check_threads(int threads) {
  if (threads < 0 || threads > 1024) throw std::invalid_argument("threads must be 0 to 1024");
}
inline bool use_gpu(const std::string& backend) {
  if (backend != "cpu" && backend != "cuda")
    throw std::invalid_argument("backend must be 'cpu' or 'cuda'");
  return backend == "cuda";
}

// Congestion in networks: the engine, and the peer that benchmarks compare it with.
void bind_congestion(pybind11::module_& m);
// What limits the CPU engine: the instructions that it executes, and the rates of the machine.
void bind_limits(pybind11::module_& m);
// Delay, and the noise sources of Program.
void bind_noise(pybind11::module_& m, pybind11::class_<Program>& program);
// Schedules of applications.
void bind_schedule(pybind11::module_& m);
// The recorder of detours.
void bind_record(pybind11::module_& m);
// Exact sums, histograms and linear forms of samples.
void bind_statistics(pybind11::module_& m);

}  // namespace jf
