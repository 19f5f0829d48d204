// Which turns in a row can be done at once (message_rounds.h), and how.
#pragma once

#include "message_rounds.h"

namespace jf {
namespace {

// Turns in a row in which the same ranks send and receive.
template <class Rule>
struct Turns {
  static constexpr int kMost = 63;  // so many threes

  int count = 0;
  bool more = false;  // a message follows after the last, by rules[count]
  const Step* steps[kMost];
  Rule rules[kMost + 1];

  void add(const Step& step, const Rule& rule) {
    steps[count] = &step;
    rules[count++] = rule;
  }
  void end_with(const Rule& rule) {
    rules[count] = rule;
    more = true;
  }
  bool sends_after(int k) const { return k + 1 < count || more; }
};

template <class Noise, class Network, bool kLinks>
struct MessageFused {
  using Rules = MessageLanes<Noise, Network, kLinks>;
  using Rule = typename Rules::Rule;

  const Rules& lanes;
  const ProgramView& p;
  const std::int64_t size;  // of all ranks, in full registers
  const Turns<Rule>& turns;
  Tick* const times;         // in place
  const std::int64_t x, to;  // ranks at hand: partners of an xor are among them

  // Does as many turns from k on, before `end`, as there is a way for; returns how many.
  int run(int k, int end) const {
    if constexpr (kFused<Noise, Network>) {
      if (end - k >= 3 && fuse<3>(k)) return 3;
      if (end - k >= 2 && fuse<2>(k)) return 2;
    }
    return 0;
  }

 private:
  template <int kCount>
  bool fuse(int k) const {
    const std::int32_t map = turns.steps[k]->map;
    for (int i = 1; i < kCount; ++i)
      if (turns.steps[k + i]->map != map) return false;
    return map == kXor ? exchange<kCount>(k) : shift<kCount>(k);
  }

  // Calls f with the turns as what can do them.
  template <int kCount, class F>
  bool with_rounds(int k, F&& f) const {
    const Rule* rules = turns.rules + k;
    if (turns.sends_after(k + kCount - 1))
      f(MessageRounds<Noise, Network, kLinks, kCount, true>(lanes, times, rules));
    else
      f(MessageRounds<Noise, Network, kLinks, kCount, false>(lanes, times, rules));
    return true;
  }

  // Whether is(i) is the distance of turn k + i, for all of them.
  template <int kCount, class Distance, class Is>
  bool all(int k, Distance&& distance, Is&& is) const {
    for (int i = 0; i < kCount; ++i)
      if (distance(*turns.steps[k + i]) != is(i)) return false;
    return true;
  }

  template <int kCount>
  bool exchange(int k) const {
    const auto mask = [](const Step& s) { return std::int64_t{s.a}; };
    const std::int64_t first = turns.steps[k]->a, last = turns.steps[k + kCount - 1]->a;
    if constexpr (kCount == kLaneBits) {
      if (all<kCount>(k, [](const Step& s) { return s.a < kLanes; }, [](int) { return true; })) {
        OfMasks<kCount> masks;
        for (int i = 0; i < kCount; ++i) masks.order[i] = lane_index() ^ turns.steps[k + i]->a;
        return with_rounds<kCount>(k, [&](const auto& rounds) { rounds.alone(masks, x, to); });
      }
    }
    if (std::min(first, last) < kLanes || (first & (first - 1)) != 0) return false;
    if (all<kCount>(k, mask, [&](int i) { return first << i; }))
      return with_rounds<kCount>(
          k, [&](const auto& r) { r.template blocks<BlockMap::kXorUp>(first, x, to); });
    if (all<kCount>(k, mask, [&](int i) { return first >> i; }))
      return with_rounds<kCount>(
          k, [&](const auto& r) { r.template blocks<BlockMap::kXorDown>(last, x, to); });
    return false;
  }

  // By a, 2 a, 4 a up or down, or always to the neighbour.
  template <int kCount>
  bool shift(int k) const {
    const auto up = [](const Step& s) { return std::int64_t{s.a}; };
    const auto down = [&](const Step& s) { return p.ranks - s.a; };
    const std::int64_t a = up(*turns.steps[k]), b = down(*turns.steps[k]);
    if (all<kCount>(k, up, [&](int i) { return a << i; })) return shift_by<kCount, false>(k, a);
    if (all<kCount>(k, down, [&](int i) { return b << i; })) return shift_by<kCount, true>(k, b);
    if constexpr (kCount <= kLanes) {
      if (all<kCount>(k, up, [](int) { return 1; })) return shift_lanes<kCount, false, true>(k);
    }
    return false;
  }
  template <int kCount, bool kDown, bool kRing>
  bool shift_lanes(int k) const {
    if (p.ranks < kLanes || (kDown && p.ranks != size)) return false;
    return with_rounds<kCount>(k, [&](const auto& rounds) {
      rounds.template around<OfLanes<kCount, kDown, kRing>>(kLanes, kDown ? size - kLanes : 0,
                                                            kDown ? -kLanes : kLanes, size / kLanes,
                                                            kDown ? 0 : p.ranks - kLanes);
    });
  }
  template <int kCount, bool kDown>
  bool shift_by(int k, std::int64_t a) const {
    constexpr std::int64_t kMask = kLanes - 1;
    const std::int64_t rows = p.ranks / a;
    if constexpr (kCount == kLaneBits) {
      if (a == 1) return shift_lanes<kCount, kDown, false>(k);
    }
    if ((a & kMask) != 0 || rows * a != p.ranks) return false;
    return with_rounds<kCount>(k, [&](const auto& rounds) {
      constexpr BlockMap map = kDown ? BlockMap::kShiftDown : BlockMap::kShiftUp;
      if (rows == 1 << kCount)
        rounds.template blocks<map>(a, 0, p.ranks);
      else
        rounds.template around<OfRows<kCount>>(a, kDown ? p.ranks - a : 0, kDown ? -a : a, rows, 0);
    });
  }
};

}  // namespace
}  // namespace jf
