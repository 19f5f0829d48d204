// Trees over several cycles, or of ranks that have not been idle: whole blocks in columns
// (message_columns.h), and after them, rank by rank, what is beyond.
#pragma once

#include "message_one_way.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageCycles : protected MessageOneWay<Noise, Network, kLinks> {
  using Base = MessageOneWay<Noise, Network, kLinks>;

 protected:
  using Base::Base;
  using Base::job_, Base::p_, Base::noise_, Base::s_, Base::size_, Base::stop_;
  using Base::kNone, Base::cycles_, Base::blocks_, Base::first_, Base::phases_, Base::rest_,
      Base::rest_end_;
  using typename Base::Parts, typename Base::MostTimes;

  // Whether the program is of that kind, and not one cycle, which MessageBlocks does in less.
  bool are_cycles() const { return cycles_.any; }

  void run_cycles() {
    if constexpr (kFused<Noise, Network>) {
      begin_cycles();
      if (cycles_.one_way) return this->run_one_way();
      for (int i = job_.pass->begin; i < job_.pass->end && !stop_; ++i) {
        i = cycle_step(i);
        if (p_.steps[i].row >= 0) this->see_first_or_last(p_.steps[i].row, most_);
      }
    }
  }

 private:
  void begin_cycles() {
    const std::int64_t blocks = p_.ranks / kBlock, full = (blocks + kLanes - 1) / kLanes * kLanes;
    this->begin_blocks(blocks, full * kBlock);
    this->begins_ = true;
    this->all_first(0, kNothingCame, 0);
    this->draw_first();
    if (!this->has_rest()) return;
    this->at_time_0(rest_, kBlock);
    this->draws_.draw(blocks * kBlock, size_, s_.next + (rest_ - blocks * kBlock));
    this->give_first(blocks, rest_);
  }

  // Does step i, and those after it that go with it; returns the last of them.
  int cycle_step(int i) {
    const Step& s = p_.steps[i];
    if (s.kind == kMessage && phases_.is_far(s)) return this->between_first(i);
    Parts t{kNone, kNone, nullptr};
    int last = i;
    if (s.kind == kMessage) {
      (s.c != 0 ? t.down : t.up) = i;
      last += kBlockSteps - 1;
    } else if (works(s)) {
      t.work = &s;
    } else {
      return i;
    }
    // What goes up next goes with it, unless one rank's time in between may be asked for.
    if (!t.goes_up() && !(t.goes_down() && p_.one_rank)) {
      const Step* work = t.work;
      int next = last + 1;
      for (; next < job_.pass->end && p_.steps[next].kind != kMessage; ++next)
        if (works(p_.steps[next])) work = &p_.steps[next];
      if (next < job_.pass->end && !phases_.is_far(p_.steps[next]) && p_.steps[next].c == 0) {
        t.up = next;
        t.work = work;
        last = next + kBlockSteps - 1;
      }
    }
    pass(t);
    return last;
  }
  bool works(const Step& s) const { return s.kind == kCompute && p_.costs.work > 0; }

  void pass(const Parts& t) {
    const MostTimes most = this->pass_of_blocks(t);
    this->count(p_.ranks);
    if (t.goes_down()) {
      if (this->has_rest()) this->step_by_step(phases_.at(t.down), rest_, rest_end_);
      most_ = most_of(most.down);
      for (int k = t.down + kBlockSteps - 1; k < t.up; ++k)
        if (p_.steps[k].row >= 0) this->see_most(p_.steps[k].row, most_);
    }
    if (!t.goes_up() && t.work == nullptr) return;
    if (t.work != nullptr) this->work_of(*t.work, rest_, rest_end_);
    if (t.goes_up() && this->has_rest()) this->step_by_step(phases_.at(t.up), rest_, rest_end_);
    most_ = later(most_, most_of(most.work));
  }

  Tick most_of(Lanes of_blocks) const {
    Tick most = greatest(of_blocks);
    if (this->has_rest()) {
      this->give_first(blocks_, rest_);
      this->see_rest(most);
    }
    return most;
  }

  Tick most_ = 0;  // when the last rank of all was free in the last turn
};

}  // namespace
}  // namespace jf
