"""What is in a measurement: rate, share of CPU, quantiles with what stands behind them, periods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..stats.distributions import quantile_rank, realizations_needed
from ..units import TICKS_PER_SECOND, from_ticks
from .bootstrap import (
    LEVEL,
    is_carried,
    mean_interval,
    rank_interval,
    weighted_mean_interval,
)
from .data import CollectiveTable, Detours, Histogram, Latencies, Measured, PerRankSamples
from .periods import dominant_periods

QUANTILES = (0.5, 0.9, 0.99, 0.999)

Facts = dict[str, Any]


def describe(measured: Measured, *, periods: bool = True) -> Facts:
    """Everything that is printed, for programs; times in seconds.

    Parameters
    ----------
    measured : Measured
        From `load`.
    periods : bool
        Look for dominant periods of detours, too.

    Returns
    -------
    dict
        format, source, notes, and for each of the parts: its kind and what it holds. For events:
        count, rate (a second), share (of the CPU), mean with its interval, quantiles (each with
        `events`, how many distinct measured events lie at or above it, and its interval; value
        None where the events do not carry it), largest. Latencies have no rate and no share.
    """
    return {
        "format": measured.format,
        "source": dict(measured.source),
        "notes": list(measured.notes),
        "level": LEVEL,
        "parts": [describe_part(part, periods=periods) for part in measured.parts],
    }


def describe_part(part: Any, *, periods: bool = True) -> Facts:
    """The same for one part."""
    if isinstance(part, Detours):
        return _detours(part, periods)
    if isinstance(part, Histogram):
        return _histogram(part)
    if isinstance(part, Latencies):
        return {"kind": "message latency", "bytes": part.bytes, **_events(part.samples)}
    if isinstance(part, PerRankSamples):
        slowest = part.times.max(axis=1)
        name = {"kind": "samples per rank", "operation": part.operation}
        size = {"bytes": part.bytes, "ranks": part.ranks}
        return {**name, **size, **_events(slowest)}
    if isinstance(part, CollectiveTable):
        return {"kind": "collective", **_columns(part)}
    facts: Facts = {"kind": type(part).__name__, **part.facts()}
    return facts


def _detours(part: Detours, periods: bool) -> Facts:
    seconds = part.length / TICKS_PER_SECOND
    facts = {
        "kind": "detours",
        "cpu": part.cpu,
        "seconds": seconds,
        "threshold": None if part.threshold is None else part.threshold / TICKS_PER_SECOND,
        "resolution": None if part.resolution is None else part.resolution / TICKS_PER_SECOND,
        "rate": len(part.starts) / seconds,
        "share": part.share,
        **_events(from_ticks(part.durations)),
    }
    if len(part.starts):
        facts["share_interval"] = [
            bound * len(part.starts) / seconds for bound in facts["mean_interval"]
        ]
    if periods:
        facts["periods"] = [
            {
                "seconds": found.seconds,
                "frequency": found.frequency,
                "share": found.share,
                "time_share": found.time_share,
                "false_alarm": found.false_alarm,
            }
            for found in dominant_periods(part)
        ]
    return facts


def _events(values: Any) -> Facts:
    """Of single events, in seconds."""
    values = np.sort(values)
    total = len(values)
    if total == 0:
        return {"count": 0, "quantiles": []}
    quantiles: list[Facts] = []
    for q in QUANTILES:
        found: Facts = {
            "q": q,
            "value": None,
            "interval": None,
            "needs": realizations_needed(q, LEVEL),
        }
        if is_carried(q, total):
            found["value"] = float(values[quantile_rank(total, q) - 1])
            found["interval"] = [float(values[rank - 1]) for rank in rank_interval(q, total)]
            found["events"] = int(total - np.searchsorted(values, found["value"], "left"))
        quantiles.append(found)
    largest = float(values[-1])
    return {
        "count": total,
        "mean": float(values.mean()),
        "mean_interval": list(mean_interval(values)),
        "quantiles": quantiles,
        "largest": largest,
        "largest_events": int(total - np.searchsorted(values, largest, "left")),
    }


def _histogram(part: Histogram) -> Facts:
    total = part.total
    facts: Facts = {
        "kind": "latency histogram" if part.what == "latency" else "detour histogram",
        "cpu": part.cpu,
        "count": total,
        "overflow": part.overflow,
        "quantiles": [],
    }
    seconds = None if part.observed is None else part.observed / TICKS_PER_SECOND
    if part.what == "detour":
        facts["seconds"] = seconds
        facts["rate"] = None if seconds is None else total / seconds
    if total == 0:
        return facts
    low, high = from_ticks(part.low), from_ticks(part.high)
    # What is beyond the last bin has a lower edge only.
    low = np.append(low, high[-1] if len(high) else 0.0)
    high = np.append(high, np.inf)
    counts = np.append(part.counts, part.overflow)
    upto = np.cumsum(counts)
    for q in QUANTILES:
        found: Facts = {
            "q": q,
            "value": None,
            "interval": None,
            "needs": realizations_needed(q, LEVEL),
        }
        if is_carried(q, total):
            bin_ = int(np.searchsorted(upto, quantile_rank(total, q)))
            ends = [int(np.searchsorted(upto, rank)) for rank in rank_interval(q, total)]
            found["value"] = [float(low[bin_]), float(high[bin_])]
            found["interval"] = [float(low[ends[0]]), float(high[ends[1]])]
            found["events"] = total - int(upto[bin_] - counts[bin_])
        facts["quantiles"].append(found)
    last = int(np.flatnonzero(counts)[-1])
    facts["largest"] = [float(low[last]), float(high[last])]
    facts["largest_events"] = int(counts[last])
    if part.overflow == 0:
        middle = (low[:-1] + high[:-1]) / 2
        facts["mean"] = float(middle @ part.counts / total)
        # Where in its bin an event was is not known, which the interval allows for.
        facts["mean_interval"] = [
            weighted_mean_interval(low[:-1], part.counts)[0],
            weighted_mean_interval(high[:-1], part.counts)[1],
        ]
        if part.what == "detour" and seconds is not None:
            facts["share"] = facts["mean"] * total / seconds
            facts["share_interval"] = [x * total / seconds for x in facts["mean_interval"]]
    return facts


def _columns(part: CollectiveTable) -> Facts:
    names = ("ranks", "bytes", "mean", "min", "max", "p50", "p90", "p99", "iterations")
    columns = {name: getattr(part, name) for name in names}
    rows = {name: column.tolist() for name, column in columns.items() if column is not None}
    return {"operation": part.operation, "rows": len(part.mean), **rows}
