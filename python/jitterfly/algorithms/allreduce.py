"""Allreduce: recursive doubling, rings, Rabenseifner's, Swing, Bine, two parts, NCCL's trees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..steps import Listed, PairArray, Range, Shift, Step, Xor, power_below, rounds_of
from .algorithm import Algorithm, Forwarded
from .broadcast import BinomialBroadcast
from .reduce import BinomialReduce
from .shared_steps import (
    FOLD_IN,
    MAX_RADIX,
    AlgorithmOf,
    Count,
    SegmentBytes,
    all_sent_first,
    block_bytes,
    check_ranks,
    check_step_count,
    collective,
    fold_in,
    fold_out,
    gather_up,
    halving_steps,
    in_one_row,
    message,
    message_steps,
    numbered,
    pipelined,
    rounds_of_radix,
    segments_of,
    spread_down,
    swing_partners,
    swings,
)

_BINOMIAL = BinomialReduce(), BinomialBroadcast()


@frozen_dataclass()
class RecursiveDoublingAllreduce(Forwarded, kind="recursive_doubling_allreduce"):
    """Rank i exchanges the whole vector with rank ``i xor 2^r`` in round r, and combines it.

    It is the schedule of `Butterfly`, with messages that occupy the links. Ranks beyond the largest
    power of two P = 2^K send their vector to ``i - P`` first, and get the result at the end (a far
    fold; MPICH folds neighbours: the same messages, other partners).

    `message_bytes` is the vector, n bytes. A rank sends K messages of n bytes; the fold adds two.

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)`` with ``A = 2 o + L + (n - 1) G +
    gamma n`` on a LogGP network and P ranks; see `jitterfly.theory.collective_completion` for the
    fold. It suits short messages (Thakur et al. 2005).

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveDoublingAllreduce().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=True)
        for r in range(power.bit_length() - 1):
            messages.append(message(Xor(1 << r, power), r, n, f"round {r + 1}", combine=True))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)


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

    radix: Count = Count(4, least=2, most=MAX_RADIX)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        k, n, power, rounds = self.radix, message_bytes, 1, 0
        while power * k <= ranks:
            power, rounds = power * k, rounds + 1
        # Draws of the fold come after those of the rounds; with k = 2 they are those of all others.
        steps, after = _folds(self, ranks, power, n, max(FOLD_IN, rounds * (k - 1)))
        for r in range(rounds):
            window = []
            for other in range(1, k):
                label = f"round {r + 1}" if other + 1 == k else ""
                listed = Listed(_in_groups(power, k**r, k, other))
                draw = r * (k - 1) + other - 1
                window.append(message(listed, draw, n, label, combine=True))
            steps += all_sent_first(window)
        return collective(steps + after) + self.forward_steps(ranks)


def _folds(
    algorithm: Algorithm, ranks: int, power: int, n: int, draw: int
) -> tuple[list[Step], list[Step]]:
    """The fold: ranks beyond a power of the radix send to i modulo it, and later get the result.

    `draw` is the number of the first draws.
    """
    beyond = [(first, min(first + power, ranks)) for first in range(power, ranks, power)]
    check_step_count(algorithm, 2 * len(beyond), "radix must be lower")
    before, after = [], []
    for turn, (first, end) in enumerate(beyond):
        name = f" {turn + 1}" if len(beyond) > 1 else ""
        there, back = Range(first, end, -first), Range(0, end - first, first)
        before.append(message(there, draw + 2 * turn, n, f"fold in{name}", combine=True))
        after.append(message(back, draw + 2 * turn + 1, n, f"fold out{name}"))
    return before, after


def _of_digit_sum(ranks: int, stride: int, radix: int, total: int) -> PairArray:
    """Exchanges of ranks that differ in the digit of that stride, whose digits have that sum."""
    rank = np.arange(ranks)
    digit = rank // stride % radix
    other = total - digit
    meets = (other >= 0) & (other < radix) & (other != digit)
    return np.stack([rank, rank + (other - digit) * stride], axis=1)[meets]


def _in_groups(ranks: int, stride: int, radix: int, distance: int) -> PairArray:
    """Send to the rank whose digit at `stride` is `distance` larger, modulo the radix."""
    rank = np.arange(ranks)
    digit = rank // stride % radix
    to = rank + ((digit + distance) % radix - digit) * stride
    return np.stack([rank, to], axis=1)


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
    rank sends on what it has just combined, so that each costs a message's latency. The ring is
    that of Patarasuk & Yuan 2009.

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


@frozen_dataclass()
class RabenseifnerAllreduce(Forwarded, kind="rabenseifner_allreduce"):
    """Halve the vector each round while it is reduced, and put it together on the way back.

    Round r of the first half exchanges half of what is left with ``i xor 2^r`` (distance doubling,
    vector halving, as MPICH); the second half goes the same way back. Ranks beyond the largest
    power of two P = 2^K send their vector to ``i - P`` first, and get the result at the end (a far
    fold; MPICH folds neighbours).

    With `radix` k, P is a power of k, and in each round those k ranks exchange parts that differ in
    one digit of their number to the base k: in the first half with one after the other, by their
    numbers, each with its part of a k-th of what is left; on the way back a rank sends what it has
    to k - 1 others, without waiting, and then receives from as many. Ranks beyond send to i modulo
    P.

    `message_bytes` is the vector, n bytes, cut into P blocks of n / P (rounded up). A rank sends 2
    K messages, of P/2, P/4, ... 1 blocks and back; the fold adds two of n bytes. Unless n is 0, a
    block has at least one byte: with fewer bytes than blocks a rank sends more than an
    implementation would.

    Parameters
    ----------
    radix : int
        k, from 2 to 256. With another than 2 messages are listed, which takes memory: up to 2^22
        ranks, else a ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``2 K alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma`` on Hockney's
    network and P ranks. It suits long vectors on many ranks (Rabenseifner 2004; Thakur et al.
    2005). With a radix it is MPICH's `k_reduce_scatter_allgather`.

    References
    ----------
    Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RabenseifnerAllreduce().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    added = ("radix",)

    radix: Count = Count(2, least=2, most=MAX_RADIX)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        if self.radix != 2:
            return collective(self._of_digits(ranks, message_bytes)) + self.forward_steps(ranks)
        n, power = message_bytes, power_below(ranks)
        block, rounds = block_bytes(n, power), power.bit_length() - 1
        messages = fold_in(ranks, n, combine=True) + halving_steps(power, block)
        for r in range(rounds):
            mask, label = power >> r + 1, f"allgather {r + 1}"
            messages.append(message(Xor(mask, power), rounds + r, (1 << r) * block, label))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)

    def _of_digits(self, ranks: int, n: int) -> list[Step]:
        """Return the steps with a radix: a group of that many ranks exchanges in each round."""
        check_ranks(self, ranks)
        k = self.radix
        strides = [stride for stride in rounds_of_radix(ranks + 1, k) if stride * k <= ranks]
        power, rounds, pairs = k ** len(strides), len(strides), 2 * k - 3
        block, back = block_bytes(n, power), rounds * pairs
        before, after = _folds(self, ranks, power, n, max(FOLD_IN, back + rounds * (k - 1)))
        messages: list[Step] = []
        for r, stride in enumerate(strides):
            part = [
                message(Listed(_of_digit_sum(power, stride, k, turn + 1)), r * pairs + turn,
                        power // (stride * k) * block, "", combine=True)
                for turn in range(pairs)
            ]  # fmt: skip
            messages += in_one_row(part, f"reduce-scatter {r + 1}")
        for r, stride in enumerate(reversed(strides)):
            part = [
                message(Listed(_in_groups(power, stride, k, other)), back + r * (k - 1) + other - 1,
                        k**r * block, "")
                for other in range(1, k)
            ]  # fmt: skip
            messages += in_one_row(all_sent_first(part), f"allgather {r + 1}")
        return before + messages + after


@frozen_dataclass()
class SwingAllreduce(Forwarded, kind="swing_allreduce"):
    """The algorithm of Rabenseifner with partners nearby, from one side to the other.

    In round s even ranks exchange with rank ``i + d``, odd ones with ``i - d`` (modulo P), where d
    is 1, -1, 3, -5, 11, ...: ``(1 - (-2)^(s + 1)) / 3``. Messages are those of
    `RabenseifnerAllreduce`, half of what is left in each round and back, over distances of about
    2/3 of its own. Ranks beyond the largest power of two P = 2^K send their vector to ``i - P``
    first, and get the result at the end.

    `message_bytes` is the vector, n bytes, cut into P blocks of n / P (rounded up). Messages are
    listed, which takes memory: up to 2^22 ranks, else a ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``2 K alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma`` on
    Hockney's network and P ranks, as Rabenseifner's. It crosses fewer links of a ring or a torus.
    On a `Hierarchy` it depends: of 256 ranks in nodes of 10, 0.83 times as many bytes go between
    nodes; in nodes of 16, which are those of Rabenseifner's first rounds, twice as many.

    References
    ----------
    De Sensi, Bonato, Saam & Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce",
    NSDI 2024.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> [level.tolist() for level in SwingAllreduce().message_levels(4)[:2]]
    [[[0, 1], [1, 0], [2, 3], [3, 2]], [[0, 3], [1, 2], [2, 1], [3, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n, power = message_bytes, power_below(ranks)
        block, rounds = block_bytes(n, power), power.bit_length() - 1
        partners_of = [swings(partners) for partners in swing_partners(power)]
        messages = fold_in(ranks, n, combine=True)
        for s, partners in enumerate(partners_of):
            size, label = (power >> s + 1) * block, f"reduce-scatter {s + 1}"
            messages.append(message(partners, s, size, label, combine=True))
        for s, partners in enumerate(reversed(partners_of)):
            messages.append(message(partners, rounds + s, block << s, f"allgather {s + 1}"))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)


@frozen_dataclass()
class BineAllreduce(Forwarded, kind="bine_allreduce"):
    """Exchange whole vectors with partners nearby, from one side to the other.

    It is `RecursiveDoublingAllreduce` with the partners of `SwingAllreduce`: in round s even ranks
    exchange with rank ``i + d``, odd ones with ``i - d`` (modulo P), where d is 1, -1, 3, -5, 11,
    ... Ranks beyond the largest power of two P = 2^K send their vector to ``i - P`` first, and get
    the result at the end.

    `message_bytes` is the vector, n bytes. A rank sends K messages of n bytes; the fold adds two.
    Messages are listed, which takes memory: up to 2^22 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    Without noise it takes as long as `RecursiveDoublingAllreduce` where ranks are
    alike. It is what the paper has for short vectors; for long ones its butterflies send the
    messages of `SwingAllreduce`. Between nodes of 10 of 256 ranks go 0.93 times as many messages,
    between nodes of 16 1.06 times as many.

    References
    ----------
    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Sender and receiver of the messages on four ranks:

    >>> [level.tolist() for level in BineAllreduce().message_levels(4)]
    [[[0, 1], [1, 0], [2, 3], [3, 2]], [[0, 3], [1, 2], [2, 1], [3, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n = message_bytes
        messages = fold_in(ranks, n, combine=True)
        for s, partners in enumerate(swing_partners(power_below(ranks))):
            messages.append(message(swings(partners), s, n, f"round {s + 1}", combine=True))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)


@frozen_dataclass()
class ReduceBroadcastAllreduce(Forwarded, kind="reduce_broadcast_allreduce"):
    """Reduce to rank 0, then broadcast from there: by binomial trees, unless others are named.

    `message_bytes` is the vector, n bytes. With binomial trees every message has n bytes; there are
    2 K steps, K = log2(N) rounded up, and 2 (N - 1) messages in all.

    Parameters
    ----------
    reduce, broadcast : Algorithm, dict or str
        What is done one after the other. A text is its kind, such as "chain_reduce".

    Notes
    -----
    Without noise it takes as long as both together: with binomial trees about twice the time of
    recursive doubling, with far fewer messages in all. MPI libraries did this first, and still do
    for operations on several machines (Thakur et al. 2005). It is Open MPI's `nonoverlapping`,
    which chooses both parts anew.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> ReduceBroadcastAllreduce().message_levels(4)[0].tolist()
    [[1, 0], [3, 2]]
    """

    added = ("reduce", "broadcast")

    reduce: AlgorithmOf = AlgorithmOf("reduce", _BINOMIAL[0])
    broadcast: AlgorithmOf = AlgorithmOf("broadcast", _BINOMIAL[1])

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n = message_bytes
        if (self.reduce, self.broadcast) == _BINOMIAL:
            down = spread_down(ranks, n, first=rounds_of(ranks))
            steps = gather_up(ranks, n, combine=True) + down
            return collective(steps) + self.forward_steps(ranks)
        # Two parts may have the same labels: each is a row.
        parts = [
            in_one_row(message_steps(self.reduce, "reduce", ranks, n), "reduce"),
            in_one_row(message_steps(self.broadcast, "broadcast", ranks, n), "broadcast"),
        ]
        return collective(numbered(parts)) + self.forward_steps(ranks)


_MAX_TREE_RANKS = 2**18
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

    NCCL has these trees between nodes, and broadcasts the first segments while it reduces the last
    ones: `NcclTreeAllreduce`.

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
        check_ranks(self, ranks, _MAX_TREE_RANKS)
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


_Link = tuple[PairArray, _Array]
"""Messages of a tree that are sent at the same places of a program: sender and receiver of each,
and how many rounds after the first one it has its first chunk."""


@frozen_dataclass()
class NcclTreeAllreduce(Forwarded, kind="nccl_tree_allreduce"):
    """Reduce up NCCL's trees and broadcast down them at the same time, chunk after chunk.

    Each channel has a part of the vector and a tree of its own. Between nodes it is one of the two
    trees of `DoubleBinaryTreeAllreduce`: the first half of the channels has the first tree, the
    others have the second. Within a node a chain of all its ranks leads to its head, which has the
    node above. The head has the second node below as well, and the rank next to it in the chain the
    first one (NCCL's balanced tree). Channel c of either half has the chain that begins at rank c
    of each node (modulo its ranks), so that channels use different cards.

    In round t a rank sends chunk ``t - h`` up, if its farthest leaf is h links below, and passes
    chunk ``t - H - d`` down, if it is d links below the root, which has the first chunk after H
    rounds. First it sends all that it has to send in a round, of all channels, up before down; then
    it receives as much.

    `message_bytes` is the vector, n bytes, cut into parts of ``n / channels``, and these into S
    chunks (all rounded up), as few as have at most `chunk_bytes`. There are 2 (N - 1) S messages of
    a channel, in ``S + H + d - 1`` rounds.

    Parameters
    ----------
    chunk_bytes : int or str
        The most bytes of a chunk, from 1; text such as ``"8KiB"`` is read. NCCL has 512 KiB in its
        protocol Simple.
    channels : int
        From 1 to 64. With 1 there is the first tree only.
    node_ranks : int
        Ranks of a node, which are consecutive; the last node may have fewer. On a `Hierarchy` with
        block placement give those of its first level.

    Notes
    -----
    Without noise, one channel of one chunk takes ``2 log2(N)`` messages in a row, and ``2 log2(N) -
    2`` times what one of two messages waits for the other, on N = 2^K nodes of one rank. Many
    chunks take about S times the longest round of a rank, with one latency in each. It takes up to
    2^18 ranks, whose messages are listed.

    This is `Tree` in NCCL, as its kernel `runTreeSplit` has it. There each channel and each
    direction has threads of its own, and waits for its own messages only; here a rank does one
    thing at a time. That a sender waits for a free buffer of its receiver is left out.

    References
    ----------
    NCCL 2.30.7, src/graph/trees.cc, src/graph/connect.cc, and its kernels of an allreduce. Sanders,
    Speck & Träff, "Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan", Parallel
    Computing 2009.

    Examples
    --------
    Sender and receiver of the messages of one channel on four ranks, up and down:

    >>> [step.tolist() for step in NcclTreeAllreduce(channels=1).message_levels(4)]
    [[[1, 2]], [[3, 2]], [[2, 0]], [[0, 2]], [[2, 1]], [[2, 3]]]
    """

    chunk_bytes: SegmentBytes = SegmentBytes(2**19)
    channels: Count = Count(2, 1, 64)
    node_ranks: Count = Count(1, 1, _MAX_TREE_RANKS)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks, _MAX_TREE_RANKS)
        if ranks == 1:
            return collective([]) + self.forward_steps(ranks)
        part = block_bytes(message_bytes, self.channels)
        chunks = segments_of(part, self.chunk_bytes)
        check_step_count(self, 4 * chunks * self.channels, "chunk_bytes must be larger")
        ways = [_nccl_links(ranks, self.node_ranks, *one) for one in _nccl_trees(self.channels)]
        up = [(links, True) for tree, _ in ways for links in tree]
        links = [*up, *((links, False) for _, tree in ways for links in tree)]
        rounds = max(int(first.max()) for (_, first), _ in links) + chunks
        check_step_count(self, 2 * rounds * len(links), "chunk_bytes must be larger")
        size, lists = block_bytes(part, chunks), dict[tuple[int, bytes], Listed]()
        steps: list[Step] = []
        for t in range(rounds):
            sent = []
            for number, ((pairs, first), combine) in enumerate(links):
                sends = (first <= t) & (t < first + chunks)
                if sends.any():
                    key = number, sends.tobytes()
                    partners = lists.setdefault(key, Listed(pairs[sends]))
                    draw = t * len(links) + number
                    sent.append(message(partners, draw, size, "", combine=combine))
            steps += all_sent_first(sent)
        return collective(in_one_row(steps, "tree")) + self.forward_steps(ranks)


def _nccl_trees(channels: int) -> list[tuple[int, int]]:
    """The tree of each channel, 0 or 1, and the place in its node where its chain begins."""
    half = -(-channels // 2)
    return [divmod(channel, half) for channel in range(channels)]


def _nccl_links(ranks: int, width: int, tree: int, begin: int) -> tuple[list[_Link], list[_Link]]:
    """The messages of a channel up its tree, and down: along chains, to first and second nodes."""
    rank = np.arange(ranks)
    node = rank // width
    begins = node * width
    size = np.minimum(width, ranks - begins)
    place = (rank - begins - begin) % size  # in the chain of the node
    above = _parents(int(node[-1]) + 1)[tree]
    head = np.flatnonzero(place == 0)
    # A node is the first below another one if it comes before it in the first tree.
    drawn = np.arange(len(head))
    if tree:
        drawn = (drawn - 1) % len(head) if len(head) % 2 else -drawn
    is_first = (above >= 0) & (drawn < drawn[above])
    next_one = (begins + (rank - begins + 1) % size)[head]
    parent = np.where(place > 0, begins + (rank - begins - 1) % size, -1)
    parent[head] = np.where(above < 0, -1, np.where(is_first, next_one[above], head[above]))
    kind = np.where(place > 0, 0, 2)
    kind[head[is_first]] = 1
    levels = _levels(parent)
    depth, height = np.zeros((2, ranks), dtype=np.int64)
    for children in levels:
        depth[children] = depth[parent[children]] + 1
    for children in reversed(levels):
        np.maximum.at(height, parent[children], height[children] + 1)
    up, down = [], []
    for one in range(3):
        child = np.flatnonzero((kind == one) & (parent >= 0))
        if len(child):
            pairs = np.stack([child, parent[child]], axis=1)
            up.append((pairs, height[child]))
            down.append((pairs[:, ::-1], height.max() + depth[child] - 1))
    return up, down


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
