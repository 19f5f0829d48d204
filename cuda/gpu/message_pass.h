// Message passes on the GPU: list of actions, layout of memory, and the kernel launches. The
// arithmetic is that of core/message_steps.h. A thread computes one rank of one realization. A pass
// is a list of actions; in an action no rank has to wait for another.
//
// Either each action is a launch of its own, over exactly the ranks that take part in it. The state
// of all ranks lies in global memory, [array][rank][realization], so that neighbouring threads use
// neighbouring memory. Consecutive actions of few ranks, as of a chain, are one launch: a block
// executes all of them for some realizations, with barriers between them. Or, if a realization has
// few ranks, a block keeps some realizations in its shared memory and executes all actions by
// itself.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "core/message_steps.h"
#include "gpu/jobs.h"

namespace jf::gpu {

enum class MessageAction : std::int32_t {
  kBeginRanks,
  kWork,
  kSendForward,
  kReceiveForward,
  kCatchUp,
  kSend,
  kReceive,
  kSendAndReceive,  // in one thread, if no rank both sends and receives in a turn
  kStartClock,
  kObserveRow,
  kStoreRanks,
  kEndOfPass,
};

struct ActionPosition {
  std::int32_t step, turn;
  MessageAction action;
};

// The order of the actions of a pass, for host (`p`: its view) and device.
struct MessageOrder {
  const ProgramView& p;
  const Pass& pass;

  JF_HD ActionPosition first() const { return {pass.begin, 0, MessageAction::kBeginRanks}; }

  JF_HD ActionPosition after(ActionPosition position) const {
    using enum MessageAction;
    if (position.action == kStoreRanks) return {position.step, 0, kEndOfPass};
    if (position.action == kBeginRanks) return enter(pass.begin, 0);
    if (position.action == kSendForward) return {position.step, position.turn, kReceiveForward};
    if (position.action == kCatchUp) return exchange(position.step, position.turn);
    const Step& step = p.steps[position.step];
    if (position.action == kSend && !is_half(step)) return {position.step, position.turn, kReceive};
    if (position.action != kObserveRow) {
      if (position.turn + 1 < step.repeat) return enter(position.step, position.turn + 1);
      if (step.row >= 0) return {position.step, position.turn, kObserveRow};
    }
    return enter(position.step + 1, 0);
  }

  // The number of ranks, or of messages, of an action.
  JF_HD std::int64_t count(ActionPosition position) const {
    using enum MessageAction;
    if (position.action == kSend || position.action == kReceive ||
        position.action == kSendAndReceive)
      return TurnMessages(p.steps[position.step], p.ranks, p.listed_messages).count;
    return position.action == kObserveRow && p.one_rank ? 1 : p.ranks;
  }

 private:
  JF_HD ActionPosition enter(std::int32_t number, std::int32_t turn) const {
    using enum MessageAction;
    for (; number < pass.end; ++number) {
      const Step& step = p.steps[number];
      if (step.kind == kCompute && !is_idle(step)) return {number, 0, kWork};
      if (step.kind == kForward) return {number, 0, kSendForward};
      if (step.kind == kMessage)
        return catches_up(step, turn) ? ActionPosition{number, turn, kCatchUp}
                                      : exchange(number, turn);
      if ((step.flags & kStartsClock) != 0) return {number, 0, kStartClock};
      if (step.row >= 0) return {number, 0, kObserveRow};
    }
    return {pass.end, 0, pass.store ? kStoreRanks : kEndOfPass};
  }
  // Whether no rank has work or a delay in a compute step. It changes no time then, and `next` may
  // stay behind (Periodic::advance, and cursors seek after a forward alone).
  JF_HD bool is_idle(const Step& step) const {
    return p.costs.work == 0 && step.map == 0 && p.rank_delay_count == 0 &&
           (step.flags & kAfterForward) == 0;
  }
  JF_HD ActionPosition exchange(std::int32_t number, std::int32_t turn) const {
    const Step& step = p.steps[number];
    if ((step.flags & kReceivesOnly) != 0) return {number, turn, MessageAction::kReceive};
    const bool one_way = goes_one_way(step);
    return {number, turn, one_way ? MessageAction::kSendAndReceive : MessageAction::kSend};
  }
};

// One launch. Thread t (of a block that runs alone, or of all blocks) has items of realization
// t mod width, where an item is a rank or message of the action: begin + t / width, and every
// `stride` from there on.
struct MessageLaunch {
  ActionPosition first;
  std::int64_t actions = 0;              // from the first one on; 1 unless by_blocks
  std::int64_t begin = 0, end = 0;       // items, unless by_blocks
  std::int64_t width = 1, stride = 1;    // realizations side by side
  bool by_blocks = false;                // each block runs alone, with realizations of its own
  bool in_shared = false;                // their state is in its shared memory
  bool resume = false, suspend = false;  // it is read from global memory; it is written to it
};

// The action that a block executes, and the number of its items.
struct BlockAction {
  std::int32_t step, turn;  // its position
  MessageAction action;
  std::int64_t count;
};
// At the begin of shared memory: the action at hand, and the one after it.
constexpr std::int64_t kBlockActionBytes = 2 * sizeof(BlockAction);
static_assert(kBlockActionBytes % sizeof(Tick) == 0);

// The state of the ranks of a realization on the GPU. In shared memory, the realizations of a block
// lie side by side, and an entry is in the bank of its number modulo 16, where one thread is served
// at a time. Ranks that are a power of two apart, as in a tree, would all be in the same bank. So
// the entries of each group of 16 are permuted, by the number of the group.
struct DeviceMessageState : MessageState {
  static constexpr std::uint32_t kGroup = 16;

  std::uint32_t lane = 0;      // which realization of the block
  std::uint32_t permuted = 0;  // the bits of an entry's number that are: those within a group, or 0

  JF_HD constexpr std::int64_t place(std::int64_t i) const {
    // One multiplication: a batch has fewer than 2^32 realizations.
    const auto entry =
        std::uint64_t{static_cast<std::uint32_t>(i)} * static_cast<std::uint32_t>(stride) + lane;
    const auto low = static_cast<std::uint32_t>(entry);
    return static_cast<std::int64_t>(entry ^ ((low >> 4 ^ low >> 8) & permuted));
  }
  // Entries of an array.
  JF_HD static std::int64_t padded(std::int64_t entries) {
    return (entries + kGroup - 1) & ~std::int64_t{kGroup - 1};
  }
};

struct MessageArena {
  Tick* ticks;  // [array][rank][realization], or null
  std::int64_t arrays;
  bool first;  // this is the first message pass

  // Of one realization. `base`: of the first array; `stride`: number of realizations side by side;
  // `lane`: its number among those of a block in shared memory.
  template <bool kLinks>
  JF_HD static DeviceMessageState state(const ProgramView& p, Tick* base, std::int64_t stride,
                                        bool in_shared, std::uint32_t lane) {
    const std::int64_t entries = p.ranks * stride;
    const std::int64_t per_array = in_shared ? DeviceMessageState::padded(entries) : entries;
    DeviceMessageState s{
        {base, base, base + per_array, nullptr, nullptr, base + 2 * per_array, stride, per_array},
        in_shared ? lane : 0,
        in_shared ? DeviceMessageState::kGroup - 1 : 0};
    Tick* next = s.left + p.departures * per_array;
    if constexpr (kLinks) {
      s.out = next;
      s.in = next + per_array;
      next += 2 * per_array;
    }
    if (p.costs.forward > 0) s.busy = next;
    return s;
  }
};

// How the message passes of one program are launched.
struct MessageLayout {
  // Threads of a launch, and of a block that runs alone.
  static constexpr int kThreads = 256, kBlock = 512;
  static constexpr std::int64_t kMaxThreads = std::int64_t{1} << 28;
  // Threads of a launch that keep a large device busy.
  static constexpr std::int64_t kBusyThreads = std::int64_t{1} << 15;
  // Actions of so few items, of a realization, are combined in one launch; and how many at most,
  // as a step under a long list of noise takes 20 us.
  static constexpr std::int64_t kCombinedItems = 32, kMaxCombined = std::int64_t{1} << 13;
  // In nanoseconds, from times of 512 and 4,096 ranks on an H200 (tests/gpu/h200-2026-11-27.md):
  static constexpr double kLaunchTime = 4000;       // of a launch, without its items
  static constexpr double kCombinedTime = 800;      // of an action of a combined launch, likewise
  static constexpr double kBarrierTime = 400;       // of one in shared memory, likewise
  static constexpr double kLaunchItemTime = 0.025;  // of an item of launches that fill the device
  static constexpr double kBlockItemTime = 0.006;   // of an item of blocks that fill the device
  // What a launch costs at least, in threads, and an action between two barriers.
  static constexpr std::int64_t kLaunchWork = std::int64_t{1} << 15,
                                kActionWork = std::int64_t{1} << 13;
  // Ranks of which a thread merges the observations by itself.
  static constexpr std::int64_t kObserved = 32;

  bool passes = false, links = false;
  std::int64_t arrays = 0, ranks = 0;
  std::int64_t actions = 0, work = 0;  // of all message passes; work: items of all actions
  // Unless blocks have all ranks in shared memory: launches, and the actions that are combined.
  std::int64_t launches = 0, combined_actions = 0;
  // Rounds that a block executes in one launch: one item per thread, about a microsecond each, and
  // up to 20 of them under a long list of noise.
  std::int64_t max_rounds;
  std::int64_t multiprocessors = 128;  // of the device, which is busy with a block on each

  // For the current batch size:
  bool blocks = false;                // blocks run alone
  int width = 1, threads = kThreads;  // of a block: realizations, threads
  std::int64_t shared_bytes = 0;
  std::int64_t ticks = 0;  // of a realization in the arena

  MessageLayout(const Program& p, const std::vector<Pass>& all, std::int64_t max_shared)
      : max_rounds(std::int64_t{1} << (p.general() ? 15 : 18)),
        max_shared_(max_shared),
        one_pass_(all.size() == 1) {
    const ProgramView view = p.view(0);
    for (const Pass& pass : all) {
      if (pass.kind != kMessagePass) continue;
      passes = true;
      const MessageOrder order{view, pass};
      for (ActionPosition position = order.first(); position.action != MessageAction::kEndOfPass;
           position = order.after(position), ++actions)
        work += order.count(position);
      each_launch(view, pass, true, 1, INT64_MAX, [&](const MessageLaunch& launch, auto, auto) {
        ++launches;
        if (launch.by_blocks) combined_actions += launch.actions;
      });
    }
    if (!passes) return;
    ranks = p.ranks();
    links = p.links_matter();
    arrays = 2 + p.departures() + (links ? 2 : 0) + (p.costs.forward > 0);
    choose(1);
  }

  // Whether the ranks of a realization fit a block.
  bool fits() const { return bytes(1) <= max_shared_; }

  // Chooses how batches of so many realizations are run.
  void choose(std::int64_t batch) {
    choose(batch, fits());
    if (blocks && time_in_launches(batch) < time_in_blocks(batch)) choose(batch, false);
  }
  void choose(std::int64_t batch, bool by_blocks) {
    blocks = passes && by_blocks;
    shared_bytes = kBlockActionBytes;
    threads = kThreads;
    ticks = arrays * ranks;
    if (!blocks) return;
    // So many realizations that all threads of a block have a rank, if they fit.
    for (width = 1; width * ranks < kBlock && width < batch && bytes(2 * width) <= max_shared_;)
      width *= 2;
    threads = static_cast<int>(std::clamp<std::uint64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(width * ranks)), 32, kBlock));
    shared_bytes = bytes(width);
    // Shared memory does not survive a launch: without a single one, state needs global memory.
    if (one_pass_ && work * width / threads + actions <= max_rounds) ticks = 0;
  }

  // Realizations that are computed in about the time of one: a block on each multiprocessor; or as
  // many as have the items that take as long as the launches, or their barriers, themselves.
  std::int64_t side_by_side() const {
    if (!passes) return 1;
    if (blocks) return multiprocessors * width;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(time_in_launches(0) / item_time()));
  }

  // The largest batch that is of use: a chain runs no faster in a larger one, which takes memory.
  std::int64_t largest_batch() const {
    return passes && !blocks && fits() ? 4 * side_by_side() : INT64_MAX;
  }

  // Calls f(launch, blocks of the grid, work) for each launch of a pass. `p`: the host's view;
  // `first`: see MessageArena; `max_work`: limit of a launch.
  template <class F>
  void each_launch(const ProgramView& p, const Pass& pass, bool first, std::int64_t realizations,
                   std::int64_t max_work, F&& f) const {
    const MessageOrder order{p, pass};
    if (blocks) return each_part(order, !first, realizations, max_work, f);
    for (ActionPosition position = order.first(); position.action != MessageAction::kEndOfPass;) {
      const ActionPosition begin = position;
      MessageLaunch combined{.first = begin, .by_blocks = true};
      std::int64_t done = 0;
      for (; position.action != MessageAction::kEndOfPass; position = order.after(position)) {
        const std::int64_t count = order.count(position);
        if (count > kCombinedItems || combined.actions >= std::min(max_rounds, kMaxCombined) ||
            done >= max_work)
          break;
        while (combined.stride < count) combined.stride *= 2;
        ++combined.actions;
        done = combined.actions * std::max(kActionWork, combined.stride * realizations);
      }
      if (combined.actions > 1) {
        combined.width = kThreads / combined.stride;
        f(combined, (realizations + combined.width - 1) / combined.width, done);
      } else {
        each_slice(begin, order.count(begin), realizations, max_work, f);
        position = order.after(begin);
      }
    }
  }

 private:
  template <class F>
  void each_part(const MessageOrder& order, bool resume, std::int64_t realizations,
                 std::int64_t max_work, F&& f) const {
    const bool whole = ticks == 0;  // see choose()
    const std::int64_t turns = turns_of(realizations);
    ActionPosition position = order.first();
    for (; position.action != MessageAction::kEndOfPass; resume = true) {
      MessageLaunch launch{.first = position,
                           .width = width,
                           .stride = threads / width,
                           .by_blocks = true,
                           .in_shared = true,
                           .resume = resume,
                           .suspend = !whole};
      std::int64_t rounds = 0, done = 0;
      for (; position.action != MessageAction::kEndOfPass;
           position = order.after(position), ++launch.actions) {
        if (!whole && (rounds >= max_rounds || done >= max_work)) break;
        rounds += 1 + order.count(position) * width / threads;
        done += std::max(turns * kActionWork, order.count(position) * realizations);
      }
      f(launch, (realizations + width - 1) / width, done);
    }
  }

  template <class F>
  void each_slice(ActionPosition position, std::int64_t count, std::int64_t realizations,
                  std::int64_t max_work, F&& f) const {
    MessageLaunch launch{.first = position, .actions = 1, .width = realizations, .stride = count};
    std::int64_t per_launch =
        std::max<std::int64_t>(1, std::min(max_work, kMaxThreads) / realizations);
    std::int64_t per_realization = count;
    if (position.action == MessageAction::kObserveRow) {
      // In a warp, threads of the same realization must be a power of two apart.
      const std::int64_t distance = std::min<std::int64_t>(
          kWarpThreads, std::bit_ceil(static_cast<std::uint64_t>(realizations)));
      launch.width = (realizations + distance - 1) / distance * distance;
      per_realization = std::clamp<std::int64_t>(kBusyThreads / launch.width, 1,
                                                 (count + kObserved - 1) / kObserved);
      launch.stride = per_realization;
    }
    for (std::int64_t begin = 0; begin < count; begin += per_launch) {
      launch.begin = begin;
      launch.end = std::min(begin + per_launch, count);
      const std::int64_t thread_count =
          launch.width * std::min(per_realization, launch.end - begin);
      f(launch, (thread_count + kThreads - 1) / kThreads,
        std::max(kLaunchWork, (launch.end - begin) * realizations));
    }
  }

  // Of a batch, in nanoseconds. `width`: as chosen for blocks. A chain of many realizations takes
  // long in shared memory, which has room for few at a time: each action has one rank of each at
  // work, for which all others wait at a barrier.
  double time_in_launches(std::int64_t batch) const {
    return static_cast<double>(launches) * kLaunchTime +
           static_cast<double>(combined_actions) * kCombinedTime +
           static_cast<double>(batch) * item_time();
  }
  double item_time() const { return static_cast<double>(work) * kLaunchItemTime; }  // of all items
  double time_in_blocks(std::int64_t batch) const {
    return static_cast<double>(turns_of(batch)) *
           (static_cast<double>(actions) * kBarrierTime +
            static_cast<double>(work * side_by_side()) * kBlockItemTime);
  }
  // How many blocks of shared memory each multiprocessor executes, one after the other.
  std::int64_t turns_of(std::int64_t realizations) const {
    return (realizations + side_by_side() - 1) / side_by_side();
  }

  std::int64_t bytes(std::int64_t realizations) const {
    return kBlockActionBytes + 8 * arrays * DeviceMessageState::padded(ranks * realizations);
  }

  static constexpr std::int64_t kWarpThreads = 32;
  std::int64_t max_shared_;
  bool one_pass_;
};

}  // namespace jf::gpu
