// Thread pool of the CPU engines: start, work, errors of threads, polling for Ctrl-C.

#include "cpu/thread_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "noise/walk.h"

namespace jf::cpu {
namespace {

// Address space for what threads allocate when they begin to work. Threads are started until the
// system refuses one, which is where memory is limited (ulimit -v): without a reserve nothing is
// left for their thread-local data, and the C library ends a process that finds none.
class Reserve {
 public:
  Reserve() : at_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Reserve() {
    if (at_ != MAP_FAILED) munmap(at_, kBytes);
  }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 24;  // 16 kB for each of 1,024 threads
  void* at_;
};

}  // namespace

void ThreadPool::run(int threads, const std::function<void(int thread)>& work, const Poll& poll,
                     const std::function<void(int threads)>& started) {
  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(threads));
  {
    const std::lock_guard hold(mutex_);  // no work begins before all threads have been started
    try {
      const Reserve reserve;
      for (; active_ < threads; ++active_)
        pool.emplace_back([this, &work, thread = active_] { work_and_end(work, thread); });
    } catch (const std::exception& error) {
      if (pool.empty())
        throw std::invalid_argument(std::string("threads: none could be started: ") + error.what());
    }
    try {
      if (started) started(active_);
    } catch (...) {
      stop_with(std::current_exception());
    }
  }
  watch(poll);
  for (std::thread& thread : pool) thread.join();
  if (error_) std::rethrow_exception(error_);
  if (poll && !poll(done)) throw Cancelled();
}

void ThreadPool::work_and_end(const std::function<void(int thread)>& work, int thread) {
  {
    const std::lock_guard wait(mutex_);
  }
  stop_of_thread = &stop;
  std::exception_ptr error;
  try {
    if (!stop) work(thread);
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard hold(mutex_);
  if (error) stop_with(error);
  --active_;
  ended_.notify_one();
}

// Polls until all work has ended. Keeps an exception of poll, or its request to stop.
void ThreadPool::watch(const Poll& poll) {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, poll_interval_, [&] { return active_ == 0; })) {
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!stop && poll && !poll(done)) error = std::make_exception_ptr(Cancelled());
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) stop_with(error);
  }
}

// The first error is kept, before work can see that it shall stop: what it throws then is no reason
// of its own. mutex_ is held.
void ThreadPool::stop_with(const std::exception_ptr& error) {
  if (!error_) error_ = error;
  stop = true;
}

int threads_for(std::int64_t pieces, int wanted) {
  if (wanted == 0) wanted = hardware_threads();
  return static_cast<int>(std::clamp<std::int64_t>(pieces, 1, wanted));
}

}  // namespace jf::cpu
