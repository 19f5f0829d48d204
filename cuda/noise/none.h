// No CPU noise and no network jitter: the interfaces that every source beside this file offers.
#pragma once

#include "core/ticks.h"

namespace jf {

// Interface of CPU noise (model: `advance`). A rank carries one Tick of the source's own, `next`,
// from `first` on; `advance` moves it with the rank's clock, `seek` puts it right for any time.
struct NoNoise {
  static constexpr bool in_compute = false, in_communication = false;

  template <class Seed, class R, class T>
  JF_HD T phase(Seed, R, T ranks) const {
    return ranks - ranks;
  }
  template <class T>
  JF_HD T first(T phase) const {
    return phase;
  }
  template <class T>
  JF_HD void seek(T&, T) const {}
  template <class T>
  JF_HD T advance(T&, T t, Tick w) const {
    return t + w;
  }
};

// Interface of network noise: what a message's transit is lengthened by. `rank` receives it,
// and it left its sender's CPU at the last argument.
struct NoJitter {
  static constexpr bool on = false;

  template <class Seed, class T, class R>
  JF_HD T delay(Seed, std::uint32_t, std::uint32_t, T rank, R, T) const {
    return rank - rank;
  }
};

}  // namespace jf
