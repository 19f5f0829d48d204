"""Two axes of a study as grids of means, with what is not certain about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..studies.study import axis_unit
from ..units import parse_seconds, show_seconds
from . import figures
from .along import Along, axis_values
from .facts import Facts
from .results import Results, Spot

WIDE = 0.1  # an interval that reaches farther than this share of its mean is called uncertain


@dataclass(frozen=True)
class Grid:
    """Means of observables over two axes, shape (y, x); NaN where there is nothing.

    `unsure` says where a mean is known to less than ± 10 %, and where a gain's interval holds 1
    (no winner); `unmet` where a target was missed.
    `reach` is the longer side of the interval.
    `kinds` is "slowdown", "gain", "T" or "other".
    """

    label: str
    x: list[Any]
    y: list[Any]
    x_texts: list[str]
    y_texts: list[str]
    values: dict[str, npt.NDArray[np.float64]]
    reach: dict[str, npt.NDArray[np.float64]]
    unsure: dict[str, npt.NDArray[np.bool_]]
    unmet: dict[str, npt.NDArray[np.bool_]]
    kinds: dict[str, str]
    units: dict[str, str]
    titles: dict[str, str]


def grids(results: Results, x: str, y: str, names: list[str]) -> list[Grid]:
    """A grid for each place on the axes other than `x` and `y`."""
    groups: dict[str, list[Spot]] = {}
    for spot in results.spots:
        groups.setdefault(results.label(spot, without=(x, y)), []).append(spot)
    values = axis_values(results.study)
    across, up = sorted(values[x]), sorted(values[y])
    found = [_grid(results, label, spots, (x, across), (y, up), names)
             for label, spots in groups.items()]  # fmt: skip
    for name in names:
        _rescale(found, name)
    return found


def _rescale(found: list[Grid], name: str) -> None:
    """Times in the unit of the longest, the same in all grids."""
    longest = max(np.nanmax(grid.values[name], initial=0.0) for grid in found)
    if longest <= 0 or all(grid.units[name] != "s" for grid in found):
        return
    unit = show_seconds(longest).split()[1]
    for grid in found:
        grid.values[name] /= parse_seconds(f"1{unit}")
        grid.reach[name] /= parse_seconds(f"1{unit}")
        grid.titles[name] += f", {unit}"


def _grid(
    results: Results,
    label: str,
    spots: list[Spot],
    x: tuple[str, list[Any]],
    y: tuple[str, list[Any]],
    names: list[str],
) -> Grid:
    shape = len(y[1]), len(x[1])
    found = {name: np.full(shape, np.nan) for name in names}
    reach = {name: np.full(shape, np.nan) for name in names}
    unsure = {name: np.zeros(shape, dtype=bool) for name in names}
    unmet = {name: np.zeros(shape, dtype=bool) for name in names}
    kinds = {name: kind_of(results, name) for name in names}
    units = dict.fromkeys(names, "")
    rows, columns = ({value: i for i, value in enumerate(axis[1])} for axis in (y, x))
    for spot in spots:
        place = spot.place.coordinates
        at = rows[place[y[0]]], columns[place[x[0]]]
        for name in names:
            facts = spot.facts.get(name)
            if facts is None:
                continue
            found[name][at] = float(facts.mean.value)
            value, low, high = (float(getattr(facts.mean, e)) for e in ("value", "low", "high"))
            reach[name][at] = max(high - value, value - low)
            unsure[name][at] = _unsure(facts, kinds[name])
            unmet[name][at] = name in spot.unmet
            units[name] = facts.unit
    along = [Along(values, axis_unit(results.study, name)) for name, values in (x, y)]
    texts = [[one.text(value) for value in one.values] for one in along]
    titles = {name: title_of(results, name) for name in names}
    return Grid(label, x[1], y[1], *texts, found, reach, unsure, unmet, kinds, units, titles)


def _unsure(facts: Facts, kind: str) -> bool:
    low, high = float(facts.mean.low), float(facts.mean.high)
    if kind == "T":  # more exchanges than needed do no harm: there is no largest that is best
        return False
    return facts.relative > WIDE or (kind == "gain" and low <= 1 <= high)


def kind_of(results: Results, name: str) -> str:
    """What colours and marks an observable gets: "slowdown", "gain", "T" or "other"."""
    kind = figures.kind_of(results.study, name)
    return {"slowdown": "slowdown", "gain": "gain", "optimal_T": "T"}.get(kind, "other")


def title_of(results: Results, name: str) -> str:
    """The name of an observable above its map."""
    title = name.replace("_", " ")
    if kind_of(results, name) == "T":
        return f"{title}: the smallest not told from the best"
    return title
