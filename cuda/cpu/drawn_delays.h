// Vectorized (SIMD) drawing of random delays, ahead of the steps that they delay. Delays that do
// not depend on the time are drawn before the steps that they delay: for some steps and some ranks
// at once (jobs.h), in loops of their own. From the noise sources (noise/sources.h) come sums of
// delays, [step][rank], which blocks (register_block.h) and panels add.
#pragma once

// Before all templates over registers: see its head.
#include "cpu/simd_philox.h"

#include "cpu/jobs.h"
#include "noise/delay_tables.h"
#include "noise/sources.h"
#include "noise/step_delay.h"

namespace jf {
namespace {

// Whether delays may be drawn beforehand under this noise.
template <class Noise, class Network>
constexpr bool draws_delays = is_general<Noise> || Network::on;

// --- The random numbers of some steps for some ranks.

// The ranks in the register at index x of a tile.
struct TileRanks {
  TileMap map;
  std::int64_t base, count;

  JF_HD Lanes operator()(std::int64_t x) const {
    if (count < kLanes) return lane_index() & (count - 1);
    return broadcast(base + map.offset(x)) + lane_index();
  }
};

// The ranks in the register at index y of a part of a tile, which begins at index `begin`.
struct PartRanks {
  TileRanks ranks;
  TileMap part;
  std::int64_t begin;

  JF_HD Lanes operator()(std::int64_t y) const { return ranks(begin + part.offset(y)); }
};

// What is drawn: draws [first, first + count) of the first `ranks` ranks of a part.
struct Draws {
  const RoundKeys& keys;
  std::uint64_t seed;
  std::uint32_t realization, first, count;
  std::int64_t ranks;
  PartRanks rank_of;
  std::uint64_t* words;  // kDrawnSteps * kDrawnRanks

  // The high halves of a draw of the block that was drawn last, by rank.
  JF_HD std::uint64_t* high_halves(std::uint32_t draw) const {
    return words + (draw & 3) * kDrawnRanks;
  }
};

// Draws all four numbers of a block.
JF_HD void draw_block(const Draws& d, std::uint32_t purpose, const NodeSize& nodes,
                      std::uint32_t block) {
  const FirstRounds common(d.keys, purpose, block, d.realization);
  const auto draw_registers = [&]<int n>(std::int64_t from) JF_INLINE {
    Lanes ranks[n];
    WordLanes drawn[n];
    for (int i = 0; i < n; ++i) ranks[i] = nodes.of_rank(d.rank_of(from + i * kLanes));
    philox4x32_10(d.keys, common, ranks, drawn);
    for (std::uint32_t k = 0; k < 4; ++k) {
      for (int i = 0; i < n; ++i)
        *reinterpret_cast<ULanes*>(d.high_halves(k) + from + i * kLanes) = drawn[i].w[k] & kMaxHigh;
    }
  };
  // As many blocks as there are registers for. With the widest registers, blocks partly in memory
  // are faster (see BlockProducts).
  constexpr int kBatch = kLaneBits == 3 ? kMaxBlocks : 2;
  std::int64_t y = 0;
  for (; y + kBatch * kLanes <= d.ranks; y += kBatch * kLanes)
    draw_registers.template operator()<kBatch>(y);
  for (; y < d.ranks; y += kLanes) draw_registers.template operator()<1>(y);
}

JF_HD ULanes load_words(const std::uint64_t* p) { return *reinterpret_cast<const ULanes*>(p); }

// --- The time before which no interval of any source begins: Sources::first for many ranks, in
// loops of their own. Several registers are drawn at once, and both uniforms of each block are
// used.

// For the registers at indices [begin, end) of a tile.
struct FirstIntervals {
  const RoundKeys& keys;
  const Sources& sources;
  const TileRanks& rank_of;
  std::int64_t begin, end;
  Tick* next;

  __attribute__((noinline)) void find() const {
    if (sources.interval_count == 0) {
      for (std::int64_t x = begin; x < end; x += kLanes) store(next + x, broadcast(kNever));
      return;
    }
    for (std::int32_t j = 0; j < sources.interval_count; ++j) {
      const IntervalSource& source = sources.intervals[j];
      if (source.tells_bursts) continue;  // it is not the first one
      std::int64_t x = begin;
      if (source.first_is_drawn()) {
        // A copy: the compiler knows that the stores below do not change it.
        const IntervalSource own = source;
        const FirstRounds common(keys, own.first_purpose(), 0, sources.realization);
        if (own.first_by_pair())
          x = two_uniforms_a_rank(own, common, j == 0);
        else if (own.nodes.one_rank() && rank_of.map.low_bits > kLaneBits)
          x = one_uniform_a_rank(own, common, j == 0);
      }
      for (; x < end; x += kLanes)
        merge(j == 0, x,
              source.first(sources.keys, sources.realization, rank_of(x), sources.words));
    }
  }

 private:
  static constexpr int kBatch = kLaneBits == 3 ? 4 : 2;  // as many as there are registers for

  JF_HD void merge(bool overwrite, std::int64_t x, Lanes bound) const {
    store(next + x, overwrite ? bound : earlier(load(next + x), bound));
  }

  // Both uniforms of a block are one rank's. Returns the index after the last rank that was done.
  std::int64_t two_uniforms_a_rank(const IntervalSource& source, const FirstRounds& common,
                                   bool overwrite) const {
    std::int64_t x = begin;
    for (; x + kBatch * kLanes <= end; x += kBatch * kLanes) {
      Lanes streams[kBatch];
      WordLanes drawn[kBatch];
      for (int i = 0; i < kBatch; ++i) streams[i] = source.nodes.of_rank(rank_of(x + i * kLanes));
      philox4x32_10(keys, common, streams, drawn);
      for (int i = 0; i < kBatch; ++i)
        merge(overwrite, x + i * kLanes, source.first_of<Lanes>(uniforms(drawn[i]), sources.words));
    }
    return x;
  }

  // The uniforms of a block are those of two neighbouring ranks, whose registers follow each other.
  // Two blocks at least: one alone would wait for each of its rounds.
  std::int64_t one_uniform_a_rank(const IntervalSource& source, const FirstRounds& common,
                                  bool overwrite) const {
    constexpr int kBlocks = 2;
    std::int64_t x = begin;
    for (; x + 2 * kBlocks * kLanes <= end; x += 2 * kBlocks * kLanes) {
      Lanes pairs[kBlocks];
      WordLanes drawn[kBlocks];
      for (int i = 0; i < kBlocks; ++i)
        pairs[i] = broadcast(rank_of(x + 2 * i * kLanes)[0] >> 1) + lane_index();
      philox4x32_10(keys, common, pairs, drawn);
      const auto put = [&](std::int64_t at, ULanes u) JF_INLINE {
        merge(overwrite, at, source.first_of<Lanes>(u, sources.words));
      };
      for (int i = 0; i < kBlocks; ++i) {
        // Each half apart, so that the order of a shuffle is a constant.
        const Pair<ULanes> u = uniforms(drawn[i]);
        put(x + 2 * i * kLanes, interleave(u.even, u.odd, 0));
        put(x + (2 * i + 1) * kLanes, interleave(u.even, u.odd, kLanes / 2));
      }
    }
    return x;
  }
};

// --- The delays of one source for some steps and ranks, in loops of their own: a block of random
// numbers serves four steps.

// The delay of one rank from all 64 bits of its uniform, where the high half does not decide.
[[maybe_unused]] __attribute__((noinline, cold)) Tick
exact_delay(const Draws& d, const Delay& delay, const std::uint64_t* words, std::uint32_t purpose,
            const NodeSize& nodes, std::uint32_t draw, std::int64_t y) {
  return delay_of_draw(delay, d.high_halves(draw)[y], words, [&] {
    const std::int64_t lane = y % kLanes;
    const Lanes streams = nodes.of_rank(d.rank_of(y - lane));
    return uniform32(d.seed, purpose | kLowHalves, draw,
                     static_cast<std::uint32_t>(streams[static_cast<unsigned>(lane)]),
                     d.realization);
  });
}

// Adds the delays of draw number `draw` to `sum`, or overwrites it.
JF_HD void add_delays(const Draws& d, const Delay& delay, const std::uint64_t* words,
                      std::uint32_t purpose, const NodeSize& nodes, std::uint32_t draw,
                      bool overwrite, Tick* sum) {
  for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
    const ULanes high = load_words(d.high_halves(draw) + y);
    Lanes found{};
    if (__builtin_expect(delay.any_undecided(high, words), 0))
      for (unsigned k = 0; k < kLanes; ++k)
        found[k] = exact_delay(d, delay, words, purpose, nodes, draw, y + k);
    else
      found = delay.from_high<Lanes>(high, words);
    store(sum + y, overwrite ? found : load(sum + y) + found);
  }
}

// The same in a loop without branches, so that its constants stay in registers. Several registers
// go through it together: each waits for two reads of a table, and meanwhile a processor does not
// look far ahead. inexact[i]: the lanes of register i whose high half does not decide the delay;
// what is added for them is of no use.
template <bool overwrite, class Quick>
__attribute__((noinline)) void add_without_branches(const Quick& given, const std::uint64_t* drawn,
                                                    std::int64_t ranks, Tick* sum,
                                                    std::uint8_t* inexact) {
  // A copy, which the stores below do not change. It is read word by word, as it was written: a
  // wider load would wait for all stores before it.
  const Quick quick = given;
  const auto add_registers = [&]<int n>(std::int64_t y) JF_INLINE {
    Position<ULanes> places[n];
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      ULanes flags{};
      places[i] = quick.place(load_words(drawn + y + i * kLanes), flags);
      inexact[y / kLanes + i] = lanes_with(flags, quick.invalid_bits());
    }
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      Tick* target = sum + y + i * kLanes;
      const Lanes delays = quick.template delay<Lanes>(places[i]);
      store(target, overwrite ? delays : load(target) + delays);
    }
  };
  constexpr int kBatch = 4;
  std::int64_t y = 0;
  for (; y + kBatch * kLanes <= ranks; y += kBatch * kLanes)
    add_registers.template operator()<kBatch>(y);
  for (; y < ranks; y += kLanes) add_registers.template operator()<1>(y);
}

// Corrects the delays of the inexact lanes.
template <bool overwrite, class Quick>
__attribute__((noinline)) void correct_inexact(const Quick& quick, const Draws& d,
                                               const Delay& delay, const std::uint64_t* words,
                                               std::uint32_t purpose, const NodeSize& nodes,
                                               std::uint32_t draw, Tick* sum,
                                               const std::uint8_t* inexact) {
  const std::int64_t registers = (d.ranks + kLanes - 1) / kLanes;
  for (std::int64_t first = 0; first < registers; first += 8) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, inexact + first, 8);
    for (; bits != 0; bits &= bits - 1) {
      const int bit = __builtin_ctzll(bits);
      const std::int64_t y = (first + bit / 8) * kLanes + bit % 8;
      const Tick exact = exact_delay(d, delay, words, purpose, nodes, draw, y);
      std::uint64_t flags = 0;
      const Tick added = quick.template delay<Tick>(quick.place(d.high_halves(draw)[y], flags));
      sum[y] = overwrite ? exact : sum[y] + (exact - added);
    }
  }
}

// The share of one source in the sums, draw by draw. The loops are compiled for each kind of delay.
[[maybe_unused]] __attribute__((noinline)) void draw_delays(const Draws& d, const Delay& delay,
                                                            const std::uint64_t* words,
                                                            std::uint32_t purpose,
                                                            const NodeSize& nodes, bool overwrite,
                                                            Tick* sums) {
  for (std::uint32_t n = d.first; n < d.first + d.count; ++n) {
    Tick* sum = sums + (n - d.first) * kDrawnRanks;
    if (delay.certain && delay.kind == kConstantDelay) {
      for (std::int64_t y = 0; y < d.ranks; y += kLanes)
        store(sum + y, (overwrite ? Lanes{} : load(sum + y)) + delay.value);
      continue;
    }
    if (n == d.first || n % 4 == 0) draw_block(d, purpose, nodes, n / 4);
    const auto without_branches = [&](const auto& quick) {
      const std::uint64_t* drawn = d.high_halves(n);
      const auto add = [&]<bool overwrite>() JF_INLINE {
        std::uint8_t inexact[(kDrawnRanks / kLanes + 7) / 8 * 8] = {};
        add_without_branches<overwrite>(quick, drawn, d.ranks, sum, inexact);
        correct_inexact<overwrite>(quick, d, delay, words, purpose, nodes, n, sum, inexact);
      };
      overwrite ? add.template operator()<true>() : add.template operator()<false>();
    };
    if (delay.with_quick(words, without_branches)) continue;
    const auto add = [&](bool certain, DelayKind kind) JF_INLINE {
      Delay own = delay;  // a copy, which the stores do not change
      own.certain = certain;
      own.kind = kind;
      add_delays(d, own, words, purpose, nodes, n, overwrite, sum);
    };
    if (!delay.certain && delay.kind == kConstantDelay)
      add(false, kConstantDelay);
    else if (delay.certain && delay.kind == kCountedDelay)
      add(true, kCountedDelay);
    else
      add_delays(d, delay, words, purpose, nodes, n, overwrite, sum);
  }
}

// --- The delays of all sources for some steps and ranks.

// The CPU delays of one role. Returns the sums, or null if there are no sources. Sources with a
// window depend on the time, so they are left out.
[[maybe_unused]] const Tick* draw_step_delays(const Draws& d, const Sources& s, StepRole role,
                                              Tick* sums) {
  bool any_source = false;
  for (std::int32_t j = 0; j < s.step_count; ++j) {
    const StepDelay& source = s.steps[j];
    if (!source.acts(role) || !source.window.always()) continue;
    draw_delays(d, source.delay, s.words, source.purpose(role), source.nodes, !any_source, sums);
    any_source = true;
  }
  return any_source ? sums : nullptr;
}

// Adds how long congestion holds up messages, draw by draw.
[[maybe_unused]] __attribute__((noinline)) void add_loads(const Draws& d, const Loads& loads,
                                                          std::uint32_t purpose, bool overwrite,
                                                          Tick* sums) {
  for (std::uint32_t n = d.first; n < d.first + d.count; ++n) {
    Tick* sum = sums + (n - d.first) * kDrawnRanks;
    for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
      const Lanes held_up = loads.held_up<Lanes>(purpose, n, d.rank_of(y), d.realization);
      store(sum + y, overwrite ? held_up : load(sum + y) + held_up);
    }
  }
}

// The delays of messages in the network. Returns as draw_step_delays does.
[[maybe_unused]] const Tick* draw_message_delays(const Draws& d, const Messages& m,
                                                 std::uint32_t purpose, Tick* sums) {
  bool any_source = false;
  for (std::int32_t j = 0; j < m.count; ++j) {
    const MessageDelay& source = m.delays[j];
    if (!source.window.always()) continue;
    draw_delays(d, source.delay, m.words, source.purpose_of(purpose), source.nodes, !any_source,
                sums);
    any_source = true;
  }
  if (m.loads != nullptr) {
    add_loads(d, *m.loads, purpose, !any_source, sums);
    any_source = true;
  }
  return any_source ? sums : nullptr;
}

// Sources that delay only the steps that receive a message (and perhaps compute phases), without
// intervals and windows: the most frequent case of per-step delays. With them a step of a rank is
// an addition or two.
struct ReceiveDelays : Sources {
  static constexpr bool only_receives = true;

  JF_HD static bool cover(const Sources& s) {
    return s.interval_count == 0 && s.windows == 0 && (s.roles >> kReceiveRole & 1) != 0 &&
           (s.roles >> kSendRole & 1) == 0;
  }
  JF_HD ReceiveDelays bind(std::uint32_t to_realization, Cursor* with_cursors,
                           std::uint64_t drawn_with) const {
    return {Sources::bind<std::uint32_t>(to_realization, with_cursors, drawn_with)};
  }
  JF_HD Lanes communicate(Lanes&, Lanes t, Tick w, Lanes) const { return t + w; }
  JF_HD Lanes advance(Lanes&, Lanes t, Lanes w, Lanes, bool) const { return t + w; }
};
template <class Noise>
constexpr bool only_receives = requires { Noise::only_receives; };

// Whether the noise depends on the time. If not, `next` of a Clock is of no use.
template <class Noise>
constexpr bool is_timed = !std::is_same_v<Noise, NoNoise> && !only_receives<Noise>;

// ReceiveDelays for a register whose delays have been drawn, in communication.
struct DrawnReceiveDelays {
  static constexpr bool in_communication = true;

  const Tick* drawn;

  JF_HD Lanes communicate(Lanes&, Lanes t, Tick w, Lanes) const { return t + w; }
  JF_HD Lanes step(StepRole role, std::uint64_t, Lanes&, Lanes t, Tick w, Lanes) const {
    return role == kReceiveRole ? t + w + load(drawn) : t + w;
  }
};

// Sources for a register whose delays have been drawn. kQuiet: as if no interval ever came; only
// for sources without windows.
template <bool kQuiet, class All>
struct SourcesDrawnBeforehand {
  static constexpr bool in_compute = true, in_communication = true;

  const All& sources;
  const Tick* drawn[2];  // by role: when receiving, when sending; or null

  JF_HD void seek(Lanes& next, Lanes t, bool back) const { sources.seek(next, t, back); }

  JF_HD Lanes communicate(Lanes& next, Lanes t, Tick w, Lanes ranks) const {
    return kQuiet ? t + w : sources.communicate(next, t, w, ranks);
  }

  JF_HD Lanes step(StepRole role, std::uint64_t draw, Lanes& next, Lanes t, Tick w,
                   Lanes ranks) const {
    Lanes work = broadcast(w);
    if (role != kComputeRole && drawn[role] != nullptr) work += load(drawn[role]);
    if constexpr (kQuiet) {
      return t + work;
    } else {
      if ((sources.roles >> role & 1) != 0) work += sum_of_delays(sources, role, draw, ranks, t);
      return sources.advance(next, t, work, ranks, role == kComputeRole);
    }
  }
};

}  // namespace
}  // namespace jf
