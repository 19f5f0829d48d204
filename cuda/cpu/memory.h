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
  Scratch(const Sizes& s, std::int64_t rows)
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

// Loads of the messages of the realizations in work, and the view of the program that sees them.
struct LoadState {
  LoadState(const Program& p, const ProgramView& of_all, std::int64_t lanes)
      : program(p), view(of_all) {
    if (p.loads == nullptr) return;
    table = allocate<std::uint16_t>(p.loads->table_size() * lanes);
    maker = congestion::make_loads(*p.loads, view.seed);
  }

  // For `count` realizations from `first` on.
  void make(std::uint32_t first, std::int64_t count, const std::atomic<bool>& stop) {
    if (maker == nullptr) return;
    const std::int64_t size = program.loads->table_size();
    for (std::int64_t k = 0; k < count; ++k)
      maker->make(first + static_cast<std::uint32_t>(k), table.get() + k * size, stop);
    loads = program.loads->views(table.get(), program.loads->rows().data(), size, first);
    view.messages.loads = loads.data();
  }

  const Program& program;
  ProgramView view;
  Buffer<std::uint16_t> table;
  std::vector<Loads> loads;
  std::unique_ptr<congestion::LoadMaker> maker;
};

// Memory of so many realizations as are worked on side by side, `lanes`: between passes, and for as
// many segments as are worked on at once.
struct State {
  State(const Sizes& s, std::int64_t segments, std::int64_t lanes, std::uint32_t nobody,
        const Program& p, const ProgramView& view)
      : sizes(s),
        lanes(lanes),
        loads(p, view, lanes),
        memory_(allocate<Tick>(lanes * (s.memory + s.second_behind))),
        arena_(allocate<std::uint8_t>(s.arena_bytes(segments))),
        cursors_(allocate<Cursor>(lanes * s.cursors)),
        lane_cursors_(allocate<Tick>(s.lane_cursor_ticks(lanes))),
        messages_(allocate<Tick>(lanes * s.message + s.message_block)) {
    // Of no realization yet: of the one after the last.
    std::fill_n(cursors_.get(), lanes * s.cursors, Cursor{0, 0, 0, 0, nobody});
    // `owner` is the last register of five.
    for (std::int64_t i = 0; i < s.lane_cursor_ticks(lanes); ++i)
      lane_cursors_[static_cast<std::size_t>(i)] = i / lanes % 5 == 4 ? Tick{nobody} : 0;
  }

  // Of the realization in a lane.
  Tick* memory(std::int64_t lane) const {
    return memory_.get() + lane * (sizes.memory + sizes.second_behind);
  }
  Tick* second(std::int64_t lane) const {
    if (sizes.second_behind > 0) return memory(lane) + sizes.memory;
    return sizes.second > 0 ? reinterpret_cast<Tick*>(arena_.get()) : nullptr;
  }
  Cursor* cursors(std::int64_t lane) const { return cursors_.get() + lane * sizes.cursors; }

  // Of message passes.
  void* message_cursors() const {
    return lanes > 1 ? static_cast<void*>(lane_cursors_.get()) : cursors_.get();
  }

  // Of all lanes. What is kept of a rank lies together.
  MessageState message() const {
    int next_array = 0;
    const auto array = [&] { return messages_.get() + next_array++ * lanes; };
    MessageState s{};
    s.sent = s.busy = array();
    s.next = array();
    if (sizes.links) s.out = array(), s.in = array();
    s.left = array();
    if (sizes.shifts) s.left_too = array();
    if (sizes.forwards) s.busy = array();
    s.stride = next_array * lanes;
    return s;
  }

  // The memory of one segment, in panels or not.
  std::uint8_t* segment_memory(std::int64_t slot) const {
    return arena_.get() + slot * sizes.segment_bytes();
  }
  SegmentScratch segment(std::int64_t slot) const {
    auto* ticks = reinterpret_cast<Tick*>(segment_memory(slot));
    Tick* copies = ticks + 2 * sizes.segment;
    return {ticks, ticks + sizes.segment, copies,
            reinterpret_cast<std::uint8_t*>(copies + sizes.segment_copies)};
  }

  const Sizes& sizes;
  const std::int64_t lanes;
  LoadState loads;

 private:
  Buffer<Tick> memory_;
  Buffer<std::uint8_t> arena_;
  Buffer<Cursor> cursors_;
  Buffer<Tick> lane_cursors_;
  Buffer<Tick> messages_;
};

}  // namespace jf::cpu
