// Congestion of the network, in the realization at hand: how many messages share the busiest link
// of a message's route. Each beyond the first holds it up for the time that one takes on a link:
// a transit of L + n G becomes L + w n G (HSL09; who makes the table: congestion/loads.h).
#pragma once

#include "core/philox.h"

namespace jf {

// The copy for mirror number m has draw + m * kMirrorDraws: beyond all draws of the rounds.
constexpr std::int32_t kMirrorDraws = 1 << 24;

// As messages of one cost find it.
struct Loads {
  Tick load;  // for how long each other message on a link holds one up
  // [realization][row][rank]: w - 1 of what the rank receives; row 0 is all 0.
  const std::uint16_t* table;
  const std::int32_t* rows;    // [role][draw]: the row, or 0 where nothing is sent
  std::int64_t stride, draws;  // ranks of a row, in full registers; draws of a role
  std::int64_t size;           // of the table of a realization; 0: there is one only
  std::uint32_t first;         // realization of the table

  // Messages are named as jitter names them.
  JF_HD const std::uint16_t* row(std::uint32_t purpose, std::uint32_t draw,
                                 std::uint32_t realization) const {
    constexpr std::uint32_t kDraws = kMirrorDraws;
    const std::uint32_t role = purpose == kOriginalJitter  ? 0
                               : purpose == kForwardJitter ? 1
                                                           : 2 + draw / kDraws;
    return table + std::int64_t{realization - first} * size +
           rows[role * draws + draw % kDraws] * stride;
  }

  // How much later the messages arrive that these ranks receive; T: Tick, or Lanes of neighbours,
  // or of one rank in several realizations.
  template <class T, class R>
  JF_HD T held_up(std::uint32_t purpose, std::uint32_t draw, T ranks, R realization) const {
    if constexpr (sizeof(R) == sizeof(T) && sizeof(T) != sizeof(Tick)) {
      T found = ranks;
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
        found[k] = row(purpose, draw, lane(realization, k))[lane(ranks, k)];
      return found * load;
    } else if constexpr (sizeof(T) == sizeof(Tick)) {
      return row(purpose, draw, realization)[ranks] * load;
    } else {
      const std::uint16_t* const of = row(purpose, draw, realization);
      const std::uint16_t* const at = of + ranks[0];
      T found = ranks;
      for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k) found[k] = at[k];
      return found * load;
    }
  }
};

}  // namespace jf
