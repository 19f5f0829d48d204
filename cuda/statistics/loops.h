// The loops of statistics that are compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ticks.h"

namespace jf::statistics {

constexpr int kDigits = 11;          // binary digits of a sample's size that its bucket tells
constexpr std::size_t kBlock = 256;  // realizations that are summed up at once, in the cache
constexpr int kAtoms = 4;            // values that many samples have
constexpr int kNarrow = 28;          // bits up to which sums over a block take no more than 64

struct Loops {
  // Copies one column of a block: realization r is from[r * row], of so many bytes. Eight are a
  // Tick, fewer are unsigned.
  void (*gather)(const void* from, int bytes, std::ptrdiff_t row, std::size_t n, Tick* out);
  // The ends of a run of samples; low and high hold those of the samples before.
  void (*extend)(const Tick* x, std::size_t n, Tick* low, Tick* high);
  // The same of each of `columns` columns, whose rows lie behind one another.
  void (*extend_rows)(const Tick* x, std::size_t n, std::size_t columns, Tick* low, Tick* high);
  // Digits of 32 bits of x - base; the second ones where `second` is not null.
  void (*split)(const Tick* x, Tick base, std::size_t n, std::uint32_t* first,
                std::uint32_t* second);
  // The sums of products of a digit of a block and each of several, whose blocks follow each other.
  // All are below 2^28, so that no sum overflows.
  void (*dot_narrow)(const std::uint32_t* a, const std::uint32_t* b, std::size_t several,
                     std::uint64_t* sums);
  // The same of any two digits: the sums of both halves of the products.
  void (*dot)(const std::uint32_t* a, const std::uint32_t* b, std::uint64_t* low,
              std::uint64_t* high);
  // The sum of products of three digits: sums[0] + 2^32 sums[1] + 2^64 sums[2].
  void (*dot_three)(const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                    std::uint64_t* sums);
  // The same of digits below 2^28: sums[0] + 2^28 sums[1].
  void (*dot_three_narrow)(const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                           std::uint64_t* sums);
  // Adds how often x < y, x > y, and either is not 0.
  void (*compare)(const Tick* x, const Tick* y, std::size_t n, std::size_t* counts);
  // The sum of the digits of a block.
  std::uint64_t (*sum)(const std::uint32_t* a);
  // Adds coefficient * from. Wraps around, as an array of int64 does.
  void (*add_scaled)(const Tick* from, std::size_t n, Tick coefficient, Tick* out);
  // x / y in whole multiples of 1 / one, at most `most`; 0 / 0 is 1.
  void (*quotients)(const Tick* x, const Tick* y, std::size_t n, double one, double most,
                    Tick* out);
  // Adds how often a block has each of kAtoms values, and writes the flags of other samples.
  void (*flag_others)(const Tick* x, const Tick* atoms, std::size_t* counts, std::uint8_t* flags);
  // The number of each sample's bucket at a level, less `first`, in its last 32 digits. At each
  // number of dropped digits there are 2^(kDigits - 1), of an octave of sizes; at the last one, all
  // that are left. `far`: all samples are above 0, and their buckets drop so many.
  void (*number)(const Tick* x, std::size_t n, int level, bool far, std::uint32_t first,
                 std::uint32_t* out);
};

// For the widest registers of this processor, or those that JITTERFLY_ISA selects.
const Loops& choose_loops();

extern const Loops loops_portable, loops_avx2, loops_avx512;

}  // namespace jf::statistics
