// A message pass on the CPU. T = Lanes: a register holds the same rank of several realizations, so
// that whoever the partner of a rank is, its state is a register too, and noise of any kind is met
// lane by lane. T = Tick: the same of one realization, without registers.
//
// Steps in which all partners are near each other are done together, for one block of ranks after
// the other, so that the state of these ranks stays in the nearest cache.
#pragma once

#include <algorithm>
#include <type_traits>

#include "message_job.h"

namespace jf {
namespace {

template <class T, class Noise, class Network, bool kLinks, class R>
class MessageRun {
  static constexpr int kLanesOf = sizeof(T) / sizeof(Tick);
  // Ranks: 5 arrays of them are 160 KiB.
  static constexpr std::int64_t kBlock = 4096 / kLanesOf;
  static constexpr int kTogether = 8;
  using Ranks = MessageRanks<T, Noise, Network, kLinks, R>;
  using Turn = typename Ranks::Turn;

 public:
  MessageRun(const MessageJob& job, const Noise& noise, const Network& network, R realizations)
      : job_(job),
        p_(*job.program),
        network_(network),
        ranks_{p_, noise, network, realizations, job.state} {}

  void run() {
    const int end = job_.pass->end;
    for (int i = job_.pass->begin; i < end && !stop_;) {
      int last = i;
      while (last < end && in_blocks(p_.steps[last])) ++last;
      if (last == i) {
        if (begun_ == kNone && among_roots(p_.steps[i])) begin_roots();
        if (begun_ == kNone || !among_roots(p_.steps[i])) begin_all();
        step(p_.steps[i], 0, p_.ranks);
        ++i;
      } else {
        for (std::int64_t from = 0; from < p_.ranks && !stop_; from += kBlock) {
          const std::int64_t to = std::min(from + kBlock, p_.ranks);
          begin(from, to);
          for (int k = i; k < last && !stop_; ++k) step(p_.steps[k], from, to);
        }
        begun_ = kAll;
        i = last;
      }
    }
    if (!stop_) leave();
  }

 private:
  enum Begun { kNone, kRoots, kAll };

  // Whether the partners of a step are in the same block.
  static bool in_blocks(const Step& s) {
    switch (s.kind) {
      case kCompute:
        return true;
      case kForward:
        return s.round < 63 && std::int64_t{1} << s.round < kBlock;
      default:
        return (s.map == kTree && 2 * std::int64_t{s.a} <= kBlock) ||
               (s.map == kXor && s.a < kBlock);
    }
  }
  // Whether it leaves all ranks alone but the first ones of blocks.
  bool among_roots(const Step& s) const {
    return s.kind == kMessage && s.map == kTree && s.a % kBlock == 0 && s.row < 0 &&
           !catches_up(s, 0);
  }

  void begin_roots() {
    for (std::int64_t i = 0; i < p_.ranks; i += kBlock) begin_rank(i);
    begun_ = kRoots;
  }
  void begin_all() {
    for (std::int64_t from = 0; from < p_.ranks; from += kBlock)
      begin(from, std::min(from + kBlock, p_.ranks));
    begun_ = kAll;
  }
  // The ranks of a block, if they have not begun yet.
  void begin(std::int64_t from, std::int64_t to) {
    if (begun_ == kAll) return;
    std::int64_t i = from;
    if (begun_ == kRoots) ++i;
    if constexpr (std::is_same_v<Noise, Periodic> && kLanesOf > 1) {
      if (job_.first_pass && ranks_.noise.drawn_alone()) {
        if (i % 2 != 0 && i < to) begin_rank(i++);
        i = begin_together(i, to);
      }
    }
    for (; i < to; ++i) begin_rank(i);
    work_done(to - from);
  }
  void begin_rank(std::int64_t i) const {
    load(i);
    ranks_.begin(i, job_.pass->load != 0, job_.first_pass);
  }
  // Neighbours share random numbers: some are drawn together. Returns the first rank that is left.
  std::int64_t begin_together(std::int64_t i, std::int64_t to) const {
    T phases[kTogether];
    for (; i + kTogether <= to; i += kTogether) {
      draw_phases(ranks_.noise, p_.seed, i, ranks_.realization, phases);
      for (int k = 0; k < kTogether; ++k) {
        load(i + k);
        ranks_.begin_times(i + k, job_.pass->load != 0, job_.first_pass);
        ranks_.begin_next(i + k, ranks_.noise.first(phases[k]));
      }
    }
    return i;
  }

  // From and to what is between passes.
  void load(std::int64_t i) const {
    if (!job_.pass->load) return;
    Tick* sent = job_.state.sent + i * job_.state.stride;
    for (int k = 0; k < kLanesOf; ++k)
      sent[k] = job_.memory[realization(k) * job_.memory_stride + i];
  }
  void leave() {
    if (begun_ != kAll) begin_all();
    if (!job_.pass->store) return;
    for (int k = 0; k < job_.realizations; ++k)
      for (std::int64_t i = 0; i < p_.ranks; ++i)
        job_.memory[k * job_.memory_stride + i] = job_.state.sent[i * job_.state.stride + k];
    if (!job_.pass->busy_out) return;
    for (int k = 0; k < job_.realizations; ++k)
      for (std::int64_t i = 0; i < p_.ranks; ++i)
        job_.second[k * job_.memory_stride + i] = job_.state.busy[i * job_.state.stride + k];
  }
  int realization(int k) const { return std::min(k, job_.realizations - 1); }

  // All turns of a step, of the ranks of [from, to), whose partners are among them.
  void step(const Step& s, std::int64_t from, std::int64_t to) {
    if (s.kind == kForward) {
      forward(s, from, to);
    } else if (s.kind == kCompute) {
      for (std::int64_t i = from; i < to; ++i) ranks_.work(s, i);
      work_done(to - from);
    } else if (s.kind == kMessage) {
      for (std::int32_t turn = 0; turn < s.repeat && !stop_; ++turn) messages(s, turn, from, to);
    }
    if (s.row >= 0) observe(s.row, from, to);
  }

  void forward(const Step& s, std::int64_t from, std::int64_t to) {
    Tick* const left = job_.state.left;
    for (std::int64_t i = from; i < to; ++i) ranks_.put(left, i, ranks_.forward_leaves(s, i));
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t partner = forward_partner(s, p_.ranks, i);
      if (partner == kNobody) continue;
      ranks_.forward_comes(s, i, ranks_.get(left, i), ranks_.get(left, partner));
    }
    work_done(to - from);
  }

  void messages(const Step& s, std::int32_t number, std::int64_t from, std::int64_t to) {
    if (catches_up(s, number))
      for (std::int64_t i = from; i < to; ++i) ranks_.catch_up(i);
    const Turn turn(p_, network_, s, number);
    if (s.map == kTree) {
      const std::int64_t a = s.a, below = std::min<std::int64_t>(s.b, to);
      for (std::int64_t i = from; i + a < below; i += 2 * a)
        s.c != 0 ? message(turn, i, i + a) : message(turn, i + a, i);
      work_done((to - from) / a);
    } else if (s.map == kXor) {
      const std::int64_t below = std::min<std::int64_t>(s.b, to);
      send(turn, from, below);
      for (std::int64_t i = from; i < below; ++i) receive(turn, i, i ^ s.a);
      work_done(2 * (below - from));
    } else if (s.map == kRange) {
      const std::int64_t begin = s.a, end = s.b;
      if (goes_one_way(s)) {
        for (std::int64_t i = begin; i < end; ++i) message(turn, i, i + s.c);
      } else {
        send(turn, begin, end);
        for (std::int64_t i = begin; i < end; ++i) receive(turn, i + s.c, i);
      }
      work_done(2 * (end - begin));
    } else if (s.a != 0) {
      send(turn, from, to);
      for (std::int64_t i = 0; i < s.a; ++i) receive(turn, i, i - s.a + p_.ranks);
      for (std::int64_t i = s.a; i < to; ++i) receive(turn, i, i - s.a);
      work_done(2 * (to - from));
    }
  }
  void message(const Turn& turn, std::int64_t from, std::int64_t to) const {
    ranks_.receive(turn, to, ranks_.send(turn, from));
  }
  // Where ranks send and receive in one turn: first all send.
  void send(const Turn& turn, std::int64_t from, std::int64_t to) const {
    for (std::int64_t i = from; i < to; ++i) ranks_.put(job_.state.left, i, ranks_.send(turn, i));
  }
  void receive(const Turn& turn, std::int64_t i, std::int64_t from) const {
    ranks_.receive(turn, i, ranks_.get(job_.state.left, from));
  }

  void observe(int row, std::int64_t from, std::int64_t to) {
    if (p_.one_rank) to = std::min<std::int64_t>(to, from == 0 ? 1 : from);
    T most = T{} + INT64_MIN, least = T{} + INT64_MAX, high{}, low{};
    for (std::int64_t i = from; i < to; ++i) {
      const T t = ranks_.get(job_.state.sent, i);
      most = later(most, t);
      if (job_.full_statistics) {
        least = earlier(least, t);
        high += t >> 32;
        low += t & 0xffffffff;
      }
      if (job_.capture != nullptr)
        job_.capture[row * p_.ranks + i] = job_.state.sent[i * job_.state.stride];
    }
    for (int k = 0; k < job_.realizations; ++k) {
      const auto of = [&](const T& v) { return reinterpret_cast<const Tick*>(&v)[k]; };
      job_.observations[k * p_.rows + row].merge({of(most), of(least), of(high), of(low)});
    }
    work_done(to - from);
  }

  void work_done(std::int64_t messages) {
    done_ += messages;
    if (done_ < kMessagePatience) return;
    done_ = 0;
    stop_ = stopped(job_);
  }

  const MessageJob& job_;
  const ProgramView& p_;
  const Network& network_;
  const Ranks ranks_;
  Begun begun_ = kNone;
  std::int64_t done_ = 0;
  bool stop_ = false;
};

// R: how the realizations of a job are numbered, as MessageRanks has it.
template <class T, class R>
void run_messages(const MessageJob& job, R realizations) {
  with_message_noise(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        const auto bound = bind_lanes(noise, realizations, job.cursors, job.cursor_stride);
        using Bound = std::decay_t<decltype(bound)>;
        if (job.program->links)
          MessageRun<T, Bound, Network, true, R>(job, bound, network, realizations).run();
        else
          MessageRun<T, Bound, Network, false, R>(job, bound, network, realizations).run();
      });
}

}  // namespace
}  // namespace jf
