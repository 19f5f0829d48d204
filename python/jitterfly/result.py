"""What a simulation gives back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import notebook, stats
from .case import Case
from .fields import check_choice, summary
from .units import from_ticks, show_seconds

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_BLOCK = 1 << 16  # realizations reduced at once


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What `simulate` found.

    Attributes
    ----------
    case : Case
    seed, first : int
        Realization ``first + i`` of this seed is row i of the arrays.
    backend : "cpu" or "cuda"
        The backend that was used. Results do not depend on it.
    observations : list of str
        What the columns are.
    ticks : int64 array, shape (realizations, observations)
        Times in ticks of 1 ps. Exact, but for means over ranks, which are rounded to a tick.
    noise_free : float64 array, shape (observations,)
        The same without any noise, in seconds.
    """

    case: Case
    seed: int
    first: int
    backend: str
    observations: list[str]
    ticks: npt.NDArray[np.int64]
    noise_free: npt.NDArray[np.float64]

    @cached_property
    def samples(self) -> npt.NDArray[np.float64]:
        """Times in seconds, float64, shape (realizations, observations)."""
        return from_ticks(self.ticks)

    def __repr__(self) -> str:
        names = self.observations
        shown = repr(names[0]) if len(names) == 1 else f"{names[0]!r} ... {names[-1]!r}"
        return (
            f"Result({summary(self.case)}, realizations={len(self.ticks)}, first={self.first}, "
            f"observations={len(names)} ({shown}), seed={self.seed}, backend={self.backend!r})"
        )

    def column(self, observation: str) -> npt.NDArray[np.float64]:
        """The samples of one observation, seconds, shape (realizations,)."""
        check_choice(observation, "observation", self.observations)
        return self.samples[:, self.observations.index(observation)]

    def to_pandas(self) -> pandas.DataFrame:
        """The samples in seconds: a row for each realization, a column for each observation.

        Raises
        ------
        ValueError
            pandas is not installed.
        """
        index = range(self.first, self.first + len(self.ticks))
        frame: pandas.DataFrame = notebook.package("pandas").DataFrame(
            self.samples, index=index, columns=self.observations
        )
        frame.index.name = "realization"
        return frame

    def plot(self, path: str | Path | None = None) -> Figure:
        """A picture of how late the realizations are; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or does not know the ending of `path`.
        """
        return notebook.picture("samples", self, path=path)

    def _repr_html_(self) -> str:
        header = ["observation", "without noise", "mean", "95 % interval", "p50", "p99"]
        rows = []
        for name, quiet in list(zip(self.observations, self.noise_free, strict=True))[
            : notebook.MOST_ROWS
        ]:
            samples = self.column(name)
            mean = stats.mean(samples)
            ends = (mean.value, mean.low, mean.high)
            middle, low, high = (show_seconds(float(end)) for end in ends)
            quantiles = [stats.quantile(samples, q).value for q in (0.5, 0.99)]
            row = [name, show_seconds(float(quiet)), middle, f"{low} to {high}"]
            rows.append(row + [show_seconds(float(value)) for value in quantiles])
        count = len(self.observations) - len(rows)
        more = f"and {count:,} more: observations" if count else ""
        return notebook.table(repr(self), header, rows, more)


def max_min_mean(raw: npt.NDArray[np.int64], ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Latest, earliest and mean ready time from the engine's max, min, hi and lo.

    The sum over the `ranks` of a row, shape (rows,), is ``hi * 2^32 + lo``; shape (realizations,
    rows, 4) becomes (realizations, 3 * rows).
    """
    count, rows, _ = raw.shape
    ticks = np.empty((count, rows, 3), dtype=np.int64)
    ticks[:, :, :2] = raw[:, :, :2]
    for i in range(0, count, _BLOCK):  # in blocks: the temporaries stay small
        part = raw[i : i + _BLOCK]
        high, rest = np.divmod(part[:, :, 2], ranks)
        # Below 2^63 for up to 2^30 ranks: rest < ranks, and lo < ranks * 2^32. Rounds to nearest.
        low = ((rest << 32) + part[:, :, 3] + ranks // 2) // ranks
        ticks[i : i + _BLOCK, :, 2] = (high << 32) + low
    return ticks.reshape(count, rows * 3)
