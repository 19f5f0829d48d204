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

#include "plan.h"
#include "steps.h"

namespace jf {

// Working memory of one segment: 16 bytes and a byte a rank, and 8 a rank for each level copied.
struct SegmentScratch {
  Tick *sent, *next;
  Tick* copies;           // [level copied][rank]: when the copy arrives, or kNever
  std::uint8_t* reached;  // level reached, and kCopied if a copy followed `sent`
};
constexpr std::uint8_t kCopied = 128;

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

  JF_HD std::int64_t levels_copied() const { return copies_in(p.steps, pass.begin, pass.end); }

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

  // Groups of ranks that an exchange joins: partners, and their mirrors where these are others.
  JF_HD std::int64_t groups(int step) const { return size() >> (p.steps[step].round == 0 ? 1 : 2); }

  // One exchange of one group. Returns whether an arrival of a copy came out unlike the guess.
  // see(row, rank, ready time) is told each level that a rank gets.
  template <class See>
  JF_HD bool sweep(int index, std::int64_t group, See&& see) const;

 private:
  struct Choice {
    Tick arrival;
    int level;  // 0: none
    int step;   // that makes this level
  };

  // The copy of a level above that of `index` that is there first. Equal: the lower level.
  JF_HD Choice earliest_ahead(int index, std::int64_t x) const {
    Choice best{kNever, 0, 0};
    int slot = 0;
    for (int i = pass.begin; i < pass.end; ++i) {
      if ((p.steps[i].flags & kCopy) == 0) continue;
      const Tick at = s.copies[slot++ * size() + x];
      if (i > index && at < best.arrival) best = {at, p.steps[i].round + 1, i};
    }
    return best;
  }
};

template <class Noise, class Network>
template <class See>
JF_HD bool Segment<Noise, Network>::sweep(int index, std::int64_t group, See&& see) const {
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
    if ((s.reached[x[m]] & kCopied) != 0) {
      rank[m].busy = communicate(noise, rank[m].next, rank[m].sent, c.send, rank[m].id);
    }
    original[m] = arrival(kOriginalJitter, step, x[m], rank[m ^ partner].sent);
    ahead[m] = earliest_ahead(index, x[m]);
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
      Tick& guess = s.copies[slot * size() + x[m]];
      changed |= guess != copy;
      guess = copy;
    }
    Clock<Tick> r = rank[m];
    if (!waits[m]) {  // has skipped this level: its original message of the next round follows
      r.sent = send(noise, c, step.draw + 1, r.next, r.sent, r.id);
      s.sent[x[m]] = r.sent;
      s.next[x[m]] = r.next;
      continue;
    }
    Choice take = ahead[m];
    if (copy != kNever && copy <= take.arrival) take = {copy, level + 1, index};
    if (take.level != 0 && take.arrival < original[m]) {
      const Tick ready = receive(noise, p.steps[take.step].draw, c.receive, take.arrival, r);
      s.sent[x[m]] = send(noise, c, step.draw + 1, r.next, ready, r.id);
      s.next[x[m]] = r.next;
      s.reached[x[m]] = static_cast<std::uint8_t>(take.level);
      for (int i = index; i <= take.step; ++i) see(p.steps[i].row, rank_of(x[m]), ready);
    } else {
      // The cursor is kept for `sent`, so that busy can be computed from there.
      const Tick ready = exchange(noise, c, step, original[m], r);
      s.sent[x[m]] = r.sent;
      s.next[x[m]] = r.next;
      s.reached[x[m]] = static_cast<std::uint8_t>((level + 1) | (copies_here ? kCopied : 0));
      see(step.row, rank_of(x[m]), ready);
    }
  }
  return changed;
}

}  // namespace jf
