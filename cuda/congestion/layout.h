// What a block of the GPU keeps of its realization, and where: in shared memory as far as it goes,
// the counters first, else in global memory.
#pragma once

#include <array>

#include "program.h"

namespace jf::congestion::gpu {

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

  Layout(const Program& program, std::int64_t most_shared) {
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
      shared[i] = shared_bytes + bytes <= most_shared;
      std::int64_t& used = shared[i] ? shared_bytes : global_bytes;
      offset[i] = used;
      used += bytes;
    }
    global_bytes = (global_bytes + 127) / 128 * 128;
  }
};

}  // namespace jf::congestion::gpu
