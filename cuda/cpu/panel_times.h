// The times of ranks of a segment between two steps: of one rank, of a register, of a panel.
//
// A rank that has skipped levels waits for nothing in their rounds. As long as it is in these,
// `busy` is minus the level that it has reached.
#pragma once

// First, for the reason given in register_noise.h.
// clang-format off
#include "simd.h"
#include "simd_random.h"
// clang-format on
#include "../steps.h"

namespace jf {
namespace {

// One rank's.
struct RankTimes {
  Tick sent, busy, next;
  Tick taken;  // the latest arrival of a message that the rank has taken

  bool waits() const { return busy >= 0; }
  Clock<Tick> clock(Tick id) const { return {sent, waits() ? busy : sent, next, id}; }
};

// Those of a register of ranks, and when they get the level of the step that they have done.
struct RegisterTimes {
  Lanes sent, busy, next, taken, ready;

  RankTimes rank(unsigned m) const { return {sent[m], busy[m], next[m], taken[m]}; }
  void put(unsigned m, const RankTimes& t) {
    sent[m] = t.sent;
    busy[m] = t.busy;
    next[m] = t.next;
    taken[m] = t.taken;
  }
};

// Those of many ranks, as arrays.
struct PanelTimes {
  Tick *sent, *busy, *next, *taken;

  // Those from rank x on.
  JF_HD PanelTimes operator+(std::int64_t x) const {
    return {sent + x, busy + x, next + x, taken + x};
  }
};

JF_HD RegisterTimes load_times(const PanelTimes& at) {
  return {load(at.sent), load(at.busy), load(at.next), load(at.taken), Lanes{}};
}
JF_HD void store_times(const PanelTimes& at, const RegisterTimes& r) {
  store(at.sent, r.sent);
  store(at.busy, r.busy);
  store(at.next, r.next);
  store(at.taken, r.taken);
}
JF_HD void copy_times(const PanelTimes& to, const PanelTimes& from) {
  store_times(to, load_times(from));
}
JF_HD bool same_times(const PanelTimes& a, const PanelTimes& b) {
  return !any((load(a.sent) != load(b.sent)) | (load(a.busy) != load(b.busy)) |
              (load(a.next) != load(b.next)) | (load(a.taken) != load(b.taken)));
}

}  // namespace
}  // namespace jf
