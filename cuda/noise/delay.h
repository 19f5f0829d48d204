// A delay drawn from a distribution, as integer tables: a function of one 64-bit uniform u, in
// which no logarithm of any library decides a bit. Small u are rare, long delays. See host_delay.h
// for who makes the tables.
#pragma once

#include "../philox.h"

namespace jf {

enum DelayKind : std::int32_t {
  kConstantDelay,
  kSmoothDelay,   // inverse survival function on log-linear nodes, dense at both ends
  kSampledDelay,  // one of many equally likely values
  kPieceDelay,    // inverse survival function, linear between any nodes
  kCountedDelay,  // a whole number of times a value
};

// Cells of a smooth delay: 64 to an octave of the distance from the nearer end.
constexpr std::int32_t kSmoothBits = 6, kSmoothCells = 3712, kSmoothNodes = kSmoothCells + 1;
constexpr std::uint64_t kPieceBits = 2;  // 2^2 words to a cell of a piecewise delay
constexpr std::uint64_t kGuideShift = 24, kMostPieces = 1 << 23;

// Maps [0, n) onto [0, 2^64).
struct Stretch {
  std::uint64_t shift, factor;

  template <class U>
  JF_HD U operator()(U u) const {
    return scale64(u << shift, factor) << 1;
  }
};

struct Delay {
  std::int32_t kind, certain;
  std::uint64_t last;  // a delay happens if u <= last; certain: always
  Stretch given;       // u, given that it does
  Tick value;
  std::int64_t table, count;  // where the table starts in the words of the program
  std::int32_t guide_bits;    // of a piecewise delay, from 1

  // T, U: Tick and uint64, or Lanes and ULanes.
  template <class T, class U>
  JF_HD T of(U u, const std::uint64_t* words) const {
    if (certain) return when_it_happens<T>(u, words);
    const auto happens = u <= last;
    const T none = (T)u - (T)u;
    if (!any(happens)) return none;
    return select(happens, when_it_happens<T>(given(u), words), none);
  }

 private:
  template <class T, class U>
  JF_HD T when_it_happens(U v, const std::uint64_t* words) const {
    switch (kind) {
      case kConstantDelay:
        return (T)v - (T)v + value;
      case kSmoothDelay:
        return smooth<T>(v, words + table);
      case kSampledDelay:
        return (T)gather(words + table, scale64(v, static_cast<std::uint64_t>(count)));
      case kPieceDelay:
        return piece<T>(v, words + table);
      default:
        return counted<T>(v, words + table);
    }
  }

  template <class T, class U>
  JF_HD static T smooth(U v, const std::uint64_t* nodes) {
    constexpr std::uint64_t kLinear = std::uint64_t{1} << kSmoothBits;
    const T upper = (T)v >> 63;  // -1 where u >= 2^63: there nodes count from the other end
    const U y = v ^ (U)upper;
    const U octave = floor_log2(y | kLinear) - std::uint64_t{kSmoothBits};
    const U cell =
        (octave << kSmoothBits) + (y >> octave) + ((U)upper & std::uint64_t{kSmoothNodes});
    const U fraction = (y << 1) << (std::uint64_t{63} - octave);
    const T here = (T)gather(nodes, cell), rise = (T)gather(nodes + 1, cell) - here;
    // The nodes rise in the upper half, else they fall; what is scaled is not negative.
    const T step = (T)scale64(fraction, (U)((rise ^ ~upper) - ~upper));
    return here + ((step ^ ~upper) - ~upper);
  }

  // A cell is the v where it ends, less 1, and the line of its delays: value at v = 0, slope. The
  // guide has a word for each value g of the highest bits of v. Its lowest bit: search all cells
  // from this to the next word's. Then 23 bits, the first cell; 40 bits, up to where in these v.
  template <class T, class U>
  JF_HD T piece(U v, const std::uint64_t* at) const {
    const auto high = static_cast<std::uint64_t>(64 - guide_bits);
    const std::uint64_t* cells = at + (std::int64_t{1} << guide_bits) + 1;
    const U g = v >> high, guide = gather(at, g);
    const U within = (v << static_cast<std::uint64_t>(guide_bits)) >> kGuideShift;
    U cell = guide_cell(guide);
    cell = select(within > guide >> kGuideShift, cell + 1u, cell);
    if (__builtin_expect(any((guide & 1u) != 0), 0))
      cell = search(cells, v, guide, guide_cell(gather(at + 1, g)), cell);
    const U row = cell << kPieceBits;
    return (T)(gather(cells + 1, row) - scale64(v, gather(cells + 2, row)));
  }

  template <class U>
  JF_HD static U guide_cell(U guide) {
    return (guide >> std::uint64_t{1}) & std::uint64_t{kMostPieces - 1};
  }

  // The first cell up to `last` that does not end before v, where the guide asks for a search; else
  // `cell`.
  template <class U>
  JF_HD static U search(const std::uint64_t* cells, U v, U guide, U last, U cell) {
    if constexpr (sizeof(U) == sizeof(std::uint64_t)) {
      return (guide & 1) == 0 ? cell : search_one(cells, v, guide_cell(guide), last);
    } else {
      for (unsigned k = 0; k < sizeof(U) / sizeof(std::uint64_t); ++k) {
        if ((guide[k] & 1) != 0)
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

  template <class T, class U>
  JF_HD T counted(U v, const std::uint64_t* survival) const {
    T k = (T)v - (T)v;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto more = v < survival[i];
      if (!any(more)) break;
      k = k + select(more, (T)v - (T)v + value, (T)v - (T)v);
    }
    return k;
  }
};

}  // namespace jf
