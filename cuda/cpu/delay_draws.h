// The delays that one source draws for some steps of some ranks at once: in loops of its own, and a
// block of random numbers serves four steps.
#pragma once

#include <algorithm>

// clang-format off
#include "draws.h"
// clang-format on
#include "../noise/delay.h"

namespace jf {
namespace {

// Of a register in which high halves do not decide everything.
[[maybe_unused]] __attribute__((noinline, cold)) Lanes
each_delay(const Delay& delay, const std::uint64_t* words, ULanes high, std::uint64_t seed,
           std::uint32_t purpose, std::uint32_t draw, Lanes streams, std::uint32_t realization) {
  const auto undecided = (Lanes)delay.undecided(high, words);
  // Those get something that there are tables for, or no delay, and then what is theirs.
  const ULanes none{};
  Lanes found = delay.from_high<Lanes>(
      (ULanes)select(undecided, (Lanes)(none + delay.instead()), (Lanes)high), words);
  for (int k = 0; k < kLanes; ++k) {
    if (undecided[k] == 0) continue;
    const std::uint64_t low = uniform32(seed, purpose | kLowHalves, draw,
                                        static_cast<std::uint32_t>(streams[k]), realization);
    found[k] = delay.from_both(std::uint64_t{high[k]} << 32 | low, words);
  }
  return found;
}

// Sets `sum` to the delays of number `draw`, or adds them.
JF_HD void add_delays(const Draws& d, const Delay& delay, const std::uint64_t* words,
                      std::uint32_t purpose, std::int32_t scope_bits, std::uint32_t draw, bool set,
                      Tick* sum) {
  for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
    const ULanes high = load_high(d.high(draw) + y);
    Lanes found;
    if (__builtin_expect(delay.any_undecided(high, words), 0))
      found = each_delay(delay, words, high, d.seed, purpose, draw, d.rank_of(y) >> scope_bits,
                         d.realization);
    else
      found = delay.from_high<Lanes>(high, words);
    store(sum + y, set ? found : load(sum + y) + found);
  }
}

constexpr int kPlaces = 4, kGroup = 8;  // registers

// For all ranks of a draw, by a loop without calls, so that what it needs stays in registers. Some
// registers go through it together: there are two reads of a table to wait for, and while a
// processor waits it does not look far ahead. Returns a bit for each kGroup registers that have to
// be corrected.
template <bool set, class Quick>
__attribute__((noinline)) std::uint32_t add_quickly(const Quick quick, const std::uint64_t* drawn,
                                                    std::int64_t ranks, Tick* sum) {
  std::uint32_t wrong = 0;
  for (std::int64_t from = 0, bit = 1; from < ranks; from += kGroup * kLanes, bit *= 2) {
    ULanes met{};
    const auto some = [&]<int n>(std::int64_t y) JF_INLINE {
      Place<ULanes> at[n];
#pragma GCC unroll 4
      for (int i = 0; i < n; ++i) at[i] = quick.place(load_high(drawn + y + i * kLanes), met);
#pragma GCC unroll 4
      for (int i = 0; i < n; ++i) {
        Tick* own = sum + y + i * kLanes;
        const Lanes found = quick.template delay<Lanes>(at[i]);
        store(own, set ? found : load(own) + found);
      }
    };
    if (from + kGroup * kLanes <= ranks) {
      for (int i = 0; i < kGroup; i += kPlaces)
        some.template operator()<kPlaces>(from + i * kLanes);
    } else {
      for (std::int64_t y = from; y < ranks; y += kLanes) some.template operator()<1>(y);
    }
    if (any_bits(met, ULanes{} + Quick::kWrong)) wrong |= static_cast<std::uint32_t>(bit);
  }
  return wrong;
}

// What add_quickly got wrong among the ranks of [from, to).
template <class Quick>
__attribute__((noinline, cold)) void correct(const Quick quick, const Draws& d, const Delay& delay,
                                             const std::uint64_t* words, std::uint32_t purpose,
                                             std::int32_t scope_bits, std::uint32_t draw, Tick* sum,
                                             std::int64_t from, std::int64_t to) {
  for (std::int64_t y = from; y < to; y += kLanes) {
    const ULanes high = load_high(d.high(draw) + y);
    ULanes met{};
    const Lanes wrong = quick.template delay<Lanes>(quick.place(high, met));
    if (!any_bits(met, ULanes{} + Quick::kWrong)) continue;
    const Lanes right = each_delay(delay, words, high, d.seed, purpose, draw,
                                   d.rank_of(y) >> scope_bits, d.realization);
    store(sum + y, load(sum + y) + (right - wrong));
  }
}

// One source's share of the sums, number by number. The loops are made for each kind of delay.
[[maybe_unused]] __attribute__((noinline)) void draw_delays(const Draws& d, const Delay& delay,
                                                            const std::uint64_t* words,
                                                            std::uint32_t purpose,
                                                            std::int32_t scope_bits, bool set,
                                                            Tick* sums) {
  for (std::uint32_t n = d.first; n < d.first + d.count; ++n) {
    if (n == d.first || n % 4 == 0) draw_block(d, purpose, scope_bits, n / 4);
    Tick* sum = sums + (n - d.first) * kDrawnRanks;
    const auto quickly = [&](const auto& quick) {
      const std::uint64_t* drawn = d.high(n);
      std::uint32_t wrong = set ? add_quickly<true>(quick, drawn, d.ranks, sum)
                                : add_quickly<false>(quick, drawn, d.ranks, sum);
      for (std::int64_t from = 0; wrong != 0; from += kGroup * kLanes, wrong >>= 1) {
        if ((wrong & 1) != 0)
          correct(quick, d, delay, words, purpose, scope_bits, n, sum, from,
                  std::min(from + kGroup * kLanes, d.ranks));
      }
    };
    if (delay.with_quick(words, quickly)) continue;
    const auto add = [&](bool certain, DelayKind kind) JF_INLINE {
      Delay own = delay;  // which the stores can not change
      own.certain = certain;
      own.kind = kind;
      add_delays(d, own, words, purpose, scope_bits, n, set, sum);
    };
    if (!delay.certain && delay.kind == kConstantDelay)
      add(false, kConstantDelay);
    else if (delay.certain && delay.kind == kSampledDelay)
      add(true, kSampledDelay);
    else if (delay.certain && delay.kind == kCountedDelay)
      add(true, kCountedDelay);
    else
      add_delays(d, delay, words, purpose, scope_bits, n, set, sum);
  }
}

}  // namespace
}  // namespace jf
