// Computes the critical path of a collective: which detours, messages, late ranks delayed the last.
//
// The arithmetic is that of steps.h and message_steps.h, with a time that knows what it consists
// of. Of two times the later one is kept, with all that it holds, and of two copies the earlier one
// (a tie: `later` and `earlier` of core/ticks.h). So the last rank's time holds the causes along
// its critical path, which add up to it exactly.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "congestion/loads.h"
#include "core/engine.h"
#include "core/message_steps.h"
#include "cpu/explained_noise.h"
#include "cpu/thread_pool.h"

namespace jf::cpu {
namespace {

// A time, what it consists of, and the longest single delay in it.
struct Path {
  Tick t = 0;
  Tick of[kCauses] = {};
  Tick longest = 0;
  std::int32_t longest_rank = -1, longest_cause = -1;

  void delay(Tick by, std::int32_t cause, Tick rank) {
    t += by;
    of[cause] += by;
    hit(by, cause, rank);
  }
  // A single delay, which t and `of` hold.
  void hit(Tick by, std::int32_t cause, Tick rank) {
    if (by <= longest) return;
    longest = by;
    longest_rank = static_cast<std::int32_t>(rank);
    longest_cause = cause;
  }
};

// What the arithmetic adds itself is time on the way: of transits and gaps.
Path operator+(Path a, Tick b) {
  a.t += b;
  a.of[kOnTheWay] += b;
  return a;
}
Path operator+(Path a, const Path& b) {
  a.t += b.t;
  for (int k = 0; k < kCauses; ++k) a.of[k] += b.of[k];
  if (b.longest > a.longest) {
    a.longest = b.longest;
    a.longest_rank = b.longest_rank;
    a.longest_cause = b.longest_cause;
  }
  return a;
}
bool operator<(const Path& a, const Path& b) { return a.t < b.t; }
bool operator>(const Path& a, const Path& b) { return a.t > b.t; }

// What is told of the noise of the CPU (explained_noise.h): times hold their causes, and those of
// the ranks are summed.
struct PathBook {
  static constexpr std::int32_t kComputeCause = kComputing, kMessageCause = kMessageCpu;

  RankTimes* ranks;
  const Tick* combining;  // what of the next receive is the time to combine

  void begin(const Path&) const {}
  void add(Path& path, Tick by, std::int32_t cause) const {
    path.t += by;
    path.of[cause] += by;
  }
  void hit(Path& path, Tick by, std::int32_t cause, Tick rank) const { path.hit(by, cause, rank); }
  void combines(Path& path) const {
    path.of[kCombining] += *combining;
    path.of[kMessageCpu] -= *combining;
  }
  void spend(Tick rank, Tick work, Tick held) const {
    ranks[rank].of[kWorks] += work;
    ranks[rank].of[kHeld] += held;
  }
};

// Noise of the network.
struct ExplainedNetwork {
  static constexpr bool general = true, on = true;

  const MessageDelay* delays;
  std::int32_t count;
  const std::uint64_t* words;
  const Loads* loads = nullptr;  // no congestion

  ExplainedNetwork(const Messages& m)  // NOLINT: what forwards find is given as that
      : delays(m.delays), count(m.count), words(m.words) {}

  Path delay(std::uint64_t seed, std::uint32_t purpose, std::uint64_t draw, const Path& rank,
             std::uint32_t realization, const Path& left) const {
    Path sum;
    for (std::int32_t j = 0; j < count; ++j)
      sum.delay(delays[j].of(seed, purpose, draw, rank.t, realization, left.t, words),
                kQuietCauses + j, rank.t);
    return sum;
  }
};

class Explainer {
  static constexpr std::int64_t kStride = sizeof(Path) / sizeof(Tick);
  using Ranks = MessageExecutor<Path, ExplainedNoise<Path, PathBook>, ExplainedNetwork, true>;

 public:
  Explainer(const Program& program, std::uint64_t seed, const std::vector<Tick>& combine)
      : view_(program.view(seed)),
        combine_(combine),
        times_(static_cast<std::size_t>(view_.ranks)),
        sums_(static_cast<std::size_t>(2 * kRankParts * view_.ranks)),
        state_(static_cast<std::size_t>((5 + view_.departures) * view_.ranks)),
        cursors_(static_cast<std::size_t>(view_.ranks * view_.sources.interval_count)),
        slower_(program.speeds.size()),
        first_arrival_(kQuietCauses + view_.messages.count) {
    if (program.costs.forward > 0) own_busy_.resize(static_cast<std::size_t>(view_.ranks));
  }

  // Writes kExplained numbers.
  void explain(std::uint32_t realization, const std::atomic<bool>& stop, Tick* out) {
    std::fill(cursors_.begin(), cursors_.end(), Cursor{0, 0, 0, 0, ~realization});
    std::fill(times_.begin(), times_.end(), RankTimes());
    const std::int32_t intervals = first_arrival_ + view_.rank_delay_count;
    const std::int32_t steps = intervals + view_.sources.interval_count;
    const ExplainedNoise<Path, PathBook> noise{
        view_.sources.bind(realization, cursors_.data(), view_.seed),
        intervals,
        steps,
        steps + view_.sources.step_count,
        slower_.data(),
        {times_.data(), &combining_}};
    const ExplainedNetwork network(view_.messages);
    const Ranks ranks{view_, noise, network, realization, arrays(), view_.seed};
    const std::int64_t n = view_.ranks;
    for (std::int64_t i = 0; i < n; ++i) ranks.begin(i, false, true);
    for (std::int32_t k = 0; k < view_.step_count && !stop; ++k) {
      const Step& step = view_.steps[k];
      if (step.kind == kCompute)
        for (std::int64_t i = 0; i < n; ++i) compute_phase(ranks, step, i);
      else if (step.kind == kEnter || step.kind == kExchange)
        exchange_all(ranks, step);
      else if (step.kind == kForward)
        forward_all(ranks, step);
      else if (step.kind == kMessage)
        for (std::int32_t turn = 0; turn < step.repeat && !stop; ++turn)
          send_all(ranks, step, turn);
    }
    std::int64_t last = 0;
    for (std::int64_t i = 1; i < n; ++i)
      if (ranks.get(ranks.s.sent, i) > ranks.get(ranks.s.sent, last)) last = i;
    for (std::int64_t i = 0; i < n; ++i) add_times(i, ranks.get(ranks.s.sent, i).t, ranks);
    const Path path = ranks.get(ranks.s.sent, last);
    const Tick head[] = {path.t, last, path.longest, path.longest_rank, path.longest_cause};
    out = std::copy(std::begin(head), std::end(head), out);
    std::copy(std::begin(path.of), std::end(path.of), out);
  }

  // Adds what it has summed for each rank.
  void merge_into(Tick* of_ranks) const {
    for (std::size_t k = 0; k < sums_.size(); ++k) of_ranks[k] += sums_[k];
  }

 private:
  // `end`: when the rank has the result. What it forwards after that is not in the way of it.
  void add_times(std::int64_t i, Tick end, const Ranks& ranks) {
    RankTimes& times = times_[i];
    times.of[kSpared] += end - ranks.get(ranks.s.busy, i).t;
    for (int k = 0; k < kRankParts; ++k) add_to_sum(&sums_[2 * (i * kRankParts + k)], times.of[k]);
  }
  // What a rank did with its CPU from `before` on was work, noise and, the rest, waiting; for a
  // message that had left its sender at `left`.
  struct Waits {
    RankTimes& times;
    Tick before, cpu;

    void until(Tick after, Tick left) const {
      const Tick waited = after - before - (times.cpu() - cpu);
      const Tick for_sender = std::clamp<Tick>(left - before, 0, waited);
      times.of[kWaitsForSender] += for_sender;
      times.of[kWaitsForMessage] += waited - for_sender;
    }
  };
  Waits waits(const Ranks& ranks, std::int64_t i) {
    return {times_[i], ranks.get(ranks.s.busy, i).t, times_[i].cpu()};
  }
  Path send(const Ranks& ranks, const Ranks::Turn& turn, std::int64_t from) {
    const Waits waiting = waits(ranks, from);
    const Path left = ranks.send(turn, from);
    waiting.until(ranks.get(ranks.s.busy, from).t, waiting.before);  // for its link
    return left;
  }
  void receive(const Ranks& ranks, const Ranks::Turn& turn, std::int64_t to, const Path& left) {
    combining_ = combine_[turn.entry];
    const Waits waiting = waits(ranks, to);
    ranks.receive(turn, to, left);
    waiting.until(ranks.get(ranks.s.busy, to).t, left.t);
  }

  MessageState arrays() {
    const auto array = [&](std::int64_t k) {
      return reinterpret_cast<Tick*>(state_.data() + k * view_.ranks);
    };
    Tick* const busy = own_busy_.empty() ? array(0) : reinterpret_cast<Tick*>(own_busy_.data());
    return {array(0), busy, array(1), array(2), array(3), array(4), kStride, view_.ranks * kStride};
  }

  static Clock<Path> clock(const Ranks& ranks, std::int64_t i) {
    Path id;
    id.t = i;
    return {ranks.get(ranks.s.sent, i), ranks.get(ranks.s.busy, i), ranks.get(ranks.s.next, i), id};
  }
  static void store(const Ranks& ranks, std::int64_t i, const Clock<Path>& c) {
    ranks.put(ranks.s.busy, i, c.busy);
    ranks.put(ranks.s.sent, i, c.sent);
    ranks.put(ranks.s.next, i, c.next);
  }

  // As MessageExecutor::work, which does not tell how late a rank is from what is on the way.
  void compute_phase(const Ranks& ranks, const Step& step, std::int64_t i) {
    Clock<Path> c = clock(ranks, i);
    const Tick begin = c.busy.t;
    if (step.map & kOwnDelay) c.busy.delay(view_.rank_times[step.b + i], kGivenArrival, i);
    for (std::int32_t k = 0; k < view_.rank_delay_count; ++k)
      c.busy.delay(rank_delay(view_, k, view_.seed, step.draw, Tick{i}, ranks.realization),
                   first_arrival_ + k, i);
    times_[i].of[kArrivesLate] += c.busy.t - begin;
    const Tick work = step.map & kOwnWork ? view_.rank_times[step.a + i] : view_.costs.work;
    compute<true>(ranks.noise, work, step, c);
    store(ranks, i, c);
  }

  // Exchanges without copies, as plain.cpp has them.
  void exchange_all(const Ranks& ranks, const Step& step) {
    combining_ = view_.costs.combine;
    const std::int64_t among = std::int64_t{1} << view_.log2_ranks;
    Tick* const left = ranks.s.left;
    for (std::int64_t i = 0; i < among; ++i) ranks.put(left, i, ranks.get(ranks.s.sent, i));
    for (std::int64_t i = 0; i < among; ++i) {
      Clock<Path> c = clock(ranks, i);
      if (step.kind == kEnter) {
        enter(ranks.noise, view_.costs, step, c);
      } else {
        const Path sent = ranks.get(left, i ^ std::int64_t{1} << step.round);
        const Path late =
            ranks.network.delay(view_.seed, kOriginalJitter, static_cast<std::uint32_t>(step.draw),
                                c.id, ranks.realization, sent);
        const Waits waiting = waits(ranks, i);
        exchange(ranks.noise, view_.costs, step, sent + view_.costs.transit + late, c);
        waiting.until(c.busy.t, sent.t);
      }
      store(ranks, i, c);
    }
  }

  void forward_all(const Ranks& ranks, const Step& step) {
    Tick* const left = ranks.s.left;
    std::vector<Tick> cpu(static_cast<std::size_t>(view_.ranks));
    for (std::int64_t i = 0; i < view_.ranks; ++i) {
      cpu[i] = times_[i].cpu();
      ranks.put(left, i, ranks.forward_leaves(step, i));
    }
    for (std::int64_t i = 0; i < view_.ranks; ++i) {
      const std::int64_t partner = forward_partner(step, view_.ranks, i);
      if (partner == kNoRank) continue;
      const Tick before = ranks.get(ranks.s.busy, i).t;
      ranks.forward_comes(step, i, ranks.get(left, i), ranks.get(left, partner));
      const Tick after = ranks.get(ranks.s.busy, i).t;
      times_[i].of[kSpared] += after - before - (times_[i].cpu() - cpu[i]);
    }
  }

  void send_all(const Ranks& ranks, const Step& step, std::int32_t number) {
    if (catches_up(step, number))
      for (std::int64_t i = 0; i < view_.ranks; ++i) ranks.catch_up(i);
    const TurnMessages all(step, view_.ranks, view_.listed_messages);
    send_and_receive(
        ranks, step, number, all, 0,
        [&](const auto& turn, std::int64_t from) { return send(ranks, turn, from); },
        [&](const auto& turn, std::int64_t to, const Path& left) {
          receive(ranks, turn, to, left);
        });
  }

  ProgramView view_;
  const std::vector<Tick>& combine_;
  Tick combining_ = 0;
  std::vector<RankTimes> times_;
  std::vector<Tick> sums_;
  std::vector<Path> state_, own_busy_;
  std::vector<Cursor> cursors_;
  std::vector<Tick> slower_;
  const std::int32_t first_arrival_;  // the cause
};

void check_explainable(const Program& program) {
  require(!program.has_copies(), "copies inside the butterfly can not be explained");
  require(program.loads == nullptr, "congestion can not be explained");
  require_explainable(program);
}

}  // namespace

void explain(const Program& program, const Request& request, const std::vector<Tick>& combine,
             Tick* out, Tick* of_ranks, const Poll& poll) {
  check_explainable(program);
  if (combine.size() != program.message_costs.size())
    throw std::invalid_argument("combine must have a time for each message cost");
  const auto threads = static_cast<std::size_t>(threads_for(request.count, request.threads));
  std::vector<std::unique_ptr<Explainer>> explainers;
  explainers.push_back(std::make_unique<Explainer>(program, request.seed, combine));
  try {
    while (explainers.size() < threads)
      explainers.push_back(std::make_unique<Explainer>(program, request.seed, combine));
  } catch (const std::bad_alloc&) {  // then fewer threads do
  }
  ThreadPool pool(std::chrono::milliseconds(20));
  const auto work = [&](int thread) {
    for (std::int64_t i; !pool.stop && (i = pool.claimed++) < request.count; ++pool.done)
      explainers[static_cast<std::size_t>(thread)]->explain(
          static_cast<std::uint32_t>(request.first + i), pool.stop, out + i * kExplained);
  };
  pool.run(static_cast<int>(explainers.size()), work, poll);
  for (const auto& explainer : explainers) explainer->merge_into(of_ranks);
}

}  // namespace jf::cpu
