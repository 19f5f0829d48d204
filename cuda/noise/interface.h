// Interfaces of CPU noise and of network noise, and their simplest implementations: no noise.
#pragma once

#include "core/ticks.h"

namespace jf {

// CPU noise: `advance` is A_i(t, w) of docs/model.md, "Noise of the CPU". The noise state of a rank
// is one Tick, `next`: `first` gives its value at time 0, `advance` moves it with the rank's clock,
// `seek` sets it for any time.
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

// Network noise: `delay` is what a message's transit is lengthened by. `rank` is its receiver, the
// last argument is its departure from the sender's CPU.
struct NoJitter {
  static constexpr bool on = false;

  template <class Seed, class T, class R>
  JF_HD T delay(Seed, std::uint32_t, std::uint64_t, T rank, R, T) const {
    return rank - rank;
  }
};

}  // namespace jf
