// Cutting of a program (program.h) into passes over memory and tiles of ranks. plan() does it, in
// host_program.cpp. A pass runs consecutive steps on tiles. A tile is a set of ranks that contains
// the partners of its ranks in all steps of the pass, as in the passes of an FFT. Both engines
// execute the same passes; only the size of a tile differs.
//
// Words of blocking, from large to small. A batch: realizations whose state fits a GPU's memory. A
// pass: some steps of all ranks. A tile: ranks that go through a pass without the others. A segment
// (core/segment.h): ranks whose copies may overtake lower levels. A panel: some steps of a part of
// a segment. A chunk: ranks of a message pass whose state stays in the nearest cache. A block: what
// goes through some steps in registers; or the threads of CUDA.
#pragma once

#include "core/steps.h"

namespace jf {

// The ranks of a tile. The bits of a rank are: its low bits, its high bits (from high_start on),
// both together the local index in the tile; the remaining bits are the number of the tile.
struct TileMap {
  std::int32_t log2_ranks, low_bits, high_start, high_bits;

  JF_HD std::int32_t bits() const { return low_bits + high_bits; }
  JF_HD std::int64_t size() const { return std::int64_t{1} << bits(); }
  JF_HD std::int64_t tiles() const { return std::int64_t{1} << (log2_ranks - bits()); }

  // A tile consists of runs of so many contiguous ranks.
  JF_HD std::int64_t contiguous_ranks() const {
    return std::int64_t{1} << (high_start == low_bits ? bits() : low_bits);
  }

  // Rank of local index 0 of a tile.
  JF_HD std::int64_t base(std::int64_t tile) const {
    const std::int32_t between = high_start - low_bits;
    const std::int64_t middle = tile & ((std::int64_t{1} << between) - 1);
    return middle << low_bits | (tile >> between) << (high_start + high_bits);
  }
  JF_HD std::int64_t offset(std::int64_t local) const {
    const std::int64_t low = local & ((std::int64_t{1} << low_bits) - 1);
    return low | (local >> low_bits) << high_start;
  }
  JF_HD std::int64_t tile_of(std::int64_t rank) const {
    const std::int32_t between = high_start - low_bits;
    const std::int64_t middle = rank >> low_bits & ((std::int64_t{1} << between) - 1);
    return middle | rank >> (high_start + high_bits) << between;
  }
  JF_HD bool covers(std::int32_t bit) const {
    return bit < low_bits || (bit >= high_start && bit < high_start + high_bits);
  }
  // The local index of a rank in the tile that begins with rank 0.
  JF_HD std::int64_t local_of(std::int64_t rank) const {
    const std::int64_t low = rank & ((std::int64_t{1} << low_bits) - 1);
    return low | (rank >> high_start & ((std::int64_t{1} << high_bits) - 1)) << low_bits;
  }
  // The local bit that stands for bit `bit` of the rank.
  JF_HD std::int32_t local_bit(std::int32_t bit) const {
    return bit < low_bits ? bit : bit - high_start + low_bits;
  }
};

// Between passes the state of a rank is one Tick, `sent` (Clock, steps.h). In the butterfly `busy`
// differs from it only by sends of copies: one bit marks these, and the next pass computes `busy`
// again. Between forwards that cost CPU time `busy` is a second Tick.
constexpr Tick kCopyBit = INT64_MIN;

enum PassKind : std::int32_t {
  kTilePass = 0,     // every rank goes through every step: the recurrences of steps.h
  kSegmentPass = 1,  // ranks may skip levels: iterated to a fixed point, see segment.h
  kMessagePass = 2,  // all ranks of the program, not only those of exchanges: see message_steps.h
};

struct Pass {
  std::int32_t kind, begin, end;   // steps [begin, end)
  std::int32_t load, store;        // state is read at the begin, written at the end of the pass
  std::int32_t busy_in, busy_out;  // the state read, written has a second Tick, see kCopyBit
  std::int32_t copies;             // sent before the pass by a rank that has kCopyBit
  TileMap map;
};

// The times of rank `id` when a pass begins: at `index` of what the pass before stored, if it is to
// be loaded, or at time 0.
template <class Noise>
JF_HD Clock<Tick> clock_before(const ProgramView& p, const Pass& pass, const Noise& noise,
                               std::uint32_t realization, Tick id, bool load, std::int64_t index,
                               const Tick* sent_between, const Tick* busy_between) {
  Clock<Tick> c{0, 0, noise.first(p.seed, realization, id), id};
  if (!load) return c;
  const Tick packed = sent_between[index];
  c.sent = c.busy = packed & ~kCopyBit;
  noise.seek(c.next, c.sent, false);
  if (pass.busy_in)
    c.busy = busy_between[index];
  else if (packed < 0)
    c.busy = noise.communicate(c.next, c.sent, p.costs.send * pass.copies, id);
  return c;
}
JF_HD void store_clock(const Clock<Tick>& c, const Pass& pass, std::int64_t index,
                       Tick* sent_between, Tick* busy_between) {
  const bool copied = !pass.busy_out && c.busy != c.sent;
  sent_between[index] = c.sent | (copied ? kCopyBit : 0);
  if (pass.busy_out) busy_between[index] = c.busy;
}

}  // namespace jf
