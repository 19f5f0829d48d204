// Speed of ranks, drawn: one slowness factor for each rank and realization.
#pragma once

#include "noise/step_delay.h"

namespace jf {

// A factor is drawn from a table of times, in which 10^12 ticks stand for 1. It becomes a
// fixed-point number of 32 fractional bits, rounded down. A draw of 0 stands for 1: a table whose
// delay does not always happen makes some ranks slow, and leaves the others as they are.
constexpr int kSpeedBits = 32;
constexpr std::uint64_t kSpeedOfTick = 79228162514264338u;  // 2^(64 + 32) / 10^12, rounded up
// What a piece of work may take at most, whatever is drawn: as delays in tables do, it stays so far
// below kLatest that a sum of some is still a time. Program::add_rank_speed sees to it.
constexpr Tick kLongestSlowed = Tick{1} << 60;

JF_HD std::uint64_t speed_factor(std::uint64_t ticks) {
  return ticks == 0 ? std::uint64_t{1} << kSpeedBits : scale64(ticks, kSpeedOfTick);
}

// work * factor, rounded to the nearest tick: from 128 bits, so that it is exact.
JF_HD Tick times_factor(Tick work, std::uint64_t factor) {
  const auto w = static_cast<std::uint64_t>(work);
  const std::uint64_t half = std::uint64_t{1} << (kSpeedBits - 1);
  const std::uint64_t low = w * factor + half, high = scale64(w, factor) + (low < half ? 1 : 0);
  return static_cast<Tick>(high << (64 - kSpeedBits) | low >> kSpeedBits);
}

struct RankSpeed {
  Delay factor;    // as a time, see above
  NodeSize nodes;  // whose ranks share a draw
  std::uint32_t purpose;
  Hosts hosts;  // others keep their speed

  // How long work takes that the ranks would do in time `work`, if it were not for this source.
  template <class Seed, class T, class R>
  JF_HD T slowed(Seed seed, T work, T ranks, R realization, const std::uint64_t* words) const {
    T drawn = drawn_delay(factor, seed, purpose, 0, nodes.of_rank(ranks), realization, words);
    drawn = hosts.only(drawn, drawn - drawn, ranks, words);  // 0 stands for 1
    if constexpr (sizeof(T) == sizeof(Tick)) {
      return times_factor(work, speed_factor(static_cast<std::uint64_t>(drawn)));
    } else {
      T each{};
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
        each[k] = times_factor(work[k], speed_factor(static_cast<std::uint64_t>(drawn[k])));
      return each;
    }
  }
};
constexpr int kMaxRankSpeeds = 8;

}  // namespace jf
