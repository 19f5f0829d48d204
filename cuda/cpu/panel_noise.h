// The noise of the steps of a panel. Delays that do not depend on the time are drawn for some steps
// together, before these are done. The rest is met rank by rank: intervals, and delays with
// windows.
#pragma once

// clang-format off
#include "register_noise.h"
// clang-format on
#include "segment_job.h"

namespace jf {
namespace {

template <class Noise, class Network>
class PanelNoise {
  alignas(64) static constexpr Tick kNone[kDrawnRanks] = {};  // where no message is delayed

 public:
  PanelNoise(const SegmentJob& job, const TileRanks& ranks, const Noise& noise,
             const Network& network)
      : job_(job),
        p_(*job.tile.program),
        ranks_(ranks),
        noise_(noise),
        network_(network),
        rest_(noise),
        rest_network_(network),
        keys_(p_.seed) {
    if constexpr (is_general<Noise>) {
      rest_.prepared = true;
      rest_.roles = rest_.windows | (rest_.roles & 1 << kComputeRole);
    }
    if constexpr (Network::on) rest_network_.prepared = true;
  }

  // Draws the delays of step `begin` and of those after it that share its block of random numbers,
  // up to `end`, for the ranks of the panel: `from` + offsets in `map`.
  void draw(int begin, int end, const TileMap& map, std::int64_t from) {
    int count = 1;
    while (begin + count < end && !PanelGroups::draws_end(p_.steps, begin, begin + count)) ++count;
    const auto draws = [&](std::int32_t first) {
      return Draws{keys_,
                   p_.seed,
                   job_.tile.realization,
                   static_cast<std::uint32_t>(first),
                   static_cast<std::uint32_t>(count),
                   map.size(),
                   {ranks_, map, from},
                   job_.scratch.draws};
    };
    const std::int32_t number = p_.steps[begin].draw;
    Tick* const* sums = job_.scratch.sums;
    if constexpr (is_general<Noise>) {
      drawn_[kReceiving] = draw_steps(draws(number), noise_, kReceiveRole, sums[kReceiving]);
      drawn_[kSending] = draw_steps(draws(number + 1), noise_, kSendRole, sums[kSending]);
    }
    if constexpr (Network::on)
      drawn_[kOfMessages] =
          draw_messages(draws(number), network_, kOriginalJitter, sums[kOfMessages]);
  }

  // Whether noise of intervals may delay the steps of an exchange.
  bool in_communication() const { return noise_.in_communication; }
  // Whether some register may meet no noise but what is drawn (at<true>).
  bool ever_quiet() const {
    if constexpr (is_general<Noise>)
      return (rest_.windows & ~(1 << kComputeRole)) == 0 && !late_windows();
    else
      return !late_windows();
  }

  // Of the CPUs of the register at y, in step s of those drawn; quiet: only what is drawn.
  template <bool quiet>
  JF_HD decltype(auto) at(int s, std::int64_t y) const {
    if constexpr (is_general<Noise>)
      return PreparedSources<quiet, Noise>{rest_, {drawn(kReceiving, s, y), drawn(kSending, s, y)}};
    else if constexpr (quiet)
      return NoNoise{};
    else
      return (rest_);
  }

  // What is drawn of the delays of original messages, by the rank that gets them.
  const Tick* drawn_originals(int s) const {
    const Tick* const found = drawn(kOfMessages, s, 0);
    return found != nullptr ? found : kNone;
  }

  // All delays in the network of messages to ranks `ids`, at y of the panel, that left at `left`.
  Lanes of_originals(const Step& step, int s, std::int64_t y, Lanes ids, Lanes left) const {
    Lanes sum{};
    if constexpr (Network::on) {
      if (const Tick* delays = drawn(kOfMessages, s, y)) sum += load(delays);
      if (late_windows()) sum += delay(rest_network_, kOriginalJitter, step, ids, left);
    }
    return sum;
  }
  // The same of copies, of which none is drawn beforehand: hardly any matters.
  Lanes of_copies(const Step& step, Lanes ids, Lanes left) const {
    return delay(network_, kCopyJitter, step, ids, left);
  }

 private:
  // In step s, from y on; or null.
  JF_HD const Tick* drawn(int kind, int s, std::int64_t y) const {
    return drawn_[kind] == nullptr ? nullptr : drawn_[kind] + s * kDrawnRanks + y;
  }
  bool late_windows() const {
    if constexpr (Network::on)
      return rest_network_.windows != 0;
    else
      return false;
  }
  Lanes delay(const Network& network, Purpose purpose, const Step& step, Lanes ids,
              Lanes left) const {
    return network.delay(p_.seed, purpose, static_cast<std::uint32_t>(step.draw), ids,
                         job_.tile.realization, left);
  }

  const SegmentJob& job_;
  const ProgramView& p_;
  const TileRanks ranks_;
  const Noise& noise_;
  const Network& network_;
  Noise rest_;  // what is not drawn beforehand
  Network rest_network_;
  const RoundKeys keys_;
  const Tick* drawn_[kDrawnKinds] = {};  // [step][rank]
};

}  // namespace
}  // namespace jf
