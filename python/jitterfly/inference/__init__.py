"""From measured scaling curves to the noise behind them, and from a limit to the noise it allows.

`fit` estimates latency and noise of a step from a curve; `budget` is the reverse question. Both
speak of HM18's model: a collective of K = log2(ranks) steps, each taking L on both partners and
delayed by noise with probability p.
"""

from . import tell, words
from .budget import budget, curves_over_delays, over_delays
from .curve import Curve
from .fit import fit
from .found import Bounds, Fit
from .question import Budget, Question
from .read import read_curves

__all__ = [
    "Bounds",
    "Budget",
    "Curve",
    "Fit",
    "Question",
    "budget",
    "curves_over_delays",
    "fit",
    "over_delays",
    "read_curves",
    "tell",
    "words",
]
