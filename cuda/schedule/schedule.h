// Application schedule (GOAL): operations, dependencies, and the layout of its mapped file. GOAL:
// Hoefler, Siebert & Lumsdaine, ICPP 2009. A schedule has the operations of each rank and what they
// wait for. It is a file of ours that is mapped, so that it need not fit into memory. Ranks stand
// in blocks, one after the other:
//
//   header | blocks | table of blocks (RankBlock, one a rank)
//   block: Operation[n] | first dependent u32[n + 1] | dependents u32[m], and padding to 8 bytes
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace jf::schedule {

enum OperationKind : std::uint8_t { kSend = 1, kReceive = 2, kCalculate = 3 };  // LogGOPSim's order

struct Operation {
  std::uint64_t size;  // bytes of a message; ns of a calculation
  std::uint32_t peer, tag;
  std::uint32_t line;  // of the text; 0: there was none
  std::uint8_t kind, cpu, nic, unused;
};
static_assert(sizeof(Operation) == 24);

// What depends on an operation: a number of an operation of its rank, and whether that one may
// begin when this one begins (`irequires`), or only when it is done.
constexpr std::uint32_t kOnStart = 0x80000000u;

struct RankBlock {
  std::uint64_t offset;  // of the block in the file
  std::uint32_t operations, dependents;
};

struct Header {
  char magic[8];
  std::uint32_t ranks, cpus, nics, unused;
  std::uint64_t operations, dependents;
  std::uint64_t table;  // offset of the table of blocks
  std::uint64_t bytes;  // of the file
};

// What is wrong with a schedule. Lines count from 1; 0: it is not the fault of one line.
struct Malformed : std::invalid_argument {
  Malformed(std::uint64_t line, const std::string& what)
      : std::invalid_argument((line > 0 ? "line " + std::to_string(line) + ": " : "") + what) {}
};

// A file can not be written; the reason is the system's.
struct NotWritten : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes a schedule rank by rank: no more than one rank is in memory.
class Writer {
 public:
  explicit Writer(int file) : file_(file) {}  // which stays open
  void begin(std::uint32_t ranks);            // before all else
  bool begun() const { return header_.ranks > 0; }
  std::uint32_t ranks() const { return header_.ranks; }
  bool has(std::uint32_t rank) const { return table_[rank].offset != 0; }

  // The rank at hand. `later` waits for `sooner`; both are numbers that `add` has given.
  std::uint32_t add(const Operation& operation);
  void depend(std::uint32_t later, std::uint32_t sooner, bool on_start);
  void end_rank(std::uint32_t rank);

  void finish();  // after all ranks

 private:
  struct Edge {
    std::uint32_t sooner, later;
  };
  void put(const void* data, std::size_t bytes);
  void flush();

  int file_;
  Header header_{};
  std::vector<RankBlock> table_;
  std::vector<Operation> operations_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> first_, dependents_;
  std::vector<char> buffer_;
  std::uint64_t written_ = 0;
};

// What a rank does.
struct RankView {
  std::uint32_t count;  // of operations
  const Operation* operations;
  const std::uint32_t *first, *dependents;
};

// A file in memory, as long as this lives.
struct Mapped {
  const char* data = nullptr;
  std::size_t bytes = 0;

  explicit Mapped(int file);
  ~Mapped();
  Mapped(const Mapped&) = delete;
};

// A mapped schedule. The constructor looks at all of it once, and throws Malformed: whatever the
// file holds, numbers in it are in range afterwards.
class Schedule {
 public:
  explicit Schedule(int file);

  std::uint32_t ranks() const { return header().ranks; }
  std::uint32_t cpus() const { return header().cpus; }  // of a rank, used or not
  std::uint32_t nics() const { return header().nics; }
  std::uint64_t operations() const { return header().operations; }
  std::uint64_t bytes() const { return file_.bytes; }
  std::uint64_t sends() const { return sends_; }
  std::uint64_t receives() const { return receives_; }
  std::uint64_t longest_calculation() const { return longest_calculation_; }  // ns
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }  // of messages; ascending
  // The number of the first operation of each rank in the whole schedule.
  const std::vector<std::uint64_t>& begins() const { return begins_; }
  RankView rank(std::uint32_t rank) const;
  void write(int file) const;  // to an open and empty file; throws NotWritten

 private:
  const Header& header() const { return *reinterpret_cast<const Header*>(file_.data); }
  const RankBlock* table() const {
    return reinterpret_cast<const RankBlock*>(file_.data + header().table);
  }
  void check();
  void check_rank(std::uint32_t rank);
  void order_sizes();  // ascending, and each once

  const Mapped file_;
  std::uint64_t sends_ = 0, receives_ = 0, longest_calculation_ = 0;
  std::vector<std::uint64_t> sizes_, begins_;
};

// Translates GOAL text, or LogGOPSim's binary, to a file of ours. Throws Malformed.
void read_goal_text(const char* begin, const char* end, Writer& writer);
void read_loggopsim_binary(const char* begin, const char* end, Writer& writer);
bool is_loggopsim_binary(const char* begin, const char* end);

// The schedule in the file at `path`, whichever of the three it is, as a file of ours. Throws
// Malformed, NotWritten, and std::runtime_error where it can not be read.
void read_file(const std::string& path, int out);

constexpr std::uint32_t kMostRanks = 1u << 24, kMostOperations = 1u << 31;  // of a rank
constexpr std::uint64_t kMostInAll = (std::uint64_t{1} << 32) - 1;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 52;  // ns or bytes: 52 days

}  // namespace jf::schedule
