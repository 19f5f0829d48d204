// Executes planned GOAL schedules (application traces), on CPU and GPU: NICs, rendezvous, marks.
// A send of more than S bytes is done only when its receive is posted; its bytes leave at once.
// arrival_order.cpp makes the plan. On the CPU it is executed for a register of realizations at
// once (cpu/schedule_actions.h), on a GPU in each thread for one (schedule/kernel.cuh). What an
// action takes is in rules.h; here are the places of its times, and which of them it waits for.
#pragma once

#include "schedule/rules.h"

namespace jf::schedule {

// A plan as engines execute it: plain data, whose arrays belong to Plan (plan.h) and the network,
// or to a device's copy.
struct PlanView {
  const Action* actions;
  std::int64_t action_count;
  const std::uint32_t* words;  // of the actions: see rules.h
  const ByteCost* bytes;       // by entry of message_costs
  std::uint32_t ranks, cpus, nics, marks;
};

// The times of a realization, or of a register of them. Array: T*, or what takes its place where
// realizations lie side by side in memory.
template <class Array>
struct ActionState {
  Array processors;  // [rank][cpu][busy, next], a Processor
  Array links;       // [rank][nic][out, in]; unused if they can not matter
  Array slots;
};

// Each translation unit has its own, as code for AVX-512 must not run elsewhere
// (cpu/tiles_isa.cpp).
namespace {

// What is told of each action, in order, beside its times: nothing. critical_path.cpp has another.
struct NoRecord {
  static constexpr bool on = false;
};

template <class T, class Noise, class Network, bool kLinks, class R, class Array = T*,
          class Record = NoRecord>
class Executor {
 public:
  // times: null, or begin and end of each operation of the first realization, by where those of a
  // rank begin.
  JF_HD Executor(const ProgramView& program, const PlanView& plan, const Noise& noise,
                 const Network& network, R realizations, SeedOf<R> seed, ActionState<Array> state,
                 Tick* times = nullptr, const std::uint64_t* begins = nullptr, Record record = {})
      : record_(record),
        p_(program),
        plan_(plan),
        noise_(noise),
        network_(network),
        realizations_(realizations),
        seed_(seed),
        state_(state),
        times_(times),
        begins_(begins) {}

  JF_HD void begin() const {
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) begin(rank);
    for (std::uint32_t mark = 0; mark < plan_.marks; ++mark) state_.slots[mark] = T{};
  }

  // The actions [a, end), of which the first has its words at `words`. Returns those behind them.
  JF_HD const std::uint32_t* execute(const Action* a, const Action* end,
                                     const std::uint32_t* words) const {
    for (; a < end; ++a) {
      one(*a, words);
      words += a->words;
    }
    return words;
  }

  // out: of the first `count` realizations the time at which the last CPU is free, its rank, marks.
  JF_HD void finish(int count, Tick* out) const {
    for (int k = 0; k < count; ++k) {
      Tick last = 0;
      std::size_t which = 0;
      for (std::size_t i = 0; i < std::size_t{plan_.ranks} * plan_.cpus; ++i) {
        const Tick t = lane_of(state_.processors[2 * i], k);
        if (t > last) {
          last = t;
          which = i;
        }
      }
      *out++ = last;
      *out++ = static_cast<Tick>(which / plan_.cpus);
      for (std::uint32_t mark = 0; mark < plan_.marks; ++mark)
        *out++ = lane_of(state_.slots[mark], k);
    }
  }

 private:
  JF_HD static Tick lane_of(const T& times, int k) {
    return reinterpret_cast<const Tick*>(&times)[k];
  }
  JF_HD T id(std::uint32_t rank) const { return T{} + Tick{rank}; }
  JF_HD std::size_t place(const Action& a) const {
    return 2 * (std::size_t{a.rank} * plan_.cpus + a.cpu);
  }
  JF_HD Processor<T> processor(const Action& a) const {
    const std::size_t i = place(a);
    return {state_.processors[i], state_.processors[i + 1]};
  }
  JF_HD void put(std::size_t i, const Processor<T>& cpu) const {
    state_.processors[i] = cpu.busy;
    state_.processors[i + 1] = cpu.next;
  }
  JF_HD T& link(const Action& a, bool in) const {
    return state_.links[2 * (std::size_t{a.rank} * plan_.nics + a.nic) + in];
  }

  JF_HD void begin(std::uint32_t rank) const {
    T late{};
    for (std::int32_t k = 0; k < p_.rank_delay_count; ++k)
      if constexpr (Record::on)
        late = late + rank_delay(p_, k, seed_, 0, Tick{rank}, realizations_);
      else
        late = late + rank_delay(p_, k, seed_, 0, id(rank), realizations_);
    late = capped(late);
    T next = noise_.first(seed_, realizations_, id(rank));
    noise_.seek(next, late, false);
    for (std::uint32_t cpu = 0; cpu < plan_.cpus; ++cpu)
      put(2 * (std::size_t{rank} * plan_.cpus + cpu), {late, next});
    if constexpr (kLinks)
      for (std::uint32_t i = 0; i < 2 * plan_.nics; ++i)
        state_.links[2 * std::size_t{rank} * plan_.nics + i] = T{};
  }

  JF_HD void one(const Action& a, const std::uint32_t* words) const {
    if constexpr (Record::on) record_.begin(a, state_.processors[place(a)]);
    // A short way for most actions; on a GPU it would double the kernel's code for little.
    if constexpr (std::is_pointer_v<Array>)
      if (a.words == 0) return plain(a);
    with_words(a, words, words + a.words);
  }

  // An action that neither waits for times in slots nor keeps any.
  JF_HD void plain(const Action& a) const {
    T at = state_.processors[place(a)];
    note(a, at, act(a, at));
  }
  // Returns when the CPU is free again.
  JF_HD T act(const Action& a, T& at) const {
    Processor<T> cpu = processor(a);
    T unused{};
    if (a.kind == kDoCalculate) {
      calculate(noise_, a.work, a.draw, cpu, at, id(a.rank));
    } else if (a.kind == kDoSend) {
      state_.slots[a.message.slot] =
          send<kLinks>(noise_, p_.message_costs[a.message.cost], plan_.bytes[a.message.cost],
                       a.draw, cpu, kLinks ? link(a, false) : unused, at, id(a.rank));
    } else {
      const MessageCost& m = p_.message_costs[a.message.cost];
      const T arrival = arrival_of(network_, p_, m, a.draw, seed_, state_.slots[a.message.slot],
                                   id(a.rank), realizations_);
      take<kLinks>(noise_, m, plan_.bytes[a.message.cost], a.draw, cpu,
                   kLinks ? link(a, true) : unused, arrival, at, id(a.rank));
    }
    if constexpr (Record::on)
      record_.end(at, cpu.busy, kLinks && a.kind == kDoTake ? link(a, true) : unused);
    put(place(a), cpu);
    return cpu.busy;
  }

  // Reads all its words before it writes any slot: one that is read may be written anew.
  JF_HD_APART void with_words(const Action& a, const std::uint32_t* word,
                              const std::uint32_t* const end) const {
    const Array& slots = state_.slots;
    const auto next = [&](bool there) { return there ? &slots[*word++] : nullptr; };
    T* const keep_start = next((a.flags & kKeepStart) != 0);
    T* const keep_done = next((a.flags & kKeepDone) != 0);
    T* const keep_meets = next((a.flags & kKeepMeets) != 0);
    T* const keep_first = next((a.flags & kFirstHalf) != 0);
    T* const keep_second = next((a.flags & kFirstHalf) != 0 && a.kind == kDoTake);
    T* const mark_done = next((a.flags & kMarkDone) != 0);
    T* const mark_meets = next((a.flags & kMarkMeets) != 0);
    const bool meets = a.kind == kDoMatch || (a.flags & kSecondHalf) != 0;
    T posted{};
    if (meets) posted = slots[*word++];
    T at = state_.processors[place(a)], end_time = at;
    if (a.kind == kDoMatch) {
      at = slots[*word++];
      end_time = slots[*word++];
    }
    for (; word < end; ++word) at = later(at, slots[*word]);
    if (a.kind == kDoCalculate || a.kind == kDoSend || a.kind == kDoTake) {
      end_time = act(a, at);
      note(a, at, end_time);
    }
    if (a.kind == kDoPost) {
      if constexpr (Record::on) record_.post(at);
      end_time = at;
    }
    if constexpr (Record::on) {
      if (meets) record_.meet(a, later(posted, at));
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
    if (__builtin_expect(times_ == nullptr, 1)) return;
    Tick* const of = times_ + 2 * (begins_[a.rank] + a.draw);
    of[0] = lane_of(begin, 0);
    of[1] = lane_of(end, 0);
  }

  [[no_unique_address]] const Record record_;
  const ProgramView& p_;
  const PlanView& plan_;
  const Noise& noise_;
  const Network& network_;
  const R realizations_;
  const SeedOf<R> seed_;
  const ActionState<Array> state_;
  Tick* const times_;
  const std::uint64_t* const begins_;
};

}  // namespace
}  // namespace jf::schedule
