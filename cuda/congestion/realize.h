// Worker of network congestion on the CPU: placement, routing, counting of messages per link. One
// thread computes a realization: ranks are placed on hosts, messages are routed and counted on
// their links (`Worker::find_loads`).
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "congestion/program.h"
#include "congestion/simd_loops.h"

namespace jf::congestion {

// A random order (permutations.h): items are sorted by their keys, first into a bucket for each
// value of the highest bits, with about one item in each, and then by insertion.
class Order {
 public:
  Order(std::uint32_t max_items, const SimdLoops& loops)
      : loops_(loops),
        keys_(max_items + kKeyPadding),
        sorted_(max_items),
        numbers_(max_items),
        begins_((std::size_t{1} << order_bits(max_items)) + 1) {}

  template <class Get>
  void draw(const PhiloxKeys& seed, std::uint32_t purpose, std::uint32_t stream,
            std::uint32_t realization, std::uint32_t n, Get&& get) {
    loops_.order_keys(seed, purpose, stream, realization, n, keys_.data());
    const int bits = order_bits(n);
    const int shift = 64 - bits;
    std::uint32_t* const begins = begins_.data();
    std::memset(begins, 0, ((std::size_t{1} << bits) + 1) * sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < n; ++i) ++begins[(keys_[i] >> shift) + 1];
    std::uint32_t sum = 0;
    for (std::size_t i = 1; i <= std::size_t{1} << bits; ++i) begins[i] = sum += begins[i];
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t slot = begins[keys_[i] >> shift]++;
      sorted_[slot] = keys_[i];
      numbers_[slot] = i;
    }
    // Insertion: no key passes a key of another bucket, or an equal one.
    for (std::uint32_t i = 1; i < n; ++i) {
      const std::uint64_t key = sorted_[i];
      if (sorted_[i - 1] <= key) continue;
      const std::uint32_t number = numbers_[i];
      std::uint32_t slot = i;
      do {
        sorted_[slot] = sorted_[slot - 1];
        numbers_[slot] = numbers_[slot - 1];
        --slot;
      } while (slot > 0 && sorted_[slot - 1] > key);
      sorted_[slot] = key;
      numbers_[slot] = number;
    }
    for (std::uint32_t i = 0; i < n; ++i) get(i, numbers_[i]);
  }

 private:
  const SimdLoops& loops_;
  std::vector<std::uint64_t> keys_, sorted_;
  std::vector<std::uint32_t> numbers_, begins_;
};

// Bytes of a Worker. own, all: the most messages of a level, without perturbing ones and with them.
inline std::int64_t worker_bytes(const Program& program, std::int64_t own, std::int64_t all) {
  const std::int64_t buckets = std::int64_t{1} << order_bits(program.hosts);
  const std::int64_t counter = all <= kMaxShortCount ? 2 : 4;
  return 24 * std::int64_t{program.hosts} + 4 * buckets + counter * program.counters() + 12 * all +
         8 * own + 8 * std::int64_t{program.ranks};
}

template <class Router, class Counter>
class Worker {
 public:
  Worker(const ProgramView& view, const Router& router, std::uint32_t max_own,
         std::uint32_t most_messages, const SimdLoops& loops)
      : view_(view),
        router_(router),
        loops_(loops),
        seed_(view.seed),
        order_(view.hosts, loops),
        counters_(router.counters + 1),
        host_(view.hosts),
        from_(most_messages),
        to_(most_messages),
        w_(most_messages),
        last_(view.ranks),
        ready_(view.ranks),
        new_last_(max_own),
        new_ready_(max_own) {}

  void place(std::uint32_t realization) {
    order_.draw(seed_, kPlacement, 0, realization, view_.hosts,
                [&](std::uint32_t rank, std::uint32_t host) { host_[rank] = host; });
  }
  void place(const std::vector<std::uint32_t>& hosts) { host_ = hosts; }

  // Computes all levels; writes kWords numbers to `out`. After each level, the run ends unless
  // proceed(level, number of its messages) is true.
  template <class Continue>
  void run(std::uint32_t realization, std::int64_t* out, std::uint64_t* histogram,
           Continue&& proceed) {
    const Rules rules{last_.data(), ready_.data(), new_last_.data(), new_ready_.data()};
    std::fill(last_.begin(), last_.end(), 0);
    std::fill(ready_.begin(), ready_.end(), 0);
    std::fill(out, out + kWords, 0);
    for (std::uint32_t level = 0; level < view_.levels; ++level) {
      const std::uint32_t begin = view_.offsets[level];
      const std::uint32_t own = view_.offsets[level + 1] - begin;
      for (std::uint32_t i = 0; i < own; ++i) {
        from_[i] = host_[view_.senders[begin + i]];
        to_[i] = host_[view_.receivers[begin + i]];
      }
      const std::uint32_t messages = own + perturb(level, realization, own);
      const std::uint32_t measured = view_.all ? messages : own;
      find_loads(level, realization, own, messages, measured);
      apply(rules, level, begin, own, out);
      if (view_.all) sum_up(messages, out, histogram);
      if (!proceed(level, messages)) return;
    }
  }

  // A level with other messages than those of the view: messages(f) calls f(sender, receiver) for
  // each. Returns their number; w() has their loads in that order.
  template <class Messages>
  std::uint32_t route(std::uint64_t level, std::uint32_t realization, Messages&& messages) {
    std::uint32_t own = 0;
    messages([&](std::uint32_t sender, std::uint32_t receiver) {
      from_[own] = host_[sender];
      to_[own++] = host_[receiver];
    });
    find_loads(level, realization, own, own + perturb(level, realization, own), own);
    return own;
  }

  const std::vector<std::uint32_t>& hosts() const { return host_; }
  const std::uint32_t* from() const { return from_.data(); }
  const std::uint32_t* to() const { return to_.data(); }
  const std::uint32_t* w() const { return w_.data(); }

 private:
  // Appends the perturbing messages of a level to its own. Returns their number.
  std::uint32_t perturb(std::uint64_t level, std::uint32_t realization, std::uint32_t own) {
    const std::uint32_t count = view_.perturbing(), n = view_.others();
    if (count == 0) return 0;
    std::uint32_t* const from = from_.data() + own;
    std::uint32_t* const to = to_.data() + own;
    const std::uint32_t* const host = host_.data() + view_.ranks;
    const std::uint64_t stream = view_.stream(level);
    const auto low = static_cast<std::uint32_t>(stream);
    const std::uint32_t traffic = with_high_level(kTraffic, stream);
    if (view_.perturbation == kRand) {
      order_.draw(seed_, traffic, low, realization, n,
                  [&](std::uint32_t i, std::uint32_t rank) { from[i] = host[rank]; });
      std::memcpy(to, from + 1, (n - 1) * sizeof(std::uint32_t));
      cut_cycles(view_.seed, stream, realization, n,
                 [&](std::uint32_t first, std::uint32_t last) { to[last] = from[first]; });
    } else if (view_.perturbation == kBisect) {
      order_.draw(seed_, traffic, low, realization, n, [&](std::uint32_t i, std::uint32_t rank) {
        if (i >= 2 * count) return;  // the last of an odd number
        // Not (... ? from : to)[i / 2]: g++ 12 compiles it incorrectly under
        // -fsanitize=undefined.
        std::uint32_t* const side = i % 2 == 0 ? from : to;
        side[i / 2] = host[rank];
      });
    } else {
      order_.draw(seed_, traffic, low, realization, n, [&](std::uint32_t i, std::uint32_t rank) {
        if (i < count) from[i] = to[i ^ 1] = host[rank];
      });
    }
    return count;
  }

  // Counts all messages on their links, and finds w of the first `measured`.
  void find_loads(std::uint64_t level, std::uint32_t realization, std::uint32_t own,
                  std::uint32_t messages, std::uint32_t measured) {
    std::memset(counters_.data(), 0, counters_.size() * sizeof(Counter));
    each_part(level, realization, own, messages, [&](auto&&... part) { count(part...); });
    counters_[router_.counters] = 0;
    each_part(level, realization, own, measured, [&](auto&&... part) { measure(part...); });
  }

  static constexpr std::uint32_t kPart = 256;

  // Calls work(senders, receivers, keys, number, w) for parts that fit in the L1 cache.
  template <class Do>
  void each_part(std::uint64_t level, std::uint32_t realization, std::uint32_t own,
                 std::uint32_t messages, Do&& work) {
    std::uint32_t keys[kPart];
    for (std::uint32_t begin = 0; begin < messages; begin += kPart) {
      const std::uint32_t n = std::min(kPart, messages - begin);
      const std::uint32_t* from = from_.data() + begin;
      const std::uint32_t* to = to_.data() + begin;
      if constexpr (requires { router_.key; }) {
        if (router_.key == kByDestination || router_.key == kBySource) {
          work(from, to, router_.key == kBySource ? from : to, n, w_.data() + begin);
          continue;
        }
      }
      for (std::uint32_t i = 0; i < n; ++i)
        keys[i] = router_.key_of(view_.seed, from[i], to[i], level,
                                 view_.route_stream(begin + i, own, from[i]), realization);
      work(from, to, keys, n, w_.data() + begin);
    }
  }

  // Calls visit(i, edge) for the counted links on the routes of the messages of a part.
  template <class Visit>
  void each_link(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* keys,
                 std::uint32_t n, Visit&& visit) const {
    if constexpr (requires { router_.height; }) {
      std::uint32_t up[kPart], down[kPart];
      for (int l = 0; l < router_.height; ++l) {
        loops_.links(router_, l, from, to, keys, n, up, down);
        if (router_.levels[l].counts_up)
          for (std::uint32_t i = 0; i < n; ++i) visit(i, up[i]);
        if (router_.levels[l].counts_down)
          for (std::uint32_t i = 0; i < n; ++i) visit(i, down[i]);
      }
    } else {
      for (std::uint32_t i = 0; i < n; ++i)
        router_.route(from[i], to[i], keys[i], [&](std::uint32_t edge) { visit(i, edge); });
    }
  }

  void count(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* keys,
             std::uint32_t n, std::uint32_t*) {
    Counter* const counters = counters_.data();
    each_link(from, to, keys, n, [&](std::uint32_t, std::uint32_t edge) { ++counters[edge]; });
  }

  void measure(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* keys,
               std::uint32_t n, std::uint32_t* w) {
    const Counter* const counters = counters_.data();
    // w is at least 1, also if no link of the route is counted; without a route it is 0.
    for (std::uint32_t i = 0; i < n; ++i) w[i] = router_.routed(from[i], to[i]);
    each_link(from, to, keys, n, [&](std::uint32_t i, std::uint32_t edge) {
      w[i] = std::max<std::uint32_t>(w[i], counters[edge]);
    });
  }

  void apply(const Rules& rules, std::uint32_t level, std::uint32_t begin, std::uint32_t own,
             std::int64_t* out) {
    for (std::uint32_t i = 0; i < own; ++i) rules.compute(i, view_.senders[begin + i], w_[i]);
    if (level > 0) {
      for (std::uint32_t i = view_.offsets[level - 1]; i < begin; ++i)
        rules.last[view_.receivers[i]] = 0;
    }
    std::uint32_t largest = 0, latest = 0;
    for (std::uint32_t i = 0; i < own; ++i) {
      const std::uint32_t to = view_.receivers[begin + i];
      rules.last[to] = std::max(rules.last[to], rules.new_last[i]);
      rules.ready[to] = std::max(rules.ready[to], rules.new_ready[i]);
      largest = std::max(largest, rules.new_last[i]);
      latest = std::max(latest, rules.new_ready[i]);
    }
    out[kOrcs] = std::max<std::int64_t>(out[kOrcs], largest);
    out[kReady] = std::max<std::int64_t>(out[kReady], latest);
    if (view_.chain[level] != kNoEdge) out[kOrcs1] += w_[view_.chain[level]];
  }

  void sum_up(std::uint32_t messages, std::int64_t* out, std::uint64_t* histogram) {
    std::uint32_t largest = 0;
    for (std::uint32_t i = 0; i < messages; ++i) {
      const std::uint32_t w = w_[i];
      if (w > 0) {
        out[kInverse] += static_cast<std::int64_t>(kInverseScale / w);
        ++out[kMessages];
      } else {
        ++out[kDropped];
      }
      largest = std::max(largest, w);
      if (histogram != nullptr) ++histogram[w];
    }
    out[kSumMax] += largest;
    out[kLargest] = std::max<std::int64_t>(out[kLargest], largest);
  }

  const ProgramView view_;
  const Router router_;
  const SimdLoops& loops_;
  const PhiloxKeys seed_;
  Order order_;
  std::vector<Counter> counters_;
  std::vector<std::uint32_t> host_, from_, to_, w_, last_, ready_, new_last_, new_ready_;
};

}  // namespace jf::congestion
