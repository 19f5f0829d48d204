"""Ring allreduce: reduce-scatter around a ring, then allgather around it."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Shift, Step
from .algorithm import Forwarded
from .shared_steps import block_bytes, collective, message


@frozen_dataclass()
class RingAllreduce(Forwarded, kind="ring_allreduce"):
    """Rank i sends a block of the vector to rank i + 1, N - 1 times to reduce, N - 1 to gather.

    In step s of the first half rank i sends block ``i - s`` (modulo N) and combines what it
    receives; then every rank holds one block of the result, and sends the blocks on.

    `message_bytes` is the vector, n bytes, cut into N blocks of n / N (rounded up). A rank sends 2
    (N - 1) messages of a block, whatever N is. Unless n is 0, a block has at least one byte: with
    fewer bytes than blocks a rank sends more than an implementation would.

    Notes
    -----
    Without noise it takes ``(N - 1) max(A, d) + (N - 2) max(A', d) + A'``, with A the time of one
    message of a block (A' without combining) and d its gap ``g + (b - 1) G``. An allreduce can not
    send fewer bytes; so it suits long vectors (Patarasuk & Yuan 2009). Its latency grows with N.

    References
    ----------
    Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
    2009.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RingAllreduce().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block, rest = block_bytes(message_bytes, ranks), ranks - 1
        halves = [
            message(Shift(1), 0, block, "reduce-scatter", combine=True, repeat=rest),
            message(Shift(1), rest, block, "allgather", repeat=rest),
        ]
        return collective(halves if rest else []) + self.forward_steps(ranks)
