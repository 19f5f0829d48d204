// Repeated parts of the GPU tile kernels, for counting their instructions. What one of them adds to
// the code is what it costs. See count.py.
#include "gpu/lean_kernel.cuh"
#include "gpu/message_kernel.cuh"
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
  const auto in_time = [transit](int, T departure) { return departure + transit; };
  const auto round = [&]<int kRound>(std::integral_constant<int, kRound>) {
    if constexpr (kRound < kRounds)
      tile.template exchange_over<1 << kRound % Tile::kBits>(work, in_time);
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
  const auto in_time = [transit](int, T departure) { return departure + transit; };
  const auto move = [&]<int kMove>(std::integral_constant<int, kMove>) {
    if constexpr (kMove < kMoves) {
      tile.move_register_window(starts[kMove]);
      tile.template exchange_over<1>(work, in_time);
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
  constexpr NoJitter kNone;
  LeanThread<T, Periodic, NoJitter> thread{
      job, noise, kNone, {0, 0, reinterpret_cast<char*>(shared), 0, 0, {}, {}}};
  thread.tile.set_register_window(job.pass.begin);
#pragma unroll
  for (int i = 0; i < kDraws; ++i) {
    thread.template draw_quickly<sizeof(T) == 4>({blockIdx.x, i + (blockIdx.y << 10), true});
    __syncthreads();
  }
}

// Rounds under noise of which ranks have a state (LeanThread), after which ranks that meet an
// interval go over it.
template <class T, class Noise, int kRounds>
__global__ void __launch_bounds__(kLeanBlock, 2)
    list_rounds(T* data, T transit, T work, const __grid_constant__ PassJob job,
                const __grid_constant__ Noise noise) {
  JF_SHARED(Tick, shared);
  constexpr NoJitter kNone;
  using Thread = LeanThread<T, Noise, NoJitter>;
  Thread thread{job, noise, kNone, {0, 0, reinterpret_cast<char*>(shared), 0, 0, {}, {}}};
  auto& tile = thread.tile;
  tile.set_register_window(static_cast<int>(data[0]));
  for (int e = 0; e < Thread::kRanks; ++e) {
    tile.time[e] = data[e * kLeanBlock + threadIdx.x];
    tile.next[e] = data[(e + Thread::kRanks) * kLeanBlock + threadIdx.x];
  }
  const auto in_time = [transit](int, T departure) { return departure + transit; };
  const auto round = [&]<int kRound>(std::integral_constant<int, kRound>) {
    if constexpr (kRound < kRounds) {
      tile.template exchange_over<1 << kRound % Thread::kBits>(work, in_time);
      thread.apply_with_states(work);
    }
  };
  [&]<int... kRound>(std::integer_sequence<int, kRound...>) {
    (round(std::integral_constant<int, kRound>{}), ...);
  }(std::make_integer_sequence<int, 4>{});
  for (int e = 0; e < Thread::kRanks; ++e) {
    data[e * kLeanBlock + threadIdx.x] = tile.time[e];
    data[(e + Thread::kRanks) * kLeanBlock + threadIdx.x] = tile.next[e];
  }
}

// Draws of the phases of four sources, in a loop over pairs of ranks.
template <class T>
__global__ void __launch_bounds__(kLeanBlock, 2)
    list_draws(const __grid_constant__ PassJob job, const __grid_constant__ PeriodicList noise) {
  JF_SHARED(Tick, shared);
  constexpr NoJitter kNone;
  __builtin_assume(noise.count == kMostListed);
  LeanThread<T, PeriodicList, NoJitter> thread{
      job, noise, kNone, {0, 0, reinterpret_cast<char*>(shared), 0, 0, {}, {}}};
  thread.tile.set_register_window(0);
  thread.template draw_pairs<sizeof(T) == 4>({blockIdx.x, blockIdx.y, true});
}

// Draws of the first intervals of renewal noise or a recording, in a loop over ranks.
template <class T, class Noise>
__global__ void __launch_bounds__(kLeanBlock, 2)
    first_draws(const __grid_constant__ PassJob job, const __grid_constant__ Noise noise) {
  JF_SHARED(Tick, shared);
  constexpr NoJitter kNone;
  if constexpr (requires { noise.trace; }) __builtin_assume(noise.trace.offsets < 0);
  LeanThread<T, Noise, NoJitter> thread{
      job, noise, kNone, {0, 0, reinterpret_cast<char*>(shared), 0, 0, {}, {}}};
  thread.tile.set_register_window(0);
  thread.draw_states({blockIdx.x, blockIdx.y, true});
}

// Noise of one realization, which acts on messages.
template <class Noise>
JF_DEVICE Noise bound_noise(const PassJob& job, const Noise& noise) {
  Noise bound = noise.bind(job.first_realization, job.cursors_of(blockIdx.x), job.program.seed);
  if constexpr (std::is_same_v<Noise, Periodic>) bound.in_communication = true;
  if constexpr (is_general<Noise>) __builtin_assume(bound.interval_count > 0);
  return bound;
}

// Rounds of the step kernel: partners in the registers of a thread, in other lanes, and in other
// warps.
template <class Noise, class Network, int kBit, int kRounds>
__global__ void __launch_bounds__(kWideBlock)
    step_rounds(Tick* data, const __grid_constant__ PassJob job,
                const __grid_constant__ Noise noise, const __grid_constant__ Network network) {
  __builtin_assume(job.program.costs.receive + job.program.costs.combine > 0);
  JF_SHARED(Tick, shared);
  constexpr int kRanks = kPerThread<is_general<Noise>>;
  const Noise bound = bound_noise(job, noise);
  TileThread<kRanks, false, Noise, Network> thread{job, bound, network, {9, shared},
                                                   0,   0,     true,    {}};
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

// Messages of a step, each sent and received by one thread, as in a tree.
template <class Noise, class Network, bool kLinks, int kMessages>
__global__ void __launch_bounds__(MessageLayout::kBlock, is_general<Noise> || is_general<Network>)
    message_turns(const __grid_constant__ PassJob job, const __grid_constant__ Noise noise,
                  const __grid_constant__ Network network,
                  const __grid_constant__ MessageArena arena,
                  const __grid_constant__ MessageLaunch launch) {
  JF_SHARED(Tick, shared);
  const Noise bound = bound_noise(job, noise);
  Tick* const base = launch.in_shared ? shared : arena.ticks;
  const DeviceRanks<Noise, Network, kLinks> ranks{
      job.program,
      bound,
      network,
      job.first_realization,
      MessageArena::state<kLinks>(job.program, base, launch.width, launch.in_shared, threadIdx.x),
      job.program.seed};
  const Step step = job.program.steps[launch.first.step];
  std::int64_t k = launch.begin + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kMessages; ++i, k += launch.stride) {
    const ListedMessage message =
        TurnMessages(step, job.program.ranks, job.program.listed_messages)[k];
    const MessageTurn<Network> turn(job.program, ranks.network, step, launch.first.turn,
                                    message.cost);
    ranks.receive(turn, message.to, ranks.send(turn, message.from));
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
#define JF_ROUND(Noise, Network, bit, n)                                     \
  template __global__ void step_rounds<Noise, Network, bit, n>(              \
      Tick*, const __grid_constant__ PassJob, const __grid_constant__ Noise, \
      const __grid_constant__ Network);
#define JF_STEP(Noise, Network, bit) \
  JF_ROUND(Noise, Network, bit, 1) JF_ROUND(Noise, Network, bit, 2)
#define JF_TURNS(Noise, Network, links, n)                                   \
  template __global__ void message_turns<Noise, Network, links, n>(          \
      const __grid_constant__ PassJob, const __grid_constant__ Noise,        \
      const __grid_constant__ Network, const __grid_constant__ MessageArena, \
      const __grid_constant__ MessageLaunch);
#define JF_MESSAGE(Noise, Network, links) \
  JF_TURNS(Noise, Network, links, 1) JF_TURNS(Noise, Network, links, 2)
#define JF_MEETS(T, Noise, n)                                                                  \
  template __global__ void list_rounds<T, Noise, n>(T*, T, T, const __grid_constant__ PassJob, \
                                                    const __grid_constant__ Noise);
#define JF_IN_TURN(T, Noise)                                                      \
  JF_MEETS(T, Noise, 1)                                                           \
  JF_MEETS(T, Noise, 2)                                                           \
  template __global__ void first_draws<T, Noise>(const __grid_constant__ PassJob, \
                                                 const __grid_constant__ Noise);
#define JF_LIST(T)                                                        \
  JF_IN_TURN(T, LeanRenewal)                                              \
  JF_IN_TURN(T, LeanRecording<false>)                                     \
  JF_MEETS(T, PeriodicList, 1)                                            \
  JF_MEETS(T, PeriodicList, 2)                                            \
  template __global__ void list_draws<T>(const __grid_constant__ PassJob, \
                                         const __grid_constant__ PeriodicList);
JF_LEAN(std::uint32_t)
JF_LEAN(Tick)
JF_LIST(std::uint32_t)
JF_LIST(Tick)
JF_STEP(Periodic, NoJitter, 10)
JF_STEP(Periodic, NoJitter, 3)
JF_STEP(Periodic, NoJitter, 7)
JF_STEP(Periodic, Jitter, 10)
JF_STEP(Sources, NoJitter, 10)
JF_MESSAGE(NoNoise, NoJitter, false)
JF_MESSAGE(NoNoise, NoJitter, true)
JF_MESSAGE(Periodic, NoJitter, false)
JF_MESSAGE(Periodic, Messages, false)
JF_MESSAGE(Sources, NoJitter, false)
template __global__ void step_draws<1>(Tick*, JF_JOB);
template __global__ void step_draws<2>(Tick*, JF_JOB);

}  // namespace jf::gpu
