// Exchanges of the ranks of a panel (panel.h), a register at a time, as if every rank went through
// every level.
//
// Nearly always no noise is met, and no copy is of any use: it arrives after the original, and
// after all messages that the rank has taken before. Whether it does is told without its delay in
// the network, which only makes it later; so that is drawn only where it matters.
#pragma once

// clang-format off
#include "register_noise.h"
#include "panel_copies.h"
// clang-format on

namespace jf {
namespace {

// Delays of the steps of a panel: [step][rank].
enum PanelDraws { kOfReceiving, kOfSending, kOfOriginals, kPanelDraws };

// What copies of a step go to, if there are any: each rank's neighbour, or mirrors.
enum class Copies { kNone, kToNeighbour, kToMirrors };

// A register before a step, and after it.
struct PanelRegister {
  Lanes sent, busy, next, taken, ready;

  RankTimes rank(unsigned m) const { return {sent[m], busy[m], next[m], taken[m]}; }
  void put(unsigned m, const RankTimes& t) {
    sent[m] = t.sent;
    busy[m] = t.busy;
    next[m] = t.next;
    taken[m] = t.taken;
  }
};

JF_HD void copy_times(const PanelTimes& to, const PanelTimes& from) {
  store(to.sent, load(from.sent));
  store(to.busy, load(from.busy));
  store(to.next, load(from.next));
  store(to.taken, load(from.taken));
}
JF_HD bool same_times(const PanelTimes& a, const PanelTimes& b) {
  return !any((load(a.sent) != load(b.sent)) | (load(a.busy) != load(b.busy)) |
              (load(a.next) != load(b.next)) | (load(a.taken) != load(b.taken)));
}

template <class Noise, class Network>
struct PanelSteps {
  const ProgramView& p;
  const Noise& noise;      // what is not drawn beforehand
  const Network& network;  // all of it
  const Network& windows;  // what is not drawn beforehand
  const std::uint32_t realization;
  const PanelTimes work;                    // of the ranks of the panel
  const Tick* const (&drawn)[kPanelDraws];  // or null
  PanelCopies& copies;                      // to mirrors

  // Of step s of those drawn, at y.
  JF_HD const Tick* at(int kind, int s, std::int64_t y) const {
    return drawn[kind] == nullptr ? nullptr : drawn[kind] + s * kDrawnRanks + y;
  }
  template <bool quiet>
  JF_HD decltype(auto) noise_at(int s, std::int64_t y) const {
    if constexpr (is_general<Noise>)
      return PreparedSources<quiet, Noise>{noise, {at(kOfReceiving, s, y), at(kOfSending, s, y)}};
    else if constexpr (quiet)
      return NoNoise{};
    else
      return (noise);
  }

  // Whether `exchange_quietly` may do.
  bool ever_quiet() const {
    if constexpr (is_general<Noise>)
      return (noise.windows & ~(1 << kComputeRole)) == 0 && !late_windows();
    else
      return !late_windows();
  }
  bool late_windows() const {
    if constexpr (Network::on)
      return windows.windows != 0;
    else
      return false;
  }

  JF_HD PanelRegister before(std::int64_t y) const {
    return {load(work.sent + y), load(work.busy + y), load(work.next + y), load(work.taken + y),
            Lanes{}};
  }
  JF_HD void put(std::int64_t y, const PanelRegister& r) const {
    store(work.sent + y, r.sent);
    store(work.busy + y, r.busy);
    store(work.next + y, r.next);
    store(work.taken + y, r.taken);
  }

  // Those of the registers at y in which no rank meets noise and no copy can matter. Returns which
  // are left, as bits. noisy: noise can be met. originals: delays of the original messages, for the
  // first rank of the panel. kWatched: ranks may have skipped this level, or do so where they would
  // take a message after `soonest`.
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
      const auto& mine = noise_at<true>(s, y[k]);
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
    Lanes arrives = from + p.costs.transit;
    if constexpr (Network::on) {
      if (const Tick* delays = at(kOfOriginals, s, y)) arrives += load(delays);
      if (late_windows())
        arrives += windows.delay(p.seed, kOriginalJitter, static_cast<std::uint32_t>(step.draw),
                                 ids, realization, from);
    }
    return arrives;
  }

  // After the original message of a step.
  template <class Any>
  JF_HD void send_copies(const Any& mine, const LevelMirrors& mirrors, std::int64_t y,
                         Clock<Lanes>& c) const {
    for (std::int32_t j = 0; j < mirrors.count; ++j) {
      c.busy = communicate(mine, c.next, c.busy, p.costs.send, c.id);
      store(copies.left[mirrors.number[j]] + y, c.busy);
    }
  }

  // The register r that is at y, whatever happens to its ranks `ids`, if none of them takes a copy;
  // copies go to `mirrors`.
  void exchange_with_mirrors(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                             const LevelMirrors& mirrors, PanelRegister& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& mine = noise_at<false>(s, y);
    r.ready = exchange(mine, p.costs, step, arrives, c);
    if ((step.flags & kCopy) != 0) send_copies(mine, mirrors, y, c);
    r = {c.sent, c.busy, c.next, later(r.taken, arrives), r.ready};
  }

  // The same where they go to the neighbour. Returns when copies arrive, or would have: see
  // copies_arrive().
  Lanes exchange_anyhow(const Step& step, int s, std::int64_t y, Lanes ids, Lanes arrives,
                        PanelRegister& r) const {
    Clock<Lanes> c{r.sent, r.busy, r.next, ids};
    const auto& mine = noise_at<false>(s, y);
    Lanes copy = Lanes{} + kNever;
    if ((step.flags & kCopy) == 0) {
      r.ready = exchange(mine, p.costs, step, arrives, c);
    } else {
      const auto own = own_path(mine, p.costs, step, arrives, c);
      copy = copies_arrive(step, ids, swap_lanes(own.after.busy, 0), later(r.taken, arrives));
      r.ready = settle(mine, p.costs, step, arrives, copy, own, c);
    }
    r.sent = c.sent;
    r.busy = c.busy;
    r.next = c.next;
    r.taken = later(r.taken, earlier(arrives, copy));
    return copy;
  }

 private:
  // Of copies that arrive after `late` it does not matter when. Nor is it of use that a mirror
  // which adopts a copy sends none: it would come after the mirror's original, hence after the
  // rank's own copy had left, when the rank has taken all that `late` tells of.
  Lanes copies_arrive(const Step& step, Lanes ids, Lanes left, Lanes late) const {
    const Lanes soonest = left + p.costs.transit;
    if (!Network::on || !any_greater(late, soonest)) return soonest;
    return soonest + network.delay(p.seed, kCopyJitter, static_cast<std::uint32_t>(step.draw), ids,
                                   realization, left);
  }
};

}  // namespace
}  // namespace jf
