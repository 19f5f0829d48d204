// Random numbers of all noise (Philox4x32-10): seed, purpose, rank, realization decide a draw.
// So they are the same bits with any number of threads. Counter-based (cuRAND; Salmon et al.,
// SC'11): a draw is a pure function of the seed (the key) and of its number, purpose, rank and
// realization (the counter). A stream is the draws of one purpose, rank and realization, a block
// the four words of one evaluation. Below: integer operations, for registers in cpu/simd*.h.
#pragma once

#include "core/ticks.h"

#if defined(__CUDA_ARCH__)
#include <curand_philox4x32_x.h>
#endif

namespace jf {

struct Words {
  std::uint32_t w[4];
};

// The second word of a counter. The numbers are part of the meaning of a seed: changing one changes
// every published result.
enum Purpose : std::uint32_t {
  kPhase = 1,
  kOriginalJitter = 16,
  kCopyJitter = 17,
  kForwardJitter = 18,
  kRankDelay = 32,  // to 32 + kMaxRankDelays - 1
  kRankSpeed = 48,  // to 48 + kMaxRankSpeeds - 1
  kSpeedSpells = 56,
  kWeather = 64,  // to 64 + kMaxWeathers - 1
  kWeatherSpells = 72,
  kLossyLinks = 80,  // to 80 + kMaxLossy - 1
  kLossySpells = 88,
  // To each of these the number of the source among those of its role is added. A new one takes the
  // next free hundred, below 0x1000, where those of congestion begin (congestion/permutations.h).
  kMorePhases = 0x100,
  kRenewal = 0x200,
  kRenewalStart = 0x300,
  kTraceOffset = 0x400,
  kReceiveDelay = 0x500,
  kSendDelay = 0x600,
  kComputeDelay = 0x700,
  kOriginalDelay = 0x800,
  kCopyDelay = 0x900,
  kForwardDelay = 0xA00,
  kMoreOriginalJitter = 0xB00,
  kMoreCopyJitter = 0xC00,
  kMoreForwardJitter = 0xD00,
  kBursts = 0xE00,
  kBurstsStart = 0xF00,
};
constexpr std::uint32_t kMaxSourcesOfRole = 0x100;

// The number of a draw of a step: it depends on the cycle and on the place of the step in it, not
// on how many steps there are. Bits 0 to 5 and all from kFarSteps on are the step, those in between
// the cycle. No two steps of a case share a number.
constexpr int kNearSteps = 6, kFarSteps = 23;
// `first`: of the cycle, 64 times its number.
JF_HD std::uint64_t draw_of_step(std::uint32_t first, std::uint32_t step) {
  return std::uint64_t{step >> kNearSteps} << kFarSteps |
         (first + (step & ((1u << kNearSteps) - 1)));
}
// A block of four numbers is itself counted with more than 32 bits. The upper ones are in the upper
// half of the purpose, of which all purposes leave 15 bits free.
JF_HD std::uint32_t low_block(std::uint64_t draw) { return static_cast<std::uint32_t>(draw >> 2); }
JF_HD std::uint32_t with_high_block(std::uint32_t purpose, std::uint64_t draw) {
  return purpose | static_cast<std::uint32_t>(draw >> 34) << 16;
}

namespace philox {
constexpr std::uint32_t kM0 = 0xD2511F53u, kM1 = 0xCD9E8D57u;  // multipliers
constexpr std::uint32_t kW0 = 0x9E3779B9u, kW1 = 0xBB67AE85u;  // key increments
constexpr int kRounds = 10;
}  // namespace philox

JF_HD Words philox_round(const Words& counter, std::uint32_t key0, std::uint32_t key1) {
  const std::uint64_t p0 = std::uint64_t{philox::kM0} * counter.w[0];
  const std::uint64_t p1 = std::uint64_t{philox::kM1} * counter.w[2];
  return {
      {static_cast<std::uint32_t>(p1 >> 32) ^ counter.w[1] ^ key0, static_cast<std::uint32_t>(p1),
       static_cast<std::uint32_t>(p0 >> 32) ^ counter.w[3] ^ key1, static_cast<std::uint32_t>(p0)}};
}

JF_HD_RARE Words philox4x32_10(Words counter, std::uint32_t key0, std::uint32_t key1) {
#if defined(__CUDA_ARCH__)
  const uint4 r = curand_Philox4x32_10(
      make_uint4(counter.w[0], counter.w[1], counter.w[2], counter.w[3]), make_uint2(key0, key1));
  return {{r.x, r.y, r.z, r.w}};
#else
  for (int round = 0; round < philox::kRounds; ++round) {
    counter = philox_round(counter, key0, key1);
    key0 += philox::kW0;
    key1 += philox::kW1;
  }
  return counter;
#endif
}

// The keys of all rounds, computed once for a launch instead of for every rank.
struct PhiloxKeys {
  std::uint32_t even[philox::kRounds], odd[philox::kRounds];

  PhiloxKeys() = default;
  explicit PhiloxKeys(std::uint64_t seed) {
    auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < philox::kRounds; ++round) {
      even[round] = key0 + static_cast<std::uint32_t>(round) * philox::kW0;
      odd[round] = key1 + static_cast<std::uint32_t>(round) * philox::kW1;
    }
  }
};

JF_HD Words philox4x32_10(Words counter, const PhiloxKeys& keys) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int round = 0; round < philox::kRounds; ++round)
    counter = philox_round(counter, keys.even[round], keys.odd[round]);
  return counter;
}

// Both draws of a block, numbers 2 * block and 2 * block + 1.
template <class U>
struct Pair {
  U even, odd;
};

JF_HD Pair<std::uint64_t> uniform_pair(std::uint64_t seed, std::uint32_t purpose,
                                       std::uint32_t block, std::uint32_t rank,
                                       std::uint32_t realization) {
  const Words r =
      philox4x32_10({{block, purpose, rank, realization}}, static_cast<std::uint32_t>(seed),
                    static_cast<std::uint32_t>(seed >> 32));
  return {r.w[0] | std::uint64_t{r.w[1]} << 32, r.w[2] | std::uint64_t{r.w[3]} << 32};
}

// A block also serves as four numbered draws: the high halves of 64-bit uniforms, which nearly
// always decide the result. The low halves are in blocks with this bit in the purpose.
constexpr std::uint32_t kLowHalves = 0x80000000u;

// The high half of draw number `draw` in its block.
JF_HD std::uint32_t high_half(const Words& block, std::uint64_t draw) {
  const std::uint32_t even = (draw & 2) == 0 ? block.w[0] : block.w[2];
  const std::uint32_t odd = (draw & 2) == 0 ? block.w[1] : block.w[3];
  return (draw & 1) == 0 ? even : odd;
}

// The high half of draw number `draw` of a stream; with purpose | kLowHalves its low half.
JF_HD std::uint32_t uniform32(std::uint64_t seed, std::uint32_t purpose, std::uint64_t draw,
                              std::uint32_t rank, std::uint32_t realization) {
  return high_half(
      philox4x32_10({{low_block(draw), with_high_block(purpose, draw), rank, realization}},
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)),
      draw);
}

// Both halves: 64 bits, so that the maximum of 10^9 draws still has a tail.
JF_HD std::uint64_t uniform64(std::uint64_t seed, std::uint32_t purpose, std::uint64_t draw,
                              std::uint32_t rank, std::uint32_t realization) {
  const std::uint64_t high = uniform32(seed, purpose, draw, rank, realization);
  return high << 32 | uniform32(seed, purpose | kLowHalves, draw, rank, realization);
}

// The first blocks of the streams of two purposes.
template <class U>
struct TwoUniformPairs {
  Pair<U> one, other;
};
JF_HD TwoUniformPairs<std::uint64_t> first_pairs(std::uint64_t seed, std::uint32_t purpose,
                                                 std::uint32_t other_purpose, std::uint32_t rank,
                                                 std::uint32_t realization) {
  return {uniform_pair(seed, purpose, 0, rank, realization),
          uniform_pair(seed, other_purpose, 0, rank, realization)};
}

// The draw of a stream that has only one. Ranks 2 k and 2 k + 1 share a block, half each.
JF_HD std::uint64_t only_uniform64(std::uint64_t seed, std::uint32_t purpose, std::uint32_t rank,
                                   std::uint32_t realization) {
  const auto pair = uniform_pair(seed, purpose, 0, rank >> 1, realization);
  return (rank & 1) == 0 ? pair.even : pair.odd;
}

// The only draws of ranks 2 * pair and 2 * pair + 1.
JF_HD Pair<std::uint64_t> only_uniform_pair(const PhiloxKeys& keys, std::uint32_t purpose,
                                            std::uint32_t pair, std::uint32_t realization) {
  const Words r = philox4x32_10({{0, purpose, pair, realization}}, keys);
  return {r.w[0] | std::uint64_t{r.w[1]} << 32, r.w[2] | std::uint64_t{r.w[3]} << 32};
}
JF_HD std::uint64_t only_uniform64(const PhiloxKeys& keys, std::uint32_t purpose,
                                   std::uint32_t rank, std::uint32_t realization) {
  const auto pair = only_uniform_pair(keys, purpose, rank >> 1, realization);
  return (rank & 1) == 0 ? pair.even : pair.odd;
}

// floor(u * range / 2^64): uniform on [0, range).
JF_HD std::uint64_t scale64(std::uint64_t u, std::uint64_t range) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(u, range);
#else
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(u) * range >> 64);
#endif
}

// The same for a range below 2^32, with half as many multiplications.
JF_HD std::uint32_t scale64_short(std::uint64_t u, std::uint32_t range) {
  const std::uint64_t low = (u & 0xffffffff) * range >> 32;
  return static_cast<std::uint32_t>(((u >> 32) * range + low) >> 32);
}

// Products of the low halves: unsigned, and signed.
JF_HD std::uint64_t multiply32(std::uint64_t a, std::uint64_t b) {
  return (a & 0xffffffff) * (b & 0xffffffff);
}
template <class T>
JF_HD Tick multiply_signed32(std::uint64_t a, std::uint64_t b) {
  return Tick{static_cast<std::int32_t>(a)} * static_cast<std::int32_t>(b);
}

// Whether a > b, and whether a & b is not 0; for registers: in any lane.
JF_HD bool any_above(std::uint64_t a, std::uint64_t b) { return a > b; }
JF_HD bool any_bits(std::uint64_t a, std::uint64_t b) { return (a & b) != 0; }

// Of numbers below 2^32.
JF_HD std::uint64_t earlier_low(std::uint64_t a, std::uint64_t b) { return earlier(a, b); }
JF_HD std::uint64_t later_low(std::uint64_t a, std::uint64_t b) { return later(a, b); }

JF_HD std::uint64_t shifted_right(std::uint64_t v, std::uint64_t by) { return v >> by; }
JF_HD std::uint64_t shifted_left(std::uint64_t v, std::uint64_t by) { return v << by; }

// The low half moved to the high half.
JF_HD std::uint64_t as_high_half(std::uint64_t v) { return v << 32; }

// v > 0.
JF_HD std::uint64_t floor_log2(std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint64_t>(63 - __clzll(static_cast<long long>(v)));
#else
  return static_cast<std::uint64_t>(63 - __builtin_clzll(v));
#endif
}

// The bits of the double that is equal to v, 0 < v < 2^32.
JF_HD std::uint64_t double_of(std::uint64_t v) {
  const std::uint64_t log = floor_log2(v);
  return (1023 + log) << 52 | v << (63 - log) << 1 >> 12;
}

JF_HD std::uint64_t gather(const std::uint64_t* table, std::uint64_t index) { return table[index]; }
// From a table of 32-bit entries, two in a word, the low one first.
JF_HD std::uint64_t gather_half(const std::uint64_t* table, std::uint64_t index) {
  return static_cast<std::uint32_t>(table[index >> 1] >> ((index & 1) << 5));
}

}  // namespace jf
