// Microbenchmarks of one core: vector instructions and memory bytes per second.

#include "limits/rates.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace jf::limits {
namespace {

double cpu_time() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The largest rate of `run(times)`, which does `work` operations each time. A run takes 2 ms or is
// one time: short, so that some run is not interrupted by what else happens on the machine.
template <class Run>
double best(double seconds, double work, Run run) {
  constexpr double kRun = 2e-3;
  std::int64_t times = 1;
  double elapsed = 0, rate = 0, spent = 0;
  while (spent < seconds || rate == 0) {
    const double start = cpu_time();
    run(times);
    elapsed = cpu_time() - start;
    spent += std::max(elapsed, 1e-6);
    if (elapsed < kRun / 2)
      times *= 2;
    else
      rate = std::max(rate, work * static_cast<double>(times) / elapsed);
  }
  return rate;
}

#if defined(__x86_64__)

// 12 chains of one-clock instructions keep up to 12 ports busy.
#define JF_EACH_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define JF_ADD_512(i) "vpaddd %%zmm15, %%zmm" #i ", %%zmm" #i "\n"
#define JF_ADD_256(i) "vpaddd %%ymm15, %%ymm" #i ", %%ymm" #i "\n"
#define JF_ADD_128(i) "paddd %%xmm15, %%xmm" #i "\n"
#define JF_SCALAR "add $1, %%r8\nadd $1, %%r9\nadd $1, %%r10\nadd $1, %%r11\n"
#define JF_LOADS "mov (%1), %%rax\nmov 8(%1), %%rcx\n"
#define JF_MIXED(ADD)                                            \
  ADD(0)                                                         \
  ADD(1)                                                         \
  JF_LOADS "add $1, %%r8\nadd $1, %%r9\n" ADD(2) ADD(3) JF_LOADS \
      "add $1, %%r10\nadd $1, %%r11\n" ADD(4) ADD(5) JF_LOADS "add $1, %%r8\nadd $1, %%r9\n"

// `n` times four copies of the body, and the two instructions of the loop itself.
#define JF_LOOP(NAME, ATTRIBUTE, BODY, END)                                                        \
  ATTRIBUTE void NAME(std::int64_t n) {                                                            \
    alignas(64) static const std::int64_t data[8] = {};                                            \
    const std::int64_t* at = data;                                                                 \
    asm volatile(".p2align 6\n1:\n" BODY BODY BODY BODY "dec %0\njnz 1b\n" END                     \
                 : "+r"(n)                                                                         \
                 : "r"(at)                                                                         \
                 : "cc", "memory", "rax", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", \
                   "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");      \
  }
#define JF_AVX2 __attribute__((target("avx2")))
#define JF_AVX512 __attribute__((target("avx512f")))
JF_LOOP(vector_portable, , JF_EACH_12(JF_ADD_128), "")
JF_LOOP(vector_avx2, JF_AVX2, JF_EACH_12(JF_ADD_256), "vzeroupper\n")
JF_LOOP(vector_avx512, JF_AVX512, JF_EACH_12(JF_ADD_512), "vzeroupper\n")
JF_LOOP(mixed_portable, , JF_MIXED(JF_ADD_128), "")
JF_LOOP(mixed_avx2, JF_AVX2, JF_MIXED(JF_ADD_256), "vzeroupper\n")
JF_LOOP(mixed_avx512, JF_AVX512, JF_MIXED(JF_ADD_512), "vzeroupper\n")
JF_LOOP(scalar, , JF_SCALAR JF_SCALAR JF_SCALAR, "")
JF_LOOP(nop, , "nop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\n", "")

#endif

}  // namespace

std::vector<std::pair<std::string, double>> issue_rates(const std::string& isa, double seconds) {
  if (isa != "plain" && isa != "portable" && isa != "avx2" && isa != "avx512")
    throw std::invalid_argument("isa must be plain, portable, avx2 or avx512");
#if defined(__x86_64__)
  const bool wide = isa == "avx512", half = isa == "avx2";
  const auto vector = wide ? vector_avx512 : half ? vector_avx2 : vector_portable;
  const auto mixed = wide ? mixed_avx512 : half ? mixed_avx2 : mixed_portable;
  const double quarter = seconds / 4;
  constexpr double kVectors = 4 * 12, kLoop = 2;
  return {{"vector", best(quarter, kVectors, vector)},  // the loop itself has no vector instruction
          {"scalar", best(quarter, 4 * 12 + kLoop, scalar)},
          {"mixed", best(quarter, 4 * 18 + kLoop, mixed)},
          {"nop", best(quarter, 4 * 12 + kLoop, nop)}};
#else
  (void)seconds;
  return {};
#endif
}

double read_rate(std::int64_t bytes, double seconds) {
  const std::int64_t words = std::max<std::int64_t>(bytes / 64, 1) * 8;
  const std::unique_ptr<std::uint64_t[]> data(new std::uint64_t[words]);
  std::fill_n(data.get(), words, 1);
  std::uint64_t sums[8] = {};
  const double rate = best(seconds, 8.0 * static_cast<double>(words), [&](std::int64_t times) {
    for (std::int64_t t = 0; t < times; ++t) {
      const std::uint64_t* at = data.get();
      // Makes the compiler use what was read, and read it again the next time.
      asm volatile("" : : "r"(at) : "memory");
      for (std::int64_t i = 0; i < words; i += 8)
        for (int k = 0; k < 8; ++k) sums[k] += at[i + k];
      asm volatile("" : : "r"(sums) : "memory");
    }
  });
  return rate;
}

double copy_rate(std::int64_t bytes, double seconds) {
  const std::size_t half = static_cast<std::size_t>(std::max<std::int64_t>(bytes / 128, 1)) * 64;
  const std::unique_ptr<char[]> data(new char[2 * half]);
  std::memset(data.get(), 1, 2 * half);
  char *from = data.get(), *to = data.get() + half;
  return best(seconds, 2.0 * static_cast<double>(half), [&](std::int64_t times) {
    for (std::int64_t t = 0; t < times; ++t) {
      std::memcpy(to, from, half);
      asm volatile("" : : "r"(to), "r"(from) : "memory");
      std::swap(from, to);
    }
  });
}

}  // namespace jf::limits
