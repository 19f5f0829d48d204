#pragma once

#include <pybind11/pybind11.h>

namespace jf {

// What limits the engine: instructions that it executes, and what the machine can do.
void bind_limits(pybind11::module_& m);

}  // namespace jf
