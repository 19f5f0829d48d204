"""Segmented ring allreduce: blocks are reduced segment by segment."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Shift, Step
from .algorithm import Forwarded
from .shared_steps import (
    SegmentBytes,
    block_bytes,
    check_step_count,
    collective,
    message,
    segments_of,
)


@frozen_dataclass()
class SegmentedRingAllreduce(Forwarded, kind="segmented_ring_allreduce"):
    """`RingAllreduce` that goes round the ring once for each segment of a block to reduce it.

    The blocks of n / N bytes (rounded up, see `RingAllreduce`) are cut into S segments of equal
    length (rounded up), as few as have at most `segment_bytes`. First segment 1 of every block is
    reduced in N - 1 steps around the ring, then segment 2, and so on; then whole blocks are
    gathered in N - 1 steps.

    `message_bytes` is the vector, n bytes. A rank sends S (N - 1) messages of a segment and N - 1
    of a block.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With a block or more
        it is `RingAllreduce`.

    Notes
    -----
    Without noise it takes ``S (N - 1) A + (N - 1) A'``, with A the time of one message of a segment
    that is combined, and A' that of a block that is not, if no message waits for a link. It is Open
    MPI's `segmented_ring`. Segments bound the memory for what is received; they are no pipeline: a
    rank sends on what it has just combined, so that each costs a message's latency.

    References
    ----------
    Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
    2009.

    Examples
    --------
    Messages of a rank, of two segments and a block each, on four ranks:

    >>> ring = SegmentedRingAllreduce(segment_bytes="4KiB")
    >>> [(step.repeat, step.bytes) for step in ring.steps(4, 2**15) if step.partners]
    [(3, 4096), (3, 4096), (3, 8192)]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block, rest = block_bytes(message_bytes, ranks), ranks - 1
        segments = segments_of(block, self.segment_bytes)
        check_step_count(self, segments + 1, "segment_bytes must be larger")
        size = block_bytes(block, segments)
        reduce = [
            message(Shift(1), turn * rest, size, "", combine=True, repeat=rest)
            for turn in range(segments)
        ]
        reduce[-1] = reduce[-1]._replace(label="reduce-scatter")
        gather = message(Shift(1), segments * rest, block, "allgather", repeat=rest)
        return collective([*reduce, gather] if rest else []) + self.forward_steps(ranks)
