// What cpu/engine.cpp hands to the passes that are compiled once per instruction set.
#pragma once

#include <atomic>

#include "core/messages.h"
#include "core/plan.h"

namespace jf {

// Ranks in the widest register of any compilation.
constexpr std::int64_t kMaxLanes = 8;

// Delays are drawn beforehand for so many steps, which share a block of random numbers, and so many
// ranks, which makes 8 KiB.
constexpr std::int64_t kDrawnSteps = 4, kDrawnBits = 8, kDrawnRanks = 1 << kDrawnBits;

// What delays are drawn into, see prepare.h.
enum DrawnDelays { kReceiving, kSending, kOfMessages, kDrawnKinds };

// Room for one tile; each array holds max(tile size, kLanes) ticks, aligned to 64 bytes.
struct TileScratch {
  Tick *sent, *busy, *next;
  // Each of kDrawnSteps * kDrawnRanks words, or none.
  std::uint64_t* draws = nullptr;
  Tick* sums[kDrawnKinds] = {};
};

// What a tile is part of. `memory` holds one Tick per rank between passes (see kCopyBit),
// `second` another one if forwards cost CPU time; `capture` (rows x ranks) takes every ready time,
// or null.
struct TileJob {
  const ProgramView* program;
  const Pass* pass;
  std::int64_t tile;
  std::uint32_t realization;
  bool full_statistics;
  Tick *memory, *second, *capture;
  Cursor* cursors;            // of all ranks, for noise that needs them
  Observation* observations;  // one per row, merged into
};

// The compilations for different instruction sets.
using RunTile = void (*)(const TileJob&, const TileScratch&);
void run_tile_portable(const TileJob& job, const TileScratch& scratch);
void run_tile_avx2(const TileJob& job, const TileScratch& scratch);
void run_tile_avx512(const TileJob& job, const TileScratch& scratch);

// --- What cpu/engine.cpp hands to the compilations of cpu/segments_isa.cpp, and its working
// memory.

// A copy that overtakes a lower level: it arrives at a rank before the latest of the messages that
// the rank took for lower levels. Unless mirrors are neighbours, copies that only come before the
// original of their own level are among these, too.
struct EarlyCopy {
  Tick arrival;        // kNever: it was found to overtake nothing after all
  std::int32_t after;  // number of the next one of this pair of ranks, from 1 on, or 0
  std::int32_t place;  // 2 * (kMaxMirrors * the step that makes its level + number of the mirror)
                       // + which of both ranks gets it
};

// How a segment is cut into panels (panels.h): into groups of steps, and each of these into sets of
// ranks. The first steps, whose partners are near each other, are one group; each later group is of
// steps whose delays are drawn together.
struct PanelGroups {
  static constexpr int kMax = 30;

  std::int64_t size;  // ranks of the segment
  bool neighbours;    // each rank's only mirror is its neighbour
  int count = 0;
  int begin[kMax + 1];  // [begin[g], begin[g + 1]): the steps of group g

  JF_HD PanelGroups(const ProgramView& p, const Pass& pass)
      : size(pass.map.size()), neighbours(p.one_neighbour()) {
    const auto near = [&](int i) { return pass.map.local_bit(p.steps[i].round) < kDrawnBits; };
    for (int i = pass.begin; i < pass.end; ++i)
      if (i == pass.begin ||
          (!near(i) && (near(begin[count - 1]) || draws_end(p.steps, begin[count - 1], i))))
        begin[count++] = i;
    begin[count] = pass.end;
  }

  // Whether the delays of step i are not drawn together with those of steps from `first` on.
  JF_HD static bool draws_end(const Step* steps, int first, int i) {
    return i - first == kDrawnSteps || steps[i].draw != steps[i - 1].draw + 1 ||
           steps[i].draw % kDrawnSteps == 0;
  }

  // Of each group.
  JF_HD std::int64_t panels() const { return size > kDrawnRanks ? size / kDrawnRanks : 1; }
  // So many early copies there is room for. Where there are more, the segment is swept as a whole
  // (segment_run.h).
  JF_HD std::int64_t room() const { return neighbours ? size / 2 : 2 * size; }

  // The memory of a segment: the times that ranks come with to each group; the early copies, and
  // the first one of each pair of ranks; which panels have to be done.
  JF_HD std::int64_t ticks() const { return 4 * size * count; }
  JF_HD std::int64_t bytes() const {
    return ticks() * std::int64_t{sizeof(Tick)} + room() * std::int64_t{sizeof(EarlyCopy)} +
           size / 2 * std::int64_t{sizeof(std::int32_t)} + panels() * count;
  }
};

// The memory of a segment of `size` ranks that is swept as a whole, with so many guesses of when
// copies arrive: see SegmentScratch.
JF_HD std::int64_t swept_bytes(std::int64_t size, std::int64_t copies) {
  return size * 17 + copies * 8;
}

// The memory of a segment of a pass that is done in panels; 0: it is not. Its segments must be full
// registers of neighbours, and mirrors always in the same panel. As sweeps take ten times as long,
// panels may take as much memory as sweeps to one mirror would, and in any case as much as machines
// have for a core.
JF_HD std::int64_t panel_bytes(const ProgramView& p, const Pass& pass) {
  constexpr std::int64_t kBytesOfCore = 1 << 28,
                         kMaxMirrorDistance = 1 << (kDrawnBits - kDrawnSteps);
  if (pass.kind != kSegmentPass || pass.map.in_a_row() < kMaxLanes ||
      p.farthest_mirror() >= kMaxMirrorDistance)
    return 0;
  const std::int64_t size = pass.map.size();
  const std::int64_t swept = swept_bytes(size, copies_in(p.steps, pass.begin, pass.end) * size);
  const std::int64_t bytes = PanelGroups(p, pass).bytes();
  return bytes <= (swept > kBytesOfCore ? swept : kBytesOfCore) ? bytes : 0;
}

// A segment that is done in panels; to its pass it is a tile.
struct SegmentJob {
  TileJob tile;
  TileScratch scratch;  // to draw delays into
  void* memory;         // of panel_bytes()
  const std::atomic<bool>* stop;
};

// Whether to give up: what is in the arrays does not matter then.
bool stopped(const SegmentJob& job);

// The compilations for different instruction sets. They return false, and leave memory as it was,
// if there is no room for all early copies.
using RunPanels = bool (*)(const SegmentJob&);
bool run_panels_portable(const SegmentJob& job);
bool run_panels_avx2(const SegmentJob& job);
bool run_panels_avx512(const SegmentJob& job);

// --- What cpu/engine.cpp hands to a message pass (cpu/messages.h).

// Ranks in a block, in ticks of an array: 5 arrays of them are 160 KiB. With fewer realizations in
// a register there are more ranks.
constexpr std::int64_t kMessageChunk = 4096;

// A message pass over all ranks of some realizations. Lane k of a register is realization first +
// k; where there are fewer realizations than lanes, the last one is in all lanes that are left.
struct MessageJob {
  const ProgramView* program;
  const Pass* pass;
  std::uint32_t first;  // realization
  int realizations;
  bool full_statistics;
  bool first_pass;  // the realizations' first message pass
  MessageState state;
  // [realization][rank], the times between passes: `second` of forwards that cost CPU time, or
  // null.
  Tick *memory, *second;
  std::int64_t memory_stride;
  Tick* capture;  // rows x ranks of the first realization, takes every ready time; or null
  void* cursors;  // [rank][source], CursorOf a register or of a tick; for noise that needs them
  Observation* observations;  // [realization][row], merged into
  const std::atomic<bool>* stop;
};

// Whether to give up: what is in the arrays does not matter then. For looks that are rare enough.
bool stopped(const MessageJob& job);
constexpr std::int64_t kMessagesBetweenPolls = std::int64_t{1} << 15;  // messages in between

// The compilations for different instruction sets: a lane of a register is a realization.
using RunMessages = void (*)(const MessageJob&);
void run_messages_portable(const MessageJob& job);
void run_messages_avx2(const MessageJob& job);
void run_messages_avx512(const MessageJob& job);

}  // namespace jf
