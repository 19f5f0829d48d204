// Routing: links of a message on fat trees (XGFT/PGFT, d-mod-k in closed form) or by forwarding
// tables. A router numbers the counters of messages, one per edge. realize.h counts them,
// and kernel.cuh on a GPU. noise/link_loads.h makes a delay of the count.
#pragma once

#include "congestion/permutations.h"

namespace jf::congestion {

constexpr int kMaxHeight = 8;
constexpr std::uint32_t kNoEdge = 0xffffffff;

// What determines the key by which a route is chosen: in the order of ROUTINGS in
// python/jitterfly/congestion/topology.py. A new one is also taken by set_fat_tree in program.cpp.
enum KeyKind : std::int32_t { kByDestination = 0, kBySource = 1, kByHash = 2, kByMessage = 3 };

// floor(x / d) for x, d <= 2^20. With r = floor(2^40 / d) + 1 the error of x r / 2^40 is
// x (r d - 2^40) / (d 2^40) <= x / 2^40, too small to reach the next integer.
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint64_t reciprocal = (std::uint64_t{1} << 40) + 1;

  JF_HD std::uint32_t quotient(std::uint32_t x) const {
    return static_cast<std::uint32_t>(x * reciprocal >> 40);
  }
};

// One level of links of a parallel-ports generalized fat tree, PGFT(h; m; w; p) (Zahavi 2012; with
// p = 1 the XGFT of Oehring et al. 1995): from the nodes of level l to their parents.
struct FatTreeLevel {
  Divisor nodes;               // M_l hosts below a node
  Divisor parents;             // W_{l+1}, the trees of level l + 1; a message uses one of them
  Divisor cables;              // p_{l+1}
  std::uint32_t up = 0;        // the first counter of its upward links,
  std::uint32_t down = 0;      // and of its downward links
  std::int32_t counts_up = 1;  // whether these are counted, see Program::set_fat_tree
  std::int32_t counts_down = 1;
};

struct Links {
  std::uint32_t up, down;
};

// The counters of a message from host s to host d with key k at one level. They are `uncounted` if
// the links are not counted, or if the message does not come up to this level.
JF_HD Links links_at(const FatTreeLevel& level, std::uint32_t uncounted, std::uint32_t s,
                     std::uint32_t d, std::uint32_t k) {
  const std::uint32_t from = level.nodes.quotient(s), to = level.nodes.quotient(d);
  const std::uint32_t turns = level.parents.quotient(k);
  const std::uint32_t parent = k - turns * level.parents.divisor;
  const std::uint32_t cable = turns - level.cables.quotient(turns) * level.cables.divisor;
  const std::uint32_t up =
      level.up + (from * level.parents.divisor + parent) * level.cables.divisor + cable;
  const std::uint32_t down =
      level.down + (to * level.parents.divisor + parent) * level.cables.divisor + cable;
  return {from != to && level.counts_up != 0 ? up : uncounted,
          from != to && level.counts_down != 0 ? down : uncounted};
}

struct FatTreeView {
  std::uint32_t hosts, counters;  // number `counters` is the counter of uncounted links
  std::int32_t height, key;
  std::uint32_t modulus;  // of drawn keys k, so that all k mod (W_l p_l) are equally likely
  std::uint64_t salt;     // of hashed keys
  FatTreeLevel levels[kMaxHeight];

  JF_HD Links links(std::uint32_t s, std::uint32_t d, std::uint32_t k, int l) const {
    return links_at(levels[l], counters, s, d, k);
  }

  JF_HD std::uint32_t key_of(std::uint64_t seed, std::uint32_t s, std::uint32_t d,
                             std::uint64_t level, std::uint32_t message,
                             std::uint32_t realization) const {
    if (key == kByDestination) return d;
    if (key == kBySource) return s;
    const std::uint64_t u =
        key == kByHash ? whole64(salt, kDestination, 0, d, 0)
                       : uniform_pair(seed, with_high_level(kRoute, level),
                                      static_cast<std::uint32_t>(level), message, realization)
                             .even;
    return static_cast<std::uint32_t>(scale64(u, modulus));
  }

  template <class Visit>
  JF_HD void route(std::uint32_t s, std::uint32_t d, std::uint32_t k, Visit&& visit) const {
    for (int l = 0; l < height; ++l) {
      const Links edges = links(s, d, k, l);
      if (edges.up != counters) visit(edges.up);
      if (edges.down != counters) visit(edges.down);
    }
  }
  JF_HD bool routed(std::uint32_t s, std::uint32_t d) const { return s != d; }
};

// Any network. Hosts are nodes 0 ... hosts - 1. next[node * hosts + d] is the edge towards host d,
// or kNoEdge if that route has a loop. head[edge] is the node at its end.
struct TableView {
  std::uint32_t hosts, counters;
  const std::uint32_t* next;
  const std::uint32_t* head;

  JF_HD std::uint32_t key_of(std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t,
                             std::uint32_t, std::uint32_t) const {
    return 0;
  }
  template <class Visit>
  JF_HD void route(std::uint32_t s, std::uint32_t d, std::uint32_t, Visit&& visit) const {
    for (std::uint32_t node = s; node != d;) {
      const std::uint32_t edge = next[std::size_t{node} * hosts + d];
      if (edge == kNoEdge) return;
      visit(edge);
      node = head[edge];
    }
  }
  JF_HD bool routed(std::uint32_t s, std::uint32_t d) const {
    return s != d && next[std::size_t{s} * hosts + d] != kNoEdge;
  }
};

}  // namespace jf::congestion
