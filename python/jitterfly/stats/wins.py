"""How often one of two paired samples is the larger one."""

from __future__ import annotations

import math
from collections.abc import Callable

from .distributions import clopper_pearson, special
from .estimates import Estimate, check_confidence


def win_probability(wins: int, ties: int, losses: int, confidence: float = 0.95) -> Estimate:
    """P(win) + P(tie) / 2.

    The interval is Tango's score interval of P(win) - P(loss), widened where Clopper and Pearson's
    of P(win | no tie) asks for it: so without ties it never covers less than it says, and it
    leaves out 1/2 only where the exact sign test tells a winner.

    Parameters
    ----------
    wins, ties, losses : int
        Realizations.
    confidence : float
        Between 0 and 1.

    Notes
    -----
    T. Tango, *Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design*, Statistics in Medicine 17, 1998.

    Examples
    --------
    >>> print(win_probability(9, 0, 1))
    0.9 [0.555, 0.9975]
    >>> print(win_probability(3, 97, 0))  # no winner
    0.515 [0.4938, 0.5426]
    """
    check_confidence(confidence)
    decided, count = wins + losses, wins + ties + losses
    if not count:
        return Estimate(math.nan, -math.inf, math.inf, confidence, 0)
    reach = -float(special().ndtri((1 - confidence) / 2))
    ends = [(1 + p) / 2 for p in _score_interval(wins, losses, count, reach)]
    part = decided / count
    ends += [0.5 + part * (p - 0.5) for p in clopper_pearson(wins, decided, confidence)]
    if not wins or not losses:  # one of them is all that there is to know
        side = 0.5 if wins else -0.5
        ends += [0.5 + side * p for p in clopper_pearson(decided, count, confidence)]
    value = 0.5 + (wins - losses) / (2 * count)
    return Estimate(value, min(ends), max(ends), confidence, count)


def _score_interval(wins: int, losses: int, count: int, reach: float) -> tuple[float, float]:
    """The differences that lie within `reach` standard errors, taken under the difference."""
    found = (wins - losses) / count

    def too_far(difference: float) -> bool:
        # The probability of a loss that is the likeliest, given the difference (Tango, eq. 14).
        b = (2 * count - wins + losses) * difference - wins - losses
        c = -losses * difference * (1 - difference)
        loss = (math.sqrt(max(b * b - 8 * count * c, 0.0)) - b) / (4 * count)
        variance = max(2 * loss + difference * (1 - difference), 0.0) / count
        return abs(found - difference) > reach * math.sqrt(variance)

    return _last(too_far, found, -1.0), _last(too_far, found, 1.0)


def _last(too_far: Callable[[float], bool], inside: float, outside: float) -> float:
    """The end of the interval between a point that is inside and one that may not be."""
    if not too_far(outside):
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        if too_far(middle):
            outside = middle
        else:
            inside = middle
    return outside
