// An algorithm as data: a list of steps over the hypercube of ranks (model: "program of steps").
#pragma once

#include <cstdint>

#include "noise/jitter.h"
#include "noise/none.h"
#include "noise/periodic.h"

namespace jf {

enum StepKind : std::int32_t {
  kCompute = 0,
  kEnter = 1,
  kExchange = 2,
  kForward = 3,
  kObserve = 4
};
enum StepFlag : std::int32_t { kCopy = 1, kFinal = 2 };

struct Step {
  std::int32_t kind;
  std::int32_t round;  // the partner of rank i is i xor 2^round
  std::int32_t flags;
  std::int32_t draw;  // number of the jitter draw of this step's messages
  std::int32_t row;   // where the step's ready times are observed, or -1
};

// Steps in [begin, end) that send redundant copies.
JF_HD std::int32_t copies_in(const Step* steps, std::int32_t begin, std::int32_t end) {
  std::int32_t n = 0;
  for (std::int32_t i = begin; i < end; ++i) n += (steps[i].flags & kCopy) != 0;
  return n;
}

// What one message costs, and what one cycle computes.
struct Costs {
  Tick send, receive;  // CPU time, delayed by noise
  Tick transit;        // from the end of the send to the arrival
  Tick combine;        // CPU time after the receive
  Tick work;           // compute phase of a cycle
  Tick forward;        // CPU time of a forward after the butterfly
};

// Max, min and sum over ranks of the ready times of a row. The sum is hi * 2^32 + lo, each half
// summed alone: exact up to 2^31 ranks, hence independent of the order of summation.
struct Observation {
  Tick max, min, hi, lo;

  JF_HD static Observation nothing() { return {INT64_MIN, INT64_MAX, 0, 0}; }
  JF_HD void merge(const Observation& o) {
    max = later(max, o.max);
    min = earlier(min, o.min);
    hi += o.hi;
    lo += o.lo;
  }
  JF_HD void see(Tick t) { merge({t, t, t >> 32, t & 0xffffffff}); }
};

// A program and the noise it runs under, as the engines see it: plain data that can be copied to
// a device. The pointers are owned by Program (see host_program.h) or by the device's copy of it.
struct ProgramView {
  std::int32_t log2_ranks, rows, step_count, has_noise, has_jitter, has_copies;
  const Step* steps;
  Costs costs;
  Periodic periodic;
  Jitter jitter;
  std::uint64_t seed;
};

// Calls f(cpu noise, network noise) with the sources that the program has, as types. A new source
// is one more alternative here.
template <class F>
auto with_noise(const ProgramView& p, F&& f) {
  if (p.has_noise) {
    if (p.has_jitter) return f(p.periodic, p.jitter);
    return f(p.periodic, NoJitter{});
  }
  if (p.has_jitter) return f(NoNoise{}, p.jitter);
  return f(NoNoise{}, NoJitter{});
}

}  // namespace jf
