// Adds noise sources to a program on the host: checks, numbers and tables of every kind.
#include <algorithm>

#include "congestion/loads.h"
#include "core/host_program.h"
#include "core/require.h"

namespace jf {
namespace {

bool is_jitter(const MessageDelay& d) {
  return d.delay.kind == kCountedDelay && d.delay.certain && !d.once;
}

void check_length(Tick length) {
  require(length > 0 && length < kLongestDelay, "a trace must be shorter than 2^60 ticks");
}

void check_trace(const std::vector<Tick>& begins, const std::vector<Tick>& ends, Tick length) {
  const std::size_t n = begins.size();
  require(n > 0 && n < (std::size_t{1} << 31) && ends.size() == n,
          "a trace needs begins and ends of one length, from 1 to below 2^31");
  check_length(length);
  for (std::size_t i = 0; i < n; ++i) {
    require(begins[i] < ends[i] && begins[i] >= (i == 0 ? 0 : ends[i - 1]) && ends[i] <= length,
            "the intervals of a trace must be disjoint, in order, and inside its length");
  }
  Tick busy = 0;
  for (std::size_t i = 0; i < n; ++i) busy += ends[i] - begins[i];
  require(busy < length, "a trace must not be busy all the time");
}

}  // namespace

NodeSize Program::node_size(const Scope& scope) const {
  require(scope.node_ranks >= 1 && scope.node_ranks <= ranks(),
          "node_ranks must be from 1 to the number of ranks");
  require(scope.window.begin < scope.window.end, "a window must begin before it ends");
  require(scope.hosts.empty() || static_cast<std::int64_t>(scope.hosts.size()) == ranks(),
          "hosts must have one entry per rank");
  require(!scope.bursts || (scope.bursts->node_ranks >= 1 && scope.bursts->node_ranks <= ranks() &&
                            scope.bursts->off.largest > 0),
          "bursts need times off, and node_ranks from 1 to the number of ranks");
  require(scope.holds == 0 || scope.holds >= kShortestSpell, "a draw must hold for 2^13 ticks");
  return NodeSize::of(scope.node_ranks);
}

Hosts Program::append_hosts(const ActsOn& hosts) {
  if (std::all_of(hosts.begin(), hosts.end(), [](std::uint8_t acts) { return acts != 0; }))
    return {};
  const Hosts found{static_cast<std::int64_t>(words.size())};
  // The lanes of a register may be beyond the last rank: the padding has no effect.
  words.resize(words.size() + (hosts.size() + kMaxLanes) / 64 + 1);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (hosts[rank] != 0)
      words[static_cast<std::size_t>(found.bits) + rank / 64] |= std::uint64_t{1} << rank % 64;
  return found;
}

Window Program::append_window(const Scope& scope) {
  Window window = scope.window;
  window.hosts = append_hosts(scope.hosts);
  if (!window.hosts.all()) window.end = std::min(window.end, INT64_MAX - 1);
  return window;
}

std::uint32_t Program::next_number(IntervalKind kind) const {
  const auto n = std::count_if(intervals.begin(), intervals.end(), [kind](const IntervalSource& s) {
    return s.kind == kind && !s.tells_bursts;
  });
  require(n < std::int64_t{kMaxSourcesOfRole}, "at most 256 noise sources of a kind");
  return static_cast<std::uint32_t>(n);
}

std::int64_t Program::append_for_ranks(const std::vector<Tick>& values) {
  if (values.empty()) return -1;
  const auto offset = static_cast<std::int64_t>(words.size());
  words.insert(words.end(), values.begin(), values.end());
  // The lanes of a register may be beyond the last rank: the padding that they read has no effect.
  words.resize(words.size() + (kMaxLanes - values.size() % kMaxLanes) % kMaxLanes);
  return offset;
}

IntervalSource Program::interval_source(IntervalKind kind, const Scope& scope) {
  IntervalSource s{};
  s.kind = kind;
  s.nodes = node_size(scope);
  s.in_compute = scope.in_compute;
  s.in_communication = scope.in_communication;
  s.window = append_window(scope);
  s.phases = s.trace.offsets = s.trace.recordings = -1;
  return s;
}

// Adds a source, and behind it that of its bursts.
void Program::add_intervals(const IntervalSource& source, const Scope& scope) {
  intervals.push_back(source);
  if (!scope.bursts) return;
  const auto n = static_cast<std::uint32_t>(std::count_if(
      intervals.begin(), intervals.end(), [](const IntervalSource& s) { return s.tells_bursts; }));
  intervals.back().in_bursts = true;
  IntervalSource s{};
  s.kind = kRenewalIntervals;
  s.tells_bursts = true;
  s.nodes = NodeSize::of(scope.bursts->node_ranks);
  s.window = {INT64_MIN, INT64_MAX};
  s.phases = s.trace.offsets = s.trace.recordings = -1;
  s.renewal = renewal_of(scope.bursts->off, scope.bursts->on, &scope.bursts->start, kBursts + n,
                         kBurstsStart + n);
  intervals.push_back(s);
}

Renewal Program::renewal_of(const HostDelay& gap, const HostDelay& duration,
                            const Stationary* stationary, std::uint32_t purpose,
                            std::uint32_t start_purpose) {
  Renewal r{};
  r.purpose = purpose;
  r.start_purpose = start_purpose;
  r.gap = gap.append_to(words);
  r.duration = duration.append_to(words);
  r.stationary = stationary != nullptr;
  if (stationary != nullptr) {
    r.share = stationary->share;
    r.busy = stationary->busy.append_to(words);
    r.idle = stationary->idle.append_to(words);
  }
  return r;
}

void Program::add_periodic(Tick period, Tick duration, bool stationary,
                           const std::vector<Tick>& phases, const Scope& scope) {
  require(period > 0 && duration >= 0 && duration < period,
          "periodic noise needs 0 <= duration < period");
  require(phases.empty() || static_cast<std::int64_t>(phases.size()) == ranks(),
          "phases must have one entry per rank");
  for (const Tick t : phases) require(t >= 0 && t < period, "phases must lie in [0, period)");
  const std::uint32_t j = next_number(kPeriodicIntervals);
  IntervalSource s = interval_source(kPeriodicIntervals, scope);
  s.phase_purpose = j == 0 ? kPhase : kMorePhases + j;
  s.periodic = {
      period, duration, stationary, s.nodes, nullptr, scope.in_compute, scope.in_communication};
  s.phases = append_for_ranks(phases);
  add_intervals(s, scope);
}

void Program::add_renewal(const HostDelay& gap, const HostDelay& duration,
                          const Stationary* stationary, const Scope& scope) {
  require(gap.largest > 0, "the gaps of renewal noise must not be 0");
  const std::uint32_t j = next_number(kRenewalIntervals);
  IntervalSource s = interval_source(kRenewalIntervals, scope);
  s.renewal = renewal_of(gap, duration, stationary, kRenewal + j, kRenewalStart + j);
  add_intervals(s, scope);
}

// Appends the table and the guide of a trace; returns it with what Trace::own reads.
Trace Program::append_trace(const std::vector<Tick>& begins, const std::vector<Tick>& ends,
                            Tick length) {
  const std::size_t n = begins.size();
  std::vector<Tick> busy{0};  // before each interval
  for (std::size_t i = 0; i < n; ++i) busy.push_back(busy.back() + (ends[i] - begins[i]));
  Trace trace{};
  trace.length = length;
  trace.idle = length - busy[n];
  trace.count = static_cast<std::int64_t>(n);
  const auto append = [&](std::size_t i, Tick repetition) {
    words.insert(words.end(),
                 {static_cast<std::uint64_t>(begins[i] - busy[i] + repetition * trace.idle),
                  static_cast<std::uint64_t>(busy[i] + repetition * busy[n])});
  };
  append(n - 1, -1);
  trace.table = static_cast<std::int64_t>(words.size());
  for (std::size_t i = 0; i < n; ++i) append(i, 0);
  append(0, 1);
  append(1 % n, n > 1 ? 1 : 2);
  // A cell of the guide has 2 to 4 intervals on average: with one for each the guide would be as
  // large as the table, and the nearest caches hold less of it. Cells are no shorter than a tick.
  int bits = 1;
  while ((std::size_t{4} << bits) < n && (Tick{1} << (bits + 1)) < length) ++bits;
  using Wide = unsigned __int128;
  const auto factor = [bits](Tick range) {
    const Wide exact = (Wide{1} << (64 + bits)) / static_cast<Wide>(range);
    return exact >> 64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(exact);
  };
  trace.length_factor = factor(length);
  trace.idle_factor = factor(trace.idle);
  std::uint64_t ended = 0, passed = 0;
  for (std::uint64_t g = 0; g <= std::uint64_t{1} << bits; ++g) {
    // The smallest t with floor(t * factor / 2^64) == g.
    const auto smallest = [g](std::uint64_t f) { return ((Wide{g} << 64) + f - 1) / f; };
    const Wide t = smallest(trace.length_factor), idle = smallest(trace.idle_factor);
    while (ended < n && static_cast<Wide>(ends[ended]) <= t) ++ended;
    while (passed < n && static_cast<Wide>(begins[passed] - busy[passed]) <= idle) ++passed;
    words.push_back(passed << 32 | ended);
  }
  words.insert(words.end(), kMaxLanes, 0);  // what a register reads behind the last entry
  trace.offsets = trace.recordings = -1;
  return trace;
}

void Program::add_trace(const std::vector<Tick>& begins, const std::vector<Tick>& ends, Tick length,
                        const std::vector<Tick>& offsets, const Scope& scope) {
  require(offsets.empty() || static_cast<std::int64_t>(offsets.size()) == ranks(),
          "offsets must have one entry per rank");
  for (const Tick t : offsets) require(t >= 0 && t < length, "offsets must lie in [0, length)");
  check_trace(begins, ends, length);
  const std::uint32_t number = next_number(kTraceIntervals);
  IntervalSource s = interval_source(kTraceIntervals, scope);
  s.trace = append_trace(begins, ends, length);
  s.trace.purpose = kTraceOffset + number;
  s.trace.offsets = append_for_ranks(offsets);
  add_intervals(s, scope);
}

void Program::add_traces(const std::vector<Recording>& recordings,
                         const std::vector<std::int32_t>& of_ranks, const Scope& scope) {
  require(!recordings.empty(), "traces need a recording");
  require(static_cast<std::int64_t>(of_ranks.size()) == ranks(),
          "the recordings of ranks must have one entry per rank");
  for (const std::int32_t recording : of_ranks)
    require(recording >= 0 && static_cast<std::size_t>(recording) < recordings.size(),
            "a rank's recording must be one of those given");
  const auto is_quiet = [](const Recording& r) { return r.begins.empty() && r.ends.empty(); };
  for (const Recording& r : recordings)
    is_quiet(r) ? check_length(r.length) : check_trace(r.begins, r.ends, r.length);
  const std::uint32_t number = next_number(kTraceIntervals);
  IntervalSource s = interval_source(kTraceIntervals, scope);
  std::vector<Tick> offsets;
  for (const Recording& r : recordings) {
    // A recording without intervals gets one of length 0, which delays nothing.
    const std::vector<Tick> nothing{0};
    const Trace trace = is_quiet(r) ? append_trace(nothing, nothing, r.length)
                                    : append_trace(r.begins, r.ends, r.length);
    if (offsets.empty()) s.trace = trace;
    offsets.push_back(static_cast<Tick>(words.size()));
    words.insert(words.end(),
                 {static_cast<std::uint64_t>(trace.length), static_cast<std::uint64_t>(trace.idle),
                  static_cast<std::uint64_t>(trace.count), static_cast<std::uint64_t>(trace.table),
                  trace.length_factor, trace.idle_factor});
  }
  std::vector<Tick> offset_of_rank;
  for (const std::int32_t recording : of_ranks)
    offset_of_rank.push_back(offsets[static_cast<std::size_t>(recording)]);
  // The padding that lanes beyond the last rank read has no effect, but must be a recording.
  while (offset_of_rank.size() % kMaxLanes != 0) offset_of_rank.push_back(offsets.front());
  s.trace.purpose = kTraceOffset + number;
  s.trace.recordings = append_for_ranks(offset_of_rank);
  add_intervals(s, scope);
}

void Program::add_step(const HostDelay& delay, bool at_send, const Scope& scope) {
  require(delays.size() < kMaxSourcesOfRole, "at most 256 noise sources of a kind");
  StepDelay d{};
  d.nodes = node_size(scope);
  d.at_send = at_send;
  d.in_compute = scope.in_compute;
  d.in_communication = scope.in_communication;
  d.window = append_window(scope);
  d.number = static_cast<std::uint32_t>(delays.size());
  d.delay = delay.append_to(words);
  delays.push_back(d);
}

void Program::add_rank_delay(const HostDelay& delay, std::int64_t node_ranks, bool once,
                             const ActsOn& hosts) {
  require(rank_delays.size() < kMaxRankDelays, "at most 8 delays of ranks");
  const NodeSize nodes = node_size({.node_ranks = node_ranks, .hosts = hosts});
  const auto purpose = static_cast<std::uint32_t>(kRankDelay + rank_delays.size());
  rank_delays.push_back({delay.append_to(words), nodes, purpose, once, append_hosts(hosts)});
}

// The longest that a rank computes or combines at a time, before drawn speeds.
Tick Program::longest_own_work() const {
  Tick most = 0;
  std::int32_t looked_at = -1;  // cycles have the same times
  for (const Step& s : steps) {
    if (s.kind != kCompute) continue;
    if ((s.map & kOwnWork) == 0) {
      most = std::max(most, costs.work);
    } else if (s.a != looked_at) {
      looked_at = s.a;
      const auto begin = rank_times->begin() + s.a;
      most = std::max(most, *std::max_element(begin, begin + ranks()));
    }
  }
  for (const MessageCost& m : message_costs) most = std::max(most, m.combine);
  return most;
}

void Program::add_rank_speed(const HostDelay& factor, std::int64_t node_ranks, const ActsOn& hosts,
                             Tick holds) {
  require(speeds.size() < kMaxRankSpeeds, "at most 8 speeds of ranks");
  require(costs.combine == 0 || std::none_of(steps.begin(), steps.end(),
                                             [](const Step& s) { return s.kind == kExchange; }),
          "the ranks of an exchange combine at one speed: they need messages");
  const double largest = std::max(1.0, static_cast<double>(factor.largest) * 1e-12);
  require(static_cast<double>(longest_own_work()) * largest_factor_ * largest <
              static_cast<double>(kLongestSlowed),
          "what a rank computes or combines at a time must take less than 2^60 ticks");
  const NodeSize nodes = node_size({.node_ranks = node_ranks, .hosts = hosts, .holds = holds});
  const auto number = static_cast<std::uint32_t>(speeds.size());
  speeds.push_back({factor.append_to(words),
                    nodes,
                    kRankSpeed + number,
                    append_hosts(hosts),
                    {holds, kSpeedSpells + number}});
  largest_factor_ *= largest;
}

// Appends the tables of a delay, and numbers it: the draws of a source depend on its number among
// those of its kind for the same messages.
MessageDelay Program::numbered_delay(const std::vector<MessageDelay>& before,
                                     const HostDelay& delay, const NodeSize& nodes,
                                     const Window& window) {
  MessageDelay d{};
  d.delay = delay.delay;
  const bool jitter = is_jitter(d);
  const auto n = std::count_if(before.begin(), before.end(), [jitter](const MessageDelay& other) {
    return !other.once && is_jitter(other) == jitter;
  });
  require(n < std::int64_t{kMaxSourcesOfRole}, "at most 256 noise sources of a kind");
  const auto j = static_cast<std::uint32_t>(n);
  d.delay = delay.append_to(words);
  d.nodes = nodes;
  d.window = window;
  if (!jitter) {
    d.original_purpose = kOriginalDelay + j;
    d.copy_purpose = kCopyDelay + j;
    d.forward_purpose = kForwardDelay + j;
  } else if (j == 0) {
    d.original_purpose = kOriginalJitter;
    d.copy_purpose = kCopyJitter;
    d.forward_purpose = kForwardJitter;
  } else {
    d.original_purpose = kMoreOriginalJitter + j;
    d.copy_purpose = kMoreCopyJitter + j;
    d.forward_purpose = kMoreForwardJitter + j;
  }
  return d;
}

// Adds a delay for messages of kMessage steps of one cost entry.
void Program::add_step_message(std::size_t cost, const MessageDelay& delay) {
  MessageCost& m = message_costs[cost];
  if (m.count == 0) m.first = static_cast<std::int32_t>(step_messages.size());
  step_messages.insert(step_messages.begin() + m.first + m.count, delay);
  for (MessageCost& other : message_costs)
    if (&other != &m && other.count > 0 && other.first >= m.first + m.count) ++other.first;
  ++m.count;
}

void Program::add_message(const HostDelay& delay, const Scope& scope, std::uint64_t links) {
  // Jitter has to be added by add_jitter: its draws have numbers of their own.
  require(delay.delay.kind != kCountedDelay || !delay.delay.certain,
          "delays that count events are jitter");
  const NodeSize nodes = node_size(scope);
  MessageDelay d = numbered_delay(messages, delay, nodes, append_window(scope));
  if (links > 0) {
    const auto n = std::count_if(messages.begin(), messages.end(),
                                 [](const MessageDelay& other) { return other.links.share > 0; });
    require(n < std::int64_t{kMaxLossy}, "at most 8 sources of lossy links");
    const auto j = static_cast<std::uint32_t>(n);
    d.links = {links, kLossyLinks + j, {scope.holds, kLossySpells + j}};
    d.window.end = std::min(d.window.end, INT64_MAX - 1);  // so that it is not drawn beforehand
  }
  messages.push_back(d);
  for (std::size_t cost = 0; cost < message_costs.size(); ++cost) add_step_message(cost, d);
}

void Program::add_jitter(Tick duration, const std::vector<std::uint64_t>& survival,
                         const Scope& scope, std::int32_t cost) {
  require(cost >= -1 && cost < static_cast<std::int64_t>(message_costs.size()),
          "jitter's cost must be -1 or an entry of messages");
  const NodeSize nodes = node_size(scope);
  const HostDelay delay = HostDelay::counts(duration, survival);
  if (cost < 0) {
    messages.push_back(numbered_delay(messages, delay, nodes, append_window(scope)));
    return;
  }
  const auto entry = static_cast<std::size_t>(cost);
  const auto first = step_messages.begin() + message_costs[entry].first;
  const std::vector<MessageDelay> before(first, first + message_costs[entry].count);
  add_step_message(entry, numbered_delay(before, delay, nodes, append_window(scope)));
}

void Program::add_weather(const HostDelay& delay, const Scope& scope, Tick way, std::int32_t cost) {
  require(cost >= -1 && cost < static_cast<std::int64_t>(message_costs.size()),
          "the cost of weather must be -1 or an entry of messages");
  require(way >= 0 && static_cast<double>(way) * static_cast<double>(delay.largest) * 1e-12 <
                          static_cast<double>(kLongestDelay),
          "a message must take less than 2^60 ticks longer");
  const NodeSize nodes = node_size(scope);
  const auto number = [](auto begin, auto end) {
    const auto n = std::count_if(begin, end, [](const MessageDelay& d) { return d.once; });
    require(n < std::int64_t{kMaxWeathers}, "at most 8 weathers");
    return kWeather + static_cast<std::uint32_t>(n);
  };
  MessageDelay d{};
  d.nodes = nodes;
  d.once = true;
  d.way = way;
  const auto made = [&](std::uint32_t purpose) {
    d.delay = delay.append_to(words);
    d.window = append_window(scope);
    d.window.end = std::min(d.window.end, INT64_MAX - 1);  // so that it is not drawn beforehand
    d.original_purpose = d.copy_purpose = d.forward_purpose = purpose;
    d.spells = {scope.holds, purpose - kWeather + kWeatherSpells};
    return d;
  };
  if (cost >= 0) {
    const auto entry = static_cast<std::size_t>(cost);
    const auto first = step_messages.begin() + message_costs[entry].first;
    return add_step_message(entry, made(number(first, first + message_costs[entry].count)));
  }
  messages.push_back(made(number(messages.begin(), messages.end())));
  if (way > 0) return;
  for (std::size_t entry = 0; entry < message_costs.size(); ++entry)
    add_step_message(entry, messages.back());
}

void Program::add_congestion(const congestion::Program& network) {
  require(loads == nullptr, "there is congestion already");
  loads = std::make_shared<const congestion::LoadPlan>(*this, network);
}

std::int64_t Program::cursors_per_rank() const {
  return general() ? static_cast<std::int64_t>(intervals.size()) : 0;
}

// One periodic source and one jitter, without a scope or a window, have faster types of their own.
bool Program::sources_needed() const {
  return !delays.empty() || !speeds.empty() || intervals.size() > 1 ||
         std::any_of(intervals.begin(), intervals.end(), [](const IntervalSource& s) {
           return s.kind != kPeriodicIntervals || !s.window.always();
         });
}

bool Program::general() const {
  return sources_needed() || loads != nullptr || messages.size() > 1 ||
         std::any_of(messages.begin(), messages.end(), [](const MessageDelay& d) {
           return !is_jitter(d) || !d.nodes.one_rank() || !d.window.always();
         });
}

}  // namespace jf
