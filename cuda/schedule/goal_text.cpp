// Reads GOAL text (application traces; LogGOPSim's txt2bin): parser, errors by line; no wildcards.
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 100 cpu 0
//   l2: send 8b to 1 tag 3 cpu 0 nic 0
//   l2 requires l1
//   }
//
// Sends and receives are matched in arrival_order.cpp. Labels are letters, digits and _, and begin
// with a letter. They need not be there. `requires` and `irequires` name labels that stand above.
// // and /* */ are comments.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "schedule/schedule.h"

namespace jf::schedule {
namespace {

using Text = std::string_view;
const std::string kTag = "tag", kPeer = "the other rank";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }

// The labels of one rank. Nearly all are a prefix and a number that grows: these need no hashing.
class Labels {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void clear() {
    if (numbered_.capacity() > kKept) std::vector<std::uint32_t>().swap(numbered_);
    numbered_.clear();
    others_.clear();
    prefix_.clear();
    count_ = 0;
  }
  std::uint32_t find(Text label) const {
    std::uint64_t number;
    if (split(label, number) && number < numbered_.size() && numbered_[number] != kNone)
      return numbered_[number];
    if (others_.empty()) return kNone;
    const auto found = others_.find(std::string(label));
    return found == others_.end() ? kNone : found->second;
  }
  // Whether it is new.
  bool add(Text label, std::uint32_t operation) {
    if (find(label) != kNone) return false;
    if (count_++ == 0) prefix_ = label.substr(0, prefix_length(label));
    std::uint64_t number;
    if (split(label, number) && number < 4 * count_ + kFew) {
      if (number >= numbered_.size()) numbered_.resize(number + 1, kNone);
      numbered_[number] = operation;
    } else {
      others_.emplace(label, operation);
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kFew = 1024;
  static constexpr std::size_t kKept = 1 << 20;

  static std::size_t prefix_length(Text label) {
    std::size_t n = label.size();
    while (n > 1 && is_digit(label[n - 1])) --n;
    while (n + 1 < label.size() && label[n] == '0') ++n;  // 07 is not 7
    return n;
  }
  bool split(Text label, std::uint64_t& number) const {
    const std::size_t n = prefix_length(label);
    if (n == label.size() || label.size() - n > 10 || label.substr(0, n) != prefix_) return false;
    number = 0;
    for (const char c : label.substr(n)) number = 10 * number + static_cast<std::uint64_t>(c - '0');
    return true;
  }

  std::string prefix_;
  std::uint64_t count_ = 0;
  std::vector<std::uint32_t> numbered_;
  std::unordered_map<std::string, std::uint32_t> others_;
};

class Reader {
 public:
  Reader(const char* begin, const char* end, Writer& writer)
      : at_(begin), end_(end), writer_(writer) {}

  void read() {
    skip_lines();
    if (at_ == end_) fail("the schedule is empty: it must begin with num_ranks N");
    if (word() != "num_ranks") fail("expected num_ranks N, got '" + shown() + "'");
    next();
    writer_.begin(static_cast<std::uint32_t>(number("the number of ranks", 1, kMostRanks)));
    end_line();
    std::uint32_t left = writer_.ranks();
    for (skip_lines(); at_ != end_; skip_lines(), --left) rank();
    if (left == 0) return;
    std::uint32_t missing = 0;
    while (writer_.has(missing)) ++missing;
    fail("the schedule ends without rank " + std::to_string(missing) + " of " +
         std::to_string(writer_.ranks()));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Malformed(line_, what); }

  // --- Characters and words.

  void skip_comment() {
    const std::uint64_t began = line_;
    for (at_ += 2; end_ - at_ >= 2 && !(at_[0] == '*' && at_[1] == '/'); ++at_)
      line_ += *at_ == '\n';
    if (end_ - at_ < 2) {
      line_ = began;
      fail("a comment /* is not closed");
    }
    at_ += 2;
  }
  void skip_blanks() {
    for (; at_ != end_; ++at_) {
      if (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') continue;
      if (*at_ == '/' && end_ - at_ >= 2 && at_[1] == '/') {
        while (at_ != end_ && *at_ != '\n') ++at_;
        return;
      }
      if (*at_ != '/' || end_ - at_ < 2 || at_[1] != '*') return;
      skip_comment();
      --at_;
    }
  }
  void skip_lines() {
    for (skip_blanks(); at_ != end_ && *at_ == '\n'; skip_blanks()) {
      ++line_;
      ++at_;
    }
  }
  Text word() const {
    const char* to = at_;
    while (to != end_ && is_of_word(*to)) ++to;
    return {at_, static_cast<std::size_t>(to - at_)};
  }
  void next() {
    at_ += word().size();
    skip_blanks();
  }
  // What stands there, for messages.
  std::string shown() const {
    if (at_ == end_) return "the end of the file";
    if (*at_ == '\n') return "the end of the line";
    const Text all = word();
    if (!all.empty()) return std::string(all.substr(0, 40));
    const auto c = static_cast<unsigned char>(*at_);
    if (c >= 32 && c < 127) return std::string(1, *at_);
    constexpr char kHex[] = "0123456789abcdef";
    return std::string("byte 0x") + kHex[c >> 4] + kHex[c & 15];
  }
  bool take(Text expected) {
    if (word() != expected) return false;
    next();
    return true;
  }
  void take_sign(char sign) {
    if (at_ == end_ || *at_ != sign)
      fail("expected " + std::string(1, sign) + ", got '" + shown() + "'");
    ++at_;
  }
  void end_line() const {
    if (at_ != end_ && *at_ != '\n' && *at_ != '}')
      fail("expected the end of the line, got '" + shown() + "'");
  }
  std::uint64_t digits(const std::string& what, std::uint64_t low, std::uint64_t high) {
    const auto refuse = [&](const std::string& got) {
      fail(what + " must be an integer from " + std::to_string(low) + " to " +
           std::to_string(high) + ", got '" + got + "'");
    };
    if (at_ == end_ || !is_digit(*at_)) {
      const bool may_be_any = what == kTag || what == kPeer;
      if (may_be_any && end_ - at_ >= 2 && at_[0] == '-' && at_[1] == '1')
        fail(what +
             " is -1, which means any: receives from any source or with any tag are not "
             "supported, as it must be known before the run which message they take");
      refuse(shown());
    }
    const char* const begin = at_;
    std::uint64_t value = 0;
    for (; at_ != end_ && is_digit(*at_); ++at_) {
      value = 10 * value + static_cast<std::uint64_t>(*at_ - '0');
      if (value > high) {
        while (at_ != end_ && is_digit(*at_)) ++at_;
        refuse(
            std::string(begin, std::min<std::size_t>(40, static_cast<std::size_t>(at_ - begin))));
      }
    }
    if (value < low) refuse(std::to_string(value));
    return value;
  }
  std::uint64_t number(const std::string& what, std::uint64_t low, std::uint64_t high) {
    const std::uint64_t value = digits(what, low, high);
    if (at_ != end_ && is_of_word(*at_))
      fail(what + " must be followed by a blank, got '" + shown() + "'");
    skip_blanks();
    return value;
  }

  // --- Parts of a schedule.

  void rank() {
    if (!take("rank")) fail("expected rank N {, got '" + shown() + "'");
    const auto which = static_cast<std::uint32_t>(number("the rank", 0, writer_.ranks() - 1));
    if (writer_.has(which)) fail("rank " + std::to_string(which) + " is there twice");
    rank_ = which;
    take_sign('{');
    const std::uint64_t began = line_;
    for (skip_lines(); at_ != end_ && *at_ != '}'; skip_lines()) item();
    if (at_ == end_)
      throw Malformed(began, "rank " + std::to_string(which) + " is not closed with }");
    ++at_;
    writer_.end_rank(which);
    labels_.clear();
  }

  void item() {
    const Text first = word();
    if (first.empty() || !is_letter(first[0]))
      fail("expected a label, calc, send, recv or }, got '" + shown() + "'");
    next();
    if (at_ != end_ && *at_ == ':') {
      take_sign(':');
      skip_blanks();
      const Text kind = word();
      next();
      const std::uint32_t added = operation(kind);
      if (!labels_.add(first, added))
        fail("label " + std::string(first.substr(0, 40)) + " is there twice");
    } else if (const Text verb = word(); verb == "requires" || verb == "irequires") {
      next();
      const std::uint32_t later = labelled(first), sooner = labelled(word());
      if (later == sooner) fail("an operation can not wait for itself");
      next();
      writer_.depend(later, sooner, verb == "irequires");
    } else {
      operation(first);
    }
    end_line();
  }
  std::uint32_t labelled(Text label) const {
    const std::uint32_t found = labels_.find(label);
    if (found == Labels::kNone) {
      if (label.empty()) fail("expected a label, got '" + shown() + "'");
      fail("label " + std::string(label.substr(0, 40)) + " does not stand above");
    }
    return found;
  }
  std::uint32_t operation(Text kind) {
    Operation o{};
    o.line = static_cast<std::uint32_t>(std::min<std::uint64_t>(line_, ~std::uint32_t{0}));
    if (kind == "calc") {
      o.kind = kCalculate;
      o.size = number("the time of calc, in ns,", 0, kLongest);
    } else if (kind == "send" || kind == "recv") {
      o.kind = kind == "send" ? kSend : kReceive;
      o.size = digits("the bytes of a message", 0, kLongest);
      if (!take("b")) fail("expected b after the bytes of a message, got '" + shown() + "'");
      const Text towards = kind == "send" ? "to" : "from";
      if (!take(towards)) fail("expected " + std::string(towards) + ", got '" + shown() + "'");
      o.peer = static_cast<std::uint32_t>(number(kPeer, 0, writer_.ranks() - 1));
      if (o.peer == rank_) fail("a rank can not send to itself, or receive from itself");
    } else {
      fail("expected calc, send or recv, got '" + std::string(kind.substr(0, 40)) + "'");
    }
    for (bool tag = false, cpu = false, nic = false;;) {
      if (!tag && o.kind != kCalculate && take("tag")) {
        o.tag = static_cast<std::uint32_t>(number(kTag, 0, ~std::uint32_t{0} - 1));
        tag = true;
      } else if (!cpu && take("cpu")) {
        o.cpu = static_cast<std::uint8_t>(number("cpu", 0, 255));
        cpu = true;
      } else if (!nic && o.kind != kCalculate && take("nic")) {
        o.nic = static_cast<std::uint8_t>(number("nic", 0, 255));
        nic = true;
      } else {
        return writer_.add(o);
      }
    }
  }

  const char *at_, *const end_;
  Writer& writer_;
  Labels labels_;
  std::uint64_t line_ = 1;
  std::uint32_t rank_ = 0;
};

}  // namespace

void read_goal_text(const char* begin, const char* end, Writer& writer) {
  Reader(begin, end, writer).read();
}

}  // namespace jf::schedule
