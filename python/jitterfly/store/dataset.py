"""A store as a labelled xarray.Dataset."""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..studies.study import Study
from .store import Store
from .table import axis_names, rows, statistics

if TYPE_CHECKING:
    import xarray

#: Units of the fields of a case, by the last part of their path; the others are numbers.
UNITS = {
    **dict.fromkeys(("alpha", "L", "o", "g", "period", "duration", "work"), "s"),
    **dict.fromkeys(("beta", "gamma", "G", "O"), "s/B"),
    "message_bytes": "B",
}
MIXED = "as the coordinate unit says of each observable"
_LONG = {
    "estimate": "value of a statistic of an observable",
    "low": "lower end of the confidence interval",
    "high": "upper end of the confidence interval",
    "relative_error": "half the length of the interval over the value",
    "realizations": "realizations per cell",
    "target_error": "half the length of the interval of a target, as the target is given",
    "met": "whether a target is met",
}


def optional(name: str) -> Any:
    """A module of a package that only some formats need.

    Raises:
        ValueError: it is not installed; the message says how to.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(f"this needs {name} ({error}): pip install {name}") from None


def to_xarray(store: Store, confidence: float = 0.95) -> xarray.Dataset:
    """Estimates with intervals over the study's axes, observables and statistics.

    Variables `estimate`, `low`, `high` and `relative_error` have the dimensions (axes...,
    observable, statistic), `realizations` the axes, `met` and `target_error` (axes..., target).
    What a place does not have is NaN, a bound that the sample is too small for is infinite. Times
    are in seconds: the coordinate `unit` belongs to `observable`.

    Raises:
        ValueError: xarray is not installed; a record was changed while it was read.
    """
    xr = optional("xarray")
    axes = {name: _axis(store, name) for name in axis_names(store)}
    observables = _observables(store)
    names = {"observable": list(observables), "statistic": statistics(store)}
    targets = [str(target) for target in store.study.targets]
    shape = tuple(len(labels) for labels, _ in axes.values())
    sizes = (*shape, len(names["observable"]), len(names["statistic"]))
    numbers = {key: np.full(sizes, math.nan) for key in ("estimate", "low", "high")}
    at = {
        place.index: tuple(axes[name][0].index(label) for name, label in place.labels.items())
        for place in store.places
    }
    for row in rows(store, confidence):
        here = at[row.place.index]
        here += (names["observable"].index(row.family.name),)
        here += (names["statistic"].index(row.statistic),)
        found = row.estimate
        for key, value in zip(numbers, (found.value, found.low, found.high), strict=True):
            numbers[key][here] = value
    with np.errstate(invalid="ignore", divide="ignore"):
        half = (numbers["high"] - numbers["low"]) / 2
        numbers["relative_error"] = half / np.abs(numbers["estimate"])
    dims = [*axes, "observable", "statistic"]
    data: dict[str, Any] = {key: (dims, values) for key, values in numbers.items()}
    data["realizations"] = (list(axes), np.zeros(shape, np.int64))
    if targets:
        data["met"] = ([*axes, "target"], np.zeros((*shape, len(targets)), bool))
        data["target_error"] = ([*axes, "target"], np.full((*shape, len(targets)), math.nan))
        names["target"] = targets
    for place in store.places:
        decision = store.decision(place)
        data["realizations"][1][at[place.index]] = decision.realizations
        for state in decision.states:
            here = (*at[place.index], targets.index(str(state.target)))
            data["met"][1][here], data["target_error"][1][here] = state.met, state.error
    coordinates = {name: ([name], np.array(values)) for name, (_, values) in axes.items()}
    coordinates |= {key: ([key], np.array(words, dtype=str)) for key, words in names.items()}
    coordinates["unit"] = (["observable"], np.array(list(observables.values()), dtype=str))
    dataset = xr.Dataset(data, coordinates, attributes(store, confidence))
    return _described(dataset, store.study, set(observables.values()))


def attributes(store: Store, confidence: float) -> dict[str, Any]:
    """Where the numbers are from."""
    study = store.study
    seed = study.seed if study.seed < 2**63 else str(study.seed)  # what files can hold
    return {
        "title": study.title,
        "source": study.source,
        "study": study.name,
        "seed": seed,
        "confidence": confidence,
        "units": "times in seconds",
        "stream": store.meta["stream"],
        "versions": ", ".join(f"{key} {v}" for key, v in store.meta["versions"].items()),
        "backend": ", ".join(store.meta["backend"]),
    }


def _axis(store: Store, name: str) -> tuple[list[str], list[Any]]:
    """Labels of an axis in the study's order, and coordinates: numbers where all are."""
    found = {place.labels[name]: place.coordinates[name] for place in store.places}
    labels, values = list(found), list(found.values())
    if any(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        values = labels
    return labels, values


def _observables(store: Store) -> dict[str, str]:
    """Units of all observables, by name."""
    return {
        name: family.unit
        for place in store.places
        for name, family in store.families(place).items()
    }


def _described(dataset: xarray.Dataset, study: Study, units: set[str]) -> xarray.Dataset:
    for key, words in _LONG.items():
        if key in dataset:
            dataset[key].attrs["long_name"] = words
    shared = units.pop() if len(units) == 1 else None
    for key in ("estimate", "low", "high"):
        dataset[key].attrs["units"] = MIXED if shared is None else shared or "1"
    for key in ("relative_error", "realizations"):
        dataset[key].attrs["units"] = "1"
    for axis in study.axes:
        coordinate = dataset[axis.name]
        coordinate.attrs["long_name"] = axis.name
        if coordinate.dtype.kind in "iuf":
            field = "" if axis.rule else axis.path.rpartition(".")[2]
            coordinate.attrs["units"] = UNITS.get(field, "1")
    return dataset
