// Program that sums samples up under sanitizers, and compares with plain sums. Prints the
// instruction set, or what is wrong.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "core/engine.h"
#include "statistics/buckets.h"
#include "statistics/loops.h"
#include "statistics/moments.h"

using namespace jf;
using namespace jf::statistics;

namespace {

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

void check_moments(const std::vector<Tick>& values, std::size_t columns) {
  SampleColumns samples{
      values.data(), values.size() / columns, static_cast<std::ptrdiff_t>(columns), {}};
  for (std::size_t c = 0; c < columns; ++c)
    samples.columns.push_back(static_cast<std::ptrdiff_t>(c));
  const CrossMoments found = cross_moments(samples);
  Sum sum = 0, product = 0;  // of the first column's first digit, and with the last digit of all
  const std::size_t width = found.sums.size();
  for (std::size_t r = 0; r < samples.realizations; ++r) {
    const auto offset = [&](std::size_t c) {
      return static_cast<std::uint64_t>(values[r * columns + c]) -
             static_cast<std::uint64_t>(found.base[c]);
    };
    const std::uint64_t digit = static_cast<std::uint32_t>(offset(0));
    sum += digit;
    product +=
        Sum{digit} * (found.digits == 2 ? offset(columns - 1) >> kDigit : offset(columns - 1));
  }
  expect(found.sums[0] == sum && found.products[width - 1] == product, "wrong moments");
  std::vector<Tick> form(samples.realizations), first(samples.realizations);
  linear_form(samples, std::vector<Tick>(columns, -3), 5, form.data());
  for (std::size_t r = 0; r < first.size(); ++r) first[r] = values[r * columns];
  const ThirdMoments third = third_moments({first.data(), form.data()}, first.size());
  const ThirdMoments alone = third_moments({first.data()}, first.size());
  Sum cubes = 0, unlike = 0;  // of x's first digit; of it, twice, and the last digit of y
  for (std::size_t r = 0; r < first.size(); ++r) {
    const auto offset = [&](Tick value, std::size_t s) {
      return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(third.low[s]);
    };
    const std::uint64_t x = static_cast<std::uint32_t>(offset(first[r], 0));
    const std::uint64_t y = third.digits == 2 ? offset(form[r], 1) >> kDigit : offset(form[r], 1);
    cubes += Sum{x * x} * x;
    unlike += Sum{x * x} * y;
  }
  const auto last = static_cast<std::size_t>(third.digits - 1);  // of those of x's first digit
  expect(alone.triples[0] == cubes && third.triples[last] == unlike, "wrong third moments");
  std::vector<Tick> multiples(first.size());
  choose_loops().quotients(first.data(), form.data(), first.size(), 1024.0, 1e6, multiples.data());
}

template <class Offset>
void check_packed(const std::vector<Tick>& values) {
  const SampleColumns samples{values.data(), values.size(), 1, {0}};
  const Tick base = *std::min_element(values.begin(), values.end());
  std::vector<Offset> packed(values.size());
  std::vector<Tick> back(values.size());
  pack(samples, &base, packed.data());
  linear_form({packed.data(), values.size(), 1, {0}, sizeof(Offset)}, {1}, base, back.data());
  expect(back == values, "packed and unpacked are others");
  const SampleColumns rows{values.data(), values.size() / 3, 3, {0, 2}};
  const std::vector<Tick> bases{base, base};
  pack_columns(rows, bases.data(), packed.data());
  const auto third = static_cast<std::uint64_t>(values[2]) - static_cast<std::uint64_t>(base);
  expect(packed[rows.realizations] == static_cast<Offset>(third), "no columns");
}

template <class Sample>
void check_order_statistics(const std::vector<Sample>& values) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < values.size(); i += 1 + i / 2) ranks.push_back(i);
  std::vector<Sample> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto found = order_statistics(values.data(), values.size(), ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    expect(found[i] == sorted[ranks[i]], "wrong order statistics");
}

void check_buckets(const std::vector<Tick>& values) {
  const std::size_t half = values.size() / 2;
  const Histogram whole = count(values.data(), values.size());
  const Histogram merged =
      merge(count(values.data(), half), count(values.data() + half, values.size() - half));
  bool same = whole.level == merged.level && whole.buckets.size() == merged.buckets.size();
  Tick total = 0;
  for (std::size_t i = 0; same && i < whole.buckets.size(); ++i) {
    same = whole.buckets[i].start == merged.buckets[i].start &&
           whole.buckets[i].count == merged.buckets[i].count;
    total += whole.buckets[i].count;
  }
  expect(same && total == static_cast<Tick>(values.size()), "wrong buckets");
}

}  // namespace

int main() {
  std::puts(cpu::instruction_set().c_str());
  std::mt19937_64 draws(1);
  for (const int bits : {1, 20, 28, 29, 32, 33, 64})
    for (const std::size_t count : {1, 255, 256, 257, 40'000}) {
      std::vector<Tick> values(3 * count);
      for (Tick& value : values) value = static_cast<Tick>(draws() >> (64 - bits));
      for (const std::size_t columns : {1, 3}) check_moments(values, columns);
      check_packed<std::uint64_t>(values);
      if (bits <= 32) check_packed<std::uint32_t>(values);
      if (bits == 1) check_packed<std::uint8_t>(values);
      check_buckets(values);
      check_order_statistics(values);
      check_order_statistics(std::vector<double>(values.begin(), values.end()));
    }
}
