"""How many delayed steps lie on the path that decides a butterfly's end: what is exact.

Every step of every rank is hit with probability p, independently (HM18, AGV05). `M` is the number
of hits on the worst path, so a completion is ``K * L + D * M``: of one rank (its inputs form a tree
with disjoint branches, the model's §7), or of the last rank, which is later and has no closed form.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def one_rank(probability: npt.ArrayLike, rounds: int) -> Floats:
    """``P(M > m)`` of one rank, m = 0 ... rounds, shape (..., rounds + 1).

    ``F_{l+1}(m) = (1 - p) F_l(m)^2 + p F_l(m - 1)^2``, written for 1 - F so that small p keep all
    their digits.

    Examples
    --------
    >>> one_rank(0.5, 2)  # P(M = 0) = 1 / 8, P(M = 2) = 3 / 8
    array([0.875, 0.375, 0.   ])
    """
    p = np.asarray(probability, dtype=np.float64)[..., None]
    above = np.zeros((*p.shape[:-1], rounds + 1))
    for _ in range(rounds):
        either = above * (2 - above)  # of the rank and its partner
        less = np.concatenate([np.ones_like(p), either[..., :-1]], axis=-1)
        above = (1 - p) * either + p * less
    return above


def any_hit(probability: npt.ArrayLike, rounds: int) -> Floats:
    """``P(M >= 1)`` of the last rank: one of the ``rounds * 2^rounds`` steps is hit."""
    p = np.asarray(probability, dtype=np.float64)
    with np.errstate(divide="ignore"):
        found: Floats = -np.expm1(rounds * 2.0**rounds * np.log1p(-p))
    return found


def pairs(rounds: int) -> float:
    """Pairs of steps on one path: a step of round r is on the paths of 2^(s - r) steps of round s.

    ``p^2 * pairs`` is the mean number of pairs that are hit, an upper bound on ``P(M >= 2)`` of the
    last rank, and close to it where hits are rare.
    """
    return 2.0**rounds * sum((rounds - gap) * 2.0**gap for gap in range(1, rounds))
