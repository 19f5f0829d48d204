"""All numbers of a store: every statistic of every observable at every place."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt

from .. import notebook
from ..observables.measure import Family
from ..observables.statistics import STATISTICS, Observed
from ..phases import each
from ..stats import Estimate
from ..studies.grid import Place
from ..studies.study import axis_unit
from ..units import show_seconds
from .kept import fingerprint_of, keep, valid
from .orphans import has_records
from .standing import MANY
from .store import Store
from .takeover import NUMBERS

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "observable", "unit", "chosen_T", "statistic", "value", "low", "high", "confidence",
    "realizations", "exact",
)  # fmt: skip
WINS = "win probability"
_ENDS = ("value", "low", "high")

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Row:
    """A statistic of an observable at a place; `T` where the data chose one."""

    place: Place
    family: Family
    T: int | None
    statistic: str
    estimate: Estimate
    exact: bool

    @property
    def unit(self) -> str:
        """Of the estimate."""
        return "" if self.statistic == WINS else self.family.unit


def statistics(store: Store) -> list[str]:
    """Names of what is told of a store: the usual ones, and those of targets."""
    names = [*STATISTICS, *(target.statistic for target in store.study.targets)]
    measures = (m for place in store.places for m in store.study.measures(place))
    if any(measure.is_ratio and measure.distribution for measure in measures):
        names.append(WINS)
    return list(dict.fromkeys(names))


def rows(store: Store, confidence: float = 0.95) -> Iterator[Row]:
    """Place by place, what there is of it; a place without realizations has no rows."""
    names = statistics(store)
    for place in each(store.places, len(store.places), "estimating cells"):
        decision = store.decision(place)
        if not decision.realizations:
            continue
        data = store.data(place, decision.realizations)
        level = decision.level(confidence)  # as `Store.estimate`
        for family in store.families(place).values():
            observed = Observed(family, data)
            measure, T = observed.measure, observed.T
            for statistic in names:
                if statistic == WINS and not (measure.is_ratio and measure.distribution):
                    continue
                estimate = observed.statistic(statistic, level)
                if level != confidence:
                    estimate = replace(estimate, confidence=confidence)
                yield Row(place, family, T, statistic, estimate, observed.exact)


def axis_names(store: Store) -> list[str]:
    """Names of the study's axes, in its order."""
    return list(store.places[0].labels) if store.places else []


@dataclass(frozen=True, eq=False)
class Numbers:
    """What exports hold; P places, A axes, O observables, S statistics, G targets.

    Attributes
    ----------
    about : dict
        The study and the run as plain values: confidence, title, source, study, seed, stream,
        versions, backend; axes ([name, unit]), labels and coordinates of each axis;
        observables, units, statistics, targets.
    arrays : dict
        at (P, A): number of the label on each axis. realizations (P,). value, low, high (P, O, S):
        NaN is not known. turn (P, O): where an observable comes among those of the place, or -1
        where it has none. compares, exact (P, O): whether there is a win probability, and whether
        quantiles are samples. T (P, O): the one that the data chose, or -1. met (P, G),
        error (P, G): NaN where the place lacks the target.
    """

    about: dict[str, Any]
    arrays: dict[str, Array]

    @classmethod
    def of(cls, store: Store, confidence: float = 0.95) -> Numbers:
        """As the records say.

        Raises:
            ValueError: a record was changed while it was read.
        """
        about = _about(store, confidence)
        number = {
            key: {name: i for i, name in enumerate(about[key])}
            for key in ("observables", "statistics", "targets")
        }
        sizes = [len(store.places), *(len(number[k]) for k in ("observables", "statistics"))]
        arrays: dict[str, Array] = {key: np.full(sizes, math.nan) for key in _ENDS}
        arrays |= {key: np.zeros(sizes[:2], bool) for key in ("compares", "exact")}
        arrays |= {key: np.full(sizes[:2], -1) for key in ("turn", "T")}
        for row in rows(store, confidence):
            here = row.place.index, number["observables"][row.family.name]
            if arrays["turn"][here] < 0:
                arrays["turn"][here] = arrays["turn"][row.place.index].max() + 1
            arrays["exact"][here] = row.exact
            if row.T is not None:
                arrays["T"][here] = row.T
            if row.statistic == WINS:
                arrays["compares"][here] = True
            at = (*here, number["statistics"][row.statistic])
            found = row.estimate
            for key, value in zip(_ENDS, (found.value, found.low, found.high), strict=True):
                arrays[key][at] = value
        arrays |= _decisions(store, number["targets"])
        labels = [{label: i for i, label in enumerate(names)} for names in about["labels"]]
        spots = [[own[x] for own, x in zip(labels, place.labels.values(), strict=True)]
              for place in store.places]  # fmt: skip
        arrays["at"] = np.array(spots, np.int64).reshape(len(store.places), len(labels))
        return cls(about, arrays)

    # --- kept beside the records

    def keep(self, path: Path, fingerprint: str) -> None:
        """Write it down in the directory `path`; `fingerprint` is from before it was made."""
        file = io.BytesIO()
        about = np.frombuffer(json.dumps(self.about).encode(), np.uint8)
        np.savez(file, about=about, **self.arrays)
        keep(path / NUMBERS, file.getvalue(), fingerprint)

    @classmethod
    def kept(cls, path: Path) -> Numbers | None:
        """What was written down in the directory `path`, if the records are still those."""
        content = valid(path / NUMBERS)
        if content is None:
            return None
        with np.load(io.BytesIO(content)) as file:
            arrays = {key: file[key] for key in file.files}
        return cls(json.loads(arrays.pop("about").tobytes()), arrays)

    # --- as rows

    @property
    def axis_names(self) -> list[str]:
        """Names of the axes, in the study's order; none where there are no places."""
        return [name for name, *_ in self.about["axes"]]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The coordinates of the place, then COLUMNS; a place without realizations has no rows."""
        about, arrays = self.about, self.arrays
        coordinates, confidence = about["coordinates"], about["confidence"]
        for place, at in enumerate(arrays["at"].tolist()):
            turns = arrays["turn"][place]
            spot = [values[i] for values, i in zip(coordinates, at, strict=True)]
            count = int(arrays["realizations"][place])
            numbers = np.stack([arrays[key][place] for key in _ENDS], axis=-1).tolist()
            for i in np.argsort(turns, kind="stable")[np.count_nonzero(turns < 0) :].tolist():
                name, T = about["observables"][i], int(arrays["T"][place, i])
                chosen = T if T >= 0 else None
                exact = bool(arrays["exact"][place, i])
                for statistic, ends in zip(about["statistics"], numbers[i], strict=True):
                    wins = statistic == WINS
                    if wins and not arrays["compares"][place, i]:
                        continue
                    unit = "" if wins else about["units"][i]
                    yield (*spot, name, unit, chosen, statistic, *ends, confidence, count, exact)

    def write_csv(self, file: TextIO) -> None:
        """The rows as CSV; an infinite bound is `inf`, what has no interval has empty fields."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*self.axis_names, *COLUMNS])
        writer.writerows(["" if x is None or x != x else x for x in row] for row in self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a table of pandas; NaN is what the data did not choose or tell.

        Raises:
            ValueError: there is no pandas.
        """
        columns = [*self.axis_names, *COLUMNS]
        frame = notebook.package("pandas").DataFrame(list(self.rows()), columns=columns)
        return frame.astype({"chosen_T": "Int64", "realizations": "int64", "exact": bool})


def _about(store: Store, confidence: float) -> dict[str, Any]:
    study, meta, names = store.study, store.meta, axis_names(store)
    found: list[dict[str, Any]] = [
        {place.labels[name]: place.coordinates[name] for place in store.places} for name in names
    ]
    units = {
        name: family.unit
        for place in each(store.places, len(store.places), "reading cells")
        for name, family in store.families(place).items()
    }
    return {
        "confidence": confidence,
        "title": study.title,
        "source": study.source,
        "study": study.name,
        "seed": study.seed,
        "stream": meta["stream"],
        "versions": meta["versions"],
        "backend": meta["backend"],
        "axes": [[name, axis_unit(study, name)] for name in names],
        "labels": [list(axis) for axis in found],
        "coordinates": [list(axis.values()) for axis in found],
        "observables": list(units),
        "units": list(units.values()),
        "statistics": statistics(store),
        "targets": [str(target) for target in study.targets],
    }


def _decisions(store: Store, targets: dict[str, int]) -> dict[str, Array]:
    sizes = len(store.places), len(targets)
    realizations = np.zeros(sizes[0], np.int64)
    met, error = np.zeros(sizes, bool), np.full(sizes, math.nan)
    for place in store.places:
        decision = store.decision(place)
        realizations[place.index] = decision.realizations
        for state in decision.states:
            here = place.index, targets[str(state.target)]
            met[here], error[here] = state.met, state.error
    return {"realizations": realizations, "met": met, "error": error}


def to_html(store: Store) -> str:
    """The means of the first places, for a notebook."""
    header = [*axis_names(store), "observable", "realizations", "mean", "95 % interval"]
    # Of a store without a record not all places are asked for theirs.
    there = rows(store) if has_records(store.path) else ()
    means = (row for row in there if row.statistic == "mean")
    shown = list(islice(means, notebook.MOST_ROWS + 1))
    lines = []
    for row in shown[: notebook.MOST_ROWS]:
        found = row.estimate
        ends = (float(found.value), float(found.low), float(found.high))
        show = show_seconds if row.unit == "s" else _plain
        value, low, high = (show(end) for end in ends)
        lines.append([*row.place.labels.values(), row.family.name, f"{found.realizations:,}", value,
                      f"{low} to {high}"])  # fmt: skip
    more = "and more: to_pandas() has all" if len(shown) > len(lines) else ""
    return notebook.table(repr(store), header, lines, more)


def _plain(value: float) -> str:
    return f"{value:.4g}"


def to_csv(store: Store, confidence: float = 0.95) -> str:
    """`Numbers.write_csv` as text."""
    file = io.StringIO()
    Numbers.of(store, confidence).write_csv(file)
    return file.getvalue()


def keep_numbers(store: Store) -> Numbers:
    """All numbers of a store that a run has just filled, which are written down beside it too.

    Not where that fails, as they may be missing, or where others have written records meanwhile.
    """
    fingerprint = None
    with suppress(OSError, ValueError):
        fingerprint = fingerprint_of(store.path)
    numbers = Numbers.of(store)
    if fingerprint is not None and store.is_undisturbed():
        with suppress(OSError, ValueError):
            numbers.keep(store.path, fingerprint)
    return numbers


def read_numbers(path: str | Path) -> Numbers:
    """All numbers of the run in the directory `path`: those that are kept there, if they fit.

    Raises:
        ValueError: `path` holds no run, or a damaged one.
        OSError: a file can not be read.
    """
    kept = Numbers.kept(Path(path))
    if kept is not None:
        return kept
    store = Store.open(path)
    return keep_numbers(store) if len(store.places) >= MANY else Numbers.of(store)
