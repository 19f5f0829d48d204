#include "host_guide.h"

#include <utility>

namespace jf {
namespace {

// A search takes as long as what octaves, or places outside the cache, add to some hundred draws.
constexpr double kSearch = 256, kFewSearches = 0.5;
// Cells for which more than the first guide is tried, and how many more bits.
constexpr std::size_t kTried = std::size_t{1} << 14;
constexpr int kMoreBits = 2;
static_assert((kTried << kMoreBits) <= kTail, "a place of an octave has a high half or more");

class Maker {
 public:
  Maker(const std::vector<std::uint64_t>& edges, const std::vector<bool>& quick, int bits,
        bool octaves)
      : edges_(edges), quick_(quick), end_(Guide::first_place(bits, octaves)) {
    made_.bits = bits;
    made_.octaves = octaves;
    made_.words.resize(Guide::words(bits, octaves));
  }

  HostGuide made() && {
    if (made_.octaves) {
      put(0, kTail - 1, 0);
      for (int octave = kTailBits; octave < 32; ++octave)
        put_places(search_bit(), octave - made_.bits);
    } else {
      put_places(0, 31 - made_.bits);  // as the highest octave, but from 0 on
    }
    add(edges_.size() - 1);
    return std::move(made_);
  }

 private:
  // Of 2^log2_width high halves each.
  void put_places(std::uint64_t from, int log2_width) {
    for (std::uint64_t at = from; at < 2 * search_bit(); ++at)
      put(at << log2_width, ((at + 1) << log2_width) - 1, 31 - made_.bits - log2_width);
  }

  // That of [first, last], which is 2^-narrower as wide as one of the highest octave.
  void put(std::uint64_t first, std::uint64_t last, int narrower) {
    while (begins_by(cell_ + 1, first)) ++cell_;
    const bool two = begins_by(cell_ + 1, last);
    const bool search = first < kTail || last > kMostHigh - kTail || begins_by(cell_ + 2, last) ||
                        !quick_[cell_] || (two && !quick_[cell_ + 1]);
    const std::uint64_t whole = (std::uint64_t{1} << (31 - made_.bits)) - 1;
    const std::uint64_t end = two ? (edges_[cell_ + 1] - 1) >> 32 << narrower & whole : whole;
    add(end << (made_.bits + 1) | (search ? search_bit() : 0) | cell_);
    if (search) made_.searched += static_cast<double>(last - first + 1) / (kMostHigh + 1.0);
  }

  void add(std::uint64_t entry) {
    const std::uint64_t word = end_ / 2 - Guide::first_word(made_.bits, made_.octaves);
    made_.words[word] |= entry << (end_ % 2 * 32);
    ++end_;
  }

  bool begins_by(std::size_t cell, std::uint64_t high) const {
    return cell < edges_.size() && edges_[cell] <= high << 32;
  }
  std::uint64_t search_bit() const { return std::uint64_t{1} << made_.bits; }

  const std::vector<std::uint64_t>& edges_;
  const std::vector<bool>& quick_;
  HostGuide made_;
  std::uint64_t end_;  // the next place
  std::size_t cell_ = 0;
};

}  // namespace

HostGuide make_guide(const std::vector<std::uint64_t>& edges, const std::vector<bool>& quick) {
  // The tails are whole places: else nobody could tell from an entry that it is of a tail.
  int bits = 31 - kTailBits;
  while ((std::size_t{1} << bits) < edges.size()) ++bits;
  HostGuide best;
  double least = 0;
  for (int more = 0; more <= kMoreBits; ++more) {
    for (const bool octaves : {false, true}) {
      HostGuide guide = Maker(edges, quick, bits + more, octaves).made();
      const double cost = kSearch * guide.searched + octaves + more;
      if (best.words.empty() || cost < least) {
        best = std::move(guide);
        least = cost;
      }
      if (least <= kFewSearches + more || edges.size() > kTried) return best;
    }
  }
  return best;
}

}  // namespace jf
