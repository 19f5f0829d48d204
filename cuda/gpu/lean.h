// Choice between lean kernel (32-bit or 64-bit times) and general tile kernel. The lean kernel,
// whose operations are listed here, runs programs in which the state of a rank between steps is one
// time: no copies, no forwards with CPU cost, no noise or one periodic source, and no network noise
// or one jitter; or a list of periodic sources, renewal noise, or a recording. Its times have 32
// bits if no time of the run needs more.
#pragma once

#include <algorithm>

#include "gpu/jobs.h"
#include "gpu/lean_intervals.h"
#include "gpu/periodic_list.h"

namespace jf::gpu {

// No rank may meet more intervals in the lean kernel, which walks from interval to interval.
constexpr Tick kMaxIntervals = 64;
// Hardly any time is longer by more than so many intervals of renewal noise, or the longest ones of
// recordings. One that has more than 32 bits is found, and its batch is run again with 64.
constexpr Tick kLikelyIntervals = 16;
constexpr Tick kAbsoluteEnd = Tick{1} << 61;

// The noise of a program that the lean kernel may run.
enum LeanSources {
  kOnePeriodic,  // or none
  kSeveralPeriodic,
  kOneRenewal,
  kRecordings,  // one, or one for each rank
  kNotLean,
};
inline LeanSources lean_sources(const Program& p) {
  if (!p.general()) return kOnePeriodic;
  if (is_periodic_list(p)) return kSeveralPeriodic;
  if (is_lean_renewal(p)) return kOneRenewal;
  return is_alone(p, kTraceIntervals) ? kRecordings : kNotLean;
}

// A bound of all times of a program of the lean kernel: that of a rank which at each step waits for
// the latest rank, whose message meets all events of jitter that a draw can give, and then meets as
// much noise as possible. In a time there is that of one interval of each source, and of one more
// for each period that ends in it. The bound saturates at kAbsoluteEnd.
class LatestTime {
 public:
  explicit LatestTime(const Program& p) : p_(p) {
    // At time 0 a rank may be inside intervals that began before.
    for (const IntervalSource& s : p.intervals)
      if (s.periodic.stationary) base_ = std::max(base_, s.periodic.duration);
    if (sources_ == kOneRenewal) {
      const IntervalSource& s = p.intervals[0];
      if (s.renewal.stationary) base_ = s.renewal.duration.value;
      latest_ = kLikelyIntervals * s.renewal.duration.value;
      distance_ = s.usual_distance(p.words.data());
    }
    if (sources_ == kRecordings) {
      const RecordedIntervals all(p);
      base_ = all.longest;
      latest_ = all.longest <= kLongestInterval ? kLikelyIntervals * all.longest : kAbsoluteEnd;
      distance_ = all.distance;
      crowd_ = all.crowd;
    }
    latest_ += base_;
    if (!p.messages.empty()) {
      const Delay& jitter = p.messages[0].delay;
      delay_ = jitter.value * jitter.count;  // below 2^60: HostDelay::counts
    }
    const Costs& c = p.costs;
    const Tick compute = longest(c.work, true), send = longest(c.send, false);
    const Tick receive = longest(add_up(c.receive, c.combine), false);
    for (const Step& s : p.steps) {
      const bool sends = (s.flags & kFinal) == 0;
      if (s.kind == kCompute) add(compute);
      if (s.kind == kExchange || s.kind == kForward) add(add_up(c.transit, delay_));
      if (s.kind == kExchange) add(receive);
      if ((s.kind == kExchange || s.kind == kEnter) && sends) add(send);
    }
  }

  LeanSources sources() const { return sources_; }
  Tick ticks() const { return latest_; }
  Tick base() const { return base_; }  // what is added to all times, so that none is negative
  bool meets_few_intervals() const {
    Tick intervals = 0;
    if (in_turn_) return latest_ / kMaxIntervals < distance_ && latest_ <= crowd_;
    for (const IntervalSource& s : p_.intervals)
      intervals += std::min(latest_ / s.periodic.period, kMaxIntervals);
    return intervals < kMaxIntervals;
  }

 private:
  static Tick add_up(Tick a, Tick b) {
    return std::min(std::min(a, kAbsoluteEnd) + std::min(b, kAbsoluteEnd), kAbsoluteEnd);
  }
  void add(Tick t) { latest_ = add_up(latest_, t); }
  static Tick of_intervals(Tick further, const Periodic& noise) {
    if (noise.duration == 0) return 0;
    const bool fits = further < kAbsoluteEnd / noise.duration - 1;
    return fits ? (1 + further) * noise.duration : kAbsoluteEnd;
  }
  // The longest time that work may take: the shortest one in which, with as much noise of each
  // source as can be in it, it is done. One source alone gives this at once; so many turns would
  // meet more intervals than any rank may.
  Tick longest(Tick w, bool compute) const {
    if (p_.intervals.empty() || in_turn_ || w == 0 || !p_.intervals[0].acts(compute)) return w;
    Tick time = w;
    for (const IntervalSource& s : p_.intervals)
      time = std::max(
          time,
          add_up(w, of_intervals((w - 1) / (s.periodic.period - s.periodic.duration), s.periodic)));
    for (Tick turn = 0; turn < 2 * kMaxIntervals; ++turn) {
      Tick needed = w;
      for (const IntervalSource& s : p_.intervals)
        needed = add_up(needed, of_intervals((time - 1) / s.periodic.period, s.periodic));
      if (needed <= time) return time;
      time = needed;
    }
    return kAbsoluteEnd;
  }

  const Program& p_;
  const LeanSources sources_ = lean_sources(p_);
  const bool in_turn_ = sources_ == kOneRenewal || sources_ == kRecordings;
  Tick latest_ = 0, base_ = 0, delay_ = 0;
  Tick distance_ = 0, crowd_ = kNever;  // of intervals that ranks go through in turn
};

// The kernel and the tiles of a program.
struct TilePlan {
  TileKernel kernel = kStepKernel;
  PlanLimits limits;
  std::int64_t shared_bytes = 0;  // limit of a block
  LeanNoise lean{};
  LeanSources sources = kNotLean;  // of the lean kernel

  bool states() const { return sources != kOnePeriodic && sources != kNotLean; }  // of ranks
  // Whether a time may be too long for the kernel, see meet_in_turn.
  bool uncertain() const { return sources == kOneRenewal || sources == kRecordings; }

  // Of the lean kernel. A longer period has the same effect: the next interval is beyond all times.
  Tick longest_period() const { return kernel == kLean32 ? kRelativeEnd : kAbsoluteEnd; }
};

inline TileKernel best_kernel(const Program& p, const LatestTime& latest, TileKernel limit) {
  if (latest.sources() == kNotLean) return kStepKernel;
  if (p.has_busy()) return kStepKernel;
  if (p.has_message_passes()) return kStepKernel;  // message passes read its format of state
  // If times go back, a rank meets intervals again that had ended.
  for (const Step& s : p.steps)
    if ((s.flags & kAfterForward) != 0) return kStepKernel;
  if (!latest.meets_few_intervals() || latest.ticks() >= kAbsoluteEnd) return kStepKernel;
  return std::min(limit, latest.ticks() < kRelativeEnd ? kLean32 : kLean64);
}

// The limits that give the fewest passes; of these, those with the most contiguous ranks.
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

// `shared_bytes`: limit of a block; `limit`: the last kernel of TileKernel that may be chosen;
// `limits`: instead of those of the kernel.
inline TilePlan plan_tiles(const Program& p, std::int64_t shared_bytes, TileKernel limit = kLean32,
                           const PlanLimits* limits = nullptr) {
  const LatestTime latest(p);
  TilePlan t;
  t.shared_bytes = shared_bytes;
  t.kernel = shared_bytes < kLeanSharedBytes ? kStepKernel : best_kernel(p, latest, limit);
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
  if (t.kernel != kStepKernel) t.sources = latest.sources();
  if (!p.intervals.empty()) {
    t.lean.period = std::min(p.intervals[0].periodic.period, t.longest_period());
    t.lean.duration = p.intervals[0].periodic.duration;
  }
  if (t.kernel != kStepKernel && p.delays_messages()) {
    const Delay& jitter = p.messages[0].delay;
    const std::uint64_t* const survival = p.words.data() + jitter.table;
    t.lean.edge = static_cast<std::uint32_t>(survival[0] >> 32);
    t.lean.several_edge = static_cast<std::uint32_t>(jitter.count > 1 ? survival[1] >> 32 : 0);
  }
  return t;
}

// The operations of the lean kernel for one pass: a list that contains no decisions.
class LeanPass {
 public:
  std::vector<LeanOp> ops;
  int first_window_start = 0;

  LeanPass(const Program& p, const Pass& pass, int window_bits)
      : map_(pass.map), window_bits_(window_bits), jitter_(p.delays_messages()) {
    const bool any = !p.intervals.empty();
    const bool computing = any && p.intervals[0].acts(true);
    const bool communicating = any && p.intervals[0].acts(false);
    first_window_start = window_start_ = start_window(p, pass);
    const Costs& c = p.costs;
    const bool whole_warps = map_.bits() - window_bits >= kWarpBits;
    const LeanOpKind observation = whole_warps && p.one_rank == 0 ? kLeanLatest : kLeanObserve;
    for (int i = pass.begin; i < pass.end; ++i) {
      const Step& step = p.steps[i];
      const bool sends = (step.kind == kEnter || step.kind == kExchange) && !(step.flags & kFinal);
      const Tick send = sends ? c.send : 0, receive = c.receive + c.combine;
      // Receiving and sending are one piece of work, unless the time between is observed.
      const bool together = step.kind == kExchange && (step.row < 0 || send == 0);
      if (step.kind == kCompute) work(c.work, computing);
      if (step.kind == kExchange)
        exchange(step, together ? receive + send : receive, communicating);
      if (step.kind == kForward) {
        const int bit = bring_to_window(step);
        ops.push_back({kLeanForward + bit, 2 * draw(step, kForwardJitter), 0});
      }
      if (step.row >= 0) ops.push_back({observation, step.row, 0});
      if (!together) work(send, communicating);
    }
  }

 private:
  // Where the window begins for a bit: as high as possible, so that few moves follow.
  int window_start_for(int bit) const { return std::min(bit, map_.bits() - window_bits_); }

  // Where the window begins in a pass: where the first exchange or forward needs it. But if state
  // is loaded, neighbouring threads should read contiguous memory.
  int start_window(const Program& p, const Pass& pass) const {
    for (int i = pass.begin; i < pass.end; ++i) {
      if (p.steps[i].kind != kExchange && p.steps[i].kind != kForward) continue;
      const int bit = map_.local_bit(p.steps[i].round);
      if (!pass.load || bit > 2) return window_start_for(bit);
      break;
    }
    return map_.bits() - window_bits_;
  }

  // Moves the window to the bit of a step, if it does not contain it. Returns the bit's position.
  // Draws are lost with a move. So if four rounds share them, and the window does not contain all
  // of these, it moves before they are drawn.
  int bring_to_window(const Step& step) {
    const int bit = map_.local_bit(step.round);
    const bool first = jitter_ && step.draw % kDraws == 0 && window_start_for(bit) == bit;
    const int last = first ? std::min(bit + kDraws, map_.bits()) - 1 : bit;
    if (bit < window_start_ || (last >= window_start_ + window_bits_ && bit != window_start_)) {
      window_start_ = window_start_for(bit);
      ops.push_back({kLeanMove, window_start_, 0});
      drawn_ = {};
    }
    return bit - window_start_;
  }

  // The number of a step's draw among the four of its block, which are drawn if they are not.
  int draw(const Step& step, Purpose purpose) {
    if (!jitter_) return 0;
    const LeanOp block{kLeanDraw, step.draw / kDraws, purpose};
    if (drawn_.work != block.work || drawn_.value != block.value) ops.push_back(drawn_ = block);
    return step.draw % kDraws;
  }

  // Work of no duration meets no noise. Exchanges over all bits of the window in turn are one
  // operation: each has to be read, and takes a jump. Of the same work, all meet noise or none.
  void exchange(const Step& step, Tick w, bool noisy) {
    const int bit = bring_to_window(step), number = draw(step, kOriginalJitter);
    noisy = noisy && w > 0;
    ops.push_back({kLeanExchange + bit, noisy + 2 * number, w});
    const int n = window_bits_;
    if (bit != n - 1 || static_cast<int>(ops.size()) < n) return;
    const std::int32_t first = ops[ops.size() - n].value;
    for (int i = 0; i < n; ++i) {
      const LeanOp& op = ops[ops.size() - n + i];
      if (op.kind != kLeanExchange + i || op.work != w) return;
      if (jitter_ && op.value != first + 2 * i) return;  // draws in turn, too
    }
    ops.resize(ops.size() - n);
    ops.push_back({kLeanExchangeAll, first, w});
  }
  void work(Tick w, bool noisy) {
    if (w > 0) ops.push_back({kLeanWork, noisy, w});
  }

  static constexpr int kDraws = 4;  // of a block of Philox

  const TileMap map_;
  const int window_bits_;
  const bool jitter_;
  int window_start_ = 0;
  LeanOp drawn_{};  // the last kLeanDraw, if there was one since the last move
};

}  // namespace jf::gpu
