// CPU engine of network congestion: threads compute realizations (realize.h) in parallel.
#include "core/engine.h"

#include <algorithm>
#include <mutex>

#include "congestion/realize.h"
#include "cpu/instruction_sets.h"
#include "cpu/thread_pool.h"

namespace jf::congestion {

const SimdLoops& choose_simd_loops() { return *cpu::choose_instruction_set().congestion; }

namespace {

template <class Do>
auto with_counter(const Program& program, Do&& work) {
  return program.most_messages() <= kMaxShortCount ? work(std::uint16_t{}) : work(std::uint32_t{});
}

template <class Do>
auto with_worker(const Program& program, const ProgramView& view, Do&& work) {
  return with_counter(program, [&]<class Counter>(Counter) {
    const std::uint32_t own = program.max_own(), all = program.most_messages();
    if (program.fat_tree) {
      Worker<FatTreeView, Counter> worker(view, program.tree, own, all, choose_simd_loops());
      return work(worker);
    }
    Worker<TableView, Counter> worker(view, program.table(), own, all, choose_simd_loops());
    return work(worker);
  });
}

}  // namespace

void simulate(const Program& program, const Request& request, std::int64_t* out,
              std::uint64_t* histogram, const Poll& poll) {
  const ProgramView view = program.view(request.seed, request.full_statistics);
  std::mutex histogram_mutex;
  cpu::ThreadPool pool;
  const auto work = [&](int) {
    with_worker(program, view, [&](auto& worker) {
      std::vector<std::uint64_t> mine(histogram ? program.most_messages() + 1 : 0);
      for (std::int64_t i; !pool.stop && (i = pool.claimed++) < request.count; ++pool.done) {
        const auto realization = static_cast<std::uint32_t>(request.first + i);
        worker.place(realization);
        worker.run(realization, out + i * kWords, histogram ? mine.data() : nullptr,
                   [&](std::uint32_t, std::uint32_t) { return !pool.stop; });
      }
      const std::lock_guard hold(histogram_mutex);
      for (std::size_t w = 0; w < mine.size(); ++w) histogram[w] += mine[w];
    });
  };
  pool.run(cpu::threads_for(request.count, request.threads), work, poll);
}

Capture capture(const Program& program, std::uint64_t seed, std::uint32_t realization,
                const std::vector<std::uint32_t>& placement) {
  const ProgramView view = program.view(seed, true);
  return with_worker(program, view, [&](auto& worker) {
    if (placement.empty())
      worker.place(realization);
    else
      worker.place(placement);
    Capture captured;
    captured.host_of_rank = worker.hosts();
    std::vector<std::uint32_t> rank_of_host(program.hosts);
    for (std::uint32_t rank = 0; rank < program.hosts; ++rank)
      rank_of_host[captured.host_of_rank[rank]] = rank;
    captured.offsets.push_back(0);
    std::int64_t words[kWords];
    worker.run(realization, words, nullptr, [&](std::uint32_t, std::uint32_t messages) {
      for (std::uint32_t i = 0; i < messages; ++i) {
        captured.senders.push_back(rank_of_host[worker.from()[i]]);
        captured.receivers.push_back(rank_of_host[worker.to()[i]]);
        captured.w.push_back(worker.w()[i]);
      }
      captured.offsets.push_back(static_cast<std::uint32_t>(captured.w.size()));
      return true;
    });
    return captured;
  });
}

std::int64_t memory(const Program& program, int threads) {
  const std::int64_t own = program.max_own(), all = program.most_messages();
  if (threads == 0) threads = cpu::hardware_threads();
  return threads * (worker_bytes(program, own, all) + 8 * (all + 1));
}

}  // namespace jf::congestion
