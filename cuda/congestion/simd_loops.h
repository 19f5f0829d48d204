// SIMD loops of congestion (sort keys, links of a fat tree), compiled once per instruction set.
#pragma once

#include "congestion/routes.h"

namespace jf::congestion {

// order_keys may write so many words beyond the last key.
constexpr std::uint32_t kKeyPadding = 32;

struct SimdLoops {
  // Draws 0 ... n - 1 of a stream (whole64), the keys of an order.
  void (*order_keys)(const PhiloxKeys& keys, std::uint32_t purpose, std::uint32_t stream,
                     std::uint32_t realization, std::uint32_t n, std::uint64_t* out);
  // FatTreeView::links of n messages at level l.
  void (*links)(const FatTreeView& tree, int l, const std::uint32_t* from, const std::uint32_t* to,
                const std::uint32_t* keys, std::uint32_t n, std::uint32_t* up, std::uint32_t* down);
};

// For the widest registers of this processor, or those that JITTERFLY_ISA selects.
const SimdLoops& choose_simd_loops();

extern const SimdLoops simd_loops_portable, simd_loops_avx2, simd_loops_avx512;

}  // namespace jf::congestion
