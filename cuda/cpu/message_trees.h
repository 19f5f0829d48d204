// Steps of trees whose pairs are in one register of ranks, one after another for one load and one
// store.
#pragma once

#include "message_lanes.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
struct MessageTrees {
  using Rules = MessageLanes<Noise, Network, kLinks>;
  using Ranks = typename Rules::Ranks;
  using Rule = typename Rules::Rule;

  // One step without noise. There is no need of masks: what is added to the times of those that do
  // not act makes them too early to matter.
  struct Quiet {
    static constexpr Tick kNever = kNothingCame * 3;  // with any time, not after kNothingCame
    Lanes ready, send, occupied, transit, gap, heard, receive;

    Quiet() = default;
    Quiet(const MessageCost& m, Lanes senders, Lanes receivers)
        : ready(ticks(senders, 0, kNever)),
          send(ticks(senders, m.send, 0)),
          occupied(ticks(senders, m.gap - m.send, kNever)),
          transit(ticks(receivers, m.transit, kNever)),
          gap(ticks(receivers, m.gap, 0)),
          heard(ticks(receivers, 0, kNever)),
          receive(ticks(receivers, m.receive, 0)) {}

    JF_HD void pairs(Lanes order, Ranks& r) const {
      if constexpr (kLinks) r.busy = later(r.busy, r.out + ready);
      r.busy += send;
      if constexpr (kLinks) r.out = later(r.out, r.busy + occupied);
      Lanes at = __builtin_shuffle(r.busy, order) + transit;
      if constexpr (kLinks) {
        at = later(at, r.in + gap);
        r.in = at;
        at += heard;
      }
      r.busy = later(r.busy, at) + receive;
    }

   private:
    static Lanes ticks(Lanes who, Tick theirs, Tick others) {
      return select(who, broadcast(theirs), broadcast(others));
    }
  };

  // Masks are those of a full register.
  struct Tree {
    Rule rule;
    std::int64_t stride, below;
    Lanes order, senders, receivers;
    Quiet quiet;
  };
  static Tree tree(const Rule& rule, const Step& s) {
    const Lanes place = lane_index() & (2 * s.a - 1), lower = place == 0, upper = place == s.a;
    const Lanes senders = s.c != 0 ? lower : upper, receivers = s.c != 0 ? upper : lower;
    return {rule,
            s.a,
            s.b,
            lane_index() ^ s.a,
            senders,
            receivers,
            Quiet(rule.cost, senders, receivers)};
  }

  const Rules& lanes;
  const Tree* const trees;
  const int count;
  Tick* const times;

  // Ranks of [from, to).
  void run(std::int64_t from, std::int64_t to) const {
    std::int64_t full = to;  // up to there each register takes part in all steps as a whole
    for (int k = 0; k < count; ++k)
      full = std::min(full, trees[k].below & ~std::int64_t{kLanes - 1});
    if ((Rules::kNoisy && !Rules::kQuietFirst) || Network::on) full = 0;
    const bool works = lanes.noise.in_communication && any_works();
    std::int64_t x = from;
    // Some at once: each operation waits for the one before it in its register.
    for (; x + kAtOnce * kLanes <= full; x += kAtOnce * kLanes) quiet<kAtOnce>(works, x);
    for (; x < full; x += kLanes) quiet<1>(works, x);
    for (; x < to; x += kLanes) some(*this, x);
  }

 private:
  static constexpr int kAtOnce = 4;

  bool any_works() const {
    return std::any_of(trees, trees + count, [](const Tree& t) { return t.rule.cost.works(); });
  }

  template <int n>
  JF_HD void quiet(bool works, std::int64_t x) const {
    Ranks r[n];
    unrolled<n>([&](auto i) JF_INLINE { r[i] = lanes.get(times, x + i * kLanes); });
    for (int k = 0; k < count; ++k)
      unrolled<n>([&](auto i) JF_INLINE { trees[k].quiet.pairs(trees[k].order, r[i]); });
    unrolled<n>([&](auto i) JF_INLINE {
      const std::int64_t at = x + i * kLanes;
      if (Rules::kNoisy &&
          __builtin_expect(works && any_greater(r[i].busy, load(lanes.next + at)), 0))
        some(*this, at);
      else
        lanes.put(times, at, r[i]);
    });
  }

  // A register of which not all ranks may act, or that may meet noise.
  __attribute__((noinline)) static void some(const MessageTrees& all, std::int64_t x) {
    Ranks r = all.lanes.get(all.times, x);
    all.lanes.with_noise(all.any_works(), x, r, [=, &all](const auto& any, Ranks& ranks) JF_INLINE {
      for (int k = 0; k < all.count; ++k) all.pairs(any, all.trees[k], x, ranks);
    });
    all.lanes.put(all.times, x, r);
  }

  template <class Any>
  JF_HD void pairs(const Any& any, const Tree& tree, std::int64_t x, Ranks& r) const {
    Lanes senders = tree.senders, receivers = tree.receivers;
    if (__builtin_expect(x + kLanes > tree.below, 0)) {
      const Lanes there = (r.id | tree.stride) < tree.below;
      senders &= there;
      receivers &= there;
    }
    Ranks other = r;
    lanes.sent(any, tree.rule, other);
    Rules::choose(senders, other, r);
    const Lanes left = __builtin_shuffle(r.busy, tree.order);
    other = r;
    lanes.received(any, tree.rule, select(receivers, left, Lanes{}), other);
    Rules::choose(receivers, other, r);
  }
};

}  // namespace
}  // namespace jf
