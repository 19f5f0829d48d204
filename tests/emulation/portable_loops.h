// Congestion's SIMD loops without dispatch, for test programs. The programs of these tests have one
// compilation of congestion's loops, and nobody else to choose it, unless they are linked with the
// engine.
#pragma once

#include "congestion/simd_loops.h"

#ifndef JF_WITH_ENGINE
namespace jf::congestion {
const SimdLoops& choose_simd_loops() { return simd_loops_portable; }
}  // namespace jf::congestion
#endif
