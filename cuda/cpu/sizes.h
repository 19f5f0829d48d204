// How much memory a program needs, by the passes that it is done in.
#pragma once

#include <algorithm>
#include <vector>

#include "../congestion/loads.h"
#include "../host_program.h"
#include "message_job.h"
#include "segment_job.h"
#include "tile_job.h"

namespace jf::cpu {

// How much of everything one realization needs.
struct Sizes {
  // Ticks between passes: of one realization, and a second one of each rank, for which there is
  // room in a segment's memory, or behind the first ones.
  std::int64_t memory = 0, second = 0, second_behind = 0;
  std::int64_t tile = 0;            // ranks of the largest tile
  std::int64_t segment = 0;         // ranks of the largest segment
  std::int64_t segment_copies = 0;  // ticks for its copies
  std::int64_t panels = 0;          // bytes of the largest segment in panels, instead of these
  std::int64_t drawn = 0;           // words for delays that are drawn beforehand
  std::int64_t cursors = 0;         // in the intervals of noise, of all ranks
  // Ticks of a message pass, and whether those of links, of forwards and of shifts are among them.
  std::int64_t message = 0;
  std::int64_t message_block = 0;  // and besides, for all realizations side by side
  bool links = false, forwards = false, shifts = false;
  bool busy = false;
  std::int64_t loads = 0;  // bytes, see LoadState

  // What lies between arrays of a tile, in ticks: else the same ranks of all of them, and of blocks
  // with partners far apart, would compete for one set of a cache.
  static constexpr std::int64_t kPad = 21 * 8;

  std::int64_t tile_ticks() const {
    return tile * (busy ? 3 : 2) + 2 * kPad + (1 + kDrawnKinds) * drawn;
  }
  std::int64_t tile_bytes() const { return 8 * tile_ticks(); }
  // Rounded so that the next segment's ticks are aligned.
  std::int64_t segment_bytes() const {
    return (std::max(swept_bytes(segment, segment_copies), panels) + 63) / 64 * 64;
  }
  // Of `lanes` realizations that are worked on side by side.
  std::int64_t state_bytes(std::int64_t segments, std::int64_t lanes) const {
    return lanes * (8 * (memory + second_behind + message) + cursor_bytes() + loads) +
           8 * (message_block + lane_cursor_ticks(lanes)) + arena_bytes(segments);
  }
  std::int64_t cursor_bytes() const { return cursors * std::int64_t{sizeof(Cursor)}; }
  // Of a CursorOf a register for each cursor, which message passes use.
  std::int64_t lane_cursor_ticks(std::int64_t lanes) const {
    return lanes > 1 ? lanes * cursors * 5 : 0;
  }
  // `second` is for times between two forwards, when no segment is in work: they share memory.
  std::int64_t arena_bytes(std::int64_t segments) const {
    return std::max(8 * second, segments * segment_bytes());
  }
};

inline Sizes sizes(const Program& p, const ProgramView& view, const std::vector<Pass>& passes) {
  Sizes s;
  s.busy = p.has_busy();
  if (p.loads != nullptr) s.loads = p.loads->bytes();
  if (!p.delays.empty() || p.delays_messages()) s.drawn = kDrawnSteps * kDrawnRanks;
  if (p.sources_needed() || std::any_of(passes.begin(), passes.end(),
                                        [](const Pass& pass) { return pass.kind == kSegmentPass; }))
    s.cursors = p.cursors_per_rank() * p.ranks();
  if (passes.size() > 1) {
    s.memory = p.ranks();
    if (p.costs.forward > 0) (p.has_message_passes() ? s.second_behind : s.second) = p.ranks();
  }
  if (p.has_message_passes()) {
    s.links = p.links_matter();
    s.forwards = p.costs.forward > 0;
    s.shifts = std::any_of(p.steps.begin(), p.steps.end(), [](const Step& step) {
      return step.kind == kMessage && step.map == kShift;
    });
    const std::int64_t arrays = 3 + 2 * s.links + s.forwards + s.shifts;
    s.message = arrays * p.ranks();
    s.message_block = arrays * kMessageBlock;
  }
  for (const Pass& pass : passes) {
    if (pass.kind == kMessagePass) continue;
    const std::int64_t size = pass.map.size();
    if (pass.kind == kTilePass) {
      s.tile = std::max<std::int64_t>({s.tile, size, kMaxLanes});
    } else {
      const std::int64_t copies = copies_in(p.steps.data(), pass.begin, pass.end) *
                                  static_cast<std::int64_t>(p.mirrors.size());
      s.segment = std::max(s.segment, size);
      s.segment_copies = std::max(s.segment_copies, copies * size);
      s.panels = std::max(s.panels, panel_bytes(view, pass));
    }
  }
  return s;
}

}  // namespace jf::cpu
