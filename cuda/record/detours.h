// Recorder of CPU noise (selfish detour, FWQ): iterations of a tight loop that took longer than the
// others. A thread pinned to one CPU reads a counter in that loop (Netgauge's "selfish detour").
// With a quantum of work in each iteration it is the fixed-work-quantum benchmark.
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

// --- The fastest clock that a program can read: the processor's counter, or else the system's
// clock.

using Count = std::uint64_t;

inline std::int64_t raw_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// No fence: the loop uses differences between reads of the same kind, which processors keep in
// order.
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

// One moment on both clocks. The two readings are at most `width` counts apart.
struct Moment {
  Count count;
  std::int64_t ns;
  Count width;
};

// The reading with the smallest width of several: one that was not interrupted.
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

// One iteration, between the readings `start` and `start + taken`.
struct Detour {
  Count start, taken;
};

struct Recording {
  std::vector<Detour> detours;
  Count begin = 0, end = 0;  // of the loop
  std::uint64_t iterations = 0;
  Count smallest = 0;      // the shortest iteration of the recorded loop
  Count write_time = 0;    // spent on writing detours, in which none can be observed
  bool full = false;       // the loop ended because the buffer was full
  int moved_to = -1;       // another CPU that the pinned thread was found on, or -1
  Moment moments[4] = {};  // before and after: calibration, loop, calibration
  std::int64_t faults = 0, preemptions = 0;  // page faults, involuntary switches during the loop
};

// The calibration: iterations when nothing disturbs them. The smallest alone would mislead: a
// counter that advances in steps shows iterations of 0 or 1 count within a step.
struct Calibration {
  std::vector<Count> bare;       // without work
  std::vector<Count> with_work;  // with the work of a quantum; empty if there is none
  std::uint64_t work = 0;        // steps of work in an iteration
  double ns_per_count = 0;
};

// Work that always takes the same time if undisturbed: each step waits for the one before.
inline std::uint64_t do_work(std::uint64_t steps, std::uint64_t x) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
  return x;
}

// One recording. Its thread calibrates from construction on; go() starts the loop, time or stop()
// ends it.
class Recorder {
 public:
  // capacity: detours in the buffer. quantum_ns: work in an iteration, 0 for none.
  Recorder(int cpu, std::size_t capacity, std::int64_t quantum_ns);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Waits for the calibration, a fifth of a second. Throws if the thread can not run on the CPU.
  const Calibration& calibration();
  // Records iterations longer than `limit` counts, from the reading `begin` on, for `length`
  // counts.
  void go(Count limit, Count begin, Count length);
  // Waits for so many seconds at most. Returns whether the recording has ended.
  bool wait(double seconds);
  void stop();
  std::size_t count() const { return recorded_.load(std::memory_order_relaxed); }
  // Valid after the end.
  const Recording& recording() const { return recording_; }

 private:
  enum class Phase { kPreparing, kReady, kRunning, kDone };

  void run();
  void prepare();
  void loop();
  void enter(Phase phase);

  const int cpu_;
  const std::int64_t quantum_ns_;
  Calibration calibration_;
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
