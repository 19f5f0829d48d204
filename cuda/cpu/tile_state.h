// The ranks of a tile: where their times are, and how these come from and go to memory between
// passes.
#pragma once

#include <algorithm>

// First, for the reason given in block.h.
// clang-format off
#include "simd.h"
#include "simd_random.h"
// clang-format on
#include "../steps.h"
#include "first_intervals.h"
#include "prepare.h"
#include "tile_job.h"

namespace jf {
namespace {

template <class Noise, bool kBusy>
struct TileState {
  const TileJob& job;
  const ProgramView& p;
  const TileMap map;
  const TileScratch& scratch;
  const std::int64_t base, ranks;
  const std::int64_t size;  // ranks, or the lanes of a register if that is more
  Noise noise;

  TileState(const TileJob& job, const TileScratch& scratch, const Noise& noise)
      : job(job),
        p(*job.program),
        map(job.pass->map),
        scratch(scratch),
        base(map.base(job.tile)),
        ranks(map.size()),
        size(std::max<std::int64_t>(ranks, kLanes)),
        noise(bind(noise, job.realization, job.cursors)) {}

  JF_HD Lanes rank(std::int64_t x) const { return TileRanks{map, base, ranks}(x); }

  JF_HD Lanes read(const Tick* memory, std::int64_t x) const {
    Lanes v{};
    if (ranks >= kLanes)
      __builtin_memcpy(&v, memory + base + map.offset(x), sizeof v);
    else
      __builtin_memcpy(&v, memory + base, static_cast<std::size_t>(ranks) * sizeof(Tick));
    return v;
  }
  JF_HD void write(Tick* memory, std::int64_t x, Lanes v) const {
    if (ranks >= kLanes)
      __builtin_memcpy(memory + base + map.offset(x), &v, sizeof v);
    else
      __builtin_memcpy(memory + base, &v, static_cast<std::size_t>(ranks) * sizeof(Tick));
  }

  // Without the ranks, which only noise asks for.
  JF_HD Clock<Lanes> get(std::int64_t x) const {
    const Lanes sent = load(scratch.sent + x);
    return {sent, kBusy ? load(scratch.busy + x) : sent, next(x), Lanes{}};
  }

  JF_HD void put(std::int64_t x, const Clock<Lanes>& c) const {
    store(scratch.sent + x, c.sent);
    if (kBusy) store(scratch.busy + x, c.busy);
    if (is_timed<Noise>) store(scratch.next + x, c.next);
  }
  JF_HD Lanes next(std::int64_t x) const {
    return is_timed<Noise> ? load(scratch.next + x) : Lanes{};
  }

  // Phases are drawn again in each pass: cheaper than keeping them in memory.
  void draw_noise(std::int64_t from, std::int64_t to) {
    if (!is_timed<Noise>) return;
    if constexpr (is_general<Noise>) {
      const RoundKeys keys(p.seed);
      const TileRanks rank_of{map, base, ranks};
      FirstIntervals{keys, noise, rank_of, from, to, scratch.next}.find();
      return;
    }
    std::int64_t x = from;
    if constexpr (std::is_same_v<Noise, Periodic>) {
      if (noise.drawn_alone() && to - from >= 2 * kLanes && map.low_bits > kLaneBits) {
        const RoundKeys keys(p.seed);
        for (; x < to; x += 2 * kLanes) {
          const auto u = only_uniform64(keys, kPhase, base + map.offset(x), job.realization);
          store(scratch.next + x, noise.first(noise.template scaled<Lanes>(u.even)));
          store(scratch.next + x + kLanes, noise.first(noise.template scaled<Lanes>(u.odd)));
        }
      }
    }
    for (; x < to; x += kLanes)
      store(scratch.next + x, begin_noise(noise, p.seed, job.realization, rank(x)));
  }

  // The same as the pass before left it, or at time 0.
  JF_HD Clock<Lanes> before(std::int64_t x) const {
    Clock<Lanes> c{Lanes{}, Lanes{}, next(x), Lanes{}};
    if (!job.pass->load) return c;
    const Lanes packed = read(job.memory, x);
    c.sent = c.busy = packed & ~kCopyBit;
    seek(noise, c.next, c.sent, false);
    if (!kBusy) return c;
    if (job.pass->busy_in) {
      c.busy = read(job.second, x);
    } else if (any_greater(Lanes{}, packed)) {
      Clock<Lanes> copied = c;
      copied.busy =
          communicate(noise, copied.next, c.sent, p.costs.send * job.pass->copies, rank(x));
      c.busy = select(packed < 0, copied.busy, c.busy);
      c.next = select(packed < 0, copied.next, c.next);
    }
    return c;
  }

  void leave(std::int64_t from, std::int64_t to) const {
    for (std::int64_t x = from; x < to; x += kLanes) {
      const Clock<Lanes> c = get(x);
      Lanes packed = c.sent;
      if (kBusy && job.pass->busy_out)
        write(job.second, x, c.busy);
      else if (kBusy)
        packed |= (c.busy != c.sent) & kCopyBit;
      write(job.memory, x, packed);
    }
  }
};

}  // namespace
}  // namespace jf
