// Congestion for the engines of collectives: which messages of a program are under way together,
// and how loaded the links of their routes are in a realization (noise/loads.h).
//
// What a step sends is a level: all of it, and the perturbing pattern of that level, is routed
// together. Redundant copies leave right after the original messages of the next round, and are of
// their level. All copies count, also those of ranks that adopt one and so send none: who adopts
// depends on times that depend on loads.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "congestion/program.h"
#include "core/host_program.h"

namespace jf::congestion {

// Of one table: rows that more would be needed for are refused.
constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;

constexpr std::int64_t kMaxRounds = std::int64_t{1} << 20;

// Messages of one level that go to one row.
struct Sends {
  Step step;  // kForward, or kMessage: who sends to whom (partners.h)
  std::int32_t row;
};

class LoadPlan {
 public:
  // The steps of a program that is finished; the network has no levels of its own.
  LoadPlan(const jf::Program& program, Program network);

  // What ProgramView::messages points to. Tables of realizations from `first` on, `apart` from each
  // other; `rows`: where rows() are for who reads them.
  std::vector<Loads> views(const std::uint16_t* table, const std::int32_t* rows,
                           std::int64_t table_stride, std::uint32_t first) const;
  const std::vector<std::int32_t>& rows() const { return rows_; }
  std::int64_t stride() const { return stride_; }
  std::int64_t table_size() const { return row_count_ * stride_; }
  std::int64_t work() const;  // messages that are routed for a table, and hosts that are placed
  // Of one LoadMaker and its table.
  std::int64_t bytes() const;

  std::int64_t ranks;
  Program network;
  std::vector<std::vector<Sends>> levels;
  std::uint32_t most_own = 0;  // messages of a level

 private:
  bool same_every_time() const;
  struct Round {
    std::vector<Sends> sends;
    std::vector<std::int32_t*> rows;  // of each of them, where its row is kept
  };
  void add(Round round);
  void check_rounds(const std::vector<Step>& steps) const;
  void check_room(std::int64_t rows) const;

  std::vector<Tick> link_times_;
  std::vector<std::int32_t> rows_;
  std::int64_t row_count_ = 1, stride_, draws_ = 0;
};

// Makes tables, one after another.
class LoadMaker {
 public:
  virtual ~LoadMaker() = default;
  // Gives up soon after `stop` is set.
  virtual void make(std::uint32_t realization, std::uint16_t* table,
                    const std::atomic<bool>& stop) = 0;
};
std::unique_ptr<LoadMaker> make_loads(const LoadPlan& plan, std::uint64_t seed);

}  // namespace jf::congestion
