// Several turns of ranks that all send and receive, for one load and one store of their times.
//
// What a rank needs of others in these turns is in a block of registers (xor; a shift around a few
// registers), or in those registers before it in an order that goes around all ranks (shift).
#pragma once

#include "message_order.h"

namespace jf {
namespace {

// kSend: the message after these turns is sent, too; else `out` is left.
template <class Noise, class Network, bool kLinks, int kCount, bool kSend>
struct MessageRounds {
  using Rules = MessageLanes<Noise, Network, kLinks>;
  using Ranks = typename Rules::Ranks;
  using Rule = typename Rules::Rule;

  const Rules lanes;
  Tick* const times;             // in place
  const Rule rules[kCount + 1];  // the last one of what is sent after these turns
  QuietTurn quiet_turns[kCount];
  const bool works;

  MessageRounds(const Rules& lanes, Tick* times, const Rule* r)
      : MessageRounds(lanes, times, r, std::make_integer_sequence<int, kCount + 1>()) {}

  // Registers at `at`, `at` + stride, ..., so many as `rows`, the first one after the last; then
  // the same for those next to them, up to `columns` ranks. `last`: where the register is that
  // comes before the first, if there is a need of one only.
  template <class From>
  void around(std::int64_t columns, std::int64_t at, std::int64_t stride, std::int64_t rows,
              std::int64_t last) const {
    const MessageRounds self = *this;  // a copy stays in registers
    for (const std::int64_t end = at + columns; at < end; at += kLanes)
      self.template once_around<From>(at, stride, rows, last);
  }

  // Registers of [begin, end), each alone.
  void alone(const OfMasks<kCount> from, std::int64_t begin, std::int64_t end) const {
    const MessageRounds self = *this;
    std::int64_t x = begin;
    // Two at once: each operation waits for the one before it in its register.
    for (; x + 2 * kLanes <= end; x += 2 * kLanes) self.template few<2>(x, from);
    for (; x < end; x += kLanes) self.template few<1>(x, from);
  }

  // Blocks of 2^kCount registers `apart`, which tile [begin, end).
  template <BlockMap map>
  void blocks(std::int64_t apart, std::int64_t begin, std::int64_t end) const {
    const MessageRounds self = *this;
    for (std::int64_t high = begin; high < end; high += apart << kCount)
      for (std::int64_t x = high; x < high + apart; x += kLanes) self.template block<map>(x, apart);
  }

 private:
  template <class From>
  JF_HD void once_around(std::int64_t at, std::int64_t stride, std::int64_t rows,
                         std::int64_t last) const {
    constexpr int kRing = From::back(kCount - 1);
    Lanes ring[kCount][kRing];
    const auto one = [&]<int kTurns>(int place, std::int64_t x) JF_INLINE {
      From from;
      each<kCount>([&](auto k)
                       JF_INLINE { from.before[k] = ring[k][place & (From::back(k) - 1)]; });
      Lanes mid[kTurns + 1];
      row<kTurns>(x, from, mid);
      each<std::min(kTurns + 1, kCount)>(
          [&](auto k) JF_INLINE { ring[k][place & (From::back(k) - 1)] = mid[k]; });
    };
    // What the first rows need of the last ones. Nothing of it is kept.
    const auto before = [&](int b) JF_INLINE {
      if (From::kBefore == 1) return last;
      std::int64_t h = rows - b;
      while (h < 0) h += rows;
      return at + h * stride;
    };
    const Lanes any = load_any(times + before(From::kBefore));
    for (auto& of_turn : ring)
      for (Lanes& r : of_turn) r = any;
    constexpr int kAgain = std::max(From::kBefore - 1, 1);
    each<kAgain>([&](auto i) JF_INLINE {
      const int b = kAgain - i;
      one.template operator()<kCount - 1>((kRing - b % kRing) % kRing, before(b));
    });
    for (std::int64_t h = 0; h < rows; h += kRing) {
      each<kRing>([&](auto i) JF_INLINE {
        if (h + i < rows) one.template operator()<kCount>(i, at + (h + i) * stride);
      });
    }
  }

  template <int... k>
  MessageRounds(const Rules& lanes, Tick* times, const Rule* r, std::integer_sequence<int, k...>)
      : lanes(lanes),
        times(times),
        rules{r[k]...},
        works(lanes.noise.in_communication &&
              ((r[k].cost.works() && (k < kCount || kSend)) || ...)) {
    for (int t = 0; t < kCount; ++t)
      quiet_turns[t] =
          t + 1 < kCount || kSend ? QuietTurn(r[t].cost, r[t + 1].cost.send) : QuietTurn(r[t].cost);
  }

  // Receives what left its sender at `left`, and sends the next message.
  template <int k, class Any>
  JF_HD void turn(const Any& any, Lanes left, Ranks& r) const {
    constexpr bool sends = k + 1 < kCount || kSend;
    if constexpr (kLinks) r.out = r.busy + (rules[k].cost.gap - rules[k].cost.send);
    if constexpr (std::is_same_v<Any, NoNoise>) {
      r.busy = quiet_turn<kLinks>(quiet_turns[k], r.in, r.busy, left);
      return;
    }
    lanes.received(any, rules[k], left, r);
    if constexpr (sends) lanes.sent(any, rules[k + 1], r);
  }

  // mid: the times before each turn, and after the last.
  template <int kTurns, class Any, class From>
  JF_HD void turns(const Any& any, const From& from, Ranks& r, Lanes* mid) const {
    unrolled<kTurns>([&](auto k) JF_INLINE {
      mid[k] = r.busy;
      turn<k>(any, from(k, r.busy), r);
    });
    mid[kTurns] = r.busy;
  }

  JF_HD Ranks get(std::int64_t x) const {
    Ranks r;
    r.busy = load_any(times + x);
    r.id = lanes.ranks(x);
    if constexpr (kLinks) r.in = load_any(lanes.in + x);
    return r;
  }
  JF_HD void put(std::int64_t x, const Ranks& r) const {
    store(times + x, r.busy);
    if constexpr (kLinks) {
      store(lanes.in + x, r.in);
      if constexpr (!kSend) store(lanes.out + x, r.out);
    }
  }

  template <int n>
  JF_HD void few(std::int64_t x, const OfMasks<kCount>& from) const {
    Ranks r[n];
    each<n>([&](auto i) JF_INLINE { r[i] = get(x + i * kLanes); });
    unrolled<kCount>([&](auto k) JF_INLINE {
      each<n>([&](auto i) JF_INLINE { turn<k>(NoNoise{}, from(k, r[i].busy), r[i]); });
    });
    each<n>([&](auto i) JF_INLINE { keep(x + i * kLanes, from, r[i]); });
  }
  // The register as it is after all turns without noise, if it has met none.
  template <class From>
  JF_HD void keep(std::int64_t x, const From& from, const Ranks& quiet) const {
    if constexpr (Rules::kNoisy) {
      if (__builtin_expect(works && any_greater(quiet.busy, load(lanes.next + x)), 0)) {
        const From same = from;  // only copies leave the registers
        Ranks r = get(x);
        Lanes mid[kCount + 1];
        noisy<kCount>(*this, x, same, r, mid);
        put(x, r);
        return;
      }
    }
    put(x, quiet);
  }

  // First without noise, as MessageLanes::with_noise: times only grow, so that a rank that is free
  // after all turns by the time that its next interval begins has met none. All turns are kept, or
  // (fewer than kCount) none.
  template <int kTurns, class From>
  JF_HD void row(std::int64_t x, const From& from, Lanes* mid) const {
    Ranks r = get(x);
    Ranks quiet = r;
    turns<kTurns>(NoNoise{}, from, quiet, mid);
    if constexpr (Rules::kNoisy) {
      if (__builtin_expect(works && any_greater(quiet.busy, load_any(lanes.next + x)), 0)) {
        const From same = from;  // only copies leave the registers
        Lanes noisy_mid[kTurns + 1];
        noisy<kTurns>(*this, x, same, r, noisy_mid);
        quiet = r;
        each<kTurns + 1>([&](auto k) JF_INLINE { mid[k] = noisy_mid[k]; });
      }
    }
    if constexpr (kTurns == kCount) put(x, quiet);
  }
  template <int kTurns, class From>
  __attribute__((noinline, cold)) static void noisy(const MessageRounds& all, std::int64_t x,
                                                    const From& from, Ranks& r, Lanes* mid) {
    r.next = load_any(all.lanes.next + x);
    all.turns<kTurns>(all.lanes.noise, from, r, mid);
    if constexpr (kTurns == kCount) store(all.lanes.next + x, r.next);
  }

  // Two registers of a block, as far as they leave the processor's registers.
  struct Pair {
    Lanes busy[2], in[2], out[2], left[2];
  };
  template <BlockMap map>
  JF_HD void block(std::int64_t x, std::int64_t apart) const {
    constexpr int kSize = 1 << kCount;
    Lanes busy[kSize], in[kSize], out[kSize];
    each<kSize>([&](auto i) JF_INLINE {
      busy[i] = load(times + x + i * apart);
      if constexpr (kLinks) in[i] = load(lanes.in + x + i * apart);
    });
    unrolled<kCount>([&](auto k) JF_INLINE {
      Lanes left[kSize];
      each<kSize>([&](auto i) JF_INLINE { left[i] = busy[partner_in_block<map, kCount>(k, i)]; });
      each<kSize / 2>([&](auto pair) JF_INLINE {
        const int a = 2 * pair, b = a + 1;
        const std::int64_t at = x + a * apart;
        Ranks first, second;
        first.busy = busy[a];
        second.busy = busy[b];
        first.id = lanes.ranks(at);
        second.id = lanes.ranks(at + apart);
        if constexpr (kLinks) first.in = in[a], second.in = in[b];
        turn<k>(NoNoise{}, left[a], first);
        turn<k>(NoNoise{}, left[b], second);
        if constexpr (Rules::kNoisy) {
          if (__builtin_expect(works && any_greater(first.busy, load(lanes.next + at), second.busy,
                                                    load(lanes.next + at + apart)),
                               0)) {
            Pair copy;
            copy.busy[0] = busy[a], copy.busy[1] = busy[b];
            copy.left[0] = left[a], copy.left[1] = left[b];
            if constexpr (kLinks) copy.in[0] = in[a], copy.in[1] = in[b];
            noisy_pair<k>(*this, at, apart, copy);
            first.busy = copy.busy[0], second.busy = copy.busy[1];
            if constexpr (kLinks) {
              first.in = copy.in[0], second.in = copy.in[1];
              if constexpr (!kSend) first.out = copy.out[0], second.out = copy.out[1];
            }
          }
        }
        busy[a] = first.busy, busy[b] = second.busy;
        if constexpr (kLinks) {
          in[a] = first.in, in[b] = second.in;
          if constexpr (!kSend) out[a] = first.out, out[b] = second.out;
        }
      });
    });
    each<kSize>([&](auto i) JF_INLINE {
      store(times + x + i * apart, busy[i]);
      if constexpr (kLinks) {
        store(lanes.in + x + i * apart, in[i]);
        if constexpr (!kSend) store(lanes.out + x + i * apart, out[i]);
      }
    });
  }
  template <int k>
  __attribute__((noinline, cold)) static void noisy_pair(const MessageRounds& all, std::int64_t x,
                                                         std::int64_t apart, Pair& pair) {
    for (int i = 0; i < 2; ++i) {
      Tick* const next = all.lanes.next + x + i * apart;
      Ranks r;
      r.busy = pair.busy[i];
      r.id = all.lanes.ranks(x + i * apart);
      r.next = load(next);
      if constexpr (kLinks) r.in = pair.in[i];
      all.turn<k>(all.lanes.noise, pair.left[i], r);
      store(next, r.next);
      pair.busy[i] = r.busy;
      if constexpr (kLinks) pair.in[i] = r.in, pair.out[i] = r.out;
    }
  }
};

}  // namespace
}  // namespace jf
