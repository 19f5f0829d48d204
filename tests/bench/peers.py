"""Benchmark against the event-driven C++ simulator, which computes the same completion times.

It is a peer of the engine beside NumPy, and on a small case the reference of every measurement.
"""

from __future__ import annotations

from . import peer_library
from .measure import (
    NOISES,
    NUMPY,
    Complete,
    Contestant,
    PeerWork,
    Ticks,
    other_program,
    programs,
    vectorized,
)

EVENTS = "C++, event-driven"
REFERENCE_RANKS = 2**8


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
    return peer_library.event_driven(work.log2_ranks, work.costs, *noise, phases)


PEERS: dict[str, Complete] = {NUMPY: vectorized, EVENTS: event_driven}
"""NumPy and the event-driven simulator, each on one core."""


def reference() -> Contestant:
    """What others are compared with from run to run: the event-driven simulator on a small case.

    It shares no code with the engine, fits the first cache and takes a few milliseconds.
    """
    case = programs(REFERENCE_RANKS, NOISES["periodic"])["butterfly"]
    return other_program(EVENTS, event_driven, case)
