// CPU dispatch at run time: plain, portable, AVX2 or AVX-512 code of all CPU engines
// (JITTERFLY_ISA). Chooses among the compilations of the passes for different instruction sets: the
// best that this processor has, or the one that JITTERFLY_ISA names.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "congestion/simd_loops.h"
#include "cpu/jobs.h"
#include "statistics/loops.h"

namespace jf {

// Compiled for each instruction set (*_isa.cpp), and rank by rank, without registers ("plain").
RunTile run_tile_plain, run_tile_portable, run_tile_avx2, run_tile_avx512;
RunMessages run_messages_plain, run_messages_portable, run_messages_avx2, run_messages_avx512;
RunPanels run_panels_portable, run_panels_avx2, run_panels_avx512;
RunActions run_actions_plain, run_actions_portable, run_actions_avx2, run_actions_avx512;

}  // namespace jf

namespace jf::cpu {

struct InstructionSet {
  const char* name;
  int lanes;  // realizations in a register of run_messages and run_actions
  RunTile* run_tile;
  RunMessages* run_messages;
  RunActions* run_actions;
  const congestion::SimdLoops* congestion;
  RunPanels* run_panels;  // or null: segments are swept rank by rank
  const statistics::Loops* statistics;
};

// Those that this processor can run, best first. The last one, rank by rank, runs everywhere.
inline std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> found;
#define JF_ADD(isa, lanes)                                                             \
  found.push_back({#isa, lanes, run_tile_##isa, run_messages_##isa, run_actions_##isa, \
                   &congestion::simd_loops_##isa, run_panels_##isa, &statistics::loops_##isa})
#if defined(JF_HAVE_AVX512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd"))
    JF_ADD(avx512, 8);
#endif
#if defined(JF_HAVE_AVX2)
  if (__builtin_cpu_supports("avx2")) JF_ADD(avx2, 4);
#endif
#if defined(JF_HAVE_PORTABLE)
  JF_ADD(portable, 2);
#endif
#undef JF_ADD
  found.push_back({"plain", 1, run_tile_plain, run_messages_plain, run_actions_plain,
                   &congestion::simd_loops_portable, nullptr, &statistics::loops_portable});
  return found;
}

inline InstructionSet choose_instruction_set() {
  const std::vector<InstructionSet> found = instruction_sets();
  const char* wanted = std::getenv("JITTERFLY_ISA");
  if (wanted == nullptr || *wanted == '\0') return found.front();
  std::string names;
  for (const InstructionSet& isa : found) {
    if (std::string(wanted) == isa.name) return isa;
    names += (names.empty() ? "" : ", ") + std::string(isa.name);
  }
  throw std::invalid_argument("JITTERFLY_ISA must be one of " + names + " here, got '" + wanted +
                              "'");
}

}  // namespace jf::cpu
