"""Why no place of a study, or one of them, has an observable."""

from __future__ import annotations

from collections.abc import Sequence

from ..observables.observable import Observable, Select
from ..program import completions
from .place import Place


def why_absent(observable: Observable, places: Sequence[Place]) -> str:
    """The cause where one field is it, else what was asked for."""
    sides = observable.sides()
    for side, select in sides.items():
        where = f"{side}." if len(sides) > 1 else ""
        if why := _missing(select, places):
            return f"no place has {where}{why}"
    told = "; ".join(f"{side}: T = {s.T!r}, cycle = {s.cycle!r}" for side, s in sides.items())
    return f"no place has all of that ({told}), or it takes 0 s without noise"


def why_absent_at(observable: Observable, place: Place) -> str:
    """The cause at one place that lacks it."""
    causes = (_missing(select, [place]) for select in observable.sides().values())
    return next(filter(None, causes), "it takes 0 s without noise")


def _missing(select: Select, places: Sequence[Place]) -> str:
    """What none of its cells has; "" where it is not one thing alone."""
    rows = [
        row
        for place in places
        for row in completions(place.cases[select.variant_of(place.cases, "variant")])
    ]
    most_T, cycles = max(row.T for row in rows), max(row.cycle for row in rows)
    wanted = 1 if select.T == "best" else select.T
    if isinstance(wanted, int) and wanted > most_T:
        asked = f"T = {select.T!r}" + (", which is from 1 on" if select.T == "best" else "")
        return f"{asked}: algorithm.after gives T up to {most_T}"
    if isinstance(select.cycle, int) and select.cycle > cycles:
        return f"cycle = {select.cycle}: cycles is up to {cycles}"
    return ""
