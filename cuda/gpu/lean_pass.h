// The steps of a pass as the lean kernel takes them: a list without decisions.
#pragma once

#include <algorithm>

#include "pass_job.h"

namespace jf::gpu {

// A pass as the lean kernel takes it.
class LeanPass {
 public:
  std::vector<LeanOp> ops;
  int first_window = 0;

  LeanPass(const Program& p, const Pass& pass, int window_bits)
      : map_(pass.map), window_bits_(window_bits) {
    const bool any = !p.intervals.empty();
    const bool computing = any && p.intervals[0].periodic.in_compute;
    const bool communicating = any && p.intervals[0].periodic.in_communication;
    first_window = window_ = start(p, pass);
    const Costs& c = p.costs;
    for (int i = pass.begin; i < pass.end; ++i) {
      const Step& step = p.steps[i];
      const bool sends = (step.kind == kEnter || step.kind == kExchange) && !(step.flags & kFinal);
      const Tick send = sends ? c.send : 0, receive = c.receive + c.combine;
      // A rank that receives and then sends works for both together, unless someone looks between.
      const bool together = step.kind == kExchange && (step.row < 0 || send == 0);
      if (step.kind == kCompute) work(c.work, computing);
      if (step.kind == kExchange)
        exchange(step.round, together ? receive + send : receive, communicating);
      if (step.kind == kForward) ops.push_back({kLeanForward + reach(step.round), 0, 0});
      if (step.row >= 0) ops.push_back({kLeanObserve, step.row, 0});
      if (!together) work(send, communicating);
    }
  }

 private:
  // Where the window has to be for a bit; from there on, as few moves as possible.
  int window_for(int bit) const { return std::min(bit, map_.bits() - window_bits_); }

  // Where the first exchange or forward wants it; but what is loaded is to be in a row in memory.
  int start(const Program& p, const Pass& pass) const {
    for (int i = pass.begin; i < pass.end; ++i) {
      if (p.steps[i].kind != kExchange && p.steps[i].kind != kForward) continue;
      const int bit = map_.local_bit(p.steps[i].round);
      if (!pass.load || bit > 2) return window_for(bit);
      break;
    }
    return map_.bits() - window_bits_;
  }

  // Moves the window to a round's bit if it is elsewhere. Returns the bit of the window.
  int reach(int round) {
    const int bit = map_.local_bit(round);
    if (bit < window_ || bit >= window_ + window_bits_) {
      window_ = window_for(bit);
      ops.push_back({kLeanMove, window_, 0});
    }
    return bit - window_;
  }

  // No work meets no noise.
  void exchange(int round, Tick w, bool noisy) {
    const int bit = reach(round);
    ops.push_back({(noisy && w > 0 ? kLeanNoisyExchange : kLeanQuietExchange) + bit, 0, w});
  }
  void work(Tick w, bool noisy) {
    if (w > 0) ops.push_back({noisy ? kLeanNoisyWork : kLeanQuietWork, 0, w});
  }

  const TileMap map_;
  const int window_bits_;
  int window_ = 0;
};

}  // namespace jf::gpu
