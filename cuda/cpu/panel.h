// A panel: a group of steps of a segment (PanelGroups), for some of its ranks, which are closed
// under the partners of these steps, and under mirrors. Its times fit the nearest cache.
#pragma once

// clang-format off
#include "panel_anyhow.h"
// clang-format on

namespace jf {
namespace {

// kPairs: each rank's only mirror is its neighbour.
template <class Noise, class Network, bool kPairs>
class Panel {
 public:
  const PanelTimes work{times_[0], times_[1], times_[2], times_[3]};

  Panel(const SegmentJob& job, const TileRanks& ranks, const Noise& noise, const Network& network,
        EarlyCopies& early)
      : job_(job),
        p_(*job.tile.program),
        ranks_(ranks),
        noise_(job, ranks, noise, network),
        early_(early),
        anyhow_{ranks_, early_, {p_, noise, network, job.tile.realization}} {}

  // Ranks of the segment: `from` + offsets in `map`.
  std::int64_t place(std::int64_t y) const { return from_ + map_.offset(y); }
  std::int64_t size() const { return map_.size(); }

  // Does steps [begin, end), from the times of ranks in `in`, again and again until what is known
  // of early copies does not change. note(step, number of the mirror, rank, arrival) is told of
  // these, and returns whether that is new; see(step, number of the rank, ready time) is told each
  // level that a rank gets, all of them if `observing`. Not inlined: its loops need all registers.
  template <class Note, class See>
  __attribute__((noinline)) void run(int begin, int end, const TileMap& map, std::int64_t from,
                                     const PanelTimes& in, bool observing, Note&& note, See&& see) {
    map_ = map;
    from_ = from;
    const PanelSteps<Noise, Network> steps{p_, noise_, work, copies_};
    const bool never = observing || !noise_.ever_quiet();
    do {
      changed_ = false;
      enter(begin, in);
      for (int i = begin, drawn = begin; i < end; ++i) {
        if (i == begin || PanelGroups::draws_end(p_.steps, drawn, i))
          noise_.draw(drawn = i, end, map_, from_);
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
        if (!kPairs && (p_.steps[i].flags & kCopy) != 0) note_copies(i, i - begin, note);
      }
    } while (changed_ && !stopped(job_));
  }

 private:
  // Takes the times of the ranks, and what is known of early copies to them.
  void enter(int begin, const PanelTimes& in) {
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
  }

  // Step i, which is step `number` of the panel, and step s of those whose delays are drawn. Calls
  // anyhow(y, when messages of partners left) for registers that are not done quietly; `never`: for
  // all of them.
  template <Copies kCopies, class Anyhow>
  void step(const PanelSteps<Noise, Network>& steps, int i, int number, int s, bool never,
            const LevelMirrors& mirrors, Anyhow&& anyhow) {
    const Step step = p_.steps[i];
    const Costs costs = p_.costs;  // which the stores can not change
    const bool noisy = noise_.in_communication();
    const Tick* const originals = noise_.drawn_originals(s);
    const int bit = map_.local_bit(ranks_.map.local_bit(step.round));
    // A register that early copies go to, quietly. Returns whether that did: none of them matters
    // yet. Pairs find out with the exchange about those of this very level.
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

  // Notes which copies of step i, which is step `number` of the panel, arrive in time for mirrors.
  template <class Note>
  void note_copies(int i, int number, Note& note) {
    copies_.deliver(
        anyhow_.rank, p_.steps[i], size(), work, [&](std::int64_t y) { return ranks_(place(y)); },
        [&](std::int64_t y) { return (early_steps_[y / kLanes] >> number & 1) != 0; },
        [&](int k, std::int64_t y, Tick arrival) { changed_ |= note(i, k, place(y), arrival); });
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const TileRanks ranks_;
  PanelNoise<Noise, Network> noise_;
  EarlyCopies& early_;
  const PanelAnyhow<Noise, Network> anyhow_;
  PanelCopies copies_;  // if kPairs never touched
  TileMap map_{};
  std::int64_t from_ = 0;
  bool changed_ = false;
  // Early copies to each register, and levels that its ranks have skipped: EarlyCopies::OfRegister.
  std::uint32_t early_steps_[kDrawnRanks / kLanes];
  Tick soonest_[kDrawnRanks / kLanes];
  alignas(64) Tick times_[4][kDrawnRanks];
};

}  // namespace
}  // namespace jf
