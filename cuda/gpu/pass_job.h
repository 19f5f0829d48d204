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
  Cursor* cursors;               // [realization][rank][source], for noise that needs them
  std::int64_t cursor_stride;    // cursors of a realization
  Observation* partials;         // [realization][row][partial], merged into
  // One for each tile, a power of two; segments, of which there may be more, share them.
  std::int64_t partial_count;

  JF_HD Cursor* cursors_of(std::int64_t realization) const {
    return cursors + realization * cursor_stride;
  }
  JF_HD std::int64_t tiles() const { return pass.map.tiles() * realizations; }
  JF_HD Observation& partial(std::int64_t realization, int row, std::int64_t tile) const {
    return partials[(realization * program.rows + row) * partial_count +
                    (tile & (partial_count - 1))];
  }
};

// How tiles of 2^bits ranks are laid on threads: several ranks a thread from 2^9 on, one below,
// where several tiles share a block. 2^12 ranks and their exchange buffer of 32 KiB fit any GPU.
// Lists of noise sources (`general`) call functions on the way, and need registers for that: 8
// ranks a thread would spill a kilobyte and more.
constexpr int kWideTileBits = 9, kWideBlock = 512, kSmallBlock = 256;
template <bool kGeneral>
constexpr int kPerThreadBits = kGeneral ? 2 : 3;
template <bool kGeneral>
constexpr int kPerThread = 1 << kPerThreadBits<kGeneral>;

inline PlanLimits tile_limits(bool general) {
  return {kWideTileBits + (general ? kPerThreadBits<true> : kPerThreadBits<false>), 5};
}

struct TileShape {
  int ranks_per_thread, thread_bits, block, tiles_per_block;

  std::int64_t shared_bytes() const { return std::int64_t{8} * ranks_per_thread * block; }
};

inline TileShape tile_shape(int bits, bool general) {
  if (bits >= kWideTileBits) {
    const int per_thread_bits = general ? kPerThreadBits<true> : kPerThreadBits<false>;
    const int thread_bits = bits - per_thread_bits;
    return {1 << per_thread_bits, thread_bits, 1 << thread_bits, 1};
  }
  return {1, bits, kSmallBlock, kSmallBlock >> bits};
}

}  // namespace jf::gpu
