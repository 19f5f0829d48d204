// Runs programs on the kernels of cuda/gpu/, emulated on the CPU, exactly as the CUDA engine does:
// reads cases (see test_kernels.py), writes for each a line: its results, or "error: ...".
#include <iostream>

#include "../ptx/machine.h"
#include "cuda_emulation.h"

// First, as copies of the kernels use it.
#include "removed.h"
// The kernels.
#include "gpu/lean_kernel.cuh"
#include "gpu/message_kernel.cuh"
#include "gpu/run.cuh"
#include "gpu/segment_kernel.cuh"
#include "gpu/tile_kernel.cuh"
#include "plan.h"
#include "read_case.h"
#include "watch.h"

namespace {

using jf::Tick;
using jf_read::read, jf_read::read_program, jf_read::read_request;

class EmulatedGpu {
 public:
  EmulatedGpu(std::uint64_t seed, jf_emu::Order order, const jf::Request& request,
              std::int64_t room)
      : random_(seed), order_(order), request_(request), room_(room) {}

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
        jf_emu::watch.guard(array, count, sizeof(T));
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

  template <class T>
  void fill(T* to, std::int64_t count, const T& value) {
    std::fill_n(to, count, value);
  }
  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) {
    if (arena_->left() != 0) throw std::logic_error("a run takes less memory than it asked for");
    ++launches_;
    threads_ += grid * block;
    largest_ = std::max(largest_, steps_of(arguments...));
    jf_emu::watch.start();
    jf_ptx::launch(kernel, grid, block, shared_bytes, random_(), order_, arguments...);
  }
  void maxima(const jf::Observation* from, std::int64_t count, Tick* to) {
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
  std::int64_t largest() const { return largest_; }  // in steps of ranks, blocks of messages aside

 private:
  template <class... More>
  static std::int64_t steps_of(const jf::gpu::PassJob& job, const More&... more) {
    const std::int64_t ranks = job.pass.map.size();
    std::int64_t steps = 0;
    if (job.pass.kind == jf::kTilePass)
      steps = (job.end_tile - job.first_tile) * ranks * (job.pass.end - job.pass.begin);
    const auto look = [&](const auto& argument) {
      if constexpr (std::is_same_v<decltype(argument), const jf::gpu::SegmentLaunch&>)
        steps = (argument.end - argument.begin) * (ranks >> argument.bits) * jf::gpu::kSegmentWork;
      if constexpr (std::is_same_v<decltype(argument), const jf::gpu::MessageLaunch&>)
        steps = (argument.end - argument.begin) * job.realizations;
    };
    (look(more), ...);
    return steps;
  }

  jf_emu::Random random_;
  jf_emu::Order order_;
  jf::Request request_;
  std::int64_t room_, launches_ = 0, threads_ = 0, largest_ = 0;
  Arena* arena_ = nullptr;
};

void run_case() {
  const jf::Program program = read_program();
  const jf::Request request = read_request();
  const auto tile_bits = read<int>(), low_bits = read<int>();
  const auto batch = read<std::int64_t>();
  const auto order = jf_emu::kAllOrders.at(read<std::size_t>());
  const auto seed = read<std::uint64_t>();
  removed = read<int>();
  const auto most = static_cast<jf::gpu::TileKernel>(read<int>());
  // Steps of ranks that a launch may take, steps of a pass, and bytes that there turn out to be.
  const auto launch = read<std::int64_t>();
  const auto steps = read<std::int32_t>();
  const auto room = read<std::int64_t>();
  const auto way = read<int>();  // of messages: as the plan has it, in launches, in blocks
  const auto rounds = read<std::int64_t>();
  EmulatedGpu device(seed, order, request, room);

  const jf::PlanLimits limits{tile_bits, low_bits, 0, steps};
  jf::gpu::BatchPlan plan(program, jf::gpu::plan_tiles(program, jf_emu::kMaxSharedBytes, most,
                                                       tile_bits > 0 ? &limits : nullptr));
  plan.fit(request.count, std::int64_t{1} << 30);
  plan.batch = std::min(plan.batch, batch);
  if (rounds > 0) plan.messages.max_rounds = rounds;
  if (way > 0) plan.messages.choose(plan.batch, way == 2);
  std::vector<Tick> out(
      static_cast<std::size_t>(request.count * program.rows * jf::words_per_row(request)));
  if (launch > 0) plan.launches = {launch, launch};
  jf::gpu::simulate_on(device, program, request, plan, out.data(), {});
  std::cout << plan.tiles.kernel << ' ' << device.launches() << ' ' << device.largest() << ' '
            << device.threads() << ' ';
  for (const Tick t : out) std::cout << t << ' ';
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && words[1] == std::string("plan")) {
    jf_plan::print({words + 2, words + count});
    return 0;
  }
  const jf_ptx::Programs programs(count, words);
  jf_read::run_lines(run_case);
}
