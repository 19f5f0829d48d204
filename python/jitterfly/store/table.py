"""All numbers of a store as rows: one for each place, observable and statistic."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import notebook
from ..observables.measure import Family
from ..observables.names import STATISTICS
from ..observables.observed import Observed
from ..stats import Estimate
from ..studies.place import Place
from ..units import show_seconds
from .store import Store
from .takeover import RECORDS

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "observable", "unit", "chosen_T", "statistic", "value", "low", "high", "confidence",
    "realizations", "exact",
)  # fmt: skip
_WINS = "win probability"


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
        return "" if self.statistic == _WINS else self.family.unit


def statistics(store: Store) -> list[str]:
    """Names of what is told of a store: the usual ones, and those of targets."""
    names = [*STATISTICS, *(target.statistic for target in store.study.targets)]
    measures = (m for place in store.places for m in store.study.measures(place))
    if any(measure.is_ratio and measure.distribution for measure in measures):
        names.append(_WINS)
    return list(dict.fromkeys(names))


def rows(store: Store, confidence: float = 0.95) -> Iterator[Row]:
    """Place by place, what there is of it; a place without realizations has no rows."""
    names = statistics(store)
    for place in store.places:
        decision = store.decision(place)
        if not decision.realizations:
            continue
        data = store.data(place, decision.realizations)
        level = decision.level(confidence)  # as `Store.estimate`
        for family in store.families(place).values():
            observed = Observed(family, data)
            measure, T = observed.measure, observed.T
            for statistic in names:
                if statistic == _WINS and not (measure.is_ratio and measure.distribution):
                    continue
                estimate = observed.statistic(statistic, level)
                if level != confidence:
                    estimate = replace(estimate, confidence=confidence)
                yield Row(place, family, T, statistic, estimate, observed.exact)


def records(store: Store, confidence: float = 0.95) -> Iterator[dict[str, Any]]:
    """The rows as plain values: the coordinates of the place, then COLUMNS."""
    for row in rows(store, confidence):
        found = row.estimate
        values = (
            row.family.name, row.unit, row.T, row.statistic, found.value, found.low, found.high,
            found.confidence, found.realizations, row.exact,
        )  # fmt: skip
        yield {**row.place.coordinates, **dict(zip(COLUMNS, values, strict=True))}


def to_csv(store: Store, confidence: float = 0.95) -> str:
    """The rows as CSV; an infinite bound is `inf`, what has no interval has empty fields."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*axis_names(store), *COLUMNS])
    for record in records(store, confidence):
        writer.writerow(["" if x is None or x != x else x for x in record.values()])
    return file.getvalue()


def to_pandas(store: Store, confidence: float = 0.95) -> pandas.DataFrame:
    """The rows as a table of pandas; what the data did not choose, or has no interval, is NaN."""
    columns = [*axis_names(store), *COLUMNS]
    frame = notebook.data_frame(records(store, confidence), columns)
    return frame.astype({"chosen_T": "Int64", "realizations": "int64", "exact": bool})


def to_html(store: Store) -> str:
    """The means of the first places, for a notebook."""
    header = [*axis_names(store), "observable", "realizations", "mean", "95 % interval"]
    # Of a store without a record not all places are asked for theirs.
    there = rows(store) if any((store.path / RECORDS).iterdir()) else ()
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


def axis_names(store: Store) -> list[str]:
    """Names of the study's axes, in its order."""
    return list(store.places[0].labels) if store.places else []
