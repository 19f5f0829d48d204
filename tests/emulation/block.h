// CUDA emulation: how the threads of a block (fibers) take turns and meet; detection of deadlock.
// Runs the threads of a block as fibers, in a seeded order, from rendezvous to rendezvous (barrier,
// shuffle, vote), and reports a rendezvous that cannot complete. See cuda_emulation.h for how to
// use it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "fiber.h"
#include "shared_memory.h"

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace jf_emu {

// Which runnable thread goes next. Any order is one a GPU may take, so a
// correct kernel gives the same result under all of them.
enum class Order {
  kRandom,      // any thread, lanes of all warps mixed
  kWarpByWarp,  // one warp as far as it gets, its lanes mixed, then the next
  kAscending,   // the lowest thread, which runs ahead as far as it gets
  kDescending,
};
inline constexpr std::array kAllOrders = {Order::kRandom, Order::kWarpByWarp, Order::kAscending,
                                          Order::kDescending};

// What a thread waits at. Threads that meet must make the same call: the same
// function at the same place of the source with the same mask.
struct Call {
  const char* name;
  std::source_location where;
  bool block_wide = false;
  bool vote = false;        // the result is the ballot, else source's value
  std::uint32_t mask = 0;   // warp-wide calls: the lanes that meet
  unsigned source = 0;      // shuffles: the lane read
  std::uint64_t value = 0;  // what this thread brings
};

// Fibers that finished what they ran, for the next block: stacks are what takes time to get.
class Fibers {
 public:
  std::unique_ptr<Fiber> take() {
    if (idle_.empty()) return std::make_unique<Fiber>();
    std::unique_ptr<Fiber> fiber = std::move(idle_.back());
    idle_.pop_back();
    return fiber;
  }
  void give_back(std::unique_ptr<Fiber> fiber) {
    if (fiber->finished() && !fiber->overflowed()) idle_.push_back(std::move(fiber));
  }

 private:
  std::vector<std::unique_ptr<Fiber>> idle_;
};
inline thread_local Fibers fibers;

class Block {
 public:
  Block(dim3 shape, Order order) : shape_(shape), order_(order), threads_(count(shape)) {
    for (Thread& thread : threads_) thread.fiber = fibers.take();
  }
  Block(const Block&) = delete;
  ~Block() {
    for (Thread& thread : threads_) fibers.give_back(std::move(thread.fiber));
  }

  void run(uint3 index, std::size_t shared_bytes, std::uint64_t seed,
           const std::function<void()>& body) {
    random_ = Random(seed);
    prepare_shared(shared_bytes, random_);
    index_ = index;
    body_ = &body;
    at_barrier_ = barriers_ = 0;
    ready_ = {};
    warp_rank_.resize((threads_.size() + 31) / 32);
    for (auto& rank : warp_rank_) rank = random_() >> 32;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      threads_[t].fiber->start(&Block::enter, this);
      make_ready(t);
    }
    while (!ready_.empty()) {
      current_ = ready_.top().second;
      ready_.pop();
      step();
    }
    if (std::any_of(threads_.begin(), threads_.end(),
                    [](const Thread& thread) { return thread.state != kExited; })) {
      fail("deadlock:" + describe());
    }
    try {
      check_shared(shared_bytes);
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  std::size_t thread() const { return current_; }
  std::size_t barriers() const { return barriers_; }  // that all threads have passed
  unsigned lane() const { return static_cast<unsigned>(current_ % 32); }

  // Called by a thread: meets the others of the call, returns the result.
  std::uint64_t meet(const Call& call) {
    Thread& self = threads_[current_];
    self.call = call;
    if (!call.block_wide && (call.mask >> lane() & 1) == 0) {
      fail(site(call) + ": thread " + std::to_string(current_) + " is not in its own mask");
    }
    self.state = kWaiting;
    self.fiber->suspend();
    return self.result;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("block (" + std::to_string(index_.x) + ", " + std::to_string(index_.y) + ", " +
                std::to_string(index_.z) + "): " + what);
  }

  static std::size_t count(dim3 d) { return std::size_t{1} * d.x * d.y * d.z; }
  static uint3 unravel(std::size_t i, dim3 d) {
    return {unsigned(i % d.x), unsigned(i / d.x % d.y), unsigned(i / d.x / d.y)};
  }
  static bool same(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }
  static std::string site(const Call& call) {
    std::string text(call.name);
    if (!call.block_wide) {
      char mask[16];
      std::snprintf(mask, sizeof mask, "(0x%x)", unsigned(call.mask));
      text += mask;
    }
    return text + " at " + call.where.file_name() + ":" + std::to_string(call.where.line());
  }

 private:
  enum State { kReady, kWaiting, kExited };
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    State state = kReady;
    Call call;
    std::uint64_t result = 0;
  };

  static void enter(void* self) { (*static_cast<Block*>(self)->body_)(); }

  void make_ready(std::size_t t) {
    threads_[t].state = kReady;
    std::uint64_t key = 0;
    if (order_ == Order::kAscending) key = t;
    if (order_ == Order::kDescending) key = threads_.size() - t;
    if (order_ == Order::kRandom) key = random_();
    if (order_ == Order::kWarpByWarp) key = warp_rank_[t / 32] << 32 | random_() >> 32;
    ready_.push({key, t});
  }

  void step() {
    Thread& thread = threads_[current_];
    threadIdx = unravel(current_, shape_);
    blockIdx = index_;
    thread.fiber->resume();
    if (thread.fiber->overflowed()) fail("stack overflow, see JF_EMU_STACK_BYTES");
    if (thread.fiber->finished()) {
      thread.state = kExited;
    } else if (thread.call.block_wide) {
      if (++at_barrier_ == threads_.size()) {
        at_barrier_ = 0;
        ++barriers_;
        release(0, threads_.size(), ~std::uint32_t{0});
      }
    } else {
      const std::size_t first = current_ / 32 * 32;
      const std::size_t last = std::min(first + 32, threads_.size());
      for (std::size_t t = first; t < last; ++t) {
        const Thread& other = threads_[t];
        if ((thread.call.mask >> (t - first) & 1) == 0) continue;
        if (other.state != kWaiting || other.call.block_wide) return;
        if (other.call.mask != thread.call.mask) return;
      }
      release(first, last, thread.call.mask);
    }
  }

  // All threads of [first, last) in the mask wait for one another.
  void release(std::size_t first, std::size_t last, std::uint32_t mask) {
    const Call& call = threads_[current_].call;
    std::uint64_t ballot = 0, number = 0;
    for (std::size_t t = first; t < last; ++t) {
      if ((mask >> (t % 32) & 1) == 0) continue;
      const Call& other = threads_[t].call;
      if (other.where.line() != call.where.line() || other.where.column() != call.where.column() ||
          !same(other.name, call.name) || !same(other.where.file_name(), call.where.file_name())) {
        fail("divergent rendezvous: thread " + std::to_string(current_) + " waits at " +
             site(call) + ", thread " + std::to_string(t) + " at " + site(other));
      }
      number += other.value != 0;
      ballot |= std::uint64_t{other.value != 0} << (t % 32);
    }
    for (std::size_t t = first; t < last; ++t) {
      if ((mask >> (t % 32) & 1) == 0) continue;
      Thread& thread = threads_[t];
      const unsigned source = thread.call.source;
      if (thread.call.block_wide) {
        thread.result = number;
      } else if (thread.call.vote) {
        thread.result = ballot;
      } else if ((mask >> source & 1) != 0 && first + source < last) {
        thread.result = threads_[first + source].call.value;
      } else {
        thread.result = random_();  // CUDA: the value read is undefined
      }
      make_ready(t);
    }
  }

  // Who waits where, grouped: "31 threads (first 0) at ..., 1 (first 31) exited".
  std::string describe() const {
    std::map<std::string, std::pair<int, std::size_t>> groups;
    for (std::size_t t = threads_.size(); t-- > 0;) {
      const Thread& thread = threads_[t];
      auto& group = groups[thread.state == kExited ? "exited" : "waiting in " + site(thread.call)];
      ++group.first;
      group.second = t;
    }
    std::string text;
    for (const auto& [what, group] : groups) {
      text += (text.empty() ? " " : "; ") + std::to_string(group.first) + " threads (first " +
              std::to_string(group.second) + ") " + what;
    }
    return text;
  }

  dim3 shape_;
  Order order_;
  std::vector<Thread> threads_;
  Random random_{0};
  uint3 index_;
  const std::function<void()>* body_ = nullptr;
  std::size_t current_ = 0, at_barrier_ = 0, barriers_ = 0;
  std::vector<std::uint64_t> warp_rank_;
  using Entry = std::pair<std::uint64_t, std::size_t>;  // (key, thread), least first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready_;
};

inline thread_local Block* running_block = nullptr;

// The running block; a rendezvous outside a kernel is an error.
inline Block& block() {
  if (running_block == nullptr) throw Error("called outside a kernel");
  return *running_block;
}

}  // namespace jf_emu
