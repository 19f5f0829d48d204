// SIMD loops of congestion (simd_loops.h), compiled once per instruction set, which JF_ISA names.
// As in cpu/tiles_isa.cpp, only functions that are always inlined are called from here.
#include "congestion/simd_loops.h"

namespace jf::congestion {
namespace {

// Computes several Philox blocks at a time.
void order_keys(const PhiloxKeys& keys, std::uint32_t purpose, std::uint32_t stream,
                std::uint32_t realization, std::uint32_t n, std::uint64_t* __restrict out) {
  constexpr std::uint32_t kWide = kKeyPadding / 2;
  for (std::uint32_t block = 0; 2 * block < n; block += kWide) {
    std::uint32_t a[kWide], b[kWide], c[kWide], d[kWide];
    for (std::uint32_t i = 0; i < kWide; ++i) {
      a[i] = block + i;
      b[i] = purpose;
      c[i] = stream;
      d[i] = realization;
    }
    for (int round = 0; round < philox::kRounds; ++round) {
      const std::uint32_t even = keys.even[round], odd = keys.odd[round];
      for (std::uint32_t i = 0; i < kWide; ++i) {
        const std::uint64_t p0 = std::uint64_t{philox::kM0} * a[i];
        const std::uint64_t p1 = std::uint64_t{philox::kM1} * c[i];
        a[i] = static_cast<std::uint32_t>(p1 >> 32) ^ b[i] ^ even;
        b[i] = static_cast<std::uint32_t>(p1);
        c[i] = static_cast<std::uint32_t>(p0 >> 32) ^ d[i] ^ odd;
        d[i] = static_cast<std::uint32_t>(p0);
      }
    }
    for (std::uint32_t i = 0; i < kWide; ++i) {
      out[2 * (block + i)] = a[i] | std::uint64_t{b[i]} << 32;
      out[2 * (block + i) + 1] = c[i] | std::uint64_t{d[i]} << 32;
    }
  }
}

void links(const FatTreeView& tree, int l, const std::uint32_t* __restrict from,
           const std::uint32_t* __restrict to, const std::uint32_t* __restrict keys,
           std::uint32_t n, std::uint32_t* __restrict up, std::uint32_t* __restrict down) {
  const FatTreeLevel level = tree.levels[l];
  const std::uint32_t uncounted = tree.counters;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto links = links_at(level, uncounted, from[i], to[i], keys[i]);
    up[i] = links.up;
    down[i] = links.down;
  }
}

}  // namespace

const SimdLoops JF_NAME(simd_loops_, JF_ISA) = {order_keys, links};

}  // namespace jf::congestion
