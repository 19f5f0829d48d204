// One tile through the steps of a pass, rank by rank and step by step: no registers of ranks, no
// blocks, no short cuts. What every faster way through a tile has to agree with, to the tick;
// JITTERFLY_ISA=plain chooses it.
#pragma once

#include <vector>

#include "../segment.h"
#include "tile_job.h"

namespace jf::cpu {

template <class Noise, class Network>
class PlainTile {
 public:
  PlainTile(const TileJob& job, const Noise& noise, const Network& network)
      : job_(job),
        p_(*job.program),
        map_(job.pass->map),
        noise_(bind(noise, job.realization, job.cursors)),
        network_(network),
        base_(map_.base(job.tile)),
        ranks_(static_cast<std::size_t>(map_.size())),
        clocks_(ranks_),
        ready_(ranks_) {}

  void run() {
    for (std::size_t x = 0; x < ranks_; ++x) clocks_[x] = before(x);
    for (int i = job_.pass->begin; i < job_.pass->end; ++i) {
      const Step& step = p_.steps[i];
      do_step(step);
      if (step.row >= 0) observe(step.row);
    }
    if (!job_.pass->store) return;
    for (std::size_t x = 0; x < ranks_; ++x) {
      const Clock<Tick>& c = clocks_[x];
      const bool copied = !job_.pass->busy_out && c.busy != c.sent;
      job_.memory[rank(x)] = c.sent | (copied ? kCopyBit : 0);
      if (job_.pass->busy_out) job_.second[rank(x)] = c.busy;
    }
  }

 private:
  Tick rank(std::size_t x) const { return base_ + map_.offset(static_cast<std::int64_t>(x)); }
  std::size_t partner(const Step& step, std::size_t x) const {
    return x ^ std::size_t{1} << map_.local_bit(step.round);
  }
  Tick arrival(Purpose purpose, const Step& step, std::size_t x, Tick left) const {
    return left + p_.costs.transit +
           network_.delay(p_.seed, purpose, static_cast<std::uint32_t>(step.draw), rank(x),
                          job_.realization, left);
  }

  Clock<Tick> before(std::size_t x) const {
    const Tick id = rank(x);
    Clock<Tick> c{0, 0, begin_noise(noise_, p_.seed, job_.realization, id), id};
    if (!job_.pass->load) return c;
    const Tick packed = job_.memory[id];
    c.sent = c.busy = packed & ~kCopyBit;
    seek(noise_, c.next, c.sent, false);
    if (job_.pass->busy_in)
      c.busy = job_.second[id];
    else if (packed < 0)
      c.busy = communicate(noise_, c.next, c.sent, p_.costs.send * job_.pass->copies, id);
    return c;
  }

  void do_step(const Step& step) {
    const std::vector<Clock<Tick>> old = clocks_;
    if (step.kind == kExchange && (step.flags & kCopy) != 0) {
      std::vector<Tick> originals(ranks_);
      std::vector<OwnPath<Tick>> own(ranks_);
      for (std::size_t x = 0; x < ranks_; ++x) {
        originals[x] = arrival(kOriginalJitter, step, x, old[partner(step, x)].sent);
        own[x] = own_path(noise_, p_.costs, step, originals[x], old[x]);
      }
      for (std::size_t x = 0; x < ranks_; ++x) {
        const Tick copy = arrival(kCopyJitter, step, x, own[x ^ 1].after.busy);
        ready_[x] = settle(noise_, p_.costs, step, originals[x], copy, own[x], clocks_[x]);
      }
      return;
    }
    if (step.kind == kExchange && (step.flags & kAsk) != 0) {
      std::vector<Tick> originals(ranks_);
      std::vector<AskedPath<Tick>> own(ranks_);
      for (std::size_t x = 0; x < ranks_; ++x) {
        originals[x] = arrival(kOriginalJitter, step, x, old[partner(step, x)].sent);
        own[x] = asked_path(noise_, p_.costs, step, originals[x], old[x]);
      }
      for (std::size_t x = 0; x < ranks_; ++x) {
        const Tick left = answer_leaves(p_.costs, own[x].asked, own[x ^ 1].ready);
        const Tick answer = arrival(kCopyJitter, step, x, left);
        ready_[x] = settle_asked(noise_, p_.costs, step, originals[x], answer, own[x], clocks_[x]);
      }
      return;
    }
    for (std::size_t x = 0; x < ranks_; ++x) {
      Clock<Tick>& c = clocks_[x];
      if (step.kind == kCompute) {
        compute(noise_, p_.costs, step, c);
        ready_[x] = c.busy;
      } else if (step.kind == kEnter) {
        ready_[x] = enter(noise_, p_.costs, step, c);
      } else if (step.kind == kExchange) {
        const Tick at = arrival(kOriginalJitter, step, x, old[partner(step, x)].sent);
        ready_[x] = exchange(noise_, p_.costs, step, at, c);
      } else if (step.kind == kForward) {
        const Tick left = forward_sent(noise_, p_.costs, old[partner(step, x)]);
        ready_[x] = take_forward(forward_sent(noise_, p_.costs, old[x]),
                                 arrival(kForwardJitter, step, x, left), c);
      } else {
        ready_[x] = c.sent;
      }
    }
  }

  void observe(int row) const {
    for (std::size_t x = 0; x < ranks_; ++x) {
      if (!p_.one_rank || rank(x) == 0) job_.observations[row].see(ready_[x]);
      if (job_.capture != nullptr) job_.capture[row * p_.ranks + rank(x)] = ready_[x];
    }
  }

  const TileJob& job_;
  const ProgramView& p_;
  const TileMap map_;
  const Noise noise_;
  const Network network_;
  const std::int64_t base_;
  const std::size_t ranks_;
  std::vector<Clock<Tick>> clocks_;
  std::vector<Tick> ready_;
};

inline void run_tile_plain(const TileJob& job, const TileScratch&) {
  with_prepared_noise(*job.program,
                      [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
                        PlainTile<Noise, Network>(job, noise, network).run();
                      });
}

}  // namespace jf::cpu
