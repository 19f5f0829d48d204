// The message passes, compiled once per instruction set: see tiles_isa.cpp.
#include "messages.h"

#define JF_PASTE(a, b) a##b
#define JF_NAME(a, b) JF_PASTE(a, b)

namespace jf {

void JF_NAME(run_messages_, JF_ISA)(const MessageJob& job) {
  with_message_noise(*job.program,
                     [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
                       const Noise bound = bind(noise, job.realization, job.cursors);
                       if (job.program->links)
                         MessageRun<Noise, Network, true>(job, bound, network).run();
                       else
                         MessageRun<Noise, Network, false>(job, bound, network).run();
                     });
}

}  // namespace jf
