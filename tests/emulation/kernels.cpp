// Runs programs on the kernels of cuda/gpu/, emulated on the CPU, exactly as the CUDA engine does:
// reads cases (see test_kernels.py), writes for each a line: its results, or "error: ...".
#include "cuda_emulation.h"

// test_kernels.py takes things out of a copy of the kernels; this is the number of the one to miss.
inline int removed = -1;

#include <iostream>

#include "gpu/run.cuh"
#include "watch.h"

namespace {

using jf::Tick;

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
  jf::Request request_;
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

jf::HostDelay read_delay() {
  const auto kind = read<std::string>();
  const auto last = read<std::uint64_t>();
  const auto make = [&kind]() -> jf::HostDelay {
    if (kind == "constant") return jf::HostDelay::constant(read<Tick>());
    if (kind == "smooth") return jf::HostDelay::smooth(read_many<std::uint64_t>());
    if (kind == "samples") return jf::HostDelay::samples(read_many<Tick>());
    if (kind == "pieces") {
      const auto edges = read_many<std::uint64_t>();
      const auto top = read_many<Tick>(), drop = read_many<Tick>();
      return jf::HostDelay::pieces(edges, top, drop);
    }
    if (kind != "counts") throw std::runtime_error("unknown kind of delay: " + kind);
    const auto value = read<Tick>();
    return jf::HostDelay::counts(value, read_many<std::uint64_t>());
  };
  return make().with_last(last);
}

jf::Scope read_scope() {
  jf::Scope s;
  s.node_ranks = read<std::int64_t>();
  s.in_compute = read<bool>();
  s.in_communication = read<bool>();
  s.window.begin = read<Tick>();
  s.window.end = read<Tick>();
  return s;
}

void read_source(jf::Program& p) {
  const auto role = read<std::string>();
  const jf::Scope scope = read_scope();
  if (role == "periodic") {
    const auto period = read<Tick>(), duration = read<Tick>();
    const bool stationary = read<bool>();
    p.add_periodic(period, duration, stationary, read_many<Tick>(), scope);
  } else if (role == "renewal") {
    const jf::HostDelay gap = read_delay(), duration = read_delay();
    if (!read<bool>()) return p.add_renewal(gap, duration, nullptr, scope);
    jf::Program::Stationary start;
    start.share = read<std::uint64_t>();
    start.busy = read_delay();
    start.idle = read_delay();
    p.add_renewal(gap, duration, &start, scope);
  } else if (role == "trace") {
    const auto begins = read_many<Tick>(), ends = read_many<Tick>();
    const auto length = read<Tick>();
    p.add_trace(begins, ends, length, read_many<Tick>(), scope);
  } else if (role == "step") {
    const bool at_send = read<bool>();
    p.add_step(read_delay(), at_send, scope);
  } else if (role == "message") {
    p.add_message(read_delay(), scope);
  } else if (role == "jitter") {
    const auto duration = read<Tick>();
    p.add_jitter(duration, read_many<std::uint64_t>(), scope);
  } else {
    throw std::runtime_error("unknown source: " + role);
  }
}

jf::Program read_program() {
  jf::Program p;
  p.log2_ranks = read<int>();
  p.rows = read<int>();
  p.one_rank = read<bool>();
  jf::Costs& c = p.costs;
  for (Tick* cost : {&c.send, &c.receive, &c.transit, &c.combine, &c.work, &c.forward})
    *cost = read<Tick>();
  const std::vector<std::int32_t> words = read_many<std::int32_t>();
  for (std::size_t i = 0; i + 5 <= words.size(); i += 5)
    p.steps.push_back({words[i], words[i + 1], words[i + 2], words[i + 3], words[i + 4]});
  p.finish();
  for (auto sources = read<int>(); sources > 0; --sources) read_source(p);
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
  EmulatedGpu device(read<std::uint64_t>(), order, request);
  removed = read<int>();

  const auto real = jf::gpu::tile_limits(program.general());
  jf::gpu::BatchPlan plan(program, tile_bits > 0 ? jf::PlanLimits{tile_bits, low_bits} : real);
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
