// Program that tests the CUDA emulation itself. Correct kernels give the right answer under every
// order and seed; take one barrier away and some order shows it; a rendezvous that cannot complete
// is an error. `selftest NAME` runs one check, `selftest` lists them.
#include <chrono>
#include <cstdio>
#include <set>

#include "selftest_kernels.h"

namespace {

using jf_emu::Order;

constexpr int kSeeds = 8;

void expect(bool ok, const char* what, int line) {
  if (!ok) throw std::logic_error("line " + std::to_string(line) + ": " + what);
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

// The message of the error that the launch must end in.
template <class Body>
std::string error_of(unsigned threads, Body body, Order order = Order::kRandom) {
  std::string text;
  try {
    jf_emu::launch(1, threads, 1024, 3, body, order);
  } catch (const jf_emu::Error& error) {
    text = error.what();
  }
  EXPECT(!text.empty());
  // Threads left behind must not disturb the next launch.
  int ran = 0;
  jf_emu::launch(1, threads, 1024, 4, [&] { __syncthreads(), ++ran; });
  EXPECT(ran == static_cast<int>(threads));
  return text;
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

// Runs kernel(data, result, removed) over orders and seeds: right everywhere
// with all barriers, wrong somewhere in the random order with one removed.
template <class Kernel>
void mutate(Kernel kernel, std::vector<long long> (*reference)(const std::vector<long long>&),
            int barriers, unsigned grid, unsigned block, std::size_t shared) {
  std::vector<long long> data(grid * block);
  jf_emu::Random random(11);
  for (auto& x : data) x = static_cast<long long>(random() >> 20);
  const auto right = reference(data);
  const auto wrong = [&](int removed, Order order, int seed) {
    std::vector<long long> result(right.size(), -1);
    jf_emu::launch(
        grid, block, shared, seed, [&] { kernel(data.data(), result.data(), removed); }, order);
    return result != right;
  };
  for (Order order : jf_emu::kAllOrders) {
    for (int seed = 0; seed < kSeeds; ++seed) EXPECT(!wrong(kNoneRemoved, order, seed));
  }
  for (int removed = 0; removed < barriers; ++removed) {
    int seen = 0;
    for (Order order : {Order::kRandom, Order::kWarpByWarp}) {
      for (int seed = 0; seed < kSeeds; ++seed) seen += wrong(removed, order, seed);
    }
    EXPECT(seen > 0);
  }
}

void block_reduction() { mutate(block_sum, block_sum_reference, 2, 3, 128, 128 * 8); }
void warp_shuffle_butterfly() { mutate(warp_maximum, warp_maximum_reference, 1, 2, 128, 4 * 8); }
void shared_memory_butterfly() { mutate(butterfly, butterfly_reference, 2, 2, 256, 256 * 8); }
void warp_synchronized_butterfly() {
  mutate(warp_butterfly, warp_butterfly_reference, 2, 2, 64, 64 * 8);
}

void divergent_barrier() {
  std::string text = error_of(64, [] {
    if (threadIdx.x < 40) __syncthreads();
  });
  EXPECT(has(text,
             "deadlock: 24 threads (first 40) exited; 40 threads (first 0) waiting in "
             "__syncthreads at "));
  text = error_of(64, [] {
    if (threadIdx.x % 2 == 0) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });
  EXPECT(has(text, "divergent rendezvous"));
  text = error_of(64, [] {
    if (threadIdx.x < 32) __syncthreads();
    __syncwarp();
  });
  EXPECT(has(text, "deadlock"));
  text = error_of(64, [] { threadIdx.x == 5 ? (void)__syncthreads_or(1) : __syncthreads(); });
  EXPECT(has(text, "divergent rendezvous"));
}

void exit_before_barrier() {
  for (Order order : jf_emu::kAllOrders) {
    const std::string text = error_of(
        33,
        [] {
          if (threadIdx.x == 17) return;
          __syncthreads();
        },
        order);
    EXPECT(has(text, "1 threads (first 17) exited; 32 threads (first 0) waiting"));
  }
}

void divergent_warp() {
  std::string text = error_of(32, [] {
    if (threadIdx.x != 9) __shfl_xor_sync(0xffffffff, 1, 1);
  });
  EXPECT(has(text,
             "1 threads (first 9) exited; 31 threads (first 0) waiting in "
             "__shfl_xor_sync(0xffffffff)"));
  // Odd lanes wait for all, even ones only for the lower half; the upper half's are outsiders.
  text = error_of(32, [] {
    if (threadIdx.x % 2 == 1 || threadIdx.x < 16)
      __syncwarp(threadIdx.x % 2 == 0 ? 0x0000ffff : 0xffffffff);
  });
  EXPECT(has(text, "deadlock") && has(text, "(0xffff)") && has(text, "(0xffffffff)"));
  text = error_of(32, [] { __shfl_sync(0x0000ffff, 1, 0); });
  EXPECT(has(text, "not in its own mask"));
  text = error_of(32, [] {
    threadIdx.x < 16 ? __shfl_sync(0xffffffff, 1, 0) : __shfl_xor_sync(0xffffffff, 1, 1);
  });
  EXPECT(has(text, "divergent rendezvous"));
  text = error_of(32, [] { __shfl_xor_sync(0xffffffff, 1, 1, 12); });
  EXPECT(has(text, "width"));
}

void shuffles() {
  // 40 threads: the second warp has 8 lanes; the others do not hold it up.
  std::vector<std::array<long long, 8>> got(40);
  jf_emu::launch(1, 40, 0, 5, [&] {
    const unsigned all = 0xffffffff;
    const int t = threadIdx.x, lane = t % 32;
    auto& out = got[t];
    out[0] = __shfl_xor_sync(all, 1000000000000LL + t, 4);
    out[1] = __shfl_sync(all, t, 11, 8);
    out[2] = __shfl_up_sync(all, t, 3, 8);
    out[3] = static_cast<long long>(__shfl_down_sync(all, 0.5 * t, 2, 4) * 2);
    out[4] = __shfl_xor_sync(all, static_cast<unsigned>(t), 8, 8);
    out[5] = lane < 4 ? static_cast<int>(__ballot_sync(0xf, lane != 2)) : -1;
    out[6] =
        4 * __any_sync(all, t == 39) + 2 * __all_sync(all, t < 32) +
        (__syncthreads_count(t % 4 == 0) == 10 && __syncthreads_and(1) && !__syncthreads_or(0));
    out[7] = t < 32 ? __reduce_max_sync(all, t * 7u % 32 + 0x80000000u) : 0;
  });
  for (int t = 0; t < 40; ++t) {
    const auto& out = got[t];
    EXPECT(out[0] == 1000000000000LL + (t ^ 4));
    EXPECT(out[1] == (t & ~7) + 3);
    EXPECT(out[2] == (t % 8 < 3 ? t : t - 3));
    EXPECT(out[3] == (t % 4 > 1 ? t : t + 2));
    EXPECT(out[4] == (t % 16 < 8 ? t : t - 8));
    EXPECT(out[5] == (t % 32 < 4 ? 0xb : -1));
    EXPECT(out[6] == (t < 32 ? 3 : 5));
    EXPECT(out[7] == (t < 32 ? 0x8000001fLL : 0));
  }
}

void atomics() {
  long long high = -5, low = 5;
  unsigned long long sum = 0;
  int count = 0;
  std::set<int> tickets;
  jf_emu::launch(dim3(3, 2, 2), dim3(4, 3, 2), 0, 1, [&] {
    const int t = threadIdx.x + 4 * (threadIdx.y + 3 * threadIdx.z);
    const int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const long long i = t + static_cast<long long>(blockDim.x * blockDim.y * blockDim.z) * b;
    atomicMax(&high, i);
    atomicMin(&low, -i);
    atomicAdd(&sum, static_cast<unsigned long long>(i));
    tickets.insert(atomicAdd(&count, 1));
  });
  const int n = 12 * 24;
  EXPECT(high == n - 1 && low == 1 - n && sum == n * (n - 1) / 2);
  EXPECT(count == n && static_cast<int>(tickets.size()) == n && *tickets.rbegin() == n - 1);
}

void shared_memory_is_garbage() {
  // Every kind of shared memory: written, barrier, read; and what a block finds
  // in it is neither zero nor what the last block left.
  for (auto kernel : {shared_by_macro, shared_by_extern, shared_static}) {
    std::set<long long> found;
    bool right = true;
    jf_emu::launch(20, 32, 32 * 8, 9, [&] { kernel(found, right); });
    EXPECT(right);
    EXPECT(found.size() == 20 * 32 && found.count(0) == 0);
  }
  bool right = true;
  jf_emu::launch(20, 32, 0, 9, [&] { shared_plain_static(right); });
  EXPECT(right);
}

void shared_memory_overrun() {
  const auto text = error_of(32, [] {
    JF_SHARED(int, buffer);
    if (threadIdx.x == 7) buffer[256] = 1;  // launched with 1024 bytes
  });
  EXPECT(has(text, "byte 1024 of shared memory was written"));
}

std::vector<int> trace(std::uint64_t seed, Order order) {
  std::vector<int> turns;
  jf_emu::launch(
      4, 64, 0, seed,
      [&] {
        turns.push_back(blockIdx.x * 64 + threadIdx.x);
        __syncwarp();
        turns.push_back(blockIdx.x * 64 + threadIdx.x);
        __syncthreads();
        turns.push_back(blockIdx.x * 64 + threadIdx.x);
      },
      order);
  return turns;
}

void orders() {
  for (Order order : jf_emu::kAllOrders) EXPECT(trace(1, order) == trace(1, order));
  EXPECT(trace(1, Order::kRandom) != trace(2, Order::kRandom));
  EXPECT(trace(1, Order::kWarpByWarp) != trace(2, Order::kWarpByWarp));
  const auto up = trace(1, Order::kAscending), down = trace(1, Order::kDescending);
  for (int i = 0; i < 32; ++i) {
    EXPECT(up[i] == i && up[32 + i] == i && up[64 + i] == 32 + i && up[128 + i] == i);
    EXPECT(down[i] == 255 - i && down[32 + i] == 255 - i);
  }
  const auto warps = trace(1, Order::kWarpByWarp);  // the first 64 turns: one warp, twice
  for (int i = 1; i < 64; ++i) EXPECT(warps[i] / 32 == warps[0] / 32);
}

void failures() {
  bool thrown = false;
  try {
    jf_emu::launch(1, 32, 0, 1, [] {
      __syncthreads();
      if (threadIdx.x == 3) throw std::out_of_range("from the kernel");
    });
  } catch (const std::out_of_range&) {
    thrown = true;
  }
  EXPECT(thrown);
  const auto rejects = [](dim3 grid, dim3 block, std::size_t shared) {
    try {
      jf_emu::launch(grid, block, shared, 1, [] {});
    } catch (const jf_emu::Error&) {
      return true;
    }
    return false;
  };
  EXPECT(rejects(0, 1, 0) && rejects(1, 0, 0) && rejects(1, 1025, 0) && rejects(1, 1, 1 << 20));
  EXPECT(has(error_of(1, [] { jf_emu::launch(1, 1, 0, 1, [] {}); }), "inside a kernel"));
}

// Not a check of time, only something to time by hand.
void speed() {
  const auto start = std::chrono::steady_clock::now();
  jf_emu::launch(1, 256, 0, 1, [] {
    for (int i = 0; i < 300; ++i) __syncthreads();
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("256 threads, 300 barriers: %.3f s\n", seconds.count());
}

struct Check {
  const char* name;
  void (*run)();
};
#define CHECK(name) {#name, name}
const Check kChecks[] = {CHECK(block_reduction),
                         CHECK(warp_shuffle_butterfly),
                         CHECK(shared_memory_butterfly),
                         CHECK(warp_synchronized_butterfly),
                         CHECK(divergent_barrier),
                         CHECK(exit_before_barrier),
                         CHECK(divergent_warp),
                         CHECK(shuffles),
                         CHECK(atomics),
                         CHECK(shared_memory_is_garbage),
                         CHECK(shared_memory_overrun),
                         CHECK(orders),
                         CHECK(failures),
                         CHECK(speed)};

}  // namespace

int main(int argc, char** argv) {
  for (const Check& check : kChecks) {
    if (argc < 2) {
      std::puts(check.name);
    } else if (std::string(argv[1]) == check.name) {
      try {
        check.run();
        return 0;
      } catch (const std::exception& error) {
        std::printf("%s: %s\n", check.name, error.what());
        return 1;
      }
    }
  }
  return argc < 2 ? 0 : 2;
}
