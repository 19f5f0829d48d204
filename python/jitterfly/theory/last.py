"""Rigorous bounds of the last rank's ready time, from the laws of one rank."""

from __future__ import annotations

from functools import reduce

import numpy as np

from .parts import Floats
from .tree import Law, Tree


def not_after(tree: Tree) -> Law:
    """A law that the last of all ranks is not later than: the better of two at each time.

    Ready times rise with every delay, so they are associated (Esary, Proschan & Walkup 1967):
    P(all <= t) is at least the product of the P(each <= t). This is good where delays are common.
    Where they are rare, one delay makes many ranks late at once, and it is better to count those
    that do it: see `_crossings`.
    """
    draws, count = tree.draws, 1 << tree.draws.rounds
    if draws.rounds and not draws.receive and not draws.message:
        # No draw after the last meeting: the two that meet last are late together.
        independent = tree.left[-2].largest_of(count).later(draws.transit)
    else:
        independent = tree.one.largest_of(count)
    survival = np.minimum(independent.survival(tree.ends)[1], _crossings(tree))
    return tree.bounded(np.minimum.accumulate(survival))


def _crossings(tree: Tree) -> Floats:
    """A bound of P(last > t) at the ends of the tree: the mean number of crossings.

    Whoever is later than t at the end was, or has its data from one that was, later than
    t - (K - l) transits at level l. So somewhere on the way a single delay crosses this line,
    from below to above: P(last > t) <= N sum over l of P(before <= line < after). On a mesh all
    of this is said of times that are rounded up, which no time is later than.
    """
    draws, line, total = tree.draws, tree.ends, np.zeros(len(tree.ends))
    for level in range(draws.rounds, -1, -1):
        steps = []
        if draws.at_level(level):
            steps.append((tree.arrived[level], tree.left[level]))
        if level < draws.rounds and draws.message:
            steps.append((tree.left[level], tree.under_way[level]))
        for before, after in steps:
            total += np.maximum(after.survival(line)[1] - before.survival(line)[1], 0.0)
        if level:
            line = tree.floor(line) - draws.transit
    return np.where(line < 0, 1.0, np.minimum(total * float(1 << draws.rounds), 1.0))


def not_before(tree: Tree) -> list[Law]:
    """Laws that the last of all ranks is not earlier than: one of all draws, one of each level.

    Of all draws: nothing can make up for the largest of all delays. Of level l: some rank has
    the largest of all ranks' draws there; which one says nothing of when its data arrived. What
    follows from it spreads to two ranks, four, ...: the latest of these is a branching random walk
    of independent steps.
    """
    draws, count = tree.draws, 1 << tree.draws.rounds
    spread, found, largest = tree.zero, [], []
    for level in range(draws.rounds, -1, -1):
        parts = draws.at_level(level)
        largest.append(tree.add(tree.zero, parts).largest_of(count))
        found.append(tree.sum(tree.sum(tree.arrived[level], largest[-1]), spread))
        if level:
            late = tree.add(spread, parts)
            under_way = tree.add(late, draws.message).later(draws.transit)
            spread = late.maximum(under_way)
    return [*found, reduce(lambda one, other: one.maximum(other), largest)]
