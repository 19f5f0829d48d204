"""Distributions of delays, durations and gaps: one module each.

A new one is a module beside these and a line here, which is also what registers its `kind`.
"""

from typing import TYPE_CHECKING, Any

from ..renames import no_attribute
from .bernoulli import Bernoulli
from .constant import Constant
from .distribution import Distribution
from .empirical import Empirical
from .exponential import Exponential
from .gamma import Gamma
from .lognormal import Lognormal
from .pareto import Pareto
from .weibull import Weibull

__all__ = [
    "Bernoulli",
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "Gamma",
    "Lognormal",
    "Pareto",
    "Weibull",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # which would know every name else

    def __getattr__(name: str) -> Any:
        raise no_attribute(__name__, name)
