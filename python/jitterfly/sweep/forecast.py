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

from ..backends import backend_named, check_backend, check_threads
from ..fields import check_choice
from ..observables import STATISTICS, CellData, Observed, Summary, Ticks
from ..progress import timed_phase
from ..resources import peak_memory
from ..store import Store
from ..store.records import MAX_OWN_FILES
from ..store.store import MAX_DATA_BYTES, MAX_EARLY_COLUMNS
from ..studies import Cell, Study
from .device_models import DEVICE_MODELS, calls, estimate
from .driver import BATCH_BYTES, Batch, BatchResult, run_batch

_TRIED = 7  # cells, from the one of least work to the one of most
_ABREAST = 32  # realizations of a try, if there is time: many are computed side by side
_SECONDS = 2.0  # after this many no further cell is tried, once the smallest and the largest were
_WORK = 2e7  # rank-rounds of a try, at first
_SHORT, _FASTER = 0.01, 16  # seconds of a try that tell too little; how many times as much is next
_SAMPLES, _POOL = 2**18, 256  # of a try without an engine: samples, realizations that differ
_SUMMARIZED = 2**18  # samples
_CALL = 2e-3  # seconds that a call takes at most, whatever its realizations
_BATCH_BYTES = 2**24  # of its samples
_LOOKED = 64  # observables of a cell
_GROWS = 2.0  # times the seconds of a look at one realization; below it more take as long
_MAX_WORK = 5e8  # a cell with more of them in one realization is not tried,
_MAX_SMALLEST_WORK = 1e10  # but that the smallest one is, if it has no more, where all have more
_RECORD, _ROW = 400, 150  # bytes of a record beside its samples, of a statistic in all files
_SHARED = 256  # files of records, where cells share them
_PICTURE = 48 * 2.0**20  # bytes of the modules that a table and a picture take


@dataclass(frozen=True)
class Range:
    """A range: from all targets met at the first look to all that the budget allows."""

    low: float
    high: float


@dataclass(frozen=True)
class Rests:
    """A part of the work of a card, and the measured rates that its time is estimated from.

    Attributes
    ----------
    what, rates_of, commit : str
        As of `device_models.Estimate`.
    work, share : float
        The largest parts: of the rank-rounds, and of the card's time; the share is 0 where nothing
        like it was measured.
    """

    what: str
    rates_of: str
    commit: str
    work: float
    share: float


@dataclass(frozen=True)
class OnDevice:
    """The addition of a forecast for a card that is not here: its model, and what it rests on.

    Attributes
    ----------
    model, card, measured, driver, table : str
        The card's name in `DEVICE_MODELS`; its own, when and with which driver it was measured, and
        the file of the sources that has the results.
    seconds : Range or None
        Of the card and the way of its results to the host. None where a part was not measured.
    hours : Range or None
        GPU-hours: the card is taken as long as the run lasts.
    with_host : bool
        Whether the time of the run has the host's part, which was timed on this machine; not where
        every cell is too large to be tried.
    rests_on : tuple of Rests
    """

    model: str
    card: str
    measured: str
    driver: str
    table: str
    seconds: Range | None
    hours: Range | None
    with_host: bool
    rests_on: tuple[Rests, ...]


@dataclass(frozen=True)
class Forecast:
    """The cost of a run from nothing in one process, on no more than one GPU.

    Attributes
    ----------
    cells : int
    realizations, work : Range
        Of all cells together; variants of a cell share its realizations. `work` in rank-rounds.
    seconds : Range or None
        None where every cell is too large to be tried, or `device` was not measured.
    rate : float
        Rank-rounds a second, with all that is done of each, of the largest cell that was tried; of
        a `device`, of all cells together.
    tried : int
        Cells.
    disk : Range
        Bytes, without the picture.
    files : int
        Of records, at most.
    memory : float
        Bytes of this process.
    device : OnDevice or None
        None where the engine was tried here.
    backends : tuple of str
        The engines: "cpu", "cuda".
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
    device: OnDevice | None = None
    backends: tuple[str, ...] = ()


_Make = Callable[[Cell, int, int], Ticks]
"""A function that returns the samples of a cell, given the first realization and a count."""


@dataclass(frozen=True)
class _Trial:
    """A trial of a cell: rank-rounds of a realization; seconds that a look takes whatever the
    realizations, and for each of them those of the engine, of what is done with samples that are
    kept, and with those that are not; bytes of a sample in its record.
    """

    work: float
    fixed: float
    engine: float
    host: float
    summary: float
    width: float


def forecast(
    study: Study,
    cells: Sequence[Cell] | None = None,
    *,
    backend: str = "auto",
    threads: int | None = None,
    device_model: str | None = None,
) -> Forecast:
    """Try a few realizations of a few cells, in a temporary directory that is removed again.

    Parameters
    ----------
    study : Study
    cells : sequence of Cell, optional
        Those of a shard; all of the study's if not given.
    backend, threads
        As in `run`.
    device_model : "h100" or "h200", optional
        With backend "cuda": a card that need not be here. What the card does is told by its stored
        rates, and what is done with its samples is tried here.

    Raises
    ------
    BackendError
        "cuda" can not be used here, and no `device_model` is given.
    ValueError
        A cell can not be run, such as for want of memory; a `device_model` that is not known, or
        without backend "cuda".
    """
    backend = backend_named(backend)
    if device_model is None:
        check_backend(backend, threads)
    else:
        check_choice(device_model, "device_model", list(DEVICE_MODELS))
        if backend != "cuda":
            raise ValueError(f"device_model is for backend 'cuda', got {backend!r}")
        check_threads(backend, threads)
    cells = study.cells() if cells is None else cells
    now = peak_memory()  # before the tries take more
    with (
        timed_phase("trying a few cells"),
        tempfile.TemporaryDirectory(prefix="jitterfly-") as folder,
    ):

        def store_in(name: str) -> Store:
            path = Path(folder) / name
            (path / "records").mkdir(parents=True)
            return Store(path, study, {"backend": []})

        known = device_model is not None
        used = {"cuda"} if known else set()
        make = _repeated(study.seed) if known else _simulated(study.seed, backend, threads, used)
        tries = _tries(store_in, cells, make, engine=not known)
    names = _statistics(study)
    cases = sum(len(cell.variants) for cell in cells)
    families = max((len(study.families(cell)) for cell in cells[:1]), default=0)
    beside = len(cells) * families * len(names) * _ROW + cases * _RECORD
    width = max((trial.width for trial in tries), default=8.0)
    work = np.array([cell.work for cell in cells], float)

    def total(
        count: Callable[[Cell], int], looks: Callable[[Cell], float]
    ) -> tuple[float, float, float, float]:
        """The realizations, rank-rounds, seconds and bytes, given the realizations of each cell."""
        counts = np.array([count(cell) for cell in cells], float)
        kept = [min(count(cell), cell.raw_limit) * len(cell.columns) for cell in cells]
        seconds = 0.0
        if tries:
            at = np.array([trial.work for trial in tries])
            fixed = np.interp(work, at, [trial.fixed for trial in tries])
            engine = np.interp(work, at, [trial.engine for trial in tries])
            host = np.interp(work, at, [trial.host for trial in tries])
            summary = np.interp(work, at, [trial.summary for trial in tries])
            engine *= np.maximum(work / at[-1], 1)  # what is too large to be tried
            often = np.array([looks(cell) for cell in cells], float)
            raw = np.minimum(counts, [cell.raw_limit for cell in cells])
            seconds = float((often * fixed + counts * engine).sum())
            seconds += float((raw * host + (counts - raw) * summary).sum())
        return (
            float(counts.sum()),
            float((counts * work).sum()),
            seconds,
            beside + width * sum(kept),
        )

    first = total(lambda cell: cell.least, lambda _: 1.0)
    ends = zip(first, total(lambda cell: cell.limit, _expected_looks), strict=True)
    realizations, rank_rounds, here, disk = (Range(low, high) for low, high in ends)
    records = cases + len(cells)
    seconds = here if tries or not cells else None
    rate, device = 0.0, None
    if tries and device_model is None:
        rate = tries[-1].work / (tries[-1].engine + tries[-1].host)
    if device_model is not None:
        device = _on_device(device_model, cells, here, bool(tries))
        seconds = device.hours and Range(3600 * device.hours.low, 3600 * device.hours.high)
        rate = rank_rounds.high / seconds.high if seconds and cells else 0.0
    return Forecast(
        len(cells),
        realizations,
        rank_rounds,
        seconds,
        rate,
        len(tries),
        disk,
        records if records <= MAX_OWN_FILES else _SHARED,
        now + _memory(cells, threads),
        device,
        tuple(sorted(used)),
    )


def _on_device(name: str, cells: Sequence[Cell], here: Range, with_host: bool) -> OnDevice:
    """The time of a card by its stored rates, and with `here`, the seconds of the host."""
    model = DEVICE_MODELS[name]
    parts: dict[tuple[str, str, str], list[float]] = {}  # rank-rounds and seconds
    low = high = 0.0
    for cell in cells:
        for variant in cell.variants:
            case = variant.case
            call = model.call * calls(case)
            least = estimate(model, case, cell.least).seconds
            found = estimate(model, case, cell.limit)
            part = parts.setdefault((found.what, found.rates_of, found.commit), [0.0, 0.0])
            part[0] += float(cell.limit * case.rank_rounds())
            if least is not None and found.seconds is not None:
                low += call + least
                high += call * _expected_looks(cell) + found.seconds
                part[1] += call * _expected_looks(cell) + found.seconds
            else:
                part[1] = math.nan
    known = not any(math.isnan(seconds) for _, seconds in parts.values())
    rests_on = [
        Rests(*key, work, 0.0 if math.isnan(seconds) else seconds / high)
        for key, (work, seconds) in parts.items()
    ]
    return OnDevice(
        name,
        model.card,
        model.measured,
        model.driver,
        model.table,
        Range(low, high) if known else None,
        # The host's part is done beside the card at best, and after it at worst.
        Range(max(low, here.low) / 3600, (high + here.high) / 3600) if known else None,
        with_host,
        tuple(sorted(rests_on, key=lambda part: -part.work)),
    )


def _expected_looks(cell: Cell) -> float:
    """The number of looks at a cell's data until its budget is spent; each has twice the data."""
    return 1.0 if cell.least == cell.limit else 2 + math.log2(cell.limit / cell.least)


def _tries(
    store_in: Callable[[str], Store], cells: Sequence[Cell], make: _Make, *, engine: bool
) -> list[_Trial]:
    """Try some cells for some seconds: the smallest and the largest, then those between."""
    store = store_in("tries")
    by_work = [cell for cell in sorted(cells, key=lambda cell: cell.work)
               if cell.work <= _MAX_WORK]  # fmt: skip
    if not by_work:
        least = [cell for cell in cells if engine and cell.work <= _MAX_SMALLEST_WORK]
        least = sorted(least, key=lambda cell: cell.work)[:1]
        return [_run_trial(store, cell, make, engine) for cell in least]
    # The very first one loads modules. What it stores would not be written again.
    _run_trial(store_in("first"), by_work[0], make, engine)
    # The ends come first: what lies between them is told by them where the time ends.
    parts = [0, _TRIED - 1, *sorted(range(1, _TRIED - 1), key=lambda i: abs(2 * i - _TRIED + 1))]
    numbers = dict.fromkeys(round(i * (len(by_work) - 1) / (_TRIED - 1)) for i in parts)
    tries: list[_Trial] = []
    end = time.monotonic() + _SECONDS
    for number in numbers:
        if len(tries) >= 2 and time.monotonic() > end:
            break
        tries.append(_run_trial(store, by_work[number], make, engine))
    return sorted(tries, key=lambda trial: trial.work)


def _run_trial(store: Store, cell: Cell, make: _Make, engine: bool) -> _Trial:
    """Try a cell; without `engine`, what is done with its samples alone."""
    columns = len(cell.columns)
    limit = min(cell.limit, _BATCH_BYTES // (8 * columns))
    many = max(int(min(_WORK / cell.work if engine else _SAMPLES / columns, limit)), 1)
    alone, kept = _run_seconds(store, cell, 0, 1, make)
    if engine:  # where one takes long, such as an order of arrival, no more than there is time for
        many = min(max(many, _ABREAST), max(int(_SECONDS / alone), 1), limit)
    few_looked = _look_seconds(store, cell, 1)
    stored, seconds, several_kept = 1, alone, kept
    while not engine or alone <= _SECONDS:  # else that one has told enough
        # Of several, as the threads share them: of one, most threads would have nothing.
        seconds, several_kept = _run_seconds(store, cell, stored, many, make)
        stored += many
        if not engine or seconds > _SHORT or many == limit:
            break
        many = min(_FASTER * many, limit)  # on a GPU a call takes as long as many realizations
    looked = _look_seconds(store, cell, stored)
    each = seconds / many if engine else 0.0
    host = max(several_kept - kept, 0.0) / many
    host += (looked - few_looked) / stored if looked > _GROWS * few_looked else 0.0
    fixed = kept + few_looked + (min(max(alone - each, 0.0), _CALL) if engine else 0.0)
    files = store.records(cell).samples
    packed = sum(entry.size for file in files for entry in file.entries)
    # All that are there, once for variants that are the same case.
    samples = sum((entry.end - entry.first) * len(file.identity.columns)
                  for file in files for entry in file.entries)  # fmt: skip
    return _Trial(float(cell.work), fixed, each, host, _summary_seconds(store, cell, stored),
                  packed / samples)  # fmt: skip


def _run_seconds(
    store: Store, cell: Cell, first: int, count: int, make: _Make
) -> tuple[float, float]:
    """Make and store `count` realizations, and return the seconds of both."""
    started = time.perf_counter()
    ticks = make(cell, first, count)
    made = time.perf_counter()
    store.append(cell, first, ticks, None, count)
    return made - started, time.perf_counter() - made


def _simulated(seed: int, backend: str, threads: int | None, used: set[str]) -> _Make:
    """Return a function that makes samples as a run does, and adds the engines to `used`."""

    def make(cell: Cell, first: int, count: int) -> Ticks:
        found = run_batch(Batch(cell, seed, first, count, None, backend, threads))
        assert isinstance(found, BatchResult)
        assert found.ticks is not None
        used.update(found.backends)
        return found.ticks

    return make


def _repeated(seed: int) -> _Make:
    """Samples of a few realizations again and again, which take next to no time to make."""
    pools: dict[int, Ticks] = {}

    def make(cell: Cell, first: int, count: int) -> Ticks:
        if cell.index not in pools:
            few = int(min(max(_WORK / cell.work, 2), _POOL))
            pools[cell.index] = _simulated(seed, "cpu", None, set())(cell, 0, few)
        values = pools[cell.index].values
        return Ticks(cell.columns, values[np.arange(first, first + count) % len(values)])

    return make


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


def _summary_seconds(store: Store, cell: Cell, realizations: int) -> float:
    """The seconds to sum up a realization whose samples are not kept; 0 if all are."""
    if cell.limit <= cell.raw_limit:
        return 0.0
    some = min(realizations, max(_SUMMARIZED // len(cell.columns), 1))
    ticks = Ticks(cell.columns, store.ticks(cell, some).values)
    started = time.perf_counter()
    Summary.of(ticks, store.study.measures(cell))
    return (time.perf_counter() - started) / some


def _statistics(study: Study) -> list[str]:
    return list(dict.fromkeys([*STATISTICS, *(target.statistic for target in study.targets)]))


def _memory(cells: Sequence[Cell], threads: int | None) -> float:
    """Bytes that a run adds: modules, realizations in flight, and samples of cells.

    Samples of several cells stay in memory, as offsets of four bytes mostly. Those that are drawn
    take eight: a batch of them, or all of a cell where no thread prepares them. For a statistic
    there is a column in ticks. So much was measured.
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
    narrow = [size / 2 for size in sizes]
    held = min(sum(narrow), MAX_DATA_BYTES + max(narrow))
    early = min(len(cell.columns) for cell in cells) <= MAX_EARLY_COLUMNS
    in_ticks = min(max(sizes), BATCH_BYTES) if early else max(sizes)
    return modules + flight + held + in_ticks + max(columns)
