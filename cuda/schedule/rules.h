// Rules of GOAL schedules in LogGOPS: what sends, receives, calculations and handshakes take.
// A schedule is a list of actions. An engine executes the actions one after the other, for any
// number of realizations at once.
//
// The rules are LogGOPSim's (Hoefler, Schneider & Lumsdaine, HPDC 2010; its source), n being the
// bytes of a message:
//
// - A calculation takes its CPU for its time.
// - A send begins when its CPU and its link out are free. It takes the CPU for o + (n - 1) O. Its
//   first byte has left after o. It takes the link out for g + (n - 1) G, from o before that.
// - The first byte arrives L later. It is taken as soon as CPU and link in are free, whether or
//   not the receive is posted: for o of the CPU, then until (n - 1) O of CPU time are done and the
//   bytes have come, (n - 1) G later. The link in is taken for g + (n - 1) G.
// - A receive costs nothing itself. It is posted when what it requires is done and the CPU is free,
//   and done when it is posted and its message is taken.
// - A send of more than S bytes (rendezvous; plan.h compares with S) is done when its receive is
//   posted and its message begins to be taken; others are done when their CPU time is. The
//   handshake itself (request and reply) takes no time: the bytes leave as those of any send, also
//   before the receive is posted. What waits so is in executor.h. (A collective of a case knows
//   no rendezvous: python/jitterfly/network.py.)
//
// Noise (noise/) takes CPU time, and lengthens the way of a message. LogGOPSim lets noise that hits
// a send hold the CPU only; here it delays the message as well (cf. docs/from_loggopsim.md).
#pragma once

#include "core/message_steps.h"

namespace jf::schedule {

// What a message of some size takes besides its MessageCost (core/program.h), of which send and
// receive are o, transit is L, and gap is g + (n - 1) G.
struct ByteCost {
  Tick wire, cpu;  // (n - 1) G and (n - 1) O
};

// kDoTake: a message is taken. kDoPost: a receive is posted. kDoMatch: a receive was posted, and
// its message was taken before that. Posts and matches are there only where their times can matter.
enum ActionKind : std::uint8_t { kDoCalculate, kDoSend, kDoTake, kDoPost, kDoMatch };
// Times that later actions need are kept in slots. The words of an action name slots, in this
// order:
enum ActionFlag : std::uint8_t {
  kKeepStart = 1,  // for the time at which it starts
  kKeepDone = 2,   // for the time at which it is done; of a take or match: at which its receive is
  kKeepMeets = 4,  // of a take or match: for the time at which a send with rendezvous is done
  // The message is taken before its receive is posted, or the other way round. A post keeps its
  // time, a take its start and its end, for the other one.
  kFirstHalf = 8,
  kSecondHalf = 16,  // of a take: reads the time of the post. (A match reads post, start and end.)
  // When the operation is done, or a send with rendezvous is, counts for a mark.
  kMarkDone = 32,
  kMarkMeets = 64
};  // The slots of marks stand before that of the post; behind it those that the action waits for.

struct Action {
  std::uint8_t kind, flags, cpu, nic;
  std::uint32_t rank;
  std::uint32_t draw;   // the number of the operation in its rank: of a take or post, the receive
  std::uint32_t words;  // how many
  union {
    Tick work;  // of a calculation
    struct {
      std::uint32_t cost;  // entry of message_costs
      std::uint32_t slot;  // of the time at which the message left
    } message;
  };
};
static_assert(sizeof(Action) == 24);

// A CPU of a rank: when it is free, and the state of its noise.
template <class T>
struct Processor {
  T busy, next;
};

// No time is kept that is later than kLatest: whatever comes after it ends there, too, and the
// caller refuses it. So no sum overflows, if what one operation can take is below 2^62 - which is
// checked before a run (python/jitterfly/schedule/compile.py).
template <class T>
JF_HD T capped(T t) {
  return earlier(t, T{} + kLatest);
}

// What a CPU does. T = Tick: in one realization. T = Lanes: in a register of them. `at` is no
// earlier than when the CPU is free, and is set to when the action begins.

template <class Noise, class T>
JF_HD void calculate(const Noise& noise, Tick work, std::uint32_t draw, Processor<T>& cpu, T& at,
                     T id) {
  Step step{};
  step.draw = static_cast<std::int32_t>(draw);
  Clock<T> clock{at, at, cpu.next, id};
  compute<true>(noise, work, step, clock);
  cpu.busy = capped(clock.busy);
  cpu.next = clock.next;
}

// Returns when the first byte has left.
template <bool kLinks, class Noise, class T>
JF_HD T send(const Noise& noise, const MessageCost& m, const ByteCost& bytes, std::uint32_t draw,
             Processor<T>& cpu, T& out, T& at, T id) {
  if constexpr (kLinks) at = later(at, out);
  const T left = capped(send_message<kLinks>(noise, m, draw, cpu.next, out, at, id));
  if constexpr (kLinks) out = capped(out);
  cpu.busy = capped(noise.communicate(cpu.next, left, bytes.cpu, id));
  return left;
}

template <bool kLinks, class Noise, class T>
JF_HD void take(const Noise& noise, const MessageCost& m, const ByteCost& bytes, std::uint32_t draw,
                Processor<T>& cpu, T& in, T arrival, T& at, T id) {
  at = later(at, arrival);
  if constexpr (kLinks) {
    at = later(at, in);
    in = capped(at + m.gap);
  }
  const T begun = capped(noise.step(kReceiveRole, draw, cpu.next, at, m.receive, id));
  cpu.busy = capped(later(noise.communicate(cpu.next, begun, bytes.cpu, id), begun + bytes.wire));
}

// When the message that left at `left` arrives: its first byte.
template <class Network, class Seed, class T, class R>
JF_HD T arrival_of(const Network& network, const ProgramView& p, const MessageCost& m,
                   std::uint32_t draw, Seed seed, T left, T id, R realization) {
  return capped(
      left + m.transit +
      network_of(network, p, m).delay(seed, kOriginalJitter, draw, id, realization, left));
}

// Whether the links in and out can delay anything: not where each is free again before the CPU is.
inline bool links_matter(const MessageCost& m, const ByteCost& bytes) {
  return m.gap > m.send + bytes.cpu || m.gap > m.receive + later(bytes.wire, bytes.cpu);
}

}  // namespace jf::schedule
