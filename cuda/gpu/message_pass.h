// How message passes are run on a device. A thread is a rank of a realization. What a pass does is
// a list of actions: in each, some ranks do something that no other of them has to wait for.
//
// Either each action is a launch of its own, over the ranks that take part in it and no others; the
// state of all ranks lies in global memory, [array][rank][realization], so that neighbouring
// threads use neighbouring memory. Or, where a realization has few ranks, a block holds some
// realizations in its shared memory and goes through the actions by itself, with barriers between
// them.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "core/messages.h"
#include "gpu/jobs.h"

namespace jf::gpu {

enum class MessageAction : std::int32_t {
  kBeginRanks,
  kWork,
  kSendForward,
  kTakeForward,
  kCatchUp,
  kSend,
  kReceive,
  kSendAndReceive,  // by one thread, where no rank of a turn does both
  kObserveRow,
  kStoreRanks,
  kEndOfPass,
};

struct MessagePlace {
  std::int32_t step, turn;
  MessageAction action;
};

// The order of the actions of a pass. `p`: of the host where the host asks, else of the device.
struct MessageOrder {
  const ProgramView& p;
  const Pass& pass;

  JF_HD MessagePlace first() const { return {pass.begin, 0, MessageAction::kBeginRanks}; }

  JF_HD MessagePlace after(MessagePlace at) const {
    using enum MessageAction;
    if (at.action == kStoreRanks) return {at.step, 0, kEndOfPass};
    if (at.action == kBeginRanks) return enter(pass.begin, 0);
    if (at.action == kSendForward) return {at.step, at.turn, kTakeForward};
    if (at.action == kCatchUp) return exchange(at.step, at.turn);
    if (at.action == kSend) return {at.step, at.turn, kReceive};
    const Step& step = p.steps[at.step];
    if (at.action != kObserveRow) {
      if (at.turn + 1 < step.repeat) return enter(at.step, at.turn + 1);
      if (step.row >= 0) return {at.step, at.turn, kObserveRow};
    }
    return enter(at.step + 1, 0);
  }

  // How many ranks, or messages, an action is done to.
  JF_HD std::int64_t count(MessagePlace at) const {
    using enum MessageAction;
    if (at.action == kSend || at.action == kReceive || at.action == kSendAndReceive)
      return message_count(p.steps[at.step], p.ranks);
    return at.action == kObserveRow && p.one_rank ? 1 : p.ranks;
  }

 private:
  JF_HD MessagePlace enter(std::int32_t number, std::int32_t turn) const {
    using enum MessageAction;
    for (; number < pass.end; ++number) {
      const Step& step = p.steps[number];
      if (step.kind == kCompute) return {number, 0, kWork};
      if (step.kind == kForward) return {number, 0, kSendForward};
      if (step.kind == kMessage)
        return catches_up(step, turn) ? MessagePlace{number, turn, kCatchUp}
                                      : exchange(number, turn);
      if (step.row >= 0) return {number, 0, kObserveRow};
    }
    return {pass.end, 0, pass.store ? kStoreRanks : kEndOfPass};
  }
  JF_HD MessagePlace exchange(std::int32_t number, std::int32_t turn) const {
    const bool one_way = goes_one_way(p.steps[number]);
    return {number, turn, one_way ? MessageAction::kSendAndReceive : MessageAction::kSend};
  }
};

// What threads of a launch do. Thread t (of a block that runs alone, or of all blocks) has ranks of
// realization t mod width: number begin + t / width of the action, and every `stride` from there
// on.
struct MessageLaunch {
  MessagePlace first;
  std::int64_t actions;        // from the first one on; one unless a block has all ranks
  std::int64_t begin, end;     // of what the one action is done to
  std::int64_t width, stride;  // realizations side by side
  bool blocks;                 // each block is alone, and has realizations of its own
  bool resume, suspend;        // its state comes from, and goes to, global memory
};

struct MessageArena {
  Tick* ticks;  // [array][rank][realization], or null
  std::int64_t arrays;
  bool first;  // of the message passes

  // Of a thread's realization. `base`: of the first array; `stride`: realizations side by side.
  template <bool kLinks>
  JF_HD static MessageState state(const ProgramView& p, Tick* base, std::int64_t stride) {
    const std::int64_t each = p.ranks * stride;
    MessageState s{base, base, base + each, nullptr, nullptr, base + 2 * each, nullptr, stride};
    Tick* more = s.left + each;
    if constexpr (kLinks) {
      s.out = more;
      s.in = more + each;
      more += 2 * each;
    }
    if (p.costs.forward > 0) s.busy = more;
    return s;
  }
};

// The layout for one program.
struct MessageLayout {
  // Threads of a launch, and of a block that runs alone.
  static constexpr int kThreads = 256, kBlock = 512;
  // A launch has no more threads than this.
  static constexpr std::int64_t kMaxThreads = std::int64_t{1} << 28;
  // So many realizations keep a large device busy, a block each; so many threads do it in one
  // launch. Fewer take as long as starting them does, some microseconds: then a barrier is better,
  // which takes a tenth of that.
  static constexpr std::int64_t kBusyBlocks = 128, kBusyThreads = std::int64_t{1} << 15;
  // What a launch costs, in threads.
  static constexpr std::int64_t kLaunchWork = std::int64_t{1} << 15;
  // How many ranks a thread has before it hands on what it observed of them.
  static constexpr std::int64_t kObserved = 32;

  bool passes = false, links = false;
  std::int64_t arrays = 0, ranks = 0;
  std::int64_t actions = 0, work = 0;  // in all message passes; work: ranks in all actions
  // Turns that a block goes through in one launch: of all its threads, about a microsecond each.
  std::int64_t max_rounds = std::int64_t{1} << 18;

  // How a batch is run.
  bool blocks = false;
  int width = 1, threads = kThreads;  // of a block: realizations, threads
  std::int64_t shared_bytes = 0;
  std::int64_t ticks = 0;  // of a realization in the arena

  MessageLayout(const Program& p, const std::vector<Pass>& all, std::int64_t max_shared)
      : max_shared_(max_shared), one_pass_(all.size() == 1) {
    const ProgramView view = p.view(0);
    for (const Pass& pass : all) {
      if (pass.kind != kMessagePass) continue;
      passes = true;
      const MessageOrder order{view, pass};
      for (MessagePlace at = order.first(); at.action != MessageAction::kEndOfPass;
           at = order.after(at), ++actions)
        work += order.count(at);
    }
    if (!passes) return;
    ranks = p.ranks();
    links = p.links_matter();
    arrays = 3 + (links ? 2 : 0) + (p.costs.forward > 0);
    choose(1);
  }

  // Whether the ranks of a realization fit a block.
  bool fits() const { return bytes(1) <= max_shared_; }

  // How batches of so many realizations are run.
  void choose(std::int64_t batch) {
    choose(batch, fits() && (batch >= kBusyBlocks || work * batch < kBusyThreads * actions));
  }
  void choose(std::int64_t batch, bool by_blocks) {
    blocks = passes && by_blocks;
    shared_bytes = 0;
    threads = kThreads;
    ticks = arrays * ranks;
    if (!blocks) return;
    // Realizations that give all threads of a block a rank.
    for (width = 1; width * ranks < kBlock && width < batch;) width *= 2;
    threads = static_cast<int>(std::clamp<std::uint64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(width * ranks)), 32, kBlock));
    shared_bytes = bytes(width);
    // Between launches nothing is left in shared memory.
    if (one_pass_ && work * width / threads + actions <= max_rounds) ticks = 0;
  }

  // Calls f(launch, blocks of the grid, work) for a pass. `p`: the host's; `first`: see
  // MessageArena; `most`: work that a launch may do.
  template <class F>
  void each_launch(const ProgramView& p, const Pass& pass, bool first, std::int64_t realizations,
                   std::int64_t most, F&& f) const {
    const MessageOrder order{p, pass};
    if (blocks)
      each_part(order, !first, realizations, most, f);
    else
      for (MessagePlace at = order.first(); at.action != MessageAction::kEndOfPass;
           at = order.after(at))
        each_slice(at, order.count(at), realizations, most, f);
  }

 private:
  template <class F>
  void each_part(const MessageOrder& order, bool resume, std::int64_t realizations,
                 std::int64_t most, F&& f) const {
    const bool whole = ticks == 0;  // see choose()
    MessagePlace at = order.first();
    for (; at.action != MessageAction::kEndOfPass; resume = true) {
      MessageLaunch launch{at, 0, 0, 0, width, threads / width, true, resume, !whole};
      std::int64_t rounds = 0, done = 0;
      for (; at.action != MessageAction::kEndOfPass; at = order.after(at), ++launch.actions) {
        if (!whole && (rounds >= max_rounds || done >= most)) break;
        rounds += 1 + order.count(at) * width / threads;
        done += order.count(at) * realizations;
      }
      f(launch, (realizations + width - 1) / width, done);
    }
  }

  template <class F>
  void each_slice(MessagePlace at, std::int64_t count, std::int64_t realizations, std::int64_t most,
                  F&& f) const {
    MessageLaunch launch{at, 1, 0, 0, realizations, count, false, false, false};
    std::int64_t each = std::max<std::int64_t>(1, std::min(most, kMaxThreads) / realizations);
    std::int64_t chunks = count;
    if (at.action == MessageAction::kObserveRow) {
      // Threads of a warp that have the same realization lie a power of two apart.
      const std::int64_t together = std::min<std::int64_t>(
          kWarpThreads, std::bit_ceil(static_cast<std::uint64_t>(realizations)));
      launch.width = (realizations + together - 1) / together * together;
      chunks = std::clamp<std::int64_t>(kBusyThreads / launch.width, 1,
                                        (count + kObserved - 1) / kObserved);
      launch.stride = chunks;
    }
    for (std::int64_t begin = 0; begin < count; begin += each) {
      launch.begin = begin;
      launch.end = std::min(begin + each, count);
      const std::int64_t wide = launch.width * std::min(chunks, launch.end - begin);
      f(launch, (wide + kThreads - 1) / kThreads,
        std::max(kLaunchWork, (launch.end - begin) * realizations));
    }
  }

  std::int64_t bytes(std::int64_t realizations) const { return 8 * arrays * ranks * realizations; }

  static constexpr std::int64_t kWarpThreads = 32;
  std::int64_t max_shared_;
  bool one_pass_;
};

}  // namespace jf::gpu
