"""The kinds of figures: what each needs of a study so that it can be drawn.

A kind is a name in FIGURES and a module of that name in `plots/`.
"""

from __future__ import annotations

from ..fields import check_choice
from ..studies import Study
from . import along

#: What a study may ask for with `figure`, or `plot --kind`.
FIGURES = (
    "slowdown", "overhead", "cycles", "maps", "curves", "family", "hm18_table", "distribution",
    "tail", "thirty",
)  # fmt: skip
#: Those that show one observable as well as several.
OF_ONE = ("maps", "curves", "family", "hm18_table", "distribution", "tail", "thirty")


def figure_of(study: Study) -> str:
    """The figure that a study asks for; without one, maps over two axes of numbers, or curves."""
    if study.figure:
        return str(study.figure)
    return "maps" if len(along.number_axes(study)) == 2 else "curves"


def check_figure(study: Study, kind: str | None = None, observable: str | None = None) -> None:
    """Raise if a figure is not known, or the study is not what it needs.

    Args:
        kind: instead of the study's own.
        observable: the only one to be shown.

    Raises:
        ValueError: with the name of the file.
    """
    name = check_choice(kind, "kind", FIGURES) if kind else figure_of(study)
    try:
        check_choice(name, "figure", FIGURES)
        if observable is not None:
            check_choice(observable, "observable", observables(study))
            if name not in OF_ONE:
                raise ValueError(
                    f"figure {name!r} shows its own observables, so give none; "
                    f"{', '.join(OF_ONE)} show one"
                )
        needs = {
            "slowdown": _slowdown_needs,
            "overhead": _overhead_needs,
            "cycles": _cycles_needs,
            "maps": _maps_needs,
            "family": _family_needs,
            "hm18_table": _probability_needs,
        }
        if name in needs:
            needs[name](study)
    except ValueError as error:
        raise study.error(str(error)) from None


def observables(study: Study) -> list[str]:
    """What a figure can show: all observables, with those of each T or cycle, and targets."""
    names = [name for place in study.places() for name in study.families(place)]
    return list(dict.fromkeys([*names, *(target.column for target in study.targets)]))


def kind_of(study: Study, name: str) -> str:
    """The kind of the observable `name`, which may be one of those for each T or cycle.

    A target's column has the kind of its observable, but for a probability.
    """
    target = next((one for one in study.targets if one.column == name), None)
    if target is not None and target.statistic == "win probability":
        return target.statistic
    name = name if target is None else target.observable
    known = study.observables
    for key in sorted(known, key=len, reverse=True):
        if name == key or name.startswith(f"{key}, "):
            return str(known[key].kind)
    return ""


def named(study: Study, kind: str) -> list[str]:
    """Names of the observables of a kind, in the study's order."""
    return [name for name, observable in study.observables.items() if observable.kind == kind]


def _need(study: Study, figure: str, wanted: dict[str, int]) -> None:
    missing = [kind for kind, count in wanted.items() if len(named(study, kind)) < count]
    if missing:
        told = ", ".join(f"{count} of kind {kind!r}" for kind, count in wanted.items())
        raise ValueError(f"figure {figure!r} needs the observables: {told}; too few {missing[0]}")


def _slowdown_needs(study: Study) -> None:
    _need(study, "slowdown", {"slowdown": 2, "gain": 1, "optimal_T": 1})
    _along_ranks(study, "slowdown")


def _overhead_needs(study: Study) -> None:
    _need(study, "overhead", {"overhead": 2, "recovery": 1})
    _along_ranks(study, "overhead")


def _cycles_needs(study: Study) -> None:
    _need(study, "cycles", {"overhead": 2, "recovery": 1})
    each = [study.observables[name] for kind in ("overhead", "recovery")
            for name in named(study, kind)]  # fmt: skip
    cycles = min(cell.case.cycles for place in study.places() for cell in place.cells)
    if any(one.cycle != "each" for one in each) or cycles < 3:
        raise ValueError("figure 'cycles' needs cycle = \"each\", and cases of at least 3 cycles")


def _along_ranks(study: Study, figure: str) -> None:
    if all(axis.name != "ranks" for axis in study.axes):
        raise ValueError(f"figure {figure!r} needs an axis 'ranks'")


def _maps_needs(study: Study) -> None:
    numbers = along.number_axes(study)
    if len(numbers) < 2:
        raise ValueError(
            "figure 'maps' needs two axes of at least two numbers each, "
            f"got {', '.join(numbers) or 'none'}; 'curves' needs one"
        )


def _family_needs(study: Study) -> None:
    if not along.number_axes(study):
        raise ValueError("figure 'family' needs an axis of at least two numbers")


def _probability_needs(study: Study) -> None:
    if [axis.name for axis in study.axes] != ["probability"]:
        raise ValueError("figure 'hm18_table' needs one axis, 'probability'")
