// What the programs for sanitizers share: faults to plant, runs that somebody stops, and digests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include "core/host_program.h"

// What the sanitizers must find in the engine, to show that they would: a process has the one of
// these faults that its environment names.
inline bool is_planted(const char* fault) {
  const char* named = std::getenv("JF_PLANT");
  return named != nullptr && std::strcmp(named, fault) == 0;
}
// Results in memory that is one word too small.
inline const std::int64_t kMissing = is_planted("OUT_OF_BOUNDS") ? 1 : 0;
// Costs that a program would not be given.
inline const jf::Tick kTooMuch = is_planted("OVERFLOW") ? INT64_MAX : 0;
// Two runs that write to the same memory at the same time.
inline const int kRunsAtOnce = is_planted("RACE") ? 2 : 1;

template <class Run>
void run_at_once(const Run& run) {
  std::vector<std::thread> others;
  for (int i = 1; i < kRunsAtOnce; ++i) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
}

// run(poll) with a poll that stops it. Whether it was stopped, which is written.
template <class Run>
bool is_cancelled(const Run& run) {
  try {
    run([](std::int64_t) { return false; });
  } catch (const jf::Cancelled&) {
    std::cout << "cancelled";
    return true;
  }
  return false;
}

// Sum and exclusive or of all numbers.
class Told {
 public:
  template <class T>
  void add(const T* numbers, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      sum_ += static_cast<std::uint64_t>(numbers[i]);
      mixed_ ^= static_cast<std::uint64_t>(numbers[i]);
    }
  }
  void tell() const { std::cout << sum_ << ' ' << mixed_; }

 private:
  std::uint64_t sum_ = 0, mixed_ = 0;
};
