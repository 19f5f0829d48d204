"""Performance goals of a sweep: overhead of driver, statistics and store beside the engine.

Goals: at most 5 % of the engine's time at 10^5 realizations of 2^12 ranks per cell, and at most
20 ms per cell. Medians of several runs; the table of all statistics is part of what is measured.
"""

import statistics
import time

import pytest

import jitterfly as jf
from jitterfly.store import export
from jitterfly.studies import parse_study
from jitterfly.sweep import run

pytestmark = [pytest.mark.slow, pytest.mark.timing]

LARGE = """
name = "large"
targets = ["mean of gain ± 0.01 %"]
realizations = { min = 100000, max = 100000 }

[case]
ranks = 4096
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-9 }
noise = [{ kind = "periodic", period = "1ms", duration = "10us" }]

[observables]
completion = { kind = "completion", T = "each" }
gain = { kind = "gain", of = { T = "best" }, over = { T = 0 } }
optimal = { kind = "optimal_T" }
"""

SMALL = """
name = "small"
realizations = { min = 100, max = 100 }

[case]
algorithm = { kind = "butterfly", exchanges_after = 1 }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-9 }
noise = [{ kind = "periodic", period = "1ms" }]

[axes.ranks]
log2 = [1, 5]

[axes.duration]
path = "noise.0.duration"
values = [VALUES]
""".replace("VALUES", ", ".join(f'"{i}us"' for i in range(1, 21)))


@pytest.fixture
def measure(monkeypatch):
    engine, realize = 0.0, jf.Case.realize

    def clocked(*arguments):
        nonlocal engine
        before = time.perf_counter()
        found = realize(*arguments)
        engine += time.perf_counter() - before
        return found

    def measure(text, path):
        """Seconds in all and in the engine, from the study to the table of its statistics."""
        nonlocal engine
        engine, started = 0.0, time.perf_counter()
        store = run(
            parse_study(text),
            path,
            backend="cpu",
            finish=lambda store: export(store, path / "summary.csv"),
        )
        return store, time.perf_counter() - started, engine

    monkeypatch.setattr("jitterfly.Case.realize", clocked)
    return measure


def test_five_percent_of_the_engine(measure, tmp_path, record_property):
    shares = []
    for i in range(7):  # the first loads modules, and the next ones still warm up
        _, total, engine = measure(LARGE, tmp_path / str(i))
        shares.append((total - engine) / engine)
    record_property("share", statistics.median(shares))
    assert statistics.median(shares) <= 0.05, shares


def test_twenty_milliseconds_per_cell(measure, tmp_path, record_property):
    costs = []
    for i in range(3):
        store, total, engine = measure(SMALL, tmp_path / str(i))
        cells = sum(len(cell.variants) for cell in store.cells)
        assert cells == 100
        costs.append((total - engine) / cells)
    record_property("seconds", statistics.median(costs))
    assert statistics.median(costs) <= 0.020, costs
