// Random permutations (placement of ranks) and derangements, from counter-based draws.
//
// A random order of n items is the order of n 64-bit keys, each an independent draw (whole64).
// Equal keys, of probability below n^2 / 2^65, keep the order of the items. The result of sorting
// does not depend on how it is done, so a CPU and a GPU block can use different methods. The
// shuffle of Fisher and Yates needs fewer operations, but they are one chain of dependent steps.
#pragma once

#include "core/philox.h"

namespace jf::congestion {

// They continue the purposes of philox.h, which are below 0x1000.
enum Purpose : std::uint32_t {
  kPlacement = 0x1000,   // keys of hosts
  kTraffic = 0x1001,     // keys of perturbing ranks; the stream is the level
  kCycles = 0x1002,      // lengths of the cycles of a permutation; the stream is the level
  kRoute = 0x1003,       // random routing; the block is the level, the stream the message
  kDestination = 0x1004  // hashed routing; the stream is the destination
};

// The number of a level may have 47 bits (core/philox.h, draw_of_step). The low ones are a word of
// the counter, the others are in the upper half of the purpose.
JF_HD std::uint32_t with_high_level(std::uint32_t purpose, std::uint64_t level) {
  return purpose | static_cast<std::uint32_t>(level >> 32) << 16;
}

constexpr std::uint32_t kMaxHosts = std::uint32_t{1} << 20;

// Draw number `draw` of a stream, two to a block. Unlike with uniform64, high and low half are in
// the same block, because sorting needs all bits.
JF_HD std::uint64_t whole64(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw,
                            std::uint32_t stream, std::uint32_t realization) {
  const auto pair = uniform_pair(seed, purpose, draw >> 1, stream, realization);
  return (draw & 1) == 0 ? pair.even : pair.odd;
}

// The bits of the numbers of n items. Sorting has 2^bits buckets.
JF_HD int order_bits(std::uint32_t n) {
  int bits = 1;
  while ((std::uint32_t{1} << bits) < n) ++bits;
  return bits;
}

// A permutation without fixed points (all are equally likely) is a random order, cut into cycles.
// The cycle of the first of u items has length k >= 2 with probability d(u-k) / (u d(u)), where
// d(m) = D(m) / m! is the fraction of permutations of m items without fixed points: there are
// (u-1)! / (u-k)! such cycles, and D(u-k) permutations of the others. Given the lengths, all orders
// are equally likely. So nothing is rejected, and each of about log(n) cycles needs one draw.
// Integer weights: round(d(m) 2^40); from m = 15 on all are 1/e to 2^-40.
constexpr int kSmallCycles = 15;
constexpr std::uint64_t kWeight = 404487723188;

// Length of the first cycle of `remaining` >= 2 items: 2 ... remaining, never remaining - 1.
JF_HD std::uint32_t cycle_length(std::uint64_t u, std::uint32_t remaining) {
  const std::uint32_t others = remaining - 1;  // the m = remaining - k from 0 to remaining - 2
  std::uint64_t total = 0;
  const std::uint32_t small = others < kSmallCycles ? others : kSmallCycles;
  constexpr std::uint64_t kWeights[kSmallCycles] = {1099511627776, 0,
                                                    549755813888,  366503875925,
                                                    412316860416,  403154263518,
                                                    404681363001,  404463205932,
                                                    404490475566,  404487445606,
                                                    404487748602,  404487721057,
                                                    404487723352,  404487723176,
                                                    404487723189};
  for (std::uint32_t m = 0; m < small; ++m) total += kWeights[m];
  total += (others - small) * kWeight;
  std::uint64_t x = scale64(u, total);
  for (std::uint32_t m = 0; m < small; ++m) {
    if (x < kWeights[m]) return remaining - m;
    x -= kWeights[m];
  }
  return remaining - (kSmallCycles + static_cast<std::uint32_t>(x / kWeight));
}

// Cuts n >= 2 items into cycles: close(first, last) for each, in order.
template <class Close>
JF_HD void cut_cycles(std::uint64_t seed, std::uint64_t level, std::uint32_t realization,
                      std::uint32_t n, Close&& close) {
  std::uint32_t first = 0;
  for (std::uint32_t draw = 0; first < n; ++draw) {
    const std::uint64_t u = whole64(seed, with_high_level(kCycles, level), draw,
                                    static_cast<std::uint32_t>(level), realization);
    const std::uint32_t length = cycle_length(u, n - first);
    close(first, first + length - 1);
    first += length;
  }
}

}  // namespace jf::congestion
