// Tile passes (tile.h), compiled once per instruction set, which JF_ISA names. Only headers whose
// functions are always inlined or have internal linkage belong here: a shared function compiled for
// AVX-512 must not end up in code that runs elsewhere.
#include "cpu/tile.h"

namespace jf {
namespace {

template <bool kBusy>
void run(const TileJob& job, const TileScratch& scratch) {
  with_noise<Delays::kBeforehand>(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        const auto run = [&](const auto& any) {
          TileRun<std::decay_t<decltype(any)>, Network, kBusy>(job, scratch, any, network).run();
        };
        // What is rare does not get code of its own: each kind takes seconds to compile.
        if constexpr (is_general<Noise> && !Network::on && !kBusy) {
          if (ReceiveDelays::cover(noise)) return run(ReceiveDelays{noise});
        }
        if constexpr ((kBusy || Network::on) && std::is_same_v<Noise, NoNoise>)
          run(Periodic::never());
        else
          run(noise);
      });
}

}  // namespace

void JF_NAME(run_tile_, JF_ISA)(const TileJob& job, const TileScratch& scratch) {
  if (job.program->has_busy)
    run<true>(job, scratch);
  else
    run<false>(job, scratch);
}

}  // namespace jf
