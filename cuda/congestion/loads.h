// Link loads (congestion) of a collective's messages, as tables for the engines of collectives.
// It finds which messages of a program are in the network together, and makes the table of their
// loads in a realization (counted by realize.h), which is that of noise/link_loads.h.
//
// All messages of a step are a level. They are routed together with the perturbing pattern of that
// level. Redundant copies are sent right after the original messages of the next round, and belong
// to the level of these. All copies count, also those of ranks that adopt a copy and so send none:
// which ranks adopt depends on times that depend on the loads.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "congestion/program.h"
#include "core/host_program.h"

namespace jf::congestion {

// Limits of one table; programs that need more are refused.
constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxRounds = std::int64_t{1} << 20;

// Messages of one level whose loads are one row of the table.
struct Sends {
  Step step;  // kForward, or kMessage with senders and receivers (core/partners.h)
  std::int32_t row;
};

// Messages that are routed together. The traffic of others is drawn by the number of their step in
// the case (draw_of_step), as all noise is: so it does not depend on the other steps.
struct Level {
  std::uint64_t number;
  std::vector<Sends> sends;
};

class LoadPlan {
 public:
  // `program` is finished; `network` has no levels of its own.
  LoadPlan(const jf::Program& program, Program network);

  // The arrays for Messages::loads. `table`: tables of realizations from `first` on, table_stride
  // apart; `rows`: rows(), or their copy on a device.
  std::vector<Loads> views(const std::uint16_t* table, const std::int32_t* rows,
                           std::int64_t table_stride, std::uint32_t first) const;
  const std::vector<std::int32_t>& rows() const { return rows_; }
  std::int64_t stride() const { return stride_; }
  std::int64_t draws() const { return draws_; }  // of a plane of rows()
  std::int64_t table_size() const { return row_count_ * stride_; }
  std::int64_t work() const;   // messages that are routed for a table, and hosts that are placed
  std::int64_t bytes() const;  // of one LoadMaker and its table

  std::int64_t ranks;
  Program network;
  ListedMessages listed_messages;
  std::vector<Level> levels;
  std::uint32_t max_own = 0;  // the most messages of a level, without perturbing ones

 private:
  bool loads_repeat() const;
  struct Round : Level {
    std::vector<std::int32_t*> rows;  // for each of its sends, the entry of rows_
  };
  void add(Round round);
  void check_rounds(const std::vector<Step>& steps) const;
  void check_table_size(std::int64_t rows) const;

  std::vector<Tick> link_times_;
  std::vector<std::int32_t> rows_;
  std::int64_t row_count_ = 1, stride_, draws_ = 0, planes_ = 1;
};

// Makes the table of a realization; returns early if `stop` is set. It writes to memory that it
// owns, so only one thread at a time may call it. The plan must outlive it.
using LoadMaker = std::function<void(std::uint32_t realization, std::uint16_t* table,
                                     const std::atomic<bool>& stop)>;
LoadMaker load_maker(const LoadPlan& plan, std::uint64_t seed);

}  // namespace jf::congestion
