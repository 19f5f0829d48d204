// A message pass vectorized over the ranks in their natural order.
//
// Steps in which all ranks up to some number send and receive: message_dense.h. A tree over all
// ranks: message_blocks.h. Else (range, other trees) only the registers that hold ranks of the step
// are touched, in place.
#pragma once

#include "message_blocks.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageRun : MessageBlocks<Noise, Network, kLinks> {
  using Base = MessageBlocks<Noise, Network, kLinks>;
  using Rules = typename Base::Rules;
  using Turn = typename Base::Turn;
  using Trees = MessageTrees<Noise, Network, kLinks>;
  using Base::at_start_, Base::kMask;
  using Base::job_, Base::p_, Base::network_, Base::s_, Base::size_, Base::lanes_, Base::stop_;
  static constexpr int kMostTrees = 8;

 public:
  using Base::Base;

  void run() {
    if (this->are_cycles()) return this->run_cycles();
    this->begin();
    for (int i = job_.pass->begin; i < job_.pass->end && !stop_;) {
      const int last = step(i);
      const Step& done = p_.steps[last];
      if (done.row >= 0) this->observe(done.row);
      i = last + 1;
    }
  }

 private:
  // Ranks up to this one have not sent anything yet.
  std::int64_t unsent_ = this->job_.first ? size_ : 0;

  // Does step i, and those after it that go with it; returns the last one.
  int step(int i) {
    const Step& s = p_.steps[i];
    if (s.kind == kForward) {
      this->forward(s);
      at_start_ = false;
    } else if (s.kind == kCompute) {
      this->work(s);
    } else if (s.kind == kMessage) {
      at_start_ = false;
      if (const int last = this->in_blocks(i); last >= 0) {
        unsent_ = 0;
        return last;
      }
      if ((s.flags & kAfterForward) != 0) this->seek_all(true);
      const std::int64_t ranks = this->dense(s);
      if (ranks > 0)
        i = this->together(i, ranks, unsent_);
      else if (small_tree(s))
        i = small_trees(i);
      else
        for (std::int32_t turn = 0; turn < s.repeat && !stop_; ++turn) apart(s, turn);
      unsent_ = s.map == kRange ? std::min<std::int64_t>(unsent_, s.a) : 0;
      if (s_.sent != s_.busy) std::copy(s_.busy, s_.busy + size_, s_.sent);
    }
    return i;
  }

  // One step in which few ranks, or not the same ones, send and receive.
  void apart(const Step& s, std::int32_t turn) {
    const auto rule = Rules::rule(p_, network_, s, turn);
    if (s.map == kRange) {
      // From rank a, inclusive, to rank b. What others have there in `left` is not used.
      const auto within = [](Lanes id, std::int64_t a, std::int64_t b)
                              JF_INLINE { return (id >= a) & (id < b); };
      std::int64_t begin = s.a;
      if ((s.a & kMask) == 0 && (s.c & kMask) == 0 && std::abs(s.c) >= s.b - s.a) {
        begin = s.b & ~kMask;  // none of them sends and receives
        lanes_.pass(rule, s_.busy, s.a, begin, s.c);
      }
      for (std::int64_t x = begin & ~kMask; x < s.b; x += kLanes)
        store(s_.left + x, lanes_.send_some(rule, s_.busy, x, within(lanes_.ranks(x), begin, s.b)));
      const std::int64_t a = begin + s.c, b = std::int64_t{s.b} + s.c;
      for (std::int64_t x = a & ~kMask; x < b; x += kLanes)
        lanes_.receive_some(rule, s_.busy, x, load_any(s_.left + x - s.c),
                            within(lanes_.ranks(x), a, b));
      this->count(2 * (s.b - s.a) + kLanes);
    } else if (s.map == kXor) {
      const Lanes all = lanes_.ranks(0) < s.b;
      const Lanes left = lanes_.send_some(rule, s_.busy, 0, all);
      lanes_.receive_some(rule, s_.busy, 0, __builtin_shuffle(left, lane_index() ^ s.a), all);
      this->count(kLanes);
    } else if (s.map == kTree) {
      lanes_.pairs(rule, s_.busy, 0, s.b, s.a, s.c != 0);
      this->count(s.b / s.a);
    } else {
      this->count(1);  // a shift by nothing
    }
  }

  // Pairs of a tree that are in one register.
  static bool small_tree(const Step& s) { return s.map == kTree && s.a < kLanes; }

  // Such steps one after another, as long as nobody looks in between; returns the last of them.
  int small_trees(int i) {
    const auto goes_on = [](const Step& s) { return small_tree(s); };
    for (std::optional<Turn> turn = Turn{i, 0}; turn && !stop_;) {
      typename Trees::Tree trees[kMostTrees];
      int n = 0;
      std::int64_t below = 0;
      for (; turn && n < kMostTrees; turn = this->following(*turn, goes_on)) {
        i = turn->step;
        const Step& s = p_.steps[i];
        trees[n++] = Trees::tree(this->rule(*turn), s);
        below = std::max<std::int64_t>(below, s.b);
      }
      Trees{lanes_, trees, n, s_.busy}.run(0, below);
      this->count(below * n);
    }
    return i;
  }
};

}  // namespace
}  // namespace jf
