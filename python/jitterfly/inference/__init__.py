"""From measured scaling curves to the noise behind them, and from a limit to the noise it allows.

`fit` estimates latency and noise of a step from a curve; `budget` is the reverse question. Both
speak of HM18's model: a collective of K = log2(ranks) steps, each taking L on both partners and
delayed by noise with probability p.
"""

from .budget import (
    Budget,
    Question,
    budget,
    budget_report,
    curves_over_delays,
    delays_table,
    limit_in_words,
    over_delays,
)
from .fit import Bounds, Fit, fit, fit_report
from .scaling_curves import Curve, read_curves
from .worst_path import is_shipped, watching

__all__ = [
    "Bounds",
    "Budget",
    "Curve",
    "Fit",
    "Question",
    "budget",
    "budget_report",
    "curves_over_delays",
    "delays_table",
    "fit",
    "fit_report",
    "is_shipped",
    "limit_in_words",
    "over_delays",
    "read_curves",
    "watching",
]
