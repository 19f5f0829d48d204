// Tile shapes of the GPU kernels (ranks of a thread and block, shared memory), and kernel
// arguments. The host fills these in (run.cuh). Read core/passes.h first.
#pragma once

#include "core/host_program.h"
#include "core/passes.h"
#include "core/segment.h"

namespace jf::gpu {

constexpr int kWarp = 32, kWarpBits = 5;

enum TileKernel : int {
  kStepKernel,  // tile_kernel.cuh: any program and noise
  kLean64,      // lean_kernel.cuh: see lean.h
  kLean32,
};

// Noise of the lean kernel: periodic (of a list, see periodic_list.h), and network jitter. If the
// high half of a draw is above `edge`, there is no event; if it is between `several_edge` and
// `edge`, there is one. Times are those of the model, plus `base`.
struct LeanNoise {
  Tick base, period, duration;
  std::uint32_t edge, several_edge;
};

// An operation of the lean kernel, a part of a step. Its window: see lean_kernel.cuh.
enum LeanOpKind : std::int32_t {
  kLeanExchange = 0,  // plus the bit of the register window; value: 1 if it may meet noise, and 2
                      // times the number of its draw among the four of kLeanDraw
  kLeanForward = 4,   // plus the bit, too; value: 2 times that number
  kLeanWork = 8,      // value: 1 if it may meet noise
  kLeanObserve,       // value: the row
  kLeanLatest,        // the maximum alone, of whole warps of ranks; value: the row
  kLeanMove,          // of the window; value: its new first bit
  kLeanExchangeAll,   // over each bit of the window in turn; value: as of the first of them
  kLeanDraw,          // of four delays of each rank; value: the block of Philox, work: the purpose
};
struct LeanOp {
  std::int32_t kind, value;
  Tick work;
};

struct PassJob {
  ProgramView program;  // with pointers to device memory
  Pass pass;
  std::uint32_t first_realization;
  std::int32_t full_statistics;       // else only the maximum of an observation counts
  std::int64_t realizations;          // of the batch
  std::int64_t first_tile, end_tile;  // of this launch, among the tiles of all realizations
  std::int64_t rank_stride;           // ticks of a realization in `sent_between`
  // Between passes Clock::sent (with kCopyBit) and, only if forwards cost CPU time, Clock::busy.
  Tick *sent_between, *busy_between;
  // Of general noise: [realization][rank][source], or [rank][realization][source] if all passes
  // are message passes. Of a list in the lean kernel Begins in their place: [realization][rank].
  Cursor* cursors;
  std::int64_t cursor_stride, cursor_rank_stride;  // distance of realizations, and of ranks
  Observation* observations;                       // [realization][row], merged into
  LeanNoise lean;
  const LeanOp* lean_ops;
  std::int32_t lean_op_count, lean_window_start;  // at the begin of the pass
  PhiloxKeys keys;                                // of the program's seed
  // Set where the lean kernel meets a time that does not fit, see meet_in_turn.
  std::uint32_t* too_long;

  JF_HD Cursor* cursors_of(std::int64_t realization) const {
    return cursors + realization * cursor_stride;
  }
  JF_HD std::int64_t tiles() const { return pass.map.tiles() * realizations; }
  JF_HD Observation& observation(std::int64_t realization, int row) const {
    return observations[realization * program.rows + row];
  }
};

// The assignment of tiles of 2^bits ranks to threads. From 2^9 ranks on a thread has several ranks;
// below it has one, and several tiles share a block. 2^12 ranks and their exchange buffer of 32 KiB
// fit any GPU. Lists of noise sources call functions, and a copy needs two paths for a rank: both
// need registers, so a thread has fewer ranks then (kFewer). 8 would spill a kilobyte and more.
constexpr int kWideTileBits = 9, kWideBlock = 512, kSmallBlock = 256;
template <bool kFewer>
constexpr int kPerThreadBits = kFewer ? 2 : 3;
template <bool kFewer>
constexpr int kPerThread = 1 << kPerThreadBits<kFewer>;
inline bool fewer_per_thread(const Program& p) { return p.general() || p.has_busy(); }

// The most steps of a pass over tiles. A block executes all of them in one launch. That takes some
// tenths of a second, however few blocks there are, at 20 us per step with a long list of noise.
constexpr std::int32_t kPassSteps = 1 << 14;

inline PlanLimits tile_limits(bool fewer) {
  return {kWideTileBits + (fewer ? kPerThreadBits<true> : kPerThreadBits<false>), 5, 0, kPassSteps};
}

// The lean kernel: a thread has 16 ranks if times are 32 bits, 8 if they are 64. A block holds as
// many tiles as fit.
template <class T>
constexpr int kLeanBits = sizeof(T) < sizeof(Tick) ? 4 : 3;
constexpr int kLeanBlockBits = 9, kLeanBlock = 1 << kLeanBlockBits;
template <class T>
constexpr int kLeanRanks = kLeanBlock << kLeanBits<T>;  // of a block
// A bound of times of 32 bits. With it the start of the interval after the last one that a rank
// meets is below 2^32, too.
constexpr Tick kRelativeEnd = Tick{1} << 31;
// Later than any time of 32 bits.
constexpr Tick kLeanNever = UINT32_MAX;
template <class T>
JF_HD T narrow(Tick next) {
  if constexpr (sizeof(T) < sizeof(Tick)) next = earlier(next, kLeanNever);
  return static_cast<T>(next);
}
// Two times per rank: 64 KiB, which any GPU has.
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

// --- Passes over segments (core/segment.h): a launch does one thing for many segments.

constexpr int kSegmentBlock = 256;

enum SegmentKind : std::uint32_t {
  kSweptSegment,     // guesses may still change
  kObservedSegment,  // no guess changed: the current sweep is the last, and is observed
  kDoneSegment,
};
struct SegmentState {
  std::uint32_t kind, changed;  // changed: a guess has changed in the current sweep
};

// Working memory and state of the segments that are computed at a time.
struct SegmentArena {
  Tick* ticks;
  std::uint8_t* reached;
  SegmentState* state;
  std::uint32_t* unfinished;  // number of segments that are not done
  std::int64_t copies;        // guesses of a rank

  JF_HD SegmentScratch scratch(std::int64_t index, std::int64_t size) const {
    Tick* first = ticks + index * size * (2 + copies);
    return {first, first + size, first + 2 * size, reached + index * size};
  }
};

enum SegmentWork : std::int32_t {
  kBeginSegments,  // for each rank
  kLoadSegments,   // for each rank
  kSweepSegments,  // of one step, for each pair of partners
  kEndSweep,       // for each segment
  kStoreSegments,  // for each rank
};

// One launch. Its items are ranks, pairs or segments, see SegmentWork.
struct SegmentLaunch {
  std::int32_t work, step;
  std::int32_t bits;        // a segment has 2^bits items
  std::int64_t first;       // number of the first segment in work, among those of all realizations
  std::int64_t begin, end;  // items, among those of all segments in work
};

}  // namespace jf::gpu
