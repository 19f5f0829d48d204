// Noise of several ranks at a time, in registers of realizations, for message passes. A rank alone
// would wait for each round of its random numbers.
#pragma once

// Before all templates over registers: see its head.
#include "cpu/simd_philox.h"

#include "noise/sources.h"

namespace jf {

// --- Random numbers of a rank and a realization in each lane.

JF_HD Pair<ULanes> uniform_pair(const RoundKeys* keys, std::uint32_t purpose, Lanes blocks,
                                EachRank<Lanes> each, Lanes realizations) {
  WordLanes words[1] = {
      {{(ULanes)blocks, ULanes{} + purpose, (ULanes)each.ranks, (ULanes)realizations}}};
  philox_rounds<0>(*keys, words);
  return uniforms(words[0]);
}
JF_HD Pair<ULanes> uniform_pair(const RoundKeys* keys, std::uint32_t purpose, std::uint32_t block,
                                EachRank<Lanes> each, Lanes realizations) {
  return uniform_pair(keys, purpose, Lanes{} + Tick{block}, each, realizations);
}
JF_HD TwoUniformPairs<ULanes> first_pairs(const RoundKeys* keys, std::uint32_t purpose,
                                          std::uint32_t other_purpose, EachRank<Lanes> each,
                                          Lanes realizations) {
  const ULanes ranks = (ULanes)each.ranks, numbers = (ULanes)realizations;
  WordLanes words[2] = {{{ULanes{}, ULanes{} + purpose, ranks, numbers}},
                        {{ULanes{}, ULanes{} + other_purpose, ranks, numbers}}};
  philox_rounds<0>(*keys, words);
  return {uniforms(words[0]), uniforms(words[1])};
}
JF_HD ULanes only_uniform64(const RoundKeys* keys, std::uint32_t purpose, EachRank<Lanes> each,
                            Lanes realizations) {
  const auto pair = uniform_pair(keys, purpose, 0u, EachRank<Lanes>{each.ranks >> 1}, realizations);
  return (ULanes)select((each.ranks & 1) == 0, (Lanes)pair.even, (Lanes)pair.odd);
}

namespace {

// The noise state at time 0, Noise::first, of n ranks from `first` (even) on.
template <int n>
JF_HD void first_together(const Periodic& noise, const RoundKeys* keys, Tick first,
                          Lanes realizations, Lanes (&next)[n]) {
  ULanes drawn[n];
  only_uniforms64(keys, kPhase, first, realizations, drawn);
  for (int k = 0; k < n; ++k) next[k] = noise.first_of(noise.template scaled<Lanes>(drawn[k]));
}

// Trace::first of n registers, lane by lane: the searches of different lanes go on side by side.
template <int n>
JF_HD void firsts_of_trace(const Trace& trace, const ULanes (&drawn)[n], const std::uint64_t* words,
                           Lanes (&bounds)[n]) {
  ULanes offset[n], first[n], last[n];
  for (int k = 0; k < n; ++k) {
    offset[k] = scale64(drawn[k], static_cast<std::uint64_t>(trace.length));
    const Pair<ULanes> range = trace.searched<false>(offset[k], words);
    first[k] = range.even;
    last[k] = range.odd;
  }
  const std::uint64_t* const table = words + trace.table;
  for (int k = 0; k < n; ++k) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t t = offset[k][lane];
      const std::uint64_t* const found =
          table + 2 * first_above(table, first[k][lane], last[k][lane], t, false);
      bounds[k][lane] = static_cast<Tick>(found[0] + found[1] - t);
    }
  }
}

template <int n>
JF_HD void first_together(const SourcesOf<Lanes>& noise, const RoundKeys* keys, Tick first,
                          Lanes realizations, Lanes (&next)[n]) {
  for (int k = 0; k < n; ++k) next[k] = broadcast(kNever);
  for (std::int32_t j = 0; j < noise.interval_count; ++j) {
    const IntervalSource& source = noise.intervals[j];
    if (source.tells_bursts) continue;  // it is not the first one
    const auto merge = [&](int k, Lanes bound) JF_INLINE { next[k] = earlier(next[k], bound); };
    if (!source.first_is_drawn()) {
      for (int k = 0; k < n; ++k)
        merge(k, source.first(keys, realizations, broadcast(first + k), noise.words));
      continue;
    }
    const std::uint32_t purpose = source.first_purpose();
    const auto merge_all = [&](const ULanes(&drawn)[n]) JF_INLINE {
      Lanes bounds[n];
      if (source.kind == kTraceIntervals) firsts_of_trace(source.trace, drawn, noise.words, bounds);
      for (int k = 0; k < n; ++k)
        merge(k, source.kind == kTraceIntervals ? source.not_before_window(bounds[k])
                                                : source.first_of<Lanes>(drawn[k], noise.words));
    };
    if (source.nodes.one_rank() && !source.first_by_pair()) {
      ULanes drawn[n];
      only_uniforms64(keys, purpose, first, realizations, drawn);
      merge_all(drawn);
      continue;
    }
    std::uint32_t streams[n], blocks[n];
    WordLanes drawn[n];
    for (int k = 0; k < n; ++k) {
      streams[k] = static_cast<std::uint32_t>(source.nodes.of_rank(first + k));
      blocks[k] = source.first_by_pair() ? streams[k] : streams[k] >> 1;
    }
    draw_words(keys, purpose, blocks, realizations, drawn);
    ULanes alone[n];
    for (int k = 0; k < n; ++k) {
      const Pair<ULanes> u = uniforms(drawn[k]);
      if (source.first_by_pair()) merge(k, source.first_of<Lanes>(u, noise.words));
      alone[k] = streams[k] % 2 == 0 ? u.even : u.odd;
    }
    if (!source.first_by_pair()) merge_all(alone);
  }
}

// --- Noise that a few realizations of a register meet, register by register of those that do.

// Steps of some ranks, with the same work, that noise delays in some realizations: each is a rank
// in one lane. They begin their noise anew. That is quicker than cursors, which differ from rank to
// rank, as long as they meet the first intervals.
template <class T>
class NoiseHits {
 public:
  static constexpr int kSteps = 32;  // at most, of all lanes
  static constexpr std::int32_t kMostSources = 8;

  // The steps of `ranks`, which are one, in those lanes that `which` has.
  JF_HD void add(T ranks, T which, T begin) {
    store_some(ranks_ + count_, (ranks << kLaneBits) | lane_index(), which);
    count_ += store_some(begins_ + count_, begin, which);
  }

  // Calls done(rank, lane, when the step has ended, noise state) for all of them, and forgets them.
  template <class Done>
  JF_HD void settle(const SourcesOf<T>& noise, Tick work, Done&& done) {
    for (int i = count_; i % kLanes != 0; ++i) {
      ranks_[i] = ranks_[count_ - 1];
      begins_[i] = begins_[count_ - 1];
    }
    for (int from = 0; from < count_; from += kLanes) {
      const Met met = meet(noise, ranks_ + from, begins_ + from, work);
      for (int k = 0; k < kLanes; ++k) {
        const Tick which = ranks_[from + k];
        done(which >> kLaneBits, which & (kLanes - 1), Tick{met.end[k]}, Tick{met.next[k]});
      }
    }
    count_ = 0;
  }

 private:
  struct Met {
    T end, next;
  };
  static __attribute__((noinline)) Met meet(const SourcesOf<T>& all, const Tick* ranks,
                                            const Tick* begins, Tick work) {
    const T which = load(ranks), lanes = which & (kLanes - 1);
    SourcesOf<T> noise = all;
    noise.realization = (T)__builtin_shuffle(all.realization, lanes);
    CursorOf<T> cursors[kMostSources];
    for (std::int32_t j = 0; j < noise.interval_count; ++j)
      cursors[j] = {T{}, T{}, T{}, T{}, ~noise.realization};
    T next = broadcast(INT64_MIN), t = load(begins), w = broadcast(work);
    noise.meet_lanes(cursors, next, t, w, EachRank<T>{which >> kLaneBits}, false);
    return {t + w, next};
  }

  int count_ = 0;
  alignas(T) Tick ranks_[(kSteps + 1) * kLanes];
  alignas(T) Tick begins_[(kSteps + 1) * kLanes];
};

// Noise as far as the noise state of ranks tells it: who meets more is noted.
template <class T>
struct NotedNoise {
  NoiseHits<T>* hits;

  JF_HD T step(StepRole, std::uint64_t, T& next, T t, Tick w, T ranks) const {
    const T end = t + w;
    if (w > 0 && any_greater(end, next)) hits->add(ranks, end > next, t);
    return end;
  }
  JF_HD T step_at_own_speed(StepRole role, std::uint64_t draw, T& next, T t, Tick own, Tick other,
                            T ranks) const {
    return step(role, draw, next, t, own + other, ranks);
  }
};

}  // namespace
}  // namespace jf
