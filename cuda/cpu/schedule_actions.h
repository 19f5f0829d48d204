// CPU execution of an application schedule: its actions in SIMD lanes, a lane a realization.
// schedule/executor.h does it. T = Lanes: a register holds the same time of several realizations.
// T = Tick: of one realization, without registers.
#pragma once

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "schedule/executor.h"

namespace jf {

// The actions of some realizations. Lane k of a register is realization first + k. If there are
// fewer realizations than lanes, the remaining lanes repeat the last realization.
struct ActionJob {
  const ProgramView* program;
  schedule::PlanView plan;
  std::uint32_t first;  // realization
  int realizations;
  // Of T, see schedule::ActionState; links: null if they can not matter.
  void *processors, *links, *slots;
  void* cursors;  // [rank][source], CursorOf<T>; or null
  Tick* out;      // [realization][time at which the last CPU is free, its rank, marks]
  // Null, or begin and end of each operation of the first realization, by where those of a rank
  // begin.
  Tick* times;
  const std::uint64_t* begins;
  const std::atomic<bool>* stop;

  template <class T>
  schedule::ActionState<T*> state() const {
    return {static_cast<T*>(processors), static_cast<T*>(links), static_cast<T*>(slots)};
  }
};

namespace {

constexpr std::int64_t kActionsBetweenPolls = 1 << 16;

// All actions of a plan, unless it is stopped. out: see Executor::finish.
template <class Run>
void run_all(const Run& run, const schedule::PlanView& plan, int realizations, Tick* out,
             const std::atomic<bool>& stop) {
  run.begin();
  const schedule::Action *a = plan.actions, *const end = a + plan.action_count;
  for (const std::uint32_t* words = plan.words; a < end;) {
    if (stop.load(std::memory_order_relaxed)) return;
    const schedule::Action* const until = a + std::min(end - a, kActionsBetweenPolls);
    words = run.execute(a, until, words);
    a = until;
  }
  run.finish(realizations, out);
}

template <class T, class R>
void run_actions(const ActionJob& job, R realizations, SeedOf<R> seed) {
  with_noise<Delays::kByCost>(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        const auto bound =
            noise.bind(realizations, static_cast<CursorOf<TimesOf<R>>*>(job.cursors), seed);
        const auto run = [&]<bool kLinks>() {
          using Run = schedule::Executor<T, std::decay_t<decltype(bound)>, Network, kLinks, R>;
          run_all(Run(*job.program, job.plan, bound, network, realizations, seed, job.state<T>(),
                      job.times, job.begins),
                  job.plan, job.realizations, job.out, *job.stop);
        };
        job.links != nullptr ? run.template operator()<true>() : run.template operator()<false>();
      });
}

}  // namespace
}  // namespace jf
