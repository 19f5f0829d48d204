// CPU engine of GOAL schedules (application traces): threads, SIMD lanes; executor.h executes.
// Each thread computes as many realizations side by side as a register has lanes, from its own
// memory.
#include <algorithm>

#include "cpu/instruction_sets.h"
#include "cpu/memory.h"
#include "cpu/schedule_actions.h"
#include "cpu/thread_pool.h"
#include "schedule/plan.h"

namespace jf {

void run_actions_plain(const ActionJob& job) {
  run_actions<Tick>(job, job.first, job.program->seed);
}

namespace schedule {
namespace {

// Ticks of the arrays of ActionJob, and how many cursors.
struct Sizes {
  std::int64_t processors, links, slots, cursors;

  Sizes(const Program& program, const Plan& plan, std::int64_t lanes) {
    const std::int64_t ranks = plan.ranks;
    processors = 2 * ranks * plan.cpus * lanes;
    links = plan.links ? 2 * ranks * plan.nics * lanes : 0;
    slots = plan.slots * lanes;
    const auto sources = static_cast<std::int64_t>(program.intervals.size());
    cursors = program.sources_needed() ? ranks * sources : 0;
  }
  std::int64_t bytes(std::int64_t lanes) const {
    return 8 * (processors + links + slots + cursors * cpu::cursor_ticks(lanes));
  }
};

struct State {
  cpu::Buffer<Tick> processors, links, slots, cursors;

  State(const Sizes& s, std::int64_t lanes, std::uint32_t no_owner)
      : processors(cpu::allocate<Tick>(s.processors)),
        links(cpu::allocate<Tick>(s.links)),
        slots(cpu::allocate<Tick>(s.slots)),
        cursors(cpu::new_cursors(s.cursors, lanes, no_owner)) {}
};

// Each thread takes as many realizations at a time as a register has lanes.
int threads_of(const Request& request, std::int64_t lanes) {
  return cpu::threads_for((request.count + lanes - 1) / lanes, request.threads);
}

// In the order of the plan. times: null, or begin and end of each operation of the only
// realization.
void simulate_in_plan_order(const Program& program, const Plan& plan, const Request& request,
                            Tick* out, const Poll& poll, Tick* times = nullptr) {
  const cpu::InstructionSet isa = cpu::choose_instruction_set();
  const ProgramView view = view_of(program, request.seed);
  const Sizes sizes(program, plan, isa.lanes);
  const std::int64_t row = 2 + std::int64_t{plan.marks.count};
  cpu::ThreadPool pool;
  const auto work = [&](int) {
    const State state(sizes, isa.lanes, static_cast<std::uint32_t>(request.first + request.count));
    for (std::int64_t i; !pool.stop && (i = pool.claimed.fetch_add(isa.lanes)) < request.count;) {
      const std::int64_t count = std::min<std::int64_t>(isa.lanes, request.count - i);
      isa.run_actions({&view, plan.view(), static_cast<std::uint32_t>(request.first + i),
                       static_cast<int>(count), state.processors.get(),
                       plan.links ? state.links.get() : nullptr, state.slots.get(),
                       state.cursors.get(), out + row * i, times, plan.schedule->begins().data(),
                       &pool.stop});
      pool.done += count;
    }
  };
  pool.run(threads_of(request, isa.lanes), work, poll);
}

// CPUs take what comes first: one realization after the other. times: as above.
void simulate_in_arrival_order(const Program& program, const Plan& plan, const Request& request,
                               Tick* out, const Poll& poll, Tick* times = nullptr) {
  (void)cpu::choose_instruction_set();  // a wrong JITTERFLY_ISA is an error, here as well
  const std::int64_t row = 2 + std::int64_t{plan.marks.count};
  cpu::ThreadPool pool;
  const PollActions ask = [&pool] {
    if (pool.stop) throw Cancelled();
  };
  const auto work = [&](int) {
    for (std::int64_t i; !pool.stop && (i = pool.claimed++) < request.count; ++pool.done) {
      Tick* const mine = out + row * i;
      const Ended ended =
          run_in_arrival_order(program, plan, request.seed,
                               static_cast<std::uint32_t>(request.first + i), mine + 2, times, ask);
      mine[0] = ended.time;
      mine[1] = ended.rank;
    }
  };
  pool.run(cpu::threads_for(request.count, request.threads), work, poll);
}

}  // namespace

void check_program(const Program& program, const Plan& plan) {
  if (program.ranks() != plan.ranks || program.message_costs.size() != plan.network.bytes.size())
    throw std::invalid_argument("the program is not that of the plan: ranks or messages differ");
}

void simulate(const Program& program, const Plan& plan, const Request& request, bool arrival_order,
              Tick* out, const Poll& poll) {
  check_program(program, plan);
  if (arrival_order)
    simulate_in_arrival_order(program, plan, request, out, poll);
  else
    simulate_in_plan_order(program, plan, request, out, poll);
}

void operation_times(const Program& program, const Plan& plan, std::uint64_t seed,
                     std::uint32_t realization, bool arrival_order, Tick* times, const Poll& poll) {
  check_program(program, plan);
  std::vector<Tick> out(2 + plan.marks.count);
  const auto run = arrival_order ? simulate_in_arrival_order : simulate_in_plan_order;
  run(program, plan, {seed, realization, 1, false, 1}, out.data(), poll, times);
  check_end(out[0]);
}

std::int64_t memory(const Program& program, const Plan& plan, const Request& request) {
  const std::int64_t lanes = cpu::choose_instruction_set().lanes;
  return Sizes(program, plan, lanes).bytes(lanes) * threads_of(request, lanes);
}

}  // namespace schedule
}  // namespace jf
