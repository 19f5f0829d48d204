#pragma once

#include <pybind11/pybind11.h>

namespace jf {

// The recorder of detours.
void bind_record(pybind11::module_& m);

}  // namespace jf
