"""Replay of one realization in plain Python as a list of messages (event trace), for pictures.

The engine keeps ready times only. The replay follows the same rules (docs/model.md, "The
butterfly") with a list of messages, slowly and in plain Python, asks the engine for the noise that
it drew, and checks its ready times against the engine's. Times are ticks of 1 ps everywhere.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .algorithms import Butterfly
from .backends import core
from .case import Case
from .hierarchy import Hierarchy
from .network import Network
from .noise.source import engine_window, node_ranks
from .program import compile_case, row_labels
from .simulate import ready_times
from .steps import DRAWS_PER_CYCLE
from .units import TICKS_PER_SECOND, to_ticks

MAX_RANKS = 128
MAX_MESSAGES = 20_000  # also the most noise intervals: beyond, nobody could tell them apart

ORIGINAL, COPY, FORWARD = "original", "copy", "forward"
COMPUTE, RECEIVE, SEND, PASS_ON = "compute", "receive", "send", "pass on"


@dataclass
class Message:
    """A message; `level` is what its receiver has after taking it, `used` whether it was taken.

    Ticks of 1 ps: `sent` when it left the sender's CPU, `arrival` when the receiver may take it.
    """

    kind: str
    level: int
    source: int
    target: int
    sent: int
    arrival: int
    used: bool = False


class _ButterflyCycle:
    """The butterfly of one cycle as a loop over events, with any set of redundant copies.

    Ranks enter at the times `start`; the rules are those of docs/model.md, "Redundant copies inside
    the butterfly". The replay says how long work takes (`Replay.work`) and when a message arrives
    (`Replay.send`).
    """

    def __init__(self, replay: Replay, cycle: int, start: list[int]):
        self.replay, self.cycle = replay, cycle
        self.rounds = replay.case.log2_ranks
        self.copied = set(replay.case.algorithm.levels(replay.case.ranks))  # type: ignore[attr-defined]
        self.ready = [start, *([0] * len(start) for _ in range(self.rounds))]
        self.level = [0] * len(start)
        self.busy = list(start)
        self.inbox: list[list[Message]] = [[] for _ in start]
        self.events: list[tuple[int, int, int]] = []  # time, number of message or -1, rank
        if self.rounds:
            for rank in range(len(start)):
                self._send_original(rank, start[rank], 1)

    def _send_original(self, rank: int, time: int, level: int) -> None:
        work = self.replay.costs.send
        self.busy[rank] = self.replay.work(rank, time, work, SEND, self.cycle, level)
        self._send(ORIGINAL, level, rank, rank ^ (1 << (level - 1)))
        heapq.heappush(self.events, (self.busy[rank], -1, rank))

    def _send(self, kind: str, level: int, source: int, target: int) -> None:
        message = self.replay.send(kind, self.cycle, level, source, target, self.busy[source])
        number = len(self.replay.messages) - 1
        heapq.heappush(self.events, (message.arrival, number, target))

    def run(self) -> list[list[int]]:
        """The ready times, one list per level 0 ... K."""
        while self.events:
            now = self.events[0][0]
            self._arrivals(now)
            # At one instant: originals before copies, then the lower current level.
            while choices := [c for i in range(len(self.busy)) if (c := self._choice(i, now))]:
                _, _, rank, message = min(choices, key=lambda c: c[:3])
                self._receive(rank, message, now)
                self._arrivals(now)
        return self.ready

    def _arrivals(self, now: int) -> None:
        while self.events and self.events[0][0] == now:
            _, number, rank = heapq.heappop(self.events)
            if number >= 0:
                self.inbox[rank].append(self.replay.messages[number])

    def _choice(self, rank: int, now: int) -> tuple[bool, int, int, Message] | None:
        """The message that a free rank takes: the earliest, then the original, then the lowest."""
        level = self.level[rank]
        if self.busy[rank] > now or not self.inbox[rank]:
            return None
        self.inbox[rank] = [m for m in self.inbox[rank] if m.level > level]
        usable = [m for m in self.inbox[rank] if m.kind == COPY or m.level == level + 1]
        if not usable:
            return None
        best = min(usable, key=lambda m: (m.arrival, m.kind == COPY, m.level))
        return best.kind == COPY, level, rank, best

    def _receive(self, rank: int, message: Message, now: int) -> None:
        """Have a rank take a message at `now`: pass levels, and send what these need."""
        message.used = True
        costs = self.replay.costs
        before, level = self.level[rank], message.level
        work = costs.receive + (0 if message.kind == COPY else costs.combine)
        done = self.replay.work(rank, now, work, RECEIVE, self.cycle, level)
        self.level[rank], self.busy[rank] = level, done
        for passed in range(before + 1, level + 1):
            self.ready[passed][rank] = done
        if message.kind == COPY:
            for passed in range(before + 1, level + 1):
                self._send_original(rank, self.busy[rank], passed + 1)
        elif level < self.rounds:
            self._send_original(rank, done, level + 1)
            if level in self.copied:
                self.busy[rank] = self.replay.work(rank, self.busy[rank], costs.send)
                self._send(COPY, level, rank, rank ^ 1)
                heapq.heappush(self.events, (self.busy[rank], -1, rank))


# Purposes of draws (cuda/core/philox.h), for the first source of a kind and for the others.
_STEP_DRAWS = {RECEIVE: 0x500, SEND: 0x600, COMPUTE: 0x700}
_MESSAGE_DRAWS = {ORIGINAL: 0x800, COPY: 0x900, FORWARD: 0xA00}
_FIRST_JITTER_DRAWS = {ORIGINAL: 16, COPY: 17, FORWARD: 18}
# Of draws that hold for a time: of what is drawn, and of the phase.
_WEATHER = 64, 72
_LOSSY = 80, 88
_LOAD_ROLE = {ORIGINAL: 0, FORWARD: 1, COPY: 2}  # of rows of loads (cuda/noise/link_loads.h)
_MORE_JITTER_DRAWS = {ORIGINAL: 0xB00, COPY: 0xC00, FORWARD: 0xD00}


class DrawnNoise:
    """The noise of one realization, rank by rank and message by message, as the engine draws it."""

    def __init__(self, case: Case, seed: int, realization: int):
        self.case, self.seed, self.realization = case, seed, realization
        self.program = compile_case(case)
        self._busy: dict[tuple[int, bool], tuple[int, list[int], list[int]]] = {}
        self._steps: list[tuple[Any, int, core.Delay]] = []
        self._messages: list[tuple[Any, int, core.Delay]] = []
        self._weathers: list[tuple[Any, int, core.Delay]] = []
        self._load = 0
        if case.is_routed:
            self._load = case.compiled_steps.load
            self._rows, self._loads = core.loads(self.program, seed, realization)
        self._lossy: dict[int, int] = {}  # numbers of sources of lossy links, by the ordinal
        numbers: Counter[str] = Counter()
        source: Any
        for source in case.placed_noise:
            number = numbers[source.kind]
            numbers[source.kind] += 1
            if source.kind == "step":
                self._steps.append((source, number, source.table().delay()))
            elif source.kind == "message":
                if source.lossy:
                    self._lossy[number] = len(self._lossy)
                self._messages.append((source, number, source.table().delay()))
            elif source.kind == "weather":
                self._weathers.append((source, number, source.table().delay()))
            elif source.kind == "jitter":
                survival = source.survival(case.costs.transit)
                counts = core.Delay.counts(to_ticks(source.duration), survival)
                self._messages.append((source, number, counts))

    def intervals(self, rank: int, until: int, *, computing: bool) -> list[tuple[int, int]]:
        """The intervals in which a rank is away, [begin, end): all that begin before `until`."""
        _, begins, ends = self._busy_until(rank, until, computing)
        return [pair for pair in zip(begins, ends, strict=True) if pair[0] < until]

    def advance(self, rank: int, time: int, work: int, *, computing: bool) -> int:
        """The time at which `work` is done on a rank that starts it at `time`."""
        while work:
            _, begins, ends = self._busy_until(rank, time + work, computing)
            at = bisect_right(ends, time)
            if at == len(ends) or work <= begins[at] - time:
                break
            work -= max(begins[at] - time, 0)
            time = ends[at]
        return time + work

    def step_delay(self, step: str, rank: int, time: int, cycle: int, number: int) -> int:
        """The delay added to the work of a step of round `number` that begins at `time`."""
        total = 0
        for source, ordinal, delay in self._steps:
            other_phase = "communication" if step == COMPUTE else "compute"
            delays = step in _STEP_DRAWS and step in (COMPUTE, source.at)
            if delays and source.during != other_phase:
                total += self._draw(
                    source, delay, _STEP_DRAWS[step] + ordinal, rank, time, cycle, number
                )
        return total

    def message_delay(self, kind: str, receiver: int, sent: int, cycle: int, number: int) -> int:
        """The delay of a message of round `number` that left its sender at `sent`."""
        total = 0
        for source, ordinal, delay in self._messages:
            purposes = _MESSAGE_DRAWS
            if source.kind == "jitter":
                purposes = _MORE_JITTER_DRAWS if ordinal else _FIRST_JITTER_DRAWS
            purpose = purposes[kind] + ordinal
            late = self._draw(source, delay, purpose, receiver, sent, cycle, number)
            if late and source.kind == "message" and source.lossy:
                place = self._place_of_held_draw(
                    source, self._lossy[ordinal], _LOSSY, receiver, sent
                )
                late *= core.uniform(*place) < source.links_threshold()
            total += late
        for source, ordinal, delay in self._weathers:
            acts = source.acts_on(self.case.ranks)
            if acts is None or acts[receiver]:
                place = self._place_of_held_draw(source, ordinal, _WEATHER, receiver, sent)
                total += source.of_way(int(delay.draw(*place, 1)[0]), self.case.costs.transit)
        if self._load:
            row = self._rows[_LOAD_ROLE[kind], DRAWS_PER_CYCLE * cycle + number]
            total += self._load * int(self._loads[row, receiver])
        return total

    def _place_of_held_draw(
        self, source: Any, ordinal: int, purposes: tuple[int, int], rank: int, time: int
    ) -> tuple[int, int, int, int, int]:
        """Return seed, purpose, rank, realization and number of the draw that holds at `time`."""
        key = rank // node_ranks(source.shared, self.case.ranks)
        purpose, of_phase = (one + ordinal for one in purposes)
        if source.holds is None:
            return self.seed, purpose, key, self.realization, 0
        holds = to_ticks(source.holds)
        phase = core.uniform(self.seed, of_phase, key, self.realization, 0) * holds >> 64
        return self.seed, purpose, key, self.realization, (time + phase) // holds

    def _draw(
        self,
        source: Any,
        delay: core.Delay,
        purpose: int,
        rank: int,
        time: int,
        cycle: int,
        number: int,
    ) -> int:
        """Return the draw of a delay, in ticks; 0 outside of the source's window, and hosts."""
        window = engine_window(source.begin, source.end)
        acts = source.acts_on(self.case.ranks)
        if not window["begin"] <= time < window["end"] or not (acts is None or acts[rank]):
            return 0
        key = rank // node_ranks(source.shared, self.case.ranks)
        draw = DRAWS_PER_CYCLE * cycle + number
        return int(delay.draw(self.seed, purpose, key, self.realization, draw, 1)[0])

    def _busy_until(
        self, rank: int, until: int, computing: bool
    ) -> tuple[int, list[int], list[int]]:
        """The begins and ends of a rank's intervals, up to `until` at least."""
        known = self._busy.get((rank, computing), (-1, [], []))
        if known[0] < until:
            until *= 2  # a rank goes on from there
            found = core.busy(self.program, self.seed, self.realization, rank, until, computing)
            known = until, found[:, 0].tolist(), found[:, 1].tolist()
            self._busy[rank, computing] = known
        return known


@dataclass
class Replay:
    """A realization, played again when it is made.

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
        """Do the `work` of a step on a rank that starts it at `time`, and return when it is done.

        `level`: what the message brings that is taken or sent.
        """
        added = self.noise.step_delay(step, rank, time, cycle, level - 1)
        end = self.noise.advance(rank, time, work + added, computing=step == COMPUTE)
        if added:
            self.delayed.append((rank, end - added, end))
        return end

    def _cycle(self, cycle: int, now: list[int]) -> list[int]:
        """Replay one cycle from the times `now`, and return when each rank is free again."""
        case, ranks = self.case, range(self.case.ranks)
        work = to_ticks(case.compute_time)
        start = now
        if work:
            start = [self.work(i, now[i], work, COMPUTE, cycle) for i in ranks]
            self.compute += [(i, now[i], start[i]) for i in ranks]
        if cycle == 0:
            self.rows.append(start)
        levels = _ButterflyCycle(self, cycle, start).run()
        self.rows += levels[1:]
        final, busy = list(levels[-1]), list(levels[-1])
        cost = case.compiled_steps.forward
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


def noise_free(case: Case) -> int:
    """The completion without noise, ticks."""
    return int(case.loops[-1].noise_free_ticks()[-1])


def check_levels(network: Network) -> None:
    """Raise ValueError for a network of several levels."""
    if isinstance(network, Hierarchy):
        raise ValueError(
            "network must be of one level for a trace, such as L=1us,o=200ns: got a hierarchy"
        )


def check_size(case: Case) -> None:
    """Raise ValueError if a picture could not show the case."""
    check_levels(case.network)
    if not isinstance(case.algorithm, Butterfly) or case.ranks & (case.ranks - 1):
        raise ValueError(
            "a trace shows a Butterfly on a power of two of ranks, got "
            f"{type(case.algorithm).__name__} on {case.ranks}. When each rank of any algorithm is "
            "through with each step jitterfly.ready_times tells in Python; who made others wait, "
            "jitterfly explain"
        )
    if case.algorithm.mirrors != (1,) or case.algorithm.on_demand is not None:
        raise ValueError(
            "a trace shows copies to one mirror: mirrors and on_demand must be left out"
        )
    if not case.is_even or any(noise.kind in ("arrival", "speed") for noise in case.noise):
        raise ValueError(
            "a trace shows ranks that are alike: arrival, speed, L_factor, G_factor, and noise of "
            "kinds 'arrival' and 'speed' must be left out"
        )
    if case.barrier is not None:
        raise ValueError("a trace shows the collective alone: barrier must be left out")
    if case.ranks > MAX_RANKS:
        raise ValueError(f"ranks must be from 1 to {MAX_RANKS} for a trace, got {case.ranks}")
    rounds, algorithm = case.log2_ranks, case.algorithm
    each = rounds + len(algorithm.levels(case.ranks)) + algorithm.forwards(case.ranks)
    messages = case.cycles * case.ranks * max(each, 1)
    if messages > MAX_MESSAGES:
        raise ValueError(
            f"a trace shows at most {MAX_MESSAGES} messages, these may be {messages}: "
            "lower ranks or cycles"
        )
    # However long the realization is, it is no shorter than without noise.
    check_intervals(case, noise_free(case))


def check_intervals(case: Case, end: int) -> None:
    """Raise ValueError if there are too many noise intervals up to the tick `end`."""
    count = sum(case.ranks * noise.intervals_in(end) for noise in case.noise)
    if count > MAX_MESSAGES:
        raise ValueError(
            f"a trace shows at most {MAX_MESSAGES} noise intervals, these are about {count:.0f}: "
            "lower ranks, cycles or compute_time, or take a longer period"
        )
