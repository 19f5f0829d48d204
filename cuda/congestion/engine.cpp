// Congestion on the CPU: threads compute realizations (realize.h) in parallel.
#include "core/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "congestion/realize.h"
#include "cpu/instruction_sets.h"

namespace jf::congestion {

const VectorLoops& choose_vector() {
  [[maybe_unused]] const std::string name = cpu::choose_tile_runner().name;
#if defined(JF_HAVE_AVX512)
  if (name == "avx512") return vector_avx512;
#endif
#if defined(JF_HAVE_AVX2)
  if (name == "avx2") return vector_avx2;
#endif
  return vector_portable;
}

namespace {

int threads_of(int wanted) { return wanted > 0 ? wanted : cpu::hardware_threads(); }

template <class Do>
auto with_counter(const Program& program, Do&& work) {
  return program.most_messages() <= kMaxShortCount ? work(std::uint16_t{}) : work(std::uint32_t{});
}

template <class Do>
auto with_worker(const Program& program, const ProgramView& view, Do&& work) {
  return with_counter(program, [&]<class Counter>(Counter) {
    const std::uint32_t own = program.max_own(), all = program.most_messages();
    if (program.fat_tree) {
      Worker<FatTreeView, Counter> worker(view, program.tree, own, all, choose_vector());
      return work(worker);
    }
    Worker<TableView, Counter> worker(view, program.table(), own, all, choose_vector());
    return work(worker);
  });
}

class Run {
 public:
  Run(const Program& program, const Request& request, std::int64_t* out, std::uint64_t* histogram)
      : program_(program),
        request_(request),
        view_(program.view(request.seed, request.all)),
        out_(out),
        histogram_(histogram) {}

  void simulate(const Poll& poll) {
    const int wanted = threads_of(request_.threads);
    const auto threads = static_cast<int>(std::clamp<std::int64_t>(request_.count, 1, wanted));
    std::vector<std::thread> workers;
    {
      const std::lock_guard hold(mutex_);  // no thread ends before all have been started
      try {
        for (int t = 0; t < threads; ++t) {
          workers.emplace_back([this] { work(); });
          ++active_;
        }
      } catch (const std::system_error& error) {
        if (workers.empty()) {
          throw std::invalid_argument(std::string("threads: none could be started: ") +
                                      error.what());
        }
      }
    }
    watch(poll);
    for (std::thread& worker : workers) worker.join();
    if (error_) std::rethrow_exception(error_);
    if (poll && !poll(done_)) throw Cancelled();
  }

 private:
  void work() {
    try {
      with_worker(program_, view_, [&](auto& worker) {
        std::vector<std::uint64_t> histogram(histogram_ ? program_.most_messages() + 1 : 0);
        for (std::int64_t i; !stop_ && (i = claimed_++) < request_.count;) {
          const auto realization = static_cast<std::uint32_t>(request_.first + i);
          worker.place(realization);
          worker.run(realization, out_ + i * kWords, histogram_ ? histogram.data() : nullptr,
                     [&](std::uint32_t, std::uint32_t) { return !stop_; });
          ++done_;
        }
        const std::lock_guard hold(mutex_);
        for (std::size_t w = 0; w < histogram.size(); ++w) histogram_[w] += histogram[w];
      });
    } catch (...) {
      stop_ = true;
      const std::lock_guard hold(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    const std::lock_guard hold(mutex_);
    --active_;
    finished_.notify_one();
  }

  // Polls until all threads have finished. Keeps an exception of poll, or its request to stop.
  void watch(const Poll& poll) {
    std::unique_lock lock(mutex_);
    while (!finished_.wait_for(lock, std::chrono::milliseconds(50), [&] { return active_ == 0; })) {
      lock.unlock();
      std::exception_ptr error;
      try {
        if (!stop_ && poll && !poll(done_)) error = std::make_exception_ptr(Cancelled());
      } catch (...) {
        error = std::current_exception();
      }
      if (error) stop_ = true;
      lock.lock();
      if (error && !error_) error_ = error;
    }
  }

  const Program& program_;
  const Request request_;
  const ProgramView view_;
  std::int64_t* const out_;
  std::uint64_t* const histogram_;
  std::atomic<std::int64_t> claimed_{0}, done_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable finished_;
  std::exception_ptr error_;
  int active_ = 0;
};

}  // namespace

void simulate(const Program& program, const Request& request, std::int64_t* out,
              std::uint64_t* histogram, const Poll& poll) {
  Run(program, request, out, histogram).simulate(poll);
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
  const std::int64_t hosts = program.hosts, own = program.max_own(), all = program.most_messages();
  const std::int64_t counter = all <= kMaxShortCount ? 2 : 4;
  const std::int64_t buckets = std::int64_t{1} << order_bits(program.hosts);
  return threads_of(threads) * (24 * hosts + 4 * buckets + counter * program.counters() + 12 * all +
                                8 * own + 8 * std::int64_t{program.ranks} + 8 * (all + 1));
}

}  // namespace jf::congestion
