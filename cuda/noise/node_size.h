// Noise draws that a node shares: which node draws for a rank, by a fast division.
#pragma once

#include "noise/cursor.h"

namespace jf {

// Ranks that the engine knows are below 2^kRankBits: a program has at most 2^30, and the lanes of
// a register may lie a little beyond its last one.
constexpr std::int32_t kRankBits = 31;

// The division by a number n that is known beforehand, as a multiplication by about 2^shift / n
// (Granlund and Montgomery, PLDI'94, Theorem 4.2). With l = log2(n) rounded up, shift = 31 + l and
// m = 2^shift / n rounded up, m n = 2^shift + e with e < n <= 2^l. So rank m / 2^shift exceeds
// rank / n by rank e / (n 2^shift) < 1 / n for a rank below 2^31, which is too little to reach the
// next node. And m is below 2^32, so that the product is below 2^63.
struct NodeSize {
  std::uint32_t multiplier;
  std::int32_t shift;

  // 0 < n <= 2^31.
  JF_HD static constexpr NodeSize of(std::int64_t n) {
    std::int32_t bits = 0;
    while (std::int64_t{1} << bits < n) ++bits;
    const std::int32_t shift = kRankBits + bits;
    const std::uint64_t power = std::uint64_t{1} << shift, ranks = static_cast<std::uint64_t>(n);
    return {static_cast<std::uint32_t>((power + ranks - 1) / ranks), shift};
  }

  JF_HD bool one_rank() const { return shift == kRankBits; }

  // The number of the node of a rank, or of each rank of a register.
  template <class T>
  JF_HD T of_rank(T rank) const {
    using U = BitsOf<T>;
    return (T)shifted_right(multiply32((U)rank, U{} + multiplier),
                            static_cast<std::uint64_t>(shift));
  }
};

}  // namespace jf
