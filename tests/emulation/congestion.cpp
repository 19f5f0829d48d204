// Runs cases of congestion on the kernel of cuda/congestion/, emulated on the CPU, as the CUDA
// engine does: reads cases (see test_congestion_kernel.py), writes for each a line: its results.
#include <iostream>

#include "../ptx/machine.h"
#include "cuda_emulation.h"

// First, as copies of the kernel use it.
#include "removed.h"
// The kernel.
#include "congestion/run.cuh"
#include "read_congestion.h"

namespace {

using jf_read::read;

class EmulatedGpu {
 public:
  EmulatedGpu(std::uint64_t seed, jf_emu::Order order, std::int64_t room)
      : random_(seed), order_(order), room_(room) {}

  // Every array lies alone. Fresh memory holds garbage, so that what nobody wrote shows.
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
      return reinterpret_cast<T*>(words.data());
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
    jf_ptx::launch(kernel, grid, block, shared_bytes, random_(), order_, arguments...);
  }
  template <class T>
  void download(const T* from, std::int64_t count, T* to) {
    std::copy_n(from, count, to);
  }

 private:
  jf_emu::Random random_;
  jf_emu::Order order_;
  std::int64_t room_;
  Arena* arena_ = nullptr;
};

void run_case() {
  const jf::congestion::Program program = jf_read::read_congestion();
  const jf::congestion::Request request = jf_read::read_congestion_request();
  const auto shared = read<std::int64_t>(), blocks = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  const auto seed = read<std::uint64_t>();
  removed = read<int>();
  EmulatedGpu device(seed, order, read<std::int64_t>());

  std::vector<std::int64_t> out(static_cast<std::size_t>(request.count * jf::congestion::kWords));
  std::vector<std::uint64_t> bins(request.all ? program.most_messages() + 1 : 0);
  jf::congestion::gpu::run(device, program, request, shared, blocks, out.data(),
                           request.all ? bins.data() : nullptr, {});
  for (const auto word : out) std::cout << word << ' ';
  for (const auto bin : bins) std::cout << bin << ' ';
}

}  // namespace

int main(int count, char** words) {
  const jf_ptx::Programs programs(count, words);
  jf_read::run_lines(run_case);
}
