// Counts the engine's instructions by single-stepping a child process (ptrace).

#include <stdexcept>
#include <string>

#include "limits/rates.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <unordered_map>
#include <vector>
#endif

namespace jf::limits {

// Intel's manual, volume 2, sections 2.1 (prefixes), 2.3 (VEX), 2.7 (EVEX) and appendix A.
bool is_vector(const unsigned char* code) {
  if (code[0] == 0x62) return true;  // EVEX
  const bool vex = code[0] == 0xC4;
  if (vex || code[0] == 0xC5) {
    const int map = vex ? code[1] & 0x1F : 1, opcode = code[vex ? 3 : 2];
    const bool bmi = (map == 2 && opcode >= 0xF2 && opcode <= 0xF7) || (map == 3 && opcode == 0xF0);
    return !bmi;
  }
  int i = 0;
  while (i < 4 && (code[i] == 0x66 || code[i] == 0xF2 || code[i] == 0xF3)) ++i;
  const bool repeated = i > 0 && code[i - 1] == 0xF3;
  if ((code[i] & 0xF0) == 0x40) ++i;  // REX
  if (code[i] != 0x0F) return false;
  const int opcode = code[i + 1];
  if (repeated && opcode == 0x1E) return false;                     // endbr64
  if (opcode == 0x38 || opcode == 0x3A) return code[i + 2] < 0xF0;  // else movbe, crc32, adx
  return (opcode >= 0x10 && opcode <= 0x17) || (opcode >= 0x28 && opcode <= 0x2F) ||
         (opcode >= 0x50 && opcode <= 0x7F) || opcode == 0xC2 || opcode == 0xC4 || opcode == 0xC5 ||
         opcode == 0xC6 || (opcode >= 0xD0 && opcode <= 0xFE);
}

#if defined(__linux__) && defined(__x86_64__)

namespace {

constexpr int kRefused = 97, kFailed = 98;

[[noreturn]] void child(const Program& program, const Request& request, Tick* out) {
  setpgid(0, 0);  // so that the parent can wait for this group alone
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kRefused);
  raise(SIGSTOP);
  try {
    cpu::simulate(program, request, out, nullptr);
  } catch (...) {
    _exit(kFailed);
  }
  _exit(0);
}

// Keeps this thread, and the child that it makes, on one CPU: each step is two switches between
// them, which take longer from one CPU to another, above all on a virtual machine.
class OneCpu {
 public:
  OneCpu() : restore_(sched_getaffinity(0, sizeof before_, &before_) == 0) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &here);
    if (restore_) sched_setaffinity(0, sizeof here, &here);
  }
  OneCpu(const OneCpu&) = delete;
  ~OneCpu() {
    if (restore_) sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_;
  const bool restore_;
};

class Tracer {
 public:
  // If `all`, the first thread of the child is stepped too.
  Tracer(pid_t child, bool all) : child_(child), all_(all) {}
  Tracer(const Tracer&) = delete;
  ~Tracer() {
    if (!alive_) return;
    kill(child_, SIGKILL);
    // Waits for all its threads: the first one can not end before the others have.
    while (waitpid(-child_, nullptr, __WALL) > 0 || errno == EINTR) {
    }
  }

  Instructions run(std::int64_t limit, const Poll& poll) {
    constexpr std::int64_t kStepsBetweenPolls = 1 << 13;
    int status = 0;
    wait(child_, status);
    if (!WIFSTOPPED(status)) fail(status);
    ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    resume(child_, SIGSTOP);
    for (std::int64_t steps = 0; alive_; ++steps) {
      if (steps > limit) throw std::runtime_error("too many instructions to count");
      if (steps % kStepsBetweenPolls == 0 && poll && !poll(0)) throw Cancelled();
      const pid_t thread = wait(-child_, status);
      if (WIFSTOPPED(status)) {
        // The first stop of a new thread is a SIGSTOP; its creation stops its parent with an event.
        resume(thread, WSTOPSIG(status));
      } else if (thread == child_) {
        alive_ = false;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail(status);
      }
    }
    Instructions busiest;
    for (const auto& [thread, found] : threads_)
      if (found.all > busiest.all) busiest = found;
    return busiest;
  }

 private:
  static pid_t wait(pid_t whom, int& status) {
    for (;;) {
      const pid_t found = waitpid(whom, &status, __WALL);
      if (found > 0) return found;
      if (errno != EINTR) throw std::runtime_error(std::string("waitpid: ") + strerror(errno));
    }
  }

  [[noreturn]] void fail(int status) {
    alive_ = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused)
      throw std::runtime_error("the system refuses to trace a child process (ptrace)");
    throw std::runtime_error("the traced process failed");
  }

  void resume(pid_t thread, int signal) {
    const bool follow = all_ || thread != child_;
    errno = 0;
    const long address =
        follow ? ptrace(PTRACE_PEEKUSER, thread, offsetof(user_regs_struct, rip), nullptr) : 0;
    if (follow && errno == 0) {
      Instructions& found = threads_[thread];
      ++found.all;
      found.vector += is_vector_at(thread, address);
    }
    // Fails for a thread that has just been killed; its end is waited for.
    ptrace(follow ? PTRACE_SINGLESTEP : PTRACE_CONT, thread, nullptr,
           static_cast<long>(signal == SIGTRAP || signal == SIGSTOP ? 0 : signal));
  }

  bool is_vector_at(pid_t thread, long address) {
    const auto known = kinds_.find(address);
    if (known != kinds_.end()) return known->second;
    const long word = ptrace(PTRACE_PEEKTEXT, thread, address, nullptr);
    unsigned char code[sizeof word];
    std::memcpy(code, &word, sizeof word);
    return kinds_[address] = is_vector(code);
  }

  const pid_t child_;
  const bool all_;
  bool alive_ = true;
  std::unordered_map<pid_t, Instructions> threads_;
  std::unordered_map<long, bool> kinds_;
};

Instructions traced(const Program& program, const Request& request, Tick* out, bool all,
                    std::int64_t limit, const Poll& poll) {
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error(std::string("fork: ") + strerror(errno));
  if (pid == 0) child(program, request, out);
  setpgid(pid, pid);  // in both processes, as either may come first
  return Tracer(pid, all).run(limit, poll);
}

}  // namespace

const char* cannot_count() { return ""; }

Instructions count(const Program& program, std::uint64_t seed, std::int64_t count,
                   std::int64_t limit, const Poll& poll) {
  const Request request{seed, 0, count, false, 1};
  std::vector<Tick> out(static_cast<std::size_t>(count * program.rows));
  const OneCpu here;
  // The thread that calls the engine polls, and simulates only if it starts no other thread.
  Instructions found = traced(program, request, out.data(), false, limit, poll);
  return found.all > 0 ? found : traced(program, request, out.data(), true, limit, poll);
}

#else

const char* cannot_count() { return "instructions are counted on Linux and x86-64 only"; }

Instructions count(const Program&, std::uint64_t, std::int64_t, std::int64_t, const Poll&) {
  throw std::runtime_error(cannot_count());
}

#endif

}  // namespace jf::limits
