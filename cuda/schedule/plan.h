// The order in which a schedule is executed, and its execution in that order and in another.
//
// The order is that of the run without noise, as LogGOPSim executes it: messages and operations
// take a CPU as they come. Every realization keeps it. So the order of a rank's operations, and
// which message a receive takes, do not depend on the noise, and one pass over the list of actions
// does for as many realizations as there are lanes. run_in_arrival_order() lets noise change the
// order, in one realization.
#pragma once

#include <functional>
#include <memory>

#include "core/engine.h"
#include "schedule/actions.h"
#include "schedule/schedule.h"

namespace jf::schedule {

// What messages cost: an entry for each of Schedule::sizes(). MessageCost stands in a Program, with
// the noise; the rest here.
struct Network {
  std::vector<ByteCost> bytes;
  std::uint64_t largest_eager = ~std::uint64_t{0};  // larger messages need a rendezvous (S)
};

struct Plan {
  std::vector<Action> actions;
  std::vector<std::uint32_t> words;  // of the actions: see actions.h
  std::uint32_t ranks = 0, cpus = 0, nics = 0, slots = 0;
  std::uint64_t events = 0;  // that it took to find the order
  bool links = false;        // whether ways in and out can delay anything
  // Of each send, by its number in the schedule: which receive of its peer takes its message.
  std::vector<std::uint32_t> receive_of;
  Tick completion = 0;  // of the last CPU
  std::uint32_t last_rank = 0;
  std::uint64_t bytes() const {
    return actions.capacity() * sizeof(Action) + 4 * (words.capacity() + receive_of.capacity());
  }
};

using PollActions = std::function<void()>;  // called now and then; what it throws ends the run

// Throws Malformed where operations are left that never can be executed.
Plan make_plan(const Schedule& schedule, const Program& program, const Network& network,
               const PollActions& poll);

// When the last CPU of all is free, and its rank.
struct Ended {
  Tick time;
  std::uint32_t rank;
};

// Throws where a realization ends at kLatest: its times are not those that they would be.
void check_end(Tick end);

// One realization in the order of arrival: CPUs take what comes first. times: null, or begin and
// end of each operation (of a receive: of taking its message).
Ended run_in_arrival_order(const Schedule& schedule, const Program& program, const Network& network,
                           const Plan& plan, std::uint64_t seed, std::uint32_t realization,
                           Tick* times, const PollActions& poll);

// The program's noise, as an engine of schedules sees it: its operations take CPU time.
ProgramView view_of(const Program& program, std::uint64_t seed);

// out: count x 2, the time at which the last CPU is free, and its rank. arrival_order: CPUs take
// what comes first in every realization.
void simulate(const Schedule& schedule, const Program& program, const Network& network,
              const Plan& plan, const Request& request, bool arrival_order, Tick* out,
              const Poll& poll);
// times: begin and end of each operation, as above, by `begins` of the schedule.
void operation_times(const Schedule& schedule, const Program& program, const Network& network,
                     const Plan& plan, std::uint64_t seed, std::uint32_t realization, Tick* times,
                     const Poll& poll);
// Bytes that simulate holds besides the plan.
std::int64_t memory(const Program& program, const Plan& plan, const Request& request);

}  // namespace jf::schedule
