"""Intervals of printed benchmark results (OSU, IMB), of which only number and iterations are known.

Benchmarks print a mean, but not how much its iterations spread. If they are like
samples that are at hand (of a simulation), these tell how far the number may be off by chance.
"""

from __future__ import annotations

import math

from .. import lazy_special as special
from .critical_values import binomial_ranks, quantile_rank, student_t
from .intervals import Estimate, Floats, effective_events, quantile, rare_event_margin

_KNOWN_BY = 10  # rare events in samples that tell a variance


def reported_mean(value: float, iterations: int, like: Floats, confidence: float) -> Estimate:
    """A mean of so many independent iterations that spread as samples do.

    Student's interval with the samples' standard deviation. Where the iterations have few rare
    events, a mean that met one of them too many is far off: so the interval is wider, at the other
    end than that of a mean of samples. It is so by `rare_event_margin` where the samples have
    hardly met such events, and by a seventh of it from 9 events in the samples on.

    Notes
    -----
    That margin is for a sample whose own spread stands for the true one. For a variance that is
    known Bennett's inequality has the term ``log(1 / a) / (3 n)`` in place of
    ``7 log(2 / a) / (3 (n - 1))``, which a seventh of it exceeds (Maurer & Pontil, theorems 3 and 4
    of the paper that `rare_event_margin` names). The more events the samples met, the better they
    tell the variance. The proportion ``1 - events / 10`` is ours. Of tables of 20 means of 100
    iterations, beside 2000 samples of which 1 to 16 met a delay (fixed, exponential, or lognormal
    with sigma = 1), at most 6 in 100 more are told apart wrongly than with the whole margin; with a
    seventh alone it would be 11.

    Examples
    --------
    >>> import numpy as np
    >>> like = np.random.default_rng(1).normal(50.0, 2.0, size=10_000)
    >>> print(reported_mean(50.0, 400, like, 0.95))
    50 [49.8, 50.2]
    """
    center, count = like.mean(), len(like)
    reach = student_t(confidence, count - 1) * like.std(ddof=1) / math.sqrt(iterations)
    events = effective_events(like)
    margin = float(rare_event_margin(events * iterations / count, iterations, confidence))
    if not math.isfinite(margin):  # samples that are all the same do not tell what is rare
        return Estimate(value, -math.inf, math.inf, confidence, iterations)
    margin *= max(1 - events / _KNOWN_BY, 1 / 7)
    below = reach + margin * (like.max() - center)
    above = reach + margin * (center - like.min())
    return Estimate(value, value - below, value + above, confidence, iterations)


def reported_quantile(
    value: float, iterations: int, q: float, like: Floats, confidence: float
) -> Estimate:
    """A quantile of so many independent iterations that are distributed as samples are.

    How many iterations fall below a quantile is binomial, whatever the distribution. So it is known
    between which quantiles of its distribution a quantile of iterations lies, and the samples tell
    between which order statistics these are. The interval and that of the samples' quantile leave
    each other out where the reported one lies beyond these.

    Parameters
    ----------
    like : float64 array, shape (n,)
        Ascending.

    Examples
    --------
    >>> import numpy as np
    >>> like = np.sort(np.random.default_rng(1).normal(50.0, 2.0, size=10_000))
    >>> print(reported_quantile(50.0, 400, 0.5, like, 0.95))
    50 [49.74, 50.27]
    """
    samples = quantile(like, q, confidence)
    rank = quantile_rank(iterations, q)
    tail = (1 - confidence) / 2
    # Benchmarks differ in which of two or three neighbours they print.
    lower, upper = max(rank - 1, 1), min(rank + 1, iterations)
    least = float(special.betaincinv(lower, iterations - lower + 1, tail))
    most = float(special.betaincinv(upper, iterations - upper + 1, 1 - tail))
    first = binomial_ranks(len(like), least, confidence)[0] if least > 0 else None
    last = binomial_ranks(len(like), most, confidence)[1] if most < 1 else None
    low = -math.inf if last is None else value - (like[last - 1] - float(samples.high))
    high = math.inf if first is None else value + (float(samples.low) - like[first - 1])
    return Estimate(value, low, high, confidence, iterations)
