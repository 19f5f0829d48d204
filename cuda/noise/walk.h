// Stop of a run (Ctrl-C) that is asked for within long loops: walks through intervals of noise,
// steps. An hour of work may meet millions of intervals on each rank, between two looks of the
// engine (core/engine.h, Poll).
#pragma once

#include <atomic>
#include <stdexcept>

#include "core/ticks.h"

namespace jf {

// Thrown when a caller asked to stop (Ctrl-C).
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

#if !defined(__CUDACC__)
// Whether the run that this thread works for shall end, which cpu::ThreadPool sets. Null: nobody
// asks it to.
inline constinit thread_local const std::atomic<bool>* stop_of_thread = nullptr;

// What it throws ends the work of the thread. The thread pool knows the reason, and drops this one.
inline __attribute__((noinline, cold)) void look_for_stop() {
  if (stop_of_thread != nullptr && stop_of_thread->load(std::memory_order_relaxed))
    throw Cancelled();
}
#endif

// Counts the turns of a loop, and looks for a stop now and then. A kernel can not look.
template <std::uint32_t kBetweenLooks>
class Looks {
 public:
  JF_HD void turn() {
#if !defined(__CUDACC__)
    if (__builtin_expect(++turns_ % kBetweenLooks == 0, 0)) look_for_stop();
#endif
  }

 private:
  std::uint32_t turns_ = 0;
};

// Of a loop through intervals, which takes some nanoseconds a turn.
using Walk = Looks<1 << 10>;

}  // namespace jf
