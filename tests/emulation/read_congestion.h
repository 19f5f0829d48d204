// Reads congestion cases from standard input, as test_congestion_kernel.py writes them.
#pragma once

#include "congestion/program.h"
#include "read_case.h"

namespace jf_read {

inline jf::congestion::Program read_congestion() {
  jf::congestion::Program program;
  program.hosts = read<std::uint32_t>();
  program.used = read<std::uint32_t>();
  program.ranks = read<std::uint32_t>();
  program.perturbation = read<std::int32_t>();
  const auto offsets = read_many<std::uint32_t>(), senders = read_many<std::uint32_t>(),
             receivers = read_many<std::uint32_t>(), chain = read_many<std::uint32_t>();
  program.set_levels(offsets, senders, receivers, chain);
  if (read<int>() != 0) {
    const auto m = read_many<std::uint32_t>(), w = read_many<std::uint32_t>(),
               p = read_many<std::uint32_t>();
    const int key = read<int>();
    program.set_fat_tree(m, w, p, key, read<std::uint64_t>(), false);
  } else {
    const auto nodes = read<std::uint32_t>();
    const auto next = read_many<std::uint32_t>();
    program.set_table(nodes, next, read_many<std::uint32_t>());
  }
  return program;
}

}  // namespace jf_read
