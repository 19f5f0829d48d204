// Histograms of samples: a hash table that grows coarser as more buckets fill; merging of two.
// Order statistics: only the samples in the buckets of these ranks are looked at more closely.
#include "statistics/buckets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

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

// Keys are unsigned, and ascend as samples do.
using Key = std::uint64_t;
constexpr Key kSign = Key{1} << 63;
Key key_of(Key key) { return key; }
Key key_of(Tick sample) { return static_cast<Key>(sample) ^ kSign; }
Key key_of(double sample) {
  const auto bits = std::bit_cast<Key>(std::isnan(sample) ? std::fabs(sample) : sample);
  return bits & kSign ? ~bits : bits | kSign;
}

template <class Sample>
Sample sample_of(Key key) {
  if constexpr (std::is_same_v<Sample, Tick>)
    return static_cast<Tick>(key ^ kSign);
  else
    return std::bit_cast<Sample>(key & kSign ? key ^ kSign : ~key);
}

// Puts the keys of some ranks, ascending, into `out`, and returns its end. The samples are those of
// rank `before` and the ranks after it.
template <class Sample>
Key* select(const Sample* samples, std::size_t n, std::size_t before,
            std::span<const std::size_t> ranks, Key* out) {
  constexpr int kBits = 11;
  constexpr std::size_t kFew = 256, kNone = std::numeric_limits<std::size_t>::max();
  if (n <= kFew) {
    Key sorted[kFew];
    std::transform(samples, samples + n, sorted, [](Sample sample) { return key_of(sample); });
    std::sort(sorted, sorted + n);
    return std::transform(ranks.begin(), ranks.end(), out,
                          [&](std::size_t rank) { return sorted[rank - before]; });
  }
  Key low = ~Key{0}, high = 0;
  for (std::size_t i = 0; i < n; ++i) {
    low = std::min(low, key_of(samples[i]));
    high = std::max(high, key_of(samples[i]));
  }
  if (low == high) return std::fill_n(out, ranks.size(), low);
  const int shift = std::max(static_cast<int>(std::bit_width(high - low)) - kBits, 0);
  const auto bucket_of = [&](Sample sample) { return (key_of(sample) - low) >> shift; };
  std::vector<std::size_t> counts(1 << kBits), end(1 << kBits, kNone);
  for (std::size_t i = 0; i < n; ++i) ++counts[bucket_of(samples[i])];
  // Calls use(bucket, rank of its first sample, its ranks).
  const auto for_each_bucket = [&](const auto& use) {
    auto rank = ranks.begin();
    for (std::size_t bucket = 0, at = before; rank != ranks.end(); at += counts[bucket++]) {
      const auto first = rank;
      while (rank != ranks.end() && *rank < at + counts[bucket]) ++rank;
      if (rank != first) use(bucket, at, std::span(first, rank));
    }
  };
  std::size_t kept = 0;
  for_each_bucket([&](std::size_t bucket, std::size_t, auto) {
    end[bucket] = kept;
    kept += counts[bucket];
  });
  std::vector<Key> keys(kept);
  for (std::size_t i = 0; i < n; ++i)
    if (std::size_t& at = end[bucket_of(samples[i])]; at != kNone) keys[at++] = key_of(samples[i]);
  for_each_bucket([&](std::size_t bucket, std::size_t first, auto own) {
    out = select(keys.data() + end[bucket] - counts[bucket], counts[bucket], first, own, out);
  });
  return out;
}

}  // namespace

template <class Sample>
std::vector<Sample> order_statistics(const Sample* samples, std::size_t n,
                                     const std::vector<std::size_t>& ranks) {
  std::vector<Key> keys(ranks.size());
  select(samples, n, 0, ranks, keys.data());
  std::vector<Sample> found;
  for (const Key key : keys) found.push_back(sample_of<Sample>(key));
  return found;
}

using Ranks = std::vector<std::size_t>;
template std::vector<Tick> order_statistics(const Tick*, std::size_t, const Ranks&);
template std::vector<double> order_statistics(const double*, std::size_t, const Ranks&);

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
