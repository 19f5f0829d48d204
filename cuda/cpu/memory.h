// Memory of the CPU engine: allocation, sizes, huge pages, scratch of threads, state of
// realizations. Read core/passes.h (passes) and cpu/jobs.h first. The engine makes a Scratch for
// each thread and a State for the realizations in work.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "congestion/loads.h"
#include "core/host_program.h"
#include "core/segment.h"
#include "cpu/jobs.h"
#include "cpu/message_chunks.h"

namespace jf::cpu {

// --- Arrays of the CPU engine.

// Keeps freed blocks of memory for the next allocation. A system provides memory page by page at
// the first touch, and clears it; a virtual machine may have to fetch it from its host. At millions
// of ranks that can take longer than a realization.
class KeptMemory {
 public:
  static constexpr std::size_t kPage = std::size_t{1}
                                       << 21;  // a large page; also the smallest block
  static constexpr std::size_t kMax = std::size_t{1} << 27;  // bytes kept at most

  // One for the whole process. Never destroyed: threads may still run when it ends.
  static KeptMemory& instance() {
    static auto* const kept = new KeptMemory;
    return *kept;
  }

  KeptMemory() { blocks_.reserve(kMax / kPage); }  // give() must not need memory

  // A block of at least `bytes` bytes, or null. Sets `bytes` to its size.
  void* take(std::size_t& bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);  // see give()
    if (!lock.owns_lock()) return nullptr;
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      const bool fits = block->bytes >= bytes && block->bytes <= 2 * bytes;
      if (fits && (best == blocks_.end() || block->bytes < best->bytes)) best = block;
    }
    if (best == blocks_.end()) return nullptr;
    const Block found = *best;
    blocks_.erase(best);
    held_ -= found.bytes;
    bytes = found.bytes;
    return found.address;
  }

  // Returns false if there is no room, or if another thread holds the lock. It does not wait for
  // that thread: in a forked process the thread may not exist.
  bool give(void* address, std::size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || held_ + bytes > kMax) return false;
    blocks_.push_back({address, bytes});
    held_ += bytes;
    return true;
  }

  // Frees all blocks; for an allocation that failed.
  void release() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (const Block& block : blocks_) ::operator delete[](block.address, std::align_val_t{kPage});
    blocks_.clear();
    held_ = 0;
  }

 private:
  struct Block {
    void* address;
    std::size_t bytes;
  };

  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::size_t held_ = 0;
};

// Off under a sanitizer, which has to see every use of freed or uninitialized memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepMemory = false;
#else
constexpr bool kKeepMemory = true;
#endif

struct FreeBuffer {
  std::size_t bytes = 0;  // of a block that KeptMemory takes, or 0

  void operator()(void* p) const {
    if (bytes == 0)
      ::operator delete[](p, std::align_val_t{64});
    else if (!kKeepMemory || !KeptMemory::instance().give(p, bytes))
      ::operator delete[](p, std::align_val_t{KeptMemory::kPage});
  }
};
template <class T>
using Buffer = std::unique_ptr<T[], FreeBuffer>;

inline void* new_pages(std::size_t bytes) {
  try {
    return ::operator new[](bytes, std::align_val_t{KeptMemory::kPage});
  } catch (const std::bad_alloc&) {
    KeptMemory::instance().release();
    return ::operator new[](bytes, std::align_val_t{KeptMemory::kPage});
  }
}

// An uninitialized array. Large arrays are on large pages if the system has them: passes jump
// through memory, and the first touch of a page costs more than the computation in it.
template <class T>
Buffer<T> allocate(std::int64_t count) {
  auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  if (bytes < KeptMemory::kPage)
    return Buffer<T>(static_cast<T*>(::operator new[](bytes, std::align_val_t{64})), {});
  void* p = kKeepMemory ? KeptMemory::instance().take(bytes) : nullptr;
  if (p == nullptr) {
    p = new_pages(bytes);
#if defined(MADV_HUGEPAGE)
    madvise(p, bytes, MADV_HUGEPAGE);  // a hint, which may be refused
#endif
  }
  return Buffer<T>(static_cast<T*>(p), {bytes});
}

// Ticks of a cursor in the intervals of noise (noise/cursor.h): a CursorOf<Lanes> consists of five
// registers.
constexpr std::int64_t cursor_ticks(std::int64_t lanes) {
  return lanes > 1 ? 5 * lanes : std::int64_t{sizeof(Cursor) / sizeof(Tick)};
}

// Cursors for `lanes` realizations side by side. They belong to no realization yet: to `no_owner`.
inline Buffer<Tick> new_cursors(std::int64_t count, std::int64_t lanes, std::uint32_t no_owner) {
  const std::int64_t ticks = count * cursor_ticks(lanes);
  Buffer<Tick> cursors = allocate<Tick>(ticks);
  if (lanes == 1)
    std::fill_n(reinterpret_cast<Cursor*>(cursors.get()), count, Cursor{0, 0, 0, 0, no_owner});
  else
    for (std::int64_t i = 0; i < ticks; ++i)  // `owner` is the last of the five registers
      cursors[static_cast<std::size_t>(i)] = i / lanes % 5 == 4 ? Tick{no_owner} : 0;
  return cursors;
}

// --- How much memory a program needs, by its passes.

// What one realization needs.
struct Sizes {
  // Ticks between passes, of all ranks. `busy_between` shares the memory of segments; or else
  // `busy_behind` follows `sent_between`.
  std::int64_t sent_between = 0, busy_between = 0, busy_behind = 0;
  std::int64_t tile = 0;            // ranks of the largest tile
  std::int64_t segment = 0;         // ranks of the largest segment
  std::int64_t segment_copies = 0;  // ticks for the guesses of its copies
  std::int64_t panels = 0;          // bytes of the largest segment in panels
  std::int64_t drawn = 0;           // words of each array of drawn delays
  std::int64_t cursors = 0;  // of all ranks, in the intervals of noise: of tiles and segments
  std::int64_t cursors_of_rank = 0;  // the same, of message passes
  // Ranks of which a message pass keeps the state, with 1, 2, 4 and 8 lanes; the ticks of a rank,
  // and whether arrays for links and forwards are among them.
  std::int64_t message_ranks[4] = {}, message_ticks = 0, departures = 1;
  bool links = false, forwards = false;
  bool busy = false;
  std::int64_t loads = 0;  // bytes, see LoadState

  // Ticks between the arrays of a tile. Without them the same ranks of all arrays, and of blocks
  // with partners far apart, would compete for one set of a cache.
  static constexpr std::int64_t kPad = 21 * 8;

  std::int64_t tile_ticks() const {
    return tile * (busy ? 3 : 2) + 2 * kPad + (1 + kDrawnKinds) * drawn;
  }
  std::int64_t tile_bytes() const { return 8 * tile_ticks(); }
  // Rounded up, so that the ticks of the next segment are aligned.
  std::int64_t segment_bytes() const {
    return (std::max(swept_bytes(segment, segment_copies), panels) + 63) / 64 * 64;
  }
  // For `lanes` realizations that are computed side by side.
  std::int64_t state_bytes(std::int64_t segments, std::int64_t lanes) const {
    return lanes * (8 * (sent_between + busy_behind) + loads) +
           8 * (message_state_ticks(lanes) + lane_cursors(lanes) * cursor_ticks(lanes) +
                all_cursors(lanes) * cursor_ticks(1)) +
           arena_bytes(segments);
  }
  std::int64_t message_state_ticks(std::int64_t lanes) const {
    return lanes * message_ticks * kept_ranks(lanes);
  }
  std::int64_t all_cursors(std::int64_t lanes) const {
    return lanes > 1 ? lanes * cursors : std::max(cursors, cursors_of_rank * kept_ranks(1));
  }
  // Those of message passes, if these compute more than one realization at once.
  std::int64_t lane_cursors(std::int64_t lanes) const {
    return lanes > 1 ? cursors_of_rank * kept_ranks(lanes) : 0;
  }
  std::int64_t kept_ranks(std::int64_t lanes) const {
    return message_ranks[std::countr_zero(static_cast<std::uint64_t>(lanes))];
  }
  // `busy_between` is used between forwards, when no segment is computed: so they share memory.
  std::int64_t arena_bytes(std::int64_t segments) const {
    return std::max(8 * busy_between, segments * segment_bytes());
  }
};

// `capture`: all ready times are wanted.
inline Sizes sizes(const Program& p, const ProgramView& view, const std::vector<Pass>& passes,
                   bool capture) {
  Sizes s;
  s.busy = p.has_busy();
  if (p.loads != nullptr) s.loads = p.loads->bytes();
  if (!p.delays.empty() || p.delays_messages()) s.drawn = kDrawnSteps * kDrawnRanks;
  const auto has = [&](PassKind kind) {
    return std::any_of(passes.begin(), passes.end(),
                       [kind](const Pass& pass) { return pass.kind == kind; });
  };
  if ((p.sources_needed() && has(kTilePass)) || has(kSegmentPass))
    s.cursors = p.cursors_per_rank() * p.ranks();
  if (passes.size() > 1) {
    s.sent_between = p.ranks();
    if (p.costs.forward > 0) (p.has_message_passes() ? s.busy_behind : s.busy_between) = p.ranks();
  }
  if (p.has_message_passes()) {
    s.links = p.links_matter();
    s.forwards = p.costs.forward > 0;
    s.departures = p.departures();
    s.message_ticks = 2 + s.departures + 2 * s.links + s.forwards;
    if (p.sources_needed()) s.cursors_of_rank = p.cursors_per_rank();
  }
  for (const Pass& pass : passes) {
    if (pass.kind == kMessagePass) {
      for (int bits = 0; bits < 4; ++bits) {
        const MessageChunks chunks(view, pass, 1 << bits, capture);
        s.message_ranks[bits] = std::max(s.message_ranks[bits], chunks.kept(view));
      }
      continue;
    }
    const std::int64_t size = pass.map.size();
    if (pass.kind == kTilePass) {
      s.tile = std::max<std::int64_t>({s.tile, size, kMaxLanes});
    } else {
      const std::int64_t copies = copies_in(p.steps.data(), pass.begin, pass.end) *
                                  static_cast<std::int64_t>(p.mirrors.size());
      s.segment = std::max(s.segment, size);
      s.segment_copies = std::max(s.segment_copies, copies * size);
      s.panels = std::max(s.panels, panel_bytes(view, pass));
    }
  }
  return s;
}

// --- The memory of each thread, and of the realizations in work.

// The memory of one thread.
struct Scratch {
  Scratch(const Sizes& s, std::int64_t rows)
      : ticks(allocate<Tick>(s.tile_ticks())), rows(static_cast<std::size_t>(rows)) {
    tile.sent = ticks.get();
    tile.next = tile.sent + s.tile + Sizes::kPad;
    tile.busy = s.busy ? tile.next + s.tile + Sizes::kPad : tile.sent;
    if (s.drawn == 0) return;
    Tick* end = (s.busy ? tile.busy : tile.next) + s.tile;
    tile.draws = reinterpret_cast<std::uint64_t*>(end);
    for (Tick*& sum : tile.sums) sum = end += s.drawn;
  }

  Buffer<Tick> ticks;
  TileScratch tile;
  std::vector<Observation> rows;
};

// The loads of links under congestion of the realizations in work, and the view of the program that
// points to them.
struct LoadState {
  LoadState(const Program& p, const ProgramView& of_all, std::int64_t lanes)
      : program(p), view(of_all) {
    if (p.loads == nullptr) return;
    table = allocate<std::uint16_t>(p.loads->table_size() * lanes);
    make_loads = congestion::load_maker(*p.loads, view.seed);
  }

  // Makes the loads of `count` realizations from `first` on.
  void make(std::uint32_t first, std::int64_t count, const std::atomic<bool>& stop) {
    if (make_loads == nullptr) return;
    const std::int64_t size = program.loads->table_size();
    for (std::int64_t k = 0; k < count; ++k)
      make_loads(first + static_cast<std::uint32_t>(k), table.get() + k * size, stop);
    loads = program.loads->views(table.get(), program.loads->rows().data(), size, first);
    view.messages.loads = loads.data();
  }

  const Program& program;
  ProgramView view;
  Buffer<std::uint16_t> table;
  std::vector<Loads> loads;
  congestion::LoadMaker make_loads;
};

// The memory of `lanes` realizations that are computed side by side: between passes, and for
// `segments` segments that are computed at once.
struct State {
  State(const Sizes& s, std::int64_t segments, std::int64_t lanes, std::uint32_t no_owner,
        const Program& p, const ProgramView& view)
      : sizes(s),
        lanes(lanes),
        loads(p, view, lanes),
        memory_(allocate<Tick>(lanes * (s.sent_between + s.busy_behind))),
        arena_(allocate<std::uint8_t>(s.arena_bytes(segments))),
        cursors_(new_cursors(s.all_cursors(lanes), 1, no_owner)),
        lane_cursors_(new_cursors(s.lane_cursors(lanes), lanes, no_owner)),
        messages_(allocate<Tick>(s.message_state_ticks(lanes))) {}

  // Of the realization in lane `lane`.
  Tick* sent_between(std::int64_t lane) const {
    return memory_.get() + lane * (sizes.sent_between + sizes.busy_behind);
  }
  Tick* busy_between(std::int64_t lane) const {
    if (sizes.busy_behind > 0) return sent_between(lane) + sizes.sent_between;
    return sizes.busy_between > 0 ? reinterpret_cast<Tick*>(arena_.get()) : nullptr;
  }
  Cursor* cursors(std::int64_t lane) const {
    return reinterpret_cast<Cursor*>(cursors_.get()) + lane * sizes.cursors;
  }

  // For message passes.
  void* message_cursors() const { return (lanes > 1 ? lane_cursors_ : cursors_).get(); }

  // Of all lanes. The arrays are interleaved: what is kept of a rank lies together.
  MessageState message() const {
    int next_array = 0;
    const auto array = [&] { return messages_.get() + next_array++ * lanes; };
    MessageState s{};
    s.sent = s.busy = array();
    s.next = array();
    if (sizes.links) s.out = array(), s.in = array();
    s.left = array();
    s.apart = lanes;
    next_array += sizes.departures - 1;
    if (sizes.forwards) s.busy = array();
    s.stride = next_array * lanes;
    return s;
  }

  // The memory of one segment, in panels or as a whole.
  std::uint8_t* segment_memory(std::int64_t slot) const {
    return arena_.get() + slot * sizes.segment_bytes();
  }
  SegmentScratch segment(std::int64_t slot) const {
    auto* ticks = reinterpret_cast<Tick*>(segment_memory(slot));
    Tick* copies = ticks + 2 * sizes.segment;
    return {ticks, ticks + sizes.segment, copies,
            reinterpret_cast<std::uint8_t*>(copies + sizes.segment_copies)};
  }

  const Sizes& sizes;
  const std::int64_t lanes;
  LoadState loads;

 private:
  Buffer<Tick> memory_;
  Buffer<std::uint8_t> arena_;
  Buffer<Tick> cursors_, lane_cursors_;
  Buffer<Tick> messages_;
};

}  // namespace jf::cpu
