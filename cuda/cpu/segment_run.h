// One segment (segment.h) to its fixed point, on one thread, rank by rank. That is how segments are
// done that have no panels (panels.h), or whose panels gave up; the others have to agree with it,
// to the tick.
#pragma once

#include <algorithm>
#include <atomic>

#include "../segment.h"
#include "tile_job.h"

namespace jf::cpu {

// Sweeps all levels once. Returns whether a guess changed; gives up soon after `stop` is set.
template <class Noise, class Network, class See>
bool sweep_all(const Segment<Noise, Network>& segment, const Tick* memory,
               const std::atomic<bool>& stop, See&& see) {
  // Groups between looks at `stop`: about a millisecond.
  constexpr std::int64_t kPatience = 1 << 14;
  bool changed = false;
  for (std::int64_t x = 0; x < segment.size(); ++x) segment.load(x, memory[segment.rank_of(x)]);
  for (int i = segment.pass.begin; i < segment.pass.end; ++i) {
    for (std::int64_t g = 0, n = segment.groups(i); g < n; ++g) {
      changed |= segment.sweep(i, g, see);
      if (g % kPatience == 0 && stop.load(std::memory_order_relaxed)) return false;
    }
  }
  return changed;
}

inline void run_segment(const TileJob& job, const SegmentScratch& scratch,
                        const std::atomic<bool>& stop) {
  with_noise(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        const ProgramView& p = *job.program;
        const Noise bound = bind(noise, job.realization, job.cursors);
        const Segment<Noise, Network> segment{
            p, *job.pass, bound, network, job.realization, job.pass->map.base(job.tile), scratch};
        const std::int64_t size = segment.size();
        bool observed = false;
        for (int i = job.pass->begin; i < job.pass->end; ++i) observed |= p.steps[i].row >= 0;
        std::fill(scratch.copies, scratch.copies + segment.guesses(), kNever);
        while (sweep_all(segment, job.memory, stop, [](int, std::int64_t, Tick) {})) {
        }
        if (observed) {
          sweep_all(segment, job.memory, stop, [&](int row, std::int64_t rank, Tick t) {
            if (row < 0) return;
            if (!p.one_rank || rank == 0) job.observations[row].see(t);
            if (job.capture != nullptr) job.capture[row * p.ranks + rank] = t;
          });
        }
        for (std::int64_t x = 0; x < size; ++x) job.memory[segment.rank_of(x)] = segment.store(x);
      });
}

}  // namespace jf::cpu
