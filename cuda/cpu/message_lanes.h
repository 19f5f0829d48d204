// What registers of ranks do in a message step (message.h).
#pragma once

#include <algorithm>

// First, for the reason given in block.h.
// clang-format off
#include "block.h"
#include "observer.h"
// clang-format on
#include "message_job.h"

namespace jf {
namespace {

JF_HD Lanes load_any(const Tick* p) {
  Lanes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

// What a message costs, the number of its draws, and its network.
template <class Network>
struct MessageRule {
  MessageCost cost;
  std::int32_t draw;
  [[no_unique_address]] Network network;
};

template <class Noise, class Network, bool kLinks>
struct MessageLanes {
  static constexpr bool kNoisy = !std::is_same_v<Noise, NoNoise>;
  static constexpr bool kQuietFirst = std::is_same_v<Noise, Periodic>;
  using Rule = MessageRule<Network>;

  // A register of ranks, as far as a step needs it.
  struct Ranks {
    Lanes busy, in, out, next, id;
  };

  const ProgramView& p;
  const Noise& noise;
  const std::uint32_t realization;
  Tick *const next, *const in, *const out;

  static Rule rule(const ProgramView& p, const Network& network, const Step& s, std::int32_t turn) {
    const MessageCost& m = p.message_costs[s.cost];
    return {m, s.draw + turn, network_of(network, p, m)};
  }

  JF_HD Lanes ranks(std::int64_t x) const { return broadcast(x) + lane_index(); }

  // All ranks of [0, to) send; times in place. As receive() does, this leaves `out` to the end.
  void send(const Rule rule, Tick* times, std::int64_t to) const {
    for (std::int64_t x = 0; x < to; x += kLanes) {
      Ranks r = get(times, x);
      with_noise(rule.cost.send > 0, x, r,
                 [=, this](const auto& any, Ranks& ranks) JF_INLINE { sent(any, rule, ranks); });
      store(times + x, r.busy);
    }
  }

  // All ranks of [from, to), which have all sent by the same rule, receive what left its senders at
  // arriving(rank), and kSend: send the next message. Times go from one array to another.
  template <bool kSend, class Arriving>
  JF_HD void receive(const Rule rule, const Rule after, const Tick* times, Tick* to_times,
                     std::int64_t from, std::int64_t to, Arriving&& arriving) const {
    const bool works = rule.cost.receive > 0 || (kSend && after.cost.send > 0);
    for (std::int64_t x = from; x < to; x += kLanes) {
      Ranks r;
      r.busy = load(times + x);
      r.id = ranks(x);
      if constexpr (kLinks) {
        r.in = load(in + x);
        r.out = r.busy + (rule.cost.gap - rule.cost.send);  // as it has just sent
      }
      const Lanes left = arriving(x);
      with_noise(works, x, r, [=, this](const auto& any, Ranks& ranks) JF_INLINE {
        received(any, rule, left, ranks);
        if (kSend) sent(any, after, ranks);
      });
      if constexpr (kLinks) store(in + x, r.in);
      if constexpr (kLinks && !kSend) store(out + x, r.out);
      store(to_times + x, r.busy);
    }
  }

  // Ranks of a register where `who` is set send. Returns when their messages have left.
  JF_HD Lanes send_some(const Rule& rule, Tick* times, std::int64_t x, Lanes who) const {
    return some(rule.cost.send > 0, times, x, who,
                [&](const auto& any, Ranks& ranks) JF_INLINE { sent(any, rule, ranks); });
  }
  JF_HD void receive_some(const Rule& rule, Tick* times, std::int64_t x, Lanes left,
                          Lanes who) const {
    const Lanes known = select(who, left, Lanes{});
    some(rule.cost.receive > 0, times, x, who,
         [&](const auto& any, Ranks& ranks) JF_INLINE { received(any, rule, known, ranks); });
  }

  // Registers of [from, to) send to those `away`, none of which sends.
  void pass(const Rule rule, Tick* times, std::int64_t from, std::int64_t to,
            std::int64_t away) const {
    const bool send_works = rule.cost.send > 0, receive_works = rule.cost.receive > 0;
    for (std::int64_t x = from; x < to; x += kLanes) {
      Ranks sender;
      sender.busy = load(times + x);
      sender.id = ranks(x);
      if constexpr (kLinks) sender.out = load(out + x);
      with_noise(send_works, x, sender,
                 [=, this](const auto& any, Ranks& r) JF_INLINE { sent(any, rule, r); });
      store(times + x, sender.busy);
      if constexpr (kLinks) store(out + x, sender.out);
      const Lanes left = sender.busy;
      Ranks receiver;
      receiver.busy = load(times + x + away);
      receiver.id = ranks(x + away);
      if constexpr (kLinks) receiver.in = load(in + x + away);
      with_noise(receive_works, x + away, receiver,
                 [=, this](const auto& any, Ranks& r) JF_INLINE { received(any, rule, left, r); });
      store(times + x + away, receiver.busy);
      if constexpr (kLinks) store(in + x + away, receiver.in);
    }
  }
  // What ranks of a register do.
  template <class Any>
  JF_HD void sent(const Any& any, const Rule& rule, Ranks& r) const {
    r.busy = send_message<kLinks>(any, rule.cost, rule.draw, r.next, r.out, r.busy, r.id);
  }
  template <class Any>
  JF_HD void received(const Any& any, const Rule& rule, Lanes left, Ranks& r) const {
    Lanes at = left + rule.cost.transit;
    if constexpr (Network::on) at += delay(rule, left, r.id);
    r.busy = receive_message<kLinks>(any, rule.cost, rule.draw, r.next, r.in, r.busy, at, r.id);
  }

  // One rank sends to one.
  JF_HD void pair(const Rule& rule, Tick* times, std::int64_t i, std::int64_t to) const {
    Tick none = 0;
    const Tick left = send_message<kLinks>(noise, rule.cost, rule.draw, next[i],
                                           kLinks ? out[i] : none, times[i], Tick{i});
    times[i] = left;
    Tick at = left + rule.cost.transit;
    if constexpr (Network::on) at += delay(rule, left, Tick{to});
    times[to] = receive_message<kLinks>(noise, rule.cost, rule.draw, next[to],
                                        kLinks ? in[to] : none, times[to], at, Tick{to});
  }

  // A step of a tree among [from, to), one pair after the other.
  void pairs(const Rule& rule, Tick* times, std::int64_t from, std::int64_t to, std::int64_t apart,
             bool down) const {
    for (std::int64_t i = from; i + apart < to; i += 2 * apart)
      pair(rule, times, down ? i : i + apart, down ? i + apart : i);
  }

  JF_HD Ranks get(const Tick* times, std::int64_t x) const {
    Ranks r;
    r.busy = load(times + x);
    r.id = ranks(x);
    if constexpr (kLinks) {
      r.in = load(in + x);
      r.out = load(out + x);
    }
    return r;
  }

  JF_HD void put(Tick* times, std::int64_t x, const Ranks& r) const {
    store(times + x, r.busy);
    if constexpr (kLinks) {
      store(in + x, r.in);
      store(out + x, r.out);
    }
  }

  // As in Block::exchange_few: first without noise; `act` has copies of what it uses, which stay in
  // registers, too. Without work (`works` is not set) none is met.
  template <class Act>
  JF_HD void with_noise(bool works, std::int64_t x, Ranks& r, const Act act) const {
    if constexpr (!kNoisy) {
      act(noise, r);
    } else if constexpr (kQuietFirst) {
      Ranks quiet = r;
      act(NoNoise{}, quiet);
      works &= noise.in_communication;
      if (__builtin_expect(works && any_greater(quiet.busy, load(next + x)), 0)) {
        Ranks copy = r;  // only copies leave the registers
        const Act same = act;
        noisy(*this, x, copy, same);
        r = copy;
      } else {
        r = quiet;
      }
    } else {
      with_next(x, r, act);
    }
  }
  JF_HD static void choose(Lanes who, const Ranks& from, Ranks& to) {
    to.busy = select(who, from.busy, to.busy);
    to.next = select(who, from.next, to.next);
    if constexpr (kLinks) {
      to.in = select(who, from.in, to.in);
      to.out = select(who, from.out, to.out);
    }
  }

 private:
  template <class T>
  JF_HD T delay(const Rule& rule, T left, T id) const {
    return rule.network.delay(p.seed, kOriginalJitter, static_cast<std::uint32_t>(rule.draw), id,
                              realization, left);
  }

  template <class Act>
  JF_HD void with_next(std::int64_t x, Ranks& r, const Act& act) const {
    r.next = load(next + x);
    act(noise, r);
    store(next + x, r.next);
  }
  template <class Act>
  __attribute__((noinline, cold)) static void noisy(const MessageLanes& lanes, std::int64_t x,
                                                    Ranks& r, const Act& act) {
    lanes.with_next(x, r, act);
  }

  // Only ranks where `who` is set act. Returns the times of all in the register.
  template <class Act>
  JF_HD Lanes some(bool works, Tick* times, std::int64_t x, Lanes who, Act&& act) const {
    const Ranks before = get_all(times, x);
    Ranks r = before;
    bool met = kNoisy;
    if constexpr (kQuietFirst) {
      act(NoNoise{}, r);
      works &= noise.in_communication;
      met = works && any_greater(select(who, r.busy, Lanes{}), before.next);
      if (met) r = before;
    }
    if (!kQuietFirst || met) {
      Ranks copy = r;
      some_noisy(*this, copy, act);
      r = copy;
    }
    Ranks after = before;
    choose(who, r, after);
    store(times + x, after.busy);
    if constexpr (kNoisy) store(next + x, after.next);
    if constexpr (kLinks) {
      store(in + x, after.in);
      store(out + x, after.out);
    }
    return after.busy;
  }
  JF_HD Ranks get_all(const Tick* times, std::int64_t x) const {
    Ranks r = get(times, x);
    if constexpr (kNoisy) r.next = load(next + x);
    return r;
  }
  template <class Act>
  __attribute__((noinline)) static void some_noisy(const MessageLanes& lanes, Ranks& r, Act&& act) {
    act(lanes.noise, r);
  }
};

}  // namespace
}  // namespace jf
