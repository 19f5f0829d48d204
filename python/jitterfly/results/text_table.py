"""Text tables in aligned columns, in lines that a terminal has room for."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from .figures import evenly


def short(value: float, half: float = math.inf, most: int = 4) -> str:
    """Write at most four characters, as far as they go: 1.03 is 1, 1.26 is 1.3, 12.6 is 13.

    Of a value whose interval has the half width `half`: as many digits as its first two need, at
    most `most`, so that what is known to differ from 1 is not shown as 1.

    Examples
    --------
    >>> short(1.03), short(1.26), short(12.6), short(0.0312)
    ('1', '1.3', '13', '.031')
    >>> short(1.0367, 0.0015), short(1.0367, 0.0015, 3), short(1.03, 0.2), short(0.03123, 0.0006)
    ('1.037', '1.04', '1.03', '.031')
    """
    if math.isfinite(half) and 0 < abs(value) < 1e4:
        whole = math.floor(math.log10(abs(value))) + 1  # digits before the point
        places = max(0, 1 - math.floor(math.log10(half))) if half > 0 else 3
        places = min(3, places, most - whole)
        if whole + places > 1:
            text = f"{value:.{max(0, places)}f}"
            return text if abs(value) >= 1 else text.replace("0.", ".", 1)
    if abs(value) >= 9.95:
        return f"{value:.0f}" if abs(value) < 1e4 else f"{value:.0e}".replace("e+0", "e")
    if abs(value) >= 0.995 or value == 0:
        return f"{value:.2g}"
    return f"{value:.2g}".replace("0.", ".", 1)


WIDTH = 120  # letters of a line, where nothing is known of the terminal
MAX_ROWS = 40  # of a table, and
MAX_TABLES = 12  # of a study, and
MAX_ROWS_IN_ALL = 160  # rows of all its tables: more is for a file
_NAME = 9  # letters of a header's line, in any case
_NARROWEST = 20  # letters of a column of sentences
_MAX_NAMES = 6  # of columns that are left out


def aligned_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, prose: bool = False
) -> str:
    """A table for a terminal, numbers to the right.

    A header may have an upper line, which neighbours share if it is the same. Long headers are
    broken into lines. `prose`: the last column is text, to the left.
    """
    cells = [max((len(row[i]) for row in rows), default=0) for i in range(len(header))]
    groups = _groups(header)
    names = [text.rpartition("\n")[2] for text in header]
    widths = [max(cell, len(name)) for cell, name in zip(cells, names, strict=True)]
    above: list[tuple[list[int], list[str]]] = []  # columns, and the lines that stand over them
    for columns in groups:
        first = columns[0]
        over = header[first].rpartition("\n")[0]
        if not over:  # a name alone, which may be long
            *lines, names[first] = _wrapped(names[first], max(cells[first], _NAME))
            widths[first] = max(cells[first], *(len(line) for line in [*lines, names[first]]))
        else:
            lines = _wrapped(over, max(_span(widths, columns), _NAME))
            widths[columns[-1]] += max(0, max(map(len, lines)) - _span(widths, columns))
        above.append((columns, lines))
    most = max(len(lines) for _, lines in above)
    body = []
    for i in range(most):
        line = []
        for columns, lines in above:
            text = lines[i - most] if most - i <= len(lines) else ""
            span = _span(widths, columns)
            line.append(text.center(span) if len(columns) > 1 else text.rjust(span))
        body.append("  ".join(line).rstrip())
    for row in [names, ["-" * width for width in widths], *rows]:
        texts = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        if prose:
            texts[-1] = row[-1]
        body.append("  ".join(texts).rstrip())
    return "\n".join(body)


def _groups(header: Sequence[str]) -> list[list[int]]:
    """Columns side by side under one upper line."""
    groups: list[list[int]] = []
    for i, text in enumerate(header):
        over = text.rpartition("\n")[0]
        if groups and over and header[groups[-1][0]].rpartition("\n")[0] == over:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def _span(widths: Sequence[int], columns: Sequence[int]) -> int:
    """Return the width of some columns together, with the room between them."""
    return sum(widths[i] for i in columns) + 2 * (len(columns) - 1)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def fitting(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int = WIDTH,
    *,
    spare: Sequence[int] = (),
    alike: bool = False,
    most: int = MAX_ROWS,
    whole: str = "summary.csv has all",
    beside: Sequence[Sequence[str]] = (),
) -> str:
    """`aligned_table` in lines of at most `width` letters and `most` rows, and what was left out.

    Parameters
    ----------
    header, rows : sequence of str, sequence of them
        A column has the same number in all rows.
    spare : Sequence[int]
        Numbers of columns that are left out where there is no room, the first one first.
    alike : bool
        The columns after the first are values of one axis: some of them are shown, evenly.
    whole : str
        Where everything is.
    beside : Sequence[Sequence[str]]
        Rows of other tables with this header, which leave the same columns out.
    """
    shown = rows[:most]
    measured = [*shown, *beside]
    columns = list(range(len(header)))
    if alike:
        values = columns[1:]
        counts = range(len(values), 1, -1)
        choices = [[0, *evenly(values, count)] for count in counts]
        narrow = (some for some in choices if table_width(header, shown, some) <= width)
        columns = next(narrow, columns[:2])
    else:
        for column in spare:
            if table_width(header, measured, columns) <= width:
                break
            columns.remove(column)
    left = [i for i in range(len(header)) if i not in columns]
    lines = [
        aligned_table(
            [header[i] for i in columns],
            [[_cut(row[i], width // 2) for i in columns] for row in shown],
        )
    ]
    more = len(rows) - len(shown)
    if more > 0:
        lines.append(f"... {more:,} more rows: {whole}")
    if left:
        named = "" if alike else f" ({_names_in_line([header[i] for i in left])})"
        text = f"... {len(left)} of {len(header) - alike} columns have no room{named}: {whole}"
        lines.append(textwrap.fill(text, width, subsequent_indent="    "))
    return "\n".join(lines)


def with_sentences(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    most: int | None,
) -> str:
    """`aligned_table` in lines of at most `width` letters: the last column goes on below itself.

    Each of its sentences, which line ends part, begins a line.

    Parameters
    ----------
    most : int or None
        Rows that are shown, the first ones; None shows all. How many are left out is said.
    """
    shown = rows if most is None else rows[:most]
    taken = sum(_widths(header[:-1], [row[:-1] for row in shown])) + 2 * (len(header) - 1)
    room = max(width - taken, _NARROWEST)
    found: list[list[str]] = []
    for row in shown:
        wrapped = [line for text in row[-1].split("\n") for line in textwrap.wrap(text, room)]
        first, *rest = wrapped or [""]
        found.append([*row[:-1], first])
        found += [[*("" for _ in row[:-1]), line] for line in rest]
    text = aligned_table(header, found, prose=True)
    more = len(rows) - len(shown)
    return f"{text}\n... {more:,} more rows" if more > 0 else text


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(len(text) for text in (*head.split("\n"), *(row[i] for row in rows)))
        for i, head in enumerate(header)
    ]


def table_width(
    header: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[int]
) -> int:
    """Letters of a line of the table of some of the columns."""
    chosen = aligned_table(
        [header[i] for i in columns], [[row[i] for i in columns] for row in rows]
    )
    return max(map(len, chosen.splitlines()))


def _cut(text: str, most: int) -> str:
    """Return a text of at most `most` letters."""
    return f"{text[: most - 1]}…" if len(text) > most else text


def _names_in_line(headers: Sequence[str]) -> str:
    """Return headings in a line, those under one upper heading together after it."""
    groups: dict[str, list[str]] = {}
    for text in headers:
        over, _, name = text.rpartition("\n")
        groups.setdefault(over or name, []).append(name if over else "")
    shown = [
        f"{over}: {', '.join(names)}" if any(names) else over for over, names in groups.items()
    ]
    more = len(shown) - _MAX_NAMES
    return "; ".join(shown[:_MAX_NAMES]) + (f"; and {more} more" if more > 0 else "")
