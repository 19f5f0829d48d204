// Network jitter (MS12, section 3): Poisson(transit / period) events lengthen a message. Each event
// adds `duration` to its transit.
#pragma once

#include "core/philox.h"

namespace jf {

struct Jitter {
  static constexpr bool on = true;

  Tick duration;
  const std::uint64_t* survival;  // survival[k] = 2^64 P(events > k), falling; made by the host
  int count;

  JF_HD Tick events(std::uint64_t u) const {
    Tick k = 0;
    while (k < count && u < survival[k]) ++k;
    return k;
  }

  // Nearly always the high half of a draw decides that there is no event.
  JF_HD bool undecided(std::uint64_t high) const { return high <= survival[0] >> 32; }

  JF_HD Tick delay(std::uint64_t seed, std::uint32_t purpose, std::uint64_t draw, Tick rank,
                   std::uint32_t realization, Tick) const {
    return drawn(*this, seed, purpose, draw, static_cast<std::uint32_t>(rank), realization);
  }

 private:
  JF_HD_RARE static Tick drawn(const Jitter& jitter, std::uint64_t seed, std::uint32_t purpose,
                               std::uint64_t draw, std::uint32_t receiver,
                               std::uint32_t realization) {
    const std::uint64_t high = uniform32(seed, purpose, draw, receiver, realization);
    if (!jitter.undecided(high)) return 0;
    const std::uint64_t low = uniform32(seed, purpose | kLowHalves, draw, receiver, realization);
    return jitter.events(high << 32 | low) * jitter.duration;
  }
};

}  // namespace jf
