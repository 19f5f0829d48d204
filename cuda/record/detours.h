// Records detours: a thread of its own, pinned to one CPU, reads the counter in a tight loop and
// keeps every iteration that took longer than the others (Netgauge's "selfish detour"; with a
// quantum of work in the iteration, the fixed-work-quantum benchmark).
#pragma once

#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace jf::record {

// --- The fastest clock that a program may read: the counter of the processor, else the system's.

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

// An iteration: it began with the reading `start` and ended with the reading `start + taken`.
struct Detour {
  Count start, taken;
};

struct Recording {
  std::vector<Detour> detours;
  Count begin = 0, end = 0;  // of the loop
  std::uint64_t iterations = 0;
  Count smallest = 0;      // iteration of the loop that was recorded
  Count write_time = 0;    // of all detours together: what happens meanwhile is not seen
  bool full = false;       // the buffer ended it
  int moved_to = -1;       // a CPU that it was on although pinned to another
  Moment moments[4] = {};  // before and after: calibration, loop, calibration
  std::int64_t faults = 0, preemptions = 0;  // page faults, involuntary switches during the loop
};

// What the loop takes where nothing disturbs it: iterations of the calibration, the last some ten
// thousand of them. The smallest alone does not tell: a counter that advances in steps shows
// iterations of 0 or 1 count within a step.
struct Quiet {
  std::vector<Count> bare;       // without work
  std::vector<Count> with_work;  // with the work of a quantum; empty if there is none
  std::uint64_t work = 0;        // steps of work in an iteration
  double ns_per_count = 0;
};

// Work that takes the same time whenever nothing disturbs it: each step waits for the one before.
inline std::uint64_t do_work(std::uint64_t steps, std::uint64_t x) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
  return x;
}

// One recording: prepared by the constructor's thread, begun by `go`, ended by time or `stop`.
class Recorder {
 public:
  // capacity: detours that the buffer holds. quantum_ns: work in an iteration, 0 for none.
  Recorder(int cpu, std::size_t capacity, std::int64_t quantum_ns);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Waits for the calibration, a fifth of a second. Throws if the CPU can not be had.
  const Quiet& quiet();
  // Keeps iterations of more than `limit` counts, from the reading `begin` on, for `length`.
  void go(Count limit, Count begin, Count length);
  // Whether it has ended within so many seconds.
  bool wait(double seconds);
  void stop();
  std::size_t count() const { return recorded_.load(std::memory_order_relaxed); }
  // After the end.
  const Recording& recording() const { return recording_; }

 private:
  enum class Phase { kPreparing, kReady, kRunning, kDone };

  void run();
  void prepare();
  void loop();
  void enter(Phase phase);

  const int cpu_;
  const std::int64_t quantum_ns_;
  Quiet quiet_;
  Recording recording_;
  Count limit_ = 0, begin_ = 0, length_ = 0;
  std::string failure_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> recorded_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::kPreparing;
  std::thread thread_;
};

}  // namespace jf::record
