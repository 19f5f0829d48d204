"""All-to-all (alltoall, alltoallv): Bruck's, pairwise exchange, and linear with a window."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..fields import check_choice, frozen_dataclass
from ..imbalance import Counts
from ..steps import MAX_WINDOW, Shift, Step, Xor, power_below
from .algorithm import Algorithm, Irregular
from .shared_steps import (
    MAX_PAIRED_RANKS,
    MAX_RADIX,
    Count,
    all_sent_first,
    bytes_of_counts,
    check_ranks,
    check_step_count,
    collective,
    in_one_row,
    message,
    pairwise_steps,
    shifts_at_once,
    sized_messages,
)


@frozen_dataclass()
class BruckAlltoall(Algorithm, kind="bruck_alltoall"):
    """Rank i sends to ``i + 2^r`` (modulo N), in round r, all blocks that have such a way to go.

    A block for the rank at distance d goes over the distances 2^r whose bits d has; on its way it
    is in the messages of other ranks. With `radix` k it goes over the distances ``j k^r`` where
    digit r of d to the base k is j; a rank sends the messages of j = 1, 2, ... k - 1 one after the
    other, without waiting, and then receives as many. The time to sort the blocks in memory before
    and after is not counted.

    `message_bytes` is a block, that of one rank for one other: n bytes. A rank sends log2(N)
    messages, rounded up: that of round r has n bytes for each d from 1 to N - 1 with bit r, which
    are N/2 where N is a power of two.

    Parameters
    ----------
    radix : int
        k, from 2 to 256.

    Raises
    ------
    ValueError
        `radix` out of range.

    Notes
    -----
    Without noise it takes ``K (alpha + N/2 n beta)`` on Hockney's network and 2^K ranks. It sends
    few messages, and each block log2(N) / 2 times on average, which suits short messages (Bruck et
    al. 1997; Thakur et al. 2005). A higher radix has fewer rounds and sends a block less often. It
    is MPICH's `k_brucks`, of 2 unless `MPIR_CVAR_ALLTOALL_BRUCKS_KVAL` is set.

    Examples
    --------
    Bytes of each message on six ranks, where blocks are one byte:

    >>> [step.bytes for step in BruckAlltoall().steps(6, 1) if step.partners]
    [3, 2, 2]
    """

    added = ("radix",)

    radix: Count = Count(2, least=2, most=MAX_RADIX)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        def size(stride: int, digit: int) -> int:
            return blocks_with_digit(ranks, stride, digit, self.radix) * message_bytes

        return collective(shifts_at_once(ranks, self.radix, size))


def blocks_with_digit(ranks: int, stride: int, digit: int = 1, radix: int = 2) -> int:
    """Count the distances below `ranks` whose digit of a power of the radix is this one."""
    whole, left = divmod(ranks, stride * radix)
    return whole * stride + min(max(left - digit * stride, 0), stride)


@frozen_dataclass()
class PairwiseAlltoall(Algorithm, kind="pairwise_alltoall"):
    """Rank i sends its block for rank ``i + d`` (modulo N) in step d, and receives from ``i - d``.

    With ``partners="xor"`` it exchanges blocks with ``i xor d`` instead, where N is a power of two.

    `message_bytes` is a block, that of one rank for one other: n bytes. A rank sends N - 1 messages
    of n bytes, each to another rank; the step ends when it has received.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Parameters
    ----------
    partners : str
        "shift" or "xor".

    Raises
    ------
    ValueError
        `partners` is neither.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``, on a
    LogGP network. It sends each block once, which suits long messages (Thakur et al. 2005). It is
    Open MPI's `pairwise`, and with "xor" MPICH's.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in PairwiseAlltoall().message_levels(3)]
    [[[0, 1], [1, 2], [2, 0]], [[0, 2], [1, 0], [2, 1]]]
    """

    added = ("partners",)

    partners: Literal["shift", "xor"] = "shift"

    def __post_init__(self) -> None:
        check_choice(self.partners, "partners", ("shift", "xor"))

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        steps = pairwise_steps(self, ranks, message_bytes)
        if self.partners == "xor" and power_below(ranks) == ranks:
            steps = [step._replace(partners=Xor(d, ranks)) for d, step in enumerate(steps, 1)]
        return collective(steps)


@frozen_dataclass()
class LinearAlltoall(Algorithm, kind="linear_alltoall"):
    """Rank i sends its blocks for ranks ``i + 1``, ``i + 2``, ... (modulo N), `window` at a time.

    It sends the messages of a window one after the other, without waiting; then it receives those
    of the same window, from ``i - 1``, ``i - 2``, ..., and goes on with the next window.

    `message_bytes` is a block, that of one rank for one other: n bytes. A rank sends N - 1 messages
    of n bytes, each to another rank.

    Parameters
    ----------
    window : int
        Messages that a rank has under way at once, from 1 to 1024. With 1 it is
        `PairwiseAlltoall`. The memory of a realization grows with it.

    Raises
    ------
    ValueError
        `window` out of range; more than 2^17 + 1 ranks, whose steps do not fit, when the case is
        made.

    Notes
    -----
    A rank takes the messages of a window in the order of their distance, so that one that comes
    late holds up those behind it. It is MPICH's `scattered`, with `MPIR_CVAR_ALLTOALL_THROTTLE` as
    its window, and Open MPI's `linear` where that holds all other ranks. Open MPI's `linear_sync`
    starts a message as soon as any one of its window is complete.

    Examples
    --------
    Rank 0 of five, two at a time: it sends to 1 and 2, receives from 4 and 3, sends to 3 and 4.

    >>> steps = LinearAlltoall(window=2).steps(5, 8)
    >>> [("send" if step.sends else "receive", step.round + 1) for step in steps if step.partners]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('send', 1), ('send', 2), ('receive', 1), ('receive', 2),
     ('send', 3), ('send', 4), ('receive', 3), ('receive', 4)]
    """

    window: Count = Count(32, least=1, most=MAX_WINDOW)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_step_count(self, 2 * (ranks - 1), "ranks must be fewer")
        every = [message(Shift(d), d - 1, message_bytes, "") for d in range(1, ranks)]
        every = in_one_row(every, "linear")
        steps: list[Step] = []
        for first in range(0, len(every), self.window):
            steps += all_sent_first(every[first : first + self.window])
        return collective(steps)


def _sized_steps(
    algorithm: Algorithm, counts: Counts, ranks: int, element: int, *, skip_empty: bool
) -> list[list[Step]]:
    """The step in which rank i sends to ``i + d``, if there is any, for each d = 1, 2, ...

    Raises
    ------
    ValueError
        Too many ranks, or other ones than there are counts of; it names the algorithm.
    """
    check_ranks(algorithm, ranks, MAX_PAIRED_RANKS)
    sizes = bytes_of_counts(counts.of_pairs(ranks), element)
    rank = np.arange(ranks)
    return [
        sized_messages(
            Shift(d), ranks, d - 1, sizes[rank, (rank + d) % ranks], skip_empty=skip_empty
        )
        for d in range(1, ranks)
    ]


@frozen_dataclass()
class PairwiseAlltoallv(Irregular, kind="pairwise_alltoallv"):
    """Send to rank ``i + d`` (modulo N), in step d, as much as there is for it.

    It is `PairwiseAlltoall` with a count for each pair of ranks; the step of a rank ends when it
    has received. So one long message holds up those behind it on the way of its two ranks.

    `message_bytes` is one element, as MPI's datatype: a message has a count of them. An empty
    message is sent, as Open MPI does, and costs as much as the smallest that the network knows.
    Messages are listed, which takes memory: up to 8192 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    It is Open MPI's `pairwise`. With equal counts it takes as long as `PairwiseAlltoall`.

    Examples
    --------
    Bytes of the messages of ranks 0, 1 and 2, step by step:

    >>> steps = PairwiseAlltoallv([[9, 1, 2], [3, 9, 4], [5, 0, 9]]).steps(3, 8)
    >>> [step.sizes(3).tolist() for step in steps if step.partners]
    [[8, 32, 40], [16, 24, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        every = _sized_steps(self, self.counts, ranks, message_bytes, skip_empty=False)
        return collective(in_one_row([step for steps in every for step in steps], "pairwise"))


@frozen_dataclass()
class LinearAlltoallv(Irregular, kind="linear_alltoallv"):
    """Send to ranks ``i + 1``, ``i + 2``, ... (modulo N) as much as there is, `window` at a time.

    It is `LinearAlltoall` with a count for each pair of ranks: the messages of a window are sent
    one after the other, without waiting, and then those from ``i - 1``, ``i - 2``, ... received.

    `message_bytes` is one element, as MPI's datatype: a message has a count of them. An empty
    message is not sent. Messages are listed, which takes memory: up to 8192 ranks, else a
    ValueError when the case is made.

    Parameters
    ----------
    window : int
        Ranks that a rank has messages for under way at once, from 1 to 1024. The memory of a
        realization grows with it.

    Notes
    -----
    A rank takes the messages of a window in the order of their distance, so that one that comes
    late holds up those behind it. It is MPICH's `scattered`, with `MPIR_CVAR_ALLTOALL_THROTTLE` as
    its window, which counts ranks downwards; and Open MPI's `basic_linear` where the window holds
    all other ranks, but that each rank begins with rank 0 there. Both skip empty messages.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> counts = [[9, 1, 2], [3, 9, 4], [5, 0, 9]]
    >>> [step.tolist() for step in LinearAlltoallv(counts).message_levels(3)]
    [[[0, 1], [1, 2], [2, 0]], [[0, 2], [1, 0]]]
    """

    window: Count = Count(32, least=1, most=MAX_WINDOW)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        every = _sized_steps(self, self.counts, ranks, message_bytes, skip_empty=True)
        windows = [
            [step for steps in every[first : first + self.window] for step in steps]
            for first in range(0, len(every), self.window)
        ]
        # The row of all is that of the last step in which anything is received.
        sent = [steps for steps in windows if steps]
        if sent:
            sent[-1] = in_one_row(sent[-1], "linear")
        return collective([step for steps in sent for step in all_sent_first(steps)])
