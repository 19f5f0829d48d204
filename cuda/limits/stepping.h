// How many instructions the CPU engine executes, counted one by one: virtual machines seldom have
// hardware counters. Needs Linux on x86-64, and a system that lets a process trace its child.
#pragma once

#include <cstdint>

#include "engine.h"

namespace jf::limits {

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
