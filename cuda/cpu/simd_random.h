// What is drawn from Philox (simd_philox.h), for one rank a lane.
#pragma once

#include "simd_philox.h"

namespace jf {

// Both draws of a block.
JF_HD Pair<ULanes> uniforms(const WordLanes& r) {
  return {(r.w[0] & 0xffffffffu) | r.w[1] << 32, (r.w[2] & 0xffffffffu) | r.w[3] << 32};
}

JF_HD Pair<ULanes> uniform_pair(const RoundKeys& keys, std::uint32_t purpose, std::uint32_t block,
                                Lanes ranks, std::uint32_t realization) {
  return uniforms(philox4x32_10(keys, purpose, block, ranks, realization));
}
// Number `draw` of the words of blocks.
JF_HD ULanes uniform32_of(const WordLanes& r, std::uint32_t draw) {
  const ULanes even = (draw & 2) == 0 ? r.w[0] : r.w[2], odd = (draw & 2) == 0 ? r.w[1] : r.w[3];
  return ((draw & 1) == 0 ? even : odd) & 0xffffffffu;
}

// Of a register of ranks.
JF_HD Pair<ULanes> uniform_pair(std::uint64_t seed, std::uint32_t purpose, std::uint32_t block,
                                Lanes ranks, std::uint32_t realization) {
  return uniform_pair(RoundKeys(seed), purpose, block, ranks, realization);
}
JF_HD ULanes uniform32(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, Lanes ranks,
                       std::uint32_t realization) {
  return uniform32_of(philox4x32_10(RoundKeys(seed), purpose, draw >> 2, ranks, realization), draw);
}
JF_HD ULanes only_uniform64(std::uint64_t seed, std::uint32_t purpose, Lanes ranks,
                            std::uint32_t realization) {
  const auto pair = uniform_pair(seed, purpose, 0, ranks >> 1, realization);
  return (ULanes)select((ranks & 1) == 0, (Lanes)pair.even, (Lanes)pair.odd);
}

// Of one rank, or stream, in a register of realizations. `ranks` has it in all lanes.
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
// The first blocks for two purposes, made together: a round waits for the one before it.
JF_HD TwoPairs<ULanes> first_pairs(const RoundKeys* keys, std::uint32_t purpose,
                                   std::uint32_t other_purpose, std::uint32_t rank,
                                   Lanes realizations) {
  const ULanes ranks = ULanes{} + rank, numbers = (ULanes)realizations;
  WordLanes words[2] = {{{ULanes{}, ULanes{} + purpose, ranks, numbers}},
                        {{ULanes{}, ULanes{} + other_purpose, ranks, numbers}}};
  philox_rounds<0>(*keys, words);
  return {uniforms(words[0]), uniforms(words[1])};
}
// Another block in each lane.
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
JF_HD ULanes uniform32(const RoundKeys* keys, std::uint32_t purpose, std::uint32_t draw,
                       Lanes ranks, Lanes realizations) {
  const std::uint32_t rank[1] = {static_cast<std::uint32_t>(ranks[0])};
  WordLanes words[1];
  philox4x32_10(*keys, purpose, draw >> 2, rank, realizations, words);
  return uniform32_of(words[0], draw);
}
// In one of the lanes.
JF_HD std::uint32_t uniform32(const RoundKeys* keys, std::uint32_t purpose, std::uint32_t draw,
                              std::uint32_t rank, std::uint32_t realization) {
  return uniform32(keys->seed(), purpose, draw, rank, realization);
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

// The only draws of streams 2 * pair, scaled; `words` are the blocks of pairs.
JF_HD Lanes scaled_half(ULanes low, ULanes high, ULanes ranges, bool is_short) {
  // What is in the high halves of the words does not matter to multiply32.
  if (__builtin_expect(is_short, 1))
    return (Lanes)((multiply32(high, ranges) + (multiply32(low, ranges) >> 32)) >> 32);
  return (Lanes)scale64((low & 0xffffffffu) | high << 32, ranges);
}
JF_HD Lanes scaled_even(const WordLanes& words, ULanes ranges, bool is_short) {
  return scaled_half(words.w[0], words.w[1], ranges, is_short);
}

// The same, and those of streams 2 * pair + 1.
JF_HD Pair<Lanes> scaled_pair(const WordLanes& words, ULanes ranges, bool is_short) {
  return {scaled_even(words, ranges, is_short),
          scaled_half(words.w[2], words.w[3], ranges, is_short)};
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

// Phases of n ranks from an even one on, which have draws of their own, in a register of
// realizations each.
template <class Noise, int n>
JF_HD void draw_phases(const Noise& noise, const RoundKeys* keys, Tick first, Lanes realizations,
                       Lanes (&phases)[n]) {
  std::uint32_t pairs[n / 2];
  WordLanes words[n / 2];
  for (int k = 0; k < n / 2; ++k) pairs[k] = static_cast<std::uint32_t>((first >> 1) + k);
  philox4x32_10(*keys, kPhase, 0, pairs, realizations, words);
  for (int k = 0; k < n / 2; ++k) {
    const Pair<ULanes> both = uniforms(words[k]);
    phases[2 * k] = noise.template scaled<Lanes>(both.even);
    phases[2 * k + 1] = noise.template scaled<Lanes>(both.odd);
  }
}

}  // namespace jf
