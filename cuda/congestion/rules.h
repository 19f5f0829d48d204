// From the congestion of messages to the time of a collective.
#pragma once

#include "program.h"

namespace jf::congestion {

// What is kept while the levels pass. A message counts when the level is over: `take` reads what
// its sender had before the level, `forget` ends the last level, `put` brings it to its receiver.
struct Rules {
  std::uint32_t* last;   // of each rank, rule orcs: D of the level before, 0 if nothing came then
  std::uint32_t* ready;  // rule ready: R
  std::uint32_t* new_last;
  std::uint32_t* new_ready;  // of each message of a level

  JF_HD void take(std::uint32_t i, std::uint32_t sender, std::uint32_t w) const {
    new_last[i] = last[sender] + w;
    new_ready[i] = ready[sender] + w;
  }
};

}  // namespace jf::congestion
