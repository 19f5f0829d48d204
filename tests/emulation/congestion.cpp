// Program that runs the congestion kernel (cuda/congestion/) under CUDA emulation. It reads cases
// (see test_congestion_kernel.py), writes for each a line: its results.
#include <iostream>

#include "emulated_gpu.h"

// First, as copies of the kernel use it.
#include "mutants.h"
// The kernel.
#include "congestion/run.cuh"
#include "read_congestion.h"

namespace {

using jf_read::read;

void run_case() {
  const jf::congestion::Program program = jf_read::read_congestion();
  const jf::Request request = jf_read::read_request();
  const auto shared = read<std::int64_t>(), blocks = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  const auto seed = read<std::uint64_t>();
  removed = read<int>();
  jf_emu::EmulatedGpu device(seed, order, read<std::int64_t>());

  std::vector<std::int64_t> out(static_cast<std::size_t>(request.count * jf::congestion::kWords));
  std::vector<std::uint64_t> bins(request.full_statistics ? program.most_messages() + 1 : 0);
  jf::congestion::gpu::run(device, program, request, shared, blocks, out.data(),
                           request.full_statistics ? bins.data() : nullptr, {});
  for (const auto word : out) std::cout << word << ' ';
  for (const auto bin : bins) std::cout << bin << ' ';
}

}  // namespace

int main(int count, char** words) {
  const jf_ptx::Programs programs(count, words);
  jf_read::run_lines(run_case);
}
