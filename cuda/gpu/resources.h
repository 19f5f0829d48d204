// Resource limits of a GPU run: device memory, and how long a kernel launch may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace jf::gpu {

// --- Memory: a run makes one allocation, whose size it computes beforehand.

// There is less memory than was reported as free. The caller tries again with fewer realizations.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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

// --- Work that is launched before the host waits for the device and polls.

// In rank-steps. A launch can not be stopped, and on a card with a display the driver aborts one
// after some seconds. The first takes a quarter of a second at 10^9 rank-steps per second, which is
// little for the smallest card. Then launches grow while they are short.
struct LaunchLimits {
  std::int64_t first = std::int64_t{1} << 28, most = std::int64_t{1} << 34;
};

class Pace {
 public:
  explicit Pace(LaunchLimits limits) : limit_(limits.first), most_(limits.most) {}

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

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kLeast = 1 << 20;

  std::int64_t limit_, most_, queued_ = 0;
  Clock::time_point start_{};
};

}  // namespace jf::gpu
