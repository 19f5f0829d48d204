// Three steps of a binomial tree among eight ranks as one piece.
//
// With T = Lanes it is one such tree a lane: a step is between whole registers, without masks, and
// only those act that take part.
#pragma once

#include <algorithm>

#include "message_lanes.h"

namespace jf {
namespace {

template <class T, bool kLinks>
struct Subtree {
  T busy[kSubtree], next[kSubtree], in[kSubtree], out[kSubtree];

  JF_HD static T all(Tick t) { return T{} + t; }

  // Of rank i, with an empty link in.
  JF_HD void free_from(int i, T time) {
    busy[i] = time;
    if constexpr (kLinks) in[i] = all(kNothingCame), out[i] = time;
  }

  // The first rank is free at a time, and the others have been for ever.
  JF_HD void descend_from(T start) {
    free_from(0, start);
    for (int i = 1; i < kSubtree; ++i) free_from(i, all(kNothingCame));
  }

  // To the first rank: strides 1, 2, 4.
  template <class Noise>
  JF_HD void climb(const Noise& noise, const MessageCost* costs) {
    unrolled<kSubtreeSteps>([&](auto k) JF_INLINE {
      constexpr int a = 1 << k;
      unrolled<kSubtree / 2 / a>(
          [&](auto i) JF_INLINE { pair(noise, costs[k], 2 * a * i + a, 2 * a * i); });
    });
  }

  // From the first rank: strides 4, 2, 1.
  template <class Noise>
  JF_HD void descend(const Noise& noise, const MessageCost* costs) {
    unrolled<kSubtreeSteps>([&](auto k) JF_INLINE {
      constexpr int a = kSubtree >> (k + 1);
      unrolled<kSubtree / 2 / a>(
          [&](auto i) JF_INLINE { pair(noise, costs[k], 2 * a * i, 2 * a * i + a); });
    });
  }

  // When the last of the ranks from `from` on is free.
  JF_HD T latest(int from) const {
    T found = busy[from];
    for (int i = from + 1; i < kSubtree; ++i) found = later(found, busy[i]);
    return found;
  }

 private:
  template <class Noise>
  JF_HD void pair(const Noise& noise, const MessageCost& m, int from, int to) {
    T none{};
    const T left =
        send_message<kLinks>(noise, m, 0, next[from], kLinks ? out[from] : none, busy[from], T{});
    busy[from] = left;
    busy[to] = receive_message<kLinks>(noise, m, 0, next[to], kLinks ? in[to] : none, busy[to],
                                       left + m.transit, T{});
  }
};

inline bool any_works(const MessageCost* m, const MessageCost* end) {
  return std::any_of(m, end, [](const MessageCost& c) { return c.send > 0 || c.receive > 0; });
}

// The lanes in which a > b, as bits.
JF_HD unsigned greater(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd((__m256d)(a > b)));
#else
  unsigned bits = 0;
  for (unsigned k = 0; k < kLanes; ++k) bits |= static_cast<unsigned>(a[k] > b[k]) << k;
  return bits;
#endif
}

// The same for a < b of the low halves; what is in the high halves does not matter.
JF_HD unsigned low_below(ULanes a, ULanes b) {
#if defined(__AVX512F__)
  return _mm512_cmplt_epu64_mask((__m512i)(a << 32), (__m512i)(b << 32));
#else
  return greater((Lanes)(b & 0xffffffffu), (Lanes)(a & 0xffffffffu));
#endif
}

// The lesser of the low halves, there; what is in the high halves does not matter.
JF_HD ULanes least_low(ULanes a, ULanes b) {
#if defined(__AVX2__)
  return earlier_low(a, b);
#else
  return earlier_low(a & 0xffffffffu, b & 0xffffffffu);
#endif
}

JF_HD Tick greatest(Lanes v) {
  Tick found = v[0];
  for (unsigned k = 1; k < kLanes; ++k) found = later(found, Tick{v[k]});
  return found;
}

// Blocks of ranks, kLanes of them from block `b` on, one a lane.
struct BlockLanes {
  std::int64_t b, blocks;  // those from `blocks` on are none

  JF_HD Lanes ranks() const { return (broadcast(b) + lane_index()) * kBlock; }
  JF_HD Lanes of_blocks(Lanes theirs, Tick others) const {
    return select(lane_index() < blocks - b, theirs, broadcast(others));
  }
};

}  // namespace
}  // namespace jf
