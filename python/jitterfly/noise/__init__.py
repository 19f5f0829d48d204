"""Noise sources: their arithmetic is in a header in cuda/noise/; where to add a new one.

The header has the name of the module, except: delays of steps and messages are in step_delay.h, of
ranks in rank_delay.h, congestion in link_loads.h, speeds in rank_speed.h.

A new one is a module beside these and a line here, which is also what registers its `kind`;
CONTRIBUTING.md names its places in C++. The
distributions that they draw from are in `jitterfly.distributions`.
"""

from ..files import UntrustedNoiseWarning
from .congestion import Congestion
from .delays import LateArrival, MessageNoise, NetworkWeather, StepNoise
from .jitter import NetworkJitter
from .periodic import PeriodicNoise
from .renewal import RenewalNoise
from .source import Noise, OnOff
from .speed import SpeedNoise
from .trace import TraceNoise

__all__ = [
    "Congestion",
    "LateArrival",
    "MessageNoise",
    "NetworkJitter",
    "NetworkWeather",
    "Noise",
    "OnOff",
    "PeriodicNoise",
    "RenewalNoise",
    "SpeedNoise",
    "StepNoise",
    "TraceNoise",
    "UntrustedNoiseWarning",
]


def __dir__() -> list[str]:
    return sorted(__all__)
