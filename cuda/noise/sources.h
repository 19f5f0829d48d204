// Any list of noise sources at once: the union of intervals where they overlap; sums of delays.
// They stand behind the interfaces of interface.h, as one noise of the CPU and one of the network.
// One periodic source alone has its own, faster path (periodic.h).
//
// A new kind of interval goes into intervals.h. CONTRIBUTING.md lists what else a new source needs.
#pragma once

#include <type_traits>

#include "noise/link_loads.h"
#include "noise/rank_speed.h"
#include "noise/step_delay.h"
#include "noise/walk.h"

namespace jf {

// The `next` that a rank carries along is a bound: no interval of any source, whichever phase it
// acts in, lasts between the time it was made for and `next`. Steps that end before it look at
// nothing else; all others ask the cursors of their rank, one for each source of intervals.
struct SourceList {
  static constexpr bool general = true, in_compute = true, in_communication = true;

  std::int32_t interval_count, step_count, speed_count;
  std::int32_t roles, windows;  // bit r: there are step delays in role r, and such with a window
  const IntervalSource* intervals;
  const StepDelay* steps;
  const RankSpeed* speeds;
  const std::uint64_t* words;
  // More work than this may last many periods of a source. 0: one replays a recording; kNever: no
  // source can be skipped.
  Tick long_work;
  // The delays of communication without a window are drawn before the step (cpu/drawn_delays.h),
  // and added there.
  bool drawn_beforehand;
};

// Whether a type of noise is any list of sources, not one fast source.
template <class Noise>
constexpr bool is_general = requires { Noise::general; };

// From so many periods on, dividing is quicker than going through them.
constexpr Tick kManyPeriods = 8;

// Ignores which source holds the CPU.
struct IgnoreSource {
  JF_HD void operator()(std::int32_t, Tick, Tick) const {}
};

// A time, and the work that is left.
template <class T>
struct Skipped {
  T t, w;
};
// Devices walk through recordings: a search would take a third more instructions of each round, as
// its registers are saved there, also where nothing is met.
#if defined(__CUDA_ARCH__)
inline constexpr bool kSkipRecordings = false;
#else
inline constexpr bool kSkipRecordings = true;
#endif
template <class R>
struct SourcesOf;
template <class T, class Mask, class R, class Rank>
JF_HD_COLD Skipped<T> skip_intervals(const SourcesOf<R>& s, std::int32_t source, CursorOf<T>* c,
                                     Mask which, Rank rank, T t, T w, T others);

// R: std::uint32_t, the number of the realization at hand; or a register of realizations, in whose
// lanes the same rank is.
template <class R>
struct SourcesOf : SourceList {
  using Cursor = CursorOf<TimesOf<R>>;

  R realization;
  SeedOf<R> keys;
  // [rank >> rank_shift][source]; from those of an entry to those of the next one.
  Cursor* cursors;
  std::int64_t cursors_per_rank;
  std::int32_t rank_shift;

  template <class Other>
  JF_HD SourcesOf<Other> bind(Other to, typename SourcesOf<Other>::Cursor* with,
                              SeedOf<Other> drawn_with) const {
    SourcesOf<Other> s;
    static_cast<SourceList&>(s) = *this;
    s.realization = to;
    s.keys = drawn_with;
    s.cursors = with;
    s.cursors_per_rank = interval_count;
    s.rank_shift = 0;
    return s;
  }

  JF_HD Cursor* cursors_of(Tick rank) const {
    return cursors + (rank >> rank_shift) * cursors_per_rank;
  }

  // --- The interface of CPU noise, see interface.h; the seed and the realization are bound.

  template <class Seed, class T>
  JF_HD T first(Seed, R, T ranks) const;
  template <class T>
  JF_HD void seek(T& next, T, bool back) const {
    if (back) next = next - next + INT64_MIN;
  }
  template <class T>
  JF_HD T step(StepRole role, std::uint64_t draw, T& next, T t, Tick w, T ranks) const {
    return step(role, draw, next, t, t - t + w, w == 0, ranks);
  }
  // For work that differs from lane to lane. `none`: there is no work, and so no step.
  template <class T>
  JF_HD T step(StepRole role, std::uint64_t draw, T& next, T t, T w, bool none, T ranks) const;

  template <class T>
  JF_HD T step_at_own_speed(StepRole role, std::uint64_t draw, T& next, T t, Tick own, Tick other,
                            T ranks) const;
  template <class T>
  JF_HD T communicate(T& next, T t, Tick w, T ranks) const {
    return advance(next, t, t - t + w, ranks, false);
  }

  // The same for work that has no delays of its own, in any phase.
  template <class T>
  JF_HD T advance(T& next, T t, T w, T ranks, bool compute) const;

  // --- What it is made of.

  // The interval of source j that is there at t or comes next. Of one that is on and off by turns
  // what of its intervals lies in those of the source behind it, in which it is on.
  JF_HD IntervalSource::Interval<Tick> interval_of(std::int32_t j, Cursor* mine, Tick t,
                                                   Tick rank) const {
    const bool in_bursts = intervals[j].in_bursts;
    IntervalSource::Interval<Tick> on{INT64_MIN, kNever}, found{kNever, kNever};
    // The source of bursts first, then the source itself: in a loop, so that a kernel has the code
    // of an interval once.
    for (std::int32_t k = j + in_bursts;; --k) {
      found = intervals[k].at(mine[k], later(t, on.begin), keys, realization, rank, words);
      if (k == j) break;
      on = found;
      if (on.begin >= kLatest) return {kNever, kNever};
    }
    if (!in_bursts) return found;
    // Without an end at found.begin, the next time on would be looked for here: for ever, where the
    // source is as regular as its bursts and meets none of them.
    if (found.begin >= on.end) return {found.begin, found.begin};
    return {later(found.begin, on.begin), earlier(found.end, on.end)};
  }
  // The same in a register of realizations, of those lanes that `which` has. Rank: Tick, or
  // EachRank.
  template <class T, class Rank>
  JF_HD IntervalSource::Interval<T> interval_of(std::int32_t j, Cursor* mine, T which, T t,
                                                Rank rank) const {
    if (!intervals[j].in_bursts)
      return intervals[j].at(mine[j], which, t, keys, realization, rank, words);
    const T never = T{} + kNever;
    const auto on = intervals[j + 1].at(mine[j + 1], which, t, keys, realization, rank, words);
    which &= on.begin < kLatest;
    const auto found = intervals[j].at(mine[j], which, select(which, later(t, on.begin), t), keys,
                                       realization, rank, words);
    const T meets = which & (found.begin < on.end);
    const T begin = select(meets, later(found.begin, on.begin), found.begin);
    const T end = select(meets, earlier(found.end, on.end), found.begin);
    return {select(which, begin, never), select(which, end, never)};
  }

  // The interval of the union that is there at t or comes next, as far as one source makes it;
  // `source`: which one. `others`: when the next one of another source begins. `bound` is set for
  // all sources, also for those that do not act now. `mine`: the cursors of the rank.
  JF_HD IntervalSource::Interval<Tick> meets(Cursor* mine, Tick t, Tick rank, bool compute,
                                             Tick& bound, std::int32_t& source,
                                             Tick& others) const {
    IntervalSource::Interval<Tick> soonest{kNever, kNever};
    bound = others = kNever;
    for (std::int32_t j = 0; j < interval_count && t < kLatest; ++j) {
      if (intervals[j].tells_bursts) continue;
      const auto found = interval_of(j, mine, t, rank);
      bound = earlier(bound, found.begin);
      if (!intervals[j].acts(compute)) continue;
      others = earlier(others, later(found.begin, soonest.begin));
      if (found.begin >= soonest.begin) continue;
      soonest = found;
      source = j;
    }
    return soonest;
  }
  // The same in a register of realizations, of those lanes that `which` has.
  template <class T, class Rank>
  JF_HD IntervalSource::Interval<T> meets(Cursor* mine, T which, T t, Rank rank, bool compute,
                                          T& bound, T& source, T& others) const {
    IntervalSource::Interval<T> soonest{T{} + kNever, T{} + kNever};
    bound = others = T{} + kNever;
    which &= t < kLatest;
    for (std::int32_t j = 0; j < interval_count && any(which); ++j) {
      if (intervals[j].tells_bursts) continue;
      const auto found = interval_of(j, mine, which, t, rank);
      bound = select(which, earlier(bound, found.begin), bound);
      if (!intervals[j].acts(compute)) continue;
      others = select(which, earlier(others, later(found.begin, soonest.begin)), others);
      const T sooner = which & (found.begin < soonest.begin);
      soonest.begin = select(sooner, found.begin, soonest.begin);
      soonest.end = select(sooner, found.end, soonest.end);
      source = select(sooner, T{} + Tick{j}, source);
    }
    return soonest;
  }

  // Moves t over all intervals that begin before its work is done; w is what is left of it.
  // held(source, for how long, how often): an interval holds the CPU, or several in a row do.
  template <class Held>
  JF_HD void meet(Tick& next, Tick& t, Tick& w, Tick rank, bool compute, const Held& held) const {
    Cursor* mine = cursors_of(rank);
    for (Walk walk;; walk.turn()) {
      std::int32_t source = 0;
      Tick others;
      const auto interval = meets(mine, t, rank, compute, next, source, others);
      const Tick quiet = interval.begin - t;
      if (quiet >= w) return;  // work that ends exactly where noise begins is not delayed
      if (quiet > 0) {
        w -= quiet;
        t += quiet;
      }
      held(source, interval.end - t, 1);
      t = interval.end;
      if (w <= long_work) continue;
      const IntervalSource& by = intervals[source];
      // Who is told of each interval of a recording gets them one by one.
      constexpr bool told = !std::is_same_v<Held, IgnoreSource>;
      if ((told || !kSkipRecordings) && by.kind != kPeriodicIntervals) continue;
      const auto skipped = skip_intervals(*this, source, mine + source, true, rank, t, w, others);
      if (told && skipped.t > t)
        held(source, by.periodic.duration, (skipped.t - t) / by.periodic.period);
      t = skipped.t;
      w = skipped.w;
    }
  }
  JF_HD void meet(Tick& next, Tick& t, Tick& w, Tick rank, bool compute) const {
    meet(next, t, w, rank, compute, IgnoreSource());
  }
  template <class T, class Rank>
  JF_HD void meet_lanes(Cursor* mine, T& next, T& t, T& w, Rank rank, bool compute) const {
    Walk walk;
    for (T on = (w > 0) & (t + w > next); any(on); walk.turn()) {
      T bound, others, source{};
      const auto interval = meets(mine, on, t, rank, compute, bound, source, others);
      next = select(on, bound, next);
      const T quiet = interval.begin - t;
      on &= quiet < w;
      w = select(on & (quiet > 0), w - quiet, w);
      t = select(on, interval.end, t);
      const T skips = on & (w > long_work);
      for (std::int32_t j = 0; j < interval_count && any(skips); ++j) {
        const T by = skips & (source == Tick{j});
        if (!any(by)) continue;
        const auto skipped = skip_intervals(*this, j, mine + j, by, rank, t, w, others);
        t = skipped.t;
        w = skipped.w;
      }
    }
  }
};
using Sources = SourcesOf<std::uint32_t>;

// What is long, and not on every rank's way, stands here once: inlined at each step it would make
// the engines too large to compile.

// For work w > 0 at t, where an interval of a source has ended: moves t over those of its intervals
// that begin before the work is done and end before one of the `others` begins, and takes what is
// done by then from w. Of periodic noise, whole periods; of a recording, all. c: of that source.
template <class T, class Mask, class R, class Rank>
JF_HD_COLD Skipped<T> skip_intervals(const SourcesOf<R>& s, std::int32_t source, CursorOf<T>* c,
                                     Mask which, Rank rank, T t, T w, T others) {
  const IntervalSource& by = s.intervals[source];
  if (by.kind == kRenewalIntervals || by.in_bursts) return {t, w};
  const bool recorded = kSkipRecordings && by.kind == kTraceIntervals;
  const Trace trace = recorded ? by.trace.own(rank, s.words) : by.trace;
  const Tick period = recorded ? trace.length : by.periodic.period;
  const Tick free = recorded ? trace.idle : period - by.periodic.duration;
  const T limit = earlier(others, T{} + earlier(by.window.end, kLatest));
  // Where a window begins, an empty interval may stand before the first of its source.
  which = which & (t > by.window.begin) & (t <= limit);
  if (recorded) which = which & (c->end == t);
  const auto many = which & (w / kManyPeriods > free);
  if (any(many)) {
    const T room = select(many, limit - t, T{});
    const T whole = select(many, earlier((w - 1) / free, room / period), T{});
    t = t + whole * period;
    w = w - whole * free;
    if (recorded) {
      c->from = c->from + whole * period;
      c->begin = c->begin + whole * period;
      c->end = c->end + whole * period;
    }
  }
  if (recorded && any(which)) trace.pass(*c, which, t, w, limit, s.words);
  return {t, w};
}

template <class T, class R>
JF_HD_COLD T first_of_all(const SourcesOf<R>& s, T ranks) {
  T bound = ranks - ranks + kNever;
  for (std::int32_t j = 0; j < s.interval_count; ++j)
    if (!s.intervals[j].tells_bursts)
      bound = earlier(bound, s.intervals[j].first(s.keys, s.realization, ranks, s.words));
  return bound;
}

template <class T, class R>
JF_HD_COLD JF_NO_CLONES T sum_of_delays(const SourcesOf<R>& s, StepRole role, std::uint64_t draw,
                                        T ranks, T t) {
  T sum = t - t;
  for (std::int32_t j = 0; j < s.step_count; ++j) {
    if (!s.steps[j].acts(role)) continue;
    if (s.drawn_beforehand && role != kComputeRole && s.steps[j].window.always()) continue;
    sum = sum + s.steps[j].of(s.keys, role, draw, ranks, s.realization, t, s.words);
  }
  return sum;
}

// Given copies only: else the common path would keep its registers in memory.
template <class T, class R>
JF_HD_COLD void meet_all(const SourcesOf<R>& s, T* next, T* t, T* w, T ranks, bool compute) {
  if constexpr (sizeof(T) == sizeof(Tick)) {
    s.meet(*next, *t, *w, ranks, compute);
  } else if constexpr (sizeof(T) == sizeof(R)) {
    s.meet_lanes(s.cursors_of(ranks[0]), *next, *t, *w, ranks[0], compute);
  } else {
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) {
      Tick n = (*next)[k], at = (*t)[k], work = (*w)[k];
      if (work == 0 || at + work <= n) continue;
      s.meet(n, at, work, ranks[k], compute);
      (*next)[k] = n;
      (*t)[k] = at;
      (*w)[k] = work;
    }
  }
}

template <class R>
template <class Seed, class T>
JF_HD T SourcesOf<R>::first(Seed, R, T ranks) const {
  return interval_count == 0 ? ranks - ranks + kNever : first_of_all(*this, ranks);
}

template <class T>
struct Stepped {
  T next, end;
};
template <class T, class R>
JF_HD_RARE Stepped<T> step_of(const SourcesOf<R>& s, StepRole role, std::uint64_t draw, T next, T t,
                              T w, bool none, T ranks) {
  const bool delayed = (s.roles >> role & 1) != 0;
  if (!delayed && none) return {next, t};
  T work = w;
  if (delayed) work = work + sum_of_delays(s, role, draw, ranks, t);
  const T end = s.advance(next, t, work, ranks, role == kComputeRole);
  return {next, end};
}

template <class R>
template <class T>
JF_HD T SourcesOf<R>::step(StepRole role, std::uint64_t draw, T& next, T t, T w, bool none,
                           T ranks) const {
  const Stepped<T> stepped = step_of(*this, role, draw, next, t, w, none, ranks);
  next = stepped.next;
  return stepped.end;
}

// The end of a step of ranks that differ in their speed by draws. Not inlined, and given a copy of
// `next`: inlined, it would make the common step slower, and what has an address can not stay in a
// register.
template <class T, class R>
JF_HD_COLD T slowed_step(const SourcesOf<R>& s, StepRole role, std::uint64_t draw, T* next, T t,
                         Tick own, Tick other, T ranks) {
  T work = ranks - ranks + own;
  for (std::int32_t k = 0; k < s.speed_count && own != 0; ++k)
    work = s.speeds[k].slowed(s.keys, work, ranks, s.realization, t, s.words);
  return s.step(role, draw, *next, t, work + other, own + other == 0, ranks);
}

template <class R>
template <class T>
JF_HD T SourcesOf<R>::step_at_own_speed(StepRole role, std::uint64_t draw, T& next, T t, Tick own,
                                        Tick other, T ranks) const {
  if (speed_count == 0) return step(role, draw, next, t, own + other, ranks);
  T slow_next = next;
  const T end = slowed_step(*this, role, draw, &slow_next, t, own, other, ranks);
  next = slow_next;
  return end;
}

template <class R>
template <class T>
JF_HD T SourcesOf<R>::advance(T& next, T t, T w, T ranks, bool compute) const {
  const T quiet = t + w;
  if (interval_count == 0 || !any((quiet > next) & (w > 0))) return quiet;
  T slow_next = next, slow_t = t, slow_w = w;
  meet_all(*this, &slow_next, &slow_t, &slow_w, ranks, compute);
  next = slow_next;
  return slow_t + slow_w;
}

// Interface of network noise, for any list of message delays, and congestion.
struct Messages {
  static constexpr bool general = true, on = true;

  std::int32_t count, windows;  // windows: some delays have one
  const MessageDelay* delays;
  const std::uint64_t* words;
  bool drawn_beforehand;  // the delays without a window: see SourceList
  // Null without congestion; of exchanges and forwards, behind them those of each message cost.
  const Loads* loads;

  template <class Seed, class T, class R>
  JF_HD T delay(Seed seed, std::uint32_t purpose, std::uint64_t draw, T ranks, R realization,
                T left) const;
};

template <class Seed, class T, class R>
JF_HD_COLD JF_NO_CLONES T sum_of_delays(const Messages& m, Seed seed, std::uint32_t purpose,
                                        std::uint64_t draw, T ranks, R realization, T left) {
  T sum = left - left;
  for (std::int32_t j = 0; j < m.count; ++j) {
    if (m.drawn_beforehand && m.delays[j].window.always()) continue;
    sum = sum + m.delays[j].of(seed, purpose, draw, ranks, realization, left, m.words);
  }
  return sum;
}

template <class T, class R>
JF_HD_COLD T held_up_by_others(const Messages& m, std::uint32_t purpose, std::uint64_t draw,
                               T ranks, R realization) {
  return m.loads->held_up(purpose, draw, ranks, realization);
}

template <class Seed, class T, class R>
JF_HD T Messages::delay(Seed seed, std::uint32_t purpose, std::uint64_t draw, T ranks,
                        R realization, T left) const {
  if (drawn_beforehand && !windows) return left - left;
  T sum = sum_of_delays(*this, seed, purpose, draw, ranks, realization, left);
  if (loads != nullptr && !drawn_beforehand)
    sum = sum + held_up_by_others(*this, purpose, draw, ranks, realization);
  return sum;
}

}  // namespace jf
