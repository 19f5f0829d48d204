// What blocks in columns (message_columns.h) do between two steps among their first ranks.
#pragma once

#include "message_columns.h"
#include "message_rest.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
class MessagePasses : protected MessageRest<Noise, Network, kLinks> {
  using Base = MessageRest<Noise, Network, kLinks>;

 protected:
  using Base::Base;
  using Base::blocks_, Base::cycles_, Base::first_, Base::rest_;
  using Base::job_, Base::p_, Base::noise_, Base::s_, Base::lanes_;
  template <bool kMeets>
  using Columns = BlockColumns<Noise, Network, kLinks, kMeets>;
  static constexpr bool kPeriodic = std::is_same_v<Noise, Periodic>;
  // From one group of kLanes blocks to the next, and from one subtree of a group to the next.
  static constexpr std::int64_t kGroup = OfBlocks::kAway, kApart = InBlock::kAway;

  // What all ranks of a block do for one load of their times: go down, work, go up.
  struct Parts {
    int down, up;      // the first step of each; or none
    const Step* work;  // or null

    bool goes_down() const { return down >= 0; }
    bool goes_up() const { return up >= 0; }
  };
  static constexpr int kNone = -1;

  // When the last rank is free that has gone down, or worked, of each lane. Up, the first ones of
  // blocks are the last.
  struct MostTimes {
    Lanes down{}, work{};
  };
  MostTimes pass_of_blocks(const Parts& t) {
    if (t.goes_down()) set(down_, t.down);
    if (t.goes_up()) set(up_, t.up);
    const bool meets =
        noise_.in_communication && ((t.goes_down() && down_.work()) || (t.goes_up() && up_.work()));
    return kPeriodic && meets ? blocks_do<kPeriodic>(t) : blocks_do<false>(t);
  }

  // Ranks at [x, x + count) before anything has been done; but for noise that is drawn.
  void at_time_0(std::int64_t x, std::int64_t count) const {
    std::fill_n(s_.busy + x, count, Tick{0});
    if constexpr (!kPeriodic) std::fill_n(s_.next + x, count, Tick{0});
    if constexpr (kLinks) {
      std::fill_n(s_.in + x, count, kNothingCame);
      std::fill_n(s_.out + x, count, Tick{0});
    }
  }
  // Blocks b, b + 1, ...
  void begin_group(std::int64_t b) const {
    at_time_0(place(b, 0), kGroup);
    if constexpr (kPeriodic)
      this->draws_.draw_all(BlockLanes{b, blocks_}.ranks(), this->begun(b), s_.next + place(b, 0));
  }

  // Where the kLanes ranks are that have this place in blocks b, b + 1, ...
  static std::int64_t place(std::int64_t b, int place) { return b * kBlock + place * kLanes; }

  // Ranks at [x, to). Returns when the last one is free, of each lane.
  Lanes work_of(const Step& s, std::int64_t x, std::int64_t to) const {
    Lanes most{};
    for (; x < to; x += kLanes) {
      this->work(s, x);
      most = later(most, load(s_.busy + x));
    }
    return most;
  }

  bool begins_ = false;  // blocks are still to begin: each group when it is first wanted

  // The steps of a block, and of its subtrees, in one direction.
  struct BlockSteps {
    ColumnSteps<typename Base::Rule> of[2];
    int first = kNone;

    bool work() const { return of[0].work() || of[1].work(); }
  };

  // Nearly always they cost what they did in the cycle before.
  void set(BlockSteps& steps, int first) const {
    const auto same = [&](int k) {
      return p_.steps[steps.first + k].cost == p_.steps[first + k].cost;
    };
    int k = 0;
    while (steps.first != kNone && k < kBlockSteps && same(k)) ++k;
    if (k == kBlockSteps) return;
    steps.first = first;
    const bool up = p_.steps[first].c == 0;
    for (k = 0; k < kBlockSteps; ++k)
      steps.of[k < kSubtreeSteps ? up : !up].set(k % kSubtreeSteps, this->rule({first + k, 0}),
                                                 kLinks, duration());
  }
  Tick duration() const {
    if constexpr (kPeriodic) return noise_.duration;
    return 0;
  }

  BlockSteps down_, up_;

  // Only first ranks of blocks may have been free later than `most` since.
  void see_first_or_last(int row, Tick most_known) const {
    if (p_.one_rank) return job_.observations[row].see(first_.busy[0]);
    Lanes most = broadcast(most_known);
    for (BlockLanes at{0, blocks_}; at.b < blocks_; at.b += kLanes)
      most = later(most, at.of_blocks(load(first_.busy + at.b), 0));
    see_most(row, later(greatest(most), this->has_rest() ? first_.busy[blocks_] : 0));
  }
  void see_most(int row, Tick most) const {
    Observation& o = job_.observations[row];
    o.max = later(o.max, most);
  }

  template <class Where, int kTrees, class Columns, class Steps>
  Lanes descend(const Columns& columns, std::int64_t x, const Steps& steps,
                const ColumnGiven& given = {}) const {
    if (cycles_.spaced)
      return columns.template descend<Where, kTrees, Columns::Down::kSpaced>(x, steps, given);
    return columns.template descend<Where, kTrees>(x, steps, given);
  }

 private:
  template <bool kMeets>
  MostTimes blocks_do(const Parts& t) {
    const Columns<kMeets> columns(noise_, s_);
    MostTimes most;
    if (this->has_rest()) this->take_first(blocks_, rest_);
    for (BlockLanes at{0, blocks_}; at.b < blocks_; at.b += 2 * kLanes) {
      if (at.b + kLanes < blocks_)
        columns_do<2>(columns, t, at, most);
      else
        columns_do<1>(columns, t, at, most);
    }
    begins_ = false;
    return most;
  }

  // kGroups times kLanes blocks.
  template <int kGroups, class Columns>
  void columns_do(const Columns& columns, const Parts& t, BlockLanes at, MostTimes& most) const {
    const auto &down = down_.of, &up = up_.of;
    const std::int64_t first = place(at.b, 0);
    for (int n = 0; n < kGroups; ++n) {
      if (begins_) this->begin_group(at.b + n * kLanes);
      move_first(first_, at.b + n * kLanes, s_, first + n * kGroup);
    }
    if (t.goes_down()) descend<OfBlocks, kGroups>(columns, first, down[0]);
    for (std::int64_t x = first; x < first + kGroups * kGroup; x += kGroup, at.b += kLanes) {
      MostTimes found;
      for (std::int64_t k = x; k < x + kGroup; k += 2 * kApart) {
        if (t.goes_down() && t.goes_up() && t.work == nullptr) {
          const auto back = [&](auto alone) {
            using Down = typename Columns::Down;
            using Up = typename Columns::Up;
            constexpr Down kDown = alone() ? Down::kAlone : Down::kKept;
            constexpr Up kUp = alone() ? Up::kAlone : Up::kKept;
            ColumnLeaves<2> leaves;
            found.down = later(found.down, columns.template descend<InBlock, 2, kDown, true>(
                                               k, down[1], {}, &up[1], &leaves));
            columns.template climb<InBlock, 2, true, kUp>(k, up[1], &leaves);
          };
          if (cycles_.answers_alone)
            back(std::bool_constant<kLinks>());
          else
            back(std::false_type());
          continue;
        }
        if (t.goes_down()) found.down = later(found.down, descend<InBlock, 2>(columns, k, down[1]));
        if (t.work != nullptr) found.work = later(found.work, work_of(*t.work, k, k + 2 * kApart));
        if (t.goes_up()) columns.template climb<InBlock, 2>(k, up[1]);
      }
      most.down = later(most.down, at.of_blocks(found.down, 0));
      most.work = later(most.work, at.of_blocks(found.work, 0));
    }
    if (t.goes_up()) columns.template climb<OfBlocks, kGroups>(first, up[0]);
    for (int n = 0; n < kGroups; ++n)
      move_first(s_, first + n * kGroup, first_, first / kBlock + n * kLanes);
  }

  static void move_first(const MessageState& from, std::int64_t x, const MessageState& to,
                         std::int64_t y) {
    store(to.busy + y, load(from.busy + x));
    store(to.next + y, load(from.next + x));
    if constexpr (kLinks) {
      store(to.in + y, load(from.in + x));
      store(to.out + y, load(from.out + x));
    }
  }
};

}  // namespace
}  // namespace jf
