// The random numbers of some steps for some ranks.
#pragma once

// clang-format off
#include "simd.h"
#include "simd_random.h"
// clang-format on
#include "../noise/halves.h"
#include "tile_job.h"

namespace jf {
namespace {

// The ranks of the register at index x of a tile.
struct TileRanks {
  TileMap map;
  std::int64_t base, count;

  JF_HD Lanes operator()(std::int64_t x) const {
    if (count < kLanes) return lane_index() & (count - 1);
    return broadcast(base + map.offset(x)) + lane_index();
  }
};

// The same at index y of a part of it.
struct PartRanks {
  TileRanks ranks;
  TileMap part;
  std::int64_t from;

  JF_HD Lanes operator()(std::int64_t y) const { return ranks(from + part.offset(y)); }
};

// What is drawn: numbers [first, first + count) of the first `ranks` of a part.
struct Draws {
  const RoundKeys& keys;
  std::uint64_t seed;
  std::uint32_t realization, first, count;
  std::int64_t ranks;
  PartRanks rank_of;
  std::uint64_t* words;  // kDrawnSteps * kDrawnRanks

  // High halves of one number of a block that was drawn.
  JF_HD std::uint64_t* high(std::uint32_t draw) const { return words + (draw & 3) * kDrawnRanks; }
};

// All numbers of a block.
JF_HD void draw_block(const Draws& d, std::uint32_t purpose, std::int32_t scope_bits,
                      std::uint32_t block) {
  const FirstRounds common(d.keys, purpose, block, d.realization);
  const auto some = [&]<int n>(std::int64_t from) JF_INLINE {
    Lanes ranks[n];
    WordLanes drawn[n];
    for (int i = 0; i < n; ++i) ranks[i] = d.rank_of(from + i * kLanes) >> scope_bits;
    philox4x32_10(d.keys, common, ranks, drawn);
    for (std::uint32_t k = 0; k < 4; ++k) {
      for (int i = 0; i < n; ++i)
        *reinterpret_cast<ULanes*>(d.high(k) + from + i * kLanes) = drawn[i].w[k] & kMostHigh;
    }
  };
  // As many as there are registers for; with the widest, memory serves better.
  constexpr int kAtOnce = kLaneBits == 3 ? kMostBlocks : 2;
  std::int64_t y = 0;
  for (; y + kAtOnce * kLanes <= d.ranks; y += kAtOnce * kLanes)
    some.template operator()<kAtOnce>(y);
  for (; y < d.ranks; y += kLanes) some.template operator()<1>(y);
}

JF_HD ULanes load_high(const std::uint64_t* p) { return *reinterpret_cast<const ULanes*>(p); }

}  // namespace
}  // namespace jf
