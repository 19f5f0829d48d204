// Exchange of the ranks of a panel: SIMD, or rank by rank where redundant copies overtake lower
// levels. Read panels.h and panel_times.h first.
//
// The arithmetic is that of core/steps.h; this file chooses which message a rank receives. Where no
// copy can overtake a lower level there are no panels: blocks do the exchanges
// (cpu/register_block.h).
#pragma once

// Before all templates over registers: see its head.
#include "cpu/simd_philox.h"

#include "core/steps.h"
#include "cpu/jobs.h"
#include "cpu/panel_times.h"
#include "noise/link_loads.h"

namespace jf {
namespace {

// --- One exchange of a rank that may accept a copy of a level above the next one. core/segment.h
// does the same; but there the arrivals of all copies are guesses, here only the recorded early
// copies are considered.

template <class Noise, class Network>
struct PanelRank {
  const ProgramView& p;
  const Noise& noise;
  const Network& network;
  std::uint32_t realization;

  // When the copy that left mirror number k at `departure` arrives at a rank, if no later than
  // `deadline`. Otherwise this may return kNever: delays in the network only make the copy later,
  // so they are drawn only where they matter.
  Tick copy_arrival_until(const Step& step, int k, Tick rank, Tick departure, Tick deadline) const {
    if (departure > deadline - p.costs.transit) return kNever;
    const auto draw = static_cast<std::uint32_t>(step.draw + k * kMirrorDraws);
    return departure + p.costs.transit +
           network.delay(p.seed, kCopyJitter, draw, rank, realization, departure);
  }

  // The rank accepts a copy at step i, and with it all levels up to that of the copy.
  template <class Observe>
  void accept_copy(int i, const EarlyCopies::Found& copy, Clock<Tick> rank, RankTimes& t,
                   Observe&& observe) const {
    t.latest_arrival = later(t.latest_arrival, copy.arrival);
    const Step& made = p.steps[copy.step];
    const Tick ready = receive(noise, made.draw, p.costs.receive, copy.arrival, rank);
    rank.sent = ready;
    skip_level(p.steps[i], rank, made.round + 1, t);
    for (int s = i; s <= copy.step; ++s) observe(s, ready);
  }

  // The rank has got level `reached`, that of this step or a higher one, without this exchange. It
  // sends its original message of the next round at once. If it has skipped no more than this
  // level, it waits again.
  void skip_level(const Step& step, Clock<Tick> rank, Tick reached, RankTimes& t) const {
    t.sent = send(noise, p.costs, step.draw + 1, rank.next, rank.sent, rank.id);
    t.next = rank.next;
    t.busy = reached == step.round + 1 ? t.sent : -reached;
  }

  // Step i of rank `id`, at x of the segment, whose partner's message arrives at `original`. The
  // early copies include those of this very level. departures[k]: when its copy to mirror number k
  // leaves, or kNever. observe(step, ready time) is called for each level that the rank gets.
  template <class Observe>
  __attribute__((noinline)) void exchange_rank(int i, const EarlyCopies& early, std::int64_t x,
                                               Tick id, Tick original, RankTimes& t,
                                               Tick (&departures)[kMaxMirrors],
                                               Observe&& observe) const {
    const Step& step = p.steps[i];
    for (Tick& time : departures) time = kNever;
    Clock<Tick> rank = t.clock(id);
    if (!t.waits()) return skip_level(step, rank, -t.busy, t);
    // Only copies from mirrors with the same data at the next level: see Segment::earliest_from.
    const auto copy =
        early.earliest_from(i, x, [&](int k) { return p.mirrors_at(k, step.round + 1); });
    if (copy.arrival < original) return accept_copy(i, copy, rank, t, observe);
    t.latest_arrival = later(t.latest_arrival, original);
    observe(i, exchange(noise, p.costs, step, original, rank));
    if ((step.flags & kCopy) != 0) {
      for (std::int32_t k = 0; k < p.mirror_count; ++k) {
        if (!p.mirrors_at(k, step.round + 1)) continue;
        departures[k] = rank.busy = noise.communicate(rank.next, rank.busy, p.costs.send, rank.id);
      }
    }
    t.sent = rank.sent;
    t.busy = rank.busy;
    t.next = rank.next;
  }
};

// --- One exchange of two ranks that are each other's only mirrors, where one or both may accept a
// copy of a level above the next one. Which of them accepts the other's copy of this very level is
// settled at once.

template <class Noise, class Network>
struct PanelPair : PanelRank<Noise, Network> {
  const EarlyCopies& early;

  using Rank = PanelRank<Noise, Network>;
  using Rank::noise;
  using Rank::p;

  // Step i of ranks `id`, at x and x + 1 of the segment; `original`: when the messages of their
  // partners arrive. overtakes[m]: when the copy of this level arrives at rank m, or kNever if it
  // overtakes no lower level there. observe(m, step, ready time) is called for each level that a
  // rank gets.
  template <class Observe>
  __attribute__((noinline)) void exchange_pair(int i, std::int64_t x, const Tick (&id)[2],
                                               const Tick (&original)[2], RankTimes (&t)[2],
                                               Tick (&overtakes)[2], Observe&& observe) const {
    const Step& step = p.steps[i];
    const bool copies_here = (step.flags & kCopy) != 0;
    Clock<Tick> rank[2];
    EarlyCopies::Found ahead[2];
    OwnPath<Tick> own[2];
    bool waits[2], by_own_path[2];
    for (int m = 0; m < 2; ++m) {
      waits[m] = t[m].waits();
      rank[m] = t[m].clock(id[m]);
      if (!waits[m]) continue;
      ahead[m] = early.earliest_from(i + 1, x + m, [](int) { return true; });
      by_own_path[m] = !(ahead[m].arrival < original[m]);
      if (copies_here) own[m] = own_path(noise, p.costs, step, original[m], rank[m]);
    }
    for (int m = 0; m < 2; ++m) {
      const auto observe_of = [&](int level, Tick ready) { observe(m, level, ready); };
      const Tick latest = waits[m] ? later(t[m].latest_arrival, original[m]) : t[m].latest_arrival;
      const Tick copy =
          copies_here ? copy_from_mirror(step, m, id, waits, by_own_path, original, own, latest)
                      : kNever;
      if (!waits[m]) {  // it has skipped this level
        // Of copies that arrive together the one of the lower level is accepted.
        overtakes[m] = copy <= t[m].latest_arrival ? copy : kNever;
        this->skip_level(step, rank[m], -t[m].busy, t[m]);
        continue;
      }
      overtakes[m] = copy < t[m].latest_arrival ? copy : kNever;
      EarlyCopies::Found found = ahead[m];
      if (copy <= found.arrival) found = {copy, i};
      if (found.arrival < original[m]) {
        this->accept_copy(i, found, rank[m], t[m], observe_of);
      } else {
        const Tick ready =
            copies_here ? own[m].ready : exchange(noise, p.costs, step, original[m], rank[m]);
        const Clock<Tick>& after = copies_here ? own[m].after : rank[m];
        t[m] = {after.sent, after.busy, after.next, latest};
        observe_of(i, ready);
      }
    }
  }

 private:
  // When the mirror's copy arrives at rank m, if by `deadline` (copy_arrival_until). The mirror
  // sends one if it got the level by its own path. Of two mirrors only one can adopt the other's
  // copy: the other had sent it after its original had arrived.
  Tick copy_from_mirror(const Step& step, int m, const Tick (&id)[2], const bool (&waits)[2],
                        const bool (&by_own_path)[2], const Tick (&original)[2],
                        const OwnPath<Tick> (&own)[2], Tick deadline) const {
    const int mirror = m ^ 1;
    if (!waits[mirror] || !by_own_path[mirror]) return kNever;
    const Tick copy = this->copy_arrival_until(step, 0, id[m], own[mirror].after.busy, deadline);
    const bool mirror_adopts = copy != kNever && waits[m] && by_own_path[m] &&
                               this->copy_arrival_until(step, 0, id[mirror], own[m].after.busy,
                                                        original[mirror]) < original[mirror];
    return mirror_adopts ? kNever : copy;
  }
};

// --- Copies of one level, where any ranks of the panel may be mirrors. The exchange notes when
// copies leave; afterwards deliver() finds those that arrive in time to be accepted.

// The numbers of the mirrors that get copies of a level, in the order of sending.
struct LevelMirrors {
  std::int32_t count = 0, number[kMaxMirrors];

  LevelMirrors(const ProgramView& p, std::int32_t level) {
    for (std::int32_t k = 0; k < p.mirror_count; ++k)
      if (p.mirrors_at(k, level)) number[count++] = k;
  }
};

struct PanelCopies {
  // When the copy from rank y of the panel to its mirror number k leaves, or kNever.
  alignas(64) Tick departures[kMaxMirrors][kDrawnRanks];

  // Delivers the copies of exchange `step` after it. Calls report(k, rank of the panel, arrival)
  // for each copy that may arrive no later than the latest message that its rank has accepted;
  // kNever: it does not. For registers y with recorded(y) all copies are reported, as their records
  // may be out of date.
  //
  // ids(y): the ranks of a register. Mirrors are within 2^(kDrawnBits - kDrawnSteps) ranks of each
  // other (panel_bytes), so the indices of two mirrors in the panel differ by the same mask as
  // their ranks.
  template <class Rank, class Ids, class Recorded, class Report>
  void deliver(const Rank& rank, const Step& step, std::int64_t size, const PanelTimes& work,
               Ids&& ids, Recorded&& recorded, Report&& report) const {
    const LevelMirrors mirrors(rank.p, step.round + 1);
    const Tick transit = rank.p.costs.transit;
    for (std::int32_t j = 0; j < mirrors.count; ++j) {
      const std::int32_t k = mirrors.number[j], mask = rank.p.mirrors[k];
      for (std::int64_t y = 0; y < size; y += kLanes) {
        Lanes sent = load(departures[k] + (y ^ (mask & -kLanes)));
        for (int bit = 0; bit < kLaneBits; ++bit)
          if ((mask >> bit & 1) != 0) sent = swap_lanes(sent, bit);
        const Lanes accepted = load(work.latest_arrival + y);
        if (__builtin_expect(!recorded(y) && !any_greater(accepted - (transit - 1), sent), 1))
          continue;
        const Lanes receivers = ids(y);
        for (unsigned m = 0; m < kLanes; ++m) {
          const Tick at = rank.copy_arrival_until(step, k, receivers[m], sent[m], accepted[m]);
          // A copy that arrives together with the latest accepted message may be that message.
          report(k, y + m, at <= accepted[m] ? at : kNever);
        }
      }
    }
  }
};

// --- Exchanges of the ranks of a panel, a register at a time, as if every rank went through every
// level.
//
// Nearly always no noise delays the register, and no copy is of use: it arrives after the original
// and after all messages that the rank has accepted. A delay in the network only makes it later, so
// as a rule this is known without that delay, which is drawn only where it matters.

// The receivers of a step's copies, if it sends any: each rank's neighbour, or its mirrors.
enum class Copies { kNone, kToNeighbour, kToMirrors };

template <class Noise, class Network>
struct PanelSteps {
  const ProgramView& p;
  const PanelNoise<Noise, Network>& noise;
  const PanelTimes work;  // of the ranks of the panel
  PanelCopies& copies;    // for Copies::kToMirrors

  // Does the exchange of those of the registers at y in which no noise delays a rank and no copy
  // can matter. Returns the remaining registers, as bits. interruptible: intervals of noise can
  // delay it. originals: drawn delays of the original messages, by rank of the panel. kMaySkip:
  // ranks may have skipped this level, or will if they accept a message after `earliest_copy`.
  template <int n, Copies kCopies, bool kMaySkip>
  JF_HD unsigned exchange_quietly(const Costs& costs, const Step& step, int s, bool interruptible,
                                  const Tick* originals, const std::int64_t (&y)[n],
                                  const Lanes (&departures)[n], const LevelMirrors& mirrors,
                                  Tick earliest_copy) const {
    Clock<Lanes> c[n];
    Lanes latest[n], copy[n];
    unrolled<n>([&](auto k) JF_INLINE {
      Lanes arrives = departures[k] + costs.transit;
      if constexpr (Network::on) arrives += load(originals + y[k]);
      latest[k] = later(load(work.latest_arrival + y[k]), arrives);
      c[k] = {load(work.sent + y[k]), load(work.busy + y[k]), Lanes{}, Lanes{}};
      const auto& cpus = noise.template cpus<true>(s, y[k]);
      if constexpr (kCopies == Copies::kToNeighbour) {
        c[k] = own_path(cpus, costs, step, arrives, c[k]).after;
        copy[k] = swap_lanes(c[k].busy, 0) + costs.transit;
      } else {
        exchange(cpus, costs, step, arrives, c[k]);
        if constexpr (kCopies == Copies::kToMirrors) send_copies(cpus, mirrors, y[k], c[k]);
      }
    });
    bool all = true;
    if constexpr (kMaySkip) {
      static_assert(n == 1);
      if (any_greater(latest[0], broadcast(earliest_copy), Lanes{}, load(work.busy + y[0])))
        return 1;
    }
    if constexpr (kCopies == Copies::kToNeighbour)
      all = !any_greater(latest[0], copy[0], latest[n - 1], copy[n - 1]);
    if constexpr (is_timed<Noise>)
      all = all && !(interruptible && any_greater(c[0].busy, load(work.next + y[0]), c[n - 1].busy,
                                                  load(work.next + y[n - 1])));
    unsigned remaining = 0;
    if (__builtin_expect(!all, 0)) {
      unrolled<n>([&](auto k) JF_INLINE {
        bool found = kCopies == Copies::kToNeighbour && any_greater(latest[k], copy[k]);
        if constexpr (is_timed<Noise>)
          found = found || (interruptible && any_greater(c[k].busy, load(work.next + y[k])));
        remaining |= unsigned{found} << k;
      });
    }
    unrolled<n>([&](auto k) JF_INLINE {
      if ((remaining >> k & 1) != 0) return;
      store(work.sent + y[k], c[k].sent);
      store(work.busy + y[k], c[k].busy);
      store(work.latest_arrival + y[k], latest[k]);
    });
    return remaining;
  }

  // When the messages that left the partners of ranks `ids`, at y, at `departures` arrive.
  Lanes original_arrivals(const Step& step, int s, std::int64_t y, Lanes ids,
                          Lanes departures) const {
    return departures + p.costs.transit + noise.original_delays(step, s, y, ids, departures);
  }

  // The copies leave one after the other, after the original message of the step; notes when.
  template <class Any>
  JF_HD void send_copies(const Any& cpus, const LevelMirrors& mirrors, std::int64_t y,
                         Clock<Lanes>& c) const {
    for (std::int32_t j = 0; j < mirrors.count; ++j) {
      c.busy = cpus.communicate(c.next, c.busy, p.costs.send, c.id);
      store(copies.departures[mirrors.number[j]] + y, c.busy);
    }
  }

  // The exchange of register r, at y, with all noise of its ranks `ids`, if none of them accepts a
  // copy; copies go to `mirrors`.
  void exchange_with_mirrors(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                             const LevelMirrors& mirrors, RegisterTimes& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& cpus = noise.template cpus<false>(s, y);
    r.ready = exchange(cpus, p.costs, step, arrives, c);
    if ((step.flags & kCopy) != 0) send_copies(cpus, mirrors, y, c);
    r = {c.sent, c.busy, c.next, later(r.latest_arrival, arrives), r.ready};
  }

  // The same where copies go to neighbours, which may accept those of this very level. Returns when
  // these arrive: see copies_from_neighbours().
  Lanes exchange_with_neighbours(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                                 RegisterTimes& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& cpus = noise.template cpus<false>(s, y);
    Lanes copy = Lanes{} + kNever;
    if ((step.flags & kCopy) == 0) {
      r.ready = exchange(cpus, p.costs, step, arrives, c);
    } else {
      const auto own = own_path(cpus, p.costs, step, arrives, c);
      copy = copies_from_neighbours(step, ids, swap_lanes(own.after.busy, 0),
                                    later(r.latest_arrival, arrives));
      r.ready = settle(cpus, p.costs, step, arrives, copy, own, c);
    }
    r.sent = c.sent;
    r.busy = c.busy;
    r.next = c.next;
    r.latest_arrival = later(r.latest_arrival, earlier(arrives, copy));
    return copy;
  }

 private:
  // When copies that left the neighbours at `departures` arrive. If none is there before
  // `deadline`, its arrival does not matter; then delays in the network are left out.
  //
  // A neighbour that adopts a copy itself sends none. This need not be checked: its copy would come
  // after its original, hence after the rank's own copy had left, and by then the rank has accepted
  // all messages that `deadline` stands for.
  Lanes copies_from_neighbours(const Step& step, Lanes ids, Lanes departures,
                               Lanes deadline) const {
    const Lanes soonest = departures + p.costs.transit;
    if (!Network::on || !any_greater(deadline, soonest)) return soonest;
    return soonest + noise.copy_delays(step, ids, departures);
  }
};

// --- The general exchange of a register of a panel. Ranks to which early copies are recorded, or
// were, are done one by one.

template <class Noise, class Network>
struct PanelGeneralExchange {
  const TileRanks& ranks;
  const EarlyCopies& early;
  const PanelRank<Noise, Network> rank;

  // Step i (step s of those whose delays are drawn) of the register at y of the panel and x of the
  // segment; the messages of its ranks' partners left at `departures`. record(step, number of the
  // mirror, rank, arrival) returns whether the record is new; observe(step, rank, ready time) is
  // called for each level that a rank gets. Returns whether any record was new.
  template <class Record, class Observe>
  __attribute__((noinline)) bool among_pairs(const PanelSteps<Noise, Network>& steps, int i, int s,
                                             std::int64_t y, std::int64_t x, Lanes departures,
                                             Record& record, Observe& observe) const {
    const Step& step = steps.p.steps[i];
    const PanelPair<Noise, Network> pair{rank, early};
    const Lanes ids = ranks(x);
    const RegisterTimes before = load_times(steps.work + y);
    RegisterTimes r = before;
    const Lanes arrives = steps.original_arrivals(step, s, y, ids, departures);
    const Lanes copies = steps.exchange_with_neighbours(step, s, y, ids, arrives, r);
    bool changed = false;
    for (unsigned k = 0; k < kLanes; k += 2) {
      if (!early.at_pair(x + k)) {
        for (unsigned m = k; m < k + 2; ++m) {
          if (copies[m] < before.latest_arrival[m]) changed |= record(i, 0, x + m, copies[m]);
          observe(i, ids[m], r.ready[m]);
        }
        continue;
      }
      RankTimes t[] = {before.rank(k), before.rank(k + 1)};
      Tick overtakes[2];
      pair.exchange_pair(
          i, x + k, {ids[k], ids[k + 1]}, {arrives[k], arrives[k + 1]}, t, overtakes,
          [&](unsigned m, int level, Tick ready) { observe(level, ids[k + m], ready); });
      for (unsigned m = 0; m < 2; ++m) {
        r.put(k + m, t[m]);
        if ((step.flags & kCopy) != 0) changed |= record(i, 0, x + k + m, overtakes[m]);
      }
    }
    store_times(steps.work + y, r);
    return changed;
  }

  // The same where copies go to mirrors. Only their departures are noted: PanelCopies::deliver
  // finds when they arrive.
  template <class Observe>
  __attribute__((noinline)) void among_mirrors(const PanelSteps<Noise, Network>& steps, int i,
                                               int s, std::int64_t y, std::int64_t x,
                                               Lanes departures, const LevelMirrors& mirrors,
                                               Observe& observe) const {
    const Step& step = steps.p.steps[i];
    const Lanes ids = ranks(x);
    const RegisterTimes before = load_times(steps.work + y);
    RegisterTimes r = before;
    const Lanes arrives = steps.original_arrivals(step, s, y, ids, departures);
    steps.exchange_with_mirrors(step, s, y, ids, arrives, mirrors, r);
    for (unsigned m = 0; m < kLanes; ++m) {
      const auto observe_of = [&](int level, Tick ready) { observe(level, ids[m], ready); };
      if (!early.at_pair(x + m)) {
        observe_of(i, r.ready[m]);
        continue;
      }
      RankTimes t = before.rank(m);
      Tick copy_departures[kMaxMirrors];
      rank.exchange_rank(i, early, x + m, ids[m], arrives[m], t, copy_departures, observe_of);
      r.put(m, t);
      for (std::int32_t k = 0; k < mirrors.count; ++k)
        steps.copies.departures[mirrors.number[k]][y + m] = copy_departures[mirrors.number[k]];
    }
    store_times(steps.work + y, r);
  }
};

}  // namespace
}  // namespace jf
