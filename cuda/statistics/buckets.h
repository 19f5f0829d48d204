// Counts of samples in buckets that are as narrow as their number allows: stats/histogram.py says
// which. And order statistics.
#pragma once

#include <cstddef>
#include <vector>

#include "core/ticks.h"

namespace jf::statistics {

struct Bucket {
  Tick start;  // of its values, the one nearest to 0
  Tick count;
};

// Ascending, at the level that the samples ask for; and the ends of these, 0 where there are none.
struct Histogram {
  int level = 0;
  std::vector<Bucket> buckets = {};
  Tick low = 0, high = 0;
};

Histogram count(const Tick* values, std::size_t n);
// Of all samples of both.
Histogram merge(const Histogram& one, const Histogram& other);

// The samples of ranks that ascend from 0, as if they were sorted: Tick or double, NaN last.
template <class Sample>
std::vector<Sample> order_statistics(const Sample* samples, std::size_t n,
                                     const std::vector<std::size_t>& ranks);

}  // namespace jf::statistics
