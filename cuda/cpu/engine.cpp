// CPU engine of collectives (core/engine.h): threads and the passes that they run. Each thread
// computes realizations of its own while there are enough of them and each fits a share of memory;
// else all threads form a team, which works on the tiles of one realization. Read core/passes.h,
// cpu/jobs.h and cpu/memory.h first. AVX2 or AVX-512 is chosen in cpu/instruction_sets.h.
#include "core/engine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <optional>

#include "cpu/instruction_sets.h"
#include "cpu/jobs.h"
#include "cpu/memory.h"
#include "cpu/thread_pool.h"

namespace jf::cpu {
namespace {

// 2^14 ranks with three ticks are 384 KiB, inside L2 of current cores. 2^4 neighbouring ranks are
// two cache lines, and leave 10 rounds to a pass: two passes up to 2^24 ranks. A segment has at
// least the size of a panel.
constexpr PlanLimits kLimits{14, 4, kDrawnBits};
// From 2^kTeamBits ranks on, a program of several passes gets a team.
constexpr int kTeamBits = 21;

class Run {
 public:
  // capture: rows x ranks, receives the ready times of one realization; or null.
  Run(const Program& program, const Request& request, Tick* capture = nullptr)
      : program_(program),
        request_(request),
        view_(view_of(program, request.seed, capture != nullptr)),
        passes_(plan(program, kLimits)),
        sizes_(sizes(program, view_, passes_, capture != nullptr)),
        isa_(choose_instruction_set()),
        in_panels_(find_panels()),
        capture_(capture) {
    int wanted = request.threads > 0 ? request.threads : hardware_threads();
    const std::int64_t alone = std::clamp<std::int64_t>(request.count, 1, wanted);
    const bool large = alone * sizes_.state_bytes(1, 1) > share_of_memory();
    if (program.has_message_passes())  // a team leaves message passes to one thread
      team_ = large || (request.count < wanted && max_tiles() > 1);
    else
      team_ = passes_.size() > 1 &&
              (program.log2_ranks >= kTeamBits || request.count < wanted || large);
    if (program.has_message_passes() && !team_) wanted = choose_lanes(wanted);
    const std::int64_t groups = (request.count + side_by_side_ - 1) / side_by_side_;
    set_threads(
        static_cast<int>(std::clamp<std::int64_t>(team_ ? max_tiles() : groups, 1, wanted)));
  }

  std::int64_t bytes() const {
    const auto rows = static_cast<std::int64_t>(sizeof(Observation)) * program_.rows;
    return sizes_.state_bytes(segments_, lanes_) * (team_ ? 1 : threads_) +
           (sizes_.tile_bytes() + rows * side_by_side_) * threads_;
  }

  void simulate(Tick* out, const Poll& poll) {
    out_ = out;
    for (int t = 0; t < threads_; ++t) {
      scratch_.push_back(std::make_unique<Scratch>(sizes_, side_by_side_ * program_.rows));
      if (t == 0 || !team_)
        states_.push_back(std::make_unique<State>(
            sizes_, segments_, lanes_, static_cast<std::uint32_t>(request_.first + request_.count),
            program_, view_));
    }
    const auto work = [this](int thread) {
      if (!team_) return work_alone(*scratch_[thread], *states_[thread]);
      try {
        work_in_team(thread);
      } catch (...) {
        team_lacks_one_ = true;
        barrier_->arrive_and_drop();  // the others do not wait for this thread any more
        throw;
      }
    };
    pool_.run(threads_, work, poll, [this](int threads) {
      const std::int64_t segments = segments_;  // for which there is memory
      set_threads(threads);
      segments_ = std::min(segments, segments_);
      barrier_.emplace(threads);
    });
  }

 private:
  static ProgramView view_of(const Program& program, std::uint64_t seed, bool every_rank) {
    ProgramView view = program.view(seed);
    if (every_rank) view.one_rank = false;
    return view;
  }

  static std::int64_t share_of_memory() {
    return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE) / 4;
  }

  // Message passes compute as many realizations at once as a register has lanes, if each thread has
  // at least two. A register takes about as long as two realizations alone. So if there is no
  // memory for all threads, fewer threads with registers are faster. Returns how many threads.
  int choose_lanes(int threads) {
    const std::int64_t fit = share_of_memory() / sizes_.state_bytes(1, isa_.lanes);
    if (fit * isa_.lanes / 2 < threads) return threads;
    const int fewer = static_cast<int>(std::min<std::int64_t>(fit, threads));
    const std::int64_t per_thread = (request_.count + fewer - 1) / fewer;
    if (per_thread < 2) return threads;
    lanes_ = isa_.lanes;
    side_by_side_ = std::min(per_thread, lanes_);
    return fewer;
  }

  void set_threads(int threads) {
    threads_ = threads;
    // A team computes as many segments at once as together hold half the ranks. More would need
    // more memory than everything else.
    if (team_ && sizes_.segment > 0)
      segments_ = std::clamp<std::int64_t>(program_.ranks() / 2 / sizes_.segment, 1, threads);
  }

  std::int64_t max_tiles() const {
    std::int64_t most = 1;
    for (const Pass& pass : passes_) most = std::max(most, pass.map.tiles());
    return most;
  }

  static void clear(Scratch& scratch) {
    std::fill(scratch.rows.begin(), scratch.rows.end(), Observation::empty());
  }

  // `number`: of the realization in the request. It is in lane `lane` of the state.
  void run_tile(const Pass& pass, std::int64_t tile, std::int64_t number, Scratch& scratch,
                const State& state, std::int64_t slot, std::int64_t lane) const {
    const TileJob job{&state.loads.view,
                      &pass,
                      tile,
                      static_cast<std::uint32_t>(request_.first + number),
                      request_.full_statistics,
                      state.sent_between(lane),
                      state.busy_between(lane),
                      capture_,
                      state.cursors(lane),
                      scratch.rows.data() + lane * program_.rows};
    if (pass.kind == kTilePass)
      isa_.run_tile(job, scratch.tile);
    else
      run_segment(job, scratch, state, slot);
  }

  // Which passes are computed in panels. Found once, as there may be many small segments.
  std::vector<bool> find_panels() const {
    std::vector<bool> found;
    for (const Pass& pass : passes_)
      found.push_back(isa_.run_panels != nullptr && panel_bytes(view_, pass) > 0);
    return found;
  }

  void run_segment(const TileJob& job, const Scratch& scratch, const State& state,
                   std::int64_t slot) const {
    if (in_panels_[static_cast<std::size_t>(job.pass - passes_.data())] &&
        isa_.run_panels({job, scratch.tile, state.segment_memory(slot), &pool_.stop}))
      return;
    run_segment_plain(job, state.segment(slot), pool_.stop);
  }

  void run_messages(const Pass& pass, std::int64_t number, std::int64_t count, Scratch& scratch,
                    const State& state) const {
    const auto first = std::find_if(passes_.begin(), passes_.end(),
                                    [](const Pass& p) { return p.kind == kMessagePass; });
    RunMessages* const run = lanes_ > 1 ? isa_.run_messages : run_messages_plain;
    run({&state.loads.view, &pass, static_cast<std::uint32_t>(request_.first + number),
         static_cast<int>(count), request_.full_statistics, &pass == &*first, state.message(),
         state.sent_between(0), state.busy_between(0), sizes_.sent_between + sizes_.busy_behind,
         capture_, state.message_cursors(), scratch.rows.data(), &pool_.stop});
  }

  // Writes the observations of realization `number` of the request.
  void write(std::int64_t number, const Observation* rows) const {
    const int words = words_per_row(request_);
    Tick* out = out_ + number * program_.rows * words;
    for (const Observation* row = rows; row < rows + program_.rows; ++row) {
      const Observation& o = *row;
      *out++ = o.max;
      if (words == 1) continue;
      *out++ = o.min;
      *out++ = o.hi;
      *out++ = o.lo;
    }
  }

  void work_alone(Scratch& scratch, State& state) {
    for (std::int64_t i;
         !pool_.stop && (i = pool_.claimed.fetch_add(side_by_side_)) < request_.count;) {
      const std::int64_t count = std::min(side_by_side_, request_.count - i);
      clear(scratch);
      state.loads.make(static_cast<std::uint32_t>(request_.first + i), count, pool_.stop);
      for (const Pass& pass : passes_) {
        if (pass.kind == kMessagePass) {
          if (!pool_.stop) run_messages(pass, i, count, scratch, state);
          continue;
        }
        for (std::int64_t k = 0; k < count; ++k)
          for (std::int64_t tile = 0; tile < pass.map.tiles() && !pool_.stop; ++tile)
            run_tile(pass, tile, i + k, scratch, state, 0, k);
      }
      if (pool_.stop) return;
      for (std::int64_t k = 0; k < count; ++k)
        write(i + k, scratch.rows.data() + k * program_.rows);
      pool_.done += count;
    }
  }

  void work_in_team(int thread) {
    Scratch& mine = *scratch_[thread];
    State& state = *states_[0];
    std::barrier<>& barrier = *barrier_;
    for (std::int64_t i = 0; i < request_.count; ++i) {
      clear(mine);
      if (program_.loads != nullptr) {
        if (thread == 0)
          state.loads.make(static_cast<std::uint32_t>(request_.first + i), 1, pool_.stop);
        barrier.arrive_and_wait();
      }
      for (const Pass& pass : passes_) {
        const std::int64_t tiles = pass.map.tiles();
        const std::int64_t at_once = pass.kind == kSegmentPass ? segments_ : threads_;
        if (thread < at_once) {
          for (std::int64_t tile = thread; tile < tiles && !pool_.stop; tile += at_once)
            run_in_team(pass, tile, i, mine, state, thread);
        }
        barrier.arrive_and_wait();  // the next pass reads what all tiles of this one wrote
      }
      if (thread == 0 && !pool_.stop) {
        for (int t = 1; t < threads_; ++t)
          for (std::size_t row = 0; row < mine.rows.size(); ++row)
            mine.rows[row].merge(scratch_[t]->rows[row]);
        write(i, mine.rows.data());
        ++pool_.done;
      }
      if (thread == 0)
        team_stops_ = pool_.stop;  // all threads have to stop at the same realization
      barrier.arrive_and_wait();
      if (team_stops_) return;
      // Others may see it at another realization: they do not wait for this thread, either.
      if (team_lacks_one_) return barrier.arrive_and_drop();
    }
  }

  void run_in_team(const Pass& pass, std::int64_t tile, std::int64_t number, Scratch& scratch,
                   const State& state, std::int64_t slot) const {
    if (pass.kind == kMessagePass)
      run_messages(pass, number, 1, scratch, state);
    else
      run_tile(pass, tile, number, scratch, state, slot, 0);
  }

  const Program& program_;
  const Request request_;
  const ProgramView view_;
  const std::vector<Pass> passes_;
  const Sizes sizes_;
  const InstructionSet isa_;
  const std::vector<bool> in_panels_;
  Tick* const capture_;
  bool team_;
  int threads_ = 1;
  // Realizations that a thread computes side by side (in lanes), and the lanes for which it has
  // memory.
  std::int64_t side_by_side_ = 1, lanes_ = 1;
  std::int64_t segments_ = 1;  // computed at once in one realization
  Tick* out_ = nullptr;
  std::vector<std::unique_ptr<Scratch>> scratch_;
  std::vector<std::unique_ptr<State>> states_;
  std::optional<std::barrier<>> barrier_;
  bool team_stops_ = false;
  std::atomic<bool> team_lacks_one_{false};  // a thread has thrown
  ThreadPool pool_;
};

}  // namespace
}  // namespace jf::cpu

namespace jf {
bool stopped(const MessageJob& job) { return job.stop->load(std::memory_order_relaxed); }
bool stopped(const SegmentJob& job) { return job.stop->load(std::memory_order_relaxed); }
}  // namespace jf

namespace jf::cpu {

void simulate(const Program& program, const Request& request, Tick* out, const Poll& poll) {
  Run(program, request).simulate(out, poll);
}

void ready_times(const Program& program, std::uint64_t seed, std::int64_t realization, Tick* out,
                 const Poll& poll) {
  const Request request{seed, realization, 1, false, 0};
  if (program.more_ranks > 0) std::fill_n(out, program.rows * program.ranks(), INT64_MIN);
  std::vector<Tick> maxima(static_cast<std::size_t>(program.rows));
  Run(program, request, out).simulate(maxima.data(), poll);
}

void phases(const Program& program, std::size_t source, std::uint64_t seed,
            std::int64_t realization, Tick* out, const Poll& poll) {
  constexpr std::int64_t kRanksBetweenPolls = 1 << 20;
  const ProgramView view = program.view(seed);
  const IntervalSource& noise = program.intervals.at(source);
  for (std::int64_t rank = 0; rank < program.ranks(); ++rank) {
    const Stream<std::uint32_t> stream{seed, static_cast<std::uint32_t>(noise.nodes.of_rank(rank)),
                                       static_cast<std::uint32_t>(realization)};
    out[rank] = noise.phase(stream, rank, view.sources.words);
    if (rank % kRanksBetweenPolls == 0 && poll && !poll(0)) throw Cancelled();
  }
}

std::vector<Tick> busy(const Program& program, std::uint64_t seed, std::int64_t realization,
                       std::int64_t rank, Tick until, bool compute, const Poll& poll) {
  const ProgramView view = program.view(seed);
  std::vector<Cursor> cursors(program.intervals.size(),
                              Cursor{0, 0, 0, 0, ~static_cast<std::uint32_t>(realization)});
  const Sources noise = view.sources.bind(static_cast<std::uint32_t>(realization), nullptr, seed);
  std::vector<Tick> found;
  const auto find = [&](int) {
    Tick bound, others;
    Walk walk;
    for (Tick t = 0; t < until; walk.turn()) {
      std::int32_t source = 0;
      const auto interval = noise.meets(cursors.data(), t, rank, compute, bound, source, others);
      if (interval.begin >= until) break;
      // Intervals that overlap or touch are merged.
      if (!found.empty() && interval.begin <= found.back())
        found.back() = interval.end;
      else if (interval.begin < interval.end)
        found.insert(found.end(), {interval.begin, interval.end});
      t = interval.end;
    }
  };
  ThreadPool().run(1, find, poll);
  return found;
}

std::int64_t memory(const Program& program, const Request& request) {
  return Run(program, request).bytes();
}

std::string instruction_set() { return choose_instruction_set().name; }

}  // namespace jf::cpu
