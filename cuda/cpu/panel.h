// A panel: some steps of a segment, whose delays are drawn together, for some ranks that are closed
// under the partners of these steps, and under mirrors. It fits the nearest cache.
#pragma once

#include <algorithm>

// clang-format off
#include "panel_anyhow.h"
// clang-format on

namespace jf {
namespace {

// kPairs: the only mirrors are neighbours.
template <class Noise, class Network, bool kPairs>
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
        anyhow_{ranks_, early_, {p_, noise_, network_, job.tile.realization}} {
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
  // does not change. note(step, number of the mirror, rank, arrival) is told these, and returns
  // whether that is new; see(step, number of the rank, ready time), if observing, each level that a
  // rank gets.
  template <class Note, class See>
  void run(int begin, int end, const TileMap& map, std::int64_t from, const PanelTimes& in,
           bool observing, Note&& note, See&& see) {
    map_ = map;
    from_ = from;
    const PanelSteps<Noise, Network> steps{
        p_, rest_, network_, rest_network_, job_.tile.realization, work, drawn_, copies_};
    const bool never = observing || !steps.ever_quiet();
    do {
      changed_ = false;
      for (std::int64_t y = 0; y < size(); y += kLanes) {
        const std::int64_t x = place(y);
        copy_times(work + y, in + x);
        auto known = early_.among_register(begin, x);
        // Who comes here with levels skipped does not exchange at these, even if the copy that was
        // taken has been found not to be sent since: an earlier panel is to be done again.
        const Lanes skipped = Lanes{} - load(work.busy + y);
        if (__builtin_expect(any_greater(skipped, Lanes{}), 0))
          known.steps |= (1u << (greatest(skipped) - p_.steps[begin].round)) - 1;
        early_steps_[y / kLanes] = known.steps;
        soonest_[y / kLanes] = known.soonest;
      }
      for (int i = begin, drawn = begin; i < end; ++i) {
        if (i == begin || PanelGroups::draws_end(p_.steps, drawn, i)) draw(drawn = i, end);
        const LevelMirrors mirrors(p_, p_.steps[i].round + 1);
        const auto each_of = [&](std::int64_t y, Lanes from) JF_INLINE {
          if constexpr (kPairs)
            changed_ |= anyhow_.among_pairs(steps, i, i - drawn, y, place(y), from, note, see);
          else
            anyhow_.among_mirrors(steps, i, i - drawn, y, place(y), from, mirrors, see);
        };
        constexpr auto kCopies = kPairs ? Copies::kToNeighbour : Copies::kToMirrors;
        if ((p_.steps[i].flags & kCopy) != 0)
          step<kCopies>(steps, i, i - begin, i - drawn, never, mirrors, each_of);
        else
          step<Copies::kNone>(steps, i, i - begin, i - drawn, never, mirrors, each_of);
        if (!kPairs && (p_.steps[i].flags & kCopy) != 0) copies_arrive(i, i - begin, note);
      }
    } while (changed_ && !stopped(job_));
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

  // Step i, which is step `number` of the panel, and step s of those whose delays are drawn.
  template <Copies kCopies, class Anyhow>
  void step(const PanelSteps<Noise, Network>& steps, int i, int number, int s, bool never,
            const LevelMirrors& mirrors, Anyhow&& anyhow) {
    const Step step = p_.steps[i];
    const Costs costs = p_.costs;  // which the stores can not change
    const bool noisy = noise_.in_communication;
    const Tick* const drawn = steps.at(kOfOriginals, s, 0);
    const Tick* const originals = drawn != nullptr ? drawn : kNone;
    const int bit = map_.local_bit(ranks_.map.local_bit(step.round));
    // A register that early copies go to. Returns whether none of them matters yet. Of pairs those
    // of this very level are looked at with the exchange.
    const auto watched = [&](std::int64_t y, Lanes from) {
      const std::uint32_t ahead = early_steps_[y / kLanes] >> number;
      if (kPairs && (ahead & 1) != 0) return false;
      const std::int64_t at[] = {y};
      const Lanes of[] = {from};
      return steps.template exchange_quietly<1, kCopies, true>(
                 costs, step, s, noisy, originals, at, of, mirrors,
                 ahead == 0 ? kNever : soonest_[y / kLanes]) == 0;
    };
    const auto some = [&]<int n>(const std::int64_t (&y)[n], const Lanes(&from)[n]) JF_INLINE {
      unsigned left = (1u << n) - 1;  // registers
      const std::uint32_t known = early_steps_[y[0] / kLanes] | early_steps_[y[n - 1] / kLanes];
      if (__builtin_expect(never, 0)) {
        // All of them.
      } else if (__builtin_expect(known >> number == 0, 1)) {
        left = steps.template exchange_quietly<n, kCopies, false>(costs, step, s, noisy, originals,
                                                                  y, from, mirrors, {});
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

  // Those of step i, number n of the panel.
  template <class Note>
  void copies_arrive(int i, int number, Note& note) {
    copies_.arrive(
        anyhow_.rank, p_.steps[i], size(), work, [&](std::int64_t y) { return ranks_(place(y)); },
        [&](std::int64_t y) { return (early_steps_[y / kLanes] >> number & 1) != 0; },
        [&](int k, std::int64_t y, Tick arrival) { changed_ |= note(i, k, place(y), arrival); });
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
  const PanelAnyhow<Noise, Network> anyhow_;
  PanelCopies copies_;
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
