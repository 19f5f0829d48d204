// Critical paths of an application schedule, over many realizations. They say what bound each
// operation, what the time of a path consists of, and which operations are on it in how many
// realizations.
//
// The actions are executed as always (schedule/executor.h), with a time that remembers how it
// came about: the last entry of a log. Of two times the later one is kept, with its entry. So the
// last CPU's time leads back to the begin, and the entries on the way add up to it exactly. The
// order is that without noise.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "cpu/explained_noise.h"
#include "cpu/schedule_actions.h"
#include "cpu/thread_pool.h"
#include "schedule/plan.h"

namespace jf::schedule {
namespace {

constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};

struct Traced {
  Tick t = 0;
  std::uint32_t entry = kNoEntry;  // the last one; what was added after it is on no entry
};
Traced operator+(Traced a, Tick b) { return {a.t + b, a.entry}; }
// b: delays, whose entries follow that of a.
Traced operator+(Traced a, Traced b) {
  return {a.t + b.t, b.entry != kNoEntry ? b.entry : a.entry};
}
bool operator<(Traced a, Traced b) { return a.t < b.t; }
bool operator>(Traced a, Traced b) { return a.t > b.t; }

// An action begins at t (kBegins, `by` is its number), or `by` ticks are added by a cause.
constexpr std::uint32_t kBegins = ~std::uint32_t{0};
struct Entry {
  Tick t, by;
  std::uint32_t before, cause;
};

// It grows without being copied: it is most of the memory.
class Entries {
  static constexpr std::uint32_t kBits = 16;

 public:
  void clear() { count_ = 0; }
  const Entry& operator[](std::uint32_t i) const {
    return chunks_[i >> kBits][i & ((1u << kBits) - 1)];
  }
  std::uint32_t add(const Entry& entry) {
    if (count_ == kNoEntry) throw std::invalid_argument("the schedule is too long to be explained");
    if (count_ >> kBits == chunks_.size())
      chunks_.push_back(std::make_unique_for_overwrite<Entry[]>(std::size_t{1} << kBits));
    chunks_[count_ >> kBits][count_ & ((1u << kBits) - 1)] = entry;
    return count_++;
  }

 private:
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::uint32_t count_ = 0;
};

// The log of a realization, and what ranks do with their CPUs.
class Log {
 public:
  explicit Log(const Plan& plan)
      : plan_(plan),
        worked_(plan.cpus > 1 ? std::size_t{plan.ranks} * plan.cpus : 0),
        ranks_(plan.ranks) {
    const Schedule& schedule = *plan.schedule;
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      const RankView view = schedule.rank(rank);
      for (std::uint32_t i = 0; i < view.count; ++i) {
        const Operation& o = view.operations[i];
        if (o.kind != kSend || !plan.network.needs_rendezvous(o.size, rank, o.peer)) continue;
        if (senders_.empty()) {
          senders_.resize(schedule.operations(), kNoEntry);
          sends_end_.resize(std::size_t{plan.ranks} * plan.cpus);
        }
        const std::uint32_t receive = plan.receive_of[schedule.begins()[rank] + i];
        senders_[schedule.begins()[o.peer] + receive] = rank * plan.cpus + o.cpu;
      }
    }
  }

  void clear() {
    entries_.clear();
    for (auto& intervals : worked_) intervals.clear();
    std::fill(ranks_.begin(), ranks_.end(), cpu::RankTimes());
    std::fill(sends_end_.begin(), sends_end_.end(), 0);
  }
  const Entry& operator[](std::uint32_t i) const { return entries_[i]; }
  cpu::RankTimes& rank(std::size_t i) { return ranks_[i]; }

  // The action of an entry: that of a message's delay is the send.
  const Action& action_of(std::uint32_t entry) const {
    while (entries_[entry].cause != kBegins) entry = entries_[entry].before;
    return plan_.actions[static_cast<std::size_t>(entries_[entry].by)];
  }

  Traced add(Traced t, Tick by, std::int32_t cause) {
    if (by == 0) return t;
    t.t += by;
    t.entry = entries_.add({t.t, by, t.entry, static_cast<std::uint32_t>(cause)});
    return t;
  }

  // The action at hand.
  void begin(const Action& action, const Traced& busy) {
    action_ = &action;
    before_ = busy.t;
    done_ = left_ = 0;
    begun_ = kNoEntry;
  }
  Traced at(Traced t) {
    if (begun_ == kNoEntry)
      begun_ = entries_.add({t.t, action_ - plan_.actions.data(), t.entry, kBegins});
    return {t.t, begun_};
  }
  // CPU time, of which `held` is noise.
  void spend(Tick work, Tick held) {
    ranks_[action_->rank].of[kWorks] += work;
    ranks_[action_->rank].of[kHeld] += held;
    done_ += work + held;
  }
  void message_left(Tick t) { left_ = t; }
  // What began at `begun` keeps the CPU until `busy`. link: in, of a message that is taken.
  void end(Traced& begun, Traced& busy, Traced& link) {
    const std::uint32_t before = begun.entry;
    begun = at(begun);
    if (busy.entry == before) busy.entry = begun_;
    if (action_->kind == kDoTake) link.entry = begun_;
    work(begun.t, begun.t + done_);
    const Tick waited = busy.t - before_ - done_;
    if (waited == 0) return;
    Tick until = before_;
    if (action_->kind == kDoTake) {
      until = left_;
    } else {
      const std::uint32_t bound = entries_[begun_].before;
      if (bound != kNoEntry && action_of(bound).rank != action_->rank) until = begun.t;
    }
    const std::size_t cpu = std::size_t{action_->rank} * plan_.cpus + action_->cpu;
    wait(cpu, std::min(idle(cpu, before_, until), waited), waited);
  }
  // At t a receive is posted and its message begins to be taken: a send with rendezvous is done.
  void meet(const Action& action, const Traced& t) {
    if (senders_.empty()) return;
    const std::uint32_t cpu = senders_[plan_.schedule->begins()[action.rank] + action.draw];
    if (cpu != kNoEntry) sends_end_[cpu] = std::max(sends_end_[cpu], t.t);
  }
  // All is done, and a CPU is free from `busy` on: it waits for its sends that are not done yet.
  void end_sends(std::size_t cpu, Tick busy) {
    if (senders_.empty() || sends_end_[cpu] <= busy) return;
    wait(cpu, idle(cpu, busy, sends_end_[cpu]), sends_end_[cpu] - busy);
  }

 private:
  struct Interval {
    Tick from, to;
  };

  // The CPU of the action at hand works.
  void work(Tick from, Tick to) {
    if (worked_.empty() || from == to) return;
    auto& intervals = worked_[std::size_t{action_->rank} * plan_.cpus + action_->cpu];
    if (!intervals.empty() && intervals.back().to == from)
      intervals.back().to = to;
    else
      intervals.push_back({from, to});
  }
  // A CPU waits, `for_others` of it until another rank does something.
  void wait(std::size_t cpu, Tick for_others, Tick waited) {
    cpu::RankTimes& times = ranks_[cpu / plan_.cpus];
    times.of[kWaitsForSender] += for_others;
    times.of[kWaitsForMessage] += waited - for_others;
  }
  // For how long no other CPU of its rank works: then the rank waits for others.
  Tick idle(std::size_t of, Tick from, Tick to) {
    if (to <= from || worked_.empty()) return std::max<Tick>(to - from, 0);
    overlaps_.clear();
    const std::size_t first = of / plan_.cpus * plan_.cpus;
    for (std::size_t cpu = first; cpu < first + plan_.cpus; ++cpu) {
      const auto& intervals = worked_[cpu];
      for (auto i = intervals.rbegin(); i != intervals.rend() && i->to > from; ++i)
        if (cpu != of && i->from < to) overlaps_.push_back(*i);
    }
    std::ranges::sort(overlaps_, {}, &Interval::from);
    Tick time = 0;
    for (const Interval& work : overlaps_) {
      time += std::max<Tick>(work.from - from, 0);
      from = std::max(from, work.to);
    }
    return time + std::max<Tick>(to - from, 0);
  }

  const Plan& plan_;
  Entries entries_;
  std::vector<std::vector<Interval>> worked_;  // of each CPU, where ranks have several
  std::vector<Interval> overlaps_;
  std::vector<cpu::RankTimes> ranks_;
  // By the receive that takes its message, the CPU of a send with rendezvous; and when the last one
  // of each CPU is done. Empty where there are none.
  std::vector<std::uint32_t> senders_;
  std::vector<Tick> sends_end_;
  const Action* action_ = nullptr;
  Tick before_ = 0, done_ = 0, left_ = 0;
  std::uint32_t begun_ = kNoEntry;  // the entry of its begin
};

// What Executor tells.
struct Record {
  static constexpr bool on = true;

  Log* log;

  void begin(const Action& action, const Traced& busy) const { log->begin(action, busy); }
  void end(Traced& at, Traced& busy, Traced& link) const { log->end(at, busy, link); }
  void post(Traced& at) const { at = log->at(at); }
  void meet(const Action& action, const Traced& t) const { log->meet(action, t); }
};

// What is told of the noise of the CPU (cpu/explained_noise.h): it is logged.
struct NoiseBook {
  static constexpr std::int32_t kComputeCause = kComputes, kMessageCause = kMessageCpuTime;

  Log* log;

  void begin(Traced& t) const { t = log->at(t); }
  void add(Traced& t, Tick by, std::int32_t cause) const { t = log->add(t, by, cause); }
  void hit(const Traced&, Tick, std::int32_t, Tick) const {}
  void combines(const Traced&) const {}
  void spend(Tick, Tick work, Tick held) const { log->spend(work, held); }
};

// Noise of the network.
struct TracedNetwork {
  static constexpr bool general = true, on = true;

  const MessageDelay* delays;
  std::int32_t count;
  const std::uint64_t* words;
  const Loads* loads = nullptr;  // no congestion
  Log* log;
  bool quiet;

  Traced delay(std::uint64_t seed, std::uint32_t purpose, std::uint64_t draw, Traced rank,
               std::uint32_t realization, Traced left) const {
    log->message_left(left.t);
    Traced sum{left.t, left.entry};
    for (std::int32_t j = 0; j < count && !quiet; ++j)
      sum = log->add(sum, delays[j].of(seed, purpose, draw, rank.t, realization, left.t, words),
                     kPathParts + j);
    return {sum.t - left.t, sum.entry};
  }
};

// An operation on a path.
struct PathStep {
  const Action* action;
  Tick begin, end;
  Bound bound;
  Tick of[kCauses];  // of what the time since the end of the one before it consists
};

class PathFinder {
  using Noise = cpu::ExplainedNoise<Traced, NoiseBook>;
  using Run = Executor<Traced, Noise, TracedNetwork, true, std::uint32_t, Traced*, Record>;

 public:
  PathFinder(const Program& program, const Plan& plan, const PathRequest& request)
      : plan_(plan),
        quiet_(request.quiet),
        view_(view_of(program, request.seed)),
        log_(plan),
        processors_(2 * std::size_t{plan.ranks} * plan.cpus),
        links_(2 * std::size_t{plan.ranks} * plan.nics),
        slots_(plan.slots),
        cursors_(program.intervals.size() * plan.ranks),
        slower_(program.speeds.size()),
        ended_(2 + plan.marks.count),
        first_arrival_(kPathParts + view_.messages.count),
        first_interval_(first_arrival_ + view_.rank_delay_count) {
    if (quiet_) {
      view_.rank_delay_count = 0;
      view_.sources.interval_count = view_.sources.step_count = view_.sources.roles = 0;
      view_.sources.speed_count = 0;
    }
  }

  // Executes a realization. False: it was stopped.
  bool run(std::uint32_t realization, const std::atomic<bool>& stop) {
    log_.clear();
    std::fill(cursors_.begin(), cursors_.end(), Cursor{0, 0, 0, 0, ~realization});
    realization_ = realization;
    Sources sources = view_.sources.bind(realization, cursors_.data(), view_.seed);
    const std::int32_t first_step = first_interval_ + sources.interval_count;
    const Noise noise{sources,        first_interval_, first_step, first_step + sources.step_count,
                      slower_.data(), {&log_}};
    const TracedNetwork delays{
        view_.messages.delays, view_.messages.count, view_.messages.words, nullptr, &log_, quiet_};
    const PlanView actions = plan_.view();
    const ActionState<Traced*> state{processors_.data(), links_.data(), slots_.data()};
    run_all(Run(view_, actions, noise, delays, realization, view_.seed, state, nullptr, nullptr,
                Record{&log_}),
            actions, 1, ended_.data(), stop);
    return !stop;
  }

  // Follows the path of the last run, from its end back; `visit` is given each of its operations.
  template <class Visit>
  void walk(Visit&& visit) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < processors_.size(); i += 2)
      if (processors_[i].t > processors_[last].t) last = i;
    Traced at = processors_[last];
    PathStep step{};
    if (at.entry == kNoEntry) return;  // its rank began late, and did nothing
    step.end = at.t;
    Tick unsent = 0;  // see link_out
    for (;;) {
      // Bytes that the CPU has waited for.
      step.of[kBytes] += at.t - log_[at.entry].t;
      step.of[kMessageCpuTime] -= unsent;
      unsent = 0;
      std::uint32_t i = at.entry;
      for (; log_[i].cause != kBegins; i = log_[i].before) step.of[log_[i].cause] += log_[i].by;
      const Entry& begun = log_[i];
      step.action = &plan_.actions[static_cast<std::size_t>(begun.by)];
      step.begin = begun.t;
      if (begun.before == kNoEntry) {
        start(step);
        visit(step);
        return;
      }
      const Tick elapsed = begun.t - log_[begun.before].t;
      std::uint32_t from = begun.before;
      for (; is_delay(log_[from].cause); from = log_[from].before)
        step.of[log_[from].cause] += log_[from].by;
      const Action& before = log_.action_of(from);
      step.bound = bound_by(*step.action, before, elapsed, log_[from].cause == kBegins);
      Tick end = log_[from].t;
      if (step.bound == kByMessage) {
        step.of[kLatency] += elapsed;
      } else if (step.bound == kByLinkOut) {
        // The link was taken from o before the message left, so o counts as part of the gap.
        unsent = view_.message_costs[before.message.cost].send;
        step.of[kLinkTaken] += elapsed + unsent;
      } else if (step.bound == kByLinkIn) {
        step.of[kLinkTaken] += elapsed;
      } else {
        end = begun.t;
      }
      at = {end, from};
      visit(step);
      step = {};
      step.end = end;
    }
  }

  std::uint64_t number(const Action& a) const { return plan_.schedule->begins()[a.rank] + a.draw; }

  // Writes kPathWords numbers, and adds to the sums, which `hold` protects.
  void count(Tick* out, const PathSums& sums, std::mutex& hold) {
    const auto causes = out + kExplained - kCauses;
    std::fill_n(out, kPathWords, 0);
    out[0] = ended_[0];
    out[1] = ended_[1];
    out[3] = out[4] = -1;
    struct Part {
      std::uint64_t operation;
      std::uint32_t rank;
      Tick time, noise;
    };
    std::vector<Part> parts;
    const auto longest = [&](Tick by, Tick rank, std::int32_t cause) {
      if (by == 0 || by < out[2]) return;  // of equal ones the first
      out[2] = by;
      out[3] = rank;
      out[4] = cause;
    };
    walk([&](const PathStep& step) {
      Tick time = 0, noise = 0;
      for (std::int32_t k = 0; k < kCauses; ++k) {
        causes[k] += step.of[k];
        time += step.of[k];
        if (k < kPathParts) continue;
        noise += step.of[k];
        longest(step.of[k], step.action->rank, k);
      }
      ++out[kExplained + step.bound];
      parts.push_back({number(*step.action), step.action->rank, time, noise});
    });
    if (parts.empty())
      late(static_cast<std::uint32_t>(ended_[1]), [&](std::int32_t k, Tick by) {
        causes[k] += by;
        longest(by, ended_[1], k);
      });
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank)
      late(rank,
           [&](std::int32_t, Tick by) { log_.rank(rank).of[kArrivesLate] += by * plan_.cpus; });
    for (std::size_t cpu = 0; 2 * cpu < processors_.size(); ++cpu)
      log_.end_sends(cpu, processors_[2 * cpu].t);
    // An operation may be there twice: where it is posted, and where its message is taken.
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.operation < b.operation; });
    const std::lock_guard lock(hold);
    const Part* before = nullptr;
    for (const Part& part : parts) {
      Tick* const of_rank = sums.of_ranks + std::size_t{part.rank} * (2 * kRankSums + 1);
      add_to_sum(of_rank + 2 * kRankParts, part.time);
      add_to_sum(of_rank + 2 * kRankParts + 2, part.noise);
      if (before == nullptr || before->rank != part.rank) ++of_rank[2 * kRankSums];
      add_to_sum(sums.times_of_operations + 2 * part.operation, part.time);
      if (before == nullptr || before->operation != part.operation)
        ++sums.of_operations[part.operation];
      before = &part;
    }
    for (std::size_t i = 0; i < plan_.ranks; ++i)
      for (int k = 0; k < kRankParts; ++k)
        add_to_sum(sums.of_ranks + i * (2 * kRankSums + 1) + 2 * k, log_.rank(i).of[k]);
  }

 private:
  bool is_delay(std::uint32_t cause) const {
    return cause != kBegins && static_cast<std::int32_t>(cause) >= kPathParts &&
           static_cast<std::int32_t>(cause) < first_arrival_;
  }

  template <class Visit>
  void late(std::uint32_t rank, Visit&& visit) const {
    for (std::int32_t k = 0; k < view_.rank_delay_count; ++k)
      visit(first_arrival_ + k, rank_delay(view_, k, view_.seed, 0, Tick{rank}, realization_));
  }
  void start(PathStep& step) const {
    step.bound = kByStart;
    late(step.action->rank, [&](std::int32_t k, Tick by) { step.of[k] += by; });
  }

  // elapsed: since the last entry, which is the begin of `before` or not.
  Bound bound_by(const Action& action, const Action& before, Tick elapsed, bool at_begin) const {
    const bool takes = action.kind == kDoTake;
    if (before.rank != action.rank) return takes ? kByMessage : kByRendezvous;
    if (before.kind == kDoSend && action.kind == kDoSend && elapsed != 0) return kByLinkOut;
    if (before.kind == kDoTake && takes && at_begin) return kByLinkIn;
    if (takes) return kByCpu;
    const RankView view = plan_.schedule->rank(action.rank);
    for (std::uint32_t k = view.first[before.draw]; k < view.first[before.draw + 1]; ++k)
      if ((view.dependents[k] & ~kOnStart) == action.draw) return kByRequired;
    // CPUs may share a link out, and it may be free just when the message before it has left.
    return before.kind == kDoSend && action.kind == kDoSend && before.cpu != action.cpu ? kByLinkOut
                                                                                        : kByCpu;
  }

  const Plan& plan_;
  const bool quiet_;
  ProgramView view_;
  Log log_;
  std::vector<Traced> processors_, links_, slots_;
  std::vector<Cursor> cursors_;
  std::vector<Tick> slower_;
  std::vector<Tick> ended_;                            // and when marks are reached
  const std::int32_t first_arrival_, first_interval_;  // causes
  std::uint32_t realization_ = 0;
};

}  // namespace

void explain(const Program& program, const Plan& plan, const PathRequest& request, Tick* out,
             const PathSums& sums, const Poll& poll) {
  check_program(program, plan);
  require_explainable(program);
  cpu::ThreadPool pool(std::chrono::milliseconds(20));
  std::mutex hold;
  const auto work = [&](int) {
    PathFinder finder(program, plan, request);
    for (std::int64_t i; !pool.stop && (i = pool.claimed++) < request.count; ++pool.done)
      if (finder.run(request.realizations[i], pool.stop))
        finder.count(out + i * kPathWords, sums, hold);
  };
  pool.run(cpu::threads_for(request.count, request.threads), work, poll);
}

std::vector<Tick> critical_path(const Program& program, const Plan& plan,
                                const PathRequest& request, const Poll& poll) {
  check_program(program, plan);
  require_explainable(program);
  PathFinder finder(program, plan, request);
  cpu::ThreadPool pool(std::chrono::milliseconds(5));
  pool.run(1, [&](int) { finder.run(request.realizations[0], pool.stop); }, poll);
  std::vector<PathStep> steps;
  finder.walk([&](const PathStep& step) { steps.push_back(step); });
  std::vector<Tick> words;
  words.reserve(steps.size() * kStepWords);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const Tick head[] = {step->action->rank, step->action->draw, step->begin, step->end,
                         step->bound};
    words.insert(words.end(), std::begin(head), std::end(head));
    words.insert(words.end(), std::begin(step->of), std::end(step->of));
  }
  return words;
}

std::int64_t memory_to_explain(const Program& program, const Plan& plan) {
  const bool copies =
      std::ranges::any_of(plan.network.bytes, [](const ByteCost& b) { return b.cpu > 0; });
  const auto intervals = static_cast<std::int64_t>(program.intervals.size());
  const auto others = static_cast<std::int64_t>(program.delays.size() + program.messages.size() +
                                                program.speeds.size());
  const std::int64_t entries = 2 + others + intervals + (copies ? 1 + intervals : 0);
  const auto of_rank =
      static_cast<std::int64_t>(plan.cpus * (sizeof(Processor<Traced>) + sizeof(Tick)) +
                                2 * plan.nics * sizeof(Traced) + sizeof(cpu::RankTimes));
  const std::int64_t worked = plan.cpus > 1 ? 2 * sizeof(Tick) : 0;
  return static_cast<std::int64_t>(plan.actions.size()) *
             (entries * static_cast<std::int64_t>(sizeof(Entry)) + worked) +
         plan.ranks * (of_rank + intervals * static_cast<std::int64_t>(sizeof(Cursor))) +
         static_cast<std::int64_t>(plan.slots * sizeof(Traced) +
                                   plan.receive_of.size() * sizeof(std::uint32_t));
}

}  // namespace jf::schedule
