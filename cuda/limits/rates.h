// What one core of this machine can do at most, measured: instructions and bytes per second.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace jf::limits
