"""A limit on the latency, and the noise that keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import notebook
from ..fields import check_choice, check_power_of_two, shorten
from ..units import Time, parse_seconds, show_seconds, to_ticks
from .found import Bounds
from .model import MOST_ROUNDS, RANKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATISTICS = {"mean": None, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
AT_MOST, NEVER, ALWAYS = "at most", "never", "always"
EXACT, SIMULATED, TABULATED = "exact", "simulated", "tabulated"


@dataclass(frozen=True)
class Question:
    """What is asked: the limit on a statistic of the latency, and what a step costs.

    Parameters
    ----------
    ranks : int
        A power of two, from 2 to 2^20.
    latency, step, delay : float or str
        Seconds: the limit; latency of a step; how long a hit delays it.
    rank : "last" or "mean"
        Whose completion; a quantile of the mean rank is one over ranks and realizations.
    statistic : str
        "mean" or a quantile: p50, p90, p95, p99, p99.9.

    Raises
    ------
    ValueError
        Names what is out of range.
    """

    ranks: int
    latency: Time
    step: Time
    delay: Time
    rank: str = "last"
    statistic: str = "mean"

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("ranks", check_power_of_two(self.ranks, "--ranks", 2**MOST_ROUNDS))
        if self.ranks < 2:
            raise ValueError(f"--ranks must be at least 2, got {shorten(self.ranks)}")
        for name in ("latency", "step", "delay"):
            positive = name != "step"
            seconds = parse_seconds(getattr(self, name), f"--{name}", positive=positive)
            to_ticks(seconds, f"--{name}", positive=positive)
            put(name, seconds)
        check_choice(self.rank, "--rank", RANKS)
        check_choice(self.statistic, "--statistic", list(STATISTICS))

    @property
    def rounds(self) -> int:
        """log2(ranks)."""
        return self.ranks.bit_length() - 1

    @property
    def quiet(self) -> float:
        """The latency without noise, seconds."""
        return self.rounds * float(self.step)

    @property
    def saturation(self) -> float:
        """The latency with every step delayed, seconds."""
        return self.quiet + self.rounds * float(self.delay)

    @property
    def room(self) -> float:
        """The mean number of hits on the path that decides, if the limit is to be kept."""
        left = to_ticks(self.latency) - self.rounds * to_ticks(self.step)
        return left / to_ticks(self.delay)

    @property
    def state(self) -> str:
        """Whether it can be kept for some p only, for none, or for all."""
        if self.room < 0 or (self.room == 0 and self.statistic == "mean"):
            return NEVER
        return ALWAYS if self.room >= self.rounds else AT_MOST


@dataclass(frozen=True, repr=False)
class Budget:
    """The answer: p at most, its interval, and how it was found.

    `how` is "exact", "simulated" (`realizations` for each p that was tried) or "tabulated"; exact
    answers have an interval without length, or the bracket that they are known in.
    """

    question: Question
    state: str
    probability: Bounds
    confidence: float
    how: str
    realizations: int = 0

    def __repr__(self) -> str:
        p, asked = self.probability, self.question
        return (
            f"Budget({self.state} p = {p.value:.4g} [{p.low:.4g}, {p.high:.4g}]: {asked.statistic} "
            f"of the {asked.rank} of {asked.ranks:,} ranks up to "
            f"{show_seconds(float(asked.latency))})"
        )

    def plot(self, path: str | Path | None = None) -> Figure:
        """The largest p over the duration D of a hit; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or does not know the ending of `path`; no D near the
            asked one has a p that is neither 0 nor 1.
        """
        from .budget import curves_over_delays

        found = curves_over_delays(self.question, self.confidence)
        if not any(one.state == AT_MOST for curve in found for one in curve):
            raise ValueError("nothing to draw: the limit is kept for all p or for none")
        return notebook.picture("budget", self, found, path=path)

    def _repr_html_(self) -> str:
        from .tell import answer

        return notebook.text(answer(self))
