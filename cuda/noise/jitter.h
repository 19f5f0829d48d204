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

  // The delay of a draw. low_half() draws its low half; it is called only if that decides.
  template <class LowHalf>
  JF_HD Tick delay_of_draw(std::uint64_t high, LowHalf&& low_half) const {
    Tick k = 0;
    while (k < count && high < survival[k] >> 32) ++k;
    if (k < count && high == survival[k] >> 32) k = events(high << 32 | low_half());
    return k * duration;
  }

  JF_HD Tick delay(std::uint64_t seed, std::uint32_t purpose, std::uint64_t draw, Tick rank,
                   std::uint32_t realization, Tick) const {
    return drawn(*this, seed, purpose, draw, static_cast<std::uint32_t>(rank), realization);
  }

 private:
  JF_HD_RARE static Tick drawn(const Jitter& jitter, std::uint64_t seed, std::uint32_t purpose,
                               std::uint64_t draw, std::uint32_t receiver,
                               std::uint32_t realization) {
    const std::uint64_t high = uniform32(seed, purpose, draw, receiver, realization);
    if (high > jitter.survival[0] >> 32) return 0;
    const std::uint64_t low = uniform32(seed, purpose | kLowHalves, draw, receiver, realization);
    return jitter.events(high << 32 | low) * jitter.duration;
  }
};

}  // namespace jf
