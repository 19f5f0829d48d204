"""The main numbers of a study as tables, for a terminal or a page."""

from __future__ import annotations

from typing import NamedTuple

from ..quiet import quiet_ticks
from ..units import TICKS_PER_SECOND, show_seconds
from . import along, figures
from .absences import absences
from .columns import MOST_TABLES, first_rows
from .facts import Facts
from .maps import WIDE, grids
from .results import Panel, Results, Spot
from .show import plus_minus, short, show_number

_MEANS = "Every mean has its 95 % interval; medians and ranges have none."
_SMALLEST = "The optimal T is the smallest one whose mean can not be told from the best."
SELECTION = (
    "The best T is chosen by the samples that its mean and gain are then taken from: that favours\n"
    "the redundant scheme a little, and so does looking for the largest of many gains."
)
_MARKS = (
    f"Means. ? : interval wider than ± {100 * WIDE:.0f} %, or a gain that may be 1. "
    "* : target not met."
)
_MICRO = 1e6  # times are shown in µs


class Table(NamedTuple):
    """A table of text; a header may have two lines. `title` may be empty."""

    title: str
    header: list[str]
    rows: list[list[str]]


def table(results: Results) -> str:
    """The study's main numbers, aligned, and what they mean; of a large study the first rows."""
    parts = []
    found = tables(results)
    for one in found[:MOST_TABLES]:
        text = first_rows(one.header, one.rows)
        parts.append(f"{one.title}\n{text}" if one.title else text)
    if len(found) > MOST_TABLES:
        parts.append(f"... {len(found) - MOST_TABLES:,} more tables: summary.csv has all")
    return "\n\n".join([*parts, "\n".join(notes(results))])


def tables(results: Results) -> list[Table]:
    """Maps as matrices; else a row for each place (or each cycle, where there are several)."""
    if figures.figure_of(results.study) == "maps":
        return _matrices(results)
    found = []
    for panel in results.panels():
        # Also those that have none of the observables, which the notes explain.
        spots = [
            spot for spot in panel.spots if spot.facts or (spot.complete and not spot.families)
        ]
        if not any(spot.facts for spot in spots):
            continue
        indices = _indices(results.names)
        if indices:
            found.append(_by_index(results, panel.label, spots[-1], indices))
        else:
            found.append(_by_place(results, panel, spots))
    return found


def notes(results: Results) -> list[str]:
    """What has to be said about the tables."""
    told = [_MARKS if figures.figure_of(results.study) == "maps" else _MEANS]
    if any(f.T is not None for spot in results.spots for f in spot.facts.values()):
        told += [_SMALLEST, SELECTION]
    return [*told, *absences(results), *([results.state] if results.state else [])]


def _by_place(results: Results, panel: Panel, spots: list[Spot]) -> Table:
    names = [name for name in results.names if any(name in spot.facts for spot in spots)]
    slow = any(figures.kind_of(results.study, name) == "slowdown" for name in names)
    first = along.axis_title(results.study, results.axis) if results.axis else ""
    targets = bool(results.study.targets)
    header = [first, "realiza-\ntions", *(["noise-\nfree"] if slow else [])]
    header += [column for name in names for column in _header(spots, name)]
    rows = []
    for spot in spots:
        row = [_position(results, spot), f"{spot.realizations:,}"]
        row += [_quiet(spot)] if slow else []
        for name in names:
            row += _cells(spot.facts.get(name), len(_header(spots, name)))
        rows.append([*row, *(["no" if spot.unmet else "yes"] if targets else [])])
    return Table(panel.label, [*header, *(["target\nmet"] if targets else [])], rows)


def _by_index(results: Results, label: str, spot: Spot, indices: dict[str, list[str]]) -> Table:
    """One place, with a row for each cycle or T."""
    bases = list(dict.fromkeys(base for at in indices.values() for base in at))
    samples = {base: next(n for n in results.names if n.startswith(f"{base}, ")) for base in bases}
    header = ["", "realiza-\ntions"]
    for base in bases:
        header += [h.replace(_title(samples[base]), _title(base), 1)
                   for h in _header([spot], samples[base])]  # fmt: skip
    rows = []
    for index in indices:
        row = [index, f"{spot.realizations:,}"]
        for base in bases:
            row += _cells(spot.facts.get(f"{base}, {index}"), len(_header([spot], samples[base])))
        rows.append(row)
    at = _position(results, spot)
    here = f"{along.axis_title(results.study, results.axis)} = {at}" if results.axis else ""
    return Table(", ".join(part for part in (label, here) if part), header, rows)


def _indices(names: list[str]) -> dict[str, list[str]]:
    """`cycle 3` or `T=3` of each name that ends so, with the names before it."""
    found: dict[str, list[str]] = {}
    for name in names:
        base, comma, index = name.partition(", ")
        if comma and index.startswith(("cycle ", "T=")):
            found.setdefault(index, []).append(base)
    return found


def _title(name: str) -> str:
    return name.replace("_", " ")


def _header(spots: list[Spot], name: str) -> list[str]:
    facts = next(spot.facts[name] for spot in spots if name in spot.facts)
    unit = ", µs" if facts.unit == "s" else ""
    if facts.quantiles is None:
        return [f"{_title(name)}{unit}"]
    return [f"{_title(name)}{unit}\nmedian", "5-95 %", "mean"]


def _cells(facts: Facts | None, columns: int) -> list[str]:
    """Median, 5-95 %, mean; or the mean alone."""
    if facts is None:
        return ["-"] * columns
    scale = _MICRO if facts.unit == "s" else 1.0
    value, low, high = (
        scale * float(e) for e in (facts.mean.value, facts.mean.low, facts.mean.high)
    )
    if facts.quantiles is None:
        if facts.mean.too_small:
            return ["-"]
        if facts.is_set:
            return [f"{value:.0f}"]
        return [plus_minus(value, (high - low) / 2)]
    first, middle, last = (show_number(scale * q) for q in facts.quantiles)
    return [middle, f"{first}-{last}", plus_minus(value, (high - low) / 2)]


def _position(results: Results, spot: Spot) -> str:
    if not results.axis:
        return ""
    value = spot.place.coordinates[results.axis]
    text = results.along.text(value)
    return text.replace("$", "").replace("{", "").replace("}", "") if "^{" in text else text


def _quiet(spot: Spot) -> str:
    return show_seconds(float(quiet_ticks(spot.place.cells[0].case)[-1]) / TICKS_PER_SECOND)


def _matrices(results: Results) -> list[Table]:
    x, y = along.number_axes(results.study)[:2]
    header = f"{along.axis_title(results.study, y)} /\n{along.axis_title(results.study, x)}"
    found = []
    for grid in grids(results, x, y, results.names):
        columns = [text.strip("$").replace("{", "").replace("}", "") for text in grid.x_texts]
        for name in results.names:
            rows = []
            for j in reversed(range(len(grid.y))):
                marks = zip(grid.values[name][j], grid.unsure[name][j], grid.unmet[name][j],
                            strict=True)  # fmt: skip
                cells = [
                    "" if value != value else short(value) + "?" * bool(u) + "*" * bool(m)
                    for value, u, m in marks
                ]
                rows.append([grid.y_texts[j], *cells])
            title = ", ".join(part for part in (grid.titles[name], grid.label) if part)
            found.append(Table(title, [header, *columns], rows))
    return found
