// Any list of noise sources at once, behind the interfaces of none.h: the union of busy intervals
// and the sum of step delays of the CPU; the sum of message delays of the network. One periodic
// source alone has its own, faster path (periodic.h).
#pragma once

#include "step_delay.h"

namespace jf {

// The lowest rank of a register.
template <class T>
JF_HD Tick first_lane(const T& ranks) {
  if constexpr (sizeof(T) == sizeof(Tick))
    return ranks;
  else
    return ranks[0];
}

// Room for the second draws of blocks, for each rank of a tile and each source; or none.
struct Spares {
  std::uint64_t* words;
  bool filled;  // by the step before
  // From a rank to its place in the tile; see TileMap.
  std::int32_t low_bits, window_start, window_bits;

  template <class T>
  JF_HD Spare of(const T& ranks, std::int32_t slot, std::int32_t slots) const {
    if (words == nullptr) return {nullptr, false};
    const Tick rank = first_lane(ranks), lanes = sizeof(T) / sizeof(Tick);
    const Tick low = rank & ((Tick{1} << low_bits) - 1);
    const Tick high = (rank >> window_start) & ((Tick{1} << window_bits) - 1);
    const Tick local = low | high << low_bits;
    return {words + local * slots + slot * lanes, filled};
  }
};

// The `next` that a rank carries along is a bound: no interval of any source, whichever phase it
// acts in, lasts between the time it was made for and `next`. Steps that end before it look at
// nothing else; all others ask the cursors of their rank, one for each source of intervals.
struct Sources {
  static constexpr bool general = true, in_communication = true;

  std::int32_t interval_count, step_count;
  std::int32_t roles;  // bit r: there are step delays in role r
  const IntervalSource* intervals;
  const StepDelay* steps;
  const std::uint64_t* words;
  std::uint64_t seed;
  // Of the realization at hand; see bound().
  Cursor* cursors;  // [rank][source]
  std::uint32_t realization;
  Spares spares;

  JF_HD Sources bound(std::uint32_t to_realization, Cursor* with_cursors) const {
    Sources s = *this;
    s.realization = to_realization;
    s.cursors = with_cursors;
    return s;
  }

  template <class T>
  JF_HD T first(T ranks) const;

  // `back`: times may be earlier than what `next` was made for.
  template <class T>
  JF_HD void seek(T& next, bool back) const {
    if (back) next = next - next + INT64_MIN;
  }

  // The work of a step with its delays.
  template <class T>
  JF_HD T lengthen(StepRole role, std::int32_t draw, T ranks, T t, Tick w) const;

  // The earliest e >= t such that [t, e) holds w of time without noise.
  template <class T>
  JF_HD T advance(T& next, T t, T w, T ranks, bool compute) const;

  // The interval of the union that is there at t or comes next, as far as one source makes it;
  // `bound` is set for all sources. `mine`: the cursors of the rank.
  JF_HD IntervalSource::Interval meets(Cursor* mine, Tick t, Tick rank, bool compute,
                                       Tick& bound) const {
    IntervalSource::Interval soonest{kNever, kNever};
    bound = kNever;
    for (std::int32_t j = 0; j < interval_count && t < kLatest; ++j) {
      const auto found = intervals[j].at(mine[j], t, seed, realization, rank, words);
      bound = earlier(bound, found.begin);
      if (found.begin < soonest.begin && intervals[j].acts(compute)) soonest = found;
    }
    return soonest;
  }

  // Moves t over all intervals that begin before its work is done; w is what is left of it.
  JF_HD void meet(Tick& next, Tick& t, Tick& w, Tick rank, bool compute) const {
    Cursor* mine = cursors + rank * interval_count;
    for (;;) {
      const auto interval = meets(mine, t, rank, compute, next);
      const Tick quiet = interval.begin - t;
      if (quiet >= w) return;  // work that ends exactly where noise begins is not delayed
      if (quiet > 0) w -= quiet;
      t = interval.end;
    }
  }
};

// What is long, and not on every rank's way, stands here once: inlined at each step it would make
// the engines too large to compile.

template <class T>
JF_HD_COLD T first_of_all(const Sources& s, T ranks) {
  T bound = ranks - ranks + kNever;
  for (std::int32_t j = 0; j < s.interval_count; ++j)
    bound = earlier(bound, s.intervals[j].first(s.seed, s.realization, ranks, s.words));
  return bound;
}

template <class T>
JF_HD_COLD T sum_of_delays(const Sources& s, StepRole role, std::uint32_t draw, T ranks, T t) {
  T sum = t - t;
  for (std::int32_t j = 0; j < s.step_count; ++j) {
    if (!s.steps[j].acts(role)) continue;
    Spare spare{nullptr, false};
    if (role != kComputeRole) spare = s.spares.of(ranks, j, s.step_count);
    sum = sum + s.steps[j].of(s.seed, role, draw, ranks, s.realization, t, s.words, spare);
  }
  return sum;
}

// Given copies only: else the common path would keep its registers in memory.
template <class T>
JF_HD_COLD void meet_one_by_one(const Sources& s, T* next, T* t, T* w, T ranks, bool compute) {
  if constexpr (sizeof(T) == sizeof(Tick)) {
    s.meet(*next, *t, *w, ranks, compute);
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

template <class T>
JF_HD T Sources::first(T ranks) const {
  return interval_count == 0 ? ranks - ranks + kNever : first_of_all(*this, ranks);
}

template <class T>
JF_HD T Sources::lengthen(StepRole role, std::int32_t draw, T ranks, T t, Tick w) const {
  const T work = t - t + w;
  if ((roles >> role & 1) == 0) return work;
  return work + sum_of_delays(*this, role, static_cast<std::uint32_t>(draw), ranks, t);
}

template <class T>
JF_HD T Sources::advance(T& next, T t, T w, T ranks, bool compute) const {
  if (!any((t + w > next) & (w > 0))) return t + w;
  T slow_next = next, slow_t = t, slow_w = w;
  meet_one_by_one(*this, &slow_next, &slow_t, &slow_w, ranks, compute);
  next = slow_next;
  return slow_t + slow_w;
}

// Interface of network noise, for any list of message delays.
struct Messages {
  static constexpr bool general = true, on = true;

  std::int32_t count;
  const MessageDelay* delays;
  const std::uint64_t* words;
  Spares spares;  // not for copies: with them there are no tiles

  template <class T>
  JF_HD T delay(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, T ranks,
                std::uint32_t realization, T left) const;
};

template <class T>
JF_HD_COLD T sum_of_delays(const Messages& m, std::uint64_t seed, std::uint32_t purpose,
                           std::uint32_t draw, T ranks, std::uint32_t realization, T left) {
  T sum = left - left;
  for (std::int32_t j = 0; j < m.count; ++j) {
    const Spare spare = m.spares.of(ranks, j, m.count);
    sum = sum + m.delays[j].of(seed, purpose, draw, ranks, realization, left, m.words, spare);
  }
  return sum;
}

template <class T>
JF_HD T Messages::delay(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, T ranks,
                        std::uint32_t realization, T left) const {
  return sum_of_delays(*this, seed, purpose, draw, ranks, realization, left);
}

}  // namespace jf
