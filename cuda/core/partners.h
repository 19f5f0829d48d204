// Partners of a message step: which rank sends to which (shift, xor, binomial tree, list). In a
// turn a rank sends and receives at most one message.
#pragma once

#include "core/program.h"

namespace jf {

enum PartnerMap : std::int32_t {
  kShift = 0,  // a: distance. i sends to (i + a) mod N; a = 0: no rank sends
  kXor = 1,    // a: mask, b: end. i < b sends to i xor a
  // a: stride, b: end, c: direction. Pairs are i and i + a, for all multiples i of 2 a with
  // i + a < b. c != 0: i sends to i + a (down the tree); c = 0: i + a sends to i (up the tree).
  kTree = 2,
  kRange = 3,  // a: begin, b: end, c: distance. i in [a, b) sends to i + c
  // Messages [a, b) of ProgramView::listed_messages, each with a cost entry of its own: where the
  // other maps do not fit, or messages of a step differ in their costs. They are in the order of
  // their senders; a rank receives at most one. c: whether no rank sends and receives (set by
  // Program).
  kListed = 4,
};

constexpr std::int64_t kNoRank = -1;

// The messages of a turn, numbered from 0 in the order of their senders. Those that are not listed
// go from ranks first, first + stride, ... to (rank xor mask) + distance, modulo the ranks. In 32
// bits, which ranks fit: kernels have few registers.
struct TurnMessages {
  std::int64_t count;
  const ListedMessage* all_listed;  // those of the program
  std::uint32_t ranks, first = 0, stride = 1, mask = 0, distance = 0;
  std::int32_t cost;
  bool listed = false;  // from number `first` on

  JF_HD TurnMessages(const Step& s, std::int64_t of_ranks, const ListedMessage* of_program)
      : count(std::int64_t{s.b} - s.a),
        all_listed(of_program),
        ranks(static_cast<std::uint32_t>(of_ranks)),
        cost(s.cost) {
    const auto a = static_cast<std::uint32_t>(s.a), c = static_cast<std::uint32_t>(s.c);
    switch (s.map) {
      case kShift:
        count = s.a == 0 ? 0 : of_ranks;
        distance = a;
        break;
      case kXor:
        count = s.b;
        mask = a;
        break;
      case kTree:
        stride = 2 * a;
        count = count > 0 ? (static_cast<std::uint32_t>(count) + stride - 1) / stride : 0;
        first = s.c != 0 ? 0 : a;
        distance = s.c != 0 ? a : 0 - a;
        break;
      case kRange:
        first = a;
        distance = c;
        break;
      default:
        first = a;
        listed = true;
    }
  }

  struct Ranks {
    std::int64_t from, to;
  };
  // Of message k, which is not listed.
  JF_HD Ranks ranks_of(std::int64_t k) const {
    const std::uint32_t from = first + static_cast<std::uint32_t>(k) * stride;
    std::uint32_t to = (from ^ mask) + distance;
    if (to >= ranks) to -= ranks;
    return {from, to};
  }
  JF_HD ListedMessage operator[](std::int64_t k) const {
    if (listed) return all_listed[first + k];
    const Ranks found = ranks_of(k);
    return {static_cast<std::int32_t>(found.from), static_cast<std::int32_t>(found.to), cost};
  }
};

// Whether no rank both sends and receives in a turn.
JF_HD bool goes_one_way(const Step& s) {
  if (is_half(s)) return false;
  if (s.map == kTree) return true;
  if (s.map == kListed) return s.c != 0;
  const std::int64_t distance = s.c < 0 ? -std::int64_t{s.c} : std::int64_t{s.c};
  return s.map == kRange && std::int64_t{s.b} - s.a <= distance;
}

// The rank with which rank i exchanges forwards, or kNoRank.
JF_HD std::int64_t forward_partner(const Step& s, std::int64_t ranks, std::int64_t i) {
  const std::int64_t partner = i ^ std::int64_t{1} << s.round;
  return partner < ranks ? partner : kNoRank;
}

// What the forward of a rank costs where the forwards of a step differ in their transit: then their
// map is kListed, and the list has one message of each rank. Else null.
JF_HD const MessageCost* forward_cost(const Step& s, const ProgramView& p, std::int64_t sender) {
  if (s.map != kListed) return nullptr;
  return p.message_costs + p.listed_messages[s.a + sender].cost;
}

}  // namespace jf
