// Three steps of a binomial tree among eight ranks as one piece.
//
// With T = Lanes it is one such tree a lane: a step is between whole registers, without masks, and
// only those act that take part.
#pragma once

#include <bit>

#include "message_lanes.h"

namespace jf {
namespace {

// In how many steps of a subtree its rank i is the first one of a smaller subtree.
constexpr int subtree_turns(int i) {
  return i == 0 ? kSubtreeSteps : std::countr_zero(static_cast<unsigned>(i));
}

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
  // Leaves `ready`, but not the links. kSeldom: most registers of ranks meet no noise. Times only
  // grow, so that who is free by the time that its next interval begins has met none.
  template <bool kSeldom = false, class Noise>
  JF_HD void descend_idle(const Noise& noise, const MessageCost* costs, T start) {
    T from[kSubtree];  // when the first rank may send, or the message to another one has left
    from[0] = start;
    unrolled<kSubtree>([&](auto i) JF_INLINE {
      Idle rank{from[i], next[i]};
      if constexpr (kSeldom) {
        rank.template act<i>(NoNoise{}, costs);
        if (__builtin_expect(any_greater(rank.busy, next[i]), 0)) {
          Idle noisy{from[i], next[i]};  // only this copy leaves the registers
          meet_noise<i>(noise, costs, noisy);
          rank = noisy;
        }
      } else {
        rank.template act<i>(noise, costs);
      }
      next[i] = rank.next;
      busy[i] = rank.busy;
      ready[i] = rank.ready;
      unrolled<subtree_turns(i)>([&](auto k) JF_INLINE { from[i + (1 << k)] = rank.left[k]; });
    });
  }

  // When the last of the ranks from `from` on is free.
  JF_HD T latest(int from) const {
    T found = busy[from];
    for (int i = from + 1; i < kSubtree; ++i) found = later(found, busy[i]);
    return found;
  }

 private:
  // A rank that has been idle for ever.
  struct Idle {
    T from, next;
    T busy, ready;
    T left[kSubtreeSteps];  // of strides 1, 2, 4

    JF_HD Idle(T from, T next) : from(from), next(next) {}

    template <int rank, class Noise>
    JF_HD void act(const Noise& noise, const MessageCost* costs) {
      constexpr int sends = subtree_turns(rank), first = kSubtreeSteps - sends;
      busy = from;
      if constexpr (rank > 0) {
        const MessageCost& m = costs[first - 1];
        busy = communicate(noise, kReceiveRole, 0, next, from + m.transit, m.receive, T{});
      }
      ready = busy;
      unrolled<sends>([&](auto k) JF_INLINE {
        const MessageCost& m = costs[first + k];
        const Tick waits = kLinks ? later(m.gap - m.send, Tick{0}) : 0;
        left[sends - 1 - k] = busy = communicate(noise, kSendRole, 0, next, ready, m.send, T{});
        ready = busy + waits;
      });
    }
  };
  template <int rank, class Noise>
  __attribute__((noinline)) static void meet_noise(const Noise& noise, const MessageCost* costs,
                                                   Idle& r) {
    r.template act<rank>(noise, costs);
  }

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
