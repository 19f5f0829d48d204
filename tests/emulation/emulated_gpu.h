// Emulated device: arena with garbage in it, launches of kernels on emulated threads or as PTX.
// It is the Device of cuda/gpu/run.cuh, cuda/congestion/run.cuh and cuda/schedule/run.cuh.
#pragma once

#include <algorithm>
#include <vector>

#include "../ptx/machine.h"
#include "core/engine.h"
#include "cuda_emulation.h"
#include "gpu/batch_size.h"
#include "noise/cursor.h"
#include "watch.h"

namespace jf_emu {

class EmulatedGpu {
 public:
  // request: whose realizations what fresh memory holds may pretend to belong to. room: bytes.
  EmulatedGpu(std::uint64_t seed, Order order, std::int64_t room, const jf::Request& request = {})
      : random_(seed), order_(order), room_(room), request_(request) {}

  // Every array lies alone, so that tools see where one ends, and all together must be what was
  // asked for. Fresh memory holds garbage, so that what nobody wrote shows: that of cursors
  // pretends to belong to one of the realizations at hand, as what an earlier run left there would.
  class Arena {
   public:
    Arena(EmulatedGpu& gpu, std::int64_t bytes) : gpu_(gpu), left_(bytes) {
      if (bytes > gpu.room_) throw jf::gpu::OutOfMemory("the emulated device is full");
      gpu.arena_ = this;
    }
    ~Arena() { gpu_.arena_ = nullptr; }
    std::int64_t left() const { return left_; }

    template <class T>
    T* allocate(std::int64_t count) {
      left_ -= jf::gpu::array_bytes<T>(count);
      if (left_ < 0) throw std::logic_error("a run takes more memory than it asked for");
      if (count == 0) return nullptr;
      auto& words = arrays_.emplace_back((static_cast<std::size_t>(count) * sizeof(T) + 7) / 8);
      for (std::uint64_t& word : words) word = gpu_.random_();
      T* const array = reinterpret_cast<T*>(words.data());
      if constexpr (std::is_same_v<T, jf::Cursor>) {
        const jf::Request& request = gpu_.request_;
        for (std::int64_t i = 0; i < count; ++i) {
          const auto other = gpu_.random_() % static_cast<std::uint64_t>(request.count);
          array[i].owner = static_cast<std::uint32_t>(request.first + other);
        }
        watch.guard(array, count, sizeof(T));
      }
      return array;
    }
    template <class T>
    T* upload(const std::vector<T>& v) {
      T* const array = allocate<T>(static_cast<std::int64_t>(v.size()));
      std::copy(v.begin(), v.end(), array);
      return array;
    }

   private:
    EmulatedGpu& gpu_;
    std::int64_t left_;
    std::vector<std::vector<std::uint64_t>> arrays_;
  };

  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) {
    if (arena_->left() != 0) throw std::logic_error("a run takes less memory than it asked for");
    ++launches_;
    threads_ += grid * block;
    watch.start();
    jf_ptx::launch(kernel, grid, block, shared_bytes, random_(), order_, arguments...);
  }
  template <class T>
  void fill(T* to, std::int64_t count, const T& value) {
    std::fill_n(to, count, value);
  }
  void maxima(const jf::Observation* from, std::int64_t count, jf::Tick* to) {
    std::transform(from, from + count, to, [](const jf::Observation& o) { return o.max; });
  }
  template <class T>
  void copy(const T* from, std::int64_t count, T* to) {
    std::copy_n(from, count, to);
  }
  void wait() {}
  template <class T>
  void download(const T* from, std::int64_t count, T* to) {
    std::copy_n(from, count, to);
  }

  std::int64_t launches() const { return launches_; }
  std::int64_t threads() const { return threads_; }  // of all launches

 private:
  Random random_;
  Order order_;
  std::int64_t room_;
  jf::Request request_;
  std::int64_t launches_ = 0, threads_ = 0;
  Arena* arena_ = nullptr;
};

}  // namespace jf_emu
