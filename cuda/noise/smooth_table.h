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

// The same of a high half outside the tails, so far from the nearer end, by one word: what a double
// is made of is the octave, the cell in it, and the fraction of the cell.
template <class U>
JF_HD Place<U> short_place(U high, U distance) {
  constexpr std::uint64_t kCellAt = 52 - kSmoothBits;
  const U d = double_of(distance), cell = d >> kCellAt;
  return {select(high > distance, cell + kShortSide, cell),
          (d >> (kCellAt - 31)) & (kMostHigh >> 1)};
}

template <class T, class U>
JF_HD T short_smooth(const Place<U>& at, const std::uint64_t* cells) {
  // So that nobody has to take it from each cell.
  constexpr std::uint64_t kFirst = (std::uint64_t{1023} + kTailBits) << kSmoothBits;
  const U cell = gather(cells - kFirst, at.cell);
  const U rise = (U)multiply_signed32<T>(cell, at.rest);
  return (T)(((cell & ~kMostHigh) + rise) >> std::uint64_t{32});
}

// For any high half, without a branch.
struct QuickSmooth {
  static constexpr std::uint64_t kWrong = std::uint64_t{1}
                                          << 63;  // in `met`: the delay is of no use

  const std::uint64_t* cells;

  template <class U>
  JF_HD Place<U> place(U high, U& met) const {
    const U distance = from_end(high);
    met = met | (distance - kTail);
    return short_place(high, later_low(distance, high - high + kTail));
  }
  template <class T, class U>
  JF_HD T delay(const Place<U>& at) const {
    return short_smooth<T>(at, cells);
  }
};

}  // namespace jf
