// Renewal noise, fresh or stationary start: alternating process of idle gaps and busy intervals.
// Idle gap 0, busy duration 0, idle gap 1, ... are each drawn anew (Cox 1962, ch. 7: alternating
// renewal process). Exponential gaps are Poisson arrivals in idle time.
#pragma once

#include "noise/cursor.h"
#include "noise/delay.h"
#include "noise/walk.h"

namespace jf {

struct Renewal {
  Delay gap, duration;
  std::uint32_t purpose, start_purpose;
  std::int32_t stationary;  // else idle at time 0
  // Stationary: inside an interval at time 0 if u < share, which then lasts for `busy`; else the
  // first one begins after `idle`.
  std::uint64_t share;
  Delay busy, idle;  // residual life, of noise/renewal.py and distributions/distribution.py

  // Gap and duration of interval k.
  template <class R, class Key, class Index>
  JF_HD auto draws(const Stream<R, Key>& s, Index k) const {
    return uniform_pair(s.seed, purpose, k, s.key, s.realization);
  }

  // A bound before which there is no interval at or after time 0, for one rank or a register: of
  // draw 0 for first_purpose().
  template <class T, class U>
  JF_HD T first(Pair<U> u, const std::uint64_t* words) const {
    if (!stationary) return gap.of<T>(u.even, words);
    const T after = idle.of<T>(u.odd, words);
    return select(u.even < share, after - after, after);
  }
  JF_HD std::uint32_t first_purpose() const { return stationary ? start_purpose : purpose; }

  // `which`: the lanes that are meant, or whether the only one is.
  template <class T, class Mask, class R, class Key>
  JF_HD_RARE void start(CursorOf<T>& c, Mask which, const Stream<R, Key>& s,
                        const std::uint64_t* words) const {
    T begin, end;
    if (stationary) {
      const auto u = first_pairs(s.seed, start_purpose, purpose, s.key, s.realization);
      const auto inside = u.one.even < share;
      const T after = idle.of<T>(u.one.odd, words);
      begin = select(inside, T{}, after);
      end = after + duration.of<T>(u.other.odd, words);
      if (any(inside)) end = select(inside, busy.of<T>(u.one.odd, words), end);
    } else {
      const auto u = draws(s, 0u);
      begin = gap.of<T>(u.even, words);
      end = begin + duration.of<T>(u.odd, words);
    }
    c.from = select(which, T{} + INT64_MIN, c.from);
    c.index = select(which, c.index - c.index, c.index);
    c.begin = select(which, begin, c.begin);
    c.end = select(which, end, c.end);
  }

  template <class T, class Mask, class R, class Key>
  JF_HD void seek(CursorOf<T>& c, Mask which, T t, const Stream<R, Key>& s,
                  const std::uint64_t* words) const {
    for (Walk walk;; walk.turn()) {
      const auto on = which & (c.end <= t) & (c.end < kLatest);
      if (!any(on)) break;
      c.index = select(on, c.index + 1, c.index);
      const auto u = draws(s, c.index);
      c.from = select(on, c.end, c.from);
      c.begin = select(on, c.end + gap.of<T>(u.even, words), c.begin);
      c.end = select(on, c.begin + duration.of<T>(u.odd, words), c.end);
    }
    for (Walk walk;; walk.turn()) {
      const auto on = which & (t < c.from);
      if (!any(on)) break;
      c.end = select(on, c.from, c.end);
      c.index = select(on, c.index - 1, c.index);
      const auto u = draws(s, c.index);
      c.begin = select(on, c.end - duration.of<T>(u.odd, words), c.begin);
      c.from = select(on, c.begin - gap.of<T>(u.even, words), c.from);
      const auto first = on & (c.index == 0);
      if (any(first)) start(c, first, s, words);
    }
  }
};

}  // namespace jf
