// Ranks that are one time each, 2^kBits to a thread. The bits of a rank's index that its thread
// holds in registers are a window [shift, shift + kBits): an exchange over one of them stays in the
// registers of a thread. To reach others, times go through shared memory once and the window moves:
// for a butterfly once in kBits rounds, as in an FFT of that radix.
#pragma once

#include <type_traits>

#include "block.cuh"
#include "pass_job.h"

namespace jf::gpu {

// One instruction each on sm_90.
JF_DEVICE std::uint32_t add_later(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
  return __viaddmax_u32(a, b, c);
#else
  return later(a + b, c);
#endif
}
JF_DEVICE std::uint32_t add_earlier(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
  return __viaddmin_u32(a, b, c);
#else
  return earlier(a + b, c);
#endif
}
JF_DEVICE Tick add_later(Tick a, Tick b, Tick c) { return later(a + b, c); }
JF_DEVICE Tick add_earlier(Tick a, Tick b, Tick c) { return earlier(a + b, c); }

// T: Tick, or uint32 where the program's times fit (lean.h). The ranks of a block are one array,
// whatever tiles they belong to: a tile's number are the bits above those of its ranks.
template <class T, class Noise>
struct LeanTile {
  static constexpr int kBits = kLeanBits<T>, kRanks = 1 << kBits;
  static constexpr bool kQuiet = std::is_same_v<Noise, NoNoise>;

  const T period, duration;  // of the noise
  char* times;  // in shared memory, by swizzled index; `next` follows, always as in registers
  int shift;
  unsigned place;  // there, of the thread's first rank; in bytes, as all places
  T time[kRanks], next[kRanks];

  JF_DEVICE T& shared_time(unsigned place) const { return *reinterpret_cast<T*>(times + place); }
  JF_DEVICE T& shared_next(unsigned place) const {
    return *reinterpret_cast<T*>(times + place + kLeanRanks<T> * sizeof(T));
  }

  // Ranks in a row, and ranks 2^kBits apart, lie in different banks of shared memory. Bits are only
  // added (xor) to lower ones, so no two ranks meet; and swizzled(a ^ b) = swizzled(a) ^
  // swizzled(b).
  JF_DEVICE static unsigned swizzled(unsigned index) {
    return (index ^ (index >> kBits & 31)) * static_cast<unsigned>(sizeof(T));
  }

  // The index of rank 0 of a thread.
  JF_DEVICE unsigned index() const {
    const unsigned low = threadIdx.x & ((1u << shift) - 1);
    return low | (threadIdx.x >> shift) << (shift + kBits);
  }
  JF_DEVICE unsigned place_of(int e) const {
    return place ^ swizzled(static_cast<unsigned>(e) << shift);
  }

  // f(e, g(index of rank e)) for all e, each but the first made from one before: g of a sum (xor)
  // is the sum of g.
  template <class G, class F>
  JF_DEVICE void each(G&& g, F&& f) const {
    decltype(g(0u)) flip[kBits], at[kRanks];
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) flip[bit] = g(1u << (shift + bit));
#pragma unroll
    for (int e = 0; e < kRanks; ++e) {
      const int bit = e < 2 ? 0 : e < 4 ? 1 : e < 8 ? 2 : 3;
      at[e] = e == 0 ? g(index()) : at[e - (1 << bit)] ^ flip[bit];
      f(e, at[e]);
    }
  }
  template <class F>
  JF_DEVICE void each_place(F&& f) const {
    each(swizzled, f);
  }

  JF_DEVICE void read_intervals() {
    if constexpr (!kQuiet) each_place([&](int e, unsigned at) { next[e] = shared_next(at); });
  }

  JF_DEVICE void set_window(int start) {
    shift = start;
    place = swizzled(index());
  }

  // Moves the window. One barrier is enough: since the one before, a thread has written only where
  // it alone has read.
  JF_DEVICE void move_window(int start) {
    each_place([&](int e, unsigned at) { shared_time(at) = time[e]; });
    __syncthreads();
    set_window(start);
    each_place([&](int e, unsigned at) {
      time[e] = shared_time(at);
      if constexpr (!kQuiet) next[e] = shared_next(at);
    });
  }

  JF_DEVICE static T narrow(Tick next) {
    if constexpr (sizeof(T) < sizeof(Tick)) next = earlier(next, kLeanNever);
    return static_cast<T>(next);
  }

  // Ranks have worked until `time` as if there were no noise. Those that are done by their next
  // interval, which are nearly all, have met none. All times differ from those of the model by one
  // number, which is nothing to periodic noise.
  template <class... Rank>
  JF_DEVICE void meet_noise(T work, Rank... e) {
    if (((time[e] > next[e]) | ...)) (meet_noise_alone(work, e), ...);
  }
  JF_DEVICE void meet_noise_alone(T work, int e) {
    if (forgotten(time[e]) <= next[e]) return;
    Periodic::advance_over_few(next[e], time[e], work, period, duration);
    shared_next(place_of(e)) = next[e];  // else the next thread would have to walk there again
  }
  // The same; but the compiler does not know, and so does nothing with it before it has to.
  JF_DEVICE static T forgotten(T v) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4)
      asm("" : "+r"(v));
    else
      asm("" : "+l"(v));
#endif
    return v;
  }

  // Pairs of registers only here, not wherever times are.
  JF_DEVICE static Tick wide(T v) { return static_cast<Tick>(forgotten(v)); }

  // Ranks e and e + kStep are partners. Two pairs at a time.
  template <bool kNoisy, int kStep>
  JF_DEVICE void exchange_over(T transit, T work) {
    constexpr auto kLower = [](int pair) { return (pair & -kStep) * 2 + (pair & (kStep - 1)); };
#pragma unroll
    for (int pair = 0; pair < kRanks / 2; pair += 2) {
      const int e0 = kLower(pair), e1 = kLower(pair + 1);
      exchange_pair(e0, e0 + kStep, transit, work);
      exchange_pair(e1, e1 + kStep, transit, work);
      if constexpr (kNoisy) meet_noise(work, e0, e0 + kStep, e1, e1 + kStep);
    }
  }
  JF_DEVICE void exchange_pair(int e, int partner, T transit, T work) {
    const T a = time[e], b = time[partner];
    time[e] = add_later(b, transit, a) + work;
    time[partner] = add_later(a, transit, b) + work;
  }

  template <int kStep>
  JF_DEVICE void forward_over(T transit) {
#pragma unroll
    for (int e = 0; e < kRanks; ++e) {
      if ((e & kStep) != 0) continue;
      const T a = time[e], b = time[e + kStep];
      time[e] = add_earlier(b, transit, a);
      time[e + kStep] = add_earlier(a, transit, b);
    }
  }

  template <bool kNoisy>
  JF_DEVICE void work(T work) {
#pragma unroll
    for (int e = 0; e < kRanks; ++e) time[e] += work;
    if constexpr (kNoisy) {
#pragma unroll
      for (int e = 0; e < kRanks; e += 4) meet_noise(work, e, e + 1, e + 2, e + 3);
    }
  }
};

}  // namespace jf::gpu
