// Two to four periodic noise sources at once, as the lean GPU kernel takes them: intervals, phases.
// Other lists of sources: noise/sources.h.
#pragma once

#include <algorithm>

#include "gpu/jobs.h"

namespace jf::gpu {

constexpr int kMostListed = 4;

// Of a rank: for each source, the begin of the first interval that its work has not passed yet. In
// global memory, as only ranks that meet an interval need it.
template <class T>
struct alignas(16) Begins {
  T of[kMostListed];

  JF_HD T soonest() const {
    static_assert(kMostListed == 4);
    return earlier(earlier(of[0], of[1]), earlier(of[2], of[3]));
  }
};

struct PeriodicList {
  template <class T>
  using RankState = Begins<T>;

  std::int32_t count;
  std::int32_t quick;      // each rank draws its own phases, and no interval may last at time 0
  std::int32_t all_short;  // no period is longer than kLeanNever
  Periodic sources[kMostListed];
  std::uint32_t purposes[kMostListed];  // of the draws of phases
  // A longer period has the same effect as the longest: the next interval is beyond all times.
  Tick periods[kMostListed];

  // The begin of a source's first interval that ends after time 0.
  JF_HD Tick first(int j, const PhiloxKeys& keys, std::uint32_t realization, Tick rank) const {
    const Periodic& source = sources[j];
    const auto node = static_cast<std::uint32_t>(source.nodes.of_rank(rank));
    const Tick phase =
        source.phases != nullptr
            ? source.phases[rank]
            : source.scaled<Tick>(only_uniform64(keys, purposes[j], node, realization));
    Tick next = source.first_of(phase);
    if (source.stationary) source.seek(next, 0);
    return next;
  }

  // Moves `end` of work without noise from `next` on, the soonest of `begins`, over the intervals
  // that begin before the work is done. In the order of their begins each adds what it lasts beyond
  // all before it, which is nothing where it ended before the work began. True: all times fit.
  template <class T, class Rank>
  JF_HD bool meet(Begins<T>& begins, T& next, T& end, T work, const PhiloxKeys&, Rank&&) const {
    T passed = end - work;  // up to here it is known when there is noise
    do {
      const T begin = later(next, passed);
      T until = begin;
      for (int j = 0; j < kMostListed; ++j) {
        if (begins.of[j] != next) continue;
        until = later(until, next + static_cast<T>(sources[j].duration));
        begins.of[j] += static_cast<T>(periods[j]);
      }
      end += until - begin;
      passed = until;
      next = begins.soonest();
    } while (end > next);
    return true;
  }
};

// Whether the noise of a program is such a list: its sources act on all ranks, always, in the same
// phases; and no messages are delayed.
inline bool is_periodic_list(const Program& p) {
  const auto fits = [&](const IntervalSource& s) {
    const IntervalSource& first = p.intervals[0];
    return s.kind == kPeriodicIntervals && s.window.always() && !s.in_bursts &&
           s.in_compute == first.in_compute && s.in_communication == first.in_communication;
  };
  return p.intervals.size() > 1 && p.intervals.size() <= kMostListed && p.delays.empty() &&
         p.speeds.empty() && !p.delays_messages() &&
         std::all_of(p.intervals.begin(), p.intervals.end(), fits);
}

// `words`: those of the program, where the kernel reads them; `longest`: of the periods.
inline PeriodicList periodic_list(const Program& p, const std::uint64_t* words, Tick longest) {
  PeriodicList list{};
  list.quick = list.all_short = true;
  for (const IntervalSource& s : p.intervals) {
    Periodic& source = list.sources[list.count] = s.periodic;
    if (s.phases >= 0) source.phases = reinterpret_cast<const Tick*>(words + s.phases);
    list.purposes[list.count] = s.phase_purpose;
    list.periods[list.count++] = std::min(source.period, longest);
    list.quick &= source.drawn_alone() && !source.stationary;
    list.all_short &= source.period <= kLeanNever;
  }
  return list;
}

}  // namespace jf::gpu
