"""Measured events as tables: what is accepted, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...fields import shorten
from ...units import parse_seconds, to_ticks
from . import tables

Ticks = npt.NDArray[np.int64]

_MOST = 10**7  # of events in a list
_WAYS = "one of samples, (low, high and count) and file"


def check_ways(given: Any) -> None:
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


def seconds(values: Any, name: str) -> tuple[float, ...]:
    """A list of times as seconds."""
    return tuple(parse_seconds(value, name) for value in _listed(values, name))


def ticks(values: Sequence[float]) -> Ticks:
    """Seconds to ticks, each rounded as any time is."""
    array = np.array(values)
    found = np.rint(array * 1e12)
    # Far from the half between two ticks a product of floats rounds as the decimal value does.
    unsure = np.abs(np.abs(array * 1e12 - found) - 0.5) < 1e-2
    for i in np.flatnonzero(unsure | (found > 2**52) | ((found == 0) & (array > 0))):
        found[i] = to_ticks(float(array[i]), "samples")
    return found.astype(np.int64)


def whole(values: Any, name: str) -> tuple[int, ...]:
    """A list of counts."""
    found = _listed(values, name)
    for value in found:
        good = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
        if not good or not 0 <= value < 2**53:
            raise ValueError(
                f"{name} must be a list of integers from 0 to below 2^53, got {shorten(value)}"
            )
    return tuple(int(value) for value in found)


def _listed(values: Any, name: str) -> list[Any]:
    good = isinstance(values, (list, tuple, range))
    good = good or (isinstance(values, np.ndarray) and values.ndim == 1)
    if not good or not 1 <= len(values) <= _MOST:
        raise ValueError(f"{name} must be a list of 1 to 10^7 values, got {shorten(values)}")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def table_of_bins(low: Ticks, high: Ticks, count: Sequence[int]) -> tables.Table:
    """The table of a histogram in ticks.

    Raises:
        ValueError: lists of different lengths, bins that are empty or overlap, no events.
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
    return tables.bins(low.tolist(), high.tolist(), [int(n) for n in count])


def table_of(parts: Sequence[Any], file: str, longest: float | None) -> tables.Table:
    """The table of all events in the parts of a measurement.

    Raises:
        ValueError: they are not detours, or there is none.
    """
    from ...measured import Detours, Histogram

    first = parts[0]
    if isinstance(first, Detours):
        if longest is not None:
            raise ValueError(f"longest must be left out: {file} holds single detours")
        durations = np.concatenate([part.durations for part in parts])
        if not len(durations):
            raise ValueError(f"file: {file} holds no detour")
        return tables.samples(durations)
    if not isinstance(first, Histogram):
        raise ValueError(
            f"file: {file} must hold detours or a histogram of them, "
            f"it holds {type(first).__name__}"
        )
    if first.what != "detour":
        raise ValueError(
            f"file: {file} holds latencies of wake-ups; they say how late a sleeping thread is, "
            "not for how long a running one is held up: measure detours or FWQ"
        )
    return _histogram(parts, file, longest)


def _histogram(parts: Sequence[Any], file: str, longest: float | None) -> tables.Table:
    counts: dict[tuple[int, int], int] = {}
    for part in parts:
        for low, high, count in zip(part.low, part.high, part.counts, strict=True):
            if count:
                key = int(low), int(high)
                counts[key] = counts.get(key, 0) + int(count)
    bins = sorted(counts)
    if any(low < high for (low, _), (_, high) in zip(bins[1:], bins[:-1], strict=True)):
        raise ValueError(f"file: {file} has parts with different bins: say which with part")
    beyond = sum(part.overflow for part in parts)
    last = max((int(part.high[-1]) for part in parts if len(part.high)), default=0)
    if beyond and (longest is None or to_ticks(longest) <= last):
        raise ValueError(
            f"file: {file} has {beyond} events above its last bin, {last / 1e12} s: give longest, "
            "above that, for how long they may be"
        )
    if not beyond and longest is not None:
        raise ValueError(f"longest must be left out: {file} has no events above its last bin")
    if beyond:
        bins.append((last, to_ticks(float(longest or 0))))
        counts[bins[-1]] = beyond
    if not bins:
        raise ValueError(f"file: {file} holds no detour")
    return tables.bins([b[0] for b in bins], [b[1] for b in bins], [counts[b] for b in bins])
