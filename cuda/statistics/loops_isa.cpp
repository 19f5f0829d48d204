// The loops of statistics (loops.h), compiled once per instruction set, which JF_ISA names.
// As in cpu/tiles_isa.cpp, only functions that are always inlined are called from here.
#include "statistics/loops.h"

#include <cmath>

#include "cpu/simd_philox.h"

namespace jf::statistics {
namespace {

using Word = std::uint64_t;
using Digit = std::uint32_t;

template <class Item>
void gather_items(const Item* __restrict from, std::ptrdiff_t row, std::size_t n,
                  Tick* __restrict out) {
  if (row == 1)
    for (std::size_t r = 0; r < n; ++r) out[r] = static_cast<Tick>(from[r]);
  else
    for (std::size_t r = 0; r < n; ++r)
      out[r] = static_cast<Tick>(from[static_cast<std::ptrdiff_t>(r) * row]);
}

void gather(const void* from, int bytes, std::ptrdiff_t row, std::size_t n, Tick* out) {
  if (bytes == 1) gather_items(static_cast<const std::uint8_t*>(from), row, n, out);
  if (bytes == 2) gather_items(static_cast<const std::uint16_t*>(from), row, n, out);
  if (bytes == 4) gather_items(static_cast<const Digit*>(from), row, n, out);
  if (bytes == 8) gather_items(static_cast<const Tick*>(from), row, n, out);
}

void extend(const Tick* x, std::size_t n, Tick* low, Tick* high) {
  Tick least = *low, most = *high;
  for (std::size_t r = 0; r < n; ++r) {
    least = x[r] < least ? x[r] : least;
    most = x[r] > most ? x[r] : most;
  }
  *low = least;
  *high = most;
}

void extend_rows(const Tick* __restrict x, std::size_t n, std::size_t columns, Tick* __restrict low,
                 Tick* __restrict high) {
  // Of several rows at once, which fill registers whatever the number of columns.
  constexpr std::size_t kRows = 8, kMost = 64;
  Tick least[kRows * kMost], most[kRows * kMost];
  std::size_t r = 0;
  if (columns <= kMost) {
    const std::size_t several = kRows * columns;
    for (std::size_t i = 0; i < several; ++i) {
      least[i] = low[i % columns];
      most[i] = high[i % columns];
    }
    for (; r + kRows <= n; r += kRows, x += several)
      for (std::size_t i = 0; i < several; ++i) {
        least[i] = x[i] < least[i] ? x[i] : least[i];
        most[i] = x[i] > most[i] ? x[i] : most[i];
      }
    for (std::size_t i = 0; i < several; ++i) {
      extend(least + i, 1, low + i % columns, high + i % columns);
      extend(most + i, 1, low + i % columns, high + i % columns);
    }
  }
  for (; r < n; ++r, x += columns)
    for (std::size_t c = 0; c < columns; ++c) extend(x + c, 1, low + c, high + c);
}

void split(const Tick* __restrict x, Tick base, std::size_t n, Digit* __restrict first,
           Digit* __restrict second) {
  const Word less = static_cast<Word>(base);  // unsigned: a difference of any two is right
  for (std::size_t r = 0; r < n; ++r) first[r] = static_cast<Digit>(static_cast<Word>(x[r]) - less);
  if (second == nullptr) return;
  for (std::size_t r = 0; r < n; ++r)
    second[r] = static_cast<Digit>((static_cast<Word>(x[r]) - less) >> 32);
}

constexpr std::size_t kHalves = 2 * kLanes;  // digits in a register

JF_HD Word total(ULanes lanes) {
  Word sum = 0;
  for (int k = 0; k < kLanes; ++k) sum += lanes[k];
  return sum;
}

// Of one digit and `several` others. Multiplications read the low half of each lane: the digits of
// even realizations. `high_halves` brings those of odd ones there.
template <std::size_t several>
JF_HD void dot_some(const Digit* a, const Digit* b, Word* sums) {
  ULanes found[several] = {};
  for (std::size_t i = 0; i < kBlock; i += kHalves) {
    const ULanes x = load_anywhere(a + i), odd = high_halves(x);
    for (std::size_t j = 0; j < several; ++j) {
      const ULanes y = load_anywhere(b + j * kBlock + i);
      found[j] += multiply32(x, y) + multiply32(odd, high_halves(y));
    }
  }
  for (std::size_t j = 0; j < several; ++j) sums[j] = total(found[j]);
}

void dot_narrow(const Digit* a, const Digit* b, std::size_t several, Word* sums) {
  constexpr std::size_t kAtOnce = 6;
  for (; several >= kAtOnce; several -= kAtOnce, b += kAtOnce * kBlock, sums += kAtOnce)
    dot_some<kAtOnce>(a, b, sums);
  for (; several > 0; --several, b += kBlock) dot_some<1>(a, b, sums++);
}

void dot(const Digit* __restrict a, const Digit* __restrict b, Word* low, Word* high) {
  Word lower = 0, upper = 0;
  for (std::size_t r = 0; r < kBlock; ++r) {
    const Word product = Word{a[r]} * b[r];
    lower += static_cast<Digit>(product);
    upper += product >> 32;
  }
  *low = lower;
  *high = upper;
}

void dot_three(const Digit* __restrict a, const Digit* __restrict b, const Digit* __restrict c,
               Word* sums) {
  Word low = 0, middle = 0, high = 0;
  for (std::size_t r = 0; r < kBlock; ++r) {
    const Word product = Word{a[r]} * b[r];
    const Word lower = Word{static_cast<Digit>(product)} * c[r];
    const Word upper = Word{static_cast<Digit>(product >> 32)} * c[r];
    low += static_cast<Digit>(lower);
    middle += (lower >> 32) + static_cast<Digit>(upper);
    high += upper >> 32;
  }
  sums[0] = low;
  sums[1] = middle;
  sums[2] = high;
}

void dot_three_narrow(const Digit* a, const Digit* b, const Digit* c, Word* sums) {
  ULanes low = {}, high = {};
  const auto add = [&](ULanes x, ULanes y, ULanes z) {
    const ULanes product = multiply32(x, y);
    low += multiply32(product & ((Word{1} << kNarrow) - 1), z);
    high += multiply32(product >> kNarrow, z);
  };
  for (std::size_t i = 0; i < kBlock; i += kHalves) {
    const ULanes x = load_anywhere(a + i), y = load_anywhere(b + i), z = load_anywhere(c + i);
    add(x, y, z);
    add(high_halves(x), high_halves(y), high_halves(z));
  }
  sums[0] = total(low);
  sums[1] = total(high);
}

void compare(const Tick* __restrict x, const Tick* __restrict y, std::size_t n,
             std::size_t* counts) {
  std::size_t less = 0, more = 0, some = 0;
  for (std::size_t r = 0; r < n; ++r) {
    less += x[r] < y[r] ? 1 : 0;
    more += x[r] > y[r] ? 1 : 0;
    some += (x[r] | y[r]) != 0 ? 1 : 0;
  }
  counts[0] += less;
  counts[1] += more;
  counts[2] += some;
}

Word sum(const Digit* a) {
  Word total = 0;
  for (std::size_t r = 0; r < kBlock; ++r) total += a[r];
  return total;
}

void add_scaled(const Tick* __restrict from, std::size_t n, Tick coefficient,
                Tick* __restrict out) {
  const Word times = static_cast<Word>(coefficient);
  for (std::size_t r = 0; r < n; ++r)
    out[r] = static_cast<Tick>(static_cast<Word>(out[r]) + times * static_cast<Word>(from[r]));
}

void quotients(const Tick* x, const Tick* y, std::size_t n, double one, double most, Tick* out) {
  typedef double Doubles __attribute__((vector_size(8 * kLanes)));
  // A number whose size is below 2^51 is in the last digits of its sum with this, as an integer or
  // as a double: that converts, and rounds to the nearest.
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
  constexpr Word kBits = __builtin_bit_cast(Word, kShift), kNear = Word{1} << 51;
  const Doubles unit = Doubles{} + one;
  std::size_t r = 0;
  for (std::size_t end = r; r < n; r = end) {
    if (end = r + kLanes; end <= n) {
      const ULanes a = load_anywhere(x + r), b = load_anywhere(y + r);
      const Doubles top = (Doubles)(a + kBits) - kShift, bottom = (Doubles)(b + kBits) - kShift;
      const ULanes equal = (ULanes)((a | b) == 0);  // 0 / 0
      const ULanes found = ((ULanes)(top / bottom * one) & ~equal) | ((ULanes)unit & equal);
      const Doubles size = (Doubles)(found & ~Word{0} >> 1);
      const ULanes far = ((a + kNear) | (b + kNear)) >> 52;
      if (!any((Lanes)(far != 0) | ~(size < static_cast<double>(kNear)))) {
        const ULanes multiples = (ULanes)((Doubles)found + kShift) - kBits;
        __builtin_memcpy(out + r, &multiples, sizeof multiples);
        continue;
      }
    }
    for (end = end < n ? end : n; r < end; ++r) {
      const double quotient = static_cast<double>(x[r]) / static_cast<double>(y[r]);
      double multiple = std::nearbyint((x[r] == 0 && y[r] == 0 ? 1.0 : quotient) * one);
      multiple = multiple > most ? most : multiple;
      out[r] = static_cast<Tick>(multiple < -most ? -most : multiple);
    }
  }
}

void flag_others(const Tick* __restrict x, const Tick* __restrict atoms,
                 std::size_t* __restrict counts, std::uint8_t* __restrict flags) {
  static_assert(kAtoms == 4);
  const Tick a = atoms[0], b = atoms[1], c = atoms[2], d = atoms[3];
  Word of_a = 0, of_b = 0, of_c = 0, of_d = 0;
  for (std::size_t r = 0; r < kBlock; ++r) {
    of_a += x[r] == a ? 1 : 0;
    of_b += x[r] == b ? 1 : 0;
    of_c += x[r] == c ? 1 : 0;
    of_d += x[r] == d ? 1 : 0;
  }
  for (std::size_t r = 0; r < kBlock; ++r)
    flags[r] = (x[r] != a) & (x[r] != b) & (x[r] != c) & (x[r] != d);
  counts[0] += of_a;
  counts[1] += of_b;
  counts[2] += of_c;
  counts[3] += of_d;
}

void number(const Tick* __restrict x, std::size_t n, int level, bool far, Digit first,
            Digit* __restrict out) {
  constexpr int kKept = kDigits - 1;
  if (far) {
    first -= static_cast<Digit>(level) << kKept;
    for (std::size_t r = 0; r < n; ++r)
      out[r] = static_cast<Digit>(static_cast<Word>(x[r]) >> level) - first;
    return;
  }
  for (std::size_t r = 0; r < n; ++r) {
    const Word size = x[r] < 0 ? 0 - static_cast<Word>(x[r]) : static_cast<Word>(x[r]);
    // The exponent of a double is that of its first digit; without the second one, no double is
    // rounded up to another. Of 0 it is far below.
    const auto rounded = __builtin_bit_cast(Tick, static_cast<double>(size & ~(size >> 1)));
    Tick shift = (rounded >> 52) - 1022 - kDigits;
    shift = shift < 0 ? 0 : shift;
    shift = shift > level ? level : shift;
    const Word found = (static_cast<Word>(shift) << kKept) + (size >> shift);
    out[r] = static_cast<Digit>(x[r] < 0 ? 0 - found : found) - first;
  }
}

}  // namespace

const Loops JF_NAME(loops_, JF_ISA) = {gather,     extend,    extend_rows,      split,   dot_narrow,
                                       dot,        dot_three, dot_three_narrow, compare, sum,
                                       add_scaled, quotients, flag_others,      number};

}  // namespace jf::statistics
