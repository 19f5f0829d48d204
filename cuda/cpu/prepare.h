// Draws the delays of some steps for some ranks at once: in a loop of its own a source's keys stay
// in registers, and a block of random numbers serves four steps.
#pragma once

// clang-format off
#include "simd.h"
#include "simd_random.h"
// clang-format on
#include "../noise/sources.h"
#include "tile_job.h"

namespace jf {
namespace {

// The ranks of the register at index x of a tile.
struct TileRanks {
  TileMap map;
  std::int64_t base, count;

  JF_HD Lanes operator()(std::int64_t x) const {
    if (count < kLanes) return lane_index() & (count - 1);
    return broadcast(base + map.offset(x)) + lane_index();
  }
};

// The same at index y of a part of it.
struct PartRanks {
  TileRanks ranks;
  TileMap part;
  std::int64_t from;

  JF_HD Lanes operator()(std::int64_t y) const { return ranks(from + part.offset(y)); }
};

// What is drawn: numbers [first, first + count) of the first `ranks` of a part.
struct Draws {
  const RoundKeys& keys;
  std::uint64_t seed;
  std::uint32_t realization, first, count;
  std::int64_t ranks;
  PartRanks rank_of;
  std::uint64_t* words;  // kDrawnSteps * kDrawnRanks
};

// High halves of the numbers of a block, each kDrawnRanks after the one before.
JF_HD void draw_block(const Draws& d, std::uint32_t purpose, std::int32_t scope_bits,
                      std::uint32_t block) {
  for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
    const WordLanes drawn =
        philox4x32_10(d.keys, purpose, block, d.rank_of(y) >> scope_bits, d.realization);
    for (int k = 0; k < 4; ++k)
      *reinterpret_cast<ULanes*>(d.words + k * kDrawnRanks + y) = drawn.w[k] & kMostHigh;
  }
}

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
  const std::uint64_t* drawn = d.words + (draw & 3) * kDrawnRanks;
  for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
    const ULanes high = *reinterpret_cast<const ULanes*>(drawn + y);
    Lanes found;
    if (__builtin_expect(delay.any_undecided(high, words), 0))
      found = each_delay(delay, words, high, d.seed, purpose, draw, d.rank_of(y) >> scope_bits,
                         d.realization);
    else
      found = delay.from_high<Lanes>(high, words);
    store(sum + y, set ? found : load(sum + y) + found);
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
    const auto add = [&](bool certain, DelayKind kind) JF_INLINE {
      Delay own = delay;  // which the stores can not change
      own.certain = certain;
      own.kind = kind;
      if (own.shorts < 0 && (kind == kSmoothDelay || kind == kPieceDelay)) __builtin_unreachable();
      add_delays(d, own, words, purpose, scope_bits, n, set, sum);
    };
    if (!delay.certain && delay.kind == kConstantDelay)
      add(false, kConstantDelay);
    else if (delay.certain && delay.kind == kSmoothDelay && delay.shorts >= 0)
      add(true, kSmoothDelay);
    else if (delay.certain && delay.kind == kSampledDelay)
      add(true, kSampledDelay);
    else if (delay.certain && delay.kind == kPieceDelay && delay.shorts >= 0)
      add(true, kPieceDelay);
    else if (delay.certain && delay.kind == kCountedDelay)
      add(true, kCountedDelay);
    else
      add_delays(d, delay, words, purpose, scope_bits, n, set, sum);
  }
}

// Those of one role. Returns where the sums are, or null if there are no sources. Windows depend on
// the time: sources with one are never among them.
[[maybe_unused]] const Tick* draw_steps(const Draws& d, const Sources& s, StepRole role,
                                        Tick* sums) {
  bool any_source = false;
  for (std::int32_t j = 0; j < s.step_count; ++j) {
    const StepDelay& source = s.steps[j];
    if (!source.acts(role) || !source.window.always()) continue;
    draw_delays(d, source.delay, s.words, source.purpose(role), source.scope_bits, !any_source,
                sums);
    any_source = true;
  }
  return any_source ? sums : nullptr;
}

// How long messages are held up by congestion, number by number.
[[maybe_unused]] __attribute__((noinline)) void add_loads(const Draws& d, const Loads& loads,
                                                          std::uint32_t purpose, bool set,
                                                          Tick* sums) {
  for (std::uint32_t n = d.first; n < d.first + d.count; ++n) {
    Tick* sum = sums + (n - d.first) * kDrawnRanks;
    for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
      const Lanes held = loads.held_up<Lanes>(purpose, n, d.rank_of(y), d.realization);
      store(sum + y, set ? held : load(sum + y) + held);
    }
  }
}

[[maybe_unused]] const Tick* draw_messages(const Draws& d, const Messages& m, std::uint32_t purpose,
                                           Tick* sums) {
  bool any_source = false;
  for (std::int32_t j = 0; j < m.count; ++j) {
    const MessageDelay& source = m.delays[j];
    if (!source.window.always()) continue;
    draw_delays(d, source.delay, m.words, source.my_purpose(purpose), source.scope_bits,
                !any_source, sums);
    any_source = true;
  }
  if (m.loads != nullptr) {
    add_loads(d, *m.loads, purpose, !any_source, sums);
    any_source = true;
  }
  return any_source ? sums : nullptr;
}

// Sources as a register of ranks meets them whose delays have been drawn. kQuiet: as if no interval
// ever came; for delays without a window.
template <bool kQuiet>
struct PreparedSources {
  static constexpr bool general = true, in_communication = true;

  const Sources& sources;
  const Tick* drawn[2];  // when receiving, when sending; or null

  JF_HD void seek(Lanes& next, bool back) const { sources.seek(next, back); }

  JF_HD Lanes advance(Lanes& next, Lanes t, Lanes w, Lanes ranks, bool compute) const {
    return kQuiet ? t + w : sources.advance(next, t, w, ranks, compute);
  }

  JF_HD Lanes step(StepRole role, std::int32_t draw, Lanes& next, Lanes t, Tick w,
                   Lanes ranks) const {
    Lanes work = broadcast(w);
    if (role != kComputeRole && drawn[role] != nullptr) work += load(drawn[role]);
    if constexpr (kQuiet) {
      return t + work;
    } else {
      if ((sources.roles >> role & 1) != 0)
        work += sum_of_delays(sources, role, static_cast<std::uint32_t>(draw), ranks, t);
      return sources.advance(next, t, work, ranks, role == kComputeRole);
    }
  }
};

}  // namespace
}  // namespace jf
