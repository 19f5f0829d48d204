// CUDA emulation: detection of data races in global memory. Tells when two threads of a launch use
// a place of global memory without a barrier in between, or one uses a place that nobody asked for.
// Threads of the emulation take turns, so that such a use need not change any result here.
#pragma once

#include <string>
#include <unordered_map>

#include "block.h"

namespace jf_emu {

class Watch {
 public:
  // From here on: only places in these bytes are allowed.
  void guard(const void* data, std::int64_t count, std::size_t each) {
    begin_ = static_cast<const char*>(data);
    end_ = begin_ + static_cast<std::size_t>(count) * each;
  }
  // A launch: what was before it is done.
  void start() { uses_.clear(); }

  void touch(const void* place) {
    const Block& block = jf_emu::block();
    if (place < begin_ || place >= end_) block.fail("a place outside the array is used");
    const Use now{blockIdx.x, block.thread(), block.barriers()};
    const auto [found, fresh] = uses_.try_emplace(place, now);
    const Use before = found->second;
    const bool ordered = before.block == now.block && before.barriers < now.barriers;
    if (!fresh && !ordered && (before.block != now.block || before.thread != now.thread))
      block.fail("two threads use a place with no barrier in between");
    found->second = now;
  }

 private:
  struct Use {
    std::size_t block, thread, barriers;
  };
  const char *begin_ = nullptr, *end_ = nullptr;
  std::unordered_map<const void*, Use> uses_;
};

// Of the cursors: a copy of noise/sources.h tells of each use of those of a rank (test_kernels.py).
inline Watch watch;

}  // namespace jf_emu
