"""Results that must not depend on threads, batches or the instruction set: runs and checks."""

import numpy as np

from jitterfly import _core
from support.instruction_sets import AVAILABLE


def statistics(case, count, threads=1, first=0, which="all"):
    return _core.simulate(case.program(_core), case.seed, first, count, which, "cpu", threads, None)


def ready_times(case):
    return _core.ready_times(case.program(_core), case.seed, case.realization)


def check_threads_and_batches(case, count):
    """Returns the statistics of all realizations."""
    whole = statistics(case, count)
    for threads in (2, 5):
        np.testing.assert_array_equal(statistics(case, count, threads), whole)
    for cut in sorted({1, count // 2, count - 1}):
        parts = [statistics(case, cut), statistics(case, count - cut, 2, first=cut)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(statistics(case, count, 5, which="max"), whole[:, :, 0])
    return whole


def check_compilations(case, count, monkeypatch):
    """What the compilations for other processors give; one that this one lacks is passed over."""
    whole = statistics(case, count)
    for isa in AVAILABLE:
        monkeypatch.setenv("JITTERFLY_ISA", isa)
        np.testing.assert_array_equal(statistics(case, count), whole)


def check_statistics(case):
    """Those of a realization are those of its ready times."""
    times = ready_times(case)
    high, low, upper, lower = statistics(case, 1, 2, first=case.realization)[0].T
    np.testing.assert_array_equal(high, times.max(axis=1))
    np.testing.assert_array_equal(low, times.min(axis=1))
    np.testing.assert_array_equal(upper * 2**32 + lower, times.sum(axis=1))
