// Interfaces of CPU noise and of network noise, and their simplest implementations: no noise.
#pragma once

#include "core/ticks.h"
#include "noise/cursor.h"

namespace jf {

// What a step of a rank does.
enum StepRole : std::int32_t { kReceiveRole, kSendRole, kComputeRole };

// CPU noise: `step` is A_i(t, w) of docs/model.md, "Noise of the CPU". The noise state of a rank is
// one Tick, `next`: `first` gives its value at time 0, a step moves it with the rank's clock, and
// `seek` sets it for any time. T: a time, or a register of them.
struct NoNoise {
  // Whether it delays compute phases, communication.
  static constexpr bool in_compute = false, in_communication = false;

  // The noise of one realization, or of a register of them, drawn with `seed`.
  template <class R>
  JF_HD NoNoise bind(R, CursorOf<TimesOf<R>>*, SeedOf<R>) const {
    return {};
  }
  template <class Seed, class R, class T>
  JF_HD T first(Seed, R, T ranks) const {
    return ranks - ranks;
  }
  // Sets `next` to its value for time t. back: t may be earlier than the time it was made for.
  template <class T>
  JF_HD void seek(T&, T, bool) const {}
  // Returns when a step that begins at t has ended: the earliest e >= t such that [t, e) holds its
  // work w, its own delays, of that draw number, and no noise.
  template <class T>
  JF_HD T step(StepRole, std::uint64_t, T&, T t, Tick w, T) const {
    return t + w;
  }
  // The same of work of which ranks do `own` at their own speed, if they differ in it by draws.
  template <class T>
  JF_HD T step_at_own_speed(StepRole, std::uint64_t, T&, T t, Tick own, Tick other, T) const {
    return t + (own + other);
  }
  // The same of work in communication that has no delays of its own.
  template <class T>
  JF_HD T communicate(T&, T t, Tick w, T) const {
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
