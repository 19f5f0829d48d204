// Which kernel runs the tiles of a program. The lean one takes programs in which a rank between two
// steps is one time and nothing else: no copies, and forwards that cost no CPU time; without noise,
// or under one periodic source. Its times are 32 bits where no time of the run needs more.
#pragma once

#include <algorithm>

#include "gpu/jobs.h"

namespace jf::gpu {

// Of the lean kernel, no rank may meet more intervals than this: it goes from one to the next.
constexpr Tick kFewIntervals = 64;
// Times of 32 bits, and the start of the interval after the last one that they meet: below 2^32.
constexpr Tick kRelativeEnd = Tick{1} << 31;
constexpr Tick kAbsoluteEnd = Tick{1} << 61;

// A bound on every time of a program under periodic noise, or under none: that of a rank which at
// each step waits for the latest, and then meets as much noise as there can be. Work goes on
// between two intervals for a period less a duration, and so meets one interval, and one more for
// each time that this is filled. From kAbsoluteEnd on it is cut off.
class LatestTime {
 public:
  explicit LatestTime(const Program& p) : p_(p) {
    if (!p.intervals.empty()) noise_ = &p.intervals[0].periodic;
    // At time 0 a rank may be inside an interval that began before.
    if (noise_ != nullptr && noise_->stationary) add(noise_->duration);
    base_ = latest_;
    const Costs& c = p.costs;
    for (const Step& s : p.steps) {
      const bool sends = (s.flags & kFinal) == 0;
      if (s.kind == kCompute) work(c.work, true);
      if (s.kind == kExchange || s.kind == kForward) add(c.transit);
      if (s.kind == kExchange) work(add_up(c.receive, c.combine), false);
      if ((s.kind == kExchange || s.kind == kEnter) && sends) work(c.send, false);
    }
  }

  Tick ticks() const { return latest_; }
  Tick base() const { return base_; }  // what is added to all times, so that none is negative
  bool meets_few_intervals() const {
    return noise_ == nullptr || latest_ / noise_->period < kFewIntervals;
  }

 private:
  static Tick add_up(Tick a, Tick b) {
    return std::min(std::min(a, kAbsoluteEnd) + std::min(b, kAbsoluteEnd), kAbsoluteEnd);
  }
  void add(Tick t) { latest_ = add_up(latest_, t); }
  void work(Tick w, bool compute) {
    add(w);
    if (noise_ == nullptr || w == 0) return;
    if (!(compute ? noise_->in_compute : noise_->in_communication)) return;
    const Tick more = (w - 1) / (noise_->period - noise_->duration), most = kAbsoluteEnd;
    if (noise_->duration > 0)
      add(more < most / noise_->duration - 1 ? (1 + more) * noise_->duration : most);
  }

  const Program& p_;
  const Periodic* noise_ = nullptr;
  Tick latest_ = 0, base_ = 0;
};

// How the tiles of a program are run.
struct TilePlan {
  TileKernel kernel = kStepKernel;
  PlanLimits limits;
  std::int64_t shared_bytes = 0;  // that a block may have
  LeanNoise lean{};
};

inline TileKernel best_kernel(const Program& p, const LatestTime& latest, TileKernel most) {
  if (p.general() || p.delays_messages() || p.has_busy()) return kStepKernel;
  if (p.has_message_passes()) return kStepKernel;  // ranks are as it leaves them in memory
  // Times that go back need intervals again that are over.
  for (const Step& s : p.steps)
    if ((s.flags & kAfterForward) != 0) return kStepKernel;
  if (!latest.meets_few_intervals() || latest.ticks() >= kAbsoluteEnd) return kStepKernel;
  return std::min(most, latest.ticks() < kRelativeEnd ? kLean32 : kLean64);
}

// In the fewest passes; of these, in those that find most neighbours in memory.
inline PlanLimits lean_limits(const Program& p, int tile_bits) {
  PlanLimits best{tile_bits, 5, 0, kPassSteps};
  std::size_t passes = plan(p, best).size();
  for (const int low : {4, 3}) {
    const PlanLimits limits{tile_bits, low, 0, kPassSteps};
    const std::size_t n = plan(p, limits).size();
    if (n < passes) {
      passes = n;
      best = limits;
    }
  }
  return best;
}

// `most`: the kernel may be at most that one; `shared_bytes`: of a block; `limits`: instead of the
// kernel's own.
inline TilePlan plan_tiles(const Program& p, std::int64_t shared_bytes, TileKernel most = kLean32,
                           const PlanLimits* limits = nullptr) {
  const LatestTime latest(p);
  TilePlan t;
  t.shared_bytes = shared_bytes;
  t.kernel = shared_bytes < kLeanSharedBytes ? kStepKernel : best_kernel(p, latest, most);
  const auto fits = [&] {
    const int bits = std::min(limits != nullptr ? limits->tile_bits : 30, p.log2_ranks);
    return bits >= per_thread_bits(t.kernel, false);
  };
  while (t.kernel != kStepKernel && !fits()) t.kernel = t.kernel == kLean32 ? kLean64 : kStepKernel;
  if (limits != nullptr)
    t.limits = *limits;
  else if (t.kernel == kStepKernel)
    t.limits = tile_limits(fewer_per_thread(p));
  else
    t.limits = lean_limits(p, kLeanBlockBits + per_thread_bits(t.kernel, false));
  t.lean.base = latest.base();
  if (!p.intervals.empty()) {
    // An interval later than any time is as late as any other.
    t.lean.period =
        std::min(p.intervals[0].periodic.period, t.kernel == kLean32 ? kRelativeEnd : kAbsoluteEnd);
    t.lean.duration = p.intervals[0].periodic.duration;
  }
  return t;
}

// --- The steps of a pass as the lean kernel takes them: a list without decisions.

// A pass as the lean kernel takes it.
class LeanPass {
 public:
  std::vector<LeanOp> ops;
  int first_register_bit = 0;

  LeanPass(const Program& p, const Pass& pass, int register_bits)
      : map_(pass.map), register_bits_(register_bits) {
    const bool any = !p.intervals.empty();
    const bool computing = any && p.intervals[0].periodic.in_compute;
    const bool communicating = any && p.intervals[0].periodic.in_communication;
    first_register_bit = register_bit_ = start(p, pass);
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
  int register_bit_for(int bit) const { return std::min(bit, map_.bits() - register_bits_); }

  // Where the first exchange or forward wants it; but what is loaded is to be in a row in memory.
  int start(const Program& p, const Pass& pass) const {
    for (int i = pass.begin; i < pass.end; ++i) {
      if (p.steps[i].kind != kExchange && p.steps[i].kind != kForward) continue;
      const int bit = map_.local_bit(p.steps[i].round);
      if (!pass.load || bit > 2) return register_bit_for(bit);
      break;
    }
    return map_.bits() - register_bits_;
  }

  // Moves the window to a round's bit if it is elsewhere. Returns the bit of the window.
  int reach(int round) {
    const int bit = map_.local_bit(round);
    if (bit < register_bit_ || bit >= register_bit_ + register_bits_) {
      register_bit_ = register_bit_for(bit);
      ops.push_back({kLeanMove, register_bit_, 0});
    }
    return bit - register_bit_;
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
  const int register_bits_;
  int register_bit_ = 0;
};

}  // namespace jf::gpu
