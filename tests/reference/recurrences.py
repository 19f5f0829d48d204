"""The model's recurrences (§4) in NumPy, for machines too large for the event-driven reference.

Exact for the conventional butterfly, for redundant copies at every level without jitter (no rank
skips a level then), and for forwards and cycles after either.
"""

import numpy as np

from . import philox

MASK = np.uint64(philox.MASK32)
HALF = np.uint64(32)


def uniform64(seed, purpose, streams, realization, number):
    """`philox.uniform64` for an array of streams."""
    shape = len(streams)
    first = np.full(shape, number // 2, dtype=np.uint64)
    purposes = np.full(shape, purpose, dtype=np.uint64)
    last = np.full(shape, realization, dtype=np.uint64)
    words = [first, purposes, streams.astype(np.uint64), last]
    key = [seed & philox.MASK32, seed >> 32]
    for _ in range(10):
        left = words[0] * np.uint64(0xD2511F53)
        right = words[2] * np.uint64(0xCD9E8D57)
        words = [(right >> HALF) ^ words[1] ^ np.uint64(key[0]), right & MASK,
                 (left >> HALF) ^ words[3] ^ np.uint64(key[1]), left & MASK]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) & philox.MASK32, (key[1] + 0xBB67AE85) & philox.MASK32]
    low, high = words[0:2] if number % 2 == 0 else words[2:4]
    return high << HALF | low


def advance(noise, phases, t, work):
    """`advance` for all ranks at once, in closed form."""
    if work == 0:
        return t
    period, duration = noise.period, noise.duration
    lead = np.zeros_like(t) if noise.stationary else np.clip(phases - t, 0, work)
    work, t = work - lead, t + lead  # free time before a fresh start's first interval
    since = (t - phases) % period  # an interval began so long ago
    t = np.where(work > 0, t - since, t)
    work = np.where(work > 0, work + np.maximum(since - duration, 0), 0)
    whole = np.maximum(work - 1, 0) // (period - duration)
    return np.where(work > 0, t + whole * duration + duration + work, t)


class Recurrences:
    """One realization of an `EngineCase`; `rows()` is what `ButterflyRun.rows` holds."""

    def __init__(self, case, phases=None):
        self.case = case
        self.ranks = np.arange(case.ranks)
        self.phases = phases
        full = set(case.within) == set(range(1, case.log2_ranks))
        assert not case.within or (full and not case.jitter), "ranks may skip levels: no recurrence"

    def work(self, t, amount, communication=True):
        noise = self.case.periodic
        if not noise or not (noise.in_communication if communication else noise.in_compute):
            return t + amount
        return advance(noise, self.phases, t, amount)

    def arrival(self, sent, partner, purpose, draw):
        case = self.case
        there = sent[self.ranks ^ partner] + case.costs.transit
        if not case.jitter:
            return there
        u = uniform64(case.seed, purpose, self.ranks, case.realization, draw)
        events = sum((u < np.uint64(limit)).astype(np.int64) for limit in case.jitter.survival)
        return there + events * case.jitter.duration

    def rows(self):
        case, rows = self.case, []
        free = np.zeros(case.ranks, dtype=np.int64)
        for cycle in range(case.cycles):
            start = self.work(free, case.costs.work, communication=False)
            levels = self.butterfly(start, cycle)
            forwards, free = self.forwards(levels[-1], cycle)
            rows += ([] if cycle else [start]) + levels[1:] + forwards[1:] + forwards[-1:]
        return np.array(rows)

    def butterfly(self, start, cycle):
        """Ready times of levels 0 ... K (the model's §4)."""
        case, costs, levels = self.case, self.case.costs, [start]
        sent = busy = self.work(start, costs.send)
        for number in range(case.log2_ranks):
            draw = philox.DRAWS_PER_CYCLE * cycle + number
            original = self.arrival(sent, 1 << number, philox.JITTER_ORIGINAL, draw)
            own = self.work(np.maximum(busy, original), costs.receive + costs.combine)
            sent_own = self.work(own, costs.send)
            if number + 1 not in case.within:
                levels.append(own)
                sent = busy = sent_own
                continue
            copied = self.work(sent_own, costs.send)
            copy = self.arrival(copied, 1, philox.JITTER_COPY, draw)
            adopted = self.work(np.maximum(busy, copy), costs.receive)
            adopts = copy < original
            levels.append(np.where(adopts, adopted, own))
            sent_adopted = self.work(adopted, costs.send)
            sent = np.where(adopts, sent_adopted, sent_own)
            busy = np.where(adopts, sent_adopted, copied)
        return levels

    def forwards(self, final, cycle):
        """Ready times f[0 ... T], and when each rank's CPU is free."""
        case, times, free = self.case, [final], final
        for number in range(case.after):
            sent = self.work(free, case.costs.forward)
            draw = philox.DRAWS_PER_CYCLE * cycle + number
            there = self.arrival(sent, 1 << number, philox.JITTER_FORWARD, draw)
            free = np.where(there < times[-1], there, sent)
            times.append(np.minimum(times[-1], there))
        return times, free
