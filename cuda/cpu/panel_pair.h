// One exchange of two mirrors one of which may be handed a level above the next one: rank by rank,
// as segment.h does it, but from the early copies that are known.
#pragma once

// clang-format off
#include "early_copies.h"
// clang-format on
#include "../steps.h"

namespace jf {
namespace {

// Of mirrors, before an exchange and after it. `taken`: see PanelTimes.
struct PairTimes {
  Tick sent[2], busy[2], next[2], taken[2];
};

template <class Noise, class Network>
struct PanelPair {
  const ProgramView& p;
  const Noise& noise;
  const Network& network;
  std::uint32_t realization;
  const EarlyCopies& early;

  // Step i of ranks `id`, at x and x + 1 of the segment; `original`: when the messages of their
  // partners arrive. overtakes[m]: when the copy of this level arrives at rank m, or kNever if that
  // is not before it got a lower one. see(m, step, ready time) is told each level that a rank gets.
  template <class See>
  __attribute__((noinline)) void exchange_pair(int i, std::int64_t x, const Tick (&id)[2],
                                               const Tick (&original)[2], PairTimes& t,
                                               Tick (&overtakes)[2], See&& see) const {
    const Step& step = p.steps[i];
    const bool copies_here = (step.flags & kCopy) != 0;
    const int level = step.round;  // before the exchange
    Clock<Tick> rank[2];
    EarlyCopies::Found ahead[2];
    OwnPath<Tick> own[2];
    bool waits[2], own_way[2];
    for (int m = 0; m < 2; ++m) {
      waits[m] = t.busy[m] >= 0;
      rank[m] = {t.sent[m], waits[m] ? t.busy[m] : t.sent[m], t.next[m], id[m]};
      if (!waits[m]) continue;
      ahead[m] = early.earliest_after(i, x + m);
      own_way[m] = !(ahead[m].arrival < original[m]);
      if (copies_here) own[m] = own_path(noise, p.costs, step, original[m], rank[m]);
    }
    for (int m = 0; m < 2; ++m) {
      const Tick late = waits[m] ? later(t.taken[m], original[m]) : t.taken[m];
      const Tick copy =
          copies_here ? copy_arrives(step, m, id, waits, own_way, original, own, late) : kNever;
      if (!waits[m]) {  // it has skipped this level: its original message of the next round follows
        // Of copies that arrive together the one of the lower level is taken.
        overtakes[m] = copy <= t.taken[m] ? copy : kNever;
        pass_by(step, level, rank[m], -t.busy[m], m, t);
        continue;
      }
      overtakes[m] = copy < t.taken[m] ? copy : kNever;
      EarlyCopies::Found take = ahead[m];
      if (copy <= take.arrival) take = {copy, i};
      if (take.arrival < original[m]) {
        t.taken[m] = later(t.taken[m], take.arrival);
        const Tick ready =
            receive(noise, p.steps[take.step].draw, p.costs.receive, take.arrival, rank[m]);
        rank[m].sent = ready;
        pass_by(step, level, rank[m], p.steps[take.step].round + 1, m, t);
        for (int s = i; s <= take.step; ++s) see(m, s, ready);
      } else {
        t.taken[m] = later(t.taken[m], original[m]);
        const Tick ready =
            copies_here ? own[m].ready : exchange(noise, p.costs, step, original[m], rank[m]);
        const Clock<Tick>& after = copies_here ? own[m].after : rank[m];
        t.sent[m] = after.sent;
        t.busy[m] = after.busy;
        t.next[m] = after.next;
        see(m, i, ready);
      }
    }
  }

 private:
  // At rank m, from a mirror that got there by its own path; kNever also if after `late`. Of two
  // mirrors only one can adopt the other's: the other sent it after its original had arrived.
  Tick copy_arrives(const Step& step, int m, const Tick (&id)[2], const bool (&waits)[2],
                    const bool (&own_way)[2], const Tick (&original)[2],
                    const OwnPath<Tick> (&own)[2], Tick late) const {
    const int mirror = m ^ 1;
    if (!waits[mirror] || !own_way[mirror]) return kNever;
    const Tick copy = arrival(step, id[m], own[mirror].after.busy, late);
    const bool mirror_adopts =
        copy != kNever && waits[m] && own_way[m] &&
        arrival(step, id[mirror], own[m].after.busy, original[mirror]) < original[mirror];
    return mirror_adopts ? kNever : copy;
  }

  // Of a copy, or kNever if it comes after `late`: its delay only makes it later, so it is drawn
  // only where it matters.
  Tick arrival(const Step& step, Tick rank, Tick left, Tick late) const {
    const Tick soonest = left + p.costs.transit;
    if (soonest > late) return kNever;
    return soonest + network.delay(p.seed, kCopyJitter, static_cast<std::uint32_t>(step.draw), rank,
                                   realization, left);
  }

  // Who has level `reached` sends the messages of the rounds below one after the other.
  void pass_by(const Step& step, int level, Clock<Tick> rank, Tick reached, int m,
               PairTimes& t) const {
    t.sent[m] = send(noise, p.costs, step.draw + 1, rank.next, rank.sent, rank.id);
    t.next[m] = rank.next;
    t.busy[m] = reached == level + 1 ? t.sent[m] : -reached;
  }
};

}  // namespace
}  // namespace jf
