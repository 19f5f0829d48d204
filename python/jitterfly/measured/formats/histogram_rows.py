"""Histograms printed as rows: the lower edge of a bin, then a count for each column."""

from __future__ import annotations

import math

from ..measurements import MOST_TICKS, Histogram
from .text import Text

MOST_COUNT = 2**48
MOST_COLUMNS = 2**15


class Bins:
    """Collects the rows of a histogram with `columns` counts each.

    Parameters
    ----------
    text : Text
        For errors.
    columns : int
        Counts in a row.
    unit : int
        Ticks of 1 in the edges.
    """

    def __init__(self, text: Text, columns: int, unit: int) -> None:
        self.text = text
        self.columns = columns
        self.unit = unit
        self.edges: list[int] = []
        self.lines: list[int] = []
        self.rows: list[list[int]] = []

    def add(self, line: int, words: list[str]) -> None:
        """A row. Edges must rise."""
        high = MOST_TICKS // self.unit // 2
        edge = self.text.integer(line, words[0], "the lower edge of a bin", high=high)
        if self.edges and edge <= self.edges[-1]:
            raise self.text.error(line, f"bins must rise, got {edge} after {self.edges[-1]}")
        self.rows.append(self.counts(line, words[1:]))
        self.edges.append(edge)
        self.lines.append(line)

    def counts(self, line: int, words: list[str]) -> list[int]:
        """One count for each column."""
        if len(words) != self.columns:
            raise self.text.error(line, f"must have {self.columns} counts, got {len(words)}")
        return [self.text.integer(line, word, "a count", high=MOST_COUNT) for word in words]

    def width(self, given: int | None) -> int:
        """Width of a bin in ticks: as given, else the greatest that all edges are multiples of."""
        if given is None:
            return (math.gcd(*self.edges) or 1) * self.unit
        for line, edge in zip(self.lines, self.edges, strict=True):
            if edge * self.unit % given:
                raise self.text.error(line, f"bin {edge} is not a multiple of the width given")
        return given

    def histogram(
        self,
        column: int,
        width: int,
        *,
        overflow: int = 0,
        what: str,
        cpu: str,
        observed: int | None = None,
        lowest: int = 0,
    ) -> Histogram:
        """The histogram of a column: its filled bins, and the last row, which ends the range.

        `lowest` ticks is where the first filled bin begins, if inside it.
        """
        last = len(self.rows) - 1
        kept = [at for at, row in enumerate(self.rows) if row[column] > 0 or at == last]
        counts = [self.rows[at][column] for at in kept]
        if sum(counts) + overflow >= MOST_TICKS:
            raise self.text.error(None, f"the counts of CPU {cpu} add up to 2^62 or more")
        low = [self.edges[at] * self.unit for at in kept]
        high = [edge + width for edge in low]
        if low and low[0] < lowest < high[0]:
            low[0] = lowest
        return Histogram(low, high, counts, what, observed, cpu, overflow)
