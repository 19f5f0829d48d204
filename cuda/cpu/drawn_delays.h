// Delays that do not depend on the time are drawn before the steps that they delay: for some steps
// and some ranks at once, in loops of their own.
#pragma once

// First: templates see only those overloads for registers, which have no namespace, that are
// declared before them.
#include "cpu/simd_philox.h"

#include "cpu/jobs.h"
#include "noise/delay_tables.h"
#include "noise/sources.h"
#include "noise/step_delay.h"

namespace jf {
namespace {

// --- The random numbers of some steps for some ranks.

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

  // High halves of one number of a block that was drawn.
  JF_HD std::uint64_t* high(std::uint32_t draw) const { return words + (draw & 3) * kDrawnRanks; }
};

// All numbers of a block.
JF_HD void draw_block(const Draws& d, std::uint32_t purpose, std::int32_t scope_bits,
                      std::uint32_t block) {
  const FirstRounds common(d.keys, purpose, block, d.realization);
  const auto some = [&]<int n>(std::int64_t from) JF_INLINE {
    Lanes ranks[n];
    WordLanes drawn[n];
    for (int i = 0; i < n; ++i) ranks[i] = d.rank_of(from + i * kLanes) >> scope_bits;
    philox4x32_10(d.keys, common, ranks, drawn);
    for (std::uint32_t k = 0; k < 4; ++k) {
      for (int i = 0; i < n; ++i)
        *reinterpret_cast<ULanes*>(d.high(k) + from + i * kLanes) = drawn[i].w[k] & kMaxHigh;
    }
  };
  // As many as there are registers for; with the widest, memory serves better.
  constexpr int kAtOnce = kLaneBits == 3 ? kMaxBlocks : 2;
  std::int64_t y = 0;
  for (; y + kAtOnce * kLanes <= d.ranks; y += kAtOnce * kLanes)
    some.template operator()<kAtOnce>(y);
  for (; y < d.ranks; y += kLanes) some.template operator()<1>(y);
}

JF_HD ULanes load_high(const std::uint64_t* p) { return *reinterpret_cast<const ULanes*>(p); }

// --- Until when ranks meet no interval of any source: what Sources::first says, for many ranks in
// loops of their own. Registers are drawn some at once, and of two neighbours' uniforms none is
// lost.

// For the registers at indices [from, to) of a tile.
struct FirstIntervals {
  const RoundKeys& keys;
  const Sources& sources;
  const TileRanks& rank_of;
  std::int64_t from, to;
  Tick* next;

  __attribute__((noinline)) void find() const {
    if (sources.interval_count == 0) {
      for (std::int64_t x = from; x < to; x += kLanes) store(next + x, broadcast(kNever));
      return;
    }
    for (std::int32_t j = 0; j < sources.interval_count; ++j) {
      const IntervalSource& source = sources.intervals[j];
      std::int64_t x = from;
      if (source.first_is_drawn()) {
        // What the stores can not change.
        const IntervalSource own = source;
        const FirstRounds common(keys, own.first_purpose(), 0, sources.realization);
        if (own.first_by_pair())
          x = by_pairs(own, common, j == 0);
        else if (own.scope_bits == 0 && to - from >= 2 * kLanes && rank_of.map.low_bits > kLaneBits)
          x = by_neighbours(own, common, j == 0);
      }
      for (; x < to; x += kLanes)
        take(j == 0, x, source.first(sources.seed, sources.realization, rank_of(x), sources.words));
    }
  }

 private:
  static constexpr int kAtOnce = kLaneBits == 3 ? 4 : 2;  // as many as there are registers for

  JF_HD void take(bool set, std::int64_t x, Lanes bound) const {
    store(next + x, set ? bound : earlier(load(next + x), bound));
  }

  // Both uniforms of a block are of one rank. Returns the index after the last one found.
  std::int64_t by_pairs(const IntervalSource& source, const FirstRounds& common, bool set) const {
    std::int64_t x = from;
    for (; x + kAtOnce * kLanes <= to; x += kAtOnce * kLanes) {
      Lanes streams[kAtOnce];
      WordLanes drawn[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) streams[i] = rank_of(x + i * kLanes) >> source.scope_bits;
      philox4x32_10(keys, common, streams, drawn);
      for (int i = 0; i < kAtOnce; ++i)
        take(set, x + i * kLanes, source.first_of<Lanes>(uniforms(drawn[i]), sources.words));
    }
    return x;
  }

  // They are of two neighbours, which are in two registers in a row.
  std::int64_t by_neighbours(const IntervalSource& source, const FirstRounds& common,
                             bool set) const {
    constexpr int kPairs = kAtOnce / 2;
    std::int64_t x = from;
    for (; x + kAtOnce * kLanes <= to; x += kAtOnce * kLanes) {
      Lanes streams[kPairs];
      WordLanes drawn[kPairs];
      for (int i = 0; i < kPairs; ++i) {
        const Tick first = rank_of(x + 2 * i * kLanes)[0];
        streams[i] = broadcast(first >> 1) + lane_index();
      }
      philox4x32_10(keys, common, streams, drawn);
      for (int i = 0; i < kPairs; ++i) {
        const Pair<ULanes> u = uniforms(drawn[i]);
        for (int half = 0; half < 2; ++half)
          take(set, x + (2 * i + half) * kLanes,
               source.first_of<Lanes>(interleave(u.even, u.odd, half * kLanes / 2), sources.words));
      }
    }
    return x;
  }
};

// --- The delays that one source draws for some steps of some ranks at once: in loops of its own,
// and a block of random numbers serves four steps.

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

// --- Draws the delays of some steps for some ranks before these steps are done.

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

// Sources that delay the steps that receive a message, and perhaps phases of computing, and have no
// windows: as most are that have no intervals. For them each rank's step is an addition or two.
struct ReceiveDelays : Sources {
  static constexpr bool only_receives = true;

  JF_HD static bool are(const Sources& s) {
    return s.interval_count == 0 && s.windows == 0 && (s.roles >> kReceiveRole & 1) != 0 &&
           (s.roles >> kSendRole & 1) == 0;
  }
  JF_HD ReceiveDelays bound(std::uint32_t to_realization, Cursor* with_cursors,
                            std::uint64_t drawn_with) const {
    return {Sources::bound<std::uint32_t>(to_realization, with_cursors, drawn_with)};
  }
  JF_HD Lanes advance(Lanes&, Lanes t, Lanes w, Lanes, bool) const { return t + w; }
};
template <class Noise>
constexpr bool only_receives = requires { Noise::only_receives; };

// Whether it matters when something happens: whether `next` of a clock is of any use.
template <class Noise>
constexpr bool is_timed = !std::is_same_v<Noise, NoNoise> && !only_receives<Noise>;

// ReceiveDelays as a register of ranks meets them in communication.
struct DrawnDelays {
  static constexpr bool general = true, in_communication = true;

  const Tick* drawn;

  JF_HD Lanes advance(Lanes&, Lanes t, Lanes w, Lanes, bool) const { return t + w; }
  JF_HD Lanes step(StepRole role, std::int32_t, Lanes&, Lanes t, Tick w, Lanes) const {
    return role == kReceiveRole ? t + w + load(drawn) : t + w;
  }
};

// Sources as a register of ranks meets them whose delays have been drawn. kQuiet: as if no interval
// ever came; for delays without a window.
template <bool kQuiet, class All>
struct PreparedSources {
  static constexpr bool general = true, in_communication = true;

  const All& sources;
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
