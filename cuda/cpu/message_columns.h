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

  // kTrees subtrees of registers, `away` from each other, from the first register of each to the
  // others, which are `apart`. Returns when the last rank is free, of each lane. Two subtrees at
  // once: in one, each operation waits for the one before it.
  // kBack: who sends nothing down then sends the first message up, as `up` says. kIn: links in may
  // matter; with kBack, else, as with kLocal. Where messages go up, too, all have been idle for
  // long, and may have let noise pass.
  template <int kTrees, bool kIn = true, bool kBack = false>
  __attribute__((noinline)) Lanes descend(std::int64_t x, std::int64_t away, std::int64_t apart,
                                          const Steps& steps, const ColumnGiven& given = {},
                                          const Steps* up = nullptr,
                                          ColumnLeaves<kTrees>* leaves = nullptr) const {
    const BlockColumns self = *this;  // a copy stays in registers
    const Rule* rules = steps.rules;
    Lanes left[kTrees][kSubtree], most{};
    unrolled<kSubtree>([&](auto i) JF_INLINE {
      constexpr bool receives = i > 0, back = kBack && i % 2 != 0;
      constexpr bool in = receives && kIn, local = receives && kBack && !kIn;
      constexpr int sends = subtree_turns(i), from = kSubtreeSteps - sends;
      constexpr bool out = (sends > 0 && !local) || (back && kIn);
      constexpr bool between = local && sends > 1;  // messages one after the other
      const std::int64_t at = x + i * apart;
      const auto act = [=](const auto& any, Acting& r) JF_INLINE {
        if constexpr (receives) self.template received<in>(any, rules[from - 1], r.left[0], r);
        unrolled<sends>([&](auto k) JF_INLINE {
          self.template sent<out || between>(any, rules[from + k], r);
          r.left[k] = r.busy;
        });
        if constexpr (back) {
          r.left[1] = r.busy;
          self.template sent<out>(any, up->rules[0], r);
        }
      };
      Acting rank[kTrees], quiet[kTrees];
      Lanes start[kTrees];
      each<kTrees>([&](auto n) JF_INLINE {
        Acting &r = rank[n], &q = quiet[n];
        r = self.template get<in, out>(at + n * away);
        if constexpr (between) r.out = broadcast(kNothingCame);
        start[n] = r.busy;
        if constexpr (receives) {
          r.left[0] = left[n][i];
          start[n] = left[n][i] + rules[from - 1].cost.transit;
        }
        q = r;
        if constexpr (receives)
          self.template received<in>(NoNoise{}, rules[from - 1], left[n][i], q);
        self.template send<sends, out>(steps, from, q);
        if constexpr (back) {
          q.left[1] = q.busy;
          self.template send<1, out>(*up, 0, q);
        }
      });
      each<kTrees>([&](auto n) JF_INLINE {
        self.template settle<kIn || kBack>(at + n * away, start[n], quiet[n], rank[n], act);
      });
      each<kTrees>([&](auto n) JF_INLINE {
        const Acting& r = rank[n];
        unrolled<sends>([&](auto k)
                            JF_INLINE { left[n][i + (kSubtree >> (from + k + 1))] = r.left[k]; });
        if constexpr (!receives)
          if (n < given.trees)
            for (int k = 0; k < kSubtreeSteps; ++k)
              left[n][kSubtree >> (k + 1)] = load(given.left + n * given.apart + k * kLanes);
        // Who sends last to a rank is free before that rank is.
        if constexpr (sends == 0) most = later(most, back ? r.left[1] : r.busy);
        if constexpr (back) leaves->left[n][i] = r.busy;
        self.template put<in, out>(at + n * away, r);
      });
    });
    return most;
  }

  // From the others to the first one, which is the last that is free. kBack: after the first step.
  // kLocal: of others than first ranks, links matter to one message after another alone.
  template <int kTrees, bool kBack = false, bool kLocal = false>
  __attribute__((noinline)) void climb(std::int64_t x, std::int64_t away, std::int64_t apart,
                                       const Steps& steps,
                                       const ColumnLeaves<kTrees>* leaves = nullptr) const {
    const BlockColumns self = *this;
    const Rule* rules = steps.rules;
    constexpr int kEach = kBack ? 2 : 1;
    Lanes left[kTrees][kSubtree];
    if constexpr (kBack)
      for (int n = 0; n < kTrees; ++n)
        for (int i = 1; i < kSubtree; i += 2) left[n][i] = leaves->left[n][i];
    unrolled<kSubtree / kEach>([&](auto place) JF_INLINE {
      constexpr int i = kSubtree - kEach * (place + 1), receives = subtree_turns(i);
      constexpr bool local = kLocal && i > 0, in = receives > 0 && !local, out = i > 0 && !local;
      const std::int64_t at = x + i * apart;
      const auto act = [=](const auto& any, Acting& r) JF_INLINE {
        unrolled<receives>([&](auto k) JF_INLINE {
          self.template received<!local || k() != 0>(any, rules[k], r.left[k], r);
        });
        if constexpr (i > 0) self.template sent<out>(any, rules[receives], r);
      };
      Acting rank[kTrees], quiet[kTrees];
      Lanes start[kTrees];
      each<kTrees>([&](auto n) JF_INLINE {
        Acting &r = rank[n], &q = quiet[n];
        r = self.template get<in, out>(at + n * away);
        unrolled<receives>([&](auto k) JF_INLINE { r.left[k] = left[n][i + (1 << k)]; });
        start[n] = r.busy;
        if constexpr (receives > 0) start[n] = r.left[0] + rules[0].cost.transit;
        if constexpr (local) r.in = start[n];
        q = r;
        unrolled<receives>([&](auto k) JF_INLINE {
          self.template received<!local || k() != 0>(NoNoise{}, rules[k], r.left[k], q);
        });
        if constexpr (i > 0) self.template send<1, out>(steps, receives, q);
      });
      each<kTrees>([&](auto n) JF_INLINE {
        self.template settle<false>(at + n * away, start[n], quiet[n], rank[n], act);
      });
      each<kTrees>([&](auto n) JF_INLINE {
        left[n][i] = rank[n].busy;
        self.template put<in, out>(at + n * away, rank[n]);
      });
    });
  }
};

}  // namespace
}  // namespace jf
