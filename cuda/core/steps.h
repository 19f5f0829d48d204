// The arithmetic of the steps, written once: T is Tick (CUDA, plain C++) or Lanes (SIMD).
#pragma once

#include "core/program.h"

namespace jf {

// A rank between two steps of a collective.
template <class T>
struct Clock {
  T sent;  // its original message of this level has left the CPU; after the butterfly: ready time
  T busy;  // the CPU is free again; == sent unless a copy was sent after the original
  T next;  // the noise source's own, see noise/none.h
  T id;    // the rank
};

// What differs between one source alone and any list of them (noise/sources.h).
template <class Noise>
constexpr bool is_general = requires { Noise::general; };

// R: the number of a realization, or a register of them; `seed`: what these draw with.
template <class Noise, class R>
JF_HD auto bind(const Noise& noise, R realization, CursorOf<TimesOf<R>>* cursors, SeedOf<R> seed) {
  if constexpr (is_general<Noise>)
    return noise.bound(realization, cursors, seed);
  else
    return noise;
}
template <class Noise>
JF_HD auto bind(const Noise& noise, std::uint32_t realization, Cursor* cursors) {
  if constexpr (is_general<Noise>)
    return noise.bound(realization, cursors, noise.seed);
  else
    return noise;
}

// `next` of a rank at time 0.
template <class Noise, class Seed, class R, class T>
JF_HD T begin_noise(const Noise& noise, Seed seed, R realization, T ranks) {
  if constexpr (is_general<Noise>)
    return noise.first(ranks);
  else
    return noise.first(noise.phase(seed, realization, ranks));
}

// Puts `next` right for time t. `back`: it may have been made for a later one.
template <class Noise, class T>
JF_HD void seek(const Noise& noise, T& next, T t, bool back) {
  if constexpr (is_general<Noise>)
    noise.seek(next, back);
  else
    noise.seek(next, t);
}

// CPU time of the communication phase.
template <class Noise, class T>
JF_HD T communicate(const Noise& noise, T& next, T t, Tick w, T id) {
  if constexpr (is_general<Noise>)
    return noise.advance(next, t, t - t + w, id, false);
  else
    return noise.in_communication ? noise.advance(next, t, w) : t + w;
}

// The same for a step that may be delayed by itself.
template <class Noise, class T>
JF_HD T communicate(const Noise& noise, StepRole role, std::int32_t draw, T& next, T t, Tick w,
                    T id) {
  if constexpr (is_general<Noise>)
    return noise.step(role, draw, next, t, w, id);
  else
    return communicate(noise, next, t, w, id);
}

// Sends the original message of a round.
template <class Noise, class T>
JF_HD T send(const Noise& noise, const Costs& c, std::int32_t draw, T& next, T t, T id) {
  return communicate(noise, kSendRole, draw, next, t, c.send, id);
}

// Compute phase (CS14 §3): the next collective starts when `work` of CPU time is done. Without work
// there is none, and no step that could be delayed.
template <class Noise, class T>
JF_HD void compute(const Noise& noise, const Costs& c, const Step& step, Clock<T>& rank) {
  T end = rank.busy + c.work;
  if constexpr (is_general<Noise>) {
    noise.seek(rank.next, (step.flags & kAfterForward) != 0);
    if (c.work > 0)
      end = noise.step(kComputeRole, step.draw, rank.next, rank.busy, c.work, rank.id);
  } else if (noise.in_compute) {
    noise.seek(rank.next, rank.busy);
    end = noise.advance(rank.next, rank.busy, c.work);
  }
  rank.sent = rank.busy = end;
}

// Start of the collective: the message of round 0 is sent. Returns the ready time of level 0.
template <class Noise, class T>
JF_HD T enter(const Noise& noise, const Costs& c, const Step& step, Clock<T>& rank) {
  const T ready = rank.busy;
  if (noise.in_communication) seek(noise, rank.next, ready, (step.flags & kAfterForward) != 0);
  rank.sent = rank.busy =
      step.flags & kFinal ? ready : send(noise, c, step.draw, rank.next, ready, rank.id);
  return ready;
}

// A rank takes the message that brings it a level: one draw a level, whichever message it is.
template <class Noise, class T>
JF_HD T receive(const Noise& noise, std::int32_t draw, Tick work, T arrival, Clock<T>& rank) {
  return communicate(noise, kReceiveRole, draw, rank.next, later(rank.busy, arrival), work,
                     rank.id);
}

// Original exchange: combine what arrived at `arrival`, send the next level's message.
template <class Noise, class T>
JF_HD T exchange(const Noise& noise, const Costs& c, const Step& step, T arrival, Clock<T>& rank) {
  const T own = receive(noise, step.draw, c.receive + c.combine, arrival, rank);
  rank.sent = rank.busy =
      step.flags & kFinal ? own : send(noise, c, step.draw + 1, rank.next, own, rank.id);
  return own;
}

// Redundant exchange inside the butterfly (CS14 Algorithm 2), first half: the rank's own path.
// The copy leaves at after.busy.
template <class T>
struct OwnPath {
  T ready;
  Clock<T> after;
};

template <class Noise, class T>
JF_HD OwnPath<T> own_path(const Noise& noise, const Costs& c, const Step& step, T arrival,
                          Clock<T> rank) {
  OwnPath<T> own;
  own.ready = receive(noise, step.draw, c.receive + c.combine, arrival, rank);
  rank.sent = send(noise, c, step.draw + 1, rank.next, own.ready, rank.id);
  rank.busy = communicate(noise, rank.next, rank.sent, c.send, rank.id);
  own.after = rank;
  return own;
}

// Second half: adopt the mirror's copy if it arrived before the original. An adopted copy is not
// combined, and none is sent back.
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

// Exchange with a copy on demand, first half: a rank that has waited for `patience` asks its
// mirror, and then takes what comes first. The mirror's network answers for it (a one-sided read):
// that takes no time of its CPU, and its noise does not delay the answer.
template <class T>
struct AskedPath {
  T asked;  // the question has left; else when the original arrives: too late for an answer
  T ready;  // by the rank's own path
  Clock<T> answered;  // before it takes anything
  Clock<T> after;     // its own path
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
    const T asked = communicate(noise, next, waited, c.ask, rank.id);
    own.asked = select(asks, asked, own.asked);
    rank.busy = select(asks, asked, rank.busy);
    rank.next = select(asks, next, rank.next);
  }
  own.answered = own.after = rank;
  own.ready = exchange(noise, c, step, arrival, own.after);
  return own;
}

// When the answer of a mirror leaves that has the data from `ready` on.
template <class T>
JF_HD T answer_leaves(const Costs& c, T asked, T ready) {
  return later(asked + c.request, ready);
}

// Second half: `answer` is when it arrives. It is not combined. Of two mirrors only one can adopt
// the other's answer: the other was ready by its own path, so that its original arrived before.
template <class Noise, class T>
JF_HD T settle_asked(const Noise& noise, const Costs& c, const Step& step, T arrival, T answer,
                     const AskedPath<T>& own, Clock<T>& rank) {
  const auto adopt = answer < arrival;
  T ready = own.ready;
  rank = own.after;
  if (any_greater(arrival, answer)) {
    Clock<T> answered = own.answered;
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

// Redundant exchange after the butterfly (MS12 §4), first half: when the forward leaves.
template <class Noise, class T>
JF_HD T forward_sent(const Noise& noise, const Costs& c, const Clock<T>& rank) {
  if (c.forward == 0) return rank.sent;
  T next = rank.next;
  if (noise.in_communication) seek(noise, next, rank.busy, true);
  return communicate(noise, next, rank.busy, c.forward, rank.id);
}

// Second half: keep whichever final result is there first.
template <class T>
JF_HD T take_forward(T left, T arrival, Clock<T>& rank) {
  const auto sooner = arrival < rank.sent;
  rank.sent = select(sooner, arrival, rank.sent);
  rank.busy = select(sooner, arrival, left);
  return rank.sent;
}

}  // namespace jf
