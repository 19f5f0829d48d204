// Registers of 32-bit numbers, two a lane.
#pragma once

#include "simd.h"

namespace jf {

typedef std::uint32_t Halves __attribute__((vector_size(8 * kLanes)));

// The low halves of both.
JF_HD Halves low_halves(ULanes low, ULanes high) {
#if defined(__AVX512F__)
  return (Halves)_mm512_mask_shuffle_epi32((__m512i)low, 0xaaaa, (__m512i)high, _MM_PERM_CCAA);
#elif defined(__AVX2__)
  return (Halves)_mm256_blend_epi32((__m256i)low, _mm256_shuffle_epi32((__m256i)high, 0xa0), 0xaa);
#else
  return (Halves)((low & 0xffffffffu) | high << 32);
#endif
}

JF_HD Halves twice(ULanes low) { return low_halves(low, low); }

JF_HD Halves lesser(Halves a, Halves b) {
#if defined(__AVX512F__)
  return (Halves)_mm512_maskz_min_epu32(0xffff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Halves)_mm256_min_epu32((__m256i)a, (__m256i)b);
#else
  return a < b ? a : b;
#endif
}

// Of each lane.
JF_HD Lanes lesser_half(Halves v) { return (Lanes)lesser(v, (Halves)((ULanes)v >> 32)); }

}  // namespace jf
