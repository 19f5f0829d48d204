// Ranks on the threads of a CUDA block; exchanges by registers, warp shuffles and shared memory.
#pragma once

#include "core/passes.h"
#include "gpu/jobs.h"

#if defined(__CUDACC__)
#define JF_SHARED(type, name) extern __shared__ type name[]
#define JF_DEVICE __device__ __forceinline__
#else
#define JF_DEVICE inline  // emulated on the CPU: tests/emulation, which also defines JF_SHARED
#endif

namespace jf::gpu {

constexpr unsigned kAllLanes = 0xffffffffu;

JF_DEVICE Tick shuffle_xor(Tick v, int mask) {
  return __shfl_xor_sync(kAllLanes, static_cast<long long>(v), mask);
}

// The observation of lane (own number xor mask). If not `full`, only the maximum counts.
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

// The latest of a warp's times; of 32 bits by REDUX, from compute capability 8.0 on.
template <class T>
JF_DEVICE T latest_of_warp(T v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  if constexpr (sizeof(T) < sizeof(Tick)) {
    v = __reduce_max_sync(kAllLanes, v);
  } else
#endif
    for (int bit = 0; bit < kWarpBits; ++bit) v = later(v, __shfl_xor_sync(kAllLanes, v, 1 << bit));
  return v;
}

// Merges into an observation. Any order gives the same bits: max, min and + of integers. If not
// `full`, only the maximum counts.
JF_DEVICE void merge_atomically(Observation& into, const Observation& o, bool full) {
  atomicMax(reinterpret_cast<long long*>(&into.max), static_cast<long long>(o.max));
  if (!full) return;
  atomicMin(reinterpret_cast<long long*>(&into.min), static_cast<long long>(o.min));
  atomicAdd(reinterpret_cast<unsigned long long*>(&into.hi), static_cast<unsigned long long>(o.hi));
  atomicAdd(reinterpret_cast<unsigned long long*>(&into.lo), static_cast<unsigned long long>(o.lo));
}

// Local rank x of a tile is rank x >> thread_bits of thread x mod 2^thread_bits: the low bits of x
// are the lane, then come warp and register. A block of more threads holds several tiles.
template <int kPerThread>
struct BlockTile {
  int thread_bits;
  Tick* shared;  // kPerThread * blockDim.x

  JF_DEVICE int thread() const { return threadIdx.x & ((1 << thread_bits) - 1); }
  JF_DEVICE std::int64_t local(int e) const {
    return (static_cast<std::int64_t>(e) << thread_bits) + thread();
  }

  // out[e]: the value of the rank whose index differs in `bit`. All threads of the block call it.
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
    __syncthreads();  // before any thread writes again
  }

  // Merges one observation per thread over the threads of a tile; thread 0 of it gets the result.
  // If not `full`, only the maximum counts. All threads of the block call it.
  JF_DEVICE Observation reduce(Observation o, bool full) const {
    const int bits = thread_bits < kWarpBits ? thread_bits : kWarpBits;
    for (int bit = 0; bit < bits; ++bit) o.merge(shuffled(o, 1 << bit, full));
    if (thread_bits <= kWarpBits) return o;
    // At most 1024 / 32 warps. 4 ticks of each fit, as there are at least 32 ticks per warp.
    const int warp = threadIdx.x / kWarp, warp_bits = thread_bits - kWarpBits;
    if (threadIdx.x % kWarp == 0) {
      Tick* own = shared + 4 * warp;
      own[0] = o.max;
      own[1] = o.min;
      own[2] = o.hi;
      own[3] = o.lo;
    }
    __syncthreads();
    if (thread() < kWarp) {  // the first warp of the tile
      const int other_warp = min(thread(), (1 << warp_bits) - 1);
      const Tick* other = shared + 4 * (warp + other_warp);
      o = {other[0], other[1], other[2], other[3]};
      for (int bit = 0; bit < warp_bits; ++bit) o.merge(shuffled(o, 1 << bit, full));
    }
    __syncthreads();
    return o;
  }
};

}  // namespace jf::gpu
