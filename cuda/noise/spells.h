// For how long a draw holds: time in spells of one length, each with a draw of its own.
#pragma once

#include "noise/delay.h"

namespace jf {

// Below it the numbers of spells, up to kLatest, would have more bits than those of draws have.
constexpr Tick kShortestSpell = Tick{1} << 13;

struct Spells {
  Tick length = 0;  // 0: one draw holds for a whole realization
  // Of the draw that says how far the spell is that is found at time 0.
  std::uint32_t phase_purpose = 0;

  // The number of the spell in which time t lies, of ranks that share their draws as `node`.
  template <class Seed>
  JF_HD std::uint64_t number(Seed seed, std::uint32_t node, std::uint32_t realization,
                             Tick t) const {
    if (length == 0) return 0;
    const auto spell = static_cast<std::uint64_t>(length);
    const std::uint64_t phase =
        scale64(both_halves(seed, phase_purpose, 0, node, realization), spell);
    return (static_cast<std::uint64_t>(t) + phase) / spell;
  }

  // Both halves of a draw, as uniform64, with the keys of any engine.
  template <class Seed>
  JF_HD static std::uint64_t both_halves(Seed seed, std::uint32_t purpose, std::uint64_t draw,
                                         std::uint32_t node, std::uint32_t realization) {
    const std::uint64_t high = uniform32(seed, purpose, draw, node, realization);
    return high << 32 | uniform32(seed, purpose | kLowHalves, draw, node, realization);
  }
};

}  // namespace jf
