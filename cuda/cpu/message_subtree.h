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
  T ready[kSubtree];  // when the next message may be sent

  // Rank i has not done anything yet.
  JF_HD void begin(int i) {
    busy[i] = T{};
    if constexpr (kLinks) in[i] = T{} + kNothingCame;
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

  // The same of ranks none of which has sent anything: in fewer operations, and without `out`.
  template <class Noise>
  JF_HD void climb_first(const Noise& noise, const MessageCost* costs) {
    unrolled<kSubtreeSteps>([&](auto k) JF_INLINE {
      constexpr int a = 1 << k;
      const MessageCost& m = costs[k];
      unrolled<kSubtree / 2 / a>([&](auto i) JF_INLINE {
        constexpr int to = 2 * a * i, from = to + a;
        T none{};
        busy[from] = communicate(noise, kSendRole, 0, next[from], busy[from], m.send, T{});
        busy[to] = receive_message<kLinks>(noise, m, 0, next[to], kLinks ? in[to] : none, busy[to],
                                           busy[from] + m.transit, T{});
      });
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

  // The same if the first rank may send from a time on and the others have been idle for ever, in
  // fewer operations: nothing waits for a link but the next message of a rank for the one before.
  // Leaves `ready`, but not the links.
  template <class Noise>
  JF_HD void descend_idle(const Noise& noise, const MessageCost* costs, T start) {
    busy[0] = ready[0] = start;
    unrolled<kSubtreeSteps>([&](auto k) JF_INLINE {
      constexpr int a = kSubtree >> (k + 1);
      const MessageCost& m = costs[k];
      const Tick waits = kLinks ? later(m.gap - m.send, Tick{0}) : 0;
      unrolled<kSubtree / 2 / a>([&](auto i) JF_INLINE {
        constexpr int from = 2 * a * i, to = from + a;
        busy[from] = communicate(noise, kSendRole, 0, next[from], ready[from], m.send, T{});
        ready[from] = busy[from] + waits;
        busy[to] = ready[to] =
            communicate(noise, kReceiveRole, 0, next[to], busy[from] + m.transit, m.receive, T{});
      });
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
  return std::any_of(m, end, [](const MessageCost& c) { return c.works(); });
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
