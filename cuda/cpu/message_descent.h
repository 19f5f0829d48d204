// How blocks of ranks that have been idle go down a binomial tree to its end: nobody asks for more
// than when the last rank is free.
//
// Noise only makes ranks later. So of a subtree that meets none, and of any as a bound, the time of
// its last rank follows from that of its first one. Few subtrees meet some: they are gathered.
#pragma once

#include <algorithm>

#include "message_noise.h"
#include "message_subtree.h"

namespace jf {
namespace {

template <class Noise, bool kLinks>
class BlockDescent {
  using Quiet = Subtree<Tick, kLinks>;
  using Noisy = Subtree<Lanes, kLinks>;

 public:
  // `costs`: of strides ..., 4, 2, 1, of a block. `list`: memory for as many ranks as there are
  // subtrees.
  BlockDescent(const Noise& noise, const MessageCost* costs, const MessageState& list)
      : noise_(noise),
        works_(noise.in_communication && any_works(costs, costs + kBlockSteps)),
        high_costs_(costs),
        low_costs_(costs + kSubtreeSteps),
        high_wait_(first_arrival(high_costs_)),
        low_wait_(first_arrival(low_costs_)),
        list_(list) {
    low_.descend_from(0);
    low_.descend(NoNoise{}, low_costs_);
    Quiet high{};
    high.descend_from(0);
    high.descend(NoNoise{}, high_costs_);
    Tick last = 0;
    for (int k = 0; k < kSubtree; ++k)
      last = later(last, kLinks ? later(high.busy[k], high.out[k]) : high.busy[k]);
    latest_ = last + low_.latest(0);
    if constexpr (std::is_same_v<Noise, Periodic>) {
      window_ = PhaseWindow(noise);
      all_ = window_.all(low_.latest(1) - low_wait_);
    }
  }

  // How long after the start at least a message first arrives.
  Tick wait() const { return std::min(high_wait_, low_wait_); }
  bool works() const { return works_; }

  static Lanes start(const MessageState& first, std::int64_t b) {
    if constexpr (kLinks) return later(load(first.busy + b), load(first.out + b));
    return load(first.busy + b);
  }

  // Without work no noise is met.
  void blocks(const BlockLanes& at, const MessageState& first) {
    most_ = later(most_, at.of_blocks(start(first, at.b) + latest_, kNothingCame));
  }

  // `words`: of the ranks of these blocks, register by register, what draw_high() finds.
  void blocks(const BlockLanes& at, const FirstNoise<Noise>& draws, const MessageState& first,
              const Tick* words) {
    Noisy firsts;
    const Lanes begin = at.of_blocks(start(first, at.b), kNothingCame);
    firsts.descend_from(begin);
    firsts.next[0] = noise_.after_one(load(first.next + at.b), begin);
    for (int k = 1; k < kSubtree; ++k)
      firsts.next[k] = noise_.after_one(load(words + k * kSubtree * kLanes), begin + high_wait_);
    firsts.descend(noise_, high_costs_);
    std::uint64_t met = 0;
    for (int k = 0; k < kSubtree; ++k) {
      const Tick* const high = words + k * kSubtree * kLanes;
      const Lanes start = start_of(firsts, k);
      const ULanes from = window_.begin(start + low_wait_);
      const ULanes width = window_.end(start + low_.latest(1)) - from;
      ULanes least = (ULanes)load(high + kLanes) - from;
      for (int i = 2; i < kSubtree; ++i)
        least = least_low(least, (ULanes)load(high + i * kLanes) - from);
      const unsigned who = low_below(least, width) |
                           greater(start + low_.busy[0], noise_.after_one(firsts.next[k], start));
      met |= std::uint64_t{who} << (k * kLanes);
      most_ = later(most_, start + low_.latest(0));
    }
    if (all_ || !draws.alone() || any_greater(begin, broadcast(PhaseWindow::kLatest - latest_)))
      met = ~std::uint64_t{0} >> (64 - kSubtree * kLanes);
    for (; met != 0; met &= met - 1) {
      const int place = __builtin_ctzll(met);
      if (at.b + place % kLanes < at.blocks) gather(at, firsts, place);
    }
  }

  // When the last rank is free.
  Tick latest(const FirstNoise<Noise>& draws) {
    if constexpr (std::is_same_v<Noise, Periodic>) meet_noise(draws);
    return greatest(most_);
  }

 private:
  static Tick first_arrival(const MessageCost* m) {
    return std::min({m[0].send + m[0].transit, m[1].send + m[1].transit, m[2].send + m[2].transit});
  }

  JF_HD static Lanes start_of(const Noisy& firsts, int k) {
    if constexpr (kLinks) return later(firsts.busy[k], firsts.out[k]);
    return firsts.busy[k];
  }

  // Subtree `place` / kLanes of the block in lane `place` % kLanes.
  JF_HD void gather(const BlockLanes& at, const Noisy& firsts, int place) {
    const int k = place / kLanes;
    const auto lane = static_cast<unsigned>(place % kLanes);
    id()[met_] = (at.b + lane) * kBlock + k * kSubtree;
    list_.busy[met_] = firsts.busy[k][lane];
    if constexpr (kLinks) list_.out[met_] = firsts.out[k][lane];
    list_.next[met_++] = firsts.next[k][lane];
  }
  Tick* id() const { return list_.in; }  // nothing has come to them

  __attribute__((noinline)) void meet_noise(const FirstNoise<Noise>& draws) {
    for (std::int64_t k = met_; k % kLanes != 0; ++k) {  // too early to matter
      id()[k] = 0;
      list_.busy[k] = list_.out[k] = kNothingCame;
      list_.next[k] = 0;
    }
    for (std::int64_t k = 0; k < met_; k += kLanes) {
      Noisy r;
      draws.draw(load(id() + k), r.next);
      Lanes start = load(list_.busy + k);
      if constexpr (kLinks) start = later(start, load(list_.out + k));
      r.descend_from(start);
      r.next[0] = noise_.after_one(load(list_.next + k), start);
      unrolled<kSubtree - 1>([&](auto i) JF_INLINE {
        r.next[i + 1] = noise_.after_one(r.next[i + 1], start + low_wait_);
      });
      r.descend(noise_, low_costs_);
      most_ = later(most_, r.latest(0));
    }
  }

  const Noise& noise_;
  const bool works_;
  const MessageCost *const high_costs_, *const low_costs_;
  const Tick high_wait_, low_wait_;
  PhaseWindow window_;
  bool all_ = false;
  Quiet low_{};  // a subtree of neighbours without noise, from time 0 on
  Tick latest_;  // the same of a block
  Lanes most_ = broadcast(kNothingCame);
  const MessageState list_;  // of first ranks of subtrees
  std::int64_t met_ = 0;     // so many of them
};

}  // namespace
}  // namespace jf
