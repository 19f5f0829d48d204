"""What a run prints and puts into summary.csv."""

from __future__ import annotations

import csv
import io
import math
import textwrap

from ..claims import CLAIMS
from ..claims.finding import show_ranks
from ..units import show_seconds
from . import measures
from .results import CONVENTIONAL, REDUNDANT, Results
from .store import Store


def aligned(header: list[str], rows: list[list[str]]) -> str:
    """A table for a terminal, numbers to the right; a header may have two lines."""
    heads = [text.rpartition("\n")[::2] for text in header]
    top, names = ([head[i] for head in heads] for i in range(2))
    widths = [max(len(row[i]) for row in [top, names, *rows]) for i in range(len(header))]
    lines = [top] if any(top) else []
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in [*lines, names, ["-" * width for width in widths], *rows]
    )


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def _plus_minus(estimate: measures.Estimate) -> str:
    """The half width to two digits (at least 0.001), the value to the same place."""
    half = estimate.high - estimate.value
    if not math.isfinite(half) or half <= 0:
        return _number(estimate.value) + (" ± 0" if half == 0 else "")
    places = min(3, max(0, 1 - math.floor(math.log10(half))))
    return f"{estimate.value:.{places}f} ± {half:.{places}f}"


def _spread(samples: measures.Samples, scale: float = 1.0) -> list[str]:
    """Median, 5-95 %, mean: three columns."""
    low, middle, high = (scale * value for value in measures.quantiles(samples))
    mean = measures.mean(samples).scaled(scale)
    return [_number(middle), f"{_number(low)}-{_number(high)}", _plus_minus(mean)]


def _spread_header() -> list[str]:
    names = ["median", "5-95 %", "mean"]
    return [f"{who}\n{name}" for who in ("conv.", "red.") for name in names]


def _slowdown_table(results: Results) -> str:
    header = ["ranks", "realiza-\ntions", "noise-\nfree", *_spread_header()]
    header += ["gain", "best\nT", "enough\nT"]
    parts = ["Completion over noise-free completion, conventional and redundant (with the best T):"]
    for panel in results.panels:
        rows = []
        for place in panel.places:
            row = [show_ranks(place.ranks), str(place.realizations), show_seconds(place.noise_free)]
            for name in (CONVENTIONAL, REDUNDANT):
                row += _spread(place.slowdown[name])
            best = place.redundancy
            rows.append([*row, f"{place.gain:.3g}", str(best.best), str(best.enough)])
        parts.append(_titled(panel.label, aligned(header, rows)))
    return "\n\n".join(parts)


def _titled(label: str, table: str) -> str:
    return f"{label}\n{table}" if label else table


def _overhead_table(results: Results) -> str:
    by_cycle = results.study.figure == "cycles"
    header = ["cycle" if by_cycle else "ranks", "realiza-\ntions", *_spread_header(), "recovery"]
    parts = ["Overhead over the noiseless case, conventional and redundant, us:"]
    for panel in results.panels:
        rows = []
        for place in panel.places[-1:] if by_cycle else panel.places:
            samples = [place.overhead[name] for name in (CONVENTIONAL, REDUNDANT)]
            for cycle in range(samples[0].shape[1]) if by_cycle else [-1]:
                first = str(cycle + 1) if by_cycle else show_ranks(place.ranks)
                row = [first, str(place.realizations)]
                for one in samples:
                    row += _spread(one[:, cycle], 1e6)
                share = place.recovery(cycle)
                rows.append([*row, f"{share:.2f}" if math.isfinite(share.low) else "-"])
        parts.append(_titled(panel.label, aligned(header, rows)))
    return "\n\n".join(parts)


def table(results: Results) -> str:
    """The study's main numbers, aligned."""
    slowdown = results.study.figure == "slowdown"
    return _slowdown_table(results) if slowdown else _overhead_table(results)


def claims(results: Results) -> str:
    """Each claim and, below it, what was found; intervals are 95 %."""
    lines = []
    for name in results.study.claims:
        claim = CLAIMS[name]
        lines += _wrapped(f"{name} ({claim.source}): {claim.text}.", "    ")
        where = ""
        for found in claim.check(results):
            if found.where != where:
                where = found.where
                lines.append(f"  {where}")
            lines += _wrapped(f"    {found.verdict:14} {found.text}", " " * 19)
    return "\n".join(lines)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_on_hyphens=False) or [""]


def summary(store: Store) -> str:
    """summary.csv: a row for each cell and observation; times in seconds."""
    axes = [axis.name for axis in store.study.axes]
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    out.writerow(
        [
            *axes, "variant", "cell", "observation", "realizations", "noise_free_s", "mean_s",
            "mean_low_s", "mean_high_s", "min_s", "p5_s", "p50_s", "p95_s", "max_s",
        ]
    )  # fmt: skip
    for record in store.records:
        cell = record.cell
        for column, name in enumerate(record.observations):
            samples = record.samples[:, column]
            found = [float(record.noise_free[column]), *measures.mean(samples)]
            found += [samples.min(), *measures.quantiles(samples), samples.max()]
            out.writerow(
                [
                    *(cell.place[axis] for axis in axes), cell.variant, cell.hash, name,
                    len(samples), *(f"{value:.12g}" for value in found),
                ]
            )  # fmt: skip
    return stream.getvalue()
