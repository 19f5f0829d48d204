"""Parser of per-rank times of a collective (CSV of the cloud_noise dissemination benchmark).

As the n-way dissemination benchmark of cloud_noise writes them (De Sensi et al., arXiv 2210.15315):
separated by spaces, a line an iteration.
"""

from __future__ import annotations

import re

import numpy as np

from ..measurements import Measured, PerRankSamples
from .columns import Row, clock_notes, number_rows
from .rows import MOST_COUNT
from .text import Options, TextFile

NAME = "dissemination"
TITLE = "times of a dissemination on every rank"
OPTIONS = ()

_HEAD = re.compile(r"#MessageSize[ \t]+Rank0Time\((s|ms|us|ns)\)")
_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def recognise(head: str) -> bool:
    """Recognise the format by its first line."""
    return _HEAD.match(head.lstrip()) is not None


def read(text: TextFile, options: Options) -> Measured:
    """Samples of all ranks, one part for each message size."""
    columns: list[str] = []
    unit = ""
    rows: list[Row] = []
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if not words:
            continue
        if not columns:
            match = _HEAD.match(content.lstrip())
            if match is None:
                raise text.error(line, "expected the first line: #MessageSize Rank0Time(us) ...")
            unit, columns = match[1], words
            for rank, word in enumerate(words[1:]):
                if word != f"Rank{rank}Time({unit})":
                    raise text.error(line, f"expected Rank{rank}Time({unit}), got {word[:40]!r}")
        elif words != columns:  # runs may have been appended, each with its first line
            rows.append((line, words))
    if not rows:
        raise text.error(len(text.lines), "has no row")
    sizes: dict[int, list[Row]] = {}
    for row in rows:
        size = text.integer(row[0], row[1][0], "MessageSize", high=MOST_COUNT)
        sizes.setdefault(size, []).append(row)
    parts = tuple(_part(text, size, sizes[size], columns, _UNITS[unit]) for size in sorted(sizes))
    notes = [
        "each rank's time begins as it leaves a barrier, not at one moment for all: the spread "
        "between ranks holds that of the barrier"
    ]
    notes += clock_notes(np.concatenate([part.times.ravel() for part in parts]), "times")
    return Measured(parts, NAME, {"tool": "n-way dissemination benchmark"}, tuple(notes))


def _part(
    text: TextFile, size: int, rows: list[Row], columns: list[str], unit: float
) -> PerRankSamples:
    times: np.ndarray = number_rows(text, rows, columns)[:, 1:] / unit
    return PerRankSamples("dissemination", size, len(columns) - 1, times)
