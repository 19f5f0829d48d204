// Registers of 16-bit numbers, four a lane.
#pragma once

#include "simd.h"

namespace jf {

typedef std::uint16_t Quarters __attribute__((vector_size(8 * kLanes)));

// The low halves of both.
JF_HD ULanes low_halves(ULanes low, ULanes high) {
#if defined(__AVX512F__)
  return (ULanes)_mm512_mask_shuffle_epi32((__m512i)low, 0xaaaa, (__m512i)high, _MM_PERM_CCAA);
#elif defined(__AVX2__)
  return (ULanes)_mm256_blend_epi32((__m256i)low, _mm256_shuffle_epi32((__m256i)high, 0xa0), 0xaa);
#else
  return (low & 0xffffffffu) | high << 32;
#endif
}

// The high halves of 32-bit numbers, two a lane: of a's and b's low ones, of a's and b's high ones.
JF_HD Quarters high_quarters(ULanes a, ULanes b) {
  typedef std::uint32_t Halves __attribute__((vector_size(8 * kLanes)));
  return (Quarters)((Halves)a >> 16 | ((Halves)b & 0xffff0000u));
}

// Each lane's third one, four times.
JF_HD Quarters four_times_third(Lanes v) {
#if defined(__AVX512F__)
  const __m512i order = _mm512_set4_epi32(0x0d0c0d0c, 0x0d0c0d0c, 0x05040504, 0x05040504);
  return (Quarters)_mm512_maskz_shuffle_epi8(~__mmask64{0}, (__m512i)v, order);
#elif defined(__AVX2__)
  const __m256i order = _mm256_setr_epi32(0x05040504, 0x05040504, 0x0d0c0d0c, 0x0d0c0d0c,
                                          0x05040504, 0x05040504, 0x0d0c0d0c, 0x0d0c0d0c);
  return (Quarters)_mm256_shuffle_epi8((__m256i)v, order);
#else
  ULanes third = ((ULanes)v >> 32) & 0xffffu;
  third |= third << 16;
  return (Quarters)(third | third << 32);
#endif
}

JF_HD Quarters lesser(Quarters a, Quarters b) {
#if defined(__AVX512F__)
  return (Quarters)_mm512_maskz_min_epu16(~__mmask32{0}, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Quarters)_mm256_min_epu16((__m256i)a, (__m256i)b);
#else
  return a < b ? a : b;
#endif
}

// All bits of each lane's first one.
JF_HD Quarters first_quarters() { return (Quarters)(ULanes{} + 0xffffu); }

// Of each lane.
JF_HD Lanes least(Quarters v) {
  v = lesser(v, (Quarters)((ULanes)v >> 32));
  return (Lanes)(lesser(v, (Quarters)((ULanes)v >> 16)) & first_quarters());
}

// A bit for each lane that has a number of `a` below that of `limits`, and one of `b`.
JF_HD unsigned lanes_below(Quarters a, Quarters b, Quarters limits) {
#if defined(__AVX512F__)
  const auto below = [&](Quarters v) JF_INLINE {
    return _mm512_maskz_subs_epu16(~__mmask32{0}, (__m512i)limits, (__m512i)v);
  };
  const __m512i first = below(a), second = below(b);
  return _mm512_mask_test_epi64_mask(_mm512_test_epi64_mask(first, first), second, second);
#elif defined(__AVX2__)
  const auto none_below = [&](Quarters v) JF_INLINE {
    return (Lanes)_mm256_subs_epu16((__m256i)limits, (__m256i)v) == 0;
  };
  return greater(Lanes{}, ~(none_below(a) | none_below(b)));
#else
  return greater(least(limits), later(least(a), least(b)));
#endif
}

}  // namespace jf
