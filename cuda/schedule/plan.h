// Plan of a GOAL schedule: order of execution, costs; whether a send is eager or rendezvous (S).
// executor.h waits for the latter. Here are also the interfaces to run and explain it.
//
// The order is that of the run without noise on ranks that are equally fast, as LogGOPSim executes
// it: messages and operations take a CPU as they come. Every realization keeps it. So the order of
// a rank's operations, and which message a receive takes, do not depend on the noise, and one pass
// over the list of actions does for as many realizations as there are lanes. run_in_arrival_order()
// lets noise change the order, in one realization.
#pragma once

#include <functional>
#include <memory>

#include "core/engine.h"
#include "schedule/executor.h"
#include "schedule/schedule.h"

namespace jf::schedule {

// Marks: which operations count for which one. A mark is reached when the last of its operations is
// done: a receive when it is posted and its message is taken.
constexpr std::uint32_t kNoMark = ~std::uint32_t{0};
struct Marks {
  std::uint32_t count = 0;
  std::vector<std::uint32_t> of;  // of each operation, by its number in the schedule; or empty
};

// A machine of several levels, such as nodes and racks: where ranks are, and the level that a
// message crosses. Two ranks are in the same part of level k if their slots are in the same span.
struct Levels {
  std::vector<std::uint32_t> slots;  // of each rank; empty: there is one level
  std::vector<std::uint32_t> spans;  // slots of a part, of each level but the outermost

  std::size_t count() const { return spans.size() + 1; }
  std::size_t between(std::uint32_t sender, std::uint32_t receiver) const {
    std::size_t level = 0;
    for (const std::uint32_t span : spans) level += slots[sender] / span != slots[receiver] / span;
    return level;
  }
};

// What messages cost: of each level an entry for each of Schedule::sizes(). MessageCost stands in a
// Program, with the noise; the rest here.
struct Network {
  std::vector<ByteCost> bytes;
  std::vector<std::uint64_t> largest_eager;  // of each level: larger ones need a rendezvous (S)
  Levels levels;

  bool needs_rendezvous(std::uint64_t size, std::uint32_t sender, std::uint32_t receiver) const {
    return size > largest_eager[levels.between(sender, receiver)];
  }
};

// How slow ranks are: of each the factor on the time of its calculations, as a number of 32
// fractional bits (noise/rank_speed.h); or empty.
using Factors = std::vector<std::uint64_t>;

// Receives that have fewer bytes than the message that they take, and the first of them.
struct ShortReceives {
  std::uint64_t count = 0;
  std::uint32_t rank = 0, operation = 0;
  std::uint64_t sent = 0;  // bytes of its message

  void add(std::uint32_t of_rank, std::uint32_t number, std::uint64_t bytes) {
    if (count++ == 0 || of_rank < rank || (of_rank == rank && number < operation)) {
      rank = of_rank;
      operation = number;
      sent = bytes;
    }
  }
};

struct Plan {
  const Schedule* schedule = nullptr;  // which must live as long
  Network network;
  std::vector<Action> actions;
  std::vector<std::uint32_t> words;  // of the actions: see rules.h
  std::uint32_t ranks = 0, cpus = 0, nics = 0, slots = 0;
  std::uint64_t events = 0;  // that it took to find the order
  bool links = false;        // whether links in and out can delay anything
  Factors factors;
  // Of each send, by its number in the schedule: which receive of its peer takes its message.
  std::vector<std::uint32_t> receive_of;
  Marks marks;                // whose times are the first slots
  std::vector<Tick> reached;  // when each is reached, without noise
  // CPU time of all ranks without noise, in ticks: of calculations, and of messages at both ends.
  double compute = 0, communication = 0;
  ShortReceives short_receives;
  Tick completion = 0;  // of the last CPU
  PlanView view() const {
    return {actions.data(), static_cast<std::int64_t>(actions.size()),
            words.data(),   network.bytes.data(),
            ranks,          cpus,
            nics,           marks.count};
  }
};

using PollActions = std::function<void()>;  // called now and then; what it throws ends the run

// Messages, and the order of the actions, are those of ranks that are equally fast. equally_fast:
// so is the order in which `completion` and `reached` are found; else that is LogGOPSim's for these
// factors. Throws Malformed where operations are left that never can be executed.
Plan make_plan(const Schedule& schedule, const Program& program, Network network, Factors factors,
               bool equally_fast, Marks marks, const PollActions& poll);

// When the last CPU of all is free, and its rank.
struct Ended {
  Tick time;
  std::uint32_t rank;
};

// Throws where a realization ends at kLatest: its times are not those that they would be.
void check_end(Tick end);

// One realization in the order of arrival: CPUs take what comes first. marks: their times. times:
// null, or begin and end of each operation (of a receive: of taking its message).
Ended run_in_arrival_order(const Program& program, const Plan& plan, std::uint64_t seed,
                           std::uint32_t realization, Tick* marks, Tick* times,
                           const PollActions& poll);

// Throws std::invalid_argument where a program is not that of a plan.
void check_program(const Program& program, const Plan& plan);

// The program's noise, as an engine of schedules sees it: its operations take CPU time.
ProgramView view_of(const Program& program, std::uint64_t seed);

// out: count x (2 + marks), the time at which the last CPU is free, its rank, and when marks are
// reached. arrival_order: CPUs take what comes first in every realization.
void simulate(const Program& program, const Plan& plan, const Request& request, bool arrival_order,
              Tick* out, const Poll& poll);
// times: begin and end of each operation, as above, by `begins` of the schedule.
void operation_times(const Program& program, const Plan& plan, std::uint64_t seed,
                     std::uint32_t realization, bool arrival_order, Tick* times, const Poll& poll);

// --- Critical paths (critical_path.cpp), in the order without noise.

// What the time along a path consists of; behind these each source of noise, as in core/engine.h.
enum PathPart : std::int32_t {
  kComputes,
  kMessageCpuTime,  // o and (n - 1) O
  kLatency,         // L
  kBytes,           // (n - 1) G for which a CPU waits
  kLinkTaken,       // the gap of the message before it
  kPathParts
};
static_assert(std::int32_t{kPathParts} == std::int32_t{kQuietCauses});
// By what an operation was held up last, before it began.
enum Bound : std::int32_t {
  kByStart,       // nothing, or its rank began late
  kByCpu,         // an operation that took its CPU before it
  kByRequired,    // one that it requires
  kByMessage,     // its message came
  kByRendezvous,  // a send that it requires was met by its receive
  kByLinkOut,     // the link out, or in, was taken
  kByLinkIn
};
constexpr std::int32_t kBounds = 7;
// Of a realization: as kExplained numbers of a collective, and how many operations of the path were
// bound by each.
constexpr std::int32_t kPathWords = kExplained + kBounds;
// An operation on a path: rank, its number there, when it is entered and left, by what it is bound,
// and of what the time from the one before it consists.
constexpr std::int32_t kStepWords = 5 + kCauses;
// Of a rank, over all realizations: its time, as that of a collective's (RankTime), what of the
// path is on it, and what of that is noise: sums as hi * 2^32 + lo; and on how many paths it is.
constexpr std::int32_t kRankSums = kRankParts + 2;
struct PathSums {
  std::uint32_t* of_operations;  // [operation], on how many paths it is
  Tick* times_of_operations;     // [operation][hi, lo]: for how long
  Tick* of_ranks;                // [rank][2 * kRankSums + 1]
};
struct PathRequest {
  std::uint64_t seed;
  const std::uint32_t* realizations;
  std::int64_t count;
  int threads;  // 0: all
  bool quiet;   // without noise
};
// out: [realization][kPathWords]. Sums are added to.
void explain(const Program& program, const Plan& plan, const PathRequest& request, Tick* out,
             const PathSums& sums, const Poll& poll);
// The path of one realization, from its begin: kStepWords numbers for each operation.
std::vector<Tick> critical_path(const Program& program, const Plan& plan,
                                const PathRequest& request, const Poll& poll);
// Bytes that a thread of explain holds at most.
std::int64_t memory_to_explain(const Program& program, const Plan& plan);

// Bytes that simulate holds besides the plan.
std::int64_t memory(const Program& program, const Plan& plan, const Request& request);

namespace gpu {
// The same on a GPU, in the order without noise; memory is the device's.
void simulate(const Program& program, const Plan& plan, const Request& request, Tick* out,
              const Poll& poll);
std::int64_t memory(const Program& program, const Plan& plan, const Request& request);
}  // namespace gpu

}  // namespace jf::schedule
