// Steps of a binomial tree within blocks whose ranks have not been idle: all of their times stay in
// memory, in columns. A register holds the ranks of one place in kLanes blocks, so that a step is
// between whole registers.
#pragma once

#include "message_column_ranks.h"

namespace jf {
namespace {

// When the first messages up have left, of kTrees subtrees.
template <int kTrees>
struct ColumnLeaves {
  Lanes left[kTrees][kSubtree];
};

// When messages of first ranks, which are known already, have left: of as many subtrees, the first
// ones, `apart` from each other.
struct ColumnGiven {
  const Tick* left;
  int trees, apart;
};

template <class Noise, class Network, bool kLinks, bool kMeets>
struct BlockColumns : ColumnRanks<Noise, Network, kLinks, kMeets> {
  using Base = ColumnRanks<Noise, Network, kLinks, kMeets>;
  using typename Base::Acting, typename Base::Rule, typename Base::Steps;

  // What matters of what others than first ranks did before messages come down: all that is in
  // memory; all but their links in; or nothing (BlockPhases::answers_are_alone).
  enum class Down { kKept, kSpaced, kAlone };
  // And of their links, before messages go up: what is in memory; nothing, but for one message
  // after another; or, out, that it is free so long after the last message that the rank has sent
  // (ColumnSteps::waits).
  enum class Up { kKept, kAlone, kWaits };

  BlockColumns(const Noise& noise, const MessageState& s) : Base(noise, s) {}

  // kTrees subtrees of registers (InBlock or OfBlocks) from x on, from the first register of each
  // to the others. Returns when the last rank is free, of each lane. Two subtrees at once: in one,
  // each operation waits for the one before it. kBack: who sends nothing down then sends the first
  // message up, as `up` says.
  template <class Where, int kTrees, Down kDown = Down::kKept, bool kBack = false>
  __attribute__((noinline)) Lanes descend(std::int64_t x, const Steps& steps,
                                          const ColumnGiven& given = {}, const Steps* up = nullptr,
                                          ColumnLeaves<kTrees>* leaves = nullptr) const {
    const BlockColumns self = from(x);  // a copy stays in registers
    const auto at = [](int i, int n) { return i * Where::kApart + n * Where::kAway; };
    const Rule* rules = steps.rules;
    // All down from time 0, ranks are seldom idle for as long as noise takes.
    constexpr bool kPassed = kDown != Down::kSpaced;
    Lanes left[kTrees][kSubtree], most{};
    unrolled<kSubtree>([&](auto i) JF_INLINE {
      constexpr bool receives = i > 0, back = kBack && i % 2 != 0;
      constexpr bool in = receives && kDown == Down::kKept;
      constexpr bool alone = receives && kDown == Down::kAlone;
      constexpr int sends = subtree_turns(i), begin = kSubtreeSteps - sends;
      constexpr bool out = (sends > 0 || back) && !alone;
      constexpr bool between = alone && sends > 1;  // messages one after the other
      const auto act = [=](const auto& any, Acting& r) JF_INLINE {
        if constexpr (receives) self.template received<in>(any, rules[begin - 1], r.left[0], r);
        unrolled<sends>([&](auto k) JF_INLINE {
          self.template sent<out || between>(any, rules[begin + k], r);
          r.left[k] = r.busy;
        });
        if constexpr (back) {
          r.left[1] = r.busy;
          self.template sent<out>(any, up->rules[0], r);
        }
      };
      Acting rank[kTrees], quiet[kTrees];
      Lanes start[kTrees], after[kTrees];
      each<kTrees>([&](auto n) JF_INLINE {
        Acting &r = rank[n], &q = quiet[n];
        if constexpr (!alone) r = self.template get<in, out>(at(i, n));
        if constexpr (between) r.out = broadcast(kNothingCame);
        if constexpr (receives) {
          r.left[0] = left[n][i];
          start[n] = left[n][i] + rules[begin - 1].cost.transit;
          if constexpr (alone) r.busy = start[n];
        } else {
          start[n] = r.busy;
        }
        q = r;
        if constexpr (receives)
          self.template received<in>(NoNoise{}, rules[begin - 1], left[n][i], q);
        if constexpr (receives && kPassed)
          after[n] = self.hold(at(i, n), steps, begin - 1, q);
        else
          after[n] = self.template next_from<kPassed>(at(i, n), start[n]);
        self.template send<sends, out>(steps, begin, q);
        if constexpr (back) {
          q.left[1] = q.busy;
          self.template send<1, out>(*up, 0, q);
        }
      });
      self.template settle<kPassed>(i * Where::kApart, Where::kAway, start, after, quiet, rank,
                                    act);
      each<kTrees>([&](auto n) JF_INLINE {
        const Acting& r = rank[n];
        unrolled<sends>([&](auto k)
                            JF_INLINE { left[n][i + (kSubtree >> (begin + k + 1))] = r.left[k]; });
        if constexpr (!receives)
          if (n < given.trees)
            for (int k = 0; k < kSubtreeSteps; ++k)
              left[n][kSubtree >> (k + 1)] = load(given.left + n * given.apart + k * kLanes);
        // Who sends last to a rank is free before that rank is.
        if constexpr (sends == 0) most = later(most, back ? r.left[1] : r.busy);
        if constexpr (back) leaves->left[n][i] = r.busy;
        if constexpr (!(alone && back)) self.template put<in, out>(at(i, n), r);
      });
    });
    return most;
  }

  // From the others to the first one, which is the last that is free. kBack: after the first step.
  template <class Where, int kTrees, bool kBack = false, Up kUp = Up::kKept>
  __attribute__((noinline)) void climb(std::int64_t x, const Steps& steps,
                                       const ColumnLeaves<kTrees>* leaves = nullptr) const {
    const BlockColumns self = from(x);
    const auto at = [](int i, int n) { return i * Where::kApart + n * Where::kAway; };
    const Rule* rules = steps.rules;
    constexpr int kEach = kBack ? 2 : 1;
    Lanes left[kTrees][kSubtree];
    if constexpr (kBack)
      for (int n = 0; n < kTrees; ++n)
        for (int i = 1; i < kSubtree; i += 2) left[n][i] = leaves->left[n][i];
    unrolled<kSubtree / kEach>([&](auto place) JF_INLINE {
      constexpr int i = kSubtree - kEach * (place + 1), receives = subtree_turns(i);
      constexpr bool alone = kUp == Up::kAlone && i > 0, waits = kUp == Up::kWaits && i > 0;
      constexpr bool in = receives > 0 && !alone, out = kUp == Up::kKept && i > 0;
      constexpr bool link = out || (waits && receives > 0);  // else it waits before all
      const auto act = [=](const auto& any, Acting& r) JF_INLINE {
        unrolled<receives>([&](auto k) JF_INLINE {
          self.template received<!alone || k() != 0>(any, rules[k], r.left[k], r);
        });
        if constexpr (i > 0) self.template sent<link>(any, rules[receives], r);
      };
      Acting rank[kTrees], quiet[kTrees];
      Lanes start[kTrees], after[kTrees];
      each<kTrees>([&](auto n) JF_INLINE {
        Acting &r = rank[n], &q = quiet[n];
        r = self.template get<in, out>(at(i, n));
        if constexpr (waits) {
          const Lanes free = r.busy + steps.waits[receives];
          (link ? r.out : r.busy) = free;
        }
        unrolled<receives>([&](auto k) JF_INLINE { r.left[k] = left[n][i + (1 << k)]; });
        start[n] = r.busy;
        if constexpr (receives > 0) start[n] = r.left[0] + rules[0].cost.transit;
        if constexpr (alone) r.in = start[n];
        q = r;
        after[n] = self.template next_from<false>(at(i, n), start[n]);
        unrolled<receives>([&](auto k) JF_INLINE {
          self.template received<!alone || k() != 0>(NoNoise{}, rules[k], r.left[k], q);
        });
        if constexpr (i > 0) self.template send<1, link>(steps, receives, q);
      });
      self.template settle<false>(i * Where::kApart, Where::kAway, start, after, quiet, rank, act);
      each<kTrees>([&](auto n) JF_INLINE {
        left[n][i] = rank[n].busy;
        if constexpr (!alone) self.template put<in, out>(at(i, n), rank[n]);
      });
    });
  }

 private:
  BlockColumns from(std::int64_t x) const {
    BlockColumns self = *this;
    self.busy += x;
    self.next += x;
    if constexpr (kLinks) self.in += x, self.out += x;
    return self;
  }
};

}  // namespace
}  // namespace jf
