"""Distributions as tables of integers, made once on the host.

The engine draws a 64-bit uniform and compares it with the table: no logarithm of any library
decides a bit of the result, and tails are dense down to 2^-64 (the model's §6).
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_TWO_64 = 2**64
# 60 digits: the error of a sum of thousands of terms stays 30 digits below 2^-64. Decimal's exp is
# correctly rounded, so the table is the same on every machine.
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999, traps=[])


@lru_cache(maxsize=64)
def _poisson(numerator: int, denominator: int) -> tuple[int, ...]:
    context = _CONTEXT.copy()
    mean = context.divide(Decimal(numerator), Decimal(denominator))
    term = context.exp(context.minus(mean))
    below = term  # P(events <= k)
    table: list[int] = []
    k = 0
    while True:
        tail = context.subtract(Decimal(1), below)
        threshold = int(
            context.multiply(tail, Decimal(_TWO_64)).to_integral_value(ROUND_HALF_EVEN, context)
        )
        # Far above the mean the tail is below the resolution; before the mean it never is.
        if threshold <= 0:
            return tuple(table)
        table.append(min(threshold, _TWO_64 - 1))
        k += 1
        term = context.divide(context.multiply(term, mean), Decimal(k))
        below = context.add(below, term)


def poisson_survival(mean: Fraction) -> npt.NDArray[np.uint64]:
    """Survival function of the Poisson distribution, as thresholds of a 64-bit uniform.

    Parameters
    ----------
    mean : Fraction
        Expected number of events, from 0 to some thousands (the table is a little longer).

    Returns
    -------
    uint64 array, shape (length,)
        Entry k is ``round(2**64 * P(events > k))``, to the last entry that is not 0. With a
        uniform 64-bit u, ``sum(u < table)`` is Poisson distributed.

    Examples
    --------
    >>> [int(x) >> 32 for x in poisson_survival(Fraction(1, 1000))]
    [4292820, 2146, 0, 0, 0]
    """
    table = _poisson(mean.numerator, mean.denominator) if mean > 0 else ()
    return np.array(table, dtype=np.uint64)
