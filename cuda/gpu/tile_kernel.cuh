// General GPU (CUDA) kernel of butterfly tiles, under any noise: arrival of messages, steps. A
// block holds a tile (core/passes.h), or several small ones, in registers and runs the steps, with
// the arithmetic of core/steps.h. Without kBusy the kernel has no steps with copies, and forwards
// take no CPU time (Program::has_busy): own path and adopted path of 8 ranks would take registers
// from everything else.
#pragma once

#include "core/segment.h"
#include "core/steps.h"
#include "gpu/block.cuh"
#include "gpu/kernels.h"

namespace jf::gpu {

template <int kPerThread, bool kBusy, class Noise, class Network>
struct TileThread {
  const PassJob& job;
  const Noise noise;
  const Network& network;
  BlockTile<kPerThread> block;
  std::int64_t realization, base;
  bool active;  // else beyond the last tile: the thread executes the steps, but writes nothing
  Clock<Tick> c[kPerThread];

  JF_DEVICE std::int64_t rank(int e) const { return base + job.pass.map.offset(block.local(e)); }
  // The number of the realization; `realization` is its index in the batch.
  JF_DEVICE std::uint32_t number() const {
    return job.first_realization + static_cast<std::uint32_t>(realization);
  }

  JF_DEVICE void load() {
    const bool load = job.pass.load && active;
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      c[e] =
          clock_before(job.program, job.pass, noise, number(), rank(e), load,
                       realization * job.rank_stride + rank(e), job.sent_between, job.busy_between);
  }

  JF_DEVICE void store() const {
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      store_clock(c[e], job.pass, realization * job.rank_stride + rank(e), job.sent_between,
                  job.busy_between);
  }

  JF_DEVICE Tick arrival(Purpose purpose, const Step& step, int e, Tick departure) const {
    return departure + job.program.costs.transit +
           network.delay(job.program.seed, purpose, static_cast<std::uint32_t>(step.draw),
                         Tick{rank(e)}, number(), departure);
  }

  JF_DEVICE void exchange_step(const Step& step, Tick (&ready)[kPerThread]) {
    const Costs& costs = job.program.costs;
    Tick sent[kPerThread], from[kPerThread];
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) sent[e] = c[e].sent;
    block.partner(sent, job.pass.map.local_bit(step.round), from);
    // Under network noise copies can overtake each other: they are in segments (core/segment.h).
    if constexpr (kBusy && !Network::on)
      if ((step.flags & kCopy) != 0) return copy_step(step, from, ready);
    if constexpr (kBusy)
      if ((step.flags & kAsk) != 0) return ask_step(step, from, ready);
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      ready[e] = exchange(noise, costs, step, arrival(kOriginalJitter, step, e, from[e]), c[e]);
  }

  JF_DEVICE void copy_step(const Step& step, Tick (&from)[kPerThread], Tick (&ready)[kPerThread]) {
    const Costs& costs = job.program.costs;
    OwnPath<Tick> own[kPerThread];
    Tick copy_sent[kPerThread], copy[kPerThread];
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) {
      from[e] = arrival(kOriginalJitter, step, e, from[e]);
      own[e] = own_path(noise, costs, step, from[e], c[e]);
      copy_sent[e] = own[e].after.busy;
    }
    block.partner(copy_sent, 0, copy);
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      ready[e] = settle(noise, costs, step, from[e], copy[e] + costs.transit, own[e], c[e]);
  }

  JF_DEVICE void ask_step(const Step& step, Tick (&from)[kPerThread], Tick (&ready)[kPerThread]) {
    const Costs& costs = job.program.costs;
    AskedPath<Tick> own[kPerThread];
    Tick ready_time[kPerThread], mirror_ready[kPerThread];
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) {
      from[e] = arrival(kOriginalJitter, step, e, from[e]);
      own[e] = asked_path(noise, costs, step, from[e], c[e]);
      ready_time[e] = own[e].ready;
    }
    block.partner(ready_time, 0, mirror_ready);
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) {
      const Tick departure = answer_departure(costs, own[e].asked, mirror_ready[e]);
      ready[e] = settle_asked(noise, costs, step, from[e], arrival(kCopyJitter, step, e, departure),
                              own[e], c[e]);
    }
  }

  JF_DEVICE void forward_step(const Step& step, Tick (&ready)[kPerThread]) {
    Tick departure[kPerThread], from[kPerThread];
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      departure[e] = kBusy ? send_forward(noise, job.program.costs, c[e]) : c[e].sent;
    block.partner(departure, job.pass.map.local_bit(step.round), from);
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      ready[e] = receive_forward(departure[e], arrival(kForwardJitter, step, e, from[e]), c[e]);
  }

  JF_DEVICE void run_step(const Step& step, Tick (&ready)[kPerThread]) {
    const Costs& costs = job.program.costs;
    switch (step.kind) {
      case kExchange:
        return exchange_step(step, ready);
      case kForward:
        return forward_step(step, ready);
      default:
#pragma unroll
        for (int e = 0; e < kPerThread; ++e) {
          if (step.kind == kCompute) compute(noise, costs.work, step, c[e]);
          ready[e] = c[e].sent;
          if (step.kind == kEnter) ready[e] = enter(noise, costs, step, c[e]);
        }
    }
  }

  JF_DEVICE void observe(int row, const Tick (&ready)[kPerThread]) const {
    Observation o = Observation::empty();
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      if (!job.program.one_rank || c[e].id == 0) o.add(ready[e]);
    o = block.reduce(o, job.full_statistics != 0);
    if (active && block.thread() == 0)
      merge_atomically(job.observation(realization, row), o, job.full_statistics != 0);
  }
};

// With general noise the launch bounds require so many blocks per multiprocessor that each thread
// has 128 registers: without a number the compiler limits itself to 64, and spills.
template <int kPerThread, bool kBusy, class Noise, class Network>
__global__ void __launch_bounds__(kPerThread == 1 ? kSmallBlock : kWideBlock,
                                  is_general<Noise> ? (kPerThread == 1 ? 2 : 1) : 0)
    tile_kernel(const __grid_constant__ PassJob job, const __grid_constant__ Noise noise,
                const __grid_constant__ Network network, int thread_bits) {
  JF_SHARED(Tick, shared);
  const std::int64_t tiles_here = blockDim.x >> thread_bits;
  const std::int64_t slot = job.first_tile + blockIdx.x * tiles_here + (threadIdx.x >> thread_bits);
  const std::int64_t last = job.end_tile - 1, index = slot < last ? slot : last;
  const std::int64_t realization = index / job.pass.map.tiles();
  const std::int64_t tile = index % job.pass.map.tiles();
  const std::uint32_t number = job.first_realization + static_cast<std::uint32_t>(realization);
  // Threads beyond the last tile repeat that tile, but must not share cursors with its threads.
  const std::int64_t place = slot <= last ? realization : job.realizations + (slot - last - 1);
  TileThread<kPerThread, kBusy, Noise, Network> thread{
      job,          noise.bind(number, job.cursors_of(place), job.program.seed),
      network,      {thread_bits, shared},
      realization,  job.pass.map.base(tile),
      slot <= last, {}};
  thread.load();
  for (int i = job.pass.begin; i < job.pass.end; ++i) {
    const Step step = job.program.steps[i];
    Tick ready[kPerThread];
    thread.run_step(step, ready);
    if (step.row >= 0) thread.observe(step.row, ready);
  }
  if (job.pass.store && thread.active) thread.store();
}

template <class Noise, class Network>
TileKernelFunction<Noise, Network> find_tile_kernel(int ranks_per_thread, bool busy) {
  if (ranks_per_thread == 1) return &tile_kernel<1, true, Noise, Network>;
  return busy ? &tile_kernel<kPerThread<true>, true, Noise, Network>
              : &tile_kernel<kPerThread<is_general<Noise>>, false, Noise, Network>;
}

}  // namespace jf::gpu
