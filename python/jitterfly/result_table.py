"""Reports and tables of results: as text, as CSV, for pandas, and as a notebook shows them."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import optional_packages
from .fields import csv_field
from .files import write_whole
from .stats import Estimate
from .units import show_seconds

if TYPE_CHECKING:
    import pandas


class Report(ABC):
    """The answer to a question, which can be told."""

    @abstractmethod
    def report(self) -> list[str]:
        """The answer as lines of text."""

    def _repr_html_(self) -> str:
        return optional_packages.text(self.report())


class ResultTable(Report):
    """The answer to a question, as a table."""

    @abstractmethod
    def title(self) -> str:
        """Return the question that was asked."""

    def cautions(self) -> list[str]:
        """Say what misleads unless it is read before the numbers; the first of the notes, too."""
        return []

    @abstractmethod
    def lines(self) -> list[str]:
        """The table as text."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Say what the numbers are, and how sure they are."""

    @abstractmethod
    def to_csv(self, path: str | Path | None = None) -> str:
        """The table with all digits; also written to `path`, where it is given."""

    def report(self) -> list[str]:
        """Title, table and notes as lines of text; above them what must be read first."""
        return self._report(self.lines())

    def _report(self, tables: list[str]) -> list[str]:
        first = self.cautions()
        notes = [note for note in self.notes() if note not in first]
        return [*first, *[""] * bool(first), self.title(), "", *tables, "", *notes]

    def to_pandas(self) -> pandas.DataFrame:
        """The table of `to_csv`; `ValueError` if pandas is not installed."""
        return optional_packages.from_csv(self.to_csv())


def aligned(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Rows as lines of text: so many columns to the left, the others to the right.

    Examples
    --------
    >>> aligned([("cause", "share"), ("noise", "9 %")], left=1)
    ['cause  share', 'noise    9 %']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    signs = "<" * left + ">" * (len(widths) - left)
    columns = list(zip(signs, widths, strict=True))
    return ["  ".join(f"{word:{sign}{width}}" for word, (sign, width) in zip(row, columns,
            strict=True)).rstrip() for row in rows]  # fmt: skip


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV, the header first; no text is a formula of a spreadsheet (`csv_field`)."""
    text = io.StringIO()
    fields = (map(csv_field, row) for row in rows)
    csv.writer(text, lineterminator="\n").writerows(fields)
    return text.getvalue()


def write_if_path(text: str, path: str | Path | None) -> str:
    """The text of a table, also written to a file where one is given."""
    if path is not None:
        write_whole(Path(path), text.encode())
    return text


def value_low_high(*estimates: Estimate) -> list[Any]:
    """Value, low and high of each."""
    return [end for one in estimates for end in (one.value, one.low, one.high)]


def show_time(estimate: Estimate) -> str:
    """A time with its interval; a question mark for an end that is not known."""
    return show_interval(value_low_high(estimate))


def show_interval(numbers: Iterable[float], show: Callable[[float], str] = show_seconds) -> str:
    """A value and its ends, which `show` prints; a question mark for what is not known.

    Examples
    --------
    >>> show_interval([1e-6, 5e-7, math.inf]), show_interval([1.5, 1.25, 1.75], "{:.2f}".format)
    ('1 µs [500 ns, ?]', '1.50 [1.25, 1.75]')
    """
    value, low, high = (show(float(end)) if math.isfinite(end) else "?" for end in numbers)
    return f"{value} [{low}, {high}]"
