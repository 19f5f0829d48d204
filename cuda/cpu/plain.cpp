// Plain scalar CPU engine without SIMD or cache blocking, the reference of all faster ways. Tiles,
// segments and messages rank by rank, without registers of ranks, blocks or short cuts: the
// reference with which all faster ways have to agree, to the tick. JITTERFLY_ISA=plain chooses it.
#include <algorithm>
#include <atomic>
#include <vector>

#include "core/segment.h"
#include "cpu/jobs.h"
#include "cpu/message_pass.h"

namespace jf {
namespace {

// --- One tile: its ranks go through a pass step by step.

template <class Noise, class Network>
class PlainTile {
 public:
  PlainTile(const TileJob& job, const Noise& noise, const Network& network)
      : job_(job),
        p_(*job.program),
        map_(job.pass->map),
        noise_(noise.bind(job.realization, job.cursors, p_.seed)),
        network_(network),
        base_(map_.base(job.tile)),
        ranks_(static_cast<std::size_t>(map_.size())),
        clocks_(ranks_),
        ready_(ranks_) {}

  void run() {
    for (std::size_t x = 0; x < ranks_; ++x)
      clocks_[x] = clock_before(p_, *job_.pass, noise_, job_.realization, rank(x), job_.pass->load,
                                rank(x), job_.sent_between, job_.busy_between);
    for (int i = job_.pass->begin; i < job_.pass->end; ++i) {
      const Step& step = p_.steps[i];
      look_for_stop();
      do_step(step);
      if (step.row < 0) continue;
      for (std::size_t x = 0; x < ranks_; ++x) job_.observe(step.row, rank(x), ready_[x]);
    }
    if (!job_.pass->store) return;
    for (std::size_t x = 0; x < ranks_; ++x)
      store_clock(clocks_[x], *job_.pass, rank(x), job_.sent_between, job_.busy_between);
  }

 private:
  Tick rank(std::size_t x) const { return base_ + map_.offset(static_cast<std::int64_t>(x)); }
  std::size_t partner(const Step& step, std::size_t x) const {
    return x ^ std::size_t{1} << map_.local_bit(step.round);
  }
  Tick arrival(Purpose purpose, const Step& step, std::size_t x, Tick departure) const {
    return departure + p_.costs.transit +
           network_.delay(p_.seed, purpose, static_cast<std::uint32_t>(step.draw), rank(x),
                          job_.realization, departure);
  }

  void do_step(const Step& step) {
    const std::vector<Clock<Tick>> old = clocks_;
    std::vector<Tick> originals(ranks_);
    if (step.kind == kExchange)
      for (std::size_t x = 0; x < ranks_; ++x)
        originals[x] = arrival(kOriginalJitter, step, x, old[partner(step, x)].sent);
    if (step.kind == kExchange && (step.flags & kCopy) != 0) {
      std::vector<OwnPath<Tick>> own(ranks_);
      for (std::size_t x = 0; x < ranks_; ++x)
        own[x] = own_path(noise_, p_.costs, step, originals[x], old[x]);
      for (std::size_t x = 0; x < ranks_; ++x) {
        const Tick copy = arrival(kCopyJitter, step, x, own[x ^ 1].after.busy);
        ready_[x] = settle(noise_, p_.costs, step, originals[x], copy, own[x], clocks_[x]);
      }
      return;
    }
    if (step.kind == kExchange && (step.flags & kAsk) != 0) {
      std::vector<AskedPath<Tick>> own(ranks_);
      for (std::size_t x = 0; x < ranks_; ++x)
        own[x] = asked_path(noise_, p_.costs, step, originals[x], old[x]);
      for (std::size_t x = 0; x < ranks_; ++x) {
        const Tick departure = answer_departure(p_.costs, own[x].asked, own[x ^ 1].ready);
        const Tick answer = arrival(kCopyJitter, step, x, departure);
        ready_[x] = settle_asked(noise_, p_.costs, step, originals[x], answer, own[x], clocks_[x]);
      }
      return;
    }
    for (std::size_t x = 0; x < ranks_; ++x) {
      Clock<Tick>& c = clocks_[x];
      if (step.kind == kCompute) {
        compute(noise_, p_.costs.work, step, c);
        ready_[x] = c.busy;
      } else if (step.kind == kEnter) {
        ready_[x] = enter(noise_, p_.costs, step, c);
      } else if (step.kind == kExchange) {
        ready_[x] = exchange(noise_, p_.costs, step, originals[x], c);
      } else if (step.kind == kForward) {
        const Tick departure = send_forward(noise_, p_.costs, old[partner(step, x)]);
        ready_[x] = receive_forward(send_forward(noise_, p_.costs, old[x]),
                                    arrival(kForwardJitter, step, x, departure), c);
      } else {
        ready_[x] = c.sent;
      }
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

}  // namespace

void run_tile_plain(const TileJob& job, const TileScratch&) {
  with_noise<Delays::kBeforehand>(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        PlainTile<Noise, Network>(job, noise, network).run();
      });
}

// --- One segment (core/segment.h) to its fixed point, on one thread. This way is for segments that
// have no panels (panels.h), or whose early copies do not fit.

namespace {

// Sweeps all levels once. Returns whether a guess changed. Gives up soon after `stop` is set.
template <class Noise, class Network, class Observe>
bool sweep_all(const Segment<Noise, Network>& segment, const Tick* memory,
               const std::atomic<bool>& stop, Observe&& observe) {
  constexpr std::int64_t kPairsBetweenPolls = 1 << 14;  // of `stop`: about a millisecond
  bool changed = false;
  for (std::int64_t x = 0; x < segment.size(); ++x) segment.load(x, memory[segment.rank_of(x)]);
  for (int i = segment.pass.begin; i < segment.pass.end; ++i) {
    for (std::int64_t pair = 0; pair < segment.size() / 2; ++pair) {
      changed |= segment.sweep(i, pair, observe);
      if (pair % kPairsBetweenPolls == 0 && stop.load(std::memory_order_relaxed)) return false;
    }
  }
  return changed;
}

}  // namespace

void run_segment_plain(const TileJob& job, const SegmentScratch& scratch,
                       const std::atomic<bool>& stop) {
  with_noise<Delays::kInStep>(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        const ProgramView& p = *job.program;
        const Noise bound = noise.bind(job.realization, job.cursors, p.seed);
        const Segment<Noise, Network> segment{
            p, *job.pass, bound, network, job.realization, job.pass->map.base(job.tile), scratch};
        const std::int64_t size = segment.size();
        bool observed = false;
        for (int i = job.pass->begin; i < job.pass->end; ++i) observed |= p.steps[i].row >= 0;
        std::fill(scratch.copies, scratch.copies + segment.guess_count(), kNever);
        while (sweep_all(segment, job.sent_between, stop, [](int, std::int64_t, Tick) {})) {
        }
        if (observed) {
          sweep_all(segment, job.sent_between, stop, [&](int row, std::int64_t rank, Tick t) {
            if (row >= 0) job.observe(row, rank, t);
          });
        }
        for (std::int64_t x = 0; x < size; ++x)
          job.sent_between[segment.rank_of(x)] = segment.store(x);
      });
}

// --- A message pass of one realization: also for a huge machine, of which several realizations do
// not fit into memory.

void run_messages_plain(const MessageJob& job) {
  run_messages<Tick>(job, job.first, job.program->seed);
}

}  // namespace jf
