// Panels: cache-blocked SIMD computation of a segment (core/segment.h: read it first). A panel is a
// group of steps for some ranks of the segment: its times fit the first-level cache.
//
// Hardly any copy overtakes a lower level. So ranks first go through every level, a register at a
// time, and each keeps the latest arrival of a message that it has accepted. A copy that arrives
// before that overtakes a lower level, and is recorded as an early copy. These records are the
// guesses of segment.h. With them the panel is done again. So are earlier panels in which the
// receiving rank accepted a message that arrived later than the copy, and later panels whose ranks
// now come with other times. This ends when nothing changes.
//
// Then the times are those that the arrivals of all copies as guesses would give, and they produce
// these arrivals: a copy that is not recorded arrives at its rank after all messages that the rank
// accepted for lower levels, or together with the last of them, which is accepted then. It ends
// because each iteration gets right at least the next copy in order of time, as a sweep of
// segment.h does.
//
// Which of two neighbours accepts the other's copy of a level is settled with their exchange. Other
// mirrors depend on third ranks: there copies that merely arrive before the original of their own
// level are recorded, too.
#pragma once

#include <algorithm>

#include "cpu/panel_exchange.h"
#include "cpu/tile.h"

namespace jf {
namespace {

// --- A panel: a group of steps (PanelGroups) for some ranks, which are closed under the partners
// of the steps, and under mirrors. y is the index of a rank in the panel, x in the segment.

// kPairs: the only mirror of each rank is its neighbour.
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

  // The index in the segment: `from` + offsets in `map`.
  std::int64_t segment_index(std::int64_t y) const { return from_ + map_.offset(y); }
  std::int64_t size() const { return map_.size(); }

  // Does steps [begin, end), from the times `in`, until the records of early copies do not change.
  // record(step, number of the mirror, x, arrival) records a copy and returns whether that is new;
  // observe(step, rank, ready time) is called for each level that a rank gets, and for all of them
  // if `observing`. Not inlined: its loops need all registers.
  template <class Record, class Observe>
  __attribute__((noinline)) void run(int begin, int end, const TileMap& map, std::int64_t from,
                                     const PanelTimes& in, bool observing, Record&& record,
                                     Observe&& observe) {
    map_ = map;
    from_ = from;
    const PanelSteps<Noise, Network> steps{p_, noise_, work, copies_};
    const bool all_general = observing || !noise_.can_be_quiet();
    do {
      changed_ = false;
      load_panel(begin, in);
      for (int i = begin, drawn = begin; i < end; ++i) {
        if (i == begin || PanelGroups::draws_anew(p_.steps, drawn, i))
          noise_.draw(drawn = i, end, map_, from_);
        const LevelMirrors mirrors(p_, p_.steps[i].round + 1);
        const auto general = [&](std::int64_t y, Lanes departures) JF_INLINE {
          if constexpr (kPairs)
            changed_ |= general_exchange_.among_pairs(steps, i, i - drawn, y, segment_index(y),
                                                      departures, record, observe);
          else
            general_exchange_.among_mirrors(steps, i, i - drawn, y, segment_index(y), departures,
                                            mirrors, observe);
        };
        constexpr auto kCopies = kPairs ? Copies::kToNeighbour : Copies::kToMirrors;
        if ((p_.steps[i].flags & kCopy) != 0)
          step<kCopies>(steps, i, i - begin, i - drawn, all_general, mirrors, general);
        else
          step<Copies::kNone>(steps, i, i - begin, i - drawn, all_general, mirrors, general);
        if (!kPairs && (p_.steps[i].flags & kCopy) != 0) record_copies(i, i - begin, record);
      }
    } while (changed_ && !stopped(job_));
  }

 private:
  // Loads the times of the ranks, and the steps of early copies to them.
  void load_panel(int begin, const PanelTimes& in) {
    for (std::int64_t y = 0; y < size(); y += kLanes) {
      const std::int64_t x = segment_index(y);
      copy_times(work + y, in + x);
      auto copies = early_.of_register(begin, x);
      // A rank that arrives with skipped levels has no exchange in them. That holds even if the
      // copy that it accepted is no longer recorded: an earlier panel will be done again.
      const Lanes skipped = Lanes{} - load(work.busy + y);
      if (__builtin_expect(any_greater(skipped, Lanes{}), 0))
        copies.steps |= (1u << (greatest(skipped) - p_.steps[begin].round)) - 1;
      early_steps_[y / kLanes] = copies.steps;
      earliest_copy_[y / kLanes] = copies.earliest;
    }
  }

  // Step i: step `number` of the panel, and step s of those whose delays are drawn. Calls
  // general(y, departures of the partners' messages) for registers that can not be done quietly;
  // all_general: for all of them.
  template <Copies kCopies, class General>
  void step(const PanelSteps<Noise, Network>& steps, int i, int number, int s, bool all_general,
            const LevelMirrors& mirrors, General&& general) {
    const Step step = p_.steps[i];
    const Costs costs = p_.costs;  // a copy, which the stores do not change
    const bool interruptible = noise_.in_communication();
    const Tick* const originals = noise_.drawn_originals(s);
    const int bit = map_.local_bit(ranks_.map.local_bit(step.round));
    // Tries a register with recorded early copies quietly. Returns whether none of them matters
    // yet. For pairs, copies of this very level are settled by the general exchange.
    const auto without_early_copies = [&](std::int64_t y, Lanes departures) {
      const std::uint32_t ahead = early_steps_[y / kLanes] >> number;
      if (kPairs && (ahead & 1) != 0) return false;
      const std::int64_t index[] = {y};
      const Lanes of[] = {departures};
      return steps.template exchange_quietly<1, kCopies, true>(
                 costs, step, s, interruptible, originals, index, of, mirrors,
                 ahead == 0 ? kNever : earliest_copy_[y / kLanes]) == 0;
    };
    const auto exchange = [&]<int n>(const std::int64_t (&y)[n],
                                     const Lanes(&departures)[n]) JF_INLINE {
      unsigned remaining = (1u << n) - 1;  // registers
      const std::uint32_t known = early_steps_[y[0] / kLanes] | early_steps_[y[n - 1] / kLanes];
      if (__builtin_expect(all_general, 0)) {
        // All of them.
      } else if (__builtin_expect(known >> number == 0, 1)) {
        remaining = steps.template exchange_quietly<n, kCopies, false>(
            costs, step, s, interruptible, originals, y, departures, mirrors, {});
      } else {
        for (int k = 0; k < n; ++k)
          if (without_early_copies(y[k], departures[k])) remaining &= ~(1u << k);
      }
      if (__builtin_expect(remaining == 0, 1)) return;
      for (int k = 0; k < n; ++k)
        if ((remaining >> k & 1) != 0) general(y[k], departures[k]);
    };
    const std::int64_t end = size();
    const auto sent = [&](std::int64_t y) JF_INLINE { return load(times_[0] + y); };
    const auto swapped = [&](std::int64_t y) JF_INLINE { return swap_lanes(sent(y), bit); };
    if (end == kLanes) {
      exchange.template operator()<1>({0}, {swapped(0)});
    } else if (bit < kLaneBits) {
      for (std::int64_t y = 0; y < end; y += 2 * kLanes)
        exchange.template operator()<2>({y, y + kLanes}, {swapped(y), swapped(y + kLanes)});
    } else {
      const std::int64_t stride = std::int64_t{1} << bit;
      for (std::int64_t first = 0; first < end; first += 2 * stride)
        for (std::int64_t y = first; y < first + stride; y += kLanes)
          exchange.template operator()<2>({y, y + stride}, {sent(y + stride), sent(y)});
    }
  }

  // Records the copies of step i, step `number` of the panel, that arrive in time at mirrors.
  template <class Record>
  void record_copies(int i, int number, Record& record) {
    copies_.deliver(
        general_exchange_.rank, p_.steps[i], size(), work,
        [&](std::int64_t y) { return ranks_(segment_index(y)); },
        [&](std::int64_t y) { return (early_steps_[y / kLanes] >> number & 1) != 0; },
        [&](int k, std::int64_t y, Tick arrival) {
          changed_ |= record(i, k, segment_index(y), arrival);
        });
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const TileRanks ranks_;
  PanelNoise<Noise, Network> noise_;
  EarlyCopies& early_;
  const PanelGeneralExchange<Noise, Network> general_exchange_;
  PanelCopies copies_;  // unused if kPairs
  TileMap map_{};
  std::int64_t from_ = 0;
  bool changed_ = false;
  // By register: steps of early copies and of skipped levels, as bits; the earliest arrival.
  std::uint32_t early_steps_[kDrawnRanks / kLanes];
  Tick earliest_copy_[kDrawnRanks / kLanes];
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
        noise_(noise.bind(tile_.realization, tile_.cursors, p_.seed)),
        network_(network),
        first_early_(reinterpret_cast<std::int32_t*>(early_copies() + groups_.capacity())),
        early_(early_copies(), groups_.capacity(), first_early_, size_ / 2),
        dirty_(reinterpret_cast<std::uint8_t*>(first_early_ + size_ / 2)),
        panel_(job, {pass_.map, pass_.map.base(tile_.tile), size_}, noise_, network_, early_) {}

  // Computes the segment. Returns false, and leaves memory as it was, if the early copies do not
  // fit.
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
  // If all ranks are neighbours, the map gets them as its low bits only, so that indices are quick.
  static Pass with_low_bits(Pass pass) {
    const std::int32_t bits = pass.map.bits();
    if (pass.map.contiguous_ranks() == pass.map.size())
      pass.map = {pass.map.log2_ranks, bits, bits, 0};
    return pass;
  }
  static TileJob with_pass(TileJob job, const Pass& pass) {
    job.pass = &pass;
    return job;
  }
  EarlyCopy* early_copies() const {
    return reinterpret_cast<EarlyCopy*>(static_cast<Tick*>(job_.memory) + groups_.ticks());
  }
  // The times of ranks before a group of steps.
  PanelTimes times(int group) const {
    Tick* const at = static_cast<Tick*>(job_.memory) + 4 * size_ * group;
    return {at, at + size_, at + 2 * size_, at + 3 * size_};
  }

  // The map of the panels of a group: they are to the segment what tiles are to all ranks.
  TileMap map(int group) const {
    const std::int32_t all = pass_.map.bits(), bits = std::min<std::int32_t>(all, kDrawnBits);
    const std::int32_t first = pass_.map.local_bit(p_.steps[groups_.begin[group]].round);
    const std::int32_t steps = groups_.begin[group + 1] - groups_.begin[group];
    if (first + steps <= bits) return {all, bits, bits, 0};
    return {all, bits - steps, first, steps};
  }
  // Whether a panel has to be computed.
  std::uint8_t& dirty(int group, std::int64_t panel) const {
    return dirty_[group * groups_.panels() + panel];
  }
  void all_dirty() const {
    std::fill(dirty_, dirty_ + groups_.count * groups_.panels(), std::uint8_t{1});
  }

  // Sets the times of ranks before the segment.
  void begin() const {
    const PanelTimes to = times(0);
    const TileScratch scratch{to.sent, to.busy, to.next};
    TileState<Noise, true> state(tile_, scratch, noise_);
    state.draw_noise(0, size_);
    for (std::int64_t x = 0; x < size_; x += kLanes) {
      state.put(x, state.initial(x));
      if constexpr (!is_timed<Noise>) store(to.next + x, Lanes{});
      store(to.latest_arrival + x, Lanes{});
    }
  }

  // Computes the dirty panels; `first`: for the first time. Returns false if it gave up.
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
        [&](int i, int k, std::int64_t x, Tick arrival) { return record(g, i, k, x, arrival); },
        [&](int i, std::int64_t rank, Tick ready) { observe(i, rank, ready); });
    if (g + 1 == groups_.count) return save();
    const TileMap next = map(g + 1);
    const PanelTimes out = times(g + 1);
    for (std::int64_t y = 0; y < panel_.size(); y += kLanes) {
      const std::int64_t x = panel_.segment_index(y);
      if (!first && same_times(panel_.work + y, out + x)) continue;
      copy_times(out + x, panel_.work + y);
      dirty(g + 1, next.tile_of(x)) = 1;
    }
  }

  // Records that the copy of step i, of group g, from mirror number k arrives at rank x no later
  // than the latest message that it has accepted; kNever: it does not. Returns whether that is new.
  bool record(int g, int i, int k, std::int64_t x, Tick arrival) {
    const Tick old = early_.set(i, k, x, arrival);
    if (old == arrival) return false;
    // Earlier panels are done again if the rank accepted a message there that arrived no earlier
    // than the copy does, or did by the record before.
    for (int before = 0; before < g; ++before) {
      if (earlier(old, arrival) > times(before + 1).latest_arrival[x]) continue;
      dirty(before, map(before).tile_of(x)) = 1;
      again_ = true;
    }
    return true;
  }

  void observe(int i, std::int64_t rank, Tick ready) const {
    const int row = p_.steps[i].row;
    if (observing_ && row >= 0) tile_.observe(row, rank, ready);
  }

  // Writes the times to memory: of the last panel, or of all ranks as they were before.
  void save() const {
    save(panel_.size(), panel_.work, [&](auto y) { return panel_.segment_index(y); });
  }
  void restore() const {
    save(size_, times(0), [](auto x) { return x; });
  }
  template <class Index>
  void save(std::int64_t size, const PanelTimes& from, Index&& index) const {
    const TileState<Noise, true> state(tile_, job_.scratch, noise_);
    for (std::int64_t y = 0; y < size; y += kLanes) {
      const Lanes sent = load(from.sent + y);
      state.write(tile_.sent_between, index(y), sent | ((load(from.busy + y) != sent) & kCopyBit));
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
