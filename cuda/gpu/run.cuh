// The passes of all batches. Device is the GPU as engine.cu sees it or, in the tests, a CPU that
// emulates one: it allocates, launches kernels one after another, and merges and copies results.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "../engine.h"
#include "batch.h"
#include "lean_kernel.cuh"
#include "message_kernel.cuh"
#include "segment_kernel.cuh"
#include "tile_kernel.cuh"

namespace jf::gpu {

template <class Device>
class Run {
 public:
  Run(Device& device, const Program& program, const Request& request, const BatchPlan& plan)
      : device_(device),
        program_(program),
        request_(request),
        plan_(plan),
        steps_(device.upload(program.steps)),
        intervals_(device.upload(program.intervals)),
        delays_(device.upload(program.delays)),
        messages_(device.upload(program.messages)),
        words_(device.upload(program.words)),
        message_costs_(device.upload(program.message_costs)),
        step_messages_(device.upload(program.step_messages)),
        messages_ticks_(device.template allocate<Tick>(plan.messages.ticks * plan.batch)),
        loads_(device.template allocate<std::uint16_t>(plan.loads * plan.batch)),
        load_rows_(device.upload(rows_of_loads(program))),
        load_views_(device.template allocate<Loads>(
            program.loads != nullptr ? 1 + static_cast<std::int64_t>(program.message_costs.size())
                                     : 0)),
        lean_ops_(device.upload(plan_.lean_ops)),
        memory_(device.template allocate<Tick>(plan.memory * plan.batch)),
        partials_(device.template allocate<Observation>(plan.rows * plan.partials * plan.batch)),
        totals_(device.template allocate<Observation>(plan.totals(plan.batch))),
        maxima_(device.template allocate<Tick>(plan.rows * plan.batch)),
        arena_ticks_(device.template allocate<Tick>(plan.arena_ticks(plan.batch))),
        arena_bytes_(device.template allocate<std::uint8_t>(plan.arena_bytes(plan.batch))),
        cursors_(device.template allocate<Cursor>(plan.all_cursors(plan.batch))),
        view_(program.view(request.seed)),
        keys_(request.seed) {
    view_.steps = steps_.data();
    view_.message_costs = message_costs_.data();
    view_.step_messages = step_messages_.data();
    if (program.loads != nullptr) view_.messages.loads = load_views_.data();
    view_.point_to(intervals_.data(), delays_.data(), messages_.data(), words_.data());
    // Of no realization yet: of the one after the last.
    const auto nobody = static_cast<std::uint32_t>(request.first + request.count);
    device.fill(cursors_.data(), plan.all_cursors(plan.batch), Cursor{0, 0, 0, 0, nobody});
  }

  void simulate(Tick* out, const Poll& poll) {
    // Batches grow while they are quick: a slow GPU, too, has to be prompt when it is stopped.
    using Clock = std::chrono::steady_clock;
    std::int64_t size = std::clamp<std::int64_t>(kFirstBatch / plan_.work(), 1, plan_.batch);
    if (program_.loads != nullptr)
      size = std::clamp<std::int64_t>(kFirstLoads / program_.loads->work(), 1, size);
    for (std::int64_t done = 0; done < request_.count;) {
      const std::int64_t now = std::min(size, request_.count - done);
      const auto start = Clock::now();
      run_batch(done, now, out + done * plan_.rows * words_per_row(request_), poll);
      const std::chrono::duration<double> took = Clock::now() - start;
      if (took.count() < 0.1) size = std::min(2 * size, plan_.batch);
      if (took.count() > 0.3) size = std::max<std::int64_t>(size / 2, 1);
      done += now;
      if (poll && !poll(done)) throw Cancelled();
    }
  }

 private:
  template <class T>
  using Array = typename Device::template Array<T>;

  void run_batch(std::int64_t done, std::int64_t count, Tick* out, const Poll& poll) {
    const bool long_passes = count == 1 && plan_.work() > kFirstBatch;
    const std::int64_t rows = plan_.rows * count;
    make_loads(done, count, poll);
    device_.fill(partials_.data(), rows * plan_.partials, Observation::nothing());
    for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
      const PassJob job{view_,
                        plan_.passes[i],
                        static_cast<std::uint32_t>(request_.first + done),
                        request_.full_statistics,
                        count,
                        plan_.ranks,
                        memory_.data(),
                        plan_.second > 0 ? arena_ticks_.data() : nullptr,
                        cursors_.data(),
                        plan_.cursor_stride(),
                        plan_.cursors_per_rank(),
                        partials_.data(),
                        plan_.partials,
                        plan_.tiles.lean,
                        lean_ops_.data() + plan_.lean_begins[i],
                        static_cast<int>(plan_.lean_begins[i + 1] - plan_.lean_begins[i]),
                        plan_.lean_windows[i],
                        keys_};
      if (job.pass.kind == kTilePass)
        run_tiles(job);
      else if (job.pass.kind == kSegmentPass)
        run_segments(job, i);
      else
        run_messages(job, i, done, poll);
      if (long_passes) {
        device_.wait();
        if (poll && !poll(done)) throw Cancelled();
      }
    }
    const Observation* merged = partials_.data();
    if (plan_.partials > 1) {
      device_.merge(partials_.data(), rows, plan_.partials, totals_.data());
      merged = totals_.data();
    }
    static_assert(sizeof(Observation) == 4 * sizeof(Tick));
    if (request_.full_statistics) {
      device_.download(reinterpret_cast<const Tick*>(merged), 4 * rows, out);
    } else {
      device_.maxima(merged, rows, maxima_.data());
      device_.download(maxima_.data(), rows, out);
    }
  }

  static std::vector<std::int32_t> rows_of_loads(const Program& program) {
    return program.loads != nullptr ? program.loads->rows() : std::vector<std::int32_t>{};
  }

  // Congestion of a batch: the host's threads make the tables, a realization at a time.
  void make_loads(std::int64_t done, std::int64_t count, const Poll& poll) {
    if (program_.loads == nullptr) return;
    const auto first = static_cast<std::uint32_t>(request_.first + done);
    const auto most = static_cast<std::size_t>(
        std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, count));
    while (makers_.size() < most)
      makers_.push_back(congestion::make_loads(*program_.loads, request_.seed));
    std::vector<std::uint16_t> tables(static_cast<std::size_t>(plan_.loads * count));
    std::atomic<std::int64_t> claimed{0};
    std::atomic<bool> stop{false};
    const auto work = [&](congestion::LoadMaker& maker) {
      for (std::int64_t i; !stop && (i = claimed++) < count;)
        maker.make(first + static_cast<std::uint32_t>(i), tables.data() + i * plan_.loads, stop);
    };
    std::vector<std::future<void>> working;
    try {
      for (std::size_t t = 0; t < most; ++t)
        working.push_back(std::async(std::launch::async, [&, t] { work(*makers_[t]); }));
      for (const std::future<void>& one : working)
        while (one.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
          if (!stop && poll && !poll(done)) stop = true;
      for (std::future<void>& one : working) one.get();
    } catch (...) {
      stop = true;  // those that still work are waited for
      throw;
    }
    if (stop) throw Cancelled();
    const std::vector<Loads> views =
        program_.loads->views(loads_.data(), load_rows_.data(), plan_.loads, first);
    device_.copy(views.data(), static_cast<std::int64_t>(views.size()), load_views_.data());
    device_.copy(tables.data(), static_cast<std::int64_t>(tables.size()), loads_.data());
  }

  void run_tiles(const PassJob& job) {
    const TileKernel which = plan_.tiles.kernel;
    const TileShape shape = tile_shape(which, job.pass.map.bits(), view_.general != 0);
    const std::int64_t grid = (job.tiles() + shape.tiles_per_block - 1) / shape.tiles_per_block;
    with_noise(view_, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
      if constexpr (!is_general<Noise> && !Network::on) {
        if (which != kStepKernel) {
          const auto kernel =
              which == kLean32 ? &lean_kernel<std::uint32_t, Noise> : &lean_kernel<Tick, Noise>;
          device_.launch(kernel, grid, shape.block, shape.shared_bytes, job, noise);
          return;
        }
      }
      constexpr int kSeveral = kPerThread<is_general<Noise>>;
      const auto kernel = shape.ranks_per_thread == 1 ? &tile_kernel<1, true, Noise, Network>
                          : view_.has_copies ? &tile_kernel<kSeveral, true, Noise, Network>
                                             : &tile_kernel<kSeveral, false, Noise, Network>;
      device_.launch(kernel, grid, shape.block, shape.shared_bytes, job, noise, network,
                     shape.thread_bits);
    });
  }

  void run_segments(const PassJob& job, std::size_t pass) {
    const std::int64_t grid = std::min(job.tiles(), plan_.segments(pass, plan_.batch));
    const SegmentArena arena{arena_ticks_.data(), arena_bytes_.data(), plan_.copies(pass)};
    with_noise(view_, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
      device_.launch(&segment_kernel<Noise, Network>, grid, kSegmentBlock, 0, job, noise, network,
                     arena);
    });
  }

  void run_messages(const PassJob& job, std::size_t pass, std::int64_t done, const Poll& poll) {
    const MessageLayout& layout = plan_.messages;
    const auto first = std::find_if(plan_.passes.begin(), plan_.passes.end(),
                                    [](const Pass& p) { return p.kind == kMessagePass; });
    const MessageArena arena{messages_ticks_.data(), layout.arrays, &plan_.passes[pass] == &*first};
    std::int64_t queued = 0;
    with_message_noise(view_, [&]<class Noise, class Network>(const Noise& noise,
                                                              const Network& network) {
      const auto kernel = layout.links ? &message_kernel<Noise, Network, true>
                                       : &message_kernel<Noise, Network, false>;
      layout.each_launch(program_.view(request_.seed), job.pass, arena.first, job.realizations,
                         [&](const MessageLaunch& launch, std::int64_t grid, std::int64_t work) {
                           device_.launch(kernel, grid, layout.threads, layout.shared_bytes, job,
                                          noise, network, arena, launch);
                           queued += work;
                           if (queued < kMessageQueue) return;
                           queued = 0;
                           device_.wait();
                           if (poll && !poll(done)) throw Cancelled();
                         });
    });
  }

  Device& device_;
  const Program& program_;
  const Request request_;
  const BatchPlan plan_;
  Array<Step> steps_;
  Array<IntervalSource> intervals_;
  Array<StepDelay> delays_;
  Array<MessageDelay> messages_;
  Array<std::uint64_t> words_;
  Array<MessageCost> message_costs_;
  Array<MessageDelay> step_messages_;
  Array<Tick> messages_ticks_;
  Array<std::uint16_t> loads_;
  Array<std::int32_t> load_rows_;
  Array<Loads> load_views_;
  std::vector<std::unique_ptr<congestion::LoadMaker>> makers_;
  Array<LeanOp> lean_ops_;
  Array<Tick> memory_;
  Array<Observation> partials_, totals_;
  Array<Tick> maxima_, arena_ticks_;
  Array<std::uint8_t> arena_bytes_;
  Array<Cursor> cursors_;
  ProgramView view_;
  const PhiloxKeys keys_;
};

}  // namespace jf::gpu
