// The guide of a piecewise delay (piece_table.h): where in the table a high half finds its cell.
#pragma once

#include "halves.h"

namespace jf {

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

}  // namespace jf
