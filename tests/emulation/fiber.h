// Fiber (coroutine) for CUDA emulation, on ucontext, setjmp and longjmp. It is a function with its
// own stack that can be suspended and resumed. ucontext starts it; then setjmp and longjmp do the
// switching, which unlike swapcontext do not ask the kernel for the mask of signals. One that has
// finished can be started again, which costs no more than to resume it. -U_FORTIFY_SOURCE is needed
// where compilers fortify by themselves: the check would refuse to jump to another stack.
#pragma once

#if defined(__APPLE__) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700  // else <ucontext.h> hides makecontext there
#define _DARWIN_C_SOURCE
#endif
#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>

#ifndef JF_EMU_STACK_BYTES
#define JF_EMU_STACK_BYTES (256 * 1024)  // only the pages touched cost memory
#endif

namespace jf_emu {

class Fiber {
 public:
  using Function = void (*)(void*);

  // Prepares function(argument) to run at the next resume(). Not for a fiber
  // that is suspended.
  void start(Function function, void* argument) {
    function_ = function;
    argument_ = argument;
    finished_ = false;
    failure_ = nullptr;
    if (stack_) return;
    stack_.reset(new unsigned char[JF_EMU_STACK_BYTES]);
    std::memcpy(stack_.get(), kMark.data(), kMark.size());
    getcontext(&start_);
    start_.uc_stack.ss_sp = stack_.get();
    start_.uc_stack.ss_size = JF_EMU_STACK_BYTES;
    start_.uc_link = nullptr;
    makecontext(&start_, &Fiber::enter, 0);
  }

  // Runs the fiber until it suspends or finishes; rethrows what it threw.
  void resume() {
    if (_setjmp(caller_) == 0) {
      if (started_) _longjmp(own_, 1);
      started_ = true;
      entering() = this;
      setcontext(&start_);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  // Called inside the fiber: goes back to resume().
  void suspend() {
    if (_setjmp(own_) == 0) _longjmp(caller_, 1);
  }

  bool finished() const { return finished_; }

  bool overflowed() const {
    return stack_ && std::memcmp(stack_.get(), kMark.data(), kMark.size()) != 0;
  }

 private:
  static constexpr std::string_view kMark =
      "Where a stack ends. What is written here, overflows the stack...";

  // makecontext passes only ints portably, so the pointer travels beside it.
  static Fiber*& entering() {
    static thread_local Fiber* fiber = nullptr;
    return fiber;
  }

  static void enter() {
    Fiber* self = entering();
    while (true) {
      try {
        self->function_(self->argument_);
      } catch (...) {
        self->failure_ = std::current_exception();
      }
      self->finished_ = true;
      self->suspend();
    }
  }

  std::unique_ptr<unsigned char[]> stack_;
  ucontext_t start_{};
  std::jmp_buf own_{}, caller_{};
  Function function_ = nullptr;
  void* argument_ = nullptr;
  bool started_ = false, finished_ = true;
  std::exception_ptr failure_;
};

}  // namespace jf_emu
