// The programs of these tests have one compilation of congestion's loops.
#pragma once

#include "congestion/vector.h"

namespace jf::congestion {
const Vector& choose_vector() { return vector_portable; }
}  // namespace jf::congestion
