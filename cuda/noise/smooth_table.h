// What a table of a smooth delay has at a uniform (delay.h): of all its 64 bits v, or of its high
// half only.
#pragma once

#include "halves.h"

namespace jf {

// Cells of a smooth delay: 64 to an octave of the distance from the nearer end.
constexpr std::int32_t kSmoothBits = 6, kSmoothCells = 3712, kSmoothNodes = kSmoothCells + 1;
// Cells of a smooth delay outside its tails, in one word each (see shorts): those of the upper half
// follow kShortSide words later.
constexpr std::uint64_t kShortCells = (31 - kTailBits) << kSmoothBits, kShortSide = 1 << 10;
constexpr std::uint64_t kFirstShortCell = (32 + kTailBits - kSmoothBits + 1) << kSmoothBits;

// here + rise * fraction / 2^31, rounded down.
template <class T, class U>
JF_HD T on_line(T here, T rise, U fraction) {
  const T high = multiply_signed32<T>((U)(rise >> 32), fraction);
  return here + (high << 1) + (T)(multiply32((U)rise, fraction) >> std::uint64_t{31});
}

template <class T, class U>
JF_HD T smooth(U v, const std::uint64_t* nodes) {
  constexpr std::uint64_t kLinear = std::uint64_t{1} << kSmoothBits;
  const T upper = (T)v >> 63;  // -1 where u >= 2^63: there nodes count from the other end
  const U y = v ^ (U)upper;
  const U octave = floor_log2(y | kLinear) - std::uint64_t{kSmoothBits};
  const U cell = (octave << kSmoothBits) + (y >> octave) + ((U)upper & std::uint64_t{kSmoothNodes});
  const U fraction = (y << 1) << (std::uint64_t{63} - octave);
  const T here = (T)gather(nodes, cell), rise = (T)gather(nodes + 1, cell) - here;
  return on_line(here, rise, fraction >> std::uint64_t{33});
}

// Where that of a high half outside the tails is, so far from the nearer end: what a double is made
// of is the octave, the cell in it, and the fraction of the cell. Cells of the upper half follow
// `side` words later.
template <class U>
JF_HD Place<U> smooth_place(U high, U distance, std::uint64_t side) {
  constexpr std::uint64_t kCellAt = 52 - kSmoothBits;
  const U d = double_of(distance), cell = d >> kCellAt;
  return {select(high > distance, cell + side, cell), (d >> (kCellAt - 31)) & (kMostHigh >> 1)};
}
// The first such cell, which is taken from the table and not from each cell: the pointer that makes
// is before it, and nothing is read there.
constexpr std::uint64_t kFirstPlace = (std::uint64_t{1023} + kTailBits) << kSmoothBits;

template <class T, class U>
JF_HD T short_smooth(const Place<U>& at, const std::uint64_t* cells) {
  const U cell = gather(cells - kFirstPlace, at.cell);
  const U rise = (U)multiply_signed32<T>(cell, at.rest);
  return (T)(((cell & ~kMostHigh) + rise) >> std::uint64_t{32});
}

// For any high half, without a branch: by words of a cell each, or by nodes.
template <bool kShort>
struct QuickSmooth {
  const std::uint64_t* words;

  template <class U>
  JF_HD Place<U> place(U high, U& met) const {
    constexpr std::uint64_t kSide = kShort ? kShortSide : std::uint64_t{kSmoothNodes};
    const U distance = from_end(high);
    met = met | (distance - kTail);
    return smooth_place(high, later_low(distance, high - high + kTail), kSide);
  }
  // If one of these bits is in `met`, the delay is of no use.
  JF_HD static std::uint64_t wrong() { return std::uint64_t{1} << 63; }

  template <class T, class U>
  JF_HD T delay(const Place<U>& at) const {
    if constexpr (kShort) return short_smooth<T>(at, words);
    const std::uint64_t* nodes = words + kFirstShortCell - kFirstPlace;
    const T here = (T)gather(nodes, at.cell);
    return on_line(here, (T)gather(nodes + 1, at.cell) - here, at.rest);
  }
};

}  // namespace jf
