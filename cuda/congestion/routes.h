// Routes, as the edges that a message takes: in closed form in fat trees, step by step along
// forwarding tables elsewhere. Every router numbers its counters itself.
#pragma once

#include "congestion/orders.h"

namespace jf::congestion {

constexpr int kMaxHeight = 8;
constexpr std::uint32_t kNoEdge = 0xffffffff;

// What a route is chosen by.
enum KeyKind : std::int32_t { kByDestination = 0, kBySource = 1, kByHash = 2, kByMessage = 3 };

// floor(x / by) for x, by <= 2^20: with r = floor(2^40 / by) + 1 the error x (r by - 2^40) / 2^40
// is below 1 / by.
struct Divisor {
  std::uint32_t by = 1;
  std::uint64_t reciprocal = (std::uint64_t{1} << 40) + 1;

  JF_HD std::uint32_t quotient(std::uint32_t x) const {
    return static_cast<std::uint32_t>(x * reciprocal >> 40);
  }
};

// One level of links of a parallel-ports generalized fat tree, PGFT(h; m; w; p) (Zahavi 2012; with
// p = 1 the XGFT of Oehring et al. 1995): from the nodes of level l to their parents.
struct FatTreeLevel {
  Divisor nodes;               // M_l hosts below a node
  Divisor parents;             // W_{l+1}, the trees of level l + 1 of which one holds the message
  Divisor cables;              // p_{l+1}
  std::uint32_t up = 0;        // the first counter of its links upwards,
  std::uint32_t down = 0;      // and downwards; what need not be counted is
  std::int32_t counts_up = 1;  // counted in the counter that nobody reads
  std::int32_t counts_down = 1;
};

struct Links {
  std::uint32_t up, down;
};

// Of a message from host s to host d with key k, between two levels; `nobody` for what is not
// counted and where it turns below.
JF_HD Links links_at(const FatTreeLevel& at, std::uint32_t nobody, std::uint32_t s, std::uint32_t d,
                     std::uint32_t k) {
  const std::uint32_t from = at.nodes.quotient(s), to = at.nodes.quotient(d);
  const std::uint32_t turns = at.parents.quotient(k);
  const std::uint32_t parent = k - turns * at.parents.by;
  const std::uint32_t cable = turns - at.cables.quotient(turns) * at.cables.by;
  const std::uint32_t up = at.up + (from * at.parents.by + parent) * at.cables.by + cable;
  const std::uint32_t down = at.down + (to * at.parents.by + parent) * at.cables.by + cable;
  return {from != to && at.counts_up != 0 ? up : nobody,
          from != to && at.counts_down != 0 ? down : nobody};
}

struct FatTreeView {
  std::uint32_t hosts, counters;  // counter number `counters` is nobody's
  std::int32_t height, key;
  std::uint32_t modulus;  // of drawn keys: all K mod (W_l p_l) are alike likely
  std::uint64_t salt;     // of hashed ones
  FatTreeLevel levels[kMaxHeight];

  JF_HD Links links(std::uint32_t s, std::uint32_t d, std::uint32_t k, int l) const {
    return links_at(levels[l], counters, s, d, k);
  }

  JF_HD std::uint32_t key_of(std::uint64_t seed, std::uint32_t s, std::uint32_t d,
                             std::uint32_t level, std::uint32_t message,
                             std::uint32_t realization) const {
    if (key == kByDestination) return d;
    if (key == kBySource) return s;
    const std::uint64_t u = key == kByHash ? whole64(salt, kDestination, 0, d, 0)
                                           : whole64(seed, kRoute, 2 * level, message, realization);
    return static_cast<std::uint32_t>(scale64(u, modulus));
  }

  template <class Visit>
  JF_HD void route(std::uint32_t s, std::uint32_t d, std::uint32_t k, Visit&& visit) const {
    for (int l = 0; l < height; ++l) {
      const Links at = links(s, d, k, l);
      if (at.up != counters) visit(at.up);
      if (at.down != counters) visit(at.down);
    }
  }
  JF_HD bool routed(std::uint32_t s, std::uint32_t d) const { return s != d; }
};

// Any network. Hosts are nodes 0 ... hosts - 1; next[node * hosts + d] is the edge to host d, or
// kNoEdge where that way leads into a loop; head[edge] the node at its end.
struct TableView {
  std::uint32_t hosts, counters;
  const std::uint32_t* next;
  const std::uint32_t* head;

  JF_HD std::uint32_t key_of(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t,
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
