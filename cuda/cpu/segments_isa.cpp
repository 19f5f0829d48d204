// Segments in panels (panels.h), compiled once per instruction set: see tiles_isa.cpp.
#include "cpu/panels.h"

namespace jf {

bool JF_NAME(run_panels_, JF_ISA)(const SegmentJob& job) {
  bool done = false;
  const auto run = [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
    if (job.tile.program->one_neighbour())
      done = Panels<Noise, Network, true>(job, noise, network).run();
    else
      done = Panels<Noise, Network, false>(job, noise, network).run();
  };
  with_noise<Delays::kBeforehand>(
      *job.tile.program,
      [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        // Copies without any noise do not get code of their own.
        if constexpr (std::is_same_v<Noise, NoNoise> && !Network::on)
          run(Periodic::never(), network);
        else
          run(noise, network);
      });
  return done;
}

}  // namespace jf
