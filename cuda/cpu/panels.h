// A segment (segment.h) in panels.
//
// Hardly any copy overtakes a lower level. So ranks first go through every level, a register at a
// time, and each remembers the latest arrival of a message that it has taken. A copy that arrives
// before that overtakes; it is noted, and what is noted are the guesses of segment.h. With these
// the panel is done again, and so are earlier panels with that rank; later ones, where ranks come
// to them with other times than before; until nothing changes.
//
// Then the times are those that the arrivals of all copies as guesses would give, and bring these
// about: a copy that is not among the guesses arrives at its rank after all messages that the rank
// took for lower levels, or together with the last of them, which is taken then. In order of time,
// going through the panels gets right at least the next copy, as a sweep of segment.h does.
//
// Which of two neighbours takes the other's copy of a level is settled with their exchange. Where
// there are other mirrors, who sends depends on who took one, and so on: there copies that only
// come before the original of their own level are noted, too.
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
        groups_(p_.steps, *job.tile.pass, p_.farthest_mirror()),
        size_(groups_.size),
        pass_(with_low_bits(*job.tile.pass)),
        tile_(with_pass(job.tile, pass_)),
        noise_(bind(noise, tile_.realization, tile_.cursors)),
        network_(network),
        first_early_(reinterpret_cast<std::int32_t*>(early_copies() + groups_.room())),
        early_(early_copies(), groups_.room(), first_early_, size_ / 2),
        dirty_(reinterpret_cast<std::uint8_t*>(first_early_ + size_ / 2)),
        panel_(job, {pass_.map, pass_.map.base(tile_.tile), size_}, noise_, network_, early_) {}

  // Returns false, and leaves memory as it was, if there are too many early copies.
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
  // Says of ranks in a row that they are.
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
  // The times that ranks come with to a group.
  PanelTimes times(int group) const {
    Tick* const at = static_cast<Tick*>(job_.memory) + 4 * size_ * group;
    return {at, at + size_, at + 2 * size_, at + 3 * size_};
  }

  // The panels of a group as tiles of the segment.
  TileMap map(int group) const {
    const std::int32_t all = pass_.map.bits(), bits = std::min<std::int32_t>(all, kDrawnBits);
    const std::int32_t first = pass_.map.local_bit(p_.steps[groups_.begin[group]].round);
    const std::int32_t steps = groups_.begin[group + 1] - groups_.begin[group];
    if (first + steps <= bits) return {all, bits, bits, 0};
    return {all, bits - steps, first, steps};
  }
  static std::int64_t panel_of(const TileMap& map, std::int64_t x) {
    const std::int32_t between = map.window_start - map.low_bits;
    return (x >> map.low_bits & ((std::int64_t{1} << between) - 1)) |
           x >> (map.window_start + map.window_bits) << between;
  }
  std::uint8_t& dirty(int group, std::int64_t panel) const {
    return dirty_[group * groups_.panels() + panel];
  }
  void all_dirty() const {
    std::fill(dirty_, dirty_ + groups_.count * groups_.panels(), std::uint8_t{1});
  }

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

  // Does what is dirty. Returns false if it gave up.
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
      dirty(g + 1, panel_of(next, x)) = 1;
    }
  }

  // The copy of step i, of group g, from mirror number k arrives at rank x before a message that it
  // has taken, or as that; kNever: it does not. Returns whether that is new.
  bool note(int g, int i, int k, std::int64_t x, Tick arrival) {
    const Tick old = early_.set(i, k, x, arrival);
    if (old == arrival) return false;
    // Earlier panels in which the rank has taken a message that did not arrive before either.
    for (int before = 0; before < g; ++before) {
      if (earlier(old, arrival) > times(before + 1).taken[x]) continue;
      dirty(before, panel_of(map(before), x)) = 1;
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
