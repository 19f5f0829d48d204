// SIMD Philox4x32-10: random numbers in registers, and the uniforms that are drawn with it.
// core/philox.h says what a draw is, and has the same functions for one rank; read it first.
//
// Include this before any template over Tick and Lanes: the overloads for registers take built-in
// vector types, which have no namespace, so a template sees only those that are declared before it.
#pragma once

#include <algorithm>

#include "cpu/simd.h"

namespace jf {

// --- Philox, for one rank a lane.

// The products of the low halves (32 bits each).
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

// Moves the high halves to the low halves; the new high halves are unspecified. By a shuffle, as
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

// The keys of all rounds, which do not depend on the rank, as registers in memory: an instruction
// can take them as an operand.
struct RoundKeys {
  ULanes k0[philox::kRounds], k1[philox::kRounds];

  explicit JF_HD RoundKeys(std::uint64_t seed) {
    std::uint32_t a = static_cast<std::uint32_t>(seed), b = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < philox::kRounds; ++round, a += philox::kW0, b += philox::kW1) {
      k0[round] = ULanes{} + a;
      k1[round] = ULanes{} + b;
    }
    asm("" : "+m"(*this));  // forces them into memory: g++ would make them anew each time
  }
  JF_HD std::uint64_t seed() const { return k1[0][0] << 32 | k0[0][0]; }
};

// The counters of a register differ in the rank only. This is what the first two rounds make of the
// other words, which is the same in all lanes.
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

// The four words of a counter, in the low halves. Multiplications leave something in the high
// halves, which no later multiplication reads.
struct WordLanes {
  ULanes w[4];
};
// Rounds from `begin` on, of n registers in turn: a round waits for the one before it, and a
// processor does not look far enough ahead to start the next block meanwhile.
template <int begin, int n>
JF_HD void philox_rounds(const RoundKeys& keys, WordLanes (&words)[n]) {
  const ULanes m0 = ULanes{} + philox::kM0, m1 = ULanes{} + philox::kM1;
#pragma GCC unroll 10
  for (int round = begin; round < philox::kRounds; ++round) {
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

// `first`: kM1 times the ranks, the products with which the first round begins.
template <int n>
JF_HD void philox_of_products(const RoundKeys& keys, const FirstRounds& common,
                              const ULanes (&first)[n], WordLanes (&words)[n]) {
  const ULanes m0 = ULanes{} + philox::kM0;
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    const ULanes second = multiply32(m0, high_halves(first[i]) ^ common.before);
    words[i] = {{first[i] ^ common.w0, common.w1, high_halves(second) ^ common.w2, second}};
  }
  philox_rounds<2>(keys, words);
}

#if defined(__AVX512F__)
// Multiplications, shuffles and xors share two ports. Loading the high halves of a stored register
// uses neither, but only one store a cycle is possible. So every second block is stored, and the
// others stay in registers. With eight blocks no load waits for its store.
constexpr int kMaxBlocks = 8;
class BlockProducts {
  ULanes stored_[2][kMaxBlocks], staying_[2][kMaxBlocks];  // of even rounds, and of odd ones
  static constexpr bool stays(int i) { return (i & 1) != 0; }

 public:
  JF_HD void keep(int round, int i, ULanes v) {
    if (stays(i))
      staying_[round & 1][i] = v;
    else
      asm("vmovdqa64 %1, %0" : "=m"(stored_[round & 1][i]) : "v"(v));
  }
  JF_HD ULanes get(int round, int i) const {
    return stays(i) ? staying_[round & 1][i] : stored_[round & 1][i];
  }
  JF_HD ULanes high(int round, int i) const {
    return stays(i) ? high_halves(staying_[round & 1][i])
                    : loaded_high_halves(stored_[round & 1][i]);
  }
  JF_HD static ULanes loaded_high_halves(const ULanes& stored) {
    ULanes found;
    asm("vmovshdup %1, %0" : "=v"(found) : "m"(stored));
    return found;
  }
};
struct InterleavedBlocks {
  BlockProducts p0, p1;
  ULanes w0[kMaxBlocks], w2[kMaxBlocks];

  // Rounds from `begin` on. Before them w[3] is in p0, and w[1] of block i is w1(i).
  template <int begin, class First>
  JF_HD void rounds(const RoundKeys& keys, WordLanes (&words)[kMaxBlocks], First&& w1) {
    constexpr int n = kMaxBlocks, kLast = philox::kRounds - 1;
    const ULanes m0 = ULanes{} + philox::kM0, m1 = ULanes{} + philox::kM1;
#pragma GCC unroll 10
    for (int round = begin; round < kLast; ++round) {
      ULanes k0 = keys.k0[round], k1 = keys.k1[round];
      asm("" : "+v"(k0), "+v"(k1));  // loaded once
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) {
        p0.keep(round, i, multiply32(m0, w0[i]));
        p1.keep(round, i, multiply32(m1, w2[i]));
        w0[i] = p1.high(round, i) ^ (round == begin ? w1(i) : p1.get(round - 1, i)) ^ k0;
        w2[i] = p0.high(round, i) ^ p0.get(round - 1, i) ^ k1;
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {  // apart, as g++ then drops words that are not used
      const ULanes last0 = multiply32(m0, w0[i]), last1 = multiply32(m1, w2[i]);
      words[i] = {{high_halves(last1) ^ p1.get(kLast - 1, i) ^ keys.k0[kLast], last1,
                   high_halves(last0) ^ p0.get(kLast - 1, i) ^ keys.k1[kLast], last0}};
    }
  }
};
template <>
JF_HD void philox_of_products<kMaxBlocks>(const RoundKeys& keys, const FirstRounds& common,
                                          const ULanes (&first)[kMaxBlocks],
                                          WordLanes (&words)[kMaxBlocks]) {
  const ULanes m0 = ULanes{} + philox::kM0;
  InterleavedBlocks b;
#pragma GCC unroll 8
  for (int i = 0; i < kMaxBlocks; ++i) {
    const ULanes second = multiply32(m0, high_halves(first[i]) ^ common.before);
    b.w0[i] = first[i] ^ common.w0;
    b.w2[i] = high_halves(second) ^ common.w2;
    b.p0.keep(1, i, second);
  }
  b.rounds<2>(keys, words, [&](int) JF_INLINE { return common.w1; });
}
#else
constexpr int kMaxBlocks = 4;
#endif

// For registers of ranks.
template <int n>
JF_HD void philox4x32_10(const RoundKeys& keys, const FirstRounds& common, const Lanes (&ranks)[n],
                         WordLanes (&words)[n]) {
  const ULanes m1 = ULanes{} + philox::kM1;
  ULanes first[n];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) first[i] = multiply32(m1, (ULanes)ranks[i]);
  philox_of_products(keys, common, first, words);
}

// For one rank each, in registers of realizations. Only the last word of the counters differs from
// lane to lane, so two words of the first round are the same in all lanes.
template <int n>
JF_HD void philox4x32_10(const RoundKeys& keys, std::uint32_t purpose, std::uint32_t block,
                         const std::uint32_t (&ranks)[n], Lanes realizations,
                         WordLanes (&words)[n]) {
  const auto key0 = static_cast<std::uint32_t>(keys.k0[0][0]);
  const std::uint64_t p0 = std::uint64_t{philox::kM0} * block;
  const ULanes w2 = (ULanes)realizations ^ ((p0 >> 32) ^ keys.k1[0]);
  const ULanes w3 = ULanes{} + static_cast<std::uint32_t>(p0);
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    const std::uint64_t p1 = std::uint64_t{philox::kM1} * ranks[i];
    words[i] = {{ULanes{} + (static_cast<std::uint32_t>(p1 >> 32) ^ purpose ^ key0),
                 ULanes{} + static_cast<std::uint32_t>(p1), w2, w3}};
  }
  philox_rounds<1>(keys, words);
}

JF_HD WordLanes philox4x32_10(const RoundKeys& keys, std::uint32_t purpose, std::uint32_t block,
                              Lanes rank, std::uint32_t realization) {
  const Lanes ranks[1] = {rank};
  WordLanes words[1];
  philox4x32_10(keys, FirstRounds(keys, purpose, block, realization), ranks, words);
  return words[0];
}

// --- Uniforms.

// Both 64-bit draws of a block.
JF_HD Pair<ULanes> uniforms(const WordLanes& r) {
  return {(r.w[0] & 0xffffffffu) | r.w[1] << 32, (r.w[2] & 0xffffffffu) | r.w[3] << 32};
}

JF_HD Pair<ULanes> uniform_pair(const RoundKeys& keys, std::uint32_t purpose, std::uint32_t block,
                                Lanes ranks, std::uint32_t realization) {
  return uniforms(philox4x32_10(keys, purpose, block, ranks, realization));
}
// The 32-bit draw number `draw`, from its block.
JF_HD ULanes uniform32_of(const WordLanes& r, std::uint64_t draw) {
  const ULanes even = (draw & 2) == 0 ? r.w[0] : r.w[2], odd = (draw & 2) == 0 ? r.w[1] : r.w[3];
  return ((draw & 1) == 0 ? even : odd) & 0xffffffffu;
}

// For a register of ranks.
JF_HD Pair<ULanes> uniform_pair(std::uint64_t seed, std::uint32_t purpose, std::uint32_t block,
                                Lanes ranks, std::uint32_t realization) {
  return uniform_pair(RoundKeys(seed), purpose, block, ranks, realization);
}
JF_HD ULanes uniform32(std::uint64_t seed, std::uint32_t purpose, std::uint64_t draw, Lanes ranks,
                       std::uint32_t realization) {
  return uniform32_of(philox4x32_10(RoundKeys(seed), with_high_block(purpose, draw),
                                    low_block(draw), ranks, realization),
                      draw);
}
JF_HD ULanes only_uniform64(std::uint64_t seed, std::uint32_t purpose, Lanes ranks,
                            std::uint32_t realization) {
  const auto pair = uniform_pair(seed, purpose, 0, ranks >> 1, realization);
  return (ULanes)select((ranks & 1) == 0, (Lanes)pair.even, (Lanes)pair.odd);
}

// For one rank (or stream) in a register of realizations. `ranks` has it in all lanes.
JF_HD Pair<ULanes> uniform_pair(const RoundKeys* keys, std::uint32_t purpose, std::uint32_t block,
                                std::uint32_t rank, Lanes realizations) {
  const std::uint32_t ranks[1] = {rank};
  WordLanes words[1];
  philox4x32_10(*keys, purpose, block, ranks, realizations, words);
  return uniforms(words[0]);
}
JF_HD Pair<ULanes> uniform_pair(const RoundKeys* keys, std::uint32_t purpose, std::uint32_t block,
                                Lanes ranks, Lanes realizations) {
  return uniform_pair(keys, purpose, block, static_cast<std::uint32_t>(ranks[0]), realizations);
}
// The first blocks for two purposes, made together, as a round waits for the one before it.
JF_HD TwoUniformPairs<ULanes> first_pairs(const RoundKeys* keys, std::uint32_t purpose,
                                          std::uint32_t other_purpose, std::uint32_t rank,
                                          Lanes realizations) {
  const ULanes ranks = ULanes{} + rank, numbers = (ULanes)realizations;
  WordLanes words[2] = {{{ULanes{}, ULanes{} + purpose, ranks, numbers}},
                        {{ULanes{}, ULanes{} + other_purpose, ranks, numbers}}};
  philox_rounds<0>(*keys, words);
  return {uniforms(words[0]), uniforms(words[1])};
}
// With its own block number in each lane.
JF_HD Pair<ULanes> uniform_pair(const RoundKeys* keys, std::uint32_t purpose, Lanes blocks,
                                std::uint32_t rank, Lanes realizations) {
  WordLanes words[1] = {
      {{(ULanes)blocks, ULanes{} + purpose, ULanes{} + rank, (ULanes)realizations}}};
  philox_rounds<0>(*keys, words);
  return uniforms(words[0]);
}
JF_HD ULanes only_uniform64(const RoundKeys* keys, std::uint32_t purpose, std::uint32_t rank,
                            Lanes realizations) {
  const auto pair = uniform_pair(keys, purpose, 0u, rank >> 1, realizations);
  return rank % 2 == 0 ? pair.even : pair.odd;
}
JF_HD ULanes only_uniform64(const RoundKeys* keys, std::uint32_t purpose, Lanes ranks,
                            Lanes realizations) {
  return only_uniform64(keys, purpose, static_cast<std::uint32_t>(ranks[0]), realizations);
}
JF_HD ULanes uniform32(const RoundKeys* keys, std::uint32_t purpose, std::uint64_t draw,
                       Lanes ranks, Lanes realizations) {
  const std::uint32_t rank[1] = {static_cast<std::uint32_t>(ranks[0])};
  WordLanes words[1];
  philox4x32_10(*keys, with_high_block(purpose, draw), low_block(draw), rank, realizations, words);
  return uniform32_of(words[0], draw);
}
// For one realization of the register.
JF_HD std::uint32_t uniform32(const RoundKeys* keys, std::uint32_t purpose, std::uint64_t draw,
                              std::uint32_t rank, std::uint32_t realization) {
  return uniform32(keys->seed(), purpose, draw, rank, realization);
}

// only_uniform64 for 2 kLanes neighbouring ranks from `first` (even) on: both halves of each block
// are used. `even` are the first kLanes ranks.
JF_HD Pair<ULanes> only_uniform64(const RoundKeys& keys, std::uint32_t purpose, Tick first,
                                  std::uint32_t realization) {
  const auto pair =
      uniform_pair(keys, purpose, 0, broadcast(first >> 1) + lane_index(), realization);
  return {interleave(pair.even, pair.odd, 0), interleave(pair.even, pair.odd, kLanes / 2)};
}

// scale64 for ranges below 2^32, as nearly all are.
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

// The words of n ranks in a register of realizations each, as many at once as there are registers
// for.
template <int n>
JF_HD void draw_words(const RoundKeys* keys, std::uint32_t purpose, const std::uint32_t (&ranks)[n],
                      Lanes realizations, WordLanes (&words)[n]) {
  constexpr int kBatch = std::min(n, kLaneBits == 3 ? 4 : 2);
#pragma GCC unroll 8
  for (int from = 0; from < n; from += kBatch) {
    std::uint32_t some[kBatch];
    WordLanes drawn[kBatch];
    for (int k = 0; k < kBatch; ++k) some[k] = ranks[from + k];
    philox4x32_10(*keys, purpose, 0, some, realizations, drawn);
    for (int k = 0; k < kBatch; ++k) words[from + k] = drawn[k];
  }
}

// only_uniform64 of n ranks from `first` (even) on, in a register of realizations each.
template <int n>
JF_HD void only_uniforms64(const RoundKeys* keys, std::uint32_t purpose, Tick first,
                           Lanes realizations, ULanes (&found)[n]) {
  std::uint32_t pairs[n / 2];
  WordLanes words[n / 2];
  for (int k = 0; k < n / 2; ++k) pairs[k] = static_cast<std::uint32_t>((first >> 1) + k);
  draw_words(keys, purpose, pairs, realizations, words);
  for (int k = 0; k < n / 2; ++k) {
    const Pair<ULanes> both = uniforms(words[k]);
    found[2 * k] = both.even;
    found[2 * k + 1] = both.odd;
  }
}

}  // namespace jf
