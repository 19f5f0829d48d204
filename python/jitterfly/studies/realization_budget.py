"""`RealizationBudget`: minimum and maximum number of realizations of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..fields import MOST_REALIZATIONS, as_float, is_real_number, shorten
from ..syntax import read_count, read_size

_FEW = 100  # fewer tell little, and nothing about rare noise


@dataclass(frozen=True)
class RealizationBudget:
    """The number of realizations per cell: as `rank_rounds` pays for, between `min` and `max`.

    With targets that is the most; the first look is after `min`.

    Parameters
    ----------
    min : int, optional
        From 1; 100 where it is left out, or `max` if that is less.
    max : int
        Up to 2^32.
    rank_rounds : float
        Messages (ranks times rounds) of the dearest variant of a cell, from 1. Infinite: no limit.
    raw_bytes : int
        Per cell: samples are kept raw up to that many bytes, beyond it as histograms.

    Examples
    --------
    >>> RealizationBudget(max=100_000, rank_rounds=1e9).realizations(cost=50_000)
    20000
    """

    min: int = None  # type: ignore[assignment]
    max: int = None  # type: ignore[assignment]
    rank_rounds: float = float("inf")
    raw_bytes: int = 2**26

    def __post_init__(self) -> None:
        if self.max is None:
            raise ValueError("realizations lacks the key 'max': how many a cell may have at most")
        high = read_count(self.max, "realizations.max", 1, MOST_REALIZATIONS)
        low = self.min
        low = min(_FEW, high) if low is None else read_count(low, "realizations.min", 1, high)
        rounds = _check_rounds(self.rank_rounds)
        raw = read_size(self.raw_bytes, "realizations.raw_bytes")
        for name, value in (
            ("min", low), ("max", high), ("rank_rounds", rounds), ("raw_bytes", raw),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def realizations(self, cost: int) -> int:
        """The number of realizations of a cell of which one costs `cost` rank-rounds."""
        return int(min(self.max, max(self.min, self.rank_rounds / cost)))

    def to_dict(self) -> dict[str, Any]:
        """The table [realizations] of a study; what is a default is left out."""
        table: dict[str, Any] = {"min": self.min, "max": self.max}
        if self.rank_rounds < float("inf"):
            table["rank_rounds"] = self.rank_rounds
        if self.raw_bytes != RealizationBudget.raw_bytes:
            table["raw_bytes"] = self.raw_bytes
        return table


def _check_rounds(value: Any) -> float:
    rounds = as_float(value) if is_real_number(value) else 0.0
    beyond = rounds == float("inf") and value != rounds  # such as 10^400
    if not rounds >= 1 or beyond:
        raise ValueError(
            f"realizations.rank_rounds must be a number of at least 1, got {shorten(value)}"
        )
    return rounds
