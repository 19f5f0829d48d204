"""Checks of a study before it runs: names, paths, budget, observables, targets.

Unknown keys of its TOML are refused in `toml`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import contains
from typing import Any

from .. import extensions
from ..fields import check_choice, counted, did_you_mean, shorten, show_number
from ..observables import (
    NOISE_FREE,
    Completion,
    CycleSlowdown,
    CycleTime,
    Observable,
    OfCycles,
    Select,
    Slowdown,
    Target,
    read_observable,
)
from ..schedule.schedule import is_pattern
from .axes import Axis, Frozen, leaves, rule_reads
from .grid import Cell, RealizationBudget

Groups = dict[str, list[list[str]]]

#: What a study may ask for with `figure`, or `plot`. Other packages add kinds (`extensions`).
FIGURES = ("maps", "curves", "family", "each_cycle", "distribution", "histogram", "tail")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_OBSERVABLE = re.compile(r"[^\W_]([\w ./-]*\w)?")
_LETTERS = "letters, digits, spaces, '_', '.', '-', '/'"
_RESERVED = (
    "observable", "statistic", "target", "variant", "unit", "value", "estimate", "low", "high",
    "confidence", "realizations", "exact", "met", "complete", "relative_error", "target_error",
    "chosen_T", "seed", "version",
)  # fmt: skip


def check_figure_name(name: Any, field: str = "figure") -> None:
    """Raise ValueError for a kind of figure that is not known."""
    if name not in FIGURES:
        check_choice(name, field, (*FIGURES, *extensions.names(extensions.FIGURES)))


def check_texts(study: Any) -> None:
    """Raise ValueError for a bad name, title, source, figure, claim or axis."""
    for key in ("name", "title", "source", "figure"):
        if not isinstance(getattr(study, key), str):
            raise ValueError(f"{key} must be text, got {shorten(getattr(study, key))}")
    check_name(study.name)
    if study.figure:
        check_figure_name(study.figure)
    for claim in study.claims:
        if not isinstance(claim, str):
            raise ValueError(f"claims must be a list of names, got {shorten(claim)} in it")
    for axis in study.axes:
        if not isinstance(axis, Axis):
            raise ValueError(f"axes must be a list of Axis(...), got {shorten(axis)} in it")


def check_name(name: str) -> None:
    """Raise ValueError for a name of a study that is not one of a file, too."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"name must be letters, digits, '_', '.', '-'; got {shorten(name)}")


def check_names(study: Any) -> None:
    """Raise ValueError for a name that is taken, or ambiguous in results."""
    names = [axis.name for axis in study.axes]
    for axis in study.axes:
        name = axis.name
        if name in _RESERVED:
            field = f", with path = {name!r} if that is the field" if axis.path == name else ""
            raise ValueError(
                f"axes.{name}: tables of results have a column of that name; name the axis "
                f"otherwise{field}"
            )
        if names.count(name) > 1:
            raise ValueError(f"axes.{name} is there twice")
    for variant in study.variants:
        if not variant.label.strip() or variant.label == NOISE_FREE:
            raise ValueError(f"variants: {variant.label!r} can not be the name of one")
    for name in study.observables:
        if not _OBSERVABLE.fullmatch(name):
            raise ValueError(f"observables: a name must be {_LETTERS}; got {shorten(name)}")


def groups_of(study: Any) -> Groups:
    """The paths that each point sets, for every axis and the variants."""
    groups: Groups = {
        f"axes.{axis.name}": [[*point.settings, *axis.by] for point in axis.values]
        for axis in study.axes
    }
    if study.variants:
        groups["variants"] = [list(point.settings) for point in study.variants]
    return groups


def check_paths(study: Any, groups: Groups) -> None:
    """Raise ValueError if a field is set by two groups, since one of the two would be lost."""
    owner: dict[str, str] = {}
    for name, points in groups.items():
        for path in dict.fromkeys(path for point in points for path in point):
            if path.split(".")[0] == "observe":
                raise ValueError(f"{name}: the field 'observe' follows from the observables")
            for other, whose in owner.items():
                nested = path.startswith(f"{other}.") or other.startswith(f"{path}.")
                if (path == other or nested) and whose != name:
                    raise ValueError(f"{name} and {whose} both set the field {path!r}")
            owner.setdefault(path, name)
    for axis in study.axes:
        for variant in study.variants if axis.rule else ():
            for path in variant.settings:
                if rule_reads(axis.rule, axis.by, path):
                    raise ValueError(
                        f"variants.{variant.label} sets {path!r}, from which axes.{axis.name} "
                        f"({axis.rule}) is derived: its values would not hold there"
                    )


def check_marks(study: Any, groups: Groups) -> None:
    """Raise ValueError for one file of marks with several schedules: it names operations of one."""
    marks = {"the case": [study.case.get("marks")]}
    for axis in study.axes:
        marks[f"axes.{axis.name}"] = [point.settings.get("marks") for point in axis.values]
    marks["variants"] = [variant.settings.get("marks") for variant in study.variants]
    for name, points in groups.items():
        fields = [{path.split(".")[0] for path in paths} for paths in points]
        if not any("schedule" in one and "marks" not in one for one in fields):
            continue
        for other, given in marks.items():
            if other != name and not all(one is None or is_pattern(one) for one in given):
                raise ValueError(
                    f"{name} sets the schedule, and {other} has a file of marks, which name "
                    "operations of one schedule: set marks beside each schedule"
                )


def check_budget(study: Any) -> None:
    """Raise ValueError if there is no budget, or the base case is one that a study can not run."""
    if study.budget is None:
        why = ", and targets need one, as they may never be met" if study.targets else ""
        raise ValueError(
            f"the budget is missing{why}: [realizations] with max = ..., in Python "
            "budget = RealizationBudget(max=...)"
        )
    if not isinstance(study.budget, RealizationBudget):
        raise ValueError(
            f"budget must be a RealizationBudget(max=...), got {shorten(study.budget)}"
        )
    observe = study.case.get("observe", "completion")
    if observe in ("rounds", "rank 0"):
        raise ValueError(
            "case: observe must be 'completion', 'spread', 'arrival' or 'own' in a study, got "
            f"{observe!r}"
        )


def covered(base: Mapping[str, Any], groups: Groups) -> set[str]:
    """The plain values of a case that every point of some group replaces."""
    return {
        leaf
        for leaf in leaves(base)
        if any(points and all(_covers(p, leaf) for p in points) for points in groups.values())
    }


def _covers(paths: Iterable[str], leaf: str) -> bool:
    """Return whether one of the paths is a leaf or lies above it."""
    return any(leaf == path or leaf.startswith(f"{path}.") for path in paths)


def check_observables_and_targets(study: Any) -> None:
    """Raise ValueError for an observable that no cell has, or a target that makes no sense."""
    observables: Mapping[str, Observable] = study.observables
    targets: Sequence[Target] = study.targets
    cells: Sequence[Cell] = study._grid.cells
    owner: dict[str, str] = {}  # observables with "each" have several names

    def look(name: str, enough: Callable[[], bool]) -> None:
        for cell in cells:
            for family in observables[name].resolve(name, cell.cases):
                owner[family.name] = name
            if enough():
                return

    for name, observable in observables.items():
        look(name, partial(contains, owner.values(), name))
        if name not in owner.values() and observables != read_observables({}, study):
            raise ValueError(f"observables.{name}: no cell has {why_absent(observable, cells)}")
    for target in targets:
        wanted = target.observable
        for name in observables:  # a name of one that is made by "each" may need a larger cell
            if wanted not in owner and wanted.startswith(f"{name}, "):
                look(name, partial(contains, owner, wanted))
        if wanted not in owner:
            hint = did_you_mean(wanted, owner)
            raise ValueError(
                f"targets: {str(target)!r} is about {wanted!r}, and the observables are "
                f"{_listed(owner)}{hint}"
            )
        observable = observables[owner[wanted]]
        try:
            observable.check_statistic(target.statistic, wanted)
            observable.check_target(wanted)
            _check_unit(target, wanted, observable.unit)
        except ValueError as error:
            raise ValueError(f"targets: {str(target)!r}: {error}") from None
    pairs = [(target.statistic, target.observable) for target in targets]
    for pair in pairs:
        if pairs.count(pair) > 1:
            raise ValueError(f"targets: {pair[0]} of {pair[1]} is there twice")


def _check_unit(target: Target, name: str, unit: str) -> None:
    """Raise ValueError for a width of seconds of what is no time, or without a unit of a time."""
    if target.absolute is None:
        return
    if target.statistic == "win probability":
        name, unit = f"{target.statistic} of {name}", ""
    if target.unit and not unit:
        raise ValueError(f"{name} is not a time, so ± {show_number(target.absolute)} s is no width")
    if unit and not target.unit:
        raise ValueError(
            f"{name} is a time, so the width must have a unit (s, ms, us, ns) or be in %, "
            f"got {show_number(target.absolute)}"
        )


def _listed(names: Iterable[str], most: int = 12) -> str:
    """Return the names in quotes, at most `most` of them."""
    shown = [repr(name) for name in names]
    more = f", ... ({len(shown)} in all)" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def why_absent(observable: Observable, cells: Sequence[Cell]) -> str:
    """The cause where one field is it, else what was asked for."""
    sides = observable.sides()
    for side, select in sides.items():
        where = f"{side}." if len(sides) > 1 else ""
        if why := _missing(select, cells):
            return f"{where}{why}"
    if isinstance(observable, OfCycles):
        return f"it: {observable.why_none(cells[0].cases)}"
    settings = "; ".join(f"{side}: T = {s.T!r}, cycle = {s.cycle!r}" for side, s in sides.items())
    return f"all of that ({settings}), or {observable.why_none(cells[0].cases)}"


def why_absent_at(observable: Observable, cell: Cell) -> str:
    """The cause in one cell that lacks it."""
    causes = (_missing(select, [cell]) for select in observable.sides().values())
    return next(filter(None, causes), observable.why_none(cell.cases))


def _missing(select: Select, cells: Sequence[Cell]) -> str:
    """Say what none of the cells has; "" where it is not one thing alone."""
    rows = [
        row
        for cell in cells
        for row in cell.cases[select.variant_of(cell.cases, "variant")].completions()
    ]
    most_T, cycles = max(row.T for row in rows), max(row.cycle for row in rows)
    wanted = 1 if select.T == "best" else select.T
    if isinstance(wanted, int) and wanted > most_T:
        asked = f"T = {select.T!r}" + (", which is from 1 on" if select.T == "best" else "")
        if cells[0].of_schedules:
            return f"{asked}: a schedule has T = 0 alone"
        return f"{asked}: algorithm.exchanges_after gives T up to {most_T}"
    if isinstance(select.cycle, int) and select.cycle > cycles:
        if cells[0].of_schedules:
            more = "" if cycles > 1 else "; marks would divide its run"
            return f"cycle = {select.cycle}: the schedule has {counted(cycles, 'cycle')}{more}"
        return f"cycle = {select.cycle}: cycles is up to {cycles}"
    return ""


def read_observables(value: Any, study: Any) -> Frozen:
    """Read observables by name; without any, completion and slowdown of each variant.

    Of a schedule with marks the same of its iterations, too.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"observables must be a table of names, got {shorten(value)}")
    if value:
        return Frozen({str(name): read_observable(name, one) for name, one in value.items()})
    kinds: list[type[Completion | CycleTime]] = [Completion, Slowdown]
    case = study.case
    marks = case.get("marks") if isinstance(case, Mapping) else getattr(case, "marks", None)
    points = [*study.variants, *(point for axis in study.axes for point in axis.values)]
    if marks or any(point.settings.get("marks") for point in points):
        kinds += [CycleTime, CycleSlowdown]
    made: dict[str, Observable] = {}
    for variant in [point.label for point in study.variants] or [""]:
        for kind in kinds:
            name = f"{kind.kind} {variant}".rstrip()
            if not _OBSERVABLE.fullmatch(name):
                raise ValueError(
                    f"variants: where the study has no observables, a name must be {_LETTERS}; "
                    f"got {shorten(variant)}"
                )
            made[name] = kind(variant)
    return Frozen(made)
