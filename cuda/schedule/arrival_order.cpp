// Makes the plan of a GOAL schedule: matches sends with receives in order of arrival; deadlocks. It
// executes the schedule event by event: without noise, which writes down the plan, or with that of
// one realization. Sends meet receives in `meets()`, by sender, receiver and tag: the parsers
// (goal_text.cpp, loggopsim_binary.cpp) refuse wildcards (any source, any tag). Whether a send is
// eager or waits for its receive (rendezvous): `needs_rendezvous` of plan.h.
#include "schedule/plan.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

namespace jf::schedule {
namespace {

constexpr std::uint64_t kEventsBetweenPolls = 1 << 16;
constexpr const char* kTooLong = "the schedule takes more than 2^62 ps (53 days)";

std::string named(const Operation& o, std::uint32_t rank) {
  const std::string who = "rank " + std::to_string(rank);
  if (o.kind == kCalculate) return who + " calculates";
  const bool sends = o.kind == kSend;
  return who + (sends ? " sends to " : " receives from ") + std::to_string(o.peer) + ", tag " +
         std::to_string(o.tag);
}

// Slots of times that later actions need.
class Slots {
 public:
  explicit Slots(std::uint32_t kept) : readers_(kept, 1) {}  // which are never given to others

  std::uint32_t take(std::uint32_t readers) {
    if (free_.empty()) {
      readers_.push_back(readers);
      return static_cast<std::uint32_t>(readers_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    readers_[slot] = readers;
    return slot;
  }
  void read(std::uint32_t slot) {
    if (--readers_[slot] == 0) free_.push_back(slot);
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(readers_.size()); }

 private:
  std::vector<std::uint32_t> readers_, free_;
};

// A receive that is posted, or a message that is taken, while the other is missing.
struct PendingMatch {
  std::uint32_t rank, operation;  // of a message: of its send
  Tick begin, end;                // when it is posted, both; when it is taken
  std::uint32_t slots[2];         // of begin and end
  std::uint64_t action;           // of a message: its kDoTake
};
// Those of a channel, in their order; all are of one kind, as others have met.
struct PendingMatches {
  bool messages;
  std::size_t first = 0;  // in `all`: those before it have met the other
  std::vector<PendingMatch> all;

  PendingMatch take() {
    const PendingMatch taken = all[first++];
    // A channel that is never empty must not keep what has met.
    if (first >= 64 && 2 * first >= all.size()) {
      all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
      first = 0;
    }
    return taken;
  }
};
struct Channel {
  std::uint64_t ranks, tag;
  bool operator==(const Channel&) const = default;
};
struct HashChannel {
  std::size_t operator()(const Channel& c) const {
    return (c.ranks * 0x9E3779B97F4A7C15u) ^ (c.tag * 0xC2B2AE3D27D4EB4Fu + (c.ranks >> 29));
  }
};

enum EventKind : std::uint64_t { kOperationEvent, kMessageEvent };
constexpr std::uint64_t kWaits = 2;  // found its CPU or its link taken
struct Event {
  Tick time;
  std::uint64_t order;  // of its making, and in the two lowest bits its kind and kWaits
  std::uint32_t rank, operation;
  std::uint32_t sender, slot;  // of a message, whose send `operation` is
};
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
};

struct Younger {
  bool operator()(const Event& a, const Event& b) const { return a.order > b.order; }
};
// What waits for the same CPU and the same link, so that it will find both free at the same time.
// The first of them alone stands among the events, or else each would come up, and go on waiting,
// whenever another one begins. `time`: of that event; older ones are stale.
struct Waiting {
  std::priority_queue<Event, std::vector<Event>, Younger> all;
  Tick time = 0;
};

// An execution in which CPUs take what comes first: LogGOPSim's. kRecords: it is written down.
template <class Noise, class Delays, bool kRecords>
class ArrivalRun {
 public:
  // record: `plan` itself where this run fills it in; else null.
  ArrivalRun(const Plan& plan, Plan* record, const ProgramView& p, const Noise& noise,
             const Delays& delays, std::uint32_t realization, Tick* marks, Tick* times,
             const PollActions& poll)
      : plan_(plan),
        s_(*plan.schedule),
        p_(p),
        network_(plan.network),
        noise_(noise),
        delays_(delays),
        realization_(realization),
        record_(record),
        factors_(plan.factors),
        mark_of_(plan.marks.of),
        marks_(marks),
        times_(times),
        poll_(poll),
        posts_(s_.cpus() > 1 || !mark_of_.empty() ||
               (!s_.sizes().empty() && s_.sizes().back() > smallest_eager(network_))),
        left_(s_.operations()),
        ready_(s_.operations()),
        floats_(s_.operations()),
        processors_(std::size_t{s_.ranks()} * s_.cpus()),
        links_(2 * std::size_t{s_.ranks()} * s_.nics()) {}

  Ended run() {
    begin();
    std::uint64_t count = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (++count % kEventsBetweenPolls == 0 && poll_) poll_();
      freed_.clear();
      if (event.order & kMessageEvent)
        message(event);
      else
        operation(event);
      free_all();
    }
    check_ends();
    Tick last = 0;
    std::uint32_t last_rank = 0;
    for (std::size_t i = 0; i < processors_.size(); ++i)
      if (processors_[i].busy > last) {
        last = processors_[i].busy;
        last_rank = static_cast<std::uint32_t>(i / s_.cpus());
      }
    if constexpr (kRecords) {
      record_->events = count;
      record_->slots = slots_.count();
      record_->completion = last;
      record_->actions.shrink_to_fit();
      record_->words.shrink_to_fit();
    }
    return {last, last_rank};
  }

 private:
  struct Place {
    std::uint32_t rank, operation;
    std::uint8_t kind;
  };

  std::uint64_t number(std::uint32_t rank, std::uint32_t operation) const {
    return s_.begins()[rank] + operation;
  }
  Processor<Tick>& processor(std::uint32_t rank, std::uint8_t cpu) {
    return processors_[std::size_t{rank} * s_.cpus() + cpu];
  }
  Tick& link(std::uint32_t rank, std::uint8_t nic, bool in) {
    return links_[2 * (std::size_t{rank} * s_.nics() + nic) + in];
  }
  static std::uint64_t smallest_eager(const Network& network) {
    return *std::min_element(network.largest_eager.begin(), network.largest_eager.end());
  }
  bool needs_rendezvous(const Operation& send, std::uint32_t sender) const {
    return network_.needs_rendezvous(send.size, sender, send.peer);
  }
  // Of the message costs: that of its size, on the level that it crosses.
  std::uint32_t entry_of(const Operation& send, std::uint32_t sender) {
    const auto& all = s_.sizes();
    if (send.size != last_size_) {
      last_size_ = send.size;
      last_entry_ = static_cast<std::uint32_t>(std::lower_bound(all.begin(), all.end(), send.size) -
                                               all.begin());
    }
    const std::size_t level = network_.levels.between(sender, send.peer);
    return last_entry_ + static_cast<std::uint32_t>(level * all.size());
  }
  Tick work_of(const Operation& o, std::uint32_t rank) const {
    const Tick work = static_cast<Tick>(o.size) * 1000;
    return factors_.empty() ? work : times_factor(work, factors_[rank]);
  }

  void begin() {
    for (std::uint32_t rank = 0; rank < s_.ranks(); ++rank) {
      Tick late = 0;
      for (std::int32_t k = 0; k < p_.rank_delay_count; ++k)
        late += rank_delay(p_, k, p_.seed, 0, Tick{rank}, realization_);
      late = capped(late);
      for (std::uint32_t cpu = 0; cpu < s_.cpus(); ++cpu) {
        Processor<Tick>& one = processor(rank, static_cast<std::uint8_t>(cpu));
        one = {late, noise_.first(p_.seed, realization_, Tick{rank})};
        noise_.seek(one.next, late, false);
      }
      const RankView view = s_.rank(rank);
      std::uint32_t* left = left_.data() + s_.begins()[rank];
      for (std::uint32_t k = 0; k < view.first[view.count]; ++k)
        ++left[view.dependents[k] & ~kOnStart];
    }
    for (std::uint32_t rank = 0; rank < s_.ranks(); ++rank) {
      const RankView view = s_.rank(rank);
      for (std::uint32_t i = 0; i < view.count; ++i)
        if (left_[number(rank, i)] == 0) freed_.push_back({rank, i, view.operations[i].kind});
      free_all();
      freed_.clear();
    }
  }

  // --- Operations become free.

  // By rank, then sends before receives before calculations, then as they were freed. LogGOPSim's
  // std::sort leaves the last open from 17 of them on (docs/from_loggopsim.md).
  void free_all() {
    if (freed_.size() > 1)
      std::stable_sort(freed_.begin(), freed_.end(), [](const Place& a, const Place& b) {
        return a.rank != b.rank ? a.rank < b.rank : a.kind < b.kind;
      });
    for (const Place& one : freed_) free_one(one);
  }
  void free_one(const Place& one) {
    const Operation& o = s_.rank(one.rank).operations[one.operation];
    const std::uint64_t n = number(one.rank, one.operation);
    Tick t = later(ready_[n], processor(one.rank, o.cpu).busy);
    if (o.kind == kSend) t = later(t, link(one.rank, o.nic, false));
    std::uint32_t slot = 0;
    if constexpr (kRecords)
      if (o.kind == kReceive && posts_) slot = record_post(one, o, n);
    push(t, kOperationEvent, one.rank, one.operation, 0, slot);
  }
  void push(Tick t, EventKind kind, std::uint32_t rank, std::uint32_t operation,
            std::uint32_t sender, std::uint32_t slot) {
    events_.push({t, made_++ << 2 | kind, rank, operation, sender, slot});
  }

  // --- Those that wait for a CPU or a link. Each keeps its place in the order of making.

  Waiting& waiting(const Event& event, const Operation& o) {
    // A calculation needs no link.
    const std::uint64_t nic = o.kind == kCalculate ? 0 : o.nic;
    const std::uint64_t which = (event.order & kMessageEvent) != 0 ? 2 : o.kind == kSend ? 1 : 0;
    return waiting_[((std::uint64_t{event.rank} << 8 | o.cpu) << 8 | nic) << 2 | which];
  }
  // Null: it has not waited yet.
  Waiting* queue_of(const Event& event, const Operation& o) {
    return (event.order & kWaits) != 0 ? &waiting(event, o) : nullptr;
  }
  static bool is_stale(const Event& event, const Waiting* queue) {
    return queue != nullptr && (queue->all.empty() || queue->all.top().order != event.order ||
                                queue->time != event.time);
  }
  void wait(Event event, const Operation& o, Waiting* queue, Tick free) {
    if (queue == nullptr) {
      event.order |= kWaits;
      queue = &waiting(event, o);
      queue->all.push(event);
      if (queue->all.top().order != event.order) return;
    }
    come_up(*queue, free);
  }
  // The first one begins; those behind it find CPU and link free at that time, if no other is
  // sooner.
  void leave(Waiting& queue, Tick free) {
    queue.all.pop();
    if (!queue.all.empty()) come_up(queue, free);
  }
  void come_up(Waiting& queue, Tick time) {
    Event event = queue.all.top();
    event.time = queue.time = time;
    events_.push(event);
  }

  // --- Events.

  void operation(const Event& event) {
    const Operation& o = s_.rank(event.rank).operations[event.operation];
    if (o.kind == kReceive) return post(event, o);
    Waiting* const queue = queue_of(event, o);
    if (is_stale(event, queue)) return;
    Processor<Tick>& cpu = processor(event.rank, o.cpu);
    Tick free = cpu.busy;
    if (o.kind == kSend) free = later(free, link(event.rank, o.nic, false));
    if (free > event.time) return wait(event, o, queue, free);
    ++done_;
    Tick at = event.time;
    if (o.kind == kCalculate)
      calculate(noise_, work_of(o, event.rank), event.operation, cpu, at, Tick{event.rank});
    else
      send_one(event, o, cpu, at);
    check(cpu.busy);
    if (queue != nullptr) {
      free = cpu.busy;
      if (o.kind == kSend) free = later(free, link(event.rank, o.nic, false));
      leave(*queue, free);
    }
    note(event.rank, event.operation, at, cpu.busy);
    if constexpr (kRecords) {
      const auto taken = static_cast<double>(cpu.busy - at);
      if (o.kind == kCalculate)
        record_->compute += taken;
      else
        record_->communication += 2 * taken;  // to take the message takes the same
    }
    const bool waits = o.kind == kSend && needs_rendezvous(o, event.rank);
    std::uint32_t start_slot = 0, done_slot = 0;
    if constexpr (kRecords) record_operation(event, o, waits, start_slot, done_slot);
    started(event.rank, event.operation, at, start_slot);
    if (!waits) finished(event.rank, event.operation, cpu.busy, done_slot);
  }

  void send_one(const Event& event, const Operation& o, Processor<Tick>& cpu, Tick at) {
    const std::uint32_t entry = entry_of(o, event.rank);
    const MessageCost& m = p_.message_costs[entry];
    const Tick left = send<true>(noise_, m, network_.bytes[entry], event.operation, cpu,
                                 link(event.rank, o.nic, false), at, Tick{event.rank});
    std::uint32_t slot = 0, receive = 0;
    if constexpr (kRecords)
      slot = message_slot_ = slots_.take(1);
    else
      receive = plan_.receive_of[number(event.rank, event.operation)];
    const Tick arrival =
        arrival_of(delays_, p_, m, receive, p_.seed, left, Tick{o.peer}, realization_);
    push(arrival, kMessageEvent, o.peer, event.operation, event.rank, slot);
  }

  // Where a receive and a message look for each other.
  Channel channel(std::uint32_t sender, std::uint32_t receiver, std::uint32_t tag,
                  std::uint32_t receive) const {
    if (kRecords) return {std::uint64_t{sender} << 32 | receiver, tag};
    return {number(receiver, receive), ~std::uint64_t{0}};
  }
  // Whether the other came first, and which it is.
  bool meets(const Channel& where, bool message, PendingMatch& other) {
    const auto found = pending_.find(where);
    if (found == pending_.end() || found->second.messages == message) return false;
    PendingMatches& there = found->second;
    other = there.take();
    if (there.first == there.all.size()) pending_.erase(found);
    return true;
  }
  void keep_pending(const Channel& where, bool message, const PendingMatch& mine) {
    pending_.try_emplace(where, PendingMatches{message, 0, {}}).first->second.all.push_back(mine);
  }

  void message(const Event& event) {
    const Operation& o = s_.rank(event.sender).operations[event.operation];
    Waiting* const queue = queue_of(event, o);
    if (is_stale(event, queue)) return;
    Processor<Tick>& cpu = processor(event.rank, o.cpu);
    const Tick free = later(cpu.busy, link(event.rank, o.nic, true));
    if (free > event.time) return wait(event, o, queue, free);
    const std::uint32_t entry = entry_of(o, event.sender);
    const std::uint32_t receive =
        kRecords ? 0 : plan_.receive_of[number(event.sender, event.operation)];
    Tick at = event.time;
    take<true>(noise_, p_.message_costs[entry], network_.bytes[entry], receive, cpu,
               link(event.rank, o.nic, true), at, at, Tick{event.rank});
    check(cpu.busy);
    if (queue != nullptr) leave(*queue, later(cpu.busy, link(event.rank, o.nic, true)));
    PendingMatch mine{event.sender, event.operation, at, cpu.busy, {0, 0}, 0}, other{};
    const Channel where = channel(event.sender, event.rank, o.tag, receive);
    if constexpr (kRecords) mine.action = record_->actions.size();
    if (!kRecords) note(event.rank, receive, at, cpu.busy);
    const bool posted = meets(where, true, other);
    if constexpr (kRecords) record_take(event, o, entry, posted, other, mine);
    if (posted)
      both(event.rank, other.operation, other.begin, mine);
    else
      keep_pending(where, true, mine);
  }

  void post(const Event& event, const Operation& o) {
    ++done_;
    std::uint32_t start_slot = 0;
    if constexpr (kRecords)
      if (posts_) {
        start_slot = start_slots_.at(number(event.rank, event.operation));
        start_slots_.erase(number(event.rank, event.operation));
      }
    started(event.rank, event.operation, event.time, start_slot);
    const PendingMatch mine{event.rank, event.operation, event.time,
                            event.time, {event.slot, 0}, 0};
    PendingMatch other{};
    const Channel where = channel(o.peer, event.rank, o.tag, event.operation);
    if (!meets(where, false, other)) return keep_pending(where, false, mine);
    if constexpr (kRecords) {
      record_->actions[other.action].draw = event.operation;
      if (posts_) record_match(event, o, mine, other);
    }
    both(event.rank, event.operation, event.time, other);
  }

  // A receive is posted, and its message is taken.
  void both(std::uint32_t rank, std::uint32_t receive, Tick posted, const PendingMatch& message) {
    const Operation& send = s_.rank(message.rank).operations[message.operation];
    if (kRecords) {
      record_->receive_of[number(message.rank, message.operation)] = receive;
      if (s_.rank(rank).operations[receive].size < send.size)
        record_->short_receives.add(rank, receive, send.size);
      note(rank, receive, message.begin, message.end);
    }
    if (needs_rendezvous(send, message.rank))
      finished(message.rank, message.operation, later(posted, message.begin), meets_slot_);
    finished(rank, receive, later(posted, message.end), done_slot_);
  }

  // --- What others wait for.

  void started(std::uint32_t rank, std::uint32_t operation, Tick t, std::uint32_t slot) {
    release(rank, operation, true, t, slot);
  }
  void finished(std::uint32_t rank, std::uint32_t operation, Tick t, std::uint32_t slot) {
    if (!mark_of_.empty())
      if (const std::uint32_t mark = mark_of_[number(rank, operation)]; mark != kNoMark)
        marks_[mark] = later(marks_[mark], t);
    release(rank, operation, false, t, slot);
  }
  void release(std::uint32_t rank, std::uint32_t operation, bool on_start, Tick t,
               std::uint32_t slot) {
    const RankView view = s_.rank(rank);
    for (std::uint32_t k = view.first[operation]; k < view.first[operation + 1]; ++k) {
      const std::uint32_t one = view.dependents[k];
      if (((one & kOnStart) != 0) != on_start) continue;
      const std::uint32_t i = one & ~kOnStart;
      const std::uint64_t n = number(rank, i);
      ready_[n] = later(ready_[n], t);
      if constexpr (kRecords)
        if (is_explicit(view, operation, i, rank, on_start)) waits_[n].push_back(slot);
      if (--left_[n] == 0) freed_.push_back({rank, i, view.operations[i].kind});
    }
  }

  void note(std::uint32_t rank, std::uint32_t operation, Tick begin, Tick end) {
    if (times_ == nullptr) return;
    Tick* place = times_ + 2 * number(rank, operation);
    place[0] = begin;
    place[1] = end;
  }
  // Without noise. Under noise the caller sees that the last CPU is free at kLatest.
  static void check(Tick t) {
    if (kRecords && t >= kLatest) throw Malformed(0, kTooLong);
  }

  // That everything was executed, and all messages received.
  void check_ends() const {
    if (pending_.empty() && done_ == s_.operations()) return;
    // The first in the schedule; a receive that waits for its message tells most.
    const PendingMatch* first = nullptr;
    bool is_message = true;
    for (const auto& [channel, here] : pending_) {
      const PendingMatch& one = here.all[here.first];
      const bool sooner = first == nullptr || here.messages < is_message ||
                          (here.messages == is_message &&
                           number(one.rank, one.operation) < number(first->rank, first->operation));
      if (!sooner) continue;
      first = &one;
      is_message = here.messages;
    }
    if (first != nullptr && (!is_message || done_ == s_.operations())) {
      const Operation& o = s_.rank(first->rank).operations[first->operation];
      throw Malformed(o.line,
                      named(o, first->rank) +
                          (is_message ? ", and no receive takes the message"
                                      : ", and no message is sent for it (or only after it, "
                                        "in a circle of operations that wait for each other)"));
    }
    for (std::uint32_t rank = 0; rank < s_.ranks(); ++rank) {
      const RankView view = s_.rank(rank);
      for (std::uint32_t i = 0; i < view.count; ++i)
        if (left_[number(rank, i)] > 0)
          throw Malformed(view.operations[i].line,
                          named(view.operations[i], rank) +
                              ", and never can: what it requires "
                              "waits for it, or for a rendezvous that never comes");
    }
    throw Malformed(0, "operations wait for each other in a circle");
  }

  // --- The record.

  // Whether a CPU can be free before what b requires of a: then b must wait for a's time itself.
  bool is_explicit(const RankView& view, std::uint32_t a, std::uint32_t b, std::uint32_t rank,
                   bool on_start) const {
    const Operation& one = view.operations[a];
    if (one.cpu != view.operations[b].cpu) return true;
    if (one.kind == kSend) return !on_start && needs_rendezvous(one, rank);
    return one.kind == kReceive && floats_[number(rank, a)];
  }
  std::uint32_t count_explicit(std::uint32_t rank, std::uint32_t a, bool on_start) const {
    const RankView view = s_.rank(rank);
    std::uint32_t count = 0;
    for (std::uint32_t k = view.first[a]; k < view.first[a + 1]; ++k) {
      const std::uint32_t one = view.dependents[k];
      count += ((one & kOnStart) != 0) == on_start &&
               is_explicit(view, a, one & ~kOnStart, rank, on_start);
    }
    return count;
  }
  Action action_of(ActionKind kind, const Operation& o, std::uint32_t rank, std::uint32_t draw) {
    Action action{};
    action.kind = kind;
    action.cpu = o.cpu;
    action.nic = o.nic;
    action.rank = rank;
    action.draw = draw;
    words_begin_ = record_->words.size();
    return action;
  }
  void word(std::uint32_t slot) { record_->words.push_back(slot); }
  // Keeps a time for those that read it, if any do.
  std::uint32_t keep(Action& action, ActionFlag flag, std::uint32_t readers) {
    if (readers == 0) return 0;
    const std::uint32_t slot = slots_.take(readers);
    action.flags |= flag;
    word(slot);
    return slot;
  }
  void mark(Action& action, ActionFlag flag, std::uint64_t n) {
    if (mark_of_.empty() || mark_of_[n] == kNoMark) return;
    action.flags |= flag;
    word(mark_of_[n]);
  }
  void add(Action action) {
    action.words = static_cast<std::uint32_t>(record_->words.size() - words_begin_);
    record_->actions.push_back(action);
  }
  // The slots that an operation waits for: read before any is written.
  std::vector<std::uint32_t> waits_of(std::uint64_t n) {
    std::vector<std::uint32_t> slots;
    if (const auto found = waits_.find(n); found != waits_.end()) {
      slots = std::move(found->second);
      waits_.erase(found);
    }
    for (const std::uint32_t slot : slots) slots_.read(slot);
    return slots;
  }

  void record_operation(const Event& event, const Operation& o, bool rendezvous,
                        std::uint32_t& start_slot, std::uint32_t& done_slot) {
    Action action =
        action_of(o.kind == kSend ? kDoSend : kDoCalculate, o, event.rank, event.operation);
    const auto waits = waits_of(number(event.rank, event.operation));
    start_slot = keep(action, kKeepStart, count_explicit(event.rank, event.operation, true));
    if (!rendezvous)
      done_slot = keep(action, kKeepDone, count_explicit(event.rank, event.operation, false));
    if (!rendezvous) mark(action, kMarkDone, number(event.rank, event.operation));
    for (const std::uint32_t slot : waits) word(slot);
    if (o.kind == kSend)
      action.message = {entry_of(o, event.rank), message_slot_};
    else
      action.work = work_of(o, event.rank);
    add(action);
  }

  // Returns the slot of the time at which it is posted.
  std::uint32_t record_post(const Place& one, const Operation& o, std::uint64_t n) {
    Action action = action_of(kDoPost, o, one.rank, one.operation);
    const auto waits = waits_of(n);
    floats_[n] = s_.cpus() > 1 || !waits.empty();
    start_slots_[n] = keep(action, kKeepStart, count_explicit(one.rank, one.operation, true));
    const std::uint32_t posted = keep(action, kFirstHalf, 1);
    for (const std::uint32_t slot : waits) word(slot);
    add(action);
    return posted;
  }

  void record_take(const Event& event, const Operation& send, std::uint32_t entry, bool posted,
                   const PendingMatch& receive, PendingMatch& mine) {
    Action action = action_of(kDoTake, send, event.rank, posted ? receive.operation : 0);
    action.message = {entry, event.slot};
    slots_.read(event.slot);
    if (posts_ && !posted) {
      mine.slots[0] = keep(action, kFirstHalf, 1);
      word(mine.slots[1] = slots_.take(1));
    }
    if (posts_ && posted) {
      slots_.read(receive.slots[0]);
      second_half(action, event.rank, receive.operation, event.sender, event.operation,
                  needs_rendezvous(send, event.sender));
      action.flags |= kSecondHalf;
      word(receive.slots[0]);
    }
    add(action);
  }
  void record_match(const Event& event, const Operation& o, const PendingMatch& receive,
                    const PendingMatch& message) {
    const Operation& send = s_.rank(message.rank).operations[message.operation];
    Action action = action_of(kDoMatch, o, event.rank, event.operation);
    for (const std::uint32_t slot : {receive.slots[0], message.slots[0], message.slots[1]})
      slots_.read(slot);
    second_half(action, event.rank, event.operation, message.rank, message.operation,
                needs_rendezvous(send, message.rank));
    word(receive.slots[0]);
    word(message.slots[0]);
    word(message.slots[1]);
    add(action);
  }
  void second_half(Action& action, std::uint32_t rank, std::uint32_t receive, std::uint32_t sender,
                   std::uint32_t send, bool rendezvous) {
    done_slot_ = keep(action, kKeepDone, count_explicit(rank, receive, false));
    meets_slot_ = rendezvous ? keep(action, kKeepMeets, count_explicit(sender, send, false)) : 0;
    mark(action, kMarkDone, number(rank, receive));
    if (rendezvous) mark(action, kMarkMeets, number(sender, send));
  }

  const Plan& plan_;
  const Schedule& s_;
  const ProgramView& p_;
  const Network& network_;
  const Noise& noise_;
  const Delays& delays_;
  const std::uint32_t realization_;
  Plan* const record_;
  const Factors& factors_;
  const std::vector<std::uint32_t>& mark_of_;
  Tick* const marks_;
  Tick* const times_;
  const PollActions& poll_;
  const bool posts_;                 // whether the times at which receives are posted can matter
  std::vector<std::uint32_t> left_;  // what operations still wait for
  std::vector<Tick> ready_;
  std::vector<bool> floats_;  // receives that may be posted after their CPU is free
  std::vector<Processor<Tick>> processors_;
  std::vector<Tick> links_;
  std::vector<Place> freed_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  std::unordered_map<Channel, PendingMatches, HashChannel> pending_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> waits_;
  std::unordered_map<std::uint64_t, std::uint32_t> start_slots_;
  Slots slots_{plan_.marks.count};
  std::uint64_t made_ = 0, done_ = 0, last_size_ = ~std::uint64_t{0};
  std::uint32_t last_entry_ = 0, message_slot_ = 0, done_slot_ = 0, meets_slot_ = 0;
  std::size_t words_begin_ = 0;
};

void check_costs(const Schedule& schedule, const Program& program, const Network& network) {
  const Levels& levels = network.levels;
  const std::size_t entries = levels.count() * schedule.sizes().size();
  if (program.ranks() != schedule.ranks() || program.message_costs.size() != entries ||
      network.bytes.size() != entries)
    throw std::invalid_argument("the program is not of this schedule: ranks or messages differ");
  if (network.largest_eager.size() != levels.count() ||
      levels.slots.size() != (levels.spans.empty() ? 0 : schedule.ranks()) ||
      std::find(levels.spans.begin(), levels.spans.end(), 0u) != levels.spans.end())
    throw std::invalid_argument(
        "each level needs an S, and each rank a slot where there are several levels");
  if (program.loads != nullptr) throw std::invalid_argument("schedules know no congestion");
  for (const ByteCost& b : network.bytes)
    if (b.wire < 0 || b.cpu < 0 || b.wire >= kLatest || b.cpu >= kLatest)
      throw std::invalid_argument("times of bytes must lie in [0, 2^62)");
}

// All calculations stay below 2^62 at the ranks' own speed, and below 2^60 where speeds are drawn.
void check_factors(const Schedule& schedule, const Program& program, const Factors& factors) {
  if (!factors.empty() && factors.size() != schedule.ranks())
    throw std::invalid_argument("each rank has a factor, or none has");
  constexpr std::uint64_t kOne = std::uint64_t{1} << kFactorBits;
  const std::uint64_t slowest =
      factors.empty() ? kOne : *std::max_element(factors.begin(), factors.end());
  const double longest = static_cast<double>(schedule.longest_calculation()) * 1000 *
                         std::max(1.0, static_cast<double>(slowest) / static_cast<double>(kOne));
  if (longest >= static_cast<double>(kLatest) ||
      (!program.speeds.empty() &&
       longest * program.largest_factor() >= static_cast<double>(kLongestSlowed)))
    throw std::invalid_argument("a calculation takes too long at its rank's speed");
}

// Gives ranks their speed in a plan whose order and messages are known.
void slow_down(Plan& plan, Factors factors) {
  plan.factors = std::move(factors);
  plan.compute = 0;
  for (Action& action : plan.actions)
    if (action.kind == kDoCalculate) {
      action.work = times_factor(action.work, plan.factors[action.rank]);
      plan.compute += static_cast<double>(action.work);
    }
}

// Finds when what is done in the plan's order.
void execute_in_order(Plan& plan, const ProgramView& view, const PollActions& poll) {
  std::vector<Tick> processors(2 * std::size_t{plan.ranks} * plan.cpus);
  std::vector<Tick> links(2 * std::size_t{plan.ranks} * plan.nics), slots(plan.slots);
  const NoNoise quiet;
  const NoJitter direct;
  const PlanView all = plan.view();
  const Executor<Tick, NoNoise, NoJitter, true, std::uint32_t> run(
      view, all, quiet, direct, 0, view.seed, {processors.data(), links.data(), slots.data()});
  run.begin();
  const Action *a = all.actions, *const end = a + all.action_count;
  for (const std::uint32_t* words = all.words; a < end;) {
    const Action* const until = a + std::min<std::int64_t>(end - a, kEventsBetweenPolls);
    words = run.execute(a, until, words);
    a = until;
    if (poll) poll();
  }
  std::vector<Tick> found(2 + plan.marks.count);
  run.finish(1, found.data());
  plan.completion = found[0];
  plan.reached.assign(found.begin() + 2, found.end());
}

// The same where CPUs take what comes first. Receives keep their messages.
void execute_as_they_arrive(Plan& plan, const ProgramView& view, const PollActions& poll) {
  const NoNoise quiet;
  const NoJitter direct;
  std::fill(plan.reached.begin(), plan.reached.end(), 0);
  plan.completion = ArrivalRun<NoNoise, NoJitter, false>(plan, nullptr, view, quiet, direct, 0,
                                                         plan.reached.data(), nullptr, poll)
                        .run()
                        .time;
}

}  // namespace

void check_end(Tick end) {
  if (end >= kLatest)
    throw std::invalid_argument(
        "the simulated time exceeded 2^62 ps (53 days): noise has too heavy a tail, or takes too "
        "much of the CPU");
}

ProgramView view_of(const Program& program, std::uint64_t seed) {
  ProgramView view = program.view(seed);
  view.has_noise = !program.intervals.empty();  // there are no steps that the program could ask
  return view;
}

Plan make_plan(const Schedule& schedule, const Program& program, Network network, Factors factors,
               bool equally_fast, Marks marks, const PollActions& poll) {
  check_costs(schedule, program, network);
  check_factors(schedule, program, factors);
  if (!marks.of.empty() && marks.of.size() != schedule.operations())
    throw std::invalid_argument("marks must have an entry for each operation");
  for (const std::uint32_t mark : marks.of)
    if (mark != kNoMark && mark >= marks.count)
      throw std::invalid_argument("there are fewer marks than an operation names");
  Plan plan;
  plan.schedule = &schedule;
  plan.network = std::move(network);
  plan.marks = std::move(marks);
  plan.ranks = schedule.ranks();
  plan.cpus = schedule.cpus();
  plan.nics = schedule.nics();
  plan.links = plan.cpus > 1;  // which may share a link
  for (std::size_t i = 0; i < plan.network.bytes.size(); ++i) {
    const MessageCost& m = program.message_costs[i];
    plan.links |= links_matter(m, plan.network.bytes[i]);
  }
  plan.receive_of.resize(schedule.operations());
  plan.actions.reserve(schedule.operations());
  ProgramView view = view_of(program, 0);
  view.rank_delay_count = 0;
  const NoNoise quiet;
  const NoJitter direct;
  plan.reached.resize(plan.marks.count);
  ArrivalRun<NoNoise, NoJitter, true>(plan, &plan, view, quiet, direct, 0, plan.reached.data(),
                                      nullptr, poll)
      .run();
  if (factors.empty()) return plan;
  slow_down(plan, std::move(factors));
  if (equally_fast)
    execute_in_order(plan, view, poll);
  else
    execute_as_they_arrive(plan, view, poll);
  if (plan.completion >= kLatest) throw Malformed(0, kTooLong);
  return plan;
}

Ended run_in_arrival_order(const Program& program, const Plan& plan, std::uint64_t seed,
                           std::uint32_t realization, Tick* marks, Tick* times,
                           const PollActions& poll) {
  check_costs(*plan.schedule, program, plan.network);
  const ProgramView view = view_of(program, seed);
  std::fill_n(marks, plan.marks.count, 0);
  std::vector<Cursor> cursors(program.intervals.size() * plan.ranks,
                              Cursor{0, 0, 0, 0, ~realization});
  return with_noise<Delays::kByCost>(
      view, [&]<class Noise, class Delays>(const Noise& noise, const Delays& delays) {
        const auto bound = noise.bind(realization, cursors.data(), view.seed);
        return ArrivalRun<std::decay_t<decltype(bound)>, Delays, false>(
                   plan, nullptr, view, bound, delays, realization, marks, times, poll)
            .run();
      });
}

}  // namespace jf::schedule
