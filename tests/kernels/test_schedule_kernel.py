"""CUDA kernel of application schedules, emulated on the CPU, against the CPU backend: every tick.

As test_kernels.py: threads run in four orders, and memory holds garbage. Threads do not meet, so
that there are no barriers to take out.
"""

from dataclasses import replace

import pytest
from support.emulated_kernels import ORDERS, build_once, execute
from support.emulated_schedules import random_schedule_runs, same_schedule

pytestmark = [
    # To compile takes longer than to run; test_kernels.py is of both scales.
    pytest.mark.full_scale,
    pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning"),
]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    return build_once(tmp_path_factory, "schedules")


def check(kernel, runs, monkeypatch):
    found = execute(kernel, [run.text(monkeypatch) for run in runs], timeout=300)
    assert [i for i, run in enumerate(runs) if not same_schedule(run, found[i])] == []
    return [int(text.split()[0]) for text in found]


def test_random_schedules(kernel, tmp_path, monkeypatch):
    check(kernel, random_schedule_runs(tmp_path, 300, 1), monkeypatch)


def test_more_realizations_than_threads_of_a_block(kernel, tmp_path, monkeypatch):
    runs = random_schedule_runs(tmp_path, 20, 2)
    runs = [replace(run, count=300, batch=batch, order=number % ORDERS, launch=0)
            for number, run in enumerate(runs) for batch in (299, 1000)]  # fmt: skip
    for run in runs:
        run.case.realization = min(run.case.realization, 2**32 - 301)
    check(kernel, runs, monkeypatch)


def test_a_plan_in_many_launches(kernel, tmp_path, monkeypatch):
    """Of one action each: what later ones need is in memory, not in registers."""
    runs = random_schedule_runs(tmp_path, 20, 3)
    runs = [replace(run, count=2, batch=1000, launch=launch) for run in runs for launch in (0, 2)]
    launches = check(kernel, runs, monkeypatch)
    assert set(launches[::2]) == {1}
    actions = [run.case.compiled(run.marks).plan.actions for run in runs[1::2]]
    assert launches[1::2] == [max(number, 1) for number in actions]


def test_a_user_stops_the_run(kernel, tmp_path, monkeypatch):
    """Between batches, none of which begins after that."""
    runs = random_schedule_runs(tmp_path, 4, 6)
    for run in runs:
        for stop in (1, 2, 5):
            stopped = replace(run, count=6, batch=2, launch=0, stop=stop)
            (found,) = execute(kernel, [stopped.text(monkeypatch)])
            assert found == "error: cancelled"
    ended = [replace(run, count=6, batch=2, launch=0, stop=7) for run in runs]
    assert check(kernel, ended, monkeypatch) == [3] * len(ended)


def test_memory_that_is_not_there(kernel, tmp_path, monkeypatch):
    """Then fewer realizations are computed at a time; not even one is an error."""
    runs = [replace(run, count=9, batch=9, launch=0)
            for run in random_schedule_runs(tmp_path, 20, 4)]  # fmt: skip
    full = 0
    for run in runs:
        tight = [replace(run, room=2**bits) for bits in range(8, 24)]
        found = execute(kernel, [one.text(monkeypatch) for one in tight])
        fits = [text for text in found if "full" not in text]
        assert all(same_schedule(run, text) for text in fits)
        launches = [int(text.split()[0]) for text in fits]
        assert launches == sorted(launches, reverse=True)
        assert launches[-1] == 1
        full += len(tight) - len(fits)
    assert full > 0
