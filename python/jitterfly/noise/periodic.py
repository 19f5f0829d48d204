"""Periodic interruptions of the CPU, such as the operating system's timer tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..fields import check_choice, check_numbers, check_power_of_two, shorten
from ..units import TICKS_PER_SECOND, Seconds, to_ticks
from .source import Exposed, Noise


@dataclass(frozen=True, eq=False)
class PeriodicNoise(Noise, kind="periodic"):
    """Periodic interruptions of the CPU: busy in ``[phase + k * period, + duration)``.

    Work stands still inside these half-open intervals; waiting absorbs them.

    Parameters
    ----------
    period : float or str
        Seconds, above 0.
    duration : float or str
        Seconds, from 0 and shorter than `period`.
    start : "fresh" or "stationary"
        "fresh": k >= 0 only, so that nobody is inside an interval at time 0 (Matsumoto & Suda
        2012). "stationary": all integers k.
    synchronized : False, "machine" or int
        Which ranks share a phase: none, all, or nodes of so many consecutive ranks (a power of
        two up to the number of ranks).
    phases : array of float, shape (ranks,), optional
        The phases themselves, in seconds, each in [0, period). Without it they are drawn,
        uniform and independent.
    during : "all", "compute" or "communication"
        The phase of the cycle whose CPU work is exposed. "compute" alone is Chen & Suda's
        noiseless case.

    Raises
    ------
    ValueError
        A parameter out of range; shape of `phases` and size of nodes when the case is made.

    Examples
    --------
    >>> PeriodicNoise(period="1ms", duration="10us").duration
    1e-05
    """

    period: Seconds = Seconds(positive=True)
    duration: Seconds = Seconds()
    start: Literal["fresh", "stationary"] = "fresh"
    synchronized: int | Literal["machine"] | bool = False
    phases: npt.NDArray[np.float64] | None = None
    during: Literal["all", "compute", "communication"] = "all"

    def __post_init__(self) -> None:
        period = to_ticks(self.period, "period", positive=True)
        if to_ticks(self.duration, "duration") >= period:
            raise ValueError(
                f"duration must be shorter than period = {self.period} s, "
                f"got {self.duration} (in PeriodicNoise)"
            )
        check_choice(self.start, "start", ("fresh", "stationary"))
        check_choice(self.during, "during", ("all", "compute", "communication"))
        object.__setattr__(self, "synchronized", _check_synchronized(self.synchronized))
        if self.phases is not None:
            if self.synchronized is not False:
                raise ValueError("synchronized must be False when phases are given")
            object.__setattr__(self, "phases", _check_phases(self.phases, self.period))

    def check(self, ranks: int, transit: int) -> None:
        if self.phases is not None and self.phases.shape != (ranks,):
            raise ValueError(
                f"phases must have shape ({ranks},), one for each rank, got {self.phases.shape}"
            )
        if self.node_ranks(ranks) > ranks:
            raise ValueError(
                f"synchronized must be False, 'machine' or ranks per node from 1 to {ranks} "
                f"(ranks), got {self.synchronized}"
            )

    def node_ranks(self, ranks: int) -> int:
        """How many consecutive ranks share a phase, of so many."""
        return ranks if self.synchronized == "machine" else int(self.synchronized or 1)

    def apply(self, program: Any, ranks: int, transit: int) -> None:
        program.set_periodic(
            period=to_ticks(self.period),
            duration=to_ticks(self.duration),
            stationary=self.start == "stationary",
            node_ranks=self.node_ranks(ranks),
            phases=None if self.phases is None else _phase_ticks(self.phases),
            in_compute=self.during != "communication",
            in_communication=self.during != "compute",
        )

    def misses(self, exposed: Exposed) -> str:
        if self.during == "compute":
            return "" if exposed.compute else "during = 'compute', and there is no work; give work"
        if exposed.communication or (exposed.compute and self.during == "all"):
            return ""
        if self.during == "all":
            return "the CPU does no work; give network.gamma (CPU time to combine a byte) or work"
        return (
            "the CPU does no work in the communication phase; give network.gamma (CPU time to "
            "combine a byte)"
        )

    def longest_delay(self, work: int) -> int:
        if work == 0:
            return 0
        period, duration = to_ticks(self.period), to_ticks(self.duration)
        return duration * (2 + work // (period - duration))

    def lookahead(self) -> int:
        return 2 * to_ticks(self.period)

    def _key(self) -> tuple[object, ...]:
        phases = None if self.phases is None else self.phases.tobytes()
        synchronized = str(self.synchronized)  # False and 0 must not be the same
        return self.period, self.duration, self.start, synchronized, phases, self.during

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PeriodicNoise) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _check_synchronized(value: Any) -> int | Literal["machine"] | bool:
    if value is False or (isinstance(value, str) and value == "machine"):
        return value  # type: ignore[return-value]
    rule = "synchronized must be False, 'machine' or the ranks per node, a power of two"
    try:
        return check_power_of_two(value, "synchronized", 2**30)
    except ValueError:
        raise ValueError(f"{rule}, got {shorten(value)}") from None


def _check_phases(values: Any, period: float) -> npt.NDArray[np.float64]:
    rule = f"phases must be an array of times from 0 to below period = {period} s, one per rank"
    raw = check_numbers(values, rule)
    if raw.ndim != 1:
        raise ValueError(f"{rule}, got {shorten(values)}")
    phases = raw.astype(np.float64)  # a copy of our own, that nobody changes
    bad = ~((phases >= 0) & (phases < period))
    bad |= _phase_ticks(np.where(bad, 0.0, phases)) >= to_ticks(period)
    if bad.any():
        rank = int(np.argmax(bad))
        raise ValueError(f"{rule}, got {phases[rank]} for rank {rank}")
    phases.setflags(write=False)
    return phases


def _phase_ticks(phases: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.rint(phases * TICKS_PER_SECOND).astype(np.int64)
