// One tile through the steps of a pass, vectorized over ranks.
#pragma once

#include <algorithm>

// First: templates see only those overloads for registers, which have no namespace, that are
// declared before them.
#include "cpu/simd_philox.h"

#include "core/segment.h"
#include "core/steps.h"
#include "cpu/block.h"
#include "cpu/drawn_delays.h"
#include "cpu/jobs.h"

namespace jf {
namespace {

// --- Observations of the ranks of a tile, a register at a time.

// Of one row: what has been seen, lane by lane.
struct Seen {
  Lanes max, min, hi, lo;
};
constexpr Seen kNothing = {Lanes{} + INT64_MIN, Lanes{} + INT64_MAX, Lanes{}, Lanes{}};

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

  JF_HD void see(int row, std::int64_t x, Lanes t, Seen& seen) const {
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

  // The same of registers that are `apart`.
  template <int kCount>
  JF_HD void see(int row, std::int64_t x, std::int64_t stride, const Lanes (&ready)[kCount],
                 Seen& seen) const {
    if (__builtin_expect(only_max_, 1)) {
      Lanes most = ready[0];
      for (int k = 1; k < kCount; ++k) most = later(most, ready[k]);
      seen.max = later(seen.max, most);
    } else {
      Lanes copy[kCount];  // only a copy leaves the registers
      for (int k = 0; k < kCount; ++k) copy[k] = ready[k];
      see_each(row, x, stride, kCount, copy, seen);
    }
  }

  // Adds what was seen of a row to the observations.
  void note(int row, const Seen& seen) const { job_.observations[row].merge(reduce(seen)); }

 private:
  __attribute__((noinline)) void see_each(int row, std::int64_t x, std::int64_t stride, int count,
                                          const Lanes* ready, Seen& seen) const {
    for (int k = 0; k < count; ++k) see(row, x + k * stride, ready[k], seen);
  }

  Observation reduce(const Seen& seen) const {
    // With fewer ranks_ than lanes the other lanes repeat them.
    Observation o = Observation::nothing();
    for (int k = 0; k < kLanes && k < (one_rank_ ? 1 : ranks_); ++k)
      o.merge({seen.max[k], seen.min[k], seen.hi[k], seen.lo[k]});
    return o;
  }

  const TileJob& job_;
  const TileMap map_;
  const std::int64_t base_, ranks_;
  const bool one_rank_, only_max_;
};

// --- The ranks of a tile: where their times are, and how these come from and go to memory between
// passes.

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
        noise(bind(noise, job.realization, job.cursors)) {}

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

  // Without the ranks, which only noise asks for.
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

  // Phases are drawn again in each pass: cheaper than keeping them in memory.
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
          store(scratch.next + x, noise.first(noise.template scaled<Lanes>(u.even)));
          store(scratch.next + x + kLanes, noise.first(noise.template scaled<Lanes>(u.odd)));
        }
      }
    }
    for (; x < to; x += kLanes)
      store(scratch.next + x, begin_noise(noise, p.seed, job.realization, rank(x)));
  }

  // The same as the pass before left it, or at time 0.
  JF_HD Clock<Lanes> before(std::int64_t x) const {
    Clock<Lanes> c{Lanes{}, Lanes{}, next(x), Lanes{}};
    if (!job.pass->load) return c;
    const Lanes packed = read(job.memory, x);
    c.sent = c.busy = packed & ~kCopyBit;
    seek(noise, c.next, c.sent, false);
    if (!kBusy) return c;
    if (job.pass->busy_in) {
      c.busy = read(job.second, x);
    } else if (any_greater(Lanes{}, packed)) {
      Clock<Lanes> copied = c;
      copied.busy =
          communicate(noise, copied.next, c.sent, p.costs.send * job.pass->copies, rank(x));
      c.busy = select(packed < 0, copied.busy, c.busy);
      c.next = select(packed < 0, copied.next, c.next);
    }
    return c;
  }

  void leave(std::int64_t from, std::int64_t to) const {
    for (std::int64_t x = from; x < to; x += kLanes) {
      const Clock<Lanes> c = get(x);
      Lanes packed = c.sent;
      if (kBusy && job.pass->busy_out)
        write(job.second, x, c.busy);
      else if (kBusy)
        packed |= (c.busy != c.sent) & kCopyBit;
      write(job.memory, x, packed);
    }
  }
};

// --- Which steps of a tile have their delays drawn together, and where the blocks find these.

inline bool has_partner(const Step& step) {
  return step.kind == kExchange || step.kind == kForward;
}

// `noise` and `network`, which a TileRun owns, are told to leave to this what it draws.
template <class Noise, class Network>
class TileDraws {
 public:
  static constexpr bool kDrawn = is_general<Noise> || Network::on;

  bool any = false;  // is there anything to draw
  int until = 0;     // delays of steps before this one have been drawn for the part in work

  TileDraws(const TileJob& job, const TileScratch& scratch, Noise& noise, Network& network)
      : job_(job), p_(*job.program), s_(scratch), noise_(noise), network_(network), keys_(p_.seed) {
    if constexpr (is_general<Noise>) {
      noise.prepared = true;
      sends_alone_ = !Network::on && (noise.roles >> kReceiveRole & 1) == 0;
      noise.roles = noise.windows | (noise.roles & 1 << kComputeRole);
      any = noise.step_count > 0;
      never_quiet_ = (noise.windows & ~(1 << kComputeRole)) != 0;
    }
    if constexpr (Network::on) {
      network.prepared = true;
      any = true;
    }
  }

  int local_bit(int i) const { return job_.pass->map.local_bit(p_.steps[i].round); }

  bool continue_each_other(int i) const {
    const Step &a = p_.steps[i], &b = p_.steps[i + 1];
    return a.kind == b.kind && (a.flags & kMirrored) == (b.flags & kMirrored) &&
           local_bit(i + 1) == local_bit(i) + 1;
  }

  // So many steps from i on have draws of the same blocks.
  int together(int i, int end) const {
    int steps = 1;
    while (i + steps < end && steps < kDrawnSteps && goes_on(i + steps - 1)) ++steps;
    return steps;
  }

  // Whether the draws of step i + 1 are of the same blocks as those of step i.
  bool goes_on(int i) const {
    const Step &step = p_.steps[i], &after = p_.steps[i + 1];
    if ((after.draw + sends_alone_) % kDrawnSteps == 0) return false;
    if (step.kind == kEnter)  // its send has the number before that of the first exchange's
      return sends_alone_ && after.kind == kExchange && after.draw == step.draw;
    return has_partner(step) && step.kind == after.kind && after.draw == step.draw + 1 &&
           (step.flags & kFinal) == 0 && continue_each_other(i);
  }

  // Draws the delays of some steps from i on, for the ranks of a part.
  void draw(int i, int end, const PartRanks& ranks) {
    from_ = i;
    until = end;
    if constexpr (kDrawn) {
      if (any) draw_now(i, end, ranks);
    }
  }

  // Where the delays of step i are, and of those after it.
  JF_HD DrawnIf<kDrawn> at(int i) const {
    DrawnIf<kDrawn> at;
    if constexpr (kDrawn) {
      at.never_quiet = never_quiet_;
      if constexpr (is_general<Noise>) at.intervals = noise_.interval_count > 0;
      for (int kind = 0; kind < kDrawnKinds; ++kind)
        at.drawn[kind] = drawn_[kind] ? drawn_[kind] + (i - from_) * kDrawnRanks : nullptr;
    }
    return at;
  }

  // Whether a step that each rank does alone can have a delay.
  bool delays(const Step& step) const {
    if constexpr (is_general<Noise>) {
      const bool works = step.kind == kCompute && p_.costs.work > 0;
      return never_quiet_ || drawn_[kSending] != nullptr ||
             (works && (noise_.roles & 1 << kComputeRole) != 0);
    } else {
      return false;
    }
  }

  // The noise of such a step, the first one of those drawn together, at index y of the part.
  JF_HD decltype(auto) noise_at(std::int64_t y) const {
    if constexpr (is_general<Noise>) {
      const Tick* sending = drawn_[kSending];
      return PreparedSources<false, Noise>{noise_, {nullptr, sending ? sending + y : nullptr}};
    } else {
      return (noise_);
    }
  }

 private:
  void draw_now(int i, int end, const PartRanks& ranks) {
    const Step& step = p_.steps[i];
    const bool exchange = step.kind == kExchange, enter = step.kind == kEnter;
    const int steps = together(i, end);
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
            draw_steps(draws(step.draw, steps), noise_, kReceiveRole, s_.sums[kReceiving]);
      if (exchange || enter)
        drawn_[kSending] =
            draw_steps(draws(step.draw + exchange, sends), noise_, kSendRole, s_.sums[kSending]);
    }
    if constexpr (Network::on) {
      drawn_[kOfMessages] = nullptr;
      if (exchange || step.kind == kForward)
        drawn_[kOfMessages] =
            draw_messages(draws(step.draw, steps), network_,
                          exchange ? kOriginalJitter : kForwardJitter, s_.sums[kOfMessages]);
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
  bool never_quiet_ = false;
  bool sends_alone_ = false;  // are delayed: their draws have the number after the step's
  int from_ = 0;              // the first step of those drawn
  const Tick* drawn_[kDrawnKinds] = {};  // or null
};

template <class Noise, class Network, bool kBusy>
class TileRun {
  // Whether delays are drawn. Else parts are always ranks in a row.
  static constexpr bool kDrawn = is_general<Noise> || Network::on;
  // Rounds in registers. Half of them are for what is computed on the way; kBusy: each rank has two
  // times. Delays are drawn for four rounds, hence two and two.
#if defined(__AVX512F__)
  static constexpr int kMaxBits = kDrawn || kBusy ? 2 : 3;
#else
  static constexpr int kMaxBits = 2;
#endif
  // At most 24 KiB, and such that all rounds in it are in full blocks.
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

  // Steps whose partners are near each other are done part by part: a part stays in L1.
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
  // Steps [i, end) of each part in turn, where parts are ranks in a row. Returns `end`.
  int all_parts(TileMap map, int i, int end) {
    map.high_start = map.low_bits;
    part_ = map;
    for (std::int64_t n = 0; n < part_.tiles(); ++n) {
      from_ = part_.base(n);
      const std::int64_t to = from_ + part_.size();
      draws_.until = i;
      steps(i == job_.pass->begin ? first_step(to, end) : i, end);
      if (end == job_.pass->end && job_.pass->store) state_.leave(from_, to);
    }
    return end;
  }

  // Some steps from i on, whose partners are far apart, with delays: parts are few ranks in a row,
  // and all their partners. Returns the step after them.
  int drawn_far(int i) {
    const int first = i == job_.pass->begin ? whole_tile_first() : i;
    const int bits = draws_.together(first, job_.pass->end);
    const int start = draws_.local_bit(first);
    part_ = {size_bits_, static_cast<std::int32_t>(kDrawnBits) - bits, start, bits};
    for (std::int64_t n = 0; n < part_.tiles(); ++n) {
      from_ = part_.base(n);
      draws_.until = first;
      steps(first, first + bits);
    }
    if (first + bits == job_.pass->end && job_.pass->store) state_.leave(0, size_);
    return first + bits;
  }
  int whole_tile_first() {
    part_ = {size_bits_, size_bits_, size_bits_, 0};
    from_ = 0;
    return first_step(size_, job_.pass->begin);  // takes no step: the first one has partners
  }

  void steps(int i, int end) {
    while (i < end) {
      const Step& step = p_.steps[i];
      if (i >= draws_.until) draws_.draw(i, end, part_ranks());
      const int until = std::min(end, draws_.until);
      if (step.kind == kForward)
        i = partners<Forwarded>(i, until);
      else if (step.kind == kExchange && (step.flags & kCopy) != 0)
        i = partners<std::conditional_t<kBusy, Copied, Original>>(i, until);  // no copies: never
      else if (step.kind == kExchange && (step.flags & kAsk) != 0)
        i = partners<std::conditional_t<kBusy, Asked, Original>>(i, until);
      else if (step.kind == kExchange)
        i = partners<Original>(i, until);
      else
        i = alone(i, [this](std::int64_t x) JF_INLINE { return state_.get(x); });
    }
  }

  // Takes the state as it is before the pass, and the first step with it if that needs no partner.
  // Returns the step that is next.
  int first_step(std::int64_t to, int end) {
    const int i = job_.pass->begin;
    state_.draw_noise(from_, to);
    if (!has_partner(p_.steps[i])) {
      draws_.draw(i, end, part_ranks());
      return alone(i, [this](std::int64_t x) JF_INLINE { return state_.before(x); });
    }
    for (std::int64_t x = from_; x < to; x += kLanes) state_.put(x, state_.before(x));
    return i;
  }

  // The first step from i on whose partners are not (or are) within a part.
  int near_until(int i) const {
    while (i < job_.pass->end && near(i)) ++i;
    return i;
  }
  int far_until(int i) const {
    while (i < job_.pass->end && !near(i)) ++i;
    return i;
  }
  // near_until(i), less some last steps whose delays are drawn together with those of steps that
  // are not near: drawn_far takes all of them, if a part for them still has ranks in a row.
  int drawn_near_until(int i) const {
    const int first_far = near_until(i);
    if (!draws_.any || first_far == i || first_far == job_.pass->end ||
        !draws_.goes_on(first_far - 1))
      return first_far;
    int first = first_far - 1;
    while (first > i && draws_.goes_on(first - 1)) --first;
    return has_partner(p_.steps[first]) && draws_.local_bit(first) >= kDrawnBits - kDrawnSteps
               ? first
               : first_far;
  }
  bool near(int i) const { return !has_partner(p_.steps[i]) || draws_.local_bit(i) < part_bits_; }

  PartRanks part_ranks() const { return {{state_.map, state_.base, state_.ranks}, part_, from_}; }

  // Loops over the ranks of a part count them from 0 where their delays have numbers, else from
  // where they are.
  std::int64_t first() const { return kDrawn ? 0 : from_; }
  std::int64_t last() const { return first() + part_.size(); }
  std::int64_t place(std::int64_t y) const { return kDrawn ? from_ + part_.offset(y) : y; }

  // A step that each rank does alone, from what source(x) says. Returns the step after it.
  template <class Source>
  int alone(int i, Source&& source) {
    const Step& step = p_.steps[i];
    Seen seen = kNothing;
    const bool observed = observer_.observes(step);
    const bool quiet_first = (step.flags & kAfterForward) == 0 && !draws_.delays(step);
    const std::int64_t end = last();
    for (std::int64_t y = first(); y < end; y += kLanes) {
      const std::int64_t x = place(y);
      Clock<Lanes> c = source(x), quiet = c;
      Lanes ready = act_alone(NoNoise{}, step, quiet);
      // As in Block::exchange_group; but after forwards `next` may have been made for a later time.
      if (quiet_first && (!is_timed<Noise> || !any_greater(quiet.busy, c.next))) {
        c = quiet;
      } else {
        c.id = state_.rank(x);
        ready = act_alone(draws_.noise_at(y), step, c);
      }
      if (observed) observer_.see(step.row, x, ready, seen);
      state_.put(x, c);
    }
    if (observed) observer_.note(step.row, seen);
    return i + 1;
  }

  template <class Any>
  JF_HD Lanes act_alone(const Any& noise, const Step& step, Clock<Lanes>& c) const {
    if (step.kind == kEnter) return enter(noise, p_.costs, step, c);
    if (step.kind == kCompute) compute(noise, p_.costs, step, c);
    return c.sent;
  }

  // As many steps from `i` on as blocks of one shape can take. Returns the step after them.
  template <class Kind>
  int partners(int i, int end) {
    int steps = 1;  // of this kind, with consecutive local bits
    while (i + steps < end && draws_.continue_each_other(i + steps - 1)) ++steps;
    const int bit = draws_.local_bit(i);
    if (bit >= kLaneBits)  // two and two are better than three and one
      return i + rounds<Kind, 0>(i, bit, steps == 4 ? 2 : std::min(steps, kMaxBits));
    if (bit == 0 && steps > kLaneBits)
      return i + rounds<Kind, kLaneBits>(i, kLaneBits, std::min(steps - kLaneBits, kMaxBits));
    through<Kind, 0, 0>(i, bit);
    return i + 1;
  }

  // kLow rounds of partners in a register, then `bits` of partners apart.
  template <class Kind, int kLow>
  int rounds(int i, int bit, int bits) {
    if (bits == 1)
      through<Kind, kLow, 1>(i, bit);
    else if (bits == 2)
      through<Kind, kLow, std::min(2, kMaxBits)>(i, bit);
    else
      through<Kind, kLow, kMaxBits>(i, bit);
    return kLow + bits;
  }

  // Blocks through one round of partners in a register (kBits = 0), or through kLow such rounds
  // and kBits of partners that are 2^bit and more apart.
  template <class Kind, int kLow, int kBits>
  void through(int i, int bit) {
    using B = Block<kBits, Noise, Network, kBusy>;
    constexpr int kSteps = kLow + std::max(kBits, 1);
    const Costs costs = p_.costs;  // which the stores can not change, unless others are shown it
    const ExchangeContext<Noise, Network> by{costs,   noise_,           net_,
                                             p_.seed, job_.realization, draws_.at(i)};
    Step steps[kSteps];
    Seen seen[kSteps];
    bool observed = false;
    for (int s = 0; s < kSteps; ++s) {
      steps[s] = p_.steps[i + s];
      seen[s] = kNothing;
      observed |= observer_.observes(steps[s]);
    }
    const std::int64_t stride = kBits > 0 ? std::int64_t{1} << bit : kLanes;
    const std::int64_t y_stride =
        kDrawn && kBits > 0 ? std::int64_t{1} << part_.local_bit(bit) : stride;
    const std::int64_t end = last(), from = from_;
    const TileMap part = part_;
    Tick *const sent = s_.sent, *const busy = s_.busy, *const next = s_.next;
    const TileRanks ranks_of{state_.map, state_.base, state_.ranks};
    for (std::int64_t start = first(); start < end; start += y_stride << kBits) {
      for (std::int64_t y = start; y < start + y_stride; y += kLanes) {
        const std::int64_t x = kDrawn ? from + part.offset(y) : y;
        B block(by, where<typename B::At>({next + x, stride}, x, y, y_stride, ranks_of));
        each<B::kSize>([&](auto k) JF_INLINE {
          block.sent[k] = load(sent + x + k * stride);
          if (kBusy) block.busy[k] = load(busy + x + k * stride);
        });
        const auto after = [&](auto s) JF_INLINE {
          if (observed && observer_.observes(steps[s]))
            observer_.see(steps[s].row, x, stride, block.ready, seen[s]);
        };
        if constexpr (kBits == 0) {
          block.template among_lanes<Kind>(steps[0], 0, bit);
          after(0);
        } else {
          each<kLow>([&](auto b) JF_INLINE {
            block.template among_lanes<Kind>(steps[b], b, b);
            after(b);
          });
          each<kBits>([&](auto b) JF_INLINE {
            block.template among_registers<Kind>(steps[kLow + b], kLow + b, b);
            after(kLow + b);
          });
        }
        each<B::kSize>([&](auto k) JF_INLINE {
          store(sent + x + k * stride, block.sent[k]);
          if (kBusy) store(busy + x + k * stride, block.busy[k]);
        });
      }
    }
    for (int s = 0; s < kSteps; ++s)
      if (observer_.observes(steps[s])) observer_.note(steps[s].row, seen[s]);
  }

  template <class At>
  JF_HD static At where(const Location at, std::int64_t x, std::int64_t y, std::int64_t y_stride,
                        const TileRanks& ranks_of) {
    if constexpr (kDrawn)
      return {at, x, y, y_stride, &ranks_of};
    else
      return at;
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
  // The part in work: its ranks, and the place of the first of them.
  TileMap part_{};
  std::int64_t from_ = 0;
};

}  // namespace

}  // namespace jf
