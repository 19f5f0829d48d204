// Copies of one level on their way between the ranks of a panel, where mirrors are any: when they
// leave is written down as ranks do the exchange, and afterwards who gets one in time.
#pragma once

// clang-format off
#include "panel_rank.h"
#include "segment_job.h"
// clang-format on

namespace jf {
namespace {

// The mirrors that copies of a level go to, in this order.
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

  // Of exchange `step`, after it: tell(k, rank of the panel, arrival) for each copy that may not be
  // there after all messages that its rank has taken, kNever if it is; and for all to registers y
  // with known(y). Mirrors are within 2^(kDrawnBits - kDrawnSteps) neighbours (has_panels), and so
  // their numbers in the panel differ as they do themselves. ids(y): the ranks of a register.
  template <class Rank, class Ids, class Known, class Tell>
  void arrive(const Rank& rank, const Step& step, std::int64_t size, const PanelTimes& work,
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
          const Tick at = rank.copy_arrives(step, k, receivers[m], sent[m], taken[m]);
          // At the same time: it may be what was taken.
          tell(k, y + m, at <= taken[m] ? at : kNever);
        }
      }
    }
  }
};

}  // namespace
}  // namespace jf
