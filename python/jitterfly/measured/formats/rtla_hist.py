"""Histograms of ``rtla osnoise hist`` and ``rtla timerlat hist`` (Linux, tools/tracing/rtla).

A row is the lower edge of a bin, then a count for each CPU; osnoise counts noise as a busy loop saw
it, timerlat counts how late a timer's interrupt and thread were, which is no noise and has no rate.
"""

from __future__ import annotations

from ...units import TICKS_PER_SECOND, exact, show_seconds, to_ticks
from ..data import MOST_TICKS, Histogram, Measured
from .options import Options
from .rtla_table import FIRST, Table
from .text import Text

NAME = "rtla_hist"
TITLE = "histogram of rtla osnoise or rtla timerlat"
OPTIONS = ("runtime", "period", "threshold", "width")


def recognise(head: str) -> bool:
    """By its first line."""
    return FIRST.search(head) is not None


def read(text: Text, options: Options) -> Measured:
    """A histogram for each CPU (timerlat: and for each context, such as CPU "3 thread")."""
    table = Table(text)
    for line, words in enumerate(map(str.split, text.lines), 1):
        table.take(line, words)
    bins, sums = table.finish()
    noise = table.tool == "osnoise"
    given = options.given()
    if given and not noise and given != ("width",):
        raise text.error(None, f"a timerlat histogram does not take --{given[0]}")
    observed = _observed(text, table.seconds, options) if noise else None
    width = bins.width(_ticks(options.width))
    parts = tuple(
        bins.histogram(
            column,
            width,
            overflow=sums["over:"][column],
            what="detour" if noise else "latency",
            cpu=cpu,
            observed=observed,
            lowest=(_ticks(options.threshold) or 0) if noise else 0,
        )
        for column, cpu in enumerate(table.cpus)
    )
    notes = _noise_notes(options) if noise else _LATENCY_NOTES
    notes += _bin_notes(table, parts, width, options)
    source = {"tool": f"rtla {table.tool} hist"}
    if table.seconds:
        source["duration"] = f"{table.seconds} s"
    return Measured(parts, NAME, source, notes)


def _observed(text: Text, seconds: int, options: Options) -> int | None:
    """Ticks in which the thread of one CPU looked for noise."""
    if seconds == 0:
        return None
    period = exact(options.period or 1.0)
    runtime = exact(options.runtime) if options.runtime else min(period, exact(1.0))
    if runtime > period:
        raise text.error(None, "--runtime must be at most --period (1 s unless given)")
    ticks = round(seconds * TICKS_PER_SECOND * runtime / period)
    if not 0 < ticks < MOST_TICKS:
        raise text.error(None, f"cannot have run for {seconds} s")
    return ticks


def _ticks(seconds: float | None) -> int | None:
    return None if seconds is None else to_ticks(seconds)


_LATENCY_NOTES: tuple[str, ...] = (
    "wake-up latencies (how late a timer was), not noise: they have no rate and take no CPU time",
)


def _noise_notes(options: Options) -> tuple[str, ...]:
    notes = []
    if options.runtime is None and options.period is None:
        notes.append(
            "rates assume that noise was looked for all the time; if a run time below the period "
            "was set (-r, -p), give --runtime and --period"
        )
    if options.threshold is None:
        notes.append(
            "noise below the threshold was not recorded: 5 µs where it was not set (-T), 1 µs in "
            "newer kernels; --threshold says it, and narrows the first bin"
        )
    notes.append("CPUs without noise have no column; the duration is in whole seconds")
    return tuple(notes)


def _bin_notes(
    table: Table, parts: tuple[Histogram, ...], width: int, options: Options
) -> tuple[str, ...]:
    notes = []
    if options.width is None:
        notes.append(
            f"bins are taken to be {show_seconds(width / TICKS_PER_SECOND)} wide, the most that "
            "fits the rows (rows of zeros are left out); --width says otherwise"
        )
    above = [part for part in parts if part.overflow]
    if above:
        most = dict(zip((part.cpu for part in parts), table.longest, strict=False))
        longest = ", ".join(most.get(part.cpu, "?")[:20] for part in above[:8])
        notes.append(
            f"events lie above the last bin on CPU {_named(above)}; the longest about {longest} "
            f"{table.unit}"
        )
    counts = table.sums.get("count:") or [part.total for part in parts]
    odd = [part for part, count in zip(parts, counts, strict=True) if part.total != count]
    if odd:
        notes.append(f"bins and `count:` hold different numbers of events on CPU {_named(odd)}")
    if table.missed:
        notes.append(f"rtla says: {table.missed}")
    return tuple(notes)


def _named(parts: list[Histogram]) -> str:
    rest = f" and {len(parts) - 8} more" if len(parts) > 8 else ""
    return ", ".join(part.cpu for part in parts[:8]) + rest
