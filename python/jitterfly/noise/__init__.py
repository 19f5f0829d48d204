"""Noise sources: a module each, arithmetic in a header in cuda/noise/; where to add a new one.

The header has the name of the module, except: step and message are in step_delay.h, congestion in
link_loads.h, arrival in rank_delay.h.

A new one is a module beside these and a line here, which is also what registers its `kind`. The
distributions that they draw from are in `jitterfly.distributions`.
"""

from ..find_noise_files import UntrustedNoiseWarning
from .arrival import LateArrival
from .congestion import Congestion
from .jitter import NetworkJitter
from .message import MessageNoise
from .periodic import PeriodicNoise
from .renewal import RenewalNoise
from .source import Noise
from .speed import SpeedNoise
from .step import StepNoise
from .trace import TraceNoise

__all__ = [
    "Congestion",
    "LateArrival",
    "MessageNoise",
    "NetworkJitter",
    "Noise",
    "PeriodicNoise",
    "RenewalNoise",
    "SpeedNoise",
    "StepNoise",
    "TraceNoise",
    "UntrustedNoiseWarning",
]


def __dir__() -> list[str]:
    return sorted(__all__)
