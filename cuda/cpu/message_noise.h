// The noise of ranks at time 0.
#pragma once

#include "message_lanes.h"
#include "message_quiet.h"

namespace jf {
namespace {

template <class Noise>
struct FirstNoise {
  static constexpr bool kPeriodic = std::is_same_v<Noise, Periodic>;

  FirstNoise(const ProgramView& p, const Noise& noise, std::uint32_t realization, Tick* next)
      : p(p), noise(noise), realization(realization), next(next), keys(p.seed) {}

  // Of ranks of [from, to), full registers; `from` is even.
  void draw(std::int64_t from, std::int64_t to) const {
    std::int64_t x = from;
    if constexpr (kPeriodic) {
      constexpr int kRegisters = 8;
      for (; noise.drawn_alone() && x + kRegisters * kLanes <= to; x += kRegisters * kLanes) {
        Lanes phases[kRegisters];
        only_scaled64<kRegisters / 2>(keys, kPhase, x, realization, period(), phases);
        unrolled<kRegisters>([&](auto k)
                                 JF_INLINE { put(x + k * kLanes, noise.first(phases[k])); });
      }
    }
    if constexpr (!std::is_same_v<Noise, NoNoise>)
      for (; x < to; x += kLanes)
        put(x, begin_noise(noise, p.seed, realization, broadcast(x) + lane_index()));
  }

  std::uint64_t period() const {
    if constexpr (kPeriodic) return static_cast<std::uint64_t>(noise.period);
    return 1;
  }

  // Whether early() can tell, of times up to `latest`.
  bool can_be_early(Tick latest) const {
    if constexpr (kPeriodic)
      return noise.drawn_alone() && !noise.stationary && latest < noise.period;
    return false;
  }

  // False if no rank of the block from x on has noise before its time: for that, the high half of a
  // draw need not be scaled. Very rarely true if none has.
  bool early(std::int64_t x, const auto& block) const {
    return block.odd_wait ? early<false>(x, block) : early<true>(x, block);
  }
  // kOdd: of the odd ranks, too. Without them less of a block of random numbers has to be made.
  template <bool kOdd>
  JF_HD bool early(std::int64_t x, const auto& block) const {
    constexpr int kMany = 4;
    Lanes least{};
    for (std::int64_t from = 0; from < kBlock / 2; from += kMany * kLanes) {
      Lanes pairs[kMany];
      WordLanes r[kMany];
      unrolled<kMany>([&](auto i) JF_INLINE {
        pairs[i] = broadcast((x >> 1) + from + i * kLanes) + lane_index();
      });
      philox4x32_10(keys, kPhase, 0, pairs, realization, r);
      unrolled<kMany>([&](auto i) JF_INLINE {
        const std::int64_t at = from + i * kLanes;
        least |= (Lanes)(r[i].w[1] & 0xffffffffu) - load(block.early_even + at);
        if (kOdd) least |= (Lanes)(r[i].w[3] & 0xffffffffu) - load(block.early_odd + at);
      });
    }
    return any_greater(Lanes{}, least);
  }

  // Of the first ranks of blocks, where can_be_early(); in full registers.
  void draw_first(std::int64_t blocks, Tick* of_blocks) const {
    if constexpr (kPeriodic) {
      for (std::int64_t b = 0; b < blocks; b += kLanes) {
        const Lanes pairs = (broadcast(b) + lane_index()) * (kBlock / 2);
        const auto u = uniform_pair(keys, kPhase, 0, pairs, realization);
        store(of_blocks + b, noise.first(noise.template scaled<Lanes>(u.even)));
      }
    }
  }

 private:
  JF_HD void put(std::int64_t x, Lanes first) const {
    if constexpr (kPeriodic)
      if (noise.stationary) noise.seek(first, Lanes{});
    store(next + x, first);
  }

  const ProgramView& p;
  const Noise noise;
  const std::uint32_t realization;
  Tick* const next;
  const RoundKeys keys;
};

}  // namespace
}  // namespace jf
