"""Scaling curves as plain columns: ranks, latency, and what else is known of each point."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ..fields import did_you_mean, shorten
from ..measured import FormatError
from ..units import parse_seconds, warn_of_long
from .curve import Curve

Rows = list[tuple[int, list[str]]]
_WORDS = {
    "ranks": "ranks", "processes": "ranks", "nodes": "ranks", "nprocs": "ranks",
    "latency": "latency", "mean": "latency", "avg": "latency", "time": "latency",
    "error": "error", "standard error": "error", "stderr": "error", "se": "error",
    "low": "low", "min": "low", "high": "high", "max": "high",
    "series": "series", "name": "series",
}  # fmt: skip
_HEAD = re.compile(r"(?P<word>[a-z ]+?)\s*(?:[\[(]\s*)?(?P<unit>\b(?:s|ms|us|µs|ns|ps))?\s*[\])]?")
_MOST_BYTES = 1_000_000
_WAY = "name the column latency_us, or give --unit us; latency_s if that is meant"


def rows_of(content: bytes) -> Rows:
    """Line numbers and cells of what is neither empty nor a comment."""
    if len(content) > _MOST_BYTES:
        return []  # a benchmark's own output perhaps, no table of a few points
    text = content.decode("utf-8", errors="replace")
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line:
            mark = next((m for m in ",;\t" if m in line), None)
            rows.append((number, [cell.strip() for cell in line.split(mark)]))
    return rows


def is_plain(cells: list[str]) -> bool:
    """Whether a first line is a header of ours: it names the ranks."""
    return any(_word(cell)[0] == "ranks" for cell in cells)


def _word(cell: str) -> tuple[str, str]:
    """What a column is, "" if it is not known, and its unit."""
    match = _HEAD.fullmatch(cell.lower().replace("_", " "))
    if match is None:
        return "", ""
    return _WORDS.get(match["word"], ""), (match["unit"] or "")


def parse(file: str, rows: Rows, unit: str) -> list[Curve]:
    """The curves of a file, one for each series."""
    line, head = rows[0]
    columns = [_word(cell) for cell in head]
    rows = rows[1:]
    names = [name for name, _ in columns]
    for cell, name in zip(head, names, strict=True):
        if not name:
            hint = did_you_mean(cell.lower(), list(_WORDS))
            raise FormatError(file, line, f"unknown column {cell!r}{hint}; known are "
                              f"{', '.join(dict.fromkeys(_WORDS.values()))}")  # fmt: skip
        if names.count(name) > 1:
            raise FormatError(file, line, f"two columns are {name}")
    if "latency" not in names:
        raise FormatError(file, line, "no column latency")
    warned = False
    series: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, cells in rows:
        if len(cells) != len(columns):
            what = f"{len(columns)} columns expected, got {len(cells)}"
            raise FormatError(file, number, what)
        values = {
            name: _cell(file, number, cell, name, own or unit)
            for cell, (name, own) in zip(cells, columns, strict=True)
        }
        series.setdefault(values.pop("series", ""), []).append((number, values))
        at = names.index("latency")
        if not warned and not columns[at][1] and not unit:
            warned = warn_of_long(cells[at], f"{file}, line {number}: latency", way=_WAY)
    if not series:
        raise FormatError(file, None, "no points below the header")
    return [_curve(file, name or Path(file).stem, points) for name, points in series.items()]


def _cell(file: str, line: int, cell: str, name: str, unit: str) -> Any:
    if name == "series":
        return cell
    try:
        if name == "ranks":
            return int(cell)
        bare = re.fullmatch(r"[0-9.eE+-]+", cell) is not None
        return parse_seconds(cell + unit if bare else cell, name)
    except ValueError as error:
        what = f"ranks must be an integer, got {shorten(cell)}" if name == "ranks" else str(error)
        raise FormatError(file, line, what) from None


def _curve(file: str, name: str, points: list[tuple[int, dict[str, Any]]]) -> Curve:
    for i, (line, point) in enumerate(points):
        try:
            Curve(**{key: [value] for key, value in point.items()})
            if any(point["ranks"] == other["ranks"] for _, other in points[:i]):
                raise ValueError(f"ranks must differ from point to point, got {point['ranks']} "
                                 "twice")  # fmt: skip
        except ValueError as error:
            raise FormatError(file, line, str(error)) from None
    columns = {key: np.array([point[key] for _, point in points]) for key in points[0][1]}
    return Curve(**columns, name=name)
