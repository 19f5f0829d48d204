// The copies of a segment that ranks may take ahead of lower levels (panels.h), as a list for each
// pair of neighbours: rarely has any pair one.
#pragma once

// First, for the reason given in register_noise.h.
// clang-format off
#include "simd.h"
#include "simd_random.h"
// clang-format on
#include "segment_job.h"

namespace jf {
namespace {

class EarlyCopies {
 public:
  bool full = false;  // one did not fit, and was left out

  // In memory for `room` copies, and for the first one of each of so many pairs.
  EarlyCopies(EarlyCopy* copies, std::int64_t room, std::int32_t* first, std::int64_t pairs)
      : copies_(copies), room_(room), first_(first) {
    for (std::int64_t i = 0; i < pairs; ++i) first_[i] = 0;
  }

  // Those to the ranks of a register that are of some step or a later one.
  struct OfRegister {
    std::uint32_t steps;  // bit k: some are of the k-th step from there on
    Tick soonest;         // when the first of them arrives
  };
  JF_HD OfRegister among_register(int begin, std::int64_t x) const {
    constexpr int kPairs = kLanes / 2;
    std::int32_t all[kPairs], found = 0;
    __builtin_memcpy(all, first_ + x / 2, sizeof all);
    for (int k = 0; k < kPairs; ++k) found |= all[k];
    if (__builtin_expect(found == 0, 1)) return {0, kNever};
    return of_pairs(begin, all);
  }

  // Whether there is one, or was, for a rank of the pair at x.
  bool at_pair(std::int64_t x) const { return first_[x / 2] != 0; }

  struct Found {
    Tick arrival;
    int step;
  };

  // Of those to rank x from mirrors k with from(k), of step i or a later one, the one that arrives
  // first. Of copies that arrive together it is the one of the lower level.
  template <class From>
  Found earliest_since(int i, std::int64_t x, From&& from) const {
    Found best{kNever, i};
    for (std::int32_t at = first_[x / 2]; at != 0; at = copies_[at - 1].after) {
      const EarlyCopy& c = copies_[at - 1];
      const int step = step_of(c);
      if (c.place % 2 != x % 2 || step < i || c.arrival == kNever) continue;
      if (!from(c.place / 2 % kMostMirrors)) continue;
      if (c.arrival < best.arrival || (c.arrival == best.arrival && step < best.step))
        best = {c.arrival, step};
    }
    return best;
  }

  // Sets when the copy of step i from mirror number k arrives at rank x; kNever: it can not be of
  // use. Returns what was set before.
  Tick set(int i, int k, std::int64_t x, Tick arrival) {
    const auto place = static_cast<std::int32_t>(2 * (kMostMirrors * i + k) + x % 2);
    for (std::int32_t at = first_[x / 2]; at != 0; at = copies_[at - 1].after) {
      EarlyCopy& c = copies_[at - 1];
      if (c.place != place) continue;
      const Tick old = c.arrival;
      c.arrival = arrival;
      return old;
    }
    if (arrival == kNever) return kNever;
    if (used_ == room_) {
      full = true;
      return arrival;
    }
    copies_[used_++] = {arrival, first_[x / 2], place};
    first_[x / 2] = static_cast<std::int32_t>(used_);
    return kNever;
  }

 private:
  static int step_of(const EarlyCopy& c) { return c.place / (2 * kMostMirrors); }

  __attribute__((noinline)) OfRegister of_pairs(int begin,
                                                const std::int32_t (&first)[kLanes / 2]) const {
    OfRegister found{0, kNever};
    for (std::int32_t at : first) {
      for (; at != 0; at = copies_[at - 1].after) {
        const EarlyCopy& c = copies_[at - 1];
        if (c.arrival == kNever || step_of(c) < begin) continue;
        found.steps |= std::uint32_t{1} << (step_of(c) - begin);
        found.soonest = earlier(found.soonest, c.arrival);
      }
    }
    return found;
  }

  EarlyCopy* copies_;
  std::int64_t room_, used_ = 0;
  std::int32_t* first_;
};

}  // namespace
}  // namespace jf
