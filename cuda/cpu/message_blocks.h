// A binomial tree over all ranks, which first goes up within blocks of neighbours, or in the end
// down to them: a block goes through these steps as one.
//
// Where no noise is met, all blocks do the same, some later than others (message_quiet.h). Then
// nothing of a block is written but its first rank, which goes on, in an array of its own: the
// times of the others follow. Other blocks are written, and go step by step.
#pragma once

#include "message_dense.h"
#include "message_noise.h"
#include "message_quiet.h"
#include "message_trees.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageBlocks : protected MessageDense<Noise, Network, kLinks> {
  using Base = MessageDense<Noise, Network, kLinks>;
  using Quiet = QuietBlock<kLinks>;
  using Trees = MessageTrees<Noise, Network, kLinks>;

 protected:
  using Base::at_start_;
  using Base::Base;
  using Base::job_, Base::p_, Base::noise_, Base::s_, Base::size_, Base::lanes_;

  void begin() {
    const int first = first_message();
    if (first < 0) return Base::begin();
    blocks_ = p_.ranks / kBlock;
    at_start_ = true;
    std::fill_n(job_.written, blocks_, std::uint8_t{0});
    all_first(0, kNothingCame, 0);
    this->begin_ranks(blocks_ * kBlock, size_, 0);
    if (!climbs_from(first)) first_noise().draw(0, blocks_ * kBlock);
    for (std::int64_t b = 0; b * kBlock < p_.ranks; ++b) first_.next[b] = s_.next[b * kBlock];
  }

  // Does step i, and those after it that go with it, on blocks, if that is possible; returns the
  // last of them. Else blocks are written, and it returns -1.
  int in_blocks(int i, bool at_start) {
    if (blocks_ == 0) return -1;
    if (is_far(p_.steps[i])) {
      between_first(p_.steps[i], this->rule({i, 0}));
      return i;
    }
    const bool up = at_start && climbs_from(i);
    if (!up && !is_phase(i, true)) {
      write_blocks();
      return -1;
    }
    const Phase phase = phase_of(i, !up);
    const int last = i + kBlockSteps - 1;
    if (up)
      climb(phase, noise_later(last));
    else
      descend(phase, is_over(last));
    this->count(p_.ranks);
    return last;
  }

  void write_blocks() {
    if (blocks_ == 0) return;
    for (std::int64_t b = 0; b < blocks_; ++b) {
      if (!job_.written[b]) write(b * kBlock);
      take_first(b);
    }
    if (has_rest()) take_first(blocks_);
    blocks_ = 0;
  }

  void observe(int row) {
    if (blocks_ > 0 && (p_.one_rank || !only_max())) write_blocks();
    if (blocks_ == 0) return Base::observe(row);
    Tick most = INT64_MIN;
    const auto see = [&](std::int64_t b, std::int64_t to) {
      most = later(most, first_.busy[b]);
      for (std::int64_t i = b * kBlock + 1; i < to; ++i) most = later(most, s_.busy[i]);
    };
    for (std::int64_t b = 0; b < blocks_; ++b) {
      if (job_.written[b])
        see(b, (b + 1) * kBlock);
      else
        most = later(most, latest(first_.busy[b]));
    }
    if (has_rest()) see(blocks_, p_.ranks);
    Observation& o = job_.observations[row];
    o.max = later(o.max, most);
  }

 private:
  // The steps of a tree within blocks.
  struct Phase {
    bool down, works;
    typename Base::Rule rules[kBlockSteps];
    typename Trees::Tree in_registers[kLaneBits];
  };
  // What the ranks of blocks that are not written did last.
  enum Past { kIdle, kClimbed, kDescended };

  bool only_max() const { return !job_.full_statistics && job_.capture == nullptr; }

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
  bool climbs_from(int i) const { return is_phase(i, false); }

  // The first message step, if blocks can begin with it and nobody looks before; else -1.
  int first_message() const {
    if (!kFused<Noise, Network> || !job_.first || job_.pass->load || p_.costs.forward > 0 ||
        p_.ranks < kBlock)
      return -1;
    for (int i = job_.pass->begin; i < job_.pass->end; ++i) {
      const Step& s = p_.steps[i];
      if (s.kind == kMessage) return is_far(s) || climbs_from(i) || is_phase(i, true) ? i : -1;
      if (s.row >= 0 || s.kind == kForward || (s.kind == kCompute && p_.costs.work > 0)) return -1;
    }
    return -1;
  }

  // Whether after this step nothing is asked for but the latest time.
  bool is_over(int last) const {
    for (int i = last + 1; i < p_.step_count; ++i)
      if (p_.steps[i].kind != kObserve) return false;
    return only_max() && !p_.one_rank;
  }

  // Whether after this step ranks work that are not the first of a block.
  bool noise_later(int last) const {
    for (int i = last + 1; i < p_.step_count; ++i) {
      const Step& s = p_.steps[i];
      if (s.kind != kMessage && s.kind != kObserve) return true;  // no work asks for its phase too
      if (s.kind == kMessage && !is_far(s) && this->rule({i, 0}).works()) return true;
    }
    return false;
  }

  Phase phase_of(int i, bool down) const {
    Phase phase;
    phase.down = down;
    phase.works = false;
    int inside = 0;
    for (int k = 0; k < kBlockSteps; ++k) {
      const Step& s = p_.steps[i + k];
      phase.rules[k] = this->rule({i + k, 0});
      phase.works |= phase.rules[k].works();
      if (s.a < kLanes) phase.in_registers[inside++] = Trees::tree(phase.rules[k], s);
    }
    phase.works &= noise_.in_communication;
    return phase;
  }

  FirstNoise<Noise> first_noise() const { return {p_, noise_, job_.realization, s_.next}; }

  // From time 0, at which also the noise is drawn.
  // `noise_later`: others than the first ranks of blocks may meet some after these steps.
  void climb(const Phase& phase, bool noise_later) {
    climbed_.climb(phase.rules);
    all_first(climbed_.busy[0], kLinks ? climbed_.in[0] : 0, kLinks ? climbed_.out[0] : 0);
    const auto noise = first_noise();
    const bool quick = phase.works && !noise_later && noise.can_be_early(climbed_.latest);
    if (quick) {
      climbed_.find_early(noise.period());
      noise.draw_first(blocks_, first_.next);
    }
    for (std::int64_t b = 0; b < blocks_; ++b) {
      const std::int64_t x = b * kBlock;
      bool met = quick ? noise.early(x, climbed_) : phase.works;
      if (met || !quick) {
        noise.draw(x, x + kBlock);
        first_.next[b] = s_.next[x];
        met = met && meets_noise(x, climbed_, 0);
      }
      if (!met) continue;
      write(x);
      job_.written[b] = 1;
      step_by_step(phase, b, x + kBlock);
    }
    if (has_rest()) step_by_step(phase, blocks_, p_.ranks);
    past_ = kClimbed;
  }

  void descend(const Phase& phase, bool over) {
    descended_.descend(phase.rules);
    const Tick idle = past_ == kIdle ? 0 : climbed_.idle_from(phase.rules);
    for (std::int64_t b = 0; b < blocks_; ++b) {
      const std::int64_t x = b * kBlock;
      if (!job_.written[b]) {
        Tick start = first_.busy[b];
        if constexpr (kLinks) start = later(start, first_.out[b]);
        bool quiet = start + descended_.first_arrival >= idle;
        if (phase.works) {
          s_.next[x] = first_.next[b];
          quiet = quiet && !meets_noise(x, descended_, start);
        }
        if (quiet && over) {
          first_.busy[b] = start + descended_.busy[0];
          continue;
        }
        write(x);
        job_.written[b] = 1;
        if (quiet) {
          take_first(b);
          add_descended(x, start);
          give_first(b);
          continue;
        }
      }
      take_first(b);
      step_by_step(phase, b, x + kBlock);
    }
    if (has_rest()) {
      take_first(blocks_);
      step_by_step(phase, blocks_, p_.ranks);
    }
    past_ = kDescended;
    if (!over) write_blocks();
  }

  // Whether a rank of the block from x on, whose times are these and `start`, does.
  JF_HD bool meets_noise(std::int64_t x, const Quiet& times, Tick start) const {
    const Tick *const busy = times.busy, *const next = s_.next + x;
    for (int k = 0; k < kBlock; k += 2 * kLanes)
      if (any_greater(load(busy + k) + start, load(next + k), load(busy + k + kLanes) + start,
                      load(next + k + kLanes)))
        return true;
    return false;
  }

  // Block b, which ends before `to`; its first rank is where the others are.
  void step_by_step(const Phase& phase, std::int64_t b, std::int64_t to) const {
    const std::int64_t from = b * kBlock;
    const Trees trees{lanes_, phase.in_registers, kLaneBits, s_.busy};
    if (!phase.down) trees.run(from, to);
    for (int k = 0; k < kBlockSteps; ++k) {
      const std::int64_t a = std::int64_t{1} << (phase.down ? kBlockSteps - 1 - k : k);
      if (a >= kLanes) lanes_.pairs(phase.rules[k], s_.busy, from, to, a, phase.down);
    }
    if (phase.down) trees.run(from, to);
    give_first(b);
  }

  // A step between first ranks.
  void between_first(const Step& s, const typename Base::Rule& rule) const {
    const typename Base::Rules lanes{p_,          noise_,    job_.realization,
                                     first_.next, first_.in, first_.out};
    lanes.pairs(rule, first_.busy, 0, (s.b + kBlock - 1) / kBlock, s.a / kBlock, s.c != 0);
  }

  // Ranks beyond the last whole block.
  bool has_rest() const { return blocks_ * kBlock < p_.ranks; }

  void all_first(Tick busy, Tick in, Tick out) const {
    std::fill_n(first_.busy, blocks_ + 1, busy);
    if constexpr (kLinks) {
      std::fill_n(first_.in, blocks_ + 1, in);
      std::fill_n(first_.out, blocks_ + 1, out);
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

  // The block from rank x on, which is not written; of its first rank take_first() tells.
  void write(std::int64_t x) const {
    const bool climbed = past_ == kClimbed;
    for (std::int64_t k = 0; k < kBlock; k += kLanes) {
      store(s_.busy + x + k, climbed ? load(climbed_.busy + k) : Lanes{});
      if constexpr (kLinks) {
        store(s_.in + x + k, climbed ? load(climbed_.in + k) : broadcast(kNothingCame));
        store(s_.out + x + k, climbed ? load(climbed_.out + k) : Lanes{});
      }
    }
  }

  // A written block goes down, its first rank from `start` on. It receives nothing, and the odd
  // ranks send nothing.
  void add_descended(std::int64_t x, Tick start) const {
    const Tick in = kLinks ? s_.in[x] : 0;
    for (std::int64_t k = 0; k < kBlock; k += kLanes) {
      store(s_.busy + x + k, load(descended_.busy + k) + start);
      if constexpr (kLinks) {
        store(s_.in + x + k, load(descended_.in + k) + start);
        const Lanes out = load(descended_.out + k) + start;
        store(s_.out + x + k, select((lane_index() & 1) == 0, out, load(s_.out + x + k)));
      }
    }
    if constexpr (kLinks) s_.in[x] = in;
  }

  // Of a block that is not written, whose first rank is free at `first`.
  Tick latest(Tick first) const {
    if (past_ == kDescended) return first + (descended_.latest - descended_.busy[0]);
    return past_ == kClimbed ? later(first, climbed_.latest_other) : first;
  }

  const MessageState first_ = job_.first_ranks;
  std::int64_t blocks_ = 0;  // so many of the first ones may be not written
  Past past_ = kIdle;
  Quiet climbed_, descended_;
};

}  // namespace
}  // namespace jf
