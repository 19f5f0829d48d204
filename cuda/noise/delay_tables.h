// The tables of delay.h: what each kind of delay has at a uniform.
#pragma once

#include "core/philox.h"

namespace jf {

// --- The high half of a 64-bit uniform (delay.h), which stands for v with a low half of 0 and is
// what nearly all draws ask for.

constexpr std::uint64_t kMaxHigh = 0xffffffff;
constexpr std::uint64_t kTailBits = 20, kTail = std::uint64_t{1} << kTailBits;

// The distance of a high half from the nearer end.
template <class U>
JF_HD U from_end(U high) {
  return earlier_low(high, high ^ kMaxHigh);
}

// A cell of a table of one word to a cell, and where in it.
template <class U>
struct Place {
  U cell, rest;
};

// --- The guide of a piecewise delay (piece_table.h): where in the table a high half finds its
// cell.

// It tells the cell of nearly all high halves. It divides these into places, of one width,
// 2^(bits + 1) of them, or as a double is divided, 2^bits to an octave: the rarer the delays, the
// narrower, as bins of a histogram often are.
//
// A place has half a word, so that the guide of a thousand cells stays in the cache next to the
// processor. The highest bits: where the first cell of the place ends, as a part of the place. Then
// one that asks for a search among all cells from this to the first of the next place; in the tails
// it is set always. Then the number of this cell, hence no more than 2^bits cells.
struct Guide {
  const std::uint64_t* places;
  std::int32_t bits, octaves;

  // From the lowest one on: the lower tail is one place in front of the octaves.
  JF_HD static std::uint64_t first_place(std::int32_t bits, bool octaves) {
    return octaves ? ((1023 + kTailBits) << bits) - 1 : 0;
  }
  JF_HD static std::uint64_t end_place(std::int32_t bits, bool octaves) {
    return octaves ? std::uint64_t{1023 + 32} << bits : std::uint64_t{2} << bits;
  }
  // An even number is left out before the first place, as there are two in a word; after the last
  // one there is one more.
  JF_HD static std::uint64_t first_word(std::int32_t bits, bool octaves) {
    return first_place(bits, octaves) / 2;
  }
  JF_HD static std::uint64_t words(std::int32_t bits, bool octaves) {
    return end_place(bits, octaves) / 2 + 1 - first_word(bits, octaves);
  }

  JF_HD std::uint64_t search_bit() const { return std::uint64_t{1} << bits; }

  template <class U>
  JF_HD U cell(U entry) const {
    return entry & (search_bit() - 1);
  }

  // The cell of a high half, unless the entry, which is set, asks for a search.
  template <bool kOctaves, class U>
  JF_HD U find(U high, U& found) const {
    const U x = divided<kOctaves>(high);
    found = entry<kOctaves>(place<kOctaves>(x));
    return cell_at<kOctaves>(found, x);
  }

  // What is divided into places by its highest bits.
  template <bool kOctaves, class U>
  JF_HD static U divided(U high) {
    if constexpr (kOctaves) return double_of(later_low(high, high - high + (kTail - 1)));
    return high;
  }
  template <bool kOctaves, class U>
  JF_HD U place(U divided) const {
    return shifted_right(divided, static_cast<std::uint64_t>((kOctaves ? 52 : 31) - bits));
  }
  // The entry of a place, or of one after it.
  template <bool kOctaves, class U>
  JF_HD U entry(U place) const {
    return gather_half(places - first_word(bits, kOctaves), place);
  }
  // The first or second cell of a place.
  template <bool kOctaves, class U>
  JF_HD U cell_at(U entry, U divided) const {
    const auto before = static_cast<std::uint64_t>((kOctaves ? 12 : 33) + bits);
    const U first = cell(entry);
    return select(shifted_left(divided, before) > as_high_half(entry), first + 1u, first);
  }
};

// --- What a table of a piecewise delay has at a uniform (delay.h): of all its 64 bits v, or of its
// high half only.

constexpr std::uint64_t kPieceBits = 2;  // 2^2 words to a cell of a piecewise delay
constexpr std::uint64_t kMaxPieces = 1 << 23;

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
    return (T)(((cell | kMaxHigh) - multiply32(at.rest, cell)) >> std::uint64_t{32});
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

// --- What a table of equally likely values has at the high half of a uniform (delay.h).

struct Samples {
  const std::uint64_t* values;  // falling; of a word each, or of half a word
  std::uint64_t count;

  template <class U>
  JF_HD U product(U high) const {
    return multiply32(high, high - high + count);
  }
  // In the high half of what differs: whether the low half of a uniform decides.
  template <class U>
  JF_HD U differs(U product) const {
    return (product + (count - 1)) ^ product;
  }
  template <bool kHalves, class T, class U>
  JF_HD T value(U index) const {
    return kHalves ? (T)gather_half(values, index) : (T)gather(values, index);
  }
};

// For any high half, without a branch.
template <bool kHalves>
struct QuickSamples {
  Samples samples;

  template <class U>
  JF_HD Place<U> place(U high, U& met) const {
    const U product = samples.product(high);
    met = met | samples.differs(product);
    return {product >> std::uint64_t{32}, high};
  }
  // If one of these bits is in `met`, the delay is of no use.
  JF_HD static std::uint64_t wrong() { return ~kMaxHigh; }

  template <class T, class U>
  JF_HD T delay(const Place<U>& at) const {
    return samples.value<kHalves, T>(at.cell);
  }
};

// --- What a table of a smooth delay has at a uniform (delay.h): of all its 64 bits v, or of its
// high half only.

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
  return {select(high > distance, cell + side, cell), (d >> (kCellAt - 31)) & (kMaxHigh >> 1)};
}
// The first such cell, which is taken from the table and not from each cell: the pointer that makes
// is before it, and nothing is read there.
constexpr std::uint64_t kFirstPlace = (std::uint64_t{1023} + kTailBits) << kSmoothBits;

template <class T, class U>
JF_HD T short_smooth(const Place<U>& at, const std::uint64_t* cells) {
  const U cell = gather(cells - kFirstPlace, at.cell);
  const U rise = (U)multiply_signed32<T>(cell, at.rest);
  return (T)(((cell & ~kMaxHigh) + rise) >> std::uint64_t{32});
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
