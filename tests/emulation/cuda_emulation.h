// CUDA emulation: launch of kernels on the CPU; how to use it, and what it detects. Compiles CUDA
// kernels as plain C++20 and runs them on the CPU, to test their logic where there is no GPU.
//
//   #include "cuda_emulation.h"     // before the kernels; or g++ -include it,
//   #include "gpu/some_kernel.cuh"  // or let the kernel's <cuda_runtime.h> find ours (-I here)
//
//   for (jf_emu::Order order : jf_emu::kAllOrders)
//     for (std::uint64_t seed = 0; seed < 10; ++seed)
//       jf_emu::launch(grid, block, shared_bytes, seed, [&] { kernel(arguments); }, order);
//
// It is `kernel(arguments)`, since <<<>>> is not C++. JF_CUDA_EMULATION is
// defined; __CUDACC__ and __CUDA_ARCH__ are not. -Wno-unknown-pragmas silences
// `#pragma unroll`.
//
// Every CUDA thread is a fiber; between two rendezvous (__syncthreads, __syncwarp, shuffle, vote)
// it runs undisturbed, and which thread goes next is drawn from the seed, so a missing barrier
// changes the result under some seed or order: compare with the right answer. launch() throws
// jf_emu::Error for: a rendezvous that not every thread (of the block, of the mask) reaches, also
// because it exited; threads that meet at different calls, lines of source or masks; a thread
// outside its own mask; a write beyond the shared memory asked for; a stack overflow. It is
// stricter than CUDA, where an exited thread does not hold up a barrier.
//
// Shared memory: `extern __shared__ T name[];` with JF_EMU_EXTERN_SHARED(T,
// name) written by the test, or JF_SHARED(T, name) (shared_memory.h).
//
// Not seen: two threads that read and write a word between the same two
// rendezvous where either order gives the same result (`s[0] += 1`), waiting in
// a loop for another thread or block (it hangs), memory ordering between blocks.
// Blocks run one after another, in the order's order; launches of several
// threads of the program wait for one another. Works under -fsanitize=undefined,
// and under -fsanitize=address as long as no error is thrown inside a kernel.
#pragma once

#ifdef __CUDACC__
#error "cuda_emulation.h replaces the CUDA compiler; do not use both"
#endif
#define JF_CUDA_EMULATION 1

#include <mutex>
#include <numeric>

#include "block.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#include "cuda_builtins.h"

namespace jf_emu {

// Runs body() for every thread of every block.
template <class Body>
void launch(dim3 grid, dim3 block, std::size_t shared_bytes, std::uint64_t seed, Body&& body,
            Order order = Order::kRandom) {
  const std::size_t blocks = Block::count(grid), threads = Block::count(block);
  if (blocks == 0 || blocks > 0x7fffffff) throw Error("grid must have 1 to 2^31-1 blocks");
  if (threads == 0 || threads > 1024) throw Error("block must have 1 to 1024 threads");
  if (shared_bytes > kMaxSharedBytes) throw Error("shared memory must be at most 227 KiB");
  if (running_block != nullptr) throw Error("launch inside a kernel");

  static std::mutex one_at_a_time;  // shared memory is one buffer per process
  const std::lock_guard<std::mutex> lock(one_at_a_time);

  Random random(seed);
  std::vector<std::size_t> turn(blocks);
  std::iota(turn.begin(), turn.end(), std::size_t{0});
  if (order == Order::kDescending) std::reverse(turn.begin(), turn.end());
  if (order == Order::kRandom || order == Order::kWarpByWarp) {
    for (std::size_t i = blocks; i > 1; --i) std::swap(turn[i - 1], turn[random() % i]);
  }

  const std::function<void()> thread_body = [&body] { body(); };
  Block runner(block, order);
  gridDim = grid;
  blockDim = block;
  struct Running {
    explicit Running(Block* b) { running_block = b; }
    ~Running() { running_block = nullptr; }
  } running(&runner);
  for (std::size_t i : turn)
    runner.run(Block::unravel(i, grid), shared_bytes, random(), thread_body);
}

}  // namespace jf_emu
