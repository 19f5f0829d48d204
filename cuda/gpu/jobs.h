// What the host hands to kernels.
#pragma once

#include "core/host_program.h"
#include "core/plan.h"
#include "core/segment.h"

namespace jf::gpu {

enum TileKernel : int {
  kStepKernel,  // tile_kernel.cuh: any program and noise
  kLean64,      // lean_kernel.cuh: see lean.h
  kLean32,
};

// What the lean kernel counts in: its times are those of the model, plus `base`.
struct LeanNoise {
  Tick base, period, duration;
};

// What the lean kernel does between two looks at its list: a part of a step.
enum LeanKind : std::int32_t {
  kLeanNoisyExchange = 0,  // plus the bit of the window, as for the next two
  kLeanQuietExchange = 4,
  kLeanForward = 8,
  kLeanNoisyWork = 12,
  kLeanQuietWork,
  kLeanObserve,  // value: the row
  kLeanMove,     // value: where the window goes
};
struct LeanOp {
  std::int32_t kind, value;
  Tick work;
};

struct PassJob {
  ProgramView program;  // its pointers are the device's
  Pass pass;
  std::uint32_t first_realization;
  std::int32_t full_statistics;       // else only the maximum of an observation counts
  std::int64_t realizations;          // of the batch
  std::int64_t first_tile, end_tile;  // of this launch, among the tiles of all realizations
  std::int64_t rank_stride;           // ticks of a realization in `memory`
  Tick *memory, *second;              // state between passes; second only if forwards cost CPU time
  // For noise that needs them: [realization][rank][source], or [rank][realization][source] if all
  // passes are of messages.
  Cursor* cursors;
  std::int64_t cursor_stride, cursor_rank_stride;  // from a realization, and a rank, to the next
  Observation* observations;                       // [realization][row], merged into
  LeanNoise lean;
  const LeanOp* lean_ops;
  std::int32_t lean_op_count, lean_register_bit;  // the window is there at first
  PhiloxKeys keys;                                // of the program's seed

  JF_HD Cursor* cursors_of(std::int64_t realization) const {
    return cursors + realization * cursor_stride;
  }
  JF_HD std::int64_t tiles() const { return pass.map.tiles() * realizations; }
  JF_HD Observation& observation(std::int64_t realization, int row) const {
    return observations[realization * program.rows + row];
  }
};

// How tiles of 2^bits ranks are laid on threads: several ranks a thread from 2^9 on, one below,
// where several tiles share a block. 2^12 ranks and their exchange buffer of 32 KiB fit any GPU.
// Lists of noise sources call functions on the way, and copies have two paths for a rank: both need
// registers for that, and are `kFewer` ranks a thread. 8 would spill a kilobyte and more.
constexpr int kWideTileBits = 9, kWideBlock = 512, kSmallBlock = 256;
template <bool kFewer>
constexpr int kPerThreadBits = kFewer ? 2 : 3;
template <bool kFewer>
constexpr int kPerThread = 1 << kPerThreadBits<kFewer>;
inline bool fewer_per_thread(const Program& p) { return p.general() || p.has_copies(); }

// Steps of a pass over tiles. A block goes through all of them in one launch, which takes about as
// long as that however few blocks there are: some tenths of a second, at 20 us a step of a long
// list of noise.
constexpr std::int32_t kPassSteps = 1 << 14;

inline PlanLimits tile_limits(bool fewer) {
  return {kWideTileBits + (fewer ? kPerThreadBits<true> : kPerThreadBits<false>), 5, 0, kPassSteps};
}

// Of the lean kernel: 16 ranks a thread where times are 32 bits, 8 where they are 64. A block holds
// as many tiles as it has room for.
template <class T>
constexpr int kLeanBits = sizeof(T) < sizeof(Tick) ? 4 : 3;
constexpr int kLeanBlockBits = 9, kLeanBlock = 1 << kLeanBlockBits;
template <class T>
constexpr int kLeanRanks = kLeanBlock << kLeanBits<T>;  // of a block
// Later than any time of 32 bits.
constexpr Tick kLeanNever = UINT32_MAX;
// Two times a rank: 64 KiB, which any GPU has. Observations are merged where the first times are.
constexpr std::int64_t kLeanSharedBytes = 2 * sizeof(Tick) * kLeanRanks<Tick>;
static_assert(sizeof(Tick) * kLeanRanks<Tick> == sizeof(std::uint32_t) * kLeanRanks<std::uint32_t>);

constexpr int per_thread_bits(TileKernel kernel, bool fewer) {
  if (kernel == kLean32) return kLeanBits<std::uint32_t>;
  if (kernel == kLean64) return kLeanBits<Tick>;
  return fewer ? kPerThreadBits<true> : kPerThreadBits<false>;
}

struct TileShape {
  int ranks_per_thread, thread_bits, block, tiles_per_block;
  std::int64_t shared_bytes;
};

inline TileShape tile_shape(TileKernel kernel, int bits, bool fewer) {
  const int per_thread = per_thread_bits(kernel, fewer), thread_bits = bits - per_thread;
  if (kernel != kStepKernel)
    return {1 << per_thread, thread_bits, kLeanBlock, kLeanBlock >> thread_bits, kLeanSharedBytes};
  if (bits >= kWideTileBits) {
    const int block = 1 << thread_bits;
    return {1 << per_thread, thread_bits, block, 1, std::int64_t{8} * block << per_thread};
  }
  return {1, bits, kSmallBlock, kSmallBlock >> bits, std::int64_t{8} * kSmallBlock};
}

// --- How passes over segments (segment.h) are cut into launches.

constexpr int kSegmentBlock = 256;

enum SegmentKind : std::uint32_t {
  kSweptSegment,     // some guesses may still change
  kObservedSegment,  // none has: the sweep at hand is the last
  kDoneSegment,
};
struct SegmentState {
  std::uint32_t kind, changed;  // changed: some guess has, in the sweep at hand
};

// Working memory of the segments in work, and how far they are.
struct SegmentArena {
  Tick* ticks;
  std::uint8_t* reached;
  SegmentState* state;
  std::uint32_t* left;  // segments that are not done
  std::int64_t copies;  // guesses of a rank

  JF_HD SegmentScratch of(std::int64_t place, std::int64_t size) const {
    Tick* mine = ticks + place * size * (2 + copies);
    return {mine, mine + size, mine + 2 * size, reached + place * size};
  }
};

enum SegmentWork : std::int32_t {
  kBeginSegments,  // for each rank
  kLoadSegments,   // for each rank
  kSweepSegments,  // of one step, for each group of ranks
  kEndSweep,       // for each segment
  kStoreSegments,  // for each rank
};

// What one launch does.
struct SegmentPart {
  std::int32_t work, step;
  std::int32_t bits;        // each segment has 2^bits of what it is done for
  std::int64_t first;       // number of the first segment in work, among those of all realizations
  std::int64_t begin, end;  // of what it is done for, among that of all segments in work
};

}  // namespace jf::gpu
