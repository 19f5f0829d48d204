// Program that runs schedules on the emulated kernel of cuda/schedule/, as the CUDA engine does.
// It reads cases (see test_schedule_kernel.py), and writes for each a line: its results.
#include <cstdio>
#include <iostream>
#include <memory>

#include "emulated_gpu.h"

// First, as copies of the kernel use it.
#include "mutants.h"
// The kernel.
#include "read_case.h"
#include "schedule/run.cuh"

// What reads and plans a schedule on the host. Each reader has its own class of one name.
#define Reader ReaderOfText
#include "schedule/goal_text.cpp"
#undef Reader
#include "schedule/arrival_order.cpp"
#include "schedule/loggopsim_binary.cpp"
#include "schedule/schedule.cpp"

namespace {

using jf_read::read, jf_read::read_many;

void run_case() {
  const auto path = read<std::string>();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  jf::schedule::read_file(path, fileno(file.get()));
  const jf::schedule::Schedule schedule(fileno(file.get()));

  const jf::Program program = jf_read::read_program();
  const jf::Request request = jf_read::read_request();
  jf::schedule::Network network;
  const auto wire = read_many<jf::Tick>(), cpu = read_many<jf::Tick>();
  for (std::size_t i = 0; i < wire.size(); ++i) network.bytes.push_back({wire[i], cpu[i]});
  network.largest_eager = read_many<std::uint64_t>();
  network.levels.slots = read_many<std::uint32_t>();
  network.levels.spans = read_many<std::uint32_t>();
  const jf::schedule::Factors factors = read_many<std::uint64_t>();
  const auto mark_of = read_many<std::uint32_t>();
  const auto marks = read<std::uint32_t>();
  const jf::schedule::Plan plan =
      jf::schedule::make_plan(schedule, program, network, factors, true, {marks, mark_of}, {});

  const auto batch = read<std::int64_t>(), launch = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  const auto seed = read<std::uint64_t>();
  jf_emu::EmulatedGpu device(seed, order, read<std::int64_t>(), request);
  const auto stop = read<std::int64_t>();  // after so many realizations, as Ctrl-C does
  std::vector<jf::Tick> out(static_cast<std::size_t>(request.count * (2 + marks)));
  jf::gpu::LaunchLimits limits;
  if (launch > 0) limits = {launch, launch};
  jf::schedule::gpu::run(device, program, plan, request, batch, limits, out.data(),
                         [&](std::int64_t done) { return done < stop; });
  std::cout << device.launches() << ' ';
  for (const jf::Tick t : out) std::cout << t << ' ';
}

}  // namespace

int main(int count, char** words) {
  const jf_ptx::Programs programs(count, words);
  jf_read::run_lines(run_case);
}
