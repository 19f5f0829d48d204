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
  // Fresh memory holds garbage, so that what nobody wrote shows.
  template <class T>
  class Array {
   public:
    explicit Array(std::size_t count) : words_((count * sizeof(T) + 7) / 8 + 1) {}
    T* data() const { return reinterpret_cast<T*>(const_cast<std::uint64_t*>(words_.data())); }
    std::vector<std::uint64_t>& words() { return words_; }

   private:
    std::vector<std::uint64_t> words_;
  };

  EmulatedGpu(std::uint64_t seed, jf_emu::Order order) : random_(seed), order_(order) {}

  template <class T>
  Array<T> allocate(std::int64_t count) {
    Array<T> array(static_cast<std::size_t>(count));
    for (std::uint64_t& word : array.words()) word = random_();
    return array;
  }
  template <class T>
  Array<T> upload(const std::vector<T>& v) {
    Array<T> array(v.size());
    std::copy(v.begin(), v.end(), array.data());
    return array;
  }
  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) {
    jf_ptx::launch(kernel, grid, block, shared_bytes, random_(), order_, arguments...);
  }
  template <class T>
  void download(const T* from, std::int64_t count, T* to) {
    std::copy_n(from, count, to);
  }

 private:
  jf_emu::Random random_;
  jf_emu::Order order_;
};

void run_case() {
  const jf::congestion::Program program = jf_read::read_congestion();
  const jf::congestion::Request request = jf_read::read_congestion_request();
  const auto shared = read<std::int64_t>(), blocks = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  EmulatedGpu device(read<std::uint64_t>(), order);
  removed = read<int>();

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
