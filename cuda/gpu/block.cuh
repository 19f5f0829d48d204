// How the ranks of a tile lie on the threads of a block, and how they exchange values.
#pragma once

#include "core/plan.h"

#if defined(__CUDACC__)
#define JF_SHARED(type, name) extern __shared__ type name[]
#define JF_DEVICE __device__ __forceinline__
#else
#define JF_DEVICE inline  // emulated on the CPU: tests/emulation, which also defines JF_SHARED
#endif

namespace jf::gpu {

constexpr int kWarp = 32, kWarpBits = 5;
constexpr unsigned kAllLanes = 0xffffffffu;

JF_DEVICE Tick shuffle_xor(Tick v, int mask) {
  return __shfl_xor_sync(kAllLanes, static_cast<long long>(v), mask);
}

// The observation of the lane whose number differs in `mask`. If not `full`, only the maximum
// counts.
JF_DEVICE Observation shuffled(const Observation& o, int mask, bool full) {
  Observation other = Observation::empty();
  other.max = shuffle_xor(o.max, mask);
  if (full) {
    other.min = shuffle_xor(o.min, mask);
    other.hi = shuffle_xor(o.hi, mask);
    other.lo = shuffle_xor(o.lo, mask);
  }
  return other;
}

// Merging into an observation in any order gives the same bits: max, min and + of integers. If not
// `full`, only the maximum counts.
JF_DEVICE void merge_atomically(Observation& into, const Observation& o, bool full) {
  atomicMax(reinterpret_cast<long long*>(&into.max), static_cast<long long>(o.max));
  if (!full) return;
  atomicMin(reinterpret_cast<long long*>(&into.min), static_cast<long long>(o.min));
  atomicAdd(reinterpret_cast<unsigned long long*>(&into.hi), static_cast<unsigned long long>(o.hi));
  atomicAdd(reinterpret_cast<unsigned long long*>(&into.lo), static_cast<unsigned long long>(o.lo));
}

// Rank x of a tile is rank x >> thread_bits of thread x mod 2^thread_bits: low bits of
// the rank are lanes, then warps, then registers. A block of more threads holds several tiles.
template <int kPerThread>
struct BlockTile {
  int thread_bits;
  Tick* shared;  // kPerThread * blockDim.x

  JF_DEVICE int thread() const { return threadIdx.x & ((1 << thread_bits) - 1); }
  JF_DEVICE std::int64_t local(int e) const {
    return (static_cast<std::int64_t>(e) << thread_bits) + thread();
  }

  // out[e] = the value of the rank whose index differs in `bit`. All threads of the block call it.
  JF_DEVICE void partner(const Tick (&v)[kPerThread], int bit, Tick (&out)[kPerThread]) const {
    if constexpr (kPerThread > 1) {
      if (bit >= thread_bits) {
        const int stride = 1 << (bit - thread_bits);
#pragma unroll
        for (int d = 1; d < kPerThread; d *= 2) {
          if (d != stride) continue;
#pragma unroll
          for (int e = 0; e < kPerThread; ++e) out[e] = v[e ^ d];
        }
        return;
      }
    }
    if (bit < kWarpBits) {
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) out[e] = shuffle_xor(v[e], 1 << bit);
      return;
    }
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) shared[e * blockDim.x + threadIdx.x] = v[e];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < kPerThread; ++e)
      out[e] = shared[e * blockDim.x + (threadIdx.x ^ (1u << bit))];
    __syncthreads();  // before anyone writes again
  }

  // Merges one observation per thread over the threads of a tile; thread 0 of it gets the result.
  // If not `full`, only the maximum counts. All threads of the block call it.
  JF_DEVICE Observation reduce(Observation o, bool full) const {
    const int bits = thread_bits < kWarpBits ? thread_bits : kWarpBits;
    for (int bit = 0; bit < bits; ++bit) o.merge(shuffled(o, 1 << bit, full));
    if (thread_bits <= kWarpBits) return o;
    // At most 1024 / 32 warps; 4 ticks each fit since there are 32 ticks a warp at least.
    const int warp = threadIdx.x / kWarp, warp_bits = thread_bits - kWarpBits;
    if (threadIdx.x % kWarp == 0) {
      Tick* mine = shared + 4 * warp;
      mine[0] = o.max;
      mine[1] = o.min;
      mine[2] = o.hi;
      mine[3] = o.lo;
    }
    __syncthreads();
    if (thread() < kWarp) {  // the first warp of the tile
      const int other = min(thread(), (1 << warp_bits) - 1);
      const Tick* theirs = shared + 4 * (warp + other);
      o = {theirs[0], theirs[1], theirs[2], theirs[3]};
      for (int bit = 0; bit < warp_bits; ++bit) o.merge(shuffled(o, 1 << bit, full));
    }
    __syncthreads();
    return o;
  }
};

}  // namespace jf::gpu
