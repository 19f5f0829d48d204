"""Which columns have the smallest mean, as far as the data can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .distributions import student_t
from .gram import Gram
from .moments import spread


@dataclass(frozen=True)
class ConfidenceSet:
    """The forms whose mean can not be told from the smallest one.

    Attributes
    ----------
    best : int
        Number of the form with the smallest mean; of equal ones the first.
    members : tuple of int
        Ascending; `best` is one of them.
    confidence : float
        At least this is the probability that the form of the smallest true mean is a member.
    realizations : int
    """

    best: int
    members: tuple[int, ...]
    confidence: float
    realizations: int


def confidence_set(
    gram: Gram, forms: Sequence[Sequence[int]], confidence: float = 0.95
) -> ConfidenceSet:
    """Of integer linear forms of a Gram's columns, those whose mean may be the smallest.

    Each is compared with the best one by paired differences, one-sided, the error rate divided
    by the number of comparisons (S. S. Gupta's subset selection, with Bonferroni's bound).

    Parameters
    ----------
    gram : Gram
    forms : sequence of sequences of int
        The coefficients of each form, then its constant.
    confidence : float
        Between 0 and 1.
    """
    n = gram.count
    totals = [gram.moments(form).x for form in forms]
    best = totals.index(min(totals))
    reach = comparison_t(len(forms), n, confidence)
    members = []
    for i, form in enumerate(forms):
        found = gram.moments([a - b for a, b in zip(form, forms[best], strict=True)])
        # The sum of the differences against `reach` standard errors of it.
        width = math.sqrt(spread(n, found.x, found.xx) / (n - 1)) if n > 1 else math.inf
        if found.x == 0 or found.x <= reach * width:
            members.append(i)
    return ConfidenceSet(best, tuple(members), confidence, n)


def comparison_t(forms: int, count: int, confidence: float) -> float:
    """How many standard errors tell a form from the best of `forms`."""
    if count < 2:
        return math.inf
    return student_t(1 - 2 * (1 - confidence) / max(forms - 1, 1), count - 1)
