// Program that tests single PTX instructions. It runs the kernel that test_ptx.py writes in PTX:
// reads how many words a thread of a warp writes, writes the words of all.
#include <iostream>

#include "machine.h"

// In place of this, the PTX of this name is run.
extern "C" void selftest(unsigned count, std::uint64_t* words) {
  throw jf_emu::Error("this was to be PTX: " + std::to_string(count + (words == nullptr)));
}

int main(int count, char** arguments) {
  const jf_ptx::Programs programs(count, arguments);
  unsigned instructions = 0;
  std::cin >> instructions;
  std::vector<std::uint64_t> words(std::size_t{32} * (instructions + 1));
  jf_ptx::launch(&selftest, 1, 32, 64, 1, jf_emu::Order::kRandom, instructions, words.data());
  for (const std::uint64_t word : words) std::cout << word << '\n';
}
