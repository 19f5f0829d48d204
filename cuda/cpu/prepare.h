// Draws the delays of one step for all ranks of a tile at once: in a loop of its own a source's
// keys stay in registers, and a block of random numbers serves two steps.
#pragma once

#include "../noise/sources.h"
#include "tile_job.h"

namespace jf {
namespace {

// The ranks of a tile that are prepared.
struct Part {
  std::int64_t from, to;
};

// Random numbers of one source, and where they are kept: `odd` for the next step, which finds them
// there if it continues this one.
struct Draws {
  std::uint64_t seed;
  std::uint32_t purpose, draw, realization;
  std::int32_t scope_bits;
  bool continues;
  std::uint64_t *even, *odd;

  // The numbers of this step. Apart from what is made of them: a mispredicted branch there would
  // throw away the work on the next numbers.
  template <class RankOf>
  JF_HD const std::uint64_t* make(Part part, RankOf&& rank_of) const {
    const bool second = (draw & 1) != 0;
    if (!(second && continues)) {
      const RoundKeys keys(seed);
      for (std::int64_t x = part.from; x < part.to; x += kLanes) {
        const auto pair =
            uniform_pair(keys, purpose, draw >> 1, rank_of(x) >> scope_bits, realization);
        *reinterpret_cast<ULanes*>(even + x) = pair.even;
        *reinterpret_cast<ULanes*>(odd + x) = pair.odd;
      }
    }
    return second ? odd : even;
  }
};

// Adds a source's delays to `sum`, or sets them.
JF_HD void add_delays(const Delay& delay, const std::uint64_t* words, const std::uint64_t* draws,
                      Part part, bool set, Tick* sum) {
  const Delay own = delay;  // which the stores can not change
  for (std::int64_t x = part.from; x < part.to; x += kLanes) {
    const Lanes drawn = own.of<Lanes>(*reinterpret_cast<const ULanes*>(draws + x), words);
    store(sum + x, set ? drawn : load(sum + x) + drawn);
  }
}

// Sets the sums of one role of a step. Returns where they are, or null if there are none.
template <class RankOf>
__attribute__((noinline)) const Tick* prepare_steps(const Sources& s, StepRole role,
                                                    std::int32_t draw, std::int64_t size, Part part,
                                                    RankOf rank_of, bool continues,
                                                    std::uint64_t* draws, Tick* sum) {
  bool any_source = false;
  for (std::int32_t j = 0; j < s.step_count; ++j) {
    const StepDelay& d = s.steps[j];
    if (!d.acts(role) || !d.window.always()) continue;
    const Draws u{s.seed,        d.purpose(role),       static_cast<std::uint32_t>(draw),
                  s.realization, d.scope_bits,          continues,
                  draws,         draws + (j + 1) * size};
    add_delays(d.delay, s.words, u.make(part, rank_of), part, !any_source, sum);
    any_source = true;
  }
  return any_source ? sum : nullptr;
}

template <class RankOf>
__attribute__((noinline)) const Tick* prepare_messages(const Messages& m, std::uint64_t seed,
                                                       std::uint32_t realization,
                                                       std::uint32_t purpose, std::int32_t draw,
                                                       std::int64_t size, Part part, RankOf rank_of,
                                                       bool continues, std::uint64_t* draws,
                                                       Tick* sum) {
  bool any_source = false;
  for (std::int32_t j = 0; j < m.count; ++j) {
    const MessageDelay& d = m.delays[j];
    if (!d.window.always()) continue;
    const Draws u{seed,        d.my_purpose(purpose), static_cast<std::uint32_t>(draw),
                  realization, d.scope_bits,          continues,
                  draws,       draws + (j + 1) * size};
    add_delays(d.delay, m.words, u.make(part, rank_of), part, !any_source, sum);
    any_source = true;
  }
  return any_source ? sum : nullptr;
}

}  // namespace
}  // namespace jf
