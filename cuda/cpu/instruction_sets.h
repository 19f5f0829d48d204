// CPU dispatch at run time: plain, portable, AVX2 or AVX-512 code of all CPU engines
// (JITTERFLY_ISA). Chooses among the compilations of the passes for different instruction sets: the
// best that this processor has, or the one that JITTERFLY_ISA names.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu/jobs.h"

namespace jf::cpu {

struct TileRunner {
  const char* name;
  RunTile run;
  RunMessages run_messages;
  int lanes;             // realizations in a register of run_messages
  RunPanels run_panels;  // or null: segments are swept rank by rank
};

// Those that this processor can run, best first. The last one, rank by rank, runs everywhere.
inline std::vector<TileRunner> tile_runners() {
  std::vector<TileRunner> runners;
#if defined(JF_HAVE_AVX512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd"))
    runners.push_back({"avx512", run_tile_avx512, run_messages_avx512, 8, run_panels_avx512});
#endif
#if defined(JF_HAVE_AVX2)
  if (__builtin_cpu_supports("avx2"))
    runners.push_back({"avx2", run_tile_avx2, run_messages_avx2, 4, run_panels_avx2});
#endif
#if defined(JF_HAVE_PORTABLE)
  runners.push_back({"portable", run_tile_portable, run_messages_portable, 2, run_panels_portable});
#endif
  runners.push_back({"plain", run_tile_plain, run_messages_plain, 1, nullptr});
  return runners;
}

inline TileRunner choose_tile_runner() {
  const std::vector<TileRunner> runners = tile_runners();
  const char* wanted = std::getenv("JITTERFLY_ISA");
  if (wanted == nullptr || *wanted == '\0') return runners.front();
  std::string names;
  for (const TileRunner& runner : runners) {
    if (std::string(wanted) == runner.name) return runner;
    names += (names.empty() ? "" : ", ") + std::string(runner.name);
  }
  throw std::invalid_argument("JITTERFLY_ISA must be one of " + names + " here, got '" + wanted +
                              "'");
}

}  // namespace jf::cpu
