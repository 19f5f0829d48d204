"""Distributions of delays, durations and gaps: one module each.

A new one is a module beside these and a line here, which is also what registers its `kind`.
"""

from .bernoulli import Bernoulli
from .distribution import Distribution
from .empirical import Empirical
from .exponential import Exponential, ExponentialOrDrawn
from .fixed import Fixed, FixedOrDrawn
from .gamma import Gamma
from .lognormal import Lognormal
from .pareto import Pareto

__all__ = [
    "Bernoulli",
    "Distribution",
    "Empirical",
    "Exponential",
    "ExponentialOrDrawn",
    "Fixed",
    "FixedOrDrawn",
    "Gamma",
    "Lognormal",
    "Pareto",
]
