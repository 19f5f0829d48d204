// Schedule actions (schedule_actions.h), compiled once per instruction set: see tiles_isa.cpp.

// First: templates see only those overloads for registers, which have no namespace, that are
// declared before them.
#include "cpu/simd_philox.h"

#include "cpu/schedule_actions.h"

namespace jf {

void JF_NAME(run_actions_, JF_ISA)(const ActionJob& job) {
  Lanes realizations = broadcast(job.first);
  for (int k = 0; k < kLanes; ++k) realizations[k] += std::min(k, job.realizations - 1);
  const RoundKeys keys(job.program->seed);
  run_actions<Lanes>(job, realizations, &keys);
}

}  // namespace jf
