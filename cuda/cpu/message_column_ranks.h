// Ranks of one place in kLanes blocks, in a register: what they are between two waits, and whether
// they meet noise.
#pragma once

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

  void set(int k, const Rule& rule, bool links) {
    rules[k] = rule;
    idle[k] = rule.cost.gap - rule.cost.send;
    hops[k] = rule.cost.send + (links && k > 0 ? later(idle[k - 1], Tick{0}) : 0);
  }
  bool work() const {
    return std::any_of(rules, rules + kSubtreeSteps, [](const Rule& r) { return r.cost.works(); });
  }
};

// kMeets: what ranks do may be delayed by noise.
template <class Noise, class Network, bool kLinks, bool kMeets>
struct ColumnRanks {
  using Rules = MessageLanes<Noise, Network, kLinks>;
  using Rule = typename Rules::Rule;
  using Steps = ColumnSteps<Rule>;

  const Rules& lanes;
  Tick* const busy;

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
    if constexpr (kLinks && kIn) r.in = load(lanes.in + x);
    if constexpr (kLinks && kOut) r.out = load(lanes.out + x);
    return r;
  }
  template <bool kIn, bool kOut>
  JF_HD void put(std::int64_t x, const Acting& r) const {
    store(busy + x, r.busy);
    if constexpr (kLinks && kIn) store(lanes.in + x, r.in);
    if constexpr (kLinks && kOut) store(lanes.out + x, r.out);
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

  // `rank` becomes `quiet`, what it is without noise, or meets some, not before `start`: times only
  // grow, so that who is free by the time that its next interval begins has met none. kPassed:
  // the next one has often ended by `start`.
  template <bool kPassed, class Act>
  JF_HD void settle(std::int64_t x, Lanes start, const Acting& quiet, Acting& rank,
                    const Act act) const {
    if constexpr (kMeets) {
      Tick* const at = lanes.next + x;
      Lanes next = load(at);
      if constexpr (kPassed) {
        next = lanes.noise.after_one(next, start);
        store(at, next);
      }
      if (__builtin_expect(any_greater(quiet.busy, next), 0)) {
        if constexpr (!kPassed) next = lanes.noise.after_one(next, start);
        if (kPassed || any_greater(quiet.busy, next)) {
          Acting copy = rank;  // only copies leave the registers
          copy.next = next;
          act(lanes.noise, copy);
          next = copy.next;
          rank = copy;
        } else {
          rank = quiet;
        }
        store(at, next);
        return;
      }
    }
    rank = quiet;
  }
};

}  // namespace
}  // namespace jf
