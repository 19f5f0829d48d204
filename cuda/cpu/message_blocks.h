// A binomial tree over all ranks whose last steps, or first ones, are within blocks of neighbours.
//
// Blocks go through these steps at once, one a lane: up from time 0 (message_climb.h), or down to
// the end of the program (message_descent.h). Where nobody asks for more than when the last rank is
// free, nothing is kept of a block but its first rank, in an array of its own.
#pragma once

#include "message_climb.h"
#include "message_cycles.h"
#include "message_descent.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageBlocks : protected MessageCycles<Noise, Network, kLinks> {
  using Base = MessageCycles<Noise, Network, kLinks>;
  static constexpr bool kNoisy = std::is_same_v<Noise, Periodic>;
  static constexpr std::int64_t kMostDrawnBefore = 128;

 protected:
  using Base::at_start_;
  using Base::Base;
  using Base::draws_, Base::phases_, Base::rest_, Base::rest_end_, Base::use_;
  using Base::job_, Base::p_, Base::noise_, Base::s_, Base::size_, Base::blocks_, Base::first_;

  void begin() {
    if (!use_.any) return Base::begin();
    this->begin_blocks(p_.ranks / kBlock, p_.ranks / kBlock * kBlock);
    at_start_ = true;
    this->all_first(0, kNothingCame, 0);
    if (!draw_before() && !use_.climbs) this->draw_first();
    if (!this->has_rest()) return;
    this->begin_ranks(rest_, size_, 0);
    first_.next[blocks_] = s_.next[rest_];
  }

  // Does step i, and those after it that go with it, on blocks, and returns the last of them; or,
  // if ranks are not known to be idle by then, -1 once all ranks' times are in their arrays.
  int in_blocks(int i) {
    if (blocks_ == 0) return -1;
    if constexpr (kFused<Noise, Network>) {
      if (phases_.is_far(p_.steps[i])) return this->between_first(i);
      const BlockPhase phase = phases_.at(i);
      if (!phase.down) {
        climbed_ = i;
        climb(phase);
      } else if (!descend(phase)) {
        write_blocks();
        return -1;
      }
      this->count(p_.ranks);
    }
    return i + kBlockSteps - 1;
  }

  void observe(int row) {
    if (blocks_ == 0) return Base::observe(row);
    Observation& o = job_.observations[row];
    if (p_.one_rank) return o.see(first_.busy[0]);
    o.max = later(o.max, most_);
    if (over_) return;
    for (std::int64_t b = 0; b < blocks_; ++b) o.max = later(o.max, first_.busy[b]);
    this->see_rest(o.max);
  }

 private:
  void climb(const BlockPhase& phase) {
    BlockClimb<Noise, kLinks> up(noise_, phase.costs);
    if (kNoisy && noise_.in_communication && phase.works()) {
      if constexpr (kNoisy) {
        const MessageState& firsts = job_.of_subtrees;
        for (BlockLanes at{0, blocks_}; at.b < blocks_; at.b += kLanes)
          up.low(at, draws_, firsts, drawn(at));
        up.meet_noise(draws_, firsts);
        for (BlockLanes at{0, blocks_}; at.b < blocks_; at.b += kLanes) up.high(at, firsts, first_);
      }
      drawn_ = use_.descends;
    } else {
      this->draw_first();
      this->all_first(up.busy(), kLinks ? up.in() : 0, 0);
    }
    most_ = up.latest();
    gap_ = phase.gap;
    if (!this->has_rest()) return;
    this->step_by_step(phase, rest_, rest_end_);
    this->give_first(blocks_, rest_);
  }

  // False if ranks have not been idle for long enough.
  bool descend(const BlockPhase& phase) {
    BlockDescent<Noise, kLinks> down(noise_, phase);
    if (climbed_ >= 0) {
      const Tick begin = *std::min_element(first_.busy, first_.busy + blocks_);
      if (begin + down.wait() < most_ + later(gap_, phase.gap)) return false;
    }
    BlockLanes at{0, blocks_};
    for (; at.b < blocks_; at.b += kLanes) down.quiet(at, first_);
    down.keep_latest();
    if constexpr (kNoisy)  // the last ones first: of these nearly all begin later
      while (down.works() && (at.b -= kLanes) >= 0) down.blocks(at, draws_, first_, drawn(at));
    most_ = down.latest(draws_);
    over_ = true;
    if (!this->has_rest()) return true;
    this->take_first(blocks_, rest_);
    this->step_by_step(phase, rest_, rest_end_);
    this->give_first(blocks_, rest_);
    this->see_rest(most_);
    return true;
  }

  // The noise of the ranks of blocks, see draw_high(). It is drawn once: kept if blocks go up and
  // down, or if they have been drawn before. The array is free: no step of these needs it, and it
  // has been made large enough.
  const Tick* drawn(const BlockLanes& at) const {
    constexpr int kHigh = kSubtree * FirstNoise<Noise>::kHigh;
    Tick* const words = s_.left + (kept_ ? at.b * kHigh : 0);
    if (!drawn_) draws_.draw_high(at.ranks(), this->begun(at.b), words);
    return words;
  }

  // The same of all blocks before the first step, where a core's own cache takes it: first ranks
  // are among them, and else would be drawn on their own. False if not.
  bool draw_before() {
    if constexpr (kNoisy) {
      if (use_.climbs || !use_.descent_works || blocks_ > kMostDrawnBefore) return false;
      kept_ = noise_.in_communication;
      for (BlockLanes at{0, blocks_}; kept_ && at.b < blocks_; at.b += kLanes)
        store(first_.next + at.b, load(drawn(at)));
      drawn_ = kept_;
      return kept_;
    }
    return false;
  }

  // What the others of blocks have done is done again, for their times.
  void write_blocks() {
    const std::int64_t to = blocks_ * kBlock;
    this->begin_ranks(0, to, 0);
    if (climbed_ >= 0) this->step_by_step(phases_.at(climbed_), 0, to);
    for (std::int64_t b = 0; b * kBlock < p_.ranks; ++b) this->take_first(b, b * kBlock);
    blocks_ = 0;
  }

  int climbed_ = -1;                          // the first step of the climb, if there has been one
  bool kept_ = use_.climbs && use_.descends;  // what is drawn is for more than one phase
  bool drawn_ = false;                        // and has been drawn
  bool over_ = false;                         // all is done, and most_ is of all ranks
  Tick most_ = 0;  // when the last rank is free that is not the first of a block
  Tick gap_ = 0;   // the longest of the climb
};

}  // namespace
}  // namespace jf
