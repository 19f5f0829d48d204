// Congestion as noise: the delay of a message by traffic on the busiest link of its route (HSL09).
// w is the number of messages that share that link, of a fat tree or another network. Each beyond
// the first delays the message by the time that one occupies a link: a transit of L + n G becomes L
// + w n G. congestion/loads.h makes the tables.
#pragma once

#include "core/philox.h"

namespace jf {

// The copy for mirror number m has draw + m * kMirrorDraws: beyond all draws of the rounds.
constexpr std::int32_t kMirrorDraws = 1 << 24;

// The congestion of the messages of one cost.
struct Loads {
  Tick load;  // the time for which each other message on the link delays a message
  // [realization][row][rank]: w - 1 of the message that the rank receives; row 0 is all 0.
  const std::uint16_t* table;
  // [plane][draw]: the row, or 0 where nothing is sent. A plane has 64 steps of each cycle.
  const std::int32_t* rows;
  std::int64_t stride, draws;  // ranks of a row, rounded up to full registers; draws of a plane
  std::int64_t planes;         // of original messages; then one of forwards, and of each mirror
  std::int64_t size;           // of the table of one realization; 0: it has only one
  std::uint32_t first;         // realization of the table

  // `purpose`: that of jitter for the same type of message.
  JF_HD const std::uint16_t* row(std::uint32_t purpose, std::uint64_t draw,
                                 std::uint32_t realization) const {
    const auto plane =
        static_cast<std::int64_t>(purpose == kOriginalJitter  ? draw >> kFarSteps
                                  : purpose == kForwardJitter ? planes
                                                              : planes + 1 + draw / kMirrorDraws);
    const auto place = static_cast<std::int64_t>(draw & ((1u << kFarSteps) - 1));
    return table + std::int64_t{realization - first} * size + rows[plane * draws + place] * stride;
  }

  // The delay of the messages that these ranks receive. T: Tick; or Lanes of contiguous ranks; or
  // Lanes of one rank in several realizations.
  template <class T, class R>
  JF_HD T held_up(std::uint32_t purpose, std::uint64_t draw, T ranks, R realization) const {
    if constexpr (sizeof(R) == sizeof(T) && sizeof(T) != sizeof(Tick)) {
      T counts = ranks;
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
        counts[k] = row(purpose, draw, lane(realization, k))[lane(ranks, k)];
      return counts * load;
    } else if constexpr (sizeof(T) == sizeof(Tick)) {
      return row(purpose, draw, realization)[ranks] * load;
    } else {
      const std::uint16_t* const entries = row(purpose, draw, realization);
      const std::uint16_t* const first_entry = entries + ranks[0];
      T counts = ranks;
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) counts[k] = first_entry[k];
      return counts * load;
    }
  }
};

}  // namespace jf
