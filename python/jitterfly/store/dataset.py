"""`to_xarray` of a store (a study) as an xarray Dataset, with dimensions, coordinates and units.

`export` writes it to files. That of a single result is in `simulate`, that of a schedule in
`schedule.result`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..fields import seed_in_files
from ..observables import OF_A_CYCLE
from ..optional_packages import package
from .numbers import Numbers, Readable

if TYPE_CHECKING:
    import xarray

_MIXED = "units: the coordinate `unit` says that of each observable"
_LONG = {
    "estimate": "value of a statistic of an observable",
    "low": "lower end of the confidence interval",
    "high": "upper end of the confidence interval",
    "relative_error": "the longer side of the interval over the value",
    "realizations": "realizations per cell",
    "chosen_T": "the T that the data chose",
    "exact": "whether quantiles are those of samples, not of a histogram",
    "target_error": "the longer side of the interval of a target, as the target is given",
    "met": "whether a target is met",
    "complete": "whether nothing is left to run in the cell",
}


def to_xarray(store: Readable, confidence: float = 0.95) -> xarray.Dataset:
    """Estimates with intervals over the study's axes, observables and statistics.

    Variables `estimate`, `low`, `high` and `relative_error` have the dimensions (axes...,
    observable, statistic), `chosen_T` and `exact` (axes..., observable), `realizations` and
    `complete` the axes, `met` and `target_error` (axes..., target). A number that a cell does not
    have is NaN, and `exact` is False there. Where it lacks a target, `met` is False and
    `target_error` NaN. A bound
    that the sample is too small for is infinite. Times are in seconds: the coordinate `unit`
    belongs to `observable`. So does `cycle`, where there are observables of each cycle and no
    axis has that name: the number of the observable's cycle, NaN for the others.

    Raises
    ------
    ValueError
        xarray is not installed; a record was changed while it was read.
    """
    package("xarray")  # before anything is computed
    return dataset_of(Numbers.of(store, confidence))


def dataset_of(numbers: Numbers) -> xarray.Dataset:
    """The same of numbers that are there."""
    xr = package("xarray")
    about, arrays = numbers.about, numbers.arrays
    names = {"observable": about["observables"], "statistic": about["statistics"]}
    axes = numbers.axis_names
    shape = tuple(len(labels) for labels in about["labels"])
    here = np.ravel_multi_index(tuple(arrays["at"].T), shape) if axes else [0]

    def spread(values: Any) -> Any:
        """Spread cells, the product of the axes, over the axes."""
        full = np.empty((math.prod(shape), *values.shape[1:]), values.dtype)
        full[here] = values
        return full.reshape(shape + values.shape[1:])

    inner = [*axes, "observable", "statistic"]
    data: dict[str, Any] = {
        key: (inner, spread(arrays[own]))
        for key, own in (("estimate", "value"), ("low", "low"), ("high", "high"))
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        value, low, high = (data[key][1] for key in ("estimate", "low", "high"))
        half = np.maximum(high - value, value - low)
        data["relative_error"] = (inner, half / np.abs(value))
    chosen = np.where(arrays["T"] < 0, np.nan, arrays["T"])
    data["chosen_T"] = ([*axes, "observable"], spread(chosen))
    data["exact"] = ([*axes, "observable"], spread(arrays["exact"]))
    for key in ("realizations", "complete"):
        data[key] = (axes, spread(arrays[key]))
    if about["targets"]:
        data["met"] = ([*axes, "target"], spread(arrays["met"]))
        data["target_error"] = ([*axes, "target"], spread(arrays["error"]))
        names["target"] = about["targets"]
    coordinates: dict[str, Any] = {
        name: ([name], np.array(_coordinate(labels, values)))
        for name, labels, values in zip(axes, about["labels"], about["coordinates"], strict=True)
    }
    coordinates |= {key: ([key], np.array(words, dtype=str)) for key, words in names.items()}
    coordinates["unit"] = (["observable"], np.array(about["units"], dtype=str))
    cycles = [OF_A_CYCLE.fullmatch(name) for name in about["observables"]]
    if any(cycles) and "cycle" not in axes:
        numbered = np.array([np.nan if found is None else int(found["cycle"]) for found in cycles])
        coordinates["cycle"] = (["observable"], numbered, {"long_name": "cycle", "units": "1"})
    return _described(xr.Dataset(data, coordinates, _attributes(about)), about)


def _attributes(about: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that say where the numbers are from.

    `case` is the base case in JSON: network, algorithm and noise without what axes set.
    """
    return {
        "title": about["title"],
        "source": about["source"],
        "study": about["study"],
        "seed": seed_in_files(about["seed"]),
        "case": about["case"],
        "variants": about["variants"],
        "confidence": about["confidence"],
        "comment": "times are in seconds",
        "stream": about["stream"],
        "versions": ", ".join(f"{key} {v}" for key, v in about["versions"].items()),
        "backend": ", ".join(about["backend"]),
    }


def _coordinate(labels: list[str], values: list[Any]) -> list[Any]:
    """Return the coordinate of an axis: numbers where all are."""
    texts = any(isinstance(value, str) for value in values)
    return labels if texts or len(set(values)) < len(values) else values


def _described(dataset: xarray.Dataset, about: dict[str, Any]) -> xarray.Dataset:
    for key, words in _LONG.items():
        if key in dataset:
            dataset[key].attrs["long_name"] = words
    units = set(about["units"])
    shared = units.pop() if len(units) == 1 else None
    for key in ("estimate", "low", "high"):
        if shared is None:
            dataset[key].attrs["comment"] = _MIXED
        else:
            dataset[key].attrs["units"] = shared or "1"
    for key in ("relative_error", "chosen_T", "realizations"):
        dataset[key].attrs["units"] = "1"
    for name, unit in about["axes"]:
        coordinate = dataset[name]
        # Numbers that an earlier version wrote down have no rules.
        coordinate.attrs["long_name"] = about.get("rules", {}).get(name, name)
        if coordinate.dtype.kind in "iuf":
            coordinate.attrs["units"] = unit or "1"
    return dataset
