// Exchanges of the ranks of a panel (panel.h), a register at a time, as if every rank went through
// every level.
//
// Nearly always no noise is met, and no copy is of any use: it arrives after the original, and
// after all messages that the rank has taken before. A delay in the network only makes it later, so
// as a rule that is known without the delay, which is drawn only where it matters.
#pragma once

// clang-format off
#include "panel_copies.h"
#include "panel_noise.h"
// clang-format on

namespace jf {
namespace {

// What copies of a step go to, if there are any: each rank's neighbour, or mirrors.
enum class Copies { kNone, kToNeighbour, kToMirrors };

template <class Noise, class Network>
struct PanelSteps {
  const ProgramView& p;
  const PanelNoise<Noise, Network>& noise;
  const PanelTimes work;  // of the ranks of the panel
  PanelCopies& copies;    // to mirrors

  // Does the exchange of those of the registers at y in which no rank meets noise and no copy can
  // matter. Returns which are left, as bits. noisy: noise can be met. originals: drawn delays of
  // the original messages, by rank of the panel. kWatched: ranks may have skipped this level, or do
  // so where they would take a message after `soonest`.
  template <int n, Copies kCopies, bool kWatched>
  JF_HD unsigned exchange_quietly(const Costs& costs, const Step& step, int s, bool noisy,
                                  const Tick* originals, const std::int64_t (&y)[n],
                                  const Lanes (&from)[n], const LevelMirrors& mirrors,
                                  Tick soonest) const {
    Clock<Lanes> c[n];
    Lanes late[n], copy[n];
    each<n>([&](auto k) JF_INLINE {
      Lanes arrives = from[k] + costs.transit;
      if constexpr (Network::on) arrives += load(originals + y[k]);
      late[k] = later(load(work.taken + y[k]), arrives);
      c[k] = {load(work.sent + y[k]), load(work.busy + y[k]), Lanes{}, Lanes{}};
      const auto& mine = noise.template at<true>(s, y[k]);
      if constexpr (kCopies == Copies::kToNeighbour) {
        c[k] = own_path(mine, costs, step, arrives, c[k]).after;
        copy[k] = swap_lanes(c[k].busy, 0) + costs.transit;
      } else {
        exchange(mine, costs, step, arrives, c[k]);
        if constexpr (kCopies == Copies::kToMirrors) send_copies(mine, mirrors, y[k], c[k]);
      }
    });
    bool all = true;
    if constexpr (kWatched) {
      static_assert(n == 1);
      if (any_greater(late[0], broadcast(soonest), Lanes{}, load(work.busy + y[0]))) return 1;
    }
    if constexpr (kCopies == Copies::kToNeighbour)
      all = !any_greater(late[0], copy[0], late[n - 1], copy[n - 1]);
    if constexpr (is_timed<Noise>)
      all = all && !(noisy && any_greater(c[0].busy, load(work.next + y[0]), c[n - 1].busy,
                                          load(work.next + y[n - 1])));
    unsigned left = 0;
    if (__builtin_expect(!all, 0)) {
      each<n>([&](auto k) JF_INLINE {
        bool found = kCopies == Copies::kToNeighbour && any_greater(late[k], copy[k]);
        if constexpr (is_timed<Noise>)
          found = found || (noisy && any_greater(c[k].busy, load(work.next + y[k])));
        left |= unsigned{found} << k;
      });
    }
    each<n>([&](auto k) JF_INLINE {
      if ((left >> k & 1) != 0) return;
      store(work.sent + y[k], c[k].sent);
      store(work.busy + y[k], c[k].busy);
      store(work.taken + y[k], late[k]);
    });
    return left;
  }

  // When the messages that left the partners of ranks `ids`, at y, at `from` arrive.
  Lanes originals_arrive(const Step& step, int s, std::int64_t y, Lanes ids, Lanes from) const {
    return from + p.costs.transit + noise.of_originals(step, s, y, ids, from);
  }

  // Copies leave after the original message of the step, one after the other; notes when.
  template <class Any>
  JF_HD void send_copies(const Any& mine, const LevelMirrors& mirrors, std::int64_t y,
                         Clock<Lanes>& c) const {
    for (std::int32_t j = 0; j < mirrors.count; ++j) {
      c.busy = communicate(mine, c.next, c.busy, p.costs.send, c.id);
      store(copies.left[mirrors.number[j]] + y, c.busy);
    }
  }

  // The exchange of register r, which is at y, with whatever noise its ranks `ids` meet, if none of
  // them takes a copy; copies go to `mirrors`.
  void exchange_with_mirrors(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                             const LevelMirrors& mirrors, RegisterTimes& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& mine = noise.template at<false>(s, y);
    r.ready = exchange(mine, p.costs, step, arrives, c);
    if ((step.flags & kCopy) != 0) send_copies(mine, mirrors, y, c);
    r = {c.sent, c.busy, c.next, later(r.taken, arrives), r.ready};
  }

  // The same where copies go to neighbours, which may take those of this very level. Returns when
  // they arrive: see copies_from_neighbours().
  Lanes exchange_with_neighbours(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                                 RegisterTimes& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& mine = noise.template at<false>(s, y);
    Lanes copy = Lanes{} + kNever;
    if ((step.flags & kCopy) == 0) {
      r.ready = exchange(mine, p.costs, step, arrives, c);
    } else {
      const auto own = own_path(mine, p.costs, step, arrives, c);
      copy =
          copies_from_neighbours(step, ids, swap_lanes(own.after.busy, 0), later(r.taken, arrives));
      r.ready = settle(mine, p.costs, step, arrives, copy, own, c);
    }
    r.sent = c.sent;
    r.busy = c.busy;
    r.next = c.next;
    r.taken = later(r.taken, earlier(arrives, copy));
    return copy;
  }

 private:
  // When copies that left the neighbours at `left` arrive. Where none is there before `late`
  // it does not matter when: then delays in the network are left out.
  //
  // A neighbour that adopts a copy itself sends none. That need not be looked at: its copy would
  // come after its original, hence after the rank's own copy had left, and then the rank has taken
  // all that `late` tells of.
  Lanes copies_from_neighbours(const Step& step, Lanes ids, Lanes left, Lanes late) const {
    const Lanes soonest = left + p.costs.transit;
    if (!Network::on || !any_greater(late, soonest)) return soonest;
    return soonest + noise.of_copies(step, ids, left);
  }
};

}  // namespace
}  // namespace jf
