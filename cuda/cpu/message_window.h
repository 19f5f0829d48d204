// Whose periodic noise may matter, told from the highest bits of what its phase is drawn from.
#pragma once

#include <algorithm>
#include <bit>

#include "../noise/periodic.h"
#include "simd_philox.h"
#include "simd_quarters.h"

namespace jf {
namespace {

// Those whose intervals begin in a window of time: nearly no others. Time goes around with the
// period, of which 2^-16 are the unit, as they are of draws.
class PhaseWindow {
 public:
  PhaseWindow() = default;
  explicit PhaseWindow(const Periodic& noise) {
    const auto period = static_cast<std::uint64_t>(noise.period);
    const int bits = std::bit_width(period);
    shift_ = static_cast<unsigned>(std::max(bits - kTimeBits, 0));
    tells_ = bits > kTooShort && bits < kTooLong;
    period_ = noise.period;
    per_tick_ = kUnits / static_cast<double>(period);
    if (!tells_) return;
    scale_ = static_cast<std::uint64_t>(per_tick_ * 0x1p32 *
                                        static_cast<double>(std::uint64_t{1} << shift_));
    latest_ = period_ > (INT64_MAX >> kPeriodBits) ? INT64_MAX : period_ << kPeriodBits;
    slack_ = (period_ >> 16) + 1;
  }

  // For times up to there, or a period more.
  Tick latest() const { return latest_; }

  // For each lane's ranks: what has been drawn for noise that begins so long before `time`, or up
  // to 3 less. `before` is less than a period.
  JF_HD Quarters begin(Lanes time, Tick before) const {
    // From two periods earlier on: never negative.
    const ULanes coarse = shifted_right((ULanes)(time + (2 * period_ - before - slack_)), shift_);
    return four_times_third((Lanes)multiply32(coarse, ULanes{} + scale_));
  }
  // Noise that begins up to `span` after that has been drawn less than so much after it.
  Quarters limit(Tick span) const {
    return Quarters{} + static_cast<std::uint16_t>(units(span) + kMostAfter);
  }
  // Whether that are all, or can not be told.
  bool all(Tick span) const {
    return !tells_ || span >= period_ || units(span) + kMostAfter >= kUnits;
  }

  // Noise that has been drawn that much after begin(), or less, begins no later than `span` after
  // the time that begin() is for; if not positive, none does so for sure.
  std::int64_t sure(Tick span) const { return units(span) - 2; }
  // How long after that time noise begins at least that has been drawn so much after begin().
  Tick least_ticks(std::int64_t after) const { return ((after - 3) * period_ >> 16) - 1; }
  // How long so many units take, in whole ticks, and whether that can be told.
  JF_HD Lanes ticks(Lanes units) const {
    return (Lanes)(multiply32((ULanes)units, ULanes{} + static_cast<std::uint64_t>(period_)) >> 16);
  }
  bool is_short() const { return period_ >> 32 == 0; }

 private:
  static constexpr int kUnits = 1 << 16;
  // Of times, a period has so many bits at most, as two factors of 32 bits are to be multiplied,
  // and there are as many periods as the others allow.
  static constexpr int kTimeBits = 21, kPeriodBits = 9;
  // Of periods: fractions of a tick would matter, or times overflow.
  static constexpr int kTooShort = 18, kTooLong = 60;
  // begin() is 1 to 2.5 too little: 1 to 1.3 for the slack, and up to 1.2 for fractions and for
  // what a scale of at least 2^27 makes of so many periods. What has been drawn is up to 0.3 more
  // than a phase in ticks, and up to 1 less in whole numbers.
  static constexpr int kMostAfter = 5;

  // Of the period, or one more or less where a product is not exact.
  int units(Tick span) const { return static_cast<int>(static_cast<double>(span) * per_tick_); }

  unsigned shift_ = 0;
  bool tells_ = false;
  double per_tick_ = 0;
  std::uint64_t scale_ = 0;
  Tick period_ = 0, latest_ = 0, slack_ = 0;
};

}  // namespace
}  // namespace jf
