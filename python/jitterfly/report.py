"""HTML pages of results: one self-contained file, escaped text, no scripts.

`document` is the page around the parts; parts are tables, pictures and facts of runs.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .answer import show, show_digits
from .fields import check_choice, grouped
from .plots import draw
from .results import CellResults, Results
from .results.figures import axis_title, figure_kind, show_ranks
from .results.results import CellSummary
from .units import show_seconds

_LARGEST = 2**20  # bytes of a drawing; larger ones go into the page as pixels
_MANY = 100  # cells of a map: each is drawn with its number, and together they are larger than that
_WIDE = 600.0  # points: two panels of our figures stay below

#: A name and its value.
Facts = tuple[tuple[str, str], ...]


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


@dataclass(frozen=True)
class Table:
    """A table of numbers as they are shown; a cell is text, every row as long as the header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


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


class Html(str):
    """A text that is HTML; everything else is text that has to become HTML."""

    __slots__ = ()


def text(content: str) -> Html:
    """Escape a text, with 2^14, T_comm and -> as in print."""
    if isinstance(content, Html):
        return content
    safe = escape(content)
    for pattern, set_as in _SETTING:
        safe = pattern.sub(set_as, safe)
    return Html(safe)


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


def table_head(names: Iterable[str]) -> Html:
    """The head of a table, with the names of its columns."""
    return tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))


def scrolling(grid: Html, label: str) -> Html:
    """A table that may be wider than the page: reachable by keyboard."""
    return tag("div", grid, class_="scroll", tabindex="0", role="region", aria_label=label)


def about_line(source: str, facts: Facts, command: str) -> Html:
    """A line on where a section comes from, what was run, and how to run it again."""
    origin = [tag("span", source)] if source else []
    told = [tag("span", f"{name}: {value}") for name, value in facts]
    told += [tag("code", command)] if command else []
    return tag("p", join([*origin, *told], " "), class_="about")


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
    """A table with its notes."""
    rows = (tag("tr", *(tag("td", cell) for cell in row)) for row in table.rows)
    lines = tag("table", table_head(table.header), tag("tbody", *rows), class_="numbers")
    notes = (tag("p", note, class_="note") for note in table.notes)
    return join([scrolling(lines, table.title), *notes])


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
    axes = [axis.name for axis in results.study.axes]
    known = [
        (cell, name, cell.summaries[name])
        for cell in results.cells
        for name in names
        if name in cell.summaries
    ]
    rows = [
        (
            *(show_ranks(cell.ranks) if axis == "ranks" else cell.labels[axis] for axis in axes),
            name.partition(", ")[2],
            f"{summary.realizations:,}",
            "" if summary.T is None else str(summary.T),
            show(summary.mean, summary.unit, 4),
            *_spread(summary),
            _target(results, cell, name),
        )
        for cell, name, summary in known
    ]
    header = (
        *(axis_title(results.study, axis) for axis in axes),
        "of",
        "realizations",
        "best T",
        _number_kind(known[0][2]) if known else "",
        "median",
        "5–95 %",
        "target",
    )
    used = [i for i in range(len(header)) if any(row[i] not in ("", _NONE) for row in rows)]
    return Table(
        f"{group.replace('_', ' ')}: {len(rows)} {'row' if len(rows) == 1 else 'rows'}",
        tuple(header[i] for i in used),
        tuple(tuple(row[i] for i in used) for row in rows),
    )


def _number_kind(summary: CellSummary) -> str:
    """The statistic of a table, with the confidence of its interval."""
    return f"{summary.statistic} [{100 * summary.mean.confidence:.6g} %]"


def _spread(summary: CellSummary) -> tuple[str, str]:
    """The median and range of single realizations, where they have a value."""
    if summary.quantiles is None:
        return _NONE, _NONE
    low, middle, high = (show_value(value, summary.unit) for value in summary.quantiles)
    return middle, f"{low} – {high}"


def show_value(value: float, unit: str) -> str:
    """A number of an observable, or a time with its unit."""
    return show_seconds(value, 3) if unit == "s" else show_digits(value)


def _target(results: Results, cell: CellResults, name: str) -> str:
    if all(target.column != name for target in results.study.targets):
        return ""
    return "missed" if name in cell.unmet else "met"
