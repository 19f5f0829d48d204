// Lookup tables of a delay distribution: histogram bins, samples, smooth quantile function. Each
// kind (delay.h) gives the delay at a uniform of 64 bits, v, or at its high half only.
#pragma once

#include "core/philox.h"

namespace jf {

// --- The high half of a 64-bit uniform, which stands for v with a low half of 0. Nearly all draws
// need no more than that.

constexpr std::uint64_t kMaxHigh = 0xffffffff;
constexpr std::uint64_t kTailBits = 20, kTail = std::uint64_t{1} << kTailBits;

// The distance of a high half from the nearer end.
template <class U>
JF_HD U distance_from_end(U high) {
  return earlier_low(high, high ^ kMaxHigh);
}
template <class U>
JF_HD auto in_tail(U high) {
  return distance_from_end(high) < kTail;
}

// A cell of a table, and the argument of the line that gives the delays of the cell.
template <class U>
struct Position {
  U cell, argument;
};

// --- The guide of a piecewise delay (Pieces): from a high half to its cell.

// A guide table divides the high halves into bins: either 2^(bits + 1) bins of one width, or, as
// the binary format of doubles does, 2^bits bins per octave. Then bins are the narrower the rarer
// the delays are, as those of histograms often are.
//
// The entry of a bin has half a word, so that the guide of a thousand cells stays in the L1 cache.
// Highest bits: where the first cell of the bin ends, as a fraction of the bin. Then the search
// bit: the cell must be searched from this one to the first of the next bin; it is always set in
// the tails. Then the number of the first cell, hence there are no more than 2^bits cells.
struct Guide {
  const std::uint64_t* bins;
  std::int32_t bits, octaves;

  // Numbers of the bins. The lower tail is one bin before the octaves.
  JF_HD static std::uint64_t first_bin(std::int32_t bits, bool octaves) {
    return octaves ? ((1023 + kTailBits) << bits) - 1 : 0;
  }
  JF_HD static std::uint64_t end_bin(std::int32_t bits, bool octaves) {
    return octaves ? std::uint64_t{1023 + 32} << bits : std::uint64_t{2} << bits;
  }
  // Two entries share a word. The table begins with the word that contains the entry of the first
  // bin, and ends with one more entry than there are bins.
  JF_HD static std::uint64_t first_word(std::int32_t bits, bool octaves) {
    return first_bin(bits, octaves) / 2;
  }
  JF_HD static std::uint64_t words(std::int32_t bits, bool octaves) {
    return end_bin(bits, octaves) / 2 + 1 - first_word(bits, octaves);
  }

  JF_HD std::uint64_t search_bit() const { return std::uint64_t{1} << bits; }

  template <class U>
  JF_HD U cell(U entry) const {
    return entry & (search_bit() - 1);
  }

  // The cell of a high half, unless the search bit of the entry is set.
  template <bool kOctaves, class U>
  JF_HD U find(U high, U& entry_found) const {
    const U x = bin_key<kOctaves>(high);
    entry_found = entry<kOctaves>(bin<kOctaves>(x));
    return cell_at<kOctaves>(entry_found, x);
  }

  // A number whose highest bits are the bin.
  template <bool kOctaves, class U>
  JF_HD static U bin_key(U high) {
    if constexpr (kOctaves) return double_of(later_low(high, high - high + (kTail - 1)));
    return high;
  }
  template <bool kOctaves, class U>
  JF_HD U bin(U bin_key) const {
    return shifted_right(bin_key, static_cast<std::uint64_t>((kOctaves ? 52 : 31) - bits));
  }
  template <bool kOctaves, class U>
  JF_HD U entry(U bin) const {
    return gather_half(bins - first_word(bits, kOctaves), bin);
  }
  // The first or second cell of a bin.
  template <bool kOctaves, class U>
  JF_HD U cell_at(U entry, U bin_key) const {
    const auto before = static_cast<std::uint64_t>((kOctaves ? 12 : 33) + bits);
    const U first = cell(entry);
    return select(shifted_left(bin_key, before) > as_high_half(entry), first + 1u, first);
  }
};

// --- The table of a piecewise delay.

constexpr std::uint64_t kPieceBits = 2;  // a cell has 2^2 words
constexpr std::uint64_t kMaxPieces = 1 << 23;

// A cell holds its last v, and the line of its delays: value at v = 0, slope.
struct Pieces {
  Guide guide;
  const std::uint64_t *cells, *compact;  // compact: one word per cell, see Delay; or null
  std::uint64_t last;                    // number of the last cell

  template <class T, class U>
  JF_HD T from_high(U high) const {
    return guide.octaves != 0 ? guided<true, T>(high) : guided<false, T>(high);
  }

  // value - (high * slope >> 32).
  template <class T, class U>
  JF_HD T compact_line(const Position<U>& at) const {
    const U cell = gather(compact, at.cell);
    return (T)(((cell | kMaxHigh) - multiply32(at.argument, cell)) >> std::uint64_t{32});
  }

  // The same for any cell: its slope may have more than 32 bits.
  template <class T, class U>
  JF_HD T line_at(const Position<U>& at) const {
    const U row = at.cell << kPieceBits, slope = gather(cells + 2, row);
    const U fall = multiply32(at.argument, slope >> std::uint64_t{32}) +
                   (multiply32(at.argument, slope) >> std::uint64_t{32});
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
    Position<U> at{guide.find<kOctaves>(high, entry), high};
    if (__builtin_expect(any_bits(entry, high - high + guide.search_bit()), 0)) {
      const U bin = guide.bin<kOctaves>(guide.bin_key<kOctaves>(high));
      at.cell = search(as_high_half(high), entry, guide.entry<kOctaves>(bin + 1u), at.cell);
      return line_at<T>(at);
    }
    return compact == nullptr ? line_at<T>(at) : compact_line<T>(at);
  }

  // The cell of v by a search, if the search bit of the entry is set; else `cell`.
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

  // The first cell that does not end before v, by bisection without unpredictable branches.
  JF_HD std::uint64_t search_one(std::uint64_t v, std::uint64_t from, std::uint64_t to) const {
    for (std::uint64_t remaining = to - from; remaining > 0;) {
      const std::uint64_t half = (remaining + 1) / 2;
      from = select(cells[(from + half - 1) << kPieceBits] < v, from + half, from);
      remaining -= half;
    }
    return from;
  }
};

// See QuickNone (delay.h).
template <bool kCompact, bool kOctaves>
struct QuickPieces {
  Pieces pieces;

  template <class U>
  JF_HD Position<U> place(U high, U& flags) const {
    U entry;
    const U cell = pieces.guide.find<kOctaves>(high, entry);
    flags = flags | entry;
    return {cell, high};
  }
  JF_HD std::uint64_t invalid_bits() const { return pieces.guide.search_bit(); }

  template <class T, class U>
  JF_HD T delay(const Position<U>& at) const {
    return kCompact ? pieces.compact_line<T>(at) : pieces.line_at<T>(at);
  }
};

// --- The table of equally likely values, of which floor(v * count / 2^64) is the index.

struct Samples {
  const std::uint64_t* values;  // falling; a word each, or half a word
  std::uint64_t count;

  template <class U>
  JF_HD U product(U high) const {
    return multiply32(high, high - high + count);
  }
  // If a bit of the high half of the result is set, the low half of the uniform decides.
  template <class U>
  JF_HD U differing_bits(U product) const {
    return (product + (count - 1)) ^ product;
  }
  template <bool kHalfWords, class T, class U>
  JF_HD T value(U index) const {
    return kHalfWords ? (T)gather_half(values, index) : (T)gather(values, index);
  }
};

template <bool kHalfWords>
struct QuickSamples {
  Samples samples;

  template <class U>
  JF_HD Position<U> place(U high, U& flags) const {
    const U product = samples.product(high);
    flags = flags | samples.differing_bits(product);
    return {product >> std::uint64_t{32}, high};
  }
  JF_HD static std::uint64_t invalid_bits() { return ~kMaxHigh; }

  template <class T, class U>
  JF_HD T delay(const Position<U>& at) const {
    return samples.value<kHalfWords, T>(at.cell);
  }
};

// --- The table of a smooth delay: nodes of its inverse survival function, 64 cells per octave of
// the distance of v from the nearer end.

constexpr std::int32_t kSmoothBits = 6, kSmoothCells = 3712, kSmoothNodes = kSmoothCells + 1;
// The compact table (see Delay): the cells of the upper half follow kCompactSide words later.
constexpr std::uint64_t kCompactCells = (31 - kTailBits) << kSmoothBits, kCompactSide = 1 << 10;
constexpr std::uint64_t kFirstCompactCell = (32 + kTailBits - kSmoothBits + 1) << kSmoothBits;

// here + rise * fraction / 2^31, rounded down.
template <class T, class U>
JF_HD T interpolate(T here, T rise, U fraction) {
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
  return interpolate(here, rise, fraction >> std::uint64_t{33});
}

// The position of a high half outside the tails. The binary format of its distance from the nearer
// end as a double contains the octave, the cell in it, and the fraction of the cell, which is the
// argument. Cells of the upper half follow `side` words later.
template <class U>
JF_HD Position<U> smooth_position(U high, U distance, std::uint64_t side) {
  constexpr std::uint64_t kCellAt = 52 - kSmoothBits;
  const U d = double_of(distance), cell = d >> kCellAt;
  return {select(high > distance, cell + side, cell), (d >> (kCellAt - 31)) & (kMaxHigh >> 1)};
}
// The first such cell. It is subtracted once from the pointer to the table instead of from each
// cell; nothing is read at the pointer that this gives, which is before the table.
constexpr std::uint64_t kFirstPositionCell = (std::uint64_t{1023} + kTailBits) << kSmoothBits;

template <class T, class U>
JF_HD T compact_smooth(const Position<U>& at, const std::uint64_t* cells) {
  const U cell = gather(cells - kFirstPositionCell, at.cell);
  const U rise = (U)multiply_signed32<T>(cell, at.argument);
  return (T)(((cell & ~kMaxHigh) + rise) >> std::uint64_t{32});
}

template <bool kCompact>
struct QuickSmooth {
  const std::uint64_t* words;

  template <class U>
  JF_HD Position<U> place(U high, U& flags) const {
    constexpr std::uint64_t kSide = kCompact ? kCompactSide : std::uint64_t{kSmoothNodes};
    const U distance = distance_from_end(high);
    flags = flags | (distance - kTail);
    return smooth_position(high, later_low(distance, high - high + kTail), kSide);
  }
  JF_HD static std::uint64_t invalid_bits() { return std::uint64_t{1} << 63; }

  template <class T, class U>
  JF_HD T delay(const Position<U>& at) const {
    if constexpr (kCompact) return compact_smooth<T>(at, words);
    const std::uint64_t* nodes = words + kFirstCompactCell - kFirstPositionCell;
    const T here = (T)gather(nodes, at.cell);
    return interpolate(here, (T)gather(nodes + 1, at.cell) - here, at.argument);
  }
};

}  // namespace jf
