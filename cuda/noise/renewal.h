// Renewal noise: idle gap 0, busy duration 0, idle gap 1, ... each drawn anew (Cox 1962, ch. 7:
// alternating renewal process). Exponential gaps are Poisson arrivals in idle time.
#pragma once

#include "cursor.h"
#include "delay.h"

namespace jf {

struct Renewal {
  Delay gap, duration;
  std::uint32_t purpose, start_purpose;
  std::int32_t stationary;  // else idle at time 0
  // Stationary: inside an interval at time 0 if u < share, which then lasts for `busy`; else the
  // first one begins after `idle`.
  std::uint64_t share;
  Delay busy, idle;

  // Gap and duration of interval k.
  JF_HD Pair<std::uint64_t> draws(const Stream& s, std::uint32_t k) const {
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

  JF_HD_RARE void start(Cursor& c, const Stream& s, const std::uint64_t* words) const {
    c.from = INT64_MIN;
    c.index = 0;
    const auto u = draws(s, 0);
    c.begin = stationary ? 0 : gap.of<Tick>(u.even, words);
    c.end = c.begin + duration.of<Tick>(u.odd, words);
    if (!stationary) return;
    const auto at_start = uniform_pair(s.seed, start_purpose, 0, s.key, s.realization);
    if (at_start.even < share) {
      c.end = busy.of<Tick>(at_start.odd, words);
    } else {
      c.begin = idle.of<Tick>(at_start.odd, words);
      c.end += c.begin;
    }
  }

  JF_HD void seek(Cursor& c, Tick t, const Stream& s, const std::uint64_t* words) const {
    while (c.end <= t && c.end < kLatest) {
      const auto u = draws(s, ++c.index);
      c.from = c.end;
      c.begin = c.end + gap.of<Tick>(u.even, words);
      c.end = c.begin + duration.of<Tick>(u.odd, words);
    }
    while (t < c.from) {
      c.end = c.from;
      if (--c.index == 0) return start(c, s, words);
      c.begin = c.end - duration.of<Tick>(draws(s, c.index).odd, words);
      c.from = c.begin - gap.of<Tick>(draws(s, c.index).even, words);
    }
  }
};

}  // namespace jf
