// Whose messages a register of ranks receives in several turns that are done at once.
#pragma once

#include "message_lanes.h"

namespace jf {
namespace {

// For noise and networks that are quick: some ranks' turns are done twice.
template <class Noise, class Network>
constexpr bool kFused =
    (std::is_same_v<Noise, Periodic> || std::is_same_v<Noise, NoNoise>) && !Network::on;

// Called with turn k and the times of a register before it: those of whom it receives from.
// `before`: of each turn, the times of the register that is back(k) before this one in the order.

// Register number h from h - 2^k.
template <int kCount>
struct OfRows {
  static constexpr int kBefore = (1 << kCount) - 1;  // registers that the first one needs
  static constexpr int back(int k) { return 1 << k; }
  Lanes before[kCount];
  JF_HD Lanes operator()(int k, Lanes) const { return before[k]; }
};

// Rank i from one so many ranks before it, or kDown: after it; in turn k 2^k, or kRing: always one.
template <int kCount, bool kDown, bool kRing>
struct OfLanes {
  static constexpr int kBefore = 1;
  static constexpr int back(int) { return 1; }
  Lanes before[kCount];
  JF_HD Lanes operator()(int k, Lanes now) const {
    const int distance = kRing ? 1 : 1 << k;
    const Lanes at = lane_index() + (kDown ? distance : kLanes - distance);
    return kDown ? __builtin_shuffle(now, before[k], at) : __builtin_shuffle(before[k], now, at);
  }
};

// Rank i from i xor a mask, in its own register.
template <int kCount>
struct OfMasks {
  Lanes order[kCount];
  JF_HD Lanes operator()(int k, Lanes now) const { return __builtin_shuffle(now, order[k]); }
};

// From which register of a block register k receives in a turn.
enum class BlockMap { kXorUp, kXorDown, kShiftUp, kShiftDown };
template <BlockMap map, int kCount>
constexpr int partner_in_block(int turn, int k) {
  constexpr int size = 1 << kCount;
  switch (map) {
    case BlockMap::kXorUp:
      return k ^ 1 << turn;
    case BlockMap::kXorDown:
      return k ^ size >> 1 >> turn;
    case BlockMap::kShiftUp:
      return (k - (1 << turn)) & (size - 1);
    default:
      return (k + (1 << turn)) & (size - 1);
  }
}

}  // namespace
}  // namespace jf
