"""A straight line through the means of several cycles, with intervals.

Everything is a ratio of sums of observations with whole weights, so the intervals are Fieller's, of
the same realizations, whether samples are kept or only their moments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..observables import Form
from ..stats import Estimate
from ..units import TICKS_PER_SECOND

if TYPE_CHECKING:
    from ..results.results import Spot

_WEIGHT = 1000  # weights become integers by this


def miss(spot: Spot, forms: list[Form], cycle: int) -> Estimate:
    """How far the least-squares line through all cycles but the first misses one of them.

    A residual of the line is a sum of the means with fixed weights, so it has an interval too. As
    a share of the last mean.
    """
    x = np.arange(2.0, len(forms) + 1)
    centred = x - x.mean()
    hat = 1 / len(x) + np.outer(centred, centred) / (centred @ centred)
    weights = np.rint(_WEIGHT * (np.eye(len(x)) - hat)[cycle - 1]).astype(int)
    above_line = total([(int(w), form) for w, form in zip(weights, forms[1:], strict=True)])
    return spot.ratio(above_line, total([(_WEIGHT, forms[-1])]))


def first_over_later(spot: Spot, forms: list[Form]) -> Estimate:
    """What the first cycle costs, over the mean of what the others do."""
    later = total([(1, forms[-1]), (-1, forms[0])])
    return spot.ratio(total([(len(forms) - 1, forms[0])]), later)


def slope(spot: Spot, forms: list[Form]) -> float:
    """Seconds per cycle, from the second cycle to the last."""
    rise = total([(1, forms[-1]), (-1, forms[1])])
    return float(spot.ratio(rise, TICKS_PER_SECOND).value) / (len(forms) - 2)


def total(parts: list[tuple[int, Form]]) -> Form:
    """A sum with whole weights."""
    terms = tuple((weight * c, column) for weight, form in parts for c, column in form.terms)
    return Form(terms, sum(weight * form.constant for weight, form in parts))
