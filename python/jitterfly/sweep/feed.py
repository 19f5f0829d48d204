"""Keep the workers of an executor busy, and put what they send into the store."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any

from ..engine import BackendError
from ..store.progress import Diary
from ..store.store import Store
from . import executors
from .pool import WorkerDied, WorkersBroken
from .progress import Progress
from .schedule import PlaceRun
from .worker import Batch, run_batch

_ATTEMPTS = 3  # at a batch whose worker dies or whose device fails


class Feed:
    """Batches of all places on their way to the workers and back.

    `on_error`: at a place that can not be run "stop", or "finish" the others first. How far it is
    is written down in `diary`.
    """

    def __init__(
        self,
        store: Store,
        runs: Sequence[PlaceRun],
        progress: Progress,
        on_error: str,
        diary: Diary | None = None,
    ):
        self.diary = diary
        self.store, self.runs, self.progress = store, runs, progress
        self.on_error = on_error
        self.lost: dict[tuple[int, int], int] = {}
        self.pending: dict[Future[Any], tuple[PlaceRun, Batch]] = {}

    def run(self, executor: Executor, backend: str, threads: int | None) -> None:
        """Go on until every place is done."""
        depth = executors.depth(executor)
        batches = self._batches(executor, backend, threads)
        try:
            while True:
                while len(self.pending) < depth and (job := next(batches)) is not None:
                    self.pending[executor.submit(run_batch, job[1])] = job
                if not self.pending:
                    return
                done, _ = wait(self.pending, return_when=FIRST_COMPLETED)
                for future in done:
                    self._take(future, *self.pending.pop(future))
        except BrokenExecutor as error:
            raise RuntimeError(f"the executor broke, and is not ours to mend: {error}") from None
        finally:
            for future in self.pending:
                future.cancel()

    def _batches(
        self, executor: Executor, backend: str, threads: int | None
    ) -> Iterator[tuple[PlaceRun, Batch] | None]:
        """The next batch each time, None while there is none before another one comes back."""
        todo = [run for run in self.runs if not run.done]
        if not isinstance(executor, executors.InProcess):  # a long one at the end holds up many
            todo.sort(key=lambda run: -run.place.work)
        runs = deque(todo)
        seed = self.store.study.seed
        while True:
            while runs and runs[0].done:
                runs.popleft()
            jobs = ((run, run.next_batch(seed, backend, threads)) for run in runs)
            yield next(((run, batch) for run, batch in jobs if batch is not None), None)

    def _take(self, future: Future[Any], run: PlaceRun, batch: Batch) -> None:
        try:
            result = future.result()
        except (WorkerDied, BackendError) as error:  # another worker or device may do better
            key = (batch.place.index, batch.first)
            self.lost[key] = self.lost.get(key, 0) + 1
            run.put_back(batch)
            if self.lost[key] >= _ATTEMPTS:
                self._fail(run, f"{error}, {_ATTEMPTS} times in a row")
            return
        except (BrokenExecutor, WorkersBroken):
            raise
        except Exception as error:
            run.running -= 1
            self._fail(run, str(error) or type(error).__name__, error)
            return
        run.put(batch, result)
        for name in result.backends:
            self.store.note(backend=name)
        if not run.todo and not run.running and not run.failed:
            run.look()
        self.progress.step(run, batch.count)
        if self.diary is not None:
            self.diary.step(run.place.index, run.decision)

    def _fail(self, run: PlaceRun, why: str, error: Exception | None = None) -> None:
        run.fail(why)
        self.progress.step(run, 0)
        if self.on_error == "finish":
            return
        if error is None or isinstance(error, ValueError):
            raise self.store.study.error(f"{why} [at {run.place.name}]") from None
        raise error
