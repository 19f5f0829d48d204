"""Binomial tree gather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import blocks_over_tree, collective


@dataclass(frozen=True)
class BinomialGather(Algorithm, kind="binomial_gather"):
    """All that a rank and those below it put in goes to rank 0, over distances 1, 2, 4, ...

    `message_bytes` is what each rank puts in, n bytes. There are log2(N) steps, rounded up, in
    which s blocks of n bytes go over distance s, or as many as there are ranks left. A rank other
    than rank 0 has finished when its message is sent. It is MPICH's gather.

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

    >>> [step.tolist() for step in BinomialGather().message_levels(3)]
    [[[1, 0]], [[2, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(blocks_over_tree(ranks, message_bytes, down=False))
