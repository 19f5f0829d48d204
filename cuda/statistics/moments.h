// Exact sums of samples: products of two columns, and of three of one column or a pair. In
// integers, so that they are the same in whatever order realizations are summed up. And what reads
// or writes the columns of samples: their ends, linear forms, and offsets in few bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/ticks.h"

namespace jf::statistics {

__extension__ using Sum = unsigned __int128;

constexpr int kDigit = 32;  // bits: a product of two digits is below 2^64, of three below 2^96

// Columns of samples, wherever they lie: realization r of column c is data[r * row + columns[c]].
// Of Ticks, or of unsigned offsets in fewer bytes.
struct SampleColumns {
  const void* data;
  std::size_t realizations;
  std::ptrdiff_t row;
  std::vector<std::ptrdiff_t> columns;
  int bytes = sizeof(Tick);
};

// The smallest and the largest of each column; of no realizations the ends of int64, the wrong way
// round.
struct Ends {
  std::vector<Tick> low, high;
};
Ends column_ends(const SampleColumns& samples);

// Columns of Ticks less their base, in order realization by realization; Offset is an unsigned type
// that holds them.
template <class Offset>
void pack(const SampleColumns& samples, const Tick* base, Offset* packed);
// The same, column by column.
template <class Offset>
void pack_columns(const SampleColumns& samples, const Tick* base, Offset* packed);

// Sums over realizations of the columns' digits. A column is its smallest value plus the sum of
// digit d times 2^(32 d): the first digits of all columns, then the second ones, if any column
// needs them.
struct CrossMoments {
  std::vector<Tick> base;     // the smallest of each column
  int digits;                 // 1 or 2
  std::vector<Sum> sums;      // of each digit
  std::vector<Sum> products;  // of digits i <= j: (0, 0), (0, 1), ..., (1, 1), ...
};
CrossMoments cross_moments(const SampleColumns& samples);  // at least one realization

// The sum of coefficient * column, and a constant, in each realization: wraps around as int64.
void linear_form(const SampleColumns& samples, const std::vector<Tick>& coefficients, Tick constant,
                 Tick* out);

// The same of one or two runs of samples, and sums of products of three digits i <= j <= k: of two
// runs those that mix both, as each has the others to itself.
struct ThirdMoments {
  std::vector<Tick> low, high;
  int digits;  // of each
  std::vector<Sum> sums, products, triples;
  std::size_t less = 0, more = 0, nonzero = 0;  // of pairs: x < y; x > y; not both 0
};
ThirdMoments third_moments(const std::vector<const Tick*>& samples, std::size_t realizations);

}  // namespace jf::statistics
