"""The main numbers of a study as tables, one for each observable."""

from __future__ import annotations

from ..results.main_numbers import Facts
from ..results.number_text import interval, show_number, show_ranks
from ..results.results import Results, Spot
from ..results.study_axes import axis_title
from ..units import show_seconds
from .model import Table

_NONE = "–"


def tables(results: Results) -> tuple[Table, ...]:
    """A table for each observable: every cell that has data of it, in the study's order.

    An observable of each cycle or each T is one table, with the cycle or T as a column.
    """
    groups: dict[str, list[str]] = {}
    for name in results.columns:
        groups.setdefault(name.partition(", ")[0], []).append(name)
    found = [_table(results, group, names) for group, names in groups.items()]
    return tuple(table for table in found if table.rows)


def _table(results: Results, group: str, names: list[str]) -> Table:
    axes = [axis.name for axis in results.study.axes]
    known = [
        (spot, name, spot.facts[name])
        for spot in results.spots
        for name in names
        if name in spot.facts
    ]
    rows = [
        (
            *(_label(spot, axis) for axis in axes),
            name.partition(", ")[2],
            f"{facts.realizations:,}",
            "" if facts.T is None else str(facts.T),
            interval(facts.mean, ".4g", facts.unit),
            *_spread(facts),
            _target(results, spot, name),
        )
        for spot, name, facts in known
    ]
    header = (
        *(axis_title(results.study, axis) for axis in axes),
        "of",
        "realizations",
        "best T",
        _what(known[0][2]) if known else "",
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


def _what(facts: Facts) -> str:
    """The statistic of a table, with the confidence of its interval."""
    return f"{facts.statistic} [{100 * facts.mean.confidence:.6g} %]"


def _label(spot: Spot, axis: str) -> str:
    return show_ranks(spot.ranks) if axis == "ranks" else spot.place.labels[axis]


def _spread(facts: Facts) -> tuple[str, str]:
    """Median and range of single realizations, where they have a value."""
    if facts.quantiles is None:
        return _NONE, _NONE
    show = (lambda value: show_seconds(value, 3)) if facts.unit == "s" else show_number
    low, middle, high = map(show, facts.quantiles)
    return middle, f"{low} – {high}"


def _target(results: Results, spot: Spot, name: str) -> str:
    if all(target.column != name for target in results.study.targets):
        return ""
    return "missed" if name in spot.unmet else "met"
