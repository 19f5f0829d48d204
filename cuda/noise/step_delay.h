// Delays of single steps of a rank (HM18, AGV05), and of single messages.
#pragma once

#include "intervals.h"

namespace jf {

// Where the second draw of a block waits for the step that needs it: as a rule the next one of the
// same rank. `filled`: it is there.
struct Spare {
  std::uint64_t* words;  // or null: not kept
  bool filled;
};

template <class T>
JF_HD auto uniform64(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, T key,
                     std::uint32_t realization, Spare spare) {
  using U = decltype(uniform64(seed, purpose, draw, key, realization));
  if (spare.words == nullptr) return uniform64(seed, purpose, draw, key, realization);
  U* kept = reinterpret_cast<U*>(spare.words);
  if ((draw & 1) != 0 && spare.filled) return *kept;
  const auto pair = uniform_pair(seed, purpose, draw >> 1, key, realization);
  if ((draw & 1) != 0) return pair.odd;
  *kept = pair.odd;
  return pair.even;
}

enum StepRole : std::int32_t { kReceiveRole, kSendRole, kComputeRole };

// Lengthens the CPU work of a step by a draw.
struct StepDelay {
  Delay delay;
  std::int32_t scope_bits, at_send, in_compute, in_communication;
  Window window;
  std::uint32_t number;  // among the sources of its role

  JF_HD bool acts(StepRole role) const {
    if (role == kComputeRole) return in_compute != 0;
    return in_communication != 0 && (at_send != 0) == (role == kSendRole);
  }

  // `t`: when the work begins.
  template <class T>
  JF_HD T of(std::uint64_t seed, StepRole role, std::uint32_t draw, T ranks,
             std::uint32_t realization, T t, const std::uint64_t* words, Spare spare) const {
    const std::uint32_t purpose = number + (role == kReceiveRole ? kReceiveDelay
                                            : role == kSendRole  ? kSendDelay
                                                                 : kComputeDelay);
    const T drawn =
        delay.of<T>(uniform64(seed, purpose, draw, ranks >> scope_bits, realization, spare), words);
    return window.always() ? drawn : select(window.holds(t), drawn, t - t);
  }
};

// Lengthens the way of a message by a draw.
struct MessageDelay {
  Delay delay;
  std::int32_t scope_bits;
  Window window;
  std::uint32_t original_purpose, copy_purpose, forward_purpose;

  // `left`: when the message left its sender's CPU; `ranks` receive it.
  template <class T>
  JF_HD T of(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, T ranks,
             std::uint32_t realization, T left, const std::uint64_t* words, Spare spare) const {
    const std::uint32_t mine = purpose == kOriginalJitter ? original_purpose
                               : purpose == kCopyJitter   ? copy_purpose
                                                          : forward_purpose;
    const T drawn =
        delay.of<T>(uniform64(seed, mine, draw, ranks >> scope_bits, realization, spare), words);
    return window.always() ? drawn : select(window.holds(left), drawn, left - left);
  }
};

}  // namespace jf
