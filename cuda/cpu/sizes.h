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
  std::int64_t memory = 0, second = 0;  // ticks between passes
  std::int64_t tile = 0;                // ranks of the largest tile
  std::int64_t segment = 0;             // ranks of the largest segment
  std::int64_t segment_copies = 0;      // ticks for its copies
  std::int64_t panels = 0;              // bytes of the largest segment in panels, instead of these
  std::int64_t drawn = 0;               // words for delays that are drawn beforehand
  std::int64_t cursors = 0;             // in the intervals of noise, of all ranks
  // Ticks of each array of a message pass, of all of them together, and whether links are among
  // them.
  std::int64_t message = 0, messages = 0;
  bool links = false;
  std::int64_t blocks = 0;  // of trees, with what is beyond, in full registers
  bool busy = false;
  std::int64_t loads = 0;  // bytes, see LoadState

  // Ticks of a rank that is the first of its block, or of its subtree.
  static constexpr int kOfFirst = 4;
  static constexpr int kOfBlock = kOfFirst * (1 + kSubtree);

  // Ticks of a RankTable.
  std::int64_t table_blocks() const { return std::min(blocks, RankTable::kMost); }
  std::int64_t table_ticks() const {
    return blocks > 0 ? (table_blocks() + kMaxLanes) * kBlock : 0;
  }

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
  std::int64_t state_bytes(std::int64_t segments) const {
    return 8 * (memory + messages) + cursor_bytes() + arena_bytes(segments) + block_bytes() + loads;
  }
  std::int64_t block_ticks() const { return blocks * kOfBlock + table_ticks(); }
  std::int64_t block_bytes() const { return block_ticks() * std::int64_t{sizeof(Tick)}; }
  std::int64_t cursor_bytes() const { return cursors * std::int64_t{sizeof(Cursor)}; }
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
    if (p.costs.forward > 0) s.second = p.ranks();
  }
  if (p.has_message_passes()) {
    // As full registers of ranks; those that there are not need cursors, too.
    const std::int64_t ranks = (p.ranks() + kMaxLanes - 1) / kMaxLanes * kMaxLanes;
    s.links = p.links_matter();
    s.message = ranks + 2 * kMessageMargin + Sizes::kPad;
    s.memory = ranks;
    if (std::any_of(p.steps.begin(), p.steps.end(),
                    [](const Step& step) { return step.kind == kMessage && step.map == kTree; })) {
      s.blocks = (p.ranks() / kBlock + kMaxLanes) / kMaxLanes * kMaxLanes;
      const std::int64_t with_rest = (s.blocks + 1) * kBlock;  // see message_cycles.h
      s.message = std::max(s.message, with_rest + 2 * kMessageMargin + Sizes::kPad);
      s.memory = std::max(s.memory, with_rest);
    }
    s.messages = s.message * (s.links ? 4 : 2);
    if (p.costs.forward > 0) s.second = ranks;
    if (s.cursors > 0) s.cursors = p.cursors_per_rank() * ranks;
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
