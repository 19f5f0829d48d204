// What the host hands to the kernels of one pass.
#pragma once

#include "../plan.h"

namespace jf::gpu {

struct PassJob {
  ProgramView program;  // its pointers are the device's
  Pass pass;
  std::uint32_t first_realization;
  std::int32_t full_statistics;  // else only the maximum of an observation counts
  std::int64_t realizations;     // of this launch
  std::int64_t rank_stride;      // ticks of a realization in `memory`
  Tick *memory, *second;         // state between passes; second only if forwards cost CPU time
  Observation* partials;         // [realization][row][partial], merged into
  // One for each tile, a power of two; segments, of which there may be more, share them.
  std::int64_t partial_count;

  JF_HD std::int64_t tiles() const { return pass.map.tiles() * realizations; }
  JF_HD Observation& partial(std::int64_t realization, int row, std::int64_t tile) const {
    return partials[(realization * program.rows + row) * partial_count +
                    (tile & (partial_count - 1))];
  }
};

// How tiles of 2^bits ranks are laid on threads: 8 ranks a thread from 2^9 on, one below, where
// several tiles share a block. 2^12 ranks and their exchange buffer of 32 KiB fit any GPU.
constexpr int kTileBits = 12, kWideTileBits = 9;
constexpr int kPerThreadBits = 3, kPerThread = 1 << kPerThreadBits;
constexpr int kSmallBlock = 256;
constexpr PlanLimits kLimits{kTileBits, 5};

struct TileShape {
  int ranks_per_thread, thread_bits, block, tiles_per_block;

  std::int64_t shared_bytes() const { return std::int64_t{8} * ranks_per_thread * block; }
};

inline TileShape tile_shape(int bits) {
  if (bits >= kWideTileBits) {
    const int thread_bits = bits - kPerThreadBits;
    return {kPerThread, thread_bits, 1 << thread_bits, 1};
  }
  return {1, bits, kSmallBlock, kSmallBlock >> bits};
}

}  // namespace jf::gpu
