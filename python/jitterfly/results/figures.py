"""Axes of figures and tables (ticks, scale, labels), and kinds of figures: what each needs.

A kind is a name in `studies.study.FIGURES`, and in `plots.draw` the module that draws it.
Other packages add a `FigureKind` (`extensions`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from .. import extensions
from ..fields import check_choice, first_few, is_number, parameter
from ..observables import OF_A_CYCLE, Observable, Target
from ..studies import Study, axis_unit, value_text
from ..studies.study import FIGURES, check_figure_name

_LOG_RANKS_FROM = 4.0  # times the fewest: a collective's steps grow with the logarithm


def numeric(values: Sequence[Any]) -> bool:
    """Return whether an axis has numbers as its values, all different."""
    return all(is_number(value) for value in values) and len(set(values)) == len(values)


@lru_cache(maxsize=8)
def axis_values(study: Study) -> dict[str, list[Any]]:
    """The values of each axis, in the study's order; not to be changed."""
    values: dict[str, dict[Any, None]] = {axis.name: {} for axis in study.axes}
    for cell in study.cells():
        for name, value in cell.coordinates.items():
            values[name][value] = None
    return {name: list(found) for name, found in values.items()}


def number_axes(study: Study) -> list[str]:
    """Axes of at least two numbers: the ranks first, then the longest."""
    found = {
        name: values
        for name, values in axis_values(study).items()
        if len(values) > 1 and numeric(values)
    }
    return sorted(found, key=lambda name: (name != "ranks", -len(found[name])))


def main_axis(study: Study) -> str:
    """The axis that curves run along; without numbers, the longest; "" without axes."""
    numbers = number_axes(study)
    if numbers:
        return numbers[0]
    values = axis_values(study)
    if "ranks" in values:
        return "ranks"
    return max(values, key=lambda name: len(values[name]), default="")


def ascending(cells: Sequence[Any], axis: str) -> list[Any]:
    """Cells in the order of their numbers on an axis; of texts, in the study's order."""
    if axis and numeric([cell.coordinates[axis] for cell in cells]):
        return sorted(cells, key=lambda cell: cell.coordinates[axis])
    return list(cells)


def axis_title(study: Study, name: str) -> str:
    """Return what an axis is called in a picture: `T_comm / D`, `duration`."""
    for axis in study.axes:
        if axis.name == name and axis.rule:
            return str(axis.rule)
    return name


def label_of(study: Study, name: str, label: str) -> str:
    """A value of an axis for a title: a named point by its name, a number with the axis's."""
    unit = axis_unit(study, name)
    if not unit and not _is_numeric(study, name):
        return label
    shown = value_text(_values_by_text(study, name).get(label, label), unit) if unit else label
    return f"{axis_title(study, name)} = {shown}"


@lru_cache(maxsize=64)
def _values_by_text(study: Study, name: str) -> dict[str, Any]:
    return {str(value): value for value in axis_values(study)[name]}


@lru_cache(maxsize=64)
def _is_numeric(study: Study, name: str) -> bool:
    return numeric(axis_values(study)[name])


class AxisScale:
    """The scale on which the values of an axis are drawn: powers of two, decades, numbers, texts.

    `unit` is that of the values: "s", "s/B", "B" or "". `exponents`: powers of two are told as
    2^10, where all are such and have no unit. Positive numbers are on a logarithmic axis where the
    largest is at least `log_from` times the smallest.
    """

    def __init__(
        self, values: Sequence[Any], unit: str = "", exponents: bool = True, log_from: float = 20.0
    ):
        self.values = list(values)
        self.unit = unit
        positive = numeric(self.values) and min(self.values) > 0
        powers = positive and all(isinstance(v, int) and v & (v - 1) == 0 for v in self.values)
        if not numeric(self.values):
            self.scale = "text"
        elif powers:
            self.scale = "log2"
        elif positive and max(self.values) / min(self.values) >= log_from:
            self.scale = "log10"
        else:
            self.scale = "linear"
        self.exponents = exponents and self.scale == "log2" and not unit

    @property
    def positions(self) -> list[float]:
        """The position of each value."""
        return [self.position(value) for value in self.values]

    def position(self, value: Any) -> float:
        """Return where a value is."""
        if self.scale == "text":
            return float(self.values.index(value))
        if self.scale == "log2":
            return math.log2(value)
        return math.log10(value) if self.scale == "log10" else float(value)

    def text(self, value: Any) -> str:
        """A value at its tick."""
        if self.exponents:
            return f"$2^{{{round(math.log2(value))}}}$"
        if self.scale == "text" and not self.unit:
            return str(value)
        return value_text(value, self.unit)

    def plain(self, value: Any) -> str:
        """A value in a table or a sentence: `text` without signs of a formula."""
        text = self.text(value)
        return without_formula(text) if self.exponents else text

    @property
    def ticks(self) -> tuple[list[float], list[str]]:
        """Positions and texts of at most about nine ticks."""
        shown = self.values if self.scale == "text" else self.values[:: -(-len(self.values) // 9)]
        return [self.position(value) for value in shown], [self.text(value) for value in shown]


def scale_of(study: Study, name: str, values: Sequence[Any]) -> AxisScale:
    """Choose where values of an axis are drawn; points named by numbers keep their names."""
    named = any(axis.name == name and not (axis.path or axis.rule) for axis in study.axes)
    of_ranks = any(axis.name == name and "ranks" in (axis.name, axis.path) for axis in study.axes)
    log_from = {"log_from": _LOG_RANKS_FROM} if of_ranks else {}
    return AxisScale(values, axis_unit(study, name), not named, **log_from)


def show_ranks(ranks: int) -> str:
    """`2^14`, or `6000` for what is no power of two."""
    return str(ranks) if ranks & (ranks - 1) else f"2^{ranks.bit_length() - 1}"


def without_formula(text: str) -> str:
    """A text at a tick, such as $2^{10}$, without the signs that make it a formula."""
    return text.strip("$").replace("{", "").replace("}", "")


_T = TypeVar("_T")


def evenly(items: Sequence[_T], most: int) -> list[_T]:
    """Choose at most `most` items at even distances, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    if most == 1:
        return [items[0]]
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def thinned(labels: Mapping[str, Sequence[str]], most: int) -> dict[str, list[str]]:
    """Values of each axis, evenly, so that their product has at most `most` settings.

    Then each that is shown has others that differ from it in one axis alone.

    Examples
    --------
    >>> thinned({"T": ["0", "1", "2", "3"], "D": ["a", "b", "c", "d", "e"]}, 6)
    {'T': ['0', '3'], 'D': ['a', 'c', 'e']}
    """
    counts = {axis: len(values) for axis, values in labels.items()}
    while math.prod(counts.values()) > most:
        counts[max(counts, key=lambda axis: counts[axis])] -= 1
    return {axis: evenly(values, counts[axis]) for axis, values in labels.items()}


_MAX_NAMED = 4  # values of an axis that are left out


def axis_values_left_out(study: Study, shown: Mapping[str, Sequence[str]]) -> str:
    """Say for a subtitle what is not shown of axes: `left out: T = 1, 2; D = 5 µs`; or ""."""
    parts = []
    for axis in study.axes:
        if axis.name not in shown or len(shown[axis.name]) == len(axis.values):
            continue
        values = {cell.labels[axis.name]: cell.coordinates[axis.name] for cell in study.cells()}
        unit = axis_unit(study, axis.name)
        gone = [
            value_text(value, unit) if unit else label
            for label, value in values.items()
            if label not in shown[axis.name]
        ]
        if gone:
            parts.append(f"{axis_title(study, axis.name)} = {first_few(gone, _MAX_NAMED)}")
    way = parameter("where", here=False)
    return f"left out: {'; '.join(parts)} ({way} picks others)" if parts else ""


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
    return "maps" if len(number_axes(study)) == 2 else "curves"


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


def quantity(study: Study, name: str) -> str:
    """The title of an axis or panel: what a column is, and its name where that does not say so.

    Its unit stands at the ticks.
    """
    kind, told = (text.replace("_", " ") for text in (kind_of(study, name), name))
    return told if kind in told else f"{kind} ({told})"


def variant_of(study: Study, name: str) -> str:
    """The variant of a column that is otherwise as usual; "" if none is."""
    observable = _observable_of(study, name)
    variant = getattr(observable, "variant", "")
    if observable is None or not variant:
        return ""
    usual = Observable.from_dict({"kind": observable.kind, "variant": variant})
    return str(variant) if observable == usual else ""


def _target_of(study: Study, name: str) -> Target | None:
    return next((target for target in study.targets if target.column == name), None)


def _observable_of(study: Study, name: str) -> Observable | None:
    """Return the observable of a column, which may be of a target; None without one."""
    target = _target_of(study, name)
    name = name if target is None else target.observable
    known = study.observables
    for key in sorted(known, key=len, reverse=True):
        if name == key or name.startswith(f"{key}, "):
            return known[key]
    return None


def _check_needs(study: Study, figure: str, observable: str | None) -> None:
    """Raise ValueError if the study has not the axes or observables of a figure."""
    numbers = number_axes(study)
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
