// Tile pass, the butterfly's inner loop on the CPU: a tile of ranks goes through all its steps.
// Read core/passes.h, core/steps.h and cpu/jobs.h first. x is the index of a rank in the tile. A
// part is a set of ranks of the tile that fits the first-level cache; y is the index of a rank in
// it.
#pragma once

#include <algorithm>

// Before all templates over registers: see its head.
#include "cpu/simd_philox.h"

#include "core/segment.h"
#include "core/steps.h"
#include "cpu/drawn_delays.h"
#include "cpu/jobs.h"
#include "cpu/register_block.h"

namespace jf {
namespace {

// --- Observations of ready times, a register at a time.

// The observation (core/program.h) of one row, lane by lane.
struct LaneObservation {
  Lanes max, min, hi, lo;
};
constexpr LaneObservation kNoObservation = {Lanes{} + INT64_MIN, Lanes{} + INT64_MAX, Lanes{},
                                            Lanes{}};

class Observer {
 public:
  explicit Observer(const TileJob& job)
      : job_(job),
        map_(job.pass->map),
        base_(map_.base(job.tile)),
        ranks_(map_.size()),
        one_rank_(job.program->one_rank != 0),
        only_max_(!job.full_statistics && job.capture == nullptr && !one_rank_) {}

  bool observes(const Step& step) const { return step.row >= 0 && !(one_rank_ && base_ != 0); }

  JF_HD void observe(int row, std::int64_t x, Lanes t, LaneObservation& seen) const {
    if (one_rank_ && x != 0) return;
    seen.max = later(seen.max, t);
    if (job_.full_statistics) {
      seen.min = earlier(seen.min, t);
      seen.hi += t >> 32;
      seen.lo += t & 0xffffffff;
    }
    if (job_.capture != nullptr) {
      Tick* ticks = job_.capture + row * job_.program->ranks;
      for (int k = 0; k < kLanes && k < ranks_; ++k) ticks[base_ + map_.offset(x) + k] = t[k];
    }
  }

  // The same for kCount registers that are `stride` apart.
  template <int kCount>
  JF_HD void observe(int row, std::int64_t x, std::int64_t stride, const Lanes (&ready)[kCount],
                     LaneObservation& seen) const {
    if (__builtin_expect(only_max_, 1)) {
      Lanes greatest = ready[0];
      for (int k = 1; k < kCount; ++k) greatest = later(greatest, ready[k]);
      seen.max = later(seen.max, greatest);
    } else {
      Lanes copy[kCount];  // its address is taken; `ready` can stay in registers
      for (int k = 0; k < kCount; ++k) copy[k] = ready[k];
      observe_each(row, x, stride, kCount, copy, seen);
    }
  }

  // Merges the observation of a row into those of the job.
  void merge(int row, const LaneObservation& seen) const {
    job_.observations[row].merge(reduce(seen));
  }

 private:
  __attribute__((noinline)) void observe_each(int row, std::int64_t x, std::int64_t stride,
                                              int count, const Lanes* ready,
                                              LaneObservation& seen) const {
    for (int k = 0; k < count; ++k) observe(row, x + k * stride, ready[k], seen);
  }

  Observation reduce(const LaneObservation& seen) const {
    // If there are fewer ranks than lanes, the other lanes repeat them.
    Observation o = Observation::empty();
    for (int k = 0; k < kLanes && k < (one_rank_ ? 1 : ranks_); ++k)
      o.merge({seen.max[k], seen.min[k], seen.hi[k], seen.lo[k]});
    return o;
  }

  const TileJob& job_;
  const TileMap map_;
  const std::int64_t base_, ranks_;
  const bool one_rank_, only_max_;
};

// --- The times of the ranks of a tile, in working memory and in memory between passes.

template <class Noise, bool kBusy>
struct TileState {
  const TileJob& job;
  const ProgramView& p;
  const TileMap map;
  const TileScratch& scratch;
  const std::int64_t base, ranks;
  const std::int64_t size;  // ranks, or the lanes of a register if that is more
  Noise noise;

  TileState(const TileJob& job, const TileScratch& scratch, const Noise& noise)
      : job(job),
        p(*job.program),
        map(job.pass->map),
        scratch(scratch),
        base(map.base(job.tile)),
        ranks(map.size()),
        size(std::max<std::int64_t>(ranks, kLanes)),
        noise(noise.bind(job.realization, job.cursors, p.seed)) {}

  JF_HD Lanes rank(std::int64_t x) const { return TileRanks{map, base, ranks}(x); }

  JF_HD Lanes read(const Tick* memory, std::int64_t x) const {
    Lanes v{};
    if (ranks >= kLanes)
      __builtin_memcpy(&v, memory + base + map.offset(x), sizeof v);
    else
      __builtin_memcpy(&v, memory + base, static_cast<std::size_t>(ranks) * sizeof(Tick));
    return v;
  }
  JF_HD void write(Tick* memory, std::int64_t x, Lanes v) const {
    if (ranks >= kLanes)
      __builtin_memcpy(memory + base + map.offset(x), &v, sizeof v);
    else
      __builtin_memcpy(memory + base, &v, static_cast<std::size_t>(ranks) * sizeof(Tick));
  }

  // Without the numbers of the ranks, which only noise needs.
  JF_HD Clock<Lanes> get(std::int64_t x) const {
    const Lanes sent = load(scratch.sent + x);
    return {sent, kBusy ? load(scratch.busy + x) : sent, next(x), Lanes{}};
  }

  JF_HD void put(std::int64_t x, const Clock<Lanes>& c) const {
    store(scratch.sent + x, c.sent);
    if (kBusy) store(scratch.busy + x, c.busy);
    if (is_timed<Noise>) store(scratch.next + x, c.next);
  }
  JF_HD Lanes next(std::int64_t x) const {
    return is_timed<Noise> ? load(scratch.next + x) : Lanes{};
  }

  // Sets `next` of ranks [from, to). Phases are drawn anew in each pass: cheaper than to keep them.
  void draw_noise(std::int64_t from, std::int64_t to) {
    if (!is_timed<Noise>) return;
    if constexpr (is_general<Noise>) {
      const RoundKeys keys(p.seed);
      const TileRanks rank_of{map, base, ranks};
      FirstIntervals{keys, noise, rank_of, from, to, scratch.next}.find();
      return;
    }
    std::int64_t x = from;
    if constexpr (std::is_same_v<Noise, Periodic>) {
      if (noise.drawn_alone() && to - from >= 2 * kLanes && map.low_bits > kLaneBits) {
        const RoundKeys keys(p.seed);
        for (; x < to; x += 2 * kLanes) {
          const auto u = only_uniform64(keys, kPhase, base + map.offset(x), job.realization);
          store(scratch.next + x, noise.first_of(noise.template scaled<Lanes>(u.even)));
          store(scratch.next + x + kLanes, noise.first_of(noise.template scaled<Lanes>(u.odd)));
        }
      }
    }
    for (; x < to; x += kLanes)
      store(scratch.next + x, noise.first(p.seed, job.realization, rank(x)));
  }

  // The times of ranks when the pass begins: as the pass before stored them, or time 0.
  JF_HD Clock<Lanes> initial(std::int64_t x) const {
    Clock<Lanes> c{Lanes{}, Lanes{}, next(x), Lanes{}};
    if (!job.pass->load) return c;
    const Lanes packed = read(job.sent_between, x);
    c.sent = c.busy = packed & ~kCopyBit;
    noise.seek(c.next, c.sent, false);
    if (!kBusy) return c;
    if (job.pass->busy_in) {
      c.busy = read(job.busy_between, x);
    } else if (any_greater(Lanes{}, packed)) {
      Clock<Lanes> copied = c;
      copied.busy =
          noise.communicate(copied.next, c.sent, p.costs.send * job.pass->copies, rank(x));
      c.busy = select(packed < 0, copied.busy, c.busy);
      c.next = select(packed < 0, copied.next, c.next);
    }
    return c;
  }

  void save(std::int64_t from, std::int64_t to) const {
    for (std::int64_t x = from; x < to; x += kLanes) {
      const Clock<Lanes> c = get(x);
      Lanes packed = c.sent;
      if (kBusy && job.pass->busy_out)
        write(job.busy_between, x, c.busy);
      else if (kBusy)
        packed |= (c.busy != c.sent) & kCopyBit;
      write(job.sent_between, x, packed);
    }
  }
};

// --- Drawn delays of a tile: which steps have theirs drawn together, and where blocks find them.

inline bool has_partner(const Step& step) {
  return step.kind == kExchange || step.kind == kForward;
}

// Draws delays, and marks them in `noise` and `network` of a TileRun, which then leave them out.
template <class Noise, class Network>
class TileDraws {
 public:
  static constexpr bool kDrawn = draws_delays<Noise, Network>;

  bool any = false;  // whether there is anything to draw
  int until = 0;     // the delays of the current part are drawn for the steps before this one

  TileDraws(const TileJob& job, const TileScratch& scratch, Noise& noise, Network& network)
      : job_(job), p_(*job.program), s_(scratch), noise_(noise), network_(network), keys_(p_.seed) {
    if constexpr (is_general<Noise>) {
      noise.drawn_beforehand = true;
      only_sends_delayed_ = !Network::on && (noise.roles >> kReceiveRole & 1) == 0;
      noise.roles = noise.windows | (noise.roles & 1 << kComputeRole);
      any = noise.step_count > 0;
      windows_ = (noise.windows & ~(1 << kComputeRole)) != 0;
    }
    if constexpr (Network::on) {
      network.drawn_beforehand = true;
      any = true;
    }
  }

  int local_bit(int i) const { return job_.pass->map.local_bit(p_.steps[i].round); }

  // Whether steps i and i + 1 are of one kind, on consecutive bits: one register block can do both.
  bool fit_one_block(int i) const {
    const Step &a = p_.steps[i], &b = p_.steps[i + 1];
    return a.kind == b.kind && (a.flags & kMirrored) == (b.flags & kMirrored) &&
           local_bit(i + 1) == local_bit(i) + 1;
  }

  // How many steps from i on (before `end`) draw from the same block of random numbers.
  int steps_together(int i, int end) const {
    int steps = 1;
    while (i + steps < end && steps < kDrawnSteps && shares_random_numbers(i + steps - 1)) ++steps;
    return steps;
  }

  // Whether step i + 1 draws from the same blocks of random numbers as step i.
  bool shares_random_numbers(int i) const {
    const Step &step = p_.steps[i], &after = p_.steps[i + 1];
    if ((after.draw + only_sends_delayed_) % kDrawnSteps == 0) return false;
    if (step.kind == kEnter)  // the draw of its send precedes that of the first exchange's send
      return only_sends_delayed_ && after.kind == kExchange && after.draw == step.draw;
    return has_partner(step) && step.kind == after.kind && after.draw == step.draw + 1 &&
           (step.flags & kFinal) == 0 && fit_one_block(i);
  }

  // Draws the delays of step i, and of steps before `end` that share its random numbers, for a
  // part.
  void draw(int i, int end, const PartRanks& ranks) {
    first_ = i;
    until = end;
    if constexpr (kDrawn) {
      if (any) draw_sums(i, end, ranks);
    }
  }

  // The drawn delays of step i and of the steps after it.
  JF_HD BlockDelaysIf<kDrawn> delays_of(int i) const {
    BlockDelaysIf<kDrawn> found;
    if constexpr (kDrawn) {
      found.windows = windows_;
      if constexpr (is_general<Noise>) found.intervals = noise_.interval_count > 0;
      for (int kind = 0; kind < kDrawnKinds; ++kind)
        found.drawn[kind] = drawn_[kind] ? drawn_[kind] + (i - first_) * kDrawnRanks : nullptr;
    }
    return found;
  }

  // Whether noise can delay a local step (compute or enter), intervals aside.
  bool delays(const Step& step) const {
    if constexpr (is_general<Noise>) {
      const bool works = step.kind == kCompute && p_.costs.work > 0;
      return windows_ || drawn_[kSending] != nullptr ||
             (works && (noise_.roles & 1 << kComputeRole) != 0);
    } else {
      return false;
    }
  }

  // The noise of a local step, the first one of those drawn together, at index y of the part.
  JF_HD decltype(auto) local_noise(std::int64_t y) const {
    if constexpr (is_general<Noise>) {
      const Tick* sending = drawn_[kSending];
      return SourcesDrawnBeforehand<false, Noise>{noise_,
                                                  {nullptr, sending ? sending + y : nullptr}};
    } else {
      return (noise_);
    }
  }

 private:
  void draw_sums(int i, int end, const PartRanks& ranks) {
    const Step& step = p_.steps[i];
    const bool exchange = step.kind == kExchange, enter = step.kind == kEnter;
    const int steps = steps_together(i, end);
    until = i + steps;
    const auto draws = [&](std::int32_t first, int count) {
      return Draws{keys_,
                   p_.seed,
                   job_.realization,
                   static_cast<std::uint32_t>(first),
                   static_cast<std::uint32_t>(count),
                   ranks.part.size(),
                   ranks,
                   s_.draws};
    };
    if constexpr (is_general<Noise>) {
      drawn_[kReceiving] = drawn_[kSending] = nullptr;
      const int sends = steps - ((p_.steps[i + steps - 1].flags & kFinal) != 0 ? 1 : 0);
      if (exchange)
        drawn_[kReceiving] =
            draw_step_delays(draws(step.draw, steps), noise_, kReceiveRole, s_.sums[kReceiving]);
      if (exchange || enter)
        drawn_[kSending] = draw_step_delays(draws(step.draw + exchange, sends), noise_, kSendRole,
                                            s_.sums[kSending]);
    }
    if constexpr (Network::on) {
      drawn_[kInNetwork] = nullptr;
      if (exchange || step.kind == kForward)
        drawn_[kInNetwork] =
            draw_message_delays(draws(step.draw, steps), network_,
                                exchange ? kOriginalJitter : kForwardJitter, s_.sums[kInNetwork]);
    }
  }

  struct NoKeys {
    explicit NoKeys(std::uint64_t) {}
  };

  const TileJob& job_;
  const ProgramView& p_;
  const TileScratch& s_;
  Noise& noise_;
  Network& network_;
  const std::conditional_t<kDrawn, RoundKeys, NoKeys> keys_;
  bool windows_ = false;
  bool only_sends_delayed_ = false;      // draws of a send have the number after the step's
  int first_ = 0;                        // the first step whose delays are drawn
  const Tick* drawn_[kDrawnKinds] = {};  // or null
};

template <class Noise, class Network, bool kBusy>
class TileRun {
  // If not, parts are always ranks in a row.
  static constexpr bool kDrawn = draws_delays<Noise, Network>;
  // Under network noise copies can overtake each other: they are in segments (core/segment.h).
  static constexpr bool kCopies = kBusy && !Network::on;
  // Rounds that a block of registers goes through. Half of the registers are for intermediate
  // results; with kBusy each rank has two times. Drawn delays cover four rounds, hence two and two.
#if defined(__AVX512F__)
  static constexpr int kMaxBits = kDrawn || kBusy ? 2 : 3;
#else
  static constexpr int kMaxBits = 2;
#endif
  // A part is at most 24 KiB, and all its rounds fit full blocks of registers.
  static constexpr int kPartBits = kLaneBits + (10 - kLaneBits) / kMaxBits * kMaxBits;

 public:
  TileRun(const TileJob& job, const TileScratch& scratch, const Noise& noise, const Network& net)
      : job_(job),
        p_(*job.program),
        s_(scratch),
        state_(job, scratch, noise),
        noise_(state_.noise),
        net_(net),
        observer_(job),
        draws_(job, scratch, noise_, net_),
        size_(state_.size) {
    if (draws_.any) part_bits_ = kDrawnBits;
    while (std::int64_t{1} << size_bits_ < size_) ++size_bits_;
  }

  // Steps whose partners are near (in the same part) are done part by part, as a part stays in L1.
  void run() {
    const int end = job_.pass->end;
    for (int i = job_.pass->begin; i < end;) {
      const int first_far = drawn_near_until(i);
      if (i < first_far) {
        i = all_parts({size_bits_, std::min(size_bits_, part_bits_), 0, 0}, i, first_far);
      } else if (!draws_.any) {
        i = all_parts({size_bits_, size_bits_, 0, 0}, i, far_until(i));
      } else {
        i = drawn_far(i);
      }
    }
  }

 private:
  // Steps [i, end) of each part in turn. Parts are ranks in a row. Returns `end`.
  int all_parts(TileMap map, int i, int end) {
    map.high_start = map.low_bits;
    part_ = map;
    for (std::int64_t n = 0; n < part_.tiles(); ++n) {
      from_ = part_.base(n);
      const std::int64_t to = from_ + part_.size();
      draws_.until = i;
      steps(i == job_.pass->begin ? begin_part(to, end) : i, end);
      if (end == job_.pass->end && job_.pass->store) state_.save(from_, to);
    }
    return end;
  }

  // Some steps from i on whose partners are far (in other parts), with drawn delays: a part is a
  // few ranks in a row and all their partners. Returns the step after them.
  int drawn_far(int i) {
    const int first = i == job_.pass->begin ? begin_tile() : i;
    const int bits = draws_.steps_together(first, job_.pass->end);
    const int start = draws_.local_bit(first);
    part_ = {size_bits_, static_cast<std::int32_t>(kDrawnBits) - bits, start, bits};
    for (std::int64_t n = 0; n < part_.tiles(); ++n) {
      from_ = part_.base(n);
      draws_.until = first;
      steps(first, first + bits);
    }
    if (first + bits == job_.pass->end && job_.pass->store) state_.save(0, size_);
    return first + bits;
  }
  int begin_tile() {
    part_ = {size_bits_, size_bits_, size_bits_, 0};
    from_ = 0;
    return begin_part(size_, job_.pass->begin);  // does no step: the first one has partners
  }

  void steps(int i, int end) {
    for (; i < end; looks_.turn()) {
      const Step& step = p_.steps[i];
      if (i >= draws_.until) draws_.draw(i, end, part_ranks());
      const int until = std::min(end, draws_.until);
      if (step.kind == kForward)
        i = exchange_steps<Forward>(i, until);
      else if (kCopies && step.kind == kExchange && (step.flags & kCopy) != 0)
        i = exchange_steps<std::conditional_t<kCopies, ExchangeWithCopy, OriginalExchange>>(i,
                                                                                            until);
      else if (kBusy && step.kind == kExchange && (step.flags & kAsk) != 0)
        i = exchange_steps<std::conditional_t<kBusy, ExchangeOnDemand, OriginalExchange>>(i, until);
      else if (step.kind == kExchange)
        i = exchange_steps<OriginalExchange>(i, until);
      else
        i = local_step(i, [this](std::int64_t x) JF_INLINE { return state_.get(x); });
    }
  }

  // Loads the times of a part from before the pass. If the first step needs no partner, does it at
  // the same time. Returns the next step.
  int begin_part(std::int64_t to, int end) {
    const int i = job_.pass->begin;
    state_.draw_noise(from_, to);
    if (!has_partner(p_.steps[i])) {
      draws_.draw(i, end, part_ranks());
      return local_step(i, [this](std::int64_t x) JF_INLINE { return state_.initial(x); });
    }
    for (std::int64_t x = from_; x < to; x += kLanes) state_.put(x, state_.initial(x));
    return i;
  }

  // The first step from i on whose partners are far, or near.
  int near_until(int i) const {
    while (i < job_.pass->end && near(i)) ++i;
    return i;
  }
  int far_until(int i) const {
    while (i < job_.pass->end && !near(i)) ++i;
    return i;
  }
  // near_until(i), less the last steps if their delays are drawn together with those of far steps:
  // then drawn_far does all of them, provided that a part for them still has ranks in a row.
  int drawn_near_until(int i) const {
    const int first_far = near_until(i);
    if (!draws_.any || first_far == i || first_far == job_.pass->end ||
        !draws_.shares_random_numbers(first_far - 1))
      return first_far;
    int first = first_far - 1;
    while (first > i && draws_.shares_random_numbers(first - 1)) --first;
    return has_partner(p_.steps[first]) && draws_.local_bit(first) >= kDrawnBits - kDrawnSteps
               ? first
               : first_far;
  }
  bool near(int i) const { return !has_partner(p_.steps[i]) || draws_.local_bit(i) < part_bits_; }

  PartRanks part_ranks() const { return {{state_.map, state_.base, state_.ranks}, part_, from_}; }

  // Loops over the ranks of a part run over y with drawn delays, which are stored by y, and else
  // directly over x.
  std::int64_t loop_begin() const { return kDrawn ? 0 : from_; }
  std::int64_t loop_end() const { return loop_begin() + part_.size(); }
  std::int64_t tile_index(std::int64_t y) const { return kDrawn ? from_ + part_.offset(y) : y; }

  // A local step needs no partner. Does step i from the times load(x). Returns the step after it.
  template <class Load>
  int local_step(int i, Load&& load) {
    const Step& step = p_.steps[i];
    LaneObservation seen = kNoObservation;
    const bool observed = observer_.observes(step);
    const bool quiet_first = (step.flags & kAfterForward) == 0 && !draws_.delays(step);
    const std::int64_t end = loop_end();
    for (std::int64_t y = loop_begin(); y < end; y += kLanes) {
      const std::int64_t x = tile_index(y);
      Clock<Lanes> c = load(x), quiet = c;
      Lanes ready = act_locally(NoNoise{}, step, quiet);
      // As in Block::exchange_group; but a forward may have left `next` for a later time.
      if (quiet_first && (!is_timed<Noise> || !any_greater(quiet.busy, c.next))) {
        c = quiet;
      } else {
        c.id = state_.rank(x);
        ready = act_locally(draws_.local_noise(y), step, c);
      }
      if (observed) observer_.observe(step.row, x, ready, seen);
      state_.put(x, c);
    }
    if (observed) observer_.merge(step.row, seen);
    return i + 1;
  }

  template <class Any>
  JF_HD Lanes act_locally(const Any& noise, const Step& step, Clock<Lanes>& c) const {
    if (step.kind == kEnter) return enter(noise, p_.costs, step, c);
    if (step.kind == kCompute) compute(noise, p_.costs.work, step, c);
    return c.sent;
  }

  // Does as many exchanges from `i` on as one block of registers can. Returns the step after them.
  // Requests, forwards that may cost CPU time, and what is outside of the segments of copies under
  // network noise, are rare: they go round by round, as a block for several rounds takes seconds to
  // compile.
  template <class Kind>
  int exchange_steps(int i, int end) {
    const int bit = draws_.local_bit(i);
    if constexpr (kBusy && (Network::on || std::is_same_v<Kind, Forward> ||
                            std::is_same_v<Kind, ExchangeOnDemand>)) {
      if (bit >= kLaneBits)
        run_blocks<Kind, 0, 1>(i, bit);
      else
        run_blocks<Kind, 0, 0>(i, bit);
      return i + 1;
    }
    int steps = 1;  // of this kind, with consecutive local bits
    while (i + steps < end && draws_.fit_one_block(i + steps - 1)) ++steps;
    if (bit >= kLaneBits)  // four are done two and two, not three and one
      return i + rounds<Kind, 0>(i, bit, steps == 4 ? 2 : std::min(steps, kMaxBits));
    if (bit == 0 && steps > kLaneBits)
      return i + rounds<Kind, kLaneBits>(i, kLaneBits, std::min(steps - kLaneBits, kMaxBits));
    run_blocks<Kind, 0, 0>(i, bit);
    return i + 1;
  }

  // kLow rounds with partners in the same register, then `bits` rounds with partners in others.
  template <class Kind, int kLow>
  int rounds(int i, int bit, int bits) {
    if (bits == 1)
      run_blocks<Kind, kLow, 1>(i, bit);
    else if (bits == 2)
      run_blocks<Kind, kLow, std::min(2, kMaxBits)>(i, bit);
    else
      run_blocks<Kind, kLow, kMaxBits>(i, bit);
    return kLow + bits;
  }

  // Runs all blocks of the part through one round with partners in the same register (kBits = 0),
  // or through kLow such rounds and then kBits rounds with partners that are at least 2^bit apart.
  template <class Kind, int kLow, int kBits>
  void run_blocks(int i, int bit) {
    using B = Block<kBits, Noise, Network, kBusy>;
    constexpr int kSteps = kLow + std::max(kBits, 1);
    const Costs costs = p_.costs;  // a copy, which the stores do not change
    const ExchangeContext<Noise, Network> context{costs,   noise_,           net_,
                                                  p_.seed, job_.realization, draws_.delays_of(i)};
    Step steps[kSteps];
    LaneObservation seen[kSteps];
    bool observed = false;
    for (int s = 0; s < kSteps; ++s) {
      steps[s] = p_.steps[i + s];
      seen[s] = kNoObservation;
      observed |= observer_.observes(steps[s]);
    }
    const std::int64_t stride = kBits > 0 ? std::int64_t{1} << bit : kLanes;
    const std::int64_t y_stride =
        kDrawn && kBits > 0 ? std::int64_t{1} << part_.local_bit(bit) : stride;
    const std::int64_t end = loop_end(), from = from_;
    const TileMap part = part_;
    Tick *const sent = s_.sent, *const busy = s_.busy, *const next = s_.next;
    const TileRanks tile_ranks{state_.map, state_.base, state_.ranks};
    for (std::int64_t start = loop_begin(); start < end; start += y_stride << kBits) {
      for (std::int64_t y = start; y < start + y_stride; y += kLanes) {
        const std::int64_t x = kDrawn ? from + part.offset(y) : y;
        B block(context, register_location<typename B::RegisterLocation>({next + x, stride}, x, y,
                                                                         y_stride, tile_ranks));
        unrolled<B::kSize>([&](auto k) JF_INLINE {
          block.sent[k] = load(sent + x + k * stride);
          if (kBusy) block.busy[k] = load(busy + x + k * stride);
        });
        const auto observe = [&](auto s) JF_INLINE {
          if (observed && observer_.observes(steps[s]))
            observer_.observe(steps[s].row, x, stride, block.ready, seen[s]);
        };
        if constexpr (kBits == 0) {
          block.template among_lanes<Kind>(steps[0], 0, bit);
          observe(0);
        } else {
          unrolled<kLow>([&](auto b) JF_INLINE {
            block.template among_lanes<Kind>(steps[b], b, b);
            observe(b);
          });
          unrolled<kBits>([&](auto b) JF_INLINE {
            block.template among_registers<Kind>(steps[kLow + b], kLow + b, b);
            observe(kLow + b);
          });
        }
        unrolled<B::kSize>([&](auto k) JF_INLINE {
          store(sent + x + k * stride, block.sent[k]);
          if (kBusy) store(busy + x + k * stride, block.busy[k]);
        });
      }
    }
    for (int s = 0; s < kSteps; ++s)
      if (observer_.observes(steps[s])) observer_.merge(steps[s].row, seen[s]);
  }

  template <class RegisterLocation>
  JF_HD static RegisterLocation register_location(const Location location, std::int64_t x,
                                                  std::int64_t y, std::int64_t y_stride,
                                                  const TileRanks& tile_ranks) {
    if constexpr (kDrawn)
      return {location, x, y, y_stride, &tile_ranks};
    else
      return location;
  }

  const TileJob& job_;
  const ProgramView& p_;
  const TileScratch& s_;
  TileState<Noise, kBusy> state_;
  Noise& noise_;
  Network net_;
  const Observer observer_;
  TileDraws<Noise, Network> draws_;
  const std::int64_t size_;
  std::int32_t size_bits_ = 0, part_bits_ = kPartBits;
  // The current part: its ranks, and the index x of the first one.
  TileMap part_{};
  std::int64_t from_ = 0;
  Looks<64> looks_;  // a turn for each step of a part
};

}  // namespace

}  // namespace jf
