"""How fast the counter of a recording ran: calibrated against the system's clock.

The system's is CLOCK_MONOTONIC_RAW, which nobody sets and NTP does not steer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Moment = tuple[int, int, int]
"""A reading of both clocks: counter, nanoseconds, and how many counts they may be apart."""

_AGREE = 1e-5  # two calibrations: beyond what their errors explain


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
