// Philox and what is drawn from it (philox.h), for one rank a lane.
#pragma once

#include "simd.h"

namespace jf {

// Product of the low halves.
JF_HD ULanes multiply32(ULanes a, ULanes b) {
#if defined(__AVX512F__)
  // maskz: the unmasked one makes g++ 12 warn about an uninitialized value in its own header.
  return (ULanes)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (ULanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (ULanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

template <class T>
JF_HD Lanes multiply_signed32(ULanes a, ULanes b) {
#if defined(__AVX512F__)
  return (Lanes)_mm512_maskz_mul_epi32(0xff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Lanes)_mm256_mul_epi32((__m256i)a, (__m256i)b);
#else
  Lanes product{};
  for (int k = 0; k < kLanes; ++k)
    product[k] = multiply_signed32<Tick>(std::uint64_t{a[k]}, std::uint64_t{b[k]});
  return product;
#endif
}

// The high halves, in the low halves; what is in the high ones does not matter. A shuffle, as
// shifts compete with multiplications for a port.
JF_HD ULanes high_halves(ULanes v) {
#if defined(__AVX512F__)
  return (ULanes)_mm512_maskz_shuffle_epi32(0xffff, (__m512i)v, _MM_PERM_DDBB);
#elif defined(__AVX2__)
  return (ULanes)_mm256_shuffle_epi32((__m256i)v, 0xf5);
#else
  return v >> 32;
#endif
}

// What a Philox block does with its counter does not depend on the rank: the keys of its rounds, as
// registers in memory, which an instruction can take as an operand.
struct RoundKeys {
  ULanes k0[10], k1[10];

  explicit JF_HD RoundKeys(std::uint64_t seed) {
    std::uint32_t a = static_cast<std::uint32_t>(seed), b = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round, a += philox::kW0, b += philox::kW1) {
      k0[round] = ULanes{} + a;
      k1[round] = ULanes{} + b;
    }
    asm("" : "+m"(*this));  // really in memory: else they would be made again each time
  }
};

// Of its counter only the rank differs from lane to lane: what the first two rounds do with the
// rest is the same for all.
struct FirstRounds {
  ULanes before, w0, w1, w2;

  JF_HD FirstRounds(const RoundKeys& keys, std::uint32_t purpose, std::uint32_t block,
                    std::uint32_t realization) {
    const auto key = [](const ULanes& k) { return static_cast<std::uint32_t>(k[0]); };
    const std::uint64_t p0 = std::uint64_t{philox::kM0} * block;
    const std::uint32_t mixed =
        static_cast<std::uint32_t>(p0 >> 32) ^ realization ^ key(keys.k1[0]);
    const std::uint64_t p1 = std::uint64_t{philox::kM1} * mixed;
    before = ULanes{} + (purpose ^ key(keys.k0[0]));
    w0 = ULanes{} + (static_cast<std::uint32_t>(p1 >> 32) ^ key(keys.k0[1]));
    w1 = ULanes{} + static_cast<std::uint32_t>(p1);
    w2 = ULanes{} + (static_cast<std::uint32_t>(p0) ^ key(keys.k1[1]));
  }
};

// Philox for one rank a lane. Words live in the low halves; what the multiplications leave in the
// high halves is never read by a later multiplication.
struct WordLanes {
  ULanes w[4];
};
// Of n registers of ranks in turn: a round waits for the one before it, and a processor does not
// look far enough ahead to fill the time with the next block.
template <int n>
JF_HD void philox4x32_10(const RoundKeys& keys, const FirstRounds& common, const Lanes (&ranks)[n],
                         WordLanes (&words)[n]) {
  const ULanes m0 = ULanes{} + philox::kM0, m1 = ULanes{} + philox::kM1;
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    const ULanes first = multiply32(m1, (ULanes)ranks[i]);
    const ULanes second = multiply32(m0, high_halves(first) ^ common.before);
    words[i] = {{first ^ common.w0, common.w1, high_halves(second) ^ common.w2, second}};
  }
#pragma GCC unroll 10
  for (int round = 2; round < 10; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {
      ULanes(&w)[4] = words[i].w;
      const ULanes p0 = multiply32(m0, w[0]), p1 = multiply32(m1, w[2]);
      w[0] = high_halves(p1) ^ w[1] ^ keys.k0[round];
      w[1] = p1;
      w[2] = high_halves(p0) ^ w[3] ^ keys.k1[round];
      w[3] = p0;
    }
  }
}
JF_HD WordLanes philox4x32_10(const RoundKeys& keys, std::uint32_t purpose, std::uint32_t block,
                              Lanes rank, std::uint32_t realization) {
  const Lanes ranks[1] = {rank};
  WordLanes words[1];
  philox4x32_10(keys, FirstRounds(keys, purpose, block, realization), ranks, words);
  return words[0];
}

JF_HD Pair<ULanes> uniform_pair(const RoundKeys& keys, std::uint32_t purpose, std::uint32_t block,
                                Lanes rank, std::uint32_t realization) {
  const WordLanes r = philox4x32_10(keys, purpose, block, rank, realization);
  return {(r.w[0] & 0xffffffffu) | r.w[1] << 32, (r.w[2] & 0xffffffffu) | r.w[3] << 32};
}

JF_HD Pair<ULanes> uniform_pair(std::uint64_t seed, std::uint32_t purpose, std::uint32_t block,
                                Lanes rank, std::uint32_t realization) {
  return uniform_pair(RoundKeys(seed), purpose, block, rank, realization);
}

JF_HD ULanes uniform32(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, Lanes rank,
                       std::uint32_t realization) {
  const WordLanes r = philox4x32_10(RoundKeys(seed), purpose, draw >> 2, rank, realization);
  const ULanes even = (draw & 2) == 0 ? r.w[0] : r.w[2], odd = (draw & 2) == 0 ? r.w[1] : r.w[3];
  return ((draw & 1) == 0 ? even : odd) & 0xffffffffu;
}

JF_HD ULanes only_uniform64(std::uint64_t seed, std::uint32_t purpose, Lanes rank,
                            std::uint32_t realization) {
  const auto pair = uniform_pair(seed, purpose, 0, rank >> 1, realization);
  return (ULanes)select((rank & 1) == 0, (Lanes)pair.even, (Lanes)pair.odd);
}

// The same for 2 kLanes neighbours from rank `first`, an even one, on: no half of a block is lost.
// `even`: of the first half of them.
JF_HD Pair<ULanes> only_uniform64(const RoundKeys& keys, std::uint32_t purpose, Tick first,
                                  std::uint32_t realization) {
  const auto pair =
      uniform_pair(keys, purpose, 0, broadcast(first >> 1) + lane_index(), realization);
  return {interleave(pair.even, pair.odd, 0), interleave(pair.even, pair.odd, kLanes / 2)};
}

// For ranges below 2^32, as nearly all are.
JF_HD ULanes scale64_short(ULanes u, ULanes range) {
  return (multiply32(u >> 32, range) + (multiply32(u, range) >> 32)) >> 32;
}

JF_HD ULanes scale64(ULanes u, ULanes range) {
  if (__builtin_expect(!any_greater((Lanes)(range >> 32), Lanes{}), 1))
    return scale64_short(u, range);
  const ULanes r1 = range >> 32, u1 = u >> 32;
  const ULanes low = multiply32(u, range);
  const ULanes middle = multiply32(u1, range) + (low >> 32);
  const ULanes carry = multiply32(u, r1) + (middle & 0xffffffffu);
  return multiply32(u1, r1) + (middle >> 32) + (carry >> 32);
}

JF_HD ULanes scale64(ULanes u, std::uint64_t range) { return scale64(u, ULanes{} + range); }

// The only draws of streams 2 * pair and 2 * pair + 1, scaled; `words` are the blocks of pairs.
JF_HD Pair<Lanes> scaled_pair(const WordLanes& words, ULanes ranges, bool is_short) {
  const auto scaled = [&](ULanes low, ULanes high) JF_INLINE {
    // What is in the high halves of the words does not matter to multiply32.
    if (__builtin_expect(is_short, 1))
      return (Lanes)((multiply32(high, ranges) + (multiply32(low, ranges) >> 32)) >> 32);
    return (Lanes)scale64((low & 0xffffffffu) | high << 32, ranges);
  };
  return {scaled(words.w[0], words.w[1]), scaled(words.w[2], words.w[3])};
}

// For registers of pairs of ranks.
template <int kMany>
JF_HD void only_scaled_pairs(const RoundKeys& keys, const FirstRounds& common,
                             const Lanes (&pairs)[kMany], std::uint64_t range,
                             Pair<Lanes> (&found)[kMany]) {
  WordLanes r[kMany];
  philox4x32_10(keys, common, pairs, r);
  const ULanes ranges = ULanes{} + range;
#pragma GCC unroll 8
  for (int i = 0; i < kMany; ++i) found[i] = scaled_pair(r[i], ranges, range >> 32 == 0);
}

// For 2 kMany kLanes neighbours from rank `first`, an even one, on: only_uniform64, scaled.
template <int kMany>
JF_HD void only_scaled64(const RoundKeys& keys, const FirstRounds& common, Tick first,
                         std::uint64_t range, Lanes (&found)[2 * kMany]) {
  Lanes pairs[kMany];
  Pair<Lanes> scaled[kMany];
#pragma GCC unroll 8
  for (int i = 0; i < kMany; ++i) pairs[i] = broadcast((first >> 1) + i * kLanes) + lane_index();
  only_scaled_pairs(keys, common, pairs, range, scaled);
#pragma GCC unroll 8
  for (int i = 0; i < kMany; ++i) {
    const ULanes even = (ULanes)scaled[i].even, odd = (ULanes)scaled[i].odd;
    found[2 * i] = (Lanes)interleave(even, odd, 0);
    found[2 * i + 1] = (Lanes)interleave(even, odd, kLanes / 2);
  }
}

}  // namespace jf
