// CPU noise that attributes each delay to its source: for the critical paths of collectives and of
// schedules. The caller's Book keeps the parts of a time: cpu/critical_path.cpp adds them up,
// schedule/critical_path.cpp writes them to a log.
#pragma once

#include "core/engine.h"
#include "noise/sources.h"

namespace jf::cpu {

// What a rank does until its end.
struct RankTimes {
  Tick of[kRankParts] = {};

  Tick cpu() const { return of[kWorks] + of[kHeld]; }
};

// Noise of the CPU, as the arithmetic asks for it (noise/sources.h). Time has a member t, and what
// Book keeps beside it. These functions of Book are called:
//
//   begin(time)                    a step begins that delays can lengthen
//   add(time, by, cause)           what the step takes: work, or a source of noise, all together
//   hit(time, by, cause, rank)     a single delay of those
//   combines(time)                 the step receives a message, and combines it
//   spend(rank, work, held)        CPU time of the step, and how long noise held it
//
// kComputeCause, kMessageCause: of the work.
template <class Time, class Book>
struct ExplainedNoise {
  static constexpr bool in_compute = true, in_communication = true;

  Sources sources;
  std::int32_t first_interval, first_step, first_speed;  // their causes
  Tick* slower;  // by how much each of the drawn speeds lengthens the work of the next step
  Book book;

  Time first(std::uint64_t seed, std::uint32_t realization, const Time& id) const {
    Time next;
    next.t = sources.first(seed, realization, id.t);
    return next;
  }
  void seek(Time& next, const Time& t, bool back) const { sources.seek(next.t, t.t, back); }
  Time communicate(Time& next, const Time& t, Tick w, const Time& id) const {
    return work(next, t, w, 0, id.t, false, Book::kMessageCause);
  }
  // Each drawn speed holds the CPU for what it lengthens the work by: below 0 for ranks that are
  // faster.
  Time step_at_own_speed(StepRole role, std::uint64_t draw, Time& next, const Time& t, Tick own,
                         Tick other, const Time& id) const {
    Tick work = own;
    for (std::int32_t k = 0; k < sources.speed_count; ++k) {
      const Tick slow = sources.speeds[k].slowed(sources.keys, work, id.t, sources.realization, t.t,
                                                 sources.words);
      slower[k] = slow - work;
      work = slow;
    }
    return step(role, draw, next, t, own + other, id, sources.speed_count);
  }
  Time step(StepRole role, std::uint64_t draw, Time& next, Time t, Tick w, const Time& id,
            std::int32_t speeds = 0) const {
    book.begin(t);
    const bool delayed = (sources.roles >> role & 1) != 0;
    if (!delayed && w == 0) return t;
    const Tick begin = t.t;
    const auto delay = [&](Tick by, std::int32_t cause) {
      book.add(t, by, cause);
      book.hit(t, by, cause, id.t);
    };
    for (std::int32_t k = 0; k < speeds; ++k) delay(slower[k], first_speed + k);
    for (std::int32_t j = 0; delayed && j < sources.step_count; ++j)
      if (sources.steps[j].acts(role))
        delay(sources.steps[j].of(sources.keys, role, draw, id.t, sources.realization, begin,
                                  sources.words),
              first_step + j);
    if (role == kReceiveRole) book.combines(t);
    const bool computes = role == kComputeRole;
    return work(next, t, w, t.t - begin, id.t, computes,
                computes ? Book::kComputeCause : Book::kMessageCause);
  }

 private:
  // CPU time w, and `delayed` by delays that t holds already, through all intervals.
  Time work(Time& next, Time t, Tick w, Tick delayed, Tick rank, bool compute,
            std::int32_t cause) const {
    const Tick begin = t.t - delayed;
    book.add(t, w, cause);
    if (sources.interval_count > 0 && t.t > begin && t.t > next.t) {
      Tick held[kMaxExplained] = {}, at = begin, left = t.t - begin;
      sources.meet(next.t, at, left, rank, compute, [&](std::int32_t source, Tick by, Tick times) {
        held[source] += by * times;
        book.hit(t, by, first_interval + source, rank);
      });
      for (std::int32_t j = 0; j < sources.interval_count; ++j)
        book.add(t, held[j], first_interval + j);
    }
    book.spend(rank, w, t.t - begin - w);
    return t;
  }
};

}  // namespace jf::cpu
