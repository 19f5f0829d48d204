// One tile through the steps of a pass, vectorized over ranks.
#pragma once

// First: built-in vector types have no namespace, so templates only see overloads for them that
// are declared before.
// clang-format off
#include "simd.h"
// clang-format on
#include "../segment.h"
#include "prepare.h"
#include "tile_job.h"

namespace jf {

// For lambdas: a call in the loops over ranks would send their registers through memory.
#define JF_INLINE __attribute__((always_inline))

// Without a name outside its compilation: else the linker would keep one instruction set's for all.
namespace {

template <class Noise, class Network, bool kBusy>
class TileRun {
 public:
  TileRun(const TileJob& job, const TileScratch& scratch, const Noise& noise, const Network& net)
      : job_(job),
        p_(*job.program),
        map_(job.pass->map),
        s_(scratch),
        noise_(bind(noise, job.realization, job.cursors)),
        net_(net) {
    base_ = map_.base(job.tile);
    ranks_ = map_.size();
    size_ = ranks_ < kLanes ? kLanes : ranks_;
    if constexpr (is_general<Noise>) {
      noise_.prepare = true;
      noise_.roles = noise_.windows | (noise_.roles & 1 << kComputeRole);
    }
    if constexpr (is_general<Network>) net_.prepare = true;
  }

  void run() {
    load_state();
    for (int i = job_.pass->begin; i < job_.pass->end; ++i) {
      const Step& step = p_.steps[i];
      seen_ = {broadcast(INT64_MIN), broadcast(INT64_MAX), Lanes{}, Lanes{}};
      observing_ = step.row >= 0 && !(p_.one_rank && base_ != 0);
      row_ = step.row;
      prepare(step, continues(i));
      switch (step.kind) {
        case kCompute:
          each([&](std::int64_t, Clock<Lanes>& c) {
            compute(noise_, p_.costs, step, c);
            return c.busy;
          });
          break;
        case kEnter:
          each([&](std::int64_t, Clock<Lanes>& c) { return enter(noise_, p_.costs, step, c); });
          break;
        case kObserve:
          each([&](std::int64_t, Clock<Lanes>& c) { return c.sent; });
          break;
        case kExchange:
          if (step.flags & kCopy)
            copy_step(step);
          else
            exchange_step(step);
          break;
        case kForward:
          forward_step(step);
          break;
      }
      if (observing_) job_.observations[row_].merge(reduce());
    }
    if (job_.pass->store) store_state();
  }

 private:
  struct Seen {
    Lanes max, min, hi, lo;
  };

  // Draws the delays of a step beforehand.
  void prepare(const Step& step, bool goes_on) {
    const bool exchange = step.kind == kExchange, enter = step.kind == kEnter;
    const auto rank_of = [this](std::int64_t x) JF_INLINE { return rank(x); };
    const auto place = [this](const Tick* delays) {
      return Prepared{delays, map_.low_bits, map_.window_start, map_.window_bits};
    };
    if constexpr (is_general<Noise>) {
      noise_.prepared[kReceiveRole] = noise_.prepared[kSendRole] = place(nullptr);
      if (exchange)
        noise_.prepared[kReceiveRole] = place(prepare_steps(
            noise_, kReceiveRole, step.draw, size_, rank_of, goes_on, s_.step_draws, s_.sums[0]));
      if ((exchange || enter) && (step.flags & kFinal) == 0)
        noise_.prepared[kSendRole] =
            place(prepare_steps(noise_, kSendRole, step.draw + exchange, size_, rank_of, goes_on,
                                s_.step_draws, s_.sums[1]));
    }
    if constexpr (is_general<Network>) {
      net_.prepared = place(nullptr);
      if (exchange || step.kind == kForward)
        net_.prepared = place(prepare_messages(
            net_, p_.seed, job_.realization, exchange ? kOriginalJitter : kForwardJitter, step.draw,
            size_, rank_of, goes_on, s_.message_draws, s_.sums[2]));
    }
  }

  // The step before has made draws of the same blocks, for all ranks of the tile.
  bool continues(int i) const {
    if (i == job_.pass->begin) return false;
    const Step &step = p_.steps[i], &before = p_.steps[i - 1];
    if (step.kind == kExchange && before.kind == kEnter) return step.draw == before.draw;
    return step.kind == before.kind && step.draw == before.draw + 1;
  }

  JF_HD Lanes rank(std::int64_t x) const {
    if (ranks_ < kLanes) return lane_index() & (ranks_ - 1);
    return broadcast(base_ + map_.offset(x)) + lane_index();
  }

  JF_HD Clock<Lanes> get(std::int64_t x) const {
    const Lanes sent = load(s_.sent + x);
    return {sent, kBusy ? load(s_.busy + x) : sent, load(s_.next + x), rank(x)};
  }

  JF_HD void put(std::int64_t x, const Clock<Lanes>& c) const {
    store(s_.sent + x, c.sent);
    if (kBusy) store(s_.busy + x, c.busy);
    store(s_.next + x, c.next);
  }

  JF_HD void see(std::int64_t x, Lanes t) {
    if (!observing_ || (p_.one_rank && x != 0)) return;
    seen_.max = later(seen_.max, t);
    if (job_.full_statistics) {
      seen_.min = earlier(seen_.min, t);
      seen_.hi += t >> 32;
      seen_.lo += t & 0xffffffff;
    }
    if (job_.capture != nullptr) {
      Tick* row = job_.capture + (static_cast<std::int64_t>(row_) << map_.log2_ranks);
      for (int k = 0; k < kLanes && k < ranks_; ++k) row[base_ + map_.offset(x) + k] = t[k];
    }
  }

  Observation reduce() const {
    // With fewer ranks than lanes the other lanes repeat them.
    Observation o = Observation::nothing();
    for (int k = 0; k < kLanes && k < (p_.one_rank ? 1 : ranks_); ++k)
      o.merge({seen_.max[k], seen_.min[k], seen_.hi[k], seen_.lo[k]});
    return o;
  }

  template <class F>
  void each(F&& f) {
    for (std::int64_t x = 0; x < size_; x += kLanes) {
      Clock<Lanes> c = get(x);
      see(x, f(x, c));
      put(x, c);
    }
  }

  // Calls f(x, y, partner of x, partner of y, ...) on pairs of registers that are partners of each
  // other, or, when partners share a register, on single ones.
  template <class Pair, class Single>
  JF_HD void partners(const Step& step, Pair&& pair, Single&& single) {
    const int bit = map_.local_bit(step.round);
    if (bit < kLaneBits) {
      for (std::int64_t x = 0; x < size_; x += kLanes) single(x, bit);
      return;
    }
    const std::int64_t half = std::int64_t{1} << bit;
    for (std::int64_t block = 0; block < size_; block += 2 * half)
      for (std::int64_t x = block; x < block + half; x += kLanes) pair(x, x + half);
  }

  JF_HD Lanes delay(Purpose purpose, const Step& step, std::int64_t x, Lanes left) const {
    if (!Network::on) return Lanes{};
    return net_.delay(p_.seed, purpose, static_cast<std::uint32_t>(step.draw), rank(x),
                      job_.realization, left);
  }

  JF_HD Lanes arrival(Purpose purpose, const Step& step, std::int64_t x, Lanes left) const {
    return left + p_.costs.transit + delay(purpose, step, x, left);
  }

  // Calls one(x, clock, what the partner sent) on each register, with both partners' clocks as
  // they were before.
  template <class One>
  JF_HD void with_sent(const Step& step, One&& one) {
    partners(
        step,
        [&](std::int64_t x, std::int64_t y) JF_INLINE {
          Clock<Lanes> a = get(x), b = get(y);
          const Lanes from_a = a.sent;
          one(x, a, b.sent);
          one(y, b, from_a);
        },
        [&](std::int64_t x, int bit) JF_INLINE {
          Clock<Lanes> c = get(x);
          one(x, c, swap_lanes(c.sent, bit));
        });
  }

  void exchange_step(const Step& step) {
    with_sent(step, [&](std::int64_t x, Clock<Lanes>& c, Lanes partner) JF_INLINE {
      see(x, exchange(noise_, p_.costs, step, arrival(kOriginalJitter, step, x, partner), c));
      put(x, c);
    });
  }

  void copy_step(const Step& step) {
    with_sent(step, [&](std::int64_t x, Clock<Lanes>& c, Lanes partner) JF_INLINE {
      const Lanes original = arrival(kOriginalJitter, step, x, partner);
      const auto own = own_path(noise_, p_.costs, step, original, c);
      const Lanes copy = arrival(kCopyJitter, step, x, swap_lanes(own.after.busy, 0));
      see(x, settle(noise_, p_.costs, step, original, copy, own, c));
      put(x, c);
    });
  }

  void forward_step(const Step& step) {
    const auto one = [&](std::int64_t x, Clock<Lanes>& c, Lanes left,
                         Lanes partner_left) JF_INLINE {
      see(x, take_forward(left, arrival(kForwardJitter, step, x, partner_left), c));
      put(x, c);
    };
    partners(
        step,
        [&](std::int64_t x, std::int64_t y) JF_INLINE {
          Clock<Lanes> a = get(x), b = get(y);
          const Lanes left_a = forward_sent(noise_, p_.costs, a),
                      left_b = forward_sent(noise_, p_.costs, b);
          one(x, a, left_a, left_b);
          one(y, b, left_b, left_a);
        },
        [&](std::int64_t x, int bit) JF_INLINE {
          Clock<Lanes> c = get(x);
          const Lanes left = forward_sent(noise_, p_.costs, c);
          one(x, c, left, swap_lanes(left, bit));
        });
  }

  void load_state();
  void store_state() const;

  const TileJob& job_;
  const ProgramView& p_;
  const TileMap map_;
  const TileScratch& s_;
  Noise noise_;
  Network net_;
  std::int64_t base_, ranks_, size_;
  Seen seen_{};
  bool observing_ = false;
  int row_ = -1;
};

// Phases are drawn again in each pass: cheaper than keeping them in memory.
template <class Noise, class Network, bool kBusy>
void TileRun<Noise, Network, kBusy>::load_state() {
  for (std::int64_t x = 0; x < size_; x += kLanes) {
    const Lanes id = rank(x);
    Clock<Lanes> c{Lanes{}, Lanes{}, begin_noise(noise_, p_.seed, job_.realization, id), id};
    if (job_.pass->load) {
      Lanes packed{};
      const std::int64_t at = base_ + map_.offset(x);
      if (ranks_ < kLanes) {
        for (int k = 0; k < kLanes; ++k) packed[k] = job_.memory[at + (k & (ranks_ - 1))];
      } else {
        __builtin_memcpy(&packed, job_.memory + at, sizeof packed);
      }
      c.sent = c.busy = packed & ~kCopyBit;
      seek(noise_, c.next, c.sent, false);
      if (kBusy) {
        if (job_.pass->busy_in) {
          for (int k = 0; k < kLanes; ++k) c.busy[k] = job_.second[at + (k & (ranks_ - 1))];
        } else if (any(packed < 0)) {
          Clock<Lanes> copied = c;
          copied.busy = communicate(noise_, copied.next, c.sent, p_.costs.send, id);
          c.busy = select(packed < 0, copied.busy, c.busy);
          c.next = select(packed < 0, copied.next, c.next);
        }
      }
    }
    put(x, c);
  }
}

template <class Noise, class Network, bool kBusy>
void TileRun<Noise, Network, kBusy>::store_state() const {
  for (std::int64_t x = 0; x < size_; x += kLanes) {
    const Clock<Lanes> c = get(x);
    const std::int64_t at = base_ + map_.offset(x);
    for (int k = 0; k < kLanes && k < ranks_; ++k) {
      const bool copied = kBusy && !job_.pass->busy_out && c.busy[k] != c.sent[k];
      job_.memory[at + k] = c.sent[k] | (copied ? kCopyBit : 0);
      if (kBusy && job_.pass->busy_out) job_.second[at + k] = c.busy[k];
    }
  }
}

}  // namespace

}  // namespace jf
