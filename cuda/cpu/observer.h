// Observations of the ranks of a tile, a register at a time.
#pragma once

#include "simd.h"
#include "tile_job.h"

namespace jf {
namespace {

// Of one row: what has been seen, lane by lane.
struct Seen {
  Lanes max, min, hi, lo;
};
constexpr Seen kNothing = {Lanes{} + INT64_MIN, Lanes{} + INT64_MAX, Lanes{}, Lanes{}};

class Observer {
 public:
  explicit Observer(const TileJob& job)
      : job_(job),
        map_(job.pass->map),
        base_(map_.base(job.tile)),
        ranks_(map_.size()),
        one_rank_(job.program->one_rank != 0),
        only_max_(!job.full_statistics && job.capture == nullptr && !one_rank_) {}

  bool observes(const Step& step) const { return step.row >= 0 && !(one_rank_ && base_ != 0); }

  JF_HD void see(int row, std::int64_t x, Lanes t, Seen& seen) const {
    if (one_rank_ && x != 0) return;
    seen.max = later(seen.max, t);
    if (job_.full_statistics) {
      seen.min = earlier(seen.min, t);
      seen.hi += t >> 32;
      seen.lo += t & 0xffffffff;
    }
    if (job_.capture != nullptr) {
      Tick* ticks = job_.capture + row * job_.program->ranks;
      for (int k = 0; k < kLanes && k < ranks_; ++k) ticks[base_ + map_.offset(x) + k] = t[k];
    }
  }

  // The same of registers that are `apart`.
  template <int kCount>
  JF_HD void see(int row, std::int64_t x, std::int64_t apart, const Lanes (&ready)[kCount],
                 Seen& seen) const {
    if (__builtin_expect(only_max_, 1)) {
      Lanes most = ready[0];
      for (int k = 1; k < kCount; ++k) most = later(most, ready[k]);
      seen.max = later(seen.max, most);
    } else {
      Lanes copy[kCount];  // only a copy leaves the registers
      for (int k = 0; k < kCount; ++k) copy[k] = ready[k];
      see_each(row, x, apart, kCount, copy, seen);
    }
  }

  // Adds what was seen of a row to the observations.
  void note(int row, const Seen& seen) const { job_.observations[row].merge(reduce(seen)); }

 private:
  __attribute__((noinline)) void see_each(int row, std::int64_t x, std::int64_t apart, int count,
                                          const Lanes* ready, Seen& seen) const {
    for (int k = 0; k < count; ++k) see(row, x + k * apart, ready[k], seen);
  }

  Observation reduce(const Seen& seen) const {
    // With fewer ranks_ than lanes the other lanes repeat them.
    Observation o = Observation::nothing();
    for (int k = 0; k < kLanes && k < (one_rank_ ? 1 : ranks_); ++k)
      o.merge({seen.max[k], seen.min[k], seen.hi[k], seen.lo[k]});
    return o;
  }

  const TileJob& job_;
  const TileMap map_;
  const std::int64_t base_, ranks_;
  const bool one_rank_, only_max_;
};

}  // namespace
}  // namespace jf
