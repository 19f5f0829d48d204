// Steps of a binomial tree between the first ranks of blocks.
#pragma once

#include "message_subtree.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class BlockFirsts {
  using Rules = MessageLanes<Noise, Network, kLinks>;
  using Rule = typename Rules::Rule;

 public:
  BlockFirsts(const ProgramView& p, const Noise& noise, std::uint32_t realization,
              const MessageState& first)
      : noise_(noise),
        first_(first),
        lanes_{p, noise, realization, first.next, first.in, first.out} {}

  // A step alone.
  void one(const Step& s, const Rule& rule) const {
    lanes_.pairs(rule, first_.busy, 0, count(s), s.a / kBlock, s.c != 0);
  }

  // Three steps from s on that are those of subtrees: as many of these at once as there are lanes.
  void three(const Step& s, const Rule* rules) const {
    const std::int64_t unit = unit_of(s), whole = count(s) / (kSubtree * unit);
    MessageCost costs[kSubtreeSteps];
    for (int k = 0; k < kSubtreeSteps; ++k) costs[k] = rules[k].cost;
    for (std::int64_t t = 0; t < whole; t += kLanes) subtrees(costs, s.c != 0, unit, t, whole);
    for (int k = 0; k < kSubtreeSteps; ++k)
      lanes_.pairs(rules[k], first_.busy, whole * kSubtree * unit, count(s),
                   s.c != 0 ? unit << (kSubtreeSteps - 1 - k) : unit << k, s.c != 0);
  }
  // For few of them it is not. Down from the top, the last three steps shall go together.
  static bool worth_it(const Step& s) {
    constexpr std::int64_t kPowersOfEight = 0x1249249249249249;
    const std::int64_t unit = unit_of(s);
    return (unit & kPowersOfEight) != 0 && count(s) >= 2 * kSubtree * unit;
  }

 private:
  static std::int64_t count(const Step& s) { return (std::int64_t{s.b} + kBlock - 1) / kBlock; }
  // From a rank of a subtree to the next one.
  static std::int64_t unit_of(const Step& s) {
    return s.a / kBlock / (s.c != 0 ? kSubtree / 2 : 1);
  }

  // Of the first ranks `unit` apart, subtrees t, t + 1, ... of so many.
  __attribute__((noinline)) void subtrees(const MessageCost* costs, bool down, std::int64_t unit,
                                          std::int64_t t, std::int64_t whole) const {
    const std::int64_t apart = kSubtree * unit;
    const auto end = static_cast<unsigned>(std::min<std::int64_t>(whole - t, kLanes));
    const Lanes lane = earlier(lane_index(), broadcast(end - 1));
    const auto each = [&](Tick* times, Lanes* mine, auto&& act) {
      for (int i = 0; i < kSubtree; ++i) act(times + t * apart + i * unit, mine[i]);
    };
    const auto take = [&](const Tick* times, Lanes& mine) {
      mine = (Lanes)gather(reinterpret_cast<const std::uint64_t*>(times), (ULanes)(lane * apart));
    };
    const auto give = [&](Tick* times, const Lanes& mine) {
      for (unsigned k = 0; k < end; ++k) times[k * apart] = mine[k];
    };
    const auto every = [&](Subtree<Lanes, kLinks>& r, auto&& act) {
      each(first_.busy, r.busy, act);
      each(first_.next, r.next, act);
      if constexpr (kLinks) each(first_.in, r.in, act), each(first_.out, r.out, act);
    };
    Subtree<Lanes, kLinks> r;
    every(r, take);
    if (down)
      r.descend(noise_, costs);
    else
      r.climb(noise_, costs);
    every(r, give);
  }

  const Noise& noise_;
  const MessageState& first_;
  const Rules lanes_;
};

}  // namespace
}  // namespace jf
