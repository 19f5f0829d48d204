// Program that runs the kernels of cuda/gpu/ under CUDA emulation. It does exactly as the CUDA
// engine does: reads cases (see test_kernels.py), writes for each a line: its results, or "error:
// ...". `kernels choices` writes how a device would run each, `kernels plan` see plan.h.
#include <iostream>

#include "emulated_gpu.h"

// First, as copies of the kernels use it.
#include "mutants.h"
// The kernels.
#include "gpu/lean_kernel.cuh"
#include "gpu/message_kernel.cuh"
#include "gpu/run.cuh"
#include "gpu/segment_kernel.cuh"
#include "gpu/tile_kernel.cuh"
#include "plan.h"
#include "read_case.h"

namespace {

using jf::Tick;
using jf_read::read, jf_read::read_program, jf_read::read_request;

// Whether 16 threads, which shared memory serves at a time, find as many banks, if their ranks are
// so far apart. (Of several realizations side by side, some meet in pairs.)
constexpr bool find_all_banks(std::int64_t distance) {
  jf::gpu::DeviceMessageState state{};
  state.stride = 1;
  state.permuted = jf::gpu::DeviceMessageState::kGroup - 1;
  for (std::int64_t begin = 0; begin < 4096; begin += 16 * distance) {
    unsigned banks = 0;
    for (std::int64_t thread = 0; thread < 16; ++thread)
      banks |= 1u << state.place(begin + thread * distance) % 16;
    if (banks != 0xffff) return false;
  }
  return true;
}
static_assert(find_all_banks(1) && find_all_banks(2) && find_all_banks(4) && find_all_banks(8));
static_assert(find_all_banks(16) && find_all_banks(32) && find_all_banks(64));
static_assert(find_all_banks(128) && find_all_banks(256));

// It also keeps how long the longest launch was.
class MeasuredGpu : public jf_emu::EmulatedGpu {
 public:
  using EmulatedGpu::EmulatedGpu;

  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) {
    largest_ = std::max(largest_, steps_of(arguments...));
    EmulatedGpu::launch(kernel, grid, block, shared_bytes, arguments...);
  }
  std::int64_t largest() const { return largest_; }  // in steps of ranks, blocks of messages aside

 private:
  template <class... More>
  static std::int64_t steps_of(const jf::gpu::PassJob& job, const More&... more) {
    const std::int64_t ranks = job.pass.map.size();
    std::int64_t steps = 0;
    if (job.pass.kind == jf::kTilePass)
      steps = (job.end_tile - job.first_tile) * ranks * (job.pass.end - job.pass.begin);
    const auto look = [&](const auto& argument) {
      if constexpr (std::is_same_v<decltype(argument), const jf::gpu::SegmentLaunch&>)
        steps = (argument.end - argument.begin) * (ranks >> argument.bits) * jf::gpu::kSegmentWork;
      if constexpr (std::is_same_v<decltype(argument), const jf::gpu::MessageLaunch&>)
        steps = (argument.end - argument.begin) * job.realizations;
    };
    (look(more), ...);
    return steps;
  }

  std::int64_t largest_ = 0;
};

void run_case() {
  const jf::Program program = read_program();
  const jf::Request request = read_request();
  const auto tile_bits = read<int>(), low_bits = read<int>();
  const auto batch = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  const auto seed = read<std::uint64_t>();
  removed = read<int>();
  const auto most = static_cast<jf::gpu::TileKernel>(read<int>());
  // Steps of ranks that a launch may take, steps of a pass, and bytes that there turn out to be.
  const auto launch = read<std::int64_t>();
  const auto steps = read<std::int32_t>();
  const auto room = read<std::int64_t>();
  const auto way = read<int>();  // of messages: as the plan has it, in launches, in blocks
  const auto rounds = read<std::int64_t>();
  MeasuredGpu device(seed, order, room, request);

  const jf::PlanLimits limits{tile_bits, low_bits, 0, steps};
  jf::gpu::BatchPlan plan(program, jf::gpu::plan_tiles(program, jf_emu::kMaxSharedBytes, most,
                                                       tile_bits > 0 ? &limits : nullptr));
  plan.fit(request.count, std::int64_t{1} << 30);
  plan.batch = std::min(plan.batch, batch);
  if (rounds > 0) plan.messages.max_rounds = rounds;
  if (way > 0) plan.messages.choose(plan.batch, way == 2);
  std::vector<Tick> out(
      static_cast<std::size_t>(request.count * program.rows * jf::words_per_row(request)));
  if (launch > 0) plan.launches = {launch, launch};
  jf::gpu::simulate_on(device, program, request, plan, out.data(), {});
  std::cout << plan.tiles.kernel << ' ' << device.launches() << ' ' << device.largest() << ' '
            << device.threads() << ' ';
  for (const Tick t : out) std::cout << t << ' ';
}

// Writes how a device of so many multiprocessors and bytes would run a case: bytes of one
// realization; of a batch, its size, whether blocks run messages alone, and how many realizations
// take about as long as one; then the sizes of batches that take so long and so long per
// realization, in ns.
void print_choices() {
  const jf::Program program = read_program();
  const jf::Request request = read_request();
  jf::gpu::BatchPlan plan(program, jf::gpu::plan_tiles(program, 227 * 1024));
  std::cout << plan.bytes(1);
  plan.messages.multiprocessors = read<std::int64_t>();
  plan.fit(request.count, read<std::int64_t>());
  std::cout << ' ' << plan.batch << ' ' << plan.messages.blocks << ' '
            << plan.messages.side_by_side();
  const auto least = read<double>(), each = read<double>();
  jf::gpu::BatchSize size(plan.batch, plan.messages.side_by_side());
  for (std::int64_t done = 0; done < request.count;) {
    const auto now = std::min(size.next(plan.launches.first / plan.work()), request.count - done);
    std::cout << ' ' << now;
    size.took(1e-9 * (least + each * static_cast<double>(now)));
    done += now;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && words[1] == std::string("plan")) {
    jf_plan::print({words + 2, words + count});
    return 0;
  }
  if (count > 1 && words[1] == std::string("choices")) {
    jf_read::run_lines(print_choices);
    return 0;
  }
  const jf_ptx::Programs programs(count, words);
  jf_read::run_lines(run_case);
}
