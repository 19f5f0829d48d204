// CUDA kernel of messages, as of trees and rings: executes message_pass.h, by core/message_steps.h.
#pragma once

#include "gpu/block.cuh"
#include "gpu/kernels.h"

namespace jf::gpu {

template <class Noise, class Network, bool kLinks>
using DeviceRanks =
    MessageExecutor<Tick, Noise, Network, kLinks, std::uint32_t, DeviceMessageState>;

template <class Noise, class Network, bool kLinks>
struct MessageThread {
  const PassJob& job;
  const DeviceRanks<Noise, Network, kLinks>& ranks;
  const MessageLaunch& launch;
  const std::int64_t realization, first;  // first: rank, or message, of this thread
  const bool idle;                        // this thread has nothing to do
  const bool first_pass;

  // f(i) for the ranks, or messages, of this thread, which are below `end`.
  template <class F>
  JF_DEVICE void each(std::int64_t end, F&& f) const {
    if (idle) return;
    const auto end32 = static_cast<std::uint32_t>(end),  // ranks fit, and sums of two of them
        stride = static_cast<std::uint32_t>(launch.stride);
#pragma unroll 1
    for (auto i = static_cast<std::uint32_t>(first); i < end32; i += stride) f(std::int64_t{i});
  }

  JF_DEVICE void run(ActionPosition position, std::int64_t end) const {
    switch (position.action) {
      case MessageAction::kBeginRanks:
        return each(end, [&](std::int64_t i) { begin(i); });
      case MessageAction::kStoreRanks:
        return each(end, [&](std::int64_t i) { store(i); });
      case MessageAction::kObserveRow:
        return observe(job.program.steps[position.step], end);
      case MessageAction::kSend:
      case MessageAction::kReceive:
      case MessageAction::kSendAndReceive:
        return messages(position, end);
      default:
        return steps(position, end);
    }
  }

  // At the end of a launch a block's shared memory is copied to global memory, and back in the
  // next.
  JF_DEVICE void copy_state(const MessageArena& arena, bool to_memory) const {
    const std::int64_t n = job.program.ranks;
    for (std::int64_t array = 0; array < arena.arrays; ++array) {
      Tick* const in_block = ranks.s.sent + array * ranks.s.apart;
      Tick* const in_memory = arena.ticks + array * n * job.realizations + realization;
      each(n, [&](std::int64_t i) {
        Tick& ours = in_block[ranks.s.place(i)];
        Tick& kept = in_memory[i * job.realizations];
        to_memory ? kept = ours : ours = kept;
      });
    }
  }

 private:
  // Of rank i in the state between passes, where the ranks of a realization are contiguous.
  JF_DEVICE std::int64_t state_index(std::int64_t i) const {
    return realization * job.rank_stride + i;
  }
  JF_DEVICE void begin(std::int64_t i) const {
    const bool load = job.pass.load != 0;
    if (load) ranks.put(ranks.s.sent, i, job.sent_between[state_index(i)]);
    ranks.begin(i, load, first_pass);
  }
  JF_DEVICE void store(std::int64_t i) const {
    job.sent_between[state_index(i)] = ranks.get(ranks.s.sent, i);
    if (job.pass.busy_out) job.busy_between[state_index(i)] = ranks.get(ranks.s.busy, i);
  }

  JF_DEVICE void steps(ActionPosition position, std::int64_t end) const {
    if (first >= end) return;
    const Step step = job.program.steps[position.step];
    Tick* const departures = ranks.s.left;
    each(end, [&](std::int64_t i) {
      if (position.action == MessageAction::kWork) return ranks.work(step, i);
      if (position.action == MessageAction::kCatchUp) return ranks.catch_up(i);
      if (position.action == MessageAction::kStartClock) return ranks.start_clock(i);
      const std::int64_t partner = forward_partner(step, job.program.ranks, i);
      if (partner == kNoRank) return;
      if (position.action == MessageAction::kSendForward)
        ranks.put(departures, i, ranks.forward_leaves(step, i));
      else
        ranks.forward_comes(step, i, ranks.get(departures, i), ranks.get(departures, partner));
    });
  }

  JF_DEVICE void messages(ActionPosition position, std::int64_t end) const {
    if (first >= end) return;
    const Step step = job.program.steps[position.step];
    Tick* const departures = ranks.s.departures(step);
    each(end, [&](std::int64_t k) {
      const ProgramView& p = job.program;
      const ListedMessage message = TurnMessages(step, p.ranks, p.listed_messages)[k];
      const MessageTurn<Network> turn(p, ranks.network, step, position.turn, message.cost);
      Tick departure;
      if (position.action == MessageAction::kReceive)
        departure = ranks.get(departures, message.from);
      else
        departure = ranks.send(turn, message.from);
      if (position.action == MessageAction::kSend)
        ranks.put(departures, message.from, departure);
      else
        ranks.receive(turn, message.to, departure);
    });
  }

  // All threads of a warp call it.
  JF_DEVICE void observe(const Step& step, std::int64_t end) const {
    const bool full = job.full_statistics != 0;
    Observation o = Observation::empty();
    each(end, [&](std::int64_t i) { o.add(ranks.observed(step, i)); });
    for (auto distance = static_cast<int>(launch.width); distance < kWarp; distance *= 2)
      o.merge(shuffled(o, distance, full));
    if (threadIdx.x % kWarp < launch.width && !idle)
      merge_atomically(job.observation(realization, step.row), o, full);
  }
};

// Launch bounds are as for tile_kernel.
template <class Noise, class Network, bool kLinks>
__global__ void __launch_bounds__(MessageLayout::kBlock, is_general<Noise> || is_general<Network>)
    message_kernel(const __grid_constant__ PassJob job, const __grid_constant__ Noise noise,
                   const __grid_constant__ Network network,
                   const __grid_constant__ MessageArena arena,
                   const __grid_constant__ MessageLaunch launch) {
  JF_SHARED(Tick, shared);
  const bool by_block = launch.by_blocks;
  const unsigned thread = by_block ? threadIdx.x : blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned width = static_cast<unsigned>(launch.width), lane = thread % width;
  const std::int64_t index = lane + (by_block ? blockIdx.x * launch.width : 0);
  const bool idle = index >= job.realizations || thread / width >= launch.stride;
  const std::int64_t realization = idle ? 0 : index;
  const std::uint32_t number = job.first_realization + static_cast<std::uint32_t>(realization);

  Noise bound = noise.bind(number, job.cursors_of(realization), job.program.seed);
  if constexpr (is_general<Noise>) bound.cursors_per_rank = job.cursor_rank_stride;
  BlockAction* const planned = reinterpret_cast<BlockAction*>(shared);
  Tick* const base =
      launch.in_shared ? shared + kBlockActionBytes / sizeof(Tick) : arena.ticks + realization;
  const DeviceRanks<Noise, Network, kLinks> ranks{
      job.program,
      bound,
      network,
      number,
      MessageArena::state<kLinks>(job.program, base,
                                  launch.in_shared ? launch.width : job.realizations,
                                  launch.in_shared, lane),
      job.program.seed};
  const MessageThread<Noise, Network, kLinks> self{
      job, ranks, launch, realization, launch.begin + thread / width, idle, arena.first};
  const MessageOrder order{job.program, job.pass};
  // The thread with the least to do finds the next action while the others execute the one at hand.
  // Positions are copied field by field: nvcc 13.0 takes a struct that begins with a copy of
  // launch.first for a copy of what is there in `launch`, whatever is stored into it later.
  const bool plans = by_block && threadIdx.x == blockDim.x - 1;
  const auto plan = [&](BlockAction& action, ActionPosition next) {
    action.step = next.step;
    action.turn = next.turn;
    action.action = next.action;
    action.count = order.count(next);
  };
  ActionPosition position{launch.first.step, launch.first.turn, launch.first.action};
  std::int64_t end = launch.end;
  if (plans) plan(planned[0], position);
  if (launch.resume) self.copy_state(arena, false);
#pragma unroll 1
  for (std::int64_t n = 0; n < launch.actions; ++n) {  // once, unless blocks run alone
    if (by_block) {
      __syncthreads();
      const BlockAction& now = planned[n % 2];
      position = {now.step, now.turn, now.action};
      end = now.count;
      if (plans && n + 1 < launch.actions) plan(planned[(n + 1) % 2], order.after(position));
    }
    self.run(position, end);
  }
  if (!launch.suspend) return;
  __syncthreads();
  self.copy_state(arena, true);
}

template <class Noise, class Network>
MessageKernel<Noise, Network> find_message_kernel(bool links) {
  return links ? &message_kernel<Noise, Network, true> : &message_kernel<Noise, Network, false>;
}

}  // namespace jf::gpu
