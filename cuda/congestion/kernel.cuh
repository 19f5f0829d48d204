// CUDA kernel of network congestion: a block of threads routes and counts one realization
// (realize.h). Atomic operations are additions and maxima of integers, so their order does not
// matter; if they assign places in a bucket, the bucket is sorted afterwards.
#pragma once

#include <array>

#include "congestion/program.h"
#include "gpu/block.cuh"

namespace jf::congestion::gpu {

// --- The arrays of a block: in shared memory as long as they fit, the counters first, else in
// global memory.

enum ArrayName : int {
  kCounterArray,
  kBeginArray,  // buckets of an order
  kOrderArray,
  kHostArray,  // of ranks
  kFromArray,
  kToArray,  // hosts of messages
  kWeightArray,
  kNewLastArray,
  kNewReadyArray,
  kLastArray,
  kReadyArray,
  kArrays
};

constexpr int kBlock = 512;
// Before the arrays: the results of the realization, and a word for each thread.
constexpr std::int64_t kFixedBytes = 8 * kWords + 4 * kBlock;

struct Layout {
  std::int64_t offset[kArrays];
  bool shared[kArrays];
  std::int64_t shared_bytes = kFixedBytes, global_bytes = 0;  // per block
  bool short_counters;

  Layout(const Program& program, std::int64_t max_shared) {
    const std::int64_t hosts = program.hosts, own = program.max_own();
    const std::int64_t all = program.most_messages();
    const std::int64_t counters = std::int64_t{program.counters()} + 1;
    short_counters = all <= kMaxShortCount;
    const std::int64_t count = short_counters ? (counters + 1) / 2 : counters;
    const std::int64_t buckets = std::int64_t{1} << order_bits(program.hosts);
    const std::int64_t ranks = program.ranks;
    const std::array<std::int64_t, kArrays> words = {count, buckets, hosts, hosts, all,  all,
                                                     all,   own,     own,   ranks, ranks};
    for (int i = 0; i < kArrays; ++i) {
      const std::int64_t bytes = 4 * words[static_cast<std::size_t>(i)];
      shared[i] = shared_bytes + bytes <= max_shared;
      std::int64_t& used = shared[i] ? shared_bytes : global_bytes;
      offset[i] = used;
      used += bytes;
    }
    global_bytes = (global_bytes + 127) / 128 * 128;
  }
};

struct Job {
  ProgramView view;
  Layout layout;
  std::uint32_t first;  // realization
  std::int64_t count;
  std::int64_t* out;              // count x kWords
  unsigned long long* histogram;  // or null
  unsigned char* memory;          // global_bytes per block
};

// The realization of a block. All threads call every function that is not marked otherwise.
template <class Router, class Counter>
class Realizer {
 public:
  JF_DEVICE Realizer(const Job& job, const Router& router, unsigned char* shared)
      : job_(job), view_(job.view), router_(router), shared_(shared) {
    result_ = reinterpret_cast<unsigned long long*>(shared);
    sums_ = reinterpret_cast<unsigned*>(shared + 8 * kWords);
    begins_ = array(kBeginArray);
    order_ = array(kOrderArray);
    host_ = array(kHostArray);
    from_ = array(kFromArray);
    to_ = array(kToArray);
    w_ = array(kWeightArray);
    rules_ = {array(kLastArray), array(kReadyArray), array(kNewLastArray), array(kNewReadyArray)};
    counters_ = array(kCounterArray);
  }

  JF_DEVICE void run(std::uint32_t realization, std::int64_t* out) {
    realization_ = realization;
    for (std::uint32_t i = thread(); i < view_.ranks; i += threads())
      rules_.last[i] = rules_.ready[i] = 0;
    for (std::uint32_t i = thread(); i < kWords; i += threads()) result_[i] = 0;
    sort(kPlacement, 0, view_.hosts);
    for (std::uint32_t i = thread(); i < view_.hosts; i += threads()) host_[i] = order_[i];
    __syncthreads();
    for (std::uint32_t level = 0; level < view_.levels; ++level) run_level(level);
    for (std::uint32_t i = thread(); i < kWords; i += threads())
      out[i] = static_cast<std::int64_t>(result_[i]);
  }

 private:
  static JF_DEVICE std::uint32_t thread() { return threadIdx.x; }
  static JF_DEVICE std::uint32_t threads() { return blockDim.x; }
  JF_DEVICE unsigned* array(ArrayName name) const {
    unsigned char* const base =
        job_.layout.shared[name] ? shared_ : job_.memory + blockIdx.x * job_.layout.global_bytes;
    return reinterpret_cast<unsigned*>(base + job_.layout.offset[name]);
  }

  // order_[0 ... n - 1]: the numbers below n in the order of their keys.
  JF_DEVICE void sort(std::uint32_t purpose, std::uint32_t stream, std::uint32_t n) {
    const int bits = order_bits(n), shift = 64 - bits;
    const std::uint32_t buckets = std::uint32_t{1} << bits;
    for (std::uint32_t i = thread(); i < buckets; i += threads()) begins_[i] = 0;
    __syncthreads();
    each_key(purpose, stream, n,
             [&](std::uint32_t, std::uint64_t key) { atomicAdd(&begins_[key >> shift], 1u); });
    __syncthreads();
    begin_buckets(buckets);
    each_key(purpose, stream, n, [&](std::uint32_t i, std::uint64_t key) {
      order_[atomicAdd(&begins_[key >> shift], 1u)] = i;
    });
    __syncthreads();
    // begins_[b] is the end of bucket b now.
    for (std::uint32_t b = thread(); b < buckets; b += threads()) {
      const std::uint32_t begin = b == 0 ? 0 : begins_[b - 1], end = begins_[b];
      for (std::uint32_t i = begin + 1; i < end; ++i) {
        const std::uint32_t x = order_[i];
        const std::uint64_t key = key_of(purpose, stream, x);
        std::uint32_t slot = i;
        for (; slot > begin; --slot) {
          const std::uint32_t y = order_[slot - 1];
          const std::uint64_t other = key_of(purpose, stream, y);
          if (other < key || (other == key && y < x)) break;
          order_[slot] = y;
        }
        order_[slot] = x;
      }
    }
    __syncthreads();
  }

  JF_DEVICE std::uint64_t key_of(std::uint32_t purpose, std::uint32_t stream,
                                 std::uint32_t i) const {
    return whole64(view_.seed, purpose, i, stream, realization_);
  }

  template <class Do>
  JF_DEVICE void each_key(std::uint32_t purpose, std::uint32_t stream, std::uint32_t n, Do&& work) {
    for (std::uint32_t block = thread(); 2 * block < n; block += threads()) {
      const auto pair = uniform_pair(view_.seed, purpose, block, stream, realization_);
      work(2 * block, pair.even);
      if (2 * block + 1 < n) work(2 * block + 1, pair.odd);
    }
  }

  // Replaces the sizes of the buckets by their begins: a prefix sum.
  JF_DEVICE void begin_buckets(std::uint32_t buckets) {
    const std::uint32_t per_thread = (buckets + threads() - 1) / threads();
    const std::uint32_t begin = min(thread() * per_thread, buckets),
                        end = min(begin + per_thread, buckets);
    std::uint32_t sum = 0;
    for (std::uint32_t b = begin; b < end; ++b) sum += begins_[b];
    sums_[thread()] = sum;
    __syncthreads();
    for (std::uint32_t reach = 1; reach < threads(); reach *= 2) {
      const std::uint32_t before = thread() >= reach ? sums_[thread() - reach] : 0;
      __syncthreads();
      sums_[thread()] += before;
      __syncthreads();
    }
    std::uint32_t next_begin = sums_[thread()] - sum;
    for (std::uint32_t b = begin; b < end; ++b) {
      const std::uint32_t size = begins_[b];
      begins_[b] = next_begin;
      next_begin += size;
    }
    __syncthreads();
  }

  JF_DEVICE void run_level(std::uint32_t level) {
    const std::uint32_t begin = view_.offsets[level], own = view_.offsets[level + 1] - begin;
    for (std::uint32_t i = thread(); i < own; i += threads()) {
      from_[i] = host_[view_.senders[begin + i]];
      to_[i] = host_[view_.receivers[begin + i]];
    }
    const std::uint32_t messages = own + view_.perturbing();
    if (messages > own) perturb(level, own, messages - own);
    const std::uint32_t words =
        sizeof(Counter) == 2 ? (router_.counters + 2) / 2 : router_.counters + 1;
    for (std::uint32_t i = thread(); i < words; i += threads()) counters_[i] = 0;
    if (thread() == 0) sums_[0] = 0;  // the largest w of the level
    __syncthreads();
    for (std::uint32_t i = thread(); i < messages; i += threads())
      router_.route(from_[i], to_[i], key_of_route(level, i, own),
                    [&](std::uint32_t edge) { count(edge); });
    __syncthreads();
    const std::uint32_t measured = view_.all ? messages : own;
    std::uint32_t largest = 0, routed = 0, dropped = 0;
    unsigned long long inverse = 0;
    for (std::uint32_t i = thread(); i < measured; i += threads()) {
      const std::uint32_t w = measure(level, i, own);
      if (!view_.all) continue;
      largest = max(largest, w);
      w > 0 ? ++routed : ++dropped;
      if (w > 0) inverse += kInverseScale / w;
      if (job_.histogram != nullptr) atomicAdd(&job_.histogram[w], 1ull);
    }
    if (view_.all) {
      reduce_max(&sums_[0], largest);
      reduce_max(&result_[kLargest], largest);
      reduce_sum(&result_[kMessages], routed);
      reduce_sum(&result_[kDropped], dropped);
      reduce_sum(&result_[kInverse], inverse);
    }
    __syncthreads();
    if (level > 0) {
      for (std::uint32_t i = view_.offsets[level - 1] + thread(); i < begin; i += threads())
        rules_.last[view_.receivers[i]] = 0;
    }
    __syncthreads();
    std::uint32_t last = 0, ready = 0;
    for (std::uint32_t i = thread(); i < own; i += threads()) {
      const std::uint32_t to = view_.receivers[begin + i];
      atomicMax(&rules_.last[to], rules_.new_last[i]);
      atomicMax(&rules_.ready[to], rules_.new_ready[i]);
      last = max(last, rules_.new_last[i]);
      ready = max(ready, rules_.new_ready[i]);
    }
    reduce_max(&result_[kOrcs], last);
    reduce_max(&result_[kReady], ready);
    if (thread() == 0) {
      if (view_.chain[level] != kNoEdge) result_[kOrcs1] += w_[view_.chain[level]];
      result_[kSumMax] += sums_[0];
    }
    __syncthreads();
  }

  JF_DEVICE void perturb(std::uint32_t level, std::uint32_t own, std::uint32_t count) {
    const auto stream = static_cast<std::uint32_t>(view_.stream(level));
    const std::uint32_t n = view_.others();
    const unsigned* const host = host_ + view_.ranks;
    unsigned* const from = from_ + own;
    unsigned* const to = to_ + own;
    sort(kTraffic, stream, n);
    for (std::uint32_t i = thread(); i < count; i += threads()) {
      if (view_.perturbation == kRand) {
        from[i] = host[order_[i]];
        to[i] = host[order_[i + 1 < n ? i + 1 : 0]];
      } else if (view_.perturbation == kBisect) {
        from[i] = host[order_[2 * i]];
        to[i] = host[order_[2 * i + 1]];
      } else {
        from[i] = host[order_[i]];
        to[i] = host[order_[i ^ 1]];
      }
    }
    __syncthreads();
    if (view_.perturbation == kRand && thread() == 0) {  // about log(n) cycles
      cut_cycles(view_.seed, stream, realization_, n,
                 [&](std::uint32_t first, std::uint32_t last) { to[last] = from[first]; });
    }
  }

  JF_DEVICE std::uint32_t key_of_route(std::uint32_t level, std::uint32_t i,
                                       std::uint32_t own) const {
    return router_.key_of(view_.seed, from_[i], to_[i], level, view_.route_stream(i, own, from_[i]),
                          realization_);
  }

  // By one thread. Two counters of 16 bits share a word; none overflows into the other (Layout).
  JF_DEVICE void count(std::uint32_t edge) const {
    if constexpr (sizeof(Counter) == 2)
      atomicAdd(&counters_[edge / 2], edge % 2 == 0 ? 1u : 0x10000u);
    else
      atomicAdd(&counters_[edge], 1u);
  }
  JF_DEVICE std::uint32_t load(std::uint32_t edge) const {
    if constexpr (sizeof(Counter) == 2)
      return counters_[edge / 2] >> (edge % 2 == 0 ? 0 : 16) & 0xffff;
    else
      return counters_[edge];
  }

  // w of message i, by one thread.
  JF_DEVICE std::uint32_t measure(std::uint32_t level, std::uint32_t i, std::uint32_t own) const {
    std::uint32_t w = router_.routed(from_[i], to_[i]);
    router_.route(from_[i], to_[i], key_of_route(level, i, own), [&](std::uint32_t edge) {
      const std::uint32_t c = load(edge);
      w = c > w ? c : w;
    });
    w_[i] = w;
    if (i < own) rules_.compute(i, view_.senders[view_.offsets[level] + i], w);
    return w;
  }

  // Reduction over all threads: first inside each warp, so that only one thread of 32 executes an
  // atomic operation.
  template <class Word>
  JF_DEVICE static void reduce_max(Word* word, std::uint32_t largest) {
    for (int lanes = 1; lanes < jf::gpu::kWarp; lanes *= 2)
      largest = max(largest, __shfl_xor_sync(jf::gpu::kAllLanes, largest, lanes));
    if (thread() % jf::gpu::kWarp == 0 && largest > 0) atomicMax(word, static_cast<Word>(largest));
  }
  JF_DEVICE static void reduce_sum(unsigned long long* word, unsigned long long sum) {
    for (int lanes = 1; lanes < jf::gpu::kWarp; lanes *= 2)
      sum += __shfl_xor_sync(jf::gpu::kAllLanes, sum, lanes);
    if (thread() % jf::gpu::kWarp == 0 && sum > 0) atomicAdd(word, sum);
  }

  const Job& job_;
  const ProgramView& view_;
  const Router& router_;
  unsigned char* const shared_;
  std::uint32_t realization_ = 0;
  unsigned long long* result_;
  unsigned *sums_, *begins_, *order_, *host_, *from_, *to_, *w_, *counters_;
  Rules rules_;
};

template <class Router, class Counter>
__global__ void __launch_bounds__(kBlock)
    congestion_kernel(const __grid_constant__ Job job, const __grid_constant__ Router router) {
  JF_SHARED(unsigned long long, shared);
  Realizer<Router, Counter> realizer(job, router, reinterpret_cast<unsigned char*>(shared));
  for (std::int64_t i = blockIdx.x; i < job.count; i += gridDim.x)
    realizer.run(job.first + static_cast<std::uint32_t>(i), job.out + i * kWords);
}

}  // namespace jf::congestion::gpu
