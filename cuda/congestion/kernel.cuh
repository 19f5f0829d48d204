// A block of threads for each realization, the same arithmetic as realize.h. Atomic operations are
// additions and maxima of integers, so their order does not matter; where they give out places
// (in a bucket), what is there is sorted afterwards.
#pragma once

#include <array>

#include "congestion/program.h"
#include "gpu/block.cuh"

namespace jf::congestion::gpu {

// --- What a block of the GPU keeps of its realization, and where: in shared memory as far as it
// goes, the counters first, else in global memory.

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
// Before the arrays: results of the realization, and a word of each thread.
constexpr std::int64_t kFixedBytes = 8 * kWords + 4 * kBlock;

struct Layout {
  std::int64_t offset[kArrays];
  bool shared[kArrays];
  std::int64_t shared_bytes = kFixedBytes, global_bytes = 0;  // of a block
  bool short_counters;

  Layout(const Program& program, std::int64_t max_shared) {
    const std::int64_t hosts = program.hosts, own = program.most_own();
    const std::int64_t all = program.most_messages();
    const std::int64_t counters = std::int64_t{program.counters()} + 1;
    short_counters = all <= 0xffff;
    const std::array<std::int64_t, kArrays> words = {short_counters ? (counters + 1) / 2 : counters,
                                                     std::int64_t{1} << order_bits(program.hosts),
                                                     hosts,
                                                     hosts,
                                                     all,
                                                     all,
                                                     all,
                                                     own,
                                                     own,
                                                     program.ranks,
                                                     program.ranks};
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
  unsigned char* memory;          // global_bytes for each block
};

// The block's realization. Every function is called by all threads.
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
    for (std::uint32_t i = me(); i < view_.ranks; i += step()) rules_.last[i] = rules_.ready[i] = 0;
    for (std::uint32_t i = me(); i < kWords; i += step()) result_[i] = 0;
    sort(kPlacement, 0, view_.hosts);
    for (std::uint32_t i = me(); i < view_.hosts; i += step()) host_[i] = order_[i];
    __syncthreads();
    for (std::uint32_t level = 0; level < view_.levels; ++level) run_level(level);
    for (std::uint32_t i = me(); i < kWords; i += step())
      out[i] = static_cast<std::int64_t>(result_[i]);
  }

 private:
  static JF_DEVICE std::uint32_t me() { return threadIdx.x; }
  static JF_DEVICE std::uint32_t step() { return blockDim.x; }
  JF_DEVICE unsigned* array(ArrayName name) const {
    unsigned char* const base =
        job_.layout.shared[name] ? shared_ : job_.memory + blockIdx.x * job_.layout.global_bytes;
    return reinterpret_cast<unsigned*>(base + job_.layout.offset[name]);
  }

  // order_[0 ... n - 1]: the numbers below n in the order of their keys.
  JF_DEVICE void sort(std::uint32_t purpose, std::uint32_t stream, std::uint32_t n) {
    const int bits = order_bits(n), shift = 64 - bits;
    const std::uint32_t buckets = std::uint32_t{1} << bits;
    for (std::uint32_t i = me(); i < buckets; i += step()) begins_[i] = 0;
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
    for (std::uint32_t b = me(); b < buckets; b += step()) {
      const std::uint32_t begin = b == 0 ? 0 : begins_[b - 1], end = begins_[b];
      for (std::uint32_t i = begin + 1; i < end; ++i) {
        const std::uint32_t x = order_[i];
        const std::uint64_t key = key_of(purpose, stream, x);
        std::uint32_t at = i;
        for (; at > begin; --at) {
          const std::uint32_t y = order_[at - 1];
          const std::uint64_t other = key_of(purpose, stream, y);
          if (other < key || (other == key && y < x)) break;
          order_[at] = y;
        }
        order_[at] = x;
      }
    }
    __syncthreads();
  }

  JF_DEVICE std::uint64_t key_of(std::uint32_t purpose, std::uint32_t stream,
                                 std::uint32_t i) const {
    return order_key(view_.seed, purpose, stream, realization_, i);
  }

  template <class Do>
  JF_DEVICE void each_key(std::uint32_t purpose, std::uint32_t stream, std::uint32_t n, Do&& work) {
    for (std::uint32_t block = me(); 2 * block < n; block += step()) {
      const auto pair = uniform_pair(view_.seed, purpose, block, stream, realization_);
      work(2 * block, pair.even);
      if (2 * block + 1 < n) work(2 * block + 1, pair.odd);
    }
  }

  // From the sizes of buckets to where they begin.
  JF_DEVICE void begin_buckets(std::uint32_t buckets) {
    const std::uint32_t each = (buckets + step() - 1) / step();
    const std::uint32_t begin = min(me() * each, buckets), end = min(begin + each, buckets);
    std::uint32_t sum = 0;
    for (std::uint32_t b = begin; b < end; ++b) sum += begins_[b];
    sums_[me()] = sum;
    __syncthreads();
    for (std::uint32_t reach = 1; reach < step(); reach *= 2) {
      const std::uint32_t before = me() >= reach ? sums_[me() - reach] : 0;
      __syncthreads();
      sums_[me()] += before;
      __syncthreads();
    }
    std::uint32_t at = sums_[me()] - sum;
    for (std::uint32_t b = begin; b < end; ++b) {
      const std::uint32_t size = begins_[b];
      begins_[b] = at;
      at += size;
    }
    __syncthreads();
  }

  JF_DEVICE void run_level(std::uint32_t level) {
    const std::uint32_t begin = view_.offsets[level], own = view_.offsets[level + 1] - begin;
    for (std::uint32_t i = me(); i < own; i += step()) {
      from_[i] = host_[view_.senders[begin + i]];
      to_[i] = host_[view_.receivers[begin + i]];
    }
    const std::uint32_t messages = own + view_.perturbing();
    if (messages > own) perturb(level, own, messages - own);
    const std::uint32_t words =
        sizeof(Counter) == 2 ? (router_.counters + 2) / 2 : router_.counters + 1;
    for (std::uint32_t i = me(); i < words; i += step()) counters_[i] = 0;
    if (me() == 0) sums_[0] = 0;  // the largest w of the level
    __syncthreads();
    for (std::uint32_t i = me(); i < messages; i += step())
      router_.route(from_[i], to_[i], key_of_route(level, i, own),
                    [&](std::uint32_t edge) { count(edge); });
    __syncthreads();
    const std::uint32_t asked = view_.all ? messages : own;
    std::uint32_t largest = 0, routed = 0, dropped = 0;
    unsigned long long inverse = 0;
    for (std::uint32_t i = me(); i < asked; i += step()) {
      const std::uint32_t w = measure(level, i, own);
      if (!view_.all) continue;
      largest = max(largest, w);
      w > 0 ? ++routed : ++dropped;
      if (w > 0) inverse += kOne / w;
      if (job_.histogram != nullptr) atomicAdd(&job_.histogram[w], 1ull);
    }
    if (view_.all) {
      tell_most(&sums_[0], largest);
      tell_most(&result_[kLargest], largest);
      tell_sum(&result_[kMessages], routed);
      tell_sum(&result_[kDropped], dropped);
      tell_sum(&result_[kInverse], inverse);
    }
    __syncthreads();
    if (level > 0) {
      for (std::uint32_t i = view_.offsets[level - 1] + me(); i < begin; i += step())
        rules_.last[view_.receivers[i]] = 0;
    }
    __syncthreads();
    std::uint32_t last = 0, ready = 0;
    for (std::uint32_t i = me(); i < own; i += step()) {
      const std::uint32_t to = view_.receivers[begin + i];
      atomicMax(&rules_.last[to], rules_.new_last[i]);
      atomicMax(&rules_.ready[to], rules_.new_ready[i]);
      last = max(last, rules_.new_last[i]);
      ready = max(ready, rules_.new_ready[i]);
    }
    tell_most(&result_[kOrcs], last);
    tell_most(&result_[kReady], ready);
    if (me() == 0) {
      if (view_.chain[level] != kNoEdge) result_[kOrcs1] += w_[view_.chain[level]];
      result_[kSumMax] += sums_[0];
    }
    __syncthreads();
  }

  JF_DEVICE void perturb(std::uint32_t level, std::uint32_t own, std::uint32_t count) {
    const std::uint32_t stream = view_.stream(level), n = view_.others();
    const unsigned* const host = host_ + view_.ranks;
    unsigned* const from = from_ + own;
    unsigned* const to = to_ + own;
    sort(kTraffic, stream, n);
    for (std::uint32_t i = me(); i < count; i += step()) {
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
    if (view_.perturbation == kRand && me() == 0) {  // about log(n) cycles
      cut_cycles(view_.seed, stream, realization_, n,
                 [&](std::uint32_t first, std::uint32_t last) { to[last] = from[first]; });
    }
  }

  JF_DEVICE std::uint32_t key_of_route(std::uint32_t level, std::uint32_t i,
                                       std::uint32_t own) const {
    return router_.key_of(view_.seed, from_[i], to_[i], level, view_.route_stream(i, own, from_[i]),
                          realization_);
  }

  // Two counters of 16 bits share a word: none runs over into the other (Layout).
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

  // w of message i.
  JF_DEVICE std::uint32_t measure(std::uint32_t level, std::uint32_t i, std::uint32_t own) const {
    std::uint32_t w = router_.routed(from_[i], to_[i]);
    router_.route(from_[i], to_[i], key_of_route(level, i, own), [&](std::uint32_t edge) {
      const std::uint32_t c = load(edge);
      w = c > w ? c : w;
    });
    w_[i] = w;
    if (i < own) rules_.take(i, view_.senders[view_.offsets[level] + i], w);
    return w;
  }

  // Of all threads together: each warp adds its own up, so that one of 32 goes to the words of the
  // realization.
  template <class Word>
  JF_DEVICE static void tell_most(Word* word, std::uint32_t most) {
    for (int lanes = 1; lanes < jf::gpu::kWarp; lanes *= 2)
      most = max(most, __shfl_xor_sync(jf::gpu::kAllLanes, most, lanes));
    if (me() % jf::gpu::kWarp == 0 && most > 0) atomicMax(word, static_cast<Word>(most));
  }
  JF_DEVICE static void tell_sum(unsigned long long* word, unsigned long long sum) {
    for (int lanes = 1; lanes < jf::gpu::kWarp; lanes *= 2)
      sum += __shfl_xor_sync(jf::gpu::kAllLanes, sum, lanes);
    if (me() % jf::gpu::kWarp == 0 && sum > 0) atomicAdd(word, sum);
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
