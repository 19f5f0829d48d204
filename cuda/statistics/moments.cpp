// Exact sums over realizations, block by block in the cache: of digits of 32 bits, in 64 and 128.
#include "statistics/moments.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "cpu/instruction_sets.h"
#include "statistics/loops.h"

namespace jf::statistics {
namespace {

using Digits = std::vector<std::uint32_t>;

static_assert(2 * kNarrow + std::countr_zero(kBlock) <= 64);

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
    const std::ptrdiff_t block = static_cast<std::ptrdiff_t>(at) * samples.row;
    for (std::size_t c = 0; c < samples.columns.size(); ++c) {
      const auto* from = static_cast<const std::byte*>(samples.data) +
                         (block + samples.columns[c]) * samples.bytes;
      loops.gather(from, samples.bytes, samples.row, size, values.data());
      use(c, values.data(), size);
    }
    done();
  }
}

// Digits of a block: number i begins at i * kBlock. Zeros are beyond the last realization.
struct Block {
  std::size_t width;
  int bits;
  Digits digits = Digits(width * kBlock);

  std::uint32_t* digit(std::size_t i) { return digits.data() + i * kBlock; }

  // The digits of the column c of `columns`: the first ones of all come before the second ones.
  void put(const Loops& loops, std::size_t c, std::size_t columns, const Tick* values, Tick low,
           std::size_t size) {
    for (std::size_t i = c; i < width && size < kBlock; i += columns)
      std::fill_n(digit(i), kBlock, 0);
    loops.split(values, low, size, digit(c), width > columns ? digit(columns + c) : nullptr);
  }

  void add(const Loops& loops, std::vector<Sum>& sums, std::vector<Sum>& products) {
    std::vector<std::uint64_t> narrow(width);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < width; ++i) {
      sums[i] += loops.sum(digit(i));
      if (bits <= kNarrow) loops.dot_narrow(digit(i), digit(i), width - i, narrow.data());
      for (std::size_t j = i; j < width; ++j) {
        std::uint64_t lower = narrow[j - i], upper = 0;
        if (bits > kNarrow) loops.dot(digit(i), digit(j), &lower, &upper);
        products[pair++] += lower + (Sum{upper} << kDigit);
      }
    }
  }
};

}  // namespace

const Loops& choose_loops() { return *cpu::choose_instruction_set().statistics; }

Ends column_ends(const SampleColumns& samples) {
  const Loops& loops = choose_loops();
  Ends found{std::vector<Tick>(samples.columns.size(), std::numeric_limits<Tick>::max()),
             std::vector<Tick>(samples.columns.size(), std::numeric_limits<Tick>::min())};
  const auto columns = static_cast<std::ptrdiff_t>(samples.columns.size());
  std::ptrdiff_t in_order = 0;
  while (in_order < columns && samples.columns[static_cast<std::size_t>(in_order)] == in_order)
    ++in_order;
  if (samples.bytes == sizeof(Tick) && in_order == columns && samples.row == columns) {
    loops.extend_rows(static_cast<const Tick*>(samples.data), samples.realizations,
                      samples.columns.size(), found.low.data(), found.high.data());
    return found;
  }
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
    const Tick* row =
        static_cast<const Tick*>(samples.data) + static_cast<std::ptrdiff_t>(r) * samples.row;
    for (std::size_t c = 0; c < columns; ++c)
      *packed++ = static_cast<Offset>(static_cast<std::uint64_t>(row[samples.columns[c]]) -
                                      static_cast<std::uint64_t>(base[c]));
  }
}

template void pack(const SampleColumns& samples, const Tick* base, std::uint8_t* packed);
template void pack(const SampleColumns& samples, const Tick* base, std::uint16_t* packed);
template void pack(const SampleColumns& samples, const Tick* base, std::uint32_t* packed);
template void pack(const SampleColumns& samples, const Tick* base, std::uint64_t* packed);

template <class Offset>
void pack_columns(const SampleColumns& samples, const Tick* base, Offset* packed) {
  constexpr std::size_t kRows = 16;  // of which all columns are in the nearest cache
  for (std::size_t at = 0; at < samples.realizations; at += kRows) {
    const std::size_t size = std::min(kRows, samples.realizations - at);
    const Tick* rows =
        static_cast<const Tick*>(samples.data) + static_cast<std::ptrdiff_t>(at) * samples.row;
    for (std::size_t c = 0; c < samples.columns.size(); ++c) {
      const Tick* from = rows + samples.columns[c];
      Offset* out = packed + c * samples.realizations + at;
      for (std::size_t r = 0; r < size; ++r)
        out[r] = static_cast<Offset>(
            static_cast<std::uint64_t>(from[static_cast<std::ptrdiff_t>(r) * samples.row]) -
            static_cast<std::uint64_t>(base[c]));
    }
  }
}

template void pack_columns(const SampleColumns& samples, const Tick* base, std::uint8_t* packed);
template void pack_columns(const SampleColumns& samples, const Tick* base, std::uint16_t* packed);
template void pack_columns(const SampleColumns& samples, const Tick* base, std::uint32_t* packed);
template void pack_columns(const SampleColumns& samples, const Tick* base, std::uint64_t* packed);

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
  Block block{width, bits};
  for_each_column(
      samples, loops,
      [&](std::size_t c, const Tick* values, std::size_t size) {
        block.put(loops, c, columns, values, low[c], size);
      },
      [&] { block.add(loops, found.sums, found.products); });
  return found;
}

void linear_form(const SampleColumns& samples, const std::vector<Tick>& coefficients, Tick constant,
                 Tick* out) {
  const Loops& loops = choose_loops();
  std::fill_n(out, samples.realizations, constant);
  for_each_column(
      samples, loops,
      [&](std::size_t i, const Tick* values, std::size_t size) {
        loops.add_scaled(values, size, coefficients[i], out);
      },
      [&] { out += kBlock; });
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
    std::size_t counts[3] = {};
    loops.compare(samples[0], samples[1], realizations, counts);
    found.less = counts[0];
    found.more = counts[1];
    found.nonzero = counts[2];
  }

  const std::size_t width = several * static_cast<std::size_t>(found.digits);
  found.sums.assign(width, 0);
  found.products.assign(width * (width + 1) / 2, 0);
  struct Triple {
    std::size_t i, j, k;
  };
  std::vector<Triple> triples;
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = i; j < width; ++j)
      for (std::size_t k = j; k < width; ++k)
        if (several == 1 || i % 2 != j % 2 || j % 2 != k % 2) triples.push_back({i, j, k});
  found.triples.assign(triples.size(), 0);
  Block block{width, bits};
  for (std::size_t at = 0; at < realizations; at += kBlock) {
    const std::size_t size = std::min(kBlock, realizations - at);
    for (std::size_t s = 0; s < several; ++s)
      block.put(loops, s, several, samples[s] + at, found.low[s], size);
    block.add(loops, found.sums, found.products);
    for (std::size_t triple = 0; triple < triples.size(); ++triple) {
      const auto [i, j, k] = triples[triple];
      std::uint64_t sums[3] = {};
      const bool narrow = bits <= kNarrow;
      (narrow ? loops.dot_three_narrow : loops.dot_three)(block.digit(i), block.digit(j),
                                                          block.digit(k), sums);
      const int apart = narrow ? kNarrow : kDigit;
      found.triples[triple] += sums[0] + (Sum{sums[1]} << apart) + (Sum{sums[2]} << 2 * kDigit);
    }
  }
  return found;
}

}  // namespace jf::statistics
