// One tile through the steps of a pass, vectorized over ranks.
#pragma once

#include <algorithm>

#include "block.h"
#include "observer.h"
#include "tile_state.h"
// clang-format off
#include "../segment.h"
#include "prepare.h"
#include "tile_job.h"
// clang-format on

namespace jf {

// Without a name outside its compilation: else the linker would keep one instruction set's for all.
namespace {

template <class Noise, class Network, bool kBusy>
class TileRun {
  // Delays are made a step at a time, and jitter's random numbers need the registers.
  static constexpr bool kOneStep = is_general<Noise> || Network::on;
  // Rounds in registers. Half of them are for what is computed on the way.
#if defined(__AVX512F__)
  static constexpr int kMostBits = kOneStep ? 1 : 3;
#else
  static constexpr int kMostBits = kOneStep ? 1 : 2;
#endif
  // At most 24 KiB, draws aside, and such that all rounds in it are in full blocks.
  static constexpr int kPartBits =
      kLaneBits + ((kOneStep ? 9 : 10) - kLaneBits) / kMostBits * kMostBits;
  static constexpr std::int64_t kPart = std::int64_t{1} << kPartBits;

 public:
  TileRun(const TileJob& job, const TileScratch& scratch, const Noise& noise, const Network& net)
      : job_(job),
        p_(*job.program),
        s_(scratch),
        state_(job, scratch, noise),
        noise_(state_.noise),
        net_(net),
        observer_(job),
        size_(state_.size) {
    if constexpr (is_general<Noise>) {
      noise_.prepare = true;
      noise_.roles = noise_.windows | (noise_.roles & 1 << kComputeRole);
    }
    if constexpr (is_general<Network>) net_.prepare = true;
  }

  // Steps whose partners are near each other are done part by part: a part stays in L1.
  void run() {
    const int begin = job_.pass->begin, end = job_.pass->end;
    int i = begin;
    do {
      const int apart = near_until(i);
      const std::int64_t part = i < apart ? std::min(size_, kPart) : size_;
      const int until = i < apart ? apart : far_until(i);
      for (from_ = 0; from_ < size_; from_ += part) {
        to_ = from_ + part;
        steps(i == begin ? first_step() : i, until);
        if (until == end && job_.pass->store) state_.leave(from_, to_);
      }
      i = until;
    } while (i < end);
  }

 private:
  void steps(int i, int end) {
    while (i < end) {
      const Step& step = p_.steps[i];
      prepare(step, continues(i));
      if (step.kind == kForward)
        i = partners<Forwarded>(i, end);
      else if (step.kind == kExchange && (step.flags & kCopy) != 0)
        i = partners<std::conditional_t<kBusy, Copied, Original>>(i, end);  // no copies: never
      else if (step.kind == kExchange && (step.flags & kAsk) != 0)
        i = partners<std::conditional_t<kBusy, Asked, Original>>(i, end);
      else if (step.kind == kExchange)
        i = partners<Original>(i, end);
      else
        i = alone(i, [this](std::int64_t x) JF_INLINE { return state_.get(x); });
    }
  }

  // Takes the state as it is before the pass, and the first step with it if that needs no partner.
  // Returns the step that is next.
  int first_step() {
    const int i = job_.pass->begin;
    state_.draw_noise(from_, to_);
    if (!pairs(p_.steps[i])) {
      prepare(p_.steps[i], false);
      return alone(i, [this](std::int64_t x) JF_INLINE { return state_.before(x); });
    }
    for (std::int64_t x = from_; x < to_; x += kLanes) state_.put(x, state_.before(x));
    return i;
  }

  static bool pairs(const Step& step) { return step.kind == kExchange || step.kind == kForward; }

  // The first step from i on whose partners are not (or are) within a part.
  int near_until(int i) const {
    while (i < job_.pass->end && near(i)) ++i;
    return i;
  }
  int far_until(int i) const {
    while (i < job_.pass->end && !near(i)) ++i;
    return i;
  }
  bool near(int i) const { return !pairs(p_.steps[i]) || local_bit(i) < kPartBits; }

  // A step that each rank does alone, from what source(x) says. Returns the step after it.
  template <class Source>
  int alone(int i, Source&& source) {
    const Step& step = p_.steps[i];
    Seen seen = kNothing;
    const bool observed = observer_.observes(step);
    for (std::int64_t x = from_; x < to_; x += kLanes) {
      Clock<Lanes> c = source(x), quiet = c;
      Lanes ready = act_alone(NoNoise{}, step, quiet);
      // As in Block::exchange_few; but after forwards `next` may have been made for a later time.
      if (std::is_same_v<Noise, Periodic> && (step.flags & kAfterForward) == 0 &&
          !any_greater(quiet.busy, c.next))
        c = quiet;
      else
        ready = act_alone(noise_, step, c);
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
    while (i + steps < end && continue_each_other(i + steps - 1)) ++steps;
    const int bit = local_bit(i);
    if (bit >= kLaneBits) return i + rounds<Kind, 0>(i, bit, std::min(steps, kMostBits));
    if (!kOneStep && bit == 0 && steps > kLaneBits)
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

  int local_bit(int i) const { return job_.pass->map.local_bit(p_.steps[i].round); }

  bool continue_each_other(int i) const {
    const Step &a = p_.steps[i], &b = p_.steps[i + 1];
    return a.kind == b.kind && (a.flags & kMirrored) == (b.flags & kMirrored) &&
           local_bit(i + 1) == local_bit(i) + 1;
  }

  // Blocks through one round of partners in a register (kBits = 0), or through kLow such rounds
  // and kBits of partners that are 2^bit and more apart.
  template <class Kind, int kLow, int kBits>
  void through(int i, int bit) {
    using B = Block<kBits, Noise, Network, kBusy>;
    constexpr int kSteps = kLow + std::max(kBits, 1);
    const Surroundings<Noise, Network> by{p_.costs, noise_, net_, p_.seed, job_.realization};
    const Step* steps = p_.steps + i;
    Seen seen[kSteps];
    bool observed = false;
    for (int s = 0; s < kSteps; ++s) {
      seen[s] = kNothing;
      observed |= observer_.observes(steps[s]);
    }
    const std::int64_t apart = kBits > 0 ? std::int64_t{1} << bit : kLanes;
    for (std::int64_t start = from_; start < to_; start += apart << kBits) {
      for (std::int64_t x = start; x < start + apart; x += kLanes) {
        B block(by, s_.next + x, apart);
        unrolled<B::kSize>([&](auto k) JF_INLINE {
          const std::int64_t at = x + k * apart;
          block.sent[k] = load(s_.sent + at);
          if (kBusy) block.busy[k] = load(s_.busy + at);
          block.id[k] = kOneStep ? state_.rank(at) : Lanes{};
        });
        const auto after = [&](auto s) JF_INLINE {
          if (observed && observer_.observes(steps[s]))
            observer_.see(steps[s].row, x, apart, block.ready, seen[s]);
        };
        if constexpr (kBits == 0) {
          block.template among_lanes<Kind>(steps[0], bit);
          after(std::integral_constant<int, 0>());
        } else {
          unrolled<kLow>([&](auto b) JF_INLINE {
            block.template among_lanes<Kind>(steps[b], b);
            after(b);
          });
          unrolled<kBits>([&](auto b) JF_INLINE {
            block.template among_registers<Kind, b>(steps[kLow + b]);
            after(std::integral_constant<int, kLow + b>());
          });
        }
        unrolled<B::kSize>([&](auto k) JF_INLINE {
          const std::int64_t at = x + k * apart;
          store(s_.sent + at, block.sent[k]);
          if (kBusy) store(s_.busy + at, block.busy[k]);
        });
      }
    }
    for (int s = 0; s < kSteps; ++s)
      if (observer_.observes(steps[s])) observer_.note(steps[s].row, seen[s]);
  }

  // Draws the delays of a step beforehand.
  void prepare(const Step& step, bool goes_on) {
    const bool exchange = step.kind == kExchange, enter = step.kind == kEnter;
    const Part part{from_, to_};
    const auto rank_of = [this](std::int64_t x) JF_INLINE { return state_.rank(x); };
    const auto place = [this](const Tick* delays) {
      const TileMap& map = job_.pass->map;
      return Prepared{delays, map.low_bits, map.window_start, map.window_bits};
    };
    if constexpr (is_general<Noise>) {
      noise_.prepared[kReceiveRole] = noise_.prepared[kSendRole] = place(nullptr);
      if (exchange)
        noise_.prepared[kReceiveRole] =
            place(prepare_steps(noise_, kReceiveRole, step.draw, size_, part, rank_of, goes_on,
                                s_.step_draws, s_.sums[0]));
      if ((exchange || enter) && (step.flags & kFinal) == 0)
        noise_.prepared[kSendRole] =
            place(prepare_steps(noise_, kSendRole, step.draw + exchange, size_, part, rank_of,
                                goes_on, s_.step_draws, s_.sums[1]));
    }
    if constexpr (is_general<Network>) {
      net_.prepared = place(nullptr);
      if (exchange || step.kind == kForward)
        net_.prepared = place(prepare_messages(
            net_, p_.seed, job_.realization, exchange ? kOriginalJitter : kForwardJitter, step.draw,
            size_, part, rank_of, goes_on, s_.message_draws, s_.sums[2]));
    }
  }

  // The step before has made draws of the same blocks, for all ranks of the tile.
  bool continues(int i) const {
    if (i == job_.pass->begin) return false;
    const Step &step = p_.steps[i], &before = p_.steps[i - 1];
    // Entering draws for the send alone, whose number is then even: the exchange makes its own.
    if (step.kind == kExchange && before.kind == kEnter)
      return step.draw == before.draw && (step.draw & 1) == 0;
    return step.kind == before.kind && step.draw == before.draw + 1;
  }

  const TileJob& job_;
  const ProgramView& p_;
  const TileScratch& s_;
  TileState<Noise, kBusy> state_;
  Noise& noise_;
  Network net_;
  const Observer observer_;
  const std::int64_t size_;
  std::int64_t from_ = 0, to_ = 0;  // the part in work
};

}  // namespace

}  // namespace jf
