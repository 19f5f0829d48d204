// Program that reads and runs GOAL schedules under sanitizers, damaged ones too. Standard input
// names the files, each in a line. Prints the instruction set, and for each file what is wrong with
// it, or times.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "core/engine.h"
#include "schedule/plan.h"

using namespace jf;

namespace {

// Fewer than this keep a damaged number of ranks from taking all memory.
constexpr std::uint32_t kMostRanks = 1000;

// The critical paths of some realizations, by two threads.
void explain(const Program& program, const schedule::Plan& plan) {
  const schedule::Schedule& s = *plan.schedule;
  constexpr std::uint32_t kRealizations[] = {3, 4, 5};
  constexpr std::size_t kCount = std::size(kRealizations);
  std::vector<std::uint32_t> paths_of(s.operations());
  std::vector<Tick> times_of(2 * s.operations()), out(kCount * schedule::kPathWords);
  std::vector<Tick> ranks(s.ranks() * (2 * schedule::kRankSums + 1));
  const schedule::PathRequest request{7, kRealizations, kCount, 2, false};
  schedule::explain(program, plan, request, out.data(),
                    {paths_of.data(), times_of.data(), ranks.data()}, nullptr);
  schedule::critical_path(program, plan, request, nullptr);
}

void run(const schedule::Schedule& s) {
  Program program;
  program.log2_ranks = 31 - __builtin_clz(s.ranks());
  program.more_ranks = s.ranks() - (std::int64_t{1} << program.log2_ranks);
  schedule::Network network;
  network.largest_eager = {1000, 100};
  network.levels.spans = {2};
  schedule::Factors factors;
  for (std::uint32_t rank = 0; rank < s.ranks(); ++rank) {
    network.levels.slots.push_back(s.ranks() - rank);
    factors.push_back(std::uint64_t{1 + rank % 3} << kFactorBits);
  }
  for (const Tick transit : {100'000, 1'000'000})
    for (const std::uint64_t size : s.sizes()) {
      const auto further = static_cast<Tick>(size % 100'000);
      program.message_costs.push_back({2000, 2000, transit, 5000 + further});
      network.bytes.push_back({further, further / 2});
    }
  program.finish();
  program.add_periodic(1'000'000, 100'000, true, {}, {});
  program.add_step(HostDelay::constant(1000), true, {});
  program.add_message(HostDelay::constant(500), {});
  program.add_rank_speed(HostDelay::constant(1'500'000'000'000), 1);
  const schedule::Plan plan = make_plan(s, program, network, factors, true, {}, nullptr);
  constexpr int kRealizations = 11;
  std::vector<Tick> out(2 * kRealizations), times(2 * s.operations());
  schedule::simulate(program, plan, {7, 3, kRealizations, false, 2}, false, out.data(), nullptr);
  std::printf("%lld", static_cast<long long>(plan.completion));
  for (int i = 0; i < kRealizations; ++i) std::printf(" %lld", static_cast<long long>(out[2 * i]));
  schedule::simulate(program, plan, {7, 3, 2, false, 2}, true, out.data(), nullptr);
  schedule::operation_times(program, plan, 7, 3, false, times.data(), nullptr);
  explain(program, plan);
  std::printf("\n");
}

}  // namespace

int main() {
  std::printf("%s\n", cpu::instruction_set().c_str());
  for (std::string file; std::getline(std::cin, file);) {
    std::FILE* translated = std::tmpfile();
    try {
      schedule::read_file(file, fileno(translated));
      const schedule::Schedule s(fileno(translated));
      if (s.ranks() < kMostRanks)
        run(s);
      else
        std::printf("many ranks\n");
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
    }
    std::fclose(translated);
  }
}
