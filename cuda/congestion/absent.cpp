// The GPU engine's interface in a build without CUDA.
#if !defined(JF_HAVE_CUDA)

#include <stdexcept>

#include "../engine.h"
#include "program.h"

namespace jf::congestion::gpu {

std::string status() { return jf::gpu::status(); }
void simulate(const Program&, const Request&, std::int64_t*, std::uint64_t*, const Poll&) {
  throw std::runtime_error(status());
}

}  // namespace jf::congestion::gpu

#endif
