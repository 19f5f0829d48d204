// Makes tables of link loads for the engines of collectives (congestion of a collective's
// messages). The loads are counted by `Worker::find_loads` in realize.h.
#include "congestion/loads.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "congestion/realize.h"
#include "core/partners.h"
#include "core/require.h"

namespace jf::congestion {
namespace {

// Forwards are levels of their own, whose numbers no message step has.
constexpr std::uint64_t kForwardLevels = std::uint64_t{1} << 46;

// The messages of an exchange of rank i and rank i xor mask, for i < 2^log2_ranks.
Step exchange_of(const jf::Program& p, std::int32_t mask) {
  Step step{kMessage, 0, 0, 0, -1};
  step.map = kXor;
  step.a = mask;
  step.b = 1 << p.log2_ranks;
  return step;
}

template <class F>
void each_message(const Step& s, std::int64_t ranks, const ListedMessages& listed, F&& f) {
  if (s.kind == kForward) {
    for (std::int64_t i = 0; i < ranks; ++i)
      if (const std::int64_t to = forward_partner(s, ranks, i); to != kNoRank) f(i, to);
    return;
  }
  const TurnMessages all(s, ranks, listed->data());
  for (std::int64_t k = 0; k < all.count; ++k) f(all[k].from, all[k].to);
}

bool routed_at_random(const Program& network) {
  return network.fat_tree && network.tree.key == kByMessage;
}

template <class Router>
LoadMaker routed_load_maker(const LoadPlan& plan, const Router& router, std::uint64_t seed) {
  const ProgramView view = plan.network.view(seed, false);
  Worker<Router, std::uint16_t> memory(view, router, plan.max_own, plan.max_own + view.perturbing(),
                                       choose_simd_loops());
  return [&plan, worker = std::move(memory)](std::uint32_t realization, std::uint16_t* table,
                                             const std::atomic<bool>& stop) mutable {
    worker.place(realization);
    std::fill(table, table + plan.table_size(), std::uint16_t{0});
    for (std::size_t i = 0; i < plan.levels.size() && !stop; ++i) {
      const Level& level = plan.levels[i];
      worker.route(level.number, realization, [&](auto&& message) {
        for (const Sends& sends : level.sends)
          each_message(sends.step, plan.ranks, plan.listed_messages,
                       [&](std::int64_t from, std::int64_t to) {
                         message(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
                       });
      });
      const std::uint32_t* w = worker.w();
      for (const Sends& sends : level.sends) {
        std::uint16_t* const row = table + sends.row * plan.stride();
        each_message(sends.step, plan.ranks, plan.listed_messages,
                     [&](std::int64_t, std::int64_t to) {
                       row[to] = static_cast<std::uint16_t>(std::max(*w++, 1u) - 1);
                     });
      }
    }
  };
}

}  // namespace

LoadPlan::LoadPlan(const jf::Program& program, Program of)
    : ranks(program.ranks()),
      network(std::move(of)),
      listed_messages(program.listed_messages),
      link_times_(program.link_times) {
  link_times_.resize(1 + program.message_costs.size());
  require(network.ranks == ranks, "the network must be for the ranks of the program");
  require(network.fat_tree || !network.next.empty(), "the network has no routes yet");
  require(network.levels() == 0, "the network must have no messages of its own");
  constexpr std::int64_t kLanes = 8;  // ranks in the widest register
  stride_ = (ranks + kLanes - 1) / kLanes * kLanes;
  const std::vector<Step>& steps = program.steps;
  for (const Step& s : steps) {
    require((s.flags & kAsk) == 0, "copies on demand are not routed: who asks depends on loads");
    if (s.kind != kExchange && s.kind != kForward && s.kind != kMessage) continue;
    const std::int64_t rounds = s.kind == kMessage ? std::int64_t{s.round} + s.repeat : 1;
    draws_ = std::max(draws_, s.draw + std::min<std::int64_t>(rounds, 1 << kNearSteps));
    planes_ = std::max(planes_, ((rounds - 1) >> kNearSteps) + 1);
  }
  require(draws_ <= 1 << kFarSteps && planes_ * draws_ <= 2 << kFarSteps,
          "under congestion, the numbers of messages must be below 2^24");
  check_rounds(steps);
  rows_.assign(static_cast<std::size_t>(
                   draws_ * (planes_ + 1 + static_cast<std::int64_t>(program.mirrors.size()))),
               0);
  const auto entry = [&](std::int64_t plane, std::int64_t draw) {
    return &rows_[static_cast<std::size_t>(plane * draws_ + draw)];
  };
  // First the original messages, and the copies that follow them, in the order of the steps. Then
  // the forwards, so that the other messages have the same loads with forwards or without. Message
  // steps with the same draws are one round.
  std::vector<Round> rounds;
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    if (s.kind == kExchange) {
      rounds.push_back(
          {{static_cast<std::uint64_t>(s.draw), {{exchange_of(program, 1 << s.round), 0}}},
           {entry(0, s.draw)}});
      if ((steps[i - 1].flags & kCopy) == 0) continue;
      for (std::size_t k = 0; k < program.mirrors.size(); ++k) {
        // Only mirrors that hold the same data.
        if (program.mirrors[k] >> s.round != 0) continue;
        rounds.back().sends.push_back({exchange_of(program, program.mirrors[k]), 0});
        rounds.back().rows.push_back(
            entry(planes_ + 1 + static_cast<std::int64_t>(k), steps[i - 1].draw));
      }
    } else if (s.kind == kMessage) {
      for (std::int32_t turn = 0; turn < s.repeat; ++turn) {
        const std::uint64_t number = draw_of_turn(s, turn);
        const auto [found, is_new] = known.try_emplace(number, rounds.size());
        if (is_new) rounds.push_back({{number, {}}, {}});
        rounds[found->second].sends.push_back({s, 0});
        rounds[found->second].rows.push_back(
            entry(static_cast<std::int64_t>(number >> kFarSteps),
                  static_cast<std::int64_t>(number & ((1u << kFarSteps) - 1))));
      }
    }
  }
  for (const Step& s : steps)
    if (s.kind == kForward)
      rounds.push_back({{kForwardLevels | static_cast<std::uint64_t>(s.draw), {{s, 0}}},
                        {entry(planes_, s.draw)}});
  for (Round& round : rounds) add(std::move(round));

  const std::uint32_t all = max_own + network.view(0, false).perturbing();
  require(all <= kMaxShortCount,
          "under congestion at most 65535 messages may be under way together, "
          "those of others counted; here up to " +
              std::to_string(all) + " are");
}

// Whether the same messages have the same loads at every level.
bool LoadPlan::loads_repeat() const {
  const bool others = network.view(0, false).perturbing() > 0;
  return !routed_at_random(network) && (!others || network.perturbation == kBisectFb);
}

void LoadPlan::add(Round round) {
  using Key = std::array<std::int32_t, 6>;
  const auto key = [](const Step& s) {
    return Key{s.kind, s.map, s.a, s.b, s.c, s.kind == kForward ? s.round : 0};
  };
  const auto same = [&](const Level& other) {
    return std::equal(round.sends.begin(), round.sends.end(), other.sends.begin(),
                      other.sends.end(),
                      [&](const Sends& a, const Sends& b) { return key(a.step) == key(b.step); });
  };
  if (loads_repeat()) {
    const auto known = std::find_if(levels.begin(), levels.end(), same);
    if (known != levels.end()) {
      for (std::size_t k = 0; k < round.rows.size(); ++k) *round.rows[k] = known->sends[k].row;
      return;
    }
  }
  std::uint32_t own = 0;
  const bool one_row = round.rows.size() > 1 && round.rows[0] == round.rows[1];  // of several steps
  std::vector<bool> received(one_row ? static_cast<std::size_t>(ranks) : 0), sent = received;
  for (std::size_t k = 0; k < round.rows.size(); ++k) {
    if (*round.rows[k] == 0) *round.rows[k] = static_cast<std::int32_t>(row_count_++);
    round.sends[k].row = *round.rows[k];
    each_message(round.sends[k].step, ranks, listed_messages,
                 [&](std::int64_t from, std::int64_t to) {
                   ++own;
                   if (!one_row) return;
                   const auto i = static_cast<std::size_t>(from), j = static_cast<std::size_t>(to);
                   require(!sent[i] && !received[j],
                           "a rank must not send or receive two messages with the same draws");
                   sent[i] = received[j] = true;
                 });
  }
  check_table_size(row_count_);
  max_own = std::max(max_own, own);
  levels.push_back(std::move(round));
}

// Called before memory in proportion to the rounds is allocated.
void LoadPlan::check_rounds(const std::vector<Step>& steps) const {
  std::int64_t rounds = 0;
  for (const Step& s : steps)
    rounds += s.kind == kExchange || s.kind == kForward ? 1 : s.kind == kMessage ? s.repeat : 0;
  require(rounds <= kMaxRounds,
          "under congestion a case may have 2^20 rounds of messages, this one has " +
              std::to_string(rounds));
  if (!loads_repeat()) check_table_size(rounds);
}

void LoadPlan::check_table_size(std::int64_t rows) const {
  require(2 * stride_ * rows <= kMaxTableBytes,
          "under congestion the loads of a realization's messages may take " +
              std::to_string(kMaxTableBytes) +
              " bytes, two for each rank and round, of every cycle; these take at least " +
              std::to_string(2 * stride_ * rows) +
              ": fewer ranks, cycles or rounds are needed, or others' traffic that stays the same "
              "(none, bisect_fb) and routes that are not random");
}

std::vector<Loads> LoadPlan::views(const std::uint16_t* table, const std::int32_t* rows,
                                   std::int64_t table_stride, std::uint32_t first) const {
  std::vector<Loads> views;
  for (const Tick time : link_times_)
    views.push_back({time, table, rows, stride_, draws_, planes_, table_stride, first});
  return views;
}

std::int64_t LoadPlan::work() const {
  const std::int64_t others = network.view(0, false).perturbing();
  return static_cast<std::int64_t>(levels.size()) * (max_own + others) + network.hosts;
}

std::int64_t LoadPlan::bytes() const {
  return 2 * table_size() +
         worker_bytes(network, max_own, max_own + network.view(0, false).perturbing());
}

LoadMaker load_maker(const LoadPlan& plan, std::uint64_t seed) {
  if (plan.network.fat_tree) return routed_load_maker(plan, plan.network.tree, seed);
  return routed_load_maker(plan, plan.network.table(), seed);
}

}  // namespace jf::congestion
