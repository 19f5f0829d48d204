"""Base class `Algorithm`: checks of its steps; `Forwarding`, redundant exchanges after any of them.

An algorithm is registered by a line in `__init__.py`. The steps that many share (fold, trees,
pipelines) are in `shared_steps`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..fields import (
    Component,
    check_choice,
    check_integer,
    frozen_dataclass,
    is_of_a_user,
    option_of,
    parameter,
    shorten,
)
from ..imbalance import CountsField
from ..network import Network
from ..steps import (
    ASK,
    COPY,
    EXCHANGE,
    FORWARD,
    MESSAGE,
    NOBODY_ASKS,
    START,
    Asking,
    Costs,
    Sized,
    Step,
    power_below,
    rounds_of,
)
from ..units import LONGEST_TICKS, ShortSeconds, to_ticks

COLLECTIVES = (
    "allreduce", "barrier", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall",
    "gather", "scatter", "scan", "exscan",
)  # fmt: skip
"""What an algorithm can do, as `check_collective` and `advise` call it."""
IRREGULAR = ("alltoallv", "allgatherv", "reduce_scatterv", "gatherv", "scatterv")
"""The same with a count for each rank or pair of ranks; a reduce_scatterv is MPI_Reduce_scatter."""
MessagePairs = npt.NDArray[np.uint32]
MAX_ROUNDS = 30
MAX_LISTED_RANKS = 2**22
"""Of an algorithm whose messages are listed, which takes memory: of more ranks, more than most
machines have."""


_REFERENCES = "References\n----------\n"
_PAPERS = """\
Bruck et al. 1997
Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient Algorithms for All-to-All Communications in
Multiport Message-Passing Systems", IEEE TPDS 1997.

Chan et al. 2007
Chan, Heimlich, Purkayastha & van de Geijn, "Collective communication: theory, practice, and
experience", CCPE 2007.

Patarasuk & Yuan 2009
Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
2009.

Pjesivac-Grbovic et al. 2007
Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective Operations", Cluster Computing
2007.

Thakur et al. 2005
Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
IJHPCA 2005."""
"""What several algorithms cite, by the words that do: it gets into the references of each."""


class Algorithm(Component, ABC):
    """Base of all algorithms.

    `added`: fields that are younger than records on disk.
    """

    goes_to = "It is the `algorithm` of `Case` and of questions, or one of `own` of `advise`"
    example = 'jf.Case(64, algorithm={}, network="L=1us,o=200ns")'

    added: ClassVar[tuple[str, ...]] = ()
    _listed: ClassVar[str] = "docs/collectives.md"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # Writes what the two parameters mean into the docstring of the class.
        super().__init_subclass__(**kwargs)
        text = inspect.cleandoc(cls.__doc__ or "")
        words = " ".join(text.split())
        papers = (paper.split("\n", 1) for paper in _PAPERS.split("\n\n"))
        cited = [paper for name, paper in papers if name in words]
        if cited:
            about, heading, examples = text.partition("Examples\n--------\n")
            title = "" if _REFERENCES in about else _REFERENCES
            listed = "\n\n".join(cited)
            cls.__doc__ = f"{about.rstrip()}\n\n{title}{listed}\n\n{heading}{examples}"

    def identity(self) -> dict[str, Any]:
        """The plain values that identify it in records, without `added` fields at defaults."""
        values = self.to_dict()
        usual = {field.name: field.default for field in fields(self) if field.name in self.added}
        return {k: v for k, v in values.items() if k not in usual or getattr(self, k) != usual[k]}

    @abstractmethod
    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        """The steps of one collective on `ranks` ranks; the first one has the row "start".

        Parameters
        ----------
        ranks : int
            From 1 to 2^30.
        message_bytes : int
            What the algorithm's own documentation says: the vector, or a part of it.

        Raises
        ------
        ValueError
            The description does not fit this number of ranks.
        """

    def message_levels(self, ranks: int) -> list[MessagePairs]:
        """The messages of one collective, level by level, as a pattern of congestion.

        A level here is a round: messages that are under way together.

        Parameters
        ----------
        ranks : int
            From 1 to 2^30.

        Returns
        -------
        list of arrays of shape (messages, 2), uint32
            Sender and receiver. Copies are in the level of the messages that follow them, forwards
            in levels of their own.

        Raises
        ------
        ValueError
            The description does not fit this number of ranks, or copies are made on demand.

        Examples
        --------
        >>> import jitterfly as jf
        >>> [level.tolist() for level in jf.BinomialBroadcast().message_levels(4)]
        [[[0, 2]], [[0, 1], [2, 3]]]
        """
        return _message_levels(self.steps(ranks, ranks), ranks, self.copied_to)

    def send_gap(self, ranks: int, costs: Costs) -> int:
        """The shortest time, in ticks, between two sends of a rank that do not wait for the gap."""
        return LONGEST_TICKS  # MESSAGE steps wait

    @property
    def copied_to(self) -> list[int]:
        """The masks of redundant copies inside the collective: rank i sends some to i xor mask."""
        return [1]

    def asking(self, network: Network) -> Asking:
        """Copies on demand inside the collective."""
        return NOBODY_ASKS

    def forwards(self, ranks: int) -> int:
        """The number of redundant exchanges after the collective: T counts from 0 to this."""
        return 0

    def forward_ticks(self) -> int:
        """The CPU time of one FORWARD step, in ticks."""
        return 0


def is_kind_of(kind: str, collective: str) -> bool:
    """Return whether algorithms of a kind are of a collective, such as "broadcast".

    Kinds end in its name, but for one; a reduce_scatter is no scatter.
    """
    if kind == "butterfly":
        return collective == "allreduce"
    ends = [one for one in (*COLLECTIVES, *IRREGULAR) if kind.endswith(f"_{one}")]
    return max(ends, key=len, default=None) == collective


def check_collective_name(value: Any, name: str = "collective") -> str:
    """Check that a value is one of `COLLECTIVES`; of one with counts it says how that is given."""
    if isinstance(value, str) and value in IRREGULAR:
        kind = next(kind for kind in Algorithm.kinds() if is_kind_of(kind, value))
        made = f"jf.{Algorithm._kinds[kind].__name__}(counts)"
        own = f"`own`, such as {made}"
        asked = f"`slowdown` with that as {parameter('algorithm')}"
        if option_of("collective"):
            counts = parameter("counts", "...", here=False)
            own, asked = "[own.NAME]", f"`slowdown {parameter('collective', value)} {counts}`"
        raise ValueError(
            f"{name} must be one without counts, got {value!r}: advise does not compare "
            f"collectives with counts by name; give them as own candidates ({own}) of "
            f"{parameter('collective', value.removesuffix('v'))}, or ask {asked}"
        )
    return check_choice(value, name, COLLECTIVES)


def has_counts(kind: str) -> bool:
    """Return whether algorithms of a kind have a count for each rank, or pair of ranks."""
    return any(is_kind_of(kind, one) for one in IRREGULAR)


def checked_steps(algorithm: Algorithm, ranks: int, message_bytes: int) -> list[Step]:
    """Make the steps of an algorithm, which may be a user's, and check them.

    Raises
    ------
    ValueError
        Its class has no kind, or is no frozen dataclass; it gives no steps, none that the
        collective begins with, or none that completes it; a step of a user's has messages that no
        rank can send; a rank would meet the same random numbers in two of them.
    """
    name = type(algorithm).__name__
    if (
        not hasattr(algorithm, "kind")
        or not is_dataclass(algorithm)
        or not isinstance(algorithm, Hashable)
    ):
        raise ValueError(
            f"the class {name} must have a kind and be a frozen dataclass: @dataclass(frozen=True) "
            f'before class {name}(Algorithm, kind="...")'
        )
    steps = algorithm.steps(ranks, message_bytes)
    if not isinstance(steps, (list, tuple)) or not all(isinstance(step, Step) for step in steps):
        wrong = f"got {shorten(steps)}"
    elif not any(step.label == START for step in steps):
        wrong = f"none of these {len(steps)} is labelled {START!r}, so that it has no beginning"
    elif any(_is_missized(step, ranks) for step in steps):
        wrong = "sizes of messages are not as many as the messages of their step"
    elif not any(step.redundancy == 0 for step in steps):
        wrong = f"none of these {len(steps)} completes the collective (redundancy = 0)"
    else:
        if is_of_a_user(algorithm):
            _check_messages(name, steps, ranks)
        _check_draws(name, steps, ranks)
        return list(steps)
    raise ValueError(
        f"{name}.steps must give a list of steps as `collective(messages)` "
        f"makes it (jitterfly.algorithms.own): {wrong}"
    )


def _is_missized(step: Step, ranks: int) -> bool:
    """Return whether a step's messages and their sizes differ in number."""
    sized = step.partners
    return isinstance(sized, Sized) and sized.partners.count(ranks) != len(sized.sizes)


def _check_messages(name: str, steps: Sequence[Step], ranks: int) -> None:
    """Raise ValueError where a rank is not there, sends to itself, or sends or receives twice.

    Where ranks are more than can be listed, or one that is alone, this is not looked at.
    """
    if not 1 < ranks <= MAX_LISTED_RANKS:
        return
    for step in steps:
        if step.kind != MESSAGE or not step.receives or step.partners is None:
            continue
        pairs = step.partners.pair_array(ranks)
        wrong = ""
        if outside := pairs[(pairs < 0) | (pairs >= ranks)].tolist():
            wrong = f"there is no rank {outside[0]}"
        elif alone := pairs[pairs[:, 0] == pairs[:, 1], 0].tolist():
            wrong = f"rank {alone[0]} sends to itself"
        else:
            for end, does in enumerate(("sends", "receives")):
                times = np.bincount(pairs[:, end], minlength=ranks)
                if not wrong and (most := times.max()) > 1:
                    wrong = f"rank {times.argmax()} {does} {most} messages, and may only one"
            if not wrong and (np.diff(pairs[:, 0]) < 0).any():
                wrong = "the messages must be in the order of their senders"
        if wrong:
            raise ValueError(
                f"{name} on {ranks} ranks, in the step with draw {step.round}"
                f"{f' ({step.label})' if step.label else ''}: {wrong}"
            )


def _check_draws(name: str, steps: Sequence[Step], ranks: int) -> None:
    """Raise ValueError where a rank sends, or receives, twice with the same random numbers.

    Steps without a rank in common may share draws, as they could be one step. Where ranks are more
    than can be listed this is not looked at.
    """
    messages = (one for one in steps if one.kind == MESSAGE and one.sends and one.partners)
    together: list[Step] = []  # steps whose draws overlap
    end = 0  # of their draws
    for step in sorted(messages, key=attrgetter("round")):
        if step.round >= end:
            _check_draws_of_ranks(name, together, ranks)
            together = []
        together.append(step)
        end = max(end, step.round + step.repeat)
    _check_draws_of_ranks(name, together, ranks)


def _check_draws_of_ranks(name: str, steps: Sequence[Step], ranks: int) -> None:
    """Check each rank in steps whose draws overlap, in the order of their first draws."""
    if len(steps) < 2 or ranks > MAX_LISTED_RANKS:
        return
    until = np.zeros((2, ranks), np.int64)  # the end of the draws with which a rank sends, receives
    latest = np.zeros((2, ranks), np.int64)  # the number of the step that has them
    for number, step in enumerate(steps):
        assert step.partners is not None
        pairs = step.partners.pair_array(ranks)
        pairs = pairs[((pairs >= 0) & (pairs < ranks)).all(axis=1)]  # others are told elsewhere
        for end, does in enumerate(("sends", "receives")):
            at = pairs[:, end]
            twice = at[until[end, at] > step.round]
            if len(twice):
                other = steps[latest[end, twice[0]]]
                raise ValueError(
                    f"{name}.steps on {ranks} ranks: rank {twice[0]} {does} in two steps with "
                    f"draw {step.round}{_labels(other, step)}, so that these have the same "
                    "random numbers: number the draws of all steps differently, from 0 (a step "
                    "with repeat = n has n of them)"
                )
            until[end, at], latest[end, at] = step.round + step.repeat, number


def _labels(*steps: Step) -> str:
    shown = " and ".join(repr(step.label) for step in steps if step.label)
    return f" ({shown})" if shown else ""


class Forwarding(Algorithm):
    """Base of algorithms that redundant exchanges of their result can follow."""

    exchanges_after: int | Literal["all"]
    forward_cost: Any  # seconds

    def check_forwards(self) -> None:
        """Raise ValueError for an `exchanges_after` or `forward_cost` that is out of range."""
        object.__setattr__(self, "exchanges_after", _check_exchanges(self.exchanges_after))
        to_ticks(self.forward_cost, "forward_cost")
        if self.forward_cost > 0 and self.exchanges_after == 0:
            raise ValueError(
                "forward_cost must be 0 when exchanges_after is 0: nothing is forwarded"
            )

    def forwards(self, ranks: int) -> int:
        most = rounds_of(ranks)
        if self.exchanges_after == "all":
            return most
        if self.exchanges_after > most:
            raise ValueError(
                f"exchanges_after must be 'all' or an integer from 0 to {most} (K for 2^K ranks, "
                f"rounded up), got {self.exchanges_after}"
            )
        return self.exchanges_after

    def forward_ticks(self) -> int:
        return to_ticks(self.forward_cost, "forward_cost")

    def with_forwards(self, T: int) -> Forwarding:
        """Return the algorithm with `T` redundant exchanges, at the cost of those of this one."""
        cost = self.forward_cost if T else 0.0
        return replace(self, exchanges_after=T, forward_cost=cost)  # type: ignore[type-var]

    def send_gap(self, ranks: int, costs: Costs) -> int:
        gaps = [LONGEST_TICKS]  # MESSAGE steps wait
        if self.forwards(ranks) >= 1:
            gaps.append(costs.send)  # a forward may follow the last message at once
        if self.forwards(ranks) >= 2:
            gaps.append(self.forward_ticks())  # and another forward
        return min(gaps)

    def forward_steps(self, ranks: int) -> list[Step]:
        """The redundant exchanges of the result: with ``i xor 2^(m - 1)``, m = 1, 2, ... (MS12)."""
        return [
            Step(FORWARD, m - 1, 0, f"forward {m}", m) for m in range(1, self.forwards(ranks) + 1)
        ]


_PARAMETERS = "Parameters\n----------\n"
_FORWARDS = """\
exchanges_after : int or "all"
    Redundant exchanges of the result after it, as of `Butterfly`: with ``i xor 2^(m - 1)``
    among all ranks, 0 to ``log2(ranks)`` rounded up. "all" is the most there are.
forward_cost : float or str
    CPU time of each redundant exchange, seconds. Needs `exchanges_after` above 0.

Raises
------
ValueError
    A parameter out of range; `exchanges_after` beyond its range when the case is made.

"""


@frozen_dataclass()
class Forwarded(Forwarding):
    """Base of allreduces whose redundant copies are those after it alone: its two parameters.

    What they mean is said here for all (`_FORWARDS`); a class below gets it into its docstring,
    before the notes and after parameters of its own.
    """

    exchanges_after: int | Literal["all"] = 0
    forward_cost: ShortSeconds = ShortSeconds(0.0)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # Writes what the two parameters mean into the docstring of the class.
        super().__init_subclass__(**kwargs)
        text = inspect.cleandoc(cls.__doc__ or "")
        about, heading, notes = text.partition("Notes\n-----\n")
        about = about.rstrip() + "\n" if _PARAMETERS in about else about + _PARAMETERS
        cls.__doc__ = f"{about}{_FORWARDS}{heading}{notes}"

    def __post_init__(self) -> None:
        self.check_forwards()


_COUNTS = """\
counts : Counts, array of int, dict, str or Path
    Elements of each rank, of an all-to-all from each rank (row) to each (column): see
    `imbalance.Counts`. A text is a distribution, such as "lognormal(mean=64,sigma=1)", or the
    path of a file.
"""
_COUNTS_RAISE = """\
Raises
------
ValueError
    There are no such counts, or another parameter is out of range; counts do not fit the ranks, or
    there are too many ranks, when the case is made.

"""


@frozen_dataclass()
class Irregular(Algorithm):
    """Base of algorithms with a count for each rank, or for each pair of ranks: its parameter.

    What it means is said here for all (`_COUNTS`); a class below gets it into its docstring, before
    the parameters of its own.
    """

    counts: CountsField

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # Writes what the two parameters mean into the docstring of the class.
        super().__init_subclass__(**kwargs)
        text = inspect.cleandoc(cls.__doc__ or "")
        about, heading, notes = text.partition("Notes\n-----\n")
        about, _, own = about.partition(_PARAMETERS)
        parts = about.rstrip(), "\n\n", _PARAMETERS, _COUNTS, own, "\n" * (not own)
        cls.__doc__ = "".join([*parts, _COUNTS_RAISE, heading, notes])


def _check_exchanges(exchanges_after: Any) -> int | Literal["all"]:
    """Return `exchanges_after` as "all" or an integer; anything else is a ValueError."""
    if isinstance(exchanges_after, str) and exchanges_after == "all":
        return "all"
    try:
        return check_integer(exchanges_after, "exchanges_after", 0, MAX_ROUNDS)
    except ValueError:
        raise ValueError(
            f"exchanges_after must be 'all' or an integer from 0 to {MAX_ROUNDS} (K for 2^K "
            f"ranks), got {shorten(exchanges_after)}"
        ) from None


def _message_levels(
    steps: Sequence[Step], ranks: int, mirrors: Sequence[int]
) -> list[MessagePairs]:
    """The sender and receiver of each message, for each level that has any.

    Steps with the same draws are one level, and copies go with the messages of the next round, as
    under `Congestion`.
    """
    levels: dict[tuple[int, int], list[MessagePairs]] = {}
    if any(step.switch is not None for step in steps):
        raise ValueError("messages to switches that combine have no receivers, and so no levels")
    for before, step in pairwise([Step(MESSAGE), *steps]):
        if step.flags & ASK:
            raise ValueError("copies on demand have no levels: who asks depends on the noise")
        if step.kind == MESSAGE and step.partners is not None and step.sends:
            pairs = step.partners.pair_array(ranks).astype(np.uint32)
            for turn in range(step.repeat):
                levels.setdefault((MESSAGE, step.round + turn), []).append(pairs)
        elif step.kind in (EXCHANGE, FORWARD):
            level = levels.setdefault((step.kind, step.round), [])
            # The hypercube's are among as many ranks as the largest power of two.
            among = power_below(ranks) if step.kind == EXCHANGE else ranks
            level.append(_exchange(1 << step.round, among))
            if step.kind == EXCHANGE and before.flags & COPY:
                # Of the data that these messages carry.
                level += [_exchange(m, among) for m in mirrors if m >> step.round == 0]
    whole = [np.concatenate(level) for level in levels.values()]
    return [level for level in whole if len(level)]


def _exchange(mask: int, ranks: int) -> MessagePairs:
    """Return sender and receiver of each message where rank i and i xor `mask` exchange."""
    senders = np.arange(ranks, dtype=np.uint32)
    pairs = np.stack([senders, senders ^ np.uint32(mask)], axis=1)
    return pairs[pairs[:, 1] < ranks]
