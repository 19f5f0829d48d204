// What the CPU engine holds: per thread, and per realization in flight.
#pragma once

#include <algorithm>
#include <vector>

#include "../congestion/loads.h"
#include "../host_program.h"
#include "../segment.h"
#include "buffer.h"
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
  std::int64_t panels = 0;              // bytes of the largest segment in panels, in their place
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
  // A segment is never in work between two forwards, so they share memory.
  std::int64_t state_bytes(std::int64_t segments) const {
    return 8 * (memory + messages) + cursor_bytes() + arena_bytes(segments) + block_bytes() + loads;
  }
  std::int64_t block_ticks() const { return blocks * kOfBlock + table_ticks(); }
  std::int64_t block_bytes() const { return block_ticks() * std::int64_t{sizeof(Tick)}; }
  std::int64_t cursor_bytes() const { return cursors * std::int64_t{sizeof(Cursor)}; }
  std::int64_t arena_bytes(std::int64_t segments) const {
    return std::max(8 * second, segments * segment_bytes());
  }
};

inline Sizes sizes(const Program& p, const std::vector<Pass>& passes) {
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
      if (has_panels(p.steps.data(), pass, p.farthest_mirror()))
        s.panels =
            std::max(s.panels, PanelGroups(p.steps.data(), pass, p.farthest_mirror()).bytes());
    }
  }
  return s;
}

// Memory of one thread.
struct Scratch {
  Scratch(const Sizes& s, int rows)
      : ticks(allocate<Tick>(s.tile_ticks())), rows(static_cast<std::size_t>(rows)) {
    tile.sent = ticks.get();
    tile.next = tile.sent + s.tile + Sizes::kPad;
    tile.busy = s.busy ? tile.next + s.tile + Sizes::kPad : tile.sent;
    if (s.drawn == 0) return;
    Tick* after = (s.busy ? tile.busy : tile.next) + s.tile;
    tile.draws = reinterpret_cast<std::uint64_t*>(after);
    for (Tick*& sum : tile.sums) sum = after += s.drawn;
  }

  Buffer<Tick> ticks;
  TileScratch tile;
  std::vector<Observation> rows;
};

// Loads of the messages of one realization, and the view of the program that sees them.
struct LoadState {
  LoadState(const Program& p, const ProgramView& of_all) : view(of_all) {
    if (p.loads == nullptr) return;
    table = allocate<std::uint16_t>(p.loads->table_size());
    maker = congestion::make_loads(*p.loads, view.seed);
    loads = p.loads->views(table.get(), p.loads->rows().data(), 0, 0);
    view.messages.loads = loads.data();
  }

  void make(std::uint32_t realization, const std::atomic<bool>& stop) const {
    if (maker != nullptr) maker->make(realization, table.get(), stop);
  }

  ProgramView view;
  Buffer<std::uint16_t> table;
  std::vector<Loads> loads;
  std::unique_ptr<congestion::LoadMaker> maker;
};

// Memory of one realization: between passes, and for as many segments as are worked on at once.
struct State {
  State(const Sizes& s, std::int64_t segments, std::uint32_t nobody, const Program& p,
        const ProgramView& view)
      : sizes(s),
        loads(p, view),
        memory(allocate<Tick>(s.memory)),
        arena(allocate<std::uint8_t>(s.arena_bytes(segments))),
        cursors(allocate<Cursor>(s.cursors)),
        messages(allocate<Tick>(s.messages)),
        first_ranks(allocate<Tick>(s.block_ticks())) {
    // Of no realization yet: of the one after the last.
    std::fill_n(cursors.get(), s.cursors, Cursor{0, 0, 0, 0, nobody});
  }

  MessageState message() const {
    Tick* at = messages.get() + kMessageMargin;
    const auto array = [&](int i) { return at + i * sizes.message; };
    return {memory.get(),
            sizes.second > 0 ? second() : memory.get(),
            array(0),
            sizes.links ? array(2) : nullptr,
            sizes.links ? array(3) : nullptr,
            array(1)};
  }

  MessageState first_of_blocks() const { return first(first_ranks.get(), sizes.blocks); }
  MessageState first_of_subtrees() const {
    return first(first_ranks.get() + sizes.blocks * Sizes::kOfFirst, sizes.blocks * kSubtree);
  }
  RankTable rank_table() const {
    return {first_ranks.get() + sizes.blocks * Sizes::kOfBlock, sizes.table_blocks(), &table_made};
  }
  static MessageState first(Tick* at, std::int64_t count) {
    const auto array = [&](int i) { return at + i * count; };
    return {array(0), array(0), array(1), array(2), array(3), nullptr};
  }

  Tick* second() const { return sizes.second > 0 ? reinterpret_cast<Tick*>(arena.get()) : nullptr; }
  // The memory of one segment, in panels or not.
  std::uint8_t* segment_memory(std::int64_t slot) const {
    return arena.get() + slot * sizes.segment_bytes();
  }
  SegmentScratch segment(std::int64_t slot) const {
    auto* ticks = reinterpret_cast<Tick*>(segment_memory(slot));
    Tick* copies = ticks + 2 * sizes.segment;
    return {ticks, ticks + sizes.segment, copies,
            reinterpret_cast<std::uint8_t*>(copies + sizes.segment_copies)};
  }

  const Sizes& sizes;
  const LoadState loads;
  Buffer<Tick> memory;
  Buffer<std::uint8_t> arena;
  Buffer<Cursor> cursors;
  Buffer<Tick> messages;
  Buffer<Tick> first_ranks;
  mutable bool table_made = false;
};

}  // namespace jf::cpu
