// Where a rank is in the busy intervals of one source.
#pragma once

#include "../philox.h"

namespace jf {

constexpr Tick kNever = INT64_MAX;
// From here on nothing is delayed any more, so that no time can overflow; results that late are
// refused by the caller.
constexpr Tick kLatest = Tick{1} << 62;

// Interval [begin, end) is the first that ends after any t in [from, end). A cursor only saves
// work: a source moves it, forth or back, to wherever it has to be.
struct Cursor {
  Tick from, begin, end;
  std::uint32_t index, owner;  // the realization that the cursor belongs to

  JF_HD bool fits(Tick t) const { return from <= t && t < end; }
};

// What a source draws from: the same for all ranks that share its draws.
struct Stream {
  std::uint64_t seed;
  std::uint32_t key, realization;
};

}  // namespace jf
