// Redundant copies that overtake lower levels: a segment of exchanges, solved by fixed-point
// sweeps. A segment is consecutive exchanges in which a rank may receive a level above the next one
// and skip levels (copies at few levels; or network jitter, by which copies overtake each other).
//
// There is no recurrence by level: a copy of level 5 can decide when messages of level 3 leave. But
// the arrivals of copies determine everything else. So these are guessed (first: no copy arrives).
// A sweep computes all levels from the guess, and the arrivals that it computes are the next guess,
// until nothing changes. In order of time, each sweep computes correctly at least the next copy of
// the true history. So the iteration ends, with the event-by-event execution of CS14's Algorithm 2.
// In practice a few sweeps are enough.
#pragma once

#include "core/passes.h"
#include "core/steps.h"

namespace jf {

// Working memory of one segment: 17 bytes per rank, and 8 per rank, copied level and mirror.
struct SegmentScratch {
  Tick *sent, *next;
  Tick* copies;           // [level copied][mirror][rank]: when the copy arrives, or kNever
  std::uint8_t* reached;  // the rank's level, and kCopied if it sent copies after `sent`
};
constexpr std::uint8_t kCopied = 128;

// A guessed arrival. On a device another thread may write it at the same time. Either value is
// fine, but it must be read from memory, not kept by the compiler: hence volatile, a relaxed access
// (PTX ISA, "Memory Consistency Model"). On the CPU one thread computes a segment.
#if defined(__CUDA_ARCH__)
using Guess = volatile Tick;
#else
using Guess = Tick;
#endif

template <class Noise, class Network>
struct Segment {
  const ProgramView& p;
  const Pass& pass;
  const Noise& noise;
  const Network& network;
  std::uint32_t realization;
  std::int64_t base;  // rank of local index 0
  SegmentScratch s;

  JF_HD std::int64_t size() const { return pass.map.size(); }
  JF_HD std::int64_t rank_of(std::int64_t x) const { return base + pass.map.offset(x); }

  JF_HD std::int64_t guess_count() const {
    return copies_in(p.steps, pass.begin, pass.end) * p.mirror_count * size();
  }

  // Sets local rank x to the state at the end of the pass before.
  JF_HD void load(std::int64_t x, Tick packed) const {
    s.sent[x] = packed & ~kCopyBit;
    s.next[x] = noise.first(p.seed, realization, Tick{rank_of(x)});
    noise.seek(s.next[x], s.sent[x], false);
    s.reached[x] =
        static_cast<std::uint8_t>(p.steps[pass.begin].round | (packed < 0 ? kCopied : 0));
  }

  JF_HD Tick store(std::int64_t x) const {
    return s.sent[x] | ((s.reached[x] & kCopied) != 0 ? kCopyBit : 0);
  }

  JF_HD Tick arrival(Purpose purpose, const Step& step, std::int64_t x, Tick departure) const {
    return departure + p.costs.transit +
           network.delay(p.seed, purpose, static_cast<std::uint32_t>(step.draw), Tick{rank_of(x)},
                         realization, departure);
  }

  // The exchange of one pair of partners, of which there are size() / 2. Returns whether the
  // arrival of a copy differs from its guess. Calls observe(row, rank, ready time) for each level
  // that a rank gets.
  //
  // Whether a rank sends copies of a level depends on whether it received one in time, and so on.
  // So the arrivals of copies of this level are guesses, too, as are those of the levels above: a
  // pair reads guesses that another pair writes in the same sweep of the same step.
  template <class Observe>
  JF_HD bool sweep(int index, std::int64_t pair, Observe&& observe) const;

 private:
  struct Choice {  // the copy that a rank would adopt
    Tick arrival;
    int level;  // of its data; 0: there is none
    int step;   // the exchange that makes this level
  };

  // Of the copies of step `first` and later, the one that arrives first at a rank at `level`; on a
  // tie that of the lower level. A rank that adopts a copy sends the levels between from it, so its
  // mirror must hold the same data from the next level on.
  JF_HD Choice earliest_copy(int first, int level, std::int64_t x) const {
    Choice best{kNever, 0, 0};
    const Guess* of_level = s.copies + x;
    for (int i = pass.begin; i < pass.end; ++i) {
      if ((p.steps[i].flags & kCopy) == 0) continue;
      for (std::int32_t k = 0; k < p.mirror_count; ++k, of_level += size())
        if (const Tick copy_arrival = i >= first ? *of_level : kNever;
            copy_arrival < best.arrival && p.mirrors_at(k, level + 1))
          best = {copy_arrival, p.steps[i].round + 1, i};
    }
    return best;
  }

  // Computes `busy` of a rank that waits for its next level: copies that it sent follow `sent`.
  JF_HD void restore_busy(std::int64_t x, int level, Clock<Tick>& rank) const {
    if ((s.reached[x] & kCopied) == 0) return;
    rank.busy = noise.communicate(rank.next, rank.sent, p.costs.send * p.copies_at(level), rank.id);
  }

  // A rank that has skipped the level of this step sends its original message of the next round.
  JF_HD void skip_level(const Step& step, std::int64_t x, Clock<Tick> rank) const {
    s.sent[x] = send(noise, p.costs, step.draw + 1, rank.next, rank.sent, rank.id);
    s.next[x] = rank.next;
  }

  // The rank adopts a copy at step `index`: it gets all levels up to that of the copy.
  template <class Observe>
  JF_HD void adopt_copy(int index, const Choice& copy, std::int64_t x, Clock<Tick> rank,
                        Observe&& observe) const {
    const Tick ready = receive(noise, p.steps[copy.step].draw, p.costs.receive, copy.arrival, rank);
    skip_level(p.steps[index], x, {ready, ready, rank.next, rank.id});
    s.reached[x] = static_cast<std::uint8_t>(copy.level);
    for (int i = index; i <= copy.step; ++i) observe(p.steps[i].row, rank_of(x), ready);
  }

  // The rank gets the next level by its own path. The noise state is stored for the time `sent`, so
  // that `busy` can be computed from there.
  template <class Observe>
  JF_HD Clock<Tick> accept_original(int index, Tick arrival, std::int64_t x, Clock<Tick> rank,
                                    Observe&& observe) const {
    const Step& step = p.steps[index];
    const Tick ready = exchange(noise, p.costs, step, arrival, rank);
    s.sent[x] = rank.sent;
    s.next[x] = rank.next;
    s.reached[x] =
        static_cast<std::uint8_t>((step.round + 1) | ((step.flags & kCopy) != 0 ? kCopied : 0));
    observe(step.row, rank_of(x), ready);
    return rank;
  }
};

template <class Noise, class Network>
template <class Observe>
JF_HD bool Segment<Noise, Network>::sweep(int index, std::int64_t pair, Observe&& observe) const {
  const Step& step = p.steps[index];
  const int level = step.round, bit = pass.map.local_bit(step.round);
  const bool copies_here = (step.flags & kCopy) != 0;
  Tick* const guesses = s.copies + copies_in(p.steps, pass.begin, index) * p.mirror_count * size();
  const std::int64_t low = pair & ((std::int64_t{1} << bit) - 1), first = (pair - low) * 2 + low;

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
      skip_level(step, x, rank[m]);
    } else {
      restore_busy(x, level, rank[m]);
      const Tick original_arrival = arrival(kOriginalJitter, step, x, original[m]);
      const Choice adopted = earliest_copy(index, level, x);
      if (adopted.level != 0 && adopted.arrival < original_arrival) {
        adopt_copy(index, adopted, x, rank[m], observe);
      } else {
        after = accept_original(index, original_arrival, x, rank[m], observe);
        copies = copies_here;
      }
    }
    if (!copies_here) continue;
    for (std::int32_t k = 0; k < p.mirror_count; ++k) {
      if (!p.mirrors_at(k, level + 1)) continue;
      const std::int64_t receiver = x ^ pass.map.local_of(p.mirrors[k]);
      Tick copy_arrival = kNever;
      if (copies) {
        after.busy = noise.communicate(after.next, after.busy, p.costs.send, after.id);
        Step copy = step;
        copy.draw += k * kMirrorDraws;
        copy_arrival = arrival(kCopyJitter, copy, receiver, after.busy);
      }
      Guess* const guess = guesses + k * size() + receiver;
      changed |= *guess != copy_arrival;
      *guess = copy_arrival;
    }
  }
  return changed;
}

}  // namespace jf
