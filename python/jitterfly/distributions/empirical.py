"""Empirical distribution: samples, a histogram, or a file of measured noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import Converted, FloatsLike, shorten
from ..files import FileName, find_file
from ..units import (
    LONGEST_SECONDS,
    TICKS_PER_SECOND,
    OptionalSeconds,
    Time,
    is_long_number,
    parse_seconds,
    to_ticks,
)
from . import distribution
from .distribution import Distribution, as_list, check_tail, keep_number, levels, times

Ticks = npt.NDArray[np.int64]
_MAX_EVENTS = 10**7  # of events in a list
_WAYS = "one of samples, (low, high and count) and file"
Times = Sequence[Time] | npt.NDArray[Any]
_TIMES = "list of float or str | None"


@dataclass(frozen=True)
class Empirical(Distribution, kind="empirical"):
    """The times as they were measured: none is longer than the longest that was seen.

    Parameters
    ----------
    samples : list of float or str
        Equally likely times, seconds.
    low, high, count : lists
        Instead of samples a histogram: rising bins that do not overlap, ``[low, high)`` in seconds,
        and how often each was seen. Uniform within a bin.
    file : str or Path
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

    samples: Converted[Times | None, tuple[float, ...] | None] = Converted(_TIMES, None)
    low: Converted[Times | None, tuple[float, ...] | None] = Converted(_TIMES, None)
    high: Converted[Times | None, tuple[float, ...] | None] = Converted(_TIMES, None)
    count: Converted[FloatsLike | None, tuple[int, ...] | None] = Converted(
        "list of int | None", None
    )
    file: str | Path | None = None
    part: int | str | None = None
    longest: OptionalSeconds = OptionalSeconds()
    sha256: str | None = None

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        _check_ways(self)
        if self.samples is not None:
            given: Any = self.samples
            put("samples", _read_seconds(given, "samples"))
            self._keep_long("samples", given)
        elif self.file is not None:
            name, sha256 = find_file(self.file, self.sha256)
            put("file", name)
            put("sha256", sha256)
        else:
            put("low", _read_seconds(self.low, "low"))
            given = self.high
            put("high", _read_seconds(given, "high"))
            self._keep_long("high", given)
            put("count", _read_counts(self.count, "count"))
        check_tail(self.integers().largest, "Empirical")

    def _keep_long(self, field: str, given: Any) -> None:
        """Keep the longest of the given times that have no unit, see `Drawn`."""
        if max(getattr(self, field)) >= 1:
            numbers = [value for value in given if is_long_number(value)]
            if numbers:
                keep_number(self, f"one of {field}", max(numbers, key=parse_seconds))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash, kept since 100,000 samples take a millisecond, and a run asks several times."""
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

    def make_table(self) -> distribution.DelayTable:
        if self.file is not None:
            from ..measured.load import choose_parts, load_named

            assert isinstance(self.file, FileName)
            measured = load_named(self.file.path, str(self.sha256))
            parts = choose_parts(measured, self.part, self.file, all_parts=True)
            return _table_of_parts(parts, self.file, self.longest)
        if self.samples is not None:
            return distribution.samples(_to_ticks(self.samples))
        assert self.low is not None
        assert self.high is not None
        assert self.count is not None
        return _table_of_bins(_to_ticks(self.low), _to_ticks(self.high), self.count)


def _check_ways(given: Any) -> None:
    """Raise ValueError unless events are given in one way, with the options of that."""
    bins = [name for name in ("low", "high", "count") if getattr(given, name) is not None]
    there = [name for name in ("samples", "file") if getattr(given, name) is not None] + bins
    if len(there) not in (1, 3) or (len(bins) not in (0, 3)) or (bins and len(there) > 3):
        got = " and ".join(there) or "none"
        raise ValueError(f"Empirical must be given {_WAYS}, got {got}")
    if given.file is None:
        for name in ("part", "longest", "sha256"):
            if getattr(given, name) is not None:
                raise ValueError(f"{name} must be left out without a file (in Empirical)")


def _read_seconds(values: Any, name: str) -> tuple[float, ...]:
    """A list of times as seconds."""
    listed = as_list(values, f"{name} must be a list of 1 to 10^7 values", _MAX_EVENTS)
    if all(type(value) is float for value in listed):  # the usual case, of very many
        seconds = np.array(listed) + 0.0  # -0.0 becomes 0.0
        if ((seconds >= 0) & (seconds <= LONGEST_SECONDS)).all():
            return tuple(seconds.tolist())
    return tuple(parse_seconds(value, name) for value in listed)


def _to_ticks(values: Sequence[float]) -> Ticks:
    """Convert seconds to ticks, each rounded as any time is."""
    array = np.array(values)
    found = np.rint(array * TICKS_PER_SECOND)
    # Far from the half between two ticks a product of floats rounds as the decimal value does.
    unsure = np.abs(np.abs(array * TICKS_PER_SECOND - found) - 0.5) < 1e-2
    for i in np.flatnonzero(unsure | (found > 2**52) | ((found == 0) & (array > 0))):
        found[i] = to_ticks(float(array[i]), "samples")
    return found.astype(np.int64)


def _read_counts(values: Any, name: str) -> tuple[int, ...]:
    """Check a list of counts, and return them."""
    found = as_list(values, f"{name} must be a list of 1 to 10^7 values", _MAX_EVENTS)
    for value in found:
        good = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
        if not good or not 0 <= value < 2**53:
            raise ValueError(
                f"{name} must be a list of integers from 0 to below 2^53, got {shorten(value)}"
            )
    return tuple(int(value) for value in found)


def _table_of_bins(low: Ticks, high: Ticks, count: Sequence[int]) -> distribution.DelayTable:
    """The table of a histogram in ticks.

    Raises
    ------
    ValueError
        Lists of different lengths, bins that are empty or overlap, no events.
    """
    if not len(low) == len(high) == len(count):
        raise ValueError(
            "low, high and count must be equally many, "
            f"got {len(low)}, {len(high)} and {len(count)} (in Empirical)"
        )
    if (low >= high).any() or (low[1:] < high[:-1]).any():
        raise ValueError("low and high must be rising bins that do not overlap (in Empirical)")
    if not sum(count):
        raise ValueError("count must hold an event at least, got none (in Empirical)")
    return distribution.bins(low.tolist(), high.tolist(), [int(n) for n in count])


def _table_of_parts(
    parts: Sequence[Any], file: str, longest: float | None
) -> distribution.DelayTable:
    """The table of all events in the parts of a measurement.

    Raises
    ------
    ValueError
        They are not detours, or there is none.
    """
    from ..measured import Detours, Histogram

    first = parts[0]
    if isinstance(first, Detours):
        if longest is not None:
            raise ValueError(f"longest must be left out: {file} holds single detours")
        durations = np.concatenate([part.durations for part in parts])
        if not len(durations):
            raise ValueError(f"file: {file} holds no detour")
        return distribution.samples(durations)
    if not isinstance(first, Histogram):
        raise ValueError(
            f"file: {file} must hold detours or a histogram of them, it holds {first.words}"
        )
    if first.what != "detour":
        raise ValueError(
            f"file: {file} holds latencies of wake-ups; they say how late a sleeping thread is, "
            "not for how long a running one is held up: measure detours or FWQ"
        )
    return _table_of_histograms(parts, file, longest)


def _table_of_histograms(
    parts: Sequence[Any], file: str, longest: float | None
) -> distribution.DelayTable:
    """Return the table of a distribution from a file's histograms, pooled."""
    from ..measured.measurements import pooled

    whole = pooled(parts)
    if whole is None:
        raise ValueError(f"file: {file} has parts with different bins: say which with part")
    columns = zip(whole.low.tolist(), whole.high.tolist(), whole.counts.tolist(), strict=True)
    bins = [one for one in columns if one[2]]
    beyond = whole.overflow
    last = int(whole.high[-1]) if len(whole.high) else 0
    if beyond and (longest is None or to_ticks(longest) <= last):
        raise ValueError(
            f"file: {file} has {beyond} events above its last bin, {last / TICKS_PER_SECOND} s: "
            "give longest, above that, for how long they may be"
        )
    if not beyond and longest is not None:
        raise ValueError(f"longest must be left out: {file} has no events above its last bin")
    if beyond:
        bins.append((last, to_ticks(float(longest or 0)), beyond))
    if not bins:
        raise ValueError(f"file: {file} holds no detour")
    return distribution.bins(*map(list, zip(*bins, strict=True)))
