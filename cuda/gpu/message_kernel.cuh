// A part of a message pass: a block does one realization after another, its threads every so many
// ranks. What a step does to a rank is that of message.h.
#pragma once

#include "block.cuh"
#include "kernels.h"

namespace jf::gpu {

template <class Noise, class Network, bool kLinks>
struct MessageBlock {
  const PassJob& job;
  const MessageRanks<Tick, Noise, Network, kLinks>& ranks;
  BlockTile<1> block;
  std::int64_t realization;

  template <class F>
  JF_DEVICE void each(F&& f) const {
    for (std::int64_t i = threadIdx.x; i < job.program.ranks; i += blockDim.x) f(i);
  }

  JF_DEVICE void run(MessagePart part, bool first) const {
    if (part.step == job.pass.begin && part.turn == 0)
      each([&](std::int64_t i) { ranks.begin(i, job.pass.load != 0, first); });
    Step step = job.program.steps[part.step];
    for (std::int64_t n = 0; n < part.turns; ++n) {
      if (step.kind == kCompute) each([&](std::int64_t i) { ranks.work(step, i); });
      if (step.kind == kForward) forward(step);
      if (step.kind == kMessage) messages(step, part.turn);
      if (++part.turn < step.repeat) continue;
      if (step.row >= 0) observe(step.row);
      part.turn = 0;
      if (++part.step < job.pass.end) step = job.program.steps[part.step];
    }
  }

  JF_DEVICE void forward(const Step& step) const {
    Tick* const left = ranks.s.left;
    each([&](std::int64_t i) { left[i] = ranks.forward_leaves(step, i); });
    __syncthreads();
    each([&](std::int64_t i) {
      const std::int64_t from = forward_partner(step, job.program.ranks, i);
      if (from != kNobody) ranks.forward_comes(step, i, left[i], left[from]);
    });
    __syncthreads();
  }

  JF_DEVICE void messages(const Step& step, std::int32_t number) const {
    Tick* const left = ranks.s.left;
    const MessageTurn<Network> turn(job.program, ranks.network, step, number);
    each([&](std::int64_t i) {
      if (ranks.catches_up(step, number)) ranks.catch_up(step, number, i);
      if (receiver_of(step, job.program.ranks, i) != kNobody) left[i] = ranks.send(turn, i);
    });
    __syncthreads();
    each([&](std::int64_t i) {
      const std::int64_t from = sender_of(step, job.program.ranks, i);
      if (from != kNobody) ranks.receive(turn, i, left[from]);
    });
    __syncthreads();
  }

  JF_DEVICE void observe(int row) const {
    Observation o = Observation::nothing();
    each([&](std::int64_t i) {
      if (!job.program.one_rank || i == 0) o.see(ranks.s.sent[i]);
    });
    o = block.reduce(o, job.full_statistics != 0);
    if (block.thread() == 0)
      merge_atomically(job.observation(realization, row), o, job.full_statistics != 0);
  }
};

// One block a multiprocessor is all that general noise needs: as tile_kernel.
template <class Noise, class Network, bool kLinks>
__global__ void __launch_bounds__(kMessageBlock, is_general<Noise> || is_general<Network>)
    message_kernel(const PassJob job, const Noise noise, const Network network,
                   const MessageArena arena, const MessagePart part, int thread_bits) {
  JF_SHARED(Tick, shared);
  for (std::int64_t r = blockIdx.x; r < job.realizations; r += gridDim.x) {
    const std::uint32_t number = job.first_realization + static_cast<std::uint32_t>(r);
    const Noise bound = bind(noise, number, job.cursors_of(r));
    const MessageRanks<Tick, Noise, Network, kLinks> ranks{
        job.program,
        bound,
        network,
        number,
        arena.template state<kLinks>(job, r, shared + kMessageReduceTicks),
        job.program.seed};
    MessageBlock<Noise, Network, kLinks>{job, ranks, {thread_bits, shared}, r}.run(part,
                                                                                   arena.first);
    // No barrier: what a thread has of the next realization at first is its own ranks'.
  }
}

template <class Noise, class Network>
MessageKernel<Noise, Network> find_message_kernel(bool links) {
  return links ? &message_kernel<Noise, Network, true> : &message_kernel<Noise, Network, false>;
}

}  // namespace jf::gpu
