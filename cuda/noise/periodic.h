// Periodic CPU noise, fresh or stationary start: detours that stretch work, phases of ranks.
// On the CPU and the GPU. Rank i's CPU is busy in [phase_i + k P, phase_i + k P + D)
// (MS12 §3; CS14 §2).
#pragma once

#include "noise/interface.h"
#include "noise/node_size.h"

namespace jf {

// The noise state of a rank, `next`, is the start of the first interval that has not ended by its
// time. Steps move it with the rank's clock, so nearly no step needs a division.
struct Periodic {
  Tick period, duration;
  bool stationary;     // k runs over all integers, not only k >= 0
  NodeSize nodes;      // whose ranks share one phase
  const Tick* phases;  // given by the user, or null: drawn
  bool in_compute, in_communication;

  // --- The interface of CPU noise, see interface.h.

  template <class R>
  JF_HD Periodic bind(R, CursorOf<TimesOf<R>>*, SeedOf<R>) const {
    return *this;
  }
  template <class Seed, class R, class T>
  JF_HD T first(Seed seed, R realization, T ranks) const {
    return acts() ? first_of(phase(seed, realization, ranks))
                  : ranks - ranks + (kLatest - 1);  // a period more does not overflow
  }
  template <class T>
  JF_HD void seek(T& next, T t, bool) const {
    seek(next, t);
  }
  template <class T>
  JF_HD T step(StepRole role, std::uint64_t, T& next, T t, Tick w, T) const {
    return (role == kComputeRole ? in_compute : in_communication) ? advance(next, t, w) : t + w;
  }
  template <class T>
  JF_HD T step_at_own_speed(StepRole role, std::uint64_t draw, T& next, T t, Tick own, Tick other,
                            T ranks) const {
    return step(role, draw, next, t, own + other, ranks);
  }
  template <class T>
  JF_HD T communicate(T& next, T t, Tick w, T) const {
    return in_communication ? advance(next, t, w) : t + w;
  }

  // --- What it is made of.

  // Noise that no rank ever meets: code for periodic noise runs programs without noise, too.
  JF_HD static Periodic never() {
    return {kLatest, 0, false, NodeSize::of(1), nullptr, false, false};
  }
  JF_HD bool acts() const { return in_compute || in_communication; }

  JF_HD Tick phase(std::uint64_t seed, std::uint32_t realization, std::int64_t rank) const {
    if (phases != nullptr) return phases[rank];
    return scaled<Tick>(drawn_phase(seed, node_of(rank), realization));
  }
  JF_HD Tick phase(const PhiloxKeys& keys, std::uint32_t realization, std::int64_t rank) const {
    if (phases != nullptr) return phases[rank];
    return scaled<Tick>(only_uniform64(keys, kPhase, node_of(rank), realization));
  }

  // The phases of a register of ranks, or of one rank in a register of realizations.
  template <class Seed, class R, class T>
  JF_HD T phase(Seed seed, R realization, T ranks) const {
    if (phases != nullptr) {
      if constexpr (sizeof(R) == sizeof(T)) return ranks - ranks + phases[ranks[0]];
      T given = ranks;
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) given[k] = phases[ranks[k]];
      return given;
    }
    return scaled<T>(only_uniform64(seed, kPhase, nodes.of_rank(ranks), realization));
  }

  // Whether each rank draws a phase of its own: only_uniform64() of its number, scaled.
  JF_HD bool drawn_alone() const { return acts() && phases == nullptr && nodes.one_rank(); }
  template <class T, class U>
  JF_HD T scaled(U uniform) const {
    return (T)scale64(uniform, static_cast<std::uint64_t>(period));
  }

  // `next` at time 0. The interval before it has ended by then (D < P).
  template <class T>
  JF_HD T first_of(T phase) const {
    return stationary ? phase - period : phase;
  }

  // Moves `next` forwards or back to its value for time t. Before the first interval of a rank
  // there is none to go back to; to look for it would take the divisions of seek_far each time.
  JF_HD void seek(Tick& next, Tick t) const {
    const Tick past = t - duration - next;  // >= 0: the interval has ended
    const bool has_earlier = next >= (stationary ? 0 : period);
    if (past >= 0 || (past < -period && has_earlier))
      next = seek_far(next, past, period, stationary);
  }

  // The earliest e >= t such that [t, e) contains w of time without noise. `next` must not be later
  // than its value for t (see seek); afterwards it is that for e.
  JF_HD Tick advance(Tick& next, Tick t, Tick w) const {
    // Work that ends exactly where noise begins is not delayed.
    if (w == 0 || t + w <= next) return t + w;
    const Advanced after = advance_through_noise(next, t, w, period, duration);
    next = after.next;
    return after.end;
  }

  // The same without a division, for few intervals and times that are not negative: again and again
  // while `end` > `next`. `end` is the end of work > 0 without the noise from `next` on. Work that
  // began inside of the interval at `next` waits for its end; work that began before it, or was
  // interrupted by one before, takes `duration` longer; and an interval that ended in a wait
  // changes nothing. T may be unsigned; it has to hold `end`, and `next` + period while next < end.
  template <class T>
  JF_HD static void advance_over_next(T& next, T& end, T work, T period, T duration) {
    end = later<T>(end, earlier<T>(end - work, next) + (duration + work));
    next += period;
  }

  // The same for a register of ranks. Nearly always each rank meets at most the interval at `next`,
  // and there is no branch. Else that interval may have ended in a wait. Else rank by rank.
  template <class T>
  JF_HD T advance(T& next, T t, Tick w) const {
    if (w == 0) return t;
    T end = t;
    if (__builtin_expect(!advance_over_one(next, t, w, end), 0)) {
      T passed = skip_one(next, t);
      if (!advance_over_one(passed, t, w, end)) {
        T slow_next = next, slow_end = end;
        advance_each(*this, &slow_next, &slow_end, t, w);
        passed = slow_next;
        end = slow_end;
      }
      next = passed;
    }
    return end;
  }

  // `next`, or the interval after it if that has ended by t.
  template <class T>
  JF_HD T skip_one(T next, T t) const {
    return select(next <= t - duration, next + period, next);
  }

  template <class T>
  JF_HD void seek(T& next, T t) const {
    const T once = skip_one(next, t);
    // That has ended, too; or the interval before has not ended, and is not before the first.
    const T before_ends_after = once - (period - duration) - t;
    const T not_the_first = once - (stationary ? -1 : period - 1);
    if (__builtin_expect(
            any_greater(t, once + (duration - 1), earlier(before_ends_after, not_the_first), T{}),
            0)) {
      T moved = next;
      seek_each(*this, &moved, t);
      next = moved;
    } else {
      next = once;
    }
  }

 private:
  JF_HD_RARE static std::uint64_t drawn_phase(std::uint64_t seed, std::uint32_t node,
                                              std::uint32_t realization) {
    return only_uniform64(seed, kPhase, node, realization);
  }

  struct Advanced {
    Tick next, end;
  };
  // advance, where the work may meet an interval.
  JF_HD_RARE static Advanced advance_through_noise(Tick next, Tick t, Tick w, Tick period,
                                                   Tick duration) {
    if (next + duration <= t) next = skip_ended(next, t - duration - next, period);
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
  // seek, where `next` has to move: beyond an interval that ended `past` ago, or back.
  JF_HD_RARE static Tick seek_far(Tick next, Tick past, Tick period, bool stationary) {
    if (past >= 0) return skip_ended(next, past, period);
    // Not before the first interval: next = phase + k P, so k follows from next / P.
    const Tick floor = stationary ? -period : 0;
    const Tick first = next % period + (next % period < 0 ? period : 0) + floor;
    const Tick back = (-past - 1) / period * period;
    return later(next - back, first);
  }

  JF_HD std::uint32_t node_of(std::int64_t rank) const {
    return static_cast<std::uint32_t>(nodes.of_rank(rank));
  }
  // `next` moved beyond an interval that ended `past` ago. Rarely another one has ended since.
  JF_HD static Tick skip_ended(Tick next, Tick past, Tick period) {
    return next + period + (past >= period ? past / period * period : 0);
  }

  // advance, if no rank meets another interval than that at `next`; else false, `next` unchanged.
  template <class T>
  JF_HD bool advance_over_one(T& next, T t, Tick w, T& end) const {
    const T quiet = t + w;
    const auto hit = quiet > next;
    const T moved = select(hit, earlier(t, next) + (w + duration), quiet);
    const T after = select(hit, next + period, next);
    const bool one = !any_greater(moved, after, t, next + (duration - 1));
    end = moved;
    if (__builtin_expect(one, 1)) next = after;
    return one;
  }

  // Not inlined, and called with copies: else the common path would keep its registers in memory.
  template <class T>
  __attribute__((noinline)) static void seek_each(const Periodic& noise, T* next, T t) {
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) {
      Tick n = (*next)[k];
      noise.seek(n, Tick{t[k]});
      (*next)[k] = n;
    }
  }

  template <class T>
  __attribute__((noinline)) static void advance_each(const Periodic& noise, T* next, T* end, T t,
                                                     Tick w) {
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) {
      Tick n = (*next)[k];
      (*end)[k] = noise.advance(n, Tick{t[k]}, w);
      (*next)[k] = n;
    }
  }
};

}  // namespace jf
