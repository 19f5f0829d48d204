// What one core of this machine can do at most, measured: instructions and bytes per second.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/engine.h"

namespace jf::limits {

// Instructions per second of loops without dependencies between neighbours, best of several runs,
// by the CPU time of the thread: "vector" (32-bit additions of the instruction set's full width),
// and loops that use other parts of the core too: "scalar", "mixed" (vector, scalar, loads), "nop".
// Empty where there is no such loop (not x86-64). `isa`: portable, avx2 or avx512, which the
// processor must have.
std::vector<std::pair<std::string, double>> issue_rates(const std::string& isa, double seconds);

// Bytes per second, read and written together, of reading an array of so many bytes again and
// again, or of copying one half of it to the other. Best of several runs, by the same clock.
double read_rate(std::int64_t bytes, double seconds);
double copy_rate(std::int64_t bytes, double seconds);

// --- How many instructions the CPU engine executes, counted one by one: virtual machines seldom
// have hardware counters. Needs Linux on x86-64, and a system that lets a process trace its child.

struct Instructions {
  std::int64_t all = 0, vector = 0;
};

// "" if this machine can count, else why not; it may still be refused (std::runtime_error).
const char* cannot_count();

// What the busiest thread of a child process executes while it simulates `count` realizations on
// one thread: the difference of two counts is what the realizations between them cost, but for the
// hundred instructions or so by which the start of a thread varies. 10^4 (virtual machines) to 10^5
// steps a second; more than `most` is an error.
Instructions count(const Program& program, std::uint64_t seed, std::int64_t count,
                   std::int64_t most, const Poll& poll);

// Whether an instruction works on vector registers (or masks), from its first bytes; eight are
// enough. Integer instructions that happen to be encoded like vector ones (BMI) are none.
bool is_vector(const unsigned char* code);

}  // namespace jf::limits
