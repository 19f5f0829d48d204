// What a segment in panels (panels.h) knows of its ranks: their times, their noise, and early
// copies.
#pragma once

// First: templates see only those overloads for registers, which have no namespace, that are
// declared before them.
#include "cpu/simd_philox.h"

#include "core/steps.h"
#include "cpu/block.h"
#include "cpu/jobs.h"

namespace jf {
namespace {

// --- The times of ranks of a segment between two steps: of one rank, of a register, of a panel.
//
// A rank that has skipped levels waits for nothing in their rounds. As long as it is in these,
// `busy` is minus the level that it has reached.

// One rank's.
struct RankTimes {
  Tick sent, busy, next;
  Tick taken;  // the latest arrival of a message that the rank has taken

  bool waits() const { return busy >= 0; }
  Clock<Tick> clock(Tick id) const { return {sent, waits() ? busy : sent, next, id}; }
};

// Those of a register of ranks, and when they get the level of the step that they have done.
struct RegisterTimes {
  Lanes sent, busy, next, taken, ready;

  RankTimes rank(unsigned m) const { return {sent[m], busy[m], next[m], taken[m]}; }
  void put(unsigned m, const RankTimes& t) {
    sent[m] = t.sent;
    busy[m] = t.busy;
    next[m] = t.next;
    taken[m] = t.taken;
  }
};

// Those of many ranks, as arrays.
struct PanelTimes {
  Tick *sent, *busy, *next, *taken;

  // Those from rank x on.
  JF_HD PanelTimes operator+(std::int64_t x) const {
    return {sent + x, busy + x, next + x, taken + x};
  }
};

JF_HD RegisterTimes load_times(const PanelTimes& at) {
  return {load(at.sent), load(at.busy), load(at.next), load(at.taken), Lanes{}};
}
JF_HD void store_times(const PanelTimes& at, const RegisterTimes& r) {
  store(at.sent, r.sent);
  store(at.busy, r.busy);
  store(at.next, r.next);
  store(at.taken, r.taken);
}
JF_HD void copy_times(const PanelTimes& to, const PanelTimes& from) {
  store_times(to, load_times(from));
}
JF_HD bool same_times(const PanelTimes& a, const PanelTimes& b) {
  return !any((load(a.sent) != load(b.sent)) | (load(a.busy) != load(b.busy)) |
              (load(a.next) != load(b.next)) | (load(a.taken) != load(b.taken)));
}

// --- The noise of the steps of a panel. Delays that do not depend on the time are drawn for some
// steps together, before these are done. The rest is met rank by rank: intervals, and delays with
// windows.

template <class Noise, class Network>
class PanelNoise {
  alignas(64) static constexpr Tick kNone[kDrawnRanks] = {};  // where no message is delayed

 public:
  PanelNoise(const SegmentJob& job, const TileRanks& ranks, const Noise& noise,
             const Network& network)
      : job_(job),
        p_(*job.tile.program),
        ranks_(ranks),
        noise_(noise),
        network_(network),
        rest_(noise),
        rest_network_(network),
        keys_(p_.seed) {
    if constexpr (is_general<Noise>) {
      rest_.prepared = true;
      rest_.roles = rest_.windows | (rest_.roles & 1 << kComputeRole);
    }
    if constexpr (Network::on) rest_network_.prepared = true;
  }

  // Draws the delays of step `begin` and of those after it that share its block of random numbers,
  // up to `end`, for the ranks of the panel: `from` + offsets in `map`.
  void draw(int begin, int end, const TileMap& map, std::int64_t from) {
    int count = 1;
    while (begin + count < end && !PanelGroups::draws_end(p_.steps, begin, begin + count)) ++count;
    const auto draws = [&](std::int32_t first) {
      return Draws{keys_,
                   p_.seed,
                   job_.tile.realization,
                   static_cast<std::uint32_t>(first),
                   static_cast<std::uint32_t>(count),
                   map.size(),
                   {ranks_, map, from},
                   job_.scratch.draws};
    };
    const std::int32_t number = p_.steps[begin].draw;
    Tick* const* sums = job_.scratch.sums;
    if constexpr (is_general<Noise>) {
      drawn_[kReceiving] = draw_steps(draws(number), noise_, kReceiveRole, sums[kReceiving]);
      drawn_[kSending] = draw_steps(draws(number + 1), noise_, kSendRole, sums[kSending]);
    }
    if constexpr (Network::on)
      drawn_[kOfMessages] =
          draw_messages(draws(number), network_, kOriginalJitter, sums[kOfMessages]);
  }

  // Whether noise of intervals may delay the steps of an exchange.
  bool in_communication() const { return noise_.in_communication; }
  // Whether some register may meet no noise but what is drawn (at<true>).
  bool ever_quiet() const {
    if constexpr (is_general<Noise>)
      return (rest_.windows & ~(1 << kComputeRole)) == 0 && !late_windows();
    else
      return !late_windows();
  }

  // Of the CPUs of the register at y, in step s of those drawn; quiet: only what is drawn.
  template <bool quiet>
  JF_HD decltype(auto) at(int s, std::int64_t y) const {
    if constexpr (is_general<Noise>)
      return PreparedSources<quiet, Noise>{rest_, {drawn(kReceiving, s, y), drawn(kSending, s, y)}};
    else if constexpr (quiet)
      return NoNoise{};
    else
      return (rest_);
  }

  // What is drawn of the delays of original messages, by the rank that gets them.
  const Tick* drawn_originals(int s) const {
    const Tick* const found = drawn(kOfMessages, s, 0);
    return found != nullptr ? found : kNone;
  }

  // All delays in the network of messages to ranks `ids`, at y of the panel, that left at `left`.
  Lanes of_originals(const Step& step, int s, std::int64_t y, Lanes ids, Lanes left) const {
    Lanes sum{};
    if constexpr (Network::on) {
      if (const Tick* delays = drawn(kOfMessages, s, y)) sum += load(delays);
      if (late_windows()) sum += delay(rest_network_, kOriginalJitter, step, ids, left);
    }
    return sum;
  }
  // The same of copies, of which none is drawn beforehand: hardly any matters.
  Lanes of_copies(const Step& step, Lanes ids, Lanes left) const {
    return delay(network_, kCopyJitter, step, ids, left);
  }

 private:
  // In step s, from y on; or null.
  JF_HD const Tick* drawn(int kind, int s, std::int64_t y) const {
    return drawn_[kind] == nullptr ? nullptr : drawn_[kind] + s * kDrawnRanks + y;
  }
  bool late_windows() const {
    if constexpr (Network::on)
      return rest_network_.windows != 0;
    else
      return false;
  }
  Lanes delay(const Network& network, Purpose purpose, const Step& step, Lanes ids,
              Lanes left) const {
    return network.delay(p_.seed, purpose, static_cast<std::uint32_t>(step.draw), ids,
                         job_.tile.realization, left);
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const TileRanks ranks_;
  const Noise& noise_;
  const Network& network_;
  Noise rest_;  // what is not drawn beforehand
  Network rest_network_;
  const RoundKeys keys_;
  const Tick* drawn_[kDrawnKinds] = {};  // [step][rank]
};

// --- The copies of a segment that ranks may take ahead of lower levels (panels.h), as a list for
// each pair of neighbours: rarely has any pair one.

class EarlyCopies {
 public:
  bool full = false;  // one did not fit, and was left out

  // In memory for `room` copies, and for the first one of each of so many pairs.
  EarlyCopies(EarlyCopy* copies, std::int64_t room, std::int32_t* first, std::int64_t pairs)
      : copies_(copies), room_(room), first_(first) {
    for (std::int64_t i = 0; i < pairs; ++i) first_[i] = 0;
  }

  // Those to the ranks of a register that are of some step or a later one.
  struct OfRegister {
    std::uint32_t steps;  // bit k: some are of the k-th step from there on
    Tick soonest;         // when the first of them arrives
  };
  JF_HD OfRegister among_register(int begin, std::int64_t x) const {
    constexpr int kPairs = kLanes / 2;
    std::int32_t all[kPairs], found = 0;
    __builtin_memcpy(all, first_ + x / 2, sizeof all);
    for (int k = 0; k < kPairs; ++k) found |= all[k];
    if (__builtin_expect(found == 0, 1)) return {0, kNever};
    return of_pairs(begin, all);
  }

  // Whether there is one, or was, for a rank of the pair at x.
  bool at_pair(std::int64_t x) const { return first_[x / 2] != 0; }

  struct Found {
    Tick arrival;
    int step;
  };

  // Of those to rank x from mirrors k with from(k), of step i or a later one, the one that arrives
  // first. Of copies that arrive together it is the one of the lower level.
  template <class From>
  Found earliest_since(int i, std::int64_t x, From&& from) const {
    Found best{kNever, i};
    for (std::int32_t at = first_[x / 2]; at != 0; at = copies_[at - 1].after) {
      const EarlyCopy& c = copies_[at - 1];
      const int step = step_of(c);
      if (c.place % 2 != x % 2 || step < i || c.arrival == kNever) continue;
      if (!from(c.place / 2 % kMaxMirrors)) continue;
      if (c.arrival < best.arrival || (c.arrival == best.arrival && step < best.step))
        best = {c.arrival, step};
    }
    return best;
  }

  // Sets when the copy of step i from mirror number k arrives at rank x; kNever: it can not be of
  // use. Returns what was set before.
  Tick set(int i, int k, std::int64_t x, Tick arrival) {
    const auto place = static_cast<std::int32_t>(2 * (kMaxMirrors * i + k) + x % 2);
    for (std::int32_t at = first_[x / 2]; at != 0; at = copies_[at - 1].after) {
      EarlyCopy& c = copies_[at - 1];
      if (c.place != place) continue;
      const Tick old = c.arrival;
      c.arrival = arrival;
      return old;
    }
    if (arrival == kNever) return kNever;
    if (used_ == room_) {
      full = true;
      return arrival;
    }
    copies_[used_++] = {arrival, first_[x / 2], place};
    first_[x / 2] = static_cast<std::int32_t>(used_);
    return kNever;
  }

 private:
  static int step_of(const EarlyCopy& c) { return c.place / (2 * kMaxMirrors); }

  __attribute__((noinline)) OfRegister of_pairs(int begin,
                                                const std::int32_t (&first)[kLanes / 2]) const {
    OfRegister found{0, kNever};
    for (std::int32_t at : first) {
      for (; at != 0; at = copies_[at - 1].after) {
        const EarlyCopy& c = copies_[at - 1];
        if (c.arrival == kNever || step_of(c) < begin) continue;
        found.steps |= std::uint32_t{1} << (step_of(c) - begin);
        found.soonest = earlier(found.soonest, c.arrival);
      }
    }
    return found;
  }

  EarlyCopy* copies_;
  std::int64_t room_, used_ = 0;
  std::int32_t* first_;
};

}  // namespace
}  // namespace jf
