// How many realizations a device works on at a time, and what memory they take there.
#pragma once

#include <algorithm>
#include <string>

#include "congestion/loads.h"
#include "gpu/jobs.h"
#include "gpu/lean.h"
#include "gpu/message_pass.h"
#include "gpu/resources.h"

namespace jf::gpu {

// A batch is enough realizations to fill a large GPU, few enough that Ctrl-C and progress are
// prompt and that no launch has more blocks than a grid may have.
constexpr std::int64_t kBatchRankSteps = std::int64_t{1} << 34;
constexpr std::int64_t kBatchRows = std::int64_t{1} << 26;
constexpr std::int64_t kFirstLoads = std::int64_t{1} << 23;  // messages routed for the first batch
constexpr std::int64_t kBatchLoads = std::int64_t{1} << 27;  // which the host makes and copies
constexpr std::int64_t kSegmentWork = 32;  // a segment's step costs as much as so many of a tile
// Memory that a rank may take, and ranks that keep a large GPU busy with segments.
constexpr std::int64_t kRankBytes = 24, kSegmentRanks = std::int64_t{1} << 22;

struct BatchPlan {
  TilePlan tiles;
  std::vector<Pass> passes;
  // Of the lean kernel: what it does in all passes, where each pass begins there and its window.
  std::vector<LeanOp> lean_ops;
  std::vector<std::int64_t> lean_begins;
  std::vector<int> lean_register_bits;
  MessageLayout messages;
  std::int64_t batch = 0;
  LaunchLimits launches;
  // Of one realization:
  std::int64_t ranks, rows, memory = 0, second = 0;  // the latter two: ticks between passes
  std::int64_t cursors = 0;                          // in the intervals of noise
  std::int64_t loads = 0;                            // of messages, see noise/loads.h
  std::int64_t load_rows = 0;                        // of all realizations together
  std::int64_t load_views = 0;
  std::int64_t tables = 0;  // bytes of what is the same for all realizations

  BatchPlan(const Program& program, const TilePlan& tile_plan)
      : tiles(tile_plan),
        passes(plan(program, tile_plan.limits)),
        messages(program, passes, tile_plan.shared_bytes),
        ranks(program.ranks()),
        rows(program.rows) {
    cursors = program.cursors_per_rank() * ranks;
    if (program.loads != nullptr) {
      loads = program.loads->table_size();
      load_rows = static_cast<std::int64_t>(program.loads->rows().size());
      load_views = 1 + static_cast<std::int64_t>(program.message_costs.size());
    }
    if (passes.size() > 1) {
      memory = ranks;
      if (program.costs.forward > 0) second = ranks;
    }
    for (const Pass& pass : passes) {
      lean_begins.push_back(static_cast<std::int64_t>(lean_ops.size()));
      lean_register_bits.push_back(0);
      if (tiles.kernel != kStepKernel) {
        const LeanPass lean(program, pass, per_thread_bits(tiles.kernel, false));
        lean_ops.insert(lean_ops.end(), lean.ops.begin(), lean.ops.end());
        lean_register_bits.back() = lean.first_register_bit;
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
    const auto count = [this]<class T>(const std::vector<T>& table) {
      tables += array_bytes<T>(static_cast<std::int64_t>(table.size()));
    };
    count(program.steps);
    count(program.intervals);
    count(program.delays);
    count(program.messages);
    count(program.words);
    count(program.message_costs);
    count(program.step_messages);
    count(lean_ops);
    tables += array_bytes<std::int32_t>(load_rows) + array_bytes<Loads>(load_views);
  }

  // Steps of ranks that one realization takes, in terms of tiles.
  std::int64_t work() const { return work_; }

  // Guesses of a rank in a pass: levels copied times mirrors.
  std::int64_t copies(std::size_t pass) const { return copies_[pass]; }

  // Steps of ranks in a pass over tiles, of one tile.
  std::int64_t tile_work(const Pass& pass) const {
    return pass.map.size() * (pass.end - pass.begin);
  }

  // Segments of a batch that are in work at a time: one a realization, more where these are small.
  std::int64_t segments(std::size_t pass, std::int64_t of_batch) const {
    const TileMap& map = passes[pass].map;
    const std::int64_t room = kRankBytes * ranks - 8 * memory;
    const std::int64_t each = map.size() * (8 * segment_ticks(pass) + 1);
    const std::int64_t most = std::max<std::int64_t>(1, std::min(map.tiles(), room / each));
    return std::min(most * of_batch, std::max<std::int64_t>(1, kSegmentRanks / map.size()));
  }
  std::int64_t segments_at_a_time(std::int64_t of_batch) const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < passes.size(); ++i)
      if (passes[i].kind == kSegmentPass) most = std::max(most, segments(i, of_batch));
    return most;
  }
  // Memory of all segments in work: ticks, and bytes. No segment is in work between two forwards,
  // so `second` lies in the same ticks.
  std::int64_t arena_ticks(std::int64_t of_batch) const {
    std::int64_t most = second * of_batch;
    for (std::size_t i = 0; i < passes.size(); ++i)
      most = std::max(most, arena_ranks(i, of_batch) * segment_ticks(i));
    return most;
  }
  std::int64_t arena_bytes(std::int64_t of_batch) const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) most = std::max(most, arena_ranks(i, of_batch));
    return most;
  }

  // Where passes of tiles do not want the cursors of a realization side by side, those of a rank
  // are: threads that are neighbours have neighbouring realizations then.
  std::int64_t cursor_stride() const { return only_messages() ? cursors / ranks : cursors; }
  std::int64_t cursor_rank_stride() const {
    return cursors / ranks * (only_messages() ? batch : 1);
  }

  // Those of a batch, and of the threads that a last block has too many of: they run along.
  std::int64_t all_cursors(std::int64_t of_batch) const { return cursors * (of_batch + idle_); }

  // Bytes of device memory that a batch takes: all that Run allocates.
  std::int64_t bytes(std::int64_t of_batch) const {
    return tables + array_bytes<Tick>(messages.ticks * of_batch) +
           array_bytes<std::uint16_t>(loads * of_batch) + array_bytes<Tick>(memory * of_batch) +
           array_bytes<Observation>(rows * of_batch) + array_bytes<Tick>(rows * of_batch) +
           array_bytes<Tick>(arena_ticks(of_batch)) +
           array_bytes<std::uint8_t>(arena_bytes(of_batch)) +
           array_bytes<SegmentState>(segments_at_a_time(of_batch)) + array_bytes<std::uint32_t>(1) +
           array_bytes<Cursor>(all_cursors(of_batch));
  }

  // Chooses the batch for `count` realizations in `room` bytes.
  void fit(std::int64_t count, std::int64_t room) {
    batch = std::min({count, kBatchRankSteps / work_, kBatchRows / std::max<std::int64_t>(rows, 1),
                      kBatchLoads / std::max<std::int64_t>(loads, 1)});
    batch = std::max<std::int64_t>(batch, 1);
    messages.choose(batch);
    while (batch > 1 && bytes(batch) > room) batch /= 2;
    if (bytes(batch) > room) {
      throw std::runtime_error("one realization needs " + std::to_string(bytes(batch)) +
                               " bytes of GPU memory, " + std::to_string(room) + " are available");
    }
  }

 private:
  bool only_messages() const { return passes.size() == 1 && messages.passes; }
  std::int64_t segment_ticks(std::size_t pass) const { return 2 + copies_[pass]; }
  std::int64_t arena_ranks(std::size_t pass, std::int64_t of_batch) const {
    if (passes[pass].kind != kSegmentPass) return 0;
    return segments(pass, of_batch) * passes[pass].map.size();
  }

  std::int64_t work_ = 1, idle_ = 0;
  std::vector<std::int64_t> copies_;
};

}  // namespace jf::gpu
