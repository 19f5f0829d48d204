// Program that runs congestion on the CPU engine under sanitizers. For test_sanitizers.py, as
// engine.cpp: reads a mode, threads and a case (see read_congestion.h), writes for each a line: sum
// and exclusive or of all numbers that came out, "cancelled", or "error: ...".
#include <memory>

#include "planted_faults.h"
#include "read_congestion.h"

namespace {

using jf_read::read;

void run_case() {
  const auto mode = read<std::string>();
  const auto threads = read<int>();
  const jf::congestion::Program program = jf_read::read_congestion();
  jf::Request request = jf_read::read_request();
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
  const std::size_t most = request.full_statistics ? program.most_messages() + 1 : 0;
  const std::unique_ptr<std::int64_t[]> out(
      new std::int64_t[words - static_cast<std::size_t>(kMissing)]);
  const std::unique_ptr<std::uint64_t[]> bins(new std::uint64_t[most]());
  const auto simulate = [&](const jf::Poll& poll) {
    jf::congestion::simulate(program, request, out.get(), most > 0 ? bins.get() : nullptr, poll);
  };
  if (mode == "simulate") {
    run_at_once([&] { simulate({}); });
  } else if (mode != "cancel") {
    throw std::runtime_error("unknown mode: " + mode);
  } else if (is_cancelled(simulate)) {
    return;
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
