// Renewal noise or recordings in the lean GPU kernel, where a rank goes through intervals in turn.
// Gaps are random, and the duration is constant; or both are recorded. Other renewal noise is in
// noise/renewal.h, and how recordings are stored in noise/trace.h.
#pragma once

#include <algorithm>
#include <unordered_set>

#include "gpu/jobs.h"

namespace jf::gpu {

// Moves `end` of work without noise over the intervals that begin before the work is done, the
// first of them at `next`, and `next` behind them. duration() tells how long it lasts, gap() how
// long it is from there to the one that follows. Intervals may follow each other as closely as they
// like, so no bound of times is certain. False: the time is too long for 32 bits, and no result of
// the batch is of use.
template <class T, class Duration, class Gap>
JF_HD bool meet_in_turn(T& next, T& end, T work, Duration&& duration, Gap&& gap) {
  // When the work began: what of an interval is earlier delays nothing.
  const auto since = static_cast<Tick>(end - work);
  Tick begin = static_cast<Tick>(next), done = static_cast<Tick>(end);
  bool fits = true;
  do {
    const Tick until = begin + duration();
    done += later(until, since) - later(begin, since);
    begin = until + gap();
    if constexpr (sizeof(T) < sizeof(Tick)) fits = done < kRelativeEnd;
  } while (fits && done > begin);
  end = static_cast<T>(done);
  next = narrow<T>(fits ? begin : kNever);
  return fits;
}

// The last block of Philox of a thread that draws for rank after rank, of which two share one.
struct LastBlock {
  std::uint32_t number = ~0u;  // of none
  Pair<std::uint64_t> u{};

  JF_HD std::uint64_t of(const PhiloxKeys& keys, std::uint32_t purpose, std::uint32_t node,
                         std::uint32_t realization) {
    if (number != node >> 1) u = only_uniform_pair(keys, purpose, node >> 1, realization);
    number = node >> 1;
    return (node & 1) != 0 ? u.odd : u.even;
  }
};

struct LeanRenewal {
  // The first interval that the work of a rank has not passed yet: when it begins, and its number;
  // and what the rank draws with. In global memory, see Begins.
  template <class T>
  struct alignas(16) RankState {
    T next;
    std::uint32_t index, key, realization;

    JF_HD T soonest() const { return next; }
  };

  Tick duration;
  std::uint32_t purpose, first_purpose;
  std::int32_t stationary;
  NodeSize nodes;
  std::uint64_t share;
  const std::uint64_t *gaps, *busy, *idle;  // smooth tables; busy, idle: see Renewal

  // An interval that lasts at time 0 began before it. `base`: of all times.
  template <class T>
  JF_HD T start(RankState<T>& c, LastBlock&, const PhiloxKeys& keys, std::uint32_t realization,
                Tick rank, Tick base) const {
    c = {0, 0, static_cast<std::uint32_t>(nodes.of_rank(rank)), realization};
    const Pair<std::uint64_t> u = draw(c, first_purpose, keys);
    const bool inside = stationary && u.even < share;
    const Tick first = drawn(stationary ? u.odd : u.even, inside ? busy : stationary ? idle : gaps);
    return c.next = narrow<T>(base + first - (inside ? duration : 0));
  }

  // As PeriodicList::meet.
  template <class T, class Rank>
  JF_HD bool meet(RankState<T>& c, T& next, T& end, T work, const PhiloxKeys& keys, Rank&&) const {
    const auto gap = [&] {
      ++c.index;
      return drawn(draw(c, purpose, keys).even, gaps);
    };
    const bool fits = meet_in_turn(next, end, work, [&] { return duration; }, gap);
    c.next = next;
    return fits;
  }

 private:
  template <class T>
  JF_HD static Pair<std::uint64_t> draw(const RankState<T>& c, std::uint32_t purpose,
                                        const PhiloxKeys& keys) {
    const Words r = philox4x32_10({{c.index, purpose, c.key, c.realization}}, keys);
    return {r.w[0] | std::uint64_t{r.w[1]} << 32, r.w[2] | std::uint64_t{r.w[3]} << 32};
  }
  // What Delay::of gives. Outside the tails the high half stands for all bits. (Shifts by 64
  // bits, as of Delay, take four instructions more.)
  JF_HD static Tick drawn(std::uint64_t u, const std::uint64_t* table) {
    const std::uint64_t high = u >> 32;
    return smooth<Tick>(in_tail(high) ? u : high << 32 | (high >> 31) * kMaxHigh, table);
  }
};

// A recording, which each rank replays from an offset on. kOfRanks: ranks have different ones.
template <bool kOfRanks>
struct LeanRecording {
  // The first interval that the work of a rank has not passed yet: when it begins, and its index.
  template <class T>
  struct alignas(16) RankState {
    T next;
    std::uint32_t index;

    JF_HD T soonest() const { return next; }
  };

  Trace trace;
  NodeSize nodes;
  const std::uint64_t* words;

  // An interval that lasts at time 0 began before it. `base`: of all times.
  template <class T>
  JF_HD T start(RankState<T>& c, LastBlock& block, const PhiloxKeys& keys,
                std::uint32_t realization, Tick rank, Tick base) const {
    const Trace& own = of([&] { return rank; });
    const auto length = static_cast<std::uint64_t>(own.length);
    const auto node = static_cast<std::uint32_t>(nodes.of_rank(rank));
    const std::uint64_t offset =
        trace.offsets >= 0 ? words[trace.offsets + rank]
                           : scale64(block.of(keys, trace.purpose, node, realization), length);
    const std::uint64_t index = own.template search<false>(offset, words);
    const auto since = static_cast<Tick>(own.begin_of(index, words) - offset);
    c = {narrow<T>(base + since), wrapped(static_cast<Tick>(index), own)};
    return c.next;
  }

  // As PeriodicList::meet. rank(): which one it is.
  template <class T, class Rank>
  JF_HD bool meet(RankState<T>& c, T& next, T& end, T work, const PhiloxKeys&, Rank&& rank) const {
    const Trace& own = of(rank);
    // 0, 1: the idle and the busy time before the interval; 2, 3: those before the one that
    // follows.
    const auto at = [&](int place) {
      return static_cast<Tick>(words[own.table + 2 * Tick{c.index} + place]);
    };
    const auto duration = [&] { return at(3) - at(1); };
    const auto gap = [&] {
      const Tick found = at(2) - at(0);
      c.index = wrapped(Tick{c.index} + 1, own);
      return found;
    };
    const bool fits = meet_in_turn(next, end, work, duration, gap);
    c.next = next;
    return fits;
  }

 private:
  // Behind the last interval comes the first one.
  JF_HD static std::uint32_t wrapped(Tick index, const Trace& own) {
    return static_cast<std::uint32_t>(index == own.count ? 0 : index);
  }
  template <class Rank>
  JF_HD decltype(auto) of(Rank&& rank) const {
    if constexpr (kOfRanks)
      return trace.own(rank(), words);
    else
      return (trace);
  }
};

// Where more detours than this may end while a rank waits, tile_kernel runs the program: it
// searches for the next one. (Those that work meets it takes in turn, too.)
constexpr std::int64_t kMostInTurn = 1024;
// The lean kernel takes no longer intervals, so that a sum of some can not overflow.
constexpr Tick kLongestInterval = Tick{1} << 40;

// Whether the noise of a program is one source of this kind, which acts on all ranks, always; and
// no messages are delayed.
inline bool is_alone(const Program& p, IntervalKind kind) {
  const bool alone = p.intervals.size() == 1 && p.delays.empty() && p.speeds.empty();
  if (!alone || p.delays_messages()) return false;
  const IntervalSource& s = p.intervals[0];
  return s.kind == kind && s.window.always() && !s.in_bursts;
}

// What is left of an interval at time 0 must not exceed the duration.
inline bool is_lean_renewal(const Program& p) {
  if (!is_alone(p, kRenewalIntervals)) return false;
  const Renewal& noise = p.intervals[0].renewal;
  const auto fits = [](const Delay& d) { return d.certain && d.kind == kSmoothDelay; };
  const Delay& duration = noise.duration;
  const bool constant = duration.certain && duration.kind == kConstantDelay;
  if (!constant || duration.value > kLongestInterval || !fits(noise.gap)) return false;
  if (!noise.stationary) return true;
  if (!fits(noise.busy) || !fits(noise.idle)) return false;
  const auto left = p.words.begin() + noise.busy.table;
  return std::all_of(left, left + 2 * kSmoothNodes, [&](std::uint64_t word) {
    return word <= static_cast<std::uint64_t>(duration.value);
  });
}

// What LatestTime needs to know of the recordings that ranks replay. Times are without noise: work
// meets as many intervals as begin in so much of it.
struct RecordedIntervals {
  Tick longest = 0;
  Tick distance = kNever;  // from an interval to the next, on average, where they are closest
  Tick crowd = kNever;     // the shortest time in which kMostInTurn of them begin

  explicit RecordedIntervals(const Program& p) {
    const Trace& trace = p.intervals[0].trace;
    const std::uint64_t* const words = p.words.data();
    if (trace.recordings < 0) add(trace, words);
    std::unordered_set<std::uint64_t> seen;
    for (std::int64_t rank = 0; trace.recordings >= 0 && rank < p.ranks(); ++rank)
      if (seen.insert(words[trace.recordings + rank]).second) add(trace.own(rank, words), words);
  }

 private:
  void add(const Trace& trace, const std::uint64_t* words) {
    distance = std::min(distance, trace.idle / trace.count);
    for (std::int64_t i = 0; i < trace.count; ++i)
      longest = std::max(longest, static_cast<Tick>(trace.busy_before(i + 1, words) -
                                                    trace.busy_before(i, words)));
    const auto begins = [&](std::int64_t i) {
      const bool repeated = i >= trace.count;
      const auto idle = static_cast<Tick>(trace.idle_before(repeated ? i - trace.count : i, words));
      return repeated ? idle + trace.idle : idle;
    };
    for (std::int64_t i = 0; trace.count > kMostInTurn && i < trace.count; ++i)
      crowd = std::min(crowd, begins(i + kMostInTurn) - begins(i));
  }
};

// `words`: those of the program, where the kernel reads them.
inline LeanRenewal lean_renewal(const Program& p, const std::uint64_t* words) {
  const IntervalSource& s = p.intervals[0];
  const Renewal& noise = s.renewal;
  return {noise.duration.value,
          noise.purpose,
          noise.first_purpose(),
          noise.stationary,
          s.nodes,
          noise.share,
          words + noise.gap.table,
          words + noise.busy.table,
          words + noise.idle.table};
}
template <bool kOfRanks>
LeanRecording<kOfRanks> lean_recording(const Program& p, const std::uint64_t* words) {
  return {p.intervals[0].trace, p.intervals[0].nodes, words};
}

}  // namespace jf::gpu
