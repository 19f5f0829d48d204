// Histograms of samples: a hash table that grows coarser as more buckets fill; merging of two.
#include "statistics/buckets.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace jf::statistics {
namespace {

constexpr int kDigits = 11;                    // binary digits of a sample's size that are kept
constexpr std::size_t kMostBuckets = 1 << 13;  // where these digits do not ask for more
constexpr int kCoarsest = 64 - kDigits;
constexpr std::size_t kMostSlots = 1 << 15;  // to begin with

// Of the bucket that a sample is in at a level: the value that is nearest to 0.
Tick start_of(Tick value, int level) {
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t size = value < 0 ? 0 - bits : bits;
  const int shift = std::clamp(static_cast<int>(std::bit_width(size)) - kDigits, 0, level);
  const std::uint64_t start = size >> shift << shift;
  return static_cast<Tick>(value < 0 ? 0 - start : start);
}

// Joins neighbours that are one bucket at this level, in place. Starts ascend with the values, so
// that what is ascending stays so.
void join(std::vector<Bucket>& buckets, int level) {
  std::size_t used = 0;
  for (const Bucket& one : buckets) {
    const Tick start = start_of(one.start, level);
    if (used > 0 && buckets[used - 1].start == start)
      buckets[used - 1].count += one.count;
    else
      buckets[used++] = {start, one.count};
  }
  buckets.resize(used);
}

bool too_many(std::size_t buckets, int level) {
  return buckets > kMostBuckets && level < kCoarsest;
}

// Buckets by a hash of their start, with linear probing. A slot is free where its count is 0.
class Table {
 public:
  // For so many samples.
  explicit Table(std::size_t n) {
    rehash(std::bit_ceil(std::clamp(4 * n, std::size_t{64}, kMostSlots)));
  }

  void add(Tick start, Tick count) {
    Bucket& slot = slots_[slot_of(start)];
    used_ += slot.count == 0;
    slot = {start, slot.count + count};
    while (too_many(used_, level_)) {
      ++level_;
      rehash(slots_.size());
    }
    if (2 * used_ > slots_.size()) rehash(2 * slots_.size());
  }

  int level() const { return level_; }

  std::vector<Bucket> ascending() const {
    std::vector<Bucket> found;
    found.reserve(used_);
    for (const Bucket& slot : slots_)
      if (slot.count != 0) found.push_back(slot);
    std::sort(found.begin(), found.end(),
              [](const Bucket& a, const Bucket& b) { return a.start < b.start; });
    return found;
  }

 private:
  std::size_t slot_of(Tick start) const {
    const std::uint64_t mixed = static_cast<std::uint64_t>(start) * 0x9E3779B97F4A7C15;
    auto at = static_cast<std::size_t>(mixed >> shift_);
    while (slots_[at].count != 0 && slots_[at].start != start) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  void rehash(std::size_t slots) {
    std::vector<Bucket> before(slots);
    before.swap(slots_);
    shift_ = 64 - std::countr_zero(slots);
    used_ = 0;
    for (const Bucket& one : before) {
      if (one.count == 0) continue;
      const Tick start = start_of(one.start, level_);
      Bucket& slot = slots_[slot_of(start)];
      used_ += slot.count == 0;
      slot = {start, slot.count + one.count};
    }
  }

  int level_ = 0;
  int shift_ = 0;
  std::size_t used_ = 0;
  std::vector<Bucket> slots_;
};

}  // namespace

Histogram count(const Tick* values, std::size_t n) {
  Table table(n);
  for (std::size_t i = 0; i < n;) {
    // Many samples in turn are alike, such as those that no noise met.
    const int level = table.level();
    const Tick start = start_of(values[i], level);
    Tick count = 1;
    for (++i; i < n && start_of(values[i], level) == start; ++i) ++count;
    table.add(start, count);
  }
  return {table.level(), table.ascending()};
}

Histogram merge(const Histogram& one, const Histogram& other) {
  Histogram found{std::max(one.level, other.level), {}};
  found.buckets.resize(one.buckets.size() + other.buckets.size());
  std::merge(one.buckets.begin(), one.buckets.end(), other.buckets.begin(), other.buckets.end(),
             found.buckets.begin(),
             [](const Bucket& a, const Bucket& b) { return a.start < b.start; });
  join(found.buckets, found.level);
  while (too_many(found.buckets.size(), found.level)) join(found.buckets, ++found.level);
  return found;
}

}  // namespace jf::statistics
