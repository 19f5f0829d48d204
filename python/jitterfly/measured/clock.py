"""The counter of a recording: how fast it ran, and in which steps.

Its rate is calibrated against the system's CLOCK_MONOTONIC_RAW, which nobody sets and NTP does not
steer. Its steps show in the iterations of a loop that does nothing but read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Moment = tuple[int, int, int]
"""A reading of both clocks: counter, nanoseconds, and how many counts they may be apart."""

_AGREE = 1e-5  # two calibrations: beyond what their errors explain
_RARE = 1e-3  # share of the iterations below which one of that length is not a usual one
_WITHIN = 3  # a usual iteration of more than so many of the smallest: that one was within a step


@dataclass(frozen=True)
class Rate:
    """Of a counter, in counts a second.

    Parameters
    ----------
    hz : float
        Over the recording, the longest of three measurements.
    error : float
        Its relative error, an upper bound.
    drift : float
        Relative change from the calibration before the recording to that after it.
    drift_error : float
        What of it the errors of the two explain, an upper bound.
    """

    hz: float
    error: float
    drift: float
    drift_error: float

    @property
    def steady(self) -> bool:
        """Whether the calibrations before and after agree."""
        return abs(self.drift) <= self.drift_error + _AGREE


def rate(moments: Sequence[Moment]) -> Rate:
    """The rate of a counter from four moments: calibration, recording, calibration.

    Raises
    ------
    ValueError
        A clock that does not advance.

    Examples
    --------
    >>> found = rate([(0, 0, 0), (250, 100, 0), (1250, 500, 0), (1500, 600, 0)])
    >>> found.hz, found.drift
    (2500000000.0, 0.0)
    """
    before, during, after = (_between(moments[i], moments[i + 1]) for i in range(3))
    return Rate(during[0], during[1], after[0] / before[0] - 1, before[1] + after[1])


def _between(one: Moment, other: Moment) -> tuple[float, float]:
    """Counts a second, and the relative error of that."""
    counts, ns = other[0] - one[0], other[1] - one[1]
    if counts <= 0 or ns <= 0:
        raise ValueError(f"the clock stood still: {counts} counts in {ns} ns")
    return counts / ns * 1e9, (one[2] + other[2]) / 2 / counts + 1 / ns


@dataclass(frozen=True)
class Iteration:
    """Of a loop that reads a counter, where nothing disturbs it, in counts.

    Parameters
    ----------
    smallest : int
        What two readings were apart at least.
    regular : int
        What it takes, as far as the counter can tell: the smallest, or a step of the counter where
        that is longer.
    step : int
        In which the counter advances, 1 where nothing else is seen.
    """

    smallest: int
    regular: int
    step: int

    @property
    def is_shorter_than_step(self) -> bool:
        """Whether the loop reads the counter several times within one of its steps."""
        return self.regular > max(self.smallest, 1)


def iteration(taken: npt.ArrayLike, times: npt.ArrayLike | None = None) -> Iteration:
    """The iteration of a loop from a histogram of those that were seen.

    Some counters (AMD's since Zen 5, and where a hypervisor scales it) advance in steps that are
    longer than the loop, and a second reading within a step is the last one + 1. The smallest
    iteration is then 1 count, though no program can see anything that is shorter than a step. The
    usual iteration is taken by time: half of all time passes in iterations of at least that length.

    Parameters
    ----------
    taken : array_like of int
        Counts that iterations took, one or more.
    times : array_like of int, optional
        How often each was seen. Default: once.

    Examples
    --------
    >>> iteration([1, 25, 26, 51, 52], [107753, 107654, 1784173, 85, 192])
    Iteration(smallest=1, regular=26, step=26)
    >>> iteration([18, 20, 22, 3000], [50, 900, 50, 1])
    Iteration(smallest=18, regular=18, step=2)
    >>> iteration([24, 5000], [65530, 6])
    Iteration(smallest=24, regular=24, step=1)
    """
    values, where = np.unique(np.asarray(taken, np.int64), return_inverse=True)
    counts = np.bincount(where.ravel(), None if times is None else np.asarray(times, float))
    common = counts >= _RARE * counts.sum()
    if not common.any():
        common[:] = True
    passed = np.cumsum((values * counts)[common])
    usual = int(values[common][np.searchsorted(passed, passed[-1] / 2)])
    smallest = int(values[0])
    if usual > _WITHIN * max(smallest, 1):
        return Iteration(smallest, usual, usual)
    # Rare ones count as well, but not those that something disturbed. One alone says nothing.
    near = values[values <= _WITHIN * max(smallest, 1)]
    step = int(np.gcd.reduce(near)) if len(near) > 1 else 1
    return Iteration(smallest, max(smallest, 1), max(step, 1))
