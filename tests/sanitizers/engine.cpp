// Program that runs cases on the CPU engine under sanitizers. For test_sanitizers.py, which
// compiles it and the engine with a sanitizer. Reads a mode and a case (see read_case.h), writes
// for each a line: sum and exclusive or of all ticks that came out, "cancelled", or "error: ...".
// Results lie in memory of their own of exactly their size, so that a write beyond them shows.
#include "core/engine.h"

#include <memory>

#include "planted_faults.h"
#include "read_case.h"

namespace {

using jf::Tick;
using jf_read::read;

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
  const auto simulate = [&](const jf::Poll& poll) {
    jf::cpu::simulate(program, request, out.get(), poll);
  };
  if (mode == "ready_times") {
    jf::cpu::ready_times(program, request.seed, request.first, out.get(), {});
  } else if (mode == "simulate") {
    run_at_once([&] { simulate({}); });
  } else if (mode != "cancel") {
    throw std::runtime_error("unknown mode: " + mode);
  } else if (is_cancelled(simulate)) {
    return;
  }
  Told told;
  told.add(out.get(), static_cast<std::size_t>(size));
  told.tell();
}

}  // namespace

int main() {
  std::cout << jf::cpu::instruction_set() << std::endl;
  jf_read::run_lines(run_case);
}
