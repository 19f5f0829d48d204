"""The description of a measurement, as lines of text."""

from __future__ import annotations

import math
from typing import Any

from ..units import show_seconds
from .bootstrap import LEAST_EVENTS, RESAMPLES
from .data import Measured
from .describe import Facts, describe
from .periods import LEAST_EVENTS as LEAST_FOR_PERIODS

_MOST_IN_FULL = 4  # parts; of more, each has one line
_MOST_ROWS = 12


def lines(measured: Measured, facts: Facts | None = None) -> list[str]:
    """What a measurement holds, for people.

    Parameters
    ----------
    measured : Measured
        From `load`.
    facts : dict, optional
        From `describe`, where it is at hand.
    """
    in_full = len(measured.parts) <= _MOST_IN_FULL
    facts = facts or describe(measured, periods=in_full)
    text: list[str] = []
    for number, (part, found) in enumerate(zip(measured.parts, facts["parts"], strict=True), 1):
        name = f"CPU {found['cpu']}" if found.get("cpu") else f"part {number}"
        if hasattr(part, "lines"):
            text += part.lines()
        elif "rows" in found:
            text += _collective(found)
        elif in_full:
            text += _in_full(found, name if len(measured.parts) > 1 or found.get("cpu") else "")
        else:
            text.append(_in_short(found, name))
    if any(found.get("count") for found in facts["parts"]):
        text.append(
            f"[]: {facts['level']:.0%} intervals, bootstrap over events ({RESAMPLES} resamples, "
            "fixed seed); events are taken for independent, without blocks"
        )
    return text


def _in_full(found: Facts, name: str) -> list[str]:
    text = [f"{name}: {_what(found)}" if name else _what(found)]
    if found["count"] == 0:
        return text
    rates = _rates(found)
    if rates:
        text.append(f"  {rates}")
    if "mean" in found:
        sure = _interval(found["mean_interval"])
        if found["count"] < LEAST_EVENTS:
            sure = f"too few events for an interval ({LEAST_EVENTS} would do)"
        text.append(f"  mean   {_value(found['mean']):<20} {sure}")
    for quantile in found["quantiles"]:
        label = f"p{100 * quantile['q']:g}"
        if quantile["value"] is None:
            text.append(
                f"  {label:6} unknown: {_events(found['count'])} cannot carry it "
                f"({quantile['needs']:,} could)"
            )
            continue
        text.append(
            f"  {label:6} {_value(quantile['value']):<20} {_interval(quantile['interval']):<24} "
            f"{_events(quantile['events'])} at or above"
        )
    text.append(
        f"  max    {_value(found['largest']):<20} "
        f"{'':24} {_events(found['largest_events'])}; a longer run finds longer ones"
    )
    return text + _periods(found)


def _what(found: Facts) -> str:
    count = f"{found['count']:,}"
    if found["kind"] == "detours":
        known = [f"{_events(found['count'], 'detour')} in {found['seconds']:.4g} s"]
        if found["threshold"]:
            known.append(f"none below {show_seconds(found['threshold'], 3)} recorded")
        if found["resolution"]:
            known.append(f"clock of {show_seconds(found['resolution'])}")
        return "; ".join(known)
    if found["kind"] == "detour histogram":
        seconds = found["seconds"]
        return f"{_events(found['count'], 'detour')} in " + (
            f"{seconds:.4g} s of CPU time" if seconds else "a time that is not known"
        )
    if found["kind"] == "latency histogram":
        return f"{count} wake-up latencies (how late a timer woke: no detours, so no rate)"
    size = f"{found['bytes']} byte{'s' * (found['bytes'] != 1)}"
    if found["kind"] == "message latency":
        return f"{count} latencies of messages of {size}"
    return f"{count} times {found['operation']} of {size} on {found['ranks']} ranks, the slowest:"


def _rates(found: Facts) -> str:
    words = []
    if found.get("rate") is not None:
        words.append(f"rate {found['rate']:.4g} /s")
    if found.get("share") is not None:
        low, high = (100 * bound for bound in found["share_interval"])
        sure = f" [{low:.3g}, {high:.3g}]" if found["count"] >= LEAST_EVENTS else ""
        words.append(f"share of the CPU {100 * found['share']:.3g} %{sure}")
    if found.get("overflow"):
        words.append(f"{_events(found['overflow'])} beyond the last bin, so the mean is not known")
    return "; ".join(words)


def _periods(found: Facts) -> list[str]:
    if "periods" not in found:
        return []
    if not found["periods"]:
        few = f" among so few detours ({LEAST_FOR_PERIODS} would do)"
        return [f"  periods: none found{few * (found['count'] < LEAST_FOR_PERIODS)}"]
    return [
        f"  period {show_seconds(period['seconds'])} ({period['frequency']:.4g} Hz): "
        f"{period['share']:.1%} of the detours, {period['time_share']:.1%} of their time"
        for period in found["periods"]
    ]


def _in_short(found: Facts, name: str) -> str:
    words = [f"{name}: {_what(found)}"]
    if found["count"]:
        words += [_rates(found)] if _rates(found) else []
        for quantile in found["quantiles"]:
            if quantile["q"] in (0.5, 0.99) and quantile["value"] is not None:
                words.append(f"p{100 * quantile['q']:g} {_value(quantile['value'])}")
        words.append(f"max {_value(found['largest'])}")
    return "; ".join(words)


def _collective(found: Facts) -> list[str]:
    names = [name for name in ("mean", "min", "max", "p50", "p90", "p99") if name in found]
    text = [f"{found['operation']}: {found['rows']} rows"]
    text.append(f"  {'ranks':>8} {'bytes':>10} " + " ".join(f"{name:>10}" for name in names))
    for row in range(min(found["rows"], _MOST_ROWS)):
        times = " ".join(f"{show_seconds(found[name][row]):>10}" for name in names)
        text.append(f"  {found['ranks'][row]:>8} {found['bytes'][row]:>10} {times}")
    if found["rows"] > _MOST_ROWS:
        text.append(f"  ... and {found['rows'] - _MOST_ROWS} more")
    return text


def _value(value: Any) -> str:
    if not isinstance(value, list):
        return show_seconds(value)
    low, high = value
    return f">= {show_seconds(low)}" if math.isinf(high) else _range(low, high)


def _interval(bounds: list[float]) -> str:
    low, high = bounds
    return f"[{show_seconds(low)}, {'...' if math.isinf(high) else show_seconds(high)}]"


def _range(low: float, high: float) -> str:
    return f"{show_seconds(low)} to {show_seconds(high)}"


def _events(count: int, name: str = "event") -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"
