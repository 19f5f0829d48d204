// A panel: some steps of a segment, whose delays are drawn together, for some ranks that are closed
// under the partners of these steps, and under mirrors. It fits the nearest cache.
#pragma once

#include <algorithm>

// clang-format off
#include "panel_steps.h"
#include "panel_pair.h"
// clang-format on

namespace jf {
namespace {

template <class Noise, class Network>
class Panel {
  alignas(64) static constexpr Tick kNone[kDrawnRanks] = {};  // where no message is delayed

 public:
  const PanelTimes work{times_[0], times_[1], times_[2], times_[3]};

  Panel(const SegmentJob& job, const TileRanks& ranks, const Noise& noise, const Network& network,
        EarlyCopies& early)
      : job_(job),
        p_(*job.tile.program),
        ranks_(ranks),
        noise_(noise),
        network_(network),
        rest_(noise),
        rest_network_(network),
        keys_(p_.seed),
        early_(early),
        pair_{p_, noise_, network_, job.tile.realization, early_} {
    if constexpr (is_general<Noise>) {
      rest_.prepared = true;
      rest_.roles = rest_.windows | (rest_.roles & 1 << kComputeRole);
    }
    if constexpr (Network::on) rest_network_.prepared = true;
  }

  // Ranks of the segment: `from` + offsets in `map`.
  std::int64_t place(std::int64_t y) const { return from_ + map_.offset(y); }
  std::int64_t size() const { return map_.size(); }

  // Does steps [begin, end), from the times of ranks in `in`, until what is known of early copies
  // does not change. note(step, rank, arrival) is told these, and returns whether that is new;
  // see(step, number of the rank, ready time), if observing, each level that a rank gets.
  template <class Note, class See>
  void run(int begin, int end, const TileMap& map, std::int64_t from, const PanelTimes& in,
           bool observing, Note&& note, See&& see) {
    map_ = map;
    from_ = from;
    const PanelSteps<Noise, Network> steps{
        p_, rest_, network_, rest_network_, job_.tile.realization, work, drawn_};
    const bool never = observing || !steps.ever_quiet();
    do {
      changed_ = false;
      for (std::int64_t y = 0; y < size(); y += kLanes) {
        const std::int64_t x = place(y);
        copy_times(work + y, in + x);
        const auto known = early_.among_register(begin, x);
        early_steps_[y / kLanes] = known.steps;
        soonest_[y / kLanes] = known.soonest;
      }
      for (int i = begin, drawn = begin; i < end; ++i) {
        if (i == begin || PanelGroups::draws_end(p_.steps, drawn, i)) draw(drawn = i, end);
        const auto each_of = [&](std::int64_t y, Lanes from)
                                 JF_INLINE { anyhow(steps, i, i - drawn, y, from, note, see); };
        if ((p_.steps[i].flags & kCopy) != 0)
          step<true>(steps, i, i - begin, i - drawn, never, each_of);
        else
          step<false>(steps, i, i - begin, i - drawn, never, each_of);
      }
    } while (changed_);
  }

 private:
  // The delays of some steps from `begin` on.
  void draw(int begin, int end) {
    int count = 1;
    while (begin + count < end && !PanelGroups::draws_end(p_.steps, begin, begin + count)) ++count;
    const auto draws = [&](std::int32_t first) {
      return Draws{keys_,
                   p_.seed,
                   job_.tile.realization,
                   static_cast<std::uint32_t>(first),
                   static_cast<std::uint32_t>(count),
                   size(),
                   {ranks_, map_, from_},
                   job_.scratch.draws};
    };
    const std::int32_t number = p_.steps[begin].draw;
    Tick* const* sums = job_.scratch.sums;
    if constexpr (is_general<Noise>) {
      drawn_[kOfReceiving] = draw_steps(draws(number), noise_, kReceiveRole, sums[kReceiving]);
      drawn_[kOfSending] = draw_steps(draws(number + 1), noise_, kSendRole, sums[kSending]);
    }
    if constexpr (Network::on)
      drawn_[kOfOriginals] =
          draw_messages(draws(number), network_, kOriginalJitter, sums[kOfMessages]);
  }

  // Step i, number n of the panel and number s of those whose delays are drawn.
  template <bool kCopied, class Anyhow>
  void step(const PanelSteps<Noise, Network>& steps, int i, int number, int s, bool never,
            Anyhow&& anyhow) {
    const Step step = p_.steps[i];
    const Costs costs = p_.costs;  // which the stores can not change
    const bool noisy = noise_.in_communication;
    const Tick* const drawn = steps.at(kOfOriginals, s, 0);
    const Tick* const originals = drawn != nullptr ? drawn : kNone;
    const int bit = map_.local_bit(ranks_.map.local_bit(step.round));
    // A register that early copies go to, unless one of them is of this very level. Returns whether
    // none of them matters yet.
    const auto watched = [&](std::int64_t y, Lanes from) {
      const std::uint32_t ahead = early_steps_[y / kLanes] >> number;
      if ((ahead & 1) != 0) return false;
      const std::int64_t at[] = {y};
      const Lanes of[] = {from};
      return steps.template exchange_quietly<1, kCopied, true>(
                 costs, step, s, noisy, originals, at, of,
                 ahead == 0 ? kNever : soonest_[y / kLanes]) == 0;
    };
    const auto some = [&]<int n>(const std::int64_t (&y)[n], const Lanes(&from)[n]) JF_INLINE {
      unsigned left = (1u << n) - 1;
      const std::uint32_t known = early_steps_[y[0] / kLanes] | early_steps_[y[n - 1] / kLanes];
      if (__builtin_expect(never, 0)) {
      } else if (__builtin_expect(known >> number == 0, 1)) {
        left = steps.template exchange_quietly<n, kCopied, false>(costs, step, s, noisy, originals,
                                                                  y, from, {});
      } else {
        for (int k = 0; k < n; ++k)
          if (watched(y[k], from[k])) left &= ~(1u << k);
      }
      if (__builtin_expect(left == 0, 1)) return;
      for (int k = 0; k < n; ++k)
        if ((left >> k & 1) != 0) anyhow(y[k], from[k]);
    };
    const std::int64_t end = size();
    const auto sent = [&](std::int64_t y) JF_INLINE { return load(times_[0] + y); };
    const auto swapped = [&](std::int64_t y) JF_INLINE { return swap_lanes(sent(y), bit); };
    if (end == kLanes) {
      some.template operator()<1>({0}, {swapped(0)});
    } else if (bit < kLaneBits) {
      for (std::int64_t y = 0; y < end; y += 2 * kLanes)
        some.template operator()<2>({y, y + kLanes}, {swapped(y), swapped(y + kLanes)});
    } else {
      const std::int64_t apart = std::int64_t{1} << bit;
      for (std::int64_t first = 0; first < end; first += 2 * apart)
        for (std::int64_t y = first; y < first + apart; y += kLanes)
          some.template operator()<2>({y, y + apart}, {sent(y + apart), sent(y)});
    }
  }

  template <class Note, class See>
  __attribute__((noinline)) void anyhow(const PanelSteps<Noise, Network>& steps, int i, int s,
                                        std::int64_t y, Lanes from, Note& note, See& see) {
    const Step& step = p_.steps[i];
    const std::int64_t x = place(y);
    const Lanes ids = ranks_(x);
    const PanelRegister before = steps.before(y);
    PanelRegister r = before;
    Lanes arrives = steps.originals_arrive(step, s, y, ids, from);
    const Lanes copies = steps.exchange_anyhow(step, s, y, ids, arrives, r);
    const auto tell = [&](std::int64_t rank, Tick arrival) {
      if (!note(i, x + rank, arrival)) return;
      changed_ = true;
    };
    for (unsigned k = 0; k < kLanes; k += 2) {
      if (!early_.at_pair(x + k)) {
        for (unsigned m = k; m < k + 2; ++m) {
          if (copies[m] < before.taken[m]) tell(m, copies[m]);
          see(i, ids[m], r.ready[m]);
        }
        continue;
      }
      PairTimes t;
      for (unsigned m = 0; m < 2; ++m) {
        t.sent[m] = before.sent[k + m];
        t.busy[m] = before.busy[k + m];
        t.next[m] = before.next[k + m];
        t.taken[m] = before.taken[k + m];
      }
      Tick overtakes[2];
      pair_.exchange_pair(
          i, x + k, {ids[k], ids[k + 1]}, {arrives[k], arrives[k + 1]}, t, overtakes,
          [&](unsigned m, int level, Tick ready) { see(level, ids[k + m], ready); });
      for (unsigned m = 0; m < 2; ++m) {
        r.sent[k + m] = t.sent[m];
        r.busy[k + m] = t.busy[m];
        r.next[k + m] = t.next[m];
        r.taken[k + m] = t.taken[m];
        if ((step.flags & kCopy) != 0) tell(k + m, overtakes[m]);
      }
    }
    steps.put(y, r);
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const TileRanks ranks_;
  const Noise& noise_;
  const Network& network_;
  Noise rest_;  // what is not drawn beforehand
  Network rest_network_;
  const RoundKeys keys_;
  EarlyCopies& early_;
  const PanelPair<Noise, Network> pair_;
  const Tick* drawn_[kPanelDraws] = {};
  TileMap map_{};
  std::int64_t from_ = 0;
  bool changed_ = false;
  // Early copies to each register, see EarlyCopies::OfRegister.
  std::uint32_t early_steps_[kDrawnRanks / kLanes];
  Tick soonest_[kDrawnRanks / kLanes];
  alignas(64) Tick times_[4][kDrawnRanks];
};

}  // namespace
}  // namespace jf
