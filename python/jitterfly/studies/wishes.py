"""Whether a study's observables and targets fit its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..fields import did_you_mean, show_number
from ..observables.observable import Observable
from ..observables.statistics import LEAST_RAW
from ..observables.targets import Target
from .absent import why_absent
from .place import Place
from .schema import read_observables


def check_wishes(study: Any) -> None:
    """Raise ValueError for an observable that no place has, or a target that makes no sense."""
    observables: Mapping[str, Observable] = study.observables
    targets: Sequence[Target] = study.targets
    places: Sequence[Place] = study.made.places
    owner: dict[str, str] = {}  # observables with "each" have several names

    def look(name: str, enough: Callable[[], bool]) -> None:
        for place in places:
            for family in observables[name].resolve(name, place.cases):
                owner[family.name] = name
            if enough():
                return

    for name, observable in observables.items():
        look(name, lambda name=name: name in owner.values())
        if name not in owner.values() and observables != read_observables({}, study.variants):
            raise ValueError(f"observables.{name}: {why_absent(observable, places)}")
    for target in targets:
        wanted = target.observable
        for name in observables:  # a name of one that is made by "each" may need a larger place
            if wanted not in owner and wanted.startswith(f"{name}, "):
                look(name, lambda wanted=wanted: wanted in owner)
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
    if targets:
        _check_raw(study, {t.observable for t in targets if t.statistic == "mean"})
    told = [(target.statistic, target.observable) for target in targets]
    for pair in told:
        if told.count(pair) > 1:
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


def _check_raw(study: Any, wanted: set[str]) -> None:
    """Raise where the rare events behind a mean could not be counted."""
    for place in study.places():
        raw = min(LEAST_RAW, place.limit)
        if place.raw_limit >= raw:
            continue
        for name in sorted(wanted & set(study.families(place))):
            family = study.families(place)[name]
            if family.pick != "set" and not all(one.distribution for one in family.members):
                raise ValueError(
                    f"realizations.raw_bytes must be at least {raw * 8 * len(place.columns)}, so "
                    f"that the events behind the mean of {name!r} can be counted, got "
                    f"{study.budget.raw_bytes} [at {place.name}]"
                )


def _listed(names: Iterable[str], most: int = 12) -> str:
    shown = [repr(name) for name in names]
    more = f", ... ({len(shown)} in all)" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
