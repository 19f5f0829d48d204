// PTX interpreter on the threads of tests/emulation: interface, and which errors it detects. Runs
// what the CUDA compiler made of a kernel, on the threads of tests/emulation: programs that
// assembler.py makes of PTX, in place of the kernels that the C++ compiler made.
//
// An instruction that machine.cpp does not know is an error when a program is read, run or not.
// Beyond what the emulation finds, these are errors: loads and stores that are not aligned, which
// a GPU refuses, shared memory read beyond what the launch has, blocks of more threads than
// __launch_bounds__ allows, and parameters whose sizes the two compilers do not agree on. Registers
// hold what earlier threads left in them, local memory holds garbage.
//
// Not seen: what ptxas makes of PTX, and the order in which a GPU's memory sees what threads write.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../emulation/cuda_emulation.h"

namespace jf_ptx {

class Thread;

struct Instruction {
  void (*run)(Thread&, const std::int32_t* operands);
  const std::int32_t* operands;
  std::uint64_t number;  // of times that it was executed
  std::int32_t guard;    // 0: none; else a register's number and 1, negative: to be false
  bool jumps;            // the next one need not be the next to be executed
};

// Of a function; it may be a kernel.
struct Function {
  struct Special {
    std::int32_t slot;
    unsigned (*value)();
  };

  struct Origin {
    std::int32_t line = 0;       // of the PTX
    const char* site = nullptr;  // of a rendezvous: its name, and the line
  };

  std::string name;
  std::size_t registers = 0, local_bytes = 0;
  std::size_t all_registers = 0;         // with those of the functions that it calls
  std::vector<Special> special;          // registers that the hardware sets
  std::vector<std::uint64_t> constants;  // the last one first: operand -1 is the last one here
  std::vector<const Function*> calls;
  mutable std::vector<Instruction> code;
  std::vector<Origin> origins;  // of the instructions
  std::vector<std::int32_t> operands;
};

struct Kernel {
  const Function* function = nullptr;
  std::size_t local_bytes = 0;              // with those of the functions that it calls
  std::size_t shared_bytes = 0;             // of variables; the launch asks for more
  std::size_t most_threads = 0;             // of a block; 0: not said
  std::vector<std::size_t> offsets, sizes;  // of parameters

  void launch(dim3 grid, dim3 block, std::size_t shared, std::uint64_t seed, jf_emu::Order order,
              const unsigned char* parameters) const;
};

// While there is one, launches run the programs in a file; then it writes how often each line of
// their PTX was executed to a file in a folder. `words` of a command line: both; or none, and
// launches are what the C++ compiler made.
class Programs {
 public:
  Programs(int count, char** words);
  ~Programs();
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

 private:
  std::string numbers_;
};

// That of the function with this address; nullptr where launches run what the C++ compiler made.
const Kernel* program_of(const void* kernel);

// The arguments of a launch, as the kernel wants them.
class Parameters {
 public:
  explicit Parameters(const Kernel& kernel) : kernel_(kernel) {}

  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (number_ == kernel_.sizes.size()) throw jf_emu::Error("more arguments than parameters");
    if (kernel_.sizes[number_] != sizeof value)
      throw jf_emu::Error("parameter " + std::to_string(number_) + " has " +
                          std::to_string(kernel_.sizes[number_]) + " bytes in PTX, " +
                          std::to_string(sizeof value) + " in C++");
    if (kernel_.offsets[number_] + sizeof value > kMaxBytes)
      throw jf_emu::Error("parameters of more than 4 KiB");
    std::memcpy(bytes_ + kernel_.offsets[number_++], &value, sizeof value);
  }
  const unsigned char* complete() const {
    if (number_ != kernel_.sizes.size()) throw jf_emu::Error("fewer arguments than parameters");
    return bytes_;
  }

 private:
  static constexpr std::size_t kMaxBytes = 4096;  // of every architecture

  const Kernel& kernel_;
  std::size_t number_ = 0;
  alignas(128) unsigned char bytes_[kMaxBytes];
};

// Launches a kernel on the emulation, whichever compiler made it.
template <class... P, class... A>
void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
            std::uint64_t seed, jf_emu::Order order, const A&... arguments) {
  const auto blocks = static_cast<unsigned>(grid), threads = static_cast<unsigned>(block);
  const auto shared = static_cast<std::size_t>(shared_bytes);
  if (const Kernel* program = program_of(reinterpret_cast<const void*>(kernel))) {
    Parameters parameters(*program);
    (parameters.add<P>(static_cast<P>(arguments)), ...);
    program->launch(blocks, threads, shared, seed, order, parameters.complete());
  } else {
    jf_emu::launch(blocks, threads, shared, seed, [&] { kernel(arguments...); }, order);
  }
}

}  // namespace jf_ptx
