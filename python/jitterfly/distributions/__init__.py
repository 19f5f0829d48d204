"""Distributions of delays, durations, gaps; where to add a new one.

A new one is a class and its name here, which is also what registers its `kind`; and a row in
docs/noise.md and sweeps/README.md. It needs no C++: the engine draws from the table that
`Distribution.make_table` makes of it. One with a formula and a scale is a `Continuous`, which makes
the table, and stands in `parametric`.

In terms of SciPy: `survival`, `quantile` and `expected` are its ``sf``, ``ppf`` and ``mean``.
``Weibull(scale, shape)`` is ``weibull_min(shape, scale=scale)``, ``Pareto(scale, shape)`` is
``pareto(shape, scale=scale)``, ``Lognormal(median, sigma)`` is ``lognorm(sigma, scale=median)`` and
``Gamma(shape=shape, scale=scale)`` is ``gamma(shape, scale=scale)``, all of them without `longest`.
NumPy's ``Generator.pareto`` is another distribution, Lomax's, which begins at 0.
"""

from .distribution import Distribution
from .empirical import Empirical
from .mixture import Mixture
from .parametric import Bernoulli, Constant, Exponential, Gamma, Lognormal, Pareto, Weibull

__all__ = [
    "Bernoulli",
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "Gamma",
    "Lognormal",
    "Mixture",
    "Pareto",
    "Weibull",
]


def __dir__() -> list[str]:
    return sorted(__all__)
