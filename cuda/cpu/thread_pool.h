// Thread pool of the CPU engines: threads of a run, polling for Ctrl-C, progress. The caller's
// thread polls while they work: for Ctrl-C, and to show progress.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "core/engine.h"

namespace jf::cpu {

// For one run.
class ThreadPool {
 public:
  // poll_interval: how often the caller's thread polls. Tests poll more often.
  explicit ThreadPool(std::chrono::microseconds poll_interval = std::chrono::milliseconds(50))
      : poll_interval_(poll_interval) {}

  // Realizations that threads have begun to compute (for those that choose them by this number),
  // and those that they have finished, which poll is told.
  std::atomic<std::int64_t> claimed{0}, done{0};
  // Set when the run has to end early: work returns soon then, or throws, which is no reason.
  std::atomic<bool> stop{false};

  // Calls work(0), work(1), ... each in a thread, of which there are as many as the system allows,
  // up to `threads`: results must not depend on their number. `started` gets it before any work
  // begins. Returns when all work has ended. Throws what poll, started or work has thrown first;
  // Cancelled if poll returns false; std::invalid_argument if not even one thread can be started.
  void run(int threads, const std::function<void(int thread)>& work, const Poll& poll,
           const std::function<void(int threads)>& started = nullptr);

 private:
  void work_and_end(const std::function<void(int thread)>& work, int thread);
  void watch(const Poll& poll);
  void stop_with(const std::exception_ptr& error);

  const std::chrono::microseconds poll_interval_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::exception_ptr error_;
  int active_ = 0;
};

// How many threads to use for so many pieces of work: `wanted` (0: all of the machine), but no more
// than there are pieces.
int threads_for(std::int64_t pieces, int wanted);

}  // namespace jf::cpu
