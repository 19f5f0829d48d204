// Checks and derived sizes of a congestion program (program.h): network, levels, traffic pattern.

#include "congestion/program.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "core/require.h"

namespace jf::congestion {
namespace {

using Values = std::vector<std::uint32_t>;

Divisor divisor(std::uint32_t d) { return {d, (std::uint64_t{1} << 40) / d + 1}; }

}  // namespace

ProgramView Program::view(std::uint64_t seed, bool all) const {
  return {hosts, used,           ranks,          levels(),         perturbation, all,
          seed,  offsets.data(), senders.data(), receivers.data(), chain.data()};
}

std::uint32_t Program::max_own() const {
  std::uint32_t largest = 0;
  for (std::size_t l = 0; l + 1 < offsets.size(); ++l)
    largest = std::max(largest, offsets[l + 1] - offsets[l]);
  return largest;
}

std::uint32_t Program::most_messages() const { return max_own() + view(0, false).perturbing(); }

bool Program::one_each() const {
  Values sent(ranks, kNoEdge), received(ranks, kNoEdge);
  for (std::uint32_t l = 0; l < levels(); ++l) {
    for (std::uint32_t i = offsets[l]; i < offsets[l + 1]; ++i) {
      if (sent[senders[i]] == l || received[receivers[i]] == l) return false;
      sent[senders[i]] = received[receivers[i]] = l;
    }
  }
  return true;
}

void Program::set_levels(Values new_offsets, Values new_senders, Values new_receivers,
                         Values new_chain) {
  require(hosts >= 1 && hosts <= kMaxHosts, "hosts must be from 1 to 2^20");
  require(used >= 1 && used <= hosts, "used must be from 1 to hosts");
  require(ranks <= used, "ranks must be from 0 to used");
  require(perturbation >= kNone && perturbation <= kBisectFb, "perturbation must be from 0 to 3");
  offsets = std::move(new_offsets);
  senders = std::move(new_senders);
  receivers = std::move(new_receivers);
  chain = std::move(new_chain);
  require(
      !offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()),
      "offsets must begin with 0 and ascend");
  require(offsets.back() == senders.size() && senders.size() == receivers.size(),
          "senders and receivers must be as many as the last of offsets");
  require(chain.size() == levels(), "chain must have one number for each level");
  for (std::size_t i = 0; i < senders.size(); ++i) {
    require(senders[i] < ranks && receivers[i] < ranks && senders[i] != receivers[i],
            "senders and receivers must be two ranks, below ranks; message " + std::to_string(i));
  }
  for (std::uint32_t l = 0; l < levels(); ++l)
    require(chain[l] == kNoEdge || chain[l] < offsets[l + 1] - offsets[l],
            "chain must be the number of a message of its level");
}

void Program::set_fat_tree(const Values& m, const Values& w, const Values& p, int key,
                           std::uint64_t salt, bool whole) {
  require(!m.empty() && m.size() <= kMaxHeight && w.size() == m.size() && p.size() == m.size(),
          "m, w and p must have one number for each of 1 to 8 levels");
  require(key >= kByDestination && key <= kByMessage, "key must be from 0 to 3");
  constexpr std::uint64_t kMax = kMaxHosts;
  fat_tree = true;
  tree = {};
  tree.height = static_cast<std::int32_t>(m.size());
  tree.hosts = hosts;
  tree.key = key;
  tree.salt = salt;
  const bool once = one_each() && !whole;
  std::uint64_t nodes = 1, parents = 1, modulus = 1, counters = 0;  // nodes: M_l
  for (std::size_t l = 0; l < m.size(); ++l) {
    require(m[l] >= 1 && w[l] >= 1 && p[l] >= 1 && m[l] <= kMax && w[l] <= kMax && p[l] <= kMax,
            "m, w and p must be from 1 to 2^20");
    parents *= w[l];
    const std::uint64_t cables = parents * p[l];
    require(cables <= kMax, "a host must reach at most 2^20 links of a level");
    FatTreeLevel& level = tree.levels[l];
    level.nodes = divisor(static_cast<std::uint32_t>(nodes));
    level.parents = divisor(static_cast<std::uint32_t>(parents));
    level.cables = divisor(p[l]);
    // If there are as many links above a node as hosts below it, the messages on a downward link of
    // routes by destination (upward, by source) have that host in common: there is at most one.
    level.counts_up = !(once && (l == 0 || key == kBySource) && nodes <= cables);
    level.counts_down = !(once && (l == 0 || key == kByDestination) && nodes <= cables);
    const std::uint64_t links = hosts / nodes * cables;
    level.up = static_cast<std::uint32_t>(counters);
    if (level.counts_up) counters += links;
    level.down = static_cast<std::uint32_t>(counters);
    if (level.counts_down) counters += links;
    require(counters < std::uint64_t{1} << 31, "the tree must have less than 2^31 links");
    modulus = std::lcm(modulus, cables);
    nodes *= m[l];
    require(nodes <= kMax, "hosts must be from 1 to 2^20");
  }
  require(nodes == hosts, "hosts must be the product of m");
  require(key < kByHash || modulus <= kMax,
          "the least common multiple of the links above a host must be at most 2^20");
  tree.modulus = static_cast<std::uint32_t>(std::min(modulus, kMax));
  tree.counters = static_cast<std::uint32_t>(counters);
}

void Program::set_table(std::uint32_t nodes, Values new_next, Values new_head) {
  fat_tree = false;
  next = std::move(new_next);
  head = std::move(new_head);
  edges = static_cast<std::uint32_t>(head.size());
  require(nodes >= hosts && next.size() == std::size_t{nodes} * hosts,
          "next must have a row for each node, of one edge for each host");
  for (const std::uint32_t node : head) require(node < nodes, "head must be nodes");
  for (const std::uint32_t edge : next)
    require(edge == kNoEdge || edge < edges, "next must be edges");
  // Every route must end: no node may occur twice. state: 0 new, 1 on the current path, 2 done.
  std::vector<std::uint8_t> state(nodes);
  Values path;
  for (std::uint32_t d = 0; d < hosts; ++d) {
    std::fill(state.begin(), state.end(), 0);
    state[d] = 2;
    for (std::uint32_t start = 0; start < nodes; ++start) {
      path.clear();
      std::uint32_t node = start;
      while (state[node] == 0) {
        state[node] = 1;
        path.push_back(node);
        const std::uint32_t edge = next[std::size_t{node} * hosts + d];
        if (edge == kNoEdge) break;
        node = head[edge];
        require(state[node] != 1, "next must not have loops");
      }
      for (const std::uint32_t passed : path) state[passed] = 2;
    }
  }
}

}  // namespace jf::congestion
