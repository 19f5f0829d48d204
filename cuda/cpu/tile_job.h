// What cpu/engine.cpp hands to the compilations of cpu/tiles_isa.cpp.
#pragma once

#include "../plan.h"

namespace jf {

// Ranks in the widest register of any compilation.
constexpr std::int64_t kMaxLanes = 8;

// Delays are drawn beforehand for so many steps, which share a block of random numbers, and so many
// ranks, which makes 8 KiB.
constexpr std::int64_t kDrawnSteps = 4, kDrawnBits = 8, kDrawnRanks = 1 << kDrawnBits;

// What delays are drawn into, see prepare.h.
enum DrawnDelays { kReceiving, kSending, kOfMessages, kDrawnKinds };

// Room for one tile; each array holds max(tile size, kLanes) ticks, aligned to 64 bytes.
struct TileScratch {
  Tick *sent, *busy, *next;
  // Each of kDrawnSteps * kDrawnRanks words, or none.
  std::uint64_t* draws = nullptr;
  Tick* sums[kDrawnKinds] = {};
};

// What a tile is part of. `memory` holds one Tick per rank between passes (see kCopyBit),
// `second` another one if forwards cost CPU time; `capture` (rows x ranks) takes every ready time,
// or null.
struct TileJob {
  const ProgramView* program;
  const Pass* pass;
  std::int64_t tile;
  std::uint32_t realization;
  bool full_statistics;
  Tick *memory, *second, *capture;
  Cursor* cursors;            // of all ranks, for noise that needs them
  Observation* observations;  // one per row, merged into
};

// The compilations for different instruction sets.
using RunTile = void (*)(const TileJob&, const TileScratch&);
void run_tile_portable(const TileJob& job, const TileScratch& scratch);
void run_tile_avx2(const TileJob& job, const TileScratch& scratch);
void run_tile_avx512(const TileJob& job, const TileScratch& scratch);

}  // namespace jf
