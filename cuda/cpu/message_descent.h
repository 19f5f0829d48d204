// How blocks of ranks that have been idle go down a binomial tree to its end: nobody asks for more
// than when the last rank is free.
//
// Noise only makes ranks later. So of a subtree that meets none, and of any as a bound, the time of
// its last rank follows from that of its first one. Few subtrees meet some: they are gathered.
#pragma once

#include <algorithm>

#include "message_noise.h"
#include "message_phases.h"
#include "message_subtree.h"

namespace jf {
namespace {

template <class Noise, bool kLinks>
class BlockDescent {
  using Noisy = Subtree<Lanes, kLinks>;
  static constexpr int kHigh = FirstNoise<Noise>::kHigh;

 public:
  // Refers to the phase.
  BlockDescent(const Noise& noise, const BlockPhase& phase)
      : noise_(noise),
        works_(noise.in_communication && phase.works()),
        high_costs_(phase.costs),
        low_costs_(phase.costs + kSubtreeSteps),
        high_wait_(first_arrival(high_costs_)),
        low_wait_(first_arrival(low_costs_)) {
    const MessageCost& last = low_costs_[kSubtreeSteps - 1];
    low_latest_ = last.send + last.transit + last.receive;
    for (int k = kSubtreeSteps - 2; k >= 0; --k) low_latest_ += step(low_costs_[k]);
    latest_ = low_latest_;
    for (int k = 0; k < kSubtreeSteps; ++k) latest_ += step(high_costs_[k]);
    if constexpr (std::is_same_v<Noise, Periodic>) {
      window_ = PhaseWindow(noise);
      span_ = noise.duration + low_latest_;
      span_of_odd_ = noise.duration + last.receive;
      all_ = window_.all(span_);
      if (all_) return;
      limit_ = window_.limit(span_);
      sure_ = window_.sure(noise.duration + low_wait_);
      low_receive_ = std::min({low_costs_[0].receive, low_costs_[1].receive, last.receive});
      raised_ = low_receive_ == 0 || sure_ <= 0 || !window_.is_short();
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
    Noisy firsts;
    firsts_descend(begin, load(first.next + at.b), words, firsts);
    const Lanes(&starts)[kSubtree] = firsts.ready;
    Lanes last = starts[0];
    for (int k = 1; k < kSubtree; ++k) last = later(last, starts[k]);
    most_ = later(most_, last + low_latest_);
    std::uint64_t met = ~std::uint64_t{0} >> (64 - kSubtree * kLanes);
    if (!all_ && draws.alone() && !any_greater(most_, broadcast(window_.latest()))) {
      Quarters own[kSubtree];
      for (int k = 0; k < kSubtree; ++k) own[k] = window_.begin(starts[k], noise_.duration);
      if (!raised_) raise(starts, own, words);
      met = subtrees_met(own, words);
    }
    for (; met != 0; met &= met - 1) {
      const int place = __builtin_ctzll(met), k = place / kLanes, lane = place % kLanes;
      if (at.b + lane >= at.blocks) continue;
      met_.id[met_.count] = (at.b + lane) * kBlock + k * kSubtree;
      met_.start[met_.count] = starts[k][static_cast<unsigned>(lane)];
      if (++met_.count == kLanes) meet_noise(draws);
    }
  }

  // When the last rank is free.
  Tick latest(const FirstNoise<Noise>& draws) {
    if constexpr (std::is_same_v<Noise, Periodic>)
      if (met_.count > 0) meet_noise(draws);
    return greatest(most_);
  }

 private:
  // From when a message may be sent until all those may send that have it then, without noise.
  static Tick step(const MessageCost& m) {
    return m.send + later(m.transit + m.receive, kLinks ? m.gap - m.send : 0);
  }
  static Tick first_arrival(const MessageCost* m) {
    return std::min({m[0].send + m[0].transit, m[1].send + m[1].transit, m[2].send + m[2].transit});
  }

  // First ranks of subtrees.
  JF_HD void firsts_descend(Lanes begin, Lanes next, const Tick* words, Noisy& firsts) const {
    firsts.next[0] = noise_.after_one(next, begin);
    for (int k = 1; k < kSubtree; ++k)
      firsts.next[k] = noise_.after_one(load(words + k * kHigh * kLanes), begin + high_wait_);
    firsts.template descend_idle<true>(noise_, high_costs_, begin);
  }

  // The subtrees that may make the last rank free after most_. Two things have to be: a rank meets
  // noise by the time that the subtree takes without any; and, as e is at most b + duration + work
  // where noise that began at b has delayed work until e, noise of a rank begins in the last span_
  // before most_; of odd ranks, after which nobody comes, in the last span_of_odd_. For as long as
  // all that delays begins earlier, all is done by then.
  JF_HD std::uint64_t subtrees_met(const Quarters (&own)[kSubtree], const Tick* words) const {
    const auto late = (Quarters)low_halves((ULanes)window_.begin(most_, span_),
                                           (ULanes)window_.begin(most_, span_of_odd_));
    std::uint64_t met = 0;
    for (int k = 0; k < kSubtree; ++k) {
      const Quarters meets = least_after(own[k], words, k), matters = least_after(late, words, k);
      met |= std::uint64_t{lanes_below(meets, matters, limit_)} << (k * kLanes);
    }
    return met;
  }
  JF_HD static Quarters least_after(Quarters begin, const Tick* words, int subtree) {
    const Tick* its = words + subtree * kHigh * kLanes;
    return lesser(FirstNoise<Noise>::high(its, 0) - begin, FirstNoise<Noise>::high(its, 1) - begin);
  }

  // Once some noise has made a rank late, little of what else there is can matter. Noise of a rank
  // that begins before a message can have come to it has ended by then, or the rank waits for its
  // end: in either case it receives the message after that, if this is any work.
  JF_HD void raise(const Lanes (&starts)[kSubtree], const Quarters (&own)[kSubtree],
                   const Tick* words) {
    const Quarters first_ranks = first_quarters();  // messages come to the others
    Lanes begins = broadcast(kNothingCame);
    for (int k = 0; k < kSubtree; ++k) {
      const Tick* its = words + k * kHigh * kLanes;
      // How long before the end of the time in which that is so noise begins, at least of all
      // ranks. What begins after it counts as if nearly a period before: that is true of the
      // interval before, and too early to matter.
      const Quarters end = own[k] + static_cast<std::uint16_t>(sure_);
      const Lanes before = least(lesser((end - FirstNoise<Noise>::high(its, 0)) | first_ranks,
                                        end - FirstNoise<Noise>::high(its, 1)));
      begins = later(begins, starts[k] - window_.ticks(before));
    }
    const Tick begin = greatest(begins) - noise_.duration + window_.least_ticks(sure_);
    // Fresh noise has none before.
    if (begin >= 0) most_ = later(most_, broadcast(begin + noise_.duration + low_receive_));
    raised_ = true;
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
  Quarters limit_{};  // of so much time
  bool all_ = false;
  std::int64_t sure_ = 0;
  Tick low_receive_ = 0;
  bool raised_ = false;
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
