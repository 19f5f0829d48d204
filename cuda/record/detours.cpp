// Detour loop on the time-stamp counter (TSC): an iteration above the threshold is a detour.
// Calibration of the counter; pinning, a thread for each CPU.

#include "record/detours.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace jf::record {

namespace {

// Times in ns.
constexpr std::int64_t kCalibration = 60'000'000;  // of each one: gives the counter's rate to 1e-6
constexpr std::int64_t kWarmUp = 50'000'000;       // until the processor has reached its frequency
constexpr double kMigration = 1'000;  // no thread moves to another CPU and back in less
constexpr double kWriting = 4'000;    // writing a detour never takes longer, with cold caches
constexpr double kSettling = 1'500;   // after writing, until the loop is as fast as before
constexpr double kAftermath = 500;    // meanwhile shorter iterations are due to the writing

constexpr std::size_t kKept = 1 << 16;  // iterations of a calibration, a power of 2

// The last kKept iterations of `ns` nanoseconds, in any order. Netgauge stops when 2,500 iterations
// brought nothing smaller; a fixed time is longer, and the same everywhere.
std::vector<Count> iterations(std::uint64_t work, std::int64_t ns) {
  std::vector<Count> kept(kKept);
  std::size_t n = 0;
  Count previous = read_counter();
  std::uint64_t x = previous;
  const std::int64_t end = raw_ns() + ns;
  do {
    for (int i = 0; i < 1000; ++i) {
      if (work) x = do_work(work, x);
      const Count now = read_counter();
      kept[n++ % kKept] = now - previous;
      previous = now;
      if (work && i > 0 && i % 10 == 0 && raw_ns() > end) break;
    }
    previous = read_counter();
  } while (raw_ns() < end);
  asm volatile("" : : "r"(x));
  kept.resize(std::min(n, kKept));
  return kept;
}

Count median(std::vector<Count> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void pin(int cpu) {
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(cpu, size, set);
  const int failed = pthread_setaffinity_np(pthread_self(), size, set);
  CPU_FREE(set);
  if (failed)
    throw std::runtime_error("CPU " + std::to_string(cpu) + " can not be had: " + strerror(failed));
}

rusage usage() {
  rusage found{};
  getrusage(RUSAGE_THREAD, &found);
  return found;
}

}  // namespace

Recorder::Recorder(int cpu, std::size_t capacity, std::int64_t quantum_ns)
    : cpu_(cpu), quantum_ns_(quantum_ns) {
  if (cpu < 0 || capacity == 0) throw std::invalid_argument("cpu from 0, capacity from 1");
  recording_.detours.resize(capacity);  // writes zeros, so that no page fault comes in the loop
  thread_ = std::thread([this] { run(); });
}

Recorder::~Recorder() {
  stop();
  thread_.join();
}

const Calibration& Recorder::calibration() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return phase_ != Phase::kPreparing; });
  if (!failure_.empty()) throw std::runtime_error(failure_);
  return calibration_;
}

void Recorder::go(Count limit, Count begin, Count length) {
  calibration();
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kReady) throw std::invalid_argument("a recorder records once");
  limit_ = limit;
  begin_ = begin;
  length_ = length;
  phase_ = Phase::kRunning;
  changed_.notify_all();
}

bool Recorder::wait(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return phase_ == Phase::kDone; });
}

void Recorder::stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  changed_.notify_all();
}

void Recorder::enter(Phase phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  changed_.notify_all();
}

void Recorder::run() {
  // Signals go to the waiting thread; here they would be detours.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  try {
    pin(cpu_);
    prepare();
  } catch (const std::exception& error) {
    failure_ = error.what();
    enter(Phase::kDone);
    return;
  }
  {
    std::unique_lock lock(mutex_);
    phase_ = Phase::kReady;
    changed_.notify_all();
    changed_.wait(lock, [this] { return stop_ || phase_ == Phase::kRunning; });
  }
  if (!stop_) {
    loop();
    const std::int64_t until = raw_ns() + kCalibration;
    while (raw_ns() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    recording_.moments[3] = read_both();
  }
  enter(Phase::kDone);
}

void Recorder::prepare() {
  iterations(0, kWarmUp);
  Moment* moments = recording_.moments;
  moments[0] = read_both();
  calibration_.bare = iterations(0, kCalibration);
  moments[1] = read_both();  // read again just before the loop
  calibration_.ns_per_count =
      double(moments[1].ns - moments[0].ns) / double(moments[1].count - moments[0].count);
  if (quantum_ns_ <= 0) return;
  constexpr std::uint64_t kSteps = 1000;
  const Count usual = std::max<Count>(1, median(iterations(kSteps, kCalibration / 4)));
  const double wanted = double(quantum_ns_) / calibration_.ns_per_count;
  calibration_.work =
      std::max<std::uint64_t>(1, std::uint64_t(wanted / double(usual) * kSteps + 0.5));
  // At least about ten iterations.
  calibration_.with_work =
      iterations(calibration_.work, std::max(kCalibration / 4, 12 * quantum_ns_));
}

void Recorder::loop() {
  Recording& r = recording_;
  Detour* const detours = r.detours.data();
  const std::size_t capacity = r.detours.size();
  const std::uint64_t work = calibration_.work;
  const Count limit = limit_;
  const Count migration = Count(kMigration / calibration_.ns_per_count);
  const Count writing = Count(kWriting / calibration_.ns_per_count);
  const Count settling = Count(kSettling / calibration_.ns_per_count);
  const Count aftermath = Count(kAftermath / calibration_.ns_per_count);
  const rusage before = usage();
  r.moments[1] = read_both();
  while (read_counter() < begin_ && !stop_.load(std::memory_order_relaxed)) {
  }
  std::size_t n = 0;
  std::uint64_t iterations = 0, x = 1;
  Count smallest = ~Count{0}, settled = 0;
  // The full length, even if the CPU was taken away at the beginning.
  const Count begin = read_counter(), end = begin + length_;
  Count previous = begin;
  while (previous < end && !stop_.load(std::memory_order_relaxed)) {
    if (work) x = do_work(work, x);
    const Count now = read_counter();
    const Count taken = now - previous;
    ++iterations;
    smallest = std::min(smallest, taken);
    previous = now;
    if (taken > limit) [[unlikely]] {
      // Writing a detour is not a detour, nor are the slow first iterations after it, until the
      // loop is back in the caches and predicted. Otherwise the loop would go on recording itself.
      if (now - taken < settled && taken < aftermath) {
        r.write_time += taken;
        continue;
      }
      detours[n++] = {now - taken, taken};
      recorded_.store(n, std::memory_order_relaxed);
      if (taken > migration) {
        const int cpu = sched_getcpu();
        if (cpu != cpu_) r.moved_to = cpu;
      }
      if (n == capacity) break;
      previous = read_counter();
      const Count own = previous - now;
      if (own > writing) {  // something else had the CPU meanwhile
        detours[n - 1].taken += own;
      } else {
        r.write_time += own;
      }
      settled = previous + settling;
    }
  }
  asm volatile("" : : "r"(x));
  r.begin = begin;
  r.end = previous;
  r.iterations = iterations;
  r.smallest = smallest;
  r.full = n == capacity;
  r.moments[2] = read_both();
  const rusage after = usage();
  r.faults = (after.ru_minflt - before.ru_minflt) + (after.ru_majflt - before.ru_majflt);
  r.preemptions = after.ru_nivcsw - before.ru_nivcsw;
  r.detours.resize(n);
}

}  // namespace jf::record
