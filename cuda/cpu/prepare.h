// Draws the delays of some steps for some ranks before these steps are done.
#pragma once

// clang-format off
#include "delay_draws.h"
// clang-format on
#include "../noise/sources.h"

namespace jf {
namespace {

// Those of one role. Returns where the sums are, or null if there are no sources. Windows depend on
// the time: sources with one are never among them.
[[maybe_unused]] const Tick* draw_steps(const Draws& d, const Sources& s, StepRole role,
                                        Tick* sums) {
  bool any_source = false;
  for (std::int32_t j = 0; j < s.step_count; ++j) {
    const StepDelay& source = s.steps[j];
    if (!source.acts(role) || !source.window.always()) continue;
    draw_delays(d, source.delay, s.words, source.purpose(role), source.scope_bits, !any_source,
                sums);
    any_source = true;
  }
  return any_source ? sums : nullptr;
}

// How long messages are held up by congestion, number by number.
[[maybe_unused]] __attribute__((noinline)) void add_loads(const Draws& d, const Loads& loads,
                                                          std::uint32_t purpose, bool set,
                                                          Tick* sums) {
  for (std::uint32_t n = d.first; n < d.first + d.count; ++n) {
    Tick* sum = sums + (n - d.first) * kDrawnRanks;
    for (std::int64_t y = 0; y < d.ranks; y += kLanes) {
      const Lanes held = loads.held_up<Lanes>(purpose, n, d.rank_of(y), d.realization);
      store(sum + y, set ? held : load(sum + y) + held);
    }
  }
}

[[maybe_unused]] const Tick* draw_messages(const Draws& d, const Messages& m, std::uint32_t purpose,
                                           Tick* sums) {
  bool any_source = false;
  for (std::int32_t j = 0; j < m.count; ++j) {
    const MessageDelay& source = m.delays[j];
    if (!source.window.always()) continue;
    draw_delays(d, source.delay, m.words, source.my_purpose(purpose), source.scope_bits,
                !any_source, sums);
    any_source = true;
  }
  if (m.loads != nullptr) {
    add_loads(d, *m.loads, purpose, !any_source, sums);
    any_source = true;
  }
  return any_source ? sums : nullptr;
}

// Sources that delay the steps that receive a message, and perhaps phases of computing, and have no
// windows: as most are that have no intervals. For them each rank's step is an addition or two.
struct ReceiveDelays : Sources {
  static constexpr bool only_receives = true;

  JF_HD static bool are(const Sources& s) {
    return s.interval_count == 0 && s.windows == 0 && (s.roles >> kReceiveRole & 1) != 0 &&
           (s.roles >> kSendRole & 1) == 0;
  }
  JF_HD ReceiveDelays bound(std::uint32_t to_realization, Cursor* with_cursors,
                            std::uint64_t drawn_with) const {
    return {Sources::bound<std::uint32_t>(to_realization, with_cursors, drawn_with)};
  }
  JF_HD Lanes advance(Lanes&, Lanes t, Lanes w, Lanes, bool) const { return t + w; }
};
template <class Noise>
constexpr bool only_receives = requires { Noise::only_receives; };

// Whether it matters when something happens: whether `next` of a clock is of any use.
template <class Noise>
constexpr bool is_timed = !std::is_same_v<Noise, NoNoise> && !only_receives<Noise>;

// ReceiveDelays as a register of ranks meets them in communication.
struct DrawnDelays {
  static constexpr bool general = true, in_communication = true;

  const Tick* drawn;

  JF_HD Lanes advance(Lanes&, Lanes t, Lanes w, Lanes, bool) const { return t + w; }
  JF_HD Lanes step(StepRole role, std::int32_t, Lanes&, Lanes t, Tick w, Lanes) const {
    return role == kReceiveRole ? t + w + load(drawn) : t + w;
  }
};

// Sources as a register of ranks meets them whose delays have been drawn. kQuiet: as if no interval
// ever came; for delays without a window.
template <bool kQuiet, class All>
struct PreparedSources {
  static constexpr bool general = true, in_communication = true;

  const All& sources;
  const Tick* drawn[2];  // when receiving, when sending; or null

  JF_HD void seek(Lanes& next, bool back) const { sources.seek(next, back); }

  JF_HD Lanes advance(Lanes& next, Lanes t, Lanes w, Lanes ranks, bool compute) const {
    return kQuiet ? t + w : sources.advance(next, t, w, ranks, compute);
  }

  JF_HD Lanes step(StepRole role, std::int32_t draw, Lanes& next, Lanes t, Tick w,
                   Lanes ranks) const {
    Lanes work = broadcast(w);
    if (role != kComputeRole && drawn[role] != nullptr) work += load(drawn[role]);
    if constexpr (kQuiet) {
      return t + work;
    } else {
      if ((sources.roles >> role & 1) != 0)
        work += sum_of_delays(sources, role, static_cast<std::uint32_t>(draw), ranks, t);
      return sources.advance(next, t, work, ranks, role == kComputeRole);
    }
  }
};

}  // namespace
}  // namespace jf
