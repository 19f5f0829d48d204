// What a table of equally likely values has at the high half of a uniform (delay.h).
#pragma once

#include "halves.h"

namespace jf {

struct Samples {
  const std::uint64_t* values;  // falling; of a word each, or of half a word
  std::uint64_t count;

  template <class U>
  JF_HD U product(U high) const {
    return multiply32(high, high - high + count);
  }
  // In the high half of what differs: whether the low half of a uniform decides.
  template <class U>
  JF_HD U differs(U product) const {
    return (product + (count - 1)) ^ product;
  }
  template <bool kHalves, class T, class U>
  JF_HD T value(U index) const {
    return kHalves ? (T)gather_half(values, index) : (T)gather(values, index);
  }
};

// For any high half, without a branch.
template <bool kHalves>
struct QuickSamples {
  Samples samples;

  template <class U>
  JF_HD Place<U> place(U high, U& met) const {
    const U product = samples.product(high);
    met = met | samples.differs(product);
    return {product >> std::uint64_t{32}, high};
  }
  // If one of these bits is in `met`, the delay is of no use.
  JF_HD static std::uint64_t wrong() { return ~kMostHigh; }

  template <class T, class U>
  JF_HD T delay(const Place<U>& at) const {
    return samples.value<kHalves, T>(at.cell);
  }
};

}  // namespace jf
