"""Scaling curves from files: plain columns, or what benchmarks of collectives print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..fields import shorten
from ..files import read_whole
from ..measured import CollectiveTable, FormatError, PerRankSamples
from ..measured.load import load_bytes
from . import plain
from .curve import Curve, joined

_UNITS = ("s", "ms", "us", "µs", "ns", "ps")


def read_curves(
    paths: Sequence[Path], *, rank: str = "last", message_bytes: int | None = None, unit: str = ""
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
    message_bytes : int, optional
        Which size, where a table has several.
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
        raise ValueError(f"--unit must be one of {', '.join(_UNITS)}, got {shorten(unit)}")
    found = []
    for path in paths:
        content = read_whole(path, pipe=True)
        rows = plain.rows_of(content)
        if rows and plain.is_plain(rows[0][1]):
            found.append(plain.parse(path.name, rows, unit))
        else:
            found.append([_measured(path, content, rank, message_bytes)])
    if len(found) == 1:
        return found[0]
    if any(len(curves) > 1 for curves in found):
        raise ValueError("several files must each hold one curve: they are joined to one")
    return [joined([curves[0] for curves in found])]


def _measured(path: Path, content: bytes, rank: str, message_bytes: int | None) -> Curve:
    try:
        measured = load_bytes(content, str(path))
    except FormatError as error:
        if error.line is not None:
            raise
        what = f"{error.what}; plain columns need a header such as `ranks,latency_us`"
        raise FormatError(path.name, None, what) from None
    curves = []
    for part in measured.parts:
        if isinstance(part, CollectiveTable):
            curves.append(_of_table(path.name, part, message_bytes))
        elif isinstance(part, PerRankSamples):
            curves.append(_of_samples(part, rank))
        else:
            raise FormatError(path.name, None, f"no scaling curve: {type(part).__name__} of "
                              f"format {measured.format!r}")  # fmt: skip
    whole = joined(curves)
    return Curve(whole.ranks, whole.latency, whole.error, whole.low, whole.high, whole.name,
                 (*measured.notes, *whole.notes))  # fmt: skip


def _of_table(file: str, part: CollectiveTable, message_bytes: int | None) -> Curve:
    sizes = np.unique(part.bytes).tolist()
    if message_bytes is None and len(sizes) > 1:
        raise FormatError(file, None, f"messages of {', '.join(map(str, sizes))} bytes: choose "
                          "one with --bytes")  # fmt: skip
    rows = part.bytes == (sizes[0] if message_bytes is None else message_bytes)
    if not rows.any():
        known = ", ".join(map(str, sizes))
        raise FormatError(file, None, f"no messages of {message_bytes} bytes, but of {known}")
    low = None if part.min is None else part.min[rows]
    high = None if part.max is None else part.max[rows]
    return Curve(part.ranks[rows], part.mean[rows], None, low, high, part.operation)


def _of_samples(part: PerRankSamples, rank: str) -> Curve:
    times = part.times.max(axis=1) if rank == "last" else part.times.mean(axis=1)
    error = None
    if len(times) > 1 and times.std() > 0:
        error = np.array([times.std(ddof=1) / np.sqrt(len(times))])
    low, high = np.array([times.min()]), np.array([times.max()])
    return Curve(np.array([part.ranks]), np.array([times.mean()]), error, low, high, part.operation)
