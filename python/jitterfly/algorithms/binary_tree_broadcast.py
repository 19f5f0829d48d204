"""Pipelined binary tree broadcast (bcast): segments down a binary tree."""

from __future__ import annotations

import numpy as np

from ..fields import frozen_dataclass
from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import (
    SegmentBytes,
    block_bytes,
    check_ranks,
    check_step_count,
    collective,
    pipelined,
    segments_of,
)


@frozen_dataclass()
class BinaryTreeBroadcast(Algorithm, kind="binary_tree_broadcast"):
    """Rank i sends each segment of the vector to ranks 2 i + 1 and 2 i + 2.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. A rank sends a segment to both before it receives the next:
    there are at most ``2 (log2(N) + S)`` steps.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With n or more, whole
        vectors are sent.

    Raises
    ------
    ValueError
        `segment_bytes` out of range; more than 2^22 ranks, or about 2^17 segments, when the case is
        made.

    Notes
    -----
    On a quiet machine each further segment takes as long as two sends and a receive, or as the link
    needs for two. So it is between `BinomialBroadcast`, for short vectors, and `ChainBroadcast`,
    for long ones on few ranks. Open MPI's `binary_tree` has this shape (Pjesivac-Grbovic et al.
    2007).

    References
    ----------
    Pjesivac-Grbovic et al., "Performance Analysis of MPI Collective Operations", Cluster Computing
    2007.

    Examples
    --------
    Sender and receiver of two segments on four ranks, step by step:

    >>> tree = BinaryTreeBroadcast(segment_bytes="4KiB")
    >>> [step.partners.pairs(4) for step in tree.steps(4, 8192) if step.partners]
    [[(0, 1)], [(0, 2), (1, 3)], [(0, 1)], [(0, 2), (1, 3)]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        segments = segments_of(message_bytes, self.segment_bytes)
        check_step_count(self, 2 * segments, "segment_bytes must be larger")
        if ranks == 1:
            return collective([])
        child = np.arange(1, ranks)
        parent = (child - 1) // 2
        # A rank that receives a segment in step t sends it in steps t + 1 and t + 2.
        received = np.full(ranks, -1)
        begin = 1
        while begin < ranks:  # level by level
            level = np.arange(begin, min(2 * begin + 1, ranks))
            received[level] = received[(level - 1) // 2] + 2 - level % 2
            begin = 2 * begin + 1
        edges, size = np.stack([parent, child], axis=1), block_bytes(message_bytes, segments)
        return collective(pipelined(edges, received[1:], segments, 0, size, "binary tree"))
