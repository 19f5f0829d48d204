// The delays that one source draws for some steps of some ranks at once: in loops of its own, and a
// block of random numbers serves four steps.
#pragma once

// clang-format off
#include "draws.h"
// clang-format on
#include "../noise/step_delay.h"

namespace jf {
namespace {

// That of one rank, of whatever high half.
[[maybe_unused]] __attribute__((noinline, cold)) Tick
one_delay(const Draws& d, const Delay& delay, const std::uint64_t* words, std::uint32_t purpose,
          std::int32_t scope_bits, std::uint32_t draw, std::int64_t y) {
  return delay_of_draw(delay, d.high(draw)[y], words, [&] {
    const std::int64_t lane = y % kLanes;
    const Lanes streams = d.rank_of(y - lane) >> scope_bits;
    return uniform32(d.seed, purpose | kLowHalves, draw,
                     static_cast<std::uint32_t>(streams[static_cast<unsigned>(lane)]),
                     d.realization);
  });
}

// Sets `sum` to the delays of number `draw`, or adds them.
JF_HD void add_delays(const Draws& d, const Delay& delay, const std::uint64_t* words,
                      std::uint32_t purpose, std::int32_t scope_bits, std::uint32_t draw, bool set,
                      Tick* sum) {
  for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
    const ULanes high = load_high(d.high(draw) + y);
    Lanes found{};
    if (__builtin_expect(delay.any_undecided(high, words), 0))
      for (unsigned k = 0; k < kLanes; ++k)
        found[k] = one_delay(d, delay, words, purpose, scope_bits, draw, y + k);
    else
      found = delay.from_high<Lanes>(high, words);
    store(sum + y, set ? found : load(sum + y) + found);
  }
}

constexpr int kPlaces = 4;  // registers

// For all ranks of a draw, by a loop without branches, so that what it needs stays in registers.
// Some registers go through it together: there are two reads of a table to wait for, and while a
// processor waits it does not look far ahead. `wrong`: of each register, the lanes that it got
// wrong.
template <bool set, class Quick>
__attribute__((noinline)) void add_quickly(const Quick& given, const std::uint64_t* drawn,
                                           std::int64_t ranks, Tick* sum, std::uint8_t* wrong) {
  const Quick quick = given;  // which the stores can not change; read number by number, as it was
                              // written: one by wider loads would wait for all stores before it
  const auto some = [&]<int n>(std::int64_t y) JF_INLINE {
    Place<ULanes> at[n];
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      ULanes met{};
      at[i] = quick.place(load_high(drawn + y + i * kLanes), met);
      wrong[y / kLanes + i] = lanes_with(met, quick.wrong());
    }
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      Tick* own = sum + y + i * kLanes;
      const Lanes found = quick.template delay<Lanes>(at[i]);
      store(own, set ? found : load(own) + found);
    }
  };
  std::int64_t y = 0;
  for (; y + kPlaces * kLanes <= ranks; y += kPlaces * kLanes) some.template operator()<kPlaces>(y);
  for (; y < ranks; y += kLanes) some.template operator()<1>(y);
}

// What add_quickly got wrong.
template <bool set, class Quick>
__attribute__((noinline)) void correct(const Quick& quick, const Draws& d, const Delay& delay,
                                       const std::uint64_t* words, std::uint32_t purpose,
                                       std::int32_t scope_bits, std::uint32_t draw, Tick* sum,
                                       const std::uint8_t* wrong) {
  const std::int64_t registers = (d.ranks + kLanes - 1) / kLanes;
  for (std::int64_t first = 0; first < registers; first += 8) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, wrong + first, 8);
    for (; bits != 0; bits &= bits - 1) {
      const int bit = __builtin_ctzll(bits);
      const std::int64_t y = (first + bit / 8) * kLanes + bit % 8;
      const Tick right = one_delay(d, delay, words, purpose, scope_bits, draw, y);
      std::uint64_t met = 0;
      const Tick wrong_one = quick.template delay<Tick>(quick.place(d.high(draw)[y], met));
      sum[y] = set ? right : sum[y] + (right - wrong_one);
    }
  }
}

// One source's share of the sums, number by number. The loops are made for each kind of delay.
[[maybe_unused]] __attribute__((noinline)) void draw_delays(const Draws& d, const Delay& delay,
                                                            const std::uint64_t* words,
                                                            std::uint32_t purpose,
                                                            std::int32_t scope_bits, bool set,
                                                            Tick* sums) {
  for (std::uint32_t n = d.first; n < d.first + d.count; ++n) {
    Tick* sum = sums + (n - d.first) * kDrawnRanks;
    if (delay.certain && delay.kind == kConstantDelay) {
      for (std::int64_t y = 0; y < d.ranks; y += kLanes)
        store(sum + y, (set ? Lanes{} : load(sum + y)) + delay.value);
      continue;
    }
    if (n == d.first || n % 4 == 0) draw_block(d, purpose, scope_bits, n / 4);
    const auto quickly = [&](const auto& quick) {
      const std::uint64_t* drawn = d.high(n);
      const auto add = [&]<bool set>() JF_INLINE {
        std::uint8_t wrong[(kDrawnRanks / kLanes + 7) / 8 * 8] = {};
        add_quickly<set>(quick, drawn, d.ranks, sum, wrong);
        correct<set>(quick, d, delay, words, purpose, scope_bits, n, sum, wrong);
      };
      set ? add.template operator()<true>() : add.template operator()<false>();
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
    else if (delay.certain && delay.kind == kCountedDelay)
      add(true, kCountedDelay);
    else
      add_delays(d, delay, words, purpose, scope_bits, n, set, sum);
  }
}

}  // namespace
}  // namespace jf
