// Steps in which all ranks up to some number send and receive (shift, xor).
//
// What a rank does between two waits is one piece: it receives, and sends the next message. Several
// turns at once are done in place (message_fused.h). A turn alone goes from one array of times to
// the other, so that a rank's new time does not take the place of one that is still wanted.
#pragma once

#include <optional>

#include "message_alone.h"
#include "message_fused.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessageDense : protected MessageAlone<Noise, Network, kLinks> {
  using Base = MessageAlone<Noise, Network, kLinks>;
  using Fused = MessageFused<Noise, Network, kLinks>;
  // Ranks whose arrays are in L1: five of 4 KiB.
  static constexpr std::int64_t kPart = 512;

 protected:
  using Base::at_start_, Base::kMask;
  using Base::job_, Base::p_, Base::network_, Base::s_, Base::size_, Base::lanes_, Base::stop_;
  using Rules = typename Base::Rules;
  using Rule = typename Rules::Rule;
  using Base::Base;

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

  auto rule(Turn t) const { return Rules::rule(p_, network_, p_.steps[t.step], t.turn); }

  // Steps in which the same ranks all send and receive. Returns the last of them. `unsent`: ranks
  // up to this one have not sent anything yet.
  int together(int i, std::int64_t ranks, std::int64_t unsent) {
    Tick *cur = s_.busy, *other = s_.left;
    const auto goes_on = [&](const Step& s) { return dense(s) == ranks; };
    const Rule first = rule(Turn{i, 0});
    // The first message of a rank, if sending it takes no time, leaves at once.
    if (is_general<Noise> || ranks > unsent || first.cost.send > 0) lanes_.send(first, cur, ranks);
    for (std::optional<Turn> turn = Turn{i, 0}; turn && !stop_;) {
      Turns<Rule> turns;
      for (; turn && turns.count < turns.kMost; turn = following(*turn, goes_on)) {
        i = turn->step;
        turns.add(p_.steps[i], rule(*turn));
      }
      if (turn) turns.end_with(rule(*turn));
      for (int k = 0, end = 0; k < turns.count && !stop_; k = end) {
        // Turns whose partners are all within parts of the ranks are done part by part.
        const bool near = is_near(*turns.steps[k], ranks);
        while (end < turns.count && is_near(*turns.steps[end], ranks) == near) ++end;
        const std::int64_t part = near ? kPart : ranks;
        bool swapped = false;
        for (std::int64_t x = 0; x < ranks; x += part)
          swapped = receive_all(turns, k, end, cur, other, x, x + part);
        if (swapped) std::swap(cur, other);
      }
    }
    if (cur != s_.busy) std::copy(cur, cur + ranks, s_.busy);
    return i;
  }

 private:
  // Whether a turn's partners are in one part, of several.
  static bool is_near(const Step& s, std::int64_t ranks) {
    return ranks > kPart && s.map == kXor && s.a < kPart;
  }

  // Ranks of [x, to) receive in turns [k, end), and after each send what follows if something does.
  // Returns whether their times are in `other` then.
  bool receive_all(const Turns<Rule>& turns, int k, int end, Tick* cur, Tick* other, std::int64_t x,
                   std::int64_t to) {
    bool swapped = false;
    for (int n; k < end && !stop_; k += n) {
      n = Fused{lanes_, p_, size_, turns, cur, x, to}.run(k, end);
      if (n == 0) {
        n = 1;
        if (turns.sends_after(k))
          receive_all<true>(*turns.steps[k], turns.rules[k], turns.rules[k + 1], cur, other, x, to);
        else
          receive_all<false>(*turns.steps[k], turns.rules[k], turns.rules[k], cur, other, x, to);
        std::swap(cur, other);
        swapped = !swapped;
      }
      this->count((to - x) * n);
    }
    return swapped;
  }

  template <bool kSend>
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
};

}  // namespace
}  // namespace jf
