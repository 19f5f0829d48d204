"""Forecast (`--dry-run`): estimated time, memory and disk of a study from a few realizations."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..memory import peak_memory
from ..observables import STATISTICS, CellData, Observed
from ..progress import timed_phase
from ..store import Store
from ..store.cell_records import MOST_EARLY
from ..store.records import MOST_OWN_FILES
from ..store.store import MOST_DATA_BYTES
from ..studies import Cell, Study
from .batches import Batch, run_batch

_TRIED = 7  # cells, from the one of least work to the one of most
_LONG = 0.05  # seconds of one realization, of which no more are tried than `_SECONDS` have room for
_SECONDS = 2.0  # after so many no further cell is tried, once the smallest and the largest were
_WORK = 2e7  # rank-rounds of a try
_BATCH_BYTES = 2**24  # of its samples
_LOOKED = 64  # observables of a cell
_GROWS = 2.0  # times the seconds of a look at one realization; below it more take as long
_MOST_WORK = 5e8  # a cell with more of them in one realization is not tried
_RECORD, _ROW = 400, 150  # bytes of a record beside its samples, of a statistic in all files
_SHARED = 256  # files of records, where cells share them
_PICTURE = 48 * 2.0**20  # bytes of the modules that a table and a picture take


@dataclass(frozen=True)
class Range:
    """A range: from all targets met at the first look to all that the budget allows."""

    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """The cost of a run from nothing in one process.

    Attributes
    ----------
    cells : int
    realizations, work : Range
        Of all cells together; variants of a cell share its realizations. `work` in rank-rounds.
    seconds : Range or None
        None where every cell is too large to be tried.
    rate : float
        Rank-rounds a second, with all that is done of each, of the largest cell that was tried.
    tried : int
        Cells.
    disk : Range
        Bytes, without the picture.
    files : int
        Of records, at most.
    memory : float
        Bytes of this process.
    """

    cells: int
    realizations: Range
    work: Range
    seconds: Range | None
    rate: float
    tried: int
    disk: Range
    files: int
    memory: float


@dataclass(frozen=True)
class _Trial:
    """A trial of a cell: rank-rounds of a realization; seconds that it takes whatever its
    realizations, and for each rank-round; bytes of a sample in its record.
    """

    work: float
    fixed: float
    slope: float
    width: float


def forecast(
    study: Study,
    cells: Sequence[Cell] | None = None,
    *,
    backend: str = "auto",
    threads: int | None = None,
) -> Forecast:
    """Try a few realizations of a few cells, in a temporary directory that is removed again.

    Parameters
    ----------
    study : Study
    cells : sequence of Cell, optional
        Those of a shard; all of the study's if not given.
    backend, threads
        As in `run`.

    Raises
    ------
    ValueError
        A cell can not be run, such as for want of memory.
    """
    cells = study.cells() if cells is None else cells
    now = peak_memory()  # before the tries take more
    with (
        timed_phase("trying a few cells"),
        tempfile.TemporaryDirectory(prefix="jitterfly-") as folder,
    ):
        (Path(folder) / "records").mkdir()
        store = Store(Path(folder), study, {"backend": []})
        tries = _tries(store, cells, backend, threads)
    names = _statistics(study)
    cases = sum(len(cell.variants) for cell in cells)
    families = max((len(study.families(cell)) for cell in cells[:1]), default=0)
    beside = len(cells) * families * len(names) * _ROW + cases * _RECORD
    width = max((trial.width for trial in tries), default=8.0)
    work = np.array([cell.work for cell in cells], float)

    def total(
        count: Callable[[Cell], int], looks: Callable[[Cell], float]
    ) -> tuple[float, float, float, float]:
        """The realizations, rank-rounds, seconds and bytes with so many realizations of a cell."""
        counts = np.array([count(cell) for cell in cells], float)
        kept = [min(count(cell), cell.raw_limit) * len(cell.columns) for cell in cells]
        seconds = 0.0
        if tries:
            at = [trial.work for trial in tries]
            fixed = np.interp(work, at, [trial.fixed for trial in tries])
            slope = np.interp(work, at, [trial.slope for trial in tries])
            often = np.array([looks(cell) for cell in cells], float)
            seconds = float((often * fixed + counts * work * slope).sum())
        return (
            float(counts.sum()),
            float((counts * work).sum()),
            seconds,
            beside + width * sum(kept),
        )

    first = total(lambda cell: cell.least, lambda _: 1.0)
    ends = zip(first, total(lambda cell: cell.limit, _expected_looks), strict=True)
    realizations, rank_rounds, seconds, disk = (Range(low, high) for low, high in ends)
    records = cases + len(cells)
    return Forecast(
        len(cells),
        realizations,
        rank_rounds,
        seconds if tries else None,
        1 / tries[-1].slope if tries else 0.0,
        len(tries),
        disk,
        records if records <= MOST_OWN_FILES else _SHARED,
        now + _memory(cells, threads),
    )


def _expected_looks(cell: Cell) -> float:
    """The number of looks at a cell's data until its budget is spent; each has twice the data."""
    return 1.0 if cell.least == cell.limit else 2 + math.log2(cell.limit / cell.least)


def _tries(store: Store, cells: Sequence[Cell], backend: str, threads: int | None) -> list[_Trial]:
    by_work = [cell for cell in sorted(cells, key=lambda cell: cell.work)
               if cell.work <= _MOST_WORK]  # fmt: skip
    if not by_work:
        return []
    _run_trial(store, by_work[0], backend, threads)  # the very first one loads modules
    # The ends come first: what lies between them is told by them where the time ends.
    parts = [0, _TRIED - 1, *sorted(range(1, _TRIED - 1), key=lambda i: abs(2 * i - _TRIED + 1))]
    numbers = dict.fromkeys(round(i * (len(by_work) - 1) / (_TRIED - 1)) for i in parts)
    tries: list[_Trial] = []
    end = time.monotonic() + _SECONDS
    for number in numbers:
        if len(tries) >= 2 and time.monotonic() > end:
            break
        tries.append(_run_trial(store, by_work[number], backend, threads))
    return sorted(tries, key=lambda trial: trial.work)


def _run_trial(store: Store, cell: Cell, backend: str, threads: int | None) -> _Trial:
    limit = _BATCH_BYTES // (8 * len(cell.columns))
    many = max(int(min(_WORK / cell.work, cell.limit, limit)), 1)
    fixed = _run_seconds(store, cell, 0, 1, backend, threads)
    if fixed > _LONG:  # such as an order of arrival, which takes a hundred times as long
        many = min(many, max(int(_SECONDS / fixed), 1))
    few_looked = _look_seconds(store, cell, 1)
    several = _run_seconds(store, cell, 1, many, backend, threads)
    looked = _look_seconds(store, cell, 1 + many)
    more = max(several - fixed, several / 10)
    more += looked - few_looked if looked > _GROWS * few_looked else 0.0
    fixed, slope = fixed + few_looked, more / (many * cell.work)
    files = store.records(cell).samples
    packed = sum(entry.size for file in files for entry in file.entries)
    # All that are there: the very first try of this cell may have stored more.
    samples = sum((entry.end - entry.first) * len(file.identity.columns)
                  for file in files for entry in file.entries)  # fmt: skip
    return _Trial(float(cell.work), fixed, slope, packed / samples)


def _run_seconds(
    store: Store, cell: Cell, first: int, count: int, backend: str, threads: int | None
) -> float:
    """Run and store so many realizations, and return the seconds that it took."""
    started = time.perf_counter()
    batch = Batch(cell, store.study.seed, first, count, None, backend, threads)
    store.append(cell, first, run_batch(batch).ticks, None, count)
    return time.perf_counter() - started


def _look_seconds(store: Store, cell: Cell, realizations: int) -> float:
    """The seconds of a look at `realizations`; of many observables, some are timed for all."""
    families = list(store.families(cell).values())
    some = families[:: math.ceil(len(families) / _LOOKED)] if families else []
    started = time.perf_counter()
    data = CellData(store.ticks(cell, realizations), None)
    read = time.perf_counter() - started
    for family in some:
        observed = Observed(family, data)
        for name in _statistics(store.study):
            observed.statistic(name)
    looked = time.perf_counter() - started - read
    return read + looked * len(families) / max(len(some), 1)


def _statistics(study: Study) -> list[str]:
    return list(dict.fromkeys([*STATISTICS, *(target.statistic for target in study.targets)]))


def _memory(cells: Sequence[Cell], threads: int | None) -> float:
    """Bytes that a run adds: modules, realizations in flight, and samples of cells.

    Samples of several cells stay in memory, and what is made of them early beside half of them: so
    much was measured. Those of a cell that is written are packed, and for a statistic of a large
    cell there are copies of a column: ticks, values, values in order.
    """
    if not cells:
        return 0.0
    drawn = "matplotlib" not in sys.modules and find_spec("matplotlib") is not None
    modules = _PICTURE * drawn
    largest = max(cells, key=lambda cell: cell.work)
    flight = max(
        variant.case.engine_memory(largest.limit, int(threads or 0)) for variant in largest.variants
    )
    columns = [8.0 * min(cell.limit, cell.raw_limit) for cell in cells]
    sizes = [size * len(cell.columns) for size, cell in zip(columns, cells, strict=True)]
    held = min(sum(sizes), MOST_DATA_BYTES + max(sizes))
    early = min(len(cell.columns) for cell in cells) <= MOST_EARLY
    return modules + flight + (1.5 if early else 1.0) * held + max(sizes) / 2 + 3 * max(columns)
