// `Program` on the host: owns steps, costs and noise sources, checks them, plans passes (passes.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/passes.h"
#include "noise/host_delay.h"

namespace jf {

namespace congestion {
struct Program;
class LoadPlan;
}  // namespace congestion

// Of each rank, whether a noise source acts on it; empty: it acts on all.
using ActsOn = std::vector<std::uint8_t>;

// How a source is on and off by turns: the times for which it is, each drawn anew. `start`: how it
// is found at time 0, on (busy) or off (idle), see Renewal.
struct StationaryStart {
  std::uint64_t share;
  HostDelay busy, idle;
};
struct OnAndOff {
  HostDelay on, off;
  StationaryStart start;
  std::int64_t node_ranks;  // which are on at the same times
};

// Where and when a noise source acts.
struct Scope {
  std::int64_t node_ranks = 1;  // consecutive ranks that share draws; the last node may have fewer
  bool in_compute = true, in_communication = true;
  Window window{INT64_MIN, INT64_MAX};
  ActsOn hosts{};
  std::optional<OnAndOff> bursts{};  // of sources of intervals
  Tick holds = 0;                    // for how long a draw of weather, or of lossy links, does
};

using ListedMessages = std::shared_ptr<const std::vector<ListedMessage>>;
using RankTicks = std::shared_ptr<const std::vector<Tick>>;

class Program {
 public:
  std::int32_t log2_ranks = 0, rows = 0;
  std::int64_t more_ranks = 0;  // beyond the 2^log2_ranks of the exchanges; below 2^log2_ranks
  std::vector<Step> steps;
  Costs costs{};
  std::vector<MessageCost> message_costs;  // of kMessage steps
  // Of kListed steps; repeated steps have the same ones. Shared, as there may be many.
  ListedMessages listed_messages = std::make_shared<std::vector<ListedMessage>>();
  // Of kCompute steps with RankTimes; shared, as there may be many.
  RankTicks rank_times = std::make_shared<std::vector<Tick>>();
  bool one_rank = false;                 // rows observe rank 0 only
  std::vector<std::int32_t> mirrors{1};  // see ProgramView
  // The noise, and the tables that it refers to.
  std::vector<IntervalSource> intervals;
  std::vector<StepDelay> delays;
  std::vector<MessageDelay> messages;       // of exchanges and forwards
  std::vector<MessageDelay> step_messages;  // of kMessage steps, grouped by cost entry
  std::vector<RankDelay> rank_delays;       // before each compute phase
  std::vector<RankSpeed> speeds;            // of compute phases and of combining
  std::vector<std::uint64_t> words;
  // For which a message occupies a link: exchanges and forwards, then each message cost; none: 0.
  std::vector<Tick> link_times;
  std::shared_ptr<const congestion::LoadPlan> loads;

  // All throw std::invalid_argument and then leave the program unchanged. Sources of a role are
  // numbered in the order in which they are added; their draws depend on that number.
  void add_periodic(Tick period, Tick duration, bool stationary, const std::vector<Tick>& phases,
                    const Scope& scope);
  using Stationary = StationaryStart;
  void add_renewal(const HostDelay& gap, const HostDelay& duration, const Stationary* stationary,
                   const Scope& scope);
  void add_trace(const std::vector<Tick>& begins, const std::vector<Tick>& ends, Tick length,
                 const std::vector<Tick>& offsets, const Scope& scope);
  // Rank i replays recording number of_ranks[i], from a drawn offset.
  struct Recording {
    std::vector<Tick> begins, ends;
    Tick length;
  };
  void add_traces(const std::vector<Recording>& recordings,
                  const std::vector<std::int32_t>& of_ranks, const Scope& scope);
  void add_step(const HostDelay& delay, bool at_send, const Scope& scope);
  // `links`: 2^64 times the share of links whose messages are delayed; 0: all of them.
  void add_message(const HostDelay& delay, const Scope& scope, std::uint64_t links = 0);
  // The weather of the network: every message takes longer by a delay that is drawn once, or with
  // way > 0 by so much of this time as is drawn. Then it is added for each cost, as jitter is.
  void add_weather(const HostDelay& delay, const Scope& scope, Tick way = 0,
                   std::int32_t cost = -1);
  // Before its compute phases each rank idles: `once`, always for the same time.
  void add_rank_delay(const HostDelay& delay, std::int64_t node_ranks, bool once,
                      const ActsOn& hosts = {});
  // A rank takes longer by a factor for what it computes and combines, one for a realization;
  // `factor`: see noise/rank_speed.h. Costs are known by then. `holds`: for how long a draw does;
  // 0: for the whole realization.
  void add_rank_speed(const HostDelay& factor, std::int64_t node_ranks, const ActsOn& hosts = {},
                      Tick holds = 0);
  double largest_factor() const { return largest_factor_; }  // of all drawn speeds together
  // The number of hits of a message depends on its transit. So one source of jitter is added
  // several times: for exchanges and forwards (cost -1), and for each cost entry of kMessage steps.
  void add_jitter(Tick duration, const std::vector<std::uint64_t>& survival, const Scope& scope,
                  std::int32_t cost = -1);
  // Messages of this program delay each other on the links of `network`, which has the same ranks.
  void add_congestion(const congestion::Program& network);

  // Times of a rank that are kept at once: of departures 1, or the window of half steps; and when
  // its clock started, if any does.
  std::int32_t departures() const;
  std::int64_t ranks() const { return (std::int64_t{1} << log2_ranks) + more_ranks; }
  // Whether all steps but exchanges run in message passes (passes.h).
  bool has_message_passes() const;
  // Whether the time for which a message occupies a link can change a result.
  bool links_matter() const;
  // Whether any step takes CPU time. Busy intervals can delay nothing else.
  bool uses_cpu() const;
  bool has_copies() const;  // sent after the original, or requested
  // Whether Clock::busy can differ from Clock::sent, so that tiles need room for both.
  bool has_busy() const { return has_copies() || costs.forward > 0; }
  bool general() const, sources_needed() const;  // see ProgramView
  bool delays_messages() const { return !messages.empty() || loads != nullptr; }
  std::int64_t cursors_per_rank() const;
  void finish();  // checks steps and costs, and sets kAfterForward; throws std::invalid_argument
  ProgramView view(std::uint64_t seed) const;

 private:
  IntervalSource interval_source(IntervalKind kind, const Scope& scope);
  void add_intervals(const IntervalSource& source, const Scope& scope);
  Renewal renewal_of(const HostDelay& gap, const HostDelay& duration, const Stationary* stationary,
                     std::uint32_t purpose, std::uint32_t start_purpose);
  NodeSize node_size(const Scope& scope) const;  // having checked the scope
  Hosts append_hosts(const ActsOn& hosts);
  Window append_window(const Scope& scope);
  std::int64_t append_for_ranks(const std::vector<Tick>& values);
  Trace append_trace(const std::vector<Tick>& begins, const std::vector<Tick>& ends, Tick length);
  std::uint32_t next_number(IntervalKind kind) const;
  void check_message(const Step& step) const;
  void check_compute(const Step& step) const;
  static void check_halves(const Step& s, std::map<std::int32_t, Step>& sent);
  void check_list(Step& step);
  void check_forwards(const Step& step) const;
  std::vector<std::int32_t> costs_of(const Step& step) const;
  MessageDelay numbered_delay(const std::vector<MessageDelay>& before, const HostDelay& delay,
                              const NodeSize& nodes, const Window& window);
  void add_step_message(std::size_t cost, const MessageDelay& delay);
  Tick longest_own_work() const;

  double largest_factor_ = 1;

  struct ListFacts {
    bool one_way;                     // see goes_one_way()
    std::vector<std::int32_t> costs;  // the distinct entries of message_costs
  };
  std::map<std::pair<std::int32_t, std::int32_t>, ListFacts> lists_;  // by Step::a and b
};

struct PlanLimits {
  std::int32_t tile_bits;  // at most 2^tile_bits ranks in a tile (segments may be larger)
  std::int32_t low_bits;   // at least 2^low_bits of them are contiguous in memory
  // A segment has at least 2^segment_bits ranks, if the program has so many, and as many contiguous
  // ones as a tile. 0: a segment has no more ranks than its steps need.
  std::int32_t segment_bits = 0;
  std::int32_t max_steps = 0;  // of a pass over tiles; 0: no limit
};

std::vector<Pass> plan(const Program& program, PlanLimits limits);

}  // namespace jf
