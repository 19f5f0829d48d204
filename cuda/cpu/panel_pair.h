// One exchange of two ranks that are each other's only mirrors, where one or both may be handed a
// level above the next one. Which of them takes the other's copy of this very level is settled at
// once.
#pragma once

// clang-format off
#include "panel_rank.h"
// clang-format on

namespace jf {
namespace {

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

}  // namespace
}  // namespace jf
