// A register of ranks. Compiled once per instruction set; the arithmetic of steps.h and noise/ is
// a template over Tick and Lanes, so nothing of it is written here.
#pragma once

#include "../philox.h"

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

namespace jf {

#if defined(__AVX512F__)
constexpr int kLaneBits = 3;
#elif defined(__AVX2__)
constexpr int kLaneBits = 2;
#else
constexpr int kLaneBits = 1;
#endif
constexpr int kLanes = 1 << kLaneBits;

typedef std::int64_t Lanes __attribute__((vector_size(8 * kLanes)));
typedef std::uint64_t ULanes __attribute__((vector_size(8 * kLanes)));

JF_HD bool any(Lanes mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8((__m256i)mask) != 0;
#else
  std::int64_t bits = 0;
  for (int k = 0; k < kLanes; ++k) bits |= mask[k];
  return bits != 0;
#endif
}

// any(a > b) || any(c > d), without making masks into registers first.
JF_HD bool any_greater(Lanes a, Lanes b, Lanes c, Lanes d) {
#if defined(__AVX512F__)
  return (_mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b) |
          _mm512_cmpgt_epi64_mask((__m512i)c, (__m512i)d)) != 0;
#else
  return any((a > b) | (c > d));
#endif
}

JF_HD Lanes broadcast(Tick t) { return Lanes{} + t; }
JF_HD Lanes load(const Tick* p) { return *reinterpret_cast<const Lanes*>(p); }
JF_HD void store(Tick* p, Lanes v) { *reinterpret_cast<Lanes*>(p) = v; }

JF_HD Lanes lane_index() {
  Lanes v{};
  for (int k = 0; k < kLanes; ++k) v[k] = k;
  return v;
}

// The value of lane k xor 2^bit.
JF_HD Lanes swap_lanes(Lanes v, int bit) {
#if defined(__AVX512F__)
  const Lanes by1 = {1, 0, 3, 2, 5, 4, 7, 6}, by2 = {2, 3, 0, 1, 6, 7, 4, 5},
              by4 = {4, 5, 6, 7, 0, 1, 2, 3};
  return __builtin_shuffle(v, bit == 0 ? by1 : bit == 1 ? by2 : by4);
#elif defined(__AVX2__)
  const Lanes by1 = {1, 0, 3, 2}, by2 = {2, 3, 0, 1};
  return __builtin_shuffle(v, bit == 0 ? by1 : by2);
#else
  (void)bit;
  return Lanes{v[1], v[0]};
#endif
}

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

// uniform_pair for one rank a lane. Words live in the low halves; what the multiplications leave in
// the high halves is never read by a later multiplication.
JF_HD Pair<ULanes> uniform_pair(std::uint64_t seed, std::uint32_t purpose, std::uint32_t block,
                                Lanes rank, std::uint32_t realization) {
  const ULanes zero{};
  ULanes c0 = zero + block, c1 = zero + purpose, c2 = (ULanes)rank, c3 = zero + realization;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  const ULanes m0 = zero + philox::kM0, m1 = zero + philox::kM1;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const ULanes p0 = multiply32(m0, c0), p1 = multiply32(m1, c2);
    c0 = high_halves(p1) ^ c1 ^ (zero + k0);
    c1 = p1;
    c2 = high_halves(p0) ^ c3 ^ (zero + k1);
    c3 = p0;
    k0 += philox::kW0;
    k1 += philox::kW1;
  }
  return {(c0 & 0xffffffffu) | c1 << 32, (c2 & 0xffffffffu) | c3 << 32};
}

JF_HD ULanes uniform64(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, Lanes rank,
                       std::uint32_t realization) {
  const auto pair = uniform_pair(seed, purpose, draw >> 1, rank, realization);
  return (draw & 1) == 0 ? pair.even : pair.odd;
}

JF_HD ULanes scale64(ULanes u, ULanes range) {
  const ULanes r1 = range >> 32, u1 = u >> 32;
  const ULanes low = multiply32(u, range);
  const ULanes middle = multiply32(u1, range) + (low >> 32);
  const ULanes carry = multiply32(u, r1) + (middle & 0xffffffffu);
  return multiply32(u1, r1) + (middle >> 32) + (carry >> 32);
}

JF_HD ULanes scale64(ULanes u, std::uint64_t range) { return scale64(u, ULanes{} + range); }

JF_HD ULanes floor_log2(ULanes v) {
#if defined(__AVX512CD__)
  return 63u - (ULanes)_mm512_maskz_lzcnt_epi64(0xff, (__m512i)v);
#elif defined(__AVX2__)
  // The exponent of a double, of v without its lowest bits: these decide next to never.
  const ULanes high = v >> 12, magic = ULanes{} + 0x4330000000000000u;  // 2^52
  if (!any(high == 0)) {
    const __m256d exact = _mm256_sub_pd((__m256d)(high | magic), (__m256d)magic);
    return ((ULanes)exact >> 52) - (1023u - 12u);
  }
  ULanes log{};
  for (int k = 0; k < kLanes; ++k) log[k] = floor_log2(std::uint64_t{v[k]});
  return log;
#else
  ULanes log{};
  for (int k = 0; k < kLanes; ++k) log[k] = floor_log2(std::uint64_t{v[k]});
  return log;
#endif
}

JF_HD ULanes gather(const std::uint64_t* table, ULanes index) {
#if defined(__AVX512F__)
  // Masked: see multiply32.
  return (ULanes)_mm512_mask_i64gather_epi64(_mm512_setzero_si512(), 0xff, (__m512i)index, table,
                                             8);
#elif defined(__AVX2__)
  return (ULanes)_mm256_i64gather_epi64(reinterpret_cast<const long long*>(table), (__m256i)index,
                                        8);
#else
  ULanes found{};
  for (int k = 0; k < kLanes; ++k) found[k] = table[index[k]];
  return found;
#endif
}

}  // namespace jf
