// How passes over segments (segment.h) are cut into launches.
#pragma once

#include "../segment.h"

namespace jf::gpu {

constexpr int kSegmentBlock = 256;

enum SegmentKind : std::uint32_t {
  kSweptSegment,     // some guesses may still change
  kObservedSegment,  // none has: the sweep at hand is the last
  kDoneSegment,
};
struct SegmentState {
  std::uint32_t kind, changed;  // changed: some guess has, in the sweep at hand
};

// Working memory of the segments in work, and how far they are.
struct SegmentArena {
  Tick* ticks;
  std::uint8_t* reached;
  SegmentState* state;
  std::uint32_t* left;  // segments that are not done
  std::int64_t copies;  // guesses of a rank

  JF_HD SegmentScratch of(std::int64_t place, std::int64_t size) const {
    Tick* mine = ticks + place * size * (2 + copies);
    return {mine, mine + size, mine + 2 * size, reached + place * size};
  }
};

enum SegmentWork : std::int32_t {
  kBeginSegments,  // for each rank
  kLoadSegments,   // for each rank
  kSweepSegments,  // of one step, for each group of ranks
  kEndSweep,       // for each segment
  kStoreSegments,  // for each rank
};

// What one launch does.
struct SegmentPart {
  std::int32_t work, step;
  std::int32_t bits;        // each segment has 2^bits of what it is done for
  std::int64_t first;       // number of the first segment in work, among those of all realizations
  std::int64_t begin, end;  // of what it is done for, among that of all segments in work
};

}  // namespace jf::gpu
