// An algorithm as data: a list of steps over ranks (model: "program of steps"). Exchanges join the
// first 2^log2_ranks of them as a hypercube; messages go between any ranks (partners.h).
#pragma once

#include <cstdint>

#include "noise/jitter.h"
#include "noise/none.h"
#include "noise/periodic.h"
#include "noise/sources.h"

namespace jf {

enum StepKind : std::int32_t {
  kCompute = 0,
  kEnter = 1,
  kExchange = 2,
  kForward = 3,
  kObserve = 4,
  kMessage = 5
};
// kAfterForward: a forward may have made ranks earlier than they were (set by Program).
// kAsk: who waits too long for the original asks the mirror for a copy.
enum StepFlag : std::int32_t { kCopy = 1, kFinal = 2, kAfterForward = 4, kAsk = 8 };

constexpr std::int32_t kMirrored = kCopy | kAsk;
constexpr int kMaxMirrors = 8;

struct Step {
  std::int32_t kind;
  std::int32_t round;  // the partner of rank i is i xor 2^round
  std::int32_t flags;
  std::int32_t draw;  // number of the draws of this step; of what it sends next: one more
  std::int32_t row;   // where the step's ready times are observed, or -1
  // Of kMessage alone: who sends to whom (partners.h), the cost entry, and how often, with draws
  // draw, draw + 1, ...
  std::int32_t map = 0, a = 0, b = 0, c = 0, cost = 0, repeat = 1;
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
  Tick patience;       // of a rank that waits, before it asks for a copy
  Tick ask, request;   // CPU time of asking, and the way of the question
};

// What a message of a kMessage step costs.
struct MessageCost {
  Tick send, receive;  // CPU time, delayed by noise; receive: with what it takes to combine
  Tick transit;        // from the end of the send to the arrival
  Tick gap;            // how long it occupies the link out of its sender and into its receiver
  // Its delays in the network: [first, first + count) of ProgramView::step_messages.
  std::int32_t first = 0, count = 0;

  JF_HD bool works() const { return send > 0 || receive > 0; }
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
  std::int64_t ranks;  // from 2^log2_ranks to below twice as many
  std::int32_t log2_ranks, rows, step_count, has_noise, has_jitter;
  std::int32_t has_copies;  // sent after the original, or asked for
  std::int32_t one_rank;    // rows see rank 0 only
  std::int32_t general;     // the noise takes `sources` and `messages`, not `periodic` and `jitter`
  std::int32_t sources_needed;  // the CPUs' noise alone is more than `periodic`
  std::int32_t links;           // how long links are occupied can matter to some message
  std::int32_t steps_delayed;   // the network delays some messages of kMessage steps
  const Step* steps;
  const MessageCost* message_costs;
  const MessageDelay* step_messages;
  Costs costs;
  Periodic periodic;
  Jitter jitter;
  Sources sources;
  Messages messages;
  // Copies go to rank xor mirrors[k], in this order: at each level to those that need its data.
  std::int32_t mirror_count, mirrors[kMaxMirrors];
  std::uint64_t seed;
  std::int64_t phases_at, survival_at;  // of the quick sources, in the words; or -1

  // Mirrors hold the same data at level l if their numbers differ in its l lowest bits only.
  JF_HD bool mirrors_at(std::int32_t k, std::int32_t level) const {
    return mirrors[k] >> level == 0;
  }
  JF_HD std::int32_t copies_at(std::int32_t level) const {
    std::int32_t n = 0;
    for (std::int32_t k = 0; k < mirror_count; ++k) n += mirrors_at(k, level);
    return n;
  }
  JF_HD bool one_neighbour() const { return mirror_count == 1 && mirrors[0] == 1; }
  JF_HD std::int32_t farthest_mirror() const {
    std::int32_t farthest = 0;
    for (std::int32_t k = 0; k < mirror_count; ++k)
      if (mirrors[k] > farthest) farthest = mirrors[k];
    return farthest;
  }

  // Where the arrays of the noise are: the host's or the device's.
  JF_HD void point_to(const IntervalSource* intervals, const StepDelay* delays,
                      const MessageDelay* message_delays, const std::uint64_t* words) {
    sources.intervals = intervals;
    sources.steps = delays;
    sources.words = messages.words = words;
    messages.delays = message_delays;
    periodic.phases = phases_at < 0 ? nullptr : reinterpret_cast<const Tick*>(words + phases_at);
    jitter.survival = words + survival_at;
  }
};

// Calls f(cpu noise, network noise) with the sources that the program has, as types: the quick ones
// for nothing else than one periodic source and one jitter, the general ones for everything.
template <class F>
auto with_noise(const ProgramView& p, F&& f) {
  if (p.general) {
    if (p.has_jitter) return f(p.sources, p.messages);
    return f(p.sources, NoJitter{});
  }
  if (p.has_noise) {
    if (p.has_jitter) return f(p.periodic, p.jitter);
    return f(p.periodic, NoJitter{});
  }
  if (p.has_jitter) return f(NoNoise{}, p.jitter);
  return f(NoNoise{}, NoJitter{});
}

// The same for an engine that draws the delays of a step beforehand: with it any messages are as
// quick as jitter, and do not make the CPUs' noise general.
template <class F>
auto with_prepared_noise(const ProgramView& p, F&& f) {
  const auto with_network = [&](const auto& noise) {
    return p.has_jitter ? f(noise, p.messages) : f(noise, NoJitter{});
  };
  if (p.sources_needed) return with_network(p.sources);
  return p.has_noise ? with_network(p.periodic) : with_network(NoNoise{});
}

// The same for messages of kMessage steps, which have their own delays: `network` has none yet.
template <class F>
auto with_message_noise(const ProgramView& p, F&& f) {
  const auto with_network = [&](const auto& noise) {
    Messages none{};
    none.words = p.messages.words;
    none.loads = p.messages.loads;
    return p.steps_delayed || p.has_jitter ? f(noise, none) : f(noise, NoJitter{});
  };
  if (p.sources_needed) return with_network(p.sources);
  return p.has_noise ? with_network(p.periodic) : with_network(NoNoise{});
}

}  // namespace jf
