// Instantiates the lean kernels (lean_kernel.cuh) for each noise and width of times; run.cuh
// launches them.
#include "gpu/lean_kernel.cuh"

namespace jf::gpu {

template LeanKernel<NoNoise> find_lean_kernel<std::uint32_t, NoNoise>();
template LeanKernel<NoNoise> find_lean_kernel<Tick, NoNoise>();
template LeanKernel<Periodic> find_lean_kernel<std::uint32_t, Periodic>();
template LeanKernel<Periodic> find_lean_kernel<Tick, Periodic>();

}  // namespace jf::gpu
