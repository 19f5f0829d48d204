"""`ScheduleBuilder`: an application as a schedule, written in Python: phases, collectives, overlap.

A collective is one call that names its algorithm, so that another algorithm, or another overlap
with calculations, is another argument: what `--replace` would do to a trace's schedule, which has
no collectives any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..algorithms import Algorithm
from ..algorithms.library_choice import LibraryRules, algorithm_for, is_library
from ..case import Case
from ..fields import Int, IntOrText, check_integer, counted, shorten
from ..files import check_output, write_together
from ..goal_export import (
    MAX_MESSAGES,
    RankOperations,
    check_expressible,
    goal_parts,
    step_messages,
    step_operations,
    whole_ns,
)
from ..network import LogGOPS
from ..steps import numbers_per_cycle
from ..syntax import read_count, read_size
from ..units import Time, parse_seconds, to_ticks, warn_of_long
from .schedule import MAX_MARKS, NO_MARK, Marks, Schedule, schedule_of

MAX_RANKS = 2**20
MAX_CPUS = 256
_MAX_BYTES = 2**52  # of a message, for the reader of GOAL


@dataclass(frozen=True)
class Operations:
    """The last operations of each rank that a call of `ScheduleBuilder` added, to wait for.

    Attributes
    ----------
    numbers : dict of int to tuple of int
        By rank, the numbers of its operations, counted from 0 as they were added.
    """

    numbers: dict[int, tuple[int, ...]]
    _builder: ScheduleBuilder = field(compare=False)

    def __repr__(self) -> str:
        return f"Operations(of {counted(len(self.numbers), 'rank')})"


After = Operations | Sequence[Operations]


class ScheduleBuilder:
    """A builder of an application's `Schedule`: what its ranks calculate, send and receive.

    A rank has one or more CPUs, as a GPU has streams. What a CPU is given is executed in that
    order; what different CPUs of a rank are given overlaps, unless it is said to come `after`
    something else. So with everything on CPU 0 a program's calls block, as MPI's do.

    Parameters
    ----------
    ranks : int
        From 1 to 2^20.
    gamma : float or str
        Seconds that a rank takes to combine a byte in a reduction, or a bandwidth, as `LogGOPS` has
        it. A schedule holds such times as ``calc``.
    name : str
        Of the schedule, in titles.

    Raises
    ------
    ValueError
        Names the argument and its range.

    Notes
    -----
    GOAL has whole nanoseconds: each time is rounded to the nearest. A collective is its messages
    (Hoefler, Siebert & Lumsdaine, "Group Operation Assembly Language", ICPP 2009), and each rank
    does what a step of the algorithm says when it has done all of the step before.

    Examples
    --------
    A step of a training: the gradients of a layer are summed while those of the next are made.

    >>> import jitterfly as jf
    >>> app = jf.ScheduleBuilder(ranks=8)
    >>> for step in range(2):
    ...     sums = []
    ...     for layer in range(2):
    ...         backward = app.calc("2ms")
    ...         sums.append(app.collective("ring_allreduce", "4MiB", after=backward, cpu=1))
    ...     _ = app.calc("500us", after=sums)
    ...     app.mark(f"step{step}")
    >>> schedule = app.build()
    >>> schedule
    Schedule('application': 8 ranks, 944 operations, 448 messages)
    >>> found = jf.simulate_schedule(schedule, "L=2us,o=1us,G=0.02ns", realizations=10)
    >>> found.marks
    ('step0', 'step1')
    >>> print(f"{found.noise_free * 1e3:.3f} ms")
    9.406 ms
    """

    def __init__(self, ranks: IntOrText, *, gamma: Time = 0.0, name: str = "application") -> None:
        self.ranks = read_count(ranks, "ranks", 1, MAX_RANKS)
        self.name = _check_name(name)
        self._network = LogGOPS(L=0.0, o=0.0, gamma=gamma)
        self._of = [RankOperations() for _ in range(self.ranks)]
        self._marks: dict[str, list[tuple[int, int]]] = {}
        self._marked: set[tuple[int, int]] = set()
        self._tag = 0
        self._messages = 0

    def calc(
        self,
        time: Time | Sequence[Time] | npt.NDArray[Any],
        *,
        ranks: Iterable[Int] | None = None,
        after: After = (),
        cpu: Int = 0,
        name: str = "",
    ) -> Operations:
        """Let ranks calculate.

        Parameters
        ----------
        time : float, str, or a sequence of them
            Seconds without noise, of all ranks or of each of `ranks` in their order.
        ranks : iterable of int, optional
            Which; without it all.
        after : Operations or sequence of them
            What a rank waits for besides what this CPU of it was given before.
        cpu : int
            From 0 to 255.
        name : str
            Begins the label of each operation in the text.

        Returns
        -------
        Operations
        """
        chosen, label = self._read_ranks(ranks), _label(name)
        waits, cpu = self._waits(after, cpu)
        several = isinstance(time, Sequence) and not isinstance(time, (str, bytes))
        several = several or getattr(time, "ndim", 0) > 0
        times: list[Any] = list(time) if several else [time]  # type: ignore[arg-type]
        if several and len(times) != len(chosen):
            raise ValueError(
                f"time must be one, or one for each of {len(chosen)} ranks, got {len(times)}"
            )
        ticks = [to_ticks(parse_seconds(one, "time")) for one in times]
        any(warn_of_long(one, "time of calc") for one in times)  # once
        for rank, one in zip(chosen, cycle(ticks), strict=False):
            text = f"calc {whole_ns(one, 'time', [])}"
            self._of[rank].add([text], cpu, waits.get(rank, ()), label)
        return self._added(chosen, cpu)

    def messages(
        self,
        pairs: Iterable[Sequence[Int]] | npt.NDArray[Any],
        message_bytes: IntOrText,
        *,
        after: After = (),
        cpu: Int = 0,
        name: str = "",
    ) -> Operations:
        """Send messages that are under way together, such as those of a halo exchange.

        Parameters
        ----------
        pairs : iterable of (int, int), or array of int, shape (messages, 2)
            Sender and receiver of each message.
        message_bytes : int or str
            Size of each, from 1.
        after, cpu, name
            As in `calc`. A rank has sent and received all of them before what this CPU does next.

        Returns
        -------
        Operations
        """
        size = read_size(message_bytes, "message_bytes", 1, _MAX_BYTES)
        (waits, cpu), label = self._waits(after, cpu), _label(name)
        operations: dict[int, list[str]] = {}
        for pair in pairs:
            one = isinstance(pair, Sequence) or np.ndim(pair) == 1
            if not one or len(pair) != 2:
                raise ValueError(f"pairs must be of a sender and a receiver, got {shorten(pair)}")
            sender, receiver = self._read_ranks(pair)
            operations.setdefault(sender, []).append(f"send {size}b to {receiver} tag {self._tag}")
            operations.setdefault(receiver, []).append(
                f"recv {size}b from {sender} tag {self._tag}"
            )
            self._count(1)
        self._tag += 1
        for rank, texts in operations.items():
            self._of[rank].add(texts, cpu, waits.get(rank, ()), label)
        return self._added(operations, cpu)

    def collective(
        self,
        algorithm: Algorithm | LibraryRules | str,
        message_bytes: IntOrText,
        *,
        ranks: Iterable[Int] | None = None,
        after: After = (),
        cpu: Int = 0,
        name: str = "",
    ) -> Operations:
        """Let ranks take part in a collective.

        Parameters
        ----------
        algorithm : Algorithm, LibraryRules or str
            Such as ``RingAllreduce()``, or its kind: ``"ring_allreduce"``. Not one with redundant
            exchanges, which GOAL can not say. ``LibraryRules("nccl", "allgather")``: what that
            library runs for this many ranks and bytes, each rank on a node of its own, without
            switches that combine; ``"nccl"`` for an allreduce. On nodes of several:
            ``LibraryRules(...).choice(..., switches=False).algorithm``.
        message_bytes : int or str
            The size that the algorithm is given, from 1, as `Case` takes it.
        ranks : iterable of int, optional
            Its group, in the order of their numbers in the collective; without it all.
        after, cpu, name
            As in `calc`.

        Returns
        -------
        Operations
        """
        group, label = self._read_ranks(ranks), _label(name)
        waits, cpu = self._waits(after, cpu)
        size = read_size(message_bytes, "message_bytes", 1, _MAX_BYTES)
        if isinstance(algorithm, str) and is_library(algorithm):
            algorithm = LibraryRules(algorithm)
        if isinstance(algorithm, LibraryRules):
            algorithm = algorithm_for(algorithm, len(group), self._network, size, switches=False)
        case = Case(len(group), algorithm=algorithm, network=self._network, message_bytes=size)
        steps = case.cycle_steps()
        check_expressible(case, steps)
        self._count(case.rank_rounds())
        taking_part: set[int] = set()
        for step in steps:
            for turn in range(step.repeat):
                messages = step_messages(case, step, self._tag + step.round + turn, [], group)
                for rank, texts in step_operations(messages, step):
                    self._of[rank].add(texts, cpu, waits.pop(rank, ()), label)
                    taking_part.add(rank)
        for rank in group:  # one that has nothing to do, such as one alone, waits all the same
            if rank not in taking_part:
                self._of[rank].add(["calc 0"], cpu, waits.get(rank, ()), label)
        self._tag += numbers_per_cycle(steps)
        return self._added(group, cpu)

    def mark(self, name: str, operations: Operations | None = None) -> None:
        """Name the end of an iteration, whose times `ScheduleResult` then has.

        Parameters
        ----------
        name : str
            Without white space. Marks stand in the order in which they are reached.
        operations : Operations, optional
            It is reached when the last of them is done. Without it, they are what all CPUs of all
            ranks were given last.
        """
        if not isinstance(name, str) or not name or name.split() != [name] or name[0] == "#":
            raise ValueError(f"name must be a word that does not begin with #, got {shorten(name)}")
        if name in self._marks:
            raise ValueError(f"name must be a new one, and there is a mark {name} already")
        if len(self._marks) == MAX_MARKS:
            raise ValueError(f"there are {MAX_MARKS:,} marks, which is the most")
        if operations is None:
            there = [
                (rank, number)
                for rank, of in enumerate(self._of)
                for numbers in of.last.values()
                for number in numbers
                if (rank, number) not in self._marked
            ]
        else:
            self._check_own(operations)
            there = [(rank, n) for rank, numbers in operations.numbers.items() for n in numbers]
            if not self._marked.isdisjoint(there):
                raise ValueError("operations: one of them has a mark already")
        if not there:
            raise ValueError(f"mark {name}: nothing was added since the mark before")
        self._marks[name] = there
        self._marked.update(there)

    def text(self) -> str:
        """The schedule as GOAL text."""
        return "".join(goal_parts(self._of))

    def write(self, path: str | Path, marks: str | Path | None = None) -> None:
        """Write the schedule as GOAL text, for the command line, LogGOPSim or ATLAHS.

        Parameters
        ----------
        path : str or Path
        marks : str or Path, optional
            A file for the marks, which ``jitterfly run --marks`` takes.

        Raises
        ------
        ValueError
            A file can not be written, both are the same, or there are no marks to write.
        """
        if marks is not None and not self._marks:
            raise ValueError("marks: there are none to write")
        if marks is not None and Path(marks).resolve() == Path(path).resolve():
            raise ValueError(f"marks must be another file than the schedule, {path}")
        lines = [
            f"{name} {rank} {self._of[rank].labels[number]}\n"
            for name, there in self._marks.items()
            for rank, number in there
        ]
        files = {Path(path): self.text()} | ({} if marks is None else {Path(marks): "".join(lines)})
        for file in files:
            check_output(file)
        write_together({file: text.encode() for file, text in files.items()})

    def build(self) -> Schedule:
        """The schedule, with its marks: `simulate_schedule` runs it.

        More may be added afterwards, and another be built.
        """
        schedule = schedule_of(self.name, (part.encode() for part in goal_parts(self._of)))
        if self._marks:
            of = np.full(schedule.operations, NO_MARK, dtype=np.uint32)
            begins = schedule._mapped.begins
            for index, there in enumerate(self._marks.values()):
                of[[begins[rank] + number for rank, number in there]] = index
            schedule.marks = Marks(tuple(self._marks), of)
        return schedule

    def _read_ranks(self, ranks: Iterable[Int] | None) -> Sequence[int]:
        """Return the ranks that are given, once they are checked, or all ranks."""
        if ranks is None:
            return range(self.ranks)
        if not isinstance(ranks, Iterable):
            raise ValueError(f"ranks must be a list of them, got {shorten(ranks)}")
        chosen = [check_integer(rank, "ranks", 0, self.ranks - 1) for rank in ranks]
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"ranks must be different ones, at least one, got {shorten(chosen)}")
        return chosen

    def _count(self, messages: int) -> None:
        """Count messages, and raise ValueError for more than can be kept."""
        self._messages += messages
        if self._messages > MAX_MESSAGES:
            raise ValueError(f"a schedule that is built holds at most {MAX_MESSAGES:,} messages")

    def _check_own(self, operations: Any) -> None:
        if not isinstance(operations, Operations) or operations._builder is not self:
            raise ValueError(
                f"operations must be what this builder's calls returned, got {shorten(operations)}"
            )

    def _waits(self, after: After, cpu: Int) -> tuple[dict[int, list[int]], int]:
        """Return by rank the operations that a call has to wait for, and the CPU."""
        cpu = check_integer(cpu, "cpu", 0, MAX_CPUS - 1)
        waits: dict[int, list[int]] = {}
        for operations in after if isinstance(after, Sequence) else [after]:
            self._check_own(operations)
            for rank, numbers in operations.numbers.items():
                waits.setdefault(rank, []).extend(numbers)
        return waits, cpu

    def _added(self, ranks: Iterable[int], cpu: int) -> Operations:
        """Return the operations that were just added on some ranks."""
        return Operations({rank: tuple(self._of[rank].last[cpu]) for rank in ranks}, self)


def _label(name: str) -> str:
    """Return what labels begin with; those of GOAL begin with a letter."""
    if not re.fullmatch("([A-Za-z][A-Za-z0-9_]*)?", _check_name(name)):
        raise ValueError(f"name must be a letter, then letters, digits and _, got {shorten(name)}")
    return f"{name}_" if name else "o"


def _check_name(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"name must be text, got {shorten(name)}")
    return name
