// What a block of ranks does in a binomial tree if it meets no noise.
#pragma once

#include <algorithm>

#include "message_job.h"

namespace jf {
namespace {

template <bool kLinks>
struct QuietBlock {
  alignas(64) Tick busy[kBlock], in[kBlock], out[kBlock];
  Tick latest, latest_other;  // time at which a rank, or one after the first, is free
  Tick first_arrival;

  // Of draws of 32 bits for even and odd ranks: from there on, what is scaled to a period is not
  // before `busy`.
  alignas(64) Tick early_even[kBlock / 2], early_odd[kBlock / 2];
  bool odd_wait;  // the odd ranks have done nothing that takes time

  // From time 0, at which nobody has done anything, towards the first rank: strides 1, 2, 4, ...
  // Both halves of what takes part in a step have come to the same times.
  void climb(const auto& rules) {
    put(0, 0);
    for (int k = 0; k < kBlockSteps; ++k) {
      const int a = 1 << k;
      std::copy(busy, busy + a, busy + a);
      if constexpr (kLinks) {
        std::copy(in, in + a, in + a);
        std::copy(out, out + a, out + a);
      }
      pair(rules[k].cost, a, 0);
    }
    finish();
  }

  // From the first rank, which is free to send at time 0, to the others, which have been idle for
  // long: strides ..., 4, 2, 1. If it starts later, all of these times are later by that.
  void descend(const auto& rules) {
    put(0, 0);
    for (int i = 1; i < kBlock; ++i) put(i, kNothingCame);
    first_arrival = INT64_MAX;
    for (int k = 0; k < kBlockSteps; ++k) {
      const int a = kBlock >> (k + 1);
      for (int i = 0; i < kBlock; i += 2 * a) pair(rules[k].cost, i, i + a);
    }
    finish();
  }

  // Of times below the period. u 2^-64 period >= busy if the high half of u is at least this.
  void find_early(std::uint64_t period) {
    const std::uint64_t scale = (std::uint64_t{1} << 63) / period + 1;
    for (int i = 0; i < kBlock / 2; ++i) {
      early_even[i] = scaled(busy[2 * i], scale);
      early_odd[i] = scaled(busy[2 * i + 1], scale);
    }
    odd_wait = busy[1] == 0;
  }

  // The time from which on it makes no difference to a rank after the first, which receives the
  // next message by one of these rules, and sends then, what it has done before.
  Tick idle_from(const auto& rules) const {
    Tick gap = 0;
    for (int k = 0; k < kBlockSteps; ++k) gap = std::max(gap, rules[k].cost.gap);
    Tick found = latest_other;
    if constexpr (kLinks)
      for (int i = 1; i < kBlock; ++i) found = std::max({found, in[i] + gap, out[i]});
    return found;
  }

 private:
  static Tick scaled(Tick t, std::uint64_t scale) {
    return static_cast<Tick>(static_cast<std::uint64_t>(t) * scale >> 31) + 1;
  }

  void put(int i, Tick free) {
    busy[i] = free;
    if constexpr (kLinks) in[i] = kNothingCame, out[i] = free;
  }

  void pair(const MessageCost& m, int from, int to) {
    Tick none = 0;
    const Tick left =
        send_message<kLinks>(NoNoise{}, m, 0, none, kLinks ? out[from] : none, busy[from], Tick{0});
    const Tick at = left + m.transit;
    first_arrival = std::min(first_arrival, at);
    busy[from] = left;
    busy[to] = receive_message<kLinks>(NoNoise{}, m, 0, none, kLinks ? in[to] : none, busy[to], at,
                                       Tick{0});
  }

  void finish() {
    latest_other = *std::max_element(busy + 1, busy + kBlock);
    latest = std::max(busy[0], latest_other);
  }
};

}  // namespace
}  // namespace jf
