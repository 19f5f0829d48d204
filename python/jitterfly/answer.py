"""Answers to questions: typed columns, rows, notes; how an estimate is printed (`show`).

A class of answers says what its columns are, which function draws it (in plots/answers.py), and
decides the text of its notes (`Note`, by functions named `..._notes` beside the question).
The text, the CSV, the JSON, the tables of pandas and xarray, and what a notebook shows are one
function each, here, for all of them. An estimate is shown by `show` alone.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import optional_packages
from .fields import csv_field, naming_parameters
from .files import write_whole
from .stats import Estimate
from .stats.intervals import interval_digits
from .units import EXPONENTS, column_units, show_seconds

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SECONDS, SHARE = "s", "share"
"""Units of columns; a share is shown in percent."""
_WIDTH = 80  # letters of a line that a terminal shows
FIRST, PICTURE = "first", "picture"
"""Places of notes: before the title (and in pictures); below the title of pictures, as well."""


class Note(str):
    """A sentence about an answer, with a code by which programs know what it is about.

    Attributes
    ----------
    code : str
        Such as "rare_noise".
    place : str
        `FIRST` for a caution, which has to be read before the numbers, `PICTURE` for what pictures
        show as well; else "".
    """

    code: str
    place: str

    def __new__(cls, code: str, text: str, place: str = "") -> Note:
        """Make a note of a text."""
        made = super().__new__(cls, text)
        made.code, made.place = code, place
        return made

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        return self.code, str(self), self.place


def notes_of(code: str, lines: Iterable[str], place: str = "") -> list[Note]:
    """Make a note of each line, all with one code; what is a note has its own, and its place."""
    return [line if isinstance(line, Note) else Note(code, line, place) for line in lines]


def cautions_first(notes: Iterable[Note]) -> list[Note]:
    """Return the notes, those first that have to be read first; else their order stays."""
    return sorted(notes, key=lambda note: note.place != FIRST)


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of an answer's table.

    Attributes
    ----------
    name : str
        In the JSON; in the CSV the unit is added to it.
    unit : str
        `SECONDS`, `SHARE` or "".
    estimate : bool
        Whether its values are estimates, of which the CSV has three columns.
    heading : str or callable, optional
        In the text; a callable makes it of the answer. None: the text does not have the column.
    show : callable, optional
        Makes the text of a value, of a time in the unit that it takes as well; without it the
        column's unit says how.
    value : callable, optional
        Takes the answer and a row; without it the row has an attribute of this name.
    csv : bool or tuple of str
        Whether the CSV has it, or its columns' names there.
    doc : str
        What it is, in a line.
    """

    name: str
    unit: str = ""
    estimate: bool = False
    heading: str | Callable[[Any], str] | None = None
    show: Callable[..., str] | None = None
    value: Callable[[Any, Any], Any] | None = None
    csv: bool | tuple[str, ...] = True
    doc: str = ""

    def of(self, answer: Any, row: Any) -> Any:
        """Return the value in a row."""
        return getattr(row, self.name) if self.value is None else self.value(answer, row)

    def csv_names(self) -> list[str]:
        """Return the names of its columns in the CSV."""
        if isinstance(self.csv, tuple):
            return list(self.csv)
        unit = f"_{self.unit}" if self.unit == SECONDS else ""
        ends = ("", "_low", "_high") if self.estimate else ("",)
        return [f"{self.name}{end}{unit}" for end in ends]

    def csv_cells(self, value: Any) -> list[Any]:
        """Return a value as the CSV has it."""
        if self.estimate:
            return ["", "", ""] if value is None else list(value)
        return [int(value) if isinstance(value, bool) else value]

    def text(self, value: Any, time_unit: str = "") -> str:
        """Return a value as the text has it, a time as a number in `time_unit`."""
        if self.unit == SECONDS and (self.estimate or isinstance(value, float)):
            return (self.show or show_time)(value, time_unit or units_of([[value]])[0])
        if self.show is not None:
            return self.show(value)
        return show(value, self.unit) if self.estimate else show_number(value, self.unit)


@dataclasses.dataclass(frozen=True)
class ShownTable:
    """A table as people read it: a cell is text, and every row is as long as the header.

    Attributes
    ----------
    title : str
        Above it; may be empty.
    header : tuple of str
        May have lines; empty where there is none.
    rows : tuple of tuple of str
    notes : tuple of str
        Below it.
    left : int
        Columns that are aligned to the left.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    left: int = 1

    def in_lines(self) -> ShownTable:
        """Return the table with each heading in one line, as programs read it."""
        header = tuple(one.replace("\n", " ") for one in self.header)
        return dataclasses.replace(self, header=header)

    def lines(self) -> list[str]:
        """Return the table as aligned lines of text."""
        return aligned([*[self.header] * bool(self.header), *self.rows], self.left)


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows with their columns.

    Attributes
    ----------
    columns : sequence of Column
    rows : sequence
        Objects with an attribute for each column.
    answer : Answer, optional
        To which the table belongs.
    left : int
        Columns of the text that are aligned to the left.
    """

    columns: Sequence[Column]
    rows: Sequence[Any]
    answer: Any = None
    left: int = 0

    @classmethod
    def of_texts(cls, head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Table:
        """Make a table of texts; with empty headings it has no line of them."""
        columns = [
            Column(name, heading=name, value=lambda _, row, i=i: row[i])  # type: ignore[misc]
            for i, name in enumerate(head)
        ]
        return cls(columns, rows, left=left)

    def csv(self) -> str:
        """Return the table with all digits, the header first."""
        columns = [column for column in self.columns if column.csv]
        rows = (
            [cell for column in columns for cell in column.csv_cells(column.of(self.answer, row))]
            for row in self.rows
        )
        header = [name for column in columns for name in column.csv_names()]
        return csv_text([header, *rows])

    def texts(self) -> list[list[str]]:
        """Return the cells of the text, the headings first."""
        heads, rows, _ = self._texts()
        return [heads, *rows] if any(heads) else rows

    def _texts(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Return headings, rows, and what each column is; those that are empty are left out."""
        columns = [column for column in self.columns if column.heading is not None]
        values = [[column.of(self.answer, row) for row in self.rows] for column in columns]
        units = units_of([one if column.unit == SECONDS else []
                          for column, one in zip(columns, values, strict=True)])  # fmt: skip
        heads, cells, tips = [], [], []
        for column, unit, own in zip(columns, units, values, strict=True):
            head = column.heading(self.answer) if callable(column.heading) else str(column.heading)
            texts = [column.text(value, unit) for value in own]
            if head or any(texts):  # else it has nothing to say here
                heads.append(f"{head}, {unit}" if head and unit else head)
                cells.append(texts)
                tips.append(column.doc)
        return heads, [list(row) for row in zip(*cells, strict=True)], tips

    def shown(self) -> ShownTable:
        """Return the table as people read it."""
        headed = any(column.heading for column in self.columns)
        header, *rows = map(tuple, self.texts() if headed else ((), *self.texts()))
        return ShownTable("", header, tuple(rows), left=self.left)

    def lines(self) -> list[str]:
        """Return the table as aligned lines of text; headings are wrapped if it then fits."""
        heads, rows, _ = self._texts()
        lines = aligned([*[heads] * any(heads), *rows], self.left)
        if max(map(len, lines), default=0) <= _WIDTH:
            return lines
        widths = [max(map(len, cells)) for cells in zip([""] * len(heads), *rows, strict=True)]
        widest = ["0" * width for width in widths]  # a row in place of all: only its width counts
        for room in range(max(map(len, heads)), -1, -1):  # no more lines of headings than it takes
            wrapped = (textwrap.wrap(head, (width + room) or 1, break_long_words=False)
                       for head, width in zip(heads, widths, strict=True))  # fmt: skip
            broken = ["\n".join(head).replace(",\n", "\n") for head in wrapped]
            if max(map(len, aligned([broken, widest]))) <= _WIDTH:
                return aligned([broken, *rows], self.left)
        return lines

    def html(self) -> str:
        """Return the table in HTML; the pointer on a heading shows what the column is."""
        headings, rows, tooltips = self._texts()
        head = "".join(
            f'<th title="{escape(tip)}">{escape(text)}</th>' if tip else f"<th>{escape(text)}</th>"
            for text, tip in zip(headings, tooltips, strict=True)
        )
        body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
        lines = "".join(f"<tr>{line}</tr>" for line in (head, *body))
        return f"<table>{lines}</table>"

    def to_list(self) -> list[dict[str, Any]]:
        """Return what the rows themselves have, as JSON takes it."""
        columns = [column for column in self.columns if column.value is None]
        return [{one.name: plain(one.of(self.answer, row)) for one in columns} for row in self.rows]


class Report(ABC):
    """The answer to a question, which has a text."""

    @abstractmethod
    def report(self) -> list[str]:
        """Return the answer as lines of text."""

    def title(self) -> str:
        """Return the question that was asked."""
        return self.report()[0]

    def notes(self) -> Sequence[str]:
        """Say what the numbers are, and how sure they are; cautions stand first."""
        return self.report()[1:]

    def shown_tables(self) -> list[ShownTable]:
        """Return all tables as people read them, which the JSON has as well."""
        return []

    def cautions(self) -> list[str]:
        """Say what misleads unless it is read before the numbers."""
        return [note for note in self.notes() if _place(note) == FIRST]

    def page(self) -> dict[str, Any]:
        """Return what the JSON has for people, from which `report` makes a page.

        `title` and `tables` are texts, as people read them; of `notes` the first `cautions` are to
        be read before the numbers.
        """
        notes = self.notes()
        return {
            "title": self.title(),
            "notes": plain(notes),
            "note_codes": [getattr(note, "code", "") for note in notes],
            "cautions": len(self.cautions()),
            "tables": plain([one.in_lines() for one in self.shown_tables()]),
        }

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the answer; written to `path`, too, where it is given."""
        raise ValueError(f"there is no picture of a {type(self).__name__}: its table has all")

    def summary(self) -> str:
        """Return the answer as text, as its command prints it."""
        return "\n".join(self.report())

    def _repr_html_(self) -> str:
        return optional_packages.text(self.report())


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Answer(Report):
    """The answer to a question: a table with a title and notes, in every form.

    A class of answers has `columns`, the attribute or method `rows`, `title` and `_own_notes`; and
    `picture`, the function that draws it, as "MODULE.FUNCTION" of `jitterfly.plots`.

    Attributes
    ----------
    option_notes : tuple of Note
        What a command has to say of the options that were given.
    """

    option_notes: tuple[Note, ...] = dataclasses.field(default=(), kw_only=True)

    columns: ClassVar[tuple[Column, ...]] = ()
    picture: ClassVar[str] = ""
    rows_in_json: ClassVar[str] = "rows"

    def notes(self) -> list[Note]:
        """Say what the numbers are, and how sure they are; cautions stand first."""
        own: list[Note] = self._own_notes()  # type: ignore[attr-defined]
        return cautions_first([*own, *self.option_notes])

    def table(self) -> Table:
        """Return the table of rows."""
        rows: Any = self.rows  # type: ignore[attr-defined]
        return Table(self.columns, rows() if callable(rows) else rows, self)

    def shown_table(self) -> Table:
        """Return the table of rows as text and notebooks have it."""
        return self.table()

    def more_tables(self) -> list[Table]:
        """Return the tables that the report has beside that of rows."""
        return []

    def shown_tables(self) -> list[ShownTable]:
        """Return all tables as people read them, which the JSON has as well."""
        return [table.shown() for table in (self.shown_table(), *self.more_tables())]

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside rows and notes."""
        return {}

    def subtitle(self) -> list[str]:
        """Return the notes that stand below a picture's title."""
        with naming_parameters():
            return [note for note in self.notes() if _place(note)]

    def lines(self) -> list[str]:
        """The table as text."""
        return self.shown_table().lines()

    def report(self) -> list[str]:
        """Title, tables and notes as lines of text; above them what must be read first."""
        more = [line for table in self.more_tables() for line in ("", *table.lines())]
        return self._report([*self.lines(), *more])

    def _report(self, tables: list[str]) -> list[str]:
        first = self.cautions()
        others = self.notes()[len(first) :]
        return [*first, *[""] * bool(first), self.title(), "", *tables, "", *others]

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table with all digits; also written to `path`, where it is given."""
        return write_if_path(self.table().csv(), path)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON has them: `page`, facts and rows; times in seconds."""
        rows = {self.rows_in_json: self.table().to_list()} if self.rows_in_json else {}
        return {"title": self.title(), **plain(self.facts()), **rows, **self.page()}

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def to_pandas(self) -> pandas.DataFrame:
        """The table of `to_csv`; `ValueError` if pandas is not installed."""
        return optional_packages.from_csv(self.to_csv())

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the answer; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or `path` does not end in .png, .pdf or .svg; there is
            nothing to draw.
        """
        if not self.picture:
            return super().plot(path)
        module, _, function = self.picture.partition(".")
        return optional_packages.picture(module, self, function=function or "draw", path=path)

    def _repr_html_(self) -> str:
        shown = self.shown_table()
        if all(column.heading is None for column in shown.columns):
            return super()._repr_html_()
        cautions = [f"<p><b>{escape(note)}</b></p>" for note in self.cautions()]
        tables = [table.html() for table in (shown, *self.more_tables())]
        notes = [f"<li>{escape(note)}</li>" for note in self.notes()[len(cautions) :]]
        title = f"<p>{escape(self.title())}</p>"
        return "".join([*cautions, title, *tables, "<ul>", *notes, "</ul>"])


def _place(note: str) -> str:
    return getattr(note, "place", "")


def plain(value: Any) -> Any:
    """Return a value made of what JSON knows.

    Dataclasses and named tuples are objects, NaN and infinity null. An estimate has
    what its interval allows for, where that is anything.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        if isinstance(value, Estimate) and not value.caveats:
            names.remove("caveats")
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value)
    return value if value is None or isinstance(value, (bool, int)) else str(value)


def aligned(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    r"""Rows as lines of text: the first `left` columns are aligned to the left, the others right.

    Examples
    --------
    >>> aligned([("cause", "share"), ("noise", "9 %")], left=1)
    ['cause  share', 'noise    9 %']
    >>> aligned([("rank", "own\nnoise"), ("7", "2")])
    ['        own', 'rank  noise', '   7      2']
    """
    if rows and any("\n" in word for word in rows[0]):  # a heading of several lines
        words = [word.split("\n") for word in rows[0]]
        height = max(map(len, words))
        rows = [
            *zip(*([""] * (height - len(word)) + word for word in words), strict=True),
            *rows[1:],
        ]
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


def show_number(value: Any, unit: str = "") -> str:
    """Return a number as tables show it, with its unit; "" for what is not known.

    Examples
    --------
    >>> show_number(1024), show_number(2e-6, SECONDS), show_number(0.125, SHARE)
    ('1,024', '2 µs', '12.5 %')
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and math.isnan(value):
        return ""
    if unit == SECONDS:
        return show_seconds(value)
    if unit == SHARE:
        return f"{100 * value:.3g} %"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def units_of(columns: Sequence[Sequence[Any]]) -> list[str]:
    """Return the unit of each column of a table: of times, estimates of them, None and texts.

    "" for a column without a time; else as `column_units` chooses.

    Examples
    --------
    >>> units_of([[8e-6, Estimate(2e-4, 1e-4, 3e-4, 0.95, 100)], [], ["none", None]])
    ['µs', '', '']
    """
    times = [
        [
            float(value.value if isinstance(value, Estimate) else value)
            for value in column
            if isinstance(value, (Estimate, int, float))
        ]
        for column in columns
    ]
    chosen = column_units(times)
    return [unit if known else "" for unit, known in zip(chosen, times, strict=True)]


def show_time(time: Estimate | float | None, unit: str, digits: int = 4) -> str:
    """Return a time in seconds as a number in a unit, which the heading of a table says.

    Examples
    --------
    >>> show_time(2.5e-6, "µs"), show_time(Estimate(1e-6, 5e-7, math.inf, 0.95, 100), "ns")
    ('2.5', '1,000 [500, ?]')
    """
    scale = 10.0 ** -EXPONENTS[unit]
    if time is None:
        return ""
    if not isinstance(time, Estimate):
        return show_digits(scale * time, digits) if math.isfinite(time) else ""
    return show_interval([scale * float(end) for end in time], digits)


def show(estimate: Estimate, unit: str = "", digits: int = 0, neutral: float | None = None) -> str:
    """Return a value with its interval; a question mark for what is not known.

    Parameters
    ----------
    estimate : Estimate
        Of one number.
    unit : str
        Of a column. Times are in the unit that suits the value.
    digits : int
        At least; without it times have 4, and other numbers 3. They have more where the interval
        is narrower than the last of them.
    neutral : float, optional
        The number has as many digits as show on which side of this each of them is.

    Examples
    --------
    >>> show(Estimate(1e-6, 5e-7, math.inf, 0.95, 100), SECONDS)
    '1 [0.5, ?] µs'
    >>> show(Estimate(1.0041, 1.003, 1.006, 0.95, 100))
    '1.004 [1.003, 1.006]'
    >>> show(Estimate(3.0, 1.00004, 9.0, 0.95, 100), neutral=1)
    '3 [1.00004, 9]'
    """
    numbers = [float(end) for end in estimate]
    if unit == SECONDS:
        size = numbers[0] or max((abs(x) for x in numbers if math.isfinite(x)), default=0.0)
        name = show_seconds(size).split()[1] if math.isfinite(size) else ""
        scaled = [number * 10.0 ** -EXPONENTS[name] if name else number for number in numbers]
        return f"{show_interval(scaled, digits or 4)} {name}".rstrip()
    if unit == SHARE:
        width = numbers[2] - numbers[1]
        places = max(1, min(-math.floor(math.log10(100 * width)), 4)) if 0 < width < 1 else 1
        value, low, high = (f"{x:.{places}%}" if math.isfinite(x) else "?" for x in numbers)
        return f"{value} [{low}, {high}]"
    return _between(numbers, _digits(numbers, digits or 3, neutral))


def _digits(numbers: Sequence[float], digits: int, neutral: float | None) -> int:
    """Return how many digits, or more, show the width of an interval and its sides of a number."""
    digits = interval_digits(numbers, digits)
    if neutral is None:
        return digits
    others = [number for number in numbers if number != neutral and math.isfinite(number)]
    return next(
        (
            more
            for more in range(digits, 16)
            if all(float(f"{number:.{more}g}") != neutral for number in others)
        ),
        16,
    )


def show_interval(numbers: Sequence[float], digits: int) -> str:
    """Return a value and its ends with this many digits, or as many as show its width.

    Examples
    --------
    >>> show_interval([3.39871, 3.39842, 3.39903], 4), show_interval([40, 39.9, math.inf], 3)
    ('3.3987 [3.3984, 3.399]', '40 [39.9, ?]')
    """
    return _between(numbers, interval_digits(numbers, digits))


def _between(numbers: Sequence[float], digits: int) -> str:
    """Return a value and its ends with this many digits."""
    value, low, high = (show_digits(one, digits) for one in numbers)
    return f"{value} [{low}, {high}]"


def show_digits(number: float, digits: int = 4) -> str:
    """Return a number with this many digits, or a whole one with all; ? for what is not known.

    Examples
    --------
    >>> show_digits(3.14159), show_digits(31415.9), show_digits(math.nan)
    ('3.142', '31,416', '?')
    """
    if not math.isfinite(number):
        return "?"
    text = f"{number:,.{digits}g}" if abs(number) < 10**digits else f"{number:,.0f}"
    return "0" if text == "-0" else text
