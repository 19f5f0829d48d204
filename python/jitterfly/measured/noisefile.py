r"""The noise file: measured detours and histograms as text, exact to the tick.

A file of version 1 is UTF-8 text. Its first line is ``# jitterfly noise 1``. Lines that begin with
``#`` hold one ``key = value`` each, the value a number, a text or a list of texts as TOML and JSON
both write them; an empty one separates. Those before the first part describe the measurement::

    # jitterfly noise 1
    # format = "netgauge"
    # source.machine = "nid001009"
    # notes = ["a trace begins and ends on a detour"]

``format`` says what it was imported from ("jitterfly" where it was recorded here), ``source.*``
(all of them text) whatever is known of the measurement, ``notes`` what to know before the numbers
are believed. Then follow one or more parts, all of one kind. A part is ``# [[part]]``, its keys,
and a table in CSV whose first line names the columns. All times are integers, in picoseconds.

Detours, one continuous run on one CPU::

    # [[part]]
    # kind = "detours"
    # cpu = "3"
    # length = 197521638973880
    # threshold = 231978
    # resolution = 238396
    # rows = 2
    start_ps,duration_ps
    0,10440030
    3999348210,6364410

``length`` is how long was observed. ``threshold`` (shorter detours were not recorded),
``resolution`` (quantum of a coarse clock) and ``cpu`` are left out where they are not known.
Detours are sorted, do not overlap and end within ``length``. ``rows`` tells a file that was cut
off.

A histogram of durations::

    # [[part]]
    # kind = "histogram"
    # what = "latency"
    # observed = 600000000000000
    # overflow = 1
    # rows = 1
    low_ps,high_ps,count
    5000000,6000000,12

``what`` is "detour" or "latency" (of a wake-up, which takes no share of a CPU), ``observed`` how
long was observed, summed over CPUs, ``overflow`` how many events were beyond the last bin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..files import replacing
from .data import Measured, Part
from .formats.text import Text, open_text
from .noiseparts import KINDS, NAME, VERSION, parse_noise

__all__ = ["NAME", "VERSION", "parse", "pieces", "read", "recognise", "write"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ROWS_AT_ONCE = 100_000


def write(measured: Measured, path: str | Path) -> None:
    """Write a noise file, whole or not at all.

    Raises
    ------
    ValueError
        Its parts are neither detours nor histograms.
    OSError
        It cannot be written.
    """
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        for piece in pieces(measured):
            file.write(piece.encode("utf-8", "replace"))


def read(path: str | Path) -> Measured:
    """Read a noise file.

    Raises
    ------
    FormatError
        Not a noise file, of another version, cut off, or wrong at a line, which it names.
    OSError
        It cannot be read.
    """
    return parse(open_text(path))


def recognise(head: str) -> bool:
    """Whether a file that begins so is a noise file (of any version)."""
    return head.startswith("# jitterfly noise ")


def parse(text: Text) -> Measured:
    """The measurement in the text of a noise file; FormatError names the line."""
    return parse_noise(text)


def pieces(measured: Measured) -> Iterator[str]:
    """The text of a noise file, piece by piece; ValueError where `write` says so."""
    yield f"# jitterfly noise {VERSION}\n# format = {_value(measured.format)}\n"
    for key, value in measured.source.items():
        name = key if _BARE.fullmatch(key) else _value(key)
        yield f"# source.{name} = {_value(str(value))}\n"
    yield f"# notes = {_value(list(measured.notes))}\n"
    for part in measured.parts:
        yield from _part_pieces(part)


def _part_pieces(part: Part) -> Iterator[str]:
    kind = next((kind for kind, made in KINDS.items() if isinstance(part, made[0])), None)
    if kind is None:
        raise ValueError(f"a noise file holds detours or histograms, got {type(part).__name__}")
    _, columns, names, keys = KINDS[kind]
    arrays = [getattr(part, column) for column in columns]
    yield f"#\n# [[part]]\n# kind = {_value(kind)}\n"
    for key in keys:
        value = getattr(part, key)
        if value not in (None, "") and (key, value) != ("overflow", 0):
            yield f"# {key} = {_value(value)}\n"
    yield f"# rows = {len(arrays[0])}\n{','.join(names)}\n"
    line = ",".join(["%d"] * len(arrays)) + "\n"
    for at in range(0, len(arrays[0]), _ROWS_AT_ONCE):
        rows = np.stack([array[at : at + _ROWS_AT_ONCE] for array in arrays], axis=1)
        yield line * len(rows) % tuple(rows.ravel().tolist())


def _value(value: Any) -> str:
    """As TOML, on one line: JSON's text is TOML's, but for one letter."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
