"""One realization message by message, for pictures: what the engine does, told as events.

The engine keeps ready times only. This follows the same rules (the model's §4 and §6) with a list
of messages, slowly and in plain Python, and checks its ready times against the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..case import Case
from ..program import row_labels
from ..realization import ready_times
from ..units import TICKS_PER_SECOND, to_ticks
from .drawn import DrawnNoise
from .events import COMPUTE, FORWARD, PASS_ON, Collective, Message


@dataclass
class Replay:
    """One realization: ticks of 1 ps everywhere.

    `ready` has shape (rows, ranks), rows as `row_labels`; `compute` and `delayed` hold (rank,
    begin, end) of the compute phases, and of what was added to the work of single steps.
    """

    case: Case
    seed: int
    realization: int
    messages: list[Message] = field(default_factory=list)
    compute: list[tuple[int, int, int]] = field(default_factory=list)
    delayed: list[tuple[int, int, int]] = field(default_factory=list)
    ready: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        case = self.case
        self.costs = case.costs
        self.noise = DrawnNoise(case, self.seed, self.realization)
        self.rows: list[list[int]] = []
        now = [0] * case.ranks
        for cycle in range(case.cycles):
            now = self._cycle(cycle, now)
        self.ready = np.array(self.rows, dtype=np.int64)
        engine = np.rint(ready_times(case, self.seed, self.realization) * TICKS_PER_SECOND)
        assert self.ready.shape == (len(row_labels(case)), case.ranks)
        if not np.array_equal(self.ready, engine.astype(np.int64)):
            raise RuntimeError("the replay of a realization differs from the engine: please report")

    def work(
        self, rank: int, time: int, work: int, step: str = PASS_ON, cycle: int = 0, level: int = 1
    ) -> int:
        """When the `work` of a step is done on a rank that starts it at `time`."""
        added = self.noise.step_delay(step, rank, time, cycle, level - 1)
        end = self.noise.advance(rank, time, work + added, computing=step == COMPUTE)
        if added:
            self.delayed.append((rank, end - added, end))
        return end

    def _cycle(self, cycle: int, now: list[int]) -> list[int]:
        case, ranks = self.case, range(self.case.ranks)
        work = to_ticks(case.work)
        start = now
        if work:
            start = [self.work(i, now[i], work, COMPUTE, cycle) for i in ranks]
            self.compute += [(i, now[i], start[i]) for i in ranks]
        if cycle == 0:
            self.rows.append(start)
        levels = Collective(self, cycle, start).run()
        self.rows += levels[1:]
        final, busy = list(levels[-1]), list(levels[-1])
        cost = case.algorithm.forward_ticks()
        for m in range(1, case.algorithm.forwards(case.ranks) + 1):
            sent = [self.work(i, busy[i], cost) for i in ranks]
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
        late = self.noise.message_delay(kind, target, sent, cycle, level - 1)
        arrival = sent + self.costs.transit + late
        message = Message(kind, level, source, target, sent, arrival)
        self.messages.append(message)
        return message
