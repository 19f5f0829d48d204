// The noise of ranks at time 0.
#pragma once

#include "message_lanes.h"
#include "message_window.h"
#include "simd_rank_rounds.h"

namespace jf {
namespace {

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
      WordLanes r[kPairs];
      unrolled<kPairs>([&](auto k) JF_INLINE { pairs[k] = (id >> 1) + k(); });
      philox4x32_10(keys, common, pairs, r);
      by_kind([&](auto kind) JF_INLINE {
        unrolled<kPairs>([&](auto k) JF_INLINE {
          const Pair<Lanes> phases = scaled_pair(r[k], ULanes{} + period(), kind.is_short);
          next[2 * k] = at_start<kind.fresh>(phases.even);
          next[2 * k + 1] = at_start<kind.fresh>(phases.odd);
        });
      });
    } else {
      for (int k = 0; k < kSubtree; ++k) next[k] = given(id + k);
    }
  }

  // Whether draw_high() tells anything.
  bool alone() const { return noise.drawn_alone(); }

  // Of the ranks of kLanes blocks, of which the first ones are `id`: for each of their subtrees the
  // noise of its first rank, and the highest quarters of what is drawn for all, four ranks a
  // register; more is not needed of nearly all.
  __attribute__((noinline)) void draw_high(Lanes id, const RankRounds* ranks, Tick* words) const {
    if (!alone()) {
      for (int x = 0; x < kBlock; x += kSubtree, words += kHigh * kLanes)
        store(words, given(id + x));
      return;
    }
    by_kind([&](auto kind) JF_INLINE { draw_high<decltype(kind)>(ranks, words); });
  }
  // All of it, of those ranks: register k at next + k * kLanes.
  __attribute__((noinline)) void draw_all(Lanes id, const RankRounds* ranks, Tick* next) const {
    if (!alone()) {
      for (int x = 0; x < kBlock; ++x) store(next + x * kLanes, given(id + x));
      return;
    }
    by_kind([&](auto kind) JF_INLINE { draw_all<decltype(kind)>(ranks, next); });
  }
  // What draws of them begin with, in every realization: two ranks a register.
  void begin_ranks(Lanes id, RankRounds* ranks) const {
    for (int x = 0; x < kBlock; x += 2) *ranks++ = RankRounds::of(keys, common, (id + x) >> 1);
  }
  static constexpr int kHigh = 1 + kSubtree / 4;  // registers for a subtree
  // Of the first four of them, or of the others: even ones are the first two quarters of a lane.
  JF_HD static Quarters high(const Tick* words, int four) {
    return (Quarters)load(words + (1 + four) * kLanes);
  }

  // Of even ranks, `away` from each other: so many registers.
  template <int kMany>
  JF_HD void draw_even(Lanes id, int away, Lanes (&next)[kMany]) const {
    if (alone()) {
      Lanes pairs[kMany];
      WordLanes r[kMany];
      unrolled<kMany>([&](auto k) JF_INLINE { pairs[k] = (id + k * away) >> 1; });
      philox4x32_10(keys, common, pairs, r);
      scale_even(r, next);
    } else {
      for (int k = 0; k < kMany; ++k) next[k] = given(id + k * away);
    }
  }
  // The same where it is known what their draws begin with.
  void draw_even(const RankRounds* const (&ranks)[kMostBlocks], Lanes (&next)[kMostBlocks]) const {
    WordLanes r[kMostBlocks];
    philox_of_ranks(
        keys, common, [&](int i) JF_INLINE -> const RankRounds& { return *ranks[i]; }, r);
    scale_even(r, next);
  }

 private:
  std::uint64_t period() const { return static_cast<std::uint64_t>(noise.period); }

  // Of phases: whether all are below 2^32, and are where noise is at time 0.
  template <bool kShort, bool kFresh>
  struct Kind {
    static constexpr bool is_short = kShort, fresh = kFresh;
  };
  // Calls f with their kind. Beforehand: a branch for each register would have all that are drawn
  // at once written to memory and back.
  template <class F>
  JF_HD void by_kind(F&& f) const {
    if (period() >> 32 != 0)
      f(Kind<false, false>());
    else if (noise.stationary)
      f(Kind<true, false>());
    else
      f(Kind<true, true>());
  }

  template <int n>
  JF_HD void scale_even(const WordLanes (&words)[n], Lanes (&next)[n]) const {
    by_kind([&](auto kind) JF_INLINE {
      unrolled<n>([&](auto k) JF_INLINE {
        next[k] = at_start<kind.fresh>(scaled_even(words[k], ULanes{} + period(), kind.is_short));
      });
    });
  }
  template <class K>
  JF_HD void draw_high(const RankRounds* ranks, Tick* words) const {
    constexpr int kPairs = kSubtree / 2, kAtOnce = kMostBlocks / kPairs;
    static_assert(kMostBlocks % kPairs == 0);
    const ULanes ranges = ULanes{} + period();
    for (int x = 0; x < kBlock; x += kAtOnce * kSubtree, ranks += kMostBlocks) {
      WordLanes r[kMostBlocks];
      philox_of_ranks(keys, common, ranks, r);
      unrolled<kAtOnce>([&](auto s) JF_INLINE {
        constexpr int first = s * kPairs;
        const Lanes phase = scaled_even(r[first], ranges, K::is_short);
        store(words, at_start<K::fresh>(phase));
        const auto high = [&](int k) JF_INLINE {
          return low_halves(r[first + k].w[1], r[first + k].w[3]);
        };
        unrolled<kPairs / 2>([&](auto k) JF_INLINE {
          store(words + (1 + k) * kLanes, (Lanes)high_quarters(high(2 * k), high(2 * k + 1)));
        });
        words += kHigh * kLanes;
      });
    }
  }

  template <class K>
  JF_HD void draw_all(const RankRounds* ranks, Tick* next) const {
    const ULanes ranges = ULanes{} + period();
    for (int x = 0; x < kBlock; x += 2 * kMostBlocks, ranks += kMostBlocks) {
      WordLanes r[kMostBlocks];
      philox_of_ranks(keys, common, ranks, r);
      unrolled<kMostBlocks>([&](auto k) JF_INLINE {
        const Pair<Lanes> pair = scaled_pair(r[k], ranges, K::is_short);
        store(next, at_start<K::fresh>(pair.even));
        store(next + kLanes, at_start<K::fresh>(pair.odd));
        next += 2 * kLanes;
      });
    }
  }

  Lanes first(Lanes id) const {
    Lanes next = begin_noise(noise, p.seed, realization, id);
    if constexpr (kPeriodic)
      if (noise.stationary) noise.seek(next, Lanes{});
    return next;
  }
  // Given ones are there for no more ranks than there are.
  Lanes given(Lanes id) const { return first(earlier(id, broadcast(p.ranks - 1))); }
  // The same of phases.
  template <bool kFresh = false>
  JF_HD Lanes at_start(Lanes phase) const {
    if (kFresh || __builtin_expect(!noise.stationary, 1)) return phase;  // as noise.first() has it
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
