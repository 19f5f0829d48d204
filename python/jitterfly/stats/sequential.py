"""Sequential analysis: early stopping, sample sizes of interim looks, alpha spending.

Declared before the first realization: the sizes at which the data may be looked at, and these
rules. A *pilot* look decides nothing, so it spends nothing: it says how many realizations it may
take. A *deciding* look stops if every interval is narrow enough; the k-th of them has intervals
of confidence ``1 - alpha * SHARES[k]``, the one at the limit of the budget has all that is left.
The shares sum to at most 1, so that the interval that is reported misses with a probability of
about alpha at most: by the union bound over the deciding looks, and "about" since the size of a
look goes by the widths that were seen before it. A larger budget or a finer target is a plan of
its own. Decisions depend on the samples alone: a run that is resumed finds the same.

Whether the intervals of a look are narrow enough is asked in `observables.targets.decide`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PER_OCTAVE = 16
"""Sizes between a power of two and the next at which the data may be looked at."""
_GROWTH = 1.25  # from one look to the next, at least
_JUMP = 64  # at most
_REACH = 5  # a deciding look is at up to this many times the size of the look before it
_AIM = 3  # else there is another pilot, at this part of what is needed


def share(decision: int) -> float:
    """Share of the error rate of the k-th deciding look, k from 0; they sum to 1.

    Examples
    --------
    >>> [round(share(k), 4) for k in range(4)]
    [0.88, 0.1, 0.01, 0.005]
    """
    return (0.88, 0.1)[decision] if decision < 2 else 0.02 * 2.0 ** (1 - decision)


def grid_up(n: float) -> int:
    """The smallest size from `n` on at which the data may be looked at.

    Any below 32, then 16 in each octave: m * 2^k with m from 16 to 31.

    Examples
    --------
    >>> grid_up(31), grid_up(33), grid_up(1000), grid_up(1025)
    (31, 34, 1024, 1088)
    """
    size = max(math.ceil(n), 1)
    step = 1 << max(size.bit_length() - PER_OCTAVE.bit_length(), 0)
    return -(-size // step) * step


@dataclass(frozen=True)
class Look:
    """A look at the data.

    Attributes
    ----------
    number : int
        From 0.
    realizations : int
    decides : bool
        Whether the study may stop here.
    share : float
        Of the error rate: what is spent here, or, at a pilot, by the next deciding look.
    decisions : int
        How many deciding looks there were before this one.
    last : bool
        Whether the budget ends here.
    """

    number: int
    realizations: int
    decides: bool
    share: float
    decisions: int
    last: bool


def first_look(least: int, limit: int) -> Look:
    """The first one: a pilot of half of what has to be simulated anyway, if it can change that."""
    if least >= limit:
        return _look(0, limit, True, 0, limit)
    return _look(0, grid_up(max(math.ceil(least / 2), 2)), False, 0, limit)


def next_look(look: Look, needed: float, known: bool, least: int, limit: int) -> Look:
    """The one after a look that did not stop.

    Parameters
    ----------
    look : Look
    needed : float
        Realizations that will suffice; if that is not known, those that may tell.
    known : bool
        Whether `needed` can be relied on. If not, a pilot follows.
    least, limit : int
        The study's budget per cell.
    """
    n = look.realizations
    decisions = look.decisions + look.decides
    decides = known and needed <= _REACH * n
    aim = needed / _AIM if known and not decides else needed
    aim = max(min(aim, _JUMP * n), _GROWTH * n)
    if decides:
        aim = max(aim, least)
    return _look(look.number + 1, grid_up(aim), decides, decisions, limit)


def _look(number: int, size: int, decides: bool, decisions: int, limit: int) -> Look:
    """Make a look at `size` realizations; the one at `limit` is the last and takes the rest."""
    if size >= limit:
        left = 1 - sum(share(k) for k in range(decisions))
        return Look(number, limit, True, left, decisions, True)
    return Look(number, size, decides, share(decisions), decisions, False)
