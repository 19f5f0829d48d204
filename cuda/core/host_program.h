// Host side of a program: owns its arrays, checks them, and plans its passes.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/plan.h"
#include "noise/host_delay.h"

namespace jf {

namespace congestion {
struct Program;
class LoadPlan;
}  // namespace congestion

// What all noise sources have in common.
struct Scope {
  std::int64_t node_ranks = 1;  // consecutive ranks that share draws, a power of two
  bool in_compute = true, in_communication = true;
  Window window{INT64_MIN, INT64_MAX};
};

class Program {
 public:
  std::int32_t log2_ranks = 0, rows = 0;
  std::int64_t more_ranks = 0;  // than those 2^log2_ranks that exchanges join; fewer than these
  std::vector<Step> steps;
  Costs costs{};
  std::vector<MessageCost> message_costs;  // of kMessage steps
  bool one_rank = false;                   // rows see rank 0 only
  std::vector<std::int32_t> mirrors{1};    // see ProgramView
  // The noise, and the tables that it refers to.
  std::vector<IntervalSource> intervals;
  std::vector<StepDelay> delays;
  std::vector<MessageDelay> messages;       // of exchanges and forwards
  std::vector<MessageDelay> step_messages;  // of kMessage steps, by cost entry
  std::vector<std::uint64_t> words;
  // Of a message on a link: of exchanges and forwards, and of each message cost; none: 0.
  std::vector<Tick> link_times;
  std::shared_ptr<const congestion::LoadPlan> loads;

  // All throw std::invalid_argument and leave the program as it was. Sources of a role are numbered
  // in the order in which they are added: that is what their draws depend on.
  void add_periodic(Tick period, Tick duration, bool stationary, const std::vector<Tick>& phases,
                    const Scope& scope);
  struct Stationary {
    std::uint64_t share;
    HostDelay busy, idle;
  };
  void add_renewal(const HostDelay& gap, const HostDelay& duration, const Stationary* stationary,
                   const Scope& scope);
  void add_trace(const std::vector<Tick>& begins, const std::vector<Tick>& ends, Tick length,
                 const std::vector<Tick>& offsets, const Scope& scope);
  // Each rank replays one of several recordings, from a drawn offset: number of_ranks[rank].
  struct Recording {
    std::vector<Tick> begins, ends;
    Tick length;
  };
  void add_traces(const std::vector<Recording>& recordings,
                  const std::vector<std::int32_t>& of_ranks, const Scope& scope);
  void add_step(const HostDelay& delay, bool at_send, const Scope& scope);
  void add_message(const HostDelay& delay, const Scope& scope);
  // How often messages are hit depends on their transit, so one source of jitter is added several
  // times: for exchanges and forwards (cost -1), and for each cost entry of kMessage steps.
  void add_jitter(Tick duration, const std::vector<std::uint64_t>& survival, const Scope& scope,
                  std::int32_t cost = -1);
  // The messages go over this network, whose ranks are the program's. Its steps stay as they are.
  void add_congestion(const congestion::Program& network);

  std::int64_t ranks() const { return (std::int64_t{1} << log2_ranks) + more_ranks; }
  // All steps but exchanges are for message passes.
  bool has_message_passes() const;
  // Whether how long links are occupied can matter.
  bool links_matter() const;
  // Whether any step takes CPU time, which alone is what noise of intervals can delay.
  bool cpu_works() const;
  bool has_copies() const;  // sent after the original, or asked for
  // busy differs from sent, so tiles need room for both.
  bool has_busy() const { return has_copies() || costs.forward > 0; }
  bool general() const, sources_needed() const;  // see ProgramView
  bool delays_messages() const { return !messages.empty() || loads != nullptr; }
  std::int64_t cursors_per_rank() const;
  void finish();  // checks steps and costs, and marks steps; throws std::invalid_argument
  ProgramView view(std::uint64_t seed) const;

 private:
  IntervalSource source(IntervalKind kind, const Scope& scope) const;
  std::int32_t scope_bits(const Scope& scope) const;
  std::int64_t keep(const std::vector<Tick>& values);  // of all ranks
  Trace append_trace(const std::vector<Tick>& begins, const std::vector<Tick>& ends, Tick length);
  std::uint32_t number(IntervalKind kind) const;
  void check_message(const Step& step) const;
  MessageDelay numbered(const std::vector<MessageDelay>& before, const Delay& delay,
                        std::int32_t bits, const Window& window) const;
  void add_to_steps(std::size_t cost, const MessageDelay& delay);
};

struct PlanLimits {
  std::int32_t tile_bits;  // at most 2^tile_bits ranks in a tile (segments may be larger)
  std::int32_t low_bits;   // at least 2^low_bits of them are neighbours in memory
  // So many ranks in a segment, at least, if there are; of these as many neighbours as in a tile.
  // 0: no more than its steps need.
  std::int32_t segment_bits = 0;
  std::int32_t max_steps = 0;  // of a pass over tiles; 0: any number
};

std::vector<Pass> plan(const Program& program, PlanLimits limits);

// Thrown when a caller asked to stop (Ctrl-C).
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace jf
