// A register of a panel in one exchange, whatever happens to its ranks. Those that early copies are
// known of, or were, are done one by one.
#pragma once

// clang-format off
#include "panel_steps.h"
#include "panel_pair.h"
// clang-format on

namespace jf {
namespace {

template <class Noise, class Network>
struct PanelAnyhow {
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
      Tick left[kMostMirrors];
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
