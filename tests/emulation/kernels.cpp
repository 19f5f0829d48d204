// Runs programs on the kernels of cuda/gpu/, emulated on the CPU, exactly as the CUDA engine does:
// reads cases (see test_kernels.py), writes for each a line: its results, or "error: ...".
#include <iostream>

#include "../ptx/machine.h"
#include "cuda_emulation.h"

// First, as copies of the kernels use it.
#include "removed.h"
// The kernels.
#include "gpu/run.cuh"
#include "read_case.h"
#include "watch.h"

namespace {

using jf::Tick;
using jf_read::read, jf_read::read_program, jf_read::read_request;

class EmulatedGpu {
 public:
  // Fresh memory holds garbage, so that what nobody wrote shows: that of cursors pretends to belong
  // to one of the realizations at hand, as what an earlier run left there would.
  template <class T>
  class Array {
   public:
    explicit Array(std::size_t count) : words_((count * sizeof(T) + 7) / 8) {}
    T* data() { return reinterpret_cast<T*>(words_.data()); }
    std::vector<std::uint64_t>& words() { return words_; }

   private:
    std::vector<std::uint64_t> words_;
  };

  EmulatedGpu(std::uint64_t seed, jf_emu::Order order, const jf::Request& request)
      : random_(seed), order_(order), request_(request) {}

  template <class T>
  Array<T> allocate(std::int64_t count) {
    Array<T> array(static_cast<std::size_t>(count));
    for (std::uint64_t& word : array.words()) word = random_();
    if constexpr (std::is_same_v<T, jf::Cursor>) {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto other = random_() % static_cast<std::uint64_t>(request_.count);
        array.data()[i].owner = static_cast<std::uint32_t>(request_.first + other);
      }
      jf_emu::watch.guard(array.data(), count, sizeof(T));
    }
    return array;
  }
  template <class T>
  Array<T> upload(const std::vector<T>& v) {
    Array<T> array(v.size());
    std::copy(v.begin(), v.end(), array.data());
    return array;
  }
  template <class T>
  void fill(T* to, std::int64_t count, const T& value) {
    std::fill_n(to, count, value);
  }
  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) {
    jf_emu::watch.start();
    jf_ptx::launch(kernel, grid, block, shared_bytes, random_(), order_, arguments...);
  }
  void merge(const jf::Observation* from, std::int64_t count, std::int64_t partials,
             jf::Observation* to) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = jf::Observation::nothing();
      for (std::int64_t k = 0; k < partials; ++k) to[i].merge(from[i * partials + k]);
    }
  }
  void maxima(const jf::Observation* from, std::int64_t count, Tick* to) {
    std::transform(from, from + count, to, [](const jf::Observation& o) { return o.max; });
  }
  template <class T>
  void copy(const T* from, std::int64_t count, T* to) {
    std::copy_n(from, count, to);
  }
  void wait() {}
  void download(const Tick* from, std::int64_t count, Tick* to) { std::copy_n(from, count, to); }

 private:
  jf_emu::Random random_;
  jf_emu::Order order_;
  jf::Request request_;
};

void run_case() {
  const jf::Program program = read_program();
  const jf::Request request = read_request();
  const auto tile_bits = read<int>(), low_bits = read<int>();
  const auto batch = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  EmulatedGpu device(read<std::uint64_t>(), order, request);
  removed = read<int>();
  const auto most = static_cast<jf::gpu::TileKernel>(read<int>());

  const jf::PlanLimits limits{tile_bits, low_bits};
  jf::gpu::BatchPlan plan(program, jf::gpu::plan_tiles(program, jf_emu::kMaxSharedBytes, most,
                                                       tile_bits > 0 ? &limits : nullptr));
  plan.fit(request.count, std::int64_t{1} << 30);
  plan.batch = std::min(plan.batch, batch);
  std::vector<Tick> out(
      static_cast<std::size_t>(request.count * program.rows * jf::words_per_row(request)));
  jf::gpu::Run<EmulatedGpu>(device, program, request, plan).simulate(out.data(), {});
  std::cout << plan.tiles.kernel << ' ';
  for (const Tick t : out) std::cout << t << ' ';
}

}  // namespace

int main(int count, char** words) {
  const jf_ptx::Programs programs(count, words);
  jf_read::run_lines(run_case);
}
