// What a table of a piecewise delay has at a uniform (delay.h): of all its 64 bits v, or of its
// high half only.
#pragma once

#include "halves.h"

namespace jf {

constexpr std::uint64_t kPieceBits = 2;  // 2^2 words to a cell of a piecewise delay
constexpr std::uint64_t kMostPieces = 1 << 23, kGuideSearch = 1 << 23;

// A cell is the v where it ends, less 1, and the line of its delays: value at v = 0, slope. The
// guide has a word for each value g of the highest bits of a high half. High half: up to where of
// these the first cell goes, or the largest of all. Low half: that cell, and a bit: search all
// cells from this to the next word's. In the tails this bit is set always.
struct Pieces {
  const std::uint64_t *guides, *shorts;  // shorts: of each cell one word, see Delay; or null
  std::int32_t guide_bits;
  std::uint64_t last;  // cell

  template <class T, class U>
  JF_HD T from_high(U high) const {
    const U v = as_high_half(high), g = guide_at(high), guide = gather(guides, g);
    U cell = cell_by(guide, v);
    if (__builtin_expect(any_bits(guide, guide - guide + kGuideSearch), 0))
      cell = search(cells(), v, guide, guide_cell(gather(guides + 1, g)), cell);
    const Place<U> at{cell, high};
    return shorts == nullptr ? line_at<T>(at) : short_line<T>(at);
  }

  // The cell if nothing has to be searched for, which the guide tells.
  template <class U>
  JF_HD Place<U> place(U high, U& guide) const {
    guide = gather(guides, guide_at(high));
    return {cell_by(guide, as_high_half(high)), high};
  }

  // value - (high * slope >> 32).
  template <class T, class U>
  JF_HD T short_line(const Place<U>& at) const {
    const U cell = gather(shorts, at.cell);
    return (T)(((cell | kMostHigh) - multiply32(at.rest, cell)) >> std::uint64_t{32});
  }

  // The same of any cell: value - (high * slope >> 32), where the slope may be longer.
  template <class T, class U>
  JF_HD T line_at(const Place<U>& at) const {
    const U row = at.cell << kPieceBits, slope = gather(cells() + 2, row);
    const U fall = multiply32(at.rest, slope >> std::uint64_t{32}) +
                   (multiply32(at.rest, slope) >> std::uint64_t{32});
    return (T)(gather(cells() + 1, row) - fall);
  }

  JF_HD Tick from_both(std::uint64_t v) const {
    const std::uint64_t row = search_one(cells(), v, 0, last) << kPieceBits;
    return static_cast<Tick>(cells()[row + 1] - scale64(v, cells()[row + 2]));
  }

 private:
  template <class U>
  JF_HD U guide_at(U high) const {
    return shifted_right(high, static_cast<std::uint64_t>(32 - guide_bits));
  }

  template <class U>
  JF_HD static U cell_by(U guide, U v) {
    const U cell = guide_cell(guide);
    return select(v > guide, cell + 1u, cell);
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

// For any high half, without a branch: by words of a cell each, or by cells.
template <bool kShort>
struct QuickPieces {
  // In `met`: the delay is of no use.
  static constexpr std::uint64_t kWrong = kGuideSearch;

  Pieces pieces;

  template <class U>
  JF_HD Place<U> place(U high, U& met) const {
    U guide;
    const Place<U> at = pieces.place(high, guide);
    met = met | guide;
    return at;
  }
  template <class T, class U>
  JF_HD T delay(const Place<U>& at) const {
    return kShort ? pieces.short_line<T>(at) : pieces.line_at<T>(at);
  }
};

}  // namespace jf
