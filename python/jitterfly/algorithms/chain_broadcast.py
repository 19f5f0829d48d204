"""Pipelined chain broadcast (bcast): segments along a chain of all ranks."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Range, Step
from .algorithm import Algorithm
from .shared_steps import (
    SegmentBytes,
    block_bytes,
    check_step_count,
    collective,
    message,
    segments_of,
)


@frozen_dataclass()
class ChainBroadcast(Algorithm, kind="chain_broadcast"):
    """Rank i sends each segment of the vector on to rank i + 1 before it receives the next.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. Rank N - 1 sends nothing, every other rank S messages of a
    segment. There are N + S - 2 steps.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With n or more, whole
        vectors are sent.

    Raises
    ------
    ValueError
        `segment_bytes` out of range; more than 2^18 steps when the case is made.

    Notes
    -----
    Without noise it takes ``(N - 1) A + (S - 1) max(2 o, g + (b - 1) G)`` on a LogGP network and
    more than two ranks, with b bytes of a segment and ``A = 2 o + L + (b - 1) G``. It suits long
    vectors on few ranks: the last rank has a vector in little more time than it takes to send it
    once. It is Open MPI's `pipeline`.

    References
    ----------
    Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective Operations", Cluster Computing
    2007.

    Examples
    --------
    Sender and receiver of two segments on three ranks, step by step:

    >>> chain = ChainBroadcast(segment_bytes="4KiB")
    >>> [step.partners.pairs(3) for step in chain.steps(3, 8192) if step.partners]
    [[(0, 1)], [(0, 1), (1, 2)], [(1, 2)]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        segments = segments_of(message_bytes, self.segment_bytes)
        count = ranks + segments - 2 if ranks > 1 else 0
        check_step_count(self, count, "ranks must be fewer, or segment_bytes larger,")
        size = block_bytes(message_bytes, segments)
        messages = []
        for t in range(count):  # rank i sends segment t - i
            chain = Range(max(t - segments + 1, 0), min(t + 1, ranks - 1), 1)
            messages.append(message(chain, t, size, "chain" if t == count - 1 else ""))
        return collective(messages)
