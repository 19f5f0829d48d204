"""Paired timing: each measurement between two of a reference; ratios with intervals.

A machine that others use too changes its speed between one second and the next, so what counts is
the ratio to something else that was timed just before and just after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitterfly.stats import quantile

from .measure import Contestant, Times, engine, spread

CONFIDENCE = 0.99
"""Of the interval of each median."""
INTERVAL = f"({CONFIDENCE:.0%} interval of the median)"
"""What the numbers in brackets are."""


@dataclass
class ComparedContestant(Contestant):
    """A contestant of which the ratio to one other, `beside`, is what counts.

    `beside` is timed just before and just after each measurement; `beside_times` are the means of
    both, by the clock and in CPU time.
    """

    beside: ComparedContestant | None = None
    beside_times: list[Times] = field(default_factory=list)

    def times_beside(self) -> list[float]:
        """`times` of one realization over those of one of `beside`, for each repeat."""
        own = self.times()
        if self.beside is None:
            return [1.0] * len(own)
        factor = self.beside.realizations / self.realizations
        others = [time[self.threads == 1] for time in self.beside_times]
        return [factor * mine / other for mine, other in zip(own, others, strict=True)]


def compared_engine(*case: Any) -> ComparedContestant:
    """The engine as `jitterfly.bench.measure.engine` makes it, to be compared."""
    return ComparedContestant(**vars(engine(*case)))


def measure_beside(
    contestants: Sequence[ComparedContestant],
    repeats: int,
    what: str,
    tell: Callable[[str], object],
) -> None:
    """Time all in turn, each between two measurements of what is beside it.

    All must be calibrated. Those beside the same one take their turns in a row, and share what was
    timed between them.
    """
    groups = list(dict.fromkeys(id(c.beside) for c in contestants))
    turns = sorted(contestants, key=lambda c: groups.index(id(c.beside)))
    for repeat in range(repeats):
        last: tuple[Contestant | None, Times] = None, (0.0, 0.0)
        for number, contestant in enumerate(turns):
            if number % 8 == 0:
                tell(f"{what}: repeat {repeat + 1} of {repeats}, {number} of {len(turns)}")
            beside = contestant.beside
            if beside and beside is not last[0]:
                last = beside, beside.time()
            contestant.measure_once()
            if beside:
                before, after = last[1], beside.time()
                contestant.beside_times.append(
                    ((before[0] + after[0]) / 2, (before[1] + after[1]) / 2)
                )
                last = beside, after


def ratios(values: Sequence[float]) -> dict[str, float | None]:
    """As `spread`, with the interval of the median from `low` to `high`.

    Their order alone gives it: noise of a machine has no known shape. None where there are too few.
    """
    median = quantile(values, 0.5, CONFIDENCE)
    ends = {"low": float(median.low), "high": float(median.high)}
    return {**spread(values), **{k: v if math.isfinite(v) else None for k, v in ends.items()}}


def interval(ratio: dict[str, Any]) -> str:
    """That of the median, for people; nothing where there were too few repeats."""
    if ratio.get("low") is None or ratio["high"] is None:
        return ""
    return f" ({ratio['low']:.2f} to {ratio['high']:.2f})"


def table_head(name: str) -> str:
    """What a contestant's rows are measured in, for the first line of its table."""
    time = "CPU time of one thread" if name.endswith("cpu") else "time"
    return f"{name}: {time}"
