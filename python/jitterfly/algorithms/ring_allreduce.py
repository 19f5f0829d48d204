"""Ring allreduce: reduce-scatter around a ring, then allgather around it."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Shift, Step
from .algorithm import Forwarded
from .schedule import block_bytes, collective, message


@frozen_dataclass()
class RingAllreduce(Forwarded, kind="ring_allreduce"):
    """Rank i sends a block of the vector to rank i + 1, N - 1 times to reduce, N - 1 to gather.

    In step s of the first half rank i sends block ``i - s`` (modulo N) and combines what it
    receives; then every rank holds one block of the result, and passes the blocks on.

    `message_bytes` is the vector, n bytes, cut into N blocks of n / N (rounded up). 2 (N - 1)
    messages of a block a rank, whatever N is.

    Notes
    -----
    Noise-free, with A the time of one message of a block (A' without combining) and d its gap
    ``g + (b - 1) G``: ``(N - 1) max(A, d) + (N - 2) max(A', d) + A'``. The least bytes that an
    allreduce can send, for long vectors; its latency grows with N. Patarasuk & Yuan, "Bandwidth
    optimal all-reduce algorithms for clusters of workstations" (JPDC 2009).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block, rest = block_bytes(message_bytes, ranks), ranks - 1
        halves = [
            message(Shift(1), 0, block, "reduce-scatter", combine=True, repeat=rest),
            message(Shift(1), rest, block, "allgather", repeat=rest),
        ]
        return collective(halves if rest else []) + self.forward_steps(ranks)
