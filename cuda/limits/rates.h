// Roofline measurements of one core for `jitterfly bench`: instruction and memory rates,
// instruction counts. Measured are instructions and bytes per second that one core of this machine
// can do at most (rates.cpp), and the instructions that the engine executes
// (instruction_count.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/engine.h"

namespace jf::limits {

// Instructions per second of loops of independent instructions, by the CPU time of the thread; the
// best of several runs. "vector": 32-bit additions of the instruction set's full width. Loops that
// also use other parts of the core: "scalar", "mixed" (vector, scalar, loads), "nop". Empty if
// there is no such loop (not x86-64). `isa`: plain, portable, avx2 or avx512, which the processor
// must have.
std::vector<std::pair<std::string, double>> issue_rates(const std::string& isa, double seconds);

// Bytes per second, read and written together, of reading an array of so many bytes repeatedly, or
// of copying one half of it to the other. The best of several runs, by the same clock.
double read_rate(std::int64_t bytes, double seconds);
double copy_rate(std::int64_t bytes, double seconds);

// --- How many instructions the CPU engine executes, counted one by one, as virtual machines seldom
// have hardware counters. Needs Linux on x86-64, and permission to trace a child process.

struct Instructions {
  std::int64_t all = 0, vector = 0;
};

// "" if this machine can count, else why not. The system may still refuse (std::runtime_error).
const char* cannot_count();

// The instructions of the busiest thread of a child process that simulates `count` realizations on
// one thread. The difference of two counts is what the realizations between them cost, up to about
// a hundred by which the start of a thread varies. 10^4 (virtual machines) to 10^5 a second; more
// than `limit` are an error.
Instructions count(const Program& program, std::uint64_t seed, std::int64_t count,
                   std::int64_t limit, const Poll& poll);

// Whether an instruction works on vector registers (or masks), by its first bytes; eight are
// enough. Integer instructions with a vector encoding (BMI) do not.
bool is_vector(const unsigned char* code);

}  // namespace jf::limits
