"""`report`: one HTML page of runs, answers and measured noise; what such pages are made of.

A page is one file, with escaped text, pictures inside, and no scripts. `document` is the frame.
"""

from __future__ import annotations

import base64
import datetime
import json
import platform
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .answer import Report as TextReport
from .answer import ShownTable as Table
from .answer import show, show_digits, show_time, units_of
from .case import Case
from .fields import check_choice, counted, first_few, grouped, naming_parameters
from .files import MAX_TEXT, check_new, read_whole, write_whole
from .measured.description import comparison_table, describe, description_lines
from .measured.formats.text import UnknownFormat
from .measured.load import load
from .measured.measurements import Detours, Histogram, Measured
from .plots import draw
from .results import CellResults, Results
from .results.figures import axis_title, figure_kind, kind_of, show_ranks
from .results.results import CellSummary
from .results.tables import notes as notes_of_run
from .slowdown import part_in_words
from .store import Store
from .store.run_directory import META, STORED_STUDY
from .studies.axes import AxisValue, Variant
from .units import show_seconds, show_size
from .version import __version__

_LARGEST = 2**20  # bytes of a drawing; larger ones go into the page as pixels
_MANY = 100  # cells of a map: each is drawn with its number, and together they are larger than that
_WIDE = 600.0  # points: two panels of our figures stay below

#: A name and its value.
Facts = tuple[tuple[str, str], ...]
ENDINGS = (".html", ".htm")
_OPEN = 60  # rows of a table that stands open
_MAX_ROWS = 2000  # of a table in a page
_SAME = 50  # cells that are asked whether they have a part in common
_MAX_VALUES = 8  # of an axis
_FULL_PERIODS = 4  # parts of a recording that periods are looked for in


@dataclass(frozen=True)
class Picture:
    """A picture in a format that browsers show; `alt` says in words what it shows.

    `width` is that of the picture on paper, in points; 0 where it does not matter.
    """

    data: bytes
    media: str
    alt: str
    caption: str = ""
    width: float = 0.0

    def __post_init__(self) -> None:
        check_choice(self.media, "media", ("image/svg+xml", "image/png"))

    @property
    def wide(self) -> bool:
        """Return whether the picture is so wide that nothing fits beside it."""
        return self.width > _WIDE

    @property
    def uri(self) -> str:
        """The picture itself as an address, so that it needs no file."""
        return f"data:{self.media};base64,{base64.b64encode(self.data).decode()}"


_VOID = {"img", "link", "meta"}
# What is plain text in a terminal is set as in print.
_SETTING = (
    (re.compile(r"\b(\d+)\^(\d+)\b"), r"\1<sup>\2</sup>"),
    (re.compile(r"\bT_comm\b"), "T<sub>comm</sub>"),
    (re.compile(r"-&gt;"), "→"),
    (re.compile(r"-inf\b"), "-∞"),
    (re.compile(r"\binf\b"), "∞"),
    (re.compile(r" \.\.\. "), " … "),
)
_CODE = re.compile(r"`([^`]+)`")


class Html(str):
    """A text that is HTML; everything else is text that has to become HTML."""

    __slots__ = ()


class Plain(str):
    """A text that is shown as it is, such as a command or a path: it may be copied."""

    __slots__ = ()


def text(content: str) -> Html:
    """Escape a text, with 2^14, T_comm and -> as in print; `code` and `Plain` are as they are."""
    if isinstance(content, Html):
        return content
    safe = escape(content)
    if isinstance(content, Plain):
        return Html(safe)
    parts = _CODE.split(safe)  # every second one is code
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"<code>{part}</code>"
            continue
        for pattern, set_as in _SETTING:
            part = pattern.sub(set_as, part)
        parts[i] = part
    return Html("".join(parts))


def tag(name: str, /, *content: str, **attributes: str | None) -> Html:
    """An element; `class_` is the attribute class, `http_equiv` is http-equiv, None is left out.

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(content)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Join parts one after the other."""
    return Html(between.join(text(part) for part in parts))


# A browser that obeys it loads nothing at all: pictures are in the file.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def document(title: str, header: Html, main: Iterable[Html], footer: str) -> str:
    """The whole file: what stands above the sections, these, and what stands below them."""
    css = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", Html(escape(title, quote=False))),  # which has no marks of `text`
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(css)),
    )
    body = tag("body", join([header, tag("main", *main), tag("footer", footer)], "\n"))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def facts_list(facts: Facts, kind: str = "facts") -> Html:
    """Names and their values."""
    pairs = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts)
    return tag("dl", *pairs, class_=kind)


def table_head(names: Iterable[str], left: int = 1) -> Html:
    """The head of a table, with the names of its columns."""
    cells = (tag("th", name, scope="col", class_="left" if 0 < i < left else None)
             for i, name in enumerate(names))  # fmt: skip
    return tag("thead", tag("tr", *cells))


def scrolling(grid: Html, label: str) -> Html:
    """A table that may be wider than the page: reachable by keyboard."""
    return tag("div", grid, class_="scroll", tabindex="0", role="region", aria_label=label)


def about_line(source: str, facts: Facts, command: str) -> Html:
    """A line on where a section comes from, what was run, and how to run it again."""
    origin = [tag("span", source)] if source else []
    text = [tag("span", f"{name}: ", value) for name, value in facts]
    text += [tag("code", Plain(command))] if command else []
    return tag("p", join([*origin, *text], " "), class_="about")


def figures(pictures: Iterable[Picture]) -> Html:
    """Pictures with their captions, one below the other."""
    shown = [
        tag(
            "figure",
            tag(
                "div",
                tag("img", src=picture.uri, alt=picture.alt),
                class_="plate",
                # The only parts that scroll sideways, on a phone: reachable by keyboard.
                tabindex="0",
                role="group",
                aria_label=picture.alt.partition(".")[0],
            ),
            tag("figcaption", picture.caption) if picture.caption else Html(),
            style=f"--width: {picture.width:.0f}pt" if picture.width else None,
        )
        for picture in pictures
    ]
    return tag("div", *shown, class_="pictures") if shown else Html()


def grid(table: Table) -> Html:
    """Return a table with its notes as HTML."""
    lines = [
        tag("tr", *(tag("td", cell, class_="left" if 0 < i < table.left else None)
                    for i, cell in enumerate(row)))
        for row in table.rows
    ]  # fmt: skip
    head = table_head(table.header, table.left) if table.header else Html()
    whole = tag("table", head, tag("tbody", *lines), class_="numbers")
    notes = (tag("p", note, class_="note") for note in table.notes)
    return join([scrolling(whole, table.title or "Table"), *notes])


def about(results: Results) -> Facts:
    """The facts on how much was run, and how many cells met their targets."""
    cells = len(results.cells)
    facts = [("cells", f"{cells:,}"), ("realizations per cell", results.count)]
    if results.network_noise:
        what, _, text = results.network_noise.partition(": ")
        facts.append((what, text))
    open_ = sum(not cell.complete for cell in results.cells)
    if open_:
        facts.append(("UNFINISHED", f"{open_:,} cells"))
    for target in results.study.targets:
        met = sum(target.column not in cell.unmet for cell in results.cells)
        facts.append((str(target), f"met in {met:,} of {cells:,} cells"))
    return tuple(facts)


def picture(
    results: Results, folder: Path, kind: str | None = None, what: str = "The figure"
) -> Picture:
    """A figure as a drawing, or as pixels where the drawing would be very large.

    Parameters
    ----------
    results : Results
    folder : Path
        Where the picture is written to.
    kind : str, optional
        As of `plots.draw.draw`.
    what : str
        The beginning of a description for those who do not see it.
    """
    study = results.study
    name = f"{study.name}_{kind}" if kind else study.name
    path = folder / f"{name}.svg"
    many = len(results.cells) > _MANY and (kind or figure_kind(study)) in ("maps", "paper_maps")
    if not many:
        draw.draw(results, path, kind=kind)
        many = path.stat().st_size > _LARGEST
    if many:
        path.unlink(missing_ok=True)
        path = path.with_suffix(".png")
        draw.draw(results, path, kind=kind)
    alt = f"{what} of {study.title}; its numbers are in the tables below."
    media = "image/png" if many else "image/svg+xml"
    return Picture(path.read_bytes(), media, alt, width=width(path))


def width(drawing: Path) -> float:
    """The width of an SVG or a PNG, in points; 0 where it does not say."""
    if drawing.suffix == ".png":
        from PIL import Image  # which matplotlib needs, too

        with Image.open(drawing) as image:
            dots = float(image.info.get("dpi", (0.0, 0.0))[0])
            return 72 * image.width / dots if dots else 0.0
    match = re.search(r'<svg[^>]*?\swidth="([0-9.]+)pt"', drawing.read_text(encoding="utf-8"))
    return float(match[1]) if match else 0.0


_NONE = "–"


def tables(results: Results) -> tuple[Table, ...]:
    """A table for each observable: every cell that has data of it, in the study's order.

    An observable of each cycle or each T is one table, with the cycle or T as a column.
    """
    groups = grouped(results.columns, lambda name: name.partition(", ")[0])
    all_tables = [_table(results, group, names) for group, names in groups.items()]
    return tuple(table for table in all_tables if table.rows)


def _table(results: Results, group: str, names: list[str]) -> Table:
    """Make the table of some observables: a row for each cell and observable."""
    axes = [axis.name for axis in results.study.axes]
    powers = all(cell.ranks & (cell.ranks - 1) == 0 for cell in results.cells)
    ranks = show_ranks if powers else "{:,}".format
    known = [
        (cell, name, cell.summaries[name])
        for cell in results.cells
        for name in names
        if name in cell.summaries
    ]
    unit = units_of([[one.mean for *_, one in known if one.unit]])[0]
    rows = [
        (
            *(ranks(cell.ranks) if axis == "ranks" else cell.labels[axis] for axis in axes),
            name.partition(", ")[2],
            f"{summary.realizations:,}",
            "" if summary.T is None else str(summary.T),
            show_time(summary.mean, unit) if summary.unit else show(summary.mean, digits=4),
            *_spread(summary, unit),
            _target(results, cell, name),
        )
        for cell, name, summary in known
    ]
    mean = next((f"{one.statistic} [{100 * one.mean.confidence:.6g} %]" for *_, one in known), "")
    header = (
        *(axis_title(results.study, axis) for axis in axes),
        "of",
        "realizations",
        "best T",
        _with_unit(mean, unit),
        _with_unit("median", unit),
        _with_unit("5–95 %", unit),
        "target",
    )
    used = [i for i in range(len(header)) if any(row[i] not in ("", _NONE) for row in rows)]
    quantity = kind_of(results.study, names[0]).replace("_", " ")
    what = group.replace("_", " ")
    what += f", {quantity}" if quantity and quantity not in what else ""
    return Table(
        f"{what}: {len(rows)} {'row' if len(rows) == 1 else 'rows'}",
        tuple(header[i] for i in used),
        tuple(tuple(row[i] for i in used) for row in rows),
    )


def _with_unit(heading: str, unit: str) -> str:
    return f"{heading}, {unit}" if unit else heading


def _spread(summary: CellSummary, unit: str) -> tuple[str, str]:
    """The median and range of single realizations, where they have a value."""
    if summary.quantiles is None:
        return _NONE, _NONE
    low, middle, high = (
        show_time(value, unit, 3) if summary.unit else show_digits(value)
        for value in summary.quantiles
    )
    return middle, f"{low} – {high}"


def show_value(value: float, unit: str) -> str:
    """A number of an observable, or a time with its unit."""
    return show_seconds(value, 3) if unit == "s" else show_digits(value)


def _target(results: Results, cell: CellResults, name: str) -> str:
    if all(target.column != name for target in results.study.targets):
        return ""
    return "missed" if name in cell.unmet else "met"


@dataclass(frozen=True)
class Section:
    """One result: `source` is where it was read, `command` makes it again, `text` is aligned."""

    title: str
    source: str = ""
    command: str = ""
    facts: Facts = ()
    unfinished: str = ""
    cautions: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    text: str = ""
    notes: tuple[str, ...] = ()


def report(results: Any, path: str | Path, *, title: str = "", force: bool = False) -> Path:
    """Write one HTML page of results: title, numbers with intervals, pictures, notes, commands.

    The page needs nothing beside it, and has a style for print.

    Parameters
    ----------
    results : list, or one of these
        Each a path: of a run's directory, of a directory or JSON file with the answer to a
        question, of a noise file or another that `measured.load` reads. Or a `Store`, an answer
        such as a `SlowdownTable`, a `Measured`.
    path : path
        Ends in .html.
    title : str, optional
        Of the page; without it that of the only result.
    force : bool
        Replace `path` if it exists.

    Returns
    -------
    Path
        The page's. A run that is not finished is in it as far as it is, which the page says.

    Raises
    ------
    ValueError
        There is nothing to report; a path holds none of these; `path` exists, or can not be
        written.
    OSError
        A file can not be read or written.

    Examples
    --------
    >>> import tempfile
    >>> import jitterfly as jf
    >>> found = jf.slowdown("period=1ms,duration=25us", 64, realizations=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(jf.report([found], Path(folder) / "mine.html").name)
    mine.html
    """
    path = Path(path)
    check_new_page(path, force)
    given = list(results) if isinstance(results, (list, tuple)) else [results]
    with naming_parameters(), tempfile.TemporaryDirectory(prefix="jitterfly-") as folder:
        sections = [section for one in given for section in _sections(one, Path(folder))]
    if not sections:
        raise ValueError("results must hold at least one result, got none")
    write_whole(path, page(sections, title).encode())
    return path


def check_new_page(path: Path, force: bool) -> None:
    """Raise ValueError where a page can not be written, or is there and not to be replaced."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{path}: a report's name must end in {' or '.join(ENDINGS)}")
    check_new(path, force)


def page(sections: Sequence[Section], title: str = "") -> str:
    """Return the HTML page of results, with a table of contents if there are several."""
    if not title:
        several = f"Report of {counted(len(sections), 'result')}"
        title = sections[0].title if len(sections) == 1 else several
    now = datetime.datetime.now().astimezone()
    about = (
        ("results", f"{len(sections):,}"),
        ("date", f"{now:%Y-%m-%d %H:%M %Z}"),
        ("jitterfly", __version__),
        ("Python", f"{platform.python_version()}, NumPy {np.__version__}"),
    )
    names = [f"result-{number}" for number in range(1, len(sections) + 1)]
    links = [tag("li", tag("a", one.title, href=f"#{name}"))
             for name, one in zip(names, sections, strict=True)]  # fmt: skip
    contents = tag("nav", tag("ol", *links), class_="contents", aria_label="Results")
    without = "Without pictures: matplotlib is not installed where this page was made."
    header = tag(
        "header",
        tag("h1", title),
        facts_list(about),
        contents if len(sections) > 1 else Html(),
        Html() if draw.can_draw() else tag("p", without, class_="note"),
    )
    main = (_section(name, one) for name, one in zip(names, sections, strict=True))
    return document(title, header, main, f"Made by jitterfly {__version__}, {now:%Y-%m-%d}.")


def _section(name: str, content: Section) -> Html:
    """Make the HTML of a section: title, origin, cautions, pictures, tables and text."""
    unfinished = tag("aside", tag("strong", content.unfinished), class_="pending", role="note")
    command = tag("p", "To make it again: ", tag("code", Plain(content.command)),
                  class_="about again")  # fmt: skip
    return tag(
        "section",
        tag("h2", content.title),
        about_line(content.source, content.facts, ""),
        unfinished if content.unfinished else Html(),
        *(tag("p", tag("strong", text), class_="caution") for text in content.cautions),
        figures(content.pictures),
        *map(_shown_table, content.tables),
        _aligned(content.text) if content.text else Html(),
        tag("ul", *(tag("li", note) for note in content.notes), class_="notes")
        if content.notes
        else Html(),
        command if content.command else Html(),
        id=name,
    )


def _shown_table(table: Table) -> Html:
    """A table under its title; a long one is closed, until its title is clicked."""
    rows = len(table.rows)
    if rows <= _OPEN:
        return join([tag("h3", table.title) if table.title else Html(), grid(table)])
    cut = replace(table, rows=table.rows[:_MAX_ROWS])
    more = f", the first {_MAX_ROWS:,} of which are here" if rows > _MAX_ROWS else ""
    name = f"{table.title or 'table'} ({rows:,} rows{more})"
    return tag("details", tag("summary", name), grid(cut))


def _aligned(lines: str) -> Html:
    return tag("div", tag("pre", Html(escape(lines))), class_="scroll", tabindex="0",
               role="region", aria_label="Description")  # fmt: skip


def _sections(given: Any, folder: Path) -> Iterator[Section]:
    """Make the sections of a path, or of an object."""
    if isinstance(given, (str, Path)):
        yield from _of_path(Path(given), folder)
    elif isinstance(given, (Store, Results)):
        yield _of_run(given if isinstance(given, Results) else Results(given), folder)
    elif isinstance(given, TextReport):
        yield _of_answer(given, folder)
    elif isinstance(given, Measured):
        yield _of_measured(given, "", folder)
    else:
        raise ValueError(
            f"results must be paths, runs, answers and measurements, got {type(given).__name__}"
        )


def _of_path(path: Path, folder: Path) -> Iterator[Section]:
    """Yield the sections of a run, of saved answers, or of a recording."""
    if path.is_dir():
        found = ((file, _saved(file)) for file in sorted(path.glob("*.json")))
        saved = [(file, content) for file, content in found if content and "tables" in content]
        if (path / META).is_file() or not saved:
            try:
                store = Store.open(path)
            except ValueError as error:
                if (path / META).is_file():
                    raise
                raise ValueError(f"{error}; it holds no saved answer either") from None
            yield _of_run(Results(store), folder)
        for file, content in saved:
            yield _of_saved_answer(file, content)
    elif path.suffix.lower() == ".json" and (given := _saved(path)) is not None:
        yield _of_saved_answer(path, given)
    else:
        try:
            measured = load(path)
        except UnknownFormat as error:
            raise ValueError(_no_result(path, error)) from None
        yield _of_measured(measured, str(path), folder)


def _no_result(path: Path, error: UnknownFormat) -> str:
    """Say why a file is no result, and what is one."""
    for folder in (path.parent, path.parent.parent):  # records have a folder of their own
        if (folder / META).is_file():
            return f"{path} is a file of a run: give its directory, {folder}"
    answer = path.with_suffix(".json")
    if answer.is_file() and "tables" in (_saved(answer) or {}):
        return f"{path} is a file of a saved answer: give its directory, {path.parent}"
    if path.suffix.lower() == ".toml":
        return f"{path} is no result: if it is a study, run it, and give the directory of the run"
    text = f"{path} {error.what}" if error.binary else f"{path} is no result"
    return (
        f"{text}; a result is the directory of a run, the directory or the JSON of a saved answer, "
        "or a noise file (`jitterfly noise import` makes one of what another tool wrote)"
    )


def _saved(file: Path) -> dict[str, Any] | None:
    """Return what a command of ours wrote or printed as JSON; None for another file."""
    try:
        content = json.loads(read_whole(file, MAX_TEXT))
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and "jitterfly" in content else None


def _of_saved_answer(file: Path, content: dict[str, Any]) -> Section:
    """The answer that a command saved, with the picture beside it."""
    if "tables" not in content:
        what = content.get("command")
        raise ValueError(
            f"{file} holds no answer to a question"
            + (f", but what `jitterfly {what}` printed: a report takes runs, noise files, and what "
               "slowdown, explain, advise, compare, compare-measured, predict, fit, budget, noise "
               "infer, network run and run FILE.goal answer"
               if isinstance(what, str) else "")
        )  # fmt: skip
    try:
        tables = tuple(_table_of(one) for one in content["tables"])
        notes = tuple(map(_text, content["notes"]))
        first = int(content.get("cautions", 0))
        section = Section(
            _text(content["title"]),
            source=Plain(f"answer: {file}"),
            command=_text(content.get("command_line", "")),
            facts=(("version", _text(content["jitterfly"])),),
            cautions=notes[:first],
            tables=tables,
            notes=notes[first:],
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError(f"{file} is damaged: run its command again") from None
    drawn = file.with_suffix(".png")
    if not drawn.is_file() or _is_printed_without(drawn, section.command):
        return section
    data = read_whole(drawn)
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        raise ValueError(f"{drawn} is no picture, though its name says so")
    _check_picture(drawn)
    return replace(section, pictures=(_of_file(drawn, data, section.title),))


def _is_printed_without(drawn: Path, command: str) -> bool:
    """Return whether a command printed its answer and drew none, or another, picture."""
    words = command.split()
    wrote = any(word.partition("=")[0] in ("--out", "-o") for word in words)
    return "--json" in words and not wrote and drawn.name not in command


def _check_picture(drawn: Path) -> None:
    """Raise ValueError where a PNG can not be shown: a page with it would have a gap."""
    from PIL import Image  # which matplotlib needs, too

    try:
        with Image.open(drawn) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise ValueError(
            f"{drawn} is damaged: delete it, or run the command that drew it again"
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _table_of(content: Mapping[str, Any]) -> Table:
    """Read a table that was written as JSON."""
    table = Table(
        _text(content["title"]),
        tuple(map(_text, content["header"])),
        tuple(tuple(map(_text, row)) for row in content["rows"]),
        tuple(map(_text, content["notes"])),
        int(content["left"]),
    )
    widths = {len(row) for row in table.rows} | ({len(table.header)} if table.header else set())
    if len(widths) != 1 or 0 in widths:  # also where there is nothing in it
        raise ValueError
    return table


def _of_answer(answer: TextReport, folder: Path) -> Section:
    """Make the section of an answer: cautions, picture, tables, notes."""
    notes, first = answer.notes(), answer.cautions()
    return Section(
        answer.title(),
        facts=(("version", __version__),),
        cautions=tuple(first),
        pictures=_drawn(folder, answer.title(), answer.plot),
        tables=tuple(answer.shown_tables()),
        notes=tuple(note for note in notes if note not in first),
    )


def _drawn(folder: Path, title: str, write: Callable[[Path], object]) -> tuple[Picture, ...]:
    """The picture that a function writes; none without matplotlib, or where nothing is to draw."""
    path = folder / "picture.svg"
    if not draw.can_draw():
        return ()
    try:
        write(path)
        if path.stat().st_size > _LARGEST:
            path = path.with_suffix(".png")
            write(path)
    except ValueError:  # there is nothing to draw
        return ()
    return (_of_file(path, path.read_bytes(), title),)


def _of_file(path: Path, data: bytes, title: str) -> Picture:
    media = "image/png" if path.suffix == ".png" else "image/svg+xml"
    alt = f"Picture of {title}; its numbers are in the tables below."
    return Picture(data, media, alt, width=width(path))


def _of_run(results: Results, folder: Path) -> Section:
    """Make the section of a run, finished or not."""
    store, study = results.store, results.study
    meta, where = store.meta, str(store.path)
    done, cells = sum(cell.complete for cell in results.cells), len(results.cells)
    again = ["jitterfly", "run", str(store.path / STORED_STUDY), "--out", where]
    command = shlex.join(again)
    versions = ", ".join(f"{name} {text}" for name, text in meta["versions"].items())
    known = any(cell.realizations for cell in results.cells)
    drawn: tuple[Picture, ...] = ()
    if known and draw.can_draw():
        try:
            drawn = (picture(results, folder),)
        except ValueError:  # what its figure needs is not known yet
            drawn = ()
    unfinished = f"Unfinished: {done:,} of {counted(cells, 'cell')} done; the command below goes on"
    return Section(
        results.title,
        source=Plain(f"run: {where}"),
        command=command,
        facts=(
            *((("source", study.source),) if study.source else ()),
            *_asked(results),
            *about(results),
            ("seed", str(study.seed)),
            ("backend", ", ".join(meta["backend"]) or "none yet"),
            ("versions", versions),
        ),
        unfinished=unfinished if done < cells else "",
        pictures=drawn,
        tables=tables(results) if known else (),
        notes=tuple(" ".join(note.split()) for note in notes_of_run(results)) if known else
        ("No cell has any data yet.",),
    )  # fmt: skip


def _asked(results: Results) -> Facts:
    """Return what a study varies, and what all of its cases have in common."""
    facts = []
    for axis in results.study.axes:
        labels = [
            f"{int(value.label):,}" if value.label.isdecimal() else value.label
            for value in axis.values
        ]
        facts.append((axis_title(results.study, axis.name), first_few(labels, _MAX_VALUES)))
        facts += _settings_of(axis.values)
    if len(results.study.variants) > 1:
        facts.append(("variants", first_few([one.label for one in results.study.variants], 8)))
        facts += _settings_of(results.study.variants)
    cells = results.cells[:_SAME]
    cases = [case for cell in cells for case in cell.cell.cases.values()]
    for name in ("algorithm", "network", "noise"):
        parts = [getattr(case, name, None) for case in cases]
        words = {"; ".join(map(part_in_words, part if isinstance(part, tuple) else (part,)))
                 for part in parts if part}  # fmt: skip
        if all(parts) and (text := _in_common(sorted(words))):
            facts.append((name, text))
    alone = [case for case in cases if isinstance(case, Case)]
    named = [value for axis in results.study.axes for value in axis.values]
    varied = {path for one in (*named, *results.study.variants) for path in one.settings}
    sizes = {case.message_bytes for case in alone}
    if len(sizes) == 1 and "message_bytes" not in varied:
        facts.append(("message", show_size(sizes.pop())))
    for name, usual, as_text in (("cycles", 1, "{:,}".format), ("compute_time", 0, show_seconds)):
        found = {getattr(case, name) for case in alone}
        if len(found) == 1 and name not in varied and (value := found.pop()) != usual:
            facts.append((name.replace("_", " "), as_text(value)))
    return tuple(facts)


def _settings_of(values: Sequence[Variant]) -> Facts:
    """Return what each of some named values sets, where their names do not say it."""
    if all(len(one.settings) <= 1 and isinstance(one, AxisValue) for one in values):
        return ()
    told = ((one.label, first_few([f"{path} = {_plain(value)}"
                                   for path, value in one.settings.items()], 8))
            for one in values[:_MAX_VALUES])  # fmt: skip
    return tuple((f"{label} sets", text) for label, text in told if text)


def _plain(value: Any) -> str:
    """Return a setting as text: a table by its entries, a list in brackets."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_plain(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        more = ", ..." * (len(value) > _MAX_VALUES)
        return "[" + ", ".join(map(_plain, value[:_MAX_VALUES])) + f"{more}]"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _in_common(words: list[str]) -> str:
    """Return what descriptions say, with ? for a value that differs; "" where they differ more.

    Examples
    --------
    >>> _in_common(["renewal, gap = 1 s, seed = 1", "renewal, gap = 1 s, seed = 2"])
    'renewal, gap = 1 s, seed = ?'
    """
    lines = []
    if not words or len({one.count(", ") for one in words}) > 1:
        return ""
    for parts in zip(*(one.split(", ") for one in words), strict=True):
        names = {part.partition(" = ")[0] for part in parts}
        if len(set(parts)) > 1 and (len(names) > 1 or not all(" = " in part for part in parts)):
            return ""
        lines.append(parts[0] if len(set(parts)) == 1 else f"{names.pop()} = ?")
    return ", ".join(lines)


def _of_measured(measured: Measured, where: str, folder: Path) -> Section:
    """A recording, or what another tool measured."""
    from .plots.noise import draw_measured

    source = measured.source
    facts = describe(measured, periods=len(measured.parts) <= _FULL_PERIODS)
    title = Plain(f"Noise of {source['machine']}" if "machine" in source else f"Measured: {where}")
    compared = [
        (part.get("cpu") or f"part {number}", part)
        for number, part in enumerate(facts["parts"], 1)
        if isinstance(measured.parts[number - 1], (Detours, Histogram))
    ]
    head, *cells = comparison_table([part for _, part in compared])
    header = ("CPU", *head)
    rows = [(name, *row) for (name, _), row in zip(compared, cells, strict=True)]
    names = ("kernel", "date", "tool", "nodes")
    again = shlex.join(["jitterfly", "noise", "show", where]) if where else ""
    made_by = source.get("command", "")
    lines = [("format", measured.format)]
    lines += [(name, Plain(source[name])) for name in names if name in source]
    if made_by and not _is_ours(made_by):  # free text of another tool, or of whoever wrote the file
        lines.append(("recorded by", Plain(made_by)))
    return Section(
        title,
        source=Plain(f"measured: {where}" if where else ""),
        command=made_by if _is_ours(made_by) else again,
        facts=tuple(lines),
        cautions=(f"not to be trusted: {source['untrusted']}",) if "untrusted" in source else (),
        pictures=_drawn(folder, title, lambda path: draw_measured(measured, path, facts)),
        tables=(Table("", header, tuple(rows)),) if rows else (),
        text="\n".join(description_lines(measured, facts)),
        notes=tuple(map(str, measured.notes)),
    )  # fmt: skip


def _is_ours(command: str) -> bool:
    """Return whether a text is one command of this package, and nothing else for a shell."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation that does not end
        return False
    return words[:1] == ["jitterfly"] and shlex.join(words) == command
