// Interfaces of the CPU and GPU engine of collectives: simulate, ready times, phases, explain,
// memory.
#pragma once

#include <functional>
#include <string>

#include "core/host_program.h"
#include "core/require.h"

namespace jf {

struct Request {
  std::uint64_t seed = 0;
  std::int64_t first = 0, count = 0;  // realizations [first, first + count)
  bool full_statistics = false;
  int threads = 0;  // CPU engine: 0 means all
};

// Ticks written for each row of a realization: the maximum, or all of an Observation (program.h).
inline int words_per_row(const Request& r) { return r.full_statistics ? 4 : 1; }

// Called now and then on the caller's thread, with the finished realizations; false stops the run.
using Poll = std::function<bool(std::int64_t done)>;

// What a time consists of, see cpu::explain(): what is there without noise, and behind it each
// source of noise, in this order: Program::messages, rank_delays, intervals, delays, speeds.
enum QuietCause : std::int32_t {
  kGivenArrival,
  kComputing,
  kMessageCpu,  // to send and to receive
  kOnTheWay,
  kCombining,
  kQuietCauses
};
constexpr std::int32_t kMaxExplained = 12;
constexpr std::int32_t kCauses = kQuietCauses + kMaxExplained;
// Time, rank, longest single delay by noise, the rank that it hit and its cause (-1: none), causes.
constexpr std::int32_t kExplained = 5 + kCauses;
// Throws std::invalid_argument where a program has more sources than that.
inline void require_explainable(const Program& p) {
  const std::size_t sources = p.intervals.size() + p.delays.size() + p.messages.size() +
                              p.rank_delays.size() + p.speeds.size();
  require(sources <= kMaxExplained, "at most 12 noise sources can be explained");
}
// Adds to a sum of times, which is hi * 2^32 + lo.
inline void add_to_sum(Tick* sum, Tick t) {
  sum[0] += t >> 32;
  sum[1] += t & 0xffffffff;
}
// What the time of a rank up to its end consists of, whether it is on the critical path or not: how
// late it arrives, its CPU work, noise of its CPU, waiting for messages that are not sent yet, and
// for those that are on their way or find a link taken; less what redundant exchanges spare it.
enum RankTime : std::int32_t {
  kArrivesLate,
  kWorks,
  kHeld,
  kWaitsForSender,
  kWaitsForMessage,
  kSpared,
  kRankParts
};

namespace cpu {

// out: count x rows x words_per_row. Throws Cancelled if poll returns false.
void simulate(const Program& program, const Request& request, Tick* out, const Poll& poll);
// out: rows x ranks, every observed ready time of one realization.
void ready_times(const Program& program, std::uint64_t seed, std::int64_t realization, Tick* out,
                 const Poll& poll);
// out: one phase per rank, of interval source number `source`, which must be periodic.
void phases(const Program& program, std::size_t source, std::uint64_t seed,
            std::int64_t realization, Tick* out, const Poll& poll);
// Begins and ends, alternating, of the busy intervals of a rank that begin before `until` and end
// after 0, in the compute or the communication phase. They are disjoint and ascending.
std::vector<Tick> busy(const Program& program, std::uint64_t seed, std::int64_t realization,
                       std::int64_t rank, Tick until, bool compute, const Poll& poll);
// out: count x kExplained. What the last rank's time at the end of each realization consists of,
// along its critical path. of_ranks: ranks x kRankParts x 2, summed over the realizations; a sum is
// hi * 2^32 + lo. `combine`: of each message cost, what of `receive` is the time to combine. Throws
// std::invalid_argument for copies, congestion, and more than kMaxExplained sources.
void explain(const Program& program, const Request& request, const std::vector<Tick>& combine,
             Tick* out, Tick* of_ranks, const Poll& poll);
// Bytes of state that simulate will hold, without the results.
std::int64_t memory(const Program& program, const Request& request);
// Threads that are taken where none are asked for: a thread for each processor that this process
// may use.
int hardware_threads();
// What the control groups of this process limit it to, rounded up; 0: nothing. root: of files, for
// tests.
int control_group_threads(const std::string& root);
std::string instruction_set();  // in use; JITTERFLY_ISA overrides: avx512, avx2, portable, plain

}  // namespace cpu

namespace gpu {

struct Device {
  int index;
  std::string name, capability;
  std::int64_t memory, shared_memory_per_block;
  int multiprocessors, clock_khz, driver_version, runtime_version;
};

// Each thread of the host has a current device, at first device 0, on which all that follows runs.
int device_count();           // that CUDA shows this process; no device is started for it
void use_device(int number);  // makes a device the calling thread's
std::string status();         // "" if the current device can be used, else the reason why not
std::vector<Device> devices();
void simulate(const Program& program, const Request& request, Tick* out, const Poll& poll);
std::int64_t available_memory();  // bytes that a run may use now; 0 without a device
// Bytes that simulate uses. They exceed available_memory() if not even one realization fits.
std::int64_t memory(const Program& program, const Request& request);

}  // namespace gpu

}  // namespace jf
