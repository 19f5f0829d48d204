// What cpu/engine.cpp hands to the compilations of cpu/messages_isa.cpp.
#pragma once

#include <atomic>

#include "../message.h"
#include "../plan.h"

namespace jf {

// Ticks that may be read before the first entry of MessageState::left, and after the last: a
// register of ranks may reach beyond those that are meant.
constexpr std::int64_t kMessageMargin = 8;

// Ranks in a subtree, and in a block, see message_blocks.h.
constexpr int kSubtreeSteps = 3;
constexpr int kSubtree = 1 << kSubtreeSteps;
constexpr int kBlockSteps = 2 * kSubtreeSteps;
constexpr int kBlock = 1 << kBlockSteps;

// What blocks do: up at the start, down at the end, which noise may delay or not. idle: before
// that, each of their first ranks but one has been idle until its only message comes, and nobody
// asks when they are free. So it is enough to know when each of them may send. once: each of them
// sends at most once, and does nothing after that.
struct BlockUse {
  bool any = false, climbs = false, descends = false, descent_works = false;
  bool idle = false, once = false;
};

// Else, what they do over several cycles: see the functions of BlockPhases that have these names.
struct CycleUse {
  bool any = false, one_way = false, spaced = false, answers_alone = false;
};

// What of blocks is the same in all realizations that share memory one after another: the first of
// them finds it out.
struct BlocksKnown {
  bool use_found = false, ranks_found = false;
  BlockUse use;
  CycleUse cycles;
};

// What draws of the ranks of blocks begin with (RankRounds), once known->ranks_found. Of `blocks`
// blocks, but no more than kMost; and room for as many as a register has lanes.
struct RankTable {
  static constexpr std::int64_t kMost = 1024;

  Tick* words;
  std::int64_t blocks;
  BlocksKnown* known;
};

// A message pass over all ranks of one realization. The arrays of `state` have an entry for each
// rank, rounded up to a full register, and are aligned to 64 bytes; `left` has a margin besides.
struct MessageJob {
  const ProgramView* program;
  const Pass* pass;
  std::uint32_t realization;
  bool full_statistics;
  bool first;  // the realization's first message pass
  MessageState state;
  Tick* capture;              // rows x ranks, takes every ready time; or null
  Cursor* cursors;            // of all ranks, for noise that needs them
  Observation* observations;  // one per row, merged into
  const std::atomic<bool>* stop;
  // First ranks of blocks and of subtrees (message_blocks.h).
  MessageState of_blocks, of_subtrees;
  RankTable ranks;
};

// Whether to give up: what is in the arrays does not matter then. For looks that are rare enough.
bool stopped(const MessageJob& job);
constexpr std::int64_t kMessagePatience = std::int64_t{1} << 17;  // ranks in between

// The compilations for different instruction sets.
using RunMessages = void (*)(const MessageJob&);
void run_messages_portable(const MessageJob& job);
void run_messages_avx2(const MessageJob& job);
void run_messages_avx512(const MessageJob& job);

}  // namespace jf
