"""Statistics of a measurement: rate, CPU share, quantiles with binomial and bootstrap intervals.

`describe` gives them as facts for programs, `description_lines` as text. Intervals of statistics of
events come from a bootstrap: events are drawn with replacement, each by itself (no blocks, so they
are assumed independent). Quantiles need no drawing: the rank that a quantile of a resample has
among the events is binomial (Efron 1979; Maritz & Jarrett 1978).

The share of the CPU is the mean of what blocks of time lose, with Student's interval: the number of
detours is as random as their length, but hardly random where noise is periodic, and sums in blocks
show which. A histogram's number of events is assumed to be Poisson.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from ..answer import show_interval, show_time
from ..fields import counted, parameter
from ..stats import ENOUGH_EVENTS, effective_events, mean, realizations_needed
from ..stats.intervals import quantile_rank
from ..units import (
    EXPONENTS,
    TICKS_PER_SECOND,
    column_units,
    common_unit,
    from_ticks,
    parse_seconds,
    show_seconds,
)
from .host import show_cpus
from .measurements import CollectiveTable, Detours, Histogram, Latencies, Measured, PerRankSamples
from .periods import MIN_FOR_PERIODS as MIN_FOR_PERIODS
from .periods import dominant_periods

LEVEL = 0.95
RESAMPLES = 1000
SEED = 20100711
MIN_EVENTS = 20
"""The fewest events for which the bootstrap of a mean is worth printing."""
BLOCKS = 30
"""The blocks of time from which the share of the CPU has its interval."""

Floats = npt.NDArray[np.float64]
_MAX_EXACT = 10**9  # events
_LARGEST_DRAWN = 2000  # largest values: a mean's tail is theirs
QUANTILES = (0.5, 0.9, 0.99, 0.999)
Facts = dict[str, Any]
_MAX_IN_FULL = 4  # parts; of more, each has one line
_MAX_ROWS = 12
_SPARSE = 0.2  # detours in each period
_MUCH_TIME = 0.05  # of all detours' in no period
_WITH_QUANTUM = ("ftq", "fwq", "jitterfly")  # formats whose detours may be seen once a quantum


def rank_interval(q: float, total: int) -> tuple[int, int]:
    """Ranks (from 1) between which the q quantile of a resample lies with probability `LEVEL`.

    Examples
    --------
    >>> rank_interval(0.5, 101)
    (41, 61)
    """
    rank = quantile_rank(total, q)
    tails = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if total < _MAX_EXACT:
        shares = betaincinv(rank, total - rank + 1, tails)
    else:  # where betaincinv fails, its normal limit is exact enough
        shares = q + ndtri(tails) * math.sqrt(q * (1 - q) / total)
    low, high = np.clip(np.ceil(shares * total), 1, total).astype(int)
    return int(low), int(high)


def mean_interval(values: Floats) -> tuple[float, float]:
    """Interval of the mean, by the percentiles of its bootstrap distribution.

    The 2000 largest values are drawn; what is below them is bounded by them, and the sum of so many
    is taken for normal.
    """
    values = np.sort(np.asarray(values, dtype=np.float64))
    total = len(values)
    rng = np.random.default_rng(SEED)
    top, rest = values[-_LARGEST_DRAWN:], values[:-_LARGEST_DRAWN]
    drawn = rng.binomial(total, len(top) / total, RESAMPLES)
    sums = np.array([top[rng.integers(len(top), size=count)].sum() for count in drawn])
    if len(rest):
        left = total - drawn
        sums += rng.normal(left * rest.mean(), np.sqrt(left) * rest.std())
    return _percentiles(sums / total)


def share_interval(part: Detours) -> tuple[float, float]:
    """Interval of the share of the CPU, from the detours that begin in blocks of equal time.

    Blocks are taken for independent, and may be so although detours that follow each other are not.
    Where a few blocks have most of the time, the interval is wider, as that of any mean
    (`stats.mean`). If all have the same, as of noise with a period of a block, it has no width.
    """
    edges = np.arange(1, BLOCKS) * (part.length / BLOCKS)
    block = np.searchsorted(edges, part.starts, side="right")
    lost = np.bincount(block, weights=part.durations, minlength=BLOCKS) * (BLOCKS / part.length)
    found = mean(lost, LEVEL, noisy=bool(np.ptp(lost) > 0), lower_bound=0.0)
    return float(found.low), min(float(found.high), 1.0)


def weighted_sum_interval(values: Floats, counts: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Interval of the sum of values that come so often each, and independently: Poisson numbers."""
    values, counts = values[counts > 0], counts[counts > 0]
    rng = np.random.default_rng(SEED)
    return _percentiles(np.array([rng.poisson(counts) @ values for _ in range(RESAMPLES)]))


def weighted_mean_interval(values: Floats, counts: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the bootstrap interval of the mean of values, each of which comes so often."""
    total = int(counts.sum())
    values, counts = values[counts > 0], counts[counts > 0]
    rng = np.random.default_rng(SEED)
    shares = counts / total
    means = [rng.multinomial(total, shares) @ values / total for _ in range(RESAMPLES)]
    return _percentiles(np.array(means))


def _percentiles(means: Floats) -> tuple[float, float]:
    """Return the ends of a bootstrap interval: percentiles of resampled means."""
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


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
        count, rate (a second), share (of the CPU) and mean with their intervals, quantiles (each
        with `events`, how many distinct measured events lie at or above it, and its interval; value
        None where the events do not carry it), largest. `mean_events` is on how many rare events
        the mean rests (`stats.effective_events`; 0 where all are the same): below 30 its interval
        is too narrow. Latencies have no rate and no share.
    """
    return {
        "format": measured.format,
        "source": dict(measured.source),
        "notes": list(measured.notes),
        "level": LEVEL,
        "parts": [
            describe_part(part, periods=periods, grid=grid_of(measured, part) if periods else None)
            for part in measured.parts
        ],
    }


def grid_of(measured: Measured, part: Any) -> float | None:
    """Seconds between the moments at which a detour can be seen, where that is once a quantum."""
    quantum = measured.source.get("quantum") if measured.format in _WITH_QUANTUM else None
    if quantum is None or not isinstance(part, Detours):
        return None
    try:
        seconds = parse_seconds(str(quantum).partition(" of ")[0])  # "1 ms of work in each ..."
    except ValueError:  # a file says it in other words
        return None
    # A quantum of time is always as long; one of work takes longer by the detours in it.
    return seconds if measured.format == "ftq" else seconds / max(1.0 - part.share, 0.01)


def describe_part(part: Any, *, periods: bool = True, grid: float | None = None) -> Facts:
    """Return the statistics of one part; `grid` as of `dominant_periods`."""
    if isinstance(part, Detours):
        return _detour_facts(part, periods, grid)
    if isinstance(part, Histogram):
        return _histogram_facts(part)
    if isinstance(part, Latencies):
        return {"kind": "message latency", "bytes": part.bytes, **_event_facts(part.samples)}
    if isinstance(part, PerRankSamples):
        slowest = part.times.max(axis=1)
        name = {"kind": "samples per rank", "operation": part.operation}
        size = {"bytes": part.bytes, "ranks": part.ranks}
        return {**name, **size, **_event_facts(slowest)}
    if isinstance(part, CollectiveTable):
        return {"kind": "collective", **_collective_facts(part)}
    facts: Facts = {"kind": type(part).__name__, **part.facts()}
    return facts


def _detour_facts(part: Detours, periods: bool, grid: float | None) -> Facts:
    """Return the statistics of detours: rate, share of the CPU, quantiles, periods."""
    seconds = part.length / TICKS_PER_SECOND
    facts = {
        "kind": "detours",
        "cpu": part.cpu,
        "seconds": seconds,
        "threshold": None if part.threshold is None else part.threshold / TICKS_PER_SECOND,
        "resolution": None if part.resolution is None else part.resolution / TICKS_PER_SECOND,
        "rate": len(part.starts) / seconds,
        "share": part.share,
        **_event_facts(from_ticks(part.durations)),
    }
    if len(part.starts):
        facts["share_interval"] = list(share_interval(part))
    if periods:
        facts["periods"] = [
            {
                "seconds": period.seconds,
                "frequency": period.frequency,
                "share": period.share,
                "time_share": period.time_share,
                "per_period": period.occupied,
                "false_alarm": period.false_alarm,
            }
            for period in dominant_periods(part, grid=grid)
        ]
    return facts


def _unknown_quantile(q: float) -> Facts:
    """A quantile without a value, as of too few events.

    Fewer do not bound it from above at `LEVEL`: with a probability above (1 - LEVEL) / 2 all of
    them lie below it. For q from 1/2.
    """
    return {"q": q, "value": None, "interval": None, "needs": realizations_needed(q, LEVEL)}


def _event_facts(values: Any) -> Facts:
    """Describe single events, whose durations are `values` in seconds."""
    values = np.sort(values)
    total = len(values)
    if total == 0:
        return {"count": 0, "quantiles": []}
    quantiles: list[Facts] = []
    for q in QUANTILES:
        quantile = _unknown_quantile(q)
        if total >= quantile["needs"]:
            quantile["value"] = float(values[quantile_rank(total, q) - 1])
            quantile["interval"] = [float(values[rank - 1]) for rank in rank_interval(q, total)]
            quantile["events"] = int(total - np.searchsorted(values, quantile["value"], "left"))
        quantiles.append(quantile)
    largest = float(values[-1])
    return {
        "count": total,
        "mean": float(values.mean()),
        "mean_interval": list(mean_interval(values)),
        "mean_events": effective_events(values),
        "quantiles": quantiles,
        "largest": largest,
        "largest_events": int(total - np.searchsorted(values, largest, "left")),
    }


def _histogram_facts(part: Histogram) -> Facts:
    """Return the statistics of a histogram; quantiles are known up to the width of a bin."""
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
        quantile = _unknown_quantile(q)
        if total >= quantile["needs"]:
            bin_ = int(np.searchsorted(upto, quantile_rank(total, q)))
            ends = [int(np.searchsorted(upto, rank)) for rank in rank_interval(q, total)]
            quantile["value"] = [float(low[bin_]), float(high[bin_])]
            quantile["interval"] = [float(low[ends[0]]), float(high[ends[1]])]
            quantile["events"] = total - int(upto[bin_] - counts[bin_])
        facts["quantiles"].append(quantile)
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
        facts["mean_events"] = effective_events(middle, part.counts)
        if part.what == "detour" and seconds is not None:
            facts["share"] = facts["mean"] * total / seconds
            facts["share_interval"] = [
                weighted_sum_interval(low[:-1], part.counts)[0] / seconds,
                weighted_sum_interval(high[:-1], part.counts)[1] / seconds,
            ]
    return facts


def _collective_facts(part: CollectiveTable) -> Facts:
    """Return the columns and extremes of a table of a collective."""
    names = ("ranks", "bytes", "mean", "min", "max", "p50", "p90", "p99", "iterations")
    columns = {name: getattr(part, name) for name in names}
    rows = {name: column.tolist() for name, column in columns.items() if column is not None}
    return {"operation": part.operation, "rows": len(part.mean), **rows}


def description_lines(measured: Measured, facts: Facts | None = None) -> list[str]:
    """Say what a measurement holds, for people.

    Parameters
    ----------
    measured : Measured
        From `load`.
    facts : dict, optional
        From `describe`, where it is at hand.
    """
    idle = {i for i, part in enumerate(measured.parts) if _is_idle(part)}
    idle = idle if len(idle) > 1 else set()
    in_full = len(measured.parts) - len(idle) <= _MAX_IN_FULL
    facts = facts or describe(measured, periods=in_full)
    text: list[str] = []
    for number, (part, part_facts) in enumerate(
        zip(measured.parts, facts["parts"], strict=True), 1
    ):
        if number - 1 in idle:
            continue
        name = f"CPU {part_facts['cpu']}" if part_facts.get("cpu") else f"part {number}"
        if hasattr(part, "lines"):
            text += part.lines()
        elif "rows" in part_facts:
            text += _collective_lines(part_facts)
        elif in_full:
            text += _in_full(
                part_facts, name if len(measured.parts) > 1 or part_facts.get("cpu") else ""
            )
        else:
            text.append(_in_short(part_facts, name))
    if idle:
        text.append(_idle_line([facts["parts"][i] for i in sorted(idle)]))
    if any(part.get("count") and "quantiles" in part for part in facts["parts"]):
        text.append(
            f"[]: {facts['level']:.0%} intervals, from a bootstrap over events ({RESAMPLES} "
            "resamples, fixed seed), which assumes independent events"
        )
    shares = {part_facts["kind"] for part_facts in facts["parts"] if "share_interval" in part_facts}
    if "detours" in shares:
        text.append(
            f"[] of the share of the CPU: from the time lost in each of {BLOCKS} blocks of the "
            "recording"
        )
    elif shares:
        text.append("[] of the share of the CPU: the number of events is assumed to be Poisson")
    return text


def _is_idle(part: Any) -> bool:
    """Return whether a part is a CPU, or a run, without any detour."""
    if isinstance(part, Detours):
        return not len(part.starts)
    return isinstance(part, Histogram) and part.what == "detour" and not part.total


def _idle_line(parts: list[Facts]) -> str:
    """All parts without a detour, in one line."""
    names = [facts["cpu"] for facts in parts]
    which = ""
    if all(name.isdecimal() for name in names):
        which = f": {show_cpus(map(int, names))}"
    elif all(names):
        which = f": {names[0]} to {names[-1]}"
    seconds = [facts["seconds"] for facts in parts if facts["seconds"]]
    known = f"; {_shown_value([min(seconds), max(seconds)])} each" if seconds else ""
    return f"{len(parts)} {'CPUs' if which else 'parts'} without a detour{which}{known}"


def _in_full(facts: Facts, name: str) -> list[str]:
    """Return the lines on a part: what it holds, rates, mean, quantiles with their intervals."""
    text = [f"{name}: {_what_it_holds(facts)}" if name else _what_it_holds(facts)]
    if facts["count"] == 0:
        return text
    rates = _rates(facts)
    if rates:
        text.append(f"  {rates}")
    unit = _unit_of(facts)
    if "mean" in facts:
        own = _line_unit(facts["mean"], unit)
        sure = _shown_interval(facts["mean_interval"], own)
        if facts["count"] < MIN_EVENTS:
            sure = f"too few events for an interval (at least {MIN_EVENTS})"
        elif 0 < facts["mean_events"] < ENOUGH_EVENTS and _has_longer_tail(facts):
            few = f"{counted(max(round(facts['mean_events']), 1), 'long event')}"
            sure = f"{sure:<24} rests on about {few}, so the interval is too narrow"
        text.append(f"  mean   {_shown_value(facts['mean'], own):<20} {sure}")
    for quantile in facts["quantiles"]:
        label = f"p{100 * quantile['q']:g}"
        if quantile["value"] is None:
            text.append(
                f"  {label:6} unknown: {counted(facts['count'], 'event')} of the "
                f"{quantile['needs']:,} that it needs"
            )
            continue
        own = _line_unit(quantile["value"], unit)
        interval = _shown_interval(quantile["interval"], own)
        text.append(
            f"  {label:6} {_shown_value(quantile['value'], own):<20} {interval:<24} "
            f"{counted(quantile['events'], 'event')} at or above"
        )
    own = _line_unit(facts["largest"], unit)
    text.append(
        f"  max    {_shown_value(facts['largest'], own):<20} "
        f"{'':24} {counted(facts['largest_events'], 'event')}; a longer run may find longer ones"
    )
    return text + _period_lines(facts)


def _has_longer_tail(facts: Facts) -> bool:
    """Return whether rare events are longer than the others: the mean is above the median."""
    median = facts["quantiles"][0]["value"]
    return bool(np.mean(facts["mean"]) > np.mean(median))


def _what_it_holds(facts: Facts) -> str:
    """Return the number and kind of events of a part, and how they were observed."""
    count = f"{facts['count']:,}"
    if facts["kind"] == "detours":
        known = [f"{counted(facts['count'], 'detour')} in {show_seconds(facts['seconds'])}"]
        if facts["threshold"]:
            known.append(f"none recorded below {show_seconds(facts['threshold'], 3)}")
        if facts["resolution"]:
            known.append(f"clock with steps of {show_seconds(facts['resolution'])}")
        return "; ".join(known)
    if facts["kind"] == "detour histogram":
        seconds = facts["seconds"]
        return f"{counted(facts['count'], 'detour')} in " + (
            f"{show_seconds(seconds)} of CPU time" if seconds else "an unknown time"
        )
    if facts["kind"] == "latency histogram":
        noun = "latency" if facts["count"] == 1 else "latencies"
        return f"{count} wake-up {noun} (how late a timer was; not detours, so no rate)"
    size = counted(facts["bytes"], "byte")
    if facts["kind"] == "message latency":
        return f"{count} latencies of messages of {size}"
    return f"{count} times {facts['operation']} of {size} on {facts['ranks']} ranks, the slowest:"


def _rates(facts: Facts) -> str:
    """Return rate and share of the CPU of a part in words; "" where neither is known."""
    parts = []
    if facts.get("rate") is not None:
        parts.append(f"rate {facts['rate']:.4g} /s")
    if facts.get("share") is not None:
        percent, _, interval = _shown_share(facts).partition(" ")
        parts.append(f"share of the CPU {percent} % {interval}".rstrip())
    if facts.get("overflow"):
        parts.append(
            f"{counted(facts['overflow'], 'event')} beyond the last bin, so the mean is unknown"
        )
    return "; ".join(parts)


def _period_lines(facts: Facts) -> list[str]:
    """Return the lines on periods that were found, or that none was."""
    if "periods" not in facts:
        return []
    if not facts["periods"]:
        if facts["count"] >= MIN_FOR_PERIODS:
            return ["  periods: none found"]
        return [f"  periods: too few detours to find any (at least {MIN_FOR_PERIODS})"]
    text = [
        f"  period {show_seconds(period['seconds'])} ({period['frequency']:.4g} Hz): "
        f"{period['share']:.1%} of the detours ({period['per_period']:.3g} in each period), "
        f"{period['time_share']:.1%} of their time"
        for period in facts["periods"]
    ]
    shortest = parameter("shortest", here=False)
    if any(
        period["per_period"] < _SPARSE and period["time_share"] >= _MUCH_TIME
        for period in facts["periods"]
    ):
        text.append(
            "  a source above has no detour in most of its periods: its own period may be a "
            f"multiple; {shortest} of noise import leaves out short detours, which may show it"
        )
    other = 1.0 - sum(period["time_share"] for period in facts["periods"])
    if other >= _MUCH_TIME:
        text.append(
            f"  in no period: {other:.1%} of their time; {shortest} of noise import "
            "leaves out short detours, which shows the long ones alone"
        )
    return text


def _in_short(facts: Facts, name: str) -> str:
    """Return a part in one line: what it holds, rates, median, p99, p99.9 and largest."""
    parts = [f"{name}: {_what_it_holds(facts)}"]
    if facts["count"]:
        parts += [_rates(facts)] if _rates(facts) else []
        for quantile in facts["quantiles"]:
            if quantile["q"] in (0.5, 0.99, 0.999) and quantile["value"] is not None:
                parts.append(f"p{100 * quantile['q']:g} {_shown_value(quantile['value'])}")
        parts.append(f"max {_shown_value(facts['largest'])}")
    return "; ".join(parts)


def comparison_table(parts: Sequence[Facts]) -> list[list[str]]:
    """Return a table of detours and histograms, the headings first; each column has one unit.

    Count, rate, percent of the CPU, mean, p50, p99, p99.9 where some part has it, max.
    """
    quantiles = [{one["q"]: one["value"] for one in facts["quantiles"]} for facts in parts]
    rare = any(known.get(0.999) is not None for known in quantiles)
    levels = [0.5, 0.99, *[0.999] * rare]
    times = [
        [facts.get("mean"), *map(known.get, levels), facts.get("largest")]
        for facts, known in zip(parts, quantiles, strict=True)
    ]
    columns = zip(*times, strict=True)
    units = column_units(
        [[float(np.min(time)) for time in column if time is not None] for column in columns]
    )
    names = ("mean", *(f"p{100 * q:g}" for q in levels), "max")
    heads = (f"{name}, {unit}" for name, unit in zip(names, units, strict=True))
    table = [["events", "rate, /s", "share of the CPU, %", *heads]]
    for facts, row in zip(parts, times, strict=True):
        rate = facts.get("rate")
        shown = (
            "?" if one is None else _shown_value(one, unit, bare=True)
            for one, unit in zip(row, units, strict=True)
        )
        table.append([f"{facts['count']:,}", "?" if rate is None else f"{rate:.4g}",
                      _shown_share(facts), *shown])  # fmt: skip
    return table


def _shown_share(facts: Facts) -> str:
    """The share of the CPU in percent, with its interval where there are enough events."""
    if facts.get("share") is None:
        return "?"
    if facts["count"] < MIN_EVENTS:
        return f"{100 * facts['share']:.3g}"
    return show_interval([100 * one for one in (facts["share"], *facts["share_interval"])], 3)


def _collective_lines(facts: Facts) -> list[str]:
    """Return the lines on a table of a collective."""
    names = [name for name in ("mean", "min", "max", "p50", "p90", "p99") if name in facts]
    text = [f"{facts['operation']}: {counted(facts['rows'], 'row')}"]
    unit = common_unit(time for name in names for time in facts[name])
    heads = " ".join(f"{f'{name}, {unit}':>10}" for name in names)
    text.append(f"  {'ranks':>8} {'bytes':>10} {heads}")
    for row in range(min(facts["rows"], _MAX_ROWS)):
        times = " ".join(f"{show_time(facts[name][row], unit):>10}" for name in names)
        ranks = f"{facts['ranks'][row]:,}" if facts["ranks"][row] else "?"  # the file has none
        text.append(f"  {ranks:>8} {facts['bytes'][row]:>10,} {times}")
    if facts["rows"] > _MAX_ROWS:
        text.append(f"  ... and {facts['rows'] - _MAX_ROWS} more")
    return text


def _shown_value(value: Any, unit: str = "", *, bare: bool = False) -> str:
    """Return a time, or the bin that it is in; in the unit that is given, which `bare` omits."""
    text: Callable[[float], str] = partial(show_time, unit=unit) if unit else show_seconds
    name = "" if bare or not unit else f" {unit}"
    low, high = value if isinstance(value, list) else (value, value)
    if math.isinf(high):
        return f">= {text(low)}{name}"
    ends = dict.fromkeys((text(low), text(high)))  # one where both look the same
    return " to ".join(ends) + name


def _shown_interval(bounds: list[float], unit: str) -> str:
    low, high = bounds
    return f"[{show_time(low, unit)}, {'...' if math.isinf(high) else show_time(high, unit)}]"


def _unit_of(facts: Facts) -> str:
    """Return the unit that suits mean, quantiles and largest value of a part."""
    known = [quantile["value"] for quantile in facts["quantiles"]]
    values = [facts.get("mean"), *known, facts.get("largest")]
    return common_unit(float(np.min(value)) for value in values if value is not None)


def _line_unit(value: Any, unit: str) -> str:
    """Return the unit of a line on a part: the part's own, unless the number would read badly."""
    seconds = float(np.min(value))
    number = seconds * 10.0 ** -EXPONENTS[unit]
    return unit if not number or 0.1 <= number < 10_000 else common_unit([seconds], unit)
