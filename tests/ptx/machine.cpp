// PTX interpreter: reads programs and executes their instructions (see machine.h). What they do is
// said in the PTX ISA, chapter "Instruction Set". All are integer instructions, as our kernels have
// no others.
#include "machine.h"

#include "registers.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_map>

namespace jf_ptx {

// What the threads of a launch have in common.
struct Launch {
  const unsigned char* parameters;
  std::size_t dynamic_shared, shared_bytes;  // where the former begin; all
};

// A thread of a kernel while it runs.
class Thread {
 public:
  Thread(const Launch& launch, const Function& function, std::uint64_t* registers,
         unsigned char* local)
      : launch_(launch) {
    frame_.local = local;
    frame_.registers = registers;
    enter(function);
  }

  // Until it ends.
  void run() {
    Instruction* at = next;
    while (at != nullptr) {
      Instruction& one = *at++;
      if (one.guard != 0) {
        const bool set = frame_.registers[std::abs(one.guard) - 1] != 0;
        if (set != (one.guard > 0)) continue;
      }
      ++one.number;
      next = at;
      one.run(*this, one.operands);
      if (one.jumps) at = next;
    }
  }

  // Operands as assembler.py writes them.
  void call(const std::int32_t* operands) {
    const Frame caller = frame_;
    callers_.push_back({caller, next});
    const Function& callee = *caller.function->calls[static_cast<std::size_t>(operands[0])];
    frame_.registers += caller.function->registers;
    frame_.local += caller.function->local_bytes;
    enter(callee);
    for (const std::int32_t* o = operands + 2; o < operands + 2 + 3 * operands[1]; o += 3)
      std::memcpy(frame_.local + o[1], caller.local + o[0], static_cast<std::size_t>(o[2]));
  }
  void leave() {
    if (callers_.empty()) {
      next = nullptr;
      return;
    }
    const Frame callee = frame_;
    frame_ = callers_.back().first;
    constants_ = end_of(frame_.function->constants);
    next = callers_.back().second;
    callers_.pop_back();
    const std::int32_t* results = next[-1].operands + 2 + 3 * next[-1].operands[1];
    for (const std::int32_t* o = results + 1; o < results + 1 + 3 * results[0]; o += 3)
      std::memcpy(frame_.local + o[0], callee.local + o[1], static_cast<std::size_t>(o[2]));
  }

  // An operand is a register or a constant. Of a register, an instruction takes the bits of its
  // own type; what lies above them is not defined.
  template <class T>
  T get(std::int32_t operand) const {
    return static_cast<T>((operand >= 0 ? frame_.registers : constants_)[operand]);
  }
  template <class T>
  void set(std::int32_t operand, T value) {
    frame_.registers[operand] = static_cast<std::uint64_t>(value);
  }
  // operands: base and offset.
  template <class T>
  void* address(const std::int32_t* operands, int count = 1) const {
    return aligned<T>(get<std::uint64_t>(operands[0]) + static_cast<std::uint64_t>(operands[1]),
                      count);
  }
  template <class T>
  void* shared_address(const std::int32_t* operands, int count = 1) const {
    const auto offset = get<std::uint32_t>(operands[0]) + static_cast<std::uint32_t>(operands[1]);
    if (offset + std::size_t{1} * sizeof(T) * static_cast<unsigned>(count) > launch_.shared_bytes)
      fail("byte " + std::to_string(offset) + " of " + std::to_string(launch_.shared_bytes) +
           " bytes of shared memory is used");
    return aligned<T>(reinterpret_cast<std::uintptr_t>(jf_emu::dynamic_shared) + offset, count);
  }
  const char* site() const { return origin().site; }
  [[noreturn]] void fail(const std::string& what) const {
    jf_emu::block().fail("line " + std::to_string(origin().line) + " of the PTX: " + what);
  }

  Instruction* next = nullptr;  // nullptr: the thread has ended

 private:
  struct Frame {
    const Function* function;
    std::uint64_t* registers;
    unsigned char* local;
  };

  const Function::Origin& origin() const {
    return frame_.function
        ->origins[static_cast<std::size_t>(next - 1 - frame_.function->code.data())];
  }
  static const std::uint64_t* end_of(const std::vector<std::uint64_t>& v) {
    return v.data() + v.size();
  }
  void enter(const Function& function) {
    frame_.function = &function;
    frame_.registers[0] = reinterpret_cast<std::uintptr_t>(launch_.parameters);
    frame_.registers[1] = reinterpret_cast<std::uintptr_t>(frame_.local);
    frame_.registers[2] = launch_.dynamic_shared;
    for (const auto& one : function.special) frame_.registers[one.slot] = one.value();
    constants_ = end_of(function.constants);
    next = function.code.data();
  }
  template <class T>
  void* aligned(std::uintptr_t address, int count) const {
    if (address % (sizeof(T) * static_cast<unsigned>(count)) != 0) fail("misaligned address");
    return reinterpret_cast<void*>(address);
  }

  const Launch& launch_;
  Frame frame_{};
  const std::uint64_t* constants_ = nullptr;  // the end of them
  std::vector<std::pair<Frame, Instruction*>> callers_;
};

namespace {

using Operands = const std::int32_t*;
using Handler = void (*)(Thread&, Operands);
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

constexpr std::int32_t kFixed = 3;  // registers that a function finds set: see `enter`

template <class T>
constexpr int kBits = 8 * static_cast<int>(sizeof(T));

// Products of two T.
template <class T>
struct Wide;
template <>
struct Wide<u16> : std::type_identity<u32> {};
template <>
struct Wide<s16> : std::type_identity<s32> {};
template <>
struct Wide<u32> : std::type_identity<u64> {};
template <>
struct Wide<s32> : std::type_identity<s64> {};
template <>
struct Wide<u64> : std::type_identity<u128> {};
template <>
struct Wide<s64> : std::type_identity<s128> {};

// --- The instructions: by name, with the number of operands (-1: any).
struct Known {
  Handler run;
  int operands;
};

class Table {
 public:
  Table();
  const Known* find(const std::string& name) const {
    const auto found = known_.find(name);
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  void add(const std::string& name, int operands, Handler run) { known_[name] = {run, operands}; }

  // f<T>(".u32"), and so on: of names of types that stand for T.
  template <class... T, class F>
  static void for_types(F f) {
    const auto one = [&f]<class U>(std::type_identity<U>) {
      const std::string bits = std::is_same_v<U, bool> ? ".pred" : std::to_string(kBits<U>);
      if (std::is_same_v<U, bool>) {
        f.template operator()<U>(bits);
      } else if (std::is_signed_v<U>) {
        f.template operator()<U>(".s" + bits);
      } else {
        f.template operator()<U>(".u" + bits);
        f.template operator()<U>(".b" + bits);
      }
    };
    (one(std::type_identity<T>()), ...);
  }
  template <class F>
  static void for_integers(F f) {
    for_types<u16, u32, u64, s16, s32, s64>(f);
  }
  // Their results have the type of their operands; F has no state.
  template <class T, class F>
  void unary(const std::string& name, F) {
    add(name, 2, [](Thread& t, Operands o) { t.set(o[0], static_cast<T>(F{}(t.get<T>(o[1])))); });
  }
  template <class T, class F>
  void binary(const std::string& name, F) {
    add(name, 3, [](Thread& t, Operands o) {
      t.set(o[0], static_cast<T>(F{}(t.get<T>(o[1]), t.get<T>(o[2]))));
    });
  }

  void arithmetic();
  void products();
  void bits();
  void comparisons();
  void moves();
  void memory();
  void atomics();
  void rendezvous();
  void control();

  template <class F>
  void comparison(const std::string& name, F);
  template <class T, int kCount, bool kShared>
  void memory_of(const std::string& name);
  template <class T, class F>
  void atomic(const std::string& name, F);

  std::unordered_map<std::string, Known> known_;
};

Table::Table() {
  arithmetic();
  products();
  bits();
  comparisons();
  moves();
  memory();
  atomics();
  rendezvous();
  control();
}

// Sums are modulo a power of two, in 64 bits as in fewer.
void Table::arithmetic() {
  for_integers([this]<class T>(const std::string& type) {
    binary<T>("add" + type, [](T a, T b) { return u64(a) + u64(b); });
    binary<T>("sub" + type, [](T a, T b) { return u64(a) - u64(b); });
    binary<T>("min" + type, [](T a, T b) { return std::min(a, b); });
    binary<T>("max" + type, [](T a, T b) { return std::max(a, b); });
    // By 0: anything; and what does not fit overflows.
    binary<T>("div" + type, [](T a, T b) {
      if (b == 0) return static_cast<T>(-1);
      return std::is_signed_v<T> && b == static_cast<T>(-1) ? static_cast<T>(0 - u64(a))
                                                            : static_cast<T>(a / b);
    });
    binary<T>("rem" + type, [](T a, T b) {
      if (b == 0) return a;
      return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
    });
  });
  for_types<s16, s32, s64>([this]<class T>(const std::string& type) {
    unary<T>("neg" + type, [](T a) { return 0 - u64(a); });
    unary<T>("abs" + type, [](T a) { return a < 0 ? 0 - u64(a) : u64(a); });
  });
}

void Table::products() {
  for_integers([this]<class T>(const std::string& type) {
    using W = typename Wide<T>::type;
    binary<T>("mul.lo" + type, [](T a, T b) { return u64(a) * u64(b); });
    binary<T>("mul.hi" + type, [](T a, T b) { return W{a} * W{b} >> kBits<T>; });
    add("mad.lo" + type, 4, [](Thread& t, Operands o) {
      t.set(o[0], static_cast<T>(u64(t.get<T>(o[1])) * u64(t.get<T>(o[2])) + u64(t.get<T>(o[3]))));
    });
    add("mad.hi" + type, 4, [](Thread& t, Operands o) {
      const auto high = static_cast<T>(W{t.get<T>(o[1])} * W{t.get<T>(o[2])} >> kBits<T>);
      t.set(o[0], static_cast<T>(u64(high) + u64(t.get<T>(o[3]))));
    });
    if constexpr (sizeof(T) < 8) {
      add("mul.wide" + type, 3, [](Thread& t, Operands o) {
        t.set(o[0], static_cast<W>(u64(t.get<T>(o[1])) * u64(t.get<T>(o[2]))));
      });
      add("mad.wide" + type, 4, [](Thread& t, Operands o) {
        t.set(o[0],
              static_cast<W>(u64(t.get<T>(o[1])) * u64(t.get<T>(o[2])) + u64(t.get<W>(o[3]))));
      });
    }
  });
}

u32 shift_of(u32 by, bool wrap) { return wrap ? by & 31 : std::min(by, 32u); }

void Table::bits() {
  for_types<bool, u16, u32, u64>([this]<class T>(const std::string& type) {
    binary<T>("and" + type, [](T a, T b) { return a & b; });
    binary<T>("or" + type, [](T a, T b) { return a | b; });
    binary<T>("xor" + type, [](T a, T b) { return a ^ b; });
    unary<T>("not" + type, [](T a) { return std::is_same_v<T, bool> ? a == 0 : ~u64(a); });
  });
  for_integers([this]<class T>(const std::string& type) {
    if constexpr (std::is_unsigned_v<T>) {
      add("shl" + type, 3, [](Thread& t, Operands o) {
        const auto by = t.get<u32>(o[2]);
        t.set(o[0], by < kBits<T> ? static_cast<T>(t.get<T>(o[1]) << by) : T{0});
      });
    }
    add("shr" + type, 3, [](Thread& t, Operands o) {
      const auto by = t.get<u32>(o[2]);
      const auto v = t.get<T>(o[1]);
      const T sign = v < 0 ? static_cast<T>(-1) : T{0};
      t.set(o[0], by < kBits<T> ? static_cast<T>(v >> by) : sign);
    });
  });
  // Funnel shifts: of a (low) and b (high).
  add("shf.l.wrap.b32", 4, [](Thread& t, Operands o) {
    const u64 both = t.get<u64>(o[2]) << 32 | t.get<u32>(o[1]);
    t.set(o[0], static_cast<u32>(both << shift_of(t.get<u32>(o[3]), true) >> 32));
  });
  add("shf.l.clamp.b32", 4, [](Thread& t, Operands o) {
    const u64 both = t.get<u64>(o[2]) << 32 | t.get<u32>(o[1]);
    t.set(o[0], static_cast<u32>(both << shift_of(t.get<u32>(o[3]), false) >> 32));
  });
  add("shf.r.wrap.b32", 4, [](Thread& t, Operands o) {
    const u64 both = t.get<u64>(o[2]) << 32 | t.get<u32>(o[1]);
    t.set(o[0], static_cast<u32>(both >> shift_of(t.get<u32>(o[3]), true)));
  });
  add("shf.r.clamp.b32", 4, [](Thread& t, Operands o) {
    const u64 both = t.get<u64>(o[2]) << 32 | t.get<u32>(o[1]);
    t.set(o[0], static_cast<u32>(both >> shift_of(t.get<u32>(o[3]), false)));
  });
  for_types<u32, u64, s32, s64>([this]<class T>(const std::string& type) {
    add("bfe" + type, 4, [](Thread& t, Operands o) {
      const auto v = t.get<T>(o[1]);
      const unsigned from = t.get<u8>(o[2]), count = t.get<u8>(o[3]);
      const unsigned last = std::min(from + count - (count > 0), kBits<T> - 1u);
      const bool sign = std::is_signed_v<T> && count > 0 && (v >> last & 1) != 0;
      u64 result = sign ? ~u64{0} : 0;
      for (unsigned i = 0; i < count && from + i < kBits<T>; ++i)
        result = (result & ~(u64{1} << i)) | u64(v >> (from + i) & 1) << i;
      t.set(o[0], static_cast<T>(result));
    });
  });
  for_types<u32, u64>([this]<class T>(const std::string& type) {
    add("bfi" + type, 5, [](Thread& t, Operands o) {
      const auto v = t.get<T>(o[1]);
      auto result = t.get<T>(o[2]);
      const unsigned to = t.get<u8>(o[3]), count = t.get<u8>(o[4]);
      for (unsigned i = 0; i < count && to + i < kBits<T>; ++i)
        result = (result & ~(T{1} << (to + i))) | (v >> i & 1) << (to + i);
      t.set(o[0], result);
    });
    add("clz" + type, 2, [](Thread& t, Operands o) {
      t.set(o[0], static_cast<u32>(std::countl_zero(t.get<T>(o[1]))));
    });
    add("popc" + type, 2, [](Thread& t, Operands o) {
      t.set(o[0], static_cast<u32>(std::popcount(t.get<T>(o[1]))));
    });
    unary<T>("brev" + type, [](T a) {
      T result = 0;
      for (int i = 0; i < kBits<T>; ++i) result |= (a >> i & 1) << (kBits<T> - 1 - i);
      return result;
    });
    add("bfind" + type, 2, [](Thread& t, Operands o) {
      t.set(o[0], static_cast<u32>(kBits<T> - 1 - std::countl_zero(t.get<T>(o[1]))));
    });
  });
  add("prmt.b32", 4, [](Thread& t, Operands o) {
    const u64 both = t.get<u64>(o[2]) << 32 | t.get<u32>(o[1]);
    const auto which = t.get<u32>(o[3]);
    u32 result = 0;
    for (int i = 0; i < 4; ++i) {
      const u32 selector = which >> 4 * i & 15;
      u32 byte = static_cast<u8>(both >> 8 * (selector & 7));
      if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
      result |= byte << 8 * i;
    }
    t.set(o[0], result);
  });
  add("lop3.b32", 5, [](Thread& t, Operands o) {
    const auto a = t.get<u32>(o[1]), b = t.get<u32>(o[2]), c = t.get<u32>(o[3]);
    const auto table = t.get<u32>(o[4]);
    u32 result = 0;
    for (int i = 0; i < 32; ++i) {
      const u32 index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
      result |= (table >> index & 1) << i;
    }
    t.set(o[0], result);
  });
}

template <class F>
void Table::comparison(const std::string& name, F) {
  for_integers([&]<class T>(const std::string& type) {
    add("setp." + name + type, 3,
        [](Thread& t, Operands o) { t.set(o[0], F{}(t.get<T>(o[1]), t.get<T>(o[2]))); });
    add("setp." + name + ".and" + type, 4, [](Thread& t, Operands o) {
      t.set(o[0], F{}(t.get<T>(o[1]), t.get<T>(o[2])) && t.get<bool>(o[3]));
    });
    add("setp." + name + ".or" + type, 4, [](Thread& t, Operands o) {
      t.set(o[0], F{}(t.get<T>(o[1]), t.get<T>(o[2])) || t.get<bool>(o[3]));
    });
    add("setp." + name + ".xor" + type, 4, [](Thread& t, Operands o) {
      t.set(o[0], F{}(t.get<T>(o[1]), t.get<T>(o[2])) != t.get<bool>(o[3]));
    });
  });
}

void Table::comparisons() {
  comparison("eq", std::equal_to<>());
  comparison("ne", std::not_equal_to<>());
  for (const char* name : {"lt", "lo"}) comparison(name, std::less<>());
  for (const char* name : {"le", "ls"}) comparison(name, std::less_equal<>());
  for (const char* name : {"gt", "hi"}) comparison(name, std::greater<>());
  for (const char* name : {"ge", "hs"}) comparison(name, std::greater_equal<>());
  for_integers([this]<class T>(const std::string& type) {
    add("selp" + type, 4,
        [](Thread& t, Operands o) { t.set(o[0], t.get<T>(t.get<bool>(o[3]) ? o[1] : o[2])); });
  });
}

void Table::moves() {
  for_types<bool, u16, u32, u64, s16, s32, s64>(
      [this]<class T>(const std::string& type) { unary<T>("mov" + type, [](T a) { return a; }); });
  for_types<u8, u16, u32, u64, s8, s16, s32, s64>([this]<class To>(const std::string& to) {
    for_types<u8, u16, u32, u64, s8, s16, s32, s64>([&]<class From>(const std::string& from) {
      add("cvt" + to + from, 2,
          [](Thread& t, Operands o) { t.set(o[0], static_cast<To>(t.get<From>(o[1]))); });
    });
  });
  add("pack2.b64", 3,
      [](Thread& t, Operands o) { t.set(o[0], t.get<u64>(o[2]) << 32 | t.get<u32>(o[1])); });
  add("pack2.b32", 3,
      [](Thread& t, Operands o) { t.set(o[0], t.get<u32>(o[2]) << 16 | t.get<u16>(o[1])); });
  add("unpack2.b64", 3, [](Thread& t, Operands o) {
    const auto v = t.get<u64>(o[2]);
    t.set(o[0], static_cast<u32>(v));
    t.set(o[1], static_cast<u32>(v >> 32));
  });
  add("unpack2.b32", 3, [](Thread& t, Operands o) {
    const auto v = t.get<u32>(o[2]);
    t.set(o[0], static_cast<u16>(v));
    t.set(o[1], static_cast<u16>(v >> 16));
  });
  // From and to generic addresses, which are the machine's.
  const auto same = [](Thread& t, Operands o) { t.set(o[0], t.get<u64>(o[1])); };
  add("cvta.u64", 2, same);
  add("cvta.to.u64", 2, same);
  add("cvta.shared.u64", 2, [](Thread& t, Operands o) {
    t.set(o[0], reinterpret_cast<std::uintptr_t>(jf_emu::dynamic_shared) + t.get<u32>(o[1]));
  });
  add("cvta.to.shared.u64", 2, [](Thread& t, Operands o) {
    t.set(o[0], t.get<u64>(o[1]) - reinterpret_cast<std::uintptr_t>(jf_emu::dynamic_shared));
  });
}

template <class T, int kCount, bool kShared>
T* address(const Thread& t, Operands o) {
  return static_cast<T*>(kShared ? t.shared_address<T>(o, kCount) : t.address<T>(o, kCount));
}

// Loads: destinations, base, offset. Stores: base, offset, sources.
template <class T, int kCount, bool kShared>
void Table::memory_of(const std::string& name) {
  add("ld" + name, kCount + 2, [](Thread& t, Operands o) {
    T values[kCount];
    std::memcpy(values, address<T, kCount, kShared>(t, o + kCount), sizeof values);
    for (int i = 0; i < kCount; ++i) t.set(o[i], values[i]);
  });
  add("st" + name, kCount + 2, [](Thread& t, Operands o) {
    T values[kCount];
    for (int i = 0; i < kCount; ++i) values[i] = t.get<T>(o[2 + i]);
    std::memcpy(address<T, kCount, kShared>(t, o), values, sizeof values);
  });
}

void Table::memory() {
  for_types<u8, u16, u32, u64, s8, s16, s32, s64>([this]<class T>(const std::string& type) {
    memory_of<T, 1, false>(type);
    memory_of<T, 1, true>(".shared" + type);
    memory_of<T, 2, false>(".v2" + type);
    memory_of<T, 2, true>(".shared.v2" + type);
    memory_of<T, 4, false>(".v4" + type);
    memory_of<T, 4, true>(".shared.v4" + type);
  });
}

// Threads take turns, so nothing comes between.
template <class F, class T>
T change(T* at, T value) {
  const T old = *at;
  *at = static_cast<T>(F{}(old, value));
  return old;
}

template <class T, class F>
void Table::atomic(const std::string& name, F) {
  add("atom." + name, 4, [](Thread& t, Operands o) {
    t.set(o[0], change<F>(address<T, 1, false>(t, o + 1), t.get<T>(o[3])));
  });
  add("atom.shared." + name, 4, [](Thread& t, Operands o) {
    t.set(o[0], change<F>(address<T, 1, true>(t, o + 1), t.get<T>(o[3])));
  });
  add("red." + name, 3,
      [](Thread& t, Operands o) { change<F>(address<T, 1, false>(t, o), t.get<T>(o[2])); });
  add("red.shared." + name, 3,
      [](Thread& t, Operands o) { change<F>(address<T, 1, true>(t, o), t.get<T>(o[2])); });
}

void Table::atomics() {
  for_types<u32, u64, s32, s64>([this]<class T>(const std::string& type) {
    atomic<T>("add" + type, [](T a, T b) { return u64(a) + u64(b); });
    atomic<T>("min" + type, [](T a, T b) { return std::min(a, b); });
    atomic<T>("max" + type, [](T a, T b) { return std::max(a, b); });
    atomic<T>("and" + type, [](T a, T b) { return a & b; });
    atomic<T>("or" + type, [](T a, T b) { return a | b; });
    atomic<T>("xor" + type, [](T a, T b) { return a ^ b; });
    atomic<T>("exch" + type, [](T, T b) { return b; });
    add("atom.cas" + type, 5, [](Thread& t, Operands o) {
      T* const at = address<T, 1, false>(t, o + 1);
      const T old = *at;
      if (old == t.get<T>(o[3])) *at = t.get<T>(o[4]);
      t.set(o[0], old);
    });
  });
}

// Of a block; the number of threads that bring true.
int barrier(Thread& t, std::int32_t which, bool predicate) {
  if (t.get<u32>(which) != 0) t.fail("a barrier other than number 0");
  return jf_emu::barrier(t.site(), predicate, jf_emu::Location::current());
}

unsigned vote(Thread& t, u32 mask, bool predicate) {
  return jf_emu::vote(t.site(), mask, predicate, jf_emu::Location::current());
}

enum class Shuffle { kUp, kDown, kButterfly, kIndex };

// Operands: result, whether the lane is in range, value, lane or distance, limits, mask.
template <Shuffle kKind>
void shuffle(Thread& t, std::int32_t result, std::int32_t in_range, Operands o) {
  const u32 by = t.get<u32>(o[1]) & 31, limits = t.get<u32>(o[2]);
  const u32 clamp = limits & 31, segment = limits >> 8 & 31, lane = jf_emu::block().lane();
  const u32 first = lane & segment, last = first | (clamp & ~segment);
  u32 source = lane ^ by;
  if (kKind == Shuffle::kUp) source = lane - by;
  if (kKind == Shuffle::kDown) source = lane + by;
  if (kKind == Shuffle::kIndex) source = first | (by & ~segment);
  const bool in =
      kKind == Shuffle::kUp ? static_cast<s32>(source) >= static_cast<s32>(last) : source <= last;
  t.set(result, jf_emu::shuffle(t.site(), t.get<u32>(o[3]), t.get<u32>(o[0]), in ? source : lane,
                                jf_emu::Location::current()));
  if (in_range >= 0) t.set(in_range, in);
}

void Table::rendezvous() {
  add("bar.sync", 1, [](Thread& t, Operands o) { barrier(t, o[0], false); });
  add("bar.red.popc.u32", 3, [](Thread& t, Operands o) {
    t.set(o[0], static_cast<u32>(barrier(t, o[1], t.get<bool>(o[2]))));
  });
  add("bar.red.or.pred", 3,
      [](Thread& t, Operands o) { t.set(o[0], barrier(t, o[1], t.get<bool>(o[2])) != 0); });
  add("bar.red.and.pred", 3,
      [](Thread& t, Operands o) { t.set(o[0], barrier(t, o[1], !t.get<bool>(o[2])) == 0); });
  add("bar.warp.sync", 1, [](Thread& t, Operands o) { vote(t, t.get<u32>(o[0]), false); });
  add("vote.sync.ballot.b32", 3,
      [](Thread& t, Operands o) { t.set(o[0], vote(t, t.get<u32>(o[2]), t.get<bool>(o[1]))); });
  add("vote.sync.any.pred", 3, [](Thread& t, Operands o) {
    t.set(o[0], vote(t, t.get<u32>(o[2]), t.get<bool>(o[1])) != 0);
  });
  add("vote.sync.all.pred", 3, [](Thread& t, Operands o) {
    t.set(o[0], vote(t, t.get<u32>(o[2]), !t.get<bool>(o[1])) == 0);
  });
  const auto shuffles = [this]<Shuffle kKind>(const std::string& kind) {
    const std::string name = "shfl.sync." + kind + ".b32";
    add(name, 5, [](Thread& t, Operands o) { shuffle<kKind>(t, o[0], -1, o + 1); });
    add("two." + name, 6, [](Thread& t, Operands o) { shuffle<kKind>(t, o[0], o[1], o + 2); });
  };
  shuffles.operator()<Shuffle::kUp>("up");
  shuffles.operator()<Shuffle::kDown>("down");
  shuffles.operator()<Shuffle::kButterfly>("bfly");
  shuffles.operator()<Shuffle::kIndex>("idx");
  add("redux.sync.max.u32", 3, [](Thread& t, Operands o) {
    t.set(o[0], jf_emu::reduce_max(t.site(), t.get<u32>(o[2]), t.get<u32>(o[1]),
                                   jf_emu::Location::current()));
  });
}

// Branches: the operand is the distance from the instruction after it.
void Table::control() {
  add("bra", 1, [](Thread& t, Operands o) { t.next += o[0]; });
  add("brx.idx", -1, [](Thread& t, Operands o) {  // register, number of targets, targets
    const auto index = t.get<u32>(o[0]);
    if (index >= static_cast<u32>(o[1])) t.fail("a branch to nowhere");
    t.next += o[2 + index];
  });
  add("call", -1, [](Thread& t, Operands o) { t.call(o); });
  add("ret", 0, [](Thread& t, Operands) { t.leave(); });
  add("exit", 0, [](Thread& t, Operands) { t.next = nullptr; });
  add("trap", 0, [](Thread& t, Operands) { t.fail("a trap"); });
  add("fence", 0, [](Thread&, Operands) {});
}

bool changes_next(const std::string& name) {
  return name == "bra" || name == "brx.idx" || name == "call" || name == "ret" || name == "exit";
}

bool is_rendezvous(const std::string& name) {
  return name.starts_with("bar.") || name.starts_with("vote.") || name.starts_with("redux.") ||
         name.find("shfl.") != std::string::npos;
}

const std::map<std::string, unsigned (*)()> kSpecial = {
    {"%tid.x", [] { return threadIdx.x; }},
    {"%tid.y", [] { return threadIdx.y; }},
    {"%tid.z", [] { return threadIdx.z; }},
    {"%ctaid.x", [] { return blockIdx.x; }},
    {"%ctaid.y", [] { return blockIdx.y; }},
    {"%ctaid.z", [] { return blockIdx.z; }},
    {"%ntid.x", [] { return blockDim.x; }},
    {"%ntid.y", [] { return blockDim.y; }},
    {"%ntid.z", [] { return blockDim.z; }},
    {"%nctaid.x", [] { return gridDim.x; }},
    {"%nctaid.y", [] { return gridDim.y; }},
    {"%nctaid.z", [] { return gridDim.z; }},
    {"%laneid", [] { return jf_emu::block().lane(); }},
};

// --- Programs as assembler.py writes them.
class Library {
 public:
  explicit Library(const std::string& file);
  const Kernel* find(const std::string& name) const {
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
  }
  void write_numbers(const std::string& file) const;

 private:
  void read_function(std::istream& in, const Table& table);
  void read_kernel(std::istream& in);

  std::unordered_map<std::string, Kernel> kernels_;
  std::deque<Function> functions_;
  std::deque<std::string> sites_;
};

template <class T>
T word(std::istream& in) {
  T value{};
  if (!(in >> value)) throw std::runtime_error("the program is cut short");
  return value;
}

Library::Library(const std::string& file) {
  std::ifstream in(file);
  const Table table;
  std::string kind;
  while (in >> kind) {
    if (kind == "kernel")
      read_kernel(in);
    else
      read_function(in, table);
  }
  if (kernels_.empty()) throw std::runtime_error("no programs in " + file);
}

void Library::read_kernel(std::istream& in) {
  const Function& function = functions_.at(word<std::size_t>(in));
  Kernel& kernel = kernels_[function.name];
  kernel.function = &function;
  kernel.local_bytes = word<std::size_t>(in);
  kernel.shared_bytes = word<std::size_t>(in);
  kernel.most_threads = word<std::size_t>(in);
  for (auto n = word<int>(in); n > 0; --n) {
    kernel.offsets.push_back(word<std::size_t>(in));
    kernel.sizes.push_back(word<std::size_t>(in));
  }
}

void Library::read_function(std::istream& in, const Table& table) {
  Function& f = functions_.emplace_back();
  f.name = word<std::string>(in);
  f.registers = word<std::size_t>(in);
  f.local_bytes = word<std::size_t>(in);
  std::vector<std::int32_t> special;
  for (auto n = word<int>(in); n > 0; --n) {
    const auto slot = special.emplace_back(word<std::int32_t>(in));
    const auto which = word<std::string>(in);
    const auto found = kSpecial.find(which);
    if (found == kSpecial.end()) throw std::runtime_error(f.name + ": unknown register " + which);
    f.special.push_back({slot, found->second});
  }
  f.constants.resize(word<std::size_t>(in));
  for (auto& constant : f.constants) constant = word<u64>(in);
  std::reverse(f.constants.begin(), f.constants.end());
  f.calls.resize(word<std::size_t>(in));
  for (auto& called : f.calls) called = &functions_.at(word<std::size_t>(in));
  f.code.resize(word<std::size_t>(in));
  f.origins.resize(f.code.size());
  std::vector<Listed> listing(f.code.size());
  std::size_t operands = 0;
  for (std::size_t i = 0; i < f.code.size(); ++i) {
    auto& [opcode, guard, words] = listing[i];
    const auto line = f.origins[i].line = word<std::int32_t>(in);
    guard = word<std::int32_t>(in);
    opcode = word<std::string>(in);
    words.resize(word<std::size_t>(in));
    for (auto& operand : words) operand = word<std::int32_t>(in);
    operands += words.size();
    const Known* known = table.find(opcode);
    const auto count = static_cast<int>(words.size());
    if (known == nullptr || (known->operands >= 0 && known->operands != count))
      throw std::runtime_error(f.name + ", line " + std::to_string(line) +
                               ": unknown instruction " + opcode + " with " +
                               std::to_string(count) + " operands");
    f.code[i].run = known->run;
    if (is_rendezvous(opcode))
      f.origins[i].site = sites_.emplace_back(opcode + " in line " + std::to_string(line)).c_str();
  }

  const Registers registers(listing, f.registers, kFixed, special);
  f.registers = registers.count();
  for (auto& one : f.special) one.slot = registers.place(one.slot);
  for (const Function* called : f.calls)
    f.all_registers = std::max(f.all_registers, called->all_registers);
  f.all_registers += f.registers;

  f.operands.reserve(operands);
  for (std::size_t i = 0; i < f.code.size(); ++i) {
    Instruction& one = f.code[i];
    auto& [opcode, guard, words] = listing[i];
    const auto here = static_cast<std::int32_t>(i + 1);
    if (opcode == "bra") words[0] -= here;
    if (opcode == "brx.idx")
      std::for_each(words.begin() + 2, words.end(), [&](auto& target) { target -= here; });
    one.operands = f.operands.data() + f.operands.size();
    f.operands.insert(f.operands.end(), words.begin(), words.end());
    one.number = 0;
    one.guard = guard;
    one.jumps = changes_next(opcode);
  }
}

void Library::write_numbers(const std::string& file) const {
  std::ofstream out(file);
  for (const Function& f : functions_) {
    for (std::size_t i = 0; i < f.code.size(); ++i)
      if (const auto number = f.code[i].number; number > 0)
        out << f.name << ' ' << f.origins[i].line << ' ' << number << '\n';
  }
}

std::unique_ptr<Library> library;

// Memory of a thread, which keeps what it holds from launch to launch.
class Memory {
 public:
  unsigned char* get(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset(static_cast<unsigned char*>(std::calloc(bytes, 1)));
      if (memory_ == nullptr) throw std::bad_alloc();
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(unsigned char* memory) const { std::free(memory); }
  };
  std::unique_ptr<unsigned char, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace

void Kernel::launch(dim3 grid, dim3 block, std::size_t shared, std::uint64_t seed,
                    jf_emu::Order order, const unsigned char* parameters) const {
  const std::size_t threads = jf_emu::Block::count(block);
  if (most_threads > 0 && threads > most_threads)
    throw jf_emu::Error("a block of " + std::to_string(threads) + " threads, compiled for " +
                        std::to_string(most_threads));
  static std::vector<u64> all_registers;
  static std::vector<Memory> all_local(1024);
  // An odd number of cache lines, so that those of all threads do not compete for a few of them.
  const std::size_t registers = ((function->all_registers / 8 + 1) | 1) * 8;
  if (all_registers.size() < 1024 * registers) all_registers.resize(1024 * registers);
  const std::size_t dynamic = (shared_bytes + 127) / 128 * 128;
  const Launch common{parameters, dynamic, dynamic + shared};
  jf_emu::Random random(seed);
  const auto run = [&] {
    const std::size_t number = jf_emu::block().thread();
    unsigned char* const local = all_local.at(number).get(local_bytes);
    jf_emu::fill_garbage(local, local_bytes, random);
    Thread(common, *function, all_registers.data() + number * registers, local).run();
  };
  jf_emu::launch(grid, block, common.shared_bytes, seed, run, order);
}

Programs::Programs(int count, char** words) {
  if (count == 1) return;
  if (count != 3) throw std::runtime_error("arguments: none, or a file and a folder");
  numbers_ = std::string(words[2]) + "/" + std::to_string(getpid());
  library = std::make_unique<Library>(words[1]);
}

Programs::~Programs() {
  if (library) library->write_numbers(numbers_);
  library.reset();
}

const Kernel* program_of(const void* kernel) {
  if (!library) return nullptr;
  Dl_info info;
  if (dladdr(kernel, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != kernel)
    throw jf_emu::Error("a kernel without a name");
  const Kernel* found = library->find(info.dli_sname);
  if (found == nullptr) throw jf_emu::Error(std::string("the PTX has no kernel ") + info.dli_sname);
  return found;
}

}  // namespace jf_ptx
