// Trace replay (HSL10, LogGOPSim): recorded busy intervals, from a random offset for each rank. The
// intervals are repeated endlessly. One kind of IntervalSource (intervals.h).
#pragma once

#include "noise/cursor.h"

namespace jf {

struct Trace {
  Tick length, idle;  // of the recording, and of its time without noise
  std::int64_t count;
  // Offset in the words of the program: there are, for each interval, the idle time and the busy
  // time before it. In front of them stands the last interval, a length earlier; behind them are
  // the first two, a length later. Then comes the guide, see search().
  std::int64_t table;
  std::uint64_t length_factor, idle_factor;  // from a time, or idle time, to an entry of the guide
  std::int64_t offsets;  // of the ranks' replays, if given: where they are in the words; else -1
  // If ranks replay different recordings: where in the words there is, for each rank, the offset of
  // the first six members of its recording. Else -1.
  std::int64_t recordings;
  std::uint32_t purpose;

  // The trace that a rank replays.
  JF_HD Trace own(std::int64_t rank, const std::uint64_t* words) const {
    Trace trace = *this;
    if (recordings >= 0) {
      const std::uint64_t* recording = words + words[recordings + rank];
      trace.length = static_cast<Tick>(recording[0]);
      trace.idle = static_cast<Tick>(recording[1]);
      trace.count = static_cast<std::int64_t>(recording[2]);
      trace.table = static_cast<std::int64_t>(recording[3]);
      trace.length_factor = recording[4];
      trace.idle_factor = recording[5];
    }
    return trace;
  }

  template <class T>
  JF_HD Trace own(EachRank<T>, const std::uint64_t*) const {
    return *this;  // ranks with recordings of their own are not side by side
  }

  // Idle and busy time before interval i, from -1 to count + 1.
  template <class U>
  JF_HD U idle_before(U i, const std::uint64_t* words) const {
    return gather(words + table - 2, (i + 1u) << 1);
  }
  template <class U>
  JF_HD U busy_before(U i, const std::uint64_t* words) const {
    return gather(words + table - 1, (i + 1u) << 1);
  }
  template <class U>
  JF_HD U begin_of(U i, const std::uint64_t* words) const {
    return idle_before(i, words) + busy_before(i, words);
  }
  template <class U>
  JF_HD U end_of(U i, const std::uint64_t* words) const {
    return idle_before(i, words) + busy_before(i + 1u, words);
  }

  // The index of the first interval that ends after time t in [0, length), or of the first one
  // with more than t in [0, idle) of idle time before it. `count` is the first interval of the next
  // repetition. A word of the guide has both indices, of 32 bits, for the smallest t of its cell,
  // floor(t * factor / 2^64); the next word has those at which the search can end.
  template <bool kIdle, class U>
  JF_HD U search(U t, const std::uint64_t* words) const {
    const Pair<U> range = searched<kIdle>(t, words);
    if constexpr (sizeof(U) > sizeof(std::uint64_t)) {
      return first_above(words + table, range.even, range.odd, t, kIdle);
    } else {
      // Twice or so: a cell has a few intervals on average. But these may crowd. Indices are below
      // 2^31: in 32 bits no sum overflows, and a GPU needs one instruction in place of two.
      auto i = static_cast<std::uint32_t>(range.even), end = static_cast<std::uint32_t>(range.odd);
      while (i < end) {
        const std::uint32_t middle = (i + end) >> 1;
        const U at = kIdle ? idle_before(U{middle}, words) : end_of(U{middle}, words);
        if (at <= t)
          i = middle + 1;
        else
          end = middle;
      }
      return i;
    }
  }
  // The first and the last interval that it may be.
  template <bool kIdle, class U>
  JF_HD Pair<U> searched(U t, const std::uint64_t* words) const {
    const std::uint64_t* const guide = words + table + 2 * (count + 2);
    const U entry = scale64(t, kIdle ? idle_factor : length_factor) << 1 | (kIdle ? 1u : 0u);
    return {gather_half(guide, entry), gather_half(guide, entry + 2u)};
  }

  template <class R, class Key, class Rank>
  JF_HD auto offset(const Stream<R, Key>& s, Rank rank, const std::uint64_t* words) const {
    using T = TimesOf<R>;
    if (offsets >= 0) return T{} + time_of(words + offsets, rank);
    return (T)scale64(only_uniform64(s.seed, purpose, s.key, s.realization),
                      static_cast<std::uint64_t>(length));
  }

  template <class T, class Mask, class R, class Key, class Rank>
  JF_HD void start(CursorOf<T>& c, Mask which, const Stream<R, Key>& s, Rank rank,
                   const std::uint64_t* words) const {
    place(c, which, T{}, -offset(s, rank, words), words);
  }

  template <class T, class Mask>
  JF_HD void seek(CursorOf<T>& c, Mask which, T t, const std::uint64_t* words) const {
    const auto on = which & ((t < c.from) | (t >= c.end));
    if (!any(on)) return;
    Place<T> next = here(c, on, words);
    next.index += 1u;
    if (any(on & ((t < c.end) | (t >= next.shift + (T)end_of(next.index, words)))))
      place(c, on, t, next.shift, words);
    else
      put(c, on, next, words);
  }

  // For work w > 0, of which nothing is done before t, where the interval of the cursor has ended:
  // moves t to the end of the last interval that begins before the work is done and ends by
  // `limit`, takes what is done by then from w, and moves the cursor to the next interval.
  template <class T, class Mask>
  JF_HD void pass(CursorOf<T>& c, Mask which, T& t, T& w, T limit,
                  const std::uint64_t* words) const {
    using U = BitsOf<T>;
    const Place<T> ended = here(c, which, words);
    const U before = idle_before(ended.index, words);
    Place<T> to{ended.index + 1u, ended.shift};
    // Work that ends exactly where noise begins is not delayed.
    if (!any(which & ((T)(idle_before(to.index, words) - before) < w)))
      return put(c, which, to, words);
    // The interval sought has more than this idle time before it, up to twice `idle`.
    U done = select(which, before + (U)earlier(w, T{} + idle) - 1u, U{});
    const auto over = done >= static_cast<std::uint64_t>(idle);
    done = select(over, done - static_cast<std::uint64_t>(idle), done);
    to = {search<true>(done, words), select(over, to.shift + length, to.shift)};
    const auto late = which & (to.shift + (T)end_of(to.index - 1u, words) > limit);
    if (any(late)) {
      const Place<T> last = first_after(select(late, limit, to.shift), ended.shift, words);
      to.index = select(late, last.index, to.index);
      to.shift = select(late, last.shift, to.shift);
    }
    put(c, which, to, words);
    T idled = (T)(idle_before(to.index - 1u, words) - before);
    for (int whole = 1; whole <= 2; ++whole)
      idled = select(to.shift - ended.shift >= whole * length, idled + idle, idled);
    t = select(which, c.from, t);
    w = select(which, w - idled, w);
  }

  // The uniform u draws the offset. Returns a time before which there is no interval from time 0
  // on.
  template <class T, class U>
  JF_HD T first(U u, const std::uint64_t* words) const {
    const U offset = scale64(u, static_cast<std::uint64_t>(length));
    return (T)begin_of(search<false>(offset, words), words) - (T)offset;
  }

 private:
  // An interval of the repetition that begins at time `shift`.
  template <class T>
  struct Place {
    BitsOf<T> index;
    T shift;
  };

  // Where the cursor is; its index is below `count`. Other lanes may have been of another
  // recording, with more intervals.
  template <class T, class Mask>
  JF_HD Place<T> here(const CursorOf<T>& c, Mask which, const std::uint64_t* words) const {
    using U = BitsOf<T>;
    const U index = select(which, (U)c.index, U{});
    const T shift = c.begin - (T)begin_of(index, words);
    const auto last = index == static_cast<std::uint64_t>(count);
    return {select(last, U{}, index), select(last, shift + length, shift)};
  }

  // The first interval that ends after t. A repetition begins at time `shift`, or whole lengths
  // from it.
  template <class T>
  JF_HD Place<T> first_after(T t, T shift, const std::uint64_t* words) const {
    const T since = remainder(t - shift);
    return {search<false>((BitsOf<T>)since, words), t - since};
  }

  template <class T, class Mask>
  JF_HD void put(CursorOf<T>& c, Mask which, const Place<T>& to, const std::uint64_t* words) const {
    const auto idle = idle_before(to.index, words), busy = busy_before(to.index, words);
    c.begin = select(which, to.shift + (T)(idle + busy), c.begin);
    c.end = select(which, to.shift + (T)(idle + busy_before(to.index + 1u, words)), c.end);
    c.from = select(which, to.shift + (T)(idle_before(to.index - 1u, words) + busy), c.from);
    c.index = select(which, (T)to.index, T{} + c.index);
  }

  // Sets the cursor for time t, where a repetition begins at time `shift`, or whole lengths from
  // it.
  template <class T, class Mask>
  JF_HD_RARE void place(CursorOf<T>& c, Mask which, T t, T shift,
                        const std::uint64_t* words) const {
    put(c, which, first_after(select(which, t, shift), shift, words), words);
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
