"""Noise sources: one module each, with its arithmetic in the header of that name in cuda/noise/.

A new one is a module beside these and a line here, which is also what registers its `kind`. The
distributions that they draw from are in `distributions`.
"""

from .congestion import Congestion
from .distributions import (
    Bernoulli,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Pareto,
)
from .jitter import NetworkJitter
from .message import MessageNoise
from .periodic import PeriodicNoise
from .renewal import RenewalNoise
from .source import Noise, check_sources, longest_work
from .step import StepNoise
from .trace import TraceNoise

__all__ = [
    "Bernoulli",
    "Congestion",
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "Gamma",
    "Lognormal",
    "MessageNoise",
    "NetworkJitter",
    "Noise",
    "Pareto",
    "PeriodicNoise",
    "RenewalNoise",
    "StepNoise",
    "TraceNoise",
    "check_sources",
    "longest_work",
]
