// Builds and checks the lookup tables of a delay distribution on the host.

#include "noise/host_delay.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/require.h"
#include "noise/delay_tables.h"

namespace jf {
namespace {

struct HostGuide {
  std::int32_t bits = 0;
  bool octaves = false;
  double searched = 0;  // the fraction of high halves whose cell is searched for
  std::vector<std::uint64_t> words;
};

// The cost of a search. The unit is what octaves, or a guide outside the cache, add to one draw.
constexpr double kSearchCost = 256, kLowSearchCost = 0.5;
// Other guides than the first are tried for up to so many cells, with up to so many extra bits.
constexpr std::size_t kMaxCellsTried = std::size_t{1} << 14;
constexpr int kExtraBits = 2;
static_assert((kMaxCellsTried << kExtraBits) <= kTail,
              "a bin of an octave has a high half or more");

class GuideMaker {
 public:
  GuideMaker(const std::vector<std::uint64_t>& edges, const std::vector<bool>& quick, int bits,
             bool octaves)
      : edges_(edges), quick_(quick), end_(Guide::first_bin(bits, octaves)) {
    made_.bits = bits;
    made_.octaves = octaves;
    made_.words.resize(Guide::words(bits, octaves));
  }

  HostGuide made() && {
    if (made_.octaves) {
      put(0, kTail - 1, 0);
      for (int octave = kTailBits; octave < 32; ++octave)
        put_bins(search_bit(), octave - made_.bits);
    } else {
      put_bins(0, 31 - made_.bits);  // as in the highest octave, but from 0 on
    }
    add(edges_.size() - 1);
    return std::move(made_);
  }

 private:
  // Bins of 2^log2_width high halves each.
  void put_bins(std::uint64_t from, int log2_width) {
    for (std::uint64_t at = from; at < 2 * search_bit(); ++at)
      put(at << log2_width, ((at + 1) << log2_width) - 1, 31 - made_.bits - log2_width);
  }

  // The bin [first, last], which is 2^narrowing times narrower than one of the highest octave.
  void put(std::uint64_t first, std::uint64_t last, int narrowing) {
    while (begins_up_to(cell_ + 1, first)) ++cell_;
    const bool two = begins_up_to(cell_ + 1, last);
    const bool search = first < kTail || last > kMaxHigh - kTail || begins_up_to(cell_ + 2, last) ||
                        !quick_[cell_] || (two && !quick_[cell_ + 1]);
    const std::uint64_t whole = (std::uint64_t{1} << (31 - made_.bits)) - 1;
    const std::uint64_t end = two ? (edges_[cell_ + 1] - 1) >> 32 << narrowing & whole : whole;
    add(end << (made_.bits + 1) | (search ? search_bit() : 0) | cell_);
    if (search) made_.searched += static_cast<double>(last - first + 1) / (kMaxHigh + 1.0);
  }

  void add(std::uint64_t entry) {
    const std::uint64_t word = end_ / 2 - Guide::first_word(made_.bits, made_.octaves);
    made_.words[word] |= entry << (end_ % 2 * 32);
    ++end_;
  }

  bool begins_up_to(std::size_t cell, std::uint64_t high) const {
    return cell < edges_.size() && edges_[cell] <= high << 32;
  }
  std::uint64_t search_bit() const { return std::uint64_t{1} << made_.bits; }

  const std::vector<std::uint64_t>& edges_;
  const std::vector<bool>& quick_;
  HostGuide made_;
  std::uint64_t end_;  // number of the next bin
  std::size_t cell_ = 0;
};

// The guide with the lowest expected cost. `edges`: where cells begin. Cells that are not `quick`
// are searched for.
HostGuide make_guide(const std::vector<std::uint64_t>& edges, const std::vector<bool>& quick) {
  // Each tail consists of whole bins, because the search bit is set for a whole bin.
  int bits = 31 - kTailBits;
  while ((std::size_t{1} << bits) < edges.size()) ++bits;
  HostGuide best;
  double least = 0;
  for (int extra = 0; extra <= kExtraBits; ++extra) {
    for (const bool octaves : {false, true}) {
      HostGuide guide = GuideMaker(edges, quick, bits + extra, octaves).made();
      const double cost = kSearchCost * guide.searched + octaves + extra;
      if (best.words.empty() || cost < least) {
        best = std::move(guide);
        least = cost;
      }
      if (least <= kLowSearchCost + extra || edges.size() > kMaxCellsTried) return best;
    }
  }
  return best;
}

void require_time(Tick t) {
  require(t >= 0 && t < kLongestDelay, "delays must be 0 to below 2^60 ticks");
}

HostDelay make(DelayKind kind, std::vector<std::uint64_t> words, std::size_t count, Tick largest) {
  require_time(largest);
  HostDelay d;
  d.delay.kind = kind;
  d.delay.certain = 1;
  d.delay.last = ~std::uint64_t{0};
  d.delay.count = static_cast<std::int64_t>(count);
  d.delay.compact = -1;
  d.words = std::move(words);
  d.largest = largest;
  return d;
}

// min(floor(2^64 drop / width), 2^64 - 1); a width of 0 stands for 2^64.
std::uint64_t slope_of(std::uint64_t drop, std::uint64_t width) {
  if (width == 0) return drop;
  using Wide = unsigned __int128;
  const Wide slope = (Wide{drop} << 64) / width;
  return slope >> 64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(slope);
}

// The compact table of a smooth delay; empty if a cell does not fit.
std::vector<std::uint64_t> compact_cells(const std::vector<std::uint64_t>& nodes) {
  constexpr std::int64_t kLargestRise = std::int64_t{1} << 30;  // see Delay::compact
  std::vector<std::uint64_t> compact(kCompactSide + kCompactCells);
  for (const std::uint64_t side : {0, 1}) {
    for (std::uint64_t c = 0; c < kCompactCells; ++c) {
      const auto* cell = nodes.data() + side * kSmoothNodes + kFirstCompactCell + c;
      const auto rise = static_cast<std::int64_t>(cell[1] - cell[0]);
      if (cell[0] > kMaxHigh || rise >= kLargestRise || rise < -kLargestRise) return {};
      compact[side * kCompactSide + c] = cell[0] << 32 | (2 * (cell[1] - cell[0]) & kMaxHigh);
    }
  }
  return compact;
}

}  // namespace

Stretch stretch_from(std::uint64_t last) {
  using Wide = unsigned __int128;
  const std::uint64_t n = last + 1;
  if (n == 0) return {0, ~std::uint64_t{0}};  // not used: the delay is certain
  const std::uint64_t shift = 63 - floor_log2(n);
  const Wide factor = (Wide{1} << 127) / (n << shift);
  return {shift, factor >> 64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(factor)};
}

void HostDelay::add_compact(const std::vector<std::uint64_t>& compact) {
  if (compact.empty()) return;
  delay.compact = static_cast<std::int64_t>(words.size());
  words.insert(words.end(), compact.begin(), compact.end());
}

HostDelay HostDelay::constant(Tick value) {
  HostDelay d = make(kConstantDelay, {}, 0, value);
  d.delay.value = value;
  return d;
}

HostDelay HostDelay::smooth(std::vector<std::uint64_t> nodes) {
  require(nodes.size() == 2 * kSmoothNodes, "a smooth delay needs 2 * 3713 nodes");
  const auto middle = nodes.begin() + kSmoothNodes;
  require(nodes[0] < std::uint64_t{kLongestDelay}, "delays must be 0 to below 2^60 ticks");
  require(std::is_sorted(nodes.begin(), middle, std::greater<>()) &&
              std::is_sorted(middle, nodes.end()) && *(middle - 1) >= nodes.back(),
          "the nodes of a smooth delay must fall from both sides to the median");
  const auto largest = static_cast<Tick>(nodes[0]);
  const std::vector<std::uint64_t> compact = compact_cells(nodes);
  HostDelay d = make(kSmoothDelay, std::move(nodes), kSmoothNodes, largest);
  d.add_compact(compact);
  return d;
}

HostDelay HostDelay::samples(const std::vector<Tick>& values) {
  require(!values.empty() && values.size() <= kMaxHigh, "samples must not be empty");
  require(std::is_sorted(values.rbegin(), values.rend()), "samples must fall");
  require_time(values.back());
  const auto largest = static_cast<std::uint64_t>(values.front());
  if (largest > kMaxHigh)
    return make(kSampledDelay, {values.begin(), values.end()}, values.size(), values.front());
  std::vector<std::uint64_t> halves(values.size() / 2 + 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    halves[i / 2] |= static_cast<std::uint64_t>(values[i]) << (i % 2 * 32);
  HostDelay d = make(kSampledDelay, {}, values.size(), values.front());
  d.add_compact(halves);
  return d;
}

HostDelay HostDelay::pieces(const std::vector<std::uint64_t>& edges, const std::vector<Tick>& top,
                            const std::vector<Tick>& drop) {
  const std::size_t n = edges.size();
  require(n > 0 && n < kMaxPieces && top.size() == n && drop.size() == n,
          "pieces need edges, top and drop of one length, from 1 to below 2^23");
  require(edges[0] == 0 &&
              std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end(),
          "edges must rise from 0");
  // A compact table may omit cells that do not fit, if they are rarely drawn: they are searched
  // for.
  std::vector<std::uint64_t> cells, compact;
  std::vector<bool> fits;
  cells.reserve(n << kPieceBits);
  std::uint64_t too_large = 0;  // high halves of cells that do not fit, outside the tails
  for (std::size_t c = 0; c < n; ++c) {
    require_time(top[c]);
    require(drop[c] >= 0 && drop[c] <= top[c], "drop must be 0 to top");
    require(c == 0 || top[c] <= top[c - 1] - drop[c - 1], "pieces must fall");
    const std::uint64_t end = c + 1 < n ? edges[c + 1] : 0;  // 0: 2^64
    const std::uint64_t slope = slope_of(static_cast<std::uint64_t>(drop[c]), end - edges[c]);
    const std::uint64_t at_zero = static_cast<std::uint64_t>(top[c]) + scale64(edges[c], slope);
    cells.insert(cells.end(), {end - 1, at_zero, slope, 0});
    fits.push_back(at_zero <= kMaxHigh && slope <= kMaxHigh);
    compact.push_back(fits[c] ? at_zero << 32 | slope : 0);
    const std::uint64_t from = std::max(edges[c] >> 32, kTail);
    const std::uint64_t to = std::min((end - 1) >> 32, kMaxHigh - kTail);
    if (!fits[c] && from <= to) too_large += to - from + 1;
  }
  const bool quick = too_large < kMaxHigh / 128;
  const HostGuide guide = make_guide(edges, quick ? fits : std::vector<bool>(n, true));
  std::vector<std::uint64_t> words = guide.words;
  words.insert(words.end(), cells.begin(), cells.end());
  HostDelay d = make(kPieceDelay, std::move(words), n, top[0]);
  d.delay.guide_bits = guide.bits;
  d.delay.guide_octaves = guide.octaves;
  if (quick) d.add_compact(compact);
  return d;
}

HostDelay HostDelay::counts(Tick value, std::vector<std::uint64_t> survival) {
  require_time(value);
  require(std::is_sorted(survival.rbegin(), survival.rend()), "survival must fall");
  if (survival.empty()) survival.push_back(0);  // never: the engine looks at the first entry
  const std::size_t n = survival.size();
  require(n < 100'000 && value < kLongestDelay / static_cast<Tick>(n + 1),
          "delays must be 0 to below 2^60 ticks");
  HostDelay d = make(kCountedDelay, std::move(survival), n, value * static_cast<Tick>(n));
  d.delay.value = value;
  return d;
}

HostDelay HostDelay::with_last(std::uint64_t last) const {
  HostDelay d = *this;
  d.delay.last = last;
  d.delay.certain = last == ~std::uint64_t{0};
  d.delay.conditional = stretch_from(last);
  // High halves below it, when stretched, are not in the upper tail.
  const std::uint64_t high = last >> 32, uncertain = (high >> (32 - kTailBits)) + 1;
  d.delay.undecided_from = high > uncertain ? high - uncertain : 0;
  return d;
}

Delay HostDelay::append_to(std::vector<std::uint64_t>& program_words) const {
  Delay placed = delay;
  placed.table = static_cast<std::int64_t>(program_words.size());
  if (placed.compact >= 0) placed.compact += placed.table;
  program_words.insert(program_words.end(), words.begin(), words.end());
  return placed;
}

}  // namespace jf
