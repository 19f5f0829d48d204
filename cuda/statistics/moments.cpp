// Exact sums over realizations, block by block in the cache: of digits of 32 bits, in 64 and 128.
#include "statistics/moments.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "cpu/instruction_sets.h"
#include "statistics/loops.h"

namespace jf::statistics {
namespace {

using Digits = std::vector<std::uint32_t>;

// Up to so many bits, the products of a block of digits add up to less than 2^64.
constexpr int kNarrow = (64 - std::countr_zero(kBlock)) / 2;

int bits_between(Tick low, Tick high) {
  return static_cast<int>(
      std::bit_width(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)));
}

// Calls use(column, values, realizations): column by column of each block, which is read from
// memory once, and then done().
void for_each_column(const SampleColumns& samples, const Loops& loops, const auto& use,
                     const auto& done) {
  std::vector<Tick> values(kBlock);
  for (std::size_t at = 0; at < samples.realizations; at += kBlock) {
    const std::size_t size = std::min(kBlock, samples.realizations - at);
    const Tick* block = samples.data + static_cast<std::ptrdiff_t>(at) * samples.row;
    for (std::size_t c = 0; c < samples.columns.size(); ++c) {
      loops.gather(block + samples.columns[c], samples.row, size, values.data());
      use(c, values.data(), size);
    }
    done();
  }
}

// Sums of products of three digits, where there are kDigits of them.
template <int kDigits>
void add_triples(const std::uint32_t* const* digits, std::size_t n, ThirdMoments& total) {
  constexpr int kPairs = kDigits * (kDigits + 1) / 2;
  constexpr int kTriples = kPairs * (kDigits + 2) / 3;
  Sum sums[kDigits] = {}, products[kPairs] = {}, triples[kTriples] = {};
  for (std::size_t r = 0; r < n; ++r) {
    int pair = 0, triple = 0;
    for (int i = 0; i < kDigits; ++i) {
      const std::uint64_t one = digits[i][r];
      sums[i] += one;
      for (int j = i; j < kDigits; ++j) {
        const std::uint64_t product = one * digits[j][r];
        products[pair++] += product;
        for (int k = j; k < kDigits; ++k) triples[triple++] += Sum{product} * digits[k][r];
      }
    }
  }
  for (int i = 0; i < kDigits; ++i) total.sums[i] += sums[i];
  for (int i = 0; i < kPairs; ++i) total.products[i] += products[i];
  for (int i = 0; i < kTriples; ++i) total.triples[i] += triples[i];
}

}  // namespace

const Loops& choose_loops() { return *cpu::choose_instruction_set().statistics; }

Ends column_ends(const SampleColumns& samples) {
  const Loops& loops = choose_loops();
  Ends found{std::vector<Tick>(samples.columns.size(), std::numeric_limits<Tick>::max()),
             std::vector<Tick>(samples.columns.size(), std::numeric_limits<Tick>::min())};
  for_each_column(
      samples, loops,
      [&](std::size_t c, const Tick* values, std::size_t size) {
        loops.extend(values, size, &found.low[c], &found.high[c]);
      },
      [] {});
  return found;
}

template <class Offset>
void pack(const SampleColumns& samples, const Tick* base, Offset* packed) {
  const std::size_t columns = samples.columns.size();
  for (std::size_t r = 0; r < samples.realizations; ++r) {
    const Tick* row = samples.data + static_cast<std::ptrdiff_t>(r) * samples.row;
    for (std::size_t c = 0; c < columns; ++c)
      *packed++ = static_cast<Offset>(static_cast<std::uint64_t>(row[samples.columns[c]]) -
                                      static_cast<std::uint64_t>(base[c]));
  }
}

template <class Offset>
void unpack(const Offset* packed, std::size_t realizations, std::size_t columns, const Tick* base,
            std::ptrdiff_t row, std::ptrdiff_t column, Tick* out) {
  for (std::size_t r = 0; r < realizations; ++r, out += row)
    for (std::size_t c = 0; c < columns; ++c)
      out[static_cast<std::ptrdiff_t>(c) * column] =
          static_cast<Tick>(std::uint64_t{*packed++} + static_cast<std::uint64_t>(base[c]));
}

#define JF_OFFSETS(Offset)                                                                  \
  template void pack(const SampleColumns& samples, const Tick* base, Offset* packed);       \
  template void unpack(const Offset* packed, std::size_t realizations, std::size_t columns, \
                       const Tick* base, std::ptrdiff_t row, std::ptrdiff_t column, Tick* out)
JF_OFFSETS(std::uint8_t);
JF_OFFSETS(std::uint16_t);
JF_OFFSETS(std::uint32_t);
JF_OFFSETS(std::uint64_t);
#undef JF_OFFSETS

CrossMoments cross_moments(const SampleColumns& samples) {
  const Loops& loops = choose_loops();
  const std::size_t columns = samples.columns.size();
  const Ends ends = column_ends(samples);
  const std::vector<Tick>&low = ends.low, &high = ends.high;
  CrossMoments found;
  found.base = low;
  int bits = 0;
  for (std::size_t c = 0; c < columns; ++c) bits = std::max(bits, bits_between(low[c], high[c]));
  found.digits = bits > kDigit ? 2 : 1;

  const std::size_t width = columns * static_cast<std::size_t>(found.digits);
  found.sums.assign(width, 0);
  found.products.assign(width * (width + 1) / 2, 0);
  std::vector<std::uint32_t> digits(width * kBlock);  // zeros beyond the last realization
  const auto digit = [&](std::size_t i) { return digits.data() + i * kBlock; };
  for_each_column(
      samples, loops,
      [&](std::size_t c, const Tick* values, std::size_t size) {
        if (size < kBlock) {
          std::fill_n(digit(c), kBlock, 0);
          if (found.digits == 2) std::fill_n(digit(columns + c), kBlock, 0);
        }
        loops.split(values, low[c], size, digit(c),
                    found.digits == 2 ? digit(columns + c) : nullptr);
      },
      [&] {
        std::size_t pair = 0;
        for (std::size_t i = 0; i < width; ++i) {
          found.sums[i] += loops.sum(digit(i));
          for (std::size_t j = i; j < width; ++j) {
            if (bits <= kNarrow) {
              found.products[pair++] += loops.dot_narrow(digit(i), digit(j));
            } else {
              std::uint64_t lower, upper;
              loops.dot(digit(i), digit(j), &lower, &upper);
              found.products[pair++] += lower + (Sum{upper} << kDigit);
            }
          }
        }
      });
  return found;
}

void linear_form(const SampleColumns& samples, const std::vector<Tick>& coefficients, Tick constant,
                 Tick* out) {
  const Loops& loops = choose_loops();
  // All terms of a block in turn: it is read from memory once.
  for (std::size_t at = 0; at < samples.realizations; at += kBlock) {
    const std::size_t size = std::min(kBlock, samples.realizations - at);
    const Tick* block = samples.data + static_cast<std::ptrdiff_t>(at) * samples.row;
    std::fill_n(out + at, size, constant);
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      loops.add_scaled(block + samples.columns[i], samples.row, size, coefficients[i], out + at);
  }
}

ThirdMoments third_moments(const std::vector<const Tick*>& samples, std::size_t realizations) {
  const Loops& loops = choose_loops();
  const std::size_t several = samples.size();
  ThirdMoments found;
  found.low.assign(several, std::numeric_limits<Tick>::max());
  found.high.assign(several, std::numeric_limits<Tick>::min());
  int bits = 0;
  for (std::size_t s = 0; s < several; ++s) {
    loops.extend(samples[s], realizations, &found.low[s], &found.high[s]);
    if (realizations > 0) bits = std::max(bits, bits_between(found.low[s], found.high[s]));
  }
  found.digits = bits > kDigit ? 2 : 1;
  if (several == 2) {
    for (std::size_t r = 0; r < realizations; ++r) {
      found.unequal += samples[0][r] != samples[1][r];
      found.nonzero += (samples[0][r] | samples[1][r]) != 0;
    }
  }

  const std::size_t width = several * static_cast<std::size_t>(found.digits);
  found.sums.assign(width, 0);
  found.products.assign(width * (width + 1) / 2, 0);
  found.triples.assign(width * (width + 1) * (width + 2) / 6, 0);
  std::vector<std::uint32_t> memory(width * kBlock);
  std::vector<std::uint32_t*> digits;
  for (std::size_t i = 0; i < width; ++i) digits.push_back(memory.data() + i * kBlock);
  for (std::size_t at = 0; at < realizations; at += kBlock) {
    const std::size_t size = std::min(kBlock, realizations - at);
    for (std::size_t s = 0; s < several; ++s)
      loops.split(samples[s] + at, found.low[s], size, digits[s],
                  found.digits == 2 ? digits[several + s] : nullptr);
    if (width == 1) add_triples<1>(digits.data(), size, found);
    if (width == 2) add_triples<2>(digits.data(), size, found);
    if (width == 4) add_triples<4>(digits.data(), size, found);
  }
  return found;
}

}  // namespace jf::statistics
