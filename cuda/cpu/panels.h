// A segment (segment.h) in panels.
//
// Hardly any copy overtakes a lower level. So ranks first go through every level, a register at a
// time, and each remembers the latest arrival of a message that it has taken. A copy that arrives
// before that overtakes a lower level: it is noted. These notes are the guesses of segment.h. With
// them the panel is done again, and so are the earlier panels in which its rank took a message that
// arrived later than the copy, and the later panels that ranks now come to with other times. This
// ends when nothing changes.
//
// Then the times are those that the arrivals of all copies as guesses would give, and bring these
// about: a copy that is not noted arrives at its rank after all messages that the rank took for
// lower levels, or together with the last of them, which is taken then. It does end, as going
// through the panels gets right at least the next copy in order of time: so does a sweep of
// segment.h.
//
// Which of two neighbours takes the other's copy of a level is settled with their exchange. With
// other mirrors that would not do, as who sends copies depends on who took one from a third rank,
// and so on: there copies that only come before the original of their own level are noted, too.
#pragma once

#include <algorithm>

#include "cpu/panel_exchange.h"
#include "cpu/tile.h"

namespace jf {
namespace {

// --- A panel: a group of steps of a segment (PanelGroups), for some of its ranks, which are closed
// under the partners of these steps, and under mirrors. Its times fit the nearest cache.

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
        general_exchange_{ranks_, early_, {p_, noise, network, job.tile.realization}} {}

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
            changed_ |=
                general_exchange_.among_pairs(steps, i, i - drawn, y, place(y), from, note, see);
          else
            general_exchange_.among_mirrors(steps, i, i - drawn, y, place(y), from, mirrors, see);
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
      const std::int64_t stride = std::int64_t{1} << bit;
      for (std::int64_t first = 0; first < end; first += 2 * stride)
        for (std::int64_t y = first; y < first + stride; y += kLanes)
          some.template operator()<2>({y, y + stride}, {sent(y + stride), sent(y)});
    }
  }

  // Notes which copies of step i, which is step `number` of the panel, arrive in time for mirrors.
  template <class Note>
  void note_copies(int i, int number, Note& note) {
    copies_.deliver(
        general_exchange_.rank, p_.steps[i], size(), work,
        [&](std::int64_t y) { return ranks_(place(y)); },
        [&](std::int64_t y) { return (early_steps_[y / kLanes] >> number & 1) != 0; },
        [&](int k, std::int64_t y, Tick arrival) { changed_ |= note(i, k, place(y), arrival); });
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const TileRanks ranks_;
  PanelNoise<Noise, Network> noise_;
  EarlyCopies& early_;
  const PanelGeneralExchange<Noise, Network> general_exchange_;
  PanelCopies copies_;  // if kPairs never touched
  TileMap map_{};
  std::int64_t from_ = 0;
  bool changed_ = false;
  // Early copies to each register, and levels that its ranks have skipped: EarlyCopies::OfRegister.
  std::uint32_t early_steps_[kDrawnRanks / kLanes];
  Tick soonest_[kDrawnRanks / kLanes];
  alignas(64) Tick times_[4][kDrawnRanks];
};

template <class Noise, class Network, bool kPairs>
class Panels {
 public:
  Panels(const SegmentJob& job, const Noise& noise, const Network& network)
      : job_(job),
        p_(*job.tile.program),
        groups_(p_, *job.tile.pass),
        size_(groups_.size),
        pass_(with_low_bits(*job.tile.pass)),
        tile_(with_pass(job.tile, pass_)),
        noise_(bind(noise, tile_.realization, tile_.cursors)),
        network_(network),
        first_early_(reinterpret_cast<std::int32_t*>(early_copies() + groups_.room())),
        early_(early_copies(), groups_.room(), first_early_, size_ / 2),
        dirty_(reinterpret_cast<std::uint8_t*>(first_early_ + size_ / 2)),
        panel_(job, {pass_.map, pass_.map.base(tile_.tile), size_}, noise_, network_, early_) {}

  // Does the segment. Returns false, and leaves memory as it was, if there are too many early
  // copies.
  bool run() {
    begin();
    all_dirty();
    for (bool first = true; again_; first = false) {
      again_ = false;
      if (!sweep(first)) return !early_.full;
    }
    for (int i = pass_.begin; i < pass_.end; ++i) observing_ |= p_.steps[i].row >= 0;
    if (observing_) {
      all_dirty();
      sweep(false);
    }
    return true;
  }

 private:
  // Ranks that are in a row as the low bits of a map, without a window: so they are quick to find.
  static Pass with_low_bits(Pass pass) {
    const std::int32_t bits = pass.map.bits();
    if (pass.map.in_a_row() == pass.map.size()) pass.map = {pass.map.log2_ranks, bits, bits, 0};
    return pass;
  }
  static TileJob with_pass(TileJob job, const Pass& pass) {
    job.pass = &pass;
    return job;
  }
  EarlyCopy* early_copies() const {
    return reinterpret_cast<EarlyCopy*>(static_cast<Tick*>(job_.memory) + groups_.ticks());
  }
  // The times that ranks come with to a group of steps.
  PanelTimes times(int group) const {
    Tick* const at = static_cast<Tick*>(job_.memory) + 4 * size_ * group;
    return {at, at + size_, at + 2 * size_, at + 3 * size_};
  }

  // The panels of a group: to the segment, what tiles are to all ranks.
  TileMap map(int group) const {
    const std::int32_t all = pass_.map.bits(), bits = std::min<std::int32_t>(all, kDrawnBits);
    const std::int32_t first = pass_.map.local_bit(p_.steps[groups_.begin[group]].round);
    const std::int32_t steps = groups_.begin[group + 1] - groups_.begin[group];
    if (first + steps <= bits) return {all, bits, bits, 0};
    return {all, bits - steps, first, steps};
  }
  // Whether a panel has to be done.
  std::uint8_t& dirty(int group, std::int64_t panel) const {
    return dirty_[group * groups_.panels() + panel];
  }
  void all_dirty() const {
    std::fill(dirty_, dirty_ + groups_.count * groups_.panels(), std::uint8_t{1});
  }

  // The times that ranks come with to the segment.
  void begin() const {
    const PanelTimes to = times(0);
    const TileScratch scratch{to.sent, to.busy, to.next};
    TileState<Noise, true> state(tile_, scratch, noise_);
    state.draw_noise(0, size_);
    for (std::int64_t x = 0; x < size_; x += kLanes) {
      state.put(x, state.before(x));
      if constexpr (!is_timed<Noise>) store(to.next + x, Lanes{});
      store(to.taken + x, Lanes{});
    }
  }

  // Does what is dirty; `first`: for the first time. Returns false if it gave up.
  bool sweep(bool first) {
    for (int g = 0; g < groups_.count; ++g) {
      const TileMap panels = map(g);
      for (std::int64_t n = 0; n < groups_.panels(); ++n) {
        if (!dirty(g, n)) continue;
        dirty(g, n) = 0;
        run_panel(g, panels, panels.base(n), first);
        if (early_.full) restore();
        if (early_.full || stopped(job_)) return false;
      }
    }
    return true;
  }

  void run_panel(int g, const TileMap& panels, std::int64_t from, bool first) {
    panel_.run(
        groups_.begin[g], groups_.begin[g + 1], panels, from, times(g), observing_,
        [&](int i, int k, std::int64_t x, Tick arrival) { return note(g, i, k, x, arrival); },
        [&](int i, std::int64_t rank, Tick ready) { see(i, rank, ready); });
    if (g + 1 == groups_.count) return leave();
    const TileMap next = map(g + 1);
    const PanelTimes out = times(g + 1);
    for (std::int64_t y = 0; y < panel_.size(); y += kLanes) {
      const std::int64_t x = panel_.place(y);
      if (!first && same_times(panel_.work + y, out + x)) continue;
      copy_times(out + x, panel_.work + y);
      dirty(g + 1, next.tile_of(x)) = 1;
    }
  }

  // The copy of step i, of group g, from mirror number k arrives at rank x no later than the last
  // message that it has taken; kNever: it does not. Returns whether that is new.
  bool note(int g, int i, int k, std::int64_t x, Tick arrival) {
    const Tick old = early_.set(i, k, x, arrival);
    if (old == arrival) return false;
    // Earlier panels are done again in which the rank took a message that arrived no earlier than
    // the copy does, or was thought to.
    for (int before = 0; before < g; ++before) {
      if (earlier(old, arrival) > times(before + 1).taken[x]) continue;
      dirty(before, map(before).tile_of(x)) = 1;
      again_ = true;
    }
    return true;
  }

  void see(int i, std::int64_t rank, Tick ready) const {
    const int row = p_.steps[i].row;
    if (!observing_ || row < 0) return;
    if (!p_.one_rank || rank == 0) tile_.observations[row].see(ready);
    if (tile_.capture != nullptr) tile_.capture[row * p_.ranks + rank] = ready;
  }

  // To memory: the ranks of the last panel, or all as they were.
  void leave() const {
    leave(panel_.size(), panel_.work, [&](auto y) { return panel_.place(y); });
  }
  void restore() const {
    leave(size_, times(0), [](auto x) { return x; });
  }
  template <class Place>
  void leave(std::int64_t size, const PanelTimes& from, Place&& place) const {
    const TileState<Noise, true> state(tile_, job_.scratch, noise_);
    for (std::int64_t y = 0; y < size; y += kLanes) {
      const Lanes sent = load(from.sent + y);
      state.write(tile_.memory, place(y), sent | ((load(from.busy + y) != sent) & kCopyBit));
    }
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const PanelGroups groups_;
  const std::int64_t size_;
  const Pass pass_;
  const TileJob tile_;
  const Noise noise_;
  const Network network_;
  std::int32_t* const first_early_;
  EarlyCopies early_;
  std::uint8_t* const dirty_;
  Panel<Noise, Network, kPairs> panel_;
  bool again_ = true, observing_ = false;
};

}  // namespace
}  // namespace jf
