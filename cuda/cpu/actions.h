// A plan of a schedule on the CPU (schedule/plan.h). T = Lanes: a register holds the same time of
// several realizations. T = Tick: of one realization, without registers.
#pragma once

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "schedule/plan.h"

namespace jf {

// The actions of some realizations. Lane k of a register is realization first + k. If there are
// fewer realizations than lanes, the remaining lanes repeat the last realization.
struct ActionJob {
  const ProgramView* program;
  const schedule::Plan* plan;
  const schedule::ByteCost* bytes;  // by entry of message_costs
  std::uint32_t first;              // realization
  int realizations;
  void* processors;  // [rank][cpu], schedule::Processor<T>
  void* ways;        // [rank][nic][out, in], T; null if they can not matter
  void* slots;       // T
  void* cursors;     // [rank][source], CursorOf<T>; or null
  Tick* out;         // [realization][time at which the last CPU is free, its rank, marks]
  // Null, or begin and end of each operation of the first realization, by where those of a rank
  // begin.
  Tick* times;
  const std::uint64_t* begins;
  const std::atomic<bool>* stop;
};

// One per instruction set, and one without registers.
using RunActions = void (*)(const ActionJob&);
void run_actions_portable(const ActionJob& job);
void run_actions_avx2(const ActionJob& job);
void run_actions_avx512(const ActionJob& job);
void run_actions_plain(const ActionJob& job);

namespace {

// What is told of each action, in order, beside its times: nothing. schedule/explain.cpp has
// another.
struct NoRecord {
  static constexpr bool on = false;
};

template <class T, class Noise, class Network, bool kLinks, class R, class Record = NoRecord>
class ActionRun {
  using Action = schedule::Action;
  using Processor = schedule::Processor<T>;
  static constexpr std::int64_t kActionsBetweenPolls = 1 << 16;

 public:
  ActionRun(const ActionJob& job, const Noise& noise, const Network& network, R realizations,
            SeedOf<R> seed, Record record = {})
      : record_(record),
        job_(job),
        p_(*job.program),
        plan_(*job.plan),
        noise_(noise),
        network_(network),
        realizations_(realizations),
        seed_(seed),
        processors_(static_cast<Processor*>(job.processors)),
        ways_(static_cast<T*>(job.ways)),
        slots_(static_cast<T*>(job.slots)) {}

  void run() {
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) begin(rank);
    std::fill_n(slots_, plan_.marks.count, T{});
    const Action* const end = plan_.actions.data() + plan_.actions.size();
    const std::uint32_t* words = plan_.words.data();
    for (const Action* a = plan_.actions.data(); a < end;) {
      if (job_.stop->load(std::memory_order_relaxed)) return;
      const Action* const until = a + std::min<std::int64_t>(end - a, kActionsBetweenPolls);
      for (; a < until; ++a) {
        one(*a, words);
        words += a->words;
      }
    }
    finish();
  }

 private:
  T id(std::uint32_t rank) const { return T{} + Tick{rank}; }
  Processor& processor(const Action& a) const {
    return processors_[std::size_t{a.rank} * plan_.cpus + a.cpu];
  }
  T& way(const Action& a, bool in) const {
    return ways_[2 * (std::size_t{a.rank} * plan_.nics + a.nic) + in];
  }

  void begin(std::uint32_t rank) const {
    T late{};
    for (std::int32_t k = 0; k < p_.rank_delay_count; ++k)
      if constexpr (Record::on)
        late = late + rank_delay(p_, k, seed_, 0, Tick{rank}, realizations_);
      else
        late = late + rank_delay(p_, k, seed_, 0, id(rank), realizations_);
    late = schedule::capped(late);
    T next = begin_noise(noise_, seed_, realizations_, id(rank));
    seek(noise_, next, late, false);
    for (std::uint32_t cpu = 0; cpu < plan_.cpus; ++cpu)
      processors_[std::size_t{rank} * plan_.cpus + cpu] = {late, next};
    if constexpr (kLinks)
      for (std::uint32_t i = 0; i < 2 * plan_.nics; ++i)
        ways_[2 * std::size_t{rank} * plan_.nics + i] = T{};
  }

  JF_HD void one(const Action& a, const std::uint32_t* words) const {
    if constexpr (Record::on) record_.begin(a, processor(a).busy);
    if (a.words == 0) return plain(a);
    with_words(a, words, words + a.words);
  }

  // An action that neither waits for times in slots nor keeps any.
  JF_HD void plain(const Action& a) const {
    Processor& cpu = processor(a);
    T at = cpu.busy;
    act(a, cpu, at);
    note(a, at, cpu.busy);
  }
  JF_HD void act(const Action& a, Processor& cpu, T& at) const {
    T unused{};
    if (a.kind == schedule::kDoCalculate) {
      schedule::calculate(noise_, a.work, a.draw, cpu, at, id(a.rank));
    } else if (a.kind == schedule::kDoSend) {
      slots_[a.message.slot] = schedule::send<kLinks>(
          noise_, p_.message_costs[a.message.cost], job_.bytes[a.message.cost], a.draw, cpu,
          kLinks ? way(a, false) : unused, at, id(a.rank));
    } else {
      const MessageCost& m = p_.message_costs[a.message.cost];
      const T arrival = schedule::arrival_of(network_, p_, m, a.draw, seed_, slots_[a.message.slot],
                                             id(a.rank), realizations_);
      schedule::take<kLinks>(noise_, m, job_.bytes[a.message.cost], a.draw, cpu,
                             kLinks ? way(a, true) : unused, arrival, at, id(a.rank));
    }
    if constexpr (Record::on)
      record_.end(at, cpu.busy, kLinks && a.kind == schedule::kDoTake ? way(a, true) : unused);
  }

  // Reads all its words before it writes any slot: one that is read may be written anew.
  __attribute__((noinline)) void with_words(const Action& a, const std::uint32_t* word,
                                            const std::uint32_t* const end) const {
    using namespace schedule;
    const auto next = [&](bool there) { return there ? slots_ + *word++ : nullptr; };
    T* const keep_start = next((a.flags & kKeepStart) != 0);
    T* const keep_done = next((a.flags & kKeepDone) != 0);
    T* const keep_meets = next((a.flags & kKeepMeets) != 0);
    T* const keep_first = next((a.flags & kFirstHalf) != 0);
    T* const keep_second = next((a.flags & kFirstHalf) != 0 && a.kind == kDoTake);
    T* const mark_done = next((a.flags & kMarkDone) != 0);
    T* const mark_meets = next((a.flags & kMarkMeets) != 0);
    const bool meets = a.kind == kDoMatch || (a.flags & kSecondHalf) != 0;
    T posted{};
    if (meets) posted = slots_[*word++];
    Processor& cpu = processor(a);
    T at = cpu.busy, end_time = cpu.busy;
    if (a.kind == kDoMatch) {
      at = slots_[*word++];
      end_time = slots_[*word++];
    }
    for (; word < end; ++word) at = later(at, slots_[*word]);
    if (a.kind == kDoCalculate || a.kind == kDoSend || a.kind == kDoTake) {
      act(a, cpu, at);
      end_time = cpu.busy;
      note(a, at, end_time);
    }
    if (a.kind == kDoPost) {
      if constexpr (Record::on) record_.post(at);
      end_time = at;
    }
    if (keep_start != nullptr) *keep_start = at;
    if (keep_done != nullptr) *keep_done = meets ? later(posted, end_time) : end_time;
    if (keep_meets != nullptr) *keep_meets = later(posted, at);
    if (mark_done != nullptr) *mark_done = later(*mark_done, later(posted, end_time));
    if (mark_meets != nullptr) *mark_meets = later(*mark_meets, later(posted, at));
    if (keep_first != nullptr) *keep_first = at;
    if (keep_second != nullptr) *keep_second = end_time;
  }

  JF_HD void note(const Action& a, const T& begin, const T& end) const {
    if (__builtin_expect(job_.times == nullptr, 1)) return;
    Tick* place = job_.times + 2 * (job_.begins[a.rank] + a.draw);
    place[0] = reinterpret_cast<const Tick*>(&begin)[0];
    place[1] = reinterpret_cast<const Tick*>(&end)[0];
  }

  void finish() const {
    for (int k = 0; k < job_.realizations; ++k) {
      Tick last = 0;
      std::size_t which = 0;
      for (std::size_t i = 0; i < std::size_t{plan_.ranks} * plan_.cpus; ++i) {
        const Tick t = reinterpret_cast<const Tick*>(&processors_[i].busy)[k];
        if (t > last) {
          last = t;
          which = i;
        }
      }
      Tick* const out = job_.out + k * (2 + std::int64_t{plan_.marks.count});
      out[0] = last;
      out[1] = static_cast<Tick>(which / plan_.cpus);
      for (std::uint32_t mark = 0; mark < plan_.marks.count; ++mark)
        out[2 + mark] = reinterpret_cast<const Tick*>(&slots_[mark])[k];
    }
  }

  [[no_unique_address]] const Record record_;
  const ActionJob& job_;
  const ProgramView& p_;
  const schedule::Plan& plan_;
  const Noise& noise_;
  const Network& network_;
  const R realizations_;
  const SeedOf<R> seed_;
  Processor* const processors_;
  T* const ways_;
  T* const slots_;
};

template <class T, class R>
void run_actions(const ActionJob& job, R realizations, SeedOf<R> seed) {
  with_message_noise(
      *job.program, [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
        const auto bound =
            bind(noise, realizations, static_cast<CursorOf<TimesOf<R>>*>(job.cursors), seed);
        using Bound = std::decay_t<decltype(bound)>;
        if (job.ways != nullptr)
          ActionRun<T, Bound, Network, true, R>(job, bound, network, realizations, seed).run();
        else
          ActionRun<T, Bound, Network, false, R>(job, bound, network, realizations, seed).run();
      });
}

}  // namespace
}  // namespace jf
