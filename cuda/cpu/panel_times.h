// State of a panel: times of ranks, their noise, and the early copies (overtaking messages).
// panels.h says what these are; read it first.
#pragma once

// Before all templates over registers: see its head.
#include "cpu/simd_philox.h"

#include "core/steps.h"
#include "cpu/jobs.h"
#include "cpu/register_block.h"

namespace jf {
namespace {

// --- The times of ranks of a segment between two steps: of one rank, of a register, of a panel.
//
// A rank that has skipped levels does not wait in the rounds of these levels. Until it has passed
// them, its `busy` is minus the level that it has reached.

// The times of one rank.
struct RankTimes {
  Tick sent, busy, next;
  Tick latest_arrival;  // of the messages that the rank has accepted

  bool waits() const { return busy >= 0; }
  Clock<Tick> clock(Tick id) const { return {sent, waits() ? busy : sent, next, id}; }
};

// The times of a register of ranks, and when they get the level of the step that they have done.
struct RegisterTimes {
  Lanes sent, busy, next, latest_arrival, ready;

  RankTimes rank(unsigned m) const { return {sent[m], busy[m], next[m], latest_arrival[m]}; }
  void put(unsigned m, const RankTimes& t) {
    sent[m] = t.sent;
    busy[m] = t.busy;
    next[m] = t.next;
    latest_arrival[m] = t.latest_arrival;
  }
};

// The times of many ranks, as arrays.
struct PanelTimes {
  Tick *sent, *busy, *next, *latest_arrival;

  // The times from rank x on.
  JF_HD PanelTimes operator+(std::int64_t x) const {
    return {sent + x, busy + x, next + x, latest_arrival + x};
  }
};

JF_HD RegisterTimes load_times(const PanelTimes& times) {
  return {load(times.sent), load(times.busy), load(times.next), load(times.latest_arrival),
          Lanes{}};
}
JF_HD void store_times(const PanelTimes& times, const RegisterTimes& r) {
  store(times.sent, r.sent);
  store(times.busy, r.busy);
  store(times.next, r.next);
  store(times.latest_arrival, r.latest_arrival);
}
JF_HD void copy_times(const PanelTimes& to, const PanelTimes& from) {
  store_times(to, load_times(from));
}
JF_HD bool same_times(const PanelTimes& a, const PanelTimes& b) {
  return !any((load(a.sent) != load(b.sent)) | (load(a.busy) != load(b.busy)) |
              (load(a.next) != load(b.next)) | (load(a.latest_arrival) != load(b.latest_arrival)));
}

// --- The noise of the steps of a panel. Delays that do not depend on the time are drawn for some
// steps together, before these are done. What remains (intervals, and delays with windows) is
// looked up only for registers that it can delay.

template <class Noise, class Network>
class PanelNoise {
  alignas(64) static constexpr Tick kNoDelays[kDrawnRanks] = {};  // if there are none

 public:
  PanelNoise(const SegmentJob& job, const TileRanks& ranks, const Noise& noise,
             const Network& network)
      : job_(job),
        p_(*job.tile.program),
        ranks_(ranks),
        noise_(noise),
        network_(network),
        undrawn_(noise),
        undrawn_network_(network),
        keys_(p_.seed) {
    if constexpr (is_general<Noise>) {
      undrawn_.drawn_beforehand = true;
      undrawn_.roles = undrawn_.windows | (undrawn_.roles & 1 << kComputeRole);
    }
    if constexpr (Network::on) undrawn_network_.drawn_beforehand = true;
  }

  // Draws the delays of step `begin`, and of the steps before `end` that share its random numbers,
  // for the ranks of the panel: those at `from` + offsets in `map`.
  void draw(int begin, int end, const TileMap& map, std::int64_t from) {
    int count = 1;
    while (begin + count < end && !PanelGroups::draws_anew(p_.steps, begin, begin + count)) ++count;
    const auto draws = [&](std::int32_t first) {
      return Draws{keys_,
                   p_.seed,
                   job_.tile.realization,
                   static_cast<std::uint32_t>(first),
                   static_cast<std::uint32_t>(count),
                   map.size(),
                   {ranks_, map, from},
                   job_.scratch.draws};
    };
    const std::int32_t number = p_.steps[begin].draw;
    Tick* const* sums = job_.scratch.sums;
    if constexpr (is_general<Noise>) {
      drawn_[kReceiving] = draw_step_delays(draws(number), noise_, kReceiveRole, sums[kReceiving]);
      drawn_[kSending] = draw_step_delays(draws(number + 1), noise_, kSendRole, sums[kSending]);
    }
    if constexpr (Network::on)
      drawn_[kInNetwork] =
          draw_message_delays(draws(number), network_, kOriginalJitter, sums[kInNetwork]);
  }

  // Whether intervals of noise can delay the steps of an exchange.
  bool in_communication() const { return noise_.in_communication; }
  // Whether any register can do without all noise that is not drawn (cpus<true>).
  bool can_be_quiet() const {
    if constexpr (is_general<Noise>)
      return (undrawn_.windows & ~(1 << kComputeRole)) == 0 && !network_windows();
    else
      return !network_windows();
  }

  // The noise of the CPUs of the register at y, in step s of those drawn. quiet: only what is
  // drawn.
  template <bool quiet>
  JF_HD decltype(auto) cpus(int s, std::int64_t y) const {
    if constexpr (is_general<Noise>)
      return SourcesDrawnBeforehand<quiet, Noise>{undrawn_,
                                                  {drawn(kReceiving, s, y), drawn(kSending, s, y)}};
    else if constexpr (quiet)
      return NoNoise{};
    else
      return (undrawn_);
  }

  // The drawn delays of original messages in the network, by receiving rank.
  const Tick* drawn_originals(int s) const {
    const Tick* const found = drawn(kInNetwork, s, 0);
    return found != nullptr ? found : kNoDelays;
  }

  // All delays in the network of messages to ranks `ids`, at y of the panel, that left at
  // `departure`.
  Lanes original_delays(const Step& step, int s, std::int64_t y, Lanes ids, Lanes departure) const {
    Lanes sum{};
    if constexpr (Network::on) {
      if (const Tick* delays = drawn(kInNetwork, s, y)) sum += load(delays);
      if (network_windows()) sum += delay(undrawn_network_, kOriginalJitter, step, ids, departure);
    }
    return sum;
  }
  // The same of copies. None of these is drawn beforehand, as hardly any matters.
  Lanes copy_delays(const Step& step, Lanes ids, Lanes departure) const {
    return delay(network_, kCopyJitter, step, ids, departure);
  }

 private:
  // The drawn delays of step s from y on, or null.
  JF_HD const Tick* drawn(int kind, int s, std::int64_t y) const {
    return drawn_[kind] == nullptr ? nullptr : drawn_[kind] + s * kDrawnRanks + y;
  }
  bool network_windows() const {
    if constexpr (Network::on)
      return undrawn_network_.windows != 0;
    else
      return false;
  }
  Lanes delay(const Network& network, Purpose purpose, const Step& step, Lanes ids,
              Lanes departure) const {
    return network.delay(p_.seed, purpose, static_cast<std::uint32_t>(step.draw), ids,
                         job_.tile.realization, departure);
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const TileRanks ranks_;
  const Noise& noise_;
  const Network& network_;
  Noise undrawn_;  // without what is drawn
  Network undrawn_network_;
  const RoundKeys keys_;
  const Tick* drawn_[kDrawnKinds] = {};  // [step][rank]
};

// --- The early copies of a segment: those that ranks may accept ahead of lower levels (panels.h).
// Each pair of neighbouring ranks has a list of them, which is nearly always empty.

class EarlyCopies {
 public:
  bool full = false;  // one did not fit and was left out

  // Uses memory for `capacity` copies, and for the number of the first copy of each pair.
  EarlyCopies(EarlyCopy* copies, std::int64_t capacity, std::int32_t* first, std::int64_t pairs)
      : copies_(copies), capacity_(capacity), first_(first) {
    for (std::int64_t i = 0; i < pairs; ++i) first_[i] = 0;
  }

  // The copies to the ranks of a register that are of step `begin` or a later one.
  struct OfRegister {
    std::uint32_t steps;  // bit k: there are copies of step begin + k
    Tick earliest;        // arrival
  };
  JF_HD OfRegister of_register(int begin, std::int64_t x) const {
    constexpr int kPairs = kLanes / 2;
    std::int32_t all[kPairs], found = 0;
    __builtin_memcpy(all, first_ + x / 2, sizeof all);
    for (int k = 0; k < kPairs; ++k) found |= all[k];
    if (__builtin_expect(found == 0, 1)) return {0, kNever};
    return of_pairs(begin, all);
  }

  // Whether a copy to the pair at x is recorded, or was.
  bool at_pair(std::int64_t x) const { return first_[x / 2] != 0; }

  struct Found {
    Tick arrival;
    int step;
  };

  // The earliest copy of step i or a later one to rank x, among mirrors k with from(k). Of copies
  // that arrive together it is the one of the lower level.
  template <class From>
  Found earliest_from(int i, std::int64_t x, From&& from) const {
    Found best{kNever, i};
    for (std::int32_t n = first_[x / 2]; n != 0; n = copies_[n - 1].next) {
      const EarlyCopy& c = copies_[n - 1];
      const int step = step_of(c);
      if (c.key % 2 != x % 2 || step < i || c.arrival == kNever) continue;
      if (!from(c.key / 2 % kMaxMirrors)) continue;
      if (c.arrival < best.arrival || (c.arrival == best.arrival && step < best.step))
        best = {c.arrival, step};
    }
    return best;
  }

  // Records that the copy of step i from mirror number k arrives at rank x; kNever: it overtakes
  // nothing. Returns what was recorded before.
  Tick set(int i, int k, std::int64_t x, Tick arrival) {
    const auto key = static_cast<std::int32_t>(2 * (kMaxMirrors * i + k) + x % 2);
    for (std::int32_t n = first_[x / 2]; n != 0; n = copies_[n - 1].next) {
      EarlyCopy& c = copies_[n - 1];
      if (c.key != key) continue;
      const Tick old = c.arrival;
      c.arrival = arrival;
      return old;
    }
    if (arrival == kNever) return kNever;
    if (used_ == capacity_) {
      full = true;
      return arrival;
    }
    copies_[used_++] = {arrival, first_[x / 2], key};
    first_[x / 2] = static_cast<std::int32_t>(used_);
    return kNever;
  }

 private:
  static int step_of(const EarlyCopy& c) { return c.key / (2 * kMaxMirrors); }

  __attribute__((noinline)) OfRegister of_pairs(int begin,
                                                const std::int32_t (&first)[kLanes / 2]) const {
    OfRegister found{0, kNever};
    for (std::int32_t n : first) {
      for (; n != 0; n = copies_[n - 1].next) {
        const EarlyCopy& c = copies_[n - 1];
        if (c.arrival == kNever || step_of(c) < begin) continue;
        found.steps |= std::uint32_t{1} << (step_of(c) - begin);
        found.earliest = earlier(found.earliest, c.arrival);
      }
    }
    return found;
  }

  EarlyCopy* copies_;
  std::int64_t capacity_, used_ = 0;
  std::int32_t* first_;
};

}  // namespace
}  // namespace jf
