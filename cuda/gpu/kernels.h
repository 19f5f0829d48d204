// Declarations of the CUDA kernels, and the choice of a kernel by noise, for the host code in
// run.cuh. Each family has translation units of its own (lean.cu, tiles_*.cu, segments.cu,
// messages.cu), so that they compile in parallel.
#pragma once

#include "gpu/jobs.h"
#include "gpu/message_pass.h"

namespace jf::gpu {

template <class Noise, class Network>
using LeanKernel = void (*)(PassJob, Noise, Network);
template <class T, class Noise, class Network>  // T: type of a time
LeanKernel<Noise, Network> find_lean_kernel();

template <class Noise, class Network>
using TileKernelFunction = void (*)(PassJob, Noise, Network, int thread_bits);
template <class Noise, class Network>
TileKernelFunction<Noise, Network> find_tile_kernel(int ranks_per_thread, bool busy);

template <class Noise, class Network>
using SegmentKernel = void (*)(PassJob, Noise, Network, SegmentArena, SegmentLaunch);
template <class Noise, class Network>
SegmentKernel<Noise, Network> find_segment_kernel();

template <class Noise, class Network>
using MessageKernel = void (*)(PassJob, Noise, Network, MessageArena, MessageLaunch);
template <class Noise, class Network>
MessageKernel<Noise, Network> find_message_kernel(bool links);

// A program without noise runs on the kernels of periodic noise, with no interval before kLatest.

// with_noise (core/program.h) with the types for which kernels of tiles and segments exist.
template <class F>
auto with_kernel_noise(const ProgramView& p, F&& f) {
  return with_noise<Delays::kInStep>(
      p, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        if constexpr (std::is_same_v<Noise, NoNoise>)
          return f(Periodic::never(), network);
        else
          return f(noise, network);
      });
}

}  // namespace jf::gpu
