// Instantiates the lean kernels (lean_kernel.cuh) for each noise and width of times; run.cuh
// launches them.
#include "gpu/lean_kernel.cuh"

namespace jf::gpu {

#define JF_LEAN(T, Noise, Network) \
  template LeanKernel<Noise, Network> find_lean_kernel<T, Noise, Network>();
JF_LEAN(std::uint32_t, NoNoise, NoJitter)
JF_LEAN(std::uint32_t, NoNoise, Jitter)
JF_LEAN(std::uint32_t, Periodic, NoJitter)
JF_LEAN(std::uint32_t, Periodic, Jitter)
JF_LEAN(std::uint32_t, PeriodicList, NoJitter)
JF_LEAN(std::uint32_t, LeanRenewal, NoJitter)
JF_LEAN(std::uint32_t, LeanRecording<false>, NoJitter)
JF_LEAN(std::uint32_t, LeanRecording<true>, NoJitter)
JF_LEAN(Tick, NoNoise, NoJitter)
JF_LEAN(Tick, NoNoise, Jitter)
JF_LEAN(Tick, Periodic, NoJitter)
JF_LEAN(Tick, Periodic, Jitter)
JF_LEAN(Tick, PeriodicList, NoJitter)
JF_LEAN(Tick, LeanRenewal, NoJitter)
JF_LEAN(Tick, LeanRecording<false>, NoJitter)
JF_LEAN(Tick, LeanRecording<true>, NoJitter)
#undef JF_LEAN

}  // namespace jf::gpu
