// Application schedules on a CUDA device: compiles the kernel, and runs the batches of run.cuh.
#include "gpu/device.h"
#include "schedule/run.cuh"

namespace jf::schedule::gpu {

void simulate(const Program& program, const Plan& plan, const Request& request, Tick* out,
              const Poll& poll) {
  check_program(program, plan);
  jf::gpu::require_device();
  if (request.count == 0) return;
  jf::gpu::Gpu gpu;
  const std::int64_t batch =
      Layout(program, plan).batch(request.count, jf::gpu::available_memory());
  run(gpu, program, plan, request, batch, {}, out, poll);
}

std::int64_t memory(const Program& program, const Plan& plan, const Request& request) {
  jf::gpu::require_device();
  const Layout layout(program, plan);
  return layout.bytes(layout.batch(request.count, jf::gpu::available_memory()));
}

}  // namespace jf::schedule::gpu
