// Draws a random delay, gap or duration of any distribution from 64 random bits, u (inverse CDF).
// The inverse transform is by integer tables (delay_tables.h). No library's logarithm decides a
// bit. Small u are rare, long delays.
//
// Nearly always the high half of u is enough, and the low half need not be drawn. Probabilities
// stay exact, and so do samples of a certain delay: only a high half that is equal to that of a
// threshold does not decide. A delay that does not always happen is a function of the high half of
// the stretched u (Stretch). Between nodes, delays are interpolated at the high half, except for
// the 2^20 lowest and the 2^20 highest high halves, the tails.
#pragma once

#include "noise/delay_tables.h"

namespace jf {

enum DelayKind : std::int32_t {
  kConstantDelay,
  kSmoothDelay,   // inverse survival function on log-linear nodes, dense at both ends
  kSampledDelay,  // one of several equally likely values
  kPieceDelay,    // inverse survival function, linear between any nodes
  kCountedDelay,  // a number of events times a value
};

// Maps [0, n) onto [0, 2^64).
struct Stretch {
  std::uint64_t shift, factor;

  template <class U>
  JF_HD U operator()(U u) const {
    return scale64(u << shift, factor) << 1;
  }
};

// A Quick type computes the delays of many high halves without branches. Flags mark those for which
// the result is invalid. This one is for delays that are nearly always 0, which is above `edge`.
struct QuickNone {
  std::uint64_t edge;

  // Whether it is worth it: one invalid draw may take as long as a register of valid ones.
  JF_HD bool nearly_always() const { return edge < kMaxHigh / 64; }

  template <class U>
  JF_HD Position<U> place(U high, U& flags) const {
    flags = flags | (high - edge - 1u);
    return {high, high};
  }
  // If one of these bits is set in `flags`, the delay is invalid.
  JF_HD static std::uint64_t invalid_bits() { return std::uint64_t{1} << 63; }

  template <class T, class U>
  JF_HD T delay(const Position<U>& at) const {
    return (T)at.cell - (T)at.cell;
  }
};

struct Delay {
  std::int32_t kind, certain;
  std::uint64_t last;            // a delay happens if u <= last; certain: always
  std::uint64_t undecided_from;  // not certain: from this high half on the low half is needed
  Stretch conditional;           // of u <= last
  Tick value;
  std::int64_t table, count;  // offset of the table in the words of the program, its entries
  // Offset of the compact table, or -1 if its entries do not fit: a word for each cell outside the
  // tails, high half the value, low half twice the signed rise, or a piece's slope. For samples
  // half a word for each value.
  std::int64_t compact;
  std::int32_t guide_bits, guide_octaves;  // of a piecewise delay

  template <class U>
  using MaskOf = decltype(U{} < U{});

  // T, U: Tick and uint64, or Lanes and ULanes.
  template <class T, class U>
  JF_HD T of(U u, const std::uint64_t* words) const;

  // Whether a high half does not decide the delay.
  template <class U>
  JF_HD MaskOf<U> undecided(U high, const std::uint64_t* words) const {
    const std::uint64_t last_high = last >> 32;
    if (!certain && kind == kConstantDelay) return high == last_high;
    if (!certain) return (high <= last_high) & ((high < kTail) | (high >= undecided_from));
    switch (kind) {
      case kConstantDelay:
        return high != high;
      case kSampledDelay: {
        const Samples all = samples(words);
        return all.differing_bits(all.product(high)) >> std::uint64_t{32} != 0;
      }
      case kCountedDelay:
        return on_edge(high, words + table);
      case kSmoothDelay:
        return in_tail(high);
      default:
        return high - kTail >= kMaxHigh + 1 - 2 * kTail;
    }
  }

  // any(undecided(high, words)). The common kinds avoid the conversion of masks to registers.
  template <class U>
  JF_HD bool any_undecided(U high, const std::uint64_t* words) const {
    if (certain && kind == kSmoothDelay)
      return any_above(high - high + kTail, distance_from_end(high));
    if (certain && kind == kPieceDelay)
      return any_above(high - kTail, high - high + (kMaxHigh - 2 * kTail));
    return any(undecided(high, words));
  }

  // The delay, where the high half decides.
  template <class T, class U>
  JF_HD T from_high(U high, const std::uint64_t* words) const {
    if (certain) return certain_from_high<T>(high, words);
    const auto happens = high <= last >> 32;
    const T none = (T)high - (T)high;
    if (kind == kConstantDelay) return select(happens, none + value, none);
    if (!any(happens)) return none;
    // The other lanes get any value outside the tails.
    const U v = conditional(select(happens, high, high - high + kTail) << std::uint64_t{32});
    return select(happens, certain_from_high<T>(v >> std::uint64_t{32}, words), none);
  }

  // Calls f with the Quick type of this delay; returns false if there is none.
  template <class F>
  JF_HD bool with_quick(const std::uint64_t* words, F&& f) const {
    if (!certain || kind == kConstantDelay) return false;
    if (kind == kCountedDelay) {
      const QuickNone none{count > 0 ? words[table] >> 32 : 0};
      if (none.nearly_always()) f(none);
      return none.nearly_always();
    }
    if (kind == kSampledDelay)
      compact < 0 ? f(QuickSamples<false>{samples(words)}) : f(QuickSamples<true>{samples(words)});
    else if (kind == kSmoothDelay)
      compact < 0 ? f(QuickSmooth<false>{words + table}) : f(QuickSmooth<true>{words + compact});
    else if (guide_octaves != 0)
      compact < 0 ? f(QuickPieces<false, true>{pieces(words)})
                  : f(QuickPieces<true, true>{pieces(words)});
    else
      compact < 0 ? f(QuickPieces<false, false>{pieces(words)})
                  : f(QuickPieces<true, false>{pieces(words)});
    return true;
  }

  // The delay of all 64 bits.
  JF_HD_RARE Tick from_both(std::uint64_t u, const std::uint64_t* words) const {
    if (u > last) return 0;
    const std::uint64_t v = certain ? u : conditional(u);
    switch (kind) {
      case kConstantDelay:
        return value;
      case kSmoothDelay:
        return smooth<Tick>(v, words + table);
      case kSampledDelay:
        return sample<Tick>(scale64(v, static_cast<std::uint64_t>(count)), words);
      case kPieceDelay:
        return pieces(words).from_both(v);
      default:
        return counted<Tick>(v, words + table);
    }
  }

 private:
  JF_HD Samples samples(const std::uint64_t* words) const {
    return {words + (compact < 0 ? table : compact), static_cast<std::uint64_t>(count)};
  }
  template <class T, class U>
  JF_HD T sample(U index, const std::uint64_t* words) const {
    return compact < 0 ? samples(words).value<false, T>(index)
                       : samples(words).value<true, T>(index);
  }

  JF_HD Pieces pieces(const std::uint64_t* words) const {
    return {{words + table, guide_bits, guide_octaves},
            words + table + Guide::words(guide_bits, guide_octaves != 0),
            compact < 0 ? nullptr : words + compact,
            static_cast<std::uint64_t>(count - 1)};
  }

  template <class T, class U>
  JF_HD_RARE T certain_from_high(U high, const std::uint64_t* words) const {
    switch (kind) {
      case kConstantDelay:
        return (T)high - (T)high + value;
      case kSmoothDelay:
        if (compact >= 0)
          return compact_smooth<T>(smooth_position(high, distance_from_end(high), kCompactSide),
                                   words + compact);
        return smooth<T>(high << std::uint64_t{32} | (high >> std::uint64_t{31}) * kMaxHigh,
                         words + table);
      case kSampledDelay:
        return sample<T>(samples(words).product(high) >> std::uint64_t{32}, words);
      case kPieceDelay:
        return pieces(words).template from_high<T>(high);
      default:
        return counted<T>(high << std::uint64_t{32}, words + table);
    }
  }

  template <class T, class U>
  JF_HD T counted(U v, const std::uint64_t* survival) const {
    const T none = (T)v - (T)v;
    T k = none;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto more = v < survival[i];
      if (!any(more)) break;
      k = k + select(more, none + value, none);
    }
    return k;
  }

  template <class U>
  JF_HD MaskOf<U> on_edge(U high, const std::uint64_t* survival) const {
    MaskOf<U> equal = high != high;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t edge = survival[i] >> 32;
      equal = equal | (high == edge);
      if (!any(high <= edge)) break;
    }
    return equal;
  }
};

// Not inlined: renewal noise draws at a dozen places, and each copy has the code of all kinds.
template <class T, class U>
JF_HD_COLD T delay_at(const Delay& delay, U u, const std::uint64_t* words) {
  const U high = u >> std::uint64_t{32};
  if (!delay.any_undecided(high, words)) return delay.from_high<T>(high, words);
  if constexpr (sizeof(T) == sizeof(Tick)) {
    return delay.from_both(u, words);
  } else {
    T each{};
    for (unsigned k = 0; k < sizeof(T) / sizeof(Tick); ++k)
      each[k] = delay_at<Tick>(delay, std::uint64_t{u[k]}, words);
    return each;
  }
}

template <class T, class U>
JF_HD T Delay::of(U u, const std::uint64_t* words) const {
  return delay_at<T>(*this, u, words);
}

}  // namespace jf
