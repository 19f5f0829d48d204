// CUDA kernel of application schedules: a thread executes the whole plan for one realization.
// What it executes is in executor.h. All threads of a warp execute the same action, and
// realizations lie side by side in memory, so that they read and write neighbouring words.
#pragma once

#include "gpu/block.cuh"
#include "schedule/executor.h"

namespace jf::schedule::gpu {

constexpr int kThreads = 128;  // of a block

// The times of one realization: entry i is at first[i * stride].
struct Column {
  Tick* first;
  std::int64_t stride;  // realizations of this batch, which lie side by side
  JF_HD Tick& operator[](std::size_t i) const {
    return first[static_cast<std::int64_t>(i) * stride];
  }
};

// Some realizations, and the actions of this launch.
struct Job {
  ProgramView program;  // with pointers to device memory, as the plan
  PlanView plan;
  std::uint32_t first_realization;
  std::int64_t realizations;
  Tick *processors, *links, *slots;  // [as in ActionState][realization]
  Cursor* cursors;                   // [rank][realization][source]
  std::int64_t sources;              // that have cursors
  Tick* out;                         // [realization][time, rank, marks], see Executor::finish
  std::int64_t begin, end;           // of the actions
  std::int64_t first_word;           // where the words of the first begin

  JF_HD Cursor* cursors_of(std::int64_t realization) const {
    return cursors + realization * sources;
  }
};

template <class Noise, class Network>
__global__ void __launch_bounds__(kThreads)
    schedule_kernel(const __grid_constant__ Job job, const __grid_constant__ Noise noise,
                    const __grid_constant__ Network network) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= job.realizations) return;
  const std::uint32_t number = job.first_realization + static_cast<std::uint32_t>(index);
  Noise bound = noise.bind(number, job.cursors_of(index), job.program.seed);
  if constexpr (is_general<Noise>) {
    bound.cursors_per_rank = job.realizations * job.sources;
    if (job.begin == 0)  // they belong to no realization yet
      for (std::int64_t rank = 0; rank < job.plan.ranks; ++rank)
        for (std::int64_t i = 0; i < job.sources; ++i)
          bound.cursors_of(rank)[i] = {0, 0, 0, 0, ~number};
  }
  const auto column = [&](Tick* first) { return Column{first + index, job.realizations}; };
  // Links in and out are always looked at: where they can not matter, that changes nothing.
  const Executor<Tick, Noise, Network, true, std::uint32_t, Column> run(
      job.program, job.plan, bound, network, number, job.program.seed,
      {column(job.processors), column(job.links), column(job.slots)});
  if (job.begin == 0) run.begin();
  run.execute(job.plan.actions + job.begin, job.plan.actions + job.end,
              job.plan.words + job.first_word);
  if (job.end == job.plan.action_count)
    run.finish(1, job.out + index * (2 + std::int64_t{job.plan.marks}));
}

}  // namespace jf::schedule::gpu
