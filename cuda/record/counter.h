// The fastest clock that a program may read: the counter of the processor, else the system's.
#pragma once

#include <time.h>

#include <cstdint>

namespace jf::record {

using Count = std::uint64_t;

inline std::int64_t raw_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// No fence: what a loop sees is the distance between two reads of the same kind, and processors
// keep those in order.
#if defined(__x86_64__)
inline constexpr const char* kCounter = "tsc";
inline Count read_counter() { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
inline constexpr const char* kCounter = "cntvct_el0";
inline Count read_counter() {
  Count value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
inline constexpr const char* kCounter = "CLOCK_MONOTONIC_RAW";
inline Count read_counter() { return static_cast<Count>(raw_ns()); }
#endif

// One moment on both clocks. `width` bounds how far apart the two readings can be.
struct Moment {
  Count count;
  std::int64_t ns;
  Count width;
};

// The best of some tries: one that was not interrupted.
inline Moment read_both() {
  Moment best{0, 0, ~Count{0}};
  for (int i = 0; i < 64; ++i) {
    const Count before = read_counter();
    const std::int64_t ns = raw_ns();
    const Count width = read_counter() - before;
    if (width < best.width) best = {before + width / 2, ns, width};
  }
  return best;
}

}  // namespace jf::record
