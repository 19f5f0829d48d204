// Speed of ranks, drawn: a slowness factor for each rank and realization, or for each spell of it.
#pragma once

#include "noise/step_delay.h"

namespace jf {

// A draw of 0 stands for 1: a table whose delay does not always happen makes some ranks slow, and
// leaves the others as they are.
// What a piece of work may take at most, whatever is drawn: as delays in tables do, it stays so far
// below kLatest that a sum of some is still a time. Program::add_rank_speed sees to it.
constexpr Tick kLongestSlowed = Tick{1} << 60;

JF_HD std::uint64_t speed_factor(std::uint64_t ticks) {
  return ticks == 0 ? std::uint64_t{1} << kFactorBits : factor_of(ticks);
}

struct RankSpeed {
  Delay factor;    // as a time, see above
  NodeSize nodes;  // whose ranks share a draw
  std::uint32_t purpose;
  Hosts hosts;  // others keep their speed
  Spells spells;

  // How long work takes that the ranks would do in time `work`, if it were not for this source.
  // `t`: when it begins. It is done at the speed of that spell.
  template <class Seed, class T, class R>
  JF_HD T slowed(Seed seed, T work, T ranks, R realization, T t, const std::uint64_t* words) const {
    T drawn =
        delay_of_spell(factor, spells, seed, purpose, nodes.of_rank(ranks), realization, t, words);
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
