"""Linear all-to-all (alltoall), with a window of outstanding messages."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import MOST_WINDOW, Shift, Step
from .algorithm import Algorithm
from .shared_steps import Count, all_sent_first, check_step_count, collective, in_one_row, message


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

    window: Count = Count(32, least=1, most=MOST_WINDOW)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_step_count(self, 2 * (ranks - 1), "ranks must be fewer")
        every = [message(Shift(d), d - 1, message_bytes, "") for d in range(1, ranks)]
        every = in_one_row(every, "linear")
        steps: list[Step] = []
        for first in range(0, len(every), self.window):
            steps += all_sent_first(every[first : first + self.window])
        return collective(steps)
