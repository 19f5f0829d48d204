// The noise of some registers of a block: the same code for blocks of every size.
#pragma once

#include <type_traits>
#include <utility>

// First: built-in vector types have no namespace, so templates only see overloads for them that
// are declared before.
// clang-format off
#include "simd.h"
#include "simd_random.h"
// clang-format on
#include "../steps.h"
#include "prepare.h"

namespace jf {

// Without a name outside its compilation: else the linker would keep one instruction set's for all.
namespace {

// A loop whose counter is a constant, so that what it indexes can live in registers.
template <int kCount, class F>
JF_HD void unrolled(F&& f) {
  [&]<int... k>(std::integer_sequence<int, k...>) JF_INLINE {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, kCount>());
}

// The same where `f` does not need a constant. A sanitizer is given a loop: it keeps next to
// nothing in registers, and to compile its checks of each turn would take g++ minutes.
template <int kCount, class F>
JF_HD void each(F&& f) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  for (int k = 0; k < kCount; ++k) f(k);
#else  // not by unrolled(), which would make other code of it
  [&]<int... k>(std::integer_sequence<int, k...>) JF_INLINE {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, kCount>());
#endif
}

// What was drawn for a block's ranks.
struct Drawn {
  bool never_quiet, intervals;     // see Block::exchange_few
  const Tick* drawn[kDrawnKinds];  // delays of the first step, at the first rank; or null
};
struct NotDrawn {};
template <bool kDrawn>
using DrawnIf = std::conditional_t<kDrawn, Drawn, NotDrawn>;

// What all blocks share.
template <class Noise, class Network>
struct Surroundings {
  const Costs& costs;
  const Noise& noise;
  const Network& network;
  std::uint64_t seed;
  std::uint32_t realization;
  DrawnIf<is_general<Noise> || Network::on> delays;

  JF_HD Lanes delay(Purpose purpose, const Step& step, Lanes receivers, Lanes left) const {
    return network.delay(seed, purpose, static_cast<std::uint32_t>(step.draw), receivers,
                         realization, left);
  }

  // When a copy, or the answer to a question, arrives: no delays are drawn beforehand for these.
  JF_HD Lanes copy_arrives(const Step& step, Lanes receivers, Lanes left) const {
    if constexpr (is_general<Network>) {
      Network whole = network;
      whole.prepared = false;
      return left + costs.transit +
             whole.delay(seed, kCopyJitter, static_cast<std::uint32_t>(step.draw), receivers,
                         realization, left);
    } else {
      return left + costs.transit + delay(kCopyJitter, step, receivers, left);
    }
  }
};

// Two registers in the same step, or one where there is only one.
template <int n>
struct Few {
  Clock<Lanes> c[n];
  Lanes arrival[n], ready[n];
};

// Where the registers of a block are in the tile. By value: who is handed it in registers does not
// make it in memory for each block.
struct Where {
  Tick* next;  // of register 0: seldom needed, so it stays where it is
  std::int64_t apart;

  JF_HD Tick* next_of(int k) const { return next + k * apart; }
};

// The same, and where they are among the ranks that delays are drawn for.
struct DrawnWhere : Where {
  std::int64_t x, y, y_apart;
  const TileRanks* ranks_of;

  JF_HD Lanes ranks(int k) const { return (*ranks_of)(x + k * apart); }
};

template <class Noise, class Network>
struct RegisterNoise {
  // Whether delays are drawn.
  static constexpr bool kDrawn = is_general<Noise> || Network::on;
  using By = Surroundings<Noise, Network>;
  using At = std::conditional_t<kDrawn, DrawnWhere, Where>;

  JF_HD static void place(const At at, int k, Clock<Lanes>& c) {
    c.next = load(at.next_of(k));
    if constexpr (kDrawn) c.id = at.ranks(k);
  }

  // Delays of register k, or null.
  JF_HD static const Tick* drawn(const By& by, const At at, int kind, int round, int k) {
    return by.delays.drawn[kind] == nullptr ? nullptr : drawn_there(by, at, kind, round, k);
  }
  JF_HD static const Tick* drawn_there(const By& by, const At at, int kind, int round, int k) {
    return by.delays.drawn[kind] + round * kDrawnRanks + at.y + k * at.y_apart;
  }

  // The noise of registers from `first` on.
  template <bool kQuiet>
  struct NoiseOf {
    const By& by;
    const At at;
    const int round, first;

    JF_HD decltype(auto) operator()(int k) const {
      if constexpr (only_receives<Noise>)
        return DrawnDelays{drawn_there(by, at, kReceiving, round, first + k)};
      else if constexpr (is_general<Noise>)
        return PreparedSources<kQuiet, Noise>{by.noise,
                                              {drawn(by, at, kReceiving, round, first + k),
                                               drawn(by, at, kSending, round, first + k)}};
      else if constexpr (kQuiet)
        return NoNoise{};
      else
        return (by.noise);
    }
  };

  template <class Kind, int n>
  __attribute__((noinline, cold)) static void noisy(const By& by, const At at, const Step& step,
                                                    int round, int first, Few<n>& few) {
    each<n>([&](auto k) JF_INLINE { place(at, first + k, few.c[k]); });
    Kind::act(NoiseOf<false>{by, at, round, first}, by, step, few);
    each<n>([&](auto k) JF_INLINE { store(at.next_of(first + k), few.c[k].next); });
  }
};

}  // namespace
}  // namespace jf
