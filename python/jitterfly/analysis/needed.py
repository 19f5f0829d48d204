"""How many redundant exchanges are enough: to come within a few per cent of the best."""

from __future__ import annotations

from ..stats import Estimate
from .results import Spot

CLOSE = 0.05  # of the smallest mean; the T of the very smallest is decided by noise


def needed(spot: Spot, name: str) -> Estimate:
    """The smallest T whose mean is within 5 % of the smallest mean, and which T it may be.

    The smallest T that can not be told from the best grows with the number of realizations, so it
    can not be compared between cells; this one can. The interval is from the first T that may be
    so close to the first one that certainly is (Fieller, 95 % each).

    Args:
        name: an observable of kind `optimal_T`.
    """
    observed = spot.observed(name)
    if observed is None:
        raise ValueError(f"{name} has no data at {spot.place.name}")
    family = observed.family
    best = family.labels.index(observed.T)
    bottom = family.members[best].numerator
    value = low = high = float(family.labels[best])
    for T, member in reversed(list(zip(family.labels, family.members, strict=True))[:best]):
        over = spot.ratio(member.numerator, bottom)
        if over.value <= 1 + CLOSE:
            value = float(T)
        if over.low <= 1 + CLOSE:
            low = float(T)
        if over.high <= 1 + CLOSE:
            high = float(T)
        if over.low > 1 + CLOSE:  # means can only fall with T: no smaller one is close
            break
    return Estimate(value, low, high, 0.95, observed.realizations)
