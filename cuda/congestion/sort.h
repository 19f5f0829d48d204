// Random orders on one thread of the CPU.
#pragma once

#include <cstring>
#include <vector>

#include "vector.h"

namespace jf::congestion {

// Sorts things by their keys: into a bucket for each value of the first bits, where about one
// thing comes to lie in each, and then by insertion.
class Order {
 public:
  Order(std::uint32_t most, const Vector& vector)
      : vector_(vector),
        keys_(most + kKeysBeyond),
        sorted_(most),
        numbers_(most),
        begins_((std::size_t{1} << order_bits(most)) + 1) {}

  template <class Get>
  void draw(const PhiloxKeys& seed, std::uint32_t purpose, std::uint32_t stream,
            std::uint32_t realization, std::uint32_t n, Get&& get) {
    vector_.order_keys(seed, purpose, stream, realization, n, keys_.data());
    const int bits = order_bits(n);
    const int shift = 64 - bits;
    std::uint32_t* const begins = begins_.data();
    std::memset(begins, 0, ((std::size_t{1} << bits) + 1) * sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < n; ++i) ++begins[(keys_[i] >> shift) + 1];
    std::uint32_t sum = 0;
    for (std::size_t i = 1; i <= std::size_t{1} << bits; ++i) begins[i] = sum += begins[i];
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t at = begins[keys_[i] >> shift]++;
      sorted_[at] = keys_[i];
      numbers_[at] = i;
    }
    // Insertion: nobody passes a key of another bucket, or an equal one.
    for (std::uint32_t i = 1; i < n; ++i) {
      const std::uint64_t key = sorted_[i];
      if (sorted_[i - 1] <= key) continue;
      const std::uint32_t number = numbers_[i];
      std::uint32_t at = i;
      do {
        sorted_[at] = sorted_[at - 1];
        numbers_[at] = numbers_[at - 1];
        --at;
      } while (at > 0 && sorted_[at - 1] > key);
      sorted_[at] = key;
      numbers_[at] = number;
    }
    for (std::uint32_t i = 0; i < n; ++i) get(i, numbers_[i]);
  }

 private:
  const Vector& vector_;
  std::vector<std::uint64_t> keys_, sorted_;
  std::vector<std::uint32_t> numbers_, begins_;
};

}  // namespace jf::congestion
