// Reads LogGOPSim's binary GOAL (application traces), as its txt2bin writes it (its Parser.hpp).
// Numbers are little-endian and not aligned; offsets count from behind the cookie:
//
//   u64 cookie 4223 | u32 ranks, u8 largest cpu, u8 largest nic | u64 begin, u64 end of each rank
//   rank: u32 nodes, u32 roots | u32[roots] | nodes of 39 bytes | u32 appendix
//   node: u32 requirements, u8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//         u32 count and u32 begin of dependents in the appendix, the same of those on its start
#include <algorithm>
#include <cstring>

#include "schedule/schedule.h"

namespace jf::schedule {
namespace {

constexpr std::uint64_t kCookie = 4223, kSpentCookie = 2342, kNode = 39;
constexpr std::uint32_t kAny = ~std::uint32_t{0};

class Reader {
 public:
  Reader(const char* begin, const char* end, Writer& writer)
      : data_(begin + 8),
        bytes_(static_cast<std::uint64_t>(end - begin) - 8),
        end_(bytes_),
        writer_(writer) {}

  void read() {
    const auto ranks = get<std::uint32_t>(0);
    if (ranks == 0 || ranks > kMostRanks) refuse("its number of ranks is " + std::to_string(ranks));
    unread_ = bytes_;
    const std::uint64_t table_end = 6 + 16 * std::uint64_t{ranks};
    consume(table_end);
    writer_.begin(ranks);
    for (rank_ = 0; rank_ < ranks; ++rank_) {
      begin_ = get<std::uint64_t>(6 + 16 * std::uint64_t{rank_});
      const auto end = get<std::uint64_t>(14 + 16 * std::uint64_t{rank_});
      if (end > bytes_) refuse("it is too short");
      if (begin_ > end) refuse(rank_name() + " ends before it begins");
      if (begin_ < table_end) refuse(rank_name() + " begins in the table of ranks");
      end_ = end;
      rank();
      end_ = bytes_;
      writer_.end_rank(rank_);
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    throw Malformed(0, "LogGOPSim's binary schedule is damaged: " + what);
  }
  std::string rank_name() const { return "rank " + std::to_string(rank_); }
  // All that is read in a file that is not damaged is read once. Ranks or lists of dependents that
  // overlap could let a small file become any number of operations.
  void consume(std::uint64_t bytes) {
    if (bytes > unread_) refuse("it is too short for what its ranks hold");
    unread_ -= bytes;
  }
  [[noreturn]] void refuse_operation(std::uint32_t i, const std::string& what) const {
    throw Malformed(0, rank_name() + ", operation " + std::to_string(i) + ": " + what);
  }
  template <class T>
  T get(std::uint64_t place) const {
    if (place > end_ || end_ - place < sizeof(T))
      refuse(end_ < bytes_ ? rank_name() + " is longer than its place" : "it is too short");
    T value;
    std::memcpy(&value, data_ + place, sizeof value);
    return value;
  }

  void rank() {
    const auto count = get<std::uint32_t>(begin_), roots = get<std::uint32_t>(begin_ + 4);
    if (count > bytes_ / kNode) refuse("it is too short");
    consume(8 + 4 * std::uint64_t{roots} + kNode * count);
    const std::uint64_t nodes = begin_ + 8 + 4 * std::uint64_t{roots};
    const std::uint64_t appendix = nodes + kNode * count;
    for (std::uint32_t i = 0; i < count; ++i) add(i, nodes + kNode * i);
    for (std::uint32_t i = 0; i < count; ++i) {
      depend(i, count, nodes + kNode * i + 23, appendix, false);
      depend(i, count, nodes + kNode * i + 31, appendix, true);
    }
  }
  void add(std::uint32_t i, std::uint64_t node) {
    Operation o{};
    o.kind = get<std::uint8_t>(node + 4);
    o.size = get<std::uint64_t>(node + 9);
    o.cpu = get<std::uint8_t>(node + 21);
    o.nic = get<std::uint8_t>(node + 22);
    if (o.kind < kSend || o.kind > kCalculate) refuse_operation(i, "its type is unknown");
    if (o.size > kLongest) refuse_operation(i, "its size is above 2^52");
    if (o.kind != kCalculate) {
      o.peer = get<std::uint32_t>(node + 5);
      o.tag = get<std::uint32_t>(node + 17);
      if (o.peer == kAny || o.tag == kAny)
        refuse_operation(i,
                         "receives from any source or with any tag are not supported, as it "
                         "must be known before the run which message they take");
      if (o.peer >= writer_.ranks() || o.peer == rank_)
        refuse_operation(i, "there is no such peer");
    }
    writer_.add(o);
  }
  void depend(std::uint32_t i, std::uint32_t count, std::uint64_t place, std::uint64_t appendix,
              bool on_start) {
    const std::uint64_t n = get<std::uint32_t>(place), from = get<std::uint32_t>(place + 4);
    consume(4 * n);
    for (std::uint64_t k = from; k < from + n; ++k) {
      const auto later = get<std::uint32_t>(appendix + 4 * k);
      if (later >= count || later == i) refuse_operation(i, "what depends on it is not there");
      writer_.depend(later, i, on_start);
    }
  }

  const char* const data_;
  const std::uint64_t bytes_;
  // Where what is read now has to end: a rank, or the file.
  std::uint64_t end_;
  Writer& writer_;
  std::uint32_t rank_ = 0;
  std::uint64_t begin_ = 0, unread_ = 0;  // unread_: bytes that nothing was read from
};

std::uint64_t cookie(const char* begin, const char* end) {
  std::uint64_t value = 0;
  if (end - begin >= 8) std::memcpy(&value, begin, 8);
  return value;
}

}  // namespace

bool is_loggopsim_binary(const char* begin, const char* end) {
  if (cookie(begin, end) == kSpentCookie)
    throw Malformed(0,
                    "LogGOPSim has used up this binary schedule (--save-mem): make it anew with "
                    "txt2bin, or give the text");
  return cookie(begin, end) == kCookie;
}

void read_loggopsim_binary(const char* begin, const char* end, Writer& writer) {
  Reader(begin, end, writer).read();
}

}  // namespace jf::schedule
