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
    for (int i = 0; i < kSubtree; ++i) low_.begin(i);
    low_.climb_first(NoNoise{}, low_costs_);
    for (int i = 0; i < kSubtree; ++i) {
      high_.busy[i] = low_.busy[0];
      if constexpr (kLinks) high_.in[i] = low_.in[0];
    }
    high_.climb_first(NoNoise{}, high_costs_);
    most_ = broadcast(later(low_.latest(1), high_.latest(1)));
    if constexpr (std::is_same_v<Noise, Periodic>) {
      // What had ended by time 0 does not matter, and what had not is there if it is stationary.
      const Tick from = noise.stationary ? -noise.duration : 0, span = low_.latest(1) - from;
      const PhaseWindow window(noise);
      all_ = window.all(span);
      if (all_) return;
      begin_ = window.begin(Lanes{}, -from);
      limit_ = window.limit(span);
    }
  }

  // The first rank of a block that meets no noise.
  Tick busy() const { return high_.busy[0]; }
  Tick in() const { return high_.in[0]; }

  // First all of them go as far as this: each subtree on its own. `words`: see draw_high(). Of its
  // first rank `firsts` gets the noise, and, if it is later than without, the other times.
  void low(const BlockLanes& at, const FirstNoise<Noise>& draws, const MessageState& firsts,
           const Tick* words) {
    const Quarters not_first = first_quarters();
    std::uint64_t met = 0;
    for (int k = 0; k < kSubtree; ++k, words += FirstNoise<Noise>::kHigh * kLanes) {
      const Lanes next = load(words);
      const Quarters after =
          lesser((draws.high(words, 0) - begin_) | not_first, draws.high(words, 1) - begin_);
      const unsigned who =
          lanes_below(after, after, limit_) | greater(broadcast(low_.busy[0]), next);
      met |= std::uint64_t{who} << (k * kLanes);
      const std::int64_t x = at.b * kSubtree + k * kLanes;
      store(firsts.next + x, next);
    }
    late(firsts, at.b) = 0;
    if (all_ || !draws.alone()) met = ~std::uint64_t{0} >> (64 - kSubtree * kLanes);
    for (; met != 0; met &= met - 1) {
      const int place = __builtin_ctzll(met), lane = place % kLanes;
      if (at.b + lane >= at.blocks) continue;
      met_.place[met_.count] = at.b * kSubtree + place;
      met_.id[met_.count] = (at.b + lane) * kBlock + place / kLanes * kSubtree;
      if (++met_.count == kLanes) meet_noise(draws, firsts);
    }
  }

  // Then the first ranks of subtrees do. The first ones of blocks come to `first`. Without noise no
  // message comes before its receiver, who has done as much as its sender, is free to receive it:
  // a rank that is no later than without noise has had no message later.
  void high(const BlockLanes& at, const MessageState& firsts, const MessageState& first) {
    const std::int64_t x = at.b * kSubtree;
    unsigned met = 0;
    for (int k = 0; k < kSubtree; ++k)
      met |= greater(broadcast(high_.busy[k]), load(firsts.next + x + k * kLanes));
    if (met != 0 || late(firsts, at.b) != 0) return high_noisy(at, firsts, first);
    store(first.busy + at.b, broadcast(high_.busy[0]));
    if constexpr (kLinks) store(first.in + at.b, broadcast(high_.in[0]));
    store(first.next + at.b, load(firsts.next + x));
  }

  // In between, for the last subtrees that meet noise.
  __attribute__((noinline)) void meet_noise(const FirstNoise<Noise>& draws,
                                            const MessageState& firsts) {
    Noisy r;
    draws.draw(load(met_.id), r.next);
    unrolled<kSubtree>([&](auto i) JF_INLINE { r.begin(i); });
    r.climb_first(noise_, low_costs_);
    most_ = later(most_, r.latest(1));  // lanes not in use have subtrees that there are, too
    for (int k = 0; k < met_.count; ++k) {
      const auto lane = static_cast<unsigned>(k);
      const std::int64_t x = met_.place[k];
      firsts.next[x] = r.next[0][lane];
      if (r.busy[0][lane] <= low_.busy[0]) continue;
      firsts.busy[x] = r.busy[0][lane];
      if constexpr (kLinks) firsts.in[x] = r.in[0][lane];
      constexpr int kGroup = kLanes * kSubtree;
      late(firsts, x / kSubtree) |= Tick{1} << (x % kGroup);
    }
    met_.count = 0;
  }

  // When the last rank is free that is not the first of a block.
  Tick latest() const { return greatest(most_); }

 private:
  // Of the subtrees of kLanes blocks, block b among them, those whose first rank is later than
  // without noise, as bits. First ranks of subtrees have no use for that array.
  static Tick& late(const MessageState& firsts, std::int64_t b) { return firsts.out[b / kLanes]; }

  __attribute__((noinline)) void high_noisy(const BlockLanes& at, const MessageState& firsts,
                                            const MessageState& first) {
    Noisy r;
    const Lanes bits = broadcast(late(firsts, at.b)) >> lane_index();
    unrolled<kSubtree>([&](auto k) JF_INLINE {
      const std::int64_t x = at.b * kSubtree + k * kLanes;
      const auto is_late = (bits & (Tick{1} << (k * kLanes))) != 0;
      r.busy[k] = select(is_late, load(firsts.busy + x), broadcast(low_.busy[0]));
      r.next[k] = load(firsts.next + x);
      if constexpr (kLinks) r.in[k] = select(is_late, load(firsts.in + x), broadcast(low_.in[0]));
    });
    r.climb_first(noise_, high_costs_);
    most_ = later(most_, at.of_blocks(r.latest(1), 0));
    store(first.busy + at.b, r.busy[0]);
    store(first.next + at.b, r.next[0]);
    if constexpr (kLinks) store(first.in + at.b, r.in[0]);
  }

  const Noise& noise_;
  const MessageCost *const low_costs_, *const high_costs_;
  Quiet low_{}, high_{};  // without noise: subtrees of neighbours, and of the first ranks of these
  Lanes most_;
  Quarters begin_{}, limit_{};  // see PhaseWindow
  bool all_ = false;
  struct {
    alignas(64) Tick id[kLanes] = {};
    std::int64_t place[kLanes];
    int count = 0;
  } met_;
};

}  // namespace
}  // namespace jf
