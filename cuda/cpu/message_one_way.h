// Trees over several cycles whose messages all go the same way: nobody waits for one that he sends
// to.
//
// So the others of blocks do some cycles at once, a few blocks after the other, whose times stay
// near the core: up before the first ranks of blocks, down after them. In between, what is sent
// between the two is kept in the array `left`. At their place among the others, first ranks are
// stand-ins, whose noise never comes.
#pragma once

#include "message_passes.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageOneWay : protected MessagePasses<Noise, Network, kLinks> {
  using Base = MessagePasses<Noise, Network, kLinks>;
  using Rule = typename Base::Rule;

 protected:
  using Base::Base;
  using Base::job_, Base::p_, Base::noise_, Base::s_, Base::stop_;
  using Base::kApart, Base::kGroup, Base::kPeriodic, Base::begins_, Base::blocks_, Base::first_,
      Base::phases_, Base::rest_, Base::rest_end_;

  void run_one_way() {
    int before = Base::kNone;
    for (int i = job_.pass->begin; i < job_.pass->end && !stop_;) {
      Cycles c = from(i);
      c.before = before;
      if (c.count > 0) before = c.phases[c.count - 1];
      i = c.end;
      if (c.down) {
        firsts(c);
        others(c);
        see(c);
      } else {
        others(c);
        firsts(c);
      }
    }
  }

 private:
  // So many are kept in `left`, each of messages between first ranks and kBlockSteps others.
  static constexpr int kMost = kBlock / kBlockSteps;

  // Steps [begin, end) with up to so many phases within blocks.
  struct Cycles {
    int begin, end, count = 0;
    int before = Base::kNone;  // the phase before them
    int phases[kMost] = {};
    bool down = false, works = false;
    Lanes most[kMost] = {};  // when the last rank is free that has gone down
    Tick of_rest[kMost] = {};
  };
  Cycles from(int i) const {
    Cycles c;
    c.begin = i;
    for (; i < job_.pass->end; ++i) {
      const Step& s = p_.steps[i];
      if (s.kind != kMessage) continue;
      // Down, the steps before a phase go with it.
      if (c.count == kMost && (c.down || !phases_.is_far(s))) break;
      if (phases_.is_far(s)) continue;
      c.down = s.c != 0;
      c.phases[c.count++] = i;
      const BlockPhase phase = phases_.at(i);
      c.works = c.works || phase.works();
      i += kBlockSteps - 1;
    }
    c.end = i;
    return c;
  }

  // When messages of a phase have left; of the group that begins with block b.
  Tick* left(std::int64_t phase, std::int64_t b) const {
    const std::int64_t groups = (blocks_ + kLanes - 1) / kLanes;
    return s_.left + (phase * groups + b / kLanes) * kBlockSteps * kLanes;
  }

  // Steps between first ranks, and what these do in blocks; and ranks beyond the last whole block.
  void firsts(Cycles& c) {
    int n = 0;
    for (int i = c.begin; i < c.end && !stop_; ++i) {
      if (n < c.count && i == c.phases[n]) {
        if (this->has_rest()) this->take_first(blocks_, rest_);
        first_ranks(i, n, c.down);
        if (this->has_rest()) {
          this->step_by_step(phases_.at(i), rest_, rest_end_);
          this->give_first(blocks_, rest_);
          this->see_rest(c.of_rest[n]);
        }
        ++n;
        i += kBlockSteps - 1;
        this->count(p_.ranks);
      } else if (phases_.is_far(p_.steps[i])) {
        i = this->between_first(i);
      }
      const int row = p_.steps[i].row;
      if (row >= 0 && (!c.down || p_.one_rank)) this->see_first_or_last(row, 0);
    }
  }
  void first_ranks(int step, int phase, bool down) const {
    Rule rules[kBlockSteps];
    bool works = false;
    for (int k = 0; k < kBlockSteps; ++k) {
      rules[k] = this->rule({step + k, 0});
      works = works || rules[k].cost.works();
    }
    const auto lanes = this->lanes_of_first();
    for (std::int64_t b = 0; b < blocks_; b += kLanes) {
      Tick* const messages = left(phase, b);
      auto r = lanes.get(first_.busy, b);
      if (down)
        lanes.with_noise(works, b, r, [=, &rules](const auto& any, auto& ranks) JF_INLINE {
          for (int k = 0; k < kBlockSteps; ++k) {
            lanes.sent(any, rules[k], ranks);
            store(messages + k * kLanes, ranks.busy);
          }
        });
      else
        lanes.with_noise(works, b, r, [=, &rules](const auto& any, auto& ranks) JF_INLINE {
          for (int k = 0; k < kBlockSteps; ++k)
            lanes.received(any, rules[k], load(messages + k * kLanes), ranks);
        });
      lanes.put(first_.busy, b, r);
    }
  }

  void others(Cycles& c) {
    if (kPeriodic && noise_.in_communication && c.works)
      others<kPeriodic>(c);
    else
      others<false>(c);
    begins_ = false;
  }
  template <bool kMeets>
  void others(Cycles& c) {
    const typename Base::template Columns<kMeets> columns(noise_, s_);
    for (BlockLanes at{0, blocks_}; at.b < blocks_ && !stop_; at.b += 2 * kLanes) {
      if (at.b + kLanes < blocks_)
        groups<2>(columns, c, at);
      else
        groups<1>(columns, c, at);
    }
  }

  template <int kGroups, class Columns>
  void groups(const Columns& columns, Cycles& c, const BlockLanes& at) {
    const std::int64_t x = this->place(at.b, 0);
    for (int n = 0; begins_ && n < kGroups; ++n) {
      this->begin_group(at.b + n * kLanes);
      store(s_.next + x + n * kGroup, broadcast(INT64_MAX / 2));
    }
    for (int k = 0; k < c.count; ++k) {
      if (c.down)
        down_cycle<kGroups>(columns, c, k, at);
      else
        up_cycle<kGroups>(columns, c, k, at);
    }
  }

  // Until the link is free after a phase's message k; there may be none.
  Tick wait_after(int phase, int k) const {
    if (!kLinks || phase == Base::kNone) return 0;
    const MessageCost& m = p_.message_costs[p_.steps[phase + k].cost];
    return later(m.gap - m.send, Tick{0});
  }

  template <int kGroups, class Columns>
  void up_cycle(const Columns& columns, const Cycles& c, int phase, const BlockLanes& at) {
    this->set(this->up_, c.phases[phase]);
    auto& up = this->up_.of;
    const int before = phase > 0 ? c.phases[phase - 1] : c.before;
    for (int k = 0; k < kSubtreeSteps; ++k) up[1].waits[k] = wait_after(before, k);
    const std::int64_t first = this->place(at.b, 0);
    for (std::int64_t x = first; x < first + kGroups * kGroup; x += 2 * kApart)
      columns.template climb<InBlock, 2, false, Columns::Up::kWaits>(x, up[1]);
    columns.template climb<OfBlocks, kGroups>(first, up[0]);
    for (int n = 0; n < kGroups; ++n) {
      Tick* const messages = left(phase, at.b + n * kLanes);
      for (int k = 0; k < kBlockSteps; ++k)
        store(messages + k * kLanes, load(s_.busy + first + n * kGroup + (kLanes << k)));
    }
  }

  template <int kGroups, class Columns>
  void down_cycle(const Columns& columns, Cycles& c, int phase, BlockLanes at) {
    this->set(this->down_, c.phases[phase]);
    const auto& down = this->down_.of;
    const Tick* messages = left(phase, at.b);
    constexpr int kMessages = kBlockSteps * kLanes;
    std::int64_t x = this->place(at.b, 0);
    this->template descend<OfBlocks, kGroups>(columns, x, down[0], {messages, kGroups, kMessages});
    for (int n = 0; n < kGroups; ++n, at.b += kLanes, messages += kMessages) {
      Lanes found{};
      for (int k = 0; k < kSubtree; k += 2, x += 2 * kApart)
        found = later(found, this->template descend<InBlock, 2>(
                                 columns, x, down[1],
                                 {messages + kSubtreeSteps * kLanes, k == 0 ? 1 : 0, 0}));
      c.most[phase] = later(c.most[phase], at.of_blocks(found, 0));
    }
  }

  // Who sends last to a rank is free before that rank is.
  void see(const Cycles& c) const {
    int n = 0;
    for (int i = c.begin; i < c.end && !p_.one_rank; ++i) {
      if (n < c.count && i == c.phases[n]) {
        ++n;
        i += kBlockSteps - 1;
      }
      const int row = p_.steps[i].row;
      if (row >= 0) this->see_most(row, later(greatest(c.most[n - 1]), c.of_rest[n - 1]));
    }
  }
};

}  // namespace
}  // namespace jf
