// Some registers of a tile on their way through several rounds: what a radix-8 pass is to an FFT.
// Their times are read and written once for all these rounds, and stay in registers in between.
#pragma once

#include <type_traits>
#include <utility>

// First: templates see only those overloads for registers, which have no namespace, that are
// declared before them.
#include "cpu/simd_philox.h"

#include "core/steps.h"
#include "cpu/drawn_delays.h"

namespace jf {

// Without a name outside its compilation: else the linker would keep one instruction set's for all.
namespace {

// --- The noise of some registers of a block: the same code for blocks of every size.

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
  bool never_quiet, intervals;     // see Block::exchange_group
  const Tick* drawn[kDrawnKinds];  // delays of the first step, at the first rank; or null
};
struct NotDrawn {};
template <bool kDrawn>
using DrawnIf = std::conditional_t<kDrawn, Drawn, NotDrawn>;

// What all blocks share.
template <class Noise, class Network>
struct ExchangeContext {
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
struct RegisterGroup {
  Clock<Lanes> c[n];
  Lanes arrival[n], ready[n];
};

// Where the registers of a block are in the tile. By value: who is handed it in registers does not
// make it in memory for each block.
struct Location {
  Tick* next;  // of register 0: seldom needed, so it stays where it is
  std::int64_t stride;

  JF_HD Tick* next_of(int k) const { return next + k * stride; }
};

// The same, and where they are among the ranks that delays are drawn for.
struct DrawnLocation : Location {
  std::int64_t x, y, y_stride;
  const TileRanks* ranks_of;

  JF_HD Lanes ranks(int k) const { return (*ranks_of)(x + k * stride); }
};

template <class Noise, class Network>
struct RegisterNoise {
  // Whether delays are drawn.
  static constexpr bool kDrawn = is_general<Noise> || Network::on;
  using By = ExchangeContext<Noise, Network>;
  using At = std::conditional_t<kDrawn, DrawnLocation, Location>;

  JF_HD static void place(const At at, int k, Clock<Lanes>& c) {
    c.next = load(at.next_of(k));
    if constexpr (kDrawn) c.id = at.ranks(k);
  }

  // Delays of register k, or null.
  JF_HD static const Tick* drawn(const By& by, const At at, int kind, int round, int k) {
    return by.delays.drawn[kind] == nullptr ? nullptr : drawn_there(by, at, kind, round, k);
  }
  JF_HD static const Tick* drawn_there(const By& by, const At at, int kind, int round, int k) {
    return by.delays.drawn[kind] + round * kDrawnRanks + at.y + k * at.y_stride;
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
                                                    int round, int first, RegisterGroup<n>& group) {
    each<n>([&](auto k) JF_INLINE { place(at, first + k, group.c[k]); });
    Kind::act(NoiseOf<false>{by, at, round, first}, by, step, group);
    each<n>([&](auto k) JF_INLINE { store(at.next_of(first + k), group.c[k].next); });
  }
};

// The kinds of exchanges. act: the step of ranks whose messages arrive at `arrival`; noise_of(k) is
// the noise of register k.
struct Original {
  template <int n, class NoiseOf, class By>
  JF_HD static void act(const NoiseOf& noise_of, const By& by, const Step& step,
                        RegisterGroup<n>& f) {
    each<n>([&](auto k) JF_INLINE {
      f.ready[k] = exchange(noise_of(k), by.costs, step, f.arrival[k], f.c[k]);
    });
  }
};

// The mirror is a lane of the same register.
struct Copied {
  template <int n, class NoiseOf, class By>
  JF_HD static void act(const NoiseOf& noise_of, const By& by, const Step& step,
                        RegisterGroup<n>& f) {
    OwnPath<Lanes> own[n];
    Lanes copy[n];
    each<n>([&](auto k) JF_INLINE {
      own[k] = own_path(noise_of(k), by.costs, step, f.arrival[k], f.c[k]);
      copy[k] = by.copy_arrives(step, f.c[k].id, swap_lanes(own[k].after.busy, 0));
    });
    if (__builtin_expect(any_greater(f.arrival[0], copy[0], f.arrival[n - 1], copy[n - 1]), 0)) {
      each<n>([&](auto k) JF_INLINE {
        f.ready[k] = settle(noise_of(k), by.costs, step, f.arrival[k], copy[k], own[k], f.c[k]);
      });
    } else {
      each<n>([&](auto k) JF_INLINE {
        f.ready[k] = own[k].ready;
        f.c[k] = own[k].after;
      });
    }
  }
};

// Copies on demand, of the mirror in the same register.
struct Asked {
  template <int n, class NoiseOf, class By>
  JF_HD static void act(const NoiseOf& noise_of, const By& by, const Step& step,
                        RegisterGroup<n>& f) {
    each<n>([&](auto k) JF_INLINE {
      const auto& noise = noise_of(k);
      const auto own = asked_path(noise, by.costs, step, f.arrival[k], f.c[k]);
      const Lanes left = answer_leaves(by.costs, own.asked, swap_lanes(own.ready, 0));
      const Lanes answer = by.copy_arrives(step, f.c[k].id, left);
      f.ready[k] = settle_asked(noise, by.costs, step, f.arrival[k], answer, own, f.c[k]);
    });
  }
};

// Not an exchange: the state after the butterfly is handed on.
struct Forwarded {};

// 2^kBits registers. Those whose numbers differ in a bit are partners in one round.
template <int kBits, class Noise, class Network, bool kBusy>
struct Block {
  static constexpr int kSize = 1 << kBits;
  static constexpr int kGroup = kBits > 0 ? 2 : 1;
  using Registers = RegisterNoise<Noise, Network>;
  using By = typename Registers::By;
  using At = typename Registers::At;
  using QuietOf = typename Registers::template NoiseOf<true>;

  const By& by;
  const At at;
  Lanes sent[kSize], busy[kSize], ready[kSize];

  // Sets none of the registers: what is not used costs nothing.
  JF_HD Block(const By& by, const At at) : by(by), at(at) {}

  // Step number `round` of the block, whose partners are lane xor 2^bit.
  template <class Kind>
  JF_HD void among_lanes(const Step& step, int round, int bit) {
    Lanes from[kSize];
    each<kSize>([&](auto k) JF_INLINE { from[k] = swap_lanes(leaves<Kind>(k), bit); });
    receive<Kind>(step, round, from);
  }

  // The same, whose partners are register xor 2^b.
  template <class Kind>
  JF_HD void among_registers(const Step& step, int round, int b) {
    Lanes from[kSize];
    each<kSize>([&](auto k) JF_INLINE { from[k] = leaves<Kind>(k ^ 1 << b); });
    receive<Kind>(step, round, from);
  }

 private:
  JF_HD Clock<Lanes> clock(int k) const {
    if constexpr (kBusy && Network::on)
      return {sent[k], busy[k], Lanes{}, at.ranks(k)};
    else
      return {sent[k], kBusy ? busy[k] : sent[k], Lanes{}, Lanes{}};
  }

  JF_HD Lanes arrival(Purpose purpose, const Step& step, int round, int k, Lanes left) const {
    if constexpr (!Network::on) {
      return left + by.costs.transit;
    } else {
      Lanes arrives = left + by.costs.transit;
      if (const Tick* delays = Registers::drawn(by, at, kOfMessages, round, k))
        arrives += load(delays);
      if (by.network.windows) arrives += by.delay(purpose, step, at.ranks(k), left);
      return arrives;
    }
  }

  // When the message of register k to its partner leaves.
  template <class Kind>
  JF_HD Lanes leaves(int k) const {
    if constexpr (std::is_same_v<Kind, Forwarded>) {
      if (by.costs.forward == 0) return sent[k];
      Clock<Lanes> c = clock(k);
      Registers::place(at, k, c);
      return forward_sent(by.noise, by.costs, c);
    } else {
      return sent[k];
    }
  }

  template <class Kind>
  JF_HD void receive(const Step& step, int round, const Lanes (&from)[kSize]) {
    if constexpr (std::is_same_v<Kind, Forwarded>) {
      each<kSize>([&](auto k) JF_INLINE {
        const Lanes left = leaves<Kind>(k);
        Clock<Lanes> c = clock(k);
        ready[k] = take_forward(left, arrival(kForwardJitter, step, round, k, from[k]), c);
        sent[k] = c.sent;
        if (kBusy) busy[k] = c.busy;
      });
    } else {
      each<kSize / kGroup>([&](auto i) JF_INLINE {
        const int first = i * kGroup;
        RegisterGroup<kGroup> group;
        each<kGroup>([&](auto k) JF_INLINE {
          group.c[k] = clock(first + k);
          group.arrival[k] = arrival(kOriginalJitter, step, round, first + k, from[first + k]);
        });
        exchange_group<Kind>(step, round, first, group);
        each<kGroup>([&](auto k) JF_INLINE {
          sent[first + k] = group.c[k].sent;
          if (kBusy) busy[first + k] = group.c[k].busy;
          ready[first + k] = group.ready[k];
        });
      });
    }
  }

  // First without intervals of noise: where all ranks are free again by the time that their next
  // one begins, none of them met it. Not where the delays depend on the time.
  template <class Kind>
  JF_HD void exchange_group(const Step& step, int round, int first,
                            RegisterGroup<kGroup>& group) const {
    if constexpr (!is_timed<Noise>) {
      Kind::act(QuietOf{by, at, round, first}, by, step, group);
    } else {
      RegisterGroup<kGroup> quiet = group;
      Kind::act(QuietOf{by, at, round, first}, by, step, quiet);
      bool met = may_meet(by) &&
                 any_greater(quiet.c[0].busy, load(at.next_of(first)), quiet.c[kGroup - 1].busy,
                             load(at.next_of(first + kGroup - 1)));
      if constexpr (is_general<Noise>) met = met || by.delays.never_quiet;
      if (__builtin_expect(!met, 1)) {
        group = quiet;
      } else {
        RegisterGroup<kGroup> copy = group;  // only copies leave the registers
        Registers::template noisy<Kind>(by, at, step, round, first, copy);
        group = copy;
      }
    }
  }

  JF_HD static bool may_meet(const By& by) {
    if constexpr (is_general<Noise>)
      return by.delays.intervals;
    else
      return by.noise.in_communication;
  }
};

}  // namespace
}  // namespace jf
