"""Inference (`fit`, `budget`, `noise_limit`): noise from scaling curves, and how much is allowed.

`fit` estimates latency and noise of a step from a curve; `budget` is the reverse question. Both
speak of HM18's model: a collective of K = log2(ranks) steps, each taking L on both partners and
delayed by noise with probability p. `noise_limit` asks the reverse of `jitterfly.slowdown`: how
long periodic noise may last, or how often it may come, under any collective and network. What is
imported here and is not in `__all__` is for the commands `fit` and `budget`.
"""

from typing import TYPE_CHECKING

from ..old_names import dir_and_getattr
from .budget import Budget, BudgetQuestion, budget, curves_over_delays, over_delays
from .budget import delays_table as delays_table
from .budget import limit_in_words as limit_in_words
from .fit import Bounds, Fit, fit
from .hit_tables import is_shipped as is_shipped
from .hit_tables import watching as watching
from .noise_limit import NoiseLimitRow, NoiseLimitTable, noise_limit
from .scaling_curves import Curve, read_curves
from .two_sources import TwoSourceFit, fit_two_sources

__all__ = [
    "Bounds",
    "Budget",
    "BudgetQuestion",
    "Curve",
    "Fit",
    "NoiseLimitRow",
    "NoiseLimitTable",
    "TwoSourceFit",
    "budget",
    "curves_over_delays",
    "fit",
    "fit_two_sources",
    "noise_limit",
    "over_delays",
    "read_curves",
]

if not TYPE_CHECKING:  # which would know every name else
    __dir__, __getattr__ = dir_and_getattr(__name__, __all__)
