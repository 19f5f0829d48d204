"""`Curve`: measured latency against ranks, read from columns or benchmark output (OSU, IMB).

A file holds plain columns (ranks, latency, and what else is known of each point), or what a
benchmark of collectives printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jitterfly import fields
from jitterfly.fields import (
    Converted,
    Dataclass,
    FloatArray,
    IntegerArray,
    check_numbers,
    did_you_mean,
    frozen_dataclass,
    parameter,
    shorten,
    text_of_csv_field,
)
from jitterfly.files import compression, read_whole
from jitterfly.measured import CollectiveTable, FormatError, PerRankSamples
from jitterfly.measured.formats import OtherTool, TextFile
from jitterfly.measured.load import load_text
from jitterfly.measured.measurements import parts_of_collective
from jitterfly.units import LONGEST_SECONDS, parse_seconds, warn_of_long

from .step_noise_models import MAX_ROUNDS

Floats = npt.NDArray[np.float64]
_MAX_RANKS = 2**MAX_ROUNDS

_Rows = list[tuple[int, list[str]]]
_COLUMN_NAMES = {
    "ranks": "ranks", "processes": "ranks", "nodes": "ranks", "nprocs": "ranks",
    "latency": "latency", "mean": "latency", "avg": "latency", "time": "latency",
    "error": "error", "standard error": "error", "stderr": "error", "se": "error",
    "low": "low", "min": "low", "high": "high", "max": "high",
    "series": "series", "name": "series",
}  # fmt: skip
_COLUMN_HEADER = re.compile(
    r"(?P<word>[a-z ]+?)\s*(?:[\[(]\s*)?(?P<unit>\b(?:s|ms|us|µs|ns|ps))?\s*[\])]?"
)
_MAX_BYTES = 1_000_000
_MEND_UNIT = "name the column latency_us, or give the unit us; latency_s if that is meant"
_UNITS = ("s", "ms", "us", "µs", "ns", "ps")


@frozen_dataclass(eq=False)
class Curve(Dataclass):
    """The latency of a collective against ranks, one number of ranks after the other.

    Parameters
    ----------
    ranks : int array, shape (points,)
        From 2 to 2^20. Rounds are log2(ranks); between powers of two a model is interpolated.
    latency : float array, shape (points,)
        Seconds, above 0.
    error : float array, optional
        Standard error of each latency, seconds, above 0.
    low, high : float array, optional
        Smallest and largest that were measured, seconds: drawn, not fitted.
    name : str
        What it is the curve of.
    notes : tuple of str
        What to know before the numbers are believed.

    Raises
    ------
    ValueError
        Names the field and the point that is out of range.

    Examples
    --------
    >>> Curve([2, 4, 8], [3.45e-6, 6.9e-6, 10.35e-6]).rounds
    array([1., 2., 3.])
    """

    ranks: IntegerArray
    latency: FloatArray
    error: Converted[fields.FloatsLike | None, Floats | None] = Converted(
        "array of float | None", None
    )
    low: Converted[fields.FloatsLike | None, Floats | None] = Converted(
        "array of float | None", None
    )
    high: Converted[fields.FloatsLike | None, Floats | None] = Converted(
        "array of float | None", None
    )
    name: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        raw = check_numbers(self.ranks, f"ranks must be integers from 2 to {_MAX_RANKS}")
        ranks = np.asarray(raw, dtype=np.int64)
        if ranks.ndim != 1 or len(ranks) == 0 or (ranks != raw).any():
            raise ValueError(f"ranks must be a list of integers, got {shorten(self.ranks)}")
        if ranks.min() < 2 or ranks.max() > _MAX_RANKS:
            wrong = int(ranks[(ranks < 2) | (ranks > _MAX_RANKS)][0])
            raise ValueError(f"ranks must be from 2 to 2^{MAX_ROUNDS} = {_MAX_RANKS}, "
                             f"got {wrong}")  # fmt: skip
        order = np.argsort(ranks, kind="stable")
        object.__setattr__(self, "ranks", ranks[order])
        if (np.diff(self.ranks) == 0).any():
            twice = int(self.ranks[1:][np.diff(self.ranks) == 0][0])
            raise ValueError(f"ranks must differ from point to point, got {twice} twice")
        for name in ("latency", "error", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                kept = _check_times(values, name, len(ranks), zero=name in ("low", "high"))
                object.__setattr__(self, name, kept[order])
        object.__setattr__(self, "notes", tuple(self.notes))

    @property
    def rounds(self) -> Floats:
        """``log2(ranks)``, a whole number for powers of two."""
        return np.log2(self.ranks)

    def __len__(self) -> int:
        return len(self.ranks)


def _check_times(values: npt.ArrayLike, name: str, count: int, *, zero: bool) -> Floats:
    rule = f"{name} must be {count} times {'from' if zero else 'above'} 0, one for each of ranks"
    times = np.asarray(check_numbers(values, rule), dtype=np.float64)
    if times.shape != (count,):
        raise ValueError(f"{rule}, got {shorten(values)}")
    bad = ~((times >= 0 if zero else times > 0) & (times <= LONGEST_SECONDS))
    if bad.any():
        raise ValueError(f"{rule}, got {times[bad][0]}")
    return times


def _joined(curves: Sequence[Curve]) -> Curve:
    """One curve from several that are parts of it, such as one file for each number of ranks.

    What some of them lack (errors, extremes) the whole lacks.

    Raises
    ------
    ValueError
        Two have the same number of ranks.
    """
    if len(curves) == 1:
        return curves[0]

    def all_of(name: str) -> Floats | None:
        parts = [getattr(curve, name) for curve in curves]
        return None if any(part is None for part in parts) else np.concatenate(parts)

    return Curve(
        np.concatenate([curve.ranks for curve in curves]),
        np.concatenate([curve.latency for curve in curves]),
        error=all_of("error"),
        low=all_of("low"),
        high=all_of("high"),
        name=", ".join(dict.fromkeys(curve.name for curve in curves if curve.name)),
        notes=tuple(dict.fromkeys(note for curve in curves for note in curve.notes)),
    )


def _rows_of(content: bytes) -> _Rows:
    """The line numbers and cells of what is neither empty nor a comment."""
    if len(content) > _MAX_BYTES:
        return []  # a benchmark's own output perhaps, no table of a few points
    text = content.decode("utf-8", errors="replace")
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line:
            mark = next((m for m in ",;\t" if m in line), None)
            rows.append((number, [cell.strip() for cell in line.split(mark)]))
    return rows


def _names_ranks(cells: list[str]) -> bool:
    """Return whether a first line is a header of ours: it names the ranks."""
    return any(_column_of(cell)[0] == "ranks" for cell in cells)


def _column_of(cell: str) -> tuple[str, str]:
    """The meaning of a column, "" if it is not known, and its unit."""
    match = _COLUMN_HEADER.fullmatch(cell.lower().replace("_", " "))
    if match is None:
        return "", ""
    return _COLUMN_NAMES.get(match["word"], ""), (match["unit"] or "")


def _parse_columns(file: str, rows: _Rows, unit: str) -> list[Curve]:
    """The curves of a file, one for each series."""
    line, head = rows[0]
    columns = [_column_of(cell) for cell in head]
    rows = rows[1:]
    names = [name for name, _ in columns]
    for cell, name in zip(head, names, strict=True):
        if not name:
            hint = did_you_mean(cell.lower(), list(_COLUMN_NAMES))
            raise FormatError(file, line, f"unknown column {cell!r}{hint}; known are "
                              f"{', '.join(dict.fromkeys(_COLUMN_NAMES.values()))}")  # fmt: skip
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
            name: _parse_cell(file, number, cell, name, own or unit)
            for cell, (name, own) in zip(cells, columns, strict=True)
        }
        curve = text_of_csv_field(values.pop("series", ""))
        series.setdefault(curve, []).append((number, values))
        at = names.index("latency")
        if not warned and not columns[at][1] and not unit:
            warned = warn_of_long(cells[at], f"{file}, line {number}: latency", way=_MEND_UNIT)
    if not series:
        raise FormatError(file, None, "no points below the header")
    taken = head[names.index("ranks")] if "ranks" in names else "ranks"
    notes: tuple[str, ...] = ()
    if taken.lower().startswith("node"):
        notes = (
            f"{file}: the column {taken!r} is taken for the number of ranks, one on each node",
        )
    return [
        replace(_curve_of_points(file, name or Path(file).stem, points), notes=notes)
        for name, points in series.items()
    ]


def _parse_cell(file: str, line: int, cell: str, name: str, unit: str) -> Any:
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


def _curve_of_points(file: str, name: str, points: list[tuple[int, dict[str, Any]]]) -> Curve:
    for i, (line, point) in enumerate(points):
        try:
            alone: dict[str, Any] = {key: [value] for key, value in point.items()}
            Curve(**alone)
            if any(point["ranks"] == other["ranks"] for _, other in points[:i]):
                raise ValueError(f"ranks must differ from point to point, got {point['ranks']} "
                                 "twice")  # fmt: skip
        except ValueError as error:
            raise FormatError(file, line, str(error)) from None
    columns: dict[str, Any] = {
        key: np.array([point[key] for _, point in points]) for key in points[0][1]
    }
    return Curve(**columns, name=name)


def read_curves(
    paths: Sequence[Path],
    *,
    rank: str = "last",
    collective: str | None = None,
    message_bytes: int | None = None,
    ranks: Sequence[int | None] = (),
    unit: str = "",
) -> list[Curve]:
    """Read curves: those of one file, or one curve whose points are in several files.

    Parameters
    ----------
    paths : list of Path
        Columns with a header: ranks, latency, and optionally error, min, max, series (a curve for
        each). A unit stands in the header (`latency_us`) or with each number (`12us`). Or files
        that `measured.load` knows: tables of collectives, samples of every rank.
    rank : "last" or "mean"
        What is taken of samples of every rank.
    collective : str, optional
        Which one, such as "barrier", where a benchmark printed several.
    message_bytes : int, optional
        Which size, where a table has several.
    ranks : list of int or None, optional
        Of each of the files, where it does not say it: OSU's benchmarks do not print it.
    unit : str
        Of plain numbers whose column names none; "" is seconds.

    Raises
    ------
    ValueError
        FormatError where a file is malformed; it names the line.
    OSError
        A file cannot be read.
    """
    if unit and unit not in _UNITS:
        raise ValueError(f"unit must be one of {', '.join(_UNITS)}, got {shorten(unit)}")
    if len(ranks) not in (0, len(paths)):
        raise ValueError(f"ranks must be one for each of {len(paths)} files, got {shorten(ranks)}")
    found = []
    for path, count in zip(paths, ranks or [None] * len(paths), strict=True):
        content = read_whole(path, pipe=True)
        rows = _rows_of(content)
        if rows and _names_ranks(rows[0][1]):
            if count is not None:
                raise FormatError(path.name, 1, f"has a column of ranks: leave out {count}")
            found.append(_parse_columns(path.name, rows, unit))
        else:
            curve = _curve_of_measurement(path, content, rank, collective, message_bytes, count)
            found.append([curve])
    if len(found) == 1:
        return found[0]
    if any(len(curves) > 1 for curves in found):
        raise ValueError("several files must each hold one curve: they are joined to one")
    return [_joined([curves[0] for curves in found])]


def _curve_of_measurement(
    path: Path,
    content: bytes,
    rank: str,
    collective: str | None,
    message_bytes: int | None,
    ranks: int | None,
) -> Curve:
    given: dict[str, Any] = {} if ranks is None else {"ranks": ranks}
    try:
        measured = load_text(TextFile(str(path), content), **given)
    except FormatError as error:
        if error.line is not None or given or isinstance(error, OtherTool):
            raise
        if compression(content):
            raise
        what = f"{error.what}; plain columns need a header such as `ranks,latency_us`"
        raise FormatError(path.name, None, what) from None
    tables = [part for part in measured.parts if isinstance(part, CollectiveTable)]
    samples = [part for part in measured.parts if isinstance(part, PerRankSamples)]
    if not tables and not samples:  # all parts are of one class
        what = f"no scaling curve: it holds {measured.parts[0].words} ({measured.format})"
        raise FormatError(path.name, None, what)
    curves = [
        _curve_of_table(path.name, part, message_bytes)
        for part in parts_of_collective(tables, collective, path.name)
    ]
    curves += [
        _curve_of_samples(part, rank)
        for part in parts_of_collective(samples, collective, path.name)
    ]
    whole = _joined(curves)
    return Curve(whole.ranks, whole.latency, whole.error, whole.low, whole.high, whole.name,
                 (*measured.notes, *whole.notes))  # fmt: skip


def _curve_of_table(file: str, part: CollectiveTable, message_bytes: int | None) -> Curve:
    if not part.ranks.all():
        raise FormatError(
            file, None, f"does not say how many ranks there were: `jitterfly fit {file}@64` does, "
            "or `read_curves(..., ranks=[64])`"
        )  # fmt: skip
    sizes = np.unique(part.bytes).tolist()
    if message_bytes is None and len(sizes) > 1:
        raise FormatError(file, None, f"messages of {', '.join(map(str, sizes))} bytes: choose "
                          f"one with {parameter('message_bytes')}")  # fmt: skip
    rows = part.bytes == (sizes[0] if message_bytes is None else message_bytes)
    if not rows.any():
        known = ", ".join(map(str, sizes))
        raise FormatError(file, None, f"no messages of {message_bytes} bytes, but of {known}")
    low = None if part.min is None else part.min[rows]
    high = None if part.max is None else part.max[rows]
    return Curve(part.ranks[rows], part.mean[rows], None, low, high, part.operation)


def _curve_of_samples(part: PerRankSamples, rank: str) -> Curve:
    times = part.times.max(axis=1) if rank == "last" else part.times.mean(axis=1)
    error = None
    if len(times) > 1 and times.std() > 0:
        error = np.array([times.std(ddof=1) / np.sqrt(len(times))])
    low, high = np.array([times.min()]), np.array([times.max()])
    return Curve(np.array([part.ranks]), np.array([times.mean()]), error, low, high, part.operation)
