// Part of segment.h: an exchange where copies go to other mirrors than the neighbour, or to
// several.
//
// Who sends copies of a level depends on who was sent one in time, and so on; so the arrivals of
// copies of this very level are guesses here, too, as those of the levels above are: a group reads
// some that another group writes in the same sweep of the same step.
#pragma once

#include "segment.h"

namespace jf {

template <class Noise, class Network>
template <class See>
JF_HD bool Segment<Noise, Network>::sweep_mirrors(int index, std::int64_t group, See&& see) const {
  const Step& step = p.steps[index];
  const int level = step.round, bit = pass.map.local_bit(step.round);
  const bool copies_here = (step.flags & kCopy) != 0;
  Tick* const guesses = s.copies + copies_in(p.steps, pass.begin, index) * p.mirror_count * size();
  const std::int64_t low = group & ((std::int64_t{1} << bit) - 1), first = (group - low) * 2 + low;

  Clock<Tick> rank[2];
  Tick original[2];
  for (int m = 0; m < 2; ++m) {
    const std::int64_t x = first + (static_cast<std::int64_t>(m) << bit);
    rank[m] = {s.sent[x], s.sent[x], s.next[x], Tick{rank_of(x)}};
    original[m] = s.sent[x ^ std::int64_t{1} << bit];
  }
  bool changed = false;
  for (int m = 0; m < 2; ++m) {
    const std::int64_t x = first + (static_cast<std::int64_t>(m) << bit);
    const bool waits = (s.reached[x] & ~kCopied) == level;
    bool copies = false;
    Clock<Tick> after = rank[m];
    if (!waits) {
      pass_by(step, x, rank[m]);
    } else {
      find_busy(x, level, rank[m]);
      const Tick arrives = arrival(kOriginalJitter, step, x, original[m]);
      const Choice take = earliest_from(index, level, x);
      if (take.level != 0 && take.arrival < arrives) {
        take_copy(index, take, x, rank[m], see);
      } else {
        after = take_original(index, arrives, x, rank[m], see);
        copies = copies_here;
      }
    }
    if (!copies_here) continue;
    for (std::int32_t k = 0; k < p.mirror_count; ++k) {
      if (!p.mirrors_at(k, level + 1)) continue;
      const std::int64_t there = x ^ pass.map.local_of(p.mirrors[k]);
      Tick at = kNever;
      if (copies) {
        after.busy = communicate(noise, after.next, after.busy, p.costs.send, after.id);
        Step copy = step;
        copy.draw += k * kMirrorDraws;
        at = arrival(kCopyJitter, copy, there, after.busy);
      }
      Guess* const guess = guesses + k * size() + there;
      changed |= *guess != at;
      *guess = at;
    }
  }
  return changed;
}

}  // namespace jf
