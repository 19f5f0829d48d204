// Builds and checks a program on the host: steps, mirrors, partner lists; cuts it into passes.

#include "core/host_program.h"

#include <algorithm>

#include "congestion/loads.h"
#include "core/partners.h"
#include "core/require.h"

namespace jf {
namespace {

// Cuts the exchanges of one collective where the recurrence of steps.h stops being exact.
//
// With a copy at level l and none at the level before, a rank that still waits for a lower level
// may receive level l and skip levels: the steps between two such levels are one segment. With
// network jitter copies can overtake each other, so all levels up to the last copy are.
std::vector<Pass> cut_exchanges(const Program& p, std::int32_t begin, std::int32_t end) {
  std::vector<Pass> cuts;
  // Copies can overtake each other, too, if a rank sends several of a level one after another.
  const bool overtake = p.delays_messages() || p.mirrors != std::vector<std::int32_t>{1};
  std::int32_t start = begin, last_copy_end = begin;
  for (std::int32_t s = begin; s < end; ++s) {
    if ((p.steps[s].flags & kCopy) == 0) continue;
    if (!overtake) {
      const bool dense = s == last_copy_end;
      cuts.push_back({dense ? kTilePass : kSegmentPass, start, s + 1, 0, 0, 0, 0, 0, {}});
      start = s + 1;
    }
    last_copy_end = s + 1;
  }
  if (overtake && last_copy_end > begin) {
    cuts.push_back({kSegmentPass, begin, last_copy_end, 0, 0, 0, 0, 0, {}});
    start = last_copy_end;
  }
  if (start < end) cuts.push_back({kTilePass, start, end, 0, 0, 0, 0, 0, {}});
  return cuts;
}

// Whether the step before `next`, apart from observations, is a forward that costs CPU time.
bool between_forwards(const Program& p, std::int32_t next) {
  while (next > 0 && p.steps[next - 1].kind == kObserve) --next;
  return next > 0 && p.steps[next - 1].kind == kForward && p.costs.forward > 0;
}

// The number of copies that a rank sends in the step before `next`.
std::int32_t copies_before(const Program& p, const ProgramView& view, std::int32_t next) {
  if (next == 0 || (p.steps[next - 1].flags & kCopy) == 0) return 0;
  return view.copies_at(p.steps[next - 1].round + 1);
}

TileMap segment_map(const Program& p, const Pass& pass, const PlanLimits& limits) {
  const std::int32_t first = p.steps[pass.begin].round, last = p.steps[pass.end - 1].round;
  // Every segment contains rank bit 0, because a rank and its mirror differ in it.
  const std::int32_t start = std::max(first, 1), window = last + 1 - start;
  if (limits.segment_bits == 0) return {p.log2_ranks, 1, start, window};
  const std::int32_t low_bits = std::max(limits.segment_bits - window, limits.low_bits);
  if (low_bits < start) return {p.log2_ranks, low_bits, start, window};
  const std::int32_t bits = std::max(last + 1, std::min(limits.segment_bits, p.log2_ranks));
  return {p.log2_ranks, bits, bits, 0};  // all contiguous
}

}  // namespace

bool Program::has_copies() const {
  return std::any_of(steps.begin(), steps.end(), [](const Step& s) { return s.flags & kMirrored; });
}

bool Program::uses_cpu() const {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& s) {
    if (s.kind == kCompute) return costs.work > 0 || (s.map & kOwnWork) != 0;
    if (s.kind == kForward) return costs.forward > 0;
    if (s.kind == kObserve) return false;
    if (s.kind != kMessage)
      return std::max({costs.send, costs.receive, costs.combine, costs.ask}) > 0;
    const std::vector<std::int32_t> entries = costs_of(s);
    return std::any_of(entries.begin(), entries.end(), [&](std::int32_t entry) {
      const MessageCost& m = message_costs[static_cast<std::size_t>(entry)];
      return std::max(m.send, m.receive) > 0;
    });
  });
}

std::vector<std::int32_t> Program::costs_of(const Step& s) const {
  return s.map == kListed ? lists_.at({s.a, s.b}).costs : std::vector{s.cost};
}

// Only message passes know ranks whose compute phases differ, and the clocks of ranks.
bool Program::has_message_passes() const {
  return more_ranks > 0 || !rank_delays.empty() || !speeds.empty() ||
         std::any_of(steps.begin(), steps.end(), [](const Step& s) {
           return s.kind == kMessage || (s.kind == kCompute && s.map != 0) || is_clocked(s);
         });
}

std::int32_t Program::departures() const {
  std::int32_t most = 1, clocks = 0;
  for (const Step& s : steps) {
    if (is_half(s)) most = std::max(most, s.c + 1);
    if (is_clocked(s)) clocks = 1;
  }
  return most + clocks;
}

// While a rank's CPU is free ever later, a link matters only if it is occupied for longer than the
// CPU. Out: it is free at departure + gap - send, no later than the CPU, if gap <= send. In: a
// message has arrived before the CPU has received the one before it, if its gap is not longer than
// any receive, however fast its rank combines. A forward may give a rank a result before its own
// CPU would have been free.
bool Program::links_matter() const {
  bool forwarded = false;
  Tick longest = 0, receive = INT64_MAX;
  for (const Step& s : steps) {
    forwarded |= s.kind == kForward;
    if (s.kind != kMessage) continue;
    for (const std::int32_t entry : costs_of(s)) {
      const MessageCost& m = message_costs[static_cast<std::size_t>(entry)];
      longest = std::max(longest, m.gap);
      receive = std::min(receive, speeds.empty() ? m.receive : m.receive - m.combine);
      if (forwarded || m.gap > m.send) return true;
    }
    if (longest > receive) return true;
  }
  return false;
}

void Program::check_message(const Step& s) const {
  const std::int64_t n = ranks(), a = s.a, b = s.b, c = s.c;
  const auto power = [](std::int64_t v) { return v > 0 && (v & (v - 1)) == 0; };
  require(s.cost >= 0 && s.cost < static_cast<std::int64_t>(message_costs.size()),
          "a message step's cost is not an entry of messages");
  require(s.repeat >= 1, "a message step's repeat must be at least 1");
  require(s.round >= 0 && s.repeat - 1 <= INT32_MAX - s.round,
          "a message step's rounds must lie in [0, 2^31)");
  require(s.draw >= 0 && s.draw < 1 << kFarSteps && s.draw % (1 << kNearSteps) == 0,
          "a message step's draws must lie in [0, 2^23), and begin at a multiple of 64");
  if (is_half(s)) {
    require((s.flags & kHalf) != kHalf, "half a message step either sends or receives");
    require(s.map == kShift || s.map == kXor || s.map == kListed,
            "half a message step needs a shift, an xor or a list");
    require(s.repeat == 1, "half a message step is not repeated");
    require(c >= 0 && c < kMaxWindow, "a window holds up to 1024 messages");
  }
  switch (s.map) {
    case kShift:
      return require(a >= 0 && a < n, "a shift's distance must lie in [0, ranks)");
    case kXor:
      return require(power(b) && b <= n && a > 0 && a < b,
                     "an xor needs 0 < mask < below, and below a power of two, at most ranks");
    case kTree:
      return require(power(a) && b >= 0 && b <= n && (c == 0 || c == 1),
                     "a tree needs a power of two as its stride, 0 <= below <= ranks, and 0 or 1 "
                     "as its direction");
    case kRange:
      return require(a >= 0 && a <= b && b <= n && c != 0 && a + c >= 0 && b + c <= n,
                     "a range needs 0 <= begin <= end <= ranks, and a distance other than 0 that "
                     "stays inside");
    case kListed:
      return require(a >= 0 && a <= b && b <= static_cast<std::int64_t>(listed_messages->size()),
                     "a list needs 0 <= begin <= end <= listed messages");
    default:
      require(false, "a message step's map must be 0 to 4");
  }
}

void Program::check_compute(const Step& s) const {
  require((s.map & ~(kOwnWork | kOwnDelay)) == 0, "a compute step's map must be 0 to 3");
  const auto fits = [&](std::int32_t begin) {
    return begin >= 0 && begin + ranks() <= static_cast<std::int64_t>(rank_times->size());
  };
  require((s.map & kOwnWork) == 0 || fits(s.a), "rank_times must hold the work of each rank");
  require((s.map & kOwnDelay) == 0 || fits(s.b), "rank_times must hold the delay of each rank");
}

void Program::check_forwards(const Step& s) const {
  const std::int64_t count = std::int64_t{s.b} - s.a;
  require(s.a >= 0 && count == ranks() && s.b <= static_cast<std::int64_t>(listed_messages->size()),
          "a list of forwards needs a message of each rank");
  require(has_message_passes(), "forwards of an exchange alone all cost the same");
  for (std::int32_t k = s.a; k < s.b; ++k) {
    const std::int32_t cost = (*listed_messages)[static_cast<std::size_t>(k)].cost;
    require(cost >= 0 && cost < static_cast<std::int64_t>(message_costs.size()),
            "a listed message's cost is not an entry of messages");
  }
}

// Many steps may share a list, which is looked at once.
void Program::check_list(Step& s) {
  const auto [known, is_new] = lists_.try_emplace({s.a, s.b});
  ListFacts& facts = known->second;
  if (is_new) {
    enum : unsigned char { kSends = 1, kReceives = 2 };
    std::vector<unsigned char> acts(static_cast<std::size_t>(ranks()));
    std::vector<bool> used(message_costs.size());
    const auto mark = [&](std::int32_t rank, unsigned char what) {
      require(rank >= 0 && rank < ranks(), "a listed message's ranks must lie in [0, ranks)");
      unsigned char& act = acts[static_cast<std::size_t>(rank)];
      require((act & what) == 0, "a rank must not receive twice in a list");
      act |= what;
    };
    for (std::int32_t k = s.a; k < s.b; ++k) {
      const ListedMessage& message = (*listed_messages)[static_cast<std::size_t>(k)];
      require(k == s.a || message.from > (*listed_messages)[static_cast<std::size_t>(k) - 1].from,
              "a list's messages must be in the order of their senders, one of each");
      mark(message.from, kSends);
      mark(message.to, kReceives);
      require(message.from != message.to, "no rank sends to itself");
      require(message.cost >= 0 && message.cost < static_cast<std::int64_t>(used.size()),
              "a listed message's cost is not an entry of messages");
      if (used[static_cast<std::size_t>(message.cost)]) continue;
      used[static_cast<std::size_t>(message.cost)] = true;
      facts.costs.push_back(message.cost);
    }
    facts.one_way = std::find(acts.begin(), acts.end(), kSends | kReceives) == acts.end();
  }
  if (!is_half(s)) s.c = facts.one_way;
}

// Departures of a half step stay where they are until its messages are received.
void Program::check_halves(const Step& s, std::map<std::int32_t, Step>& sent) {
  if (!is_half(s)) {
    require(sent.empty() || s.kind == kObserve,
            "messages that are sent must be received before any other step");
    return;
  }
  require(s.kind == kMessage, "only message steps have halves");
  if ((s.flags & kSendsOnly) != 0) {
    require(sent.emplace(s.c, s).second, "the place of a departure must be free");
    return;
  }
  const auto other = sent.find(s.c);
  require(other != sent.end(), "only what was sent is received");
  const Step& o = other->second;
  require(o.map == s.map && o.a == s.a && o.b == s.b && o.cost == s.cost && o.draw == s.draw &&
              o.round == s.round,
          "both halves of a message step must be of the same messages");
  sent.erase(other);
}

void Program::finish() {
  require(log2_ranks >= 0 && log2_ranks <= 30, "log2_ranks must be 0 to 30");
  require(more_ranks >= 0 && more_ranks < std::int64_t{1} << log2_ranks &&
              ranks() <= std::int64_t{1} << 30,
          "ranks must lie in [2^log2_ranks, 2^(log2_ranks + 1)), and be at most 2^30");
  require(rows >= 0, "rows must not be negative");
  const Costs& c = costs;
  for (Tick t :
       {c.send, c.receive, c.transit, c.combine, c.work, c.forward, c.patience, c.ask, c.request})
    require(t >= 0, "costs must not be negative");
  require(!mirrors.empty() && mirrors.size() <= kMaxMirrors, "there must be 1 to 8 mirrors");
  for (std::size_t k = 0; k < mirrors.size(); ++k) {
    require(mirrors[k] > 0, "mirrors must be positive");
    require(std::count(mirrors.begin(), mirrors.end(), mirrors[k]) == 1, "mirrors must differ");
  }
  for (const MessageCost& m : message_costs)
    require(m.send >= 0 && m.receive >= 0 && m.transit >= 0 && m.gap >= 0 && m.combine >= 0 &&
                m.combine <= m.receive,
            "messages must not have negative costs, nor combine for longer than they are received");
  for (const Tick t : *rank_times) require(t >= 0, "rank_times must not be negative");
  std::int32_t levels = log2_ranks;  // of forwards
  if (more_ranks > 0) ++levels;
  bool copied = false, asked = false;
  bool inside = false, forwarded = false, moved_back = false, clocked = false;
  std::map<std::int32_t, Step> sent;  // halves whose other half is to come, by place
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& s = steps[i];
    forwarded |= s.kind == kForward;
    if ((s.kind == kCompute || s.kind == kEnter) && forwarded) s.flags |= kAfterForward;
    // The first message step after forwards moves the noise state of all ranks back.
    if (s.kind == kForward) moved_back = true;
    if (s.kind == kMessage && moved_back) {
      s.flags |= kAfterForward;
      moved_back = false;
    }
    require(s.kind >= kCompute && s.kind <= kMessage, "unknown kind of step");
    require(s.row >= -1 && s.row < rows, "a step's row is out of range");
    const bool pairs = s.kind == kExchange || s.kind == kForward;
    require(!pairs || (s.round >= 0 && s.round < (s.kind == kForward ? levels : log2_ranks)),
            "a step's round is out of range");
    require(!is_clocked(s) || s.kind == kObserve, "only steps that observe have a clock");
    clocked |= (s.flags & kStartsClock) != 0;
    require(clocked || !is_clocked(s), "a clock must start before its time is observed");
    require((s.flags & kClocked) != kClocked, "a clock is either started or looked at");
    if (s.kind == kCompute) check_compute(s);
    if (s.kind == kMessage) check_message(s);
    if (s.kind == kMessage && s.map == kListed) check_list(s);
    if (s.kind == kForward && s.map == kListed) check_forwards(s);
    check_halves(s, sent);
    if (s.kind == kEnter) {
      inside = (s.flags & kFinal) == 0;
    } else if (s.kind == kExchange) {
      require(inside, "an exchange needs a collective that was entered");
      const Step& before = steps[i - 1];
      require(before.kind == kEnter ? s.round == 0
                                    : before.kind == kExchange && s.round == before.round + 1,
              "exchanges must follow each other from round 0");
      const bool last = s.round == log2_ranks - 1;
      require(last == ((s.flags & kFinal) != 0), "the last exchange, and no other, is final");
      require(!last || (s.flags & kCopy) == 0, "no copy is sent at the last level");
      copied |= (s.flags & kCopy) != 0;
      asked |= (s.flags & kAsk) != 0;
      inside = !last;
    } else {
      require(!inside, "a collective must be finished before another step");
    }
  }
  require(!inside, "the last collective is not finished");
  require(sent.empty(), "messages are sent that are not received");
  require(!copied || !asked, "copies are either sent or asked for");
  constexpr std::int32_t kDraws = kMirrorDraws;
  require(mirrors.size() == 1 || std::all_of(steps.begin(), steps.end(),
                                             [](const Step& s) { return s.draw < kDraws; }),
          "the draws of several mirrors would overlap");
}

ProgramView Program::view(std::uint64_t seed) const {
  ProgramView v{};
  v.ranks = ranks();
  v.log2_ranks = log2_ranks;
  v.rows = rows;
  v.step_count = static_cast<std::int32_t>(steps.size());
  v.general = general();
  v.sources_needed = sources_needed();
  v.has_noise = !intervals.empty() && uses_cpu();
  v.has_jitter = delays_messages();
  v.has_busy = has_busy();
  v.mirror_count = static_cast<std::int32_t>(mirrors.size());
  std::copy(mirrors.begin(), mirrors.end(), v.mirrors);
  v.links = links_matter();
  v.departures = departures();
  v.steps_delayed = !step_messages.empty();
  v.steps = steps.data();
  v.message_costs = message_costs.data();
  v.step_messages = step_messages.data();
  v.listed_messages = listed_messages->data();
  v.rank_times = rank_times->data();
  v.rank_delay_count = static_cast<std::int32_t>(rank_delays.size());
  std::copy(rank_delays.begin(), rank_delays.end(), v.rank_delays);
  v.costs = costs;
  v.one_rank = one_rank;
  v.seed = seed;
  v.sources.interval_count = static_cast<std::int32_t>(intervals.size());
  v.sources.step_count = static_cast<std::int32_t>(delays.size());
  v.sources.speed_count = static_cast<std::int32_t>(speeds.size());
  for (const StepRole role : {kReceiveRole, kSendRole, kComputeRole})
    for (const StepDelay& d : delays) {
      v.sources.roles |= d.acts(role) << role;
      v.sources.windows |= (d.acts(role) && !d.window.always()) << role;
    }
  v.sources.long_work = kNever;
  for (const IntervalSource& source : intervals) {
    const Tick free = source.periodic.period - source.periodic.duration;
    if (source.kind == kTraceIntervals) v.sources.long_work = 0;
    if (source.kind == kPeriodicIntervals && free < kLatest / kManyPeriods)
      v.sources.long_work = std::min(v.sources.long_work, kManyPeriods * free);
  }
  v.messages.windows = std::any_of(messages.begin(), messages.end(),
                                   [](const MessageDelay& d) { return !d.window.always(); });
  v.messages.count = static_cast<std::int32_t>(messages.size());
  v.phases_offset = -1;
  if (!v.sources_needed && !intervals.empty()) {
    v.periodic = intervals[0].periodic;
    v.phases_offset = intervals[0].phases;
  }
  if (!v.general && v.has_jitter) {
    v.survival_offset = messages[0].delay.table;
    v.jitter = {messages[0].delay.value, nullptr, static_cast<int>(messages[0].delay.count)};
  }
  v.point_to(intervals.data(), delays.data(), speeds.data(), messages.data(), words.data());
  return v;
}

std::vector<Pass> plan(const Program& p, PlanLimits limits) {
  require(limits.low_bits > 0 && limits.low_bits < limits.tile_bits,
          "a tile needs low bits and a window");
  const auto count = static_cast<std::int32_t>(p.steps.size());
  // First cut by kind: runs of steps for tiles, for messages, and segments.
  const bool messages = p.has_message_passes();
  std::vector<Pass> runs;
  const auto append = [&runs](const Pass& pass) {
    if (!runs.empty() && pass.kind != kSegmentPass && runs.back().kind == pass.kind)
      runs.back().end = pass.end;
    else
      runs.push_back(pass);
  };
  for (std::int32_t s = 0; s < count;) {
    std::int32_t end = s + 1;
    if (p.steps[s].kind == kExchange) {
      while (end < count && p.steps[end].kind == kExchange) ++end;
      for (const Pass& cut : cut_exchanges(p, s, end)) append(cut);
    } else {
      const bool tiles = !messages || p.steps[s].kind == kEnter;
      append({tiles ? kTilePass : kMessagePass, s, end, 0, 0, 0, 0, 0, {}});
    }
    s = end;
  }
  // Then cut the runs for tiles where partners of a step are outside the tile.
  const std::int32_t bits = std::min(limits.tile_bits, p.log2_ranks);
  const std::int32_t low = std::min(limits.low_bits, bits);
  std::vector<Pass> passes;
  for (const Pass& run : runs) {
    if (run.kind == kSegmentPass) {
      passes.push_back(run);
      passes.back().map = segment_map(p, run, limits);
      continue;
    }
    if (run.kind == kMessagePass) {
      passes.push_back(run);
      passes.back().map = {p.log2_ranks, p.log2_ranks, p.log2_ranks, 0};  // one tile
      continue;
    }
    for (std::int32_t s = run.begin; s < run.end;) {
      TileMap map{p.log2_ranks, low, low, bits - low};
      bool placed = false;
      std::int32_t end = s;
      for (; end < run.end; ++end) {
        if (limits.max_steps > 0 && end - s == limits.max_steps) break;
        const Step& step = p.steps[end];
        if ((step.kind != kExchange && step.kind != kForward) || step.round < low) continue;
        if (!placed) {
          map.high_start = std::min(step.round, p.log2_ranks - map.high_bits);
          placed = true;
        }
        if (!map.covers(step.round)) break;
      }
      passes.push_back({kTilePass, s, end, 0, 0, 0, 0, 0, map});
      s = end;
    }
  }
  const ProgramView view = p.view(0);  // takes time in proportion to the steps: made once
  for (std::size_t i = 0; i < passes.size(); ++i) {
    passes[i].load = i > 0;
    passes[i].store = i + 1 < passes.size();
    passes[i].copies = copies_before(p, view, passes[i].begin);
    passes[i].busy_in = between_forwards(p, passes[i].begin);
    passes[i].busy_out = between_forwards(p, passes[i].end);
  }
  return passes;
}

}  // namespace jf
