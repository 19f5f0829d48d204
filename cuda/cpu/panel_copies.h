// Copies of one level on their way between the ranks of a panel, where mirrors may be any ranks of
// it: as these do the exchange, it is noted when their copies leave, and afterwards found which of
// them arrive in time to be taken.
#pragma once

// clang-format off
#include "panel_rank.h"
#include "segment_job.h"
// clang-format on

namespace jf {
namespace {

// The numbers of the mirrors that copies of a level go to, in the order in which they are sent.
struct LevelMirrors {
  std::int32_t count = 0, number[kMostMirrors];

  LevelMirrors(const ProgramView& p, std::int32_t level) {
    for (std::int32_t k = 0; k < p.mirror_count; ++k)
      if (p.mirrors_at(k, level)) number[count++] = k;
  }
};

struct PanelCopies {
  // When the copy to mirror k of rank y of the panel leaves, or kNever.
  alignas(64) Tick left[kMostMirrors][kDrawnRanks];

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

}  // namespace
}  // namespace jf
