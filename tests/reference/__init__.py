"""Reference: an independent simulation, message by message (event-driven), in plain Python.

It shares no code and no formula with the engine: ranks are state machines, every message is an
event, busy intervals are walked one by one, and the random numbers come from a plain Python Philox.
It is slow and meant to be read. The engine has to give the same times, in integer ticks of 1 ps.
"""

from .event_driven import ButterflyRun, Costs
from .noise import (
    Jitter,
    MessageDelay,
    OnOff,
    PeriodicNoise,
    RenewalNoise,
    Stationary,
    StepDelay,
    TraceNoise,
    TracesNoise,
    Weather,
)
from .timeline import Timeline, periodic_intervals

__all__ = [
    "ButterflyRun",
    "Costs",
    "Jitter",
    "MessageDelay",
    "OnOff",
    "PeriodicNoise",
    "RenewalNoise",
    "Stationary",
    "StepDelay",
    "Timeline",
    "TraceNoise",
    "TracesNoise",
    "Weather",
    "periodic_intervals",
]
