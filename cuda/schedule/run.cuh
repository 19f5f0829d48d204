// Application schedules on a GPU: memory, batches of realizations, kernel launches, polling.
// The device is a GPU (gpu.cu) or, in the tests, an emulated one.
#pragma once

#include <algorithm>

#include "gpu/program_tables.h"
#include "schedule/kernel.cuh"
#include "schedule/plan.h"

namespace jf::schedule::gpu {

// Realizations at a time: 8 times as many threads as a large card runs at once, and more.
constexpr std::int64_t kMostRealizations = std::int64_t{1} << 20;
// Actions of a launch. A thread executes them one after the other, each in some microseconds at
// most, however few threads there are.
constexpr std::int64_t kMostActions = std::int64_t{1} << 16;

// Whether the kernel of any noise is needed, or that of one periodic source.
inline bool any_noise(const ProgramView& p) {
  return p.sources_needed || p.steps_delayed || p.has_jitter;
}

// The memory of a run, in arrays of a device's arena.
struct Layout {
  std::int64_t processors, links, slots, cursors, results;  // of a realization

  Layout(const Program& program, const Plan& plan)
      : processors(2 * std::int64_t{plan.ranks} * plan.cpus),
        links(2 * std::int64_t{plan.ranks} * plan.nics),
        slots(plan.slots),
        cursors(any_noise(program.view(0)) ? std::int64_t{plan.ranks} * sources(program) : 0),
        results(2 + std::int64_t{plan.marks.count}),
        tables_(jf::gpu::program_bytes(program) + jf::gpu::vector_bytes(plan.actions, plan.words) +
                jf::gpu::array_bytes<ByteCost>(
                    static_cast<std::int64_t>(program.message_costs.size()))) {}

  static std::int64_t sources(const Program& program) {
    return static_cast<std::int64_t>(program.intervals.size());
  }
  std::int64_t bytes(std::int64_t realizations) const {
    return tables_ + jf::gpu::array_bytes<Tick>(processors * realizations) +
           jf::gpu::array_bytes<Tick>(links * realizations) +
           jf::gpu::array_bytes<Tick>(slots * realizations) +
           jf::gpu::array_bytes<Cursor>(cursors * realizations) +
           jf::gpu::array_bytes<Tick>(results * realizations);
  }
  // How many realizations of `count` are computed at a time in so much memory.
  std::int64_t batch(std::int64_t count, std::int64_t room) const {
    std::int64_t batch = std::min(count, kMostRealizations);
    while (batch > 1 && bytes(batch) > room) batch /= 2;
    return batch;
  }

 private:
  std::int64_t tables_;
};

// Runs all realizations from `done` on, `batch` at a time.
template <class Device>
void run_batches(Device& device, const Program& program, const Plan& plan, const Request& request,
                 std::int64_t batch, jf::gpu::LaunchLimits limits, std::int64_t& done, Tick* out,
                 const Poll& poll) {
  const Layout layout(program, plan);
  typename Device::Arena arena(device, layout.bytes(batch));
  Job job{};
  job.program = view_of(program, request.seed);
  job.plan = plan.view();
  job.plan.actions = arena.upload(plan.actions);
  job.plan.words = arena.upload(plan.words);
  job.plan.bytes = arena.upload(plan.network.bytes);
  jf::gpu::upload_program(arena, program, job.program);
  job.sources = Layout::sources(program);
  job.processors = arena.template allocate<Tick>(layout.processors * batch);
  job.links = arena.template allocate<Tick>(layout.links * batch);
  job.slots = arena.template allocate<Tick>(layout.slots * batch);
  job.cursors = arena.template allocate<Cursor>(layout.cursors * batch);
  job.out = arena.template allocate<Tick>(layout.results * batch);

  jf::gpu::Pace pace(limits, poll, done);
  const auto launch = [&](const auto& noise, const auto& delayed) {
    device.launch(&schedule_kernel<std::decay_t<decltype(noise)>, std::decay_t<decltype(delayed)>>,
                  (job.realizations + kThreads - 1) / kThreads, kThreads, 0, job, noise, delayed);
  };
  Messages unset{};  // delays of a message are set by its cost
  unset.words = job.program.messages.words;
  while (done < request.count) {
    job.first_realization = static_cast<std::uint32_t>(request.first + done);
    job.realizations = std::min(batch, request.count - done);
    job.end = job.first_word = 0;
    do {
      job.begin = job.end;
      job.end = std::min(
          job.plan.action_count,
          job.begin + std::clamp<std::int64_t>(pace.limit() / job.realizations, 1, kMostActions));
      if (any_noise(job.program)) {
        launch(job.program.sources, unset);
      } else {
        launch(job.program.has_noise ? job.program.periodic : Periodic::never(), NoJitter{});
      }
      for (std::int64_t i = job.begin; i < job.end; ++i)
        job.first_word += plan.actions[static_cast<std::size_t>(i)].words;
      pace.launched((job.end - job.begin) * job.realizations);
      // Few threads take as long for an action as many.
      if (pace.due() || job.end - job.begin == kMostActions) pace.wait_and_poll(device);
    } while (job.end < job.plan.action_count);
    pace.wait_and_poll(device);
    device.download(job.out, layout.results * job.realizations, out + layout.results * done);
    done += job.realizations;
    pace.poll();
  }
}

template <class Device>
void run(Device& device, const Program& program, const Plan& plan, const Request& request,
         std::int64_t batch, jf::gpu::LaunchLimits limits, Tick* out, const Poll& poll) {
  std::int64_t done = 0;
  jf::gpu::run_in_batches(batch, [&](std::int64_t at_once) {
    run_batches(device, program, plan, request, at_once, limits, done, out, poll);
  });
}

}  // namespace jf::schedule::gpu
