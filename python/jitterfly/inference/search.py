"""Where a rising function of p crosses zero, in the logarithm of p, with few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable

_FAR = 3.0  # of ln p: no first step is longer
_MOST = 100


def crossing(
    rising: Callable[[float], float], start: float, slope: float, low: float, tolerance: float
) -> float:
    """The p in [low, 1] where a function that can only rise with p becomes positive.

    Parameters
    ----------
    rising : callable
        Of p; with the same noise for every p, so that it does rise. It may rise in steps.
    start, slope : float
        A guess at the p, and at the rise per unit of ln p there: they decide how long it takes,
        not what is found.
    tolerance : float
        Of ln p.

    Returns
    -------
    float
        About `low` or 1 where the function crosses beyond them.

    Examples
    --------
    >>> round(crossing(lambda p: math.log(p / 0.02), 0.01, 1.0, 1e-9, 1e-6), 6)
    0.02
    """
    ends = (math.log(low), 0.0)
    x = min(max(math.log(start), ends[0]), ends[1])
    value = rising(math.exp(x))
    side = 1 if value > 0 else 0  # which end of the bracket x is
    step = min(max(abs(value) / slope, 0.0) + 0.4 * tolerance, _FAR)
    bracket, values = [x, x], [value, value]
    while True:  # away from the guess in growing steps until the sign changes
        if x == ends[1 - side]:
            return math.exp(x)
        x = max(x - step, ends[0]) if side else min(x + step, ends[1])
        value = rising(math.exp(x))
        if (value > 0) != bool(side):
            bracket[1 - side], values[1 - side] = x, value
            break
        bracket[side], values[side] = x, value
        step *= 2
    return math.exp(_between(rising, bracket, values, tolerance))


def _between(
    rising: Callable[[float], float], bracket: list[float], values: list[float], tolerance: float
) -> float:
    """The straight line through both ends, and every third time the middle."""
    for turn in range(_MOST):
        (a, b), (f, g) = bracket, values
        if b - a <= tolerance:
            break
        part = -f / (g - f) if g > f and turn % 3 < 2 else 0.5
        # Not onto an end: a little beyond the crossing, so that the other end moves as well.
        part = min(max(part, 0.4 * tolerance / (b - a)), 1 - 0.4 * tolerance / (b - a))
        x = a + part * (b - a)
        value = rising(math.exp(x))
        end = int(value > 0)
        bracket[end], values[end] = x, value
    return 0.5 * (bracket[0] + bracket[1])
