// Some registers of a tile on their way through several rounds: what a radix-8 pass is to an FFT.
// Their times are read and written once for all these rounds, and stay in registers in between.
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

namespace jf {

// For lambdas: a call in the loops over ranks would send their registers through memory.
#define JF_INLINE __attribute__((always_inline))

// Without a name outside its compilation: else the linker would keep one instruction set's for all.
namespace {

// A loop whose counter is a constant, so that what it indexes can live in registers.
template <int kCount, class F>
JF_HD void unrolled(F&& f) {
  [&]<int... k>(std::integer_sequence<int, k...>) JF_INLINE {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, kCount>());
}

// What all blocks of a tile share.
template <class Noise, class Network>
struct Surroundings {
  const Costs& costs;
  const Noise& noise;
  const Network& network;
  std::uint64_t seed;
  std::uint32_t realization;

  JF_HD Lanes arrival(Purpose purpose, const Step& step, Lanes receiver, Lanes left) const {
    const Lanes arrives = left + costs.transit;
    if (!Network::on) return arrives;
    return arrives + network.delay(seed, purpose, static_cast<std::uint32_t>(step.draw), receiver,
                                   realization, left);
  }

  // Of the answer to a question: no delays are prepared for it.
  JF_HD Lanes answer(const Step& step, Lanes receiver, Lanes left) const {
    if constexpr (is_general<Network>) {
      Network drawn = network;
      drawn.prepare = false;
      drawn.prepared.delays = nullptr;
      const Surroundings<Noise, Network> by{costs, noise, drawn, seed, realization};
      return by.arrival(kCopyJitter, step, receiver, left);
    } else {
      return arrival(kCopyJitter, step, receiver, left);
    }
  }
};

// Two registers in the same step, or one where there is only one.
template <int n>
struct Few {
  Clock<Lanes> c[n];
  Lanes arrival[n], ready[n];
};

// The kinds of exchanges. act: the step of ranks whose messages arrive at `arrival`.
struct Original {
  template <int n, class Noise, class By>
  JF_HD static void act(const Noise& noise, const By& by, const Step& step, Few<n>& f) {
    unrolled<n>([&](auto k) JF_INLINE {
      f.ready[k] = exchange(noise, by.costs, step, f.arrival[k], f.c[k]);
    });
  }
};

// The mirror is a lane of the same register.
struct Copied {
  template <int n, class Noise, class By>
  JF_HD static void act(const Noise& noise, const By& by, const Step& step, Few<n>& f) {
    unrolled<n>([&](auto k) JF_INLINE {
      const auto own = own_path(noise, by.costs, step, f.arrival[k], f.c[k]);
      const Lanes left = swap_lanes(own.after.busy, 0);
      const Lanes copy = by.arrival(kCopyJitter, step, f.c[k].id, left);
      f.ready[k] = settle(noise, by.costs, step, f.arrival[k], copy, own, f.c[k]);
    });
  }
};

// Copies on demand, of the mirror in the same register.
struct Asked {
  template <int n, class Noise, class By>
  JF_HD static void act(const Noise& noise, const By& by, const Step& step, Few<n>& f) {
    unrolled<n>([&](auto k) JF_INLINE {
      const auto own = asked_path(noise, by.costs, step, f.arrival[k], f.c[k]);
      const Lanes left = answer_leaves(by.costs, own.asked, swap_lanes(own.ready, 0));
      const Lanes answer = by.answer(step, f.c[k].id, left);
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
  static constexpr int kFew = kBits > 0 ? 2 : 1;
  static constexpr bool kNoisy = !std::is_same_v<Noise, NoNoise>;
  static constexpr bool kQuietFirst = std::is_same_v<Noise, Periodic>;

  const Surroundings<Noise, Network>& by;
  Tick* const next;  // of register 0: seldom needed, so it stays where it is
  const std::int64_t apart;
  Lanes sent[kSize], busy[kSize], ready[kSize], id[kSize];

  // Sets none of the registers: what is not used costs nothing.
  JF_HD Block(const Surroundings<Noise, Network>& by, Tick* next, std::int64_t apart)
      : by(by), next(next), apart(apart) {}

  // A round whose partners are lane xor 2^bit.
  template <class Kind>
  JF_HD void among_lanes(const Step& step, int bit) {
    Lanes from[kSize];
    unrolled<kSize>([&](auto k) JF_INLINE { from[k] = swap_lanes(leaves<Kind>(k), bit); });
    receive<Kind>(step, from);
  }

  // A round whose partners are register xor 2^b.
  template <class Kind, int b>
  JF_HD void among_registers(const Step& step) {
    Lanes from[kSize];
    unrolled<kSize>([&](auto k) JF_INLINE { from[k] = leaves<Kind>(k ^ 1 << b); });
    receive<Kind>(step, from);
  }

 private:
  JF_HD Clock<Lanes> clock(int k) const {
    return {sent[k], kBusy ? busy[k] : sent[k], Lanes{}, id[k]};
  }

  // When the message of register k to its partner leaves.
  template <class Kind>
  JF_HD Lanes leaves(int k) const {
    if constexpr (std::is_same_v<Kind, Forwarded>) {
      if (by.costs.forward == 0) return sent[k];
      Clock<Lanes> c = clock(k);
      c.next = load(next + k * apart);
      return forward_sent(by.noise, by.costs, c);
    } else {
      return sent[k];
    }
  }

  template <class Kind>
  JF_HD void receive(const Step& step, const Lanes (&from)[kSize]) {
    if constexpr (std::is_same_v<Kind, Forwarded>) {
      unrolled<kSize>([&](auto k) JF_INLINE {
        const Lanes left = leaves<Kind>(k);
        Clock<Lanes> c = clock(k);
        ready[k] = take_forward(left, by.arrival(kForwardJitter, step, id[k], from[k]), c);
        sent[k] = c.sent;
        if (kBusy) busy[k] = c.busy;
      });
    } else {
      unrolled<kSize / kFew>([&](auto i) JF_INLINE {
        constexpr int first = i * kFew;
        Few<kFew> few;
        unrolled<kFew>([&](auto k) JF_INLINE {
          few.c[k] = clock(first + k);
          few.arrival[k] = by.arrival(kOriginalJitter, step, id[first + k], from[first + k]);
        });
        exchange_few<Kind, first>(step, few);
        unrolled<kFew>([&](auto k) JF_INLINE {
          sent[first + k] = few.c[k].sent;
          if (kBusy) busy[first + k] = few.c[k].busy;
          ready[first + k] = few.ready[k];
        });
      });
    }
  }

  // First without noise: where all ranks are free again by the time that their next interval
  // begins, none of them met it.
  template <class Kind, int first>
  JF_HD void exchange_few(const Step& step, Few<kFew>& few) const {
    if constexpr (!kNoisy) {
      Kind::act(by.noise, by, step, few);
    } else if constexpr (kQuietFirst) {
      Few<kFew> quiet = few;
      Kind::act(NoNoise{}, by, step, quiet);
      constexpr int last = first + kFew - 1;
      const bool met = by.noise.in_communication &&
                       any_greater(quiet.c[0].busy, load(next + first * apart),
                                   quiet.c[kFew - 1].busy, load(next + last * apart));
      if (__builtin_expect(!met, 1)) {
        few = quiet;
      } else {
        Few<kFew> copy = few;  // only copies leave the registers
        noisy<Kind>(by, step, next, apart, first, copy);
        few = copy;
      }
    } else {
      with_next<Kind>(by, step, next, apart, first, few);
    }
  }

  template <class Kind>
  JF_HD static void with_next(const Surroundings<Noise, Network>& by, const Step& step, Tick* next,
                              std::int64_t apart, int first, Few<kFew>& few) {
    unrolled<kFew>([&](auto k) JF_INLINE { few.c[k].next = load(next + (first + k) * apart); });
    Kind::act(by.noise, by, step, few);
    unrolled<kFew>([&](auto k) JF_INLINE { store(next + (first + k) * apart, few.c[k].next); });
  }

  template <class Kind>
  __attribute__((noinline, cold)) static void noisy(const Surroundings<Noise, Network>& by,
                                                    const Step& step, Tick* next,
                                                    std::int64_t apart, int first, Few<kFew>& few) {
    with_next<Kind>(by, step, next, apart, first, few);
  }
};

}  // namespace
}  // namespace jf
