// What cpu/engine.cpp hands to a message pass (cpu/messages.h).
#pragma once

#include <atomic>

#include "../message.h"
#include "../plan.h"

namespace jf {

// Ranks in a block, in ticks of an array: 5 arrays of them are 160 KiB. With fewer realizations in
// a register there are more ranks.
constexpr std::int64_t kMessageBlock = 4096;

// A message pass over all ranks of some realizations. Lane k of a register is realization first +
// k; where there are fewer realizations than lanes, the last one is in all lanes that are left.
struct MessageJob {
  const ProgramView* program;
  const Pass* pass;
  std::uint32_t first;  // realization
  int realizations;
  bool full_statistics;
  bool first_pass;  // the realizations' first message pass
  MessageState state;
  // [realization][rank], the times between passes: `second` of forwards that cost CPU time, or
  // null.
  Tick *memory, *second;
  std::int64_t memory_stride;
  Tick* capture;  // rows x ranks of the first realization, takes every ready time; or null
  void* cursors;  // [rank][source], CursorOf a register or of a tick; for noise that needs them
  Observation* observations;  // [realization][row], merged into
  const std::atomic<bool>* stop;
};

// Whether to give up: what is in the arrays does not matter then. For looks that are rare enough.
bool stopped(const MessageJob& job);
constexpr std::int64_t kMessagePatience = std::int64_t{1} << 15;  // messages in between

// The compilations for different instruction sets: a lane of a register is a realization.
using RunMessages = void (*)(const MessageJob&);
void run_messages_portable(const MessageJob& job);
void run_messages_avx2(const MessageJob& job);
void run_messages_avx512(const MessageJob& job);

}  // namespace jf
