// Program that runs cases on the CPU engine under sanitizers. For test_sanitizers.py, which
// compiles it and the engine with a sanitizer. Reads a mode and a case (see read_case.h), writes
// for each a line: sum and exclusive or of all ticks that came out, "cancelled", or "error: ...".
// Results lie in memory of their own of exactly their size, so that a write beyond them shows.
#include "core/engine.h"

#include <memory>
#include <thread>

#include "read_case.h"

namespace {

using jf::Tick;
using jf_read::read;

// What the sanitizers must find in the engine, to show that they would:
#ifdef JF_PLANT_OUT_OF_BOUNDS  // results in memory that is one word too small
constexpr std::int64_t kMissing = 1;
#else
constexpr std::int64_t kMissing = 0;
#endif
#ifdef JF_PLANT_OVERFLOW  // costs that a program would not be given
constexpr Tick kTooMuch = INT64_MAX;
#else
constexpr Tick kTooMuch = 0;
#endif
#ifdef JF_PLANT_RACE  // two runs that write to the same memory at the same time
constexpr int kRunsAtOnce = 2;
#else
constexpr int kRunsAtOnce = 1;
#endif

void simulate(const jf::Program& program, const jf::Request& request, Tick* out) {
  std::vector<std::thread> others;
  for (int i = 1; i < kRunsAtOnce; ++i)
    others.emplace_back([&] { jf::cpu::simulate(program, request, out, {}); });
  jf::cpu::simulate(program, request, out, {});
  for (std::thread& other : others) other.join();
}

void tell(const Tick* ticks, std::size_t size) {
  std::uint64_t sum = 0, mixed = 0;
  for (std::size_t i = 0; i < size; ++i) {
    sum += static_cast<std::uint64_t>(ticks[i]);
    mixed ^= static_cast<std::uint64_t>(ticks[i]);
  }
  std::cout << sum << ' ' << mixed;
}

void run_case() {
  const auto mode = read<std::string>();
  const auto threads = read<int>();
  jf::Program program = jf_read::read_program();
  if (kTooMuch > 0) program.costs.combine = kTooMuch;
  jf::Request request = jf_read::read_request();
  request.threads = threads;
  const std::int64_t size = mode == "ready_times"
                                ? program.rows * program.ranks()
                                : request.count * program.rows * jf::words_per_row(request);
  const std::unique_ptr<Tick[]> out(new Tick[static_cast<std::size_t>(size - kMissing)]);
  if (mode == "ready_times") {
    jf::cpu::ready_times(program, request.seed, request.first, out.get(), {});
  } else if (mode == "simulate") {
    simulate(program, request, out.get());
  } else if (mode == "cancel") {
    try {
      jf::cpu::simulate(program, request, out.get(), [](std::int64_t) { return false; });
    } catch (const jf::Cancelled&) {
      std::cout << "cancelled";
      return;
    }
  } else {
    throw std::runtime_error("unknown mode: " + mode);
  }
  tell(out.get(), static_cast<std::size_t>(size));
}

}  // namespace

int main() {
  std::cout << jf::cpu::instruction_set() << std::endl;
  jf_read::run_lines(run_case);
}
