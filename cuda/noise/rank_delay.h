// Late arrival of ranks, drawn: a rank idles before its compute phase.
#pragma once

#include "noise/step_delay.h"

namespace jf {

struct RankDelay {
  Delay delay;
  NodeSize nodes;  // whose ranks share a draw
  std::uint32_t purpose;
  std::int32_t once;  // one draw for all compute phases of a realization
  Hosts hosts;

  // How long ranks idle. `draw`: number of the draws of the compute phase.
  template <class Seed, class T, class R>
  JF_HD T of(Seed seed, std::int32_t draw, T ranks, R realization,
             const std::uint64_t* words) const {
    const T drawn = drawn_delay(delay, seed, purpose, once ? 0u : static_cast<std::uint32_t>(draw),
                                nodes.of_rank(ranks), realization, words);
    return hosts.only(drawn, drawn - drawn, ranks, words);
  }
};
constexpr int kMaxRankDelays = 8;

}  // namespace jf
