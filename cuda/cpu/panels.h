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

// clang-format off
#include "panel.h"
#include "tile_state.h"
// clang-format on

namespace jf {
namespace {

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
