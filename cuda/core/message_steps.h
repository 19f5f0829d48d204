// Times of messages, as of trees and rings, from their LogGOPS costs, for Tick and Lanes (SIMD).
// python/jitterfly/network.py makes the costs of a message of these parameters.
//
// A send starts when the CPU is free and the link out has been left by the message before it, which
// occupies it for its gap from its start on: LogGOPSim's rule (HSL10 §3). The link in takes
// messages in the order of the program: each arrives, with its last byte, no earlier than its gap
// after the one before it.
#pragma once

#include "core/partners.h"
#include "core/steps.h"

namespace jf {

// When the last message came in, at the start: so early that no gap reaches to now.
constexpr Tick kNothingCame = INT64_MIN / 4;

// kLinks: out and in are kept. Else they can not matter: without them every time is the same (see
// Program::links_matter).

// Returns when the message has left the CPU, which is free again then.
template <bool kLinks, class Noise, class T>
JF_HD T send_message(const Noise& noise, const MessageCost& m, std::uint64_t draw, T& next, T& out,
                     T busy, T id) {
  T start = busy;
  if constexpr (kLinks) start = later(busy, out);
  const T left = noise.step(kSendRole, draw, next, start, m.send, id);
  if constexpr (kLinks) out = left + (m.gap - m.send);
  return left;
}

// Returns when the CPU has received and combined what arrived at `arrival`.
template <bool kLinks, class Noise, class T>
JF_HD T receive_message(const Noise& noise, const MessageCost& m, std::uint64_t draw, T& next,
                        T& in, T busy, T arrival, T id) {
  T at = arrival;
  if constexpr (kLinks) {
    at = later(arrival, in + m.gap);
    in = at;
  }
  return noise.step_at_own_speed(kReceiveRole, draw, next, later(busy, at), m.combine,
                                 m.receive - m.combine, id);
}

// The network as messages of this cost find it; see with_noise of program.h.
template <class Network>
JF_HD Network network_of(const Network& network, const ProgramView& p, const MessageCost& m) {
  Network own = network;
  if constexpr (Network::on) {
    own.delays = p.step_messages + m.first;
    own.count = m.count;
    if (own.loads != nullptr) own.loads += 1 + (&m - p.message_costs);
  }
  return own;
}

// As a forward finds it. `m`: its cost, or null where all forwards cost the same.
template <class Network>
JF_HD Network network_of_forward(const Network& network, const ProgramView& p,
                                 const MessageCost* m) {
  if (m != nullptr) return network_of(network, p, *m);
  if constexpr (Network::on)
    return p.messages;
  else
    return network;
}

// Where ranks are in a message pass. Entry i of an array is of rank i: of one realization, or of as
// many as `stride`, side by side.
struct MessageState {
  Tick *sent, *busy;  // see Clock; one array unless forwards cost CPU time
  Tick* next;         // the noise's own
  Tick *out, *in;     // earliest start of the next send; when the link in is free; or null
  Tick* left;         // of the step at hand: when the message of a rank has left; the last array
                      // has when its clock started, if any does
  std::int64_t stride;
  std::int64_t apart = 0;  // from one array of departures to the next, see ProgramView::departures

  // Where in its array entry i is.
  JF_HD std::int64_t place(std::int64_t i) const { return i * stride; }
  // Where the departures of a step are kept.
  JF_HD Tick* departures(const Step& s) const { return is_half(s) ? left + s.c * apart : left; }
};

// One turn of a message step, of those of its messages that have a cost entry: what they cost, the
// number of their draws, and their network.
template <class Network>
struct MessageTurn {
  std::int32_t entry;
  MessageCost cost;
  std::uint64_t draw;
  [[no_unique_address]] Network network;

  JF_HD MessageTurn(const ProgramView& p, const Network& any, const Step& step, std::int32_t turn,
                    std::int32_t entry)
      : entry(entry),
        cost(p.message_costs[entry]),
        draw(draw_of_turn(step, turn)),
        network(network_of(any, p, p.message_costs[entry])) {}
};

// Whether ranks have to catch up before a turn: only a forward leaves `sent` apart from `busy`, and
// the first messages after it are marked.
JF_HD bool catches_up(const Step& step, std::int32_t turn) {
  return turn == 0 && (step.flags & kAfterForward) != 0;
}

// f(turn, from, to) for the messages of a turn that are numbered from `first` on, on some
// MessageExecutor. flip: 0, or the mask, if they are to come in the order of receivers.
template <class Ranks, class F>
JF_HD void each_message(const Ranks& ranks, const Step& step, std::int32_t number,
                        const TurnMessages& messages, std::int64_t first, std::uint32_t flip,
                        F&& f) {
  using Turn = typename Ranks::Turn;
  if (!messages.listed) {
    const Turn turn(ranks.p, ranks.network, step, number, messages.cost);
    if (const std::int64_t mask = messages.mask;
        mask != 0) {  // a tenth faster than the general way
      for (std::int64_t k = first; k < messages.count; ++k) f(turn, k ^ flip, k ^ flip ^ mask);
      return;
    }
    for (std::int64_t k = first; k < messages.count; ++k) {
      const auto [from, to] = messages.ranks_of(k);
      f(turn, from, to);
    }
    return;
  }
  // Neighbours in a list often have the same cost: then they share a turn.
  for (std::int64_t k = first; k < messages.count;) {
    const std::int32_t cost = messages[k].cost;
    const Turn turn(ranks.p, ranks.network, step, number, cost);
    for (; k < messages.count && messages[k].cost == cost; ++k)
      f(turn, std::int64_t{messages[k].from}, std::int64_t{messages[k].to});
  }
}

// Calls left = send(turn, from) and receive(turn, to, left) for each of these messages. If no rank
// does both, a message is received as soon as it is sent; else, first all send. Of half a step one
// of both is left out.
template <class Ranks, class Send, class Receive>
JF_HD void send_and_receive(const Ranks& ranks, const Step& step, std::int32_t number,
                            const TurnMessages& messages, std::int64_t first, Send&& send,
                            Receive&& receive) {
  const auto each = [&](std::uint32_t flip, auto&& f)
                        JF_INLINE { each_message(ranks, step, number, messages, first, flip, f); };
  if (goes_one_way(step)) {
    each(0, [&](const auto& turn, std::int64_t from, std::int64_t to)
                JF_INLINE { receive(turn, to, send(turn, from)); });
    return;
  }
  Tick* const left = ranks.s.departures(step);
  if ((step.flags & kReceivesOnly) == 0)
    each(0, [&](const auto& turn, std::int64_t from, std::int64_t)
                JF_INLINE { ranks.put(left, from, send(turn, from)); });
  if ((step.flags & kSendsOnly) == 0)
    each(messages.mask, [&](const auto& turn, std::int64_t from, std::int64_t to)
                            JF_INLINE { receive(turn, to, ranks.get(left, from)); });
}

// How long a rank idles, by source k, before the compute phase of that draw number.
template <class Seed, class T, class R>
JF_HD_COLD T rank_delay(const ProgramView& p, std::int32_t k, Seed seed, std::uint64_t draw, T rank,
                        R realization) {
  return p.rank_delays[k].of(seed, draw, rank, realization, p.sources.words);
}

// What a rank does in the steps of a message pass, as every engine does it. T = Tick: in one
// realization, whose number R is. T = Lanes: in a register of realizations, R. State: MessageState,
// or one that has other places for the entries.
template <class T, class Noise, class Network, bool kLinks, class R = std::uint32_t,
          class State = MessageState>
struct MessageExecutor {
  using Turn = MessageTurn<Network>;

  const ProgramView& p;
  const Noise& noise;
  const Network& network;
  const R realization;
  State s;
  const SeedOf<R> seed;
  std::int64_t spacing = 1;  // entry i of the state is of rank i * spacing

  JF_HD T get(const Tick* array, std::int64_t i) const {
    return *reinterpret_cast<const T*>(array + s.place(i));
  }
  JF_HD void put(Tick* array, std::int64_t i, T value) const {
    *reinterpret_cast<T*>(array + s.place(i)) = value;
  }

  // As the pass before left it, or at time 0 (`load` is not set). `first`: the first message pass.
  JF_HD void begin(std::int64_t i, bool load, bool first) const {
    begin_times(i, load, first);
    if (!first) return;
    T next = noise.first(seed, realization, id(i));
    begin_next(i, next);
  }
  JF_HD void begin_times(std::int64_t i, bool load, bool first) const {
    const bool untouched = first && i >> p.log2_ranks != 0;  // exchanges leave these ranks alone
    if (!load || untouched) put(s.sent, i, T{});
    if (forwards()) put(s.busy, i, get(s.sent, i));
    if (!first) return;
    if constexpr (kLinks) {
      put(s.out, i, T{});
      put(s.in, i, T{} + kNothingCame);
    }
  }
  // `next`: of time 0.
  JF_HD void begin_next(std::int64_t i, T next) const {
    noise.seek(next, get(s.busy, i), false);
    put(s.next, i, next);
  }

  // The GPU leaves it out where it does nothing: see is_idle in gpu/message_pass.h.
  JF_HD void work(const Step& step, std::int64_t i) const {
    const std::int64_t rank = i * spacing;
    const Tick work = step.map & kOwnWork ? p.rank_times[step.a + rank] : p.costs.work;
    Clock<T> c{get(s.sent, i), get(s.busy, i), get(s.next, i), id(i)};
    if (step.map & kOwnDelay) c.busy = c.busy + p.rank_times[step.b + rank];
    for (std::int32_t k = 0; k < p.rank_delay_count; ++k)
      c.busy = c.busy + rank_delay(p, k, seed, step.draw, c.id, realization);
    compute<true>(noise, work, step, c);
    put_busy(i, c.busy);
    put(s.next, i, c.next);
  }

  // All ranks, those that neither send nor receive too, before a turn that catches_up().
  JF_HD void catch_up(std::int64_t i) const {
    put(s.sent, i, get(s.busy, i));
    T next = get(s.next, i);
    noise.seek(next, get(s.busy, i), true);
    put(s.next, i, next);
  }

  // Returns when the message of rank i has left.
  JF_HD T send(const Turn& turn, std::int64_t i) const {
    T next = get(s.next, i), out{};
    if constexpr (kLinks) out = get(s.out, i);
    const T left =
        send_message<kLinks>(noise, turn.cost, turn.draw, next, out, get(s.busy, i), id(i));
    if constexpr (kLinks) put(s.out, i, out);
    put(s.next, i, next);
    put_busy(i, left);
    return left;
  }

  // `left`: when the message that rank i receives has left its sender.
  JF_HD void receive(const Turn& turn, std::int64_t i, T left) const {
    const T at = left + turn.cost.transit +
                 turn.network.delay(seed, kOriginalJitter, turn.draw, id(i), realization, left);
    T next = get(s.next, i), in{};
    if constexpr (kLinks) in = get(s.in, i);
    const T busy =
        receive_message<kLinks>(noise, turn.cost, turn.draw, next, in, get(s.busy, i), at, id(i));
    if constexpr (kLinks) put(s.in, i, in);
    put(s.next, i, next);
    put_busy(i, busy);
  }

  // The clock of rank i starts: see kStartsClock. It is kept behind the departures.
  JF_HD void start_clock(std::int64_t i) const { put(clocks(), i, get(s.sent, i)); }
  // What the row of a step has of rank i: when it is ready, or its own time up to there.
  JF_HD T observed(const Step& step, std::int64_t i) const {
    const T ready = get(s.sent, i);
    return step.flags & kOwnTime ? ready - get(clocks(), i) : ready;
  }

  // When the forward of a rank leaves; of one that has no partner, nothing does.
  JF_HD T forward_leaves(const Step& step, std::int64_t i) const {
    if (forward_partner(step, p.ranks, i) == kNoRank) return get(s.busy, i);
    return send_forward(noise, p.costs,
                        Clock<T>{get(s.sent, i), get(s.busy, i), get(s.next, i), id(i)});
  }
  // `own`, `left`: when the forwards of rank i and of its partner have left.
  JF_HD void forward_comes(const Step& step, std::int64_t i, T own, T left) const {
    const MessageCost* const cost = forward_cost(step, p, forward_partner(step, p.ranks, i));
    const T at = left + (cost != nullptr ? cost->transit : p.costs.transit) +
                 network_of_forward(network, p, cost)
                     .delay(seed, kForwardJitter, static_cast<std::uint32_t>(step.draw), id(i),
                            realization, left);
    Clock<T> c{get(s.sent, i), get(s.busy, i), T{}, id(i)};
    receive_forward(own, at, c);
    put(s.busy, i, c.busy);
    put(s.sent, i, c.sent);
  }

 private:
  JF_HD T id(std::int64_t i) const { return T{} + Tick{i * spacing}; }
  JF_HD bool forwards() const { return p.costs.forward > 0; }
  JF_HD Tick* clocks() const { return s.left + (p.departures - 1) * s.apart; }
  JF_HD void put_busy(std::int64_t i, T busy) const {
    put(s.busy, i, busy);
    if (forwards()) put(s.sent, i, busy);
  }
};

}  // namespace jf
