// Bindings by part; module.cpp calls them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "core/host_program.h"

namespace jf {

using Ticks = pybind11::array_t<Tick, pybind11::array::c_style | pybind11::array::forcecast>;
using WordArray =
    pybind11::array_t<std::uint64_t, pybind11::array::c_style | pybind11::array::forcecast>;

template <class T, class Array>
std::vector<T> to_vector(const Array& a) {
  return std::vector<T>(a.data(), a.data() + a.size());
}

// Delay, and the noise sources of a Program.
void bind_noise(pybind11::module_& m, pybind11::class_<Program>& program);

}  // namespace jf
