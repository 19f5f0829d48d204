"""Binomial tree scatter."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import blocks_over_tree, collective


@dataclass(frozen=True)
class BinomialScatter(Algorithm, kind="binomial_scatter"):
    """Rank 0 sends what a rank and those below it get to that rank, which sends it on.

    `message_bytes` is what each rank gets, n bytes. There are log2(N) steps, rounded up, over
    distances ..., 4, 2, 1; s blocks of n bytes go over distance s, or as many as there are ranks
    left. It is MPICH's scatter.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1) n beta`` on Hockney's network and 2^K ranks
    (Chan et al. 2007); in detail `jitterfly.theory.collective_completion`.

    References
    ----------
    Chan, Heimlich, Purkayastha & van de Geijn, "Collective communication: theory, practice, and
    experience", CCPE 2007.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in BinomialScatter().message_levels(3)]
    [[[0, 2]], [[0, 1]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(blocks_over_tree(ranks, message_bytes, down=True))
