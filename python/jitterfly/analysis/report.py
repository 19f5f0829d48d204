"""The main numbers of a study as tables: for a terminal, and summary.csv."""

from __future__ import annotations

import csv
import io
import math

from ..units import show_seconds
from . import measures
from .results import CONVENTIONAL, REDUNDANT, Results
from .show import plus_minus, show_number, show_ranks

_MEANS = "Every mean has its 95 % interval; medians and ranges have none."
_SELECTION = (
    "The best T is chosen by the samples that its mean and gain are then taken from: that favours\n"
    "the redundant scheme a little, and so does looking for the largest of many gains."
)


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


def _spread(samples: measures.Samples, scale: float = 1.0) -> list[str]:
    """Median, 5-95 %, mean: three columns."""
    low, middle, high = (scale * value for value in measures.quantiles(samples))
    mean = measures.mean(samples).scaled(scale)
    return [
        show_number(middle),
        f"{show_number(low)}-{show_number(high)}",
        plus_minus(mean.value, mean.high - mean.value),
    ]


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
    return "\n\n".join([*parts, f"{_MEANS}\n{_SELECTION}"])


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
    return "\n\n".join([*parts, _MEANS])


def table(results: Results) -> str:
    """The study's main numbers, aligned."""
    slowdown = results.study.figure == "slowdown"
    return _slowdown_table(results) if slowdown else _overhead_table(results)


def summary(results: Results) -> str:
    """summary.csv: a row for each cell and observation; times in seconds."""
    axes = [axis.name for axis in results.study.axes]
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    out.writerow(
        [
            *axes, "variant", "cell", "observation", "realizations", "noise_free_s", "mean_s",
            "mean_low_s", "mean_high_s", "min_s", "p5_s", "p50_s", "p95_s", "max_s",
        ]
    )  # fmt: skip
    for record in results.records:
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
