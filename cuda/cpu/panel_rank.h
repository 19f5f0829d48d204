// One exchange of a rank that may be handed a level above the next one, as segment.h does it: but
// there the guesses are when all copies arrive, here only the early copies that are known.
#pragma once

// clang-format off
#include "early_copies.h"
#include "panel_times.h"
// clang-format on
#include "../noise/loads.h"
#include "../steps.h"

namespace jf {
namespace {

template <class Noise, class Network>
struct PanelRank {
  const ProgramView& p;
  const Noise& noise;
  const Network& network;
  std::uint32_t realization;

  // When the copy of a level that left mirror number k at `left` arrives at a rank, if by `late`.
  // If not, kNever is as good, and may be returned: delays in the network only make it later, so
  // one is drawn only where it matters.
  Tick copy_arrival_by(const Step& step, int k, Tick rank, Tick left, Tick late) const {
    if (left > late - p.costs.transit) return kNever;
    const auto draw = static_cast<std::uint32_t>(step.draw + k * kMirrorDraws);
    return left + p.costs.transit +
           network.delay(p.seed, kCopyJitter, draw, rank, realization, left);
  }

  // The rank takes a copy at step i, and with it the levels up to that of the copy.
  template <class See>
  void take(int i, const EarlyCopies::Found& copy, Clock<Tick> rank, RankTimes& t,
            See&& see) const {
    t.taken = later(t.taken, copy.arrival);
    const Step& made = p.steps[copy.step];
    const Tick ready = receive(noise, made.draw, p.costs.receive, copy.arrival, rank);
    rank.sent = ready;
    pass_by(p.steps[i], rank, made.round + 1, t);
    for (int s = i; s <= copy.step; ++s) see(s, ready);
  }

  // The rank has got level `reached`, that of this step or a higher one, without its exchange. It
  // sends its original message of the next round at once, and waits again if it has skipped no
  // more.
  void pass_by(const Step& step, Clock<Tick> rank, Tick reached, RankTimes& t) const {
    t.sent = send(noise, p.costs, step.draw + 1, rank.next, rank.sent, rank.id);
    t.next = rank.next;
    t.busy = reached == step.round + 1 ? t.sent : -reached;
  }

  // Step i of rank `id`, at x of the segment, whose partner's message arrives at `original`; copies
  // of this very level are among those that are known, too. left[k]: when its copy to mirror number
  // k leaves, or kNever. see(step, ready time) is told each level that the rank gets.
  template <class See>
  __attribute__((noinline)) void exchange_alone(int i, const EarlyCopies& early, std::int64_t x,
                                                Tick id, Tick original, RankTimes& t,
                                                Tick (&left)[kMostMirrors], See&& see) const {
    const Step& step = p.steps[i];
    for (Tick& time : left) time = kNever;
    Clock<Tick> rank = t.clock(id);
    if (!t.waits()) return pass_by(step, rank, -t.busy, t);
    // Only from mirrors that have the same data at the next level: see Segment::earliest_from.
    const auto copy =
        early.earliest_since(i, x, [&](int k) { return p.mirrors_at(k, step.round + 1); });
    if (copy.arrival < original) return take(i, copy, rank, t, see);
    t.taken = later(t.taken, original);
    see(i, exchange(noise, p.costs, step, original, rank));
    if ((step.flags & kCopy) != 0) {
      for (std::int32_t k = 0; k < p.mirror_count; ++k) {
        if (!p.mirrors_at(k, step.round + 1)) continue;
        left[k] = rank.busy = communicate(noise, rank.next, rank.busy, p.costs.send, rank.id);
      }
    }
    t.sent = rank.sent;
    t.busy = rank.busy;
    t.next = rank.next;
  }
};

}  // namespace
}  // namespace jf
