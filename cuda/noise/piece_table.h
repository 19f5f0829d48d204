// What a table of a piecewise delay has at a uniform (delay.h): of all its 64 bits v, or of its
// high half only.
#pragma once

#include "guide.h"

namespace jf {

constexpr std::uint64_t kPieceBits = 2;  // 2^2 words to a cell of a piecewise delay
constexpr std::uint64_t kMostPieces = 1 << 23;

// A cell is the v where it ends, less 1, and the line of its delays: value at v = 0, slope.
struct Pieces {
  Guide guide;
  const std::uint64_t *cells, *shorts;  // shorts: of each cell one word, see Delay; or null
  std::uint64_t last;                   // cell

  template <class T, class U>
  JF_HD T from_high(U high) const {
    return guide.octaves != 0 ? guided<true, T>(high) : guided<false, T>(high);
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
    const U row = at.cell << kPieceBits, slope = gather(cells + 2, row);
    const U fall = multiply32(at.rest, slope >> std::uint64_t{32}) +
                   (multiply32(at.rest, slope) >> std::uint64_t{32});
    return (T)(gather(cells + 1, row) - fall);
  }

  JF_HD Tick from_both(std::uint64_t v) const {
    const std::uint64_t row = search_one(v, 0, last) << kPieceBits;
    return static_cast<Tick>(cells[row + 1] - scale64(v, cells[row + 2]));
  }

 private:
  template <bool kOctaves, class T, class U>
  JF_HD T guided(U high) const {
    U entry;
    Place<U> at{guide.find<kOctaves>(high, entry), high};
    if (__builtin_expect(any_bits(entry, high - high + guide.search_bit()), 0)) {
      const U place = guide.place<kOctaves>(guide.divided<kOctaves>(high));
      at.cell = search(as_high_half(high), entry, guide.entry<kOctaves>(place + 1u), at.cell);
      return line_at<T>(at);
    }
    return shorts == nullptr ? line_at<T>(at) : short_line<T>(at);
  }

  // The first cell that does not end before v, where the entry asks for a search; else `cell`.
  template <class U>
  JF_HD U search(U v, U entry, U next, U cell) const {
    if constexpr (sizeof(U) == sizeof(std::uint64_t)) {
      if ((entry & guide.search_bit()) == 0) return cell;
      return search_one(v, guide.cell(entry), guide.cell(next));
    } else {
      for (unsigned k = 0; k < sizeof(U) / sizeof(std::uint64_t); ++k)
        cell[k] = search<std::uint64_t>(v[k], entry[k], next[k], cell[k]);
      return cell;
    }
  }

  // Without a branch on what is found, which nobody can foresee.
  JF_HD std::uint64_t search_one(std::uint64_t v, std::uint64_t from, std::uint64_t to) const {
    for (std::uint64_t left = to - from; left > 0;) {
      const std::uint64_t half = (left + 1) / 2;
      from = select(cells[(from + half - 1) << kPieceBits] < v, from + half, from);
      left -= half;
    }
    return from;
  }
};

// For any high half, without a branch: by words of a cell each, or by cells.
template <bool kShort, bool kOctaves>
struct QuickPieces {
  Pieces pieces;

  template <class U>
  JF_HD Place<U> place(U high, U& met) const {
    U entry;
    const U cell = pieces.guide.find<kOctaves>(high, entry);
    met = met | entry;
    return {cell, high};
  }
  // If one of these bits is in `met`, the delay is of no use.
  JF_HD std::uint64_t wrong() const { return pieces.guide.search_bit(); }

  template <class T, class U>
  JF_HD T delay(const Place<U>& at) const {
    return kShort ? pieces.short_line<T>(at) : pieces.line_at<T>(at);
  }
};

}  // namespace jf
