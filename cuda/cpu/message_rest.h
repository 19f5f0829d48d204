// A tree of blocks (message_blocks.h) rank by rank: what is beyond the last whole block, and all of
// it once more than the first ranks of blocks are asked for.
#pragma once

#include "message_dense.h"
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
  using Base::job_, Base::p_, Base::s_, Base::lanes_;

  // Ranks beyond the last whole block.
  bool has_rest() const { return blocks_ * kBlock < p_.ranks; }
  void see_rest(Tick& most) const {
    if (has_rest()) most = later(most, first_.busy[blocks_]);
    for (std::int64_t i = blocks_ * kBlock + 1; i < p_.ranks; ++i) most = later(most, s_.busy[i]);
  }

  // Ranks of [from, to), whole blocks but for the last; first ones are where the others are.
  void step_by_step(const BlockPhase& phase, std::int64_t from, std::int64_t to) const {
    typename Trees::Tree in_registers[kLaneBits];
    int inside = 0;
    const auto stride = [&](int k) { return phase.down ? kBlockSteps - 1 - k : k; };
    for (int k = 0; k < kBlockSteps; ++k)
      if (stride(k) < kLaneBits) {
        Step s{};
        s.a = 1 << stride(k);
        s.b = static_cast<std::int32_t>(p_.ranks);
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

  void all_first(Tick busy, Tick in, Tick out) const {
    const std::int64_t count = blocks_ + 1;
    std::fill_n(first_.busy, count, busy);
    if constexpr (!std::is_same_v<Noise, Periodic>) std::fill_n(first_.next, count, Tick{0});
    if constexpr (kLinks) {
      std::fill_n(first_.in, count, in);
      std::fill_n(first_.out, count, out);
    }
  }

  const MessageState first_ = job_.of_blocks;
  std::int64_t blocks_ = 0;  // none: all ranks are in their arrays
};

}  // namespace
}  // namespace jf
