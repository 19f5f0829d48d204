"""Result tables of a study, aligned for a terminal: rows, columns, notes; `status` of a run."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..answer import show, show_digits
from ..fields import counted, first_few
from ..observables import MIN_CYCLES, OfCycles, TargetState
from ..schedule import ScheduleCase
from ..stats.intervals import changed
from ..store import Store
from ..store.cell_progress import CellProgress, RunProgress
from ..store.merge import missing_shards
from ..store.run_directory import UNKNOWN, situations
from ..studies.study import why_absent_at
from ..units import TICKS_PER_SECOND, show_seconds
from ..unseen_noise import RecordedNoise
from . import figures
from .figures import evenly
from .results import WIDE, CellResults, CellSummary, GridMap, Panel, Results, grids_of_maps


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
# Headings that are broken within a word, and what they are in a line.
_REALIZATIONS, _NOISE_FREE = "realiza-\ntions", "noise-\nfree, µs"
_UNBROKEN = {_REALIZATIONS: "realizations", _NOISE_FREE: "noise-free, µs"}


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
    for header in headers:
        over, _, name = _UNBROKEN.get(header, header).rpartition("\n")
        groups.setdefault(over or name, []).append(name if over else "")
    shown = [
        f"{over}: {', '.join(names)}" if any(names) else over for over, names in groups.items()
    ]
    more = len(shown) - _MAX_NAMES
    return "; ".join(shown[:_MAX_NAMES]) + (f"; and {more} more" if more > 0 else "")


def absences(results: Results) -> list[str]:
    """A line for each observable that cells lack, and each cause."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for name, observable in results.study.observables.items():
        for cell, names in zip(results.cells, results.names_in_cells, strict=True):
            if not any(family.partition(", ")[0] == name for family in names):
                why = why_absent_at(observable, cell.cell)
                lacking.setdefault((name.replace("_", " "), why), []).append(cell.name)
    return [
        f"No {name} at {cells[0]}"
        + (f" and {len(cells) - 1} more" if len(cells) > 1 else "")
        + f": {why}."
        for (name, why), cells in lacking.items()
    ]


_MEANS = "Every mean has its 95 % interval; medians and ranges have none."
_TARGETS = "Other statistics that are targets have theirs in brackets. ? : too few realizations."
_SMALLEST = (
    "The optimal T is the smallest one whose mean can not be told from the best.\n"
    "A mean or gain of the best T is that of the T with the smallest mean (chosen_T in CSV), which "
    "may be larger."
)
SELECTION = (
    "The best T is chosen by the samples that its mean and gain are then taken from: that favours\n"
    "the redundant scheme a little, and so does looking for the largest of many gains."
)
_MARKS = (
    f"Means. ? : interval wider than ± {100 * WIDE:.0f} %, or a gain that may be 1. "
    "* : target not met."
)
_ASKED = 100  # cells
_MICRO = 1e6  # times are shown in µs


class Table(NamedTuple):
    """A table of text; a header may have two lines. `title` may be empty.

    `spare` are columns that a narrow terminal can do without, the first one first; `alike` says
    that the columns after the first are values of one axis.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    spare: tuple[int, ...] = ()
    alike: bool = False


def table(results: Results, width: int = WIDTH, whole: str = "summary.csv has all") -> str:
    """The study's main numbers, aligned, and what they mean, in lines of at most `width` letters.

    Of a large study the first tables, rows and columns, how many more there are, and that `whole`.
    """
    shown: list[tuple[Table, int]] = []
    made, rows = tables(results, width), 0
    for part in made:
        most = min(MAX_ROWS, MAX_ROWS_IN_ALL - rows)
        shown.append((part, most))
        rows += min(len(part.rows), most)
        if len(shown) == MAX_TABLES or rows >= MAX_ROWS_IN_ALL:
            break
    parts: list[str] = []
    for part, most in shown:
        beside = [row for other, count in shown for row in other.rows[:count]
                  if other.header == part.header and other is not part]  # fmt: skip
        text = fitting(part.header, part.rows, width, spare=part.spare, alike=part.alike, most=most,
                       whole=whole, beside=beside)  # fmt: skip
        parts.append(f"{textwrap.fill(part.title, width)}\n{text}" if part.title else text)
    maps = figures.figure_kind(results.study) == "maps"
    # Of many panels the tables are not made to count them.
    more = sum(1 for _ in made) if maps else _most_tables(results) - len(shown)
    if more > 0 and (maps or next(made, None) is not None):
        parts.append(f"... {more:,} more tables: {whole}")
    said = [line for note in [*notes(results), *_cells_not_shown(results, whole)]
            for line in note.split("\n")]  # fmt: skip
    return "\n\n".join([*parts, "\n".join(textwrap.fill(line, width) for line in said)])


def tables(results: Results, width: int = WIDTH) -> Iterator[Table]:
    """Maps as matrices; else a row for each cell (or each cycle, where there are several).

    Matrices have a digit less where lines would be longer than `width` letters.
    """
    if figures.figure_kind(results.study) == "maps":
        yield from _matrices(results, width)
        return
    for panel in results.panels():
        # Also those that have none of the observables, which the notes explain.
        cells = [
            cell for cell in panel.cells if cell.summaries or (cell.complete and not cell.families)
        ]
        if not any(cell.summaries for cell in cells):
            continue
        indices = _indices(results.columns)
        if _without_index(results):
            yield _by_cell(results, panel, cells)
        if indices:
            yield _by_index(results, panel.label, cells[-1], indices)


def _without_index(results: Results) -> list[str]:
    """Columns that have one number a cell, not one for each cycle or T."""
    return [name for name in results.columns if not _indices([name])]


def _most_tables(results: Results) -> int:
    """Count the tables of a study without maps, where every panel has data."""
    kinds = bool(_indices(results.columns)) + bool(_without_index(results))
    return len(results.panels()) * kinds


def _cells_not_shown(results: Results, whole: str) -> list[str]:
    """Say that a table of cycles or T shows one cell of its panel, and what shows the others.

    `whole` names the file that has all of them.
    """
    if figures.figure_kind(results.study) == "maps" or not _indices(results.columns):
        return []
    shown = [cell for panel in results.panels() for cell in panel.cells[-1:]]
    more = len(results.cells) - len(shown)
    if not more:
        return []
    return [
        f"Each cycle or T is shown at the last value of {results.axis} alone: `plot` of kind "
        f"each_cycle or curves draws the other {more:,} cells, and {whole}."
    ]


def notes(results: Results) -> list[str]:
    """Say what has to be said about the tables."""
    lines = [_MARKS if figures.figure_kind(results.study) == "maps" else _MEANS]
    if any(results.targets_of(name) for name in results.names) and lines[0] == _MEANS:
        lines.append(_TARGETS)
    # The data choose it alike in all cells: the first ones that have any tell.
    some = islice((cell for cell in results.cells if cell.summaries), _ASKED)
    if any(f.T is not None for cell in some for f in cell.summaries.values()):
        lines += [_SMALLEST, SELECTION]
    lines += [*absences(results), *_cycles(results), *_swapped(results), *_unseen(results)]
    lines += _recordings(results)
    lines += [*_unused(results), *_of_others(results), *_of_order(results)]
    return [*lines, *([results.state] if results.state else [])]


def _of_cycles(results: Results) -> list[tuple[str, OfCycles]]:
    """Return the observables of cycles, each with its name."""
    found = results.study.observables.items()
    return [(name, one) for name, one in found if isinstance(one, OfCycles)]


_MAX_COUNTS = 4  # of cycles, of different cells


def _cycles(results: Results) -> list[str]:
    """A line on how many cycles there are, of which some observables are means."""
    found = [(name, one) for name, one in _of_cycles(results) if one.cycle == "mean"]
    means = [name.replace("_", " ") for name, _ in found]
    read = [one.cycle_counts(cell.cell.cases) for cell in results.cells for _, one in found]
    # Of two cases with different counts there is no mean, nor of fewer than three cycles.
    counts = {one[0] for one in read if len(one) == 1 and one[0] >= MIN_CYCLES}
    if not (means and counts):
        return []
    which = [f"2 to {count - 1:,} of {count:,}" for count in sorted(counts)]
    more = ", ..." if len(which) > _MAX_COUNTS else ""
    return [
        f"Mean of the cycles {' or '.join(which[:_MAX_COUNTS])}{more}: {', '.join(means)}. "
        "Quantiles are those of such means."
    ]


def _swapped(results: Results) -> list[str]:
    """A line where noise makes a mark be reached before the one that stands before it."""
    starts = tuple(f"{name}," for name, _ in _of_cycles(results))  # with "each", or a number alone
    for cell in results.cells if starts else ():
        for name, summary in cell.summaries.items():
            if f"{name},".startswith(starts) and summary.quantiles and summary.quantiles[0] < 0:
                where = f" at {cell.name}" if cell.labels else ""
                return [
                    f"{name} is below 0 in many realizations{where}: there noise makes a mark be "
                    "reached before the one that stands before it."
                ]
    return []


_MAX_SOURCES = 4  # of rare noise, or groups of observables


def _unseen(results: Results) -> list[str]:
    """A line on means that may lack what rare noise adds, however narrow their intervals are."""
    found = [
        (cell, state.target.observable, state.unseen or state.why)
        for cell in results.cells
        if cell.complete
        for state in cell.decision.states
        if state.unseen or (state.why and state.narrow_enough)
    ]
    asked = results.cells[:MAX_ROWS_IN_ALL]  # of a large study, as many as the tables show
    found += [
        (cell, name, summary.unseen)
        for cell in asked
        for name, summary in cell.summaries.items()
        if summary.unseen
    ]
    of: dict[str, dict[str, str]] = {}  # what is said of each observable, by cell
    for cell, name, unseen in found:
        where = f" at {cell.name}" if cell.labels else ""
        of.setdefault(name, {}).setdefault(cell.name, f"{unseen}{where}")
    least = "at least " * (len(asked) < len(results.cells))
    names: dict[str, list[str]] = {}
    for name, told in of.items():
        count = len(told)
        more = f", and so in {least}{count:,} of {len(results.cells):,} cells" if count > 1 else ""
        names.setdefault(f"{next(iter(told.values()))}{more}", []).append(_title(name))
    return [
        f"The mean of {first_few(alike, 3)} may lack what rare noise adds: {told}."
        for told, alike in islice(names.items(), _MAX_SOURCES)
    ]


def _recordings(results: Results) -> list[str]:
    """A line on what intervals allow for where recordings of noise are replayed."""
    cases = (case for cell in results.cells for case in cell.cell.cases.values())
    for case in cases:
        if text := RecordedNoise.of_case(case).in_words():
            told = "Of completion, slowdown and overhead " + text[0]
            return [f"{told}; those of differences and ratios are of the noise as it was recorded."]
    return []


def _unused(results: Results) -> list[str]:
    """A line on realizations that an earlier run stored, and that this one does not ask for."""
    more = [cell for cell in results.cells if cell.complete and cell.stored > cell.realizations]
    if not more:
        return []
    most = max(more, key=lambda cell: cell.stored)
    where = f" at {most.name}" if most.labels else ""
    return [
        f"{len(more):,} of {len(results.cells):,} cells have more realizations stored than this "
        f"run asks for, and the table is of fewer: {most.realizations:,} of {most.stored:,}{where}."
    ]


def _of_others(results: Results) -> list[str]:
    """A line on cases that an earlier run stored, and that the study does not have now."""
    stored = getattr(results.store, "meta", {}).get("cells", ())
    more = len(set(stored) - situations(results.study)) if stored else 0
    if not more:
        return []
    return [
        f"{more:,} stored case{'s' * (more != 1)} of earlier runs {'are' if more != 1 else 'is'} "
        "not in this study: kept, and in no table, picture or export of it."
    ]


def _of_order(results: Results) -> list[str]:
    """A line on schedules under noise in an order of operations that is not known to matter."""
    cases = (case for cell in results.cells[:_ASKED] for case in cell.cell.cases.values())
    if not any(isinstance(case, ScheduleCase) and case.noise and case.order == "noise-free"
               for case in cases):  # fmt: skip
        return []
    return [
        "Schedules are executed in the order of operations without noise. Whether that of arrival "
        "gives other times is not checked here: `jitterfly run` of a GOAL file does, and order = "
        '"arrival" in the study executes it.'
    ]


def _by_cell(results: Results, panel: Panel, cells: list[CellResults]) -> Table:
    """Return the table of a panel, with a row for each cell and columns for each observable."""
    names = [
        name for name in _without_index(results) if any(name in cell.summaries for cell in cells)
    ]
    slow = [name for name in names if figures.kind_of(results.study, name) == "slowdown"]
    first = figures.axis_title(results.study, results.axis) if results.axis else ""
    targets, wanted = bool(results.study.targets), _target_columns(results)
    header = [first, _REALIZATIONS, *([_NOISE_FREE] if slow else [])]
    header += [column for name in names for column in _header(cells, name)]
    rows = []
    for cell in cells:
        row = [_position(results, cell), f"{cell.realizations:,}"]
        if slow:
            row.append(_noise_free(cell, slow))
        for name in names:
            row += _texts(cell.summaries.get(name), len(_header(cells, name)), name in wanted)
        rows.append([*row, *(["no" if cell.unmet else "yes"] if targets else [])])
    header += ["target\nmet"] if targets else []
    several = bool(slow) and any("; " in row[2] for row in rows)
    spare = _columns_to_drop(results, cells, names, 2 + bool(slow), before_means=[2] * several)
    return Table(panel.label, header, rows, spare)


def _noise_free(cell: CellResults, slow: list[str]) -> str:
    """Return what slowdowns are divided by: of several variants all, in the order of the columns.

    Where none can be told, such as of a time of 0, that of the first variant.
    """
    families = [cell.families[name] for name in slow if name in cell.families]
    ticks = dict.fromkeys(family.members[0].denominator for family in families)
    times = [one for one in ticks if isinstance(one, int)]
    times = times or [int(cell.first_case.noise_free_ticks()[-1])]
    return "; ".join(show_digits(_MICRO * one / TICKS_PER_SECOND) for one in times)


def _by_index(
    results: Results, label: str, cell: CellResults, indices: dict[str, list[str]]
) -> Table:
    """Return the table of one cell, with a row for each cycle or T."""
    bases = list(dict.fromkeys(base for at in indices.values() for base in at))
    samples = {base: next(n for n in results.columns if n.startswith(f"{base}, "))
               for base in bases}  # fmt: skip
    header = ["", _REALIZATIONS]
    for base in bases:
        header += [h.replace(_title(samples[base]), _title(base), 1)
                   for h in _header([cell], samples[base])]  # fmt: skip
    marks = {case.size.marks for case in cell.cell.cases.values() if isinstance(case, ScheduleCase)}
    names = marks.pop() if len(marks) == 1 else ()
    rows = []
    for index in indices:
        row = [_with_mark(index, names), f"{cell.realizations:,}"]
        for base in bases:
            row += _texts(
                cell.summaries.get(f"{base}, {index}"), len(_header([cell], samples[base]))
            )
        rows.append(row)
    at = _position(results, cell)
    here = f"{figures.axis_title(results.study, results.axis)} = {at}" if results.axis else ""
    spare = _columns_to_drop(results, [cell], list(samples.values()), 2)
    return Table(", ".join(part for part in (label, here) if part), header, rows, spare)


def _with_mark(index: str, marks: Sequence[str]) -> str:
    """`cycle 3 (step2)`: with the name of the mark that ends the cycle, unless it is its number."""
    what, _, number = index.partition(" ")
    if what != "cycle" or int(number) > len(marks) or marks[int(number) - 1] == number:
        return index
    return f"{index} ({marks[int(number) - 1]})"


def _columns_to_drop(
    results: Results,
    cells: list[CellResults],
    names: list[str],
    first: int,
    before_means: Sequence[int] = (),
) -> tuple[int, ...]:
    """Return the columns to leave out where there is no room, the least important one first.

    Those are medians and ranges, then `before_means`, then means, each kind from the last column
    on. Targets stay longest. `first` is the number of the column where the observables begin.
    """
    spreads: list[int] = []
    means: list[int] = []
    targets: list[int] = []
    wanted, at = _target_columns(results), first
    for name in names:
        count = len(_header(cells, name))
        spreads += range(at, at + count - 1)
        at += count
        (targets if name in wanted else means).append(at - 1)
    groups = (spreads, before_means, means, targets)
    return tuple(column for group in groups for column in reversed(group))


def _target_columns(results: Results) -> set[str]:
    """Return the columns that are targets."""
    return {target.column for target in results.study.targets}


def _indices(names: list[str]) -> dict[str, list[str]]:
    """The ending `cycle 3` or `T=3` of each name that has one, with what is before it."""
    indices: dict[str, list[str]] = {}
    for name in names:
        base, comma, index = name.partition(", ")
        if comma and index.startswith(("cycle ", "T=")):
            indices.setdefault(index, []).append(base)
    return indices


def _title(name: str) -> str:
    return name.replace("_", " ")


def _header(cells: list[CellResults], name: str) -> list[str]:
    """Return the headings of an observable's columns: one, or median, range and mean."""
    summary = next(cell.summaries[name] for cell in cells if name in cell.summaries)
    title = _title(name) + (", µs" if summary.unit == "s" else "")
    if summary.is_target:
        return [f"{title}\n[{100 * summary.mean.confidence:.6g} %]"]
    if summary.quantiles is None:
        return [title]
    return [f"{title}\n{what}" for what in ("median", "5-95 %", "mean")]


def _texts(summary: CellSummary | None, columns: int, is_target: bool = False) -> list[str]:
    """Return median, 5-95 %, mean; or the mean alone, which the best T has without interval.

    With `is_target`, for the column of a target, it has one.
    """
    if summary is None:
        return ["-"] * columns
    scale = _MICRO if summary.unit == "s" else 1.0
    mean = changed(summary.mean, lambda value: scale * value)
    unknown = math.isinf(mean.low) and math.isinf(mean.high)
    if math.isnan(mean.value) or (unknown and not (summary.quantiles or summary.is_target)):
        return ["-"]
    if summary.is_best_T and not summary.is_target:
        return [show(mean) if is_target else f"{mean.value:.0f}"]
    if summary.quantiles is None:
        return [show(mean)]
    first, middle, last = (show_digits(scale * q) for q in summary.quantiles)
    to = " to " if first.startswith("-") else "-"
    return [middle, f"{first}{to}{last}", show(mean)]


def _position(results: Results, cell: CellResults) -> str:
    """Return the text of a cell's value on the axis."""
    if not results.axis:
        return ""
    value = cell.coordinates[results.axis]
    return results.axis_scale.plain(value)


def _matrices(results: Results, width: int) -> list[Table]:
    """Return the tables of a study with two axes of numbers: one for each map."""
    x, y = figures.number_axes(results.study)[:2]
    corner = f"{figures.axis_title(results.study, y)} /\n{figures.axis_title(results.study, x)}"
    tables = []
    own = set(results.columns) - set(results.names)  # targets that are no observable's mean
    names = dict.fromkeys([*results.most_columns(MAX_TABLES), *results.columns])
    for grid in grids_of_maps(results, x, y, list(names)):
        columns, heads = (
            [figures.without_formula(text) for text in texts]
            for texts in (grid.x_texts, grid.y_texts)
        )
        header = [corner, *columns]
        for name, one in grid.maps.items():
            rows = _matrix(heads, one, name in own, 4)
            if table_width(header, rows, range(len(header))) > width:
                rows = _matrix(heads, one, name in own, 3)
            heading = one.title + ": ± the longer side of its interval" * (name in own)
            title = f"{heading}, {grid.label}" if grid.label else heading
            tables.append(Table(title, header, rows, alike=True))
    return tables


def _matrix(texts: list[str], one: GridMap, with_half_widths: bool, most: int) -> list[list[str]]:
    """Rows of a map, the highest first, with at most `most` digits each."""

    def cell(value: float, half: float, unsure: bool, unmet: bool) -> str:
        if math.isnan(value):
            return ""
        if one.kind == "T":  # whole numbers
            half = math.inf
        around = (f"±{short(half)}" if math.isfinite(half) else "±?") if with_half_widths else ""
        return short(value, half, most) + around + "?" * bool(unsure) + "*" * bool(unmet)

    return [
        [texts[j], *map(cell, one.values[j], one.half_widths[j], one.unsure[j], one.unmet[j])]
        for j in reversed(range(len(texts)))
    ]


def show_error(state: TargetState) -> str:
    """The half width that was reached: `1.3 %` of the value, or in the observable's unit."""
    if state.target.relative is not None:
        return f"{100 * state.error:.2g} %"
    return show_seconds(state.error, digits=3) if state.target.unit else f"{state.error:.3g}"


def show_target(state: TargetState, unit: str) -> str:
    """`p99 of gain: met, ± 0.9 %: 1.3 [1.29, 1.31]`, or `not met, ± 2.65 %, 2 % wanted: ...`.

    Parameters
    ----------
    unit : str
        Of the observable.
    """
    unit = "" if state.target.statistic == "win probability" else unit
    name = f"{state.target.statistic} of {state.target.observable}"
    value = show(state.estimate, unit, 4)
    if state.met:
        return f"{name}: met, ± {show_error(state)}: {value}"
    says_error = state.why.startswith("±") or not math.isfinite(state.error)
    why = state.why if says_error else f"± {show_error(state)} ({state.why})"
    return f"{name}: not met, {why}: {value}"


def _state(cell: CellProgress) -> str:
    if not cell.complete:
        return "begun" if cell.looked else "waits"
    if not cell.decision.states:
        return "done"
    return "met" if cell.decision.met else "budget spent"


def _activity(progress: RunProgress) -> str:
    """Say whether a run is going on, and how old the numbers shown are."""
    if progress.holder is None and progress.age is not None:
        return f"as of {progress.age:.0f} s before the run was stopped; no run is going on"
    if progress.holder is None:
        return "no run is going on"
    if progress.holder == UNKNOWN:
        return "whether a run is going on is not known here (no locks, or .lock can not be read)"
    going = f"a run is going on{progress.holder and f' ({progress.holder})'}"
    return going if progress.age is None else f"as of {progress.age:.0f} s ago; {going}"


def _shard_lines(progress: RunProgress) -> list[str]:
    """A line for each shard, and which are missing."""
    lines = [""]
    for shard in progress.shards:
        finished = counted(shard.finished, "cell")
        total = counted(shard.realizations, "realization")
        lines.append(f"{shard.path.name}: {finished} finished, {total}; {_activity(shard)}")
    missing = missing_shards([shard.path for shard in progress.shards])
    if missing:
        lines.append(f"not there: {first_few(missing, 5)}")
    lines.append(f"when all are finished: jitterfly merge {progress.path}")
    return lines


def status(
    run: Store | RunProgress,
    *,
    only_open: bool = False,
    width: int = WIDTH,
    most: int | None = None,
) -> str:
    """A line for each cell: realizations done, of how many at most, and its targets.

    Of shards that are not merged also a line for each of them.

    Parameters
    ----------
    only_open : bool
        Leave out what is finished.
    width : int
        Letters of a line.
    most : int, optional
        Cells that are shown; None shows all. How many are left out is said.
    """
    progress = RunProgress.of(run) if isinstance(run, Store) else run
    header = [*progress.axes, "realizations", "at most", "state", "targets"]
    rows, targets = [], bool(progress.targets)
    for cell in progress.cells:
        if cell.complete and only_open:
            continue
        rows.append(
            [
                *cell.labels,
                f"{cell.available:,}",
                f"{cell.limit:,}",
                _state(cell),
                "\n".join(map(show_target, cell.decision.states, cell.units)),
            ]
        )
    if not targets:
        header, rows = header[:-1], [row[:-1] for row in rows]
    count = len(progress.cells)
    lines = [f"{progress.title}: {progress.path}", ""]
    lines += [with_sentences(header, rows, width, most), ""] if rows else []
    finished = progress.finished
    lines.append(
        f"{finished:,} of {counted(count, 'cell')} finished, {progress.realizations:,} realizations"
    )
    if targets:
        met = sum(cell.decision.met for cell in progress.cells)
        lines.append(f"{met:,} of {counted(finished, 'finished cell')} met their targets")
    lines += _shard_lines(progress) if progress.shards else [_activity(progress)]
    if progress.shards_hold_more:
        lines.append(
            f"shards in it have gone on since they were joined: jitterfly merge {progress.path}"
        )
    return "\n".join(lines)
