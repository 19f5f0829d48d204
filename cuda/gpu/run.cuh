// Host loop of the GPU engine: batches, passes, kernel launches of all kinds, polling for Ctrl-C.
// Device is the GPU of device.h or, in the tests, an emulated one: it allocates arenas, launches
// kernels in order, and copies.
#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include "core/engine.h"
#include "gpu/batch_memory.h"
#include "gpu/kernels.h"

namespace jf::gpu {

// A time of a batch has more than 32 bits, see meet_in_turn.
struct TimesTooLong {};

template <class Device>
class Run {
 public:
  // `done`: finished realizations; at first those of an earlier Run.
  Run(Device& device, const Program& program, const Request& request, const BatchPlan& plan,
      std::int64_t& done, const Poll& poll)
      : device_(device),
        program_(program),
        request_(request),
        plan_(plan),
        done_(done),
        poll_(poll),
        pace_(plan.launches, poll, done),
        arena_(device, plan.bytes(plan.batch)),
        load_rows_(arena_.upload(rows_of_loads(program))),
        load_views_(arena_.template allocate<Loads>(plan.load_views)),
        loads_(arena_.template allocate<std::uint16_t>(plan.loads * plan.batch)),
        message_ticks_(arena_.template allocate<Tick>(plan.messages.ticks * plan.batch)),
        lean_ops_(arena_.upload(plan_.lean_ops)),
        state_(arena_.template allocate<Tick>(plan.state_ticks * plan.batch)),
        observations_(arena_.template allocate<Observation>(plan.rows * plan.batch)),
        maxima_(arena_.template allocate<Tick>(plan.rows * plan.batch)),
        arena_ticks_(arena_.template allocate<Tick>(plan.arena_ticks(plan.batch))),
        arena_bytes_(arena_.template allocate<std::uint8_t>(plan.arena_bytes(plan.batch))),
        segments_(arena_.template allocate<SegmentState>(plan.segments_in_work(plan.batch))),
        flag_(arena_.template allocate<std::uint32_t>(1)),
        cursors_(arena_.template allocate<Cursor>(plan.all_cursors(plan.batch))),
        view_(program.view(request.seed)),
        keys_(request.seed) {
    upload_program(arena_, program, view_);
    if (program.loads != nullptr) view_.messages.loads = load_views_;
    // The cursors belong to no realization yet: the owner is the one before the first. Of all 2^32
    // that is the last, which comes when each cursor has had another owner.
    const auto no_owner = static_cast<std::uint32_t>(request.first - 1);
    device.fill(cursors_, plan.all_cursors(plan.batch), Cursor{0, 0, 0, 0, no_owner});
  }

  void simulate(Tick* out) {
    using Clock = std::chrono::steady_clock;
    BatchSize size(plan_.batch, plan_.messages.side_by_side());
    if (program_.loads != nullptr) size.begin_with(kFirstLoads / program_.loads->work());
    while (done_ < request_.count) {
      const std::int64_t now =
          std::min(size.next(pace_.limit() / plan_.work()), request_.count - done_);
      const auto start = Clock::now();
      run_batch(now, out + done_ * plan_.rows * words_per_row(request_));
      size.took(std::chrono::duration<double>(Clock::now() - start).count());
      done_ += now;
      pace_.poll();
    }
  }

 private:
  void run_batch(std::int64_t count, Tick* out) {
    const std::int64_t rows = plan_.rows * count;
    make_loads(count);
    device_.fill(observations_, rows, Observation::empty());
    if (plan_.tiles.uncertain()) device_.fill(flag_, 1, std::uint32_t{0});
    for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
      const PassJob job{view_,
                        plan_.passes[i],
                        static_cast<std::uint32_t>(request_.first + done_),
                        request_.full_statistics,
                        count,
                        0,
                        plan_.passes[i].map.tiles() * count,
                        plan_.ranks,
                        state_,
                        plan_.busy_ticks > 0 ? arena_ticks_ : nullptr,
                        cursors_,
                        plan_.cursor_stride(),
                        plan_.cursor_rank_stride(),
                        observations_,
                        plan_.tiles.lean,
                        lean_ops_ + plan_.lean_begins[i],
                        static_cast<int>(plan_.lean_begins[i + 1] - plan_.lean_begins[i]),
                        plan_.lean_window_starts[i],
                        keys_,
                        flag_};
      if (job.pass.kind == kTilePass)
        run_tiles(job);
      else if (job.pass.kind == kSegmentPass)
        run_segments(job, i);
      else
        run_messages(job, i);
    }
    if (plan_.tiles.uncertain()) {
      std::uint32_t too_long = 0;
      device_.download(flag_, 1, &too_long);
      if (too_long != 0) throw TimesTooLong();
    }
    static_assert(sizeof(Observation) == 4 * sizeof(Tick));
    if (request_.full_statistics) {
      device_.download(reinterpret_cast<const Tick*>(observations_), 4 * rows, out);
    } else {
      device_.maxima(observations_, rows, maxima_);
      device_.download(maxima_, rows, out);
    }
    pace_.waited();
  }

  // Calls launch(begin, end) for parts of [0, count), each of whole blocks and within the limit of
  // rank-steps of a launch.
  template <class Launch>
  void in_launches(std::int64_t count, std::int64_t of_block, std::int64_t steps_of_each,
                   Launch&& launch) {
    for (std::int64_t begin = 0; begin < count;) {
      const std::int64_t blocks =
          std::clamp<std::int64_t>(pace_.limit() / (steps_of_each * of_block), 1, kMaxBlocks);
      const std::int64_t end = std::min(begin + blocks * of_block, count);
      launch(begin, end);
      pace_.launched((end - begin) * steps_of_each);
      if (pace_.due()) pace_.wait_and_poll(device_);
      begin = end;
    }
  }

  static std::vector<std::int32_t> rows_of_loads(const Program& program) {
    return program.loads != nullptr ? program.loads->rows() : std::vector<std::int32_t>{};
  }

  // Congestion of a batch: the threads of the host make the tables, one realization at a time.
  void make_loads(std::int64_t count) {
    if (program_.loads == nullptr) return;
    const auto first = static_cast<std::uint32_t>(request_.first + done_);
    const auto makers =
        static_cast<std::size_t>(std::clamp<std::int64_t>(cpu::hardware_threads(), 1, count));
    while (load_makers_.size() < makers)
      load_makers_.push_back(congestion::load_maker(*program_.loads, request_.seed));
    std::vector<std::uint16_t> tables(static_cast<std::size_t>(plan_.loads * count));
    std::atomic<std::int64_t> claimed{0};
    std::atomic<bool> stop{false};
    const auto work = [&](const congestion::LoadMaker& make) {
      for (std::int64_t i; !stop && (i = claimed++) < count;)
        make(first + static_cast<std::uint32_t>(i), tables.data() + i * plan_.loads, stop);
    };
    std::vector<std::future<void>> working;
    try {
      for (std::size_t t = 0; t < makers; ++t)
        working.push_back(std::async(std::launch::async, [&, t] { work(load_makers_[t]); }));
      for (const std::future<void>& future : working)
        while (future.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
          if (!stop && poll_ && !poll_(done_)) stop = true;
      for (std::future<void>& future : working) future.get();
    } catch (...) {
      stop = true;  // the futures' destructors wait for the threads that still work
      throw;
    }
    if (stop) throw Cancelled();
    const std::vector<Loads> views = program_.loads->views(loads_, load_rows_, plan_.loads, first);
    device_.copy(views.data(), static_cast<std::int64_t>(views.size()), load_views_);
    device_.copy(tables.data(), static_cast<std::int64_t>(tables.size()), loads_);
  }

  void run_tiles(PassJob job) {
    const TileKernel which = plan_.tiles.kernel;
    const TileShape shape = tile_shape(which, job.pass.map.bits(), fewer_per_thread(program_));
    const auto run = [&](auto kernel, const auto&... more) {
      const std::int64_t per_block = shape.tiles_per_block;
      in_launches(job.tiles(), per_block, plan_.tile_work(job.pass), [&](auto begin, auto end) {
        job.first_tile = begin;
        job.end_tile = end;
        device_.launch(kernel, (end - begin + per_block - 1) / per_block, shape.block,
                       shape.shared_bytes, job, more...);
      });
    };
    if (which == kStepKernel) {
      with_kernel_noise(
          view_, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
            run(find_tile_kernel<Noise, Network>(shape.ranks_per_thread, view_.has_busy != 0),
                noise, network, shape.thread_bits);
          });
      return;
    }
    const auto run_lean = [&]<class Noise, class Network>(const Noise& noise,
                                                          const Network& network) {
      if constexpr (!is_general<Noise>)
        run(which == kLean32 ? find_lean_kernel<std::uint32_t, Noise, Network>()
                             : find_lean_kernel<Tick, Noise, Network>(),
            noise, network);
    };
    const std::uint64_t* const words = view_.sources.words;
    switch (plan_.tiles.sources) {
      case kSeveralPeriodic:
        return run_lean(periodic_list(program_, words, plan_.tiles.longest_period()), NoJitter{});
      case kOneRenewal:
        return run_lean(lean_renewal(program_, words), NoJitter{});
      case kRecordings:
        if (program_.intervals[0].trace.recordings >= 0)
          return run_lean(lean_recording<true>(program_, words), NoJitter{});
        return run_lean(lean_recording<false>(program_, words), NoJitter{});
      default:
        with_noise<Delays::kInStep>(view_, run_lean);
    }
  }

  void run_segments(const PassJob& job, std::size_t pass) {
    const TileMap& map = job.pass.map;
    const SegmentArena arena{arena_ticks_, arena_bytes_, segments_, flag_, plan_.copies(pass)};
    const std::int64_t all = job.tiles(), together = plan_.segments(pass, plan_.batch);
    for (std::int64_t first = 0; first < all; first += together) {
      const std::int64_t count = std::min(together, all - first);
      // A launch for all segments in work, each of which has 2^bits items.
      const auto run = [&](SegmentWork work, std::int32_t step, std::int32_t bits) {
        const std::int64_t ranks = map.size() >> bits;  // of an item
        in_launches(count << bits, kSegmentBlock, kSegmentWork * ranks, [&](auto begin, auto end) {
          const SegmentLaunch launch{work, step, bits, first, begin, end};
          with_kernel_noise(
              view_, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
                device_.launch(find_segment_kernel<Noise, Network>(),
                               (end - begin + kSegmentBlock - 1) / kSegmentBlock, kSegmentBlock, 0,
                               job, noise, network, arena, launch);
              });
        });
      };
      run(kBeginSegments, 0, map.bits());
      for (std::uint32_t left = 1; left > 0;) {
        run(kLoadSegments, 0, map.bits());
        for (std::int32_t i = job.pass.begin; i < job.pass.end; ++i)
          run(kSweepSegments, i, map.bits() - 1);
        device_.fill(flag_, 1, std::uint32_t{0});
        run(kEndSweep, 0, 0);
        device_.download(flag_, 1, &left);
        pace_.waited();
        pace_.poll_if_due();
      }
      run(kStoreSegments, 0, map.bits());
    }
  }

  void run_messages(const PassJob& job, std::size_t pass) {
    const MessageLayout& layout = plan_.messages;
    const auto first = std::find_if(plan_.passes.begin(), plan_.passes.end(),
                                    [](const Pass& p) { return p.kind == kMessagePass; });
    const MessageArena arena{message_ticks_, layout.arrays, &plan_.passes[pass] == &*first};
    with_noise<Delays::kByCost>(
        view_, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
          const auto launch = [&](const MessageLaunch& part, std::int64_t grid, std::int64_t work) {
            device_.launch(find_message_kernel<Noise, Network>(layout.links), grid, layout.threads,
                           layout.shared_bytes, job, noise, network, arena, part);
            pace_.launched(work);
            if (pace_.due()) pace_.wait_and_poll(device_);
          };
          layout.each_launch(program_.view(request_.seed), job.pass, arena.first, job.realizations,
                             pace_.limit(), launch);
        });
  }

  static constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 31) - 1;  // of a grid

  Device& device_;
  const Program& program_;
  const Request request_;
  const BatchPlan plan_;
  std::int64_t& done_;
  const Poll& poll_;
  Pace pace_;
  typename Device::Arena arena_;
  std::int32_t* load_rows_;
  Loads* load_views_;
  std::uint16_t* loads_;
  std::vector<congestion::LoadMaker> load_makers_;
  Tick* message_ticks_;
  LeanOp* lean_ops_;
  Tick* state_;
  Observation* observations_;
  Tick *maxima_, *arena_ticks_;
  std::uint8_t* arena_bytes_;
  SegmentState* segments_;
  std::uint32_t* flag_;  // segments are unfinished, or times are too long
  Cursor* cursors_;
  ProgramView view_;
  const PhiloxKeys keys_;
};

template <class Device>
void simulate_on(Device& device, const Program& program, const Request& request, BatchPlan plan,
                 Tick* out, const Poll& poll) {
  std::int64_t done = 0;
  const auto run = [&] {
    for (LeanOp& op : plan.lean_ops)
      if (request.full_statistics && op.kind == kLeanLatest) op.kind = kLeanObserve;
    run_in_batches(plan.batch, [&](std::int64_t batch) {
      if (batch < plan.batch) plan.choose_for(batch);
      Run<Device>(device, program, request, plan, done, poll).simulate(out);
    });
  };
  try {
    run();
  } catch (const TimesTooLong&) {  // the rest with 64 bits
    BatchPlan wide(program, plan_tiles(program, plan.tiles.shared_bytes, kLean64));
    wide.launches = plan.launches;
    wide.fit(plan.batch, plan.room);
    plan = std::move(wide);
    run();
  }
}

}  // namespace jf::gpu
