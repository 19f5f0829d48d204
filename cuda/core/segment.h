// A segment: consecutive exchanges in which a rank may be handed a level above the next one and
// skip some (copies at few levels; or network jitter, by which copies overtake each other).
//
// There is no recurrence by level: a copy of level 5 can decide when messages of level 3 leave. But
// the arrivals of copies determine everything else. So they are guessed (first: none arrives),
// all levels are swept, and the arrivals that come out are the next guess, until nothing changes.
// In order of time, each sweep gets right at least the next copy that the true history contains,
// so this ends, and at the event-by-event execution of CS14's Algorithm 2. A few sweeps do in
// practice.
#pragma once

#include "core/plan.h"
#include "core/steps.h"

namespace jf {

// Working memory of one segment: 16 bytes and a byte a rank, and 8 a rank for each level copied and
// each mirror.
struct SegmentScratch {
  Tick *sent, *next;
  Tick* copies;           // [level copied][mirror][rank]: when the copy arrives, or kNever
  std::uint8_t* reached;  // level reached, and kCopied if a copy followed `sent`
};
constexpr std::uint8_t kCopied = 128;

// Ranks that an exchange joins are a group: partners, and their mirrors where these are others and
// but one. The logarithm of their number.
JF_HD int group_bits(const ProgramView& p, const Step& step) {
  return step.round == 0 || !p.one_neighbour() ? 1 : 2;
}

// A guess, which another thread of a device may be changing: either value will do, but it has to be
// one of them, and not what the compiler kept (volatile is a relaxed access: PTX ISA, "Memory
// Consistency Model"). On the CPU a segment is one thread's.
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

  JF_HD std::int64_t guesses() const {
    return copies_in(p.steps, pass.begin, pass.end) * p.mirror_count * size();
  }

  // Takes rank x as the pass before left it.
  JF_HD void load(std::int64_t x, Tick packed) const {
    s.sent[x] = packed & ~kCopyBit;
    s.next[x] = begin_noise(noise, p.seed, realization, Tick{rank_of(x)});
    seek(noise, s.next[x], s.sent[x], false);
    s.reached[x] =
        static_cast<std::uint8_t>(p.steps[pass.begin].round | (packed < 0 ? kCopied : 0));
  }

  JF_HD Tick store(std::int64_t x) const {
    return s.sent[x] | ((s.reached[x] & kCopied) != 0 ? kCopyBit : 0);
  }

  JF_HD Tick arrival(Purpose purpose, const Step& step, std::int64_t x, Tick left) const {
    return left + p.costs.transit +
           network.delay(p.seed, purpose, static_cast<std::uint32_t>(step.draw), Tick{rank_of(x)},
                         realization, left);
  }

  JF_HD std::int64_t groups(int step) const { return size() >> group_bits(p, p.steps[step]); }

  // One exchange of one group. Returns whether an arrival of a copy came out unlike the guess.
  // see(row, rank, ready time) is told each level that a rank gets.
  template <class See>
  JF_HD bool sweep(int index, std::int64_t group, See&& see) const {
    return p.one_neighbour() ? sweep_neighbours(index, group, see)
                             : sweep_mirrors(index, group, see);
  }

 private:
  struct Choice {
    Tick arrival;
    int level;  // 0: none
    int step;   // that makes this level
  };

  template <class See>
  JF_HD bool sweep_neighbours(int index, std::int64_t group, See&& see) const;
  template <class See>
  JF_HD bool sweep_mirrors(int index, std::int64_t group, See&& see) const;

  // The copy made from step `first` on that is there first, for a rank at `level`. Equal: the lower
  // level. Who takes a copy sends the data of the levels between from it, so the mirror's must be
  // the same as its own from the next level on.
  JF_HD Choice earliest_from(int first, int level, std::int64_t x) const {
    Choice best{kNever, 0, 0};
    const Guess* of_level = s.copies + x;
    for (int i = pass.begin; i < pass.end; ++i) {
      if ((p.steps[i].flags & kCopy) == 0) continue;
      for (std::int32_t k = 0; k < p.mirror_count; ++k, of_level += size())
        if (const Tick at = i >= first ? *of_level : kNever;
            at < best.arrival && p.mirrors_at(k, level + 1))
          best = {at, p.steps[i].round + 1, i};
    }
    return best;
  }

  // A rank that waits for its next level, as it was left: `busy` from what it has sent.
  JF_HD void find_busy(std::int64_t x, int level, Clock<Tick>& rank) const {
    if ((s.reached[x] & kCopied) == 0) return;
    rank.busy =
        communicate(noise, rank.next, rank.sent, p.costs.send * p.copies_at(level), rank.id);
  }

  // Has skipped the level of this step: its original message of the next round follows.
  JF_HD void pass_by(const Step& step, std::int64_t x, Clock<Tick> rank) const {
    s.sent[x] = send(noise, p.costs, step.draw + 1, rank.next, rank.sent, rank.id);
    s.next[x] = rank.next;
  }

  // Takes a copy at step `index`, and the levels up to its own with it.
  template <class See>
  JF_HD void take_copy(int index, const Choice& take, std::int64_t x, Clock<Tick> rank,
                       See&& see) const {
    const Tick ready = receive(noise, p.steps[take.step].draw, p.costs.receive, take.arrival, rank);
    pass_by(p.steps[index], x, {ready, ready, rank.next, rank.id});
    s.reached[x] = static_cast<std::uint8_t>(take.level);
    for (int i = index; i <= take.step; ++i) see(p.steps[i].row, rank_of(x), ready);
  }

  // The cursor is kept for `sent`, so that busy can be computed from there.
  template <class See>
  JF_HD Clock<Tick> take_original(int index, Tick arrival, std::int64_t x, Clock<Tick> rank,
                                  See&& see) const {
    const Step& step = p.steps[index];
    const Tick ready = exchange(noise, p.costs, step, arrival, rank);
    s.sent[x] = rank.sent;
    s.next[x] = rank.next;
    s.reached[x] =
        static_cast<std::uint8_t>((step.round + 1) | ((step.flags & kCopy) != 0 ? kCopied : 0));
    see(step.row, rank_of(x), ready);
    return rank;
  }
};

template <class Noise, class Network>
template <class See>
JF_HD bool Segment<Noise, Network>::sweep_neighbours(int index, std::int64_t group,
                                                     See&& see) const {
  const Step& step = p.steps[index];
  const Costs& c = p.costs;
  const bool copies_here = (step.flags & kCopy) != 0;
  const int level = step.round;  // before the exchange
  const std::int64_t slot = copies_in(p.steps, pass.begin, index);

  // Members: bit 0 of the member's number is the mirror's, the highest bit the partner's.
  const int members = step.round == 0 ? 2 : 4, partner = members / 2;
  std::int64_t x[4];
  Clock<Tick> rank[4];
  Tick original[4];
  Choice ahead[4];
  OwnPath<Tick> own[4];
  bool waits[4], own_way[4];
  for (int m = 0; m < members; ++m) {
    if (members == 2) {
      x[m] = group * 2 + m;
    } else {
      const int bit = pass.map.local_bit(step.round);
      const std::int64_t even = group * 2;
      const std::int64_t low = even & ((std::int64_t{1} << bit) - 1);
      x[m] = (even - low) * 2 + low + (m & 1) + (static_cast<std::int64_t>(m >> 1) << bit);
    }
    rank[m] = {s.sent[x[m]], s.sent[x[m]], s.next[x[m]], Tick{rank_of(x[m])}};
    waits[m] = (s.reached[x[m]] & ~kCopied) == level;
  }
  for (int m = 0; m < members; ++m) {
    if (!waits[m]) continue;
    find_busy(x[m], level, rank[m]);
    original[m] = arrival(kOriginalJitter, step, x[m], rank[m ^ partner].sent);
    ahead[m] = earliest_from(index + 1, level, x[m]);
    own_way[m] = !(ahead[m].arrival < original[m]);
    if (copies_here) own[m] = own_path(noise, c, step, original[m], rank[m]);
  }
  bool changed = false;
  for (int m = 0; m < members; ++m) {
    // The copy of this very level, from a mirror that got there by its own path. Of two mirrors
    // only one can adopt the other's: the other sent it after its original had arrived.
    const int mirror = m ^ 1;
    Tick copy = kNever;
    if (copies_here && waits[mirror] && own_way[mirror]) {
      copy = arrival(kCopyJitter, step, x[m], own[mirror].after.busy);
      const bool mirror_adopts =
          waits[m] && own_way[m] &&
          arrival(kCopyJitter, step, x[mirror], own[m].after.busy) < original[mirror];
      if (mirror_adopts) copy = kNever;
    }
    if (copies_here) {
      Guess* const guess = s.copies + slot * size() + x[m];
      changed |= *guess != copy;
      *guess = copy;
    }
    if (!waits[m]) {
      pass_by(step, x[m], rank[m]);
      continue;
    }
    Choice take = ahead[m];
    if (copy != kNever && copy <= take.arrival) take = {copy, level + 1, index};
    if (take.level != 0 && take.arrival < original[m])
      take_copy(index, take, x[m], rank[m], see);
    else
      take_original(index, original[m], x[m], rank[m], see);
  }
  return changed;
}

// An exchange where copies go to other mirrors than the neighbour, or to
// several.
//
// Who sends copies of a level depends on who was sent one in time, and so on; so the arrivals of
// copies of this very level are guesses here, too, as those of the levels above are: a group reads
// some that another group writes in the same sweep of the same step.
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
