"""Papers that jitterfly simulates: their claims and figures, `fit`, `budget`; a package of its own.

It uses jitterfly as any other package does, and adds to it by entry points: the commands
`reproduce`, `theory`, `fit`, `budget` and `network study`, kinds of figures, and the judge of the
claims that a study names. The papers are MS12, CS14, HM18 and HSL09 (docs/papers.md).

>>> import jitterfly_papers as jp
>>> question = jp.BudgetQuestion(ranks=8192, latency="120us", step="3.45us", delay="14us")
>>> jp.budget(question).state
'at most'
"""

from .inference import (
    Bounds,
    Budget,
    BudgetQuestion,
    Curve,
    Fit,
    TwoSourceFit,
    budget,
    curves_over_delays,
    fit,
    fit_two_sources,
    over_delays,
    read_curves,
)

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
