// Graph-walking congestion simulator in the way of ORCS, a peer program for benchmarks. From the
// source on, a message uses the first out-edge whose list of destinations contains its destination;
// edges are counted in a map. It shares no code with the engine. Unlike ORCS it spends no time on
// text: nodes and edges are numbers, and lists are sorted for a binary search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace jitterfly {
namespace graph_walk {

struct Edge {
  int number, head;
  bool any;                       // '*'
  std::vector<int> destinations;  // ascending
};

struct Graph {
  std::vector<std::vector<Edge>> out;  // of each node, in order

  std::vector<int> route(int from, int to) const {
    std::vector<int> edges;
    std::set<int> visited;
    int node = from;
    while (node != to) {
      const Edge* taken = nullptr;
      for (const Edge& edge : out[static_cast<std::size_t>(node)]) {
        if (edge.any ||
            std::binary_search(edge.destinations.begin(), edge.destinations.end(), to)) {
          taken = &edge;
          break;
        }
      }
      if (taken == nullptr) throw std::invalid_argument("there is no way to a destination");
      if (!visited.insert(taken->head).second) return {};  // a loop: the route is dropped
      edges.push_back(taken->number);
      node = taken->head;
    }
    return edges;
  }
};

struct Message {
  int from_rank, to_rank, from_host, to_host;
};

// The largest D_l(dst) over all levels (kOrcs in congestion/program.h). Of each level, the first
// `own` messages belong to the collective.
inline int64_t longest_delay(const Graph& graph, const std::vector<std::vector<Message>>& levels,
                             const std::vector<int>& own) {
  std::map<int, int64_t> before;  // D of the level before
  int64_t longest = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::map<int, int> cables;
    for (const Message& m : levels[level])
      for (const int edge : graph.route(m.from_host, m.to_host)) ++cables[edge];
    std::map<int, int64_t> now;
    for (int i = 0; i < own[level]; ++i) {
      const Message& m = levels[level][static_cast<std::size_t>(i)];
      int w = 0;
      for (const int edge : graph.route(m.from_host, m.to_host)) w = std::max(w, cables.at(edge));
      const auto last = before.find(m.from_rank);
      int64_t& at = now[m.to_rank];
      at = std::max(at, w + (last == before.end() ? 0 : last->second));
      longest = std::max(longest, at);
    }
    before = std::move(now);
  }
  return longest;
}

}  // namespace graph_walk
}  // namespace jitterfly
