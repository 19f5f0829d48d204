"""What must hold in a study before anything of it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..fields import shorten
from ..observables.observable import NOISE_FREE
from . import derived
from .axes import Axis
from .budget import Budget
from .casetable import leaves

Groups = dict[str, list[list[str]]]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_OBSERVABLE = re.compile(r"[^\W_]([\w ./-]*\w)?")
_RESERVED = (
    "observable", "statistic", "target", "variant", "unit", "value", "estimate", "low", "high",
    "confidence", "realizations", "exact", "met", "relative_error", "target_error", "chosen_T",
)  # fmt: skip


def check_texts(study: Any) -> None:
    """Raise ValueError for a bad name, title, source, figure, claim or axis."""
    for key in ("name", "title", "source", "figure"):
        if not isinstance(getattr(study, key), str):
            raise ValueError(f"{key} must be text, got {shorten(getattr(study, key))}")
    check_name(study.name)
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
    """Raise ValueError for a name that is taken, or that could not be told apart later."""
    names = [axis.name for axis in study.axes]
    for name in names:
        if name in _RESERVED:
            raise ValueError(
                f"axes.{name}: tables of results have a column of that name; name the axis "
                f"otherwise, with path = {name!r} if that is the field"
            )
        if names.count(name) > 1:
            raise ValueError(f"axes.{name} is there twice")
    for variant in study.variants:
        if not variant.label.strip() or variant.label == NOISE_FREE:
            raise ValueError(f"variants: {variant.label!r} can not be the name of one")
    for name in study.observables:
        if not _OBSERVABLE.fullmatch(name):
            raise ValueError(
                "observables: a name must be letters, digits, spaces, '_', '.', '-', '/'; "
                f"got {shorten(name)}"
            )


def groups_of(study: Any) -> Groups:
    """For every axis and the variants: the paths that each of its points sets."""
    groups: Groups = {
        f"axes.{axis.name}": [[*point.settings, *axis.by] for point in axis.points]
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
                if derived.reads(axis.rule, axis.by, path):
                    raise ValueError(
                        f"variants.{variant.label} sets {path!r}, from which axes.{axis.name} "
                        f"({axis.rule}) is derived: its values would not hold there"
                    )


def check_budget(study: Any) -> None:
    """Raise ValueError if there is no budget, or the base case is one that a study can not run."""
    if study.budget is None:
        why = ", and targets need one, as they may never be met" if study.targets else ""
        raise ValueError(
            f"the budget is missing{why}: [realizations] with max = ..., in Python "
            "budget = Budget(max=...)"
        )
    if not isinstance(study.budget, Budget):
        raise ValueError(f"budget must be a Budget(max=...), got {shorten(study.budget)}")
    observe = study.case.get("observe", "completion")
    if observe in ("rounds", "rank 0"):
        raise ValueError(
            f"case: observe must be 'completion' or 'spread' in a study, got {observe!r}"
        )


def covered(base: Mapping[str, Any], groups: Groups) -> set[str]:
    """The plain values of a case that every point of some group replaces."""
    return {
        leaf
        for leaf in leaves(base)
        if any(points and all(_covers(p, leaf) for p in points) for points in groups.values())
    }


def _covers(paths: Iterable[str], leaf: str) -> bool:
    return any(leaf == path or leaf.startswith(f"{path}.") for path in paths)
