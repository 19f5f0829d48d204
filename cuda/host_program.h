// Host side of a program: owns its arrays, checks them, and plans its passes.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "plan.h"

namespace jf {

struct Program {
  std::int32_t log2_ranks = 0, rows = 0;
  std::vector<Step> steps;
  Costs costs{};
  bool has_noise = false;
  Tick period = 1, duration = 0;
  bool stationary = false, in_compute = true, in_communication = true;
  std::int64_t node_ranks = 1;
  std::vector<Tick> phases;
  Tick jitter_duration = 0;
  std::vector<std::uint64_t> survival;

  std::int64_t ranks() const { return std::int64_t{1} << log2_ranks; }
  bool has_copies() const;
  // busy differs from sent, so tiles need room for both.
  bool has_busy() const { return has_copies() || costs.forward > 0; }
  void check() const;  // throws std::invalid_argument
  ProgramView view(std::uint64_t seed) const;
};

struct PlanLimits {
  std::int32_t tile_bits;  // at most 2^tile_bits ranks in a tile (segments may be larger)
  std::int32_t low_bits;   // at least 2^low_bits of them are neighbours in memory
};

std::vector<Pass> plan(const Program& program, PlanLimits limits);

// Thrown when a caller asked to stop (Ctrl-C).
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace jf
