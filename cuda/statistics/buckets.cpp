// Histograms of samples: tables of buckets, which are divided or joined as these ask; merging of
// two. Order statistics: only the samples in the buckets of these ranks are looked at more closely.
#include "statistics/buckets.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "statistics/loops.h"

namespace jf::statistics {
namespace {

constexpr std::size_t kMostBuckets = 1 << 13;  // where these digits do not ask for more
constexpr int kCoarsest = 64 - kDigits;
constexpr int kTableBits = 15;                // of the cells of a table, which stay in the cache
constexpr std::size_t kMostAtOnce = 1 << 22;  // samples that are counted in one table

using Size = std::uint64_t;
Size size_of(Tick value) {
  const auto bits = static_cast<Size>(value);
  return value < 0 ? 0 - bits : bits;
}
Tick with_sign_of(Tick value, Size size) { return static_cast<Tick>(value < 0 ? 0 - size : size); }

// The digits of a size that its bucket at a level lacks.
int shift_of(Size size, int level) {
  return std::clamp(static_cast<int>(std::bit_width(size)) - kDigits, 0, level);
}

// Of the bucket that a sample is in at a level: the value that is nearest to 0.
Tick start_of(Tick value, int level) {
  const int shift = shift_of(size_of(value), level);
  return with_sign_of(value, size_of(value) >> shift << shift);
}

// The number of a sample's bucket among those of a level, from that of 0 on: see `Loops::number`.
Size number_of(Size size, int level) {
  const int shift = shift_of(size, level);
  return (static_cast<Size>(shift) << (kDigits - 1)) + (size >> shift);
}
Tick number_of(Tick value, int level) {
  return with_sign_of(value, number_of(size_of(value), level));
}

// The bucket of a number: its value that is nearest to 0.
Tick start_of_number(Tick number, int level) {
  const Size size = size_of(number), octave = std::max(size >> (kDigits - 1), Size{1}) - 1;
  const Size shift = std::min(octave, static_cast<Size>(level));
  return with_sign_of(number, (size - (shift << (kDigits - 1))) << shift);
}

// Joins neighbours that are one bucket at this level, in place. Starts ascend with the values, so
// that what is ascending stays so.
void join(std::vector<Bucket>& buckets, int level) {
  std::size_t used = 0;
  Bucket last{start_of(buckets[0].start, level), 0};
  for (const Bucket& one : buckets) {  // no branch, which would be a guess
    const Tick start = start_of(one.start, level);
    const bool another = start != last.start;
    used += another;
    last = {start, one.count + (another ? 0 : last.count)};
    buckets[used] = last;
  }
  buckets.resize(used + 1);
}

bool too_many(std::size_t buckets, int level) {
  return buckets > kMostBuckets && level < kCoarsest;
}

// Makes buckets as coarse as the samples ask for.
void coarsen(Histogram& found) {
  std::vector<Bucket>& buckets = found.buckets;
  if (!too_many(buckets.size(), found.level)) return;
  std::array<std::size_t, kCoarsest + 1> joined{};  // from this level on, with the one before
  for (std::size_t i = 1; i < buckets.size(); ++i) {
    const Tick a = buckets[i - 1].start, b = buckets[i].start;
    const Size size = size_of(a) | size_of(b);
    const int differ = static_cast<int>(std::bit_width(size_of(a) ^ size_of(b)));
    const bool alike = (a ^ b) >= 0 && differ <= shift_of(size, kCoarsest);
    joined[static_cast<std::size_t>(alike ? differ : 0)] += alike;
  }
  std::size_t left = buckets.size();
  while (too_many(left, found.level)) left -= joined[static_cast<std::size_t>(++found.level)];
  join(buckets, found.level);
}

// Digit by digit from the last one on: a comparison of samples would be a guess.
std::vector<Tick> sort(const Tick* values, std::size_t n) {
  constexpr int kBits = 11;
  std::vector<Tick> sorted(values, values + n), next(n);
  const auto [low, high] = std::minmax_element(values, values + n);
  const auto above = [least = static_cast<Size>(*low)](Tick value) {
    return static_cast<Size>(value) - least;
  };
  for (int shift = 0; shift < 64 && above(*high) >> shift != 0; shift += kBits) {
    const auto digit = [&](Tick value) { return above(value) >> shift & ((1 << kBits) - 1); };
    std::array<std::uint32_t, 1 << kBits> places{};
    for (const Tick value : sorted) ++places[digit(value)];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), 0u);
    for (const Tick value : sorted) next[places[digit(value)]++] = value;
    sorted.swap(next);
  }
  return sorted;
}

std::vector<Bucket> count_one_by_one(const Tick* values, std::size_t n) {
  const std::vector<Tick> sorted = sort(values, n);
  std::vector<Bucket> buckets;
  for (const Tick value : sorted) {
    if (buckets.empty() || buckets.back().start != value) buckets.push_back({value, 0});
    ++buckets.back().count;
  }
  return buckets;
}

// A table of cells, in groups of 2^bits: each is of buckets of a level that follow each other.
class Table {
 public:
  // Of all buckets between the ends of the samples, at the finest level at which they are few.
  Table(const Tick* values, std::size_t n, Tick low, Tick high)
      : values_(values), samples_(n), low_(low), cells_(std::make_unique_for_overwrite<Cell[]>(n)) {
    const auto last = [&] {
      return static_cast<Size>(number_of(high, level_)) - static_cast<Size>(number_of(low, level_));
    };
    while (level_ < kCoarsest && last() >> kTableBits != 0) ++level_;
    bits_ = static_cast<int>(std::bit_width(last()));
    first_ = {number_of(low, level_)};
    number(0, n, first_[0], cells_.get());
    count();
  }

  int level() const { return level_; }

  // Those that hold any sample, ascending.
  std::size_t filled() const { return filled_.size(); }
  std::vector<Bucket> buckets() const {
    std::vector<Bucket> found;
    found.reserve(filled());
    for_each_filled([&](std::size_t, Tick number, Cell count) {
      found.push_back({start_of_number(number, level_), count});
    });
    return found;
  }

  // Divides each bucket that holds any sample into those of a finer level.
  void divide() {
    const int digits =
        std::min(level_, kTableBits - static_cast<int>(std::bit_width(filled() - 1)));
    const int coarse = level_;
    std::vector<Tick> first;
    std::vector<Cell> added(counts_.size());  // to the number of a sample, for its cell
    for_each_filled([&](std::size_t cell, Tick number, Cell) {
      const Tick start = start_of_number(number, coarse);
      const Size rest = (Size{1} << shift_of(size_of(start), coarse)) - 1;
      const Size lowest = start < 0 ? size_of(start) | rest : size_of(start);
      const Tick own = with_sign_of(start, number_of(lowest, coarse - digits));
      added[cell] = static_cast<Cell>((first.size() << digits) - static_cast<Size>(own));
      first.push_back(own);
    });
    level_ = coarse - digits;
    bits_ = digits;
    first_ = std::move(first);
    std::vector<Cell> numbers(kBlock);
    for (std::size_t at = 0; at < samples_; at += kBlock) {
      const std::size_t size = std::min(kBlock, samples_ - at);
      number(at, size, 0, numbers.data());
      for (std::size_t i = 0; i < size; ++i) cells_[at + i] = added[cells_[at + i]] + numbers[i];
    }
    count();
  }

 private:
  using Cell = std::uint32_t;

  // Of the buckets of some samples, less `first`.
  void number(std::size_t at, std::size_t n, Tick first, Cell* out) const {
    const bool far = low_ > 0 && shift_of(size_of(low_), kCoarsest) >= level_;
    loops_.number(values_ + at, n, level_, far, static_cast<Cell>(first), out);
  }

  void count() {
    counts_.assign(first_.size() << bits_, 0);
    for (const Cell cell : std::span(cells_.get(), samples_)) ++counts_[cell];
    filled_.resize(counts_.size());
    std::size_t used = 0;
    for (std::size_t cell = 0; cell < counts_.size(); ++cell) {  // no branch, as above
      filled_[used] = static_cast<Cell>(cell);
      used += counts_[cell] != 0;
    }
    filled_.resize(used);
  }

  // Calls use(cell, number of its bucket, samples).
  void for_each_filled(const auto& use) const {
    const std::size_t mask = (std::size_t{1} << bits_) - 1;
    for (const Cell cell : filled_)
      use(cell, first_[cell >> bits_] + static_cast<Tick>(cell & mask), counts_[cell]);
  }

  const Loops& loops_ = choose_loops();
  const Tick* values_;
  std::size_t samples_;
  Tick low_;  // the smallest of all
  int level_ = 0, bits_ = 0;
  std::vector<Tick> first_;        // number of the first bucket of each group
  std::unique_ptr<Cell[]> cells_;  // of each sample
  std::vector<Cell> counts_;       // of each cell
  std::vector<Cell> filled_;       // the cells that hold any sample
};

// Of samples of which few are alike.
Histogram count_different(const Tick* values, std::size_t n) {
  Tick low = values[0], high = low;
  choose_loops().extend(values, n, &low, &high);
  if (n <= kMostBuckets) return {0, count_one_by_one(values, n), low, high};
  Table table(values, n, low, high);
  // Fewer would not tell at which finer level there are too many.
  while (table.level() > 0 && table.filled() <= kMostBuckets) table.divide();
  Histogram found{table.level(), table.buckets(), low, high};
  coarsen(found);
  return found;
}

// Those of a few samples that many of them have, such as that which no noise met: ascending.
// None, if they are not most of them.
std::vector<Bucket> find_atoms(const Tick* values, std::size_t n) {
  std::array<Tick, kBlock> few;
  for (std::size_t i = 0; i < kBlock; ++i) few[i] = values[i * (n / kBlock)];
  std::vector<Bucket> atoms = count_one_by_one(few.data(), kBlock);
  std::sort(atoms.begin(), atoms.end(), [](Bucket a, Bucket b) { return a.count > b.count; });
  atoms.resize(std::min(atoms.size(), static_cast<std::size_t>(kAtoms)));
  std::erase_if(atoms, [](Bucket atom) { return atom.count < Tick{kBlock / 64}; });
  Tick all = 0;
  for (const Bucket& atom : atoms) all += atom.count;
  if (2 * all < Tick{kBlock}) return {};
  std::sort(atoms.begin(), atoms.end(), [](Bucket a, Bucket b) { return a.start < b.start; });
  return atoms;
}

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
  if (n == 0) return {};
  if (n > kMostAtOnce)
    return merge(count(values, kMostAtOnce), count(values + kMostAtOnce, n - kMostAtOnce));
  std::vector<Bucket> atoms;
  if (n >= 2 * kBlock) atoms = find_atoms(values, n);
  if (atoms.empty()) return count_different(values, n);

  std::array<Tick, kAtoms> starts;
  std::array<std::size_t, kAtoms> counts{};
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = atoms[i % atoms.size()].start;
  const auto others = std::make_unique_for_overwrite<Tick[]>(n);
  std::array<std::uint8_t, kBlock> flags;
  std::size_t used = 0, at = 0;
  for (; at + kBlock <= n; at += kBlock) {
    choose_loops().flag_others(values + at, starts.data(), counts.data(), flags.data());
    for (std::size_t i = 0; i < kBlock; ++i) {  // no branch, which would be a guess
      others[used] = values[at + i];
      used += flags[i];
    }
  }
  used = static_cast<std::size_t>(std::copy(values + at, values + n, others.get() + used) -
                                  others.get());
  for (std::size_t i = 0; i < atoms.size(); ++i) atoms[i].count = static_cast<Tick>(counts[i]);
  const Histogram alike{0, atoms, atoms.front().start, atoms.back().start};
  return used == 0 ? alike : merge(alike, count_different(others.get(), used));
}

Histogram merge(const Histogram& one, const Histogram& other) {
  if (one.buckets.empty() || other.buckets.empty()) return one.buckets.empty() ? other : one;
  Histogram found{std::max(one.level, other.level),
                  {},
                  std::min(one.low, other.low),
                  std::max(one.high, other.high)};
  found.buckets.resize(one.buckets.size() + other.buckets.size());
  auto a = one.buckets.begin(), b = other.buckets.begin();
  auto to = found.buckets.begin();
  while (a != one.buckets.end() && b != other.buckets.end()) {  // no branch, which would be a guess
    const bool from_a = a->start <= b->start, from_b = b->start <= a->start;
    *to++ = {from_a ? a->start : b->start, from_a * a->count + from_b * b->count};
    a += from_a;
    b += from_b;
  }
  to = std::copy(a, one.buckets.end(), to);
  to = std::copy(b, other.buckets.end(), to);
  found.buckets.erase(to, found.buckets.end());
  if (one.level != other.level) join(found.buckets, found.level);
  coarsen(found);
  return found;
}

}  // namespace jf::statistics
