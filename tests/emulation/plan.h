// Prints how the GPU engine would run a butterfly: its passes, blocks and memory, without a device.
//
//     kernels plan LOG2_RANKS PERIOD [ROOM]
//
// PERIOD of its noise in ticks; 0: none, and times of more than 32 bits. ROOM in bytes.
#pragma once

#include <iostream>

#include "gpu/batch_memory.h"

namespace jf_plan {

inline jf::Program butterfly(int log2_ranks, jf::Tick period) {
  jf::Program p;
  p.log2_ranks = log2_ranks;
  p.rows = 1;
  p.costs.transit = period > 0 ? 1'000'000 : jf::Tick{1} << 40;
  p.costs.combine = 800;
  p.steps.push_back({jf::kEnter, 0, 0, 0, -1});
  for (int round = 0; round < log2_ranks; ++round) {
    const bool last = round == log2_ranks - 1;
    p.steps.push_back({jf::kExchange, round, last ? jf::kFinal : 0, round, last ? 0 : -1});
  }
  p.finish();
  if (period > 0) p.add_periodic(period, 10'000'000, false, {}, {});
  return p;
}

inline void print(const std::vector<std::string>& words) {
  const jf::Program program = butterfly(std::stoi(words.at(0)), std::stoll(words.at(1)));
  const std::int64_t room = words.size() > 2 ? std::stoll(words[2]) : std::int64_t{1} << 37;
  jf::gpu::BatchPlan plan(program, jf::gpu::plan_tiles(program, 227 * 1024));
  plan.fit(1, room);
  std::int64_t blocks = 0, neighbours = program.ranks();
  for (const jf::Pass& pass : plan.passes) {
    const auto shape = jf::gpu::tile_shape(plan.tiles.kernel, pass.map.bits(), false);
    blocks = std::max(blocks, pass.map.tiles() / shape.tiles_per_block);
    neighbours = std::min(neighbours, std::int64_t{1} << pass.map.low_bits);
  }
  std::cout << "kernel " << plan.tiles.kernel << "\npasses " << plan.passes.size() << "\nblocks "
            << std::max<std::int64_t>(blocks, 1) << "\nneighbours " << neighbours << "\nbytes "
            << plan.bytes(1) << "\nbatch " << plan.batch << "\n";
}

}  // namespace jf_plan
