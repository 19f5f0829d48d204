// CPU engine of GOAL schedules (application traces): threads, SIMD lanes; executor.h executes.
// Each thread computes as many realizations side by side as a register has lanes, from its own
// memory.
#include <algorithm>

#include "cpu/actions.h"
#include "cpu/instruction_sets.h"
#include "cpu/memory.h"
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
  std::int64_t processors, ways, slots, cursors;

  Sizes(const Program& program, const Plan& plan, std::int64_t lanes) {
    const std::int64_t ranks = plan.ranks;
    processors = 2 * ranks * plan.cpus * lanes;
    ways = plan.links ? 2 * ranks * plan.nics * lanes : 0;
    slots = plan.slots * lanes;
    const auto sources = static_cast<std::int64_t>(program.intervals.size());
    cursors = program.sources_needed() ? ranks * sources : 0;
  }
  std::int64_t bytes(std::int64_t lanes) const {
    return 8 * (processors + ways + slots + cursors * cpu::cursor_ticks(lanes));
  }
};

struct State {
  cpu::Buffer<Tick> processors, ways, slots, cursors;

  State(const Sizes& s, std::int64_t lanes, std::uint32_t no_owner)
      : processors(cpu::allocate<Tick>(s.processors)),
        ways(cpu::allocate<Tick>(s.ways)),
        slots(cpu::allocate<Tick>(s.slots)),
        cursors(cpu::new_cursors(s.cursors, lanes, no_owner)) {}
};

class Run {
 public:
  Run(const Program& program, const Network& network, const Plan& plan, const Request& request,
      Tick* out, Tick* times = nullptr, const std::uint64_t* begins = nullptr)
      : network_(network),
        plan_(plan),
        request_(request),
        view_(view_of(program, request.seed)),
        isa_(cpu::choose_instruction_set()),
        sizes_(program, plan, isa_.lanes),
        row_(2 + std::int64_t{plan.marks.count}),
        out_(out),
        times_(times),
        begins_(begins) {
    const std::int64_t pieces = (request.count + isa_.lanes - 1) / isa_.lanes;
    threads_ = cpu::threads_for(pieces, request.threads);
  }

  std::int64_t bytes() const { return sizes_.bytes(isa_.lanes) * threads_; }

  void simulate(const Poll& poll) {
    pool_.run(threads_, [this](int) { work(); }, poll);
  }

 private:
  void work() {
    const State state(sizes_, isa_.lanes,
                      static_cast<std::uint32_t>(request_.first + request_.count));
    for (std::int64_t i;
         !pool_.stop && (i = pool_.claimed.fetch_add(isa_.lanes)) < request_.count;) {
      const std::int64_t count = std::min<std::int64_t>(isa_.lanes, request_.count - i);
      isa_.run_actions({&view_, plan_.view(network_.bytes),
                        static_cast<std::uint32_t>(request_.first + i), static_cast<int>(count),
                        state.processors.get(), plan_.links ? state.ways.get() : nullptr,
                        state.slots.get(), state.cursors.get(), out_ + row_ * i, times_, begins_,
                        &pool_.stop});
      pool_.done += count;
    }
  }

  const Network& network_;
  const Plan& plan_;
  const Request request_;
  const ProgramView view_;
  const cpu::InstructionSet isa_;
  const Sizes sizes_;
  const std::int64_t row_;  // ticks of a realization in out_
  Tick* const out_;
  Tick* const times_;
  const std::uint64_t* const begins_;
  int threads_ = 1;
  cpu::ThreadPool pool_;
};

// CPUs take what comes first: one realization after the other.
void simulate_in_arrival_order(const Schedule& schedule, const Program& program,
                               const Network& network, const Plan& plan, const Request& request,
                               Tick* out, const Poll& poll) {
  (void)cpu::choose_instruction_set();  // a wrong JITTERFLY_ISA is an error, here as well
  const std::int64_t row = 2 + std::int64_t{plan.marks.count};
  cpu::ThreadPool pool;
  const PollActions ask = [&pool] {
    if (pool.stop) throw Cancelled();
  };
  const auto work = [&](int) {
    for (std::int64_t i; !pool.stop && (i = pool.claimed++) < request.count; ++pool.done) {
      Tick* const mine = out + row * i;
      const Ended ended = run_in_arrival_order(schedule, program, network, plan, request.seed,
                                               static_cast<std::uint32_t>(request.first + i),
                                               mine + 2, nullptr, ask);
      mine[0] = ended.time;
      mine[1] = ended.rank;
    }
  };
  pool.run(cpu::threads_for(request.count, request.threads), work, poll);
}

}  // namespace

void check_program(const Program& program, const Network& network, const Plan& plan) {
  if (program.ranks() != plan.ranks || program.message_costs.size() != network.bytes.size())
    throw std::invalid_argument("the program is not that of the plan: ranks or messages differ");
}

void simulate(const Schedule& schedule, const Program& program, const Network& network,
              const Plan& plan, const Request& request, bool arrival_order, Tick* out,
              const Poll& poll) {
  check_program(program, network, plan);
  if (arrival_order)
    simulate_in_arrival_order(schedule, program, network, plan, request, out, poll);
  else
    Run(program, network, plan, request, out).simulate(poll);
}

void operation_times(const Schedule& schedule, const Program& program, const Network& network,
                     const Plan& plan, std::uint64_t seed, std::uint32_t realization, Tick* times,
                     const Poll& poll) {
  check_program(program, network, plan);
  if (plan.receive_of.size() != schedule.operations())
    throw std::invalid_argument("the plan is of another schedule");
  std::vector<Tick> out(2 + plan.marks.count);
  Run(program, network, plan, {seed, realization, 1, false, 1}, out.data(), times,
      schedule.begins().data())
      .simulate(poll);
  check_end(out[0]);
}

std::int64_t memory(const Program& program, const Plan& plan, const Request& request) {
  const Network none;
  return Run(program, none, plan, request, nullptr).bytes();
}

}  // namespace schedule
}  // namespace jf
