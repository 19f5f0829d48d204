// One source of renewal noise as the lean GPU kernel takes it: random gaps, a constant duration.
// Other renewal noise: noise/renewal.h.
#pragma once

#include <algorithm>

#include "gpu/jobs.h"

namespace jf::gpu {

struct LeanRenewal {
  // The first interval that the work of a rank has not passed yet: when it begins, and its number;
  // and what the rank draws with. In global memory, see Begins.
  template <class T>
  struct alignas(16) OfRank {
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
  JF_HD T start(OfRank<T>& c, const PhiloxKeys& keys, std::uint32_t realization, Tick rank,
                Tick base) const {
    c = {0, 0, static_cast<std::uint32_t>(nodes.of_rank(rank)), realization};
    const Pair<std::uint64_t> u = draw(c, first_purpose, keys);
    const bool inside = stationary && u.even < share;
    const Tick first = drawn(stationary ? u.odd : u.even, inside ? busy : stationary ? idle : gaps);
    return c.next = narrow<T>(base + first - (inside ? duration : 0));
  }

  // As PeriodicList::meet. Gaps may be of any length, so no bound of times is certain. False: the
  // time is too long for 32 bits, and no result of the batch is of use.
  template <class T>
  JF_HD bool meet(OfRank<T>& c, T& next, T& end, T work, const PhiloxKeys& keys) const {
    const auto since =
        static_cast<Tick>(end - work);  // of intervals, what ended before adds nothing
    Tick begin = static_cast<Tick>(next), done = static_cast<Tick>(end);
    bool fits = true;
    do {
      const Tick until = begin + duration;
      done += later(until, since) - later(begin, since);
      ++c.index;
      begin = until + drawn(draw(c, purpose, keys).even, gaps);
      if constexpr (sizeof(T) < sizeof(Tick)) fits = done < kRelativeEnd;
    } while (fits && done > begin);
    end = static_cast<T>(done);
    c.next = next = narrow<T>(fits ? begin : kNever);
    return fits;
  }

 private:
  template <class T>
  JF_HD static Pair<std::uint64_t> draw(const OfRank<T>& c, std::uint32_t purpose,
                                        const PhiloxKeys& keys) {
    const Words r = philox4x32_10({{c.index, purpose, c.key, c.realization}}, keys);
    return {r.w[0] | std::uint64_t{r.w[1]} << 32, r.w[2] | std::uint64_t{r.w[3]} << 32};
  }
  // What Delay::of gives. Outside the tails the high half stands for all bits.
  JF_HD static Tick drawn(std::uint64_t u, const std::uint64_t* table) {
    const std::uint64_t high = u >> 32;
    const bool tail = distance_from_end(high) < kTail;
    return smooth<Tick>(tail ? u : high << 32 | (high >> 31) * kMaxHigh, table);
  }
};

// Whether the noise of a program is such a source, which acts on all ranks, always; and no messages
// are delayed. What is left of an interval at time 0 must not exceed the duration.
inline bool is_lean_renewal(const Program& p) {
  constexpr Tick kLongest = Tick{1} << 40;
  const auto fits = [](const Delay& d) { return d.certain && d.kind == kSmoothDelay; };
  const bool alone = p.intervals.size() == 1 && p.delays.empty() && p.speeds.empty();
  if (!alone || p.delays_messages()) return false;
  const IntervalSource& s = p.intervals[0];
  const Renewal& noise = s.renewal;
  if (s.kind != kRenewalIntervals || !s.window.always() || s.in_bursts) return false;
  const Delay& duration = noise.duration;
  const bool constant = duration.certain && duration.kind == kConstantDelay;
  if (!constant || duration.value > kLongest || !fits(noise.gap)) return false;
  if (!noise.stationary) return true;
  if (!fits(noise.busy) || !fits(noise.idle)) return false;
  const auto left = p.words.begin() + noise.busy.table;
  return std::all_of(left, left + 2 * kSmoothNodes, [&](std::uint64_t word) {
    return word <= static_cast<std::uint64_t>(duration.value);
  });
}

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

}  // namespace jf::gpu
