// The high half of a 64-bit uniform (delay.h), which stands for v with a low half of 0 and is what
// nearly all draws ask for.
#pragma once

#include "../philox.h"

namespace jf {

constexpr std::uint64_t kMostHigh = 0xffffffff;
constexpr std::uint64_t kTailBits = 20, kTail = std::uint64_t{1} << kTailBits;

// The distance of a high half from the nearer end.
template <class U>
JF_HD U from_end(U high) {
  return earlier_low(high, high ^ kMostHigh);
}

// A cell of a table of one word to a cell, and where in it.
template <class U>
struct Place {
  U cell, rest;
};

}  // namespace jf
