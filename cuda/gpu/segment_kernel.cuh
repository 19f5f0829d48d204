// One pass over segments (segment.h): a block sweeps one segment to its fixed point, in global
// memory. Rare enough to stay plain.
#pragma once

#include "../segment.h"
#include "block.cuh"
#include "pass_job.h"

namespace jf::gpu {

constexpr int kSegmentBlock = 256;

// Working memory of each block of a launch.
struct SegmentArena {
  Tick* ticks;
  std::uint8_t* reached;
  std::int64_t copies;  // guesses of a rank

  JF_HD SegmentScratch of(std::int64_t block, std::int64_t size) const {
    Tick* mine = ticks + block * size * (2 + copies);
    return {mine, mine + size, mine + 2 * size, reached + block * size};
  }
};

// Adding to an observation in any order gives the same bits: max, min and + of integers.
JF_DEVICE void merge_atomically(Observation& into, Tick t, bool full) {
  atomicMax(reinterpret_cast<long long*>(&into.max), static_cast<long long>(t));
  if (!full) return;
  atomicMin(reinterpret_cast<long long*>(&into.min), static_cast<long long>(t));
  atomicAdd(reinterpret_cast<unsigned long long*>(&into.hi),
            static_cast<unsigned long long>(t >> 32));
  atomicAdd(reinterpret_cast<unsigned long long*>(&into.lo),
            static_cast<unsigned long long>(t & 0xffffffff));
}

template <class Noise, class Network>
__global__ void __launch_bounds__(kSegmentBlock)
    segment_kernel(const PassJob job, const Noise noise, const Network network,
                   const SegmentArena arena) {
  const std::int64_t tiles = job.pass.map.tiles();
  for (std::int64_t index = blockIdx.x; index < job.tiles(); index += gridDim.x) {
    const std::int64_t realization = index / tiles, tile = index % tiles;
    const std::uint32_t number = job.first_realization + static_cast<std::uint32_t>(realization);
    const Noise bound = bind(noise, number, job.cursors_of(realization));
    const Segment<Noise, Network> segment{job.program,
                                          job.pass,
                                          bound,
                                          network,
                                          number,
                                          job.pass.map.base(tile),
                                          arena.of(blockIdx.x, job.pass.map.size())};
    Tick* memory = job.memory + realization * job.rank_stride;
    for (std::int64_t x = threadIdx.x; x < segment.size() * arena.copies; x += blockDim.x)
      segment.s.copies[x] = kNever;

    bool settled = false, last = false;
    while (!last) {
      last = settled;  // one more sweep, observed, once nothing changes
      for (std::int64_t x = threadIdx.x; x < segment.size(); x += blockDim.x)
        segment.load(x, memory[segment.rank_of(x)]);
      __syncthreads();
      bool changed = false;
      for (int i = job.pass.begin; i < job.pass.end; ++i) {
        for (std::int64_t g = threadIdx.x; g < segment.groups(i); g += blockDim.x) {
          changed |= segment.sweep(i, g, [&](int row, std::int64_t rank, Tick t) {
            if (!last || row < 0 || (job.program.one_rank && rank != 0)) return;
            merge_atomically(job.partial(realization, row, tile), t, job.full_statistics != 0);
          });
        }
        __syncthreads();
      }
      settled = __syncthreads_or(changed) == 0;
    }
    for (std::int64_t x = threadIdx.x; x < segment.size(); x += blockDim.x)
      memory[segment.rank_of(x)] = segment.store(x);
    // No barrier: what a thread reads here, no other thread writes when the arena is used again.
  }
}

}  // namespace jf::gpu
