"""Double binary tree allreduce (NCCL's tree): two trees, each for half of the vector."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..steps import PairArray, Step
from .algorithm import Forwarded
from .shared_steps import (
    SegmentBytes,
    block_bytes,
    check_ranks,
    check_step_count,
    collective,
    pipelined,
    segments_of,
)

_MAX_RANKS = 2**18
"""Of more, each case would take many seconds to make."""
_Array = npt.NDArray[np.int64]


@frozen_dataclass()
class DoubleBinaryTreeAllreduce(Forwarded, kind="double_binary_tree_allreduce"):
    """Half of the vector goes up one binary tree and down again, the other half another tree.

    In the first tree odd ranks are leaves, above them are multiples of 2, above these multiples of
    4, and so on up to rank 0. The second is its mirror image (rank ``N - 1 - i`` in place of i), or
    shifted by one rank where N is odd. So a rank that has children in one tree has none in the
    other, as a rule, and all links are used.

    First all segments are reduced, then they are broadcast. The segments of an edge are sent in
    every second step, even or odd ones, beginning as soon as the sender has what it sends. Edges
    with the same sender, or the same receiver, have different steps: in a step a rank sends at most
    one message and receives at most one.

    `message_bytes` is the vector, n bytes. Each half is cut into S segments of n / (2 S) bytes
    (rounded up), as few as have at most `segment_bytes`. There are 4 (N - 1) S messages in all.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With half of the
        vector or more there is one segment.

    Notes
    -----
    Without noise it takes at most about ``4 (S + log2(N)) A``, with A the time of a message of a
    segment: a rank sends 2 n bytes, as in a ring, in far fewer steps. As in the paper, each step
    costs a message's latency, since a rank has received in one step before it sends in the next. So
    segments should be long against the latency. It takes up to 2^18 ranks, whose messages are
    listed.

    NCCL has these trees between nodes (`Tree`). There channels of their own hide the latency, and
    the first segments are broadcast while the last ones are reduced.

    References
    ----------
    Sanders, Speck & Träff, "Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan",
    Parallel Computing 2009.

    Examples
    --------
    Sender and receiver of the messages on four ranks, up and down:

    >>> levels = DoubleBinaryTreeAllreduce().message_levels(4)
    >>> [step.tolist() for step in levels[:4]]
    [[[1, 2], [0, 1]], [[3, 2], [2, 1]], [[2, 0]], [[1, 3]]]
    >>> [step.tolist() for step in levels[4:]]
    [[[0, 2]], [[2, 3], [3, 1]], [[2, 1], [1, 0]], [[1, 2]]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks, _MAX_RANKS)
        half = block_bytes(message_bytes, 2)
        segments = segments_of(half, self.segment_bytes)
        check_step_count(self, 4 * segments, "segment_bytes must be larger")
        if ranks == 1:
            return collective([]) + self.forward_steps(ranks)
        size = block_bytes(half, segments)
        trees = _parents(ranks)
        edges = np.concatenate([_edges(parent) for parent in trees])
        odd = np.split(_odd_steps(edges), 2)
        up = np.concatenate([_first_up(*tree) for tree in zip(trees, odd, strict=True)])
        down = np.concatenate([_first_down(*tree) for tree in zip(trees, odd, strict=True)])
        reduce = pipelined(edges[:, ::-1], up, segments, 0, size, "reduce", combine=True)
        then = reduce[-1].round + 1
        broadcast = pipelined(edges, down, segments, then, size, "broadcast")
        return collective(reduce + broadcast) + self.forward_steps(ranks)


def _parents(ranks: int) -> tuple[_Array, _Array]:
    """The parent of each rank in both trees, -1 of the root."""
    rank = np.arange(ranks)
    lowest = rank & -rank  # the bit that says how far above the leaves a rank is
    above = rank ^ lowest
    parent = np.where(above | lowest << 1 < ranks, above | lowest << 1, above)
    parent[0] = -1
    if ranks % 2:
        moved = np.roll(parent, 1)
        return parent, np.where(moved < 0, -1, (moved + 1) % ranks)
    mirrored = parent[::-1]
    return parent, np.where(mirrored < 0, -1, ranks - 1 - mirrored)


def _edges(parent: _Array) -> PairArray:
    """The parent and child of each edge of a tree, in the order of the children."""
    children = np.flatnonzero(parent >= 0)
    return np.stack([parent[children], children], axis=1)


def _odd_steps(edges: PairArray) -> _Array:
    """Return whether the messages of each edge are in odd steps: 0 or 1.

    Edges that share their sender or their receiver differ. A rank has at most two of each. So these
    edges are in chains, or in circles of an even number, along which odd and even alternate; the
    first edge of each has even steps.
    """
    shared = np.stack([_edges_with_same(edges[:, end]) for end in (0, 1)], axis=1).tolist()
    odd = [-1] * len(edges)
    for begin in range(len(edges)):
        if odd[begin] < 0:
            odd[begin] = 0
            reached = [begin]
            while reached:
                edge = reached.pop()
                for other in shared[edge]:
                    if other >= 0 and odd[other] < 0:
                        odd[other] = 1 - odd[edge]
                        reached.append(other)
    return np.array(odd)


def _edges_with_same(ends: _Array) -> _Array:
    """Return for each edge the other one with the same end, -1 where there is none.

    `ends` has the rank at one end of each edge, the sender or the receiver; no rank stands there
    more than twice.
    """
    order = np.argsort(ends, kind="stable")
    before, after = order[:-1], order[1:]
    same = ends[before] == ends[after]
    other = np.full(len(ends), -1)
    other[before[same]] = after[same]
    other[after[same]] = before[same]
    return other


def _first_down(parent: _Array, odd: _Array) -> _Array:
    """The step in which each edge of a tree, in order, sends its first segment from the root."""
    first, parity = np.full(len(parent), -1), _of_ranks(parent, odd)
    for children in _levels(parent):
        has = first[parent[children]] + 1
        first[children] = has + (has - parity[children]) % 2
    return first[parent >= 0]


def _first_up(parent: _Array, odd: _Array) -> _Array:
    """The step in which each edge of a tree, in order, sends its first segment to the root."""
    has, parity = np.zeros(len(parent), dtype=np.int64), _of_ranks(parent, odd)
    for children in reversed(_levels(parent)):
        has[children] += (has[children] - parity[children]) % 2
        np.maximum.at(has, parent[children], has[children] + 1)
    return has[parent >= 0]


def _of_ranks(parent: _Array, of_edges: _Array) -> _Array:
    """The values of edges, each in the place of the rank that is its child."""
    found = np.zeros(len(parent), dtype=np.int64)
    found[parent >= 0] = of_edges
    return found


def _levels(parent: _Array) -> list[_Array]:
    """The ranks of each level below the root, from the top."""
    levels = [np.flatnonzero(parent < 0)]
    while len(levels[-1]):
        levels.append(np.flatnonzero(np.isin(parent, levels[-1])))
    return levels[1:-1]
