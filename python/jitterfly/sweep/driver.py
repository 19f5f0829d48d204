"""`run`: hands batches of cells to workers, MPI ranks (mpiexec); shards (Slurm), failures, resume.

A batch is some realizations of a cell: `CellRun` cuts them up, `run_batch` is what a worker does. A
cut decides only what travels and is stored together. Workers are processes or MPI ranks. Their
results are gathered here, and written by one process. Where a worker raises an exception, its cell
has failed, and `on_error` says whether the others go on. A process that died gets its batch again;
where that happens three times in a row, the cell has failed. An MPI rank that died ends the job,
and the next run resumes it.

A shard is a part of the cells, which one job of several runs by itself: one of a Slurm array
(`Shard.from_slurm`); `store.merge` puts the parts together. MPI ranks are workers of one run
(`executors`). While a run goes on, a line says how many cells and realizations are done, and the
time left.

A run that is killed loses the batches in flight. The next one asks the store what is missing
(`CellRun.look`, `missing` in `store.store`) and goes on; a half-written record does not count
(`store.records`). Where a cell has enough realizations, `observables.targets.decide` says so.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import math
import os
import pickle
import queue
import re
import sys
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .. import executors
from ..backends import BackendError, check_progress, device_of_thread, is_engine_thread
from ..case import warn_of_doubts
from ..executors import Unfinished, WorkersBroken, engine_of_process
from ..faster_algorithm import algorithm_cautions
from ..fields import (
    MAX_REALIZATIONS,
    Int,
    IntOrText,
    Real,
    check_choice,
    check_integer,
    counted,
    is_number,
    option_of,
    parameter,
    shorten,
    some_are,
    stacklevel_of_user,
)
from ..observables import Decision, Measure, Summary, Target, Ticks, columns_of
from ..progress import ProgressLine, counted_progress, show_duration, show_rate
from ..schedule import ScheduleCase
from ..stats.sequential import grid_up
from ..store.cell_progress import ProgressWriter, is_finished
from ..store.store import Store
from ..studies import Cell, Study, load_study
from ..studies.axes import get_path, listed
from ..syntax import read_count, read_devices
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
    threads: Int | None = None

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
        """Decide from the data whether the cell is done, or else which realizations come next."""
        self.decision = self.store.decision(self.cell)
        self.todo.clear()
        if self.decision.next is not None:
            self.todo.extend(self.store.missing(self.cell, self.decision.next))
            if not self.todo:
                raise RuntimeError(f"{self.cell.name}: nothing to run up to {self.decision.next}")
        self.missing = sum(count for _, count in self.todo)

    def next_batch(self, seed: int, backend: str, threads: Int | None) -> Batch | None:
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
        """Put a batch that was lost before all others."""
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


MAX_SHARDS = 1_000_000


@dataclass(frozen=True)
class Shard:
    """The shard `index` of `count`, from 1.

    Examples
    --------
    >>> Shard.parse("2/5")
    Shard(index=2, count=5)
    """

    index: int
    count: int

    def __post_init__(self) -> None:
        check_integer(self.count, "the count of shards", 1, MAX_SHARDS)
        check_integer(self.index, "the index of a shard", 1, self.count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse `i/n`, 1 <= i <= n."""
        given = text.strip() if isinstance(text, str) else ""
        match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", given)
        if not match or not 1 <= int(match[1]) <= int(match[2]) <= MAX_SHARDS:
            raise ValueError(
                f"shard must be i/n with 1 <= i <= n, such as 2/8; got {shorten(text)}"
            )
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def from_slurm(cls, environment: Mapping[str, str] | None = None) -> Shard | None:
        """The shard that is this task of a Slurm job array; None outside of one.

        Raises
        ------
        ValueError
            The tasks of the array are not evenly numbered (`--array=1,2,7`).
        """
        environment = os.environ if environment is None else environment
        if not environment.get("SLURM_ARRAY_TASK_ID"):
            return None
        try:
            task, count = (int(environment[f"SLURM_ARRAY_TASK_{key}"]) for key in ("ID", "COUNT"))
            low, step = (
                int(environment.get(f"SLURM_ARRAY_TASK_{key}", "1")) for key in ("MIN", "STEP")
            )
            high = int(environment.get("SLURM_ARRAY_TASK_MAX", low + (count - 1) * step))
        except (KeyError, ValueError):
            raise ValueError(
                "SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT must be integers: give "
                f"{parameter('shard')} i/n"
            ) from None
        index, uneven = divmod(task - low, max(step, 1))
        if uneven or not 0 <= index < count or high != low + (count - 1) * step:
            raise ValueError(
                f"the {count} tasks of this Slurm array, from {low} to {high}, are not evenly "
                f"numbered: give {parameter('shard')} i/n"
            )
        return cls(index + 1, count)

    def of(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells of the shard, in the study's order; the dearest are dealt first, one each."""
        dealt = sorted(cells, key=lambda cell: (-cell.work, cell.index))
        mine = {cell.index for cell in dealt[self.index - 1 :: self.count]}
        return [cell for cell in cells if cell.index in mine]

    def folder(self, out: Path) -> Path:
        """The folder of the shard's store, in that of the study."""
        return out / f"shard-{self.index}-of-{self.count}"


class RunProgressLine(ProgressLine):
    """A progress line that counts cells, realizations and work.

    The time left goes by work (rank-rounds), or by cells where that is longer: small cells take
    time for more than their work.

    The variants of a cell are looked at together. `stream` is stderr if not given; a run that ends
    before the first report says nothing there. `report` is told the cells that are done, with the
    part of those under way, and all.
    """

    def __init__(
        self,
        runs: Sequence[CellRun],
        stream: TextIO | None = None,
        report: Callable[[float, int], object] | None = None,
    ):
        super().__init__(stream, keep=True)
        self.report, self.reported = report, 0.0
        self.runs = runs
        self.cells = len(runs)
        self.cells_done = sum(run.done for run in runs)
        self.nothing_to_do = self.cells_done == self.cells
        self.shown = 0.0  # share of the bar, which never goes back where the data ask for more
        self.realizations = 0
        self.work_done = 0.0
        self.left = {run.cell.index: run.expected() * run.cell.work for run in runs}
        self.work_left = float(sum(self.left.values()))
        self.done_in_cell = dict.fromkeys(self.left, 0.0)  # realizations
        self.share = dict.fromkeys(self.left, 0.0)  # of what each cell takes, as is known so far
        self.cells_worth = 0.0  # done now: the sum of these shares
        self.cells_asked = self.cells - self.cells_done
        self.finished = {run.cell.index for run in runs if run.done}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if (self.terminal or kind is None) and (self.asked or self.last > self.begun):
            self._show()
        self.close()

    def step(self, run: CellRun, realizations: int) -> None:
        """Add realizations of a cell that are stored now."""
        cell = run.cell
        self.realizations += realizations
        self.work_done += float(realizations) * cell.work
        expected = run.expected()
        left = expected * cell.work
        self.work_left += left - self.left[cell.index]
        self.left[cell.index] = left
        self.done_in_cell[cell.index] += realizations
        done = self.done_in_cell[cell.index]
        share = done / (done + expected) if done else 0.0
        self.cells_worth += share - self.share[cell.index]
        self.share[cell.index] = share
        if run.done and cell.index not in self.finished:
            self.finished.add(cell.index)
            self.cells_done += 1
        if self.report is not None:
            done = self.cells - self.cells_asked + self.cells_worth
            self.reported = max(self.reported, min(done, self.cells - 0.001))
            self.report(self.cells if self.cells_done == self.cells else self.reported, self.cells)
        if self.due():
            self._show()

    @property
    def elapsed(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self.begun

    def text(self) -> str:
        """The cells done, time left, realizations per second: a narrow terminal cuts this off."""
        if self.nothing_to_do:
            return f"{self.cells_done}/{self.cells} cells, nothing to do"
        elapsed = max(self.elapsed, 1e-9)
        if self.work_done > 0 and self.cells_done < self.cells:
            when = f"{show_duration(elapsed * (1 / max(self._part(), 1e-9) - 1))} left"
        else:
            when = show_duration(elapsed)
        rate = show_rate(self.realizations / elapsed)
        text = f"{self.cells_done}/{self.cells} cells, {when}, {rate} realizations/s"
        return f"{text}{self._worst_error()}"

    def _worst_error(self) -> str:
        """The largest relative error that its target does not allow yet, and whose it is.

        Where all intervals are narrow enough and something else is missing, it is said instead.
        """
        largest, text = -1.0, ""
        decisions = (run.decision for run in self.runs if not run.done)
        for state in (state for one in decisions if one is not None for state in one.states):
            target, error = state.target, state.error
            goal = target.relative or target.absolute or 1.0
            if state.met or error / goal <= largest:
                continue
            largest = error / goal
            value = 1.0 if target.relative else abs(float(state.estimate.value))
            shown = error / value if value else math.inf
            size = f"{100 * shown:.2g} %" if math.isfinite(shown) else "not known yet"
            why = f": {state.why}" if error <= goal else ""
            text = f", worst error {size} ({target.statistic} of {target.observable}{why})"
        return text

    def _part(self) -> float:
        """The part of all that is done: of the work, or of the cells where that is less."""
        work = self.work_done / max(self.work_done + max(self.work_left, 0.0), 1e-9)
        return min(work, self.cells_worth / max(self.cells_asked, 1))

    def _show(self) -> None:
        self.shown = max(self.shown, min(self._part(), 0.999))
        self.show(self.text(), 1.0 if self.cells_done == self.cells else self.shown)


_LOOK_AT_WORKERS = 1.0  # seconds: how often to ask how many there are


class BatchDispatcher:
    """The batches of all cells on their way to the workers and back.

    `on_error`: in a cell that can not be run "stop", or "finish" the others first. How far it is
    is written down by `writer`.
    """

    def __init__(
        self,
        store: Store,
        runs: Sequence[CellRun],
        progress: RunProgressLine,
        on_error: str,
        writer: ProgressWriter | None = None,
    ):
        self.writer = writer
        self.store, self.runs, self.progress = store, runs, progress
        self.on_error = on_error
        self.lost: dict[tuple[int, int], int] = {}  # attempts at a batch, by cell and begin
        self.pending: dict[Future[Any], tuple[CellRun, Batch]] = {}
        # Futures that are done, in their order. `concurrent.futures.wait` would do, but for Ctrl-C:
        # in the middle of that it may end in a RuntimeError.
        self.done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()

    def run(self, executor: Executor, backend: str, threads: Int | None) -> None:
        """Hand batches to an executor until every cell is done or has failed."""
        batches = self._batches(executor, backend, threads)
        ask = -math.inf
        try:
            while True:
                if time.monotonic() > ask:
                    depth = executors.depth(executor)
                    ask = time.monotonic() + _LOOK_AT_WORKERS
                while len(self.pending) < depth and (job := next(batches)) is not None:
                    future = _submit(executor, job[1])
                    self.pending[future] = job
                    future.add_done_callback(self.done.put)
                if not self.pending:
                    return
                with contextlib.suppress(queue.Empty):
                    future = self.done.get(timeout=_LOOK_AT_WORKERS)
                    self._receive(future, *self.pending.pop(future))
        except BrokenExecutor as error:
            raise RuntimeError(f"the executor broke, and is not ours to mend: {error}") from None
        except ClassNotLoaded as error:
            if option_of("workers"):  # a command, which has no executor
                raise
            raise ClassNotLoaded(f"{error}; or give `executor` a ThreadPoolExecutor") from None
        finally:
            for future in self.pending:
                future.cancel()

    def _batches(
        self, executor: Executor, backend: str, threads: Int | None
    ) -> Iterator[tuple[CellRun, Batch] | None]:
        """The next batch each time, None while there is none before another one comes back."""
        todo = [run for run in self.runs if not run.done]
        if executors.number_of_workers(executor) != 1:  # a long one at the end holds up many
            todo.sort(key=lambda run: -run.cell.work)
        runs = deque(todo)
        seed = self.store.study.seed
        while True:
            while runs and runs[0].done:
                runs.popleft()
            jobs = ((run, run.next_batch(seed, backend, threads)) for run in runs)
            yield next(((run, batch) for run, batch in jobs if batch is not None), None)

    def _receive(self, future: Future[Any], run: CellRun, batch: Batch) -> None:
        """Take the result of a batch; after an error try it again, or note that its cell failed."""
        try:
            result = future.result()
        except CancelledError:  # not by us
            raise BrokenExecutor("it cancelled a batch, as one does that is closed") from None
        except Exception as error:
            if isinstance(error, BackendError) or executors.worker_died(error):
                self._try_again(run, batch, error)  # another device or worker may do better
            elif isinstance(error, (BrokenExecutor, WorkersBroken)):
                raise
            else:
                run.running -= 1
                self._fail(run, str(error) or type(error).__name__, error)
            return
        run.put(batch, result)
        for name in result.backends:
            self.store.note(backend=name)
        if not run.todo and not run.running and not run.failed:
            run.look()
        self.progress.step(run, batch.count)
        if self.writer is not None:
            self.writer.step(run.cell.index, run.decision)

    def _try_again(self, run: CellRun, batch: Batch, error: Exception) -> None:
        key = (batch.cell.index, batch.first)
        self.lost[key] = self.lost.get(key, 0) + 1
        run.requeue(batch)
        if self.lost[key] >= executors.ATTEMPTS:
            why = executors.why_lost(error)
            self._fail(run, f"{why}, {executors.ATTEMPTS} times in a row")

    def _fail(self, run: CellRun, why: str, error: Exception | None = None) -> None:
        run.fail(why)
        self.progress.step(run, 0)
        if self.on_error == "finish":
            return
        if error is None or isinstance(error, ValueError):
            raise self.store.study.error(f"{why} [at {run.cell.name}]") from None
        raise error


def _submit(executor: Executor, batch: Batch) -> Future[Any]:
    """Submit a batch; an executor that takes none is broken, whatever it raises then."""
    try:
        return executor.submit(run_batch, batch)
    except WorkersBroken:
        raise
    except Exception as error:
        raise BrokenExecutor(str(error) or type(error).__name__) from error


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM during a run; the message says what was kept."""


class CellsFailed(RuntimeError):
    """Some of `total` cells could not be run; `failed` says why, by name of the cell."""

    def __init__(self, failed: dict[str, str], total: int, out: Path):
        self.failed, self.total = failed, total
        reasons = "; ".join(f"{name}: {why}" for name, why in failed.items())
        super().__init__(
            f"{len(failed):,} of {counted(total, 'cell')} failed, {out} holds the others: {reasons}"
        )


def run(
    study: Study | str | Path,
    out: str | Path,
    *,
    executor: Executor | None = None,
    workers: IntOrText | None = None,
    shard: Shard | str | None = None,
    backend: str = "auto",
    threads: Int | None = None,
    devices: IntOrText | Sequence[Int] | None = "all",
    realizations: IntOrText | None = None,
    seed: IntOrText | None = None,
    targets: Sequence[str | Target] | None = None,
    force: bool = False,
    on_error: str = "stop",
    stream: TextIO | None = None,
    progress: Callable[[float, int], object] | None = None,
    finish: Callable[[Store], object] | None = None,
    stopped: Callable[[Store], object] | None = None,
    batch_seconds: Real = 1.0,
) -> Store:
    """Run what is not done yet of a study into the directory `out`.

    The samples do not depend on who runs them, nor on how often the run was stopped on the way.

    Parameters
    ----------
    study : Study or path
        A study, or its TOML file (see `load_study`).
    out : path
        A directory for the samples; it is made if it is not there.
    executor : Executor, optional
        Where batches run; the caller shuts it down.
    workers : str or int, optional
        Instead of an executor: None (this process, or the other ranks when this is rank 0 of
        `mpiexec -n N python -m mpi4py.futures`), "gpus" (a spawned process for each GPU), "sockets"
        or a number (spawned processes that share the processors, or with backend "cuda" the GPUs),
        "mpi".
    shard : str or Shard, optional
        Run a part of the cells, such as "2/8", into a directory of its own in `out`; see
        `store.merge`. "1/1", too, is such a part here; on the command line it is a plain run.
    devices : str, int or list of int
        The GPUs: "all" of this process, with a thread for each; or numbers of those that CUDA
        shows, such as "0,2" or [0, 2]. None: the first. Workers of "gpus" are on these, too.
    backend, threads, realizations, seed, targets, force, on_error, stream, progress
        As in `Study.run`.
    finish : callable, optional
        Called when every cell is there, while no other run may write into `out`.
    stopped : callable, optional
        Likewise where the run ends before: by a signal, or by a cell that can not be run.
    batch_seconds : float
        How long a batch should take, seconds; what is in flight is lost when a run is killed.

    Returns
    -------
    Store

    Raises
    ------
    ValueError
        A bad study or argument, before `out` is made; `out` holds another run, before anything is
        simulated; with "stop", a cell that can not be run.
    CellsFailed
        With "finish", after all that could be run is in the store.
    RuntimeError
        Workers can not start, or an executor given here broke.
    OSError
        `out` can not be written, or the file of the study not be read.
    Stopped
        Ctrl-C. What was run is on disk; the same call goes on from there.
    """
    check_choice(on_error, "on_error", ("stop", "finish"))
    if shard is not None and not isinstance(shard, Shard):
        shard = Shard.parse(shard)
    if not is_number(batch_seconds) or not 0 < batch_seconds < math.inf:
        raise ValueError(f"batch_seconds must be a number above 0, got {shorten(batch_seconds)}")
    batch_seconds = float(batch_seconds)
    check_progress(progress)
    if isinstance(study, (str, Path)):
        study = load_study(study)
    if not isinstance(study, Study):
        raise ValueError(
            f"study must be a Study or the path of its TOML file, got {shorten(study)}"
        )
    study = overridden(study, realizations, seed, targets)
    check_columns(study)
    cells = study.cells()
    schedules = sum(cell.of_schedules for cell in cells) if backend == "auto" else 0
    if schedules and read_devices(devices, "devices") == ():
        devices = None  # the CPU executes them, with all its threads at a time
    chosen = executors.check_workers(workers, backend, threads, executor, devices)
    if chosen.devices and schedules == len(cells):
        what = "devices" if chosen.kind is None else "workers 'gpus'"
        raise ValueError(f"{what} need backend 'cuda' for schedules: 'auto' is the CPU")
    out = Path(out)
    if shard is not None:
        cells, out = shard.of(cells), shard.folder(out)
    runs: list[CellRun] = []
    try:
        with Store.create(out, study, force=force) as store:
            if shard is None and is_finished(store):
                if stream is not None:
                    print(f"{len(cells)}/{len(cells)} cells, nothing to do", file=stream)
                if progress is not None:
                    progress(len(cells), len(cells))
                if finish is not None:
                    finish(store)
                return store
            _warn_of_doubts(cells)
            if get_path(study.case, "algorithm") is None:  # nobody chose the butterfly
                for text in algorithm_cautions(one.case for cell in cells for one in cell.variants):
                    warnings.warn(text, stacklevel=stacklevel_of_user())
            sizer = BatchSizer(batch_seconds)
            runs = [CellRun(cell, store, sizer) for cell in cells]
            for one in counted_progress(runs, len(runs), "looking at what is there"):
                one.look()
            # A shard has not looked at the cells of the others.
            writer = (
                ProgressWriter(store, [one.decision for one in runs]) if shard is None else None
            )
            try:
                if progress is not None and stream is None:
                    stream = io.StringIO()
                with store.writing(), RunProgressLine(runs, stream, progress) as line:
                    dispatcher = BatchDispatcher(store, runs, line, on_error, writer)
                    if not all(one.done for one in runs):
                        opened = (
                            chosen.start()
                            if executor is None
                            else contextlib.nullcontext(executor)  # the caller shuts it down
                        )
                        with opened as pool:
                            dispatcher.run(pool, chosen.backend, chosen.threads)
                    elif progress is not None:
                        progress(len(cells), len(cells))
            except (KeyboardInterrupt, Exception) as error:
                if writer is not None:
                    writer.look_again()
                if stopped is not None and not isinstance(error, OSError):  # as of a full disk
                    with contextlib.suppress(OSError, ValueError):
                        stopped(store)
                raise
            finally:
                if writer is not None:
                    writer.write()
            if finish is not None:
                finish(store)
    except KeyboardInterrupt:
        if not runs:
            raise
        raise Stopped(_kept_cells(runs, out)) from None
    except OSError as error:
        if not runs or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        what = f"{error.strerror}; {_kept_cells(runs, out)}"
        raise OSError(error.errno, what, error.filename) from None
    failed = {one.cell.name: one.failed for one in runs if one.failed}
    if failed:
        raise CellsFailed(failed, len(runs), out)
    return store


def _warn_of_doubts(cells: Sequence[Cell]) -> None:
    """Warn once of what noise leaves open: in full of the first cell that has any."""
    told: dict[str, str] = {}
    unseen = set[str]()
    for cell in counted_progress(cells, len(cells), "looking at recordings"):
        for variant in cell.variants:
            for text in variant.case.doubts():
                told.setdefault(text, cell.name)
            unseen |= set(variant.case.unseen_changes())
    if told:
        first = next(iter(told.values()))
        own = [text for text, name in told.items() if name == first]
        others = len(told) - len(own)
        more = f"; and {counted(others, 'more doubt')} in other cells" if others else ""
        written = {text: f"{text} [at {first}]{more}" for text in own}
        measured = [whole for text, whole in written.items() if text not in unseen]
        warn_of_doubts(measured, [whole for text, whole in written.items() if text in unseen])


def _kept_cells(runs: Sequence[CellRun], out: Path) -> str:
    """Say what is kept of a run that is stopped."""
    kept = sum(one.done and not one.failed for one in runs)
    finished = some_are(kept, len(runs), "cell")
    if kept == len(runs):
        return f"{finished} finished and kept in {out}; the same command does the rest"
    return (
        f"{finished} finished, and what was run of the others is kept in "
        f"{out}; the same command goes on from there"
    )


def overridden(
    study: Study,
    realizations: IntOrText | None = None,
    seed: IntOrText | None = None,
    targets: Sequence[str | Target] | None = None,
) -> Study:
    """The study with what is set in place of its own; it checks itself again."""
    changed: dict[str, Any] = {}
    if seed is not None:
        changed["seed"] = seed
    if targets is not None:
        changed["targets"] = tuple(
            Target.parse(target) if isinstance(target, str) else target
            for target in listed(targets, "targets")
        )
    if realizations is not None:
        budget = read_count(realizations, "realizations", 1, MAX_REALIZATIONS)
        least = min(study.budget.min, budget) if changed.get("targets", study.targets) else budget
        changed["budget"] = replace(study.budget, min=least, max=budget, rank_rounds=float("inf"))
    return replace(study, **changed) if changed else study


_MAX_SUMMED_COLUMNS = 256  # columns that are summed up


def check_columns(study: Study) -> None:
    """Raise where many columns would have to be summed up, which takes time by the square."""
    for cell in study.cells():
        if cell.limit <= cell.raw_limit or len(cell.columns) <= _MAX_SUMMED_COLUMNS:
            continue
        read = len(columns_of(study.measures(cell)))
        if read > _MAX_SUMMED_COLUMNS:
            raise ValueError(
                f"realizations.raw_bytes must be at least {cell.limit * 8 * len(cell.columns)}, so "
                f"that all realizations are kept: the observables read {read:,} columns, such as "
                f"of each cycle; got {study.budget.raw_bytes} [at {cell.name}]"
            )
