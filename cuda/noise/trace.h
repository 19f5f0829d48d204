// Trace replay (HSL10, LogGOPSim): recorded busy intervals, from a random offset for each rank. The
// intervals are repeated endlessly. One kind of IntervalSource (intervals.h).
#pragma once

#include "noise/cursor.h"

namespace jf {

struct Trace {
  Tick length;
  std::int64_t count;
  // Offset in the words of the program: there are begin and end of each interval, and of the first
  // once more, a length later; then the guide, see locate().
  std::int64_t table;
  std::uint64_t guide_factor;
  std::int64_t offsets;  // of the ranks' replays, if given: where they are in the words; else -1
  // If ranks replay different recordings: where in the words there is, for each rank, the offset of
  // length, count, table and guide_factor of its recording. Else -1.
  std::int64_t recordings;
  std::uint32_t purpose;

  // The trace that a rank replays.
  JF_HD Trace own(std::int64_t rank, const std::uint64_t* words) const {
    Trace trace = *this;
    if (recordings >= 0) {
      const std::uint64_t* recording = words + words[recordings + rank];
      trace.length = static_cast<Tick>(recording[0]);
      trace.count = static_cast<std::int64_t>(recording[1]);
      trace.table = static_cast<std::int64_t>(recording[2]);
      trace.guide_factor = recording[3];
    }
    return trace;
  }

  template <class U>
  JF_HD auto begin_of(U i, const std::uint64_t* words) const {
    return gather(words + table, i << 1);
  }
  template <class U>
  JF_HD auto end_of(U i, const std::uint64_t* words) const {
    return gather(words + table + 1, i << 1);
  }

  // The index of the first interval that ends after time t in [0, length); `count` is the first
  // interval of the next repetition. Entry g of the guide is the index for the smallest t of its
  // cell, floor(t * guide_factor / 2^64) = g.
  template <class T, class U>
  JF_HD U locate(U t, const std::uint64_t* words) const {
    U i = gather(words + table + 2 * (count + 1), scale64(t, guide_factor));
    for (;;) {  // once or twice: a cell of the guide is no longer than the mean distance of begins
      const auto passed = (T)end_of(i, words) <= (T)t;
      if (!any(passed)) return i;
      i += (U)select(passed, T{} + 1, T{});
    }
  }

  template <class R>
  JF_HD auto offset(const Stream<R>& s, std::int64_t rank, const std::uint64_t* words) const {
    using T = TimesOf<R>;
    if (offsets >= 0) return T{} + static_cast<Tick>(words[offsets + rank]);
    return (T)scale64(only_uniform64(s.seed, purpose, s.key, s.realization),
                      static_cast<std::uint64_t>(length));
  }

  template <class T, class Mask, class R>
  JF_HD void start(CursorOf<T>& c, Mask which, const Stream<R>& s, std::int64_t rank,
                   const std::uint64_t* words) const {
    place(c, which, T{}, -offset(s, rank, words), words);
  }

  template <class T, class Mask>
  JF_HD void seek(CursorOf<T>& c, Mask which, T t, const std::uint64_t* words) const {
    const auto on = which & ((t < c.from) | (t >= c.end));
    if (!any(on)) return;
    place(c, on, t, c.begin - (T)begin_of((BitsOf<T>)c.index, words), words);
  }

  // The uniform u draws the offset. Returns a time before which there is no interval from time 0
  // on.
  template <class T, class U>
  JF_HD T first(U u, const std::uint64_t* words) const {
    const U offset = scale64(u, static_cast<std::uint64_t>(length));
    return (T)begin_of(locate<T>(offset, words), words) - (T)offset;
  }

 private:
  // Sets the cursor for time t. A repetition begins at time `shift`, or whole lengths from it.
  template <class T, class Mask>
  JF_HD_RARE void place(CursorOf<T>& c, Mask which, T t, T shift,
                        const std::uint64_t* words) const {
    using U = BitsOf<T>;
    const T since = remainder(select(which, t - shift, T{}));
    shift = t - since;
    const U i = locate<T>((U)since, words);
    const T begin = shift + (T)begin_of(i, words), end = shift + (T)end_of(i, words);
    const auto first = (T)i == 0;
    const T before = (T)end_of((U)select(first, T{} + (count - 1), (T)i - 1), words);
    const T from = shift + select(first, before - length, before);
    c.begin = select(which, begin, c.begin);
    c.end = select(which, end, c.end);
    c.from = select(which, from, c.from);
    c.index = select(which, (T)i, T{} + c.index);
  }

  // t modulo the length, not negative. Most times are in the first repetitions: no division.
  template <class T>
  JF_HD T remainder(T t) const {
    for (int repetition = 0; repetition < 2; ++repetition) t = select(t >= length, t - length, t);
    if (!any((t < 0) | (t >= length))) return t;
    T r = t % length;
    return select(r < 0, r + length, r);
  }
};

}  // namespace jf
