#pragma once

#include <pybind11/pybind11.h>

namespace jf {

// Congestion in networks: the engine, and the benchmark's peer.
void bind_congestion(pybind11::module_& m);

}  // namespace jf
