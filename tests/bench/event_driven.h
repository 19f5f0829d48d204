// Benchmark only: event-driven butterfly simulator with a priority queue, as a baseline. It
// simulates the conventional butterfly event by event, one message after another from a priority
// queue, as the published studies do. It shares no code with the engine, so that their agreement is
// evidence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace jitterfly {
namespace event_driven {

// Busy in [phase + k * period, phase + k * period + duration), for k >= 0, or for all integers k if
// stationary. Phases lie in [0, period); duration 0 is no noise.
struct Noise {
  int64_t period;
  int64_t duration;
  bool stationary;

  // The earliest time by which the CPU has had `work` ticks of noise-free time since `time` >= 0.
  int64_t advance(int64_t phase, int64_t time, int64_t work) const {
    if (work == 0 || duration == 0) return time + work;
    int64_t since = time - phase;
    if (since < 0 && !stationary) {
      if (work <= -since) return time + work;
      work += since;
      time = phase;
      since = 0;
    }
    const int64_t within = since < 0 ? since + period : since % period;
    if (within < duration) time += duration - within;
    const int64_t free = period - std::max(within, duration);
    if (work <= free) return time + work;
    // An interval begins here. One that begins when the work ends does not delay it: hence work
    // - 1.
    work -= free;
    const int64_t skipped = (work - 1) / (period - duration) + 1;
    return time + free + skipped * duration + work;
  }
};

struct Arrival {
  int64_t time;
  uint32_t rank;
  uint32_t round;
  bool operator>(const Arrival& other) const { return time > other.time; }
};

struct Rank {
  int64_t phase;
  int64_t busy;      // when its CPU is free again
  uint32_t round;    // the round that it waits for
  uint32_t arrived;  // bit r: the message of round r has arrived
};

}  // namespace event_driven

// One realization of the conventional butterfly over 2^log2_ranks ranks, all starting at time 0,
// under periodic noise with the given phase per rank. Returns the time at which the last rank is
// done. Times and costs are in ticks; log2_ranks is 0 ... 31.
//
// The only event is the arrival of a message. A rank that is still at an earlier round keeps the
// message for later. One bit is enough for that: a message that arrived before the event by which
// the rank reaches its round does not delay the rank.
inline int64_t event_driven_butterfly(int log2_ranks, int64_t send, int64_t receive,
                                      int64_t transit, int64_t combine, int64_t period,
                                      int64_t duration, bool stationary, const int64_t* phases) {
  using event_driven::Arrival;
  using event_driven::Rank;
  const event_driven::Noise noise{period, duration, stationary};
  const uint32_t rounds = static_cast<uint32_t>(log2_ranks);
  const uint32_t ranks = uint32_t{1} << rounds;
  if (rounds == 0) return 0;

  std::vector<Rank> state(ranks);
  std::vector<Arrival> sent(ranks);
  for (uint32_t i = 0; i < ranks; ++i) {
    const int64_t busy = noise.advance(phases[i], 0, send);
    state[i] = {phases[i], busy, 0, 0};
    sent[i] = {busy + transit, i ^ 1u, 0};
  }
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<Arrival>> queue(
      std::greater<Arrival>(), std::move(sent));

  int64_t completion = 0;
  while (!queue.empty()) {
    const Arrival message = queue.top();
    queue.pop();
    Rank& rank = state[message.rank];
    rank.arrived |= 1u << message.round;
    int64_t start = std::max(rank.busy, message.time);
    while (rank.round < rounds && (rank.arrived >> rank.round & 1u)) {
      const int64_t own = noise.advance(rank.phase, start, receive + combine);
      ++rank.round;
      if (rank.round == rounds) {
        completion = std::max(completion, own);
      } else {
        start = rank.busy = noise.advance(rank.phase, own, send);
        queue.push({rank.busy + transit, message.rank ^ (1u << rank.round), rank.round});
      }
    }
  }
  return completion;
}

}  // namespace jitterfly
