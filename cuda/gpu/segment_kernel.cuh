// CUDA kernel of segments: redundant copies that overtake, by fixed-point sweeps in global memory.
// A pass over segments (core/segment.h) in global memory: many threads sweep many segments, or one
// large one, to their fixed points. A launch does one thing for all segments in work, for instance
// a sweep of one step: launches are short, and their ends are the barriers.
#pragma once

#include "core/segment.h"
#include "gpu/block.cuh"
#include "gpu/kernels.h"

namespace jf::gpu {

template <class Noise, class Network>
struct SegmentThread {
  const PassJob& job;
  const Noise& noise;
  const Network& network;
  const SegmentArena& arena;
  const SegmentLaunch& launch;
  std::int64_t index, realization, base;  // index of the segment in the arena; its first rank

  JF_DEVICE Segment<Noise, Network> segment() const {
    return {job.program,
            job.pass,
            noise,
            network,
            job.first_realization + static_cast<std::uint32_t>(realization),
            base,
            arena.scratch(index, job.pass.map.size())};
  }
  JF_DEVICE Tick& memory(std::int64_t rank) const {
    return job.sent_between[realization * job.rank_stride + rank];
  }

  // Before the first sweep: the guess is that no copy arrives.
  JF_DEVICE void begin(std::int64_t x) const {
    const auto s = segment();
    for (std::int64_t k = 0; k < arena.copies; ++k) s.s.copies[k * s.size() + x] = kNever;
    if (x == 0) arena.state[index] = {kSweptSegment, 0};
  }
  JF_DEVICE void load(std::int64_t x) const {
    const auto s = segment();
    s.load(x, memory(s.rank_of(x)));
  }
  JF_DEVICE void store(std::int64_t x) const {
    const auto s = segment();
    memory(s.rank_of(x)) = s.store(x);
  }
  // A sweep of one step, over one pair of partners.
  JF_DEVICE void sweep(std::int64_t pair) const {
    const bool observed = arena.state[index].kind == kObservedSegment;
    const bool changed =
        segment().sweep(launch.step, pair, [&](int row, std::int64_t rank, Tick t) {
          if (!observed || row < 0 || (job.program.one_rank && rank != 0)) return;
          merge_atomically(job.observation(realization, row), {t, t, t >> 32, t & 0xffffffff},
                           job.full_statistics != 0);
        });
    if (changed) atomicExch(&arena.state[index].changed, 1u);
  }
  // After a sweep of all steps. Once no guess changes, one more sweep follows, which is observed.
  JF_DEVICE void end_sweep() const {
    SegmentState& state = arena.state[index];
    if (state.kind == kObservedSegment)
      state.kind = kDoneSegment;
    else if (state.changed == 0)
      state.kind = kObservedSegment;
    state.changed = 0;
    if (state.kind != kDoneSegment) atomicAdd(arena.unfinished, 1u);
  }
};

template <class Noise, class Network>
__global__ void __launch_bounds__(kSegmentBlock)
    segment_kernel(const __grid_constant__ PassJob job, const __grid_constant__ Noise noise,
                   const __grid_constant__ Network network,
                   const __grid_constant__ SegmentArena arena,
                   const __grid_constant__ SegmentLaunch launch) {
  const std::int64_t item = launch.begin + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (item >= launch.end) return;
  const std::int64_t index = item >> launch.bits, x = item & ((std::int64_t{1} << launch.bits) - 1);
  const std::int64_t number = launch.first + index, tiles = job.pass.map.tiles();
  const std::int64_t realization = number / tiles;
  const Noise bound = noise.bind(job.first_realization + static_cast<std::uint32_t>(realization),
                                 job.cursors_of(realization), job.program.seed);
  const SegmentThread<Noise, Network> thread{
      job, bound, network, arena, launch, index, realization, job.pass.map.base(number % tiles)};
  if (launch.work == kBeginSegments) return thread.begin(x);
  if (launch.work == kStoreSegments) return thread.store(x);
  if (arena.state[index].kind == kDoneSegment) return;
  if (launch.work == kLoadSegments) return thread.load(x);
  if (launch.work == kSweepSegments) return thread.sweep(x);
  thread.end_sweep();
}

template <class Noise, class Network>
SegmentKernel<Noise, Network> find_segment_kernel() {
  return &segment_kernel<Noise, Network>;
}

}  // namespace jf::gpu
