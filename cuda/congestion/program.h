// Input of the congestion engines (HSL09): network, message levels of a collective, perturbing
// traffic. Read routes.h and permutations.h first. Rank r is on host order[r] of a random order of
// the hosts. The collective runs on ranks 0 ... z - 1, the perturbing pattern on the others. Hosts
// beyond the last rank are idle.
#pragma once

#include <vector>

#include "congestion/routes.h"
#include "core/engine.h"

namespace jf::congestion {

enum Perturbation : std::int32_t {
  kNone = 0,
  kRand = 1,      // a permutation without fixed points, another at every level
  kBisect = 2,    // disjoint pairs, the first sends to the second, others at every level
  kBisectFb = 3,  // disjoint pairs, both send, the same at all levels
};

// The results of a realization, an int64 each. w of a message is the number of messages on the
// busiest link of its route. From kSumMax on only if all messages are requested.
enum Word : int {
  kOrcs = 0,      // D_l(dst) = w + (D_{l-1}(src) if src received at level l - 1): the largest
  kOrcs1 = 1,     // the sum of w along the chain
  kReady = 2,     // R(dst) = max(R(dst), R(src) + w), from level to level: the largest
  kSumMax = 3,    // sum over the levels of the largest w of all messages
  kInverse = 4,   // sum of floor(2^40 / w) over all routed messages
  kMessages = 5,  // number of routed messages
  kLargest = 6,   // largest w
  kDropped = 7,   // messages without a route
  kWords = 8,
};
// The most messages of a level for which a counter of 16 bits can not overflow.
constexpr std::uint32_t kMaxShortCount = 0xffff;
constexpr std::uint64_t kInverseScale = std::uint64_t{1} << 40;

struct ProgramView {
  std::uint32_t hosts, used, ranks;  // ranks: of the collective; used: of both patterns together
  std::uint32_t levels;
  std::int32_t perturbation;
  std::int32_t all;  // all results, see Word
  std::uint64_t seed;
  const std::uint32_t* offsets;  // of each level in senders and receivers; levels + 1
  const std::uint32_t* senders;
  const std::uint32_t* receivers;
  const std::uint32_t* chain;  // kOrcs1: of each level the number of its message, or kNoEdge

  JF_HD std::uint32_t others() const { return used - ranks; }
  // Messages of the perturbing pattern, at every level.
  JF_HD std::uint32_t perturbing() const {
    const std::uint32_t n = others();
    if (perturbation == kNone || n < 2) return 0;
    if (perturbation == kRand) return n;
    return perturbation == kBisect ? n / 2 : n / 2 * 2;
  }
  // The stream of random numbers of a level's traffic.
  JF_HD std::uint64_t stream(std::uint64_t level) const {
    return perturbation == kBisectFb ? 0 : level;
  }
  // The stream of the route of message i of a level; for perturbing ones it is the sender's host.
  JF_HD std::uint32_t route_stream(std::uint32_t i, std::uint32_t own, std::uint32_t host) const {
    return i < own ? i : host | 0x80000000u;
  }
};

struct Program {
  std::uint32_t hosts = 0, used = 0, ranks = 0;
  std::int32_t perturbation = kNone;
  std::vector<std::uint32_t> offsets, senders, receivers, chain;

  bool fat_tree = false;
  FatTreeView tree{};
  std::uint32_t edges = 0;  // of a table
  std::vector<std::uint32_t> next, head;

  std::uint32_t levels() const { return static_cast<std::uint32_t>(offsets.size()) - 1; }
  ProgramView view(std::uint64_t seed, bool all) const;
  TableView table() const { return {hosts, edges, next.data(), head.data()}; }
  std::uint32_t counters() const { return fat_tree ? tree.counters : edges; }
  std::uint32_t max_own() const;        // the most messages of the collective in a level
  std::uint32_t most_messages() const;  // the same with perturbing ones
  // These check everything; std::invalid_argument names the field. `whole`: count the messages on
  // every link, also on those that at most one message can use.
  void set_levels(std::vector<std::uint32_t> offsets, std::vector<std::uint32_t> senders,
                  std::vector<std::uint32_t> receivers, std::vector<std::uint32_t> chain);
  void set_fat_tree(const std::vector<std::uint32_t>& m, const std::vector<std::uint32_t>& w,
                    const std::vector<std::uint32_t>& p, int key, std::uint64_t salt, bool whole);
  void set_table(std::uint32_t nodes, std::vector<std::uint32_t> next,
                 std::vector<std::uint32_t> head);
  bool one_each() const;  // at every level a rank sends and receives at most one message
};

// From w of the messages to the time of a collective. First `compute` reads the values of each
// message's sender before the level; then the receivers get the new ones.
struct Rules {
  std::uint32_t* last;   // of each rank: D of the level before (kOrcs), 0 without a message
  std::uint32_t* ready;  // of each rank: R (kReady)
  // Of each message of a level:
  std::uint32_t* new_last;
  std::uint32_t* new_ready;

  JF_HD void compute(std::uint32_t i, std::uint32_t sender, std::uint32_t w) const {
    new_last[i] = last[sender] + w;
    new_ready[i] = ready[sender] + w;
  }
};

// One realization: the placement and the messages that were drawn, and w of every message.
struct Capture {
  std::vector<std::uint32_t> host_of_rank;
  std::vector<std::uint32_t> offsets, senders, receivers, w;  // ranks
};

// out: count x kWords; words from kSumMax on are set only with full_statistics. histogram: w of all
// messages is added to its most_messages() + 1 bins; or null. Throws Cancelled if poll returns
// false.
void simulate(const Program& program, const Request& request, std::int64_t* out,
              std::uint64_t* histogram, const Poll& poll);
// placement: the host of every rank; if empty, it is drawn.
Capture capture(const Program& program, std::uint64_t seed, std::uint32_t realization,
                const std::vector<std::uint32_t>& placement);
std::int64_t memory(const Program& program, int threads);  // bytes that simulate will hold

namespace gpu {
void simulate(const Program& program, const Request& request, std::int64_t* out,
              std::uint64_t* histogram, const Poll& poll);
}  // namespace gpu

}  // namespace jf::congestion
