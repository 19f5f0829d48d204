"""Classes of measured data: detours, histograms, tables of collectives, latencies, LogGP tables.

Times are int64 ticks of 1 ps where they become noise, and float64 seconds where they are compared
with results. Some tools print no events but noise summed over a CPU's run (`CpuNoise`), extremes of
latencies (`LatencySummary`), or LogGP parameters (`LogGPTable`).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..fields import (
    Dataclass,
    EqualByFields,
    IntegerArray,
    check_choice,
    check_integer,
    check_numbers,
    counted,
    frozen_dataclass,
    parameter,
    shorten,
)
from ..units import TICKS_PER_SECOND, show_seconds

MAX_TICKS = 2**62
"""Times of measurements stay below this, as all times (about 53 days)."""

Ticks = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
LOAD_NOTE = "other threads ran there in place of the recorder"
"""The words in the note on a recording that may be the load of a busy machine."""
QUANTUM_NOTE = (
    "detours are known to the quantum only, and several in one quantum count as one; periods below "
    "two quanta are not looked for"
)


def set_ticks(owner: Any, name: str) -> Ticks:
    """Make a field a frozen array of int64, from 0 to below 2^62."""
    rule = f"{name} must be a list of integers from 0 to below 2^62"
    array = check_numbers(getattr(owner, name), rule)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{rule}, got {shorten(getattr(owner, name))}")
    check_each((array >= 0) & (array < MAX_TICKS), rule, array)
    return freeze(owner, name, array.astype(np.int64))


def set_seconds(owner: Any, name: str, dimensions: int) -> Floats:
    """Make a field a frozen array of finite float64 from 0."""
    rule = f"{name} must be times in seconds, finite and from 0, of {dimensions} dimension(s)"
    array = check_numbers(getattr(owner, name), rule).astype(np.float64)
    if array.ndim != dimensions or not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{rule}, got {shorten(getattr(owner, name))}")
    return freeze(owner, name, array)


def freeze(owner: Any, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Set a field of a frozen dataclass to a read-only array."""
    array.setflags(write=False)
    object.__setattr__(owner, name, array)
    return array


def set_integer(owner: Any, name: str, low: int, *, optional: bool = False) -> None:
    """Make a field an int, from `low` to 2^62; or None where that is allowed."""
    value = getattr(owner, name)
    if value is not None or not optional:
        object.__setattr__(owner, name, check_integer(value, name, low, MAX_TICKS))


def check_each(good: npt.NDArray[np.bool_], rule: str, values: npt.NDArray[Any]) -> None:
    """Raise ValueError with the first of `values` that is not good."""
    if not good.all():
        at = int(np.argmin(good)) + len(values) - len(good)
        raise ValueError(f"{rule}, got {values[at]} at index {at}")


@frozen_dataclass(eq=False)
class Detours(Dataclass, EqualByFields):
    """One continuous run of a detour benchmark: when a CPU was away, and for how long.

    It is the `trace` of a `TraceNoise`: ``jf.TraceNoise(trace=jf.measured.Detours(...))``.

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

    words = "detours"

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
class Histogram(Dataclass, EqualByFields):
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

    words = "a histogram"

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
        if counts.sum(dtype=np.float64) + self.overflow > MAX_TICKS:
            raise ValueError("counts must be below 2^62 together")

    @property
    def total(self) -> int:
        """Events, the overflow included."""
        return int(self.counts.sum()) + self.overflow


def pooled(parts: Sequence[Histogram]) -> Histogram | None:
    """The events of several histograms in one, up to the last edge of all.

    None where bins that hold events overlap without being the same.
    """
    counts: Counter[tuple[int, int]] = Counter()
    for part in parts:
        for low, high, count in zip(part.low, part.high, part.counts, strict=True):
            if count:
                counts[int(low), int(high)] += int(count)
    bins = sorted(counts)
    if any(above[0] < below[1] for below, above in pairwise(bins)):
        return None
    last = max((int(part.high[-1]) for part in parts if len(part.high)), default=0)
    end = bins[-1][1] if bins else max(last - 1, 0)
    if end < last:  # above the last edge are the events that have no bin
        bins.append((end, last))
    observed = [part.observed for part in parts if part.observed is not None]
    return Histogram(
        [low for low, _ in bins],
        [high for _, high in bins],
        [counts[one] for one in bins],
        what=parts[0].what,
        observed=sum(observed) if len(observed) == len(parts) else None,
        overflow=sum(part.overflow for part in parts),
    )


@dataclass(frozen=True, eq=False)
class CollectiveTable(EqualByFields):
    """The times of a collective, a row for each size, in seconds, shape (rows,).

    Columns that the file lacks are None.
    """

    words = "times of a collective"

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
class PerRankSamples(EqualByFields):
    """Every iteration of a collective on every rank: seconds, shape (iterations, ranks).

    `slowest`: of the slowest rank alone, shape (iterations, 1).
    """

    words = "times of a collective on each rank"

    operation: str
    bytes: int
    ranks: int
    times: Floats
    slowest: bool = False

    def __post_init__(self) -> None:
        set_integer(self, "bytes", 0)
        set_integer(self, "ranks", 1)
        times = set_seconds(self, "times", 2)
        columns = 1 if self.slowest else self.ranks
        if times.shape[1] != columns:
            raise ValueError(f"times must have {columns} columns, got {times.shape[1]}")


@dataclass(frozen=True, eq=False)
class Latencies(EqualByFields):
    """Samples of the latency of a message of `bytes` bytes: seconds, shape (samples,)."""

    words = "latencies of messages"

    samples: Floats
    bytes: int = 0

    def __post_init__(self) -> None:
        set_integer(self, "bytes", 0)
        set_seconds(self, "samples", 1)


_Collective = TypeVar("_Collective", CollectiveTable, PerRankSamples)


def full_name(collective: str) -> str:
    """The name of a collective as algorithms have it, of that which a benchmark prints.

    Examples
    --------
    >>> full_name("Bcast"), full_name("Allreduce"), full_name("allreduce (persistent)")
    ('broadcast', 'allreduce', 'allreduce')
    """
    name = collective.lower().partition(" (")[0]
    return "broadcast" if name == "bcast" else name


def parts_of_collective(
    parts: Sequence[_Collective], collective: str | None, file: str
) -> list[_Collective]:
    """The parts of one collective, such as "barrier", that benchmarks printed into a file.

    Raises
    ------
    ValueError
        The file has several, and none is chosen; or not the one that is.
    """
    if not parts:
        return []
    names = list(dict.fromkeys(part.operation for part in parts))
    if collective is None:
        if len(names) > 1:
            raise ValueError(
                f"{file} has several collectives: {', '.join(names)}; choose one with "
                f"{parameter('collective')}"
            )
        return list(parts)
    found = [part for part in parts if part.operation == collective]
    found = found or [part for part in parts if full_name(part.operation) == full_name(collective)]
    if len({part.operation for part in found}) > 1:
        kinds = ", ".join(dict.fromkeys(part.operation for part in found))
        raise ValueError(
            f"{file} has several tables of {full_name(collective)}: {kinds}; choose one with "
            f"{parameter('collective')}"
        )
    if not found:
        raise ValueError(
            f"{file} has the collectives {', '.join(names)}; got {parameter('collective')} "
            f"{shorten(collective)}"
        )
    return found


@dataclass(frozen=True)
class Measured:
    """The content of a file.

    Parameters
    ----------
    parts : tuple
        One or more `Detours`, `Histogram`, `CollectiveTable`, `PerRankSamples`, `Latencies`,
        `LatencySummary`, `CpuNoise` or `LogGPTable`, all of one class.
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
        if len(kinds) != 1 or not isinstance(self.parts[0], Part):
            raise ValueError("parts must be one or more, all of one class such as Detours")


@dataclass(frozen=True, eq=False)
class CpuNoise(EqualByFields):
    """Noise of one CPU, summed over its run: a share, but no distribution.

    Parameters
    ----------
    runtime, noise : int
        Ticks in which a thread looked for noise, and those of it that noise took.
    longest : int
        The longest single noise, in ticks.
    periods : int
        Over how many periods the sums are.
    worst : int, optional
        The most noise in one period, in ticks.
    counts : dict of str to int
        Interferences by their kind: hardware, nmi, irq, softirq, thread.
    cpu : str
        Which one, as the file names it.
    events : int, optional
        Single detours that are in the sums.

    Examples
    --------
    >>> CpuNoise(runtime=10**12, noise=2 * 10**9, longest=10**7, periods=1).share
    0.002
    """

    words = "sums of noise, without single detours"

    runtime: int
    noise: int
    longest: int
    periods: int
    worst: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    cpu: str = ""
    events: int | None = None

    def __post_init__(self) -> None:
        set_integer(self, "events", 0, optional=True)
        set_integer(self, "runtime", 1)
        set_integer(self, "periods", 1)
        set_integer(self, "noise", 0)
        set_integer(self, "longest", 0)
        set_integer(self, "worst", 0, optional=True)
        if not self.longest <= self.noise <= self.runtime:
            raise ValueError(
                "noise must be from longest to runtime ticks, "
                f"{self.longest} to {self.runtime}, got {self.noise}"
            )

    @property
    def share(self) -> float:
        """Part of the time that noise took, from 0 to 1."""
        return self.noise / self.runtime

    @property
    def rate(self) -> float | None:
        """Detours a second; None where they are not counted."""
        return None if self.events is None else self.events * TICKS_PER_SECOND / self.runtime

    def lines(self) -> list[str]:
        """Return the text for people."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        number = f"interferences: {counts or 'not counted'}"
        if self.events is not None:
            number = f"{counted(self.events, 'detour')}, rate {self.rate:.4g} /s"
        return [
            f"CPU {self.cpu}: share of the CPU {100 * self.share:.3g} % ({_show(self.noise)} of "
            f"{_show(self.runtime)}); longest {_show(self.longest)}; {number}"
        ]

    def facts(self) -> dict[str, Any]:
        """Return the values for programs: times in seconds."""
        return {
            "cpu": self.cpu,
            "share": self.share,
            "runtime": self.runtime / TICKS_PER_SECOND,
            "noise": self.noise / TICKS_PER_SECOND,
            "longest": self.longest / TICKS_PER_SECOND,
            "periods": self.periods,
            "counts": dict(self.counts),
            "events": self.events,
            "rate": self.rate,
        }


@dataclass(frozen=True, eq=False)
class LatencySummary(EqualByFields):
    """Wake-up latencies of which a tool printed their number, mean and extremes alone.

    Parameters
    ----------
    count : int
        Latencies.
    shortest, mean, longest : int
        Ticks, each rounded down to a multiple of `resolution`.
    resolution : int
        Ticks.
    cpu : str
        Which one, as the file names it, such as "3 irq" for the interrupts of CPU 3.

    Examples
    --------
    >>> LatencySummary(count=9, shortest=10**6, mean=10**6, longest=3 * 10**6).lines()
    ['9 latencies; min 1 µs, mean 1 µs, max 3 µs']
    """

    words = "summaries of latencies, without a distribution"

    count: int
    shortest: int
    mean: int
    longest: int
    resolution: int = 10**6
    cpu: str = ""

    def __post_init__(self) -> None:
        set_integer(self, "count", 1)
        set_integer(self, "resolution", 1)
        for name in ("shortest", "mean", "longest"):
            set_integer(self, name, 0)
        if not self.shortest <= self.mean <= self.longest:
            raise ValueError(
                f"mean must be from shortest to longest, {_show(self.shortest)} to "
                f"{_show(self.longest)}, got {_show(self.mean)}"
            )

    def lines(self) -> list[str]:
        """Return the text for people."""
        name = f"CPU {self.cpu}: " if self.cpu else ""
        return [
            f"{name}{self.count:,} {'latency' if self.count == 1 else 'latencies'}; min "
            f"{_show(self.shortest)}, mean {_show(self.mean)}, max {_show(self.longest)}"
        ]

    def facts(self) -> dict[str, Any]:
        """Return the values for programs: times in seconds."""
        times = {
            name: getattr(self, name) / TICKS_PER_SECOND
            for name in ("shortest", "mean", "longest", "resolution")
        }
        return {"cpu": self.cpu, "count": self.count, **times}


@dataclass(frozen=True, eq=False)
class LogGPTable(EqualByFields):
    """LogGP parameters by message size, shape (rows,); seconds, G in seconds per byte.

    `latency` is the L of LogGP; `gap` (g) and `gap_per_byte` (G) are fits over all sizes up to that
    of the row, NaN where there are too few of them.
    """

    words = "parameters of a network"

    bytes: Ticks
    latency: Floats
    send_overhead: Floats
    receive_overhead: Floats
    gap: Floats
    gap_per_byte: Floats

    def __post_init__(self) -> None:
        set_ticks(self, "bytes")
        for name in ("latency", "send_overhead", "receive_overhead"):
            set_seconds(self, name, 1)
        for name in ("gap", "gap_per_byte"):  # a least-squares fit may come out below 0
            rule = f"{name} must be numbers or NaN"
            values = check_numbers(getattr(self, name), rule).astype(np.float64)
            if values.ndim != 1 or np.isinf(values).any():
                raise ValueError(f"{rule}, got {shorten(values)}")
            freeze(self, name, values)
        sizes = {len(getattr(self, name)) for name in self.__dataclass_fields__}
        if len(sizes) != 1 or sizes == {0}:
            raise ValueError(f"all columns must have one length above 0, got {sorted(sizes)}")

    def lines(self) -> list[str]:
        """Return the text for people: the smallest size, and the fit over all."""
        last = len(self.bytes) - 1
        return [
            f"{len(self.bytes)} sizes from {self.bytes[0]} to {self.bytes[last]} bytes",
            f"size {self.bytes[0]}: L {show_seconds(self.latency[0])}, "
            f"o_s {show_seconds(self.send_overhead[0])}, "
            f"o_r {show_seconds(self.receive_overhead[0])}",
            f"fit over all sizes: g {show_seconds(self.gap[last])}, "
            f"G {show_seconds(self.gap_per_byte[last])} per byte",
        ]

    def facts(self) -> dict[str, Any]:
        """All columns, for programs; NaN becomes None."""
        return {
            name: [None if math.isnan(one) else one for one in getattr(self, name).tolist()]
            for name in self.__dataclass_fields__
        }


def _show(ticks: int) -> str:
    return show_seconds(ticks / TICKS_PER_SECOND)


Part = (
    Detours
    | Histogram
    | CollectiveTable
    | PerRankSamples
    | Latencies
    | LatencySummary
    | CpuNoise
    | LogGPTable
)
