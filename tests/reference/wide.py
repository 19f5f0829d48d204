"""Vectorized NumPy reference of one realization's noise, for all ranks at once.

Intervals are drawn up to a horizon that is given, and walked column by column.
"""

from collections import Counter

import numpy as np

from . import philox
from .noise import Intervals, RenewalNoise
from .wide_draws import apply, only_uniform64, pair64, uniform64, uniform64_of_each

NEVER = 2**62


class BeyondHorizonError(Exception):
    """A time was reached for which no intervals were drawn."""


def of_each(delay, uniforms):
    """A function of one uniform at all of them, once for those that ranks of a node share."""
    different, places = np.unique(uniforms, return_inverse=True)
    return np.array([delay(u) for u in different.tolist()])[places]


class WideNoise:
    """Any number of sources, drawn for one seed and realization, for times below `horizon`."""

    def __init__(self, sources, ranks, seed, realization, horizon):
        self._draw = seed, realization
        self._ranks = np.arange(ranks)
        self._horizon = horizon
        self._sources = []
        self._known = {}
        self._lossy = {}  # numbers among sources of lossy links, by the ordinal
        roles = Counter()
        for source in sources:
            if source.role == "message" and source.links:
                self._lossy[roles["message"]] = len(self._lossy)
            self._sources.append((source, roles[source.role]))
            roles[source.role] += 1
        self._intervals = {compute: self._union(compute) for compute in (False, True)}
        self._over = {compute: np.maximum.accumulate(ends.max(axis=1, initial=0))
                      for compute, (_, ends) in self._intervals.items()}  # fmt: skip

    def compute(self, t, work, cycle):
        return self._work(t, work, "compute", cycle, 0) if work else t

    def receive(self, t, work, cycle, number):
        return self._work(t, work, "receive", cycle, number)

    def send(self, t, work, cycle, number):
        return self._work(t, work, "send", cycle, number)

    def pass_on(self, t, work):
        return self._advance(t, np.full(len(t), work), compute=False)

    def transit_delay(self, sent, message, cycle, number):
        """Of the messages to all ranks; `sent` is in the receivers' order."""
        total = np.zeros(len(sent), dtype=np.int64)
        for source, ordinal in self._sources:
            if source.role in ("jitter", "message"):
                purpose = source.purpose(message, ordinal)
                uniforms = self._step_uniforms(source, purpose, cycle, number)
                if source.role == "message":
                    delays = apply(source.delay, uniforms)
                else:
                    events = sum((uniforms < np.uint64(limit)) * 1 for limit in source.survival)
                    delays = events * source.duration
                if source.role == "message" and source.links:
                    lossy = self._of_spell(source, self._lossy[ordinal], philox.LOSSY_LINKS,
                                           philox.LOSSY_SPELLS, sent)  # fmt: skip
                    delays = np.where(lossy < np.uint64(source.links), delays, 0)
                total += np.where(self._acts(source, sent), delays, 0)
            elif source.role == "weather":
                uniforms = self._of_spell(source, ordinal, philox.WEATHER, philox.WEATHER_SPELLS,
                                          sent)  # fmt: skip
                delays = of_each(lambda u, source=source: source.late(u, None), uniforms)
                total += np.where(self._acts(source, sent), delays, 0)
        return total

    def _work(self, t, work, step, cycle, number):
        works = np.full(len(t), work, dtype=np.int64)
        for source, ordinal in self._sources:
            if source.role == "step" and (purpose := source.purpose(step)) is not None:
                uniforms = self._step_uniforms(source, purpose + ordinal, cycle, number)
                works += np.where(self._acts(source, t), apply(source.delay, uniforms), 0)
        return self._advance(t, works, compute=step == "compute")

    def _advance(self, t, work, *, compute):
        """Each rank's walk through its intervals, which may overlap, in order of their begins."""
        t, work = t.copy(), work.copy()
        first = np.searchsorted(self._over[compute], t.min(), side="right")  # over for all before
        begins, ends = self._intervals[compute]
        for begin, end in zip(begins[first:], ends[first:], strict=True):
            if not work.any():
                break
            free = np.maximum(begin - t, 0)
            hit = work > free
            t = np.where(hit, np.maximum(t, end), t)
            work = np.where(hit, work - free, work)
            t, work = np.where(hit, t, t + work), np.where(hit, work, 0)
        if (t + work).max() >= self._horizon:
            raise BeyondHorizonError
        return t + work

    def _acts(self, source, t):
        return (t >= source.begin) & (t < source.end) & self._hosts(source)

    def _hosts(self, source):
        return np.array(source.hosts or [True] * len(self._ranks))

    def _uniforms(self, source, purpose, number, draw=pair64):
        seed, realization = self._draw
        streams = self._ranks // source.node_ranks
        return draw(seed, purpose, streams, realization, number)

    def _of_spell(self, source, ordinal, purpose, phase_purpose, times):
        """The draw of each rank that holds at its time."""
        if not source.holds:
            return self._uniforms(source, purpose + ordinal, 0, draw=uniform64)
        phases = self._uniforms(source, phase_purpose + ordinal, 0, draw=uniform64).tolist()
        spells = [source.spell(t, phase) for t, phase in zip(times.tolist(), phases, strict=True)]
        spells = np.array(spells, dtype=np.uint64)
        return self._uniforms(source, purpose + ordinal, spells, draw=uniform64_of_each)

    def _step_uniforms(self, source, purpose, cycle, number):
        draw = philox.draw_of_step(cycle, number)
        return self._uniforms(source, purpose, draw, draw=uniform64)

    def _union(self, compute):
        """Begins and ends of the intervals, arrays (n, ranks), sorted by their begins."""
        columns = [np.empty((2, 0, len(self._ranks)), dtype=np.int64)]
        for source, ordinal in self._sources:
            acts = isinstance(source, Intervals)
            if acts and (source.in_compute if compute else source.in_communication):
                begins, ends = self._drawn(source, ordinal)
                begins = np.maximum(begins, source.begin)
                ends = np.minimum(ends, source.end)
                if source.bursts is not None:
                    begins, ends = self._while_on(source, begins, ends)
                none = (begins >= ends) | ~self._hosts(source)
                columns.append(np.where(none, NEVER, [begins, ends]))
        begins, ends = np.concatenate(columns, axis=1)
        order = np.argsort(begins, axis=0, kind="stable")
        begins = np.take_along_axis(begins, order, axis=0)
        ends = np.take_along_axis(ends, order, axis=0)
        used = (begins < NEVER).any(axis=1)
        return begins[used], ends[used]

    def _while_on(self, source, begins, ends):
        """What of each interval is in each of the times for which its source is on."""
        bursts = source.bursts
        before = [one for one, _ in self._sources if getattr(one, "bursts", None) is not None]
        ordinal = next(i for i, one in enumerate(before) if one is source)
        as_noise = RenewalNoise(bursts.off, bursts.on, bursts.start, node_ranks=bursts.node_ranks)
        purposes = philox.BURSTS + ordinal, philox.BURSTS_START + ordinal
        on = np.array(list(self._alternating(as_noise, *purposes)))
        begins = np.maximum(begins[:, None], on[None, :, 0]).reshape(-1, len(self._ranks))
        ends = np.minimum(ends[:, None], on[None, :, 1]).reshape(-1, len(self._ranks))
        return begins, ends

    def _drawn(self, source, ordinal):
        """Begins and ends without the window."""
        if (source.role, ordinal) not in self._known:
            makers = {"periodic": self._periodic, "renewal": self._renewal, "trace": self._trace}
            pairs = np.array(list(makers[source.role](source, ordinal)), dtype=np.int64)
            pairs = pairs.reshape(-1, 2, len(self._ranks)).transpose(1, 0, 2)
            self._known[source.role, ordinal] = pairs
        return self._known[source.role, ordinal]

    def _uniform_below(self, limit, given, source, purpose):
        """Phases and offsets: those given, or one draw each."""
        if given is not None:
            return np.array(given)
        seed, realization = self._draw
        streams = self._ranks // source.node_ranks
        uniforms = only_uniform64(seed, purpose, streams, realization)
        return np.array([u * limit >> 64 for u in uniforms.tolist()])

    def _periodic(self, source, ordinal):
        purpose = philox.ordinal(philox.PERIODIC_PHASE, philox.MORE_PHASES, ordinal)
        begin = self._uniform_below(source.period, source.phases, source, purpose)
        begin = begin - (source.period if source.stationary else 0)
        while begin.min() < self._horizon:
            yield begin, begin + source.duration
            begin = begin + source.period

    def _trace(self, source, ordinal):
        purpose = philox.TRACE_OFFSET + ordinal
        origin = -self._uniform_below(source.length, source.offsets, source, purpose)
        while origin.min() < self._horizon:
            for begin, end in source.pieces:
                yield origin + begin, origin + end
            origin = origin + source.length

    def _renewal(self, source, ordinal):
        return self._alternating(source, philox.RENEWAL + ordinal, philox.RENEWAL_START + ordinal)

    def _alternating(self, source, purpose, start_purpose):
        def gap(k):
            return apply(source.gap, self._uniforms(source, purpose, 2 * k))

        def duration(k):
            uniforms = self._uniforms(source, purpose, 2 * k + 1)
            return apply(source.duration, uniforms)

        begin, end = gap(0), duration(0)
        if source.stationary is not None:
            starts = [self._uniforms(source, start_purpose, n) for n in (0, 1)]
            busy = starts[0] < np.uint64(source.stationary.share)
            begin = np.where(busy, 0, apply(source.stationary.idle, starts[1]))
            end = np.where(busy, apply(source.stationary.busy, starts[1]), end)
        end, k = begin + end, 0
        while begin.min() < self._horizon:
            yield begin, end
            k += 1
            begin = end + gap(k)
            end = begin + duration(k)
