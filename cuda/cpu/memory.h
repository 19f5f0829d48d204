// The memory that the CPU engine holds: for each thread, and for each realization that is in work.
#pragma once

#include <algorithm>
#include <vector>

#include "../congestion/loads.h"
#include "../host_program.h"
#include "../segment.h"
#include "buffer.h"
#include "message_job.h"
#include "sizes.h"
#include "tile_job.h"

namespace jf::cpu {

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
    return {first_ranks.get() + sizes.blocks * Sizes::kOfBlock, sizes.table_blocks(),
            &blocks_known};
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
  mutable BlocksKnown blocks_known;
};

}  // namespace jf::cpu
