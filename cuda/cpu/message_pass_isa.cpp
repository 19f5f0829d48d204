// Message passes (message_pass.h), compiled once per instruction set: see tiles_isa.cpp.

// First: templates see only those overloads for registers, which have no namespace, that are
// declared before them.
#include "cpu/message_noise.h"

#include "cpu/message_pass.h"

namespace jf {

void JF_NAME(run_messages_, JF_ISA)(const MessageJob& job) {
  Lanes realizations = broadcast(job.first);
  for (int k = 0; k < kLanes; ++k) realizations[k] += std::min(k, job.realizations - 1);
  const RoundKeys keys(job.program->seed);
  run_messages<Lanes>(job, realizations, &keys);
}

}  // namespace jf
