// Job structures of the CPU engine: arguments of tile, segment and message passes, with scratch
// memory. cpu/engine.cpp hands them to the code that is compiled once per instruction set. Read
// core/passes.h first.
#pragma once

#include <atomic>

#include "core/message_steps.h"
#include "core/passes.h"
#include "core/segment.h"

namespace jf {

// Delays that do not depend on the time are drawn beforehand, for up to so many steps, because four
// draws share a block of random numbers, and for so many ranks, because all delays then take 8 KiB.
constexpr std::int64_t kDrawnSteps = 4, kDrawnBits = 8, kDrawnRanks = 1 << kDrawnBits;

// The sums of drawn delays, by what they delay (cpu/drawn_delays.h).
enum DrawnKind { kReceiving, kSending, kInNetwork, kDrawnKinds };

// Working memory of one tile. Each array holds max(tile size, kLanes) ticks, aligned to 64 bytes.
struct TileScratch {
  Tick *sent, *busy, *next;
  // Random words and sums of delays, each kDrawnSteps * kDrawnRanks words; or null.
  std::uint64_t* draws = nullptr;
  Tick* sums[kDrawnKinds] = {};
};

// One tile of a pass. Between passes, `sent_between` has Clock::sent of each rank (with kCopyBit),
// and `busy_between` its Clock::busy if forwards cost CPU time, else it is null. `capture` (rows x
// ranks) receives every ready time, or is null.
struct TileJob {
  const ProgramView* program;
  const Pass* pass;
  std::int64_t tile;
  std::uint32_t realization;
  bool full_statistics;
  Tick *sent_between, *busy_between, *capture;
  Cursor* cursors;            // of all ranks; null unless the noise needs them
  Observation* observations;  // one per row; results are merged into them

  JF_HD void observe(int row, std::int64_t rank, Tick ready) const {
    if (!program->one_rank || rank == 0) observations[row].add(ready);
    if (capture != nullptr) capture[row * program->ranks + rank] = ready;
  }
};

// What runs it: these functions are in cpu/instruction_sets.h, as those of the jobs below.
using RunTile = void(const TileJob&, const TileScratch&);

// --- Segments in panels (cpu/panels.h): the job and its working memory.

// A copy that overtakes a lower level: it arrives before the latest message that the rank accepted
// for lower levels. If mirrors are not neighbours, also a copy that merely arrives before the
// original of its own level.
struct EarlyCopy {
  Tick arrival;       // kNever: a later iteration found that it overtakes nothing
  std::int32_t next;  // number (from 1 on) of the next copy to this pair of ranks, or 0
  // 2 * (kMaxMirrors * index of the step that makes its level + index of the mirror)
  // + which rank of the pair receives it
  std::int32_t key;
};

// How a segment is cut into panels: its steps into groups, and the ranks of each group into panels,
// sets that are closed under the partners of these steps. The first steps, whose partners are near
// each other (fewer than kDrawnRanks apart), are one group. Each later group consists of steps
// whose delays are drawn together.
struct PanelGroups {
  static constexpr int kMax = 30;

  std::int64_t size;  // ranks of the segment
  bool neighbours;    // the only mirror of each rank is its neighbour
  int count = 0;
  int begin[kMax + 1];  // [begin[g], begin[g + 1]): the steps of group g

  JF_HD PanelGroups(const ProgramView& p, const Pass& pass)
      : size(pass.map.size()), neighbours(p.one_neighbour()) {
    const auto near = [&](int i) { return pass.map.local_bit(p.steps[i].round) < kDrawnBits; };
    for (int i = pass.begin; i < pass.end; ++i)
      if (i == pass.begin ||
          (!near(i) && (near(begin[count - 1]) || draws_anew(p.steps, begin[count - 1], i))))
        begin[count++] = i;
    begin[count] = pass.end;
  }

  // Whether the delays of step i have to be drawn anew, after those of steps from `first` on.
  JF_HD static bool draws_anew(const Step* steps, int first, int i) {
    return i - first == kDrawnSteps || steps[i].draw != steps[i - 1].draw + 1 ||
           steps[i].draw % kDrawnSteps == 0;
  }

  // Panels of each group.
  JF_HD std::int64_t panels() const { return size > kDrawnRanks ? size / kDrawnRanks : 1; }
  // Early copies that fit into the memory. If there are more, the segment is swept as a whole, rank
  // by rank (cpu/plain.cpp).
  JF_HD std::int64_t capacity() const { return neighbours ? size / 2 : 2 * size; }

  // The memory of a segment: the times of its ranks before each group; the early copies, and the
  // number of the first one of each pair of ranks; which panels have to be computed.
  JF_HD std::int64_t ticks() const { return 4 * size * count; }
  JF_HD std::int64_t bytes() const {
    return ticks() * std::int64_t{sizeof(Tick)} + capacity() * std::int64_t{sizeof(EarlyCopy)} +
           size / 2 * std::int64_t{sizeof(std::int32_t)} + panels() * count;
  }
};

// The memory of a segment of `size` ranks that is swept as a whole, with `copies` guesses of
// arrival times: see SegmentScratch.
JF_HD std::int64_t swept_bytes(std::int64_t size, std::int64_t copies) {
  return size * 17 + copies * 8;
}

// The memory that a segment of this pass needs to be computed in panels, or 0 if it can not be.
// Neighbouring ranks must fill whole registers, and mirrors must always be in the same panel.
// Sweeps take ten times as long; so panels may take as much memory as sweeps with one mirror would,
// and in any case as much as machines have per core.
JF_HD std::int64_t panel_bytes(const ProgramView& p, const Pass& pass) {
  constexpr std::int64_t kBytesOfCore = 1 << 28,
                         kMaxMirrorDistance = 1 << (kDrawnBits - kDrawnSteps);
  if (pass.kind != kSegmentPass || pass.map.contiguous_ranks() < kMaxLanes ||
      p.farthest_mirror() >= kMaxMirrorDistance)
    return 0;
  const std::int64_t size = pass.map.size();
  const std::int64_t swept = swept_bytes(size, copies_in(p.steps, pass.begin, pass.end) * size);
  const std::int64_t bytes = PanelGroups(p, pass).bytes();
  return bytes <= (swept > kBytesOfCore ? swept : kBytesOfCore) ? bytes : 0;
}

// A segment that is computed in panels. To its pass it is a tile.
struct SegmentJob {
  TileJob tile;
  TileScratch scratch;  // for drawn delays
  void* memory;         // of panel_bytes()
  const std::atomic<bool>* stop;
};

// Whether the run was cancelled. Then the contents of the arrays do not matter.
bool stopped(const SegmentJob& job);

// Returns false, and leaves memory as it was, if the early copies do not fit.
using RunPanels = bool(const SegmentJob&);

// A segment that is swept as a whole, rank by rank. Gives up soon after `stop` is set.
void run_segment_plain(const TileJob& job, const SegmentScratch& scratch,
                       const std::atomic<bool>& stop);

// --- Message passes (cpu/message_pass.h): the job.

// A message pass over all ranks of some realizations. Lane k of a register is realization first +
// k. If there are fewer realizations than lanes, the remaining lanes repeat the last realization.
struct MessageJob {
  const ProgramView* program;
  const Pass* pass;
  std::uint32_t first;  // realization
  int realizations;
  bool full_statistics;
  bool first_pass;  // no message pass of these realizations came before
  MessageState state;
  Tick *sent_between, *busy_between;  // [realization][rank]; as of TileJob
  std::int64_t between_stride;
  Tick* capture;              // rows x ranks: every ready time of the first realization; or null
  void* cursors;              // [rank kept][source], CursorOf<Lanes> or CursorOf<Tick>, or null
  Observation* observations;  // [realization][row]; results are merged into them
  const std::atomic<bool>* stop;
};

// Whether the run was cancelled. Then the contents of the arrays do not matter. It is asked once
// per kMessagesBetweenPolls messages.
bool stopped(const MessageJob& job);
constexpr std::int64_t kMessagesBetweenPolls = std::int64_t{1} << 15;

// The lanes of a register are realizations; without registers it is a single one.
using RunMessages = void(const MessageJob&);

// A schedule of an application: see cpu/schedule_actions.h.
struct ActionJob;
using RunActions = void(const ActionJob&);

}  // namespace jf
