"""The programs that `jitterfly bench` measures the engine against, on the same work.

The work is the conventional butterfly under periodic noise, all ranks starting at time 0, phases
drawn anew for each realization by NumPy's Philox generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..case import Case
from ..engine import core
from ..noise import PeriodicNoise
from ..program import rank_rounds
from ..simulate import noise_phases, simulate
from ..steps import Costs
from ..units import TICKS_PER_SECOND, to_ticks
from .measure import NOISES, SEED, Contestant, programs

Ticks = npt.NDArray[np.int64]

BATCH_RANKS = 2**15
"""Ranks of a NumPy batch, all realizations together: its arrays of 256 kB stay in the cache.
Fastest of 2^12 ... 2^18 where it was tried, by 7 % to 100 %."""

BYTES_PER_RANK = 128
"""Memory that a peer takes for a realization, by far at most, when one is a batch."""


class PeerWork(NamedTuple):
    """What the peers compute, in ticks of 1 ps."""

    log2_ranks: int
    costs: Costs
    period: int
    duration: int
    stationary: bool

    @classmethod
    def from_case(cls, case: Case) -> PeerWork:
        """The work of a conventional butterfly with one independent `PeriodicNoise`."""
        (noise,) = case.noise
        assert isinstance(noise, PeriodicNoise)
        period, duration = to_ticks(noise.period), to_ticks(noise.duration)
        return cls(case.log2_ranks, case.costs, period, duration, noise.start == "stationary")

    def draw(self, generator: np.random.Generator, realizations: int) -> Ticks:
        """Phases for so many realizations, shape (realizations, ranks)."""
        shape = (realizations, 1 << self.log2_ranks)
        return generator.integers(0, self.period, size=shape, dtype=np.int64)


def event_driven(work: PeerWork, phases: Ticks) -> Ticks:
    """Completion of each realization by the event-driven C++ simulator.

    Parameters
    ----------
    work : PeerWork
        Costs and noise.
    phases : int64 array, shape (realizations, ranks)
        Ticks, each from 0 to below the period.

    Returns
    -------
    int64 array, shape (realizations,)
        Ticks.
    """
    noise = work.period, work.duration, work.stationary
    done = [core.event_driven(work.log2_ranks, *work.costs, *noise, p) for p in phases]
    return np.array(done, dtype=np.int64)


def vectorized(work: PeerWork, phases: Ticks) -> Ticks:
    """Completion of each realization by NumPy, a round at a time for all ranks and realizations.

    Parameters and result are those of `event_driven`. Like the engine, it keeps for each rank the
    next noise interval instead of dividing, and it corrects only the ranks that an interval holds,
    which are few: three times as fast as evaluating the closed form everywhere.
    """
    ranks, transit = phases.shape[1], work.costs.transit
    clock = _Clock(work, phases)
    ready, start = np.zeros_like(phases), np.empty_like(phases)
    if work.log2_ranks:
        clock.advance(ready, work.costs.send, start)
        ready, start = start, ready
    for number in range(work.log2_ranks):
        pairs = (-1, ranks >> (number + 1), 2, 1 << number)
        np.add(ready.reshape(pairs)[:, :, ::-1], transit, out=start.reshape(pairs))
        np.maximum(start, ready, out=start)
        clock.advance(start, work.costs.receive + work.costs.combine, ready)
        if work.costs.send and number + 1 < work.log2_ranks:
            clock.advance(ready, work.costs.send, start)
            ready, start = start, ready
    completion: Ticks = ready.max(axis=1)
    return completion


class _Clock:
    """Every rank's noise; `next` is the start of its first interval that may lie ahead."""

    def __init__(self, work: PeerWork, phases: Ticks) -> None:
        self.period, self.duration = work.period, work.duration
        self.next = phases - work.period if work.stationary else phases.copy()
        self.flat = self.next.reshape(-1)
        self.late = np.empty(phases.shape, dtype=bool)

    def advance(self, start: Ticks, work: int, end: Ticks) -> None:
        """Write to `end` when `work` ticks of noise-free time have passed since `start`."""
        np.add(start, work, out=end)
        if work == 0 or self.duration == 0:
            return
        np.greater(end, self.next, out=self.late)
        held = np.flatnonzero(self.late)
        if not held.size:
            return
        t, first = start.reshape(-1)[held], self.flat[held]
        over = (t - self.duration - first) // self.period + 1  # intervals that are past
        first += np.maximum(over, 0) * self.period
        inside = t >= first
        t[inside] = first[inside] + self.duration
        first[inside] += self.period
        # Work that ends exactly where an interval begins is not held by it, hence - 1.
        hits = np.maximum((t + work - first - 1) // (self.period - self.duration) + 1, 0)
        end.reshape(-1)[held] = t + work + hits * self.duration
        self.flat[held] = first + hits * self.period


NUMPY, EVENTS = "NumPy, vectorized", "C++, event-driven"
REFERENCE_RANKS = 2**8


class DisagreementError(RuntimeError):
    """A peer does not do the work of the engine, so comparing their speed means nothing."""


def peers(case: Case) -> list[Contestant]:
    """NumPy and the event-driven simulator, each on one core."""
    return [_contestant(NUMPY, vectorized, case), _contestant(EVENTS, event_driven, case)]


def reference() -> Contestant:
    """What others are compared with from run to run: the event-driven simulator on a small case.

    It shares no code with the engine, fits the first cache and takes a few milliseconds.
    """
    case = programs(REFERENCE_RANKS, NOISES["periodic"])["butterfly"]
    return _contestant(EVENTS, event_driven, case)


def _contestant(name: str, complete: Callable[..., object], case: Case) -> Contestant:
    work = PeerWork.from_case(case)
    batch = max(1, BATCH_RANKS // case.ranks)
    generator = np.random.Generator(np.random.Philox(SEED))

    def run(realizations: int) -> None:
        for first in range(0, realizations, batch):
            complete(work, work.draw(generator, min(batch, realizations - first)))

    return Contestant(name, "butterfly", "periodic", rank_rounds(case), run, case=case)


def check_peers(case: Case, realizations: int) -> None:
    """Raise `DisagreementError` unless peers give the engine's result to the tick, same phases."""
    ours = simulate(case, realizations, seed=SEED, backend="cpu").ticks[:, 0]
    seconds = np.stack([noise_phases(case, SEED, r) for r in range(realizations)])
    phases = np.rint(seconds * TICKS_PER_SECOND).astype(np.int64)
    work = PeerWork.from_case(case)
    for peer in (vectorized, event_driven):
        if not np.array_equal(peer(work, phases), ours):
            raise DisagreementError(
                f"the benchmark's {peer.__name__} program does not give the engine's results at "
                f"{case.ranks} ranks: speeds can not be compared"
            )
