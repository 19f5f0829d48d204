// The CPU engine: threads over realizations while there are enough of them and each fits a share
// of memory, else all threads on the tiles of one realization.
#include "../engine.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "../segment.h"
#include "tile_job.h"

namespace jf::cpu {
namespace {

// 2^13 ranks and their three ticks are 192 KiB: more than L1 and well inside L2 of current cores.
// 2^6 neighbours are eight cache lines, enough for the prefetcher.
constexpr PlanLimits kLimits{13, 6};
// From here on a realization is shared by all threads rather than one given to each.
constexpr int kTeamBits = 21;

struct TileRunner {
  const char* name;
  RunTile run;
};

// Best first; those that this processor has.
std::vector<TileRunner> tile_runners() {
  std::vector<TileRunner> runners;
#if defined(JF_HAVE_AVX512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    runners.push_back({"avx512", run_tile_avx512});
#endif
#if defined(JF_HAVE_AVX2)
  if (__builtin_cpu_supports("avx2")) runners.push_back({"avx2", run_tile_avx2});
#endif
  runners.push_back({"portable", run_tile_portable});
  return runners;
}

TileRunner choose_tile_runner() {
  const std::vector<TileRunner> runners = tile_runners();
  const char* wish = std::getenv("JITTERFLY_ISA");
  if (wish == nullptr || *wish == '\0') return runners.front();
  std::string names;
  for (const TileRunner& runner : runners) {
    if (std::string(wish) == runner.name) return runner;
    names += (names.empty() ? "" : ", ") + std::string(runner.name);
  }
  throw std::invalid_argument("JITTERFLY_ISA must be one of " + names + " here, got '" + wish +
                              "'");
}

struct FreeAligned {
  void operator()(void* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
template <class T>
using Buffer = std::unique_ptr<T[], FreeAligned>;

template <class T>
Buffer<T> allocate(std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  return Buffer<T>(static_cast<T*>(::operator new[](bytes, std::align_val_t{64})));
}

// How much of everything one realization needs.
struct Sizes {
  std::int64_t memory = 0, second = 0;  // ticks between passes
  std::int64_t tile = 0;                // ranks of the largest tile
  std::int64_t segment = 0;             // ranks of the largest segment
  std::int64_t segment_copies = 0;      // ticks for its copies
  bool busy = false;

  std::int64_t tile_bytes() const { return tile * (busy ? 24 : 16); }
  // Rounded so that the next segment's ticks are aligned.
  std::int64_t segment_bytes() const { return (segment * 17 + segment_copies * 8 + 63) / 64 * 64; }
  // A segment is never in work between two forwards, so they share memory.
  std::int64_t state_bytes(std::int64_t segments) const {
    return 8 * memory + std::max(8 * second, segments * segment_bytes());
  }
};

Sizes sizes(const Program& p, const std::vector<Pass>& passes) {
  Sizes s;
  s.busy = p.has_busy();
  if (passes.size() > 1) {
    s.memory = p.ranks();
    if (p.costs.forward > 0) s.second = p.ranks();
  }
  for (const Pass& pass : passes) {
    const std::int64_t size = pass.map.size();
    if (pass.kind == kTilePass) {
      s.tile = std::max<std::int64_t>({s.tile, size, kMaxLanes});
    } else {
      std::int64_t copies = 0;
      for (int i = pass.begin; i < pass.end; ++i) copies += (p.steps[i].flags & kCopy) != 0;
      s.segment = std::max(s.segment, size);
      s.segment_copies = std::max(s.segment_copies, copies * size);
    }
  }
  return s;
}

// Memory of one thread.
struct Scratch {
  Scratch(const Sizes& s, int rows)
      : ticks(allocate<Tick>(s.tile * (s.busy ? 3 : 2))), rows(static_cast<std::size_t>(rows)) {
    tile.sent = ticks.get();
    tile.next = tile.sent + s.tile;
    tile.busy = s.busy ? tile.next + s.tile : tile.sent;
  }

  Buffer<Tick> ticks;
  TileScratch tile;
  std::vector<Observation> rows;
};

// Memory of one realization: between passes, and for as many segments as are worked on at once.
struct State {
  State(const Sizes& s, std::int64_t segments)
      : sizes(s),
        memory(allocate<Tick>(s.memory)),
        arena(allocate<std::uint8_t>(s.state_bytes(segments) - 8 * s.memory)) {}

  Tick* second() const { return sizes.second > 0 ? reinterpret_cast<Tick*>(arena.get()) : nullptr; }
  SegmentScratch segment(std::int64_t slot) const {
    auto* ticks = reinterpret_cast<Tick*>(arena.get() + slot * sizes.segment_bytes());
    Tick* copies = ticks + 2 * sizes.segment;
    return {ticks, ticks + sizes.segment, copies,
            reinterpret_cast<std::uint8_t*>(copies + sizes.segment_copies)};
  }

  const Sizes& sizes;
  Buffer<Tick> memory;
  Buffer<std::uint8_t> arena;
};

void run_segment(const TileJob& job, const SegmentScratch& scratch) {
  with_noise(*job.program,
             [&]<class Noise, class Network>(const Noise& noise, const Network& network) {
               const ProgramView& p = *job.program;
               const Pass& pass = *job.pass;
               const Segment<Noise, Network> segment{
                   p, pass, noise, network, job.realization, pass.map.base(job.tile), scratch};
               const std::int64_t size = segment.size();
               std::int64_t copies = 0;
               bool observed = false;
               for (int i = pass.begin; i < pass.end; ++i) {
                 copies += (p.steps[i].flags & kCopy) != 0;
                 observed |= p.steps[i].row >= 0;
               }
               std::fill(scratch.copies, scratch.copies + copies * size, kNever);
               const auto sweep = [&](auto&& see) {
                 bool changed = false;
                 for (std::int64_t x = 0; x < size; ++x)
                   segment.load(x, job.memory[segment.rank_of(x)]);
                 for (int i = pass.begin; i < pass.end; ++i)
                   for (std::int64_t g = 0, n = segment.groups(i); g < n; ++g)
                     changed |= segment.sweep(i, g, see);
                 return changed;
               };
               while (sweep([](int, std::int64_t, Tick) {})) {
               }
               if (observed) {
                 sweep([&](int row, std::int64_t rank, Tick t) {
                   if (row < 0) return;
                   job.observations[row].see(t);
                   if (job.capture != nullptr)
                     job.capture[(static_cast<std::int64_t>(row) << p.log2_ranks) + rank] = t;
                 });
               }
               for (std::int64_t x = 0; x < size; ++x)
                 job.memory[segment.rank_of(x)] = segment.store(x);
             });
}

class Run {
 public:
  Run(const Program& program, const Request& request)
      : program_(program),
        request_(request),
        view_(program.view(request.seed)),
        passes_(plan(program, kLimits)),
        sizes_(sizes(program, passes_)) {
    run_tile_ = choose_tile_runner().run;
    threads_ = request.threads > 0 ? request.threads : hardware_threads();
    team_ = passes_.size() > 1 && (program.log2_ranks >= kTeamBits || request.count < threads_);
    const std::int64_t useful = team_ ? most_tiles() : request.count;
    threads_ = static_cast<int>(std::clamp<std::int64_t>(useful, 1, threads_));
    // A team works on as many segments at once as together hold half the ranks; wide ones are
    // taken in turn, or they would need more memory than everything else.
    const std::int64_t half = program.ranks() / 2;
    if (team_ && sizes_.segment > 0)
      segments_ = std::clamp<std::int64_t>(half / sizes_.segment, 1, threads_);
  }

  std::int64_t bytes() const {
    return sizes_.state_bytes(segments_) * (team_ ? 1 : threads_) + sizes_.tile_bytes() * threads_;
  }

  void simulate(Tick* out, const Poll& poll) {
    out_ = out;
    std::vector<std::thread> workers;
    std::vector<std::unique_ptr<Scratch>> scratch;
    std::vector<std::unique_ptr<State>> states;
    for (int t = 0; t < threads_; ++t) {
      scratch.push_back(std::make_unique<Scratch>(sizes_, program_.rows));
      if (t == 0 || !team_) states.push_back(std::make_unique<State>(sizes_, segments_));
    }
    std::barrier<> barrier(team_ ? threads_ : 1);
    active_ = threads_;
    for (int t = 0; t < threads_; ++t) {
      workers.emplace_back([&, t] {
        if (team_)
          work_in_team(t, barrier, scratch, *states[0]);
        else
          work_alone(*scratch[t], *states[t]);
        const std::lock_guard lock(mutex_);
        --active_;
        finished_.notify_one();
      });
    }
    std::exception_ptr error;
    {
      std::unique_lock lock(mutex_);
      while (
          !finished_.wait_for(lock, std::chrono::milliseconds(50), [&] { return active_ == 0; })) {
        lock.unlock();
        try {
          if (!error && poll && !poll(done_)) error = std::make_exception_ptr(Cancelled());
        } catch (...) {
          error = std::current_exception();
        }
        if (error) stop_ = true;
        lock.lock();
      }
    }
    for (std::thread& w : workers) w.join();
    if (error) std::rethrow_exception(error);
    if (poll && !poll(done_)) throw Cancelled();
  }

  void capture(std::int64_t realization, Tick* out) {
    Scratch scratch(sizes_, program_.rows);
    State state(sizes_, 1);
    clear(scratch);
    for (const Pass& pass : passes_)
      for (std::int64_t tile = 0; tile < pass.map.tiles(); ++tile)
        run_pass(pass, tile, realization, scratch, state, 0, out);
  }

 private:
  std::int64_t most_tiles() const {
    std::int64_t most = 1;
    for (const Pass& pass : passes_) most = std::max(most, pass.map.tiles());
    return most;
  }

  static void clear(Scratch& scratch) {
    std::fill(scratch.rows.begin(), scratch.rows.end(), Observation::nothing());
  }

  void run_pass(const Pass& pass, std::int64_t tile, std::int64_t realization, Scratch& scratch,
                const State& state, std::int64_t slot, Tick* capture = nullptr) const {
    const TileJob job{&view_,
                      &pass,
                      tile,
                      static_cast<std::uint32_t>(realization),
                      request_.full_statistics,
                      state.memory.get(),
                      state.second(),
                      capture,
                      scratch.rows.data()};
    if (pass.kind == kTilePass)
      run_tile_(job, scratch.tile);
    else
      run_segment(job, state.segment(slot));
  }

  void write(std::int64_t index, const std::vector<Observation>& rows) const {
    const int words = words_per_row(request_);
    Tick* out = out_ + index * program_.rows * words;
    for (const Observation& o : rows) {
      *out++ = o.max;
      if (words == 1) continue;
      *out++ = o.min;
      *out++ = o.hi;
      *out++ = o.lo;
    }
  }

  void work_alone(Scratch& scratch, State& state) {
    for (std::int64_t i; !stop_ && (i = claimed_++) < request_.count;) {
      clear(scratch);
      for (const Pass& pass : passes_)
        for (std::int64_t tile = 0; tile < pass.map.tiles() && !stop_; ++tile)
          run_pass(pass, tile, request_.first + i, scratch, state, 0);
      if (stop_) return;
      write(i, scratch.rows);
      ++done_;
    }
  }

  void work_in_team(int thread, std::barrier<>& barrier,
                    std::vector<std::unique_ptr<Scratch>>& scratch, State& state) {
    Scratch& mine = *scratch[thread];
    for (std::int64_t i = 0; i < request_.count; ++i) {
      clear(mine);
      for (const Pass& pass : passes_) {
        const std::int64_t tiles = pass.map.tiles();
        const std::int64_t at_once = pass.kind == kSegmentPass ? segments_ : threads_;
        if (thread < at_once) {
          for (std::int64_t tile = thread; tile < tiles && !stop_; tile += at_once)
            run_pass(pass, tile, request_.first + i, mine, state, thread);
        }
        barrier.arrive_and_wait();  // the next pass reads what all tiles of this one wrote
      }
      if (thread == 0 && !stop_) {
        for (int t = 1; t < threads_; ++t)
          for (std::size_t row = 0; row < mine.rows.size(); ++row)
            mine.rows[row].merge(scratch[t]->rows[row]);
        write(i, mine.rows);
        ++done_;
      }
      barrier.arrive_and_wait();
      if (stop_agreed(thread, barrier)) return;
    }
  }

  // All threads of a team have to leave at the same realization.
  bool stop_agreed(int thread, std::barrier<>& barrier) {
    if (thread == 0) leave_ = stop_.load();
    barrier.arrive_and_wait();
    return leave_;
  }

  const Program& program_;
  const Request request_;
  const ProgramView view_;
  const std::vector<Pass> passes_;
  const Sizes sizes_;
  RunTile run_tile_;
  int threads_;
  bool team_;
  std::int64_t segments_ = 1;  // worked on at once in one realization
  Tick* out_ = nullptr;
  std::atomic<std::int64_t> claimed_{0}, done_{0};
  std::atomic<bool> stop_{false};
  bool leave_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  int active_ = 0;
};

}  // namespace

void simulate(const Program& program, const Request& request, Tick* out, const Poll& poll) {
  Run(program, request).simulate(out, poll);
}

void ready_times(const Program& program, std::uint64_t seed, std::int64_t realization, Tick* out) {
  Request request;
  request.seed = seed;
  request.count = 1;
  Run(program, request).capture(realization, out);
}

void phases(const Program& program, std::uint64_t seed, std::int64_t realization, Tick* out) {
  const Periodic noise = program.view(seed).periodic;
  for (std::int64_t rank = 0; rank < program.ranks(); ++rank)
    out[rank] = noise.phase(seed, static_cast<std::uint32_t>(realization), rank);
}

std::int64_t memory(const Program& program, const Request& request) {
  return Run(program, request).bytes();
}

int hardware_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

std::string instruction_set() { return choose_tile_runner().name; }

}  // namespace jf::cpu
