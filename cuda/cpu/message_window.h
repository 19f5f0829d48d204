// Whose periodic noise may matter, told from the high half of what its phase is drawn from.
#pragma once

#include "../noise/periodic.h"
#include "simd.h"

namespace jf {
namespace {

// Those whose intervals begin in a window of time: nearly no others. Time goes around with the
// period, of which 2^-32 are the unit.
class PhaseWindow {
 public:
  static constexpr Tick kLatest = Tick{1} << 40;  // for times up to there

  PhaseWindow() = default;
  explicit PhaseWindow(const Periodic& noise)
      : scale_((std::uint64_t{1} << 63) / static_cast<std::uint64_t>(noise.period)),
        period_(noise.period) {}

  // Only the low halves are meant: products are around 2^64.
  JF_HD ULanes begin(Lanes time) const { return ((ULanes)time * scale_ >> 31) - kSlack; }
  Lanes width(Tick span) const {
    const std::uint64_t width = static_cast<std::uint64_t>(span) * scale_ >> 31;
    return broadcast(static_cast<Tick>(width + 3 * kSlack));
  }
  // Whether that are all, or can not be told.
  bool all(Tick span) const {
    return span > kLatest || span >= period_ - (period_ >> 16) - 1;  // 2^16 for the slack
  }

 private:
  // The scale makes up to t / 2^31 of a time too little, and the shift up to 1.
  static constexpr std::uint64_t kSlack = (kLatest >> 31) + 2;

  std::uint64_t scale_ = 0;
  Tick period_ = 0;
};

}  // namespace
}  // namespace jf
