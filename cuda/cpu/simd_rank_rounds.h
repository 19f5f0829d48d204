// Philox for ranks whose first rounds are known.
#pragma once

#include "simd_philox.h"

namespace jf {

// What the first three rounds do with a rank alone is the same in all realizations: words of the
// third one, two in a lane.
struct RankRounds {
  ULanes w0_w2;  // in the low half what w[0] is made of before that round, in the high one after it
  ULanes w1_w3;  // in the low half w[1] after it, in the high one what w[2] is made of

  JF_HD static RankRounds of(const RoundKeys& keys, const FirstRounds& common, Lanes rank) {
    const ULanes first = multiply32(ULanes{} + philox::kM1, (ULanes)rank);
    const ULanes second = multiply32(ULanes{} + philox::kM0, high_halves(first) ^ common.before);
    const ULanes third = multiply32(ULanes{} + philox::kM1, high_halves(second) ^ common.w2);
    const auto both = [](ULanes low, ULanes high) { return (low & 0xffffffffu) | high << 32; };
    return {both(first, high_halves(third) ^ keys.k0[2]), both(third, second ^ keys.k1[2])};
  }
};

// Of kMostBlocks registers of ranks, in one realization. rank_of(i): the RankRounds of register i.
#if defined(__AVX512F__)
template <class RankOf>
JF_HD void philox_of_ranks(const RoundKeys& keys, const FirstRounds& common, RankOf&& rank_of,
                           WordLanes (&words)[kMostBlocks]) {
  const ULanes m0 = ULanes{} + philox::kM0;
  MostBlocks b;
#pragma GCC unroll 8
  for (int i = 0; i < kMostBlocks; ++i) {
    const RankRounds& r = rank_of(i);
    b.p0.keep(2, i, multiply32(m0, r.w0_w2 ^ common.w0));
    b.w0[i] = BlockProducts::loaded_high_halves(r.w0_w2) ^ common.w1;
    b.w2[i] = b.p0.high(2, i) ^ BlockProducts::loaded_high_halves(r.w1_w3);
  }
  b.rounds<3>(keys, words, [&](int i) JF_INLINE { return rank_of(i).w1_w3; });
}
#else
template <class RankOf>
JF_HD void philox_of_ranks(const RoundKeys& keys, const FirstRounds& common, RankOf&& rank_of,
                           WordLanes (&words)[kMostBlocks]) {
  const ULanes m0 = ULanes{} + philox::kM0;
  for (int i = 0; i < kMostBlocks; ++i) {
    const RankRounds& r = rank_of(i);
    const ULanes p0 = multiply32(m0, r.w0_w2 ^ common.w0);
    words[i] = {
        {high_halves(r.w0_w2) ^ common.w1, r.w1_w3, high_halves(p0) ^ high_halves(r.w1_w3), p0}};
  }
  philox_rounds<3>(keys, words);
}
#endif
JF_HD void philox_of_ranks(const RoundKeys& keys, const FirstRounds& common,
                           const RankRounds* ranks, WordLanes (&words)[kMostBlocks]) {
  philox_of_ranks(
      keys, common, [=](int i) JF_INLINE -> const RankRounds& { return ranks[i]; }, words);
}

}  // namespace jf
