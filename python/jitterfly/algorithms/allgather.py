"""Allgather: recursive doubling, Bruck's, and around a ring."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Shift, Step, Xor, power_below, rounds_of
from .algorithm import Algorithm
from .shared_steps import collective, fold_in, fold_out, message


@frozen_dataclass()
class RecursiveDoublingAllgather(Algorithm, kind="recursive_doubling_allgather"):
    """Rank i exchanges all that it holds with rank ``i xor 2^r`` in round r.

    Ranks beyond the largest power of two P = 2^K send their block to ``i - P`` first, and get the N
    - 1 blocks that they lack at the end. Some groups of ranks then hold blocks of such ranks as
    well and others do not: every message of a round takes as long as the longest of that round,
    ``2^r + min(2^r, N - P)`` blocks. So numbers of ranks other than P cost a little more than they
    must. (MPICH takes recursive doubling for powers of two only, and `BruckAllgather` else.)

    `message_bytes` is what one rank contributes, n bytes. On P ranks a rank sends K messages, of 1,
    2, 4, ... blocks of n bytes; the fold adds two (Thakur et al. 2005).

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1) n beta`` on Hockney's network and P ranks.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveDoublingAllgather().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=False)
        for r in range(power.bit_length() - 1):
            held = (1 << r) + min(1 << r, ranks - power)
            messages.append(message(Xor(1 << r, power), r, held * n, f"round {r + 1}"))
        return collective(messages + fold_out(ranks, (ranks - 1) * n))


@frozen_dataclass()
class BruckAllgather(Algorithm, kind="bruck_allgather"):
    """Rank i sends all that it holds to rank ``i - 2^r`` (modulo N) in round r.

    In the last round it sends only what that rank still lacks. `message_bytes` is what one rank
    contributes, n bytes. A rank sends K = log2(N) messages, rounded up, of 1, 2, 4, ... blocks of n
    bytes, the last of ``N - 2^(K-1)``; there is no fold. The time to sort the blocks in memory at
    the end is not counted.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1) n beta`` on Hockney's network, for every N (Bruck et
    al. 1997). MPICH takes it for short messages where the number of ranks is not a power of two.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BruckAllgather().message_levels(4)[0].tolist()
    [[0, 3], [1, 0], [2, 1], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        messages = []
        for r in range(rounds_of(ranks)):
            size = min(1 << r, ranks - (1 << r)) * message_bytes
            messages.append(message(Shift(ranks - (1 << r)), r, size, f"round {r + 1}"))
        return collective(messages)


@frozen_dataclass()
class RingAllgather(Algorithm, kind="ring_allgather"):
    """Rank i sends to rank i + 1 the block that it received last, N - 1 times.

    `message_bytes` is what one rank contributes, n bytes. A rank sends N - 1 messages of n bytes.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (n - 1) G)``, with A the time of one message.
    Partners are neighbours, which suits long messages (Thakur et al. 2005).

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RingAllgather().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        ring = message(Shift(1), 0, message_bytes, "ring", repeat=max(ranks - 1, 1))
        return collective([ring] if ranks > 1 else [])
