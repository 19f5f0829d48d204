// An algorithm as data: a list of steps over ranks, with message costs and observations. Read it
// first. It is made of a case by python/jitterfly/program.py; steps.h and message_steps.h say what
// a rank does in a step.
//
// Exchanges join the first 2^log2_ranks ranks as a hypercube: in round r rank i exchanges its
// original message with rank i xor 2^r, and then has level r + 1, the combined data of 2^(r + 1)
// ranks. A copy is a redundant message with the data of a level to a mirror, a rank that needs the
// same data. A forward passes on the final result after the butterfly. Message steps send between
// any ranks (partners.h).
#pragma once

#include <cstdint>

#include "noise/interface.h"
#include "noise/jitter.h"
#include "noise/periodic.h"
#include "noise/rank_delay.h"
#include "noise/sources.h"

namespace jf {

// Python uses the same numbers.
enum StepKind : std::int32_t { kCompute, kEnter, kExchange, kForward, kObserve, kMessage };
// kCopy: a rank that has the level by its own path sends copies. kFinal: the last level.
// kAfterForward: after a forward the clocks of ranks may be earlier than before (set by Program).
// kAsk: a rank that waits too long for the original requests a copy from its mirror.
// kSendsOnly, kReceivesOnly: a message step of which ranks do the first half, and later the other.
// kStartsClock, kOwnTime: of kObserve. The clock of each rank starts there, as a benchmark's does
// when the rank leaves a barrier; the row has the time of each rank since its own clock started.
enum StepFlag : std::int32_t {
  kCopy = 1,
  kFinal = 2,
  kAfterForward = 4,
  kAsk = 8,
  kSendsOnly = 16,
  kReceivesOnly = 32,
  kStartsClock = 64,
  kOwnTime = 128
};

constexpr std::int32_t kMirrored = kCopy | kAsk;
constexpr std::int32_t kHalf = kSendsOnly | kReceivesOnly;
constexpr std::int32_t kClocked = kStartsClock | kOwnTime;
constexpr int kMaxMirrors = 8;
// Messages that a rank may have sent before it receives one.
constexpr std::int32_t kMaxWindow = 1024;

struct Step {
  std::int32_t kind;
  std::int32_t round;  // the partner of rank i is i xor 2^round; of kMessage: see draw_of_turn()
  std::int32_t flags;
  std::int32_t draw;  // number of the random draws of this step; its next send has draw + 1.
                      // Of kMessage that of the first step of the cycle
  std::int32_t row;   // of the results: its ready times are observed there; or -1
  // What else a step has:
  //            map              a                       b                      c
  // kMessage   PartnerMap       see partners.h          see there              see there
  // kForward   kListed, or 0    message of rank 0: see forward_cost()
  // kCompute   RankTimes, or 0  rank_times[a + rank]:   rank_times[b + rank]:
  //                             how long a rank works   how late it begins
  // Of half a message step, c is where its departures are kept in the meantime, from 0.
  // Only of kMessage: entry of message_costs, turns.
  std::int32_t map = 0, a = 0, b = 0, c = 0, cost = 0, repeat = 1;
};

// The number of the draws of a turn of a message step: turn 0 is step `round` of its cycle.
JF_HD std::uint64_t draw_of_turn(const Step& s, std::int32_t turn) {
  return draw_of_step(static_cast<std::uint32_t>(s.draw),
                      static_cast<std::uint32_t>(s.round + turn));
}

JF_HD bool is_half(const Step& s) { return (s.flags & kHalf) != 0; }
JF_HD bool is_clocked(const Step& s) { return (s.flags & kClocked) != 0; }

// Steps in [begin, end) that send redundant copies.
JF_HD std::int32_t copies_in(const Step* steps, std::int32_t begin, std::int32_t end) {
  std::int32_t n = 0;
  for (std::int32_t i = begin; i < end; ++i) n += (steps[i].flags & kCopy) != 0;
  return n;
}

// What one message of an exchange or a forward costs, and what one cycle computes. A message's
// costs are made of L, o, G, O (or alpha, beta, gamma) by python/jitterfly/network.py.
struct Costs {
  Tick send, receive;  // CPU time, delayed by noise
  Tick transit;        // from the end of the send to the arrival
  Tick combine;        // CPU time after the receive
  Tick work;           // compute phase of a cycle
  Tick forward;        // CPU time of a forward after the butterfly
  Tick patience;       // for which a rank waits before it requests a copy (kAsk)
  Tick ask, request;   // CPU time to send the request, and transit of the request
};

// What ranks have of their own in a compute step; otherwise all work for Costs::work at once.
enum RankTimes : std::int32_t { kOwnWork = 1, kOwnDelay = 2 };

// One message of a step that lists its messages (kListed, partners.h).
struct ListedMessage {
  std::int32_t from, to;  // ranks
  std::int32_t cost;      // entry of message_costs
};

// What a message of a kMessage step costs. Made of L, o, g, G, O (or alpha, beta, gamma) by
// python/jitterfly/network.py; for schedules by python/jitterfly/schedule/compile.py.
struct MessageCost {
  Tick send, receive;  // CPU time, delayed by noise; receive includes the time to combine
  Tick transit;        // from the end of the send to the arrival
  Tick gap;            // for which it occupies its sender's and its receiver's link
  // Its network delays are entries [first, first + count) of ProgramView::step_messages.
  std::int32_t first = 0, count = 0;
  Tick combine = 0;  // what of `receive` is the time to combine
};

// Max, min and sum over ranks of the ready times of a row. The sum is hi * 2^32 + lo. Each half is
// summed by itself: exact up to 2^31 ranks, hence independent of the order of summation.
struct Observation {
  Tick max, min, hi, lo;

  JF_HD static Observation empty() { return {INT64_MIN, INT64_MAX, 0, 0}; }
  JF_HD void merge(const Observation& o) {
    max = later(max, o.max);
    min = earlier(min, o.min);
    hi += o.hi;
    lo += o.lo;
  }
  JF_HD void add(Tick t) { merge({t, t, t >> 32, t & 0xffffffff}); }
};

// A program and its noise, as engines read it: plain data that can be copied to a device, whose
// arrays belong to Program (host_program.h) or to the device's copy.
struct ProgramView {
  std::int64_t ranks;  // in [2^log2_ranks, 2^(log2_ranks + 1))
  std::int32_t log2_ranks, rows, step_count, has_noise, has_jitter;
  std::int32_t has_busy;  // see Program::has_busy
  std::int32_t one_rank;  // rows observe rank 0 only
  std::int32_t general;   // the noise needs `sources` and `messages`, not `periodic` and `jitter`
  std::int32_t sources_needed;  // the CPU noise alone needs `sources`
  std::int32_t links;           // see Program::links_matter
  std::int32_t steps_delayed;   // network noise delays some messages of kMessage steps
  std::int32_t departures;      // see Program::departures
  const Step* steps;
  const MessageCost* message_costs;
  const MessageDelay* step_messages;
  const ListedMessage* listed_messages;
  const Tick* rank_times;
  std::int32_t rank_delay_count;
  RankDelay rank_delays[kMaxRankDelays];
  Costs costs;
  Periodic periodic;
  Jitter jitter;
  Sources sources;
  Messages messages;
  // Copies go to rank xor mirrors[k], in this order, if mirrors_at(k, level).
  std::int32_t mirror_count, mirrors[kMaxMirrors];
  std::uint64_t seed;
  std::int64_t phases_offset, survival_offset;  // of `periodic`, `jitter`, in the words; or -1

  // Two ranks hold the same data at level l if their numbers differ in the l lowest bits only.
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

  // Sets the arrays of the noise: those of the host, or of the device.
  JF_HD void point_to(const IntervalSource* intervals, const StepDelay* delays,
                      const RankSpeed* speeds, const MessageDelay* message_delays,
                      const std::uint64_t* words) {
    sources.intervals = intervals;
    sources.steps = delays;
    sources.speeds = speeds;
    sources.words = messages.words = words;
    messages.delays = message_delays;
    periodic.phases =
        phases_offset < 0 ? nullptr : reinterpret_cast<const Tick*>(words + phases_offset);
    jitter.survival = words + survival_offset;
  }
};

// How an engine takes delays of messages.
enum class Delays {
  kInStep,      // it draws them in the step
  kBeforehand,  // and before it: then any network noise is as fast as jitter, and does not require
                // the general type of CPU noise
  kByCost,  // of kMessage steps, where they depend on the cost of the message: the network noise
            // that f is given has none yet (see network_of in message_steps.h)
};

// Calls f(cpu noise, network noise) with the types that the program needs: the fast ones for at
// most one periodic source and one jitter, the general ones for everything else.
template <Delays kDelays, class F>
auto with_noise(const ProgramView& p, F&& f) {
  constexpr bool kInStep = kDelays == Delays::kInStep, kByCost = kDelays == Delays::kByCost;
  const bool delayed = p.has_jitter || (kByCost && p.steps_delayed);
  Messages messages = p.messages;
  if (kByCost) messages = {0, 0, nullptr, p.messages.words, false, p.messages.loads};
  const auto call = [&](const auto& noise, const auto& network) {
    return delayed ? f(noise, network) : f(noise, NoJitter{});
  };
  if (kInStep ? p.general : p.sources_needed) return call(p.sources, messages);
  const auto quick = [&]<class Noise>(const Noise& noise) {
    if constexpr (kInStep)
      return call(noise, p.jitter);
    else
      return call(noise, messages);
  };
  if (p.has_noise || (kByCost && delayed))  // the latter is rare, and gets no code of its own
    return quick(p.has_noise ? p.periodic : Periodic::never());
  if constexpr (kByCost)
    return f(NoNoise{}, NoJitter{});
  else
    return quick(NoNoise{});
}

}  // namespace jf
