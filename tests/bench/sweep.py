"""Benchmark of a sweep's own cost: statistics, files and looks beside the engine's time.

Run in tests/ as ``python -m bench.sweep``. With the engine replaced by copies from a pool of
samples, ns a realization of the run and of its tables; a sweep of small cells on the CPU, beside
the engine alone on the same realizations: in CPU time of one thread of the engine. And the wall
clock of a sweep on a GPU that is not there: an engine that sleeps as long as the rest takes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import jitterfly as jf
from jitterfly.executors import EnginePool, InProcess
from jitterfly.studies import Study, parse_study

SMALL = (4, 16, 64)
"""Ranks of the cells whose statistics take about as long as their engine."""
GOAL_SMALL = 1.4
"""The sweep of these cells in terms of the engine alone, at most: CPU time."""
POOLED = (2**8, 2**13)
_POOL = 2**14  # realizations that are drawn, and copied from
_SEED = 7

_STUDY = """
name = "sweep"
seed = {seed}
realizations = {{ min = {count}, max = {count} }}

[case]
message_bytes = 8
algorithm = {{ kind = "butterfly", exchanges_after = "all" }}
network = {{ kind = "hockney", alpha = 1e-7, beta = 1e-9, gamma = 1e-10 }}

[[case.noise]]
kind = "periodic"
period = 1e-3
duration = 1e-5

[axes.ranks]
values = {ranks}

[observables]
slowdown = {{ kind = "slowdown", T = 0 }}
slowdown_redundant = {{ kind = "slowdown", T = "best" }}
gain = {{ kind = "gain", of = {{ T = "best" }}, over = {{ T = 0 }} }}
optimal_T = {{ kind = "optimal_T" }}
time = {{ kind = "completion", T = 0 }}
time_redundant = {{ kind = "completion", T = "best" }}
"""


@dataclass(frozen=True)
class SweepCost:
    """CPU seconds of a sweep of `realizations` in all cells: its run, its tables, the engine alone.

    With a pool in place of the engine, `engine` is what copying from it takes.
    """

    ranks: tuple[int, ...]
    realizations: int
    engine: float
    run: float
    tables: float

    @property
    def ratio(self) -> float:
        """The whole sweep in terms of the engine alone."""
        return (self.run + self.tables) / self.engine

    def nanoseconds(self, seconds: float) -> float:
        """That time for one realization."""
        return 1e9 * seconds / self.realizations


def study_of(ranks: Sequence[int], count: int) -> Study:
    """The study of Figure 12 of MS12, without jitter: all T, six observables."""
    return parse_study(_STUDY.format(seed=_SEED, count=count, ranks=list(ranks)))


def cost(
    ranks: Sequence[int], count: int, pool: bool = False, engine_last: bool = False
) -> SweepCost:
    """Run the study of `count` realizations in each cell, with its tables.

    The engine alone comes before it, or with `engine_last` after it.

    Examples
    --------
    >>> found = cost((4,), 1000)
    >>> found.realizations, found.engine > 0
    (1000, True)
    """
    study = study_of(ranks, count)
    with _pooled(study) if pool else nullcontext(), tempfile.TemporaryDirectory() as folder:
        _sweep(study_of(ranks, 100), Path(folder, "first"))  # loads what is loaded once
        engine = 0.0 if engine_last else _seconds(lambda: _realize_all(study))
        store: list[Any] = []
        run = _seconds(lambda: store.append(_run(study, Path(folder, "out"))))
        tables = _seconds(lambda: _tables(store[0]))
        engine = engine or _seconds(lambda: _realize_all(study))
    return SweepCost(tuple(ranks), len(ranks) * count, engine, run, tables)


def _sweep(study: Study, out: Path) -> None:
    _tables(_run(study, out))


def _run(study: Study, out: Path) -> Any:
    return jf.run_study(study, out, backend="cpu", threads=1)


def _tables(store: Any) -> None:
    store.to_csv()
    store.summary()


def _realize_all(study: Study) -> None:
    """Draw what a sweep draws, in batches that take as much memory as its own at most."""
    for cell in study.cells():
        most = max(1, 2**25 // (8 * len(cell.columns)))
        for variant in cell.variants:
            for first in range(0, cell.limit, most):
                count = min(most, cell.limit - first)
                variant.case.realize(count, study.seed, first, "cpu", 1)


def wall(ranks: Sequence[int], count: int, beside: bool) -> float:
    """The wall clock of a run, in terms of its engine's: a GPU's, in a thread of its own, `beside`.

    The engine copies, and sleeps as long as the run takes without that.

    Examples
    --------
    >>> wall((4,), 1000, beside=False) > 1
    True
    """
    study = study_of(ranks, count)
    slept = [0.0]

    def run(out: Path) -> float:
        with EnginePool([None]) if beside else InProcess() as executor:
            started = time.perf_counter()
            jf.run_study(study, out, executor=executor)
            return time.perf_counter() - started

    with tempfile.TemporaryDirectory() as folder:
        with _pooled(study):
            run(Path(folder, "first"))  # loads what is loaded once
            alone = min(run(Path(folder, f"alone{i}")) for i in range(2)) / (len(ranks) * count)
        with _pooled(study, lambda count: slept.append(_sleep(count * alone))):
            found = run(Path(folder, "out"))
    return found / sum(slept)


def _sleep(seconds: float) -> float:
    started = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - started


@contextmanager
def _pooled(study: Study, wait: Callable[[int], object] = lambda count: None) -> Iterator[None]:
    """Copy samples from a pool in place of every case's engine, and wait for so many."""
    pools = {
        variant.case.ranks: variant.case.realize(_POOL, study.seed, 0, "cpu", 1)[0]
        for cell in study.cells()
        for variant in cell.variants
    }

    def realize(case: Any, count: int, *_: Any, **__: Any) -> tuple[Any, str]:
        pool = pools[case.ranks]
        values = np.empty((count, pool.shape[1]), np.int64)
        for at in range(0, count, _POOL):
            part = values[at : at + _POOL]
            part[:] = pool[: len(part)]
        wait(count)
        return values, "cpu"

    with mock.patch.object(jf.Case, "realize", realize):
        yield


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _compare_small(count: int, pairs: int) -> None:
    """Print the CPU time of the sweep of small cells in terms of its engine's, of pairs in turns.

    The machine's pace changes from second to second: a pair lies close together, its order changes
    from one to the next. With fewer realizations the fixed cost of a cell's looks weighs more.
    """
    ratios = sorted(cost(SMALL, count, engine_last=bool(i % 2)).ratio for i in range(pairs))
    print(f"sweep of {', '.join(map(str, SMALL))} ranks, CPU time in terms of the engine alone: "
          f"{statistics.median(ratios):.2f}, median of {pairs} pairs from {ratios[0]:.2f} to "
          f"{ratios[-1]:.2f} (goal: {GOAL_SMALL} at most)")  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables; medians over repeats."""
    parser = argparse.ArgumentParser(prog="python -m bench.sweep", description=__doc__)
    parser.add_argument("--realizations", type=int, default=4_000_000, metavar="N",
                        help="in each cell (default: 4 million)")  # fmt: skip
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=7, help="of the sweep of small cells and its "
                        "engine alone")  # fmt: skip
    parser.add_argument("--small", action="store_true", help="measure the small cells only")
    chosen = parser.parse_args(arguments)
    _compare_small(chosen.realizations, chosen.pairs)
    if chosen.small:
        return 0

    def measured(ranks: Sequence[int]) -> SweepCost:
        found = [cost(ranks, chosen.realizations, True) for _ in range(chosen.repeats)]
        middle = statistics.median_low([one.run + one.tables for one in found])
        return next(one for one in found if one.run + one.tables == middle)

    print("engine replaced by a pool, ns a realization:  ranks      run   tables  copying")
    for ranks in POOLED:
        found = measured((ranks,))
        shown = [found.nanoseconds(x) for x in (found.run, found.tables, found.engine)]
        print(f"{'':42}{ranks:>9,}" + "".join(f"{x:9.0f}" for x in shown))
    print("an engine that takes as long as the rest; the whole in terms of it, one after the other "
          "and side by side:")  # fmt: skip
    for ranks in ((POOLED[0],), (POOLED[1],), tuple(2**k for k in range(8, 14))):
        count = chosen.realizations // len(ranks)
        found = [[wall(ranks, count, beside) for _ in range(chosen.repeats)] for beside in (0, 1)]
        shown = [f"{statistics.median(one):6.2f}" for one in found]
        print(f"{', '.join(f'{n:,}' for n in ranks):>42}{''.join(shown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
