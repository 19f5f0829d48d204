// SIMD register type `Lanes` (portable, AVX2, AVX-512) of 64-bit times, with its operations. A
// register has one lane for each of kLanes ranks or realizations. Compiled once per instruction
// set. The arithmetic of core/steps.h and noise/ is a template over Tick and Lanes, so none of it
// is repeated here. core/philox.h has the same functions for one number; their comments there say
// what they give.
#pragma once

#include "core/philox.h"

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

// any(a > b), and any(a > b || c > d): comparisons alone, without masks as registers.
JF_HD bool any_greater(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b) != 0;
#else
  return any(a > b);
#endif
}
JF_HD bool any_greater(Lanes a, Lanes b, Lanes c, Lanes d) {
#if defined(__AVX512F__)
  return !_kortestz_mask8_u8(_mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b),
                             _mm512_cmpgt_epi64_mask((__m512i)c, (__m512i)d));
#else
  return any((a > b) | (c > d));
#endif
}

#if defined(__AVX512F__)
// One instruction each; a comparison and a choice would be two.
JF_HD Lanes later(Lanes a, Lanes b) {
  return (Lanes)_mm512_maskz_max_epi64(0xff, (__m512i)a, (__m512i)b);
}
JF_HD Lanes earlier(Lanes a, Lanes b) {
  return (Lanes)_mm512_maskz_min_epi64(0xff, (__m512i)a, (__m512i)b);
}
#endif

JF_HD bool any_above(ULanes a, ULanes b) {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epu64_mask((__m512i)a, (__m512i)b) != 0;
#else
  return any((Lanes)(a > b));
#endif
}
JF_HD bool any_bits(ULanes a, ULanes b) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)a, (__m512i)b) != 0;
#else
  return any((Lanes)((a & b) != 0));
#endif
}

// The lanes of v that have any of `bits`, as bits.
JF_HD std::uint8_t lanes_with(ULanes v, std::uint64_t bits) {
#if defined(__AVX512F__)
  return _cvtmask8_u32(_mm512_test_epi64_mask((__m512i)v, (__m512i)(ULanes{} + bits)));
#elif defined(__AVX2__)
  return static_cast<std::uint8_t>(_mm256_movemask_pd((__m256d)((v & bits) != 0)));
#else
  std::uint8_t lanes = 0;
  for (int k = 0; k < kLanes; ++k) lanes |= static_cast<std::uint8_t>(((v[k] & bits) != 0) << k);
  return lanes;
#endif
}

JF_HD ULanes earlier_low(ULanes a, ULanes b) {
#if defined(__AVX512F__)
  return (ULanes)_mm512_maskz_min_epu32(0xffff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (ULanes)_mm256_min_epu32((__m256i)a, (__m256i)b);
#else
  return earlier(a, b);
#endif
}

JF_HD ULanes later_low(ULanes a, ULanes b) {
#if defined(__AVX512F__)
  return (ULanes)_mm512_maskz_max_epu32(0xffff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (ULanes)_mm256_max_epu32((__m256i)a, (__m256i)b);
#else
  return later(a, b);
#endif
}

// A shift by a register of counts is one micro-operation; a shift of all lanes by one count is two.
JF_HD ULanes shift_counts(std::uint64_t by) {
  ULanes counts = ULanes{} + by;
#if defined(__AVX512F__)
  asm("" : "+v"(counts));  // hides from g++ that all counts are the same
#endif
  return counts;
}
JF_HD ULanes shifted_right(ULanes v, std::uint64_t by) { return v >> shift_counts(by); }
JF_HD ULanes shifted_left(ULanes v, std::uint64_t by) { return v << shift_counts(by); }

// By a shuffle: see high_halves().
JF_HD ULanes as_high_half(ULanes v) {
#if defined(__AVX512F__)
  return (ULanes)_mm512_maskz_shuffle_epi32(0xaaaa, (__m512i)v, _MM_PERM_CCAA);
#else
  return v << 32;
#endif
}

JF_HD Lanes broadcast(Tick t) { return Lanes{} + t; }
JF_HD Tick lane(Lanes v, unsigned k) { return v[k]; }
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

JF_HD Tick greatest(Lanes v) {
  for (int bit = 0; bit < kLaneBits; ++bit) v = later(v, swap_lanes(v, bit));
  return v[0];
}

// a[from], b[from], a[from + 1], b[from + 1], ...
JF_HD ULanes interleave(ULanes a, ULanes b, int from) {
  ULanes order;
  for (int k = 0; k < kLanes; ++k) order[k] = static_cast<unsigned>(from + k / 2 + k % 2 * kLanes);
  return __builtin_shuffle(a, b, order);
}

JF_HD ULanes floor_log2(ULanes v) {
#if defined(__AVX512CD__)
  return 63u - (ULanes)_mm512_maskz_lzcnt_epi64(0xff, (__m512i)v);
#elif defined(__AVX2__)
  // The exponent of v as a double. The lowest bits of v, which hardly ever decide, are left out.
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

JF_HD ULanes double_of(ULanes v) {
#if defined(__AVX512DQ__)
  return (ULanes)_mm512_maskz_cvtepu64_pd(0xff, (__m512i)v);
#elif defined(__AVX2__)
  const ULanes magic = ULanes{} + 0x4330000000000000u;  // 2^52
  return (ULanes)_mm256_sub_pd((__m256d)(v | magic), (__m256d)magic);
#else
  for (int k = 0; k < kLanes; ++k) v[k] = double_of(std::uint64_t{v[k]});
  return v;
#endif
}

JF_HD ULanes gather(const std::uint64_t* table, ULanes index) {
#if defined(__AVX512F__)
  // A masked gather into zeros, with a mask whose value g++ does not know. Otherwise g++ drops the
  // zeros, and the gather waits for the last use of its destination register.
  __mmask8 all = 0xff;
  asm("" : "+Yk"(all));
  return (ULanes)_mm512_mask_i64gather_epi64(_mm512_setzero_si512(), all, (__m512i)index, table, 8);
#elif defined(__AVX2__)
  return (ULanes)_mm256_i64gather_epi64(reinterpret_cast<const long long*>(table), (__m256i)index,
                                        8);
#else
  ULanes values{};
  for (int k = 0; k < kLanes; ++k) values[k] = table[index[k]];
  return values;
#endif
}

JF_HD ULanes gather_half(const std::uint64_t* table, ULanes index) {
#if defined(__AVX512F__)
  __mmask8 all = 0xff;
  asm("" : "+Yk"(all));  // see gather()
  const __m256i values =
      _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), all, (__m512i)index, table, 4);
  return (ULanes)_mm512_maskz_cvtepu32_epi64(0xff, values);
#elif defined(__AVX2__)
  return (ULanes)_mm256_cvtepu32_epi64(
      _mm256_i64gather_epi32(reinterpret_cast<const int*>(table), (__m256i)index, 4));
#else
  ULanes values{};
  for (int k = 0; k < kLanes; ++k) values[k] = gather_half(table, std::uint64_t{index[k]});
  return values;
#endif
}

JF_HD ULanes load_anywhere(const void* p) {
  ULanes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
// The lanes of v that are above x, as bits.
JF_HD unsigned lanes_above(ULanes v, std::uint64_t x) {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epu64_mask((__m512i)v, (__m512i)(ULanes{} + x));
#else
  return lanes_with((ULanes)(v > ULanes{} + x), ~std::uint64_t{0});
#endif
}

// Stores those lanes of v that `which` has, in a row from p on, where a register has room. Returns
// how many they are.
JF_HD int store_some(Tick* p, Lanes v, Lanes which) {
#if defined(__AVX512F__)
  const __mmask8 mask = _mm512_test_epi64_mask((__m512i)which, (__m512i)which);
  _mm512_storeu_si512(p, _mm512_maskz_compress_epi64(mask, (__m512i)v));
  return __builtin_popcount(mask);
#else
  int count = 0;
  for (int k = 0; k < kLanes; ++k) {
    p[count] = v[k];
    count += which[k] != 0;
  }
  return count;
#endif
}

// Of a trace (noise/trace.h), the first interval from `first` to `last` that ends after t, or that
// has more than t of idle time before it, as the last one has. The table has of each interval the
// idle and the busy time before it. A register reads those of some intervals in a row.
JF_HD std::uint64_t first_above(const std::uint64_t* table, std::uint64_t first, std::uint64_t last,
                                std::uint64_t t, bool idle) {
  constexpr unsigned kFew = 16, kIdleTimes = 0x55;
  while (last - first > kFew) {  // where they crowd
    const std::uint64_t middle = (first + last) >> 1, *entry = table + 2 * middle;
    const bool passed = entry[0] + (idle ? 0 : entry[3]) <= t;
    first = passed ? middle + 1 : first;
    last = passed ? last : middle;
  }
  for (;; first += kLanes / 2) {
    const std::uint64_t* const entry = table + 2 * first;
    ULanes at = load_anywhere(entry);
    if (!idle) at += load_anywhere(entry + 3);
    const unsigned above = lanes_above(at, t) & kIdleTimes;
    if (above != 0) return first + static_cast<unsigned>(__builtin_ctz(above)) / 2;
  }
}
// In each lane: gathers would be slower.
JF_HD ULanes first_above(const std::uint64_t* table, ULanes first, ULanes last, ULanes t,
                         bool idle) {
  for (int k = 0; k < kLanes; ++k)
    first[k] = first_above(table, std::uint64_t{first[k]}, std::uint64_t{last[k]},
                           std::uint64_t{t[k]}, idle);
  return first;
}

}  // namespace jf
