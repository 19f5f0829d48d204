// The arithmetic of a message step, written once as that of steps.h: T is Tick or Lanes.
//
// A send starts when the CPU is free and the link out has been left by the message before it, which
// occupies it for its gap from its start on: LogGOPSim's rule (HSL10 §3). The link in takes
// messages in the order of the program: each arrives, with its last byte, no earlier than its gap
// after the one before it.
#pragma once

#include "partners.h"
#include "steps.h"

namespace jf {

// When the last message came in, at the start: so early that no gap reaches to now.
constexpr Tick kNothingCame = INT64_MIN / 4;

// kLinks: out and in are kept. Else they can not matter: without them every time is the same (see
// Program::links_matter).

// Returns when the message has left the CPU, which is free again then.
template <bool kLinks, class Noise, class T>
JF_HD T send_message(const Noise& noise, const MessageCost& m, std::int32_t draw, T& next, T& out,
                     T busy, T id) {
  T start = busy;
  if constexpr (kLinks) start = later(busy, out);
  const T left = communicate(noise, kSendRole, draw, next, start, m.send, id);
  if constexpr (kLinks) out = left + (m.gap - m.send);
  return left;
}

// Returns when the CPU has received and combined what arrived at `arrival`.
template <bool kLinks, class Noise, class T>
JF_HD T receive_message(const Noise& noise, const MessageCost& m, std::int32_t draw, T& next, T& in,
                        T busy, T arrival, T id) {
  T at = arrival;
  if constexpr (kLinks) {
    at = later(arrival, in + m.gap);
    in = at;
  }
  return communicate(noise, kReceiveRole, draw, next, later(busy, at), m.receive, id);
}

// What a rank does between two waits where it meets no noise, in fewer operations: it receives a
// message of cost m, having just sent one, and sends the next. As receive_message gives
//   busy = max(left, at) + receive,   and send_message   max(busy, left + gap - send) + next send,
// the next one leaves at
//   max(at + receive + next send, left + max(receive, gap - send) + next send).
struct QuietTurn {
  Tick transit, gap, receive, own;

  QuietTurn() = default;
  QuietTurn(const MessageCost& m, Tick next_send)
      : transit(m.transit),
        gap(m.gap),
        receive(m.receive + next_send),
        own(later(m.receive, m.gap - m.send) + next_send) {}
  // Without a next one.
  explicit QuietTurn(const MessageCost& m)
      : transit(m.transit), gap(m.gap), receive(m.receive), own(m.receive) {}
};

// `from`: when the message that comes in has left its sender.
template <bool kLinks, class T>
JF_HD T quiet_turn(const QuietTurn& q, T& in, T left, T from) {
  T at = from + q.transit;
  if constexpr (kLinks) {
    at = later(at, in + q.gap);
    in = at;
    return later(at + q.receive, left + q.own);
  } else {
    return later(at, left) + q.receive;
  }
}

// The network as messages of this cost find it; see with_message_noise.
template <class Network>
JF_HD Network network_of(const Network& network, const ProgramView& p, const MessageCost& m) {
  Network own = network;
  if constexpr (is_general<Network>) {
    own.delays = p.step_messages + m.first;
    own.count = m.count;
    if (own.loads != nullptr) own.loads += 1 + (&m - p.message_costs);
  }
  return own;
}

// As forwards find it.
template <class Network>
JF_HD Network network_of_forwards(const Network& network, const ProgramView& p) {
  if constexpr (is_general<Network>)
    return p.messages;
  else
    return network;
}

// Where the ranks of one realization are in a message pass; all arrays have an entry for each rank.
struct MessageState {
  Tick *sent, *busy;  // see Clock; one array unless forwards cost CPU time
  Tick* next;         // the noise's own
  Tick *out, *in;     // earliest start of the next send; when the link in is free; or null
  Tick* left;         // of the step at hand: when the message of a rank has left
};

// Message passes rank by rank, as the plain CPU engine and the GPU do them: for each step what all
// ranks do first and, when all have done that, second.
template <class Noise, class Network, bool kLinks>
struct MessageRanks {
  const ProgramView& p;
  const Noise& noise;
  const Network& network;
  const std::uint32_t realization;
  const MessageState s;

  // As the pass before left it, or at time 0 (`load` is not set). `first`: the first message pass.
  JF_HD void begin(std::int64_t i, bool load, bool first) const {
    const bool untouched = first && i >> p.log2_ranks != 0;  // exchanges leave these ranks alone
    if (!load || untouched) s.sent[i] = 0;
    if (p.costs.forward > 0) s.busy[i] = s.sent[i];
    if (!first) return;
    s.next[i] = begin_noise(noise, p.seed, realization, Tick{i});
    seek(noise, s.next[i], s.busy[i], false);
    if constexpr (kLinks) s.out[i] = 0, s.in[i] = kNothingCame;
  }

  JF_HD void first_half(const Step& step, std::int32_t turn, std::int64_t i) const {
    if (step.kind == kForward) {
      s.left[i] = leaves(step, i);
    } else if (step.kind == kMessage) {
      if (p.costs.forward > 0) s.sent[i] = s.busy[i];
      if ((step.flags & kAfterForward) != 0 && turn == 0) seek(noise, s.next[i], s.busy[i], true);
      if (receiver_of(step, p.ranks, i) == kNobody) return;
      Tick none = 0;
      s.left[i] = s.sent[i] = s.busy[i] =
          send_message<kLinks>(noise, p.message_costs[step.cost], step.draw + turn, s.next[i],
                               kLinks ? s.out[i] : none, s.busy[i], Tick{i});
    } else if (step.kind == kCompute) {
      Clock<Tick> c{s.sent[i], s.busy[i], s.next[i], i};
      compute(noise, p.costs, step, c);
      s.sent[i] = s.busy[i] = c.busy;
      s.next[i] = c.next;
    }
  }

  JF_HD static bool has_second_half(const Step& step) {
    return step.kind == kForward || step.kind == kMessage;
  }

  JF_HD void second_half(const Step& step, std::int32_t turn, std::int64_t i) const {
    if (step.kind == kForward) {
      const std::int64_t from = forward_partner(step, p.ranks, i);
      if (from == kNobody) return;
      const Tick at = s.left[from] + p.costs.transit +
                      network_of_forwards(network, p)
                          .delay(p.seed, kForwardJitter, static_cast<std::uint32_t>(step.draw),
                                 Tick{i}, realization, s.left[from]);
      Clock<Tick> c{s.sent[i], s.busy[i], 0, i};
      take_forward(s.left[i], at, c);
      s.busy[i] = c.busy;
      s.sent[i] = c.sent;
      return;
    }
    const std::int64_t from = sender_of(step, p.ranks, i);
    if (from == kNobody) return;
    const MessageCost& m = p.message_costs[step.cost];
    const std::int32_t draw = step.draw + turn;
    const Tick at = s.left[from] + m.transit +
                    network_of(network, p, m)
                        .delay(p.seed, kOriginalJitter, static_cast<std::uint32_t>(draw), Tick{i},
                               realization, s.left[from]);
    Tick none = 0;
    s.sent[i] = s.busy[i] = receive_message<kLinks>(
        noise, m, draw, s.next[i], kLinks ? s.in[i] : none, s.busy[i], at, Tick{i});
  }

 private:
  // When the forward of a rank leaves; of one that has no partner, nothing does.
  JF_HD Tick leaves(const Step& step, std::int64_t i) const {
    if (forward_partner(step, p.ranks, i) == kNobody) return s.busy[i];
    return forward_sent(noise, p.costs, Clock<Tick>{s.sent[i], s.busy[i], s.next[i], i});
  }
};

}  // namespace jf
