// Memory-mapped file of a schedule's operations: writer, reader, checks of damaged files. Sends
// meet receives in arrival_order.cpp.
#include "schedule/schedule.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace jf::schedule {
namespace {

constexpr char kMagic[8] = {'J', 'F', 'G', 'O', 'A', 'L', '0', '1'};
constexpr std::size_t kBuffer = 1 << 20;

std::runtime_error failed(const char* what) {
  return std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

struct OpenFile {
  int number;
  ~OpenFile() { close(number); }
};

bool is_ours(const Mapped& file) {
  return file.bytes >= sizeof(Header) && std::memcmp(file.data, kMagic, sizeof kMagic) == 0;
}

void write_at(int file, const char* data, std::uint64_t bytes, std::uint64_t place) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(file, data + done, bytes - done, static_cast<off_t>(place + done));
    if (n <= 0) throw NotWritten(std::strerror(errno));
    done += static_cast<std::uint64_t>(n);
  }
}

void require(bool ok) {
  if (!ok) throw Malformed(0, "the file of the schedule is damaged");
}

}  // namespace

Mapped::Mapped(int file) {
  struct stat about{};
  if (fstat(file, &about) != 0) throw failed("the schedule can not be read");
  bytes = static_cast<std::size_t>(about.st_size);
  if (bytes == 0) return;
  void* place = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) throw failed("the schedule can not be mapped");
  data = static_cast<const char*>(place);
}

Mapped::~Mapped() {
  if (data != nullptr) munmap(const_cast<char*>(data), bytes);
}

void Writer::begin(std::uint32_t ranks) {
  std::memcpy(header_.magic, kMagic, sizeof kMagic);
  header_.ranks = ranks;
  header_.cpus = header_.nics = 1;
  table_.resize(ranks);
  put(&header_, sizeof header_);  // its place; finish() fills it
}

std::uint32_t Writer::add(const Operation& operation) {
  if (operations_.size() >= kMostOperations)
    throw Malformed(operation.line, "a rank has at most 2^31 operations");
  header_.cpus = std::max(header_.cpus, operation.cpu + 1u);
  header_.nics = std::max(header_.nics, operation.nic + 1u);
  operations_.push_back(operation);
  return static_cast<std::uint32_t>(operations_.size() - 1);
}

void Writer::depend(std::uint32_t later, std::uint32_t sooner, bool on_start) {
  edges_.push_back({sooner, later | (on_start ? kOnStart : 0)});
}

void Writer::end_rank(std::uint32_t rank) {
  const std::size_t n = operations_.size(), m = edges_.size();
  header_.operations += n;
  header_.dependents += m;
  if (header_.operations > kMostInAll || m > kMostInAll)
    throw Malformed(0, "a schedule has at most 2^32 - 1 operations");
  // In the order of the text: each operation frees those that wait for it in that order.
  first_.assign(n + 1, 0);
  for (const Edge& edge : edges_) ++first_[edge.sooner + 1];
  for (std::size_t i = 0; i < n; ++i) first_[i + 1] += first_[i];
  dependents_.resize(m);
  for (const Edge& edge : edges_) dependents_[first_[edge.sooner]++] = edge.later;
  for (std::size_t i = n; i > 0; --i) first_[i] = first_[i - 1];
  first_[0] = 0;

  table_[rank] = {written_, static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(m)};
  put(operations_.data(), n * sizeof(Operation));
  put(first_.data(), (n + 1) * sizeof(std::uint32_t));
  put(dependents_.data(), m * sizeof(std::uint32_t));
  constexpr std::uint64_t kZero = 0;
  put(&kZero, (8 - written_ % 8) % 8);
  operations_.clear();
  edges_.clear();
}

void Writer::finish() {
  header_.table = written_;
  put(table_.data(), table_.size() * sizeof(RankBlock));
  header_.bytes = written_;
  flush();
  write_at(file_, reinterpret_cast<const char*>(&header_), sizeof header_, 0);
}

void Writer::put(const void* data, std::size_t bytes) {
  if (bytes == 0) return;
  const char* from = static_cast<const char*>(data);
  buffer_.insert(buffer_.end(), from, from + bytes);
  written_ += bytes;
  if (buffer_.size() >= kBuffer) flush();
}

void Writer::flush() {
  write_at(file_, buffer_.data(), buffer_.size(), written_ - buffer_.size());
  buffer_.clear();
}

void read_file(const std::string& path, int out) {
  const OpenFile in{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (in.number < 0) throw failed("it can not be read");
  const Mapped file(in.number);
  const char *begin = file.data, *end = file.data + file.bytes;
  if (is_ours(file)) return write_at(out, file.data, file.bytes, 0);
  Writer writer(out);
  if (is_loggopsim_binary(begin, end))
    read_loggopsim_binary(begin, end, writer);
  else
    read_goal_text(begin, end, writer);
  writer.finish();
}

Schedule::Schedule(int file) : file_(file) {
  if (bytes() < sizeof(Header))
    throw Malformed(0, "it is no schedule of jitterfly: it is too short");
  check();
}

RankView Schedule::rank(std::uint32_t rank) const {
  const RankBlock& block = table()[rank];
  const char* at = file_.data + block.offset;
  const auto* operations = reinterpret_cast<const Operation*>(at);
  const auto* first = reinterpret_cast<const std::uint32_t*>(operations + block.operations);
  return {block.operations, operations, first, first + block.operations + 1};
}

void Schedule::write(int file) const { write_at(file, file_.data, bytes(), 0); }

void Schedule::check() {
  const Header& h = header();
  require(std::memcmp(h.magic, kMagic, sizeof kMagic) == 0 && h.bytes == bytes());
  require(h.ranks > 0 && h.ranks <= kMostRanks && h.cpus > 0 && h.cpus <= 256 && h.nics > 0 &&
          h.nics <= 256);
  require(h.table % 8 == 0 && h.table >= sizeof(Header) && h.table <= bytes() &&
          (bytes() - h.table) / sizeof(RankBlock) >= h.ranks);
  // Blocks that overlap could let a small file hold any number of operations.
  std::uint64_t all = 0, room = h.table - sizeof(Header);
  for (std::uint32_t rank = 0; rank < h.ranks; ++rank) {
    const RankBlock& b = table()[rank];
    require(b.offset % 8 == 0 && b.offset >= sizeof(Header) && b.offset <= h.table);
    const std::uint64_t needs = b.operations * std::uint64_t{sizeof(Operation)} +
                                4 * (std::uint64_t{b.operations} + 1 + b.dependents);
    require(b.operations <= kMostOperations && needs <= h.table - b.offset && needs <= room);
    room -= needs;
    begins_.push_back(all);
    all += b.operations;
    check_rank(rank);
  }
  require(all == h.operations && all <= kMostInAll);
  begins_.push_back(all);
  order_sizes();
}

void Schedule::order_sizes() {
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
}

void Schedule::check_rank(std::uint32_t number) {
  const Header& h = header();
  const RankView view = rank(number);
  const std::uint32_t edges = table()[number].dependents;
  std::uint64_t last_size = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < view.count; ++i) {
    const Operation& o = view.operations[i];
    require(o.cpu < h.cpus && o.nic < h.nics && o.size <= kLongest);
    require(o.kind >= kSend && o.kind <= kCalculate);
    if (o.kind == kCalculate) {
      longest_calculation_ = std::max(longest_calculation_, o.size);
      continue;
    }
    require(o.peer < h.ranks && o.peer != number);
    ++(o.kind == kSend ? sends_ : receives_);
    if (o.kind == kSend && o.size != last_size) sizes_.push_back(last_size = o.size);
  }
  if (sizes_.size() > 1024) order_sizes();  // most ranks send messages of the same few sizes
  require(view.first[0] == 0 && view.first[view.count] == edges);
  for (std::uint32_t i = 0; i < view.count; ++i) require(view.first[i] <= view.first[i + 1]);
  for (std::uint32_t k = 0; k < edges; ++k) require((view.dependents[k] & ~kOnStart) < view.count);
}

}  // namespace jf::schedule
