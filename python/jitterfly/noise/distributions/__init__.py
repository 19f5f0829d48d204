"""Distributions of delays, durations and gaps: one module each.

A new one is a module beside these and a line here, which is also what registers its `kind`.
"""

from .bernoulli import Bernoulli
from .constant import Constant, ConstantOrDrawn
from .distribution import Distribution
from .empirical import Empirical
from .exponential import Exponential, ExponentialOrDrawn
from .gamma import Gamma
from .lognormal import Lognormal
from .pareto import Pareto

__all__ = [
    "Bernoulli",
    "Constant",
    "ConstantOrDrawn",
    "Distribution",
    "Empirical",
    "Exponential",
    "ExponentialOrDrawn",
    "Gamma",
    "Lognormal",
    "Pareto",
]
