// Until when ranks meet no interval of any source: what Sources::first says, for many ranks in
// loops of their own. Registers are drawn some at once, and of two neighbours' uniforms none is
// lost.
#pragma once

// clang-format off
#include "draws.h"
// clang-format on
#include "../noise/sources.h"

namespace jf {
namespace {

// For the registers at indices [from, to) of a tile.
struct FirstIntervals {
  const RoundKeys& keys;
  const Sources& sources;
  const TileRanks& rank_of;
  std::int64_t from, to;
  Tick* next;

  __attribute__((noinline)) void find() const {
    if (sources.interval_count == 0) {
      for (std::int64_t x = from; x < to; x += kLanes) store(next + x, broadcast(kNever));
      return;
    }
    for (std::int32_t j = 0; j < sources.interval_count; ++j) {
      const IntervalSource& source = sources.intervals[j];
      std::int64_t x = from;
      if (source.first_is_drawn()) {
        // What the stores can not change.
        const IntervalSource own = source;
        const FirstRounds common(keys, own.first_purpose(), 0, sources.realization);
        if (own.first_by_pair())
          x = by_pairs(own, common, j == 0);
        else if (own.scope_bits == 0 && to - from >= 2 * kLanes && rank_of.map.low_bits > kLaneBits)
          x = by_neighbours(own, common, j == 0);
      }
      for (; x < to; x += kLanes)
        take(j == 0, x, source.first(sources.seed, sources.realization, rank_of(x), sources.words));
    }
  }

 private:
  static constexpr int kAtOnce = kLaneBits == 3 ? 4 : 2;  // as many as there are registers for

  JF_HD void take(bool set, std::int64_t x, Lanes bound) const {
    store(next + x, set ? bound : earlier(load(next + x), bound));
  }

  // Both uniforms of a block are of one rank. Returns the index after the last one found.
  std::int64_t by_pairs(const IntervalSource& source, const FirstRounds& common, bool set) const {
    std::int64_t x = from;
    for (; x + kAtOnce * kLanes <= to; x += kAtOnce * kLanes) {
      Lanes streams[kAtOnce];
      WordLanes drawn[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) streams[i] = rank_of(x + i * kLanes) >> source.scope_bits;
      philox4x32_10(keys, common, streams, drawn);
      for (int i = 0; i < kAtOnce; ++i)
        take(set, x + i * kLanes, source.first_of<Lanes>(uniforms(drawn[i]), sources.words));
    }
    return x;
  }

  // They are of two neighbours, which are in two registers in a row.
  std::int64_t by_neighbours(const IntervalSource& source, const FirstRounds& common,
                             bool set) const {
    constexpr int kPairs = kAtOnce / 2;
    std::int64_t x = from;
    for (; x + kAtOnce * kLanes <= to; x += kAtOnce * kLanes) {
      Lanes streams[kPairs];
      WordLanes drawn[kPairs];
      for (int i = 0; i < kPairs; ++i) {
        const Tick first = rank_of(x + 2 * i * kLanes)[0];
        streams[i] = broadcast(first >> 1) + lane_index();
      }
      philox4x32_10(keys, common, streams, drawn);
      for (int i = 0; i < kPairs; ++i) {
        const Pair<ULanes> u = uniforms(drawn[i]);
        for (int half = 0; half < 2; ++half)
          take(set, x + (2 * i + half) * kLanes,
               source.first_of<Lanes>(interleave(u.even, u.odd, half * kLanes / 2), sources.words));
      }
    }
    return x;
  }
};

}  // namespace
}  // namespace jf
