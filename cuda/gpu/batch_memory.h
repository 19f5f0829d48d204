// GPU batches (chunks of realizations): how many at most, by the device's memory; their layout.
// What is free is asked in engine.cu; where an allocation fails all the same, run_in_batches() of
// batch_size.h halves the batches. Launches of a batch: in_launches() in run.cuh, with limits from
// batch_size.h.
#pragma once

#include <algorithm>
#include <string>

#include "congestion/loads.h"
#include "gpu/jobs.h"
#include "gpu/lean.h"
#include "gpu/message_pass.h"
#include "gpu/program_tables.h"

namespace jf::gpu {

// A batch fills a large GPU, but Ctrl-C stays prompt, and no grid has too many blocks.
constexpr std::int64_t kBatchRankSteps = std::int64_t{1} << 34;
constexpr std::int64_t kBatchRows = std::int64_t{1} << 26;
// Congestion: messages routed for the first batch; table entries that the host makes and copies.
constexpr std::int64_t kFirstLoads = std::int64_t{1} << 23;
constexpr std::int64_t kBatchLoads = std::int64_t{1} << 27;
constexpr std::int64_t kSegmentWork = 32;  // cost of a segment's step, in steps of a tile
// Memory per rank for segments, and the number of their ranks that keeps a large GPU busy.
constexpr std::int64_t kRankBytes = 24, kSegmentRanks = std::int64_t{1} << 22;

struct BatchPlan {
  TilePlan tiles;
  std::vector<Pass> passes;
  // The lean kernel's operations, and for each pass its first one, and where its window begins.
  std::vector<LeanOp> lean_ops;
  std::vector<std::int64_t> lean_begins;
  std::vector<int> lean_window_starts;
  MessageLayout messages;
  std::int64_t batch = 0;
  LaunchLimits launches;
  // For one realization:
  std::int64_t ranks, rows, state_ticks = 0, busy_ticks = 0;  // ticks: kept between passes
  std::int64_t cursors = 0;                                   // see noise/cursor.h
  std::int64_t loads = 0;                                     // see noise/link_loads.h
  // For all realizations together:
  std::int64_t load_rows = 0, load_views = 0;
  std::int64_t tables = 0;  // bytes
  std::int64_t room = 0;    // bytes, of fit()

  BatchPlan(const Program& program, const TilePlan& tile_plan)
      : tiles(tile_plan),
        passes(plan(program, tile_plan.limits)),
        messages(program, passes, tile_plan.shared_bytes),
        ranks(program.ranks()),
        rows(program.rows) {
    cursors = program.cursors_per_rank() * ranks;
    static_assert(sizeof(Begins<Tick>) == sizeof(Cursor));
    static_assert(sizeof(LeanRenewal::RankState<Tick>) == sizeof(Cursor));
    static_assert(sizeof(LeanRecording<true>::RankState<Tick>) <= sizeof(Cursor));
    if (tiles.states()) cursors = ranks;
    if (program.loads != nullptr) {
      loads = program.loads->table_size();
      load_rows = static_cast<std::int64_t>(program.loads->rows().size());
      load_views = 1 + static_cast<std::int64_t>(program.message_costs.size());
    }
    if (passes.size() > 1) {
      state_ticks = ranks;
      if (program.costs.forward > 0) busy_ticks = ranks;
    }
    for (const Pass& pass : passes) {
      lean_begins.push_back(static_cast<std::int64_t>(lean_ops.size()));
      lean_window_starts.push_back(0);
      if (tiles.kernel != kStepKernel) {
        const LeanPass lean(program, pass, per_thread_bits(tiles.kernel, false));
        lean_ops.insert(lean_ops.end(), lean.ops.begin(), lean.ops.end());
        lean_window_starts.back() = lean.first_window_start;
      }
      if (pass.kind == kTilePass) {
        const TileShape shape =
            tile_shape(tiles.kernel, pass.map.bits(), fewer_per_thread(program));
        idle_ = std::max<std::int64_t>(idle_, shape.tiles_per_block - 1);
      }
      const std::int64_t steps = ranks * (pass.end - pass.begin);
      if (pass.kind != kMessagePass) work_ += pass.kind == kTilePass ? steps : kSegmentWork * steps;
      copies_.push_back(copies_in(program.steps.data(), pass.begin, pass.end) *
                        static_cast<std::int64_t>(program.mirrors.size()));
    }
    work_ += messages.work;
    lean_begins.push_back(static_cast<std::int64_t>(lean_ops.size()));
    tables = program_bytes(program) + vector_bytes(lean_ops) +
             array_bytes<std::int32_t>(load_rows) + array_bytes<Loads>(load_views);
  }

  // Cost of one realization, in rank-steps (one step of one rank) of tiles.
  std::int64_t work() const { return work_; }

  // Guesses of a rank in a pass over segments: copied levels times mirrors.
  std::int64_t copies(std::size_t pass) const { return copies_[pass]; }

  // Rank-steps of one tile in a pass.
  std::int64_t tile_work(const Pass& pass) const {
    return pass.map.size() * (pass.end - pass.begin);
  }

  // The number of segments that are computed at a time: one per realization, or more if small.
  std::int64_t segments(std::size_t pass, std::int64_t realizations) const {
    const TileMap& map = passes[pass].map;
    const std::int64_t room = kRankBytes * ranks - 8 * state_ticks;
    // An eighth for the states: the pass with most segments need not be the one with most ranks.
    constexpr auto kStateBytes = static_cast<std::int64_t>(sizeof(SegmentState));
    const std::int64_t room_of_states = room / 8, room_of_ranks = room - room_of_states;
    const std::int64_t segment_bytes = map.size() * (8 * ticks_per_rank(pass) + 1);
    const std::int64_t limit = std::max<std::int64_t>(
        1, std::min({map.tiles(), room_of_ranks / segment_bytes, room_of_states / kStateBytes}));
    return std::min(limit * realizations, std::max<std::int64_t>(1, kSegmentRanks / map.size()));
  }
  std::int64_t segments_in_work(std::int64_t realizations) const {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < passes.size(); ++i)
      if (passes[i].kind == kSegmentPass) largest = std::max(largest, segments(i, realizations));
    return largest;
  }
  // Memory of these segments: ticks, and bytes. Busy times between forwards use the same ticks, as
  // there are no segments between forwards.
  std::int64_t arena_ticks(std::int64_t realizations) const {
    std::int64_t largest = busy_ticks * realizations;
    for (std::size_t i = 0; i < passes.size(); ++i)
      largest = std::max(largest, arena_ranks(i, realizations) * ticks_per_rank(i));
    return largest;
  }
  std::int64_t arena_bytes(std::int64_t realizations) const {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < passes.size(); ++i)
      largest = std::max(largest, arena_ranks(i, realizations));
    return largest;
  }

  // Distance of the cursors of consecutive realizations, and of consecutive ranks. If all passes
  // are message passes, those of a rank are contiguous, as threads have consecutive realizations.
  std::int64_t cursor_stride() const { return only_messages() ? cursors / ranks : cursors; }
  std::int64_t cursor_rank_stride() const {
    return cursors / ranks * (only_messages() ? batch : 1);
  }

  // Those of a batch, and of the surplus threads of the last block, which also execute the steps.
  std::int64_t all_cursors(std::int64_t realizations) const {
    return cursors * (realizations + idle_);
  }

  // Bytes of device memory of a batch: all that Run allocates.
  std::int64_t bytes(std::int64_t realizations) const {
    return tables + array_bytes<Tick>(messages.ticks * realizations) +
           array_bytes<std::uint16_t>(loads * realizations) +
           array_bytes<Tick>(state_ticks * realizations) +
           array_bytes<Observation>(rows * realizations) + array_bytes<Tick>(rows * realizations) +
           array_bytes<Tick>(arena_ticks(realizations)) +
           array_bytes<std::uint8_t>(arena_bytes(realizations)) +
           array_bytes<SegmentState>(segments_in_work(realizations)) +
           array_bytes<std::uint32_t>(1) + array_bytes<Cursor>(all_cursors(realizations));
  }

  // Chooses the batch for `count` realizations in as many bytes.
  void fit(std::int64_t count, std::int64_t bytes_free) {
    room = bytes_free;
    batch = std::min({count, kBatchRankSteps / work_, kBatchRows / std::max<std::int64_t>(rows, 1),
                      kBatchLoads / std::max<std::int64_t>(loads, 1)});
    batch = std::max<std::int64_t>(batch, 1);
    choose_for(batch);
    while (batch > 1 && bytes(batch) > room) choose_for(batch / 2);
    if (bytes(batch) > room) {
      throw std::runtime_error("one realization needs " + std::to_string(bytes(batch)) +
                               " bytes of GPU memory, " + std::to_string(room) + " are available");
    }
  }

  // Batches of `size` realizations, or less where so many are of no use.
  void choose_for(std::int64_t size) {
    messages.choose(size);
    batch = std::min(size, messages.largest_batch());
  }

 private:
  bool only_messages() const { return passes.size() == 1 && messages.passes; }
  std::int64_t ticks_per_rank(std::size_t pass) const { return 2 + copies_[pass]; }
  std::int64_t arena_ranks(std::size_t pass, std::int64_t realizations) const {
    if (passes[pass].kind != kSegmentPass) return 0;
    return segments(pass, realizations) * passes[pass].map.size();
  }

  std::int64_t work_ = 1, idle_ = 0;
  std::vector<std::int64_t> copies_;
};

}  // namespace jf::gpu
