// Network jitter (MS12 §3): a message is hit by Poisson(transit / period) events, each adds
// `duration` to its transit.
#pragma once

#include "../philox.h"

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

  JF_HD Tick delay(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, Tick rank,
                   std::uint32_t realization, Tick) const {
    const auto receiver = static_cast<std::uint32_t>(rank);
    return events(uniform64(seed, purpose, draw, receiver, realization)) * duration;
  }
};

}  // namespace jf
