"""How many redundant exchanges are enough: to come within a few per cent of the best."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from ..results.results import Spot
from ..stats import Estimate
from .cells import Block, Cell, Region
from .finding import Finding

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


WITHIN = f"the smallest T within {100 * CLOSE:.0f} % of the best"
_ALIKE = 0.75  # at least three of four pairs that are told apart
_ENOUGH = 0.25  # of all pairs have to be told apart, else nothing is decided

Pair = tuple[Estimate, Estimate, Estimate, Estimate]


def ordered(where: str, part: str, pairs: Sequence[Pair], told: str) -> Finding:
    """Whether two quantities order the cells alike; a pair is ``(x, x', y, y')`` of two cells."""
    return _shares(where, part, concordance(pairs), told)


def rising(
    block: Block,
    best: str,
    part: str,
    same: Callable[[Cell], float],
    along: Callable[[Cell], float],
    told: str,
    region: Region | None = None,
) -> Finding:
    """Whether the T that is needed rises with `along`, among cells that agree in `same`.

    Args:
        best: an observable of kind `optimal_T`.
    """
    cells = [
        Cell(spot.ranks, ratio, spot, needed(spot, best))
        for spot, ratio in block.chosen(best, region)
    ]
    order = sorted(cells, key=along)
    pairs = [
        (a.found, b.found)
        for a, b in itertools.combinations(order, 2)
        if same(a) == same(b) and along(a) < along(b)
    ]
    alike = sum(a.high < b.low for a, b in pairs)
    opposite = sum(a.low > b.high for a, b in pairs)
    counts = alike, opposite, len(pairs) - alike - opposite
    return _shares(block.where, f"{part}: pairs of cells", counts, told)


def concordance(pairs: Sequence[Pair]) -> tuple[int, int, int]:
    """How pairs of cells are ordered in two quantities: alike, opposite, not told apart.

    A pair counts when the intervals of x and x', and those of y and y', do not meet.
    """
    alike = opposite = 0
    for x, other_x, y, other_y in pairs:
        order = _order(x, other_x) * _order(y, other_y)
        alike += order > 0
        opposite += order < 0
    return alike, opposite, len(pairs) - alike - opposite


def _order(a: Estimate, b: Estimate) -> int:
    return int(a.low > b.high) - int(a.high < b.low)


def _shares(where: str, part: str, counts: tuple[int, int, int], told: str) -> Finding:
    alike, opposite, rest = counts
    apart = alike + opposite
    enough = apart > 0 and apart >= _ENOUGH * (apart + rest)
    share = f"{100 * alike / apart:.0f} % " if apart else ""
    return Finding(
        where,
        alike / apart >= _ALIKE if enough else None,
        f"{part}: {share}{told}, {alike:,} of {apart:,} that are told apart "
        f"({100 * _ALIKE:.0f} % are needed); {rest:,} are not",
    )
