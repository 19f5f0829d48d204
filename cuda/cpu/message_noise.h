// The noise of ranks at time 0.
#pragma once

#include "message_lanes.h"

namespace jf {
namespace {

// Whose noise may matter to ranks that work from one time to another, told from the high half of
// what its phase is drawn from: of those in [begin(), end()), around 2^32; very rarely of others.
struct PhaseWindow {
  static constexpr Tick kLatest = Tick{1} << 40;  // for times up to there

  PhaseWindow() = default;
  explicit PhaseWindow(const Periodic& noise)
      : scale((std::uint64_t{1} << 63) / static_cast<std::uint64_t>(noise.period)),
        period(noise.period),
        duration(noise.duration),
        floor(noise.stationary ? -noise.duration : 0) {}

  // Of times, which may be more than a period: products around 2^64, of which the low halves of
  // what is found are left. The scale makes up to t / 2^31 of a time too little, and the shift up
  // to 1. What had ended by the first time does not matter.
  JF_HD ULanes begin(Lanes from) const {
    return (ULanes)later(from - duration, broadcast(floor)) * scale >> 31;
  }
  JF_HD ULanes end(Lanes to) const { return ((ULanes)to * (scale + 1) >> 31) + 1; }
  // Whether that are all, if so much time lies between.
  bool all(Tick span) const { return span + duration >= period - (period >> 16) - 1; }

  std::uint64_t scale = 0;
  Tick period = 0, duration = 0, floor = 0;
};

template <class Noise>
struct FirstNoise {
  static constexpr bool kPeriodic = std::is_same_v<Noise, Periodic>;

  FirstNoise(const ProgramView& p, const Noise& noise, std::uint32_t realization)
      : p(p), noise(noise), realization(realization), keys(p.seed) {}

  // Of ranks of [from, to), full registers; `from` is even.
  void draw(std::int64_t from, std::int64_t to, Tick* next) const {
    std::int64_t x = from;
    if constexpr (kPeriodic) {
      constexpr int kRegisters = 8;
      for (; noise.drawn_alone() && x + kRegisters * kLanes <= to; x += kRegisters * kLanes) {
        Lanes phases[kRegisters];
        only_scaled64<kRegisters / 2>(keys, common, x, period(), phases);
        unrolled<kRegisters>([&](auto k)
                                 JF_INLINE { store(next + x + k * kLanes, at_start(phases[k])); });
      }
    }
    if constexpr (!std::is_same_v<Noise, NoNoise>)
      for (; x < to; x += kLanes) store(next + x, first(broadcast(x) + lane_index()));
  }

  // Of ranks `id`, `id` + 1, ..., even ones first.
  JF_HD void draw(Lanes id, Lanes (&next)[kSubtree]) const {
    if (alone()) {
      constexpr int kPairs = kSubtree / 2;
      Lanes pairs[kPairs];
      Pair<Lanes> phases[kPairs];
      unrolled<kPairs>([&](auto k) JF_INLINE { pairs[k] = (id >> 1) + k(); });
      only_scaled_pairs(keys, common, pairs, period(), phases);
      unrolled<kPairs>([&](auto k) JF_INLINE {
        next[2 * k] = at_start(phases[k].even);
        next[2 * k + 1] = at_start(phases[k].odd);
      });
    } else {
      for (int k = 0; k < kSubtree; ++k) next[k] = given(id + k);
    }
  }

  // Whether draw_high() tells anything.
  bool alone() const { return noise.drawn_alone(); }

  // Of the ranks of kLanes blocks, of which the first ones are `id`: words[x * kLanes ...] is of
  // those at x. Of first ranks of subtrees their noise, of the others the high halves of what is
  // drawn; more is not needed of nearly all.
  __attribute__((noinline)) void draw_high(Lanes id, Tick* words) const {
    constexpr int kPairs = kSubtree / 2;
    for (int x = 0; x < kBlock; x += kSubtree, id += kSubtree, words += kSubtree * kLanes) {
      if (!alone()) {
        store(words, given(id));
        continue;
      }
      Lanes pairs[kPairs];
      WordLanes r[kPairs];
      unrolled<kPairs>([&](auto k) JF_INLINE { pairs[k] = (id >> 1) + k(); });
      philox4x32_10(keys, common, pairs, r);
      const ULanes first = (r[0].w[0] & 0xffffffffu) | r[0].w[1] << 32;
      store(words, at_start(noise.template scaled<Lanes>(first)));
      unrolled<kPairs>([&](auto k) JF_INLINE {
        if (k > 0) store(words + 2 * k * kLanes, (Lanes)r[k].w[1]);
        store(words + (2 * k + 1) * kLanes, (Lanes)r[k].w[3]);
      });
    }
  }

  // Of even ranks.
  JF_HD Lanes draw_even(Lanes id) const {
    if (!alone()) return given(id);
    const auto u = uniform_pair(keys, kPhase, 0, id >> 1, realization);
    return at_start(noise.template scaled<Lanes>(u.even));
  }

 private:
  std::uint64_t period() const { return static_cast<std::uint64_t>(noise.period); }

  Lanes first(Lanes id) const {
    Lanes next = begin_noise(noise, p.seed, realization, id);
    if constexpr (kPeriodic)
      if (noise.stationary) noise.seek(next, Lanes{});
    return next;
  }
  // Given ones are there for no more ranks than there are.
  Lanes given(Lanes id) const { return first(earlier(id, broadcast(p.ranks - 1))); }
  // The same of phases.
  JF_HD Lanes at_start(Lanes phase) const {
    if (__builtin_expect(!noise.stationary, 1)) return phase;  // as noise.first() has it
    Lanes next = noise.first(phase);
    noise.seek(next, Lanes{});
    return next;
  }

  const ProgramView& p;
  const Noise noise;
  const std::uint32_t realization;
  const RoundKeys keys;
  const FirstRounds common{keys, kPhase, 0, realization};
};

}  // namespace
}  // namespace jf
