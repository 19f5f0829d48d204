// A message pass vectorized over the ranks in their natural order.
//
// Where all ranks up to some number send and receive (shift, xor), what a rank does between two
// waits is one piece: it receives, and sends the next message. `from` of the one array of times
// goes to the other, so that a rank's new time does not take the place of one that is still wanted.
// Else (range, tree) only the registers that hold ranks of the step are touched, in place.
#pragma once

#include <optional>

#include "message_alone.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageRun : MessageAlone<Noise, Network, kLinks> {
  using Base = MessageAlone<Noise, Network, kLinks>;
  using Rules = typename Base::Rules;
  using Base::job_, Base::p_, Base::network_, Base::s_, Base::size_, Base::lanes_, Base::stop_;
  using Base::kMask;
  // Ranks whose arrays are in L1: five of 4 KiB.
  static constexpr std::int64_t kPart = 512;
  static constexpr int kMostNear = 64, kMostTrees = 8;

 public:
  using Base::Base;

  void run() {
    this->begin();
    for (int i = job_.pass->begin; i < job_.pass->end && !stop_;) {
      const int last = step(i);
      const Step& done = p_.steps[last];
      if (done.row >= 0) this->observe(done.row);
      i = last + 1;
    }
  }

 private:
  // Does step i, and those after it that go with it; returns the last one.
  int step(int i) {
    const Step& s = p_.steps[i];
    if (s.kind == kForward) {
      this->forward(s);
    } else if (s.kind == kCompute) {
      this->work(s);
    } else if (s.kind == kMessage) {
      if ((s.flags & kAfterForward) != 0) this->seek_all(true);
      const std::int64_t ranks = dense(s);
      if (ranks > 0)
        i = together(i, ranks);
      else if (small_tree(s))
        i = small_trees(i);
      else
        for (std::int32_t turn = 0; turn < s.repeat && !stop_; ++turn) apart(s, turn);
      if (s_.sent != s_.busy) std::copy(s_.busy, s_.busy + size_, s_.sent);
    }
    return i;
  }

  // How many ranks, in full registers, send and receive in the step; 0 if it is not of that kind.
  std::int64_t dense(const Step& s) const {
    if (s.map == kShift && s.a > 0) return size_;
    return s.map == kXor && s.b >= kLanes ? s.b : 0;
  }

  // A turn of a step.
  struct Turn {
    int step;
    std::int32_t turn;
  };
  // The turn after this one, if nobody looks at the times in between and it is of a step that goes
  // on with this one's.
  template <class GoesOn>
  std::optional<Turn> following(Turn t, GoesOn&& goes_on) const {
    const Step& s = p_.steps[t.step];
    if (t.turn + 1 < s.repeat) return Turn{t.step, t.turn + 1};
    if (s.row >= 0 || t.step + 1 == job_.pass->end) return std::nullopt;
    const Step& after = p_.steps[t.step + 1];
    if (after.kind != kMessage || (after.flags & kAfterForward) != 0 || !goes_on(after))
      return std::nullopt;
    return Turn{t.step + 1, 0};
  }
  std::optional<Turn> following(Turn t, std::int64_t ranks) const {
    return following(t, [&](const Step& s) { return dense(s) == ranks; });
  }

  // Steps in which the same ranks all send and receive. Returns the last of them.
  int together(int i, std::int64_t ranks) {
    Tick *cur = s_.busy, *other = s_.left;
    std::optional<Turn> turn = Turn{i, 0};
    lanes_.send(rule(*turn), cur, ranks);
    std::copy(cur + ranks, cur + size_, other + ranks);
    while (turn && !stop_) {
      i = turn->step;
      // Turns whose partners are all within parts of the ranks are done part by part.
      Turn turns[kMostNear];
      int near = 0;
      for (std::optional<Turn> t = turn; t && near < kMostNear && is_near(*t);
           t = following(*t, ranks))
        turns[near++] = *t;
      if (near < 2 || ranks <= kPart) {
        receive_all(*turn, cur, other, 0, ranks, ranks);
        std::swap(cur, other);
        this->count(ranks);
        turn = following(*turn, ranks);
        continue;
      }
      for (std::int64_t x = 0; x < ranks; x += kPart) {
        for (int k = 0; k < near; ++k) {
          Tick *from = k % 2 == 0 ? cur : other, *to = k % 2 == 0 ? other : cur;
          receive_all(turns[k], from, to, x, x + kPart, ranks);
        }
      }
      if (near % 2 != 0) std::swap(cur, other);
      i = turns[near - 1].step;
      turn = following(turns[near - 1], ranks);
      this->count(ranks * near);
    }
    if (cur != s_.busy) std::copy(cur, cur + size_, s_.busy);
    return i;
  }

  // Whether a turn's partners are in one part.
  bool is_near(Turn t) const {
    const Step& s = p_.steps[t.step];
    return s.map == kXor && s.a < kPart;
  }

  auto rule(Turn t) const { return Rules::rule(p_, network_, p_.steps[t.step], t.turn); }

  // Ranks of [begin, end) receive, and send what follows if something does.
  void receive_all(Turn t, const Tick* cur, Tick* other, std::int64_t begin, std::int64_t end,
                   std::int64_t ranks) {
    const std::optional<Turn> after = following(t, ranks);
    if (after)
      receive_all<true>(p_.steps[t.step], rule(t), rule(*after), cur, other, begin, end);
    else
      receive_all<false>(p_.steps[t.step], rule(t), rule(t), cur, other, begin, end);
  }

  template <bool kSend, class Rule>
  void receive_all(const Step& s, const Rule& rule, const Rule& after, const Tick* cur, Tick* other,
                   std::int64_t begin, std::int64_t ranks) {
    const auto act = [&](std::int64_t from, std::int64_t to, auto&& arriving) JF_INLINE {
      lanes_.template receive<kSend>(rule, after, cur, other, from, to, arriving);
    };
    if (s.map == kXor) {
      const std::int64_t high = s.a & ~kMask;
      const Lanes order = lane_index() ^ (s.a & kMask);
      if ((s.a & kMask) == 0)
        act(begin, ranks, [&](std::int64_t x) JF_INLINE { return load(cur + (x ^ high)); });
      else
        act(begin, ranks, [&](std::int64_t x) JF_INLINE {
          return __builtin_shuffle(load(cur + (x ^ high)), order);
        });
      return;
    }
    // The first ranks receive from the last ones. In one register there may be both kinds, and what
    // is beyond the last rank.
    const std::int64_t wraps = s.a & ~kMask, full = (s.a + kMask) & ~kMask;
    const Tick *last = cur + (p_.ranks - s.a), *lower = cur - s.a;
    act(0, wraps, [&](std::int64_t x) JF_INLINE { return load_any(last + x); });
    if (wraps < full) {
      Lanes both{};
      for (std::int64_t k = 0; k < kLanes; ++k) {
        const std::int64_t i = wraps + k;
        if (i < p_.ranks) both[static_cast<unsigned>(k)] = i < s.a ? last[i] : lower[i];
      }
      act(wraps, full, [&](std::int64_t) JF_INLINE { return both; });
    }
    act(full, ranks, [&](std::int64_t x) JF_INLINE { return load_any(lower + x); });
  }

  // One step in which few ranks, or not the same ones, send and receive.
  void apart(const Step& s, std::int32_t turn) {
    const auto rule = Rules::rule(p_, network_, s, turn);
    if (s.map == kRange) {
      // From rank a, inclusive, to rank b. What others have there in `left` is not used.
      const auto within = [](Lanes id, std::int64_t a, std::int64_t b)
                              JF_INLINE { return (id >= a) & (id < b); };
      for (std::int64_t x = s.a & ~kMask; x < s.b; x += kLanes)
        store(s_.left + x, lanes_.send_some(rule, s_.busy, x, within(lanes_.ranks(x), s.a, s.b)));
      const std::int64_t a = std::int64_t{s.a} + s.c, b = std::int64_t{s.b} + s.c;
      for (std::int64_t x = a & ~kMask; x < b; x += kLanes)
        lanes_.receive_some(rule, s_.busy, x, load_any(s_.left + x - s.c),
                            within(lanes_.ranks(x), a, b));
      this->count(2 * (b - a) + kLanes);
    } else if (s.map == kXor) {
      const Lanes all = lanes_.ranks(0) < s.b;
      const Lanes left = lanes_.send_some(rule, s_.busy, 0, all);
      lanes_.receive_some(rule, s_.busy, 0, __builtin_shuffle(left, lane_index() ^ s.a), all);
      this->count(kLanes);
    } else if (s.map == kTree) {
      const std::int64_t apart = s.a;
      for (std::int64_t i = 0; i + apart < s.b; i += 2 * apart)
        lanes_.pair(rule, s_.busy, s.c != 0 ? i : i + apart, s.c != 0 ? i + apart : i);
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
      typename Rules::Tree trees[kMostTrees];
      int n = 0;
      std::int64_t below = 0;
      for (; turn && n < kMostTrees; turn = following(*turn, goes_on)) {
        i = turn->step;
        const Step& s = p_.steps[i];
        trees[n++] = Rules::tree(rule(*turn), s);
        below = std::max<std::int64_t>(below, s.b);
      }
      for (std::int64_t x = 0; x < below; x += kLanes) lanes_.trees(trees, n, s_.busy, x);
      this->count(below * n);
    }
    return i;
  }
};

}  // namespace
}  // namespace jf
