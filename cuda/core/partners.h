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

// How many messages a turn has; they are numbered from 0, in the order of their senders.
JF_HD std::int64_t message_count(const Step& s, std::int64_t ranks) {
  switch (s.map) {
    case kShift:
      return s.a == 0 ? 0 : ranks;
    case kXor:
      return s.b;
    case kTree: {
      const std::int64_t beyond = std::int64_t{s.b} - s.a, pair = 2 * std::int64_t{s.a};
      return beyond > 0 ? (beyond + pair - 1) / pair : 0;
    }
    default:
      return s.b > s.a ? s.b - s.a : 0;
  }
}

// Message number k of a turn. `listed`: those of the program.
JF_HD ListedMessage numbered_message(const Step& s, std::int64_t ranks, const ListedMessage* listed,
                                     std::int64_t k) {
  if (s.map == kListed) return listed[s.a + k];
  std::int64_t from = k, to = 0;
  switch (s.map) {
    case kShift:
      to = from + s.a < ranks ? from + s.a : from + s.a - ranks;
      break;
    case kXor:
      to = from ^ s.a;
      break;
    case kTree: {
      const std::int64_t upper = 2 * k * s.a, lower = upper + s.a;
      from = s.c != 0 ? upper : lower;
      to = s.c != 0 ? lower : upper;
      break;
    }
    default:
      from = s.a + k;
      to = from + s.c;
  }
  return {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), s.cost};
}

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
