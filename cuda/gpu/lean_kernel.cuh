// Lean CUDA kernel: fast butterfly without copies; noise periodic, renewal or recorded; jitter.
// A pass over tiles for programs in which the state of a rank is one time (lean.h): the butterfly
// and forwards without CPU cost, without noise or under one periodic source, without network noise
// or under one jitter; or under several periodic sources, renewal noise, or a recording. A round is
// first computed without noise. Only ranks that are not done by their next interval, or whose
// message jitter delays, compute it again.
#pragma once

#include <type_traits>

#include "core/steps.h"
#include "gpu/block.cuh"
#include "gpu/jobs.h"
#include "gpu/kernels.h"
#include "gpu/lean_intervals.h"
#include "gpu/periodic_list.h"

namespace jf::gpu {

// --- The ranks of a block, 2^kBits per thread. A thread has in its registers the ranks that differ
// in bits [shift, shift + kBits) of the index, the register window: an exchange over one of them
// stays inside the thread. For another bit the times go through shared memory once, and the window
// moves: in a butterfly once in kBits rounds, as in an FFT of that radix.

// T: Tick, or uint32 if the program's times fit (lean.h). The ranks of a block are one array: above
// the bits of the local rank, an index has those of the tile in the block.
template <class T, class Noise>
struct LeanTile {
  static constexpr int kBits = kLeanBits<T>, kRanks = 1 << kBits;
  static constexpr bool kNoiseFree = std::is_same_v<Noise, NoNoise>;

  const T period, duration;  // of the noise
  char* times;               // in shared memory, by swizzled index; then `next`
  int shift;
  unsigned address;  // in `times`, of the thread's first rank; in bytes, as all addresses
  T time[kRanks], next[kRanks];

  JF_DEVICE T& shared_time(unsigned address) const {
    return *reinterpret_cast<T*>(times + address);
  }
  JF_DEVICE T& shared_next(unsigned address) const {
    return *reinterpret_cast<T*>(times + address + kLeanRanks<T> * sizeof(T));
  }

  // The byte offset of an index. Contiguous ranks, and ranks 2^kBits apart, are in different banks
  // of shared memory. Bits are only added (xor) to lower ones, so no two ranks have the same
  // offset, and swizzled(a ^ b) = swizzled(a) ^ swizzled(b).
  JF_DEVICE static unsigned swizzled(unsigned index) {
    return (index ^ (index >> kBits & 31)) * static_cast<unsigned>(sizeof(T));
  }

  // The index of the thread's first rank.
  JF_DEVICE unsigned index() const {
    const unsigned low = threadIdx.x & ((1u << shift) - 1);
    return low | (threadIdx.x >> shift) << (shift + kBits);
  }
  JF_DEVICE unsigned address_of(int e) const {
    return address ^ swizzled(static_cast<unsigned>(e) << shift);
  }

  // f(e, g(index of rank e)) for all e; `first` is that of rank 0. As g(a ^ b) = g(a) ^ g(b), each
  // other value is computed from one before, of which few are kept.
  template <class V, class G, class F>
  JF_DEVICE void each(V first, G&& g, F&& f) const {
    V flip[kBits], values[kRanks];
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) flip[bit] = g(1u << (shift + bit));
#pragma unroll
    for (int e = 0; e < kRanks; ++e) {
      const int bit = e % 2 == 1 ? 0 : e % 4 == 2 ? 1 : e % 8 == 4 ? 2 : 3;
      values[e] = e == 0 ? first : values[e - (1 << bit)] ^ flip[bit];
      f(e, values[e]);
    }
  }
  template <class F>
  JF_DEVICE void each_address(F&& f) const {
    each(swizzled(index()), swizzled, f);
  }

  JF_DEVICE void set_register_window(int start) {
    shift = start;
    address = swizzled(index());
  }

  // Moves the window. One barrier is enough: since the barrier before, a thread has written only
  // where no other thread has read. Without `next`, the next thread would walk there again.
  JF_DEVICE void move_register_window(int start) {
    each_address([&](int e, unsigned address) {
      shared_time(address) = time[e];
      if constexpr (!kNoiseFree) shared_next(address) = next[e];
    });
    __syncthreads();
    set_register_window(start);
    each_address([&](int e, unsigned address) {
      time[e] = shared_time(address);
      if constexpr (!kNoiseFree) next[e] = shared_next(address);
    });
  }

  // After work: `time` is its end without noise. Nearly all ranks are done by their next interval,
  // and have met none; four are asked at a time. All times differ from those of the model by one
  // constant, which does not matter for periodic noise.
  JF_DEVICE void apply_noise(T work) {
    const auto apply = [&](auto... e) {
      while (((time[e] > next[e]) | ...)) (apply_noise_to(work, e), ...);
    };
#pragma unroll
    for (int e = 0; e < kRanks && !kNoiseFree; e += 4) apply(e, e + 1, e + 2, e + 3);
  }
  JF_DEVICE void apply_noise_to(T work, int e) {
    if (time[e] > next[e]) Periodic::advance_over_next(next[e], time[e], work, period, duration);
  }

  // Only here times of 32 bits become pairs of registers; the compiler would do it earlier.
  JF_DEVICE static Tick wide(T v) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) < sizeof(Tick)) asm("" : "+r"(v));
#endif
    return static_cast<Tick>(v);
  }

  // Ranks e and e + kStep are partners. arrival(e, departure): of a message to rank e. If it is
  // the departure + transit, max(departure + transit, own time) is one instruction on sm_90.
  template <int kStep, class Arrival>
  JF_DEVICE void exchange_over(T work, Arrival&& arrival) {
#pragma unroll
    for (int e = 0; e < kRanks; ++e) {
      if ((e & kStep) != 0) continue;
      const T a = time[e], b = time[e + kStep];
      time[e] = later<T>(arrival(e, b), a) + work;
      time[e + kStep] = later<T>(arrival(e + kStep, a), b) + work;
    }
  }

  template <int kStep, class Arrival>
  JF_DEVICE void forward_over(Arrival&& arrival) {
#pragma unroll
    for (int e = 0; e < kRanks; ++e) {
      if ((e & kStep) != 0) continue;
      const T a = time[e], b = time[e + kStep];
      time[e] = earlier<T>(arrival(e, b), a);
      time[e + kStep] = earlier<T>(arrival(e + kStep, a), b);
    }
  }

  JF_DEVICE void work(T work) {
#pragma unroll
    for (int e = 0; e < kRanks; ++e) time[e] += work;
  }
};

template <class T, class Noise, class Network>
struct LeanThread {
  using Tile = LeanTile<T, Noise>;
  static constexpr int kBits = Tile::kBits, kRanks = Tile::kRanks;
  static constexpr bool kRelative = sizeof(T) < sizeof(Tick);
  // Ranks have states of their own in global memory (Begins, LeanRenewal, LeanRecording).
  static constexpr bool kSeveral = std::is_same_v<Noise, PeriodicList>;
  static constexpr bool kStates = requires { typename Noise::template RankState<T>; };

  const PassJob& job;
  const Noise& noise;
  const Network& network;
  Tile tile;
  // Bit number * kRanks + e: that draw of the last kLeanDraw delays a message to rank e, by one
  // event unless the draws are undecided.
  std::uint64_t delayed = 0;
  unsigned undecided = 0;
  int drawn = 0;                 // the operation that was the last kLeanDraw
  std::int64_t first_state = 0;  // where the tile's ranks start in `states`

  JF_DEVICE int tile_bits() const { return job.pass.map.bits(); }

  // The tile of the thread. It is computed whenever it is needed, because registers are scarce.
  struct Location {
    std::int64_t realization, tile;
    bool active;  // else beyond the last tile: the thread executes the steps, but writes nothing
  };
  JF_DEVICE Location locate() const {
    const std::int64_t place = slot(), last = job.end_tile - 1;
    const std::int64_t index = place < last ? place : last;
    const int tiles = job.pass.map.log2_ranks - tile_bits();
    return {index >> tiles, index & ((std::int64_t{1} << tiles) - 1), place <= last};
  }
  // The number of the thread's tile, or one beyond the last.
  JF_DEVICE std::int64_t slot() const {
    const int bits = kLeanBlockBits - (tile_bits() - kBits);
    return job.first_tile +
           (static_cast<std::int64_t>(blockIdx.x) << bits | threadIdx.x >> (kLeanBlockBits - bits));
  }

  // The local index of rank e in its tile.
  JF_DEVICE unsigned local(int e) const {
    return (tile.index() | static_cast<unsigned>(e) << tile.shift) & ((1u << tile_bits()) - 1);
  }

  // f(e, distance of rank e from the first rank of the tile, its byte offset in shared memory).
  template <class F>
  JF_DEVICE void each_rank(F&& f) const {
    const TileMap& map = job.pass.map;
    const unsigned mask = (1u << tile_bits()) - 1;
    const auto offset_and_address = [&](unsigned index) {
      const auto offset = static_cast<std::uint64_t>(map.offset(index & mask));
      return offset << 32 | Tile::swizzled(index);
    };
    tile.each(offset_and_address(tile.index()), offset_and_address, [&](int e, std::uint64_t both) {
      f(e, static_cast<unsigned>(both >> 32), static_cast<unsigned>(both));
    });
  }

  // Writes the next interval of each rank into shared memory: at the times there, or at time 0.
  JF_DEVICE void draw_intervals(const Location& location) const {
    const bool later = !kRelative && job.pass.load;
    // With the window at bit 0, ranks 2 k and 2 k + 1 of this thread share a block of Philox.
    const bool neighbours = tile.shift == 0 && job.pass.map.low_bits > 0;
    if (neighbours && noise.drawn_alone() && !noise.stationary && !later) {
      if (kRelative && noise.period <= kLeanNever) return draw_quickly<kRelative>(location);
      return draw_quickly<false>(location);
    }
    const std::uint32_t number =
        job.first_realization + static_cast<std::uint32_t>(location.realization);
    const auto base = static_cast<unsigned>(job.pass.map.base(location.tile));
#pragma unroll 1
    for (int e = 0; e < kRanks; ++e) {
      const unsigned address = tile.address_of(e);
      const std::int64_t rank = base + job.pass.map.offset(local(e));
      Tick next = noise.first_of(noise.phase(job.keys, number, rank));
      Tick t = 0;
      if (later) t = static_cast<Tick>(tile.shared_time(address)) - job.lean.base;
      if (later || noise.stationary) noise.seek(next, t);
      tile.shared_next(address) = narrow<T>(next + job.lean.base);
    }
  }

  // The same without a branch, if every rank draws its own phase and starts at time 0.
  template <bool kShort>
  JF_DEVICE void draw_quickly(const Location& location) const {
    const std::uint32_t number =
        job.first_realization + static_cast<std::uint32_t>(location.realization);
    const auto base = static_cast<unsigned>(job.pass.map.base(location.tile));
    Pair<std::uint64_t> pair{};
    each_rank([&](int e, unsigned offset, unsigned address) {
      if (e % 2 == 0) pair = only_uniform_pair(job.keys, kPhase, (base + offset) >> 1, number);
      const std::uint64_t u = e % 2 == 0 ? pair.even : pair.odd;
      tile.shared_next(address) = scaled<kShort>(u, noise);
    });
  }

  // A phase. kShort: the period is at most kLeanNever.
  template <bool kShort>
  JF_DEVICE static T scaled(std::uint64_t u, const Periodic& source) {
    if constexpr (kShort) return scale64_short(u, static_cast<std::uint32_t>(source.period));
    return narrow<T>(source.template scaled<Tick>(u));
  }

  // --- Several sources, renewal noise, or a recording.

  JF_DEVICE auto* states() const {
    return reinterpret_cast<typename Noise::template RankState<T>*>(job.cursors) + first_state;
  }
  // The compiler would compute it again and again.
  JF_DEVICE static std::int64_t kept(std::int64_t index) {
#if defined(__CUDA_ARCH__)
    asm("" : "+l"(index));
#endif
    return index;
  }

  // draw_intervals for them; also `states`.
  JF_DEVICE void draw_states(const Location& location) const {
    if constexpr (kSeveral) {
      if (noise.quick && tile.shift == 0 && job.pass.map.low_bits > 0) {
        if (kRelative && noise.all_short) return draw_pairs<kRelative>(location);
        return draw_pairs<false>(location);
      }
    }
    const std::uint32_t number =
        job.first_realization + static_cast<std::uint32_t>(location.realization);
    const Tick base = job.pass.map.base(location.tile);
    [[maybe_unused]] LastBlock block;
#pragma unroll 1
    for (int e = 0; e < kRanks; ++e) {
      const unsigned place = offset(local(e));
      T next = narrow<T>(kNever);
      if constexpr (kSeveral) {
#pragma unroll 1
        for (int j = 0; j < kMostListed; ++j) {
          T begin = narrow<T>(kNever);
          if (j < noise.count)
            begin = narrow<T>(noise.first(j, job.keys, number, base + place) + job.lean.base);
          states()[place].of[j] = begin;
          next = earlier(next, begin);
        }
      } else {
        next = noise.template start<T>(states()[place], block, job.keys, number, base + place,
                                       job.lean.base);
      }
      tile.shared_next(tile.address_of(e)) = next;
    }
  }

  // The same of ranks 2 k and 2 k + 1 together, which are both of this thread and share a block of
  // Philox for each source.
  template <bool kShort>
  JF_DEVICE void draw_pairs(const Location& location) const {
    const std::uint32_t number =
        job.first_realization + static_cast<std::uint32_t>(location.realization);
    const auto base = static_cast<unsigned>(job.pass.map.base(location.tile));
#pragma unroll 1
    for (int e = 0; e < kRanks; e += 2) {
      const unsigned place = offset(local(e));
      Begins<T> even, odd;
#pragma unroll
      for (int j = 0; j < kMostListed; ++j) {
        even.of[j] = odd.of[j] = narrow<T>(kNever);
        if (j >= noise.count) continue;
        const auto u = only_uniform_pair(job.keys, noise.purposes[j], (base + place) >> 1, number);
        const Periodic& source = noise.sources[j];
        even.of[j] = scaled<kShort>(u.even, source);
        odd.of[j] = scaled<kShort>(u.odd, source);
      }
      states()[place] = even;
      states()[place + 1] = odd;
      tile.shared_next(tile.address_of(e)) = even.soonest();
      tile.shared_next(tile.address_of(e + 1)) = odd.soonest();
    }
  }

  // After work, as apply_noise of the tile. Those ranks that meet an interval go over what they
  // meet one by one. Meanwhile the thread has its times in shared memory, see compute_delayed.
  JF_DEVICE void apply_with_states(T work) {
    bool any_met = false;
#pragma unroll
    for (int e = 0; e < kRanks; ++e) any_met |= tile.time[e] > tile.next[e];
    if (!any_met) return;
    unsigned met = 0;
    tile.each_address([&](int e, unsigned address) {
      if (tile.time[e] > tile.next[e]) met |= 1u << e;
      tile.shared_time(address) = tile.time[e];
      tile.shared_next(address) = tile.next[e];
    });
#pragma unroll 1
    while (met != 0) {
      const int e = static_cast<int>(floor_log2(met));
      met ^= 1u << e;
      const unsigned address = tile.address_of(e);
      const std::int64_t place = kept(first_state + offset(local(e)));
      auto& stored = (states() - first_state)[place];
      auto state = stored;
      T next = tile.shared_next(address), end = tile.shared_time(address);
      const auto rank = [&] { return job.pass.map.base(locate().tile) + offset(local(e)); };
      if (!noise.meet(state, next, end, work, job.keys, rank)) *job.too_long = 1;
      stored = state;
      tile.shared_next(address) = next;
      tile.shared_time(address) = end;
    }
    tile.each_address([&](int e, unsigned address) {
      tile.time[e] = tile.shared_time(address);
      tile.next[e] = tile.shared_next(address);
    });
  }
  JF_DEVICE void apply_noise(T work) {
    if constexpr (kStates)
      apply_with_states(work);
    else
      tile.apply_noise(work);
  }

  JF_DEVICE void load() {
    tile.set_register_window(job.lean_window_start);
    const Location location = locate();
    if constexpr (kStates)
      first_state = kept(location.realization * job.rank_stride + job.pass.map.base(location.tile));
    if (job.pass.load) {
      const Tick* memory = job.sent_between + location.realization * job.rank_stride +
                           job.pass.map.base(location.tile);
      each_rank([&](int e, unsigned offset, [[maybe_unused]] unsigned address) {
        const Tick packed = memory[offset];
        tile.time[e] = static_cast<T>(packed);
        if constexpr (!Tile::kNoiseFree) {
          if constexpr (kRelative)
            tile.shared_next(address) = static_cast<T>(packed >> 32);
          else if constexpr (kStates)
            tile.shared_next(address) = states()[offset].soonest();
          else
            tile.shared_time(address) = tile.time[e];
        }
      });
    } else {
#pragma unroll
      for (int e = 0; e < kRanks; ++e) tile.time[e] = static_cast<T>(job.lean.base);
    }
    if constexpr (!Tile::kNoiseFree) {
      if constexpr (kStates) {
        if (!job.pass.load && location.active) draw_states(location);
      } else if (!kRelative || !job.pass.load) {
        draw_intervals(location);
      }
      tile.each_address([&](int e, unsigned address) {
        tile.next[e] = tile.shared_next(address);
        // A thread without a tile shares the begins of another one, and must not move them.
        if (kStates && !location.active) tile.next[e] = narrow<T>(kNever);
      });
    }
  }

  JF_DEVICE void store() const {
    const Location location = locate();
    if (!location.active) return;
    Tick* memory = job.sent_between + location.realization * job.rank_stride +
                   job.pass.map.base(location.tile);
    each_rank([&](int e, unsigned offset, unsigned) {
      auto packed = static_cast<std::uint64_t>(tile.wide(tile.time[e]));
      if constexpr (kRelative && !Tile::kNoiseFree)
        packed |= static_cast<std::uint64_t>(tile.wide(tile.next[e])) << 32;
      memory[offset] = static_cast<Tick>(packed);
    });
  }

  JF_DEVICE void merge(int row, const Observation& o) const {
    const std::int64_t place = slot();
    const int tiles = job.pass.map.log2_ranks - tile_bits();
    if (place < job.end_tile)
      merge_atomically(job.observation(place >> tiles, row), o, job.full_statistics != 0);
  }

  // Each warp merges its ranks into the observation of their realization: no thread waits for
  // another warp. Only the maximum counts, and all ranks of the warp are of one tile.
  JF_DEVICE void observe_latest(int row) const {
    T last = tile.time[0];
#pragma unroll
    for (int e = 1; e < kRanks; ++e) last = later(last, tile.time[e]);
    last = latest_of_warp(last);
    if (threadIdx.x % kWarp != 0) return;
    Observation o = Observation::empty();
    o.max = tile.wide(last) - job.lean.base;
    merge(row, o);
  }

  // The same of each part of a warp that is a tile.
  JF_DEVICE void observe(int row) const {
    Observation o = Observation::empty();
#pragma unroll
    for (int e = 0; e < kRanks; ++e)
      if (!job.program.one_rank || (e == 0 && local(0) == 0 && locate().tile == 0))
        o.add(tile.wide(tile.time[e]) - job.lean.base);
    const int thread_bits = tile_bits() - kBits;
    const BlockTile<1> lanes{thread_bits < kWarpBits ? thread_bits : kWarpBits, nullptr};
    o = lanes.reduce(o, job.full_statistics != 0);
    if (lanes.thread() == 0) merge(row, o);
  }

  // The seed of draws aside, what the block of Philox of each rank depends on.
  struct Draws {
    std::uint32_t purpose, block, base, number;  // base: the first rank of the tile

    JF_DEVICE Words of(const PhiloxKeys& keys, unsigned rank) const {
      return philox4x32_10({{block, purpose, rank, number}}, keys);
    }
  };
  JF_DEVICE Draws draws(const LeanOp& op) const {
    const Location location = locate();
    return {static_cast<std::uint32_t>(op.work), static_cast<std::uint32_t>(op.value),
            static_cast<std::uint32_t>(job.pass.map.base(location.tile)),
            job.first_realization + static_cast<std::uint32_t>(location.realization)};
  }
  JF_DEVICE unsigned offset(unsigned local) const {
    return static_cast<unsigned>(job.pass.map.offset(local));
  }

  // Draws the delays of four messages to each rank. Nearly all are of no event, nearly all others
  // of one, which the high halves of the draws tell: it keeps which may be others than the first,
  // and whether any of these may be others than the second.
  JF_DEVICE void draw(const LeanOp& op, int index) {
    drawn = index;
    const Draws all = draws(op);
    const std::uint32_t edge = job.lean.edge;
    std::uint32_t least = ~0u, above_edge = ~0u;  // of all draws
    delayed = 0;
    const auto offset_of = [&](unsigned index) { return offset(index); };
    tile.each(all.base ^ offset(local(0)), offset_of, [&](int e, unsigned rank) {
      const Words high = all.of(job.keys, rank);
#pragma unroll
      for (int number = 0; number < 4; ++number) {
        const std::uint32_t draw = high.w[number];
        if (draw <= edge) delayed |= std::uint64_t{1} << (number * kRanks + e);
        least = earlier(least, draw);
        above_edge = earlier(above_edge, draw - edge);
      }
    });
    undecided = least <= job.lean.several_edge || above_edge == 0;
  }

  // A step over one bit, or over each of the window, in turn. Ranks that receive a message which
  // may be delayed compute it apart. Else there is one copy of the code, as there is much of it.
  JF_DEVICE void run_delayed(const LeanOp& op, T transit, T work) {
    const bool all = op.kind == kLeanExchangeAll;
    const int last = all ? kBits - 1 : op.kind;
    const auto in_time = [transit](int, T departure) { return departure + transit; };
    int number = op.value >> 1;
#pragma unroll 1
    for (int kind = all ? 0 : op.kind; kind <= last; ++kind, ++number) {
      const unsigned ranks =
          static_cast<unsigned>(delayed >> (number * kRanks)) & ((1u << kRanks) - 1);
      if (ranks == 0) {
        run_step(kind, work, in_time);
      } else {
        const T late = transit + static_cast<T>(network.duration);
        if (undecided != 0) compute_delayed(ranks, number, kind, transit, work);
        run_step(kind, work, [=](int e, T departure) {
          return departure + ((ranks >> e & 1) != 0 ? late : transit);
        });
        if (undecided != 0) take_delayed(ranks);
      }
      if ((op.value & 1) != 0) apply_noise(work);
    }
  }

  // Between two moves of the window, what this thread has in shared memory is free: it serves for
  // the times before a step, so that no register has to hold them, and for those of the ranks that
  // receive a delayed message.
  JF_DEVICE void compute_delayed(unsigned ranks, int number, int kind, T transit, T work) {
    tile.each_address([&](int e, unsigned address) { tile.shared_time(address) = tile.time[e]; });
    const Draws high = draws(job.lean_ops[drawn]);
    Draws low = high;
    low.purpose |= kLowHalves;
    const bool forward = kind >= kLeanForward;
    const int stride = 1 << (forward ? kind - kLeanForward : kind);
#pragma unroll 1
    while (ranks != 0) {
      const int e = static_cast<int>(floor_log2(ranks));
      ranks ^= 1u << e;
      const unsigned rank = high.base + offset(local(e));
      const Tick delay = network.delay_of_draw(high_half(high.of(job.keys, rank), number), [&] {
        return high_half(low.of(job.keys, rank), number);
      });
      const unsigned address = tile.address_of(e);
      const T own = tile.shared_time(address);
      const T arrival =
          tile.shared_time(tile.address_of(e ^ stride)) + transit + static_cast<T>(delay);
      tile.shared_next(address) = forward ? earlier(arrival, own) : later(arrival, own) + work;
    }
    tile.each_address([&](int e, unsigned address) { tile.time[e] = tile.shared_time(address); });
  }

  JF_DEVICE void take_delayed(unsigned ranks) {
    tile.each_address([&](int e, unsigned address) {
      if ((ranks >> e & 1) != 0) tile.time[e] = tile.shared_next(address);
    });
  }

#define JF_LEAN_BIT(bit)          \
  case kLeanExchange + bit:       \
    exchange<bit>(work, arrival); \
    break;                        \
  case kLeanForward + bit:        \
    forward<bit>(arrival);        \
    break;
#define JF_LEAN_BITS JF_LEAN_BIT(0) JF_LEAN_BIT(1) JF_LEAN_BIT(2) JF_LEAN_BIT(3)
  template <class Arrival>
  JF_DEVICE void run_step(int kind, T work, Arrival&& arrival) {
    switch (kind) { JF_LEAN_BITS }
  }

  JF_DEVICE void run(int index) {
    const LeanOp op = job.lean_ops[index];
    if (op.kind == kLeanLatest) return observe_latest(op.value);
    const auto transit = static_cast<T>(job.program.costs.transit), work = static_cast<T>(op.work);
    if constexpr (Network::on) {
      if (op.kind == kLeanDraw) return draw(op, index);
      if (op.kind < kLeanWork || op.kind == kLeanExchangeAll) return run_delayed(op, transit, work);
    }
    const auto arrival = [transit](int, T departure) { return departure + transit; };
    switch (op.kind) {
      JF_LEAN_BITS
      case kLeanExchangeAll:
        if constexpr (!Network::on)
          exchange_all(work, op.value != 0, arrival, std::make_integer_sequence<int, kBits>());
        return;
      case kLeanWork:
        tile.work(work);
        break;
      case kLeanObserve:
        return observe(op.value);
      case kLeanMove:
        return tile.move_register_window(op.value);
    }
    if (op.value != 0) apply_noise(work);
  }
#undef JF_LEAN_BITS
#undef JF_LEAN_BIT

 private:
  // Bit 3 exists only if a thread has 16 ranks.
  template <int kBit, class Arrival>
  JF_DEVICE void exchange(T work, Arrival&& arrival) {
    if constexpr (kBit < kBits) tile.template exchange_over<1 << kBit>(work, arrival);
  }
  template <class Arrival, int... kBit>
  JF_DEVICE void exchange_all(T work, bool noisy, Arrival&& arrival,
                              std::integer_sequence<int, kBit...>) {
    ((exchange<kBit>(work, arrival), noisy ? apply_noise(work) : void()), ...);
  }
  template <int kBit, class Arrival>
  JF_DEVICE void forward(Arrival&& arrival) {
    if constexpr (kBit < kBits) tile.template forward_over<1 << kBit>(arrival);
  }
};

template <class T, class Noise, class Network>
__global__ void __launch_bounds__(kLeanBlock, 2)
    lean_kernel(const __grid_constant__ PassJob job, const __grid_constant__ Noise noise,
                const __grid_constant__ Network network) {
  JF_SHARED(Tick, shared);
  const auto period = static_cast<T>(job.lean.period), duration = static_cast<T>(job.lean.duration);
  LeanThread<T, Noise, Network> thread{
      job, noise, network, {period, duration, reinterpret_cast<char*>(shared), 0, 0, {}, {}}};
  thread.load();
  for (int i = 0; i < job.lean_op_count; ++i) thread.run(i);
  if (job.pass.store) thread.store();
}

template <class T, class Noise, class Network>
LeanKernel<Noise, Network> find_lean_kernel() {
  return &lean_kernel<T, Noise, Network>;
}

}  // namespace jf::gpu
