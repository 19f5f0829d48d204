// Program that tests NodeSize (node of a rank) against a division, scalar and SIMD.
#include <cstdio>
#include <random>

#include "cpu/simd_philox.h"

#include "noise/node_size.h"

namespace {

constexpr std::int64_t kEnd = std::int64_t{1} << jf::kRankBits;  // of all ranks

long checked = 0, wrong = 0;

void check(const jf::NodeSize& nodes, std::int64_t n, std::int64_t first) {
  jf::Lanes ranks = jf::broadcast(first) + jf::lane_index();
  // Ranks before the first one or beyond the last one are these.
  for (int k = 0; k < jf::kLanes; ++k)
    ranks[k] = ranks[k] < 0 ? 0 : ranks[k] >= kEnd ? kEnd - 1 : ranks[k];
  const jf::Lanes found = nodes.of_rank(ranks);
  for (int k = 0; k < jf::kLanes; ++k) {
    const std::int64_t rank = ranks[k], node = rank / n;
    const auto narrow = static_cast<std::uint32_t>(rank);
    const bool exact = found[k] == node && nodes.of_rank(rank) == node &&
                       nodes.of_rank(narrow) == static_cast<std::uint32_t>(node);
    if (!exact && wrong++ == 0)
      std::printf("rank %lld, nodes of %lld\n", static_cast<long long>(rank),
                  static_cast<long long>(n));
    ++checked;
  }
}

// The ranks on both sides of the ends of nodes: the first ones, the last ones, and some between.
void check_size(std::int64_t n, std::mt19937_64& random) {
  const auto nodes = jf::NodeSize::of(n);
  if (nodes.one_rank() != (n == 1)) ++wrong;
  const std::int64_t last = (kEnd - 1) / n;
  const auto around = [&](std::int64_t node) { check(nodes, n, node * n - jf::kLanes / 2); };
  for (const std::int64_t node : {std::int64_t{0}, std::int64_t{1}, last / 2, last - 1, last})
    around(node);
  for (int i = 0; i < 4; ++i) around(static_cast<std::int64_t>(random() % (last + 1)));
  check(nodes, n, kEnd - jf::kLanes);
}

}  // namespace

int main() {
  std::mt19937_64 random(1);
  for (std::int64_t n = 1; n <= 1 << 16; ++n) check_size(n, random);
  for (int bit = 0; bit <= 31; ++bit)  // powers of two, and what is near them
    for (std::int64_t n = (std::int64_t{1} << bit) - 5; n <= (std::int64_t{1} << bit) + 5; ++n)
      if (n >= 1 && n <= kEnd) check_size(n, random);
  for (int i = 0; i < 1 << 16; ++i) {  // of any size up to 2^31
    const std::uint64_t bits = random() % 31;
    check_size(1 + static_cast<std::int64_t>(random() >> (33 + bits)), random);
  }
  // Every rank of a small machine.
  for (std::int64_t n = 1; n <= 300; ++n) {
    const auto nodes = jf::NodeSize::of(n);
    for (std::int64_t rank = 0; rank < 1 << 12; rank += jf::kLanes) check(nodes, n, rank);
  }
  std::printf("%ld checked, %ld wrong\n", checked, wrong);
  return wrong == 0 ? 0 : 1;
}
