// Register blocking on the CPU: SIMD registers of a tile go through several rounds together. These
// registers are a block, as in a radix-8 pass of an FFT. Their times are read and written once for
// all these rounds. cpu/tile.h makes the blocks; this file applies the arithmetic of core/steps.h
// to them.
#pragma once

#include <type_traits>
#include <utility>

// Before all templates over registers: see its head.
#include "cpu/simd_philox.h"

#include "core/steps.h"
#include "cpu/drawn_delays.h"

namespace jf {

// Internal linkage: the linker must not merge the compilations for different instruction sets.
namespace {

// --- The noise of some registers of a block: the same code for blocks of every size.

// Calls f(0), ..., f(kCount - 1), unrolled, so that what the counter indexes can live in registers.
// A sanitizer gets a loop: it uses few registers, and g++ would need minutes for its checks.
template <int kCount, class F>
JF_HD void unrolled(F&& f) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  for (int k = 0; k < kCount; ++k) f(k);
#else
  [&]<int... k>(std::integer_sequence<int, k...>) JF_INLINE {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, kCount>());
#endif
}

// The delays that were drawn for the ranks of a block.
struct BlockDelays {
  bool windows;                    // some delays have a window: they depend on the time
  bool intervals;                  // there are sources of intervals
  const Tick* drawn[kDrawnKinds];  // of the first step and the first rank, or null
};
struct NoBlockDelays {};
template <bool kDrawn>
using BlockDelaysIf = std::conditional_t<kDrawn, BlockDelays, NoBlockDelays>;

// What all blocks of a pass share.
template <class Noise, class Network>
struct ExchangeContext {
  const Costs& costs;
  const Noise& noise;
  const Network& network;
  std::uint64_t seed;
  std::uint32_t realization;
  BlockDelaysIf<draws_delays<Noise, Network>> delays;

  JF_HD Lanes delay(Purpose purpose, const Step& step, Lanes receivers, Lanes departure) const {
    return network.delay(seed, purpose, static_cast<std::uint32_t>(step.draw), receivers,
                         realization, departure);
  }

  // When a copy, or the answer to a request, arrives. No delays of these are drawn beforehand.
  JF_HD Lanes copy_arrival(const Step& step, Lanes receivers, Lanes departure) const {
    if constexpr (is_general<Network>) {
      Network whole = network;
      whole.drawn_beforehand = false;
      return departure + costs.transit +
             whole.delay(seed, kCopyJitter, static_cast<std::uint32_t>(step.draw), receivers,
                         realization, departure);
    } else {
      return departure + costs.transit + delay(kCopyJitter, step, receivers, departure);
    }
  }
};

// Two registers in the same step, or one if a block has only one.
template <int n>
struct RegisterGroup {
  Clock<Lanes> clock[n];
  Lanes arrival[n], ready[n];
};

// Where the registers of a block are in the tile. Passed by value: so it stays in registers, and is
// not written to memory for each block.
struct Location {
  Tick* next;  // of register 0; read when it is needed, which is seldom
  std::int64_t stride;

  JF_HD Tick* next_of(int k) const { return next + k * stride; }
};

// The same with drawn delays: register 0 has index x in the tile, and y in the part (cpu/tile.h).
struct DrawnLocation : Location {
  std::int64_t x, y, y_stride;
  const TileRanks* tile_ranks;

  JF_HD Lanes ranks(int k) const { return (*tile_ranks)(x + k * stride); }
};

template <class Noise, class Network>
struct RegisterNoise {
  static constexpr bool kDrawn = draws_delays<Noise, Network>;
  using Context = ExchangeContext<Noise, Network>;
  using RegisterLocation = std::conditional_t<kDrawn, DrawnLocation, Location>;

  JF_HD static void load_noise_state(const RegisterLocation location, int k, Clock<Lanes>& c) {
    c.next = load(location.next_of(k));
    if constexpr (kDrawn) c.id = location.ranks(k);
  }

  // The drawn delays of register k, or null.
  JF_HD static const Tick* drawn_or_null(const Context& context, const RegisterLocation location,
                                         int kind, int round, int k) {
    return context.delays.drawn[kind] == nullptr ? nullptr
                                                 : drawn(context, location, kind, round, k);
  }
  JF_HD static const Tick* drawn(const Context& context, const RegisterLocation location, int kind,
                                 int round, int k) {
    return context.delays.drawn[kind] + round * kDrawnRanks + location.y + k * location.y_stride;
  }

  // The CPU noise of registers from `first` on. kQuiet: without intervals of noise.
  template <bool kQuiet>
  struct NoiseOf {
    const Context& context;
    const RegisterLocation location;
    const int round, first;

    JF_HD decltype(auto) operator()(int k) const {
      if constexpr (only_receives<Noise>)
        return DrawnReceiveDelays{drawn(context, location, kReceiving, round, first + k)};
      else if constexpr (is_general<Noise>)
        return SourcesDrawnBeforehand<kQuiet, Noise>{
            context.noise,
            {drawn_or_null(context, location, kReceiving, round, first + k),
             drawn_or_null(context, location, kSending, round, first + k)}};
      else if constexpr (kQuiet)
        return NoNoise{};
      else
        return (context.noise);
    }
  };

  template <class Kind, int n>
  __attribute__((noinline, cold)) static void act_with_noise(const Context& context,
                                                             const RegisterLocation location,
                                                             const Step& step, int round, int first,
                                                             RegisterGroup<n>& group) {
    unrolled<n>([&](auto k) JF_INLINE { load_noise_state(location, first + k, group.clock[k]); });
    Kind::act(NoiseOf<false>{context, location, round, first}, context, step, group);
    unrolled<n>([&](auto k) JF_INLINE { store(location.next_of(first + k), group.clock[k].next); });
  }
};

// The kinds of exchanges. act() does the step of ranks whose original messages arrive at
// group.arrival; noise_of(k) is the noise of register k.
struct OriginalExchange {
  template <int n, class NoiseOf, class Context>
  JF_HD static void act(const NoiseOf& noise_of, const Context& context, const Step& step,
                        RegisterGroup<n>& group) {
    unrolled<n>([&](auto k) JF_INLINE {
      group.ready[k] = exchange(noise_of(k), context.costs, step, group.arrival[k], group.clock[k]);
    });
  }
};

// A copy goes to the mirror (rank xor 1), which is a neighbouring lane of the same register.
struct ExchangeWithCopy {
  template <int n, class NoiseOf, class Context>
  JF_HD static void act(const NoiseOf& noise_of, const Context& context, const Step& step,
                        RegisterGroup<n>& group) {
    OwnPath<Lanes> own[n];
    Lanes copy[n];
    unrolled<n>([&](auto k) JF_INLINE {
      own[k] = own_path(noise_of(k), context.costs, step, group.arrival[k], group.clock[k]);
      copy[k] = context.copy_arrival(step, group.clock[k].id, swap_lanes(own[k].after.busy, 0));
    });
    if (__builtin_expect(any_greater(group.arrival[0], copy[0], group.arrival[n - 1], copy[n - 1]),
                         0)) {
      unrolled<n>([&](auto k) JF_INLINE {
        group.ready[k] = settle(noise_of(k), context.costs, step, group.arrival[k], copy[k], own[k],
                                group.clock[k]);
      });
    } else {
      unrolled<n>([&](auto k) JF_INLINE {
        group.ready[k] = own[k].ready;
        group.clock[k] = own[k].after;
      });
    }
  }
};

// The mirror, a neighbouring lane of the same register, is asked for a copy.
struct ExchangeOnDemand {
  template <int n, class NoiseOf, class Context>
  JF_HD static void act(const NoiseOf& noise_of, const Context& context, const Step& step,
                        RegisterGroup<n>& group) {
    unrolled<n>([&](auto k) JF_INLINE {
      const auto& noise = noise_of(k);
      const auto own = asked_path(noise, context.costs, step, group.arrival[k], group.clock[k]);
      const Lanes departure = answer_departure(context.costs, own.asked, swap_lanes(own.ready, 0));
      const Lanes answer = context.copy_arrival(step, group.clock[k].id, departure);
      group.ready[k] =
          settle_asked(noise, context.costs, step, group.arrival[k], answer, own, group.clock[k]);
    });
  }
};

// A forward after the butterfly: final data is passed on.
struct Forward {};

// 2^kBits registers. Registers whose numbers differ in one bit are partners in one round.
template <int kBits, class Noise, class Network, bool kBusy>
struct Block {
  static constexpr int kSize = 1 << kBits;
  static constexpr int kGroup = kBits > 0 ? 2 : 1;
  using Registers = RegisterNoise<Noise, Network>;
  using Context = typename Registers::Context;
  using RegisterLocation = typename Registers::RegisterLocation;
  using QuietOf = typename Registers::template NoiseOf<true>;

  const Context& context;
  const RegisterLocation location;
  Lanes sent[kSize], busy[kSize], ready[kSize];

  // Leaves the registers uninitialized: those that are not used cost nothing.
  JF_HD Block(const Context& context, const RegisterLocation location)
      : context(context), location(location) {}

  // Round `round` of the block, in which partners are lanes that differ in `bit`.
  template <class Kind>
  JF_HD void among_lanes(const Step& step, int round, int bit) {
    Lanes departures[kSize];
    unrolled<kSize>([&](auto k)
                        JF_INLINE { departures[k] = swap_lanes(departure_of<Kind>(k), bit); });
    receive<Kind>(step, round, departures);
  }

  // The same with partners in registers that differ in bit b.
  template <class Kind>
  JF_HD void among_registers(const Step& step, int round, int b) {
    Lanes departures[kSize];
    unrolled<kSize>([&](auto k) JF_INLINE { departures[k] = departure_of<Kind>(k ^ 1 << b); });
    receive<Kind>(step, round, departures);
  }

 private:
  JF_HD Clock<Lanes> clock(int k) const {
    if constexpr (kBusy && Network::on)
      return {sent[k], busy[k], Lanes{}, location.ranks(k)};
    else
      return {sent[k], kBusy ? busy[k] : sent[k], Lanes{}, Lanes{}};
  }

  JF_HD Lanes arrival(Purpose purpose, const Step& step, int round, int k, Lanes departure) const {
    if constexpr (!Network::on) {
      return departure + context.costs.transit;
    } else {
      Lanes arrives = departure + context.costs.transit;
      if (const Tick* delays = Registers::drawn_or_null(context, location, kInNetwork, round, k))
        arrives += load(delays);
      if (context.network.windows)
        arrives += context.delay(purpose, step, location.ranks(k), departure);
      return arrives;
    }
  }

  // When the message of register k to its partner has left the CPU.
  template <class Kind>
  JF_HD Lanes departure_of(int k) const {
    if constexpr (std::is_same_v<Kind, Forward>) {
      if (kBusy && context.costs.forward > 0) {
        Clock<Lanes> c = clock(k);
        Registers::load_noise_state(location, k, c);
        return send_forward(context.noise, context.costs, c);
      }
    }
    return sent[k];
  }

  template <class Kind>
  JF_HD void receive(const Step& step, int round, const Lanes (&departures)[kSize]) {
    if constexpr (std::is_same_v<Kind, Forward>) {
      unrolled<kSize>([&](auto k) JF_INLINE {
        const Lanes departure = departure_of<Kind>(k);
        Clock<Lanes> c = clock(k);
        ready[k] =
            receive_forward(departure, arrival(kForwardJitter, step, round, k, departures[k]), c);
        sent[k] = c.sent;
        if (kBusy) busy[k] = c.busy;
      });
    } else {
      unrolled<kSize / kGroup>([&](auto i) JF_INLINE {
        const int first = i * kGroup;
        RegisterGroup<kGroup> group;
        unrolled<kGroup>([&](auto k) JF_INLINE {
          group.clock[k] = clock(first + k);
          group.arrival[k] =
              arrival(kOriginalJitter, step, round, first + k, departures[first + k]);
        });
        exchange_group<Kind>(step, round, first, group);
        unrolled<kGroup>([&](auto k) JF_INLINE {
          sent[first + k] = group.clock[k].sent;
          if (kBusy) busy[first + k] = group.clock[k].busy;
          ready[first + k] = group.ready[k];
        });
      });
    }
  }

  // First does the step as if no interval of noise came ("quietly"). If all ranks are free again by
  // the time that their next interval begins, none delayed them. With windows there is no quiet
  // step.
  template <class Kind>
  JF_HD void exchange_group(const Step& step, int round, int first,
                            RegisterGroup<kGroup>& group) const {
    if constexpr (!is_timed<Noise>) {
      Kind::act(QuietOf{context, location, round, first}, context, step, group);
    } else {
      RegisterGroup<kGroup> quiet = group;
      Kind::act(QuietOf{context, location, round, first}, context, step, quiet);
      bool delayed =
          intervals_possible(context) &&
          any_greater(quiet.clock[0].busy, load(location.next_of(first)),
                      quiet.clock[kGroup - 1].busy, load(location.next_of(first + kGroup - 1)));
      if constexpr (is_general<Noise>) delayed = delayed || context.delays.windows;
      if (__builtin_expect(!delayed, 1)) {
        group = quiet;
      } else {
        // The address of the copy is taken, so that `group` itself can stay in registers.
        RegisterGroup<kGroup> copy = group;
        Registers::template act_with_noise<Kind>(context, location, step, round, first, copy);
        group = copy;
      }
    }
  }

  JF_HD static bool intervals_possible(const Context& context) {
    if constexpr (is_general<Noise>)
      return context.delays.intervals;
    else
      return context.noise.in_communication;
  }
};

}  // namespace
}  // namespace jf
