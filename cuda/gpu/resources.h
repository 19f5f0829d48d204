// How the memory and the time of a device are given out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace jf::gpu {

// --- Memory of the device in one piece: a run asks for it once, and says beforehand how much it
// takes.

// There is less memory than there seemed to be. Whoever can do with less tries again.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Every array begins at a multiple of this, as an allocation of its own would.
constexpr std::int64_t kArrayAlignment = 256;

// Bytes that an array takes in the piece.
template <class T>
constexpr std::int64_t array_bytes(std::int64_t count) {
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
}

// --- How much the device is given to do before the host waits for it, and looks whether it is to
// stop.

// In steps of ranks. A launch can not be stopped, and where the card has a display the driver ends
// one after some seconds. The first takes a quarter of a second at 10^9 rank-steps a second, which
// is little for the smallest card; then they grow as long as they are quick.
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
  // The host has waited for all that was launched.
  void waited() { waited(std::chrono::duration<double>(Clock::now() - start_).count()); }
  void waited(double seconds) {
    if (queued_ == 0) return;
    if (seconds > 0.3) limit_ = std::min(limit_, std::max(queued_ / 2, kLeast));
    // Whole realizations need not fill it.
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
