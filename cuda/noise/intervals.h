// Busy intervals of one CPU noise source of any kind (periodic, renewal, trace), clipped to its
// window.
#pragma once

#include <type_traits>

#include "noise/cursor.h"
#include "noise/hosts.h"
#include "noise/node_size.h"
#include "noise/periodic.h"
#include "noise/renewal.h"
#include "noise/trace.h"

namespace jf {

// A new kind needs a member of IntervalSource, and a branch in first_purpose, first_of, start and
// seek: they take a kind that they do not name for another one. It needs one in first_is_drawn if
// its first interval need not be drawn, and in first_by_pair if two draws are one block.
enum IntervalKind : std::int32_t { kPeriodicIntervals, kRenewalIntervals, kTraceIntervals };

// When a source acts, and on which ranks. That of given hosts ends a tick before kNever at the
// latest: so always() need not look at the hosts.
struct Window {
  Tick begin, end;
  Hosts hosts{};

  JF_HD bool always() const { return begin == INT64_MIN && end == INT64_MAX; }
  template <class T>
  JF_HD auto holds(T t) const {
    return (t >= begin) & (t < end);
  }
  // What is drawn for ranks where the source acts on them at time t, else 0.
  template <class T>
  JF_HD T only(T drawn, T t, T ranks, const std::uint64_t* words) const {
    return hosts.only(select(holds(t), drawn, t - t), t - t, ranks, words);
  }
};

struct IntervalSource {
  std::int32_t kind;
  // The next source says when this one is on: its intervals delay nothing themselves.
  std::int32_t in_bursts, tells_bursts;
  NodeSize nodes;  // whose ranks share its draws
  std::int32_t in_compute, in_communication;
  Window window;
  std::uint32_t phase_purpose;
  std::int64_t phases;  // given ones of periodic noise, where they start in the words; or -1
  // Here it has period, duration and stationary alone. A program whose only CPU noise it is uses
  // all of it (ProgramView::periodic), with phases of its own.
  Periodic periodic;
  Renewal renewal;
  Trace trace;

  JF_HD bool acts(bool compute) const { return (compute ? in_compute : in_communication) != 0; }

  // A bound before which no rank of a register meets an interval at or after time 0.
  template <class Seed, class T, class R>
  JF_HD T first(Seed seed, R realization, T ranks, const std::uint64_t* words) const {
    const T key = nodes.of_rank(ranks);
    if (!first_is_drawn()) return not_before_window(key - key + INT64_MIN);
    const std::uint32_t purpose = first_purpose();
    return first_by_pair() ? first_of<T>(uniform_pair(seed, purpose, 0, key, realization), words)
                           : first_of<T>(only_uniform64(seed, purpose, key, realization), words);
  }

  // From the begin of an interval to that of the next one, roughly.
  JF_HD Tick usual_distance(const std::uint64_t* words) const {
    if (kind == kPeriodicIntervals) return periodic.period;
    if (kind == kTraceIntervals) return trace.recordings < 0 ? trace.length / trace.count : 0;
    return renewal.gap.of<Tick>(std::uint64_t{1} << 63, words);  // the median of the gaps
  }

  // The same of what is drawn for it: nothing where phases or offsets are given, or ranks replay
  // recordings of their own; a pair for renewal noise; else one uniform.
  JF_HD bool first_is_drawn() const {
    if (kind == kPeriodicIntervals) return phases < 0;
    return kind != kTraceIntervals || (trace.offsets < 0 && trace.recordings < 0);
  }
  JF_HD bool first_by_pair() const { return kind == kRenewalIntervals; }
  JF_HD std::uint32_t first_purpose() const {
    if (kind == kRenewalIntervals) return renewal.first_purpose();
    return kind == kPeriodicIntervals ? phase_purpose : trace.purpose;
  }
  template <class T, class U>
  JF_HD T first_of(Pair<U> u, const std::uint64_t* words) const {
    return not_before_window(renewal.first<T>(u, words));
  }
  template <class T, class U>
  JF_HD T first_of(U u, const std::uint64_t* words) const {
    if (kind == kTraceIntervals) return not_before_window(trace.first<T>(u, words));
    const T phase = periodic.scaled<T>(u);
    if (!periodic.stationary) return not_before_window(phase);
    // The interval before may still last at time 0, if it lasts longer than the phase.
    const auto lasts = phase - periodic.period + periodic.duration > 0;
    return not_before_window(select(lasts, phase - phase, phase));
  }

  template <class T>
  JF_HD T not_before_window(T bound) const {
    return window.begin > 0 ? later(bound, bound - bound + window.begin) : bound;
  }

  // Of periodic noise.
  template <class R, class Key, class Rank>
  JF_HD auto phase(const Stream<R, Key>& s, Rank rank, const std::uint64_t* words) const {
    using T = TimesOf<R>;
    if (phases >= 0) return T{} + time_of(words + phases, rank);
    return periodic.scaled<T>(only_uniform64(s.seed, phase_purpose, s.key, s.realization));
  }

  // Moves the cursor to the first interval that ends after t; returns it, clipped to the window.
  // [kNever, kNever): there is none. Before the window an empty one where it begins: what lies
  // there, or up to there, is not looked at, as the window may never be reached.
  template <class T>
  struct Interval {
    T begin, end;
  };
  JF_HD Interval<Tick> at(Cursor& c, Tick t, std::uint64_t seed, std::uint32_t realization,
                          std::int64_t rank, const std::uint64_t* words) const {
    if (t < window.begin) return {window.begin, window.begin};
    if (t >= window.end) return {kNever, kNever};
    move(c, true, t, seed, realization, rank, words);
    if (c.begin >= window.end) return {kNever, kNever};
    return {later(c.begin, window.begin), earlier(c.end, window.end)};
  }
  // The same in a register of realizations, of those lanes that `which` has.
  template <class T, class Rank>
  JF_HD Interval<T> at(CursorOf<T>& c, T which, T t, SeedOf<T> seed, T realizations, Rank rank,
                       const std::uint64_t* words) const {
    const T never = T{} + kNever;
    if constexpr (std::is_same_v<Rank, Tick>) {
      if (!window.hosts.all() && !window.hosts.has(rank, words)) return {never, never};
      return on_hosts(c, which, t, seed, realizations, rank, words);
    } else {
      const T acts = window.hosts.only(T{} - 1, T{}, rank.ranks, words);
      const auto found = on_hosts(c, which & acts, t, seed, realizations, rank, words);
      return {select(acts, found.begin, never), select(acts, found.end, never)};
    }
  }

 private:
  template <class T, class Rank>
  JF_HD Interval<T> on_hosts(CursorOf<T>& c, T which, T t, SeedOf<T> seed, T realizations,
                             Rank rank, const std::uint64_t* words) const {
    const T before = t < window.begin, after = t >= window.end;
    const T looks = which & ~before & ~after;
    if (any(looks)) move(c, looks, t, seed, realizations, rank, words);
    const T none = after | (~before & (c.begin >= window.end));
    Interval<T> found{later(c.begin, T{} + window.begin), earlier(c.end, T{} + window.end)};
    found.begin = select(before, T{} + window.begin, select(none, T{} + kNever, found.begin));
    found.end = select(before, T{} + window.begin, select(none, T{} + kNever, found.end));
    return found;
  }

  JF_HD std::uint32_t key_of(Tick rank) const {
    return static_cast<std::uint32_t>(nodes.of_rank(rank));
  }
  template <class T>
  JF_HD EachRank<T> key_of(EachRank<T> each) const {
    return {nodes.of_rank(each.ranks)};
  }

  template <class T, class Mask, class R, class Rank>
  JF_HD void move(CursorOf<T>& c, Mask which, T t, SeedOf<R> seed, R realization, Rank rank,
                  const std::uint64_t* words) const {
    const auto stale = which & (c.owner != realization);
    const auto moves = which & (stale | (t < c.from) | (t >= c.end));
    if (!any(moves)) return;
    const auto key = key_of(rank);
    const Stream<R, std::remove_const_t<decltype(key)>> stream{seed, key, realization};
    if constexpr (std::is_same_v<T, Tick>) {
      // On other hosts there is no interval, until the cursor gets another owner.
      if (stale && !window.hosts.all() && !window.hosts.has(Tick{rank}, words)) {
        c.owner = realization;
        c.from = INT64_MIN;
        c.begin = c.end = kNever;
        return;
      }
    }
    if (any(stale)) start(c, stale, stream, rank, words);
    seek(c, moves, t, stream, rank, words);
  }

  template <class T, class Mask, class R, class Key, class Rank>
  JF_HD void start(CursorOf<T>& c, Mask which, const Stream<R, Key>& s, Rank rank,
                   const std::uint64_t* words) const {
    c.owner = select(which, s.realization, c.owner);
    if (kind == kPeriodicIntervals) {
      put(c, which, periodic.first_of(phase(s, rank, words)));
    } else if (kind == kRenewalIntervals) {
      renewal.start(c, which, s, words);
    } else {
      trace.own(rank, words).start(c, which, s, rank, words);
    }
  }

  template <class T, class Mask, class R, class Key, class Rank>
  JF_HD void seek(CursorOf<T>& c, Mask which, T t, const Stream<R, Key>& s, Rank rank,
                  const std::uint64_t* words) const {
    if (kind == kPeriodicIntervals) {
      T begin = c.begin;
      periodic.seek(begin, select(which, t, begin));
      put(c, which, begin);
    } else if (kind == kRenewalIntervals) {
      renewal.seek(c, which, t, s, words);
    } else {
      trace.own(rank, words).seek(c, which, t, words);
    }
  }

  template <class T, class Mask>
  JF_HD void put(CursorOf<T>& c, Mask which, T begin) const {
    c.begin = select(which, begin, c.begin);
    c.end = select(which, begin + periodic.duration, c.end);
    // Before the first interval there is none.
    const auto first = begin < (periodic.stationary ? 0 : periodic.period);
    const T from = select(first, T{} + INT64_MIN, begin + (periodic.duration - periodic.period));
    c.from = select(which, from, c.from);
  }
};

}  // namespace jf
