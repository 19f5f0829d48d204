// Program that runs congestion on the CPU engine under sanitizers. For test_sanitizers.py, as
// engine.cpp: reads a mode, threads and a case (see read_congestion.h), writes for each a line: sum
// and exclusive or of all numbers that came out, "cancelled", or "error: ...".
#include <cstdint>
#include <memory>
#include <thread>

#include "read_congestion.h"

namespace {

using jf_read::read;

// What the sanitizers must find, to show that they would: see engine.cpp.
#ifdef JF_PLANT_OUT_OF_BOUNDS
constexpr std::int64_t kMissing = 1;
#else
constexpr std::int64_t kMissing = 0;
#endif
#ifdef JF_PLANT_RACE
constexpr int kRunsAtOnce = 2;
#else
constexpr int kRunsAtOnce = 1;
#endif

class Told {
 public:
  template <class T>
  void add(const T* numbers, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      sum_ += static_cast<std::uint64_t>(numbers[i]);
      mixed_ ^= static_cast<std::uint64_t>(numbers[i]);
    }
  }
  void tell() const { std::cout << sum_ << ' ' << mixed_; }

 private:
  std::uint64_t sum_ = 0, mixed_ = 0;
};

void run_case() {
  const auto mode = read<std::string>();
  const auto threads = read<int>();
  const jf::congestion::Program program = jf_read::read_congestion();
  jf::congestion::Request request = jf_read::read_congestion_request();
  request.threads = threads;
  Told told;
  if (mode == "capture") {
    const auto found = jf::congestion::capture(program, request.seed,
                                               static_cast<std::uint32_t>(request.first), {});
    for (const auto* part : {&found.host_of_rank, &found.senders, &found.receivers, &found.w})
      told.add(part->data(), part->size());
    told.tell();
    return;
  }
  const auto words = static_cast<std::size_t>(request.count * jf::congestion::kWords);
  const std::size_t most = request.all ? program.most_messages() + 1 : 0;
  const std::unique_ptr<std::int64_t[]> out(
      new std::int64_t[words - static_cast<std::size_t>(kMissing)]);
  const std::unique_ptr<std::uint64_t[]> bins(new std::uint64_t[most]());
  const auto simulate = [&](const jf::congestion::Poll& poll) {
    jf::congestion::simulate(program, request, out.get(), most > 0 ? bins.get() : nullptr, poll);
  };
  if (mode == "cancel") {
    try {
      simulate([](std::int64_t) { return false; });
    } catch (const jf::Cancelled&) {
      std::cout << "cancelled";
      return;
    }
  } else if (mode == "simulate") {
    std::vector<std::thread> others;
    for (int i = 1; i < kRunsAtOnce; ++i) others.emplace_back([&] { simulate({}); });
    simulate({});
    for (std::thread& other : others) other.join();
  } else {
    throw std::runtime_error("unknown mode: " + mode);
  }
  told.add(out.get(), words);
  told.add(bins.get(), most);
  told.tell();
}

}  // namespace

int main() {
  std::cout << jf::cpu::instruction_set() << std::endl;
  jf_read::run_lines(run_case);
}
