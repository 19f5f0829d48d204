// GPU engine of network congestion: launches the kernel of kernel.cuh batch by batch (run.cuh).
#include "congestion/run.cuh"
#include "core/engine.h"
#include "gpu/device.h"

namespace jf::congestion::gpu {

void simulate(const Program& program, const Request& request, std::int64_t* out,
              std::uint64_t* histogram, const Poll& poll) {
  jf::gpu::require_device();
  if (request.count == 0) return;
  const int shared = jf::gpu::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
            processors = jf::gpu::device_attribute(cudaDevAttrMultiProcessorCount);
  constexpr std::int64_t kBlocksAtOnce = 4;  // 512 threads each fill a multiprocessor
  const std::int64_t each = std::max<std::int64_t>(1, Layout(program, shared).global_bytes);
  const std::int64_t room = std::max<std::int64_t>(1, jf::gpu::available_memory() / 2 / each);
  jf::gpu::Gpu gpu;
  run(gpu, program, request, shared, std::min(processors * kBlocksAtOnce, room), out, histogram,
      poll);
}

}  // namespace jf::congestion::gpu
