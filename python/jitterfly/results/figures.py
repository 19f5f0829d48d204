"""Kinds of figures: what each needs of a study; grids of maps.

A kind is a name in `studies.validation.FIGURES`, and in `plots.draw` the module that draws it.
Other packages add a `FigureKind` (`extensions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import extensions
from ..fields import check_choice
from ..observables import OF_A_CYCLE, Observable, Target
from ..studies import Study
from ..studies.validation import FIGURES, check_figure_name
from ..units import parse_seconds, show_seconds
from . import figure_axes
from .figure_axes import axis_values, scale_of
from .main_numbers import MainNumbers
from .results import Results

#: Those that show one observable as well as several.
OF_ONE = ("maps", "curves", "family", "each_cycle", "distribution", "histogram", "tail")


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure that another package adds.

    Attributes
    ----------
    module : str
        The module with the function ``draw_NAME(results, observable)`` of the kind NAME, which
        returns a figure of matplotlib.
    check : callable
        Raises ValueError if a study is not what the figure needs.
    of_one : bool
        Whether it shows one observable as well as several.
    """

    module: str
    check: Callable[[Study], None]
    of_one: bool = False


def figure_kind(study: Study) -> str:
    """The figure that a study asks for; without one, maps over two axes of numbers, or curves."""
    if study.figure:
        return str(study.figure)
    return "maps" if len(figure_axes.number_axes(study)) == 2 else "curves"


def check_figure(study: Study, kind: str | None = None, observable: str | None = None) -> None:
    """Raise if a figure is not known, or the study is not what it needs.

    Parameters
    ----------
    kind : str, optional
        Instead of the study's own.
    observable : str, optional
        The only one to be shown.

    Raises
    ------
    ValueError
        With the name of the file.
    """
    if kind:
        check_figure_name(kind, "kind")
    name = kind or figure_kind(study)
    try:
        check_figure_name(name)
        added = None if name in FIGURES else extensions.load(extensions.FIGURES, name)
        if observable is not None:
            shown_names(study, observable)
            if not (added.of_one if added else name in OF_ONE):
                raise ValueError(
                    f"figure {name!r} shows its own observables, so give none; "
                    f"{', '.join(OF_ONE)} show one"
                )
        if added:
            added.check(study)
        else:
            _check_needs(study, name, observable)
    except ValueError as error:
        raise study.error(str(error)) from None


def observables(study: Study) -> list[str]:
    """List what a figure can show: all observables, with those of each T or cycle, and targets."""
    names = [name for cell in study.cells() for name in study.families(cell)]
    return list(dict.fromkeys([*names, *(target.column for target in study.targets)]))


def shown_names(study: Study, observable: str) -> list[str]:
    """List what a figure of one observable shows: it alone, or all of its cycles (or T).

    Raises
    ------
    ValueError
        There is none of that name.
    """
    known = observables(study)
    each = [name for name in known if name.startswith(f"{observable}, ")]
    if observable in study.observables and observable not in known and each:
        return each
    return [check_choice(observable, "observable", known)]


def names_by_cycle(names: Iterable[str], observable: str | None) -> dict[str, dict[int, str]]:
    """Return names by cycle, of observables (and T) that have one for each, or of one of them."""
    found: dict[str, dict[int, str]] = {}
    for name in names:
        match = OF_A_CYCLE.fullmatch(name)
        if match and (observable is None or name.startswith(f"{observable}, ")):
            found.setdefault(match["observable"], {})[int(match["cycle"])] = name
    return {name: dict(sorted(of.items())) for name, of in found.items() if len(of) > 1}


def kind_of(study: Study, name: str) -> str:
    """The kind of the observable `name`, which may be one of those for each T or cycle.

    A target's column has the kind of its observable, but for a probability.
    """
    target = _target_of(study, name)
    if target is not None and target.statistic == "win probability":
        return target.statistic
    observable = _observable_of(study, name)
    return "" if observable is None else str(observable.kind)


def variant_of(study: Study, name: str) -> str:
    """The variant of a column of which all else is as usual; "" where there is no such one."""
    observable = _observable_of(study, name)
    variant = getattr(observable, "variant", "")
    if observable is None or not variant:
        return ""
    usual = Observable.from_dict({"kind": observable.kind, "variant": variant})
    return str(variant) if observable == usual else ""


def _target_of(study: Study, name: str) -> Target | None:
    return next((target for target in study.targets if target.column == name), None)


def _observable_of(study: Study, name: str) -> Observable | None:
    target = _target_of(study, name)
    name = name if target is None else target.observable
    known = study.observables
    for key in sorted(known, key=len, reverse=True):
        if name == key or name.startswith(f"{key}, "):
            return known[key]
    return None


def named(study: Study, kind: str) -> list[str]:
    """Names of the observables of a kind, in the study's order."""
    return [name for name, observable in study.observables.items() if observable.kind == kind]


def _check_needs(study: Study, figure: str, observable: str | None) -> None:
    """Raise ValueError if the study has not the axes or observables of a figure."""
    numbers = figure_axes.number_axes(study)
    if figure == "maps" and len(numbers) < 2:
        raise ValueError(
            "figure 'maps' needs two axes of at least two numbers each, "
            f"got {', '.join(numbers) or 'none'}; 'curves' needs one"
        )
    if figure == "family" and not numbers:
        raise ValueError("figure 'family' needs an axis of at least two numbers")
    if figure == "each_cycle" and not names_by_cycle(observables(study), observable):
        raise ValueError(
            "figure 'each_cycle' needs an observable with cycle = \"each\", and several cycles"
        )


WIDE = 0.1  # an interval that reaches farther than this share of its mean is called uncertain


@dataclass
class GridMap:
    """Means of one observable over two axes, shape (y, x); NaN where there is nothing.

    `unsure` says where a mean is known to less than ± 10 %, and where a gain's interval holds 1
    (no winner); `unmet` where a target was missed.
    `half_widths` is the longer side of the interval.
    `kind` is "slowdown", "gain", "T" or "other": what colours and marks there are.
    """

    title: str
    kind: str
    values: npt.NDArray[np.float64]
    half_widths: npt.NDArray[np.float64]
    unsure: npt.NDArray[np.bool_]
    unmet: npt.NDArray[np.bool_]
    unit: str = ""

    @classmethod
    def empty(cls, study: Study, name: str, shape: tuple[int, int]) -> GridMap:
        """The map of an observable before anything is known."""
        kinds = {"slowdown": "slowdown", "gain": "gain", "cycle_gain": "gain", "optimal_T": "T"}
        kind = kinds.get(kind_of(study, name), "other")
        title = name.replace("_", " ") + ": the smallest not told from the best" * (kind == "T")
        numbers, marks = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        return cls(title, kind, numbers, numbers.copy(), marks, marks.copy())

    def put(self, at: tuple[int, int], facts: MainNumbers, unmet: bool) -> None:
        """Enter what is known in a cell."""
        self.values[at] = float(facts.mean.value)
        self.half_widths[at] = facts.half
        self.unsure[at] = _unsure(facts, self.kind)
        self.unmet[at] = unmet
        self.unit = facts.unit


@dataclass(frozen=True)
class Grid:
    """The maps of observables by their names, and the texts at the ticks of both axes."""

    label: str
    x_texts: list[str]
    y_texts: list[str]
    maps: dict[str, GridMap]


def grids(results: Results, x: str, y: str, names: list[str]) -> list[Grid]:
    """A grid for each combination on the axes other than `x` and `y`."""
    study, values = results.study, axis_values(results.study)
    scales = [scale_of(study, axis, sorted(values[axis])) for axis in (x, y)]
    x_texts, y_texts = ([scale.text(value) for value in scale.values] for scale in scales)
    columns, rows = ({value: i for i, value in enumerate(scale.values)} for scale in scales)
    made = []
    for label, cells in results.groups((x, y)).items():
        maps = {name: GridMap.empty(study, name, (len(rows), len(columns))) for name in names}
        for cell in cells:
            at = rows[cell.coordinates[y]], columns[cell.coordinates[x]]
            for name, one in maps.items():
                if name in cell.facts:
                    one.put(at, cell.facts[name], name in cell.unmet)
        made.append(Grid(label, x_texts, y_texts, maps))
    for name in names:
        _rescale([grid.maps[name] for grid in made])
    return made


def _rescale(maps: list[GridMap]) -> None:
    """Times in the unit of the longest (of either sign), the same in all maps of an observable."""
    longest = max(np.nanmax(np.abs(one.values), initial=0.0) for one in maps)
    if longest <= 0 or all(one.unit != "s" for one in maps):
        return
    unit = show_seconds(longest).split()[1]
    for one in maps:
        one.values /= parse_seconds(f"1{unit}")
        one.half_widths /= parse_seconds(f"1{unit}")
        one.title += f", {unit}"


def _unsure(facts: MainNumbers, kind: str) -> bool:
    if kind == "T":  # more exchanges than needed do no harm: there is no largest that is best
        return False
    is_one = bool(facts.mean.low <= 1 <= facts.mean.high)
    return facts.relative > WIDE or (kind == "gain" and is_one)
