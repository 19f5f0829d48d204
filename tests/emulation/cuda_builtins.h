// CUDA emulation of device functions: __syncthreads, __shfl_xor_sync, __ballot_sync, atomics.
// Semantics: CUDA C++ Programming Guide, chapter "C++ Language Extensions". Only types that CUDA
// accepts compile.
#pragma once

#include <bit>
#include <type_traits>

#include "block.h"

namespace jf_emu {

using Location = std::source_location;

inline int barrier(const char* name, int predicate, Location where) {
  Call call{name, where};
  call.block_wide = true;
  call.value = predicate != 0;
  return static_cast<int>(block().meet(call));
}

inline unsigned vote(const char* name, unsigned mask, int predicate, Location where) {
  Call call{name, where};
  call.vote = true;
  call.mask = mask;
  call.value = predicate != 0;
  return static_cast<unsigned>(block().meet(call));
}

template <class T>
T shuffle(const char* name, unsigned mask, T value, unsigned source, Location where) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "CUDA shuffles take 32- and 64-bit numbers");
  Call call{name, where};
  call.mask = mask;
  call.source = source;
  std::memcpy(&call.value, &value, sizeof value);
  const std::uint64_t result = block().meet(call);
  std::memcpy(&value, &result, sizeof value);
  return value;
}

// The maximum over a warp. CUDA takes parts of a warp, too: here that is an error.
inline unsigned reduce_max(const char* name, unsigned mask, unsigned value, Location where) {
  for (unsigned step = 16; step > 0; step /= 2) {
    const unsigned other = shuffle(name, mask, value, block().lane() ^ step, where);
    value = value < other ? other : value;
  }
  return value;
}

// The last lane of this lane's segment of `width` lanes.
inline unsigned last_lane(int width) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    block().fail("shuffle width must be a power of two from 1 to 32, got " + std::to_string(width));
  }
  return block().lane() | unsigned(width - 1);
}

template <class T, class... Allowed>
constexpr void allow_only() {
  static_assert((std::is_same_v<T, Allowed> || ...), "CUDA has no such atomic for this type");
}

template <class T, class F>
T exchange(T* address, F&& change) {
  T old;  // memcpy, since kernels cast int64_t* (long*) to long long*, another type to g++
  std::memcpy(&old, address, sizeof old);
  const T changed = change(old);
  std::memcpy(address, &changed, sizeof old);
  return old;
}

}  // namespace jf_emu

#define JF_EMU_WHERE jf_emu::Location where = jf_emu::Location::current()

inline void __syncthreads(JF_EMU_WHERE) { jf_emu::barrier("__syncthreads", 0, where); }
inline int __syncthreads_or(int predicate, JF_EMU_WHERE) {
  return jf_emu::barrier("__syncthreads_or", predicate, where) != 0;
}
inline int __syncthreads_and(int predicate, JF_EMU_WHERE) {
  return jf_emu::barrier("__syncthreads_and", !predicate, where) == 0;
}
inline int __syncthreads_count(int predicate, JF_EMU_WHERE) {
  return jf_emu::barrier("__syncthreads_count", predicate, where);
}
inline void __syncwarp(unsigned mask = 0xffffffff, JF_EMU_WHERE) {
  jf_emu::vote("__syncwarp", mask, 0, where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, JF_EMU_WHERE) {
  return jf_emu::vote("__ballot_sync", mask, predicate, where);
}
inline int __any_sync(unsigned mask, int predicate, JF_EMU_WHERE) {
  return jf_emu::vote("__any_sync", mask, predicate, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, JF_EMU_WHERE) {
  return jf_emu::vote("__all_sync", mask, !predicate, where) == 0;
}
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, JF_EMU_WHERE) {
  const unsigned last = jf_emu::last_lane(width), low = unsigned(width - 1);
  return jf_emu::shuffle("__shfl_sync", mask, value, (last & ~low) | (unsigned(source) & low),
                         where);
}
// xor may read earlier segments; a later one gives the own value, as in CUDA.
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, JF_EMU_WHERE) {
  const unsigned own = jf_emu::block().lane(), last = jf_emu::last_lane(width);
  const unsigned source = own ^ (unsigned(lane_mask) & 31);
  return jf_emu::shuffle("__shfl_xor_sync", mask, value, source > last ? own : source, where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, JF_EMU_WHERE) {
  const unsigned own = jf_emu::block().lane(), low = unsigned(width - 1);
  const unsigned start = jf_emu::last_lane(width) & ~low;
  return jf_emu::shuffle("__shfl_up_sync", mask, value, delta > own - start ? own : own - delta,
                         where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, JF_EMU_WHERE) {
  const unsigned own = jf_emu::block().lane(), last = jf_emu::last_lane(width);
  return jf_emu::shuffle("__shfl_down_sync", mask, value, delta > last - own ? own : own + delta,
                         where);
}

inline unsigned __reduce_max_sync(unsigned mask, unsigned value, JF_EMU_WHERE) {
  return jf_emu::reduce_max("__reduce_max_sync", mask, value, where);
}

// Atomics. There is none for `long`, nor atomicAdd for `long long`: add as
// unsigned long long, which wraps alike.
template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  jf_emu::allow_only<T, int, unsigned, unsigned long long, float, double>();
  return jf_emu::exchange(address, [&](T old) { return T(old + value); });
}
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  jf_emu::allow_only<T, int, unsigned, long long, unsigned long long>();
  return jf_emu::exchange(address, [&](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  jf_emu::allow_only<T, int, unsigned, long long, unsigned long long>();
  return jf_emu::exchange(address, [&](T old) { return value < old ? value : old; });
}
template <class T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  jf_emu::allow_only<T, int, unsigned, unsigned long long, float>();
  return jf_emu::exchange(address, [&](T) { return value; });
}
template <class T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  jf_emu::allow_only<T, int, unsigned, unsigned long long>();
  return jf_emu::exchange(address, [&](T old) { return T(old | value); });
}
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  jf_emu::allow_only<T, int, unsigned, unsigned long long>();
  return jf_emu::exchange(address, [&](T old) { return old == compare ? value : old; });
}

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(unsigned(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(unsigned(x)) + 1; }
inline int __ffsll(long long x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return std::uint64_t{a} * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(Wide{a} * b >> 64);
}
template <class T>
T __ldg(const T* address) {
  return *address;
}
using std::max;
using std::min;
