// CUDA emulation of shared memory, with garbage at the start and guards at the end. Every block
// starts with seeded garbage in it, and what lies beyond the bytes asked for at launch is a guard:
// a write there is an error at the end of the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace jf_emu {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// splitmix64: the order of fibers and the garbage follow from the seed alone,
// with any compiler and standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

inline constexpr std::size_t kMaxSharedBytes = 227 * 1024;  // sm_90, the most
inline constexpr std::size_t kSharedCapacity = kMaxSharedBytes + 4096;

struct SharedBuffer {
  void* (*address)();  // a call, since the buffer may be thread_local
  std::size_t bytes;
  bool dynamic;
};

inline std::vector<SharedBuffer>& shared_buffers() {
  static std::vector<SharedBuffer> buffers;
  return buffers;
}

inline constexpr unsigned char kGuard = 0xc9;

// Words that are all different. They are drawn at each call, and need not be at each word.
inline void fill_garbage(void* to, std::size_t bytes, Random& random) {
  auto* out = static_cast<unsigned char*>(to);
  std::uint64_t word = random();
  const std::uint64_t step = random() | 1;
  std::size_t i = 0;
  for (; i + 8 <= bytes; i += 8, word += step) std::memcpy(out + i, &word, 8);
  std::memcpy(out + i, &word, bytes - i);
}

struct RegisterShared {
  RegisterShared(void* (*address)(), std::size_t bytes, bool dynamic) {
    shared_buffers().push_back({address, bytes, dynamic});
    // A static array is first met inside a block that has already begun.
    Random random(shared_buffers().size());
    if (!dynamic) fill_garbage(address(), bytes, random);
  }
};

inline void prepare_shared(std::size_t dynamic_bytes, Random& random) {
  for (const SharedBuffer& buffer : shared_buffers()) {
    const std::size_t used = buffer.dynamic ? dynamic_bytes : buffer.bytes;
    auto* start = static_cast<unsigned char*>(buffer.address());
    fill_garbage(start, used, random);
    std::memset(start + used, kGuard, buffer.bytes - used);
  }
}

inline void check_shared(std::size_t dynamic_bytes) {
  for (const SharedBuffer& buffer : shared_buffers()) {
    if (!buffer.dynamic) continue;
    auto* start = static_cast<unsigned char*>(buffer.address());
    for (std::size_t i = dynamic_bytes; i < buffer.bytes; i += 512) {
      const std::size_t n = buffer.bytes - i < 512 ? buffer.bytes - i : 512;
      // Every byte is the next one, and the first one is right.
      if (start[i] == kGuard && std::memcmp(start + i, start + i + 1, n - 1) == 0) continue;
      while (start[i] == kGuard) ++i;
      throw Error("byte " + std::to_string(i) + " of shared memory was written, launched with " +
                  std::to_string(dynamic_bytes) + " bytes");
    }
  }
}

inline volatile unsigned char not_a_constant = 0;

// What JF_SHARED gives out.
alignas(128) inline unsigned char dynamic_shared[kSharedCapacity];
inline const RegisterShared register_dynamic_shared([]() -> void* { return dynamic_shared; },
                                                    kSharedCapacity, true);

}  // namespace jf_emu

// `type* const name`: the block's dynamic shared memory.
#define JF_SHARED(type, name) type* const name = reinterpret_cast<type*>(jf_emu::dynamic_shared)

// `type name[count]`: static shared memory, refilled with garbage per block.
#define JF_SHARED_STATIC(type, name, count)                                                  \
  alignas(16) static type name[count];                                                       \
  static const jf_emu::RegisterShared jf_emu_register_##name([]() -> void* { return name; }, \
                                                             sizeof(name), false)

// Written once by the test, before the kernel's header is included and in the
// kernel's namespace: gives `extern __shared__ type name[];` its memory. The
// initializer is not a constant on purpose: in a template g++ 12 calls the
// variable's initialization function without asking whether there is one.
#define JF_EMU_EXTERN_SHARED(type, name)                                                     \
  alignas(128) thread_local type name[jf_emu::kSharedCapacity / sizeof(type)] = {            \
      static_cast<type>(jf_emu::not_a_constant)};                                            \
  static const jf_emu::RegisterShared jf_emu_register_##name([]() -> void* { return name; }, \
                                                             sizeof(name), true)

// thread_local is the one storage class that can be written both in front of a
// local array (then one array for all fibers) and after `extern`. Such a plain
// static array keeps what the last block left; JF_SHARED_STATIC does not.
#define __shared__ thread_local
