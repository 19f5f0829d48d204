// The ranks that a noise source acts on: all, or those of given hosts, a bit for each rank.
#pragma once

#include "noise/cursor.h"

namespace jf {

struct Hosts {
  std::int64_t bits = -1;  // where in the words of the program they begin; -1: all ranks

  JF_HD bool all() const { return bits < 0; }

  // Whether it acts on a rank, or on each rank of a register. Lanes beyond the last rank read the
  // padding of the bits. Not for all().
  template <class T>
  JF_HD auto has(T ranks, const std::uint64_t* words) const {
    using U = BitsOf<T>;
    const U word = gather(words + bits, shifted_right((U)ranks, std::uint64_t{6}));
    return ((word >> ((U)ranks & std::uint64_t{63})) & std::uint64_t{1}) != std::uint64_t{0};
  }

  // What is drawn for ranks, on those that it acts on; `other` on all others.
  template <class T>
  JF_HD T only(T drawn, T other, T ranks, const std::uint64_t* words) const {
    return all() ? drawn : select(has(ranks, words), drawn, other);
  }
};

}  // namespace jf
