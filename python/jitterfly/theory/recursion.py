"""When one rank has the result, as a distribution; and between what bounds the last one is.

The inputs of one rank form a binary tree whose branches share no rank, so with independent delays
the recursion over levels is exact (HM18, AGV05). The last rank has no such form: its ready time
is the maximum of dependent ones.
"""

from __future__ import annotations

from ..case import Case
from ..fields import check_power_of_two
from .draws import StepModel, draws_of
from .last import not_after, not_before
from .ready_time import LastRank, OneRank
from .tree import Draws, Tree, tree

LEAST_POINTS, MOST_POINTS = 2**8, 2**20


def one_rank(what: Case | StepModel, points: int = 2**14) -> OneRank:
    """The ready time of one rank under independent delays: exact, or between bounds.

    With costs o_s (send), c (transit), o_r (receive and combine) and delays X_s, Y, X_r:
    ``d_{l+1} = max(d_l + o_s + X_s, d'_l + o_s + X'_s + c + Y) + o_r + X_r``, d' the partner's.
    With c = 0 and one kind of delay this is ``F_{l+1}(t) = (f_X * F_l^2)(t - L)`` (at the
    receive) and ``F_{l+1}(t) = [(f_X * F_l)(t - L)]^2`` (at the send), L = o_s + o_r. For its own
    data a rank does not wait the transit time, so with c > 0 it is earlier than these say.

    Parameters
    ----------
    what : Case or StepModel
        A case of one cycle of a plain `Butterfly`, whose noise is `StepNoise` and `MessageNoise`,
        not shared and without a window.
    points : int
        Nodes of the grid for each doubling of time, a power of two from 2^8 to 2^20. Delays that
        are fixed or Bernoulli are exact and need none.

    Returns
    -------
    OneRank

    Raises
    ------
    ValueError
        The recursion does not apply to the case; the message says why.

    Examples
    --------
    >>> import jitterfly as jf
    >>> model = StepModel(12, "3.45us", jf.Bernoulli(0.01, "14us"))
    >>> time = one_rank(model)
    >>> time.which, round(time.mean() * 1e6, 2), round(float(time.quantile(0.99)) * 1e6, 2)
    ('one rank', 68.94, 83.4)
    """
    draws, offset = draws_of(what)
    law = _tree(draws, points).one
    return OneRank("one rank", draws.rounds, law.exact, offset, (law,), law)


def last_rank(what: Case | StepModel, points: int = 2**12) -> LastRank:
    """Rigorous bounds of the completion, the ready time of the last rank.

    Not after ``F(t)^N``, as ready times are associated, nor after what the mean number of delays
    that cross t allows. Not before the largest of N draws of a level on top of one rank's arrival
    there, carried on by a branching random walk; nor before the largest of all draws.

    Parameters
    ----------
    what, points
        As of `one_rank`.

    Returns
    -------
    LastRank

    Raises
    ------
    ValueError
        As `one_rank`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> last = last_rank(StepModel(12, "3.45us", jf.Bernoulli(0.01, "14us")))
    >>> [round(bound * 1e6, 1) for bound in last.mean_bounds()]
    [82.8, 100.0]
    """
    draws, offset = draws_of(what)
    found = _tree(draws, points)
    early, late = tuple(not_before(found)), not_after(found)
    return LastRank("last rank", draws.rounds, False, offset, early, late)


def _tree(draws: Draws, points: int) -> Tree:
    points = check_power_of_two(points, "points", MOST_POINTS)
    if points < LEAST_POINTS:
        raise ValueError(f"points must be from {LEAST_POINTS} to 2^20, got {points}")
    return tree(draws, points)
