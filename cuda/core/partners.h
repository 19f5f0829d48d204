// Who sends to whom in a message step. A rank sends at most one message, and receives at most one.
#pragma once

#include "core/program.h"

namespace jf {

enum PartnerMap : std::int32_t {
  kShift = 0,  // a: distance. i sends to (i + a) mod N; a = 0: nobody sends
  kXor = 1,    // a: mask, b: below. i < b sends to i xor a
  // a: stride, b: below, c: down. i and i + a where i is a multiple of 2 a and i + a < b: down from
  // i to i + a, else up from i + a to i.
  kTree = 2,
  kRange = 3,  // a: begin, b: end, c: distance. i in [a, b) sends to i + c
};

constexpr std::int64_t kNobody = -1;

// The rank to which i sends, or kNobody.
JF_HD std::int64_t receiver_of(const Step& s, std::int64_t ranks, std::int64_t i) {
  switch (s.map) {
    case kShift: {
      const std::int64_t to = i + s.a;
      return s.a == 0 ? kNobody : to < ranks ? to : to - ranks;
    }
    case kXor:
      return i < s.b ? i ^ s.a : kNobody;
    case kTree: {
      const std::int64_t place = i & (2 * std::int64_t{s.a} - 1);
      if (s.c != 0) return place == 0 && i + s.a < s.b ? i + s.a : kNobody;
      return place == s.a && i < s.b ? i - s.a : kNobody;
    }
    default:
      return i >= s.a && i < s.b ? i + s.c : kNobody;
  }
}

// The rank whose message i receives, or kNobody.
JF_HD std::int64_t sender_of(const Step& s, std::int64_t ranks, std::int64_t i) {
  switch (s.map) {
    case kShift:
      return s.a == 0 ? kNobody : i < s.a ? i - s.a + ranks : i - s.a;
    case kXor:
      return receiver_of(s, ranks, i);
    case kTree: {
      const std::int64_t place = i & (2 * std::int64_t{s.a} - 1);
      if (s.c != 0) return place == s.a && i < s.b ? i - s.a : kNobody;
      return place == 0 && i + s.a < s.b ? i + s.a : kNobody;
    }
    default:
      return i - s.c >= s.a && i - s.c < s.b ? i - s.c : kNobody;
  }
}

// The messages of a turn, numbered: how many there are, and who sends number k.
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
JF_HD std::int64_t numbered_sender(const Step& s, std::int64_t k) {
  switch (s.map) {
    case kTree:
      return 2 * k * s.a + (s.c != 0 ? 0 : s.a);
    case kRange:
      return s.a + k;
    default:
      return k;
  }
}

// Whether no rank both sends and receives in a turn.
JF_HD bool goes_one_way(const Step& s) {
  if (s.map == kTree) return true;
  const std::int64_t distance = s.c < 0 ? -std::int64_t{s.c} : std::int64_t{s.c};
  return s.map == kRange && std::int64_t{s.b} - s.a <= distance;
}

// The rank that a forward joins with i, or kNobody.
JF_HD std::int64_t forward_partner(const Step& s, std::int64_t ranks, std::int64_t i) {
  const std::int64_t partner = i ^ std::int64_t{1} << s.round;
  return partner < ranks ? partner : kNobody;
}

}  // namespace jf
