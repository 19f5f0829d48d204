"""Patterns of collectives: for each level, the messages from rank to rank.

Those of ORCS (pattern_generator.cpp of version 2.0), and the reduction that is its tree backwards:
all messages of a level at one time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

Pairs = npt.NDArray[np.uint32]
"""Shape (messages, 2): sender, receiver."""


def tree(ranks: int) -> Iterator[Pairs]:
    """Binomial tree from rank 0: i sends to i + 2^l, for i < 2^l."""
    reach = 1
    while reach < ranks:
        senders = np.arange(min(reach, ranks - reach))
        yield _pairs(senders, senders + reach)
        reach *= 2


def reduce(ranks: int) -> Iterator[Pairs]:
    """Binomial reduction to rank 0: `tree` backwards, the longest messages first."""
    yield from (level[:, ::-1] for level in reversed(list(tree(ranks))))


def bruck(ranks: int) -> Iterator[Pairs]:
    """Dissemination: every rank i sends to i + 2^l, modulo the ranks."""
    everyone, reach = np.arange(ranks), 1
    while reach < ranks:
        yield _pairs(everyone, (everyone + reach) % ranks)
        reach *= 2


def recdbl(ranks: int) -> Iterator[Pairs]:
    """Recursive doubling inside the largest power of two Q, then i to i + Q for the others."""
    inside, reach = 1 << ranks.bit_length() - 1, 1
    while reach < inside:
        low = np.arange(inside)
        low = low[(low & reach) == 0]
        yield np.stack([_pairs(low, low + reach), _pairs(low + reach, low)], axis=1).reshape(-1, 2)
        reach *= 2
    if inside < ranks:
        others = np.arange(ranks - inside)
        yield _pairs(others, others + inside)


def ring(ranks: int) -> Iterator[Pairs]:
    """One message that goes round: l sends to l + 1, as many levels as ranks."""
    if ranks > 1:
        for level in range(ranks):
            yield _pairs(np.array([level]), np.array([(level + 1) % ranks]))


def gather(ranks: int) -> Iterator[Pairs]:
    """Everybody sends to rank 0, at once."""
    if ranks > 1:
        yield _pairs(np.arange(1, ranks), np.zeros(ranks - 1))


def scatter(ranks: int) -> Iterator[Pairs]:
    """Rank 0 sends to everybody, at once."""
    if ranks > 1:
        yield _pairs(np.zeros(ranks - 1), np.arange(1, ranks))


def none(ranks: int) -> Iterator[Pairs]:
    """One level without messages: the other traffic alone."""
    yield _pairs(np.arange(0), np.arange(0))


BY_NAME: dict[str, Callable[[int], Iterator[Pairs]]] = {
    "tree": tree,
    "reduce": reduce,
    "bruck": bruck,
    "recdbl": recdbl,
    "ring": ring,
    "gather": gather,
    "scatter": scatter,
    "none": none,
}
PATTERNS = tuple(BY_NAME)


def _pairs(senders: npt.NDArray[np.generic], receivers: npt.NDArray[np.generic]) -> Pairs:
    return np.stack([senders, receivers], axis=1).astype(np.uint32)
