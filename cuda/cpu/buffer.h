// Arrays of the CPU engine.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace jf::cpu {

// Freed blocks for who asks next. A system gives out memory page by page at the first touch, and
// clears it; a virtual machine may have to fetch it from its host. At millions of ranks that can
// take longer than a realization.
class KeptMemory {
 public:
  static constexpr std::size_t kPage = std::size_t{1} << 21;  // a large one, and the smallest block
  static constexpr std::size_t kMost = std::size_t{1} << 27;  // bytes kept

  // Of the whole process. Never destroyed: threads may still run when it ends.
  static KeptMemory& instance() {
    static auto* const kept = new KeptMemory;
    return *kept;
  }

  KeptMemory() { blocks_.reserve(kMost / kPage); }  // who frees must not need memory

  // A block of at least so many bytes, which is set to how many it has; or null.
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
    return found.at;
  }

  // Returns false if there is no room, or another thread is at it: maybe one that this process,
  // a fork, does not have, so nobody waits.
  bool give(void* at, std::size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || held_ + bytes > kMost) return false;
    blocks_.push_back({at, bytes});
    held_ += bytes;
    return true;
  }

  // For who finds no memory.
  void release() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (const Block& block : blocks_) ::operator delete[](block.at, std::align_val_t{kPage});
    blocks_.clear();
    held_ = 0;
  }

 private:
  struct Block {
    void* at;
    std::size_t bytes;
  };

  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::size_t held_ = 0;
};

// A sanitizer is to see every use of what was freed, or never written.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepMemory = false;
#else
constexpr bool kKeepMemory = true;
#endif

struct FreeBuffer {
  std::size_t bytes = 0;  // of a block that may be kept, or 0

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

// Not initialized. Large ones on large pages where the system has them: passes jump through memory,
// and the first touch of a page costs more than what is computed in it.
template <class T>
Buffer<T> allocate(std::int64_t count) {
  auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  if (bytes < KeptMemory::kPage)
    return Buffer<T>(static_cast<T*>(::operator new[](bytes, std::align_val_t{64})), {});
  void* p = kKeepMemory ? KeptMemory::instance().take(bytes) : nullptr;
  if (p == nullptr) {
    p = new_pages(bytes);
#if defined(MADV_HUGEPAGE)
    madvise(p, bytes, MADV_HUGEPAGE);  // only advice: it may be refused
#endif
  }
  return Buffer<T>(static_cast<T*>(p), {bytes});
}

}  // namespace jf::cpu
