// Host side of a delay distribution: makes its tables (delay_tables.h), checks and owns them.
#pragma once

#include <vector>

#include "noise/delay.h"

namespace jf {

// The bound of all delays (13 days), so that the sums of several can not overflow.
constexpr Tick kLongestDelay = Tick{1} << 60;

struct HostDelay {
  Delay delay{};
  std::vector<std::uint64_t> words;
  Tick largest = 0;

  // All throw std::invalid_argument. Times are not negative.
  static HostDelay constant(Tick value);
  // Nodes of the inverse survival function: first from u = 0 up to the median, falling, then from
  // u = 2^64 down to it, rising. Node c <= 64 is at distance c from the end; further nodes follow,
  // 64 per octave.
  static HostDelay smooth(std::vector<std::uint64_t> nodes);
  // Equally likely values, falling.
  static HostDelay samples(const std::vector<Tick>& values);
  // In [edges[c], edges[c + 1]) the delay falls linearly from top[c] by drop[c].
  static HostDelay pieces(const std::vector<std::uint64_t>& edges, const std::vector<Tick>& top,
                          const std::vector<Tick>& drop);
  // `value` times the number of entries of `survival` that are above u; `survival` falls.
  static HostDelay counts(Tick value, std::vector<std::uint64_t> survival);

  // The same delay, but it happens only if u <= last; then u is stretched to [0, 2^64).
  HostDelay with_last(std::uint64_t last) const;

  Tick of(std::uint64_t u) const { return delay.of<Tick>(u, words.data()); }
  // Appends the compact table (Delay::compact), unless it is empty.
  void add_compact(const std::vector<std::uint64_t>& compact);
  // Appends the table to the words of a program.
  Delay append_to(std::vector<std::uint64_t>& program_words) const;
};

// Maps [0, last] onto [0, 2^64).
Stretch stretch_from(std::uint64_t last);

}  // namespace jf
