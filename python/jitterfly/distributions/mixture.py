"""Mixture distribution: each draw is from one of several distributions, chosen at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..units import exact
from . import distribution
from .distribution import (
    LARGEST_UNIFORM,
    TWO_64,
    DelayTable,
    Distribution,
    Floats,
    Line,
    as_list,
    check_number,
    levels,
    read_distribution,
    times,
)
from .parametric import Constant

_MAX = 16  # distributions
_MAX_PIECES = 2**23 - 1  # of a table in the engine
_HALVINGS = 100  # of an interval of times


@dataclass(frozen=True)
class Mixture(Distribution, kind="mixture"):
    """A time of one of several distributions; which one is drawn anew each time.

    Parameters
    ----------
    weights : list of float
        How likely each distribution is; they are divided by their sum.
    distributions : list of Distribution
        As many, at most 16. Seconds alone are a constant time.

    Raises
    ------
    ValueError
        Lists of different lengths, or a weight that is no positive number.

    Notes
    -----
    P(X > t) is the weighted sum of theirs. The table is that of their tables: exact where these
    are, and no approximation of its own between their nodes.

    Examples
    --------
    >>> import jitterfly as jf
    >>> often_short = Mixture([0.99, 0.01], [jf.Exponential("1us"), jf.Constant("25us")])
    >>> round(float(often_short.survival(20e-6)), 6), float(often_short.quantile(0.995))
    (0.01, 2.5e-05)
    """

    weights: Sequence[float]
    distributions: Sequence[Distribution]

    def warn_of_long(self) -> None:
        """Warn as each of its distributions does."""
        for part in self.distributions:
            part.warn_of_long()

    def __post_init__(self) -> None:
        weights, parts = (
            as_list(getattr(self, name), f"{name} must be a list of 1 to {_MAX} (in Mixture)", _MAX)
            for name in ("weights", "distributions")
        )
        if len(weights) != len(parts):
            raise ValueError(
                "weights and distributions must be equally many, "
                f"got {len(weights)} and {len(parts)} (in Mixture)"
            )
        read = tuple(check_number(value, "weights", 0, 1e300, "Mixture") for value in weights)
        object.__setattr__(self, "weights", read)
        members = tuple(
            read_distribution(part, f"distributions.{i}", Constant) for i, part in enumerate(parts)
        )
        object.__setattr__(self, "distributions", members)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The weights, divided by their sum."""
        values = [exact(weight) for weight in self.weights]
        return tuple(value / sum(values) for value in values)

    @property
    def name(self) -> str:
        parts = zip(self.shares, self.distributions, strict=True)
        return "; ".join(f"{100 * float(share):.4g} % {part.name}" for share, part in parts)

    def chance(self) -> Fraction:
        parts = zip(self.shares, self.distributions, strict=True)
        return sum((share * part.chance() for share, part in parts), Fraction(0))

    def expected(self) -> float:
        return math.fsum(
            float(share) * part.expected()
            for share, part in zip(self.shares, self.distributions, strict=True)
        )

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = times(t)
        parts = zip(self.shares, self.distributions, strict=True)
        return np.asarray(sum(float(share) * part.survival(array) for share, part in parts))

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        level = levels(q)
        ends = np.array([part.quantile(level) for part in self.distributions])
        # What is asked for lies between the quantiles of the parts.
        low, high = np.asarray(ends.min(axis=0)), np.asarray(ends.max(axis=0))
        least, at_least = low, self.survival(low) <= 1 - level
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2
            enough = self.survival(middle) <= 1 - level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.asarray(np.where(at_least, least, high))

    def make_table(self) -> DelayTable:
        chance = self.chance()
        if chance == 0:
            return distribution.constant(0)
        # The survival function of each part is linear between points: times and probabilities.
        curves = [part.integers().line() for part in self.distributions]
        shares = [float(share / chance) for share in self.shares]
        at = np.unique(np.concatenate([times for times, _ in curves]))[::-1]  # falling, to 0
        above, reached = (  # P(delay > at) and P(delay >= at), which differ where it jumps
            sum(share * _survival(one, at, side) for share, one in zip(shares, curves, strict=True))
            for side in ("right", "left")
        )
        table = _pieces(at, np.asarray(above), np.asarray(reached))
        return table if chance == 1 else table.with_chance(chance)


def _survival(line: Line, at: Floats, side: Literal["left", "right"]) -> Floats:
    """The survival in a line at times: P(X > t) for the side "right", P(X >= t) for "left"."""
    rising, above = line[0][::-1], line[1][::-1]
    after = np.searchsorted(rising, at, side)
    last = len(rising) - 1
    known = after - 1 if side == "right" else np.minimum(after, last)  # where a time is at `at`
    low, high = np.clip(after - 1, 0, last), np.minimum(after, last)
    width = rising[high] - rising[low]
    part = np.divide(at - rising[low], width, out=np.zeros_like(at), where=width > 0)
    between = above[low] + part * (above[high] - above[low])
    found = np.where(rising[known] == at, above[known], between)
    return np.where(at > rising[-1], 0.0, found)


def _pieces(at: Floats, above: Floats, reached: Floats) -> DelayTable:
    """A table of falling times: P(X > t) and P(X >= t) there, straight between them."""
    # By turns the time itself, where it has a probability of its own, and the stretch below it.
    top = np.repeat(at, 2)[:-1].astype(np.int64)
    drop = np.zeros_like(top)
    drop[1::2] = top[1::2] - top[2::2]
    ends = np.stack([above, reached], axis=1).ravel()[:-1]
    ends = np.maximum.accumulate(np.minimum(ends, 1.0))
    edges = [min(int(end), LARGEST_UNIFORM) for end in np.floor(np.ldexp(ends, 64))]
    kept = [
        i for i, edge in enumerate(edges) if edge < (edges[i + 1] if i + 1 < len(edges) else TWO_64)
    ]
    starts = np.array([edges[i] for i in kept], dtype=np.uint64)
    starts[0] = 0
    if len(kept) > _MAX_PIECES:
        raise ValueError("distributions have too many different times together (in Mixture)")
    return DelayTable("pieces", (starts, top[kept], drop[kept]))
