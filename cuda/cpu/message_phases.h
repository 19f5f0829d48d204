// Which steps of a program are those of a binomial tree within blocks, and between their first
// ranks (message_blocks.h).
#pragma once

#include "message_job.h"

namespace jf {
namespace {

// The steps within blocks.
struct BlockPhase {
  int first;  // of the steps
  bool down;
  Tick gap;  // the longest
  MessageCost costs[kBlockSteps];
};

struct BlockPhases {
  const MessageJob& job;
  const ProgramView& p = *job.program;

  // Pairs of it are first ranks of blocks.
  static bool is_far(const Step& s) {
    return s.kind == kMessage && s.map == kTree && s.a >= kBlock && s.repeat == 1 &&
           (s.flags & kAfterForward) == 0;
  }

  // Whether kSubtreeSteps from i on are those of a subtree of first ranks of blocks.
  bool are_subtree(int i) const {
    if (i + kSubtreeSteps > job.pass->end) return false;
    const Step& first = p.steps[i];
    for (int k = 1; k < kSubtreeSteps; ++k) {
      const Step& s = p.steps[i + k];
      if (!is_far(s) || s.b != first.b || s.c != first.c || p.steps[i + k - 1].row >= 0 ||
          s.a != (first.c != 0 ? first.a >> k : first.a << k))
        return false;
    }
    return true;
  }

  BlockPhase at(int i) const {
    BlockPhase phase;
    phase.first = i;
    phase.down = p.steps[i].c != 0;
    phase.gap = 0;
    for (int k = 0; k < kBlockSteps; ++k) {
      phase.costs[k] = p.message_costs[p.steps[i + k].cost];
      phase.gap = later(phase.gap, phase.costs[k].gap);
    }
    return phase;
  }

  // What blocks do: up at the start, down at the end.
  struct Use {
    bool any, climbs, descends;
  };

  // Whether all that is asked for, to the end of the program, can be told from blocks.
  Use use() const {
    constexpr Use kNone = {false, false, false};
    if (!job.first || job.pass->load || job.pass->store || p.costs.forward > 0 ||
        job.full_statistics || job.capture != nullptr)
      return kNone;
    bool started = false, climbs = false, descends = false;
    for (int i = job.pass->begin; i < job.pass->end; ++i) {
      const Step& s = p.steps[i];
      if (s.kind == kObserve) continue;
      if (s.kind == kCompute && p.costs.work == 0 && !started) continue;
      if (s.kind != kMessage || descends) return kNone;
      if (!is_far(s)) {
        if (!started && is_phase(i, false))
          climbs = true;
        else if (!p.one_rank && is_phase(i, true))
          descends = true;
        else
          return kNone;
        i += kBlockSteps - 1;
      }
      started = true;
    }
    return {started, climbs, descends};
  }

 private:
  bool is_phase(int i, bool down) const {
    if (job.pass->end - i < kBlockSteps) return false;
    for (int k = 0; k < kBlockSteps; ++k) {
      const Step& s = p.steps[i + k];
      const int bit = down ? kBlockSteps - 1 - k : k;
      if (s.kind != kMessage || s.map != kTree || s.a != 1 << bit || (s.c != 0) != down ||
          s.b != p.ranks || s.repeat != 1 || (s.flags & kAfterForward) != 0 ||
          (s.row >= 0 && k + 1 < kBlockSteps))
        return false;
    }
    return true;
  }
};

}  // namespace
}  // namespace jf
