"""Parser of Netgauge's one_one: half round-trip times of single messages (ping-pong).

Half the round-trip time of each repetition.
"""

from __future__ import annotations

import re

import numpy as np

from ..measurements import Latencies, Measured
from .columns import Row, clock_notes, number_rows
from .rows import MOST_COUNT
from .text import Options, TextFile

NAME = "netgauge_latency"
TITLE = "Netgauge one-one latencies"
OPTIONS = ()

_HEAD = re.compile(r"#size[ \t]+rtt[ \t]*$", re.MULTILINE)


def recognise(head: str) -> bool:
    """Recognise the format by its first line."""
    return _HEAD.match(head.lstrip()) is not None


def read(text: TextFile, options: Options) -> Measured:
    """Samples, one part for each message size."""
    sizes: dict[int, list[Row]] = {}
    known: dict[str, int] = {}
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if not words or words[0].startswith("#"):
            continue
        size = known.get(words[0])
        if size is None:
            size = known[words[0]] = text.integer(line, words[0], "size", high=MOST_COUNT)
        sizes.setdefault(size, []).append((line, words))
    if not sizes:
        raise text.error(len(text.lines), "has no row")
    parts = tuple(
        Latencies(number_rows(text, sizes[size], ["size", "rtt"])[:, 1] / 1e6, size)
        for size in sorted(sizes)
    )
    notes = ["half of each round trip, so two messages and both CPUs stand behind a sample"]
    notes += clock_notes(np.concatenate([part.samples for part in parts]), "round trips", 2)
    return Measured(parts, NAME, {"tool": "Netgauge one-one"}, tuple(notes))
