"""Rows of numbers, and what their last digits say of the clock."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...units import show_seconds
from ..tidy import WTIME_QUANTUM, clock_quantum
from .text import Text

Row = tuple[int, list[str]]
"""Line number, words."""


def table(text: Text, rows: list[Row], columns: list[str]) -> npt.NDArray[np.float64]:
    """Numbers from 0, shape (rows, columns).

    Raises
    ------
    FormatError
        Names the first line with too few or too many columns, or with what is no such number.
    """
    for line, words in rows:
        if len(words) != len(columns):
            raise text.error(line, f"must have {len(columns)} columns, got {len(words)}")
    try:
        values = np.array([list(map(float, words)) for _, words in rows], dtype=np.float64)
    except ValueError:
        values = None
    if values is None or not (np.isfinite(values) & (values >= 0)).all() or b"_" in text.data:
        for line, words in rows:
            for name, word in zip(columns, words, strict=True):
                if not text.number(line, word, name) >= 0:
                    raise text.error(line, f"{name} must be a number from 0, got {word}")
    if values is None:  # not reached: one of its words is no number
        raise text.error(None, "is not a table of numbers")
    return values.reshape(len(rows), len(columns))


def clock_notes(seconds: npt.NDArray[np.float64], what: str, factor: int = 1) -> list[str]:
    """A note where all times are multiples of a coarse clock's step, divided by `factor`."""
    step = clock_quantum(seconds.ravel())
    if step is None:
        return []
    cause = ""
    if abs(factor * step / WTIME_QUANTUM - 1) < 0.01:
        cause = ", as MPI_Wtime has with seconds since 1970 in a double"
    return [f"{what} are multiples of {show_seconds(factor * step)}, the step of the clock{cause}"]
