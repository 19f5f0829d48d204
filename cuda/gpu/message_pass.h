// How message passes are laid out on a device: a block to a realization, whose ranks are in shared
// memory where that holds them.
#pragma once

#include <algorithm>
#include <vector>

#include "../message.h"
#include "pass_job.h"

namespace jf::gpu {

constexpr int kMessageBlock = 512;
// In front of the ranks in shared memory: to merge observations in.
constexpr std::int64_t kMessageReduceTicks = 4 * (kMessageBlock / 32);
// Turns of ranks in one launch; so many by one block take a second or so.
constexpr std::int64_t kMessageLaunch = std::int64_t{1} << 31;

// What part of a pass a launch does: so many turns, from this one of this step on. The first launch
// of a pass takes what the pass before left.
struct MessagePart {
  std::int32_t step, turn;
  std::int64_t turns;
};

struct MessageArena {
  // Of all realizations, [array][rank] each, if the ranks are not in shared memory: next, left, and
  // where links matter out and in. Else null.
  Tick* ticks;
  bool first;  // of the message passes

  // `shared`: of a block. Forwards that cost CPU time need one array more.
  template <bool kLinks>
  JF_HD MessageState state(const PassJob& job, std::int64_t realization, Tick* shared) const {
    const std::int64_t n = job.program.ranks;
    Tick *memory = shared, *second = shared + n;
    const bool forwards = job.program.costs.forward > 0;
    Tick* more = shared + (forwards ? 2 : 1) * n;
    if (ticks != nullptr) {
      memory = job.memory + realization * job.rank_stride;
      second = job.second + realization * job.rank_stride;
      more = ticks + realization * n * (kLinks ? 4 : 2);
    }
    return {memory,
            forwards ? second : memory,
            more,
            kLinks ? more + 2 * n : nullptr,
            kLinks ? more + 3 * n : nullptr,
            more + n,
            nullptr,
            1};
  }
};

// The layout for one program.
struct MessageLayout {
  bool passes = false, shared = false, links = false;
  std::int64_t turns = 0;  // of all ranks, in all message passes
  int thread_bits = 0;     // of a block
  std::int64_t shared_bytes = 0;
  std::int64_t ticks = 0;  // of a realization in the arena

  MessageLayout(const Program& p, const std::vector<Pass>& all, std::int64_t most_shared) {
    for (const Pass& pass : all) {
      if (pass.kind != kMessagePass) continue;
      passes = true;
      for (int i = pass.begin; i < pass.end; ++i)
        turns += p.steps[static_cast<std::size_t>(i)].repeat;
    }
    if (!passes) return;
    links = p.links_matter();
    while (thread_bits < 9 && std::int64_t{1} << thread_bits < p.ranks()) ++thread_bits;
    thread_bits = std::max(thread_bits, 5);
    const std::int64_t arrays = links ? 4 : 2, all_arrays = arrays + 1 + (p.costs.forward > 0);
    shared_bytes = 8 * (kMessageReduceTicks + all_arrays * p.ranks());
    // Between launches nothing is left in shared memory.
    shared = all.size() == 1 && shared_bytes <= most_shared && turns <= kMessageLaunch / p.ranks();
    if (shared) return;
    shared_bytes = 8 * kMessageReduceTicks;
    ticks = arrays * p.ranks();
  }

  // The launches of a pass.
  std::vector<MessagePart> parts(const Program& p, const Pass& pass) const {
    const std::int64_t most = std::max<std::int64_t>(1, kMessageLaunch / p.ranks());
    std::vector<MessagePart> parts;
    std::int64_t room = 0;
    for (int i = pass.begin; i < pass.end; ++i) {
      std::int32_t turn = 0;
      const std::int32_t repeat = p.steps[static_cast<std::size_t>(i)].repeat;
      while (turn < repeat) {
        if (room == 0) {
          parts.push_back({i, turn, 0});
          room = most;
        }
        const std::int64_t now = std::min<std::int64_t>(room, repeat - turn);
        parts.back().turns += now;
        room -= now;
        turn += static_cast<std::int32_t>(now);
      }
    }
    return parts;
  }
};

}  // namespace jf::gpu
