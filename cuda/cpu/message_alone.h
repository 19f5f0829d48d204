// What a message pass does besides sending messages: it takes the ranks as the pass before left
// them, computes, forwards, and looks at them.
#pragma once

#include "message_lanes.h"
#include "message_noise.h"

namespace jf {
namespace {

template <class Noise, class Network, bool kLinks>
struct MessageAlone {
  using Rules = MessageLanes<Noise, Network, kLinks>;
  static constexpr std::int64_t kMask = kLanes - 1;

  MessageAlone(const MessageJob& job, const Noise& noise, const Network& network)
      : job_(job),
        p_(*job.program),
        noise_(noise),
        network_(network),
        s_(job.state),
        size_((p_.ranks + kMask) & ~kMask),
        lanes_{p_, noise_, job.realization, s_.next, s_.in, s_.out} {}

  // As MessageRanks::begin.
  void begin() {
    if (!job_.first) {
      if (p_.costs.forward > 0) std::copy(s_.sent, s_.sent + size_, s_.busy);
      return;
    }
    const std::int64_t known = job_.pass->load ? std::int64_t{1} << p_.log2_ranks : 0;
    begin_ranks(0, size_, known);
    if (known < kLanes) std::fill(s_.sent + known, s_.sent + kLanes, Tick{0});
    if (p_.costs.forward > 0) std::copy(s_.sent, s_.sent + size_, s_.busy);
    at_start_ = !job_.pass->load;
    if (!at_start_) seek_all(false);
  }

  // Ranks of [from, to), those from `known` on at time 0.
  void begin_ranks(std::int64_t from, std::int64_t to, std::int64_t known) const {
    const FirstNoise<Noise> noise(p_, noise_, job_.realization);
    const MessageState s = s_;
    // Part by part, so that a core computes while it stores.
    for (std::int64_t part = from; part < to; part += kBlock) {
      const std::int64_t end = std::min<std::int64_t>(part + kBlock, to);
      noise.draw(part, end, s.next);
      for (std::int64_t x = part; x < end; x += kLanes) {
        if (x >= known) store(s.sent + x, Lanes{});
        if constexpr (kLinks) {
          store(s.in + x, broadcast(kNothingCame));
          store(s.out + x, Lanes{});
        }
      }
    }
  }

  void seek_all(bool back) {
    for (std::int64_t x = 0; x < size_; x += kLanes) {
      Lanes next = load(s_.next + x);
      seek(noise_, next, load(s_.busy + x), back);
      store(s_.next + x, next);
    }
  }

  // Compute phase. At the start, one without work is nothing: the noise is right for time 0.
  void work(const Step& s) {
    if (at_start_ && !is_general<Noise> && p_.costs.work == 0) return;
    at_start_ = false;
    for (std::int64_t x = 0; x < size_; x += kLanes) work(s, x);
    count(size_);
  }
  JF_HD void work(const Step& s, std::int64_t x) const {
    Clock<Lanes> c{load(s_.sent + x), load(s_.busy + x), load(s_.next + x), lanes_.ranks(x)};
    compute(noise_, p_.costs, s, c);
    store(s_.next + x, c.next);
    store(s_.busy + x, c.busy);
    store(s_.sent + x, c.busy);
  }

  void count(std::int64_t ranks) {
    done_ += ranks;
    if (done_ < kMessagePatience) return;
    done_ = 0;
    stop_ = stopped(job_);
  }

  void forward(const Step& s) {
    const std::int64_t bit = std::int64_t{1} << s.round, high = bit & ~kMask;
    const Lanes order = lane_index() ^ (bit & kMask);
    const auto joined = [&](Lanes id) JF_INLINE { return (id ^ bit) < p_.ranks; };
    for (std::int64_t x = 0; x < size_; x += kLanes) {
      const Clock<Lanes> c{load(s_.sent + x), load(s_.busy + x), load(s_.next + x),
                           lanes_.ranks(x)};
      store(s_.left + x, select(joined(c.id), forward_sent(noise_, p_.costs, c), c.busy));
    }
    const Network network = network_of_forwards(network_, p_);
    for (std::int64_t x = 0; x < size_; x += kLanes) {
      if ((x ^ high) >= size_) continue;  // partners of none of these
      const Lanes left = load(s_.left + x);
      Lanes from = load(s_.left + (x ^ high));
      if (high == 0) from = __builtin_shuffle(from, order);
      Clock<Lanes> c{load(s_.sent + x), load(s_.busy + x), Lanes{}, lanes_.ranks(x)};
      const Clock<Lanes> before = c;
      Lanes at = from + p_.costs.transit;
      if constexpr (Network::on)
        at += network.delay(p_.seed, kForwardJitter, static_cast<std::uint32_t>(s.draw), c.id,
                            job_.realization, from);
      take_forward(left, at, c);
      store(s_.busy + x, select(joined(c.id), c.busy, before.busy));
      store(s_.sent + x, select(joined(c.id), c.sent, before.sent));
    }
    count(2 * size_);
  }

  void observe(int row) {
    Observation& o = job_.observations[row];
    if (p_.one_rank) {
      o.see(s_.sent[0]);
      return;
    }
    const std::int64_t full = p_.ranks & ~kMask;
    Seen seen = kNothing;
    for (std::int64_t x = 0; x < full; x += kLanes) {
      const Lanes t = load(s_.sent + x);
      seen.max = later(seen.max, t);
      if (!job_.full_statistics) continue;
      seen.min = earlier(seen.min, t);
      seen.hi += t >> 32;
      seen.lo += t & 0xffffffff;
    }
    for (unsigned k = 0; k < kLanes && full > 0; ++k)
      o.merge({seen.max[k], seen.min[k], seen.hi[k], seen.lo[k]});
    for (std::int64_t i = full; i < p_.ranks; ++i) o.see(s_.sent[i]);
    if (job_.capture != nullptr)
      std::copy(s_.sent, s_.sent + p_.ranks, job_.capture + row * p_.ranks);
  }

  const MessageJob& job_;
  const ProgramView& p_;
  const Noise noise_;
  const Network network_;
  const MessageState s_;
  const std::int64_t size_;  // ranks, in full registers: those that there are not run along
  const Rules lanes_;
  bool at_start_ = false;  // no rank has done anything yet
  std::int64_t done_ = 0;
  bool stop_ = false;
};

}  // namespace
}  // namespace jf
