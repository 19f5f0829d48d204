// Makes the guide of a piecewise delay.
#pragma once

#include <vector>

#include "guide.h"

namespace jf {

struct HostGuide {
  std::int32_t bits = 0;
  bool octaves = false;
  double searched = 0;  // the share of the high halves that are searched for
  std::vector<std::uint64_t> words;
};

// The one that is expected to be the quickest. `edges`: where cells begin. Cells that are not
// `quick` are searched for.
HostGuide make_guide(const std::vector<std::uint64_t>& edges, const std::vector<bool>& quick);

}  // namespace jf
