// Host side of a delay: owns its table, checks it.
#pragma once

#include <vector>

#include "noise/delay.h"

namespace jf {

// No delay may be longer (13 days): so many steps of a rank can not overflow.
constexpr Tick kLongestDelay = Tick{1} << 60;

struct HostDelay {
  Delay delay{};
  std::vector<std::uint64_t> words;
  Tick largest = 0;

  // All throw std::invalid_argument. Times are not negative.
  static HostDelay constant(Tick value);
  // Nodes of the inverse survival function from u = 0 up to the median, falling, then from
  // u = 2^64 down to it, rising: node c at a distance from the end of c up to 64, then 64 an
  // octave.
  static HostDelay smooth(std::vector<std::uint64_t> nodes);
  // Equally likely values, falling.
  static HostDelay samples(const std::vector<Tick>& values);
  // Cell c of [edges[c], edges[c + 1]) falls from top[c] by drop[c] over its width.
  static HostDelay pieces(const std::vector<std::uint64_t>& edges, const std::vector<Tick>& top,
                          const std::vector<Tick>& drop);
  // `value` for each entry of `survival`, which falls, that is above u.
  static HostDelay counts(Tick value, std::vector<std::uint64_t> survival);

  // The same delay, but only if u <= last; u is stretched to what a delay needs.
  HostDelay with_last(std::uint64_t last) const;

  Tick of(std::uint64_t u) const { return delay.of<Tick>(u, words.data()); }
  // Keeps what Delay::shorts tells of; nothing, if there is none.
  void add_shorts(const std::vector<std::uint64_t>& shorts);
  // Appends the table to the words of a program.
  Delay append_to(std::vector<std::uint64_t>& program_words) const;
};

// Onto [0, 2^64), from [0, last].
Stretch stretch_from(std::uint64_t last);

}  // namespace jf
