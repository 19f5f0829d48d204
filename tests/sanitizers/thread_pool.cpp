// Program that tests the thread pool (cpu/thread_pool.h): errors and the end of threads. For
// test_thread_pool.py, and for sanitizers. Prints a line for each check that fails.
#include <dlfcn.h>
#include <pthread.h>

#include "cpu/thread_pool.h"

#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

using namespace jf;
using namespace std::chrono_literals;

namespace {

constexpr int kThreads = 3, kTimes = 20;
constexpr auto kOften = 1ms;

// The thread that has the reason for the end waits before it locks a mutex. If others could see
// that they shall stop before the reason is kept, they would be faster.
thread_local bool waits = false;

struct Reason : std::runtime_error {
  Reason() : std::runtime_error("the reason") { waits = true; }
};

void check(bool ok, const char* what) {
  if (!ok) std::printf("%s\n", what);
}

// As an engine does in its loops.
void throw_when_stopped(const cpu::ThreadPool& pool) {
  while (!pool.stop) std::this_thread::yield();
  throw Cancelled();
}

template <class Run>
std::string thrown_by(const Run& run) {
  try {
    run();
  } catch (const std::exception& error) {
    waits = false;
    return error.what();
  }
  return "nothing";
}

template <class Run>
void check_reason(const Run& run, const char* what) {
  for (int i = 0; i < kTimes; ++i) check(thrown_by(run) == "the reason", what);
}

void check_errors() {
  const auto in_poll = [] {
    cpu::ThreadPool pool(kOften);
    pool.run(
        kThreads, [&](int) { throw_when_stopped(pool); },
        [](std::int64_t) -> bool { throw Reason(); });
  };
  check_reason(in_poll, "what poll throws came out as another error");
  const auto in_work = [] {
    cpu::ThreadPool pool(kOften);
    pool.run(
        kThreads,
        [&](int thread) {
          if (thread == 1) throw Reason();
          throw_when_stopped(pool);
        },
        [](std::int64_t) { return true; });
  };
  check_reason(in_work, "what work throws came out as another error");
  const auto in_start = [] {
    cpu::ThreadPool pool(kOften);
    pool.run(
        kThreads, [&](int) { check(false, "work began although it was not to"); }, nullptr,
        [](int) { throw Reason(); });
  };
  check_reason(in_start, "what the start throws came out as another error");
}

void check_stop() {
  cpu::ThreadPool during(kOften);
  check(thrown_by([&] {
          during.run(
              kThreads,
              [&](int) {
                while (!during.stop) std::this_thread::yield();
              },
              [](std::int64_t) { return false; });
        }) == "cancelled",
        "poll did not stop work");
  cpu::ThreadPool after(1h);  // poll is called at the end only
  check(thrown_by([&] { after.run(kThreads, [](int) {}, [](std::int64_t) { return false; }); }) ==
            "cancelled",
        "poll did not stop what comes after work");
}

void check_work() {
  cpu::ThreadPool pool(kOften);
  std::set<int> numbers;
  std::mutex mutex;
  std::atomic<int> announced{0};
  std::int64_t last = -1;
  pool.run(
      kThreads,
      [&](int thread) {
        check(announced == kThreads, "work began before the number of threads was known");
        while (pool.claimed++ < 100) ++pool.done;
        const std::lock_guard hold(mutex);
        numbers.insert(thread);
      },
      [&](std::int64_t done) {
        check(done >= last, "less was done than before");
        last = done;
        return true;
      },
      [&](int threads) { announced += threads; });
  check(numbers == std::set<int>{0, 1, 2}, "threads were not numbered from 0 on");
  check(last == 100 && pool.done == 100, "poll was not told the end");
  check(cpu::threads_for(5, 3) == 3 && cpu::threads_for(2, 3) == 2 && cpu::threads_for(0, 3) == 1 &&
            cpu::threads_for(1'000'000, 0) == cpu::hardware_threads(),
        "another number of threads");
}

}  // namespace

// Sanitizers have one of their own.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (waits) std::this_thread::sleep_for(20ms);
  return lock(mutex);
}
#endif

int main() {
  check_errors();
  check_stop();
  check_work();
}
