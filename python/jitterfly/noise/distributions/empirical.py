"""What was measured: samples, a histogram, or a file with either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...given import Floats, Given
from ...units import TICKS_PER_SECOND, Time
from .. import files
from ..optional import OptionalSeconds
from . import events, tables
from .distribution import Distribution, check_tail, levels, times

Times = Sequence[Time] | npt.NDArray[Any]
_TIMES = "list of float or str | None"


@dataclass(frozen=True)
class Empirical(Distribution, kind="empirical"):
    """Times as they were measured. None is longer than the longest that was seen.

    Parameters
    ----------
    samples : list of float or str
        Equally likely times, seconds.
    low, high, count : lists
        Instead of samples a histogram: rising bins that do not overlap, ``[low, high)`` in seconds,
        and how often each was seen. Uniform within a bin.
    file : str
        Instead of both a file that `jitterfly.measured.load` reads: the durations of detours, or a
        histogram of them. In a study it is relative to the study's file.
    part : int or "all", optional
        Which part (CPU, run) of a file that has several, from 0; "all" takes all events alike.
    longest : float or str, optional
        For a histogram in a file with events above its last bin: how long those may be, seconds.
    sha256 : str, optional
        What the content of the file must be; found out where it is left out.

    Raises
    ------
    ValueError
        Not one of samples, histogram and file; a value out of range; the file can not be read, has
        changed, or holds something else. Latencies of wake-ups (`cyclictest`, `timerlat`) are
        refused: they say how late a sleeper is, not for how long a running program is held up.

    Examples
    --------
    >>> Empirical(samples=["1us", "2us", "2us", "9us"]).quantile(0.5)
    array(2.e-06)
    >>> Empirical(low=[0, "1us"], high=["1us", "5us"], count=[3, 1]).expected()
    1.125e-06
    """

    samples: Given[Times | None, tuple[float, ...] | None] = Given(_TIMES, None)
    low: Given[Times | None, tuple[float, ...] | None] = Given(_TIMES, None)
    high: Given[Times | None, tuple[float, ...] | None] = Given(_TIMES, None)
    count: Given[Floats | None, tuple[int, ...] | None] = Given("list of int | None", None)
    file: str | None = None
    part: int | str | None = None
    longest: OptionalSeconds = OptionalSeconds()
    sha256: str | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        events.check_ways(self)
        if self.samples is not None:
            put("samples", events.seconds(self.samples, "samples"))
        elif self.file is not None:
            path, sha256 = files.find(self.file, self.sha256)
            put("_path", path)  # no field: where it lies does not identify it
            put("sha256", sha256)
        else:
            put("low", events.seconds(self.low, "low"))
            put("high", events.seconds(self.high, "high"))
            put("count", events.whole(self.count, "count"))
        check_tail(self.integers().largest, "Empirical")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept: of 100,000 samples it takes a millisecond, and a run asks for it some times."""
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def __getstate__(self) -> dict[str, Any]:
        # That of a text differs from process to process.
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @property
    def name(self) -> str:
        if self.file is not None:
            return f"as in {self.file}"
        if self.samples is not None:
            return f"{len(self.samples)} samples"
        assert self.count is not None
        return f"histogram of {sum(self.count)} events"

    def expected(self) -> float:
        return self.integers().mean() / TICKS_PER_SECOND

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        ticks = np.round(times(t) * TICKS_PER_SECOND, 3)
        table = self.integers()
        if table.kind == "samples":
            rising = table.arrays[0][::-1]
            return 1 - np.searchsorted(rising, ticks, side="right") / len(rising)
        falling, above = table.line()
        return np.interp(ticks, falling[:-1][::-1], above[:-1][::-1], left=1.0, right=0.0)

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        level, table = levels(q), self.integers()
        if table.kind == "samples":
            rising = table.arrays[0][::-1]
            chosen = np.ceil(np.round(level * len(rising), 6)).astype(np.int64) - 1
            return np.asarray(rising[np.maximum(chosen, 0)] / TICKS_PER_SECOND)
        falling, above = table.line()
        return np.asarray(np.interp(1 - level, above[:-1], falling[:-1]) / TICKS_PER_SECOND)

    def make_table(self) -> tables.Table:
        if self.file is not None:
            path: Any = self._path  # type: ignore[attr-defined]
            measured = files.read(path, str(self.sha256))
            parts = files.choose(measured, self.part, self.file, all_parts=True)
            return events.table_of(parts, self.file, self.longest)
        if self.samples is not None:
            return tables.samples(events.ticks(self.samples))
        assert self.low is not None
        assert self.high is not None
        assert self.count is not None
        return events.table_of_bins(events.ticks(self.low), events.ticks(self.high), self.count)
