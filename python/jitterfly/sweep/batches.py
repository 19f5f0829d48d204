"""Batches of a cell's realizations: how these are cut up, and what a worker does.

Which are missing is known to store/store.py. Nothing here changes a sample; a cut decides
only what travels and is stored together.
"""

from __future__ import annotations

import functools
import pickle
import sys
import time
import uuid
from collections import deque
from dataclasses import dataclass

import numpy as np

from ..backends import BackendError, device_of_thread, is_engine_thread
from ..executors import Unfinished, WorkersBroken, engine_of_process
from ..observables import Decision, Measure, Summary, Ticks
from ..schedule import ScheduleCase
from ..stats.sequential import grid_up
from ..store.store import Store
from ..studies import Cell
from ..version import __version__


class ClassNotLoaded(WorkersBroken):
    """A worker can not load a class that the study has."""


@dataclass(frozen=True)
class Batch:
    """The realizations `first` to `first + count - 1` of a cell.

    With `measures` it is a summary that is wanted, else the raw samples.
    """

    cell: Cell
    seed: int
    first: int
    count: int
    measures: tuple[Measure, ...] | None
    backend: str = "auto"
    threads: int | None = None

    def __reduce__(self) -> tuple[type[PackedBatch], tuple[bytes, str]]:
        # With cloudpickle where an executor has brought it (Dask's does): that takes along a class
        # of a notebook.
        pickler = sys.modules.get("cloudpickle", pickle)
        try:
            return PackedBatch, (pickler.dumps(dict(self.__dict__)), __version__)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise ClassNotLoaded(_NOT_LOADED.format(error)) from None

    def __dask_tokenize__(self) -> str:
        # Dask answers a call with the result of an equal one: an attempt with a failure before it.
        return uuid.uuid4().hex


@dataclass(frozen=True)
class PackedBatch:
    """A batch on its way to a worker, which opens it.

    Of a class that it can not load, a worker says so then. Were it a part of the call that an
    executor sends, a worker of Dask would drop its connection again and again, and one of
    `ProcessPoolExecutor` would die.
    """

    data: bytes
    version: str

    def unpack(self) -> Batch:
        """Return the batch where this is its version: another may give other numbers."""
        if self.version != __version__:
            raise WorkersBroken(
                f"a worker has jitterfly {__version__}, the run is of {self.version}: install the "
                "same where the workers are"
            )
        try:
            return Batch(**pickle.loads(self.data))
        except (AttributeError, ImportError) as error:  # of pickle, which names the class
            raise ClassNotLoaded(_NOT_LOADED.format(error)) from None


_NOT_LOADED = (
    "a worker can not load what the study has ({}): a class of your own must be in a module that "
    "can be imported where the workers are, not in a notebook's cell or in what was typed"
)


@dataclass(frozen=True)
class BatchResult:
    """The ticks or their summary; the engines that were used; how many seconds it took."""

    ticks: Ticks | None
    summary: Summary | None
    backends: tuple[str, ...]
    seconds: float


def run_batch(batch: Batch | PackedBatch) -> BatchResult | Unfinished:
    """Simulate a batch; what comes out depends on nothing but realizations and seed.

    In a thread of an engine it is unfinished: others make the summary, while that goes on.
    """
    started = time.perf_counter()
    if isinstance(batch, PackedBatch):
        batch = batch.unpack()
    cell = batch.cell
    parts, backends = [], []
    for variant in cell.variants:
        # A thread of a GPU executes a whole schedule: "auto" is the CPU, as in `simulate_schedule`.
        alone = batch.backend == "auto" and isinstance(variant.case, ScheduleCase)
        backend, threads = "cpu" if alone else batch.backend, batch.threads
        if alone or device_of_thread() is None:
            backend, threads = engine_of_process(backend, threads)
        try:
            ticks, used = variant.case.realize(
                batch.count, batch.seed, batch.first, backend, threads
            )
        except ValueError as error:
            kind = type(error) if isinstance(error, BackendError) else ValueError
            raise kind(f"{variant.label}: {error}" if variant.label else str(error)) from None
        parts.append(ticks)
        backends.append(used)
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    if values.shape[1] != len(cell.columns):
        raise RuntimeError(f"{cell.name}: {values.shape[1]} columns instead of {len(cell.columns)}")
    samples = Ticks(cell.columns, values)
    simulated = time.perf_counter() - started
    used_backends = tuple(sorted(set(backends)))
    if batch.measures is None:
        return BatchResult(samples, None, used_backends, simulated)
    measures = batch.measures

    def finish() -> BatchResult:
        started = time.perf_counter()
        summary = Summary.of(samples, measures)
        return BatchResult(None, summary, used_backends, simulated + time.perf_counter() - started)

    return Unfinished(finish) if is_engine_thread() else finish()


_FIRST_WORK = 2e7  # rank-rounds of the very first batch, per second wanted of it
_CAUTION = 4.0  # how much less than it seems possible a cell's first batch takes
_GROWTH = 8.0  # most from one batch of a cell to its next
_LAST = 8  # a batch over this may still be cut, as what follows the last one holds up the end
BATCH_BYTES = 2**25  # samples in one batch: they wait in memory, see `executors.depth`


class BatchSizer:
    """The speed of the batches so far, which decides the size of a cell's first batch."""

    def __init__(self, batch_seconds: float):
        self.batch_seconds = batch_seconds
        self._rate = 0.0  # rank-rounds a second

    def guess(self, work: int) -> float:
        """Guess the number of realizations, each of `work` rank-rounds, in a first batch."""
        known = self._rate * self.batch_seconds / _CAUTION
        return (known or _FIRST_WORK * self.batch_seconds) / work

    def learn(self, work: float, seconds: float) -> None:
        """Note that a batch of `work` rank-rounds took `seconds`."""
        rate = work / max(seconds, 1e-6)
        self._rate = (self._rate + rate) / 2 if self._rate else rate


class CellRun:
    """One cell on its way from look to look."""

    def __init__(self, cell: Cell, store: Store, sizer: BatchSizer):
        self.cell, self.store, self.sizer = cell, store, sizer
        self.todo: deque[tuple[int, int]] = deque()  # first realization and how many
        self.running = 0
        self.failed = ""
        self.decision: Decision | None = None
        self.missing = 0  # realizations up to the next look, of which none is in the store
        self._most = 0.0  # realizations of the next batch

    @property
    def done(self) -> bool:
        """Return whether nothing more is to be run."""
        return bool(self.failed) or (self.decision is not None and self.decision.next is None)

    def look(self) -> None:
        """Ask the data what comes next."""
        self.decision = self.store.decision(self.cell)
        self.todo.clear()
        if self.decision.next is not None:
            self.todo.extend(self.store.missing(self.cell, self.decision.next))
            if not self.todo:
                raise RuntimeError(f"{self.cell.name}: nothing to run up to {self.decision.next}")
        self.missing = sum(count for _, count in self.todo)

    def next_batch(self, seed: int, backend: str, threads: int | None) -> Batch | None:
        """Cut the next batch off; None while there is nothing to cut it from."""
        if not self.todo or self.failed:
            return None
        first, left = self.todo.popleft()
        raw = first < self.cell.raw_limit
        end = self.cell.raw_limit if raw else grid_up(first + 1)
        size = self._batch_size()
        count = min(left, end - first, size, max((left + 1) // 2, size // _LAST))
        if count < left:
            self.todo.appendleft((first + count, left - count))
        self.running += 1
        return Batch(
            self.cell, seed, first, count, None if raw else self._measures, backend, threads
        )

    def requeue(self, batch: Batch) -> None:
        """A batch that was lost."""
        self.running -= 1
        self.todo.appendleft((batch.first, batch.count))

    def put(self, batch: Batch, result: BatchResult) -> None:
        """Store what came out of a batch."""
        self.running -= 1
        self.store.append(self.cell, batch.first, result.ticks, result.summary, batch.count)
        self.missing -= batch.count
        self.sizer.learn(batch.count * self.cell.work, result.seconds)
        fitting = batch.count * self.sizer.batch_seconds / max(result.seconds, 1e-6)
        self._most = min(fitting, batch.count * _GROWTH)

    def fail(self, why: str) -> None:
        """Give the cell up."""
        self.failed = why
        self.todo.clear()

    def expected(self) -> float:
        """The number of realizations that are probably still to be run."""
        if self.done:
            return 0.0
        if self.decision is None or self.decision.next is None:
            return float(self.cell.least)
        more, have = 1.0, self.decision.realizations
        for state in self.decision.states:
            goal = state.target.relative or state.target.absolute
            if not state.met and goal and state.error > 0:
                more = max(more, (state.error / goal) ** 2)
        final = min(max(have * more, self.decision.next), self.cell.limit)
        return final - self.decision.next + self.missing

    def _batch_size(self) -> int:
        limit = self._most or self.sizer.guess(self.cell.work)
        return int(max(1.0, min(limit, BATCH_BYTES / (8 * len(self.cell.columns)))))

    @functools.cached_property
    def _measures(self) -> tuple[Measure, ...]:
        return tuple(self.store.study.measures(self.cell))
