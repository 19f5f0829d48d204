// Products of times and drawn factors, as fixed-point numbers: exact, the same on every processor.
#pragma once

#include "core/philox.h"

namespace jf {

// A factor is drawn from a table of times, in which 10^12 ticks stand for 1. It becomes a
// fixed-point number of 32 fractional bits, rounded down.
constexpr int kFactorBits = 32;
constexpr std::uint64_t kFactorOfTick = 79228162514264338u;  // 2^(64 + 32) / 10^12, rounded up

JF_HD std::uint64_t factor_of(std::uint64_t ticks) { return scale64(ticks, kFactorOfTick); }

// time * factor, rounded to the nearest tick: from 128 bits, so that it is exact.
JF_HD Tick times_factor(Tick time, std::uint64_t factor) {
  const auto w = static_cast<std::uint64_t>(time);
  const std::uint64_t half = std::uint64_t{1} << (kFactorBits - 1);
  const std::uint64_t low = w * factor + half, high = scale64(w, factor) + (low < half ? 1 : 0);
  return static_cast<Tick>(high << (64 - kFactorBits) | low >> kFactorBits);
}

}  // namespace jf
