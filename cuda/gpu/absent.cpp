// The GPU engine's interface in a build without CUDA.
#include "../engine.h"

#if !defined(JF_HAVE_CUDA)

#include "build_info.h"

namespace jf::gpu {

std::string status() { return std::string("no CUDA in this build: ") + build::kCudaNote; }
std::vector<Device> devices() { return {}; }
void simulate(const Program&, const Request&, Tick*, const Poll&) {
  throw std::runtime_error(status());
}
std::int64_t available_memory() { return 0; }
std::int64_t memory(const Program&, const Request&) { throw std::runtime_error(status()); }

}  // namespace jf::gpu

#endif
