// What the programs for sanitizers share: faults to plant, runs that somebody stops, and digests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

#include "core/host_program.h"

// What the sanitizers must find in the engine, to show that they would:
#ifdef JF_PLANT_OUT_OF_BOUNDS  // results in memory that is one word too small
constexpr std::int64_t kMissing = 1;
#else
constexpr std::int64_t kMissing = 0;
#endif
#ifdef JF_PLANT_OVERFLOW  // costs that a program would not be given
constexpr jf::Tick kTooMuch = INT64_MAX;
#else
constexpr jf::Tick kTooMuch = 0;
#endif
#ifdef JF_PLANT_RACE  // two runs that write to the same memory at the same time
constexpr int kRunsAtOnce = 2;
#else
constexpr int kRunsAtOnce = 1;
#endif

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
