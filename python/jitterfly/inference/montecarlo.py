"""The largest p by simulation: the root of a simulated mean or tail, on the same noise for every p.

A hit that happens at p happens at every larger p (same seed), so mean and tail rise with p in every
single realization and the root is found with few evaluations. The interval inverts the test: its
ends are the p at which the limit lies at an end of the interval of the statistic (Student's for a
mean, Clopper and Pearson's for a tail) of the same realizations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from ..noise import Fixed
from ..stats.distributions import clopper_pearson, realizations_needed, student_t
from .budget import tabulated
from .found import Bounds
from .hits import any_hit
from .question import AT_MOST, SIMULATED, STATISTICS, Budget, Question
from .search import crossing
from .simulated import UNIT, Numbered, extra
from .table import table

_MOST_STEPS = 5e9  # steps of a rank at each p: more takes minutes
_STEP = 0.05  # of ln p, over which the table tells the slope


def simulated(question: Question, confidence: float, precision: float, seed: int) -> Budget:
    """The answer from fresh realizations, as many as the table says that the precision takes."""
    k, share = question.rounds, STATISTICS[question.statistic]
    guess = tabulated(question, confidence).probability.value
    limit = question.room if share is None else 1 - share
    hits = math.floor(question.room)
    slope, spread = _planned(question, guess, share)
    reach = student_t(confidence, 1000)
    wanted = (reach * spread / (slope * precision)) ** 2
    count = int(min(math.ceil(wanted), _MOST_STEPS / (k * 2.0**k)))
    # A tail without any hit must have an upper end below the limit.
    count = max(count, 50 if share is None else 3 * realizations_needed(share, confidence))
    unit, numbered = Fixed(UNIT), Numbered()

    @cache
    def found(p: float) -> tuple[float, float, float]:
        """The statistic and its interval."""
        with numbered(count):
            sample = np.rint(extra(question.ranks, unit, p, count, seed=seed))
        if share is not None:
            beyond = int((sample > hits).sum())
            return beyond / count, *clopper_pearson(beyond, count, confidence)
        # P(M >= 1) is known, so only what is beyond one hit has an error.
        more = np.maximum(sample - 1, 0)
        value = float(any_hit(p, k)) + float(more.mean())
        half = student_t(confidence, count - 1) * float(more.std(ddof=1)) / math.sqrt(count)
        return value, value - half, value + half

    def excess(which: int) -> Callable[[float], float]:
        return lambda p: found(p)[which] - limit

    low = 1e-9 / (k * 2.0**k)
    tolerance = precision / 8
    value = crossing(excess(0), guess, slope, low, tolerance)
    half = reach * spread / math.sqrt(count) / slope
    least = crossing(excess(2), value * math.exp(-half), slope, low, 2 * tolerance)
    most = crossing(excess(1), min(value * math.exp(half), 1.0), slope, low, 2 * tolerance)
    bounds = Bounds(value, min(least, value), max(most, value))
    return Budget(question, AT_MOST, bounds, confidence, SIMULATED, count)


def _planned(question: Question, guess: float, share: float | None) -> tuple[float, float]:
    """Rise of the statistic with ln p, and its standard deviation in one realization."""
    known = table(question.rounds)
    p = np.minimum(guess * np.exp([-_STEP, _STEP]), 1.0)
    if share is None:
        values = known.mean(p)
        spread = float(known.error(guess)) * math.sqrt(known.realizations)
    else:
        values = known.above(math.floor(question.room), p)
        spread = math.sqrt(share * (1 - share))
    rise = float(values[1] - values[0]) / float(np.log(p[1] / p[0]))
    return max(rise, 1e-9), max(spread, 1e-9)
