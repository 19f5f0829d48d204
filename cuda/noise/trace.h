// Trace replay: busy as a recorded CPU was, over and over, each rank from an offset of its own
// (HSL10, LogGOPSim).
#pragma once

#include "noise/cursor.h"

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

  template <class U>
  JF_HD auto begin_of(U i, const std::uint64_t* words) const {
    return gather(words + table, i << 1);
  }
  template <class U>
  JF_HD auto end_of(U i, const std::uint64_t* words) const {
    return gather(words + table + 1, i << 1);
  }

  // The first interval that ends after `at` in [0, length); `count` stands for the first, a length
  // later. Entry g of the guide is the one for the smallest `at` that has its bits.
  template <class T, class U>
  JF_HD U locate(U at, const std::uint64_t* words) const {
    U i = gather(words + table + 2 * (count + 1), scale64(at, guide_factor));
    for (;;) {  // an interval or two further: the guide is finer than the intervals lie
      const auto passed = (T)end_of(i, words) <= (T)at;
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

  // A bound before which there is no interval at or after time 0, of the uniform that draws the
  // offset.
  template <class T, class U>
  JF_HD T first(U u, const std::uint64_t* words) const {
    const U at = scale64(u, static_cast<std::uint64_t>(length));
    return (T)begin_of(locate<T>(at, words), words) - (T)at;
  }

 private:
  // The cursor for time t, of a replay whose beginning lies at `shift`, or whole lengths away.
  template <class T, class Mask>
  JF_HD_RARE void place(CursorOf<T>& c, Mask which, T t, T shift,
                        const std::uint64_t* words) const {
    using U = BitsOf<T>;
    const T past = select(which, t - shift, T{});
    const T at = remainder(past);
    shift = t - at;
    const U i = locate<T>((U)at, words);
    const T begin = shift + (T)begin_of(i, words), end = shift + (T)end_of(i, words);
    const auto first = (T)i == 0;
    const T before = (T)end_of((U)select(first, T{} + (count - 1), (T)i - 1), words);
    const T from = shift + select(first, before - length, before);
    c.begin = select(which, begin, c.begin);
    c.end = select(which, end, c.end);
    c.from = select(which, from, c.from);
    c.index = select(which, (T)i, T{} + c.index);
  }

  // Modulo the length, not negative. Most times are in the first replays: without a division.
  template <class T>
  JF_HD T remainder(T t) const {
    for (int lap = 0; lap < 2; ++lap) t = select(t >= length, t - length, t);
    if (!any((t < 0) | (t >= length))) return t;
    T r = t % length;
    return select(r < 0, r + length, r);
  }
};

}  // namespace jf
