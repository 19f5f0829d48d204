// Which steps of a tile have their delays drawn together, and where the blocks find these.
#pragma once

#include "block.h"
// clang-format off
#include "tile_job.h"
// clang-format on

namespace jf {

// Without a name outside its compilation: else the linker would keep one instruction set's for all.
namespace {

inline bool has_partner(const Step& step) {
  return step.kind == kExchange || step.kind == kForward;
}

// `noise` and `network`, which a TileRun owns, are told to leave to this what it draws.
template <class Noise, class Network>
class TileDraws {
 public:
  static constexpr bool kDrawn = is_general<Noise> || Network::on;

  bool any = false;  // is there anything to draw
  int until = 0;     // delays of steps before this one have been drawn for the part in work

  TileDraws(const TileJob& job, const TileScratch& scratch, Noise& noise, Network& network)
      : job_(job), p_(*job.program), s_(scratch), noise_(noise), network_(network), keys_(p_.seed) {
    if constexpr (is_general<Noise>) {
      noise.prepared = true;
      sends_alone_ = !Network::on && (noise.roles >> kReceiveRole & 1) == 0;
      noise.roles = noise.windows | (noise.roles & 1 << kComputeRole);
      any = noise.step_count > 0;
      never_quiet_ = (noise.windows & ~(1 << kComputeRole)) != 0;
    }
    if constexpr (Network::on) {
      network.prepared = true;
      any = true;
    }
  }

  int local_bit(int i) const { return job_.pass->map.local_bit(p_.steps[i].round); }

  bool continue_each_other(int i) const {
    const Step &a = p_.steps[i], &b = p_.steps[i + 1];
    return a.kind == b.kind && (a.flags & kMirrored) == (b.flags & kMirrored) &&
           local_bit(i + 1) == local_bit(i) + 1;
  }

  // So many steps from i on have draws of the same blocks.
  int together(int i, int end) const {
    int steps = 1;
    while (i + steps < end && steps < kDrawnSteps && goes_on(i + steps - 1)) ++steps;
    return steps;
  }

  // Whether the draws of step i + 1 are of the same blocks as those of step i.
  bool goes_on(int i) const {
    const Step &step = p_.steps[i], &after = p_.steps[i + 1];
    if ((after.draw + sends_alone_) % kDrawnSteps == 0) return false;
    if (step.kind == kEnter)  // its send has the number before that of the first exchange's
      return sends_alone_ && after.kind == kExchange && after.draw == step.draw;
    return has_partner(step) && step.kind == after.kind && after.draw == step.draw + 1 &&
           (step.flags & kFinal) == 0 && continue_each_other(i);
  }

  // Draws the delays of some steps from i on, for the ranks of a part.
  void draw(int i, int end, const PartRanks& ranks) {
    from_ = i;
    until = end;
    if constexpr (kDrawn) {
      if (any) draw_now(i, end, ranks);
    }
  }

  // Where the delays of step i are, and of those after it.
  JF_HD DrawnIf<kDrawn> at(int i) const {
    DrawnIf<kDrawn> at;
    if constexpr (kDrawn) {
      at.never_quiet = never_quiet_;
      if constexpr (is_general<Noise>) at.intervals = noise_.interval_count > 0;
      for (int kind = 0; kind < kDrawnKinds; ++kind)
        at.drawn[kind] = drawn_[kind] ? drawn_[kind] + (i - from_) * kDrawnRanks : nullptr;
    }
    return at;
  }

  // Whether a step that each rank does alone can have a delay.
  bool delays(const Step& step) const {
    if constexpr (is_general<Noise>) {
      const bool works = step.kind == kCompute && p_.costs.work > 0;
      return never_quiet_ || drawn_[kSending] != nullptr ||
             (works && (noise_.roles & 1 << kComputeRole) != 0);
    } else {
      return false;
    }
  }

  // The noise of such a step, the first one of those drawn together, at index y of the part.
  JF_HD decltype(auto) noise_at(std::int64_t y) const {
    if constexpr (is_general<Noise>) {
      const Tick* sending = drawn_[kSending];
      return PreparedSources<false, Noise>{noise_, {nullptr, sending ? sending + y : nullptr}};
    } else {
      return (noise_);
    }
  }

 private:
  void draw_now(int i, int end, const PartRanks& ranks) {
    const Step& step = p_.steps[i];
    const bool exchange = step.kind == kExchange, enter = step.kind == kEnter;
    const int steps = together(i, end);
    until = i + steps;
    const auto draws = [&](std::int32_t first, int count) {
      return Draws{keys_,
                   p_.seed,
                   job_.realization,
                   static_cast<std::uint32_t>(first),
                   static_cast<std::uint32_t>(count),
                   ranks.part.size(),
                   ranks,
                   s_.draws};
    };
    if constexpr (is_general<Noise>) {
      drawn_[kReceiving] = drawn_[kSending] = nullptr;
      const int sends = steps - ((p_.steps[i + steps - 1].flags & kFinal) != 0 ? 1 : 0);
      if (exchange)
        drawn_[kReceiving] =
            draw_steps(draws(step.draw, steps), noise_, kReceiveRole, s_.sums[kReceiving]);
      if (exchange || enter)
        drawn_[kSending] =
            draw_steps(draws(step.draw + exchange, sends), noise_, kSendRole, s_.sums[kSending]);
    }
    if constexpr (Network::on) {
      drawn_[kOfMessages] = nullptr;
      if (exchange || step.kind == kForward)
        drawn_[kOfMessages] =
            draw_messages(draws(step.draw, steps), network_,
                          exchange ? kOriginalJitter : kForwardJitter, s_.sums[kOfMessages]);
    }
  }

  struct NoKeys {
    explicit NoKeys(std::uint64_t) {}
  };

  const TileJob& job_;
  const ProgramView& p_;
  const TileScratch& s_;
  Noise& noise_;
  Network& network_;
  const std::conditional_t<kDrawn, RoundKeys, NoKeys> keys_;
  bool never_quiet_ = false;
  bool sends_alone_ = false;  // are delayed: their draws have the number after the step's
  int from_ = 0;              // the first step of those drawn
  const Tick* drawn_[kDrawnKinds] = {};  // or null
};

}  // namespace

}  // namespace jf
