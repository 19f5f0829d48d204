"""The noise of one realization, asked rank by rank and message by message."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import Any

from .. import _core
from ..case import Case
from ..messages import hypercube_load, is_routed
from ..noise import scope
from ..program import compile_case
from ..steps import DRAWS_PER_CYCLE
from ..units import to_ticks
from .events import COMPUTE, COPY, FORWARD, ORIGINAL, RECEIVE, SEND

# Purposes of draws (cuda/philox.h), for the first source of a kind and for the others.
_STEP = {RECEIVE: 0x500, SEND: 0x600, COMPUTE: 0x700}
_MESSAGE = {ORIGINAL: 0x800, COPY: 0x900, FORWARD: 0xA00}
_JITTER = {ORIGINAL: 16, COPY: 17, FORWARD: 18}
_ROLE = {ORIGINAL: 0, FORWARD: 1, COPY: 2}  # of rows of loads (cuda/noise/loads.h)
_MORE_JITTER = {ORIGINAL: 0xB00, COPY: 0xC00, FORWARD: 0xD00}


class DrawnNoise:
    """What the noise of a case does in one realization; ticks of 1 ps everywhere."""

    def __init__(self, case: Case, seed: int, realization: int):
        self.case, self.seed, self.realization = case, seed, realization
        self.program = compile_case(case)
        self._busy: dict[tuple[int, bool], tuple[int, list[int], list[int]]] = {}
        self._steps: list[tuple[Any, int, _core.Delay]] = []
        self._messages: list[tuple[Any, int, _core.Delay]] = []
        self._load = 0
        if is_routed(case):
            self._load = hypercube_load(case, case.cycle_steps())
            self._rows, self._loads = _core.loads(self.program, seed, realization)
        numbers: Counter[str] = Counter()
        for source in case.noise:
            number = numbers[source.kind]
            numbers[source.kind] += 1
            one: Any = source
            if source.kind == "step":
                self._steps.append((one, number, one.table().delay()))
            elif source.kind == "message":
                self._messages.append((one, number, one.table().delay()))
            elif source.kind == "jitter":
                survival = one.survival(case.costs.transit)
                counts = _core.Delay.counts(to_ticks(one.duration), survival)
                self._messages.append((one, number, counts))

    def intervals(self, rank: int, until: int, *, computing: bool) -> list[tuple[int, int]]:
        """When a rank is away: [begin, end) of all intervals that begin before `until`."""
        _, begins, ends = self._upto(rank, until, computing)
        return [pair for pair in zip(begins, ends, strict=True) if pair[0] < until]

    def advance(self, rank: int, time: int, work: int, *, computing: bool) -> int:
        """When `work` is done on a rank that starts it at `time`."""
        while work:
            _, begins, ends = self._upto(rank, time + work, computing)
            at = bisect_right(ends, time)
            if at == len(ends) or work <= begins[at] - time:
                break
            work -= max(begins[at] - time, 0)
            time = ends[at]
        return time + work

    def step_delay(self, step: str, rank: int, time: int, cycle: int, number: int) -> int:
        """What is added to the work of a step that begins at `time`, of round `number`."""
        total = 0
        for source, ordinal, delay in self._steps:
            hidden = "communication" if step == COMPUTE else "compute"
            wrong = step not in _STEP or (step != COMPUTE and step != source.at)
            if source.during != hidden and not wrong:
                total += self._draw(source, delay, _STEP[step] + ordinal, rank, time, cycle, number)
        return total

    def message_delay(self, kind: str, receiver: int, sent: int, cycle: int, number: int) -> int:
        """How much later a message of round `number` arrives that left its sender at `sent`."""
        total = 0
        for source, ordinal, delay in self._messages:
            purpose = _MESSAGE[kind] + ordinal
            if source.kind == "jitter":
                purpose = _MORE_JITTER[kind] + ordinal if ordinal else _JITTER[kind]
            total += self._draw(source, delay, purpose, receiver, sent, cycle, number)
        if self._load:
            row = self._rows[_ROLE[kind], DRAWS_PER_CYCLE * cycle + number]
            total += self._load * int(self._loads[row, receiver])
        return total

    def _draw(
        self,
        source: Any,
        delay: _core.Delay,
        purpose: int,
        rank: int,
        time: int,
        cycle: int,
        number: int,
    ) -> int:
        window = scope.window(source.begin, source.end)
        if not window["begin"] <= time < window["end"]:
            return 0
        key = rank // scope.node_ranks(source.shared, self.case.ranks)
        draw = DRAWS_PER_CYCLE * cycle + number
        return int(delay.draw(self.seed, purpose, key, self.realization, draw, 1)[0])

    def _upto(self, rank: int, until: int, computing: bool) -> tuple[int, list[int], list[int]]:
        """Begins and ends of a rank's intervals, up to `until` at least."""
        known = self._busy.get((rank, computing), (-1, [], []))
        if known[0] < until:
            until *= 2  # a rank goes on from there
            found = _core.busy(self.program, self.seed, self.realization, rank, until, computing)
            known = until, found[:, 0].tolist(), found[:, 1].tolist()
            self._busy[rank, computing] = known
        return known
