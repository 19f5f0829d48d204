// One tile through the steps of a pass, vectorized over ranks.
#pragma once

#include <algorithm>

#include "block.h"
#include "observer.h"
#include "tile_draws.h"
#include "tile_state.h"
// clang-format off
#include "../segment.h"
#include "tile_job.h"
// clang-format on

namespace jf {

// Without a name outside its compilation: else the linker would keep one instruction set's for all.
namespace {

template <class Noise, class Network, bool kBusy>
class TileRun {
  // Whether delays are drawn. Else parts are always ranks in a row.
  static constexpr bool kDrawn = is_general<Noise> || Network::on;
  // Rounds in registers. Half of them are for what is computed on the way; kBusy: each rank has two
  // times. Delays are drawn for four rounds, hence two and two.
#if defined(__AVX512F__)
  static constexpr int kMostBits = kDrawn || kBusy ? 2 : 3;
#else
  static constexpr int kMostBits = 2;
#endif
  // At most 24 KiB, and such that all rounds in it are in full blocks.
  static constexpr int kPartBits = kLaneBits + (10 - kLaneBits) / kMostBits * kMostBits;

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
      const int apart = drawn_near_until(i);
      if (i < apart) {
        i = all_parts({size_bits_, std::min(size_bits_, part_bits_), 0, 0}, i, apart);
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
    map.window_start = map.low_bits;
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
    const int apart = near_until(i);
    if (!draws_.any || apart == i || apart == job_.pass->end || !draws_.goes_on(apart - 1))
      return apart;
    int first = apart - 1;
    while (first > i && draws_.goes_on(first - 1)) --first;
    return has_partner(p_.steps[first]) && draws_.local_bit(first) >= kDrawnBits - kDrawnSteps
               ? first
               : apart;
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
      // As in Block::exchange_few; but after forwards `next` may have been made for a later time.
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
      return i + rounds<Kind, 0>(i, bit, steps == 4 ? 2 : std::min(steps, kMostBits));
    if (bit == 0 && steps > kLaneBits)
      return i + rounds<Kind, kLaneBits>(i, kLaneBits, std::min(steps - kLaneBits, kMostBits));
    through<Kind, 0, 0>(i, bit);
    return i + 1;
  }

  // kLow rounds of partners in a register, then `bits` of partners apart.
  template <class Kind, int kLow>
  int rounds(int i, int bit, int bits) {
    if (bits == 1)
      through<Kind, kLow, 1>(i, bit);
    else if (bits == 2)
      through<Kind, kLow, std::min(2, kMostBits)>(i, bit);
    else
      through<Kind, kLow, kMostBits>(i, bit);
    return kLow + bits;
  }

  // Blocks through one round of partners in a register (kBits = 0), or through kLow such rounds
  // and kBits of partners that are 2^bit and more apart.
  template <class Kind, int kLow, int kBits>
  void through(int i, int bit) {
    using B = Block<kBits, Noise, Network, kBusy>;
    constexpr int kSteps = kLow + std::max(kBits, 1);
    const Costs costs = p_.costs;  // which the stores can not change, unless others are shown it
    const Surroundings<Noise, Network> by{costs,   noise_,           net_,
                                          p_.seed, job_.realization, draws_.at(i)};
    Step steps[kSteps];
    Seen seen[kSteps];
    bool observed = false;
    for (int s = 0; s < kSteps; ++s) {
      steps[s] = p_.steps[i + s];
      seen[s] = kNothing;
      observed |= observer_.observes(steps[s]);
    }
    const std::int64_t apart = kBits > 0 ? std::int64_t{1} << bit : kLanes;
    const std::int64_t y_apart =
        kDrawn && kBits > 0 ? std::int64_t{1} << part_.local_bit(bit) : apart;
    const std::int64_t end = last(), from = from_;
    const TileMap part = part_;
    Tick *const sent = s_.sent, *const busy = s_.busy, *const next = s_.next;
    const TileRanks ranks_of{state_.map, state_.base, state_.ranks};
    for (std::int64_t start = first(); start < end; start += y_apart << kBits) {
      for (std::int64_t y = start; y < start + y_apart; y += kLanes) {
        const std::int64_t x = kDrawn ? from + part.offset(y) : y;
        B block(by, where<typename B::At>({next + x, apart}, x, y, y_apart, ranks_of));
        each<B::kSize>([&](auto k) JF_INLINE {
          block.sent[k] = load(sent + x + k * apart);
          if (kBusy) block.busy[k] = load(busy + x + k * apart);
        });
        const auto after = [&](auto s) JF_INLINE {
          if (observed && observer_.observes(steps[s]))
            observer_.see(steps[s].row, x, apart, block.ready, seen[s]);
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
          store(sent + x + k * apart, block.sent[k]);
          if (kBusy) store(busy + x + k * apart, block.busy[k]);
        });
      }
    }
    for (int s = 0; s < kSteps; ++s)
      if (observer_.observes(steps[s])) observer_.note(steps[s].row, seen[s]);
  }

  template <class At>
  JF_HD static At where(const Where at, std::int64_t x, std::int64_t y, std::int64_t y_apart,
                        const TileRanks& ranks_of) {
    if constexpr (kDrawn)
      return {at, x, y, y_apart, &ranks_of};
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
