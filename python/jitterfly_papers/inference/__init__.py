"""Inference (`fit`, `budget`): noise from scaling curves, and how much is allowed.

`fit` estimates latency and noise of a step from a curve; `budget` is the reverse question. Both
speak of HM18's model: a collective of K = log2(ranks) steps, each taking L on both partners and
delayed by noise with probability p. (`jitterfly.noise_limit` asks how long periodic noise may last,
under any collective and network.) What is imported here and is not in `__all__` is for the commands
`fit` and `budget`.
"""

from .budget import Budget, BudgetQuestion, budget, curves_over_delays, over_delays
from .budget import delays_table as delays_table
from .budget import limit_in_words as limit_in_words
from .fit import Bounds, Fit, fit
from .hit_tables import is_shipped as is_shipped
from .hit_tables import watching as watching
from .scaling_curves import Curve, read_curves
from .two_sources import TwoSourceFit, fit_two_sources

__all__ = [
    "Bounds",
    "Budget",
    "BudgetQuestion",
    "Curve",
    "Fit",
    "TwoSourceFit",
    "budget",
    "curves_over_delays",
    "fit",
    "fit_two_sources",
    "over_delays",
    "read_curves",
]
