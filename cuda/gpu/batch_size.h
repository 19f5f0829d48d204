// How many realizations a GPU batch has and how much work a launch: by time taken, by memory left.
// The device's memory bounds a batch (batch_memory.h). run.cuh runs batches, and cuts each into
// launches. Schedules and congestion have a run.cuh of their own. That one realization fits,
// python/jitterfly/backends.py has seen to before.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/engine.h"

namespace jf::gpu {

// --- Memory: a run makes one allocation, whose size it computes beforehand.

// There is less memory than was reported as free.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Calls run(batch). If an allocation fails because another process has taken the memory that was
// free, batches become half as large.
template <class Run>
void run_in_batches(std::int64_t batch, Run&& run) {
  for (;; batch /= 2) {
    try {
      return run(batch);
    } catch (const OutOfMemory&) {
      if (batch == 1) throw;
    }
  }
}

// Alignment of arrays, that of separate allocations.
constexpr std::int64_t kArrayAlignment = 256;

// Bytes of an array in the allocation.
template <class T>
constexpr std::int64_t array_bytes(std::int64_t count) {
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
}
template <class... T>
std::int64_t vector_bytes(const std::vector<T>&... vectors) {
  return (array_bytes<T>(static_cast<std::int64_t>(vectors.size())) + ...);
}

// --- Realizations that are run before the host gets their results and polls.

// Batches grow while they are quick, so that a slow GPU, too, stops promptly.
class BatchSize {
 public:
  // `most`: the largest batch; `together`: realizations that take about as long as one.
  BatchSize(std::int64_t most, std::int64_t together)
      : most_(most), least_(std::min(most, together)), size_(most) {}

  void begin_with(std::int64_t size) { size_ = std::clamp<std::int64_t>(size, 1, most_); }
  std::int64_t next() const { return size_; }
  // `paced`: how many of them a launch may have; see Pace.
  std::int64_t next(std::int64_t paced) const { return std::min(size_, std::max(least_, paced)); }
  void took(double seconds) {
    if (seconds < 0.1) size_ = std::min(2 * size_, most_);
    if (seconds > 0.3 && size_ > least_) size_ = std::max(size_ / 2, least_);
  }

 private:
  std::int64_t most_, least_, size_;
};

// --- Work that is launched before the host waits for the device and polls.

// In rank-steps. A launch can not be stopped, and on a card with a display the driver aborts one
// after some seconds. The first takes a quarter of a second at 10^9 rank-steps per second, which is
// little for the smallest card. Then launches grow while they are short.
struct LaunchLimits {
  std::int64_t first = std::int64_t{1} << 28, most = std::int64_t{1} << 34;
};

class Pace {
 public:
  // `done`: the finished realizations, of which poll is told.
  Pace(LaunchLimits limits, const Poll& poll, const std::int64_t& done)
      : limit_(limits.first), most_(limits.most), poll_(poll), done_(done) {}

  std::int64_t limit() const { return limit_; }
  void launched(std::int64_t steps) {
    if (queued_ == 0) start_ = Clock::now();
    queued_ += steps;
  }
  bool due() const { return queued_ >= limit_; }
  // The host has waited for all launches.
  void waited() {
    if (queued_ == 0) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (seconds > 0.3) limit_ = std::min(limit_, std::max(queued_ / 2, kLeast));
    // A batch of whole realizations need not reach the limit.
    if (seconds < 0.1 && queued_ > limit_ / 2) limit_ = std::min(2 * limit_, most_);
    queued_ = 0;
  }

  template <class Device>
  void wait_and_poll(Device& device) {
    device.wait();
    waited();
    poll_if_due();
  }
  // If the last time was 50 ms ago.
  void poll_if_due() {
    if (Clock::now() - polled_ >= std::chrono::milliseconds(50)) poll();
  }
  void poll() {
    if (poll_ && !poll_(done_)) throw Cancelled();
    polled_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kLeast = 1 << 20;

  std::int64_t limit_, most_, queued_ = 0;
  Clock::time_point start_{}, polled_{};
  const Poll& poll_;
  const std::int64_t& done_;
};

}  // namespace jf::gpu
