"""All estimates of a store: each statistic of each observable in each cell; pandas, xarray, CSV.

`export` writes them to files. The dataset of a single result is in `simulate`, that of a schedule
in `schedule.result`.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import numpy as np
import numpy.typing as npt

from .. import optional_packages
from ..algorithms import Butterfly
from ..fields import counted, csv_field, digested, seed_in_files
from ..files import read_npz
from ..observables import (
    OF_A_CYCLE,
    STATISTICS,
    CellData,
    Decision,
    MeasureFamily,
    Observed,
    Target,
)
from ..progress import counted_progress
from ..stats import Estimate
from ..stats.intervals import RARE_NOISE, RECORDING
from ..studies import Cell, Study, axis_unit
from ..studies.grid import cell_name
from ..units import show_seconds
from .run_directory import NUMBERS, has_records, valid_content, write_cached

if TYPE_CHECKING:
    import pandas
    import xarray

COLUMNS = (
    "observable", "unit", "chosen_T", "statistic", "value", "low", "high", "confidence",
    "realizations", "exact", "met", "complete",
)  # fmt: skip
CAVEATS = RARE_NOISE, RECORDING  # which intervals allow for
WINS = "win probability"
_ENDS = ("value", "low", "high")

Array = npt.NDArray[Any]


class Readable(Protocol):
    """The part of a `Store` that the numbers need."""

    path: Path
    study: Study
    meta: dict[str, Any]
    known_numbers: dict[Any, Numbers]

    @property
    def cells(self) -> list[Cell]:
        """The cells of the study."""

    def available(self, cell: Cell) -> int:
        """Realizations from 0 on that are there without a gap."""

    def decision(self, cell: Cell) -> Decision:
        """The last look at a cell."""

    def data(self, cell: Cell, count: int) -> CellData:
        """The first `count` realizations of a cell."""

    def families(self, cell: Cell) -> Mapping[str, Any]:
        """Return the families of observables in a cell, by name."""


@dataclass(frozen=True)
class Row:
    """A statistic of an observable in a cell; `T` where the data chose one."""

    cell: Cell
    family: MeasureFamily
    T: int | None
    statistic: str
    estimate: Estimate
    exact: bool

    @property
    def unit(self) -> str:
        """The unit of the estimate."""
        return "" if self.statistic == WINS else self.family.unit


def statistics(store: Readable) -> list[str]:
    """The names of a store's statistics: the usual ones, and those of targets."""
    names = [*STATISTICS, *(target.statistic for target in store.study.targets)]
    measures = (m for cell in store.cells for m in store.study.measures(cell))
    if any(measure.is_ratio and measure.distribution for measure in measures):
        names.append(WINS)
    return list(dict.fromkeys(names))


def rows(store: Readable, confidence: float = 0.95) -> Iterator[Row]:
    """Cell by cell, what there is of it; a cell without realizations has no rows."""
    names = statistics(store)
    for cell in counted_progress(store.cells, len(store.cells), "estimating cells"):
        decision = store.decision(cell)
        if not decision.realizations:
            continue
        data = store.data(cell, decision.realizations)
        for family in store.families(cell).values():
            observed = Observed(family, data, cell.varies(family))
            measure, T = observed.measure, None if observed.is_best_T else observed.T
            for statistic in names:
                if statistic == WINS and not (measure.is_ratio and measure.distribution):
                    continue
                estimate = decision.shown(observed, statistic, confidence, cell.cases)
                yield Row(cell, family, T, statistic, estimate, observed.exact)


def axis_names(store: Readable) -> list[str]:
    """Names of the study's axes, in its order."""
    return list(store.cells[0].labels) if store.cells else []


@dataclass(frozen=True, eq=False)
class Numbers:
    """The content of exports; P cells, A axes, O observables, S statistics, G targets.

    Attributes
    ----------
    about : dict
        The study and the run as plain values: confidence, title, source, study, seed, stream,
        versions, backend; axes ([name, unit]), rules of those that are derived, labels and
        coordinates of each axis; observables, units, statistics, targets.
    arrays : dict
        at (P, A): number of the label on each axis. realizations (P,); complete (P,): whether
        nothing is left to run in the cell. value, low, high (P, O, S): NaN is not known. turn
        (P, O): where an observable comes among those of the cell, or -1
        where it has none. compares, exact (P, O): whether there is a win probability, and whether
        quantiles are samples. T (P, O): the one that the data chose, or -1. met (P, G),
        error (P, G): NaN where the cell lacks the target. target_value, target_low, target_high
        (P, G): of the target's statistic, with the target's confidence; NaN likewise.
    """

    about: dict[str, Any]
    arrays: dict[str, Array]

    @classmethod
    def of(cls, store: Readable, confidence: float = 0.95) -> Numbers:
        """Make the numbers of records, or return the last ones of the same records and confidence.

        Raises
        ------
        ValueError
            A record was changed while it was read.
        """
        records = tuple(store.available(cell) for cell in store.cells)
        key = confidence, tuple(store.meta["backend"]), records
        known = store.known_numbers.get(key)
        if known is None:
            known = cls._of(store, confidence)
            store.known_numbers.clear()
            store.known_numbers[key] = known
        return known

    @classmethod
    def _of(cls, store: Readable, confidence: float) -> Numbers:
        """Compute all estimates of a store: the arrays that the class describes."""
        about = _about(store, confidence)
        number = {
            key: {name: i for i, name in enumerate(about[key])}
            for key in ("observables", "statistics", "targets")
        }
        sizes = [len(store.cells), *(len(number[k]) for k in ("observables", "statistics"))]
        arrays: dict[str, Array] = {key: np.full(sizes, math.nan) for key in _ENDS}
        arrays |= {key: np.zeros(sizes[:2], bool) for key in ("compares", "exact")}
        arrays |= {key: np.full(sizes[:2], -1) for key in ("turn", "T")}
        for row in rows(store, confidence):
            here = row.cell.index, number["observables"][row.family.name]
            if arrays["turn"][here] < 0:
                arrays["turn"][here] = arrays["turn"][row.cell.index].max() + 1
            arrays["exact"][here] = row.exact
            if row.T is not None:
                arrays["T"][here] = row.T
            if row.statistic == WINS:
                arrays["compares"][here] = True
            at = (*here, number["statistics"][row.statistic])
            estimate = row.estimate
            for key, value in zip(
                _ENDS, (estimate.value, estimate.low, estimate.high), strict=True
            ):
                arrays[key][at] = value
        arrays |= _decisions(store, number["targets"], confidence)
        labels = [{label: i for i, label in enumerate(names)} for names in about["labels"]]
        values = [[own[x] for own, x in zip(labels, cell.labels.values(), strict=True)]
              for cell in store.cells]  # fmt: skip
        arrays["at"] = np.array(values, np.int64).reshape(len(store.cells), len(labels))
        return cls(about, arrays)

    # --- kept beside the records

    def write_cached(self, path: Path, fingerprint: str) -> None:
        """Write it down in the directory `path`; `fingerprint` is from before it was made."""
        file = io.BytesIO()
        about = np.frombuffer(json.dumps(self.about).encode(), np.uint8)
        arrays: dict[str, Any] = {"about": about, **self.arrays}
        np.savez(file, **arrays)
        write_cached(path / NUMBERS, file.getvalue(), fingerprint)

    @classmethod
    def read_cached(cls, path: Path) -> Numbers | None:
        """Read what was written down in the directory `path`, if the records are still those."""
        content = valid_content(path / NUMBERS)
        if content is None:
            return None
        try:
            arrays = read_npz(content, len(content))
            about = json.loads(arrays.pop("about").tobytes())
            return cls(about, arrays) if _fit(about, arrays) else None
        except (KeyError, TypeError, ValueError, RecursionError):  # of another version, or damaged
            return None

    def unfinished(self) -> dict[str, int]:
        """The realizations of cells that lack some, by their names: records may have been lost."""
        labels, found = self.about["labels"], {}
        for number in np.flatnonzero(~self.arrays["complete"]).tolist():
            at = self.arrays["at"][number].tolist()
            own = {name: labels[i][at[i]] for i, name in enumerate(self.axis_names)}
            found[cell_name(own)] = int(self.arrays["realizations"][number])
        return found

    # --- as rows

    @property
    def axis_names(self) -> list[str]:
        """Names of the axes, in the study's order; none where there are no cells."""
        return [name for name, *_ in self.about["axes"]]

    @property
    def origin(self) -> dict[str, Any]:
        """Columns of a file, alike in all rows: how to get these numbers again."""
        return {
            "seed": seed_in_files(self.about["seed"]),
            "version": self.about["versions"]["jitterfly"],
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The coordinates of the cell, then COLUMNS; a cell without realizations has no rows.

        `met`: whether all targets of the cell are; None where it has none. `complete`: whether
        nothing is left to run in the cell; where a run ended before, its numbers go on. A target of
        another confidence has a row of its own, after those of its observable.
        """
        about, arrays = self.about, self.arrays
        targets = {(t.observable, t.statistic, t.confidence): number
                   for number, t in enumerate(map(Target.parse, about["targets"]))}  # fmt: skip
        coordinates, confidence = about["coordinates"], about["confidence"]
        for cell, at in enumerate(arrays["at"].tolist()):
            turns = arrays["turn"][cell]
            spot = [values[i] for values, i in zip(coordinates, at, strict=True)]
            count, complete = int(arrays["realizations"][cell]), bool(arrays["complete"][cell])
            aims = arrays["met"][cell][~np.isnan(arrays["target_value"][cell])]
            met = bool(aims.all()) if aims.size else None
            numbers = np.stack([arrays[key][cell] for key in _ENDS], axis=-1).tolist()
            for i in np.argsort(turns, kind="stable")[np.count_nonzero(turns < 0) :].tolist():
                name, T = about["observables"][i], int(arrays["T"][cell, i])
                chosen = T if T >= 0 else None
                exact = bool(arrays["exact"][cell, i])
                for statistic, ends in zip(about["statistics"], numbers[i], strict=True):
                    wins = statistic == WINS
                    if wins and not arrays["compares"][cell, i]:
                        continue
                    unit = "" if wins else about["units"][i]
                    yield (*spot, name, unit, chosen, statistic, *ends, confidence, count, exact,
                           met, complete)  # fmt: skip
                for (observable, statistic, own), j in targets.items():
                    if observable != name or own == confidence:
                        continue
                    ends = [float(arrays[f"target_{key}"][cell, j]) for key in _ENDS]
                    unit = "" if statistic == WINS else about["units"][i]
                    if not math.isnan(ends[0]):
                        yield (*spot, name, unit, chosen, statistic, *ends, own, count, exact, met,
                               complete)  # fmt: skip

    def write_csv(self, file: TextIO) -> None:
        """Write rows as CSV; an infinite bound is `inf`, what has no interval has empty fields."""
        writer = csv.writer(file, lineterminator="\n")
        origin = self.origin
        writer.writerow(map(csv_field, [*self.axis_names, *COLUMNS, *origin]))
        writer.writerows(map(csv_field, (*row, *origin.values())) for row in self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a table of pandas; NaN is what the data did not choose or tell.

        Raises
        ------
        ValueError
            There is no pandas.
        """
        columns = [*self.axis_names, *COLUMNS]
        frame = optional_packages.package("pandas").DataFrame(list(self.rows()), columns=columns)
        kinds = {"chosen_T": "Int64", "realizations": "int64", "exact": bool, "complete": bool}
        return frame.astype(kinds | {"met": "boolean"})


def _about(store: Readable, confidence: float) -> dict[str, Any]:
    """Return what the numbers are of: study, axes, units, versions, as plain values."""
    study, meta, names = store.study, store.meta, axis_names(store)
    base: Any = study.case  # a table, once it is read
    points = [*chain(*(axis.values for axis in study.axes)), *study.variants]
    paths = {path for point in points for path in point.settings}
    given = store.cells[0].of_schedules or not paths.isdisjoint({"algorithm", "algorithm.kind"})
    usual = {} if given else {"algorithm": {"kind": Butterfly.kind}}
    coordinates_of_labels: list[dict[str, Any]] = [
        {cell.labels[name]: cell.coordinates[name] for cell in store.cells} for name in names
    ]
    units = {
        name: family.unit
        for cell in counted_progress(store.cells, len(store.cells), "reading cells")
        for name, family in store.families(cell).items()
    }
    return {
        "confidence": confidence,
        "title": study.title,
        "source": study.source,
        "study": study.name,
        "seed": study.seed,
        "case": json.dumps(digested({**usual, **base})),
        "variants": json.dumps({one.label: digested(one.settings) for one in study.variants}),
        "stream": meta["stream"],
        "versions": meta["versions"],
        "backend": meta["backend"],
        "axes": [[name, axis_unit(study, name)] for name in names],
        "rules": {axis.name: axis.rule for axis in study.axes if axis.rule},
        "labels": [list(axis) for axis in coordinates_of_labels],
        "coordinates": [list(axis.values()) for axis in coordinates_of_labels],
        "observables": list(units),
        "units": list(units.values()),
        "statistics": statistics(store),
        "targets": [str(target) for target in study.targets],
        "caveats": list(CAVEATS),
    }


def _decisions(store: Readable, targets: dict[str, int], confidence: float) -> dict[str, Array]:
    """Return for each cell and target whether it is met, with its estimate."""
    sizes = len(store.cells), len(targets)
    realizations, complete = np.zeros(sizes[0], np.int64), np.zeros(sizes[0], bool)
    met, error = np.zeros(sizes, bool), np.full(sizes, math.nan)
    ends = {f"target_{key}": np.full(sizes, math.nan) for key in _ENDS}
    for cell in store.cells:
        decision = store.decision(cell)
        realizations[cell.index] = decision.realizations
        complete[cell.index] = decision.next is None
        for state in decision.states:
            here = cell.index, targets[str(state.target)]
            met[here], error[here] = state.met, state.error
            estimate, target = state.estimate, state.target
            if target.confidence != confidence and math.isfinite(float(estimate.value)):
                # A row of its own. It allows for what a sample may lack, as all others do.
                family = store.families(cell)[target.observable]
                observed = Observed(
                    family, store.data(cell, decision.realizations), cell.varies(family)
                )
                estimate = decision.shown(observed, target.statistic, target.confidence, cell.cases)
            for key, of in zip(_ENDS, ends.values(), strict=True):
                of[here] = getattr(estimate, key)
    known = {"realizations": realizations, "complete": complete}
    return {**known, "met": met, "error": error, **ends}


def _fit(about: Any, arrays: Mapping[str, Array]) -> bool:
    """Return whether numbers that were kept have all that is relied on."""
    names = {"axes", "labels", "coordinates", "observables", "units", "statistics", "targets"}
    texts = {"title", "source", "study", "case", "variants"}
    if any(not isinstance(about[key], str) for key in texts):
        return False
    if any(not isinstance(about[key], list) for key in names | {"backend"}):
        return False
    words = [about[key] for key in ("observables", "units", "statistics", "targets", "backend")]
    words += [[name, unit] for name, unit in about["axes"]] + about["labels"]
    if not all(isinstance(word, str) for each in words for word in each):
        return False
    if type(about["seed"]) is not int or not isinstance(about["versions"]["jitterfly"], str):
        return False
    if not 0 < about["confidence"] < 1 or not isinstance(about["rules"], dict):
        return False
    if about["caveats"] != list(CAVEATS):  # of a version whose intervals did not allow for them
        return False
    lengths = [len(labels) for labels in about["labels"]]
    if lengths != [len(values) for values in about["coordinates"]]:
        return False
    for target in about["targets"]:
        Target.parse(target)
    cells, axes = len(arrays["realizations"]), len(lengths)
    own = len(about["observables"])
    inner, aims = (cells, own, len(about["statistics"])), (cells, len(about["targets"]))
    shapes: dict[str, tuple[tuple[int, ...], str]] = dict.fromkeys(_ENDS, (inner, "f"))
    shapes |= {f"target_{key}": (aims, "f") for key in _ENDS}
    shapes |= {"at": ((cells, axes), "i"), "realizations": ((cells,), "i")}
    shapes |= {"complete": ((cells,), "b"), "met": (aims, "b"), "error": (aims, "f")}
    shapes |= {key: ((cells, own), kind) for key, kind in
               (("turn", "i"), ("T", "i"), ("compares", "b"), ("exact", "b"))}  # fmt: skip
    if {key: (one.shape, one.dtype.kind) for key, one in arrays.items()} != shapes:
        return False
    at, turn = arrays["at"], arrays["turn"]
    inside = (at >= 0).all() and (at < np.array(lengths, int)).all()
    fits = len(lengths) == len(about["axes"]) and len(about["units"]) == own
    return bool(fits and inside and (turn < own).all() and (arrays["realizations"] >= 0).all())


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
    optional_packages.package("xarray")  # before anything is computed
    return dataset_of(Numbers.of(store, confidence))


def dataset_of(numbers: Numbers) -> xarray.Dataset:
    """Return the data set of numbers that are there."""
    xr = optional_packages.package("xarray")
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
    return _with_attributes(xr.Dataset(data, coordinates, _attributes(about)), about)


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


def _with_attributes(dataset: xarray.Dataset, about: dict[str, Any]) -> xarray.Dataset:
    """Return the data set with long names and units as attributes (CF conventions)."""
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


def to_html(store: Readable) -> str:
    """The means of the first cells, for a notebook."""
    header = [*axis_names(store), "observable", "realizations", "mean", "95 % interval"]
    # A store without any record is not asked for that of each cell.
    there = rows(store) if has_records(store.path) else ()
    means = (row for row in there if row.statistic == "mean")
    shown = list(islice(means, optional_packages.MAX_ROWS + 1))
    lines = []
    for row in shown[: optional_packages.MAX_ROWS]:
        estimate = row.estimate
        ends = (float(estimate.value), float(estimate.low), float(estimate.high))
        show = show_seconds if row.unit == "s" else "{:.4g}".format
        value, low, high = (show(end) for end in ends)
        count = f"{estimate.realizations:,}"
        lines.append([*row.cell.labels.values(), row.family.name, count, value, f"{low} to {high}"])
    more = ["and more: to_pandas() has all"] if len(shown) > len(lines) else []
    return optional_packages.table(
        repr(store), header, lines, "; ".join([*more, *_open_cells(store)])
    )


_MAX_CELLS_SHOWN = 1000  # cells, of which a notebook is told how far they are
_MAX_CELLS_JUDGED = 20  # of a study with targets, where this may read all samples


def _open_cells(store: Readable) -> list[str]:
    """Say for a notebook what is not done, or not met; `summary` has more."""
    if len(store.cells) > (_MAX_CELLS_JUDGED if store.study.targets else _MAX_CELLS_SHOWN):
        return []
    decisions = [store.decision(cell) for cell in store.cells]
    count, told = len(decisions), []
    done = sum(one.next is None for one in decisions)
    if done < count:
        told.append(f"UNFINISHED: {done:,} of {counted(count, 'cell')} done")
    if store.study.targets:
        met = sum(one.met for one in decisions)
        told.append(f"{met:,} of {counted(count, 'cell')} met the targets")
    return told
