// Trace replay: busy as a recorded CPU was, over and over, each rank from an offset of its own
// (HSL10, LogGOPSim).
#pragma once

#include "cursor.h"

namespace jf {

struct Trace {
  Tick length;
  std::int64_t count;
  // In the words of the program: begin and end of each interval, and of the first once more, a
  // length later; then the guide, see locate().
  std::int64_t table;
  std::int64_t guide_bits;
  std::uint64_t guide_factor;
  std::int64_t offsets;  // given ones, where they start in the words; or -1: drawn
  // Where each rank replays a recording of its own, in the words: for each rank, where the length,
  // count, table and factor of the guide of its recording are. Or -1: all replay this one.
  std::int64_t recordings;
  std::uint32_t purpose;

  // What a rank replays.
  JF_HD Trace own(std::int64_t rank, const std::uint64_t* words) const {
    Trace trace = *this;
    if (recordings >= 0) {
      const std::uint64_t* of = words + words[recordings + rank];
      trace.length = static_cast<Tick>(of[0]);
      trace.count = static_cast<std::int64_t>(of[1]);
      trace.table = static_cast<std::int64_t>(of[2]);
      trace.guide_factor = of[3];
    }
    return trace;
  }

  JF_HD Tick begin_of(std::int64_t i, const std::uint64_t* words) const {
    return static_cast<Tick>(words[table + 2 * i]);
  }
  JF_HD Tick end_of(std::int64_t i, const std::uint64_t* words) const {
    return static_cast<Tick>(words[table + 2 * i + 1]);
  }

  // The first interval that ends after `at` in [0, length); `count` stands for the first, a length
  // later. Entry g of the guide is the one for the smallest `at` that has its bits.
  JF_HD std::int64_t locate(Tick at, const std::uint64_t* words) const {
    const auto g = scale64(static_cast<std::uint64_t>(at), guide_factor);
    auto i = static_cast<std::int64_t>(words[table + 2 * (count + 1) + static_cast<Tick>(g)]);
    while (end_of(i, words) <= at) ++i;
    return i;
  }

  JF_HD Tick offset(const Stream& s, std::int64_t rank, const std::uint64_t* words) const {
    if (offsets >= 0) return static_cast<Tick>(words[offsets + rank]);
    return static_cast<Tick>(scale64(only_uniform64(s.seed, purpose, s.key, s.realization),
                                     static_cast<std::uint64_t>(length)));
  }

  JF_HD void start(Cursor& c, const Stream& s, std::int64_t rank,
                   const std::uint64_t* words) const {
    place(c, 0, -offset(s, rank, words), words);
  }

  JF_HD void seek(Cursor& c, Tick t, const std::uint64_t* words) const {
    if (c.fits(t)) return;
    place(c, t, c.begin - begin_of(c.index, words), words);
  }

  // A bound before which there is no interval at or after time 0, of the uniform that draws the
  // offset.
  template <class T, class U>
  JF_HD T first(U u, const std::uint64_t* words) const {
    const U at = scale64(u, static_cast<std::uint64_t>(length));
    const auto* guide = words + table + 2 * (count + 1);
    U i = gather(guide, scale64(at, guide_factor)) << 1;
    const T none = (T)u - (T)u;
    for (;;) {  // an interval or two further: the guide is finer than the intervals lie
      const auto passed = (T)gather(words + table + 1, i) <= (T)at;
      if (!any(passed)) break;
      i += (U)select(passed, none + 2, none);
    }
    return (T)(gather(words + table, i) - at);
  }

 private:
  // The cursor for time t, of a replay whose beginning lies at `shift`, or whole lengths away.
  JF_HD_RARE void place(Cursor& c, Tick t, Tick shift, const std::uint64_t* words) const {
    Tick laps = (t - shift) / length;
    if ((t - shift) % length < 0) --laps;
    shift += laps * length;
    std::int64_t i = locate(t - shift, words);
    c.begin = shift + begin_of(i, words);
    c.end = shift + end_of(i, words);
    c.from = shift + (i > 0 ? end_of(i - 1, words) : end_of(count - 1, words) - length);
    c.index = static_cast<std::uint32_t>(i);
  }
};

}  // namespace jf
