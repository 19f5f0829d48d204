// A tree of blocks (message_blocks.h) rank by rank: what is beyond the last whole block, and all of
// it once more than the first ranks of blocks are asked for.
#pragma once

#include "message_dense.h"
#include "message_firsts.h"
#include "message_phases.h"
#include "message_trees.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageRest : protected MessageDense<Noise, Network, kLinks> {
  using Base = MessageDense<Noise, Network, kLinks>;
  using Trees = MessageTrees<Noise, Network, kLinks>;

 protected:
  using Base::Base;
  using Base::job_, Base::p_, Base::s_, Base::lanes_, Base::noise_;
  static constexpr std::int64_t kFewest = 4 * kBlock;  // ranks: else most lanes have no block

  void begin_blocks(std::int64_t blocks, std::int64_t rest) {
    blocks_ = blocks;
    rest_ = rest;
    rest_end_ = rest + p_.ranks - blocks * kBlock;
  }

  // Ranks beyond the last whole block.
  bool has_rest() const { return rest_ < rest_end_; }
  void see_rest(Tick& most) const {
    if (has_rest()) most = later(most, first_.busy[blocks_]);
    for (std::int64_t x = rest_ + 1; x < rest_end_; ++x) most = later(most, s_.busy[x]);
  }

  // Ranks at [from, to), whole blocks but for the last; first ones are where the others are.
  void step_by_step(const BlockPhase& phase, std::int64_t from, std::int64_t to) const {
    typename Trees::Tree in_registers[kLaneBits];
    int inside = 0;
    const auto stride = [&](int k) { return phase.down ? kBlockSteps - 1 - k : k; };
    for (int k = 0; k < kBlockSteps; ++k)
      if (stride(k) < kLaneBits) {
        Step s{};
        s.a = 1 << stride(k);
        s.b = static_cast<std::int32_t>(to);
        s.c = phase.down;
        in_registers[inside++] = Trees::tree(this->rule({phase.first + k, 0}), s);
      }
    const Trees trees{lanes_, in_registers, kLaneBits, s_.busy};
    if (!phase.down) trees.run(from, to);
    for (int k = 0; k < kBlockSteps; ++k)
      if (stride(k) >= kLaneBits)
        lanes_.pairs(this->rule({phase.first + k, 0}), s_.busy, from, to,
                     std::int64_t{1} << stride(k), phase.down);
    if (phase.down) trees.run(from, to);
  }

  // The first rank of block b from among the first ones to the others of its block, at x, and back.
  void take_first(std::int64_t b, std::int64_t x) const {
    s_.busy[x] = first_.busy[b];
    s_.next[x] = first_.next[b];
    if constexpr (kLinks) s_.in[x] = first_.in[b], s_.out[x] = first_.out[b];
  }
  void give_first(std::int64_t b, std::int64_t x) const {
    first_.busy[b] = s_.busy[x];
    first_.next[b] = s_.next[x];
    if constexpr (kLinks) first_.in[b] = s_.in[x], first_.out[b] = s_.out[x];
  }

  void all_first(Tick busy, Tick in, Tick out) const {
    const std::int64_t count = (blocks_ / kLanes + 1) * kLanes;
    std::fill_n(first_.busy, count, busy);
    if constexpr (!std::is_same_v<Noise, Periodic>) std::fill_n(first_.next, count, Tick{0});
    if constexpr (kLinks) {
      std::fill_n(first_.in, count, in);
      std::fill_n(first_.out, count, out);
    }
  }

  // What draws of blocks b, b + 1, ... begin with. The table is one thread's.
  const RankRounds* begun(std::int64_t b) const {
    const RankTable& table = job_.ranks;
    const auto at = [&](std::int64_t block) {
      return reinterpret_cast<RankRounds*>(table.words + block * kBlock);
    };
    const auto make = [&](std::int64_t block, RankRounds* ranks) {
      draws_.begin_ranks((broadcast(block) + lane_index()) * kBlock, ranks);
    };
    if (!table.known->ranks_found)
      for (std::int64_t k = 0; k < table.blocks; k += kLanes) make(k, at(k));
    table.known->ranks_found = true;
    if (b < table.blocks) return at(b);
    make(b, at(table.blocks));
    return at(table.blocks);
  }

  // The noise of the first ranks of blocks.
  void draw_first() const {
    if constexpr (std::is_same_v<Noise, Periodic>) {
      if (draws_.alone() && blocks_ <= job_.ranks.blocks) return draw_first_begun();
      constexpr int kMany = 4;
      for (std::int64_t b = 0; b < blocks_; b += kMany * kLanes) {
        Lanes next[kMany];
        draws_.draw_even((b + lane_index()) * kBlock, kLanes * kBlock, next);
        store_first(b, next);
      }
    }
  }
  void draw_first_begun() const {
    for (std::int64_t b = 0; b < blocks_; b += kMostBlocks * kLanes) {
      const RankRounds* begun_of[kMostBlocks];
      for (int k = 0; k < kMostBlocks; ++k)
        begun_of[k] = begun(std::min(b + k * kLanes, (blocks_ - 1) / kLanes * kLanes));
      Lanes next[kMostBlocks];
      draws_.draw_even(begun_of, next);
      store_first(b, next);
    }
  }
  template <int n>
  void store_first(std::int64_t b, const Lanes (&next)[n]) const {
    for (int k = 0; k < n && b + k * kLanes < blocks_; ++k)
      store(first_.next + b + k * kLanes, next[k]);
  }

  // Steps between first ranks, from step i on: three that are those of a subtree, or this one.
  // Returns the last of them.
  int between_first(int i) const {
    const BlockFirsts<Noise, Network, kLinks> firsts(p_, noise_, job_.realization, first_, use_);
    const auto rule = [&](int k) JF_INLINE { return this->rule({i + k, 0}); };
    if (!phases_.are_subtree(i) || !firsts.worth_it(p_.steps[i])) {
      firsts.one(p_.steps[i], rule(0));
      return i;
    }
    // Where they are made: a copy of what has just been written would wait for it.
    const typename Base::Rule rules[] = {rule(0), rule(1), rule(2)};
    firsts.three(p_.steps[i], rules);
    return i + kSubtreeSteps - 1;
  }

  BlocksKnown known_use() const {
    if (!kFused<Noise, Network> || !job_.first || p_.ranks < kFewest) return {};
    BlocksKnown& known = *job_.ranks.known;
    if (!known.use_found) {
      known.use = phases_.use();
      if (!known.use.any) known.cycles = phases_.cycle_use();
    }
    known.use_found = true;
    return known;
  }

  auto lanes_of_first() const {
    return typename Base::Rules{p_, noise_, job_.realization, first_.next, first_.in, first_.out};
  }

  const MessageState first_ = job_.of_blocks;
  const BlockPhases phases_{job_};
  const BlocksKnown known_ = known_use();
  const BlockUse use_ = known_.use;        // by MessageBlocks
  const CycleUse cycles_ = known_.cycles;  // by MessageCycles
  const FirstNoise<Noise> draws_{p_, noise_, job_.realization};
  std::int64_t blocks_ = 0;               // none: all ranks are in their arrays
  std::int64_t rest_ = 0, rest_end_ = 0;  // where the ranks beyond the last whole block are
};

}  // namespace
}  // namespace jf
