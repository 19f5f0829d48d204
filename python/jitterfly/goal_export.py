"""Export of a case as a GOAL schedule for LogGOPSim (reading and building GOAL is in `schedule`).

GOAL: Hoefler, Siebert & Lumsdaine, "Group Operation Assembly Language" (ICPP 2009); LogGOPSim:
Hoefler, Schneider & Lumsdaine (HPDC 2010). All dependencies are written: each rank does what its
step says when all of its step before is done, so that every delay is passed on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from .case import Case, check_case
from .compiled_steps import is_symmetric
from .network import Hockney, LogGOPS
from .steps import ASK, COPY, EXCHANGE, FORWARD, MESSAGE, Sized, Step, Xor, numbers_per_cycle
from .units import exact, show_seconds, to_ticks

MAX_MESSAGES = 10**7
_MAX_LINES = 2**12  # that say what the operations of a call wait for
_NS = 1000  # ticks
_OVERHEAD = (
    "O: a LogGOPSim message does not wait for O at its sender, and costs its receiver the larger "
    "of (n - 1) O and (n - 1) G of CPU time; here it waits for O n, takes (n - 1) G on its way and "
    "costs its receiver O n, so that this program may tell twice the time"
)
_ORDER = (
    "order: ranks are not alike; LogGOPSim lets a rank take messages (g + (n - 1) G on its link, o "
    "of its CPU) as they arrive, this program in the order of the algorithm, so that an early one "
    "waits for a late one before it (and in a butterfly none for a link): times may differ"
)

_UNDER_WAY = (
    "order: ranks have several messages under way at once; LogGOPSim lets a rank take a message as "
    "it arrives, also between two sends, this program when it has sent all of its window, in the "
    "order of the algorithm: times may differ"
)


class Goal(NamedTuple):
    """The result of `goal_schedule`: the GOAL text, LogGOPSim's options, and what is not the same.

    `network` is that of the case, not rounded, for jitterfly itself to run the schedule on.
    """

    text: str
    options: list[str]
    notes: list[str]
    network: str


class Message(NamedTuple):
    """A message of a step: its ranks, tag and bytes, and ns of CPU to combine it (reductions)."""

    sender: int
    receiver: int
    tag: int
    bytes: int
    combine: int


def goal_schedule(case: Case) -> Goal:
    """The messages and the work of a case as GOAL.

    Parameters
    ----------
    case : Case
        Its noise is left out: LogGOPSim has noise of its own (``--noise-trace``).

    Returns
    -------
    Goal
        The text; the options that make LogGOPSim's network that of the case; and notes on what is
        rounded (LogGOPSim's times are whole ns) or has another meaning there: O, and the order in
        which a rank takes messages (see `LogGOPS`).

    Raises
    ------
    ValueError
        Redundant exchanges, of which the first to arrive counts: GOAL can not say that. Messages of
        0 bytes, which LogGOPSim does not know. More than 10^7 messages.

    Examples
    --------
    >>> import jitterfly as jf
    >>> network = jf.LogGOPS(L="1us", o="100ns", gamma="1ns")
    >>> case = jf.Case(2, network=network, message_bytes=1, algorithm=jf.RingAllgather())
    >>> goal = goal_schedule(case)
    >>> print(goal.text.split("}")[0])
    num_ranks 2
    <BLANKLINE>
    rank 0 {
    o0: send 1b to 1 tag 0
    o1: recv 1b from 1 tag 0
    <BLANKLINE>
    >>> " ".join(goal.options)
    '-L 1000 -o 100 -g 0 -G 0 -O 0 -S 2147483647'
    """
    steps = check_case(case).cycle_steps()
    check_expressible(case, steps)
    notes: list[str] = []
    work = whole_ns(to_ticks(case.compute_time), "compute_time", notes)
    ranks = [RankOperations() for _ in range(case.ranks)]
    takers: set[int] = set()
    takes_twice = False
    for cycle in range(case.cycles):
        if work:
            for one in ranks:
                one.add([f"calc {work}"])
        for step in steps:
            for turn in range(step.repeat):
                tag = numbers_per_cycle(steps) * cycle + step.round + turn
                messages = list(step_messages(case, step, tag, notes))
                for rank, operations in step_operations(messages, step):
                    ranks[rank].add(operations)
                if not step.receives:
                    continue
                receivers = {m.receiver for m in messages}  # one message each in a step
                takes_twice = takes_twice or not takers.isdisjoint(receivers)
                takers |= receivers
    if takes_twice and _order_matters(case, steps):
        several = any(not step.receives for step in steps)
        notes.append(_UNDER_WAY if several else _ORDER)
    options, network = _options(case, notes)
    return Goal("".join(goal_parts(ranks)), options, list(dict.fromkeys(notes)), network)


class RankOperations:
    """The operations of one rank as GOAL: on each CPU those of a call wait for those before it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.last: dict[int, range] = {}
        """The numbers of the operations that a CPU was given last."""
        self.labels: list[str] = []

    def add(
        self, operations: list[str], cpu: int = 0, after: Sequence[int] = (), name: str = "o"
    ) -> None:
        """Add operations that wait for the ones before and those in `after`, not for each other."""
        labels, last = self.labels, self.last.get(cpu, range(0))
        before = labels[last.start : last.stop]
        if after:
            before = list(dict.fromkeys([*before, *(labels[number] for number in after)]))
        if len(before) * len(operations) > _MAX_LINES:
            self.add(["calc 0"], cpu, after, name)  # for which all wait, in place of each for each
            before = labels[-1:]
        where = f" cpu {cpu}\n" if cpu else "\n"
        needs = [f" requires {one}\n" for one in before]
        first = len(labels)
        for number, operation in enumerate(operations, first):
            label = f"{name}{number}"
            labels.append(label)
            self.parts.append(f"{label}: {operation}{where}")
            self.parts += [label + need for need in needs]
        self.last[cpu] = range(first, len(labels))


def goal_parts(ranks: Sequence[RankOperations]) -> Iterator[str]:
    """A schedule of the operations of all ranks, as text in parts: it may be long."""
    yield f"num_ranks {len(ranks)}\n"
    for number, rank in enumerate(ranks):
        yield f"\nrank {number} {{\n"
        yield from rank.parts or ["o0: calc 0\n"]
        yield "}\n"


def step_operations(messages: Iterable[Message], step: Step) -> Iterator[tuple[int, list[str]]]:
    """One step, or half of it, as ranks and what they do: they send and receive, then combine."""
    operations: dict[int, list[str]] = {}
    combined = []
    for m in messages:
        if step.sends:
            sent = f"send {m.bytes}b to {m.receiver} tag {m.tag}"
            operations.setdefault(m.sender, []).insert(0, sent)
        if step.receives:
            received = f"recv {m.bytes}b from {m.sender} tag {m.tag}"
            operations.setdefault(m.receiver, []).append(received)
            if m.combine:
                combined.append((m.receiver, [f"calc {m.combine}"]))
    yield from operations.items()
    yield from combined


def step_messages(
    case: Case, step: Step, tag: int, notes: list[str], ranks: Sequence[int] | None = None
) -> Iterator[Message]:
    """The messages of one turn of a step; `notes` get a line for what is rounded to whole ns.

    `ranks`: the numbers of the case's ranks in a schedule, where they are a group of its own.
    """
    if step.kind == EXCHANGE:
        step = step._replace(
            kind=MESSAGE, partners=Xor(1 << step.round, 1 << case.log2_ranks),
            bytes=case.message_bytes, combine=True,
        )  # fmt: skip
    if step.kind != MESSAGE or step.partners is None:
        return
    pairs, sizes = step.partners.pairs(case.ranks), step.sizes(case.ranks).tolist()
    combining: dict[int, int] = {}  # by size
    for (sender, receiver), size in zip(pairs, sizes, strict=True):
        sent = max(size, case.network.smallest_message)
        if size not in combining:
            ticks = case.network.costs(sent).combine if step.combine and size else 0
            combining[size] = whole_ns(ticks, "combining a message", notes)
        if ranks is not None:
            sender, receiver = ranks[sender], ranks[receiver]
        yield Message(sender, receiver, tag, sent, combining[size])


def check_expressible(case: Case, steps: list[Step]) -> None:
    """Raise ValueError for what GOAL can not say, or would say in too many lines."""
    if case.network.has_levels:
        raise ValueError(
            "network must be Hockney or LogGOPS for GOAL, which has no levels; got a Hierarchy: "
            "write the schedule with a network of one level, and give the Hierarchy as network to "
            "`simulate_schedule`, or `jitterfly run`"
        )
    if not case.is_even:
        raise ValueError(
            "arrival, speed, L_factor and G_factor must be left out for GOAL: ranks are alike there"
        )
    if any(step.switch is not None for step in steps):
        raise ValueError(
            f"algorithm: {case.algorithm.kind} can not be written as GOAL, which has no switches "
            "that combine"
        )
    if case.barrier is not None:
        raise ValueError("barrier must be left out for GOAL, which starts no clock behind it")
    if any(step.kind == FORWARD or step.flags & (COPY | ASK) for step in steps):
        raise ValueError(
            "algorithm: redundant exchanges (exchanges_after, copy_levels, on_demand) can not be "
            "written as GOAL, where an operation waits for all it requires and not for the first "
            "of two messages"
        )
    if case.message_bytes == 0:
        raise ValueError("message_bytes must be at least 1 for GOAL, got 0")
    sized = [step.partners.sizes for step in steps if isinstance(step.partners, Sized)]
    least = min((int(sizes.min(initial=1)) for sizes in sized), default=1)
    if max(least, case.network.smallest_message) == 0:
        raise ValueError(
            "algorithm: counts must be at least 1 for GOAL, or the network LogGOPS, where a "
            "message without bytes is as short as one of a byte"
        )
    if case.rank_rounds() > MAX_MESSAGES:
        raise ValueError(
            f"a GOAL schedule holds at most {MAX_MESSAGES} messages, this one about "
            f"{case.rank_rounds()}: lower ranks, cycles or the number of collectives"
        )


def _order_matters(case: Case, steps: list[Step]) -> bool:
    """Return whether it can matter in which order a rank takes messages: they cost it some time.

    Where ranks are alike and start together, messages arrive in the order of the algorithm. But
    with several under way at once some may arrive while a rank still sends.
    """
    sizes = {step.bytes for step in steps if step.kind == MESSAGE}  # at most
    sizes |= {case.message_bytes for step in steps if step.kind == EXCHANGE}
    network = case.network
    busy = any(network.costs(size).send or network.gap(size) for size in sizes)
    several = any(not step.receives for step in steps)
    return busy and (several or not is_symmetric(steps, case.ranks, 0))


def whole_ns(ticks: int, what: str, notes: list[str]) -> int:
    """A time in ns, rounded; `notes` get a line if it was not whole."""
    whole = round(ticks / _NS)
    if whole * _NS != ticks:
        notes.append(f"{what}: {ticks / _NS:.12g} ns became {whole} ns")
    return whole


def _options(case: Case, notes: list[str]) -> tuple[list[str], str]:
    """LogGOPSim's options, and the same network as jitterfly reads it."""
    network = case.network
    values: dict[str, Fraction | int]
    if isinstance(network, Hockney):  # alpha + beta n = L + (n - 1) G, and a gap of beta n
        alpha, beta = exact(network.alpha), exact(network.beta)
        values = {"L": alpha + beta, "o": 0, "g": beta, "G": beta, "O": 0}
    elif isinstance(network, LogGOPS):
        values = {name: exact(getattr(network, name)) for name in "LogGO"}
        if network.O:
            notes.append(_OVERHEAD)
    else:
        raise ValueError(f"network must be Hockney or LogGOPS for GOAL, got {network}")
    options, exactly = [], []
    for name, seconds in values.items():
        time = seconds * 10**9
        whole = math.floor(time + type(time)(1) / 2)
        text = f"{float(time):.12g}"  # seconds as binary fractions are a little off
        if text != str(whole):
            note = f"{name}: {text} ns became {whole} ns"
            if name == "G":
                off = float((whole - time) * 1024) / 1e9
                note += (
                    f", so that each KiB of a message takes "
                    f"{show_seconds(abs(off), 3)} {'more' if off > 0 else 'less'} on its way: "
                    "older versions of LogGOPSim take whole ns a byte; newer ones take fractions, "
                    f"-G {text}"
                )
            notes.append(note)
        options += [f"-{name}", str(whole)]
        if text != "0" or name in "Lo":
            exactly.append(f"{name}={text}ns")
    return [*options, "-S", str(2**31 - 1)], ",".join(exactly)  # no rendezvous
