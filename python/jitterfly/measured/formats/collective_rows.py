"""Rows of a table of collectives, grouped by operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..measurements import CollectiveTable
from .text import Text

MOST_TIME = 1e9
"""Seconds: longer times are no measurements."""
_INTEGERS = ("ranks", "bytes", "iterations")


class Collectives:
    """Collects rows; an operation whose rows lack a column, even one of them, has none of it."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.rows: dict[str, list[dict[str, float | int]]] = {}

    def add(
        self, line: int, operation: str, names: list[str], words: list[str], **known: int
    ) -> None:
        """A row: words by the names of their columns, times in microseconds."""
        if len(words) != len(names):
            raise self.text.error(line, f"must have {len(names)} columns, got {len(words)}")
        row: dict[str, float | int] = dict(known)
        for name, word in zip(names, words, strict=True):
            if name in _INTEGERS:
                row[name] = self.text.integer(line, word, name, high=2**48)
            elif name:
                seconds = self.text.number(line, word, f"{name} (us)") / 1e6
                if not 0 <= seconds <= MOST_TIME:
                    raise self.text.error(line, f"{name} must be a time from 0, got {word[:40]}")
                row[name] = seconds
        self.rows.setdefault(operation, []).append(row)

    def tables(self) -> tuple[CollectiveTable, ...]:
        """One table for each operation."""
        if not self.rows:
            raise self.text.error(len(self.text.lines), "has no row of a collective; it is cut off")
        return tuple(
            CollectiveTable(operation, **_columns(rows)) for operation, rows in self.rows.items()
        )


def _columns(rows: list[dict[str, float | int]]) -> dict[str, Any]:
    shared = set.intersection(*(set(row) for row in rows))
    return {
        name: np.array(
            [row[name] for row in rows], dtype=np.int64 if name in _INTEGERS else np.float64
        )
        for name in sorted(shared)
    }
