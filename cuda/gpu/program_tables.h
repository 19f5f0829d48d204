// Tables of a program on a device: steps, message costs, noise sources; their bytes, and the
// upload.
#pragma once

#include "core/host_program.h"
#include "gpu/batch_size.h"

namespace jf::gpu {

inline std::int64_t program_bytes(const Program& p) {
  return vector_bytes(p.steps, p.intervals, p.delays, p.speeds, p.messages, p.words,
                      p.message_costs, p.step_messages, *p.listed_messages, *p.rank_times);
}

// `view` gets pointers to the memory of the device in place of the host's. Loads are not among
// them.
template <class Arena>
void upload_program(Arena& arena, const Program& p, ProgramView& view) {
  view.steps = arena.upload(p.steps);
  view.message_costs = arena.upload(p.message_costs);
  view.step_messages = arena.upload(p.step_messages);
  view.listed_messages = arena.upload(*p.listed_messages);
  view.rank_times = arena.upload(*p.rank_times);
  const auto* const intervals = arena.upload(p.intervals);
  const auto* const delays = arena.upload(p.delays);
  const auto* const speeds = arena.upload(p.speeds);
  const auto* const messages = arena.upload(p.messages);
  view.point_to(intervals, delays, speeds, messages, arena.upload(p.words));
}

}  // namespace jf::gpu
