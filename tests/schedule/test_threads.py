"""Threads of `simulate_schedule` in the order of arrival, and how they stop."""

from pathlib import Path

import pytest

import jitterfly as jf
from jitterfly import _core
from jitterfly.schedule.compile import compile_schedule

NOISE = [jf.PeriodicNoise("1ms", "25us")]


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """Some tenths of a second for each realization."""
    path = tmp_path_factory.mktemp("long") / "long.goal"
    lines = [f"l{i}: calc 1000" for i in range(400_000)]
    lines += [f"l{i} requires l{i - 1}" for i in range(1, 400_000)]
    path.write_text("num_ranks 1\nrank 0 {\n" + "\n".join(lines) + "\n}")
    schedule = jf.Schedule.read(path)
    return compile_schedule(schedule, jf.LogGOPS("1us", 0), NOISE)


TASKS = Path("/proc/self/task")


def threads():
    return len(list(TASKS.iterdir()))


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads are counted on Linux")
def test_each_realization_has_a_thread(long_run):
    """Not each register of realizations, of which this order makes no use."""
    plan, program = long_run
    before, seen = threads(), []
    _core.simulate_schedule(
        plan, program, 1, 0, 8, 4, lambda *_: seen.append(threads()), arrival_order=True
    )
    assert max(seen) == before + 4


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_progress_raises_is_raised(error, long_run):
    """And not that threads were told to stop."""
    plan, program = long_run

    def fail(*_):
        raise error("from progress")

    for _ in range(5):
        with pytest.raises(error, match="from progress"):
            _core.simulate_schedule(plan, program, 1, 0, 500, 4, fail, arrival_order=True)
