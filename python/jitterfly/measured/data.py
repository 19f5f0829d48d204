"""What measurements hold: detours, histograms, tables of collectives, samples.

Times are int64 ticks of 1 ps where they become noise, and float64 seconds where they are compared
with results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..fields import Dataclass, IntegerArray, check_choice, frozen_dataclass
from .checks import (
    MOST_TICKS,
    Compared,
    Floats,
    check_each,
    set_integer,
    set_seconds,
    set_ticks,
)


@frozen_dataclass(eq=False)
class Detours(Dataclass, Compared):
    """One continuous run of a detour benchmark: when a CPU was away, and for how long.

    Parameters
    ----------
    starts, durations : int64 ticks, shape (detours,)
        Half-open intervals ``[start, start + duration)``, sorted, disjoint, durations above 0, all
        inside ``[0, length)``. May be empty.
    length : int
        Ticks observed, above 0.
    threshold : int, optional
        Shorter detours were not recorded, in ticks.
    resolution : int, optional
        Quantum of the clock, in ticks, where it is coarse.
    cpu : str
        Which one, as the file names it.

    Raises
    ------
    ValueError
        Names the detour that is out of order or out of range.

    Examples
    --------
    >>> Detours([1000, 5000], [10, 20], length=10_000).share
    0.003
    """

    starts: IntegerArray
    durations: IntegerArray
    length: int
    threshold: int | None = None
    resolution: int | None = None
    cpu: str = ""

    def __post_init__(self) -> None:
        starts = set_ticks(self, "starts")
        durations = set_ticks(self, "durations")
        if len(starts) != len(durations):
            raise ValueError(
                f"durations must be as many as starts, {len(starts)}, got {len(durations)}"
            )
        set_integer(self, "length", 1)
        set_integer(self, "threshold", 0, optional=True)
        set_integer(self, "resolution", 1, optional=True)
        if len(starts) == 0:
            return
        check_each(durations >= 1, "durations must be 1 tick or more", durations)
        ends = starts + durations
        check_each(starts[1:] >= ends[:-1], "starts must be sorted, and detours disjoint", starts)
        if ends[-1] > self.length:
            raise ValueError(
                f"length must be {ends[-1]} ticks or more, the end of the last detour, "
                f"got {self.length}"
            )

    @property
    def share(self) -> float:
        """Part of the time that detours took, from 0 to 1."""
        return float(int(self.durations.sum()) / self.length)


@frozen_dataclass(eq=False)
class Histogram(Dataclass, Compared):
    """Counts of events by their duration.

    Parameters
    ----------
    low, high : int64 ticks, shape (bins,)
        Events with ``low <= duration < high``; bins are sorted and disjoint, each wider than 0.
    counts : int64, shape (bins,)
        From 0.
    what : "detour" or "latency"
        A latency (how late a timer woke) has no rate and takes no share of a CPU.
    observed : int, optional
        Ticks observed, summed over the CPUs that the counts are of.
    cpu : str
        Which one, as the file names it; "" for all together.
    overflow : int
        Events at or above the last edge.
    """

    low: IntegerArray
    high: IntegerArray
    counts: IntegerArray
    what: str = "detour"
    observed: int | None = None
    cpu: str = ""
    overflow: int = 0

    def __post_init__(self) -> None:
        low, high = set_ticks(self, "low"), set_ticks(self, "high")
        counts = set_ticks(self, "counts")
        if not len(low) == len(high) == len(counts):
            raise ValueError(
                f"low, high and counts must be equally many, got {len(low)}, {len(high)}, "
                f"{len(counts)}"
            )
        check_choice(self.what, "what", ("detour", "latency"))
        set_integer(self, "observed", 1, optional=True)
        set_integer(self, "overflow", 0)
        check_each(low < high, "low must be below high", low)
        check_each(low[1:] >= high[:-1], "bins must be sorted and disjoint", low)
        if counts.sum(dtype=np.float64) + self.overflow > MOST_TICKS:
            raise ValueError("counts must be below 2^62 together")

    @property
    def total(self) -> int:
        """Events, the overflow included."""
        return int(self.counts.sum()) + self.overflow


@dataclass(frozen=True, eq=False)
class CollectiveTable(Compared):
    """How long a collective took, a row for each size; times in seconds, shape (rows,).

    Columns that the file lacks are None.
    """

    operation: str
    ranks: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    mean: Floats
    min: Floats | None = None
    max: Floats | None = None
    p50: Floats | None = None
    p90: Floats | None = None
    p99: Floats | None = None
    iterations: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name in ("ranks", "bytes", "iterations"):
            if getattr(self, name) is not None:
                set_ticks(self, name)
        for name in ("mean", "min", "max", "p50", "p90", "p99"):
            if getattr(self, name) is not None:
                set_seconds(self, name, 1)
        for part in dataclasses.fields(self):
            value = getattr(self, part.name)
            if isinstance(value, np.ndarray) and len(value) != len(self.mean):
                raise ValueError(f"{part.name} must have {len(self.mean)} rows, got {len(value)}")


@dataclass(frozen=True, eq=False)
class PerRankSamples(Compared):
    """Every iteration of a collective on every rank: seconds, shape (iterations, ranks)."""

    operation: str
    bytes: int
    ranks: int
    times: Floats

    def __post_init__(self) -> None:
        set_integer(self, "bytes", 0)
        set_integer(self, "ranks", 1)
        times = set_seconds(self, "times", 2)
        if times.shape[1] != self.ranks:
            raise ValueError(f"times must have {self.ranks} columns, got {times.shape[1]}")


@dataclass(frozen=True, eq=False)
class Latencies(Compared):
    """Samples of the latency of a message of `bytes` bytes: seconds, shape (samples,)."""

    samples: Floats
    bytes: int = 0

    def __post_init__(self) -> None:
        set_integer(self, "bytes", 0)
        set_seconds(self, "samples", 1)


Part = Detours | Histogram | CollectiveTable | PerRankSamples | Latencies


@dataclass(frozen=True)
class Measured:
    """What is in a file.

    Parameters
    ----------
    parts : tuple
        One or more `Detours`, `Histogram`, `CollectiveTable`, `PerRankSamples` or `Latencies`, all
        of one class.
    format : str
        Name of the format it was read from.
    source : dict of str to str
        Whatever is known: tool, version, machine, kernel, date, command, file, sha256, ...
    notes : tuple of str
        What to know before the numbers are believed.
    """

    parts: tuple[Part, ...]
    format: str
    source: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "notes", tuple(self.notes))
        kinds = {type(part) for part in self.parts}
        if len(kinds) != 1 or not all(issubclass(kind, Compared) for kind in kinds):
            raise ValueError("parts must be one or more, all of one class such as Detours")
