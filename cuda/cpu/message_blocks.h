// A binomial tree over all ranks whose last steps, or first ones, are within blocks of neighbours.
//
// Blocks go through these steps at once, one a lane: up from time 0 (message_climb.h), or down to
// the end of the program (message_descent.h). Where nobody asks for more than when the last rank is
// free, nothing is kept of a block but its first rank, in an array of its own.
#pragma once

#include "message_climb.h"
#include "message_dense.h"
#include "message_descent.h"
#include "message_firsts.h"
#include "message_trees.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageBlocks : protected MessageDense<Noise, Network, kLinks> {
  using Base = MessageDense<Noise, Network, kLinks>;
  using Trees = MessageTrees<Noise, Network, kLinks>;
  static constexpr bool kNoisy = std::is_same_v<Noise, Periodic>;
  static constexpr std::int64_t kFewest = 4 * kBlock;  // ranks: else most lanes have no block

 protected:
  using Base::at_start_;
  using Base::Base;
  using Base::job_, Base::p_, Base::noise_, Base::s_, Base::size_, Base::lanes_;

  void begin() {
    if (!by_blocks()) return Base::begin();
    blocks_ = p_.ranks / kBlock;
    at_start_ = true;
    all_first(0, kNothingCame, 0);
    if (!climbs_) draw_first();
    if (!has_rest()) return;
    this->begin_ranks(blocks_ * kBlock, size_, 0);
    first_.next[blocks_] = s_.next[blocks_ * kBlock];
  }

  // Does step i, and those after it that go with it, on blocks, and returns the last of them; or,
  // if ranks are not known to be idle by then, -1 once all ranks' times are in their arrays.
  int in_blocks(int i) {
    if (blocks_ == 0) return -1;
    if constexpr (kFused<Noise, Network>) {
      if (is_far(p_.steps[i])) return between_first(i);
      const Phase phase = phase_of(i);
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
    see_rest(o.max);
  }

 private:
  // The steps of a tree within blocks.
  struct Phase {
    bool down;
    Tick gap;  // the longest
    typename Base::Rule rules[kBlockSteps];
    MessageCost costs[kBlockSteps];
  };

  // Pairs of it are first ranks of blocks.
  static bool is_far(const Step& s) {
    return s.kind == kMessage && s.map == kTree && s.a >= kBlock && s.repeat == 1 &&
           (s.flags & kAfterForward) == 0;
  }

  bool is_phase(int i, bool down) const {
    if (job_.pass->end - i < kBlockSteps) return false;
    for (int k = 0; k < kBlockSteps; ++k) {
      const Step& s = p_.steps[i + k];
      const int bit = down ? kBlockSteps - 1 - k : k;
      if (s.kind != kMessage || s.map != kTree || s.a != 1 << bit || (s.c != 0) != down ||
          s.b != p_.ranks || s.repeat != 1 || (s.flags & kAfterForward) != 0 ||
          (s.row >= 0 && k + 1 < kBlockSteps))
        return false;
    }
    return true;
  }

  // Whether all that is asked for, to the end of the program, can be told from blocks.
  bool by_blocks() {
    if (!kFused<Noise, Network> || !job_.first || job_.pass->load || job_.pass->store ||
        p_.costs.forward > 0 || p_.ranks < kFewest || job_.full_statistics ||
        job_.capture != nullptr)
      return false;
    bool started = false, over = false;
    for (int i = job_.pass->begin; i < job_.pass->end; ++i) {
      const Step& s = p_.steps[i];
      if (s.kind == kObserve) continue;
      if (s.kind == kCompute && p_.costs.work == 0 && !started) continue;
      if (s.kind != kMessage || over) return false;
      if (!is_far(s)) {
        if (!started && is_phase(i, false))
          climbs_ = true;
        else if (!p_.one_rank && is_phase(i, true))
          over = true;
        else
          return false;
        i += kBlockSteps - 1;
      }
      started = true;
    }
    descends_ = over;
    return started;
  }

  Phase phase_of(int i) const {
    Phase phase;
    phase.down = p_.steps[i].c != 0;
    phase.gap = 0;
    for (int k = 0; k < kBlockSteps; ++k) {
      phase.rules[k] = this->rule({i + k, 0});
      phase.costs[k] = phase.rules[k].cost;
      phase.gap = later(phase.gap, phase.costs[k].gap);
    }
    return phase;
  }

  void climb(const Phase& phase) {
    BlockClimb<Noise, kLinks> up(noise_, phase.costs);
    if (kNoisy && noise_.in_communication && any_works(phase.costs, phase.costs + kBlockSteps)) {
      if constexpr (kNoisy) {
        const MessageState& firsts = job_.of_subtrees;
        for (BlockLanes at{0, blocks_}; at.b < blocks_; at.b += kLanes)
          up.low(at, draws_, firsts, drawn(at));
        up.meet_noise(draws_, firsts);
        for (BlockLanes at{0, blocks_}; at.b < blocks_; at.b += kLanes) up.high(at, firsts, first_);
      }
      drawn_ = descends_;
    } else {
      draw_first();
      all_first(up.busy(), kLinks ? up.in() : 0, kLinks ? up.out() : 0);
    }
    most_ = up.latest();
    gap_ = phase.gap;
    if (!has_rest()) return;
    step_by_step(phase, blocks_ * kBlock, p_.ranks);
    give_first(blocks_);
  }

  // False if ranks have not been idle for long enough.
  bool descend(const Phase& phase) {
    BlockDescent<Noise, kLinks> down(noise_, phase.costs, job_.of_subtrees);
    Tick begin = INT64_MAX;
    for (std::int64_t b = 0; b < blocks_; ++b) begin = std::min(begin, first_.busy[b]);
    if (climbed_ >= 0 && begin + down.wait() < most_ + later(gap_, phase.gap)) return false;
    for (BlockLanes at{0, blocks_}; at.b < blocks_; at.b += kLanes) {
      if (!kNoisy || !down.works())
        down.blocks(at, first_);
      else if constexpr (kNoisy)
        down.blocks(at, draws_, first_, drawn(at));
    }
    most_ = down.latest(draws_);
    over_ = true;
    if (!has_rest()) return true;
    take_first(blocks_);
    step_by_step(phase, blocks_ * kBlock, p_.ranks);
    give_first(blocks_);
    see_rest(most_);
    return true;
  }

  // The noise of the ranks of blocks, see draw_high(). It is drawn once: kept if blocks go up and
  // down. The array is free: no step of these needs it, and it has been made large enough.
  const Tick* drawn(const BlockLanes& at) const {
    Tick* const words = s_.left + (climbs_ && descends_ ? at.b * kBlock : 0);
    if (!drawn_) draws_.draw_high(at.ranks(), words);
    return words;
  }

  // Ranks of [from, to), whole blocks but for the last; first ones are where the others are.
  void step_by_step(const Phase& phase, std::int64_t from, std::int64_t to) const {
    typename Trees::Tree in_registers[kLaneBits];
    int inside = 0;
    const auto stride = [&](int k) { return phase.down ? kBlockSteps - 1 - k : k; };
    for (int k = 0; k < kBlockSteps; ++k)
      if (stride(k) < kLaneBits) {
        Step s{};
        s.a = 1 << stride(k);
        s.b = static_cast<std::int32_t>(p_.ranks);
        s.c = phase.down;
        in_registers[inside++] = Trees::tree(phase.rules[k], s);
      }
    const Trees trees{lanes_, in_registers, kLaneBits, s_.busy};
    if (!phase.down) trees.run(from, to);
    for (int k = 0; k < kBlockSteps; ++k)
      if (stride(k) >= kLaneBits)
        lanes_.pairs(phase.rules[k], s_.busy, from, to, std::int64_t{1} << stride(k), phase.down);
    if (phase.down) trees.run(from, to);
  }

  // Steps between first ranks, from step i on: three that are those of a subtree, or this one.
  // Returns the last of them.
  int between_first(int i) const {
    const BlockFirsts<Noise, Network, kLinks> firsts(p_, noise_, job_.realization, first_);
    typename Base::Rule rules[kSubtreeSteps];
    const int steps = are_subtree(i) ? kSubtreeSteps : 1;
    for (int k = 0; k < steps; ++k) rules[k] = this->rule({i + k, 0});
    if (steps > 1)
      firsts.three(p_.steps[i], rules);
    else
      firsts.one(p_.steps[i], rules[0]);
    return i + steps - 1;
  }

  bool are_subtree(int i) const {
    if (i + kSubtreeSteps > job_.pass->end) return false;
    const Step& first = p_.steps[i];
    for (int k = 1; k < kSubtreeSteps; ++k) {
      const Step& s = p_.steps[i + k];
      if (!is_far(s) || s.b != first.b || s.c != first.c || p_.steps[i + k - 1].row >= 0 ||
          s.a != (first.c != 0 ? first.a >> k : first.a << k))
        return false;
    }
    return BlockFirsts<Noise, Network, kLinks>::worth_it(first);
  }

  // Ranks beyond the last whole block.
  bool has_rest() const { return blocks_ * kBlock < p_.ranks; }
  void see_rest(Tick& most) const {
    if (has_rest()) most = later(most, first_.busy[blocks_]);
    for (std::int64_t i = blocks_ * kBlock + 1; i < p_.ranks; ++i) most = later(most, s_.busy[i]);
  }

  void draw_first() const {
    if constexpr (kNoisy)
      for (std::int64_t b = 0; b < blocks_; b += kLanes)
        store(first_.next + b, draws_.draw_even((b + lane_index()) * kBlock));
  }
  void all_first(Tick busy, Tick in, Tick out) const {
    const std::int64_t count = blocks_ + 1;
    std::fill_n(first_.busy, count, busy);
    if constexpr (!kNoisy) std::fill_n(first_.next, count, Tick{0});
    if constexpr (kLinks) {
      std::fill_n(first_.in, count, in);
      std::fill_n(first_.out, count, out);
    }
  }
  // The first rank of block b from among the first ones to the others of its block, and back.
  void take_first(std::int64_t b) const {
    const std::int64_t x = b * kBlock;
    s_.busy[x] = first_.busy[b];
    s_.next[x] = first_.next[b];
    if constexpr (kLinks) s_.in[x] = first_.in[b], s_.out[x] = first_.out[b];
  }
  void give_first(std::int64_t b) const {
    const std::int64_t x = b * kBlock;
    first_.busy[b] = s_.busy[x];
    first_.next[b] = s_.next[x];
    if constexpr (kLinks) first_.in[b] = s_.in[x], first_.out[b] = s_.out[x];
  }

  // What the others of blocks have done is done again, for their times.
  void write_blocks() {
    const std::int64_t to = blocks_ * kBlock;
    this->begin_ranks(0, to, 0);
    if (climbed_ >= 0) step_by_step(phase_of(climbed_), 0, to);
    for (std::int64_t b = 0; b * kBlock < p_.ranks; ++b) take_first(b);
    blocks_ = 0;
  }

  const MessageState first_ = job_.of_blocks;
  const FirstNoise<Noise> draws_{p_, noise_, job_.realization};
  std::int64_t blocks_ = 0;                 // none: all ranks are in their arrays
  int climbed_ = -1;                        // the first step of the climb, if there has been one
  bool drawn_ = false;                      // drawn() is kept
  bool climbs_ = false, descends_ = false;  // blocks do, at the start, and at the end
  bool over_ = false;                       // all is done, and most_ is of all ranks
  Tick most_ = 0;  // when the last rank is free that is not the first of a block
  Tick gap_ = 0;   // the longest of the climb
};

}  // namespace
}  // namespace jf
