// One exchange of the ranks of a panel (panels.h): a register at a time as a rule, rank by rank
// where copies overtake each other.
#pragma once

// First: templates see only those overloads for registers, which have no namespace, that are
// declared before them.
#include "cpu/simd_philox.h"

#include "core/steps.h"
#include "cpu/jobs.h"
#include "cpu/panel_times.h"
#include "noise/link_loads.h"

namespace jf {
namespace {

// --- One exchange of a rank that may be handed a level above the next one, as segment.h does it:
// but there the guesses are when all copies arrive, here only the early copies that are known.

template <class Noise, class Network>
struct PanelRank {
  const ProgramView& p;
  const Noise& noise;
  const Network& network;
  std::uint32_t realization;

  // When the copy of a level that left mirror number k at `left` arrives at a rank, if by `late`.
  // If not, kNever is as good, and may be returned: delays in the network only make it later, so
  // one is drawn only where it matters.
  Tick copy_arrival_by(const Step& step, int k, Tick rank, Tick left, Tick late) const {
    if (left > late - p.costs.transit) return kNever;
    const auto draw = static_cast<std::uint32_t>(step.draw + k * kMirrorDraws);
    return left + p.costs.transit +
           network.delay(p.seed, kCopyJitter, draw, rank, realization, left);
  }

  // The rank takes a copy at step i, and with it the levels up to that of the copy.
  template <class See>
  void take(int i, const EarlyCopies::Found& copy, Clock<Tick> rank, RankTimes& t,
            See&& see) const {
    t.taken = later(t.taken, copy.arrival);
    const Step& made = p.steps[copy.step];
    const Tick ready = receive(noise, made.draw, p.costs.receive, copy.arrival, rank);
    rank.sent = ready;
    pass_by(p.steps[i], rank, made.round + 1, t);
    for (int s = i; s <= copy.step; ++s) see(s, ready);
  }

  // The rank has got level `reached`, that of this step or a higher one, without its exchange. It
  // sends its original message of the next round at once, and waits again if it has skipped no
  // more.
  void pass_by(const Step& step, Clock<Tick> rank, Tick reached, RankTimes& t) const {
    t.sent = send(noise, p.costs, step.draw + 1, rank.next, rank.sent, rank.id);
    t.next = rank.next;
    t.busy = reached == step.round + 1 ? t.sent : -reached;
  }

  // Step i of rank `id`, at x of the segment, whose partner's message arrives at `original`; copies
  // of this very level are among those that are known, too. left[k]: when its copy to mirror number
  // k leaves, or kNever. see(step, ready time) is told each level that the rank gets.
  template <class See>
  __attribute__((noinline)) void exchange_alone(int i, const EarlyCopies& early, std::int64_t x,
                                                Tick id, Tick original, RankTimes& t,
                                                Tick (&left)[kMaxMirrors], See&& see) const {
    const Step& step = p.steps[i];
    for (Tick& time : left) time = kNever;
    Clock<Tick> rank = t.clock(id);
    if (!t.waits()) return pass_by(step, rank, -t.busy, t);
    // Only from mirrors that have the same data at the next level: see Segment::earliest_from.
    const auto copy =
        early.earliest_since(i, x, [&](int k) { return p.mirrors_at(k, step.round + 1); });
    if (copy.arrival < original) return take(i, copy, rank, t, see);
    t.taken = later(t.taken, original);
    see(i, exchange(noise, p.costs, step, original, rank));
    if ((step.flags & kCopy) != 0) {
      for (std::int32_t k = 0; k < p.mirror_count; ++k) {
        if (!p.mirrors_at(k, step.round + 1)) continue;
        left[k] = rank.busy = communicate(noise, rank.next, rank.busy, p.costs.send, rank.id);
      }
    }
    t.sent = rank.sent;
    t.busy = rank.busy;
    t.next = rank.next;
  }
};

// --- One exchange of two ranks that are each other's only mirrors, where one or both may be handed
// a level above the next one. Which of them takes the other's copy of this very level is settled at
// once.

template <class Noise, class Network>
struct PanelPair : PanelRank<Noise, Network> {
  const EarlyCopies& early;

  using Rank = PanelRank<Noise, Network>;
  using Rank::noise;
  using Rank::p;

  // Step i of ranks `id`, at x and x + 1 of the segment; `original`: when the messages of their
  // partners arrive. overtakes[m]: when the copy of this level arrives at rank m, or kNever if it
  // overtakes no lower level there. see(m, step, ready time) is told each level that a rank gets.
  template <class See>
  __attribute__((noinline)) void exchange_pair(int i, std::int64_t x, const Tick (&id)[2],
                                               const Tick (&original)[2], RankTimes (&t)[2],
                                               Tick (&overtakes)[2], See&& see) const {
    const Step& step = p.steps[i];
    const bool copies_here = (step.flags & kCopy) != 0;
    Clock<Tick> rank[2];
    EarlyCopies::Found ahead[2];
    OwnPath<Tick> own[2];
    bool waits[2], own_way[2];
    for (int m = 0; m < 2; ++m) {
      waits[m] = t[m].waits();
      rank[m] = t[m].clock(id[m]);
      if (!waits[m]) continue;
      ahead[m] = early.earliest_since(i + 1, x + m, [](int) { return true; });
      own_way[m] = !(ahead[m].arrival < original[m]);
      if (copies_here) own[m] = own_path(noise, p.costs, step, original[m], rank[m]);
    }
    for (int m = 0; m < 2; ++m) {
      const auto see_of = [&](int level, Tick ready) { see(m, level, ready); };
      const Tick late = waits[m] ? later(t[m].taken, original[m]) : t[m].taken;
      const Tick copy =
          copies_here ? copy_from_mirror(step, m, id, waits, own_way, original, own, late) : kNever;
      if (!waits[m]) {  // it has skipped this level: its original message of the next round follows
        // Of copies that arrive together the one of the lower level is taken.
        overtakes[m] = copy <= t[m].taken ? copy : kNever;
        this->pass_by(step, rank[m], -t[m].busy, t[m]);
        continue;
      }
      overtakes[m] = copy < t[m].taken ? copy : kNever;
      EarlyCopies::Found found = ahead[m];
      if (copy <= found.arrival) found = {copy, i};
      if (found.arrival < original[m]) {
        this->take(i, found, rank[m], t[m], see_of);
      } else {
        const Tick ready =
            copies_here ? own[m].ready : exchange(noise, p.costs, step, original[m], rank[m]);
        const Clock<Tick>& after = copies_here ? own[m].after : rank[m];
        t[m] = {after.sent, after.busy, after.next, late};
        see_of(i, ready);
      }
    }
  }

 private:
  // When the mirror's copy arrives at rank m, if by `late` (copy_arrival_by). The mirror sends one
  // if it got the level by its own path. Of two mirrors only one can adopt the other's copy: the
  // other had sent it after its original had arrived.
  Tick copy_from_mirror(const Step& step, int m, const Tick (&id)[2], const bool (&waits)[2],
                        const bool (&own_way)[2], const Tick (&original)[2],
                        const OwnPath<Tick> (&own)[2], Tick late) const {
    const int mirror = m ^ 1;
    if (!waits[mirror] || !own_way[mirror]) return kNever;
    const Tick copy = this->copy_arrival_by(step, 0, id[m], own[mirror].after.busy, late);
    const bool mirror_adopts = copy != kNever && waits[m] && own_way[m] &&
                               this->copy_arrival_by(step, 0, id[mirror], own[m].after.busy,
                                                     original[mirror]) < original[mirror];
    return mirror_adopts ? kNever : copy;
  }
};

// --- Copies of one level on their way between the ranks of a panel, where mirrors may be any ranks
// of it: as these do the exchange, it is noted when their copies leave, and afterwards found which
// of them arrive in time to be taken.

// The numbers of the mirrors that copies of a level go to, in the order in which they are sent.
struct LevelMirrors {
  std::int32_t count = 0, number[kMaxMirrors];

  LevelMirrors(const ProgramView& p, std::int32_t level) {
    for (std::int32_t k = 0; k < p.mirror_count; ++k)
      if (p.mirrors_at(k, level)) number[count++] = k;
  }
};

struct PanelCopies {
  // When the copy to mirror k of rank y of the panel leaves, or kNever.
  alignas(64) Tick left[kMaxMirrors][kDrawnRanks];

  // Those of exchange `step`, after it. tell(k, rank of the panel, arrival) is told of each copy
  // that may arrive by the time its rank has taken its last message; kNever: it does not. Of copies
  // to a register y with known(y) it is told of all, as what is known of them may be wrong by now.
  //
  // ids(y): the ranks of a register. Mirrors are within 2^(kDrawnBits - kDrawnSteps) neighbours
  // (panel_bytes), and so their numbers in the panel differ as they do themselves.
  template <class Rank, class Ids, class Known, class Tell>
  void deliver(const Rank& rank, const Step& step, std::int64_t size, const PanelTimes& work,
               Ids&& ids, Known&& known, Tell&& tell) const {
    const LevelMirrors mirrors(rank.p, step.round + 1);
    const Tick transit = rank.p.costs.transit;
    for (std::int32_t j = 0; j < mirrors.count; ++j) {
      const std::int32_t k = mirrors.number[j], mask = rank.p.mirrors[k];
      for (std::int64_t y = 0; y < size; y += kLanes) {
        Lanes sent = load(left[k] + (y ^ (mask & -kLanes)));
        for (int bit = 0; bit < kLaneBits; ++bit)
          if ((mask >> bit & 1) != 0) sent = swap_lanes(sent, bit);
        const Lanes taken = load(work.taken + y);
        if (__builtin_expect(!known(y) && !any_greater(taken - (transit - 1), sent), 1)) continue;
        const Lanes receivers = ids(y);
        for (unsigned m = 0; m < kLanes; ++m) {
          const Tick at = rank.copy_arrival_by(step, k, receivers[m], sent[m], taken[m]);
          // Together with the last message taken: it may be that message.
          tell(k, y + m, at <= taken[m] ? at : kNever);
        }
      }
    }
  }
};

// --- Exchanges of the ranks of a panel (panel.h), a register at a time, as if every rank went
// through every level.
//
// Nearly always no noise is met, and no copy is of any use: it arrives after the original, and
// after all messages that the rank has taken before. A delay in the network only makes it later, so
// as a rule that is known without the delay, which is drawn only where it matters.

// What copies of a step go to, if there are any: each rank's neighbour, or mirrors.
enum class Copies { kNone, kToNeighbour, kToMirrors };

template <class Noise, class Network>
struct PanelSteps {
  const ProgramView& p;
  const PanelNoise<Noise, Network>& noise;
  const PanelTimes work;  // of the ranks of the panel
  PanelCopies& copies;    // to mirrors

  // Does the exchange of those of the registers at y in which no rank meets noise and no copy can
  // matter. Returns which are left, as bits. noisy: noise can be met. originals: drawn delays of
  // the original messages, by rank of the panel. kWatched: ranks may have skipped this level, or do
  // so where they would take a message after `soonest`.
  template <int n, Copies kCopies, bool kWatched>
  JF_HD unsigned exchange_quietly(const Costs& costs, const Step& step, int s, bool noisy,
                                  const Tick* originals, const std::int64_t (&y)[n],
                                  const Lanes (&from)[n], const LevelMirrors& mirrors,
                                  Tick soonest) const {
    Clock<Lanes> c[n];
    Lanes late[n], copy[n];
    each<n>([&](auto k) JF_INLINE {
      Lanes arrives = from[k] + costs.transit;
      if constexpr (Network::on) arrives += load(originals + y[k]);
      late[k] = later(load(work.taken + y[k]), arrives);
      c[k] = {load(work.sent + y[k]), load(work.busy + y[k]), Lanes{}, Lanes{}};
      const auto& mine = noise.template at<true>(s, y[k]);
      if constexpr (kCopies == Copies::kToNeighbour) {
        c[k] = own_path(mine, costs, step, arrives, c[k]).after;
        copy[k] = swap_lanes(c[k].busy, 0) + costs.transit;
      } else {
        exchange(mine, costs, step, arrives, c[k]);
        if constexpr (kCopies == Copies::kToMirrors) send_copies(mine, mirrors, y[k], c[k]);
      }
    });
    bool all = true;
    if constexpr (kWatched) {
      static_assert(n == 1);
      if (any_greater(late[0], broadcast(soonest), Lanes{}, load(work.busy + y[0]))) return 1;
    }
    if constexpr (kCopies == Copies::kToNeighbour)
      all = !any_greater(late[0], copy[0], late[n - 1], copy[n - 1]);
    if constexpr (is_timed<Noise>)
      all = all && !(noisy && any_greater(c[0].busy, load(work.next + y[0]), c[n - 1].busy,
                                          load(work.next + y[n - 1])));
    unsigned left = 0;
    if (__builtin_expect(!all, 0)) {
      each<n>([&](auto k) JF_INLINE {
        bool found = kCopies == Copies::kToNeighbour && any_greater(late[k], copy[k]);
        if constexpr (is_timed<Noise>)
          found = found || (noisy && any_greater(c[k].busy, load(work.next + y[k])));
        left |= unsigned{found} << k;
      });
    }
    each<n>([&](auto k) JF_INLINE {
      if ((left >> k & 1) != 0) return;
      store(work.sent + y[k], c[k].sent);
      store(work.busy + y[k], c[k].busy);
      store(work.taken + y[k], late[k]);
    });
    return left;
  }

  // When the messages that left the partners of ranks `ids`, at y, at `from` arrive.
  Lanes originals_arrive(const Step& step, int s, std::int64_t y, Lanes ids, Lanes from) const {
    return from + p.costs.transit + noise.of_originals(step, s, y, ids, from);
  }

  // Copies leave after the original message of the step, one after the other; notes when.
  template <class Any>
  JF_HD void send_copies(const Any& mine, const LevelMirrors& mirrors, std::int64_t y,
                         Clock<Lanes>& c) const {
    for (std::int32_t j = 0; j < mirrors.count; ++j) {
      c.busy = communicate(mine, c.next, c.busy, p.costs.send, c.id);
      store(copies.left[mirrors.number[j]] + y, c.busy);
    }
  }

  // The exchange of register r, which is at y, with whatever noise its ranks `ids` meet, if none of
  // them takes a copy; copies go to `mirrors`.
  void exchange_with_mirrors(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                             const LevelMirrors& mirrors, RegisterTimes& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& mine = noise.template at<false>(s, y);
    r.ready = exchange(mine, p.costs, step, arrives, c);
    if ((step.flags & kCopy) != 0) send_copies(mine, mirrors, y, c);
    r = {c.sent, c.busy, c.next, later(r.taken, arrives), r.ready};
  }

  // The same where copies go to neighbours, which may take those of this very level. Returns when
  // they arrive: see copies_from_neighbours().
  Lanes exchange_with_neighbours(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                                 RegisterTimes& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& mine = noise.template at<false>(s, y);
    Lanes copy = Lanes{} + kNever;
    if ((step.flags & kCopy) == 0) {
      r.ready = exchange(mine, p.costs, step, arrives, c);
    } else {
      const auto own = own_path(mine, p.costs, step, arrives, c);
      copy =
          copies_from_neighbours(step, ids, swap_lanes(own.after.busy, 0), later(r.taken, arrives));
      r.ready = settle(mine, p.costs, step, arrives, copy, own, c);
    }
    r.sent = c.sent;
    r.busy = c.busy;
    r.next = c.next;
    r.taken = later(r.taken, earlier(arrives, copy));
    return copy;
  }

 private:
  // When copies that left the neighbours at `left` arrive. Where none is there before `late`
  // it does not matter when: then delays in the network are left out.
  //
  // A neighbour that adopts a copy itself sends none. That need not be looked at: its copy would
  // come after its original, hence after the rank's own copy had left, and then the rank has taken
  // all that `late` tells of.
  Lanes copies_from_neighbours(const Step& step, Lanes ids, Lanes left, Lanes late) const {
    const Lanes soonest = left + p.costs.transit;
    if (!Network::on || !any_greater(late, soonest)) return soonest;
    return soonest + noise.of_copies(step, ids, left);
  }
};

// --- A register of a panel in one exchange, whatever happens to its ranks. Those that early copies
// are known of, or were, are done one by one.

template <class Noise, class Network>
struct PanelGeneralExchange {
  const TileRanks& ranks;
  const EarlyCopies& early;
  const PanelRank<Noise, Network> rank;

  // Step i, which is step s of those whose delays are drawn, of the register at y of the panel and
  // x of the segment; `from`: when the messages of its ranks' partners left. note(step, number of
  // the mirror, rank, arrival) is told of copies, and returns whether that is new; see(step, number
  // of the rank, ready time) is told each level that a rank gets. Returns whether anything was new.
  template <class Note, class See>
  __attribute__((noinline)) bool among_pairs(const PanelSteps<Noise, Network>& steps, int i, int s,
                                             std::int64_t y, std::int64_t x, Lanes from, Note& note,
                                             See& see) const {
    const Step& step = steps.p.steps[i];
    const PanelPair<Noise, Network> pair{rank, early};
    const Lanes ids = ranks(x);
    const RegisterTimes before = load_times(steps.work + y);
    RegisterTimes r = before;
    const Lanes arrives = steps.originals_arrive(step, s, y, ids, from);
    const Lanes copies = steps.exchange_with_neighbours(step, s, y, ids, arrives, r);
    bool changed = false;
    for (unsigned k = 0; k < kLanes; k += 2) {
      if (!early.at_pair(x + k)) {
        for (unsigned m = k; m < k + 2; ++m) {
          if (copies[m] < before.taken[m]) changed |= note(i, 0, x + m, copies[m]);
          see(i, ids[m], r.ready[m]);
        }
        continue;
      }
      RankTimes t[] = {before.rank(k), before.rank(k + 1)};
      Tick overtakes[2];
      pair.exchange_pair(i, x + k, {ids[k], ids[k + 1]}, {arrives[k], arrives[k + 1]}, t, overtakes,
                         [&](unsigned m, int level, Tick ready) { see(level, ids[k + m], ready); });
      for (unsigned m = 0; m < 2; ++m) {
        r.put(k + m, t[m]);
        if ((step.flags & kCopy) != 0) changed |= note(i, 0, x + k + m, overtakes[m]);
      }
    }
    store_times(steps.work + y, r);
    return changed;
  }

  // The same where copies go to mirrors. It notes only when they leave: PanelCopies::deliver finds
  // when they arrive.
  template <class See>
  __attribute__((noinline)) void among_mirrors(const PanelSteps<Noise, Network>& steps, int i,
                                               int s, std::int64_t y, std::int64_t x, Lanes from,
                                               const LevelMirrors& mirrors, See& see) const {
    const Step& step = steps.p.steps[i];
    const Lanes ids = ranks(x);
    const RegisterTimes before = load_times(steps.work + y);
    RegisterTimes r = before;
    const Lanes arrives = steps.originals_arrive(step, s, y, ids, from);
    steps.exchange_with_mirrors(step, s, y, ids, arrives, mirrors, r);
    for (unsigned m = 0; m < kLanes; ++m) {
      const auto see_of = [&](int level, Tick ready) { see(level, ids[m], ready); };
      if (!early.at_pair(x + m)) {
        see_of(i, r.ready[m]);
        continue;
      }
      RankTimes t = before.rank(m);
      Tick left[kMaxMirrors];
      rank.exchange_alone(i, early, x + m, ids[m], arrives[m], t, left, see_of);
      r.put(m, t);
      for (std::int32_t k = 0; k < mirrors.count; ++k)
        steps.copies.left[mirrors.number[k]][y + m] = left[mirrors.number[k]];
    }
    store_times(steps.work + y, r);
  }
};

}  // namespace
}  // namespace jf
