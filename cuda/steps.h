// The arithmetic of the steps, written once: T is Tick (CUDA, plain C++) or Lanes (SIMD).
#pragma once

#include "program.h"

namespace jf {

// A rank between two steps of a collective.
template <class T>
struct Clock {
  T sent;  // its original message of this level has left the CPU; after the butterfly: ready time
  T busy;  // the CPU is free again; == sent unless a copy was sent after the original
  T next;  // the noise source's own, see noise/none.h
};

// CPU time of the communication phase.
template <class Noise, class T>
JF_HD T communicate(const Noise& noise, T& next, T t, Tick w) {
  return noise.in_communication ? noise.advance(next, t, w) : t + w;
}

// Compute phase (CS14 §3): the next collective starts when `work` of CPU time is done.
template <class Noise, class T>
JF_HD void compute(const Noise& noise, const Costs& c, Clock<T>& rank) {
  if (noise.in_compute) {
    noise.seek(rank.next, rank.busy);
    rank.sent = rank.busy = noise.advance(rank.next, rank.busy, c.work);
  } else {
    rank.sent = rank.busy = rank.busy + c.work;
  }
}

// Start of the collective: the message of round 0 is sent. Returns the ready time of level 0.
template <class Noise, class T>
JF_HD T enter(const Noise& noise, const Costs& c, bool final, Clock<T>& rank) {
  const T ready = rank.busy;
  if (noise.in_communication) noise.seek(rank.next, ready);
  rank.sent = rank.busy = final ? ready : communicate(noise, rank.next, ready, c.send);
  return ready;
}

// Original exchange: combine what arrived at `arrival`, send the next level's message.
template <class Noise, class T>
JF_HD T exchange(const Noise& noise, const Costs& c, bool final, T arrival, Clock<T>& rank) {
  const T own = communicate(noise, rank.next, later(rank.busy, arrival), c.receive + c.combine);
  rank.sent = rank.busy = final ? own : communicate(noise, rank.next, own, c.send);
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
JF_HD OwnPath<T> own_path(const Noise& noise, const Costs& c, T arrival, Clock<T> rank) {
  OwnPath<T> own;
  own.ready = communicate(noise, rank.next, later(rank.busy, arrival), c.receive + c.combine);
  rank.sent = communicate(noise, rank.next, own.ready, c.send);
  rank.busy = communicate(noise, rank.next, rank.sent, c.send);
  own.after = rank;
  return own;
}

// Second half: adopt the mirror's copy if it arrived before the original. An adopted copy is not
// combined, and none is sent back.
template <class Noise, class T>
JF_HD T settle(const Noise& noise, const Costs& c, T arrival, T copy_arrival, const OwnPath<T>& own,
               Clock<T>& rank) {
  const auto adopt = copy_arrival < arrival;
  T ready = own.ready;
  Clock<T> after = own.after;
  if (any(adopt)) {
    const T copied = communicate(noise, rank.next, later(rank.busy, copy_arrival), c.receive);
    const T sent = communicate(noise, rank.next, copied, c.send);
    ready = select(adopt, copied, ready);
    after.sent = select(adopt, sent, after.sent);
    after.busy = select(adopt, sent, after.busy);
    after.next = select(adopt, rank.next, after.next);
  }
  rank = after;
  return ready;
}

// Redundant exchange after the butterfly (MS12 §4), first half: when the forward leaves.
template <class Noise, class T>
JF_HD T forward_sent(const Noise& noise, const Costs& c, const Clock<T>& rank) {
  if (c.forward == 0) return rank.sent;
  T next = rank.next;
  if (noise.in_communication) noise.seek(next, rank.busy);
  return communicate(noise, next, rank.busy, c.forward);
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
