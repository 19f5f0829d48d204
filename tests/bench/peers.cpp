// The benchmark's peer programs as a shared library with a C interface; see
// tests/bench/peer_library.py.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "event_driven.h"
#include "graph_walk.h"

using jitterfly::graph_walk::Graph;
using jitterfly::graph_walk::Message;

extern "C" {

// Completion of each of `count` realizations; phases[count][ranks].
void event_driven(int log2_ranks, const std::int64_t* costs, const std::int64_t* noise,
                  std::int64_t count, const std::int64_t* phases, std::int64_t* completion) {
  for (std::int64_t i = 0; i < count; ++i)
    completion[i] = jitterfly::event_driven_butterfly(log2_ranks, costs[0], costs[1], costs[2],
                                                      costs[3], noise[0], noise[1], noise[2] != 0,
                                                      phases + (i << log2_ranks));
}

// Edge e leads from tails[e] to heads[e], and is for destinations[first[e]] to
// destinations[first[e + 1] - 1], or for all where any[e] is not 0.
Graph* graph_make(std::int64_t nodes, std::int64_t edges, const std::int32_t* tails,
                  const std::int32_t* heads, const std::int32_t* any, const std::int64_t* first,
                  const std::int32_t* destinations) {
  auto* graph = new Graph;
  graph->out.resize(static_cast<std::size_t>(nodes));
  for (std::int64_t e = 0; e < edges; ++e)
    graph->out[static_cast<std::size_t>(tails[e])].push_back(
        {static_cast<int>(e), heads[e], any[e] != 0,
         std::vector<int>(destinations + first[e], destinations + first[e + 1])});
  return graph;
}

void graph_free(Graph* graph) { delete graph; }

// The number of edges of a route, and the first `most` of them; -1 if there is no way.
std::int64_t graph_route(const Graph* graph, int from, int to, std::int64_t most,
                         std::int32_t* edges) {
  try {
    const std::vector<int> route = graph->route(from, to);
    for (std::size_t i = 0; i < route.size() && static_cast<std::int64_t>(i) < most; ++i)
      edges[i] = route[i];
    return static_cast<std::int64_t>(route.size());
  } catch (const std::invalid_argument&) {
    return -1;
  }
}

// Messages of level l are senders[offsets[l]] to senders[offsets[l + 1] - 1], and likewise their
// receivers, both ranks; the first own[l] of them belong to the collective. -1 if there is no way.
std::int64_t graph_longest_delay(const Graph* graph, const std::uint32_t* host_of_rank,
                                 std::int64_t count, const std::uint32_t* offsets,
                                 const std::uint32_t* senders, const std::uint32_t* receivers,
                                 const std::int32_t* own) {
  std::vector<std::vector<Message>> levels(static_cast<std::size_t>(count));
  for (std::size_t l = 0; l < levels.size(); ++l) {
    for (std::uint32_t i = offsets[l]; i < offsets[l + 1]; ++i) {
      const std::uint32_t from = senders[i], to = receivers[i];
      levels[l].push_back({static_cast<int>(from), static_cast<int>(to),
                           static_cast<int>(host_of_rank[from]),
                           static_cast<int>(host_of_rank[to])});
    }
  }
  try {
    return jitterfly::graph_walk::longest_delay(*graph, levels,
                                                std::vector<int>(own, own + levels.size()));
  } catch (const std::invalid_argument&) {
    return -1;
  }
}

}  // extern "C"
