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
  static constexpr int kHigh = FirstNoise<Noise>::kHigh;

 public:
  // `costs`: of strides ..., 4, 2, 1, of a block.
  BlockDescent(const Noise& noise, const MessageCost* costs)
      : noise_(noise),
        works_(noise.in_communication && any_works(costs, costs + kBlockSteps)),
        high_costs_(costs),
        low_costs_(costs + kSubtreeSteps),
        high_wait_(first_arrival(high_costs_)),
        low_wait_(first_arrival(low_costs_)) {
    Quiet low{}, high{};
    low.descend_idle(NoNoise{}, low_costs_, 0);
    high.descend_idle(NoNoise{}, high_costs_, 0);
    low_latest_ = low.latest(0);
    latest_ = *std::max_element(high.ready, high.ready + kSubtree) + low_latest_;
    if constexpr (std::is_same_v<Noise, Periodic>) {
      window_ = PhaseWindow(noise);
      span_ = noise.duration + low_latest_;
      span_of_odd_ = noise.duration + low_costs_[kSubtreeSteps - 1].receive;
      width_ = window_.width(span_);
      all_ = window_.all(span_);
    }
  }

  // How long after the start at least a message first arrives.
  Tick wait() const { return std::min(high_wait_, low_wait_); }
  bool works() const { return works_; }

  static Lanes start(const MessageState& first, std::int64_t b) {
    if constexpr (kLinks) return later(load(first.busy + b), load(first.out + b));
    return load(first.busy + b);
  }

  // Of all blocks, first: without noise, which is all without work.
  void quiet(const BlockLanes& at, const MessageState& first) {
    most_ = later(most_, at.of_blocks(start(first, at.b) + latest_, kNothingCame));
  }
  // In between.
  void keep_latest() { most_ = broadcast(greatest(most_)); }

  // `words`: of the ranks of these blocks, see draw_high().
  void blocks(const BlockLanes& at, const FirstNoise<Noise>& draws, const MessageState& first,
              const Tick* words) {
    const Lanes begin = at.of_blocks(start(first, at.b), kNothingCame);
    Lanes starts[kSubtree];
    firsts_descend(begin, load(first.next + at.b), words, starts);
    Lanes last = starts[0];
    for (int k = 1; k < kSubtree; ++k) last = later(last, starts[k]);
    most_ = later(most_, last + low_latest_);
    std::uint64_t met =
        !all_ && draws.alone() && !any_greater(most_, broadcast(PhaseWindow::kLatest))
            ? subtrees_met(starts, words)
            : ~std::uint64_t{0} >> (64 - kSubtree * kLanes);
    for (; met != 0; met &= met - 1) {
      const int place = __builtin_ctzll(met), k = place / kLanes, lane = place % kLanes;
      if (at.b + lane >= at.blocks) continue;
      met_.id[met_.count] = (at.b + lane) * kBlock + k * kSubtree;
      met_.start[met_.count] = starts[k][static_cast<unsigned>(lane)];
      if (++met_.count == kLanes) meet_noise(draws);
    }
    // Once some noise has made a rank late, little of what else there is can matter.
    if (none_met_ && met_.count > 0) meet_noise(draws);
  }

  // When the last rank is free.
  Tick latest(const FirstNoise<Noise>& draws) {
    if constexpr (std::is_same_v<Noise, Periodic>)
      if (met_.count > 0) meet_noise(draws);
    return greatest(most_);
  }

 private:
  static Tick first_arrival(const MessageCost* m) {
    return std::min({m[0].send + m[0].transit, m[1].send + m[1].transit, m[2].send + m[2].transit});
  }

  // When first ranks of subtrees may send to the others.
  JF_HD void firsts_descend(Lanes begin, Lanes next, const Tick* words,
                            Lanes (&starts)[kSubtree]) const {
    Noisy firsts;
    firsts.next[0] = noise_.after_one(next, begin);
    for (int k = 1; k < kSubtree; ++k)
      firsts.next[k] = noise_.after_one(load(words + k * kHigh * kLanes), begin + high_wait_);
    firsts.template descend_idle<true>(noise_, high_costs_, begin);
    for (int k = 0; k < kSubtree; ++k) starts[k] = firsts.ready[k];
  }

  // The subtrees that may make the last rank free after most_. Two things have to be: a rank meets
  // noise by the time that the subtree takes without any; and, as e is at most b + duration + work
  // where noise that began at b has delayed work until e, noise of a rank begins in the last span_
  // before most_; of odd ranks, after which nobody comes, in the last span_of_odd_. For as long as
  // all that delays begins earlier, all is done by then.
  JF_HD std::uint64_t subtrees_met(const Lanes (&starts)[kSubtree], const Tick* words) const {
    const Halves late =
        low_halves(window_.begin(most_ - span_), window_.begin(most_ - span_of_odd_));
    std::uint64_t met = 0;
    for (int k = 0; k < kSubtree; ++k) {
      const Halves own = twice(window_.begin(starts[k] - noise_.duration));
      Halves meets = draws_of(words, k, 0) - own, matters = draws_of(words, k, 0) - late;
      for (int i = 1; i < kSubtree / 2; ++i) {
        meets = lesser(meets, draws_of(words, k, i) - own);
        matters = lesser(matters, draws_of(words, k, i) - late);
      }
      const unsigned who = greater(width_, later(lesser_half(meets), lesser_half(matters)));
      met |= std::uint64_t{who} << (k * kLanes);
    }
    return met;
  }
  JF_HD static Halves draws_of(const Tick* words, int subtree, int pair) {
    return FirstNoise<Noise>::high(words + subtree * kHigh * kLanes, pair);
  }

  // Lanes not in use have subtrees that have been there, or begin too early to matter.
  __attribute__((noinline)) void meet_noise(const FirstNoise<Noise>& draws) {
    Noisy r;
    draws.draw(load(met_.id), r.next);
    const Lanes start = load(met_.start);
    r.next[0] = noise_.after_one(r.next[0], start);
    unrolled<kSubtree - 1>([&](auto i) JF_INLINE {
      r.next[i + 1] = noise_.after_one(r.next[i + 1], start + low_wait_);
    });
    r.descend_idle(noise_, low_costs_, start);
    most_ = later(most_, r.latest(0));
    keep_latest();
    met_.count = 0;
    none_met_ = false;
  }

  const Noise& noise_;
  const bool works_;
  const MessageCost *const high_costs_, *const low_costs_;
  const Tick high_wait_, low_wait_;
  // When the last rank is free that starts at time 0 without noise, of a subtree of neighbours and
  // of a block.
  Tick low_latest_, latest_;
  PhaseWindow window_;
  // Noise that begins that long before the last rank is free may have made it late.
  Tick span_ = 0, span_of_odd_ = 0;
  Lanes width_{};  // of so much time
  bool all_ = false;
  bool none_met_ = true;
  Lanes most_ = broadcast(kNothingCame);
  struct Met {
    alignas(64) Tick id[kLanes] = {};
    alignas(64) Tick start[kLanes];
    int count = 0;

    Met() { std::fill_n(start, kLanes, kNothingCame); }
  } met_;
};

}  // namespace
}  // namespace jf
