// Memory of the device in one piece: a run asks for it once, and says beforehand how much it takes.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace jf::gpu {

// There is less memory than there seemed to be. Whoever can do with less tries again.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Every array begins at a multiple of this, as an allocation of its own would.
constexpr std::int64_t kArrayAlignment = 256;

// Bytes that an array takes in the piece.
template <class T>
constexpr std::int64_t array_bytes(std::int64_t count) {
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
}

}  // namespace jf::gpu
