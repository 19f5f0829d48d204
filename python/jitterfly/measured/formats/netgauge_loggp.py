"""Parser of Netgauge's LogGP parameters (`-x loggp`): L, o, g and G by message size.

Columns: size, n, PRTT(1,0,s), PRTT(n,0,s), PRTT(n,PRTT(1,0,s),s), L, o_s, o_r, g, G, residual;
microseconds. PRTT(n,d,s) is the time of a parametrized round trip: n messages of s bytes, d apart.
"""

from __future__ import annotations

import math

import numpy as np

from ..measurements import LogGPTable, Measured
from .columns import Row, number_rows
from .rows import MOST_COUNT
from .text import Options, TextFile

NAME = "netgauge_loggp"
TITLE = "Netgauge LogGP parameters"
OPTIONS = ()

_COLUMNS = ["size", "n", "PRTT(1,0,s)", "PRTT(n,0,s)", "PRTT(n,PRTT(1,0,s),s)", "L", "o_s", "o_r"]
_FITS = ["g", "G", "lsqu(g,G)"]
_MOST = 1e15  # microseconds


def recognise(head: str) -> bool:
    """Recognise the format by the titles of its columns."""
    return head.lstrip().startswith("# size n PRTT(1,0,s) PRTT(n,0,s)")


def read(text: TextFile, options: Options) -> Measured:
    """One table."""
    rows: list[Row] = []
    fits: list[list[float]] = []
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 11:
            raise text.error(line, f"must have 11 columns, got {len(words)}")
        size = text.integer(line, words[0], "size", high=MOST_COUNT)
        if rows and size <= int(rows[-1][1][0]):
            raise text.error(line, f"sizes must rise, got {size} after {rows[-1][1][0]}")
        rows.append((line, words[:8]))
        fits.append([_fit(text, line, *pair) for pair in zip(_FITS, words[8:], strict=True)])
    if not rows:
        raise text.error(len(text.lines), "has no row")
    values = number_rows(text, rows, _COLUMNS) / 1e6
    part = LogGPTable(
        bytes=np.array([int(words[0]) for _, words in rows]),
        latency=values[:, 5],
        send_overhead=values[:, 6],
        receive_overhead=values[:, 7],
        gap=np.array([fit[0] / 1e6 for fit in fits]),
        gap_per_byte=np.array([fit[1] / 1e6 for fit in fits]),
    )
    notes = (
        "L is half the round trip of the smallest message, overheads of the CPU included",
        "g and G are least-squares fits over all sizes up to that of the row",
    )
    return Measured((part,), NAME, {"tool": "Netgauge loggp"}, notes)


def _fit(text: TextFile, line: int, name: str, word: str) -> float:
    """A number, or NaN where there were too few sizes for a fit."""
    if word.lstrip("+-").startswith("nan"):
        return math.nan
    value = text.number(line, word, name)
    if abs(value) > _MOST:
        raise text.error(line, f"{name} must be below 1e15, got {word[:40]}")
    return value
