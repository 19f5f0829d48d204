"""A study as TOML and as Python has it: what is accepted for each field, and how it is written."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ..case import Case
from ..fields import Component, shorten
from ..observables import Completion, Observable, Slowdown, read_observable
from ..observables.targets import Target
from ..syntax import read_noises
from .axes import Axis, read_axis
from .budget import Budget
from .casetable import Frozen, freeze, get_path, without
from .check import covered
from .points import Point, listed, read_settings
from .tables import STUDY, Table, merge

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class BaseReplaced(UserWarning):
    """A value of the base case is none of any cell: axes or variants set the field."""


def read_variants(value: Any) -> tuple[Point, ...]:
    """Variants by name, each with the fields that it sets by path."""
    if not isinstance(value, Mapping):
        points = tuple(listed(value, "variants"))
        if all(isinstance(point, Point) for point in points):
            return points
        raise ValueError(f"variants must be a table of names, got {shorten(value)}")
    return tuple(
        Point(str(name), read_settings(settings, f"variants.{name}"))
        for name, settings in value.items()
    )


def read_observables(value: Any, variants: tuple[Point, ...]) -> Frozen:
    """Observables by name; where there are none, completion and slowdown of each variant."""
    if not isinstance(value, Mapping):
        raise ValueError(f"observables must be a table of names, got {shorten(value)}")
    if value:
        return Frozen({str(name): read_observable(name, one) for name, one in value.items()})
    made: dict[str, Observable] = {}
    for variant in [point.label for point in variants] or [""]:
        for kind in (Completion, Slowdown):
            made[f"{kind.kind} {variant}".rstrip()] = kind(variant)
    return Frozen(made)


def read_target(value: Any) -> Target:
    """A target, from text too."""
    try:
        return value if isinstance(value, Target) else Target.parse(value)
    except ValueError as error:
        raise ValueError(f"targets: {error}") from None


def read_base(value: Any, groups: Mapping[str, Any]) -> Frozen:
    """The base case as a table.

    What axes replace is left out. A `Case`, and a network or noise in a table, must hold all values
    even so; of what was written without need, a warning tells.
    """
    if not isinstance(value, (Case, Mapping)):
        raise ValueError(f"case must be a Case or a table, got {shorten(value)}")
    whole = isinstance(value, Case)
    if isinstance(value, Case):
        value = value.to_dict()
    elif "noise" in value:
        value = {**value, "noise": read_noises(value["noise"])}
    table = freeze(value, "case")
    unused = covered(table, groups)
    written = [
        path
        for path in unused
        if not whole
        and get_path(table, path) != {}  # makes room in a list, for an axis to fill
        and not any(isinstance(part, Component) for part in _along(value, path))
    ]
    for path in sorted(written):
        warnings.warn(
            f"case: {path!r} is set by an axis or by all variants, too: its value here counts for "
            "nothing",
            BaseReplaced,
            stacklevel=4,
        )
    if whole and table["observe"] == "completion":
        unused.add("observe")
    return without(table, unused)


def _along(table: Any, path: str) -> Iterator[Any]:
    """What lies on the way to a field."""
    for part in path.split("."):
        if isinstance(table, Mapping):
            table = table[part]
        elif isinstance(table, (list, tuple)):
            table = table[int(part)]
        yield table


def read_toml(text: str) -> dict[str, Any]:
    """What a TOML text holds; ValueError if it is none."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # tomllib's own, and an integer of thousands of digits
        raise ValueError(f"not valid TOML: {error}") from None
    except RecursionError:
        raise ValueError("not valid TOML: nested too deeply") from None


def read_study(text: str, full: bool) -> dict[str, Any]:
    """The arguments of `Study` that a TOML text holds."""
    data = read_toml(text)
    override = data.pop("full", None)
    if full and override is None:
        raise ValueError("this study has no [full] table, so --full would change nothing")
    if override is not None:
        merged = merge(data, Table(override, "full").data, "full")
        data = merged if full else data
    table = Table(data, STUDY)
    values = {
        "name": table.take("name", str),
        "title": table.take("title", str, ""),
        "source": table.take("source", str, ""),
        "figure": table.take("figure", str, ""),
        "claims": table.take("claims", list, []),
        "seed": table.take("seed", int, 0),
        "case": table.take("case", dict),
        "axes": [read_axis(name, axis) for name, axis in table.take("axes", dict, {}).items()],
        "variants": table.take("variants", dict, {}),
        "observables": table.take("observables", dict, {}),
        "targets": table.take("targets", list, []),
        "budget": _read_budget(table.take("realizations", dict, None)),
    }
    table.finish()
    return values


def _read_budget(data: Any) -> Budget | None:
    if data is None:
        return None  # the study says what it means that there is none
    table = Table(data, "realizations")
    table.asked.update(("min", "max", "rank_rounds", "raw_bytes"))
    table.finish()
    return Budget(**data)


def to_table(study: Any, *, run: bool = True) -> dict[str, Any]:
    """A study as a table; without `run`, leaving out how it is run: seed, targets and budget."""
    table: dict[str, Any] = {"name": study.name}
    for key in ("title", "source", "figure", "claims"):
        if getattr(study, key):
            table[key] = getattr(study, key)
    if run:
        table |= {"seed": study.seed}
        table |= {"targets": [str(target) for target in study.targets]} if study.targets else {}
        table |= {"realizations": study.budget.to_dict()}
    table["case"] = study.case
    axes: tuple[Axis, ...] = study.axes
    parts = {
        "axes": {axis.name: axis.to_dict() for axis in axes},
        "variants": {point.label: point.settings for point in study.variants},
        "observables": {name: one.to_dict() for name, one in study.observables.items()},
    }
    return table | {key: value for key, value in parts.items() if value}


def describe(study: Any) -> str:
    """One text for equal studies, whatever their seed, targets and budget."""
    order = [[axis.name for axis in study.axes], [point.label for point in study.variants]]
    return json.dumps([order, to_table(study, run=False)], sort_keys=True, default=dict)


def to_toml(study: Any) -> str:
    """A study as TOML."""
    import tomli_w  # only studies made in Python need it

    return tomli_w.dumps(to_table(study))
