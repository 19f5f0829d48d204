// Ranks of one place in kLanes blocks, in a register: what they are between two waits, and whether
// they meet noise.
#pragma once

#include <algorithm>

#include "message_subtree.h"

namespace jf {
namespace {

// What the three steps of a subtree cost.
template <class Rule>
struct ColumnSteps {
  Rule rules[kSubtreeSteps];
  // From when one message has left a rank until the next one has, if it does nothing in between.
  Tick hops[kSubtreeSteps];
  Tick idle[kSubtreeSteps];  // from when it has left until the link is free
  // From when the last message of the phase before has left until the next one may be sent: for
  // ranks whose last one goes up.
  Tick waits[kSubtreeSteps] = {};
  // From when a message is received, if noise does not delay that: to the begin of the latest
  // interval that is over, or holds it, by then. One that has not ended does not hold what takes no
  // time. And from the begin of an interval that holds it, to when it is received.
  Tick begun[kSubtreeSteps], held[kSubtreeSteps];

  // duration: of an interval of noise.
  void set(int k, const Rule& rule, bool links, Tick duration) {
    rules[k] = rule;
    begun[k] = -(rule.cost.receive > 0 ? rule.cost.receive : duration);
    held[k] = duration + rule.cost.receive;
    idle[k] = rule.cost.gap - rule.cost.send;
    hops[k] = rule.cost.send + (links && k > 0 ? later(idle[k - 1], Tick{0}) : 0);
  }
  bool work() const {
    return std::any_of(rules, rules + kSubtreeSteps, [](const Rule& r) { return r.cost.works(); });
  }
};

// Subtrees of registers, from one register of a subtree to the next, and from one subtree to the
// next: those of a block, next to each other.
struct InBlock {
  static constexpr int kApart = kLanes, kAway = kSubtree * kLanes;
};
// The first registers of those, which are a subtree for each group of kLanes blocks.
struct OfBlocks {
  static constexpr int kApart = kSubtree * kLanes, kAway = kBlock * kLanes;
};

// Registers of ranks from a place on. kMeets: what ranks do may be delayed by noise.
template <class Noise, class Network, bool kLinks, bool kMeets>
struct ColumnRanks {
  using Rules = MessageLanes<Noise, Network, kLinks>;
  using Rule = typename Rules::Rule;
  using Steps = ColumnSteps<Rule>;

  const Noise* noise;
  Tick *busy, *next, *in, *out;

  ColumnRanks(const Noise& noise, const MessageState& s)
      : noise(&noise), busy(s.busy), next(s.next), in(s.in), out(s.out) {}

  // `left`: when messages to them or from them have left.
  struct Acting : Rules::Ranks {
    Lanes left[kSubtreeSteps];
  };

  // kIn, kOut: which links they use.
  template <bool kIn, bool kOut>
  JF_HD Acting get(std::int64_t x) const {
    Acting r;
    r.busy = load(busy + x);
    r.id = Lanes{};  // no one's: this noise does not ask
    if constexpr (kLinks && kIn) r.in = load(in + x);
    if constexpr (kLinks && kOut) r.out = load(out + x);
    return r;
  }
  template <bool kIn, bool kOut>
  JF_HD void put(std::int64_t x, const Acting& r) const {
    store(busy + x, r.busy);
    if constexpr (kLinks && kIn) store(in + x, r.in);
    if constexpr (kLinks && kOut) store(out + x, r.out);
  }

  template <bool kIn, class Any>
  JF_HD void received(const Any& any, const Rule& rule, Lanes left, Acting& r) const {
    Lanes none{};
    r.busy =
        receive_message < kLinks && kIn > (any, rule.cost, rule.draw, r.next, kIn ? r.in : none,
                                           r.busy, left + rule.cost.transit, r.id);
  }

  template <bool kOut, class Any>
  JF_HD void sent(const Any& any, const Rule& rule, Acting& r) const {
    Lanes none{};
    r.busy = send_message < kLinks &&
             kOut > (any, rule.cost, rule.draw, r.next, kOut ? r.out : none, r.busy, r.id);
  }

  // Messages one after the other, without noise.
  template <int kSends, bool kOut>
  JF_HD void send(const Steps& steps, int from, Acting& r) const {
    if constexpr (kSends > 0) {
      if constexpr (kLinks && kOut) r.busy = later(r.busy, r.out);
      unrolled<kSends>([&](auto k) JF_INLINE {
        r.left[k] = r.busy += k > 0 ? steps.hops[from + k] : steps.rules[from].cost.send;
      });
      if constexpr (kLinks && kOut) r.out = r.busy + steps.idle[from + kSends - 1];
    }
  }

  // The next interval of rank x if it meets none from `start` on. kPassed: the next one has often
  // ended by then.
  template <bool kPassed>
  JF_HD Lanes next_from(std::int64_t x, Lanes start) const {
    if constexpr (!kMeets)
      return Lanes{};
    else if constexpr (kPassed)
      return noise->after_one(load(next + x), start);
    else
      return load(next + x);
  }
  // The same after a message by rule k, which without noise is received at q.busy; an interval that
  // has begun by then, and not ended, holds it, and so makes that later.
  JF_HD Lanes hold(std::int64_t x, const Steps& steps, int k, Acting& q) const {
    if constexpr (!kMeets) {
      return Lanes{};
    } else {
      const Lanes begins = load(next + x), ahead = begins - q.busy;
      const auto has_begun = ahead <= steps.begun[k];
      q.busy += select(has_begun, later(ahead + steps.held[k], Lanes{}), Lanes{});
      return select(has_begun, begins + noise->period, begins);
    }
  }

  // rank[n], at x + n * away, becomes quiet[n], if no interval begins meanwhile, or meets some, not
  // before start[n]: times only grow, so that who is free by the time that its next interval
  // begins has met none. after[n]: that interval, as found by the functions above.
  template <bool kPassed, int kTrees, class Act>
  JF_HD void settle(std::int64_t x, std::int64_t away, const Lanes (&start)[kTrees],
                    const Lanes (&after)[kTrees], const Acting (&quiet)[kTrees],
                    Acting (&rank)[kTrees], const Act act) const {
    if constexpr (kMeets) {
      constexpr int kLast = kTrees - 1;
      static_assert(kTrees <= 2);
      if (__builtin_expect(any_greater(quiet[0].busy, after[0], quiet[kLast].busy, after[kLast]),
                           0)) {
        each<kTrees>([&](auto n) JF_INLINE {
          if (any_greater(quiet[n].busy, after[n]))
            meet(x + n * away, start[n], rank[n], act);
          else
            keep<kPassed>(x + n * away, after[n], quiet[n], rank[n]);
        });
        return;
      }
    }
    each<kTrees>([&](auto n)
                     JF_INLINE { keep<kPassed>(x + n * away, after[n], quiet[n], rank[n]); });
  }

 private:
  template <bool kPassed>
  JF_HD void keep(std::int64_t x, Lanes after, const Acting& quiet, Acting& rank) const {
    if constexpr (kMeets && kPassed) store(next + x, after);
    rank = quiet;
  }
  template <class Act>
  JF_HD void meet(std::int64_t x, Lanes start, Acting& rank, const Act act) const {
    Acting copy = rank;  // only copies leave the registers
    copy.next = noise->after_one(load(next + x), start);
    act(*noise, copy);
    store(next + x, copy.next);
    rank = copy;
  }
};

}  // namespace
}  // namespace jf
