"""How much noise a collective can bear: the largest p that keeps its latency under a limit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import MOST_SEED, check_integer, shorten
from ..stats.distributions import student_t
from ..stats.estimates import check_confidence
from .found import Bounds
from .hits import any_hit, one_rank, pairs
from .question import ALWAYS, AT_MOST, EXACT, NEVER, STATISTICS, TABULATED, Budget, Question
from .table import Table, table

_PER_DECADE = 32  # points of a curve over D
_BELOW, _ABOVE = 0.05, 20.0  # times D: the ends of the curve
_EDGE = 1e-5
_LOWEST = -300.0  # ln p: a tick of room and the longest delay take 1e-19 hits


def budget(
    question: Question, *, confidence: float = 0.95, precision: float | None = None, seed: int = 1
) -> Budget:
    """The largest p that keeps the limit, to a relative precision.

    Parameters
    ----------
    question : Question
    confidence : float
        Of the interval, which is of the Monte Carlo error.
    precision : float, optional
        Half the interval over p; 0.03 for a mean and 0.08 for a quantile. It decides the number
        of realizations beforehand, from a table, so that no look at the data stops the run.
    seed : int
        From 0 to 2^64 - 1.

    Returns
    -------
    Budget

    Examples
    --------
    >>> asked = Question(4096, "105us", "3.45us", "14us", rank="mean")
    >>> f"{budget(asked).probability.value:.4f}"
    '0.0811'
    """
    precision, seed = check_options(question.statistic, confidence, precision, seed)
    known = without_simulation(question, confidence, precision)
    if known is not None:
        return known
    from .montecarlo import simulated

    return simulated(question, confidence, precision, seed)


def check_options(
    statistic: str, confidence: float, precision: float | None, seed: int
) -> tuple[float, int]:
    """Precision and seed of a simulated answer; ValueError where they or `confidence` are wrong."""
    check_confidence(confidence)
    if precision is None:
        precision = 0.03 if statistic == "mean" else 0.08
    if not isinstance(precision, float) or not 1e-4 <= precision <= 0.5:
        raise ValueError(f"--precision must be from 0.0001 to 0.5, got {shorten(precision)}")
    return precision, check_integer(seed, "--seed", 0, MOST_SEED)


def without_simulation(
    question: Question, confidence: float, precision: float = 0.03
) -> Budget | None:
    """The answer where it takes none: no p, every p, one rank, or hits too rare to meet."""
    state = question.state
    if state == NEVER:
        return Budget(question, state, Bounds(0.0, 0.0, 0.0), confidence, EXACT)
    if state == ALWAYS:
        return Budget(question, state, Bounds(1.0, 1.0, 1.0), confidence, EXACT)
    k, share = question.rounds, STATISTICS[question.statistic]
    hits = math.floor(question.room)
    if question.rank == "mean":
        if share is None:
            value = _root(lambda p: float(one_rank(p, k).sum()) - question.room)
        else:
            value = _root(lambda p: float(one_rank(p, k)[hits]) - (1 - share))
        return Budget(question, state, Bounds(value, value, value), confidence, EXACT)
    if share is not None:
        if hits > 0:
            return None
        value = _root(lambda p: float(any_hit(p, k)) - (1 - share))
        return Budget(question, state, Bounds(value, value, value), confidence, EXACT)
    # E[M] lies between P(M >= 1) and that plus (k - 1) P(M >= 2).
    low = _root(lambda p: float(any_hit(p, k)) + (k - 1) * p * p * pairs(k) - question.room)
    high = _root(lambda p: float(any_hit(p, k)) - question.room)
    if high / low - 1 > 0.1 * precision:
        return None
    return Budget(question, state, Bounds(math.sqrt(low * high), low, high), confidence, EXACT)


def tabulated(question: Question, confidence: float = 0.95) -> Budget:
    """The answer from the table of hits: at once, a little less precise than `budget`."""
    known = without_simulation(question, confidence)
    if known is not None:
        return known
    k, share = question.rounds, STATISTICS[question.statistic]
    hits = table(k)
    reach = student_t(confidence, hits.realizations - 1)
    value, low, high = (
        _root(lambda p, z=z: _beyond(question, hits, p, z, share))  # type: ignore[misc]
        for z in (0.0, reach, -reach)
    )
    bounds = Bounds(value, min(low, value), max(high, value))
    return Budget(question, AT_MOST, bounds, confidence, TABULATED, hits.realizations)


def _beyond(question: Question, hits: Table, p: float, z: float, share: float | None) -> float:
    """By how much a statistic exceeds the limit, z standard errors added."""
    if share is None:
        return float(hits.mean(p) + z * hits.error(p)) - question.room
    above = float(hits.above(math.floor(question.room), p))
    return above + z * math.sqrt(above * (1 - above) / hits.realizations) - (1 - share)


def _root(rising: Any) -> float:
    """Of an exact function of p; 1 where it does not become positive."""
    from scipy.optimize import brentq

    if rising(1.0) <= 0:
        return 1.0
    return math.exp(brentq(lambda x: rising(math.exp(x)), _LOWEST, 0.0, xtol=1e-10))


def curves_over_delays(question: Question, confidence: float = 0.95) -> list[list[Budget]]:
    """The answers for durations of a hit around the asked one: for the last and the mean rank."""
    decades = math.log10(_ABOVE / _BELOW)
    middle = max(float(question.delay), 1e-12 / _BELOW)  # no delay is below a tick
    delays = middle * np.geomspace(_BELOW, _ABOVE, round(decades * _PER_DECADE) + 1)
    if question.statistic != "mean":  # a stair: one hit less from D = limit / hits on
        edges = (float(question.latency) - question.quiet) / np.arange(1, question.rounds + 1)
        edges = np.concatenate([edges * (1 - _EDGE), edges * (1 + _EDGE)])
        inside = (edges > delays[0]) & (edges < delays[-1])
        delays = np.sort(np.concatenate([delays, edges[inside]]))
    return [
        over_delays(replace(question, rank=rank), delays, confidence) for rank in ("last", "mean")
    ]


def over_delays(
    question: Question, delays: npt.ArrayLike, confidence: float = 0.95
) -> list[Budget]:
    """The same question for other durations of a hit, seconds: a curve, from the table."""
    return [tabulated(replace(question, delay=float(d)), confidence) for d in np.ravel(delays)]
