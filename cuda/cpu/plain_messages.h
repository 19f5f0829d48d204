// A message pass rank by rank and step by step: what the vectorized one has to agree with, to the
// tick; JITTERFLY_ISA=plain chooses it.
#pragma once

#include "message_job.h"

namespace jf::cpu {

template <class Ranks>
void observe_plain(const MessageJob& job, const Ranks& ranks, int row) {
  const ProgramView& p = *job.program;
  for (std::int64_t i = 0; i < p.ranks; ++i) {
    const Tick t = ranks.s.sent[i];
    if (!p.one_rank || i == 0) job.observations[row].see(t);
    if (job.capture != nullptr) job.capture[row * p.ranks + i] = t;
  }
}

template <class Ranks>
void run_plain_messages(const MessageJob& job, const Ranks& ranks) {
  const ProgramView& p = *job.program;
  std::int64_t done = 0;
  for (std::int64_t i = 0; i < p.ranks; ++i) ranks.begin(i, job.pass->load != 0, job.first);
  for (int s = job.pass->begin; s < job.pass->end; ++s) {
    const Step& step = p.steps[s];
    for (std::int32_t turn = 0; turn < step.repeat; ++turn) {
      for (std::int64_t i = 0; i < p.ranks; ++i) ranks.first_half(step, turn, i);
      for (std::int64_t i = 0; i < p.ranks && ranks.has_second_half(step); ++i)
        ranks.second_half(step, turn, i);
      done += p.ranks;
      if (done < kMessagePatience) continue;
      done = 0;
      if (stopped(job)) return;
    }
    if (step.row >= 0) observe_plain(job, ranks, step.row);
  }
}

inline void run_messages_plain(const MessageJob& job) {
  with_message_noise(*job.program, [&]<class Noise, class Network>(const Noise& noise,
                                                                   const Network& network) {
    const Noise bound = bind(noise, job.realization, job.cursors);
    const ProgramView& p = *job.program;
    if (p.links)
      run_plain_messages(
          job, MessageRanks<Noise, Network, true>{p, bound, network, job.realization, job.state});
    else
      run_plain_messages(
          job, MessageRanks<Noise, Network, false>{p, bound, network, job.realization, job.state});
  });
}

}  // namespace jf::cpu
