// Runs programs on the kernels of cuda/gpu/, emulated on the CPU, exactly as the CUDA engine does:
// reads cases (see test_kernels.py), writes for each a line: its results, or "error: ...".
#include "cuda_emulation.h"

// test_kernels.py takes a barrier out of a copy of the kernels; this is the number of the one.
inline int removed_barrier = -1;

#include <iostream>

#include "gpu/run.cuh"

namespace {

using jf::Tick;

class EmulatedGpu {
 public:
  // Fresh memory holds garbage, so that what nobody wrote shows.
  template <class T>
  class Array {
   public:
    explicit Array(std::size_t count) : words_((count * sizeof(T) + 7) / 8) {}
    T* data() { return reinterpret_cast<T*>(words_.data()); }
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
  void fill(jf::Observation* to, std::int64_t count, const jf::Observation& value) {
    std::fill_n(to, count, value);
  }
  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) {
    jf_emu::launch(
        static_cast<unsigned>(grid), static_cast<unsigned>(block),
        static_cast<std::size_t>(shared_bytes), random_(), [&] { kernel(arguments...); }, order_);
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
  void wait() {}
  void download(const Tick* from, std::int64_t count, Tick* to) { std::copy_n(from, count, to); }

 private:
  jf_emu::Random random_;
  jf_emu::Order order_;
};

template <class T>
T read() {
  T value{};
  if (!(std::cin >> value)) throw std::runtime_error("the case is cut short");
  return value;
}

template <class T>
std::vector<T> read_many() {
  std::vector<T> values(read<std::size_t>());
  for (T& value : values) value = read<T>();
  return values;
}

jf::Program read_program() {
  jf::Program p;
  p.log2_ranks = read<int>();
  p.rows = read<int>();
  jf::Costs& c = p.costs;
  for (Tick* cost : {&c.send, &c.receive, &c.transit, &c.combine, &c.work, &c.forward})
    *cost = read<Tick>();
  p.has_noise = read<bool>();
  p.period = read<Tick>();
  p.duration = read<Tick>();
  p.stationary = read<bool>();
  p.node_ranks = read<std::int64_t>();
  p.in_compute = read<bool>();
  p.in_communication = read<bool>();
  p.phases = read_many<Tick>();
  p.jitter_duration = read<Tick>();
  p.survival = read_many<std::uint64_t>();
  const std::vector<std::int32_t> words = read_many<std::int32_t>();
  for (std::size_t i = 0; i + 5 <= words.size(); i += 5)
    p.steps.push_back({words[i], words[i + 1], words[i + 2], words[i + 3], words[i + 4]});
  p.check();
  return p;
}

void run_case() {
  const jf::Program program = read_program();
  jf::Request request;
  request.seed = read<std::uint64_t>();
  request.first = read<std::int64_t>();
  request.count = read<std::int64_t>();
  request.full_statistics = read<bool>();
  const auto tile_bits = read<int>(), low_bits = read<int>();
  const auto batch = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  EmulatedGpu device(read<std::uint64_t>(), order);
  removed_barrier = read<int>();

  jf::gpu::BatchPlan plan(program, {tile_bits, low_bits});
  plan.fit(request.count, std::int64_t{1} << 30);
  plan.batch = std::min(plan.batch, batch);
  std::vector<Tick> out(
      static_cast<std::size_t>(request.count * program.rows * jf::words_per_row(request)));
  jf::gpu::Run<EmulatedGpu>(device, program, request, plan).simulate(out.data(), {});
  for (const Tick t : out) std::cout << t << ' ';
}

}  // namespace

int main() {
  while (std::cin >> std::ws && !std::cin.eof()) {
    try {
      run_case();
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what();
    }
    std::cout << std::endl;
  }
}
