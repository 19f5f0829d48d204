// What cpu/engine.cpp hands to the compilations of cpu/segments_isa.cpp, and its working memory.
#pragma once

#include <atomic>

#include "tile_job.h"

namespace jf {

// A copy that arrives at a rank before it has got a lower level, and so overtakes others; to
// mirrors that are not neighbours also one that only comes before the original.
struct EarlyCopy {
  Tick arrival;        // or kNever: not any more
  std::int32_t after;  // number of the next one of this pair of ranks, from 1 on, or 0
  std::int32_t place;  // 2 * (kMostMirrors * the step that makes its level + number of the mirror)
                       // + which of both ranks gets it
};

// Times of ranks between two steps. `busy` of a rank that has skipped levels: minus the one
// reached.
struct PanelTimes {
  Tick *sent, *busy, *next;
  Tick* taken;  // the latest arrival of a message that the rank has taken

  JF_HD PanelTimes operator+(std::int64_t x) const {
    return {sent + x, busy + x, next + x, taken + x};
  }
};

// How a segment is cut into panels (panels.h): into groups of steps. The first ones, whose partners
// are near each other, are one group; of the others those whose delays are drawn together are.
struct PanelGroups {
  static constexpr int kMost = 30;

  std::int64_t size;  // ranks of the segment
  std::int64_t farthest_mirror;
  int count = 0;
  int begin[kMost + 1];

  JF_HD PanelGroups(const Step* steps, const Pass& pass, std::int32_t farthest_mirror)
      : size(pass.map.size()), farthest_mirror(farthest_mirror) {
    const auto near = [&](int i) { return pass.map.local_bit(steps[i].round) < kDrawnBits; };
    for (int i = pass.begin; i < pass.end; ++i)
      if (i == pass.begin ||
          (!near(i) && (near(begin[count - 1]) || draws_end(steps, begin[count - 1], i))))
        begin[count++] = i;
    begin[count] = pass.end;
  }

  // Whether the delays of step i are not drawn together with those of steps from `first` on.
  JF_HD static bool draws_end(const Step* steps, int first, int i) {
    return i - first == kDrawnSteps || steps[i].draw != steps[i - 1].draw + 1 ||
           steps[i].draw % kDrawnSteps == 0;
  }

  JF_HD std::int64_t panels() const { return size > kDrawnRanks ? size / kDrawnRanks : 1; }
  // For so many early copies. Where there are more, the segment is swept as a whole
  // (segment_run.h). Unless mirrors are neighbours, copies that overtake no others are among them.
  JF_HD std::int64_t room() const { return farthest_mirror == 1 ? size / 2 : 2 * size; }

  // For each group the times that its ranks come with; early copies; which panels have to be done.
  JF_HD std::int64_t ticks() const { return 4 * size * count; }
  JF_HD std::int64_t bytes() const {
    return ticks() * std::int64_t{sizeof(Tick)} + room() * std::int64_t{sizeof(EarlyCopy)} +
           size / 2 * std::int64_t{sizeof(std::int32_t)} + panels() * count;
  }
};

// What a segment of that size takes that is swept as a whole, see SegmentScratch.
JF_HD std::int64_t swept_bytes(std::int64_t size, std::int64_t copies) {
  return size * 17 + copies * 8;
}

// Whether a pass is done in panels: its segments are full registers of neighbours, mirrors are in
// the same panel always, and it does not need more memory than sweeps to one mirror would, or no
// more than machines have for a core: sweeps take ten times as long.
JF_HD bool has_panels(const Step* steps, const Pass& pass, std::int32_t farthest_mirror) {
  constexpr std::int64_t kOfACore = 1 << 28, kBeyond = 1 << (kDrawnBits - kDrawnSteps);
  const std::int64_t size = pass.map.size();
  if (pass.kind != kSegmentPass || pass.map.in_a_row() < kMaxLanes || farthest_mirror >= kBeyond)
    return false;
  const std::int64_t swept = swept_bytes(size, copies_in(steps, pass.begin, pass.end) * size);
  return PanelGroups(steps, pass, farthest_mirror).bytes() <= (swept > kOfACore ? swept : kOfACore);
}

struct SegmentJob {
  TileJob tile;
  TileScratch scratch;  // to draw delays into
  void* memory;         // PanelGroups::bytes()
  const std::atomic<bool>* stop;
};

// Whether to give up: what is in the arrays does not matter then.
bool stopped(const SegmentJob& job);

// The compilations for different instruction sets. They return false, and leave memory as it was,
// if copies overtake others too often for them.
using RunPanels = bool (*)(const SegmentJob&);
bool run_panels_portable(const SegmentJob& job);
bool run_panels_avx2(const SegmentJob& job);
bool run_panels_avx512(const SegmentJob& job);

}  // namespace jf
