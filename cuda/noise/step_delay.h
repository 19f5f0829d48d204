// Random delays of single steps of a rank (HM18, AGV05), and of single messages.
#pragma once

#include "noise/factor.h"
#include "noise/intervals.h"
#include "noise/spells.h"

namespace jf {

// The delay of one draw. low_half() draws its low half; it is called only if that decides.
template <class LowHalf>
JF_HD Tick delay_of_draw(const Delay& delay, std::uint64_t high, const std::uint64_t* words,
                         LowHalf&& low_half) {
  if (!delay.undecided(high, words)) return delay.from_high<Tick>(high, words);
  return delay.from_both(high << 32 | low_half(), words);
}

// The delays of draw number `draw`, of one rank or a register of ranks.
template <class Seed, class T, class R>
JF_HD T drawn_delay(const Delay& delay, Seed seed, std::uint32_t purpose, std::uint64_t draw,
                    T ranks, R realization, const std::uint64_t* words) {
  const auto one = [&](std::uint64_t high, Tick rank, std::uint32_t number) JF_INLINE {
    return delay_of_draw(delay, high, words, [&]() JF_INLINE {
      return uniform32(seed, purpose | kLowHalves, draw, static_cast<std::uint32_t>(rank), number);
    });
  };
  if constexpr (sizeof(T) == sizeof(Tick)) {
    return one(uniform32(seed, purpose, draw, static_cast<std::uint32_t>(ranks), realization),
               ranks, realization);
  } else {
    const auto high = uniform32(seed, purpose, draw, ranks, realization);
    if (!delay.any_undecided(high, words)) return delay.from_high<T>(high, words);
    T each{};
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
      each[k] = one(high[k], ranks[k], lane(realization, k));
    return each;
  }
}

// One delay for all of a realization, or for the spell in which time t lies.
template <class Seed, class T, class R>
JF_HD T delay_of_spell(const Delay& delay, const Spells& spells, Seed seed, std::uint32_t purpose,
                       T nodes, R realization, T t, const std::uint64_t* words) {
  if (spells.length == 0) return drawn_delay(delay, seed, purpose, 0, nodes, realization, words);
  const auto one = [&](Tick node, std::uint32_t number, Tick at) JF_INLINE {
    const std::uint64_t spell = spells.number(seed, static_cast<std::uint32_t>(node), number, at);
    return drawn_delay(delay, seed, purpose, spell, node, number, words);
  };
  if constexpr (sizeof(T) == sizeof(Tick)) {
    return one(nodes, realization, t);
  } else {
    T each{};
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
      each[k] = one(nodes[k], lane(realization, k), t[k]);
    return each;
  }
}

// Links that lose messages: a share of them, for a realization or a spell.
struct LossyLinks {
  std::uint64_t share = 0;  // 2^64 times; 0: messages of all links are delayed
  std::uint32_t purpose = 0;
  Spells spells{};

  // What is drawn for messages to some nodes, on the lossy links; else 0. `t`: when they leave.
  template <class Seed, class T, class R>
  JF_HD T only(T drawn, Seed seed, T nodes, R realization, T t) const {
    if (share == 0) return drawn;
    const auto lossy = [&](Tick to, std::uint32_t number, Tick at) JF_INLINE {
      const auto node = static_cast<std::uint32_t>(to);
      const std::uint64_t spell = spells.number(seed, node, number, at);
      return Spells::both_halves(seed, purpose, spell, node, number) < share;
    };
    if constexpr (sizeof(T) == sizeof(Tick)) {
      return drawn != 0 && lossy(nodes, realization, t) ? drawn : 0;
    } else {
      T each{};
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
        if (drawn[k] != 0 && lossy(nodes[k], lane(realization, k), t[k])) each[k] = drawn[k];
      return each;
    }
  }
};
constexpr std::uint32_t kMaxLossy = 8;

// Lengthens the CPU work of a step by a draw.
struct StepDelay {
  Delay delay;
  NodeSize nodes;  // whose ranks share a draw
  std::int32_t at_send, in_compute, in_communication;
  Window window;
  std::uint32_t number;  // among the sources of its role

  JF_HD bool acts(StepRole role) const {
    if (role == kComputeRole) return in_compute != 0;
    return in_communication != 0 && (at_send != 0) == (role == kSendRole);
  }

  JF_HD std::uint32_t purpose(StepRole role) const {
    return number + (role == kReceiveRole ? kReceiveDelay
                     : role == kSendRole  ? kSendDelay
                                          : kComputeDelay);
  }

  // `t`: when the work begins.
  template <class Seed, class T, class R>
  JF_HD T of(Seed seed, StepRole role, std::uint64_t draw, T ranks, R realization, T t,
             const std::uint64_t* words) const {
    const T drawn =
        drawn_delay(delay, seed, purpose(role), draw, nodes.of_rank(ranks), realization, words);
    return window.always() ? drawn : window.only(drawn, t, ranks, words);
  }
};

constexpr std::uint32_t kMaxWeathers = 8;

// Lengthens the transit of a message by a draw.
struct MessageDelay {
  Delay delay;
  NodeSize nodes;  // whose ranks share a draw
  Window window;
  std::uint32_t original_purpose, copy_purpose, forward_purpose;
  // One draw for all messages of a realization, or of a spell: the weather of the network.
  std::int32_t once;
  // Of weather that lengthens messages by a part of their way: how long that is. Else 0.
  Tick way;
  Spells spells;
  LossyLinks links;

  // The purpose of this source's draws. `purpose`: that of jitter for the same type of message.
  JF_HD std::uint32_t purpose_of(std::uint32_t purpose) const {
    return purpose == kOriginalJitter ? original_purpose
           : purpose == kCopyJitter   ? copy_purpose
                                      : forward_purpose;
  }

  // `ranks`: the receivers.
  template <class Seed, class T, class R>
  JF_HD T of(Seed seed, std::uint32_t purpose, std::uint64_t draw, T ranks, R realization,
             T departure, const std::uint64_t* words) const {
    const T node = nodes.of_rank(ranks);
    if (once) {
      const T drawn = delay_of_spell(delay, spells, seed, original_purpose, node, realization,
                                     departure, words);
      return window.only(way == 0 ? drawn : part_of_way(drawn), departure, ranks, words);
    }
    const T drawn = drawn_delay(delay, seed, purpose_of(purpose), draw, node, realization, words);
    if (window.always()) return drawn;  // which is never so of weather and of lossy links
    return window.only(links.only(drawn, seed, node, realization, departure), departure, ranks,
                       words);
  }

 private:
  // The draw is the part, as a factor.
  template <class T>
  JF_HD T part_of_way(T drawn) const {
    if constexpr (sizeof(T) == sizeof(Tick)) {
      return times_factor(way, factor_of(static_cast<std::uint64_t>(drawn)));
    } else {
      T each{};
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
        each[k] = times_factor(way, factor_of(static_cast<std::uint64_t>(drawn[k])));
      return each;
    }
  }
};

}  // namespace jf
