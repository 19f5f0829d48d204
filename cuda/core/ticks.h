// Time in integer ticks of 1 ps, and macros that let one function compile as scalar, SIMD and CUDA.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define JF_HD __host__ __device__ __forceinline__
#define JF_HD_COLD static __host__ __device__ __noinline__
// For code that rarely runs. Inlined for each rank of a thread and each step, it would make kernels
// of half a megabyte, of which the instruction cache holds a fraction. Such functions take values,
// not references, so that these stay in registers.
#define JF_HD_RARE inline __host__ __device__ __noinline__
#define JF_HD_APART JF_HD
#define JF_NO_CLONES
#else
#define JF_HD_RARE JF_HD
// Not inlined, and static, so that each translation unit has its own (reason below).
#define JF_HD_COLD static __attribute__((noinline))
// The same for members of templates that each translation unit has for itself. (On a GPU they are
// inlined: they have one caller.)
#define JF_HD_APART __attribute__((noinline))
// g++ makes copies of a function for arguments that are constants.
#define JF_NO_CLONES __attribute__((noclone))
// always_inline also keeps code compiled for AVX-512 from being merged, as a weak symbol, into
// code that has to run on processors without it (see cpu/tiles_isa.cpp).
#define JF_HD inline __attribute__((always_inline))
#endif

// For lambdas: a call in a loop over ranks would send their registers through memory. And one that
// is not inlined is a symbol that may be the same in all instruction sets, so that one of them
// would run another's code.
#define JF_INLINE __attribute__((always_inline))

// JF_NAME(run_, JF_ISA) is run_avx2 where JF_ISA is avx2: for what is compiled once per instruction
// set (*_isa.cpp).
#define JF_PASTE(a, b) a##b
#define JF_NAME(a, b) JF_PASTE(a, b)

namespace jf {

// One tick is 1 ps. int64 holds 106 days. Max, min and + on it are exact, so a result does not
// depend on the order in which ranks, threads or devices are processed.
using Tick = std::int64_t;

constexpr Tick kNever = INT64_MAX;
// From here on nothing is delayed any more, so that no time can overflow; results that late are
// refused by the caller.
constexpr Tick kLatest = Tick{1} << 62;

// Lanes (one 64-bit time each) of the widest register of any compilation.
constexpr std::int64_t kMaxLanes = 8;

// A function over T works on one rank (T = Tick) or on a SIMD register of ranks (T = Lanes, see
// cpu/simd.h; a lane is one entry of a register). Comparisons give a mask; these are the only
// operations on masks.
template <class Mask, class T>
JF_HD T select(Mask mask, T yes, T no) {
  return mask ? yes : no;
}

JF_HD bool any(bool mask) { return mask; }
JF_HD bool any_greater(Tick a, Tick b) { return a > b; }

// Lane k of a register, or a scalar that all lanes share: a register is of ranks or of
// realizations.
JF_HD std::uint32_t lane(std::uint32_t shared, unsigned) { return shared; }
JF_HD Tick lane(Tick shared, unsigned) { return shared; }

template <class T>
JF_HD T later(T a, T b) {
  return select(a > b, a, b);
}

template <class T>
JF_HD T earlier(T a, T b) {
  return select(b < a, b, a);
}

}  // namespace jf
