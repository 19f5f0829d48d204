// Cursor: the position of a rank in the busy intervals of one noise source.
#pragma once

#include "core/philox.h"

namespace jf {

// Interval [begin, end) is the first that ends after any t in [from, end). A cursor only saves
// work: a source moves it, forth or back, to wherever it has to be.
//
// A kind of source (renewal.h, trace.h) has
//   first: a time, of one draw, before which no interval is, from time 0 on;
//   start: sets a cursor to an interval near time 0; `from` is the end of the one before it, or any
//          later time from which on this interval is still the first; INT64_MIN if there is none;
//   seek: moves a cursor, whose t < from or t >= end, to the first interval that ends after t: then
//         `end` > t, or the engine would ask for ever. An interval may be empty (begin == end), so
//         that `seek` need not look far for one that lasts.
// Lanes that are not in `which` stay as they are. `index` is the kind's own, of 32 bits for one
// rank: `check_length` in Python refuses a case that may need more.
template <class T>
struct CursorOf {
  T from, begin, end, index, owner;  // owner: the realization that the cursor belongs to
};
template <>
struct CursorOf<Tick> {
  Tick from, begin, end;
  std::uint32_t index, owner;
};
using Cursor = CursorOf<Tick>;

struct RoundKeys;  // see cpu/simd_philox.h

// R is the number of a realization, or a register of them: with these everything else that differs
// from realization to realization is a register, T. What all share is the seed; registers are drawn
// with what Philox makes of it.
template <class R>
struct OfRealizations {
  using T = R;
  using Seed = const RoundKeys*;
};
template <>
struct OfRealizations<std::uint32_t> {
  using T = Tick;
  using Seed = std::uint64_t;
};
template <class R>
using TimesOf = typename OfRealizations<R>::T;
template <class R>
using SeedOf = typename OfRealizations<R>::Seed;

// The bits of a draw, or of a register of them.
template <class T>
struct OfBits {
  using U = decltype(only_uniform64(SeedOf<T>{}, std::uint32_t{}, std::uint32_t{}, T{}));
};
template <>
struct OfBits<Tick> {
  using U = std::uint64_t;
};
template <class T>
using BitsOf = typename OfBits<T>::U;

// The ranks of a register that has in each lane a rank and a realization of its own. Otherwise all
// lanes have the same rank.
template <class T>
struct EachRank {
  T ranks;
};

// The time of a rank, or the times of ranks, in an array of all ranks.
JF_HD Tick time_of(const std::uint64_t* times, Tick rank) { return static_cast<Tick>(times[rank]); }
template <class T>
JF_HD T time_of(const std::uint64_t* times, EachRank<T> each) {
  return (T)gather(times, (BitsOf<T>)each.ranks);
}

// What a source draws from: the same for all ranks that share its draws. Key: the number of a
// stream, or EachRank of them.
template <class R, class Key = std::uint32_t>
struct Stream {
  SeedOf<R> seed;
  Key key;
  R realization;
};

}  // namespace jf
