// GPU engine of network congestion: launches the kernel of kernel.cuh batch by batch (run.cuh).
#include "congestion/run.cuh"
#include "core/engine.h"
#include "gpu/device.h"

namespace jf::congestion::gpu {

std::string status() { return jf::gpu::status(); }

void simulate(const Program& program, const Request& request, std::int64_t* out,
              std::uint64_t* histogram, const Poll& poll) {
  const std::string why = status();
  if (!why.empty()) throw std::runtime_error(why);
  if (request.count == 0) return;
  int device = 0, shared = 0, processors = 0;
  JF_CUDA_TRY(cudaGetDevice(&device));
  JF_CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  JF_CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  constexpr std::int64_t kBlocksAtOnce = 4;  // 512 threads each fill a multiprocessor
  const std::int64_t each = std::max<std::int64_t>(1, Layout(program, shared).global_bytes);
  const std::int64_t room = std::max<std::int64_t>(1, jf::gpu::available_memory() / 2 / each);
  jf::gpu::Gpu gpu;
  run(gpu, program, request, shared, std::min(processors * kBlocksAtOnce, room), out, histogram,
      poll);
}

}  // namespace jf::congestion::gpu
