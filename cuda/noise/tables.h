// What a table of delays has at a uniform (delay.h): of all its 64 bits v, or of its high half
// only, which means v with a low half of 0 and is what nearly all draws ask for.
#pragma once

#include "../philox.h"

namespace jf {

// Cells of a smooth delay: 64 to an octave of the distance from the nearer end.
constexpr std::int32_t kSmoothBits = 6, kSmoothCells = 3712, kSmoothNodes = kSmoothCells + 1;
constexpr std::uint64_t kPieceBits = 2;  // 2^2 words to a cell of a piecewise delay
constexpr std::uint64_t kMostPieces = 1 << 23, kGuideSearch = 1 << 23;

constexpr std::uint64_t kMostHigh = 0xffffffff;  // of high halves
constexpr std::uint64_t kTailBits = 20, kTail = std::uint64_t{1} << kTailBits;
// Cells of a smooth delay outside its tails, in one word each (see shorts): those of the upper half
// follow kShortSide words later.
constexpr std::uint64_t kShortCells = (31 - kTailBits) << kSmoothBits, kShortSide = 1 << 10;
constexpr std::uint64_t kFirstShortCell = (32 + kTailBits - kSmoothBits + 1) << kSmoothBits;

// The distance of a high half from the nearer end.
template <class U>
JF_HD U from_end(U high) {
  return earlier(high, high ^ kMostHigh);
}

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

// The same of a high half outside the tails. What a double is made of is the octave, the cell in
// it, and the fraction of the cell.
template <class T, class U>
JF_HD T short_smooth(U high, const std::uint64_t* cells) {
  constexpr std::uint64_t kCellAt = 52 - kSmoothBits, kFirst = (std::uint64_t{1023} + kTailBits)
                                                               << kSmoothBits;
  const U place = double_of(from_end(high));
  const U side = (high >> std::uint64_t{21}) & kShortSide;
  const U cell = gather(cells, (place >> kCellAt) - kFirst + side);
  const U fraction = (place >> (kCellAt - 31)) & (kMostHigh >> 1);
  return (T)(cell >> std::uint64_t{32}) + (multiply_signed32<T>(cell, fraction) >> 31);
}

// A cell is the v where it ends, less 1, and the line of its delays: value at v = 0, slope. The
// guide has a word for each value g of the highest bits of a high half. High half: up to where of
// these the first cell goes, or the largest of all. Low half: that cell, and a bit: search all
// cells from this to the next word's.
struct Pieces {
  const std::uint64_t *guides, *shorts;  // shorts: of each cell one word, see Delay; or null
  std::int32_t guide_bits;
  std::uint64_t last;  // cell

  template <class T, class U>
  JF_HD T from_high(U high) const {
    const U v = high << std::uint64_t{32};
    const U g = high >> static_cast<std::uint64_t>(32 - guide_bits), guide = gather(guides, g);
    U cell = guide_cell(guide);
    cell = select(v > guide, cell + 1u, cell);
    if (__builtin_expect(any_bits(guide, guide - guide + kGuideSearch), 0))
      cell = search(cells(), v, guide, guide_cell(gather(guides + 1, g)), cell);
    if (shorts == nullptr) return line<T>(cell, v);
    const U short_cell = gather(shorts, cell);
    return (T)((short_cell >> std::uint64_t{32}) -
               (multiply32(high, short_cell) >> std::uint64_t{32}));
  }

  JF_HD Tick from_both(std::uint64_t v) const {
    return line<Tick>(search_one(cells(), v, 0, last), v);
  }

 private:
  template <class T, class U>
  JF_HD T line(U cell, U v) const {
    const U row = cell << kPieceBits;
    return (T)(gather(cells() + 1, row) - scale64(v, gather(cells() + 2, row)));
  }

  JF_HD const std::uint64_t* cells() const { return guides + (std::int64_t{1} << guide_bits) + 1; }

  template <class U>
  JF_HD static U guide_cell(U guide) {
    return guide & (kMostPieces - 1);
  }

  // The first cell up to `last` that does not end before v, where the guide asks for a search; else
  // `cell`.
  template <class U>
  JF_HD static U search(const std::uint64_t* cells, U v, U guide, U last, U cell) {
    if constexpr (sizeof(U) == sizeof(std::uint64_t)) {
      return (guide & kGuideSearch) == 0 ? cell : search_one(cells, v, guide_cell(guide), last);
    } else {
      for (unsigned k = 0; k < sizeof(U) / sizeof(std::uint64_t); ++k) {
        if ((guide[k] & kGuideSearch) != 0)
          cell[k] = search_one(cells, v[k], guide_cell(std::uint64_t{guide[k]}), last[k]);
      }
      return cell;
    }
  }

  JF_HD static std::uint64_t search_one(const std::uint64_t* cells, std::uint64_t v,
                                        std::uint64_t first, std::uint64_t last) {
    while (first < last) {
      const std::uint64_t middle = (first + last) / 2;
      if (cells[middle << kPieceBits] < v)
        first = middle + 1;
      else
        last = middle;
    }
    return first;
  }
};

}  // namespace jf
