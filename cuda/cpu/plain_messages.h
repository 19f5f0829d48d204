// A message pass of one realization, without registers: of a huge machine, of which several do not
// fit into memory, and what the compilations for registers have to agree with, to the tick.
// JITTERFLY_ISA=plain chooses it.
#pragma once

#include "messages.h"

namespace jf::cpu {

inline void run_messages_plain(const MessageJob& job) {
  run_messages<Tick>(job, job.first, job.program->seed);
}

}  // namespace jf::cpu
