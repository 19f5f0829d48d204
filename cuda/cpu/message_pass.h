// Message passes on the CPU (trees, shifts, lists), SIMD lanes over realizations. What a rank does
// in a step is `MessageExecutor` of core/message_steps.h; this file chooses the order of ranks.
//
// T = Lanes: a register holds the same rank of several realizations, so that whoever the partner of
// a rank is, its state is a register too, and noise of any kind is met lane by lane. T = Tick: the
// same of one realization, without registers. In short trees few lanes meet noise: those of several
// ranks do it together (message_noise.h).
//
// Steps in which all partners are near each other are done together, for one block of ranks after
// the other, so that the state of these ranks stays in the nearest cache.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/message_steps.h"
#include "cpu/jobs.h"
#include "cpu/message_chunks.h"

namespace jf {
namespace {

// Of cpu/message_noise.h.
template <class T>
class NoiseHits;
template <class T>
struct NotedNoise;

template <class T, class Noise, class Network, bool kLinks, class R>
class MessageRun {
  static constexpr int kLanesOf = sizeof(T) / sizeof(Tick);
  static constexpr int kTogether = 8;
  using Ranks = MessageExecutor<T, Noise, Network, kLinks, R>;
  static constexpr bool kCanSettle = is_general<Noise> && kLanesOf > 1;
  using Turn = typename Ranks::Turn;

 public:
  MessageRun(const MessageJob& job, const Noise& noise, const Network& network, R realizations,
             SeedOf<R> seed)
      : job_(job),
        p_(*job.program),
        network_(network),
        chunks_(p_, *job.pass, kLanesOf, job.capture != nullptr),
        noise_(noise),
        ranks_{p_, noise_, network, realizations, job.state, seed},
        settles_(settles()) {}

  void run() {
    const int end = job_.pass->end;
    int i = chunks_.begin;
    observe_start();
    if (chunks_.only_roots_kept) return run_trees();
    for (; i < end && !stop_;) {
      const int last = chunks_.near_until(p_, *job_.pass, i);
      if (last > i) {
        for (std::int64_t from = 0; from < p_.ranks && !stop_; from += chunks_.size) {
          const std::int64_t to = std::min(from + chunks_.size, p_.ranks);
          if (!begun_) begin(from, to);
          steps(i, last, from, to);
        }
        begun_ = true;
        i = last;
        continue;
      }
      if (!begun_) begin_all();
      step(p_.steps[i++], 0, p_.ranks);
    }
    if (!stop_) leave();
  }

 private:
  // What all ranks are at before they begin: time 0.
  void observe_start() {
    for (int i = job_.pass->begin; i < chunks_.begin; ++i) {
      const int row = p_.steps[i].row;
      if (row < 0) continue;
      for (int k = 0; k < job_.realizations; ++k)
        job_.observations[k * p_.rows + row].merge({0, 0, 0, 0});
    }
  }

  // A collective over trees, of which only roots are kept: see MessageChunks.
  void run_trees() {
    const MessageChunks& c = chunks_;
    if (c.near_end > c.begin) {
      run_chunks(c.begin, c.near_end, c.far_end);
    } else {
      look_at_roots();
      for (std::int64_t root = 0; root < c.roots; ++root) begin_rank(root);
    }
    run_roots(c.near_end, c.far_end);
    if (c.second_near_end > c.far_end) run_chunks(c.far_end, c.second_near_end, job_.pass->end);
    run_roots(c.second_near_end, job_.pass->end);
  }
  // Steps [first, last) of all chunks, after the first near steps, which only roots remember; and
  // what steps [last, end) observe of ranks that these leave alone.
  void run_chunks(int first, int last, int end) {
    const bool again = first > chunks_.begin;
    for (std::int64_t chunk = 0; chunk < chunks_.roots && !stop_; ++chunk) {
      const std::int64_t from = chunk * chunks_.size;
      const std::int64_t to = std::min(from + chunks_.size, p_.ranks);
      Tick* const root = job_.state.sent + chunk * job_.state.stride;
      look_at_chunk(from, to);
      begin(from, to);
      observing_ = false;
      if (again) steps(chunks_.begin, chunks_.near_end, from, to);
      observing_ = true;
      if (again) std::copy_n(root, job_.state.stride, entry(from));
      steps(first, last, from, to);
      for (int i = last; i < end; ++i)
        if (p_.steps[i].row >= 0) observe(p_.steps[i], from + 1, to);
      std::copy_n(entry(from), job_.state.stride, root);
    }
  }
  void run_roots(int first, int last) {
    look_at_roots();
    for (int i = first; i < last && !stop_; ++i) {
      Step s = p_.steps[i];
      if (s.kind == kMessage) {
        s.a = static_cast<std::int32_t>(s.a / chunks_.size);
        s.b = static_cast<std::int32_t>((s.b + chunks_.size - 1) / chunks_.size);
        step(s, 0, chunks_.roots);
      } else if (s.row >= 0) {
        observe(s, 0, chunks_.roots);
      }
    }
  }
  // Index i of the state is now of rank i * chunks_.size, or of rank i of a chunk.
  void look_at_roots() {
    ranks_.s = job_.state;
    ranks_.spacing = chunks_.size;
    if constexpr (is_general<Noise>) {
      noise_.cursors = static_cast<typename Noise::Cursor*>(job_.cursors);
      noise_.rank_shift = __builtin_ctzll(static_cast<unsigned long long>(chunks_.size));
    }
  }
  void look_at_chunk(std::int64_t from, std::int64_t to) {
    ranks_.s = shifted(job_.state, (chunks_.roots - from) * job_.state.stride);
    ranks_.spacing = 1;
    if constexpr (is_general<Noise>) {
      const std::int64_t each = noise_.cursors_per_rank;
      auto* const all = static_cast<typename Noise::Cursor*>(job_.cursors);
      noise_.cursors = all + (chunks_.roots - from) * each;
      noise_.rank_shift = 0;
      if (settles_) return;  // nobody looks at them
      // They were of the chunk before: a cursor of another realization is begun anew.
      for (auto* c = noise_.cursors + from * each; c < noise_.cursors + to * each; ++c)
        c->owner = ~ranks_.realization;
    }
  }
  void steps(int first, int last, std::int64_t from, std::int64_t to) {
    for (int i = first; i < last && !stop_; ++i) step(p_.steps[i], from, to);
  }
  // All that is kept of a rank.
  Tick* entry(std::int64_t i) const { return ranks_.s.sent + i * ranks_.s.stride; }
  static MessageState shifted(MessageState s, std::int64_t by) {
    for (Tick** array : {&s.sent, &s.busy, &s.next, &s.out, &s.in, &s.left})
      if (*array != nullptr) *array += by;
    return s;
  }

  void begin_all() {
    begin(0, p_.ranks);
    begun_ = true;
  }
  void begin(std::int64_t from, std::int64_t to) {
    std::int64_t i = from;
    if constexpr (kDrawsTogether)
      if (job_.first_pass && draws_together()) i = begin_together(from, to);
    for (; i < to; ++i) begin_rank(i);
    work_done(to - from);
  }
  void begin_rank(std::int64_t i) const {
    load(i);
    ranks_.begin(i, job_.pass->load != 0, job_.first_pass);
  }
  // Several ranks draw together: neighbours may share random numbers, and a block of Philox alone
  // waits for itself. Returns the first rank that is left.
  static constexpr bool kDrawsTogether =
      (std::is_same_v<Noise, Periodic> || is_general<Noise>) && kLanesOf > 1;
  bool draws_together() const {
    if constexpr (is_general<Noise>)
      return ranks_.spacing == 1 && noise_.interval_count > 0;
    else
      return noise_.drawn_alone();
  }
  std::int64_t begin_together(std::int64_t i, std::int64_t to) const {
    T next[kTogether];
    for (; i + kTogether <= to; i += kTogether) {
      first_together(ranks_.noise, ranks_.seed, i, ranks_.realization, next);
      for (int k = 0; k < kTogether; ++k) {
        load(i + k);
        ranks_.begin_times(i + k, job_.pass->load != 0, job_.first_pass);
        ranks_.begin_next(i + k, next[k]);
      }
    }
    return i;
  }

  // From and to what is between passes.
  void load(std::int64_t i) const {
    if (!job_.pass->load) return;
    Tick* sent = entry(i);
    for (int k = 0; k < kLanesOf; ++k)
      sent[k] = job_.sent_between[realization(k) * job_.between_stride + i];
  }
  void leave() {
    if (!begun_) begin_all();
    if (!job_.pass->store) return;
    for (int k = 0; k < job_.realizations; ++k)
      for (std::int64_t i = 0; i < p_.ranks; ++i)
        job_.sent_between[k * job_.between_stride + i] = job_.state.sent[i * job_.state.stride + k];
    if (!job_.pass->busy_out) return;
    for (int k = 0; k < job_.realizations; ++k)
      for (std::int64_t i = 0; i < p_.ranks; ++i)
        job_.busy_between[k * job_.between_stride + i] = job_.state.busy[i * job_.state.stride + k];
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
    if ((s.flags & kStartsClock) != 0)
      for (std::int64_t i = from; i < to; ++i) ranks_.start_clock(i);
    if (s.row >= 0 && observing_) observe(s, from, to);
  }

  void forward(const Step& s, std::int64_t from, std::int64_t to) {
    Tick* const left = ranks_.s.left;
    for (std::int64_t i = from; i < to; ++i) ranks_.put(left, i, ranks_.forward_leaves(s, i));
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t partner = forward_partner(s, p_.ranks, i);
      if (partner == kNoRank) continue;
      ranks_.forward_comes(s, i, ranks_.get(left, i), ranks_.get(left, partner));
    }
    work_done(to - from);
  }

  void messages(const Step& s, std::int32_t number, std::int64_t from, std::int64_t to) {
    if (catches_up(s, number))
      for (std::int64_t i = from; i < to; ++i) ranks_.catch_up(i);
    TurnMessages all(s, p_.ranks, p_.listed_messages);
    std::int64_t first = 0;
    if (to - from < p_.ranks) {  // of a chunk, in which all partners are
      first = from / all.stride;
      all.count = std::min(all.count, (to + all.stride - 1) / all.stride);
    }
    if (settles_) {
      if constexpr (kCanSettle) send_and_settle(s, number, all, first);
      return work_done(2 * std::max<std::int64_t>(0, all.count - first));
    }
    send_and_receive(
        ranks_, s, number, all, first,
        [this](const Turn& turn, std::int64_t i) JF_INLINE { return ranks_.send(turn, i); },
        [this](const Turn& turn, std::int64_t i, T left)
            JF_INLINE { ranks_.receive(turn, i, left); });
    work_done(2 * std::max<std::int64_t>(0, all.count - first));  // below 0: behind the last one
  }

  // Whether send_and_settle() alone meets noise: in trees, which are over before most ranks meet
  // any, under noise that acts on steps by its intervals only.
  bool settles() const {
    if constexpr (kCanSettle) {
      constexpr std::int32_t kDelayed = 1 << kReceiveRole | 1 << kSendRole;
      if (job_.pass->load || !job_.first_pass || noise_.speed_count > 0 ||
          (noise_.roles & kDelayed) != 0 || noise_.interval_count > NoiseHits<T>::kMostSources)
        return false;
      Tick time = kLatest;  // that is left
      for (std::int32_t j = 0; j < noise_.interval_count; ++j)
        time = std::min(time, noise_.intervals[j].usual_distance(noise_.words));
      for (int i = job_.pass->begin; i < job_.pass->end; ++i) {
        const Step& s = p_.steps[i];
        const bool idle = s.kind == kCompute && s.map == 0 && p_.costs.work == 0;
        if (s.kind == kObserve || (idle && p_.rank_delay_count == 0)) continue;
        if (s.kind != kMessage || s.map != kTree) return false;
        const MessageCost& m = p_.message_costs[s.cost];
        const Tick each = m.send + m.transit + m.receive;
        if (each > time / s.repeat) return false;
        time -= s.repeat * each;
      }
      return true;
    }
    return false;
  }

  // Of a turn of a tree, a few messages at a time: all are sent, then those sends that meet noise
  // are done, and the same with receives.
  void send_and_settle(const Step& s, std::int32_t number, const TurnMessages& all,
                       std::int64_t first) {
    NoiseHits<T> hits;
    const NotedNoise<T> noted{&hits};
    const MessageExecutor<T, NotedNoise<T>, Network, kLinks, R> ranks{
        p_, noted, network_, ranks_.realization, ranks_.s, ranks_.seed, ranks_.spacing};
    const Turn turn(p_, network_, s, number, all.cost);
    const MessageState& state = ranks_.s;
    const auto settle = [&](Tick work, bool sends) JF_INLINE {
      hits.settle(noise_, work, [&](Tick rank, Tick lane, Tick end, Tick next) JF_INLINE {
        const std::int64_t place = state.place(rank >> noise_.rank_shift) + lane;
        state.sent[place] = state.busy[place] = end;
        state.next[place] = next;
        if constexpr (kLinks)
          if (sends) state.out[place] = end + (turn.cost.gap - turn.cost.send);
      });
    };
    for (std::int64_t k = first; k < all.count; k += NoiseHits<T>::kSteps) {
      const std::int64_t end = std::min<std::int64_t>(k + NoiseHits<T>::kSteps, all.count);
      for (std::int64_t m = k; m < end; ++m) ranks.send(turn, all.ranks_of(m).from);
      settle(turn.cost.send, true);
      for (std::int64_t m = k; m < end; ++m) {
        const auto [from, to] = all.ranks_of(m);
        ranks.receive(turn, to, ranks.get(state.busy, from));
      }
      settle(turn.cost.receive, false);
    }
  }

  void observe(const Step& s, std::int64_t from, std::int64_t to) {
    if (p_.one_rank) to = std::min<std::int64_t>(to, from == 0 ? 1 : from);
    T most = T{} + INT64_MIN, least = T{} + INT64_MAX, high{}, low{};
    for (std::int64_t i = from; i < to; ++i) {
      const T t = ranks_.observed(s, i);
      most = later(most, t);
      if (job_.full_statistics) {
        least = earlier(least, t);
        high += t >> 32;
        low += t & 0xffffffff;
      }
      if (job_.capture != nullptr)
        job_.capture[s.row * p_.ranks + i * ranks_.spacing] = reinterpret_cast<const Tick&>(t);
    }
    for (int k = 0; k < job_.realizations; ++k) {
      const auto of = [&](const T& v) { return reinterpret_cast<const Tick*>(&v)[k]; };
      job_.observations[k * p_.rows + s.row].merge({of(most), of(least), of(high), of(low)});
    }
    work_done(to - from);
  }

  void work_done(std::int64_t messages) {
    done_ += messages;
    if (done_ < kMessagesBetweenPolls) return;
    done_ = 0;
    stop_ = stopped(job_);
  }

  const MessageJob& job_;
  const ProgramView& p_;
  const Network& network_;
  const MessageChunks chunks_;
  Noise noise_;
  Ranks ranks_;  // all, the roots, or those of a chunk
  const bool settles_;
  bool begun_ = false, observing_ = true;
  std::int64_t done_ = 0;
  bool stop_ = false;
};

// R: how the realizations of a job are numbered, as MessageExecutor has it.
template <class T, class R>
void run_messages(const MessageJob& job, R realizations, SeedOf<R> seed) {
  with_noise<Delays::kByCost>(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        const auto bound =
            noise.bind(realizations, static_cast<CursorOf<TimesOf<R>>*>(job.cursors), seed);
        using Bound = std::decay_t<decltype(bound)>;
        if (job.program->links)
          MessageRun<T, Bound, Network, true, R>(job, bound, network, realizations, seed).run();
        else
          MessageRun<T, Bound, Network, false, R>(job, bound, network, realizations, seed).run();
      });
}

}  // namespace
}  // namespace jf
