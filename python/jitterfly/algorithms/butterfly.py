"""Butterfly (recursive doubling) allreduce, with redundant exchanges after and inside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..fields import check_integer, shorten
from ..steps import COPY, ENTER, EXCHANGE, FINAL, FORWARD, Costs, Step
from ..units import LONGEST_TICKS, Seconds, to_ticks
from .algorithm import MOST_ROUNDS, Algorithm


@dataclass(frozen=True)
class Butterfly(Algorithm, kind="butterfly"):
    """Recursive doubling: round r exchanges with rank ``i xor 2^r``; with redundant exchanges.

    Parameters
    ----------
    after : int or "all"
        Redundant exchanges after the butterfly (Matsumoto & Suda 2012), 0 to K for 2^K ranks.
        "all" is K. Results for every T = 0 ... after come out of one simulation.
    within : None, "all" or list of int
        Levels at which redundant copies are sent inside the butterfly (Chen & Suda), distinct,
        each from 1 to K - 1. "all" is every such level, None (the default) is none.
    forward_cost : float or str
        CPU time of each redundant exchange after the butterfly, seconds, exposed to noise in the
        communication phase. The paper has 0. Needs `after` above 0.

    Raises
    ------
    ValueError
        A parameter out of range; those that depend on K when the case is made.

    Examples
    --------
    >>> Butterfly(after=3)
    Butterfly(after=3, within=None, forward_cost=0.0)
    >>> Butterfly(within=[5, 2]).levels(log2_ranks=6)
    (2, 5)
    """

    after: int | Literal["all"] = 0
    within: Iterable[int] | Literal["all"] | None = None
    forward_cost: Seconds = Seconds(0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "after", _check_after(self.after))
        object.__setattr__(self, "within", _check_levels(self.within))
        to_ticks(self.forward_cost, "forward_cost")
        if self.forward_cost > 0 and self.after == 0:
            raise ValueError("forward_cost must be 0 when after is 0: nothing is forwarded")

    def forwards(self, log2_ranks: int) -> int:
        if self.after == "all":
            return log2_ranks
        if self.after > log2_ranks:
            raise ValueError(
                f"after must be 'all' or an integer from 0 to {log2_ranks} (K for 2^K ranks), "
                f"got {self.after}"
            )
        return self.after

    def levels(self, log2_ranks: int) -> tuple[int, ...]:
        """The levels at which copies are sent, ascending, on ``2**log2_ranks`` ranks."""
        if self.within == "all":
            return tuple(range(1, log2_ranks))
        levels = tuple(self.within or ())
        for level in levels:
            if not 1 <= level < log2_ranks:
                allowed = f"from 1 to {log2_ranks - 1}" if log2_ranks > 1 else "left out"
                raise ValueError(
                    f"within levels must be {allowed} (1 to K - 1 for 2^K ranks, K = {log2_ranks}),"
                    f" got {level}"
                )
        return levels

    def steps(self, log2_ranks: int) -> list[Step]:
        copied = set(self.levels(log2_ranks))
        only = log2_ranks == 0
        steps = [Step(ENTER, 0, FINAL if only else 0, "start", 0 if only else None)]
        for level in range(1, log2_ranks + 1):
            last = level == log2_ranks
            flags = (FINAL if last else 0) | (COPY if level in copied else 0)
            completes = 0 if last else None
            steps.append(Step(EXCHANGE, level - 1, flags, f"level {level}", completes))
        for m in range(1, self.forwards(log2_ranks) + 1):
            steps.append(Step(FORWARD, m - 1, 0, f"forward {m}", m))
        return steps

    def send_gap(self, log2_ranks: int, costs: Costs) -> int:
        if log2_ranks == 0:
            return LONGEST_TICKS  # nobody to send to
        if self.forwards(log2_ranks) >= 2:
            return self.forward_ticks()  # forwards may follow each other at once
        if self.levels(log2_ranks):
            return costs.send  # the copy follows the original at once
        return costs.send + costs.receive + costs.combine

    def forward_ticks(self) -> int:
        return to_ticks(self.forward_cost, "forward_cost")


def _check_after(after: Any) -> int | Literal["all"]:
    if isinstance(after, str) and after == "all":
        return "all"
    try:
        return check_integer(after, "after", 0, MOST_ROUNDS)
    except ValueError:
        rule = f"after must be 'all' or an integer from 0 to {MOST_ROUNDS} (K for 2^K ranks)"
        raise ValueError(f"{rule}, got {shorten(after)}") from None


def _check_levels(within: Any) -> tuple[int, ...] | Literal["all"] | None:
    if within is None or (isinstance(within, str) and within == "all"):
        return within  # type: ignore[return-value]
    words = "a list of distinct levels from 1 to K - 1 (2^K ranks)"
    rule = f"within must be 'all', {words}, or left out"
    if isinstance(within, (str, bytes, dict)):
        raise ValueError(f"{rule}, got {shorten(within)}")
    try:
        levels = [check_integer(level, "within levels", 1, MOST_ROUNDS - 1) for level in within]
    except TypeError:  # nothing to go through
        raise ValueError(f"{rule}, got {shorten(within)}") from None
    if len(set(levels)) != len(levels):
        raise ValueError(f"{rule}, got {shorten(within)}")
    return tuple(sorted(levels)) or None
