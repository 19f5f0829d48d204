// Senders and receivers of a message step. In a turn a rank sends and receives at most one message.
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
};

constexpr std::int64_t kNoRank = -1;

// The rank to which rank i sends, or kNoRank.
JF_HD std::int64_t receiver_of(const Step& s, std::int64_t ranks, std::int64_t i) {
  switch (s.map) {
    case kShift: {
      const std::int64_t to = i + s.a;
      return s.a == 0 ? kNoRank : to < ranks ? to : to - ranks;
    }
    case kXor:
      return i < s.b ? i ^ s.a : kNoRank;
    case kTree: {
      const std::int64_t place = i & (2 * std::int64_t{s.a} - 1);
      if (s.c != 0) return place == 0 && i + s.a < s.b ? i + s.a : kNoRank;
      return place == s.a && i < s.b ? i - s.a : kNoRank;
    }
    default:
      return i >= s.a && i < s.b ? i + s.c : kNoRank;
  }
}

// The rank whose message rank i receives, or kNoRank.
JF_HD std::int64_t sender_of(const Step& s, std::int64_t ranks, std::int64_t i) {
  switch (s.map) {
    case kShift:
      return s.a == 0 ? kNoRank : i < s.a ? i - s.a + ranks : i - s.a;
    case kXor:
      return receiver_of(s, ranks, i);
    case kTree: {
      const std::int64_t place = i & (2 * std::int64_t{s.a} - 1);
      if (s.c != 0) return place == s.a && i < s.b ? i - s.a : kNoRank;
      return place == 0 && i + s.a < s.b ? i + s.a : kNoRank;
    }
    default:
      return i - s.c >= s.a && i - s.c < s.b ? i - s.c : kNoRank;
  }
}

// The messages of a turn are numbered from 0: their count, and the sender of number k.
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

// The rank with which rank i exchanges forwards, or kNoRank.
JF_HD std::int64_t forward_partner(const Step& s, std::int64_t ranks, std::int64_t i) {
  const std::int64_t partner = i ^ std::int64_t{1} << s.round;
  return partner < ranks ? partner : kNoRank;
}

}  // namespace jf
