// How blocks of ranks climb a binomial tree from time 0.
#pragma once

#include "message_noise.h"
#include "message_subtree.h"

namespace jf {
namespace {

template <class Noise, bool kLinks>
class BlockClimb {
  using Quiet = Subtree<Tick, kLinks>;
  using Noisy = Subtree<Lanes, kLinks>;

 public:
  // `costs`: of strides 1, 2, 4, ..., of a block.
  BlockClimb(const Noise& noise, const MessageCost* costs)
      : noise_(noise), low_costs_(costs), high_costs_(costs + kSubtreeSteps) {
    for (int i = 0; i < kSubtree; ++i) low_.free_from(i, 0);
    low_.climb(NoNoise{}, low_costs_);
    for (int i = 0; i < kSubtree; ++i) {
      high_.busy[i] = low_.busy[0];
      if constexpr (kLinks) high_.in[i] = low_.in[0], high_.out[i] = low_.out[0];
    }
    high_.climb(NoNoise{}, high_costs_);
    most_ = broadcast(later(low_.latest(1), high_.latest(1)));
    if constexpr (std::is_same_v<Noise, Periodic>) {
      const PhaseWindow window(noise);
      begin_ = window.begin(Lanes{});
      width_ = window.end(broadcast(low_.latest(1))) - begin_;
      all_ = window.all(low_.latest(1)) || low_.latest(1) > window.kLatest;
    }
  }

  // The first rank of a block that meets no noise.
  Tick busy() const { return high_.busy[0]; }
  Tick in() const { return high_.in[0]; }
  Tick out() const { return high_.out[0]; }

  // First all of them go as far as this: each subtree on its own. `words`: see draw_high().
  void low(const BlockLanes& at, const FirstNoise<Noise>& draws, const MessageState& firsts,
           const Tick* words) {
    std::uint64_t met = 0;
    for (int k = 0; k < kSubtree; ++k, words += kSubtree * kLanes) {
      const Lanes next = load(words);
      ULanes least = (ULanes)load(words + kLanes) - begin_;
      for (int i = 2; i < kSubtree; ++i)
        least = least_low(least, (ULanes)load(words + i * kLanes) - begin_);
      const unsigned who = low_below(least, width_) | greater(broadcast(low_.busy[0]), next);
      met |= std::uint64_t{who} << (k * kLanes);
      const std::int64_t x = at.b * kSubtree + k * kLanes;
      put(firsts, x, low_.busy[0], low_.in[0], low_.out[0]);
      store(firsts.next + x, next);
    }
    if (all_ || !draws.alone()) met = ~std::uint64_t{0} >> (64 - kSubtree * kLanes);
    for (; met != 0; met &= met - 1) {
      const int place = __builtin_ctzll(met), lane = place % kLanes;
      if (at.b + lane >= at.blocks) continue;
      met_.place[met_.count] = at.b * kSubtree + place;
      met_.id[met_.count] = (at.b + lane) * kBlock + place / kLanes * kSubtree;
      if (++met_.count == kLanes) meet_noise(draws, firsts);
    }
  }

  // Then the first ranks of subtrees do. The first ones of blocks come to `first`.
  void high(const BlockLanes& at, const MessageState& firsts, const MessageState& first) {
    const std::int64_t x = at.b * kSubtree;
    unsigned met = 0;
    for (int k = 0; k < kSubtree; ++k)
      met |= greater(broadcast(high_.busy[k]), load(firsts.next + x + k * kLanes)) |
             greater(load(firsts.busy + x + k * kLanes), broadcast(low_.busy[0]));
    // A message may come later, and make its receiver no later.
    if constexpr (kLinks)
      for (int k = 0; k < kSubtree; ++k)
        met |= greater(load(firsts.in + x + k * kLanes), broadcast(low_.in[0]));
    if (met != 0) return high_noisy(at, firsts, first);
    put(first, at.b, high_.busy[0], high_.in[0], high_.out[0]);
    store(first.next + at.b, load(firsts.next + x));
  }

  // In between, for the last subtrees that meet noise.
  __attribute__((noinline)) void meet_noise(const FirstNoise<Noise>& draws,
                                            const MessageState& firsts) {
    Noisy r;
    draws.draw(load(met_.id), r.next);
    unrolled<kSubtree>([&](auto i) JF_INLINE { r.free_from(i, Lanes{}); });
    r.climb(noise_, low_costs_);
    most_ = later(most_, r.latest(1));  // lanes not in use have subtrees that there are, too
    for (int k = 0; k < met_.count; ++k) {
      const auto lane = static_cast<unsigned>(k);
      const std::int64_t x = met_.place[k];
      firsts.busy[x] = r.busy[0][lane];
      firsts.next[x] = r.next[0][lane];
      if constexpr (kLinks) firsts.in[x] = r.in[0][lane], firsts.out[x] = r.out[0][lane];
    }
    met_.count = 0;
  }

  // When the last rank is free that is not the first of a block.
  Tick latest() const { return greatest(most_); }

 private:
  __attribute__((noinline)) void high_noisy(const BlockLanes& at, const MessageState& firsts,
                                            const MessageState& first) {
    Noisy r;
    unrolled<kSubtree>([&](auto k) JF_INLINE {
      const std::int64_t x = at.b * kSubtree + k * kLanes;
      r.busy[k] = load(firsts.busy + x);
      r.next[k] = load(firsts.next + x);
      if constexpr (kLinks) r.in[k] = load(firsts.in + x), r.out[k] = load(firsts.out + x);
    });
    r.climb(noise_, high_costs_);
    most_ = later(most_, at.of_blocks(r.latest(1), 0));
    store(first.busy + at.b, r.busy[0]);
    store(first.next + at.b, r.next[0]);
    if constexpr (kLinks) {
      store(first.in + at.b, r.in[0]);
      store(first.out + at.b, r.out[0]);
    }
  }
  static void put(const MessageState& firsts, std::int64_t x, Tick busy, Tick in, Tick out) {
    store(firsts.busy + x, broadcast(busy));
    if constexpr (kLinks) {
      store(firsts.in + x, broadcast(in));
      store(firsts.out + x, broadcast(out));
    }
  }

  const Noise& noise_;
  const MessageCost *const low_costs_, *const high_costs_;
  Quiet low_{}, high_{};  // without noise: subtrees of neighbours, and of the first ranks of these
  Lanes most_;
  ULanes begin_{}, width_{};  // see PhaseWindow
  bool all_ = false;
  struct {
    alignas(64) Tick id[kLanes] = {};
    std::int64_t place[kLanes];
    int count = 0;
  } met_;
};

}  // namespace
}  // namespace jf
