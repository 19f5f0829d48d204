"""Recursive multiplying (k-ary recursive doubling) allreduce: several partners a round."""

from __future__ import annotations

import numpy as np

from ..fields import frozen_dataclass
from ..steps import MOST_WINDOW, Listed, PairArray, Range, Step
from .algorithm import Forwarded
from .shared_steps import (
    FOLD_IN,
    Count,
    all_sent_first,
    check_ranks,
    check_step_count,
    collective,
    message,
)

_MAX_RADIX = 256
assert _MAX_RADIX <= MOST_WINDOW


@frozen_dataclass()
class RecursiveMultiplyingAllreduce(Forwarded, kind="recursive_multiplying_allreduce"):
    """Ranks in groups of k = `radix` send each other the vector and combine it, round by round.

    In round r rank i is with those that differ from it in digit r of their number to the base k. It
    sends k - 1 messages one after the other, without waiting, to those whose digit is larger by 1,
    2, ... (modulo k), and then receives and combines k - 1, from those whose digit is smaller by 1,
    2, ... Ranks beyond the largest power P of k send their vector to i modulo P first, and get the
    result at the end.

    `message_bytes` is the vector, n bytes. A rank sends (k - 1) log N / log k messages of n bytes;
    the fold adds up to k - 1 and as many answers.

    Parameters
    ----------
    radix : int
        k, from 2 to 256. With 2 it is `RecursiveDoublingAllreduce`.

    Notes
    -----
    Without noise it takes log N / log k rounds, which on a LogGP network with g <= o, G = 0, N a
    power of k and (k - 2) o <= L last ``o + L + (k - 1) (o + gamma n)`` each: fewer latencies in a
    row, for more messages. It suits networks on which a rank can have several under way, and short
    vectors. It is MPICH's `recursive_multiplying`.

    References
    ----------
    Ruefenacht, Bull & Booth, "Generalisation of recursive doubling for AllReduce: now with
    simulation", Parallel Computing 2017.

    Examples
    --------
    Sender and receiver of the first messages on three ranks in a group of three:

    >>> RecursiveMultiplyingAllreduce(radix=3).message_levels(3)[0].tolist()
    [[0, 1], [1, 2], [2, 0]]
    """

    radix: Count = Count(4, least=2, most=_MAX_RADIX)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        k, n, power, rounds = self.radix, message_bytes, 1, 0
        while power * k <= ranks:
            power, rounds = power * k, rounds + 1
        beyond = range(power, ranks, power)
        check_step_count(self, 2 * (rounds * (k - 1) + len(beyond)), "radix must be lower")
        steps: list[Step] = []
        # Draws of the fold come after those of the rounds; with k = 2 they are those of all others.
        fold = max(FOLD_IN, rounds * (k - 1))
        folded = [(first, min(first + power, ranks)) for first in beyond]
        names = [f" {turn + 1}" if len(folded) > 1 else "" for turn in range(len(folded))]
        for turn, (first, end) in enumerate(folded):
            partners = Range(first, end, -first)
            steps.append(
                message(partners, fold + 2 * turn, n, f"fold in{names[turn]}", combine=True)
            )
        for r in range(rounds):
            window = []
            for other in range(1, k):
                label = f"round {r + 1}" if other + 1 == k else ""
                listed = Listed(_in_groups(power, k**r, k, other))
                draw = r * (k - 1) + other - 1
                window.append(message(listed, draw, n, label, combine=True))
            steps += all_sent_first(window)
        for turn, (first, end) in enumerate(folded):
            partners = Range(0, end - first, first)
            steps.append(message(partners, fold + 2 * turn + 1, n, f"fold out{names[turn]}"))
        return collective(steps) + self.forward_steps(ranks)


def _in_groups(ranks: int, stride: int, radix: int, distance: int) -> PairArray:
    """Each rank sends to the one whose digit of that stride is larger by so much, modulo radix."""
    rank = np.arange(ranks)
    digit = rank // stride % radix
    to = rank + ((digit + distance) % radix - digit) * stride
    return np.stack([rank, to], axis=1)
