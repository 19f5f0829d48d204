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
  // use.idle: what is kept of a rank as `busy` then is when it may send, `in` and `out` are left as
  // they were. The last one never sends: it is free by then. use.once: of ranks that are done only
  // `busy` is kept for sure.
  BlockFirsts(const ProgramView& p, const Noise& noise, std::uint32_t realization,
              const MessageState& first, const BlockUse& use)
      : noise_(noise),
        first_(first),
        lanes_{p, noise, realization, first.next, first.in, first.out},
        idle_(use.idle),
        once_(use.once) {}

  // A step alone.
  void one(const Step& s, const Rule& rule) const {
    lanes_.pairs(rule, first_.busy, 0, count(s), s.a / kBlock, s.c != 0);
  }

  // Three steps from s on that are those of subtrees: as many of these at once as there are lanes.
  void three(const Step& s, const Rule* rules) const {
    const std::int64_t unit = unit_of(s), whole = count(s) / (kSubtree * unit);
    MessageCost costs[kSubtreeSteps];
    for (int k = 0; k < kSubtreeSteps; ++k) costs[k] = rules[k].cost;
    for (std::int64_t t = 0; t < whole;) {
      const bool few = whole - t < kLanes / 2;
      if (few)
        alone(costs, s.c != 0, unit, t);
      else if (unit == 1 && idle_)
        idle_neighbours(costs, t, whole);
      else if (unit == 1 && once_)
        once_neighbours(costs, t, whole);
      else if (unit == 1)
        neighbours(costs, s.c != 0, t, whole);
      else
        subtrees(costs, s.c != 0, unit, t, whole);
      t += few ? 1 : kLanes;
    }
    for (int k = 0; k < kSubtreeSteps; ++k)
      lanes_.pairs(rules[k], first_.busy, whole * kSubtree * unit, count(s),
                   s.c != 0 ? unit << (kSubtreeSteps - 1 - k) : unit << k, s.c != 0);
  }
  // If there is one. Down from the top, the last three steps shall go together.
  static bool worth_it(const Step& s) {
    constexpr std::int64_t kPowersOfEight = 0x1249249249249249;
    const std::int64_t unit = unit_of(s);
    return (unit & kPowersOfEight) != 0 && count(s) >= kSubtree * unit;
  }

 private:
  static std::int64_t count(const Step& s) { return (std::int64_t{s.b} + kBlock - 1) / kBlock; }
  // From a rank of a subtree to the next one.
  static std::int64_t unit_of(const Step& s) {
    return s.a / kBlock / (s.c != 0 ? kSubtree / 2 : 1);
  }

  // Calls act with the times of all, and the registers for them.
  template <class T, class Act>
  JF_HD void every(Subtree<T, kLinks>& r, Act&& act) const {
    act(first_.busy, r.busy);
    act(first_.next, r.next);
    if constexpr (kLinks) act(first_.in, r.in), act(first_.out, r.out);
  }
  template <class T>
  JF_HD void act(Subtree<T, kLinks>& r, const MessageCost* costs, bool down) const {
    if (idle_)
      act_idle(r, costs, kLinks ? later(r.busy[0], r.out[0]) : r.busy[0]);
    else if (down)
      r.descend(noise_, costs);
    else
      r.climb(noise_, costs);
  }

  template <class T>
  JF_HD void act_idle(Subtree<T, kLinks>& r, const MessageCost* costs, T start) const {
    r.template descend_idle<true>(noise_, costs, start);
    for (int i = 0; i < kSubtree; ++i) r.busy[i] = r.ready[i];
  }

  // One subtree.
  __attribute__((noinline)) void alone(const MessageCost* costs, bool down, std::int64_t unit,
                                       std::int64_t t) const {
    const std::int64_t first = t * kSubtree * unit;
    Subtree<Tick, kLinks> r;
    every(r, [&](const Tick* times, Tick* mine) JF_INLINE {
      for (int i = 0; i < kSubtree; ++i) mine[i] = times[first + i * unit];
    });
    act(r, costs, down);
    every(r, [&](Tick* times, const Tick* mine) JF_INLINE {
      for (int i = 0; i < kSubtree; ++i) times[first + i * unit] = mine[i];
    });
  }

  // Of first ranks next to each other, subtrees t, t + 1, ... of so many.
  __attribute__((noinline)) void neighbours(const MessageCost* costs, bool down, std::int64_t t,
                                            std::int64_t whole) const {
    const int many = subtrees_from(t, whole);
    Subtree<Lanes, kLinks> r;
    every(r, [&](const Tick* times, Lanes* mine) JF_INLINE { take(times, t, many, 0, mine); });
    act(r, costs, down);
    every(r, [&](Tick* times, Lanes* mine) JF_INLINE { give(times, t, many, mine); });
  }
  __attribute__((noinline)) void once_neighbours(const MessageCost* costs, std::int64_t t,
                                                 std::int64_t whole) const {
    const int many = subtrees_from(t, whole);
    Subtree<Lanes, kLinks> r;
    take(first_.busy, t, many, 0, r.busy);
    take(first_.next, t, many, 0, r.next);
    if constexpr (kLinks) take(first_.in, t, many, 0, r.in);
    r.climb_first(noise_, costs);
    give(first_.busy, t, many, r.busy);
    for (unsigned k = 0; k < static_cast<unsigned>(many); ++k) {
      const std::int64_t to = (t + k) * kSubtree;  // who goes on
      first_.next[to] = r.next[0][k];
      if constexpr (kLinks) first_.in[to] = r.in[0][k];
    }
  }
  __attribute__((noinline)) void idle_neighbours(const MessageCost* costs, std::int64_t t,
                                                 std::int64_t whole) const {
    const int many = subtrees_from(t, whole);
    const ULanes firsts = (ULanes)(earlier(lane_index(), broadcast(many - 1)) * kSubtree);
    const auto of_firsts = [&](const Tick* times) JF_INLINE {
      return (Lanes)gather(reinterpret_cast<const std::uint64_t*>(times + t * kSubtree), firsts);
    };
    Lanes start = of_firsts(first_.busy);
    if constexpr (kLinks) start = later(start, of_firsts(first_.out));
    Subtree<Lanes, kLinks> r;
    take(first_.next, t, many, INT64_MAX / 2, r.next);  // where there are none, there is no noise
    act_idle(r, costs, start);
    give(first_.busy, t, many, r.busy);
    give(first_.next, t, many, r.next);
  }
  static int subtrees_from(std::int64_t t, std::int64_t whole) {
    return static_cast<int>(std::min<std::int64_t>(whole - t, kLanes));
  }
  // From subtrees one after another to one a lane, and back, in place.
  JF_HD static void take(const Tick* times, std::int64_t t, int many, Tick where_none,
                         Lanes* mine) {
    for (int i = 0; i < kSubtree; ++i)
      mine[i] = i < many * kSubtree / kLanes ? load(times + t * kSubtree + i * kLanes)
                                             : broadcast(where_none);
    rotate<kLaneBits>(mine);
  }
  JF_HD static void give(Tick* times, std::int64_t t, int many, Lanes* mine) {
    rotate<kSubtreeSteps>(mine);
    for (int i = 0; i < many * kSubtree / kLanes; ++i)
      store(times + t * kSubtree + i * kLanes, mine[i]);
  }
  // What is at place x of these registers goes to where the bits of x are rotated so often: from
  // one subtree after another, to one a lane; or back.
  template <int kOften>
  JF_HD static void rotate(Lanes* r) {
    unrolled<kOften>([&](auto) JF_INLINE {
      constexpr int kHalf = kSubtree / 2;
      Lanes found[kSubtree];
      unrolled<kHalf>([&](auto i) JF_INLINE {
        const ULanes a = (ULanes)r[i], b = (ULanes)r[i + kHalf];
        found[2 * i] = (Lanes)interleave(a, b, 0);
        found[2 * i + 1] = (Lanes)interleave(a, b, kLanes / 2);
      });
      unrolled<kSubtree>([&](auto i) JF_INLINE { r[i] = found[i]; });
    });
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
    Subtree<Lanes, kLinks> r;
    every(r, [&](Tick* times, Lanes* mine) { each(times, mine, take); });
    act(r, costs, down);
    every(r, [&](Tick* times, Lanes* mine) { each(times, mine, give); });
  }

  const Noise& noise_;
  const MessageState& first_;
  const Rules lanes_;
  const bool idle_, once_;
};

}  // namespace
}  // namespace jf
