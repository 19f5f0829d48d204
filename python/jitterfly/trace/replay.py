"""One realization message by message, for pictures: what the engine does, told as events.

The engine keeps ready times only. This follows the same rules (the model's §4 and §6) with a list
of messages, slowly and in plain Python, and checks its ready times against the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .. import _core
from ..case import Case
from ..program import row_labels
from ..simulate import noise_phases, ready_times
from ..steps import DRAWS_PER_CYCLE
from ..units import TICKS_PER_SECOND, to_ticks
from .events import COPY, FORWARD, ORIGINAL, Collective, Message

_PURPOSES = {ORIGINAL: 16, COPY: 17, FORWARD: 18}


@dataclass
class Replay:
    """One realization: ticks of 1 ps everywhere.

    `ready` has shape (rows, ranks), rows as `row_labels`; `compute` holds (rank, begin, end) of the
    compute phases.
    """

    case: Case
    seed: int
    realization: int
    messages: list[Message] = field(default_factory=list)
    compute: list[tuple[int, int, int]] = field(default_factory=list)
    ready: npt.NDArray[np.int64] = field(init=False)
    phases: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        case = self.case
        self.costs = case.costs
        self.periodic = next((n for n in case.noise if n.kind == "periodic"), None)
        jitter = next((n for n in case.noise if n.kind == "jitter"), None)
        self.survival = [int(x) for x in jitter.survival(self.costs.transit)] if jitter else []
        self.delay = to_ticks(jitter.duration) if jitter else 0
        if self.periodic is not None:
            phases = noise_phases(case, self.seed, self.realization)
            self.phases = np.rint(phases * TICKS_PER_SECOND).astype(np.int64)
        self.rows: list[list[int]] = []
        now = [0] * case.ranks
        for cycle in range(case.cycles):
            now = self._cycle(cycle, now)
        self.ready = np.array(self.rows, dtype=np.int64)
        engine = np.rint(ready_times(case, self.seed, self.realization) * TICKS_PER_SECOND)
        assert self.ready.shape == (len(row_labels(case)), case.ranks)
        if not np.array_equal(self.ready, engine.astype(np.int64)):
            raise RuntimeError("the replay of a realization differs from the engine: please report")

    def advance(self, rank: int, time: int, work: int, computing: bool = False) -> int:
        """When `work` is done on a rank that starts it at `time`."""
        noise = self.periodic
        hidden = "communication" if computing else "compute"
        if noise is None or self.phases is None or noise.during == hidden:
            return time + work
        period, duration = to_ticks(noise.period), to_ticks(noise.duration)
        phase = int(self.phases[rank])
        stationary = noise.start == "stationary"
        return _core.advance_periodic(period, duration, stationary, phase, time, work)

    def _cycle(self, cycle: int, now: list[int]) -> list[int]:
        case, ranks = self.case, range(self.case.ranks)
        work = to_ticks(case.work)
        start = [self.advance(i, now[i], work, computing=True) for i in ranks]
        if work:
            self.compute += [(i, now[i], start[i]) for i in ranks]
        if cycle == 0:
            self.rows.append(start)
        levels = Collective(self, cycle, start).run()
        self.rows += levels[1:]
        final, busy = list(levels[-1]), list(levels[-1])
        cost = case.algorithm.forward_ticks()
        for m in range(1, case.algorithm.forwards(case.log2_ranks) + 1):
            sent = [self.advance(i, busy[i], cost) for i in ranks]
            for i in ranks:
                source = i ^ (1 << (m - 1))
                message = self.send(FORWARD, cycle, m, source, i, sent[source])
                message.used = message.arrival < final[i]
                if message.used:
                    final[i] = message.arrival
                busy[i] = final[i] if message.used else sent[i]
            self.rows.append(list(final))
        self.rows.append(list(final))
        return busy

    def send(
        self, kind: str, cycle: int, level: int, source: int, target: int, sent: int
    ) -> Message:
        """Put a message on its way; draws are numbered by its receiver and the round."""
        draw = DRAWS_PER_CYCLE * cycle + level - 1
        arrival = sent + self.costs.transit
        if self.survival:
            counter = (draw >> 1, _PURPOSES[kind], target, self.realization)
            words = _core.philox(counter, (self.seed & 0xFFFFFFFF, self.seed >> 32))
            low, high = words[2:] if draw & 1 else words[:2]
            uniform = int(low) | int(high) << 32
            arrival += self.delay * sum(uniform < threshold for threshold in self.survival)
        message = Message(kind, level, source, target, sent, arrival)
        self.messages.append(message)
        return message
