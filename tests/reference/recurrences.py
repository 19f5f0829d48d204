"""Vectorized NumPy reference of the butterfly: recurrences of docs/model.md, "The butterfly".

For machines too large for the event-driven reference.

Exact for the conventional butterfly, for redundant copies at every level without jitter (no rank
skips a level then), and for forwards and cycles after either.
"""

import numpy as np

from . import philox
from .wide import WideNoise
from .wide_draws import uniform64


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


class OnePeriodic:
    """At most one periodic source, in closed form, and one jitter; as WideNoise otherwise."""

    def __init__(self, case, phases):
        self.case = case
        self.ranks = np.arange(case.ranks)
        self.phases = phases

    def compute(self, t, work, cycle):
        noise = self.case.periodic
        return advance(noise, self.phases, t, work) if noise and noise.in_compute else t + work

    def pass_on(self, t, work):
        noise = self.case.periodic
        hit = noise and noise.in_communication
        return advance(noise, self.phases, t, work) if hit else t + work

    def receive(self, t, work, cycle, number):
        return self.pass_on(t, work)

    def send(self, t, work, cycle, number):
        return self.pass_on(t, work)

    def transit_delay(self, sent, message, cycle, number):
        case = self.case
        if not case.jitter:
            return 0
        draw = philox.draw_of_step(cycle, number)
        u = uniform64(case.seed, philox.JITTER[message], self.ranks, case.realization, draw)
        events = sum((u < np.uint64(limit)).astype(np.int64) for limit in case.jitter.survival)
        return events * case.jitter.duration


class Recurrences:
    """One realization of an `EngineCase`; `rows()` is what `ButterflyRun.rows` holds.

    With a `horizon` any sources are drawn, up to that time; without it there may be one periodic
    source, whose `phases` are given, and one jitter.
    """

    def __init__(self, case, phases=None, horizon=None):
        self.case = case
        self.ranks = np.arange(case.ranks)
        full = set(case.within) == set(range(1, case.log2_ranks))
        delayed = any(source.role in ("jitter", "message") for source in case.sources)
        assert not case.within or (full and not delayed), "ranks may skip levels: no recurrence"
        assert horizon or not case.others
        draws = case.seed, case.realization
        self.noise = (
            WideNoise(case.sources, case.ranks, *draws, horizon)
            if horizon
            else OnePeriodic(case, phases)
        )

    def arrival(self, sent, partner, message, cycle, number):
        sent = sent[self.ranks ^ partner]
        delay = self.noise.transit_delay(sent, message, cycle, number)
        return sent + self.case.costs.transit + delay

    def rows(self):
        case, rows = self.case, []
        free = np.zeros(case.ranks, dtype=np.int64)
        for cycle in range(case.cycles):
            start = self.noise.compute(free, case.costs.work, cycle)
            levels = self.butterfly(start, cycle)
            forwards, free = self.forwards(levels[-1], cycle)
            rows += ([] if cycle else [start]) + levels[1:] + forwards[1:] + forwards[-1:]
        return np.array(rows)

    def butterfly(self, start, cycle):
        """Ready times of levels 0 ... K."""
        case, costs, noise, levels = self.case, self.case.costs, self.noise, [start]
        sent = busy = noise.send(start, costs.send, cycle, 0)
        for number in range(case.log2_ranks):
            level = number + 1
            original = self.arrival(sent, 1 << number, "original", cycle, number)
            work = costs.receive + costs.combine
            own = noise.receive(np.maximum(busy, original), work, cycle, number)
            if level == case.log2_ranks:
                levels.append(own)
                break
            sent_own = noise.send(own, costs.send, cycle, level)
            if level not in case.within:
                levels.append(own)
                sent = busy = sent_own
                continue
            copied = noise.pass_on(sent_own, costs.send)
            copy = self.arrival(copied, 1, "copy", cycle, number)
            adopted = noise.receive(np.maximum(busy, copy), costs.receive, cycle, number)
            adopts = copy < original
            levels.append(np.where(adopts, adopted, own))
            sent_adopted = noise.send(adopted, costs.send, cycle, level)
            sent = np.where(adopts, sent_adopted, sent_own)
            busy = np.where(adopts, sent_adopted, copied)
        return levels

    def forwards(self, final, cycle):
        """Ready times f[0 ... T], and when each rank's CPU is free."""
        case, times, free = self.case, [final], final
        for number in range(case.after):
            sent = self.noise.pass_on(free, case.costs.forward)
            there = self.arrival(sent, 1 << number, "forward", cycle, number)
            free = np.where(there < times[-1], there, sent)
            times.append(np.minimum(times[-1], there))
        return times, free
