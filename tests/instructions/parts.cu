// Repeated parts of the GPU tile kernels, for counting their instructions. What one of them adds to
// the code is what it costs. See count.py.
#include "gpu/lean_kernel.cuh"
#include "gpu/tile_kernel.cuh"

namespace jf::gpu {

// Rounds of the lean kernel, over each bit of its window in turn.
template <class T, bool kNoisy, int kRounds>
__global__ void __launch_bounds__(kLeanBlock, 2)
    lean_rounds(T* data, T transit, T work, T period, T duration) {
  JF_SHARED(Tick, shared);
  using Tile = LeanTile<T, Periodic>;
  Tile tile{period, duration, reinterpret_cast<char*>(shared), 0, 0, {}, {}};
  tile.set_register_window(static_cast<int>(data[0]));
  for (int e = 0; e < Tile::kRanks; ++e) {
    tile.time[e] = data[e * kLeanBlock + threadIdx.x];
    tile.next[e] = data[(e + Tile::kRanks) * kLeanBlock + threadIdx.x];
  }
  const auto round = [&]<int kRound>(std::integral_constant<int, kRound>) {
    if constexpr (kRound < kRounds)
      tile.template exchange_over<1 << kRound % Tile::kBits>(transit, work);
    if constexpr (kNoisy && kRound < kRounds) tile.apply_noise(work);
  };
  [&]<int... kRound>(std::integer_sequence<int, kRound...>) {
    (round(std::integral_constant<int, kRound>{}), ...);
  }(std::make_integer_sequence<int, 16>{});
  for (int e = 0; e < Tile::kRanks; ++e) {
    data[e * kLeanBlock + threadIdx.x] = tile.time[e];
    data[(e + Tile::kRanks) * kLeanBlock + threadIdx.x] = tile.next[e];
  }
}

// Moves of the window of the lean kernel, and a quiet round after each: two moves would be one.
template <class T, int kMoves>
__global__ void __launch_bounds__(kLeanBlock, 2)
    lean_moves(T* data, const int* starts, T transit, T work) {
  JF_SHARED(Tick, shared);
  using Tile = LeanTile<T, Periodic>;
  Tile tile{0, 0, reinterpret_cast<char*>(shared), 0, 0, {}, {}};
  tile.set_register_window(0);
  for (int e = 0; e < Tile::kRanks; ++e) tile.time[e] = data[e * kLeanBlock + threadIdx.x];
  const auto move = [&]<int kMove>(std::integral_constant<int, kMove>) {
    if constexpr (kMove < kMoves) {
      tile.move_register_window(starts[kMove]);
      tile.template exchange_over<1>(transit, work);
    }
  };
  [&]<int... kMove>(std::integer_sequence<int, kMove...>) {
    (move(std::integral_constant<int, kMove>{}), ...);
  }(std::make_integer_sequence<int, 4>{});
  for (int e = 0; e < Tile::kRanks; ++e) {
    data[e * kLeanBlock + threadIdx.x] = tile.time[e];
    data[(e + Tile::kRanks) * kLeanBlock + threadIdx.x] = tile.next[e];
  }
}

// Draws of the phases of a tile.
template <class T, int kDraws>
__global__ void __launch_bounds__(kLeanBlock, 2)
    lean_draws(const __grid_constant__ PassJob job, const __grid_constant__ Periodic noise) {
  JF_SHARED(Tick, shared);
  LeanThread<T, Periodic> thread{job, noise, {0, 0, reinterpret_cast<char*>(shared), 0, 0, {}, {}}};
  thread.tile.set_register_window(job.pass.begin);
#pragma unroll
  for (int i = 0; i < kDraws; ++i) {
    thread.template draw_quickly<sizeof(T) == 4>({blockIdx.x, i + (blockIdx.y << 10), true});
    __syncthreads();
  }
}

// Rounds of the step kernel under noise: partners in the registers of a thread, in other lanes, and
// in other warps.
template <int kBit, int kRounds>
__global__ void __launch_bounds__(kWideBlock)
    step_rounds(Tick* data, const __grid_constant__ PassJob job, Periodic noise) {
  noise.in_communication = true;
  __builtin_assume(job.program.costs.receive + job.program.costs.combine > 0);
  JF_SHARED(Tick, shared);
  constexpr int kRanks = kPerThread<false>;
  const NoJitter none;
  TileThread<kRanks, false, Periodic, NoJitter> thread{job, noise, none, {9, shared},
                                                       0,   0,     true, {}};
  for (int e = 0; e < kRanks; ++e) {
    Clock<Tick>& c = thread.c[e];
    c.sent = c.busy = data[e * kWideBlock + threadIdx.x];
    c.next = data[(e + kRanks) * kWideBlock + threadIdx.x];
  }
  Tick ready[kRanks];
#pragma unroll
  for (int i = 0; i < kRounds; ++i) {
    Tick sent[kRanks], from[kRanks];
    for (int e = 0; e < kRanks; ++e) sent[e] = thread.c[e].sent;
    thread.block.partner(sent, kBit, from);
    const Step step = job.program.steps[i];
    for (int e = 0; e < kRanks; ++e)
      ready[e] = exchange(thread.noise, job.program.costs, step,
                          thread.arrival(kOriginalJitter, step, e, from[e]), thread.c[e]);
  }
  for (int e = 0; e < kRanks; ++e) {
    data[e * kWideBlock + threadIdx.x] = thread.c[e].sent + ready[e];
    data[(e + kRanks) * kWideBlock + threadIdx.x] = thread.c[e].next;
  }
}

// What the step kernel does to draw a rank's phase.
template <int kDraws>
__global__ void step_draws(Tick* data, const __grid_constant__ PassJob job,
                           const __grid_constant__ Periodic noise) {
  Tick sum = 0;
  constexpr NodeSize kAlone = NodeSize::of(1);
  __builtin_assume(noise.phases == nullptr && noise.nodes.shift == kAlone.shift &&
                   noise.nodes.multiplier == kAlone.multiplier);
#pragma unroll
  for (std::uint32_t i = 0; i < kDraws; ++i)
    sum ^= noise.first(job.program.seed, i, Tick{blockIdx.x * blockDim.x + threadIdx.x});
  data[threadIdx.x] = sum;
}

#define JF_JOB const __grid_constant__ PassJob, const __grid_constant__ Periodic
#define JF_ROUNDS(T, noisy, n) template __global__ void lean_rounds<T, noisy, n>(T*, T, T, T, T);
#define JF_LEAN(T)                                                 \
  JF_ROUNDS(T, true, 2 * kLeanBits<T>)                             \
  JF_ROUNDS(T, true, 3 * kLeanBits<T>)                             \
  JF_ROUNDS(T, false, 2 * kLeanBits<T>)                            \
  JF_ROUNDS(T, false, 3 * kLeanBits<T>)                            \
  template __global__ void lean_moves<T, 2>(T*, const int*, T, T); \
  template __global__ void lean_moves<T, 3>(T*, const int*, T, T); \
  template __global__ void lean_draws<T, 1>(JF_JOB);               \
  template __global__ void lean_draws<T, 2>(JF_JOB);
#define JF_STEP(bit)                                                                              \
  template __global__ void step_rounds<bit, 1>(Tick*, const __grid_constant__ PassJob, Periodic); \
  template __global__ void step_rounds<bit, 2>(Tick*, const __grid_constant__ PassJob, Periodic);
JF_LEAN(std::uint32_t)
JF_LEAN(Tick)
JF_STEP(10)
JF_STEP(3)
JF_STEP(7)
template __global__ void step_draws<1>(Tick*, JF_JOB);
template __global__ void step_draws<2>(Tick*, JF_JOB);

}  // namespace jf::gpu
