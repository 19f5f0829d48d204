// Periodic noise: rank i's CPU is busy in [phase_i + k P, phase_i + k P + D) (MS12 §3; CS14 §2).
#pragma once

#include "core/philox.h"

namespace jf {

// What a rank carries along as `next` is the start of the first interval that has not ended by its
// time. Steps move it with the rank's clock, so nearly no step has to divide.
struct Periodic {
  Tick period, duration;
  bool stationary;          // k runs over all integers, not only k >= 0
  std::int64_t node_ranks;  // ranks that share one phase
  const Tick* phases;       // given by the user, or null: drawn
  bool in_compute, in_communication;

  JF_HD Tick phase(std::uint64_t seed, std::uint32_t realization, std::int64_t rank) const {
    if (phases != nullptr) return phases[rank];
    return scaled<Tick>(drawn_phase(seed, node_of(rank), realization));
  }
  JF_HD Tick phase(const PhiloxKeys& keys, std::uint32_t realization, std::int64_t rank) const {
    if (phases != nullptr) return phases[rank];
    return scaled<Tick>(only_uniform64(keys, kPhase, node_of(rank), realization));
  }

  // Of a register of ranks, or of a rank in a register of realizations.
  template <class Seed, class R, class T>
  JF_HD T phase(Seed seed, R realization, T ranks) const {
    T drawn = ranks;
    if constexpr (sizeof(R) == sizeof(T)) {
      if (phases != nullptr) return ranks - ranks + phases[ranks[0]];
      drawn = ranks - ranks + static_cast<Tick>(node_of(ranks[0]));
      return scaled<T>(only_uniform64(seed, kPhase, drawn, realization));
    } else {
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
        drawn[k] = phase(seed, realization, std::int64_t{ranks[k]});
      return drawn;
    }
  }

  // Whether the phase of each rank is a draw of its own, scaled.
  JF_HD bool drawn_alone() const { return phases == nullptr && node_ranks == 1; }
  template <class T, class U>
  JF_HD T scaled(U uniform) const {
    return (T)scale64(uniform, static_cast<std::uint64_t>(period));
  }

  // The interval that a rank looks at from time 0. The one before it has ended by then (D < P).
  template <class T>
  JF_HD T first(T phase) const {
    return stationary ? phase - period : phase;
  }

  // Moves `next` to where it has to be at time t, whichever way that is.
  JF_HD void seek(Tick& next, Tick t) const {
    const Tick past = t - duration - next;  // >= 0: the interval has ended
    if (past >= 0 || past < -period) next = seek_far(next, past, period, stationary);
  }

  // The earliest e >= t such that [t, e) holds w of time without noise. `next` must not lie beyond
  // the interval that t needs (see seek); afterwards it is right for e.
  JF_HD Tick advance(Tick& next, Tick t, Tick w) const {
    // Work that ends exactly where noise begins is not delayed.
    if (w == 0 || t + w <= next) return t + w;
    const Met met = meet(next, t, w, period, duration);
    next = met.next;
    return met.end;
  }

  // The same for work > 0 that would have been done at `end`, which lies after `next`, had there
  // been no noise: without a division, for few intervals and times that are not negative. T may be
  // unsigned, and only has to hold `end`, and `next` + period while next <= end.
  template <class T>
  JF_HD static void advance_over_few(T& next, T& end, T work, T period, T duration) {
    const T begin = end - work;
    const T over = later<T>(begin + 1, duration) - duration;  // intervals before have ended by then
    while (next < over) next += period;
    if (end <= next) return;
    end = earlier(begin, next) + (work + duration);
    next += period;
    while (end > next) {
      end += duration;
      next += period;
    }
  }

  // The same for a register of ranks. Nearly always each rank meets at most the next interval, and
  // there is no branch; else the interval may just have passed in a wait; else rank by rank.
  template <class T>
  JF_HD T advance(T& next, T t, Tick w) const {
    if (w == 0) return t;
    T end = t;
    if (__builtin_expect(!meet_one(next, t, w, end), 0)) {
      T passed = after_one(next, t);
      if (!meet_one(passed, t, w, end)) {
        T slow_next = next, slow_end = end;
        one_by_one(*this, &slow_next, &slow_end, t, w);
        passed = slow_next;
        end = slow_end;
      }
      next = passed;
    }
    return end;
  }

  // `next`, or the interval after it if that has ended by t.
  template <class T>
  JF_HD T after_one(T next, T t) const {
    return select(next <= t - duration, next + period, next);
  }

  template <class T>
  JF_HD void seek(T& next, T t) const {
    const T once = after_one(next, t);
    // Not ended yet either; or back to the one before, if that is not before the first.
    const T before_ends_after = once - (period - duration) - t;
    const T not_the_first = once - (stationary ? -1 : period - 1);
    if (__builtin_expect(
            any_greater(t, once + (duration - 1), earlier(before_ends_after, not_the_first), T{}),
            0)) {
      T found = next;
      seek_each(*this, &found, t);
      next = found;
    } else {
      next = once;
    }
  }

 private:
  JF_HD_RARE static std::uint64_t drawn_phase(std::uint64_t seed, std::uint32_t node,
                                              std::uint32_t realization) {
    return only_uniform64(seed, kPhase, node, realization);
  }

  struct Met {
    Tick next, end;
  };
  // advance where there may be noise.
  JF_HD_RARE static Met meet(Tick next, Tick t, Tick w, Tick period, Tick duration) {
    if (next + duration <= t) next = left(next, t - duration - next, period);
    if (t + w <= next) return {next, t + w};
    // Begun before the interval, the work is interrupted by it; begun inside, it waits for its end.
    Tick end = earlier(t, next) + w + duration;
    next += period;
    if (end > next) {
      const Tick hits = (end - next - 1) / (period - duration) + 1;
      end += hits * duration;
      next += hits * period;
    }
    return {next, end};
  }
  // seek where `next` has to move: to after an interval that ended `past` ago, or back.
  JF_HD_RARE static Tick seek_far(Tick next, Tick past, Tick period, bool stationary) {
    if (past >= 0) return left(next, past, period);
    // Not before the first interval: next = phase + k P, so next / P tells k.
    const Tick floor = stationary ? -period : 0;
    const Tick first = next % period + (next % period < 0 ? period : 0) + floor;
    const Tick back = (-past - 1) / period * period;
    return later(next - back, first);
  }

  JF_HD std::uint32_t node_of(std::int64_t rank) const {
    return static_cast<std::uint32_t>(node_ranks == 1 ? rank : rank / node_ranks);
  }
  // `next` after an interval that ended `past` ago. Rarely has another one ended since, so rarely
  // does anything have to be divided.
  JF_HD static Tick left(Tick next, Tick past, Tick period) {
    return next + period + (past >= period ? past / period * period : 0);
  }

  // advance if no rank meets another interval than `next`; else false, and `next` as it was.
  template <class T>
  JF_HD bool meet_one(T& next, T t, Tick w, T& end) const {
    const T quiet = t + w;
    const auto hit = quiet > next;
    const T moved = select(hit, earlier(t, next) + (w + duration), quiet);
    const T after = select(hit, next + period, next);
    const bool one = !any_greater(moved, after, t, next + (duration - 1));
    end = moved;
    if (__builtin_expect(one, 1)) next = after;
    return one;
  }

  // Not inlined, and only given copies: else the common path would keep its registers in memory.
  template <class T>
  __attribute__((noinline)) static void seek_each(const Periodic& noise, T* next, T t) {
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) {
      Tick n = (*next)[k];
      noise.seek(n, Tick{t[k]});
      (*next)[k] = n;
    }
  }

  template <class T>
  __attribute__((noinline)) static void one_by_one(const Periodic& noise, T* next, T* end, T t,
                                                   Tick w) {
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) {
      Tick n = (*next)[k];
      (*end)[k] = noise.advance(n, Tick{t[k]}, w);
      (*next)[k] = n;
    }
  }
};

}  // namespace jf
