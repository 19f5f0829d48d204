// Which steps of a program are those of a binomial tree within blocks, and between their first
// ranks (message_blocks.h).
#pragma once

#include <algorithm>

#include "message_job.h"

namespace jf {
namespace {

// The steps within blocks.
struct BlockPhase {
  int first;  // of the steps
  bool down;
  Tick gap;  // the longest
  MessageCost costs[kBlockSteps];

  // Whether noise can delay any of it.
  bool works() const {
    return std::any_of(costs, costs + kBlockSteps, [](const MessageCost& m) { return m.works(); });
  }
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

  // Whether all that is asked for, to the end of the program, can be told from blocks.
  BlockUse use() const {
    constexpr BlockUse kNone;
    if (!only_last()) return kNone;
    bool started = false, climbs = false, descends = false, works = false, idle = true;
    bool once = true;
    int stride = INT32_MAX, last = 0;
    for (int i = job.pass->begin; i < job.pass->end; ++i) {
      const Step& s = p.steps[i];
      if (s.kind == kObserve) {
        idle = idle && (!started || descends || s.row < 0);
        continue;
      }
      if (s.kind == kCompute && p.costs.work == 0 && !started) continue;
      if (s.kind != kMessage || descends) return kNone;
      if (!is_far(s)) {
        if (!started && is_phase(i, false))
          climbs = true;
        else if (!p.one_rank && is_phase(i, true))
          descends = true, works = at(i).works();
        else
          return kNone;
        i += kBlockSteps - 1;
      } else {
        // Down, by strides that fall, a rank receives once, and that before it sends.
        idle = idle && s.c != 0 && s.a < stride && s.row < 0;
        stride = s.a;
        // Up, by strides that grow.
        once = once && s.c == 0 && s.a > last;
        last = s.a;
      }
      started = true;
    }
    return {
        started, climbs, descends, works, idle && descends && !climbs, once && climbs && !descends};
  }

  CycleUse cycle_use() const {
    if (!are_cycles()) return {};
    return {true, are_one_way(), are_spaced(), answers_are_alone()};
  }

  // Whether all steps are those of blocks, or of all ranks, over any number of cycles. There has to
  // be a phase of blocks: without any tree there is no memory for them.
  bool are_cycles() const {
    if (!only_last()) return false;
    bool blocks = false;
    bool worked = false;  // since the last message, by which the last rank is known
    for (int i = job.pass->begin; i < job.pass->end; ++i) {
      const Step& s = p.steps[i];
      if (s.kind == kCompute && (s.flags & kAfterForward) == 0) {
        worked = worked || p.costs.work > 0;
      } else if (s.kind == kMessage) {
        worked = false;
        if (!is_far(s)) {
          if (!is_phase(i, false) && !is_phase(i, true)) return false;
          blocks = true;
          i += kBlockSteps - 1;
        }
      } else if (s.kind != kObserve) {
        return false;
      }
      if (worked && p.steps[i].row >= 0) return false;
    }
    return blocks;
  }

  // Whether, of such cycles, no rank waits for one that it sends to: all messages within blocks go
  // the same way, and there is no work. Down, all that is asked for is how blocks have left it.
  bool are_one_way() const {
    bool any = false, down = false, looks = false, far_since = false;
    for (int i = job.pass->begin; i < job.pass->end; ++i) {
      const Step& s = p.steps[i];
      if (s.kind == kCompute && p.costs.work > 0) return false;
      const bool far = is_far(s);
      if (s.kind == kMessage && !far) {
        if (any && down != (s.c != 0)) return false;
        any = true;
        down = s.c != 0;
        far_since = false;
        i += kBlockSteps - 1;
      } else {
        far_since = far_since || far;
        looks = looks || (s.row >= 0 && (far_since || !any));
      }
    }
    return any && !(down && looks);
  }

  // Whether ranks of blocks, but for the first ones, only receive from one rank each, always at the
  // same cost: that rank's link keeps its messages a gap apart, so theirs has nothing to do.
  bool are_spaced() const {
    int first = -1;
    for (int i = job.pass->begin; i < job.pass->end; ++i) {
      if (p.steps[i].kind != kMessage || is_far(p.steps[i])) continue;
      if (p.steps[i].c == 0) return false;
      if (first < 0) first = i;
      for (int k = 0; k < kBlockSteps; ++k)
        if (p.steps[i + k].cost != p.steps[first + k].cost) return false;
      i += kBlockSteps - 1;
    }
    return true;
  }

  // Whether nothing matters to those, when they are sent to from above, of what they did before,
  // and links only to the messages of one phase: all phases go up and down in turn, and nobody
  // works just before one that goes down. What a rank receives, it does so after it has been
  // answered: it sends up, is free then, and the answer comes down; or it sends down, and that is
  // answered, by the last one it has sent to, too, before it sends up. If no gap is longer than a
  // message's transit it is over by then. So what is in memory of them after a phase that goes up
  // may be of before: no one may ask for it or work from there, at the end either.
  bool answers_are_alone() const {
    int before = -1;
    bool worked = false;
    Tick gap = 0, transit = INT64_MAX;
    for (int i = job.pass->begin; i < job.pass->end; ++i) {
      const Step& s = p.steps[i];
      worked = worked || (s.kind == kCompute && p.costs.work > 0);
      if (s.kind != kMessage || is_far(s)) continue;
      if ((before >= 0 && p.steps[before].c == s.c) || (worked && s.c != 0)) return false;
      before = i;
      worked = false;
      for (int k = 0; k < kBlockSteps; ++k) {
        const MessageCost& m = p.message_costs[p.steps[i + k].cost];
        gap = later(gap, m.gap);
        transit = std::min(transit, m.transit);
      }
      i += kBlockSteps - 1;
    }
    return gap <= transit && !worked;
  }

  // The steps within blocks, up or down.
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

 private:
  // Whether the program begins here, ends here, and asks for no more than when the last rank is
  // free, or the first one.
  bool only_last() const {
    return job.first && !job.pass->load && !job.pass->store && p.costs.forward == 0 &&
           !job.full_statistics && job.capture == nullptr;
  }
};

}  // namespace
}  // namespace jf
