// Arithmetic of butterfly steps (exchange, copies, forwards), once for CPU, SIMD and GPU.
// Here the CPU time of a step is stretched by noise: o of each message, and what is combined.
// Each engine adds the transit of a message where it reads the partner: arrival() in cpu/plain.cpp,
// cpu/register_block.h and gpu/tile_kernel.cuh. What gpu/lean_kernel.cuh and core/segment.h derive
// from it for speed, they say. Messages of other algorithms: core/message_steps.h.
#pragma once

#include "core/program.h"

namespace jf {

// The state of a rank between two steps.
template <class T>
struct Clock {
  T sent;  // departure of its original message of this level; after the butterfly: ready time
  T busy;  // when the CPU is free again; == sent unless a copy was sent after the original
  T next;  // state of the noise source, see noise/interface.h
  T id;    // number of the rank
};

// Sends the original message of a round. Returns its departure.
template <class Noise, class T>
JF_HD T send(const Noise& noise, const Costs& c, std::uint64_t draw, T& next, T t, T id) {
  return noise.step(kSendRole, draw, next, t, c.send, id);
}

// Compute phase (CS14 §3): the next collective starts when `work` of CPU time is done. Work of
// length 0 is no step that could be delayed. kOwnSpeed: ranks may differ in their speed by draws,
// which the passes of exchanges do not know.
template <bool kOwnSpeed = false, class Noise, class T>
JF_HD void compute(const Noise& noise, Tick work, const Step& step, Clock<T>& rank) {
  T end = rank.busy + work;
  if (noise.in_compute) {
    noise.seek(rank.next, rank.busy, (step.flags & kAfterForward) != 0);
    if (work > 0) {
      if constexpr (kOwnSpeed)
        end = noise.step_at_own_speed(kComputeRole, step.draw, rank.next, rank.busy, work, Tick{0},
                                      rank.id);
      else
        end = noise.step(kComputeRole, step.draw, rank.next, rank.busy, work, rank.id);
    }
  }
  rank.sent = rank.busy = end;
}

// Start of the collective: the message of round 0 is sent. Returns the ready time of level 0.
template <class Noise, class T>
JF_HD T enter(const Noise& noise, const Costs& c, const Step& step, Clock<T>& rank) {
  const T ready = rank.busy;
  if (noise.in_communication) noise.seek(rank.next, ready, (step.flags & kAfterForward) != 0);
  rank.sent = rank.busy =
      step.flags & kFinal ? ready : send(noise, c, step.draw, rank.next, ready, rank.id);
  return ready;
}

// Receives the message that gives a rank a level, A_i(max(b_i, a), work): one draw per level,
// whichever message it is.
template <class Noise, class T>
JF_HD T receive(const Noise& noise, std::uint64_t draw, Tick work, T arrival, Clock<T>& rank) {
  return noise.step(kReceiveRole, draw, rank.next, later(rank.busy, arrival), work, rank.id);
}

// Original exchange: receives the partner's message, sends the next. Returns the ready time u of
// level l = r + 1. In the symbols of docs/model.md, "The butterfly", with partner j = i xor 2^r:
//
//   a = s_j + c,  u = A_i(max(b_i, a), o_r + gamma n),  then s_i = b_i = A_i(u, o_s)
//
// `arrival` is a, with the delays of network noise; rank.sent is s_i and rank.busy is b_i. Of the
// costs, c is transit, o_s send, o_r receive and gamma n combine. After the last level (kFinal)
// nothing is sent.
template <class Noise, class T>
JF_HD T exchange(const Noise& noise, const Costs& c, const Step& step, T arrival, Clock<T>& rank) {
  const T own = receive(noise, step.draw, c.receive + c.combine, arrival, rank);
  rank.sent = rank.busy =
      step.flags & kFinal ? own : send(noise, c, step.draw + 1, rank.next, own, rank.id);
  return own;
}

// Redundant exchange inside the butterfly (CS14 Algorithm 2), first half: the rank's own path.
template <class T>
struct OwnPath {
  T ready;
  Clock<T> after;  // after.busy is the departure of the copy
};

template <class Noise, class T>
JF_HD OwnPath<T> own_path(const Noise& noise, const Costs& c, const Step& step, T arrival,
                          Clock<T> rank) {
  OwnPath<T> own;
  own.ready = receive(noise, step.draw, c.receive + c.combine, arrival, rank);
  rank.sent = send(noise, c, step.draw + 1, rank.next, own.ready, rank.id);
  rank.busy = noise.communicate(rank.next, rank.sent, c.send, rank.id);
  own.after = rank;
  return own;
}

// Second half: the rank adopts the mirror's copy if that arrived before the original. Then it
// neither combines it nor sends one back.
template <class Noise, class T>
JF_HD T settle(const Noise& noise, const Costs& c, const Step& step, T arrival, T copy_arrival,
               const OwnPath<T>& own, Clock<T>& rank) {
  const auto adopt = copy_arrival < arrival;
  T ready = own.ready;
  Clock<T> after = own.after;
  if (any_greater(arrival, copy_arrival)) {
    const T copied = receive(noise, step.draw, c.receive, copy_arrival, rank);
    const T sent = send(noise, c, step.draw + 1, rank.next, copied, rank.id);
    ready = select(adopt, copied, ready);
    after.sent = select(adopt, sent, after.sent);
    after.busy = select(adopt, sent, after.busy);
    after.next = select(adopt, rank.next, after.next);
  }
  rank = after;
  return ready;
}

// Exchange with a copy on demand, first half: a rank that has waited for `patience` requests a copy
// from its mirror, and then receives what arrives first. The mirror's network interface answers (a
// one-sided read): that takes no CPU time of the mirror, and its noise does not delay the answer.
template <class T>
struct AskedPath {
  T asked;  // departure of the request; without one, the arrival of the original: too late to
            // matter
  T ready;  // by the rank's own path
  Clock<T> before;  // any receive, after the request
  Clock<T> after;   // the rank's own path
};

template <class Noise, class T>
JF_HD AskedPath<T> asked_path(const Noise& noise, const Costs& c, const Step& step, T arrival,
                              Clock<T> rank) {
  AskedPath<T> own;
  const T waited = rank.busy + c.patience;
  const auto asks = waited < arrival;
  own.asked = arrival;
  if (any_greater(arrival, waited)) {
    T next = rank.next;
    const T asked = noise.communicate(next, waited, c.ask, rank.id);
    own.asked = select(asks, asked, own.asked);
    rank.busy = select(asks, asked, rank.busy);
    rank.next = select(asks, next, rank.next);
  }
  own.before = own.after = rank;
  own.ready = exchange(noise, c, step, arrival, own.after);
  return own;
}

// Departure of the answer of a mirror that has the data from `ready` on.
template <class T>
JF_HD T answer_departure(const Costs& c, T asked, T ready) {
  return later(asked + c.request, ready);
}

// Second half: `answer` is its arrival. An answer is not combined. Of two mirrors only one can
// adopt the other's answer: the other was ready by its own path, so its original had arrived
// before.
template <class Noise, class T>
JF_HD T settle_asked(const Noise& noise, const Costs& c, const Step& step, T arrival, T answer,
                     const AskedPath<T>& own, Clock<T>& rank) {
  const auto adopt = answer < arrival;
  T ready = own.ready;
  rank = own.after;
  if (any_greater(arrival, answer)) {
    Clock<T> answered = own.before;
    const T copied = receive(noise, step.draw, c.receive, answer, answered);
    const T sent = step.flags & kFinal
                       ? copied
                       : send(noise, c, step.draw + 1, answered.next, copied, answered.id);
    ready = select(adopt, copied, ready);
    rank.sent = select(adopt, sent, rank.sent);
    rank.busy = select(adopt, sent, rank.busy);
    rank.next = select(adopt, answered.next, rank.next);
  }
  return ready;
}

// Redundant exchange after the butterfly (MS12 §4), first half: the departure of the forward.
template <class Noise, class T>
JF_HD T send_forward(const Noise& noise, const Costs& c, const Clock<T>& rank) {
  if (c.forward == 0) return rank.sent;
  T next = rank.next;
  if (noise.in_communication) noise.seek(next, rank.busy, true);
  return noise.communicate(next, rank.busy, c.forward, rank.id);
}

// Second half: the rank keeps the final result that is available first. Returns its ready time.
template <class T>
JF_HD T receive_forward(T departure, T arrival, Clock<T>& rank) {
  const auto sooner = arrival < rank.sent;
  rank.sent = select(sooner, arrival, rank.sent);
  rank.busy = select(sooner, arrival, departure);
  return rank.sent;
}

}  // namespace jf
