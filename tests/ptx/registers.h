// Places for the registers of a function: PTX gives every result a register of its own, thousands
// in a kernel. Those that are never needed at the same time share a place, so that what all threads
// of a block hold stays in the processor's cache.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace jf_ptx {

// An instruction as assembler.py writes it: targets of branches are positions.
struct Listed {
  std::string opcode;
  std::int32_t guard = 0;
  std::vector<std::int32_t> operands;
};

class Registers {
 public:
  // fixed: the first ones, which keep their places; entry: those that are set as a function begins.
  Registers(std::vector<Listed>& code, std::size_t count, std::int32_t fixed,
            const std::vector<std::int32_t>& entry)
      : code_(code), lives_(count), places_(count) {
    for (std::int32_t r = 0; r < fixed; ++r) lives_[index(r)] = {-1, end()};
    for (const std::int32_t r : entry) lives_[index(r)] = {-1, -1};
    find_blocks();
    find_lives();
    share();
    rename();
  }

  std::size_t count() const { return count_; }  // of places
  std::int32_t place(std::int32_t r) const { return places_[index(r)]; }

 private:
  // From the first position to the last one at which a register is needed.
  struct Life {
    std::int32_t first = INT32_MAX, last = INT32_MIN;
    void meet(std::int32_t position) {
      first = std::min(first, position);
      last = std::max(last, position);
    }
  };
  // Of instructions that are executed one after the other. The registers in whose values it begins
  // that some path from it reads, and those that it sets in any case before it reads them.
  struct Block {
    std::int32_t begin, end;
    std::vector<std::uint64_t> read, set;  // a bit for each register
  };

  static std::size_t index(std::int32_t r) { return static_cast<std::size_t>(r); }
  std::int32_t end() const { return static_cast<std::int32_t>(code_.size()); }

  static bool begins(const std::string& text, const char* with) { return text.starts_with(with); }

  static std::size_t results(const Listed& one) {
    const std::string& name = one.opcode;
    if (begins(name, "ld.")) return one.operands.size() - 2;
    if (begins(name, "two.") || begins(name, "unpack2.")) return 2;
    for (const char* none : {"st.", "red.", "bar.sync", "bar.warp.sync", "bra", "brx.", "call",
                             "ret", "exit", "trap", "fence"})
      if (begins(name, none)) return 0;
    return 1;
  }
  // f(operand, whether it is a result) for each operand that is a register. An address has an
  // offset, branches have targets, and calls copy memory alone.
  template <class F>
  static void for_registers(Listed& one, F f) {
    const std::string& name = one.opcode;
    const std::size_t number = results(one);
    std::size_t offset = SIZE_MAX, all = one.operands.size();
    if (begins(name, "ld.") || begins(name, "atom.")) offset = number + 1;
    if (begins(name, "st.") || begins(name, "red.")) offset = 1;
    if (name == "bra" || name == "call") all = 0;
    if (name == "brx.idx") all = 1;
    for (std::size_t i = 0; i < all; ++i)
      if (i != offset && one.operands[i] >= 0) f(one.operands[i], i < number);
  }
  static bool ends_block(const Listed& one) {
    return one.opcode == "bra" || one.opcode == "brx.idx" || one.opcode == "ret" ||
           one.opcode == "exit";
  }
  // f(position) for each one to which a branch may lead.
  template <class F>
  static void for_targets(const Listed& one, F f) {
    if (one.opcode == "bra") f(one.operands[0]);
    if (one.opcode == "brx.idx") std::for_each(one.operands.begin() + 2, one.operands.end(), f);
  }

  void find_blocks() {
    std::vector<bool> leads(code_.size() + 1);
    leads[0] = leads[code_.size()] = true;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (ends_block(code_[i])) leads[i + 1] = true;
      for_targets(code_[i], [&](std::int32_t target) { leads[index(target)] = true; });
    }
    block_at_.resize(code_.size() + 1);
    for (std::int32_t i = 0, begin = 0; i < end(); ++i) {
      block_at_[index(i)] = blocks_.size();
      if (!leads[index(i + 1)]) continue;
      const std::vector<std::uint64_t> none(lives_.size() / 64 + 1);
      Block& block = blocks_.emplace_back(begin, i + 1, none, none);
      for (; begin <= i; ++begin) look_at(code_[index(begin)], begin, block);
    }
  }
  // Registers 64 * word + i, where bit i is set.
  void read(Block& block, std::size_t word, std::uint64_t bits) {
    block.read[word] |= bits;
    meet(word, bits, block.begin);
  }
  void meet(std::size_t word, std::uint64_t bits, std::int32_t position) {
    for (; bits != 0; bits &= bits - 1)
      lives_[64 * word + index(std::countr_zero(bits))].meet(position);
  }
  void look_at(Listed& one, std::int32_t position, Block& block) {
    const auto meet = [&](std::int32_t r, bool reads, bool sets) {
      lives_[index(r)].meet(position);
      const std::uint64_t bit = std::uint64_t{1} << r % 64;
      if (reads && (block.set[index(r / 64)] & bit) == 0) read(block, index(r / 64), bit);
      if (sets) block.set[index(r / 64)] |= bit;
    };
    if (one.guard != 0) meet(std::abs(one.guard) - 1, true, false);
    for_registers(one, [&](std::int32_t r, bool result) {
      if (!result) meet(r, true, false);
    });
    // Where a result is guarded, what the register held before may stay.
    for_registers(one, [&](std::int32_t r, bool result) {
      if (result) meet(r, one.guard != 0, one.guard == 0);
    });
  }

  // What a path reads is needed in all blocks from where it is set.
  void find_lives() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = blocks_.size(); b-- > 0;) {
        Block& block = blocks_[b];
        Listed& last = code_[index(block.end - 1)];
        const auto follow = [&](std::int32_t position) {
          if (position == end()) return;
          const Block& next = blocks_[block_at_[index(position)]];
          for (std::size_t word = 0; word < next.read.size(); ++word) {
            meet(word, next.read[word], block.end);
            const std::uint64_t more = next.read[word] & ~(block.set[word] | block.read[word]);
            if (more == 0) continue;
            read(block, word, more);
            changed = true;
          }
        };
        for_targets(last, follow);
        if (!ends_block(last) || last.guard != 0) follow(block.end);
      }
    }
  }

  void share() {
    std::vector<std::int32_t> order;
    for (std::int32_t r = 0; index(r) < lives_.size(); ++r)
      if (lives_[index(r)].first != INT32_MAX) order.push_back(r);
    std::stable_sort(order.begin(), order.end(), [this](std::int32_t a, std::int32_t b) {
      return lives_[index(a)].first < lives_[index(b)].first;
    });
    using Entry = std::pair<std::int32_t, std::int32_t>;  // (last position, place)
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> taken;
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> left;
    for (const std::int32_t r : order) {
      for (; !taken.empty() && taken.top().first < lives_[index(r)].first; taken.pop())
        left.push(taken.top().second);
      if (left.empty()) left.push(static_cast<std::int32_t>(count_++));
      places_[index(r)] = left.top();
      left.pop();
      taken.push({lives_[index(r)].last, places_[index(r)]});
    }
  }
  void rename() {
    for (Listed& one : code_) {
      if (one.guard > 0) one.guard = place(one.guard - 1) + 1;
      if (one.guard < 0) one.guard = -(place(-one.guard - 1) + 1);
      for_registers(one, [this](std::int32_t& r, bool) { r = place(r); });
    }
  }

  std::vector<Listed>& code_;
  std::vector<Life> lives_;
  std::vector<std::int32_t> places_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> block_at_;  // by position
  std::size_t count_ = 0;
};

}  // namespace jf_ptx
