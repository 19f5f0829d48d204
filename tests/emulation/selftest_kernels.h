// Small CUDA kernels with numbered barriers, for the emulation's own test. Each has its reference
// in plain C++.
#pragma once

#include <cuda_runtime.h>

#include <set>

constexpr int kNoneRemoved = -1;

// Sum over each block, by halving.
__global__ inline void __launch_bounds__(128)
    block_sum(const long long* __restrict__ data, long long* __restrict__ result, int removed) {
  JF_SHARED(unsigned long long, partial);  // wraps, also when it adds up garbage
  const unsigned t = threadIdx.x;
  partial[t] = static_cast<unsigned long long>(data[blockIdx.x * blockDim.x + t]);
  if (removed != 0) __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];
    if (removed != 1) __syncthreads();
  }
  if (t == 0) result[blockIdx.x] = static_cast<long long>(partial[0]);
}

inline std::vector<long long> block_sum_reference(const std::vector<long long>& data) {
  std::vector<long long> result(data.size() / 128, 0);
  for (std::size_t i = 0; i < data.size(); ++i) result[i / 128] += data[i];
  return result;
}

// Maximum over each block: shuffles in the warp, shared memory between warps.
__global__ inline void warp_maximum(const long long* data, long long* result, int removed) {
  JF_SHARED(long long, of_warp);
  long long value = data[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    value = max(value, __shfl_xor_sync(0xffffffff, value, step));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  if (removed != 0) __syncthreads();
  for (unsigned w = 0; w < blockDim.x / 32; ++w) value = max(value, of_warp[w]);
  result[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

inline std::vector<long long> warp_maximum_reference(const std::vector<long long>& data) {
  std::vector<long long> result(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto block = data.begin() + static_cast<std::ptrdiff_t>(i / 128 * 128);
    result[i] = *std::max_element(block, block + 128);
  }
  return result;
}

// One round that depends on both values and on which is one's own.
__device__ inline long long mix(long long own, long long other, unsigned round) {
  return max(own, other) + (own & 0xff) + round;
}

inline std::vector<long long> rounds(std::vector<long long> values, unsigned width) {
  for (unsigned r = 0; 1u << r < width; ++r) {
    std::vector<long long> next(values.size());
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = mix(values[i], values[i ^ 1u << r], r);
    values = next;
  }
  return values;
}

// Butterfly over the block through shared memory; barrier 0 is missed as a read
// of a value not yet written, barrier 1 as a write of one not yet read.
__global__ inline void butterfly(const long long* data, long long* result, int removed) {
  JF_SHARED(long long, exchange);
  const unsigned t = threadIdx.x;
  long long value = data[blockIdx.x * blockDim.x + t];
  for (unsigned r = 0; 1u << r < blockDim.x; ++r) {
    exchange[t] = value;
    if (removed != 0) __syncthreads();
    value = mix(value, exchange[t ^ 1u << r], r);
    if (removed != 1) __syncthreads();
  }
  result[blockIdx.x * blockDim.x + t] = value;
}

inline std::vector<long long> butterfly_reference(const std::vector<long long>& data) {
  return rounds(data, 256);
}

// The same within each warp, with __syncwarp.
__global__ inline void warp_butterfly(const long long* data, long long* result, int removed) {
  JF_SHARED(long long, exchange);
  const unsigned t = threadIdx.x;
  long long value = data[blockIdx.x * blockDim.x + t];
  for (unsigned r = 0; r < 5; ++r) {
    exchange[t] = value;
    if (removed != 0) __syncwarp();
    value = mix(value, exchange[t ^ 1u << r], r);
    if (removed != 1) __syncwarp();
  }
  result[blockIdx.x * blockDim.x + t] = value;
}

inline std::vector<long long> warp_butterfly_reference(const std::vector<long long>& data) {
  return rounds(data, 32);
}

// Collects what is found in the memory, then passes values to a neighbour.
inline void use_shared(long long* memory, std::set<long long>& found, bool& right) {
  const unsigned t = threadIdx.x;
  found.insert(memory[t]);
  __syncthreads();
  memory[t] = 1000 * blockIdx.x + t;
  __syncthreads();
  right = right && memory[t ^ 1] == 1000 * blockIdx.x + (t ^ 1);
}

inline void shared_by_macro(std::set<long long>& found, bool& right) {
  JF_SHARED(long long, memory);
  use_shared(memory, found, right);
}

namespace in_a_namespace {
JF_EMU_EXTERN_SHARED(unsigned char, bytes);

template <class T>
__global__ void kernel(std::set<long long>& found, bool& right) {
  extern __shared__ __align__(16) unsigned char bytes[];
  use_shared(reinterpret_cast<T*>(bytes), found, right);
}
}  // namespace in_a_namespace

inline void shared_by_extern(std::set<long long>& found, bool& right) {
  in_a_namespace::kernel<long long>(found, right);
}

inline void shared_static(std::set<long long>& found, bool& right) {
  JF_SHARED_STATIC(long long, memory, 32);
  use_shared(memory, found, right);
}

inline void shared_plain_static(bool& right) {
  __shared__ long long memory[32];
  __shared__ long long other[32];
  std::set<long long> found;
  other[threadIdx.x] = 0;
  use_shared(memory, found, right);
  right = right && &memory[0] != &other[0];
}
