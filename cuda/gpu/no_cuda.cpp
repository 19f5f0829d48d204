// Build without CUDA: stubs of the GPU engines, which report that there is no GPU.
#if !defined(JF_HAVE_CUDA)

#include <stdexcept>

#include "build_info.h"
#include "congestion/program.h"
#include "core/engine.h"
#include "schedule/plan.h"

namespace jf::gpu {

std::string status() { return std::string("no CUDA in this build: ") + build::kCudaNote; }
int device_count() { return 0; }
void use_device(int) { throw std::runtime_error(status()); }
std::vector<Device> devices() { return {}; }
void simulate(const Program&, const Request&, Tick*, const Poll&) {
  throw std::runtime_error(status());
}
std::int64_t available_memory() { return 0; }
std::int64_t memory(const Program&, const Request&) { throw std::runtime_error(status()); }

}  // namespace jf::gpu

namespace jf::congestion::gpu {

void simulate(const Program&, const Request&, std::int64_t*, std::uint64_t*, const Poll&) {
  throw std::runtime_error(jf::gpu::status());
}

}  // namespace jf::congestion::gpu

namespace jf::schedule::gpu {

void simulate(const Program&, const Plan&, const Request&, Tick*, const Poll&) {
  throw std::runtime_error(jf::gpu::status());
}
std::int64_t memory(const Program&, const Plan&, const Request&) {
  throw std::runtime_error(jf::gpu::status());
}

}  // namespace jf::schedule::gpu

#endif
