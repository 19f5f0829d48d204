// Cache blocking of message passes: chunks of ranks whose state stays in the nearest cache.
#pragma once

#include "core/message_steps.h"
#include "core/passes.h"

namespace jf {

// Ranks of a chunk times realizations side by side: 5 arrays of so many ticks are 160 KiB.
constexpr std::int64_t kMessageChunk = 4096;

// A collective over trees consists of four runs of steps, some of which may be empty: near steps,
// whose partners are in one chunk; far steps, which join only the first ranks of chunks, the roots;
// again near steps, and far ones. Then the memory of one chunk serves all chunks, and only roots
// are kept. For the second near steps the first ones are done again: memory far away costs more.
struct MessageChunks {
  std::int64_t size;   // ranks of a chunk
  std::int64_t roots;  // chunks
  int begin;           // the first step that does anything: those before only observe time 0
  int near_end = 0, far_end = 0, second_near_end = 0;
  bool only_roots_kept = false;

  // `capture`: all ready times are wanted, those at time 0 too.
  JF_HD MessageChunks(const ProgramView& p, const Pass& pass, std::int64_t lanes, bool capture)
      : size(kMessageChunk / lanes),
        roots((p.ranks + size - 1) / size),
        begin(pass.load ? pass.begin : first_active(p, pass, capture)) {
    near_end = near_until(p, pass, begin);
    far_end = far_until(p, pass, near_end);
    second_near_end = near_until(p, pass, far_end);
    const bool whole = far_until(p, pass, second_near_end) == pass.end && !pass.load && !pass.store;
    const bool first_near = near_end > begin, second_near = second_near_end > far_end;
    // Without first near steps, ranks that are not roots are unknown to the far steps.
    const bool seen = first_near || (second_near && !observed(p, near_end, far_end));
    const std::int64_t few = first_near && second_near ? 8 : 1;  // chunks that fit a cache
    only_roots_kept = whole && seen && roots > few && !clocked(p, pass);
  }

  // Ranks of which memory holds the state: roots, and the chunk in work behind them; or all.
  JF_HD std::int64_t kept(const ProgramView& p) const {
    return only_roots_kept ? roots + size : p.ranks;
  }

  // The step after those from i on whose partners are in one chunk.
  JF_HD int near_until(const ProgramView& p, const Pass& pass, int i) const {
    while (i < pass.end && is_near(p.steps[i])) ++i;
    return i;
  }

 private:
  JF_HD static int first_active(const ProgramView& p, const Pass& pass, bool capture) {
    int i = pass.begin;
    for (; i < pass.end; ++i) {
      const Step& s = p.steps[i];
      const bool idle = s.kind == kCompute && p.costs.work == 0 && s.map == 0 &&
                        p.rank_delay_count == 0 && p.costs.forward == 0 &&
                        (s.flags & kAfterForward) == 0;
      if ((!idle && s.kind != kObserve) || (s.row >= 0 && capture) || is_clocked(s)) break;
    }
    return i;
  }

  JF_HD bool is_near(const Step& s) const {
    if (s.kind == kCompute || s.kind == kObserve) return true;
    if (s.kind == kForward) return s.round < 63 && std::int64_t{1} << s.round < size;
    if (is_half(s)) return false;
    return (s.map == kTree && 2 * std::int64_t{s.a} <= size) || (s.map == kXor && s.a < size);
  }

  // The step after those from i on that join only roots, or do nothing.
  JF_HD int far_until(const ProgramView& p, const Pass& pass, int i) const {
    for (; i < pass.end; ++i) {
      const Step& s = p.steps[i];
      const bool among_roots =
          s.kind == kMessage && s.map == kTree && s.a % size == 0 && !catches_up(s, 0);
      if (!among_roots && s.kind != kObserve) break;
    }
    return i;
  }

  JF_HD static bool clocked(const ProgramView& p, const Pass& pass) {
    for (int i = pass.begin; i < pass.end; ++i)
      if (is_clocked(p.steps[i])) return true;
    return false;
  }
  JF_HD static bool observed(const ProgramView& p, int from, int to) {
    for (int i = from; i < to; ++i)
      if (p.steps[i].row >= 0) return true;
    return false;
  }
};

}  // namespace jf
