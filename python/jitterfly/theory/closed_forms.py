"""Closed-form completion times of collectives without noise (Hockney, LogGP)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..algorithms import (
    Algorithm,
    BinaryTreeBroadcast,
    BinaryTreeReduce,
    BinomialBroadcast,
    BinomialReduce,
    Butterfly,
    ChainBroadcast,
    ChainReduce,
    CirculantAllgather,
    DisseminationBarrier,
    GatherBroadcastAllgather,
    InNetworkAllgather,
    InNetworkAllreduce,
    InNetworkReduceScatter,
    KnomialBroadcast,
    KnomialReduce,
    LinearAlltoall,
    NonoverlappingReduceScatter,
    RecursiveMultiplyingAllreduce,
    ReduceBroadcastAllreduce,
    ScatterAllgatherBroadcast,
    SegmentedRingAllreduce,
)
from ..algorithms.alltoall import blocks_with_digit
from ..algorithms.shared_steps import (
    block_bytes,
    circulant_rounds,
    rounds_of_radix,
    segments_of,
    tree_blocks,
)
from ..case import Case, check_case
from ..fields import check_integer, check_power_of_two, shorten
from ..network import MAX_BYTES, LogGOPS
from ..steps import MAX_WINDOW, power_below, rounds_of
from ..units import LONGEST_TICKS, exact, from_ticks, to_ticks


def round_time(case: Case) -> float:
    """The time of one round without noise, in seconds: send + transit + receive + combine.

    Examples
    --------
    >>> import jitterfly as jf
    >>> round_time(jf.Case(8, network=jf.Hockney(1e-7, 1e-9, 1e-10)))
    1.088e-07
    """
    if not check_case(case).is_even:
        raise ValueError(
            "speed, arrival, L_factor and G_factor must be left out for the time of a round"
        )
    return float(from_ticks(sum(case.costs)))


def noise_free_completion(case: Case, cycle: int = 1) -> float:
    """The end of a cycle without noise, in seconds: ``cycle * (compute_time + K * round_time)``.

    Matsumoto & Suda 2012: ``K (alpha + beta n + gamma n)`` for any T; Chen & Suda:
    ``K (o + L + (n - 1) G + o + gamma n)``.

    Raises
    ------
    ValueError
        `cycle` not from 1 to the cycles of the case; or there is no such closed form: the
        algorithm is no butterfly (`collective_completion` knows others), ranks are no power of
        two, copies take longer to send than a message takes to arrive, or
        forwards cost CPU time and delay the next cycle. `Result.noise_free` has the value.
    """
    cycle = check_integer(cycle, "cycle", 1, check_case(case).cycles)
    algorithm, costs = case.algorithm, case.costs
    _check_alike(case)
    if not isinstance(algorithm, Butterfly):
        raise ValueError(
            f"algorithm must be a Butterfly for this closed form, got {shorten(algorithm)}"
        )
    if case.ranks & (case.ranks - 1):
        raise ValueError(f"ranks must be a power of two for this closed form, got {case.ranks}")
    if algorithm.levels(case.ranks) and len(algorithm.copied_to) * costs.send > costs.transit:
        raise ValueError(
            "copy_levels must be None for this closed form: a send outlasts the transit"
        )
    asking = algorithm.asking(case.network)
    if algorithm.asked(case.ranks) and asking.patience + asking.ask > costs.transit:
        raise ValueError("on_demand must be None for this closed form: asking outlasts the transit")
    if algorithm.forward_cost and cycle > 1:
        raise ValueError("forward_cost must be 0 for this closed form from cycle 2 on")
    return float(from_ticks(cycle * (to_ticks(case.compute_time) + case.log2_ranks * sum(costs))))


def _check_alike(case: Case) -> None:
    """Raise ValueError where ranks or links differ: there is no closed form for these."""
    if case.network.has_levels:
        raise ValueError(
            "network must have one level for this closed form, got a Hierarchy; "
            "Result.noise_free has the value"
        )
    if not case.is_even:
        raise ValueError(
            "arrival, speed, L_factor and G_factor must be left out for this closed form, of ranks "
            "that are alike; Result.noise_free has the value"
        )
    if case.barrier is not None:
        raise ValueError("barrier must be left out for this closed form, of the collective alone")


def loggp_completion(network: LogGOPS, ranks: int, message_bytes: int = 1) -> float:
    """The noise-free completion of the butterfly, in seconds, with the gap g between messages.

    ``(K - 1) * max(A, g + (n - 1) G) + A`` with ``A = 2 o + L + (n - 1) G + gamma n``: a rank may
    send again only ``g + (n - 1) G`` after its last send began. The engine does not model the
    wait for the gap and refuses a g that would cause one; where g causes none, the two agree.

    Parameters
    ----------
    network : LogGOPS
        With O = 0 (there the model does not say whether the gap counts the O of a send).
    ranks : int
        2^K, from 1.
    message_bytes : int
        n, from 1.

    Raises
    ------
    ValueError
        Names the argument that is out of range.

    Examples
    --------
    >>> import jitterfly as jf
    >>> loggp_completion(jf.LogGOPS(L="1us", o="100ns", g="2us"), ranks=8)
    5.2e-06
    """
    if not isinstance(network, LogGOPS):
        raise ValueError(f"network must be a LogGOPS, got {shorten(network)}")
    if network.O:
        raise ValueError(f"O must be 0 for this closed form, got {network.O}")
    rounds = check_power_of_two(ranks, "ranks", 2**62).bit_length() - 1
    n = check_integer(message_bytes, "message_bytes", 1, MAX_BYTES)
    if rounds == 0:
        return 0.0
    stream = exact(network.G) * (n - 1)
    message_time = 2 * exact(network.o) + exact(network.L) + stream + exact(network.gamma) * n
    return float((rounds - 1) * max(message_time, exact(network.g) + stream) + message_time)


def collective_completion(case: Case) -> float:
    """The time at which the last rank has the first collective's result without noise, in seconds.

    With A(b) = CPU of send and receive, way and combining of a message of b bytes, d(b) how long it
    occupies a link (LogGP: ``g + (b - 1) G``, Hockney: ``beta b``), N ranks, P = 2^K the largest
    power of two of them, k = log2(N) rounded up, ``exchanges_after`` any:

    - Recursive doubling: ``A + (K - 1) max(A, d)``; with N > P, if ``d <= A``, the larger of
      ``(K + 1) A`` and of the last rank that answers one beyond P, plus a message without
      combining (`folded`). `Butterfly`: with d = 0.
    - Dissemination: ``A + (k - 1) max(A, d)``. Ring, pairwise: as many messages of a block as it
      has, of which the last takes A and all before max(A, d).
    - Rabenseifner (both), Bruck (both), PAT (both), segmented ring, recursive doubling allgather,
      recursive halving, neighbor exchange, butterfly reduce-scatter (P ranks): the sum of A(b) over
      the rounds, if no rank waits for a link: d(b) of a round is at most A(b), and at most its send
      and way and the receive of the round before. With N > P as recursive doubling.
    - Binomial broadcast, with D = max(send, d): ``A + (K - 1) max(A, D)`` for N = P, ``A + D + (k -
      2) max(A, D)`` else. Reduce: ``A + (K - 1) max(A, d)`` for N = P; else by the size of the last
      subtree. Reduce and broadcast in a row: their sum, if d is at most A of the one and send and
      way of the other.
    - K-nomial trees: by the sizes of the subtrees. Of radix k on k^H ranks the broadcast takes ``A
      + (H - 1) max(A, D) + H (k - 2) D``.
    - Chain of S segments: ``(N - 1) A + (S - 1) max(send + receive, d)``; for N = 2 with the larger
      of send and receive in place of their sum.
    - Binary trees of S segments: the longest path, and S - 1 times what the slowest rank or link on
      it takes for a segment, such as ``receive + 2 send`` on its way down.
    - Scatter and allgather: when the last rank of the scatter may send, and N - 1 messages of a
      block, if ``d <= A`` for a block. Gather and broadcast, reduce and scatter: their sum, if d is
      at most send and way.
    - Rounds of w messages that are all sent first, then received, with D and the CPU time r to
      receive and combine: the largest of ``send + way + w r``, ``(w - 1) D + A`` and ``(w - 1) D +
      send + w r``; so dissemination of any radix, sparbit, the linear all-to-all, and recursive
      multiplying on powers of its radix.
    - In-network reduction by `switch_time` s in h levels: ``send + 2 way + receive + 2 h s``, with
      the bytes of a vector on one way and of a chunk on the other; within nodes as often again.

    Parameters
    ----------
    case : Case
        Its noise is ignored; `compute_time` comes before the collective.

    Raises
    ------
    ValueError
        Ranks wait for links where the closed form needs that they do not, or `Butterfly` sends
        copies (``copy_levels``). `Result.noise_free` has the value.

    Examples
    --------
    >>> import jitterfly as jf
    >>> network = jf.Hockney(alpha="1us", beta="1ns")
    >>> for algorithm in jf.RabenseifnerAllreduce(), jf.RingAllreduce():
    ...     case = jf.Case(4, algorithm=algorithm, network=network, message_bytes=4000)
    ...     print(collective_completion(case))
    1e-05
    1.2e-05
    """
    form = _FORMS.get(check_case(case).algorithm.kind)
    if form is None:
        raise ValueError(f"algorithm: there is no closed form for {type(case.algorithm).__name__}")
    ticks = 0 if case.ranks == 1 else form(case)
    return float(from_ticks(to_ticks(case.compute_time) + ticks))


class Waits(ValueError):
    """The error that there is no closed form, as ranks wait for links that are taken."""

    def __init__(self) -> None:
        super().__init__(
            "there is no closed form where a message has to wait for a link that another one takes "
            "(lower the network's g, or the time per byte); Result.noise_free has the value"
        )


class Message(NamedTuple):
    """The ticks of a message: CPU to send, way, CPU to receive and combine, time on a link."""

    send: int
    way: int
    receive: int
    gap: int

    @property
    def time(self) -> int:
        """The time from the start of the send to the end of the receive."""
        return self.send + self.way + self.receive

    @property
    def spacing(self) -> int:
        """The time from the start of a send to the start of the next one of this rank."""
        return max(self.send, self.gap)

    @property
    def send_interval(self) -> int:
        """The time from a send's start to the next one's, if what is received was there early."""
        return max(self.send + self.receive, self.gap)


def message(case: Case, size: int, *, combine: bool = False, occupies: bool = True) -> Message:
    """A message of `size` bytes in the network of a case."""
    _check_alike(case)
    send, receive, way, combining = case.network.costs(size)
    gap = case.network.gap(size) if occupies else 0
    return Message(send, way, receive + (combining if combine else 0), gap)


def in_a_row(rounds: Sequence[Message]) -> int:
    """The time of messages that each wait for the one before, sent and received by every rank.

    Of equal messages (but for combining) the slower of message and gap counts; of others none may
    wait for a link.
    """
    if len({(m.send, m.way, m.gap) for m in rounds}) > 1:
        for before, this in pairwise(rounds):
            if before.gap > before.time or this.gap > before.receive + this.send + this.way:
                raise Waits
    return sum(max(m.time, m.gap) for m in rounds[:-1]) + sum(m.time for m in rounds[-1:])


def folded(
    before: Message, rounds: Sequence[tuple[Message, int]], after: Message, extra: int
) -> int:
    """The time of rounds in a power of two of ranks, with `extra` that hand over and get back.

    `rounds` are messages and the bits of the rank over which they go. The last rank inside is one
    whose path from a rank that took a message crosses every round: the sum of all. The `extra`
    ranks wait for the ones that answer them, whose numbers are below `extra`: paths between these
    can not cross the higher bits (unless twice), and stay on a rank in those rounds.
    """
    chain = [before, *(m for m, _ in rounds)]
    crossing = in_a_row([*chain, after._replace(gap=0)]) - after.time
    if any(m.gap > m.time for m in chain):
        raise Waits
    bits = [bit for _, bit in rounds]
    reach = (extra - 1).bit_length()
    inside = sum(m.time for m, _ in rounds)  # from ranks that took no message
    answering = at_most = before.time
    for last, (m, bit) in zip(chain, rounds, strict=False):
        crossed = bit < reach or bits.count(bit) > 1
        answering += m.time if crossed else m.send_interval
        # Where receiving gets longer, the link out is free before the link in has brought it.
        at_most += m.time if crossed else max(m.send_interval, m.gap - last.receive + m.receive)
    if max(at_most, inside, crossing - after.time) > max(answering, inside, crossing - after.time):
        raise Waits
    return max(crossing, max(answering, inside) + after.time)


_Levels = list[list[tuple[int, int]]]
"""Of a tree, by level from the leaves up: how many children of its root, in a row, have subtrees of
how many ranks."""


def _down_a_tree(
    ranks: int, costs: Callable[[int], Message], subtrees: Callable[[int], _Levels]
) -> int:
    """A parent sends to its children in a row, those with the largest subtrees first.

    `costs`: of the message to the root of a subtree, by its number of ranks.
    """

    @cache
    def last(size: int) -> int:
        """The time at which a subtree of `size` ranks is done, if its root has its message at 0."""
        now = latest = 0
        for below in reversed(subtrees(size)):
            # Of children with equal subtrees the last one is the last to be done.
            for count, under in below:
                this = costs(under)
                now += count * this.spacing
                latest = max(latest, now - this.spacing + this.time + last(under))
        return latest

    return last(ranks)


def _up_a_tree(
    ranks: int, costs: Callable[[int], Message], subtrees: Callable[[int], _Levels]
) -> int:
    """A parent receives from its children in a row, those with the smallest subtrees first.

    `costs`: of the message from the root of a subtree, by its number of ranks.
    """

    @cache
    def last(size: int) -> int:
        """The time at which the root of a tree of `size` ranks has everything."""
        busy, there = 0, -LONGEST_TICKS
        for below in subtrees(size):
            for count, under in below:
                # They send at once: the link and the CPU take one after the other.
                this = costs(under)
                first = max(last(under) + this.send + this.way, there + this.gap)
                there = first + (count - 1) * this.gap
                busy = max(max(busy, first) + count * this.receive, there + this.receive)
        return busy

    return last(ranks)


def _knomial(size: int, radix: int = 2) -> _Levels:
    """Return the messages of a k-nomial tree, level by level: how many, each of how many blocks."""
    levels, stride = [], 1
    while stride < size:
        whole = min(size // stride, radix) - 1
        left = size - (whole + 1) * stride if whole + 1 < radix else 0
        levels.append([pair for pair in ((whole, stride), (1, left)) if all(pair)])
        stride *= radix
    return levels


def _star(size: int) -> _Levels:
    """All ranks are children of the root."""
    return [[(size - 1, 1)]] if size > 1 else []


def _broadcast(case: Case) -> int:
    """Return the time of a k-nomial tree from the root."""
    costs = message(case, case.message_bytes)
    return _down_a_tree(case.ranks, lambda _: costs, partial(_knomial, radix=_radix(case)))


def _reduce(case: Case, combine: bool = True) -> int:
    """Return the time of a k-nomial tree to the root."""
    costs = message(case, case.message_bytes, combine=combine)
    return _up_a_tree(case.ranks, lambda _: costs, partial(_knomial, radix=_radix(case)))


def _radix(case: Case) -> int:
    """The radix of the tree: 2, unless it is k-nomial."""
    algorithm = case.algorithm
    return algorithm.radix if isinstance(algorithm, (KnomialBroadcast, KnomialReduce)) else 2


def _scatter(case: Case, subtrees: Callable[[int], _Levels]) -> int:
    """The time of a scatter: the root of a subtree gets what is for all its ranks."""
    return _down_a_tree(case.ranks, lambda n: message(case, n * case.message_bytes), subtrees)


def _gather(case: Case, subtrees: Callable[[int], _Levels]) -> int:
    """The time of a gather: the root of a subtree sends on what all its ranks put in."""
    return _up_a_tree(case.ranks, lambda n: message(case, n * case.message_bytes), subtrees)


def _chain(case: Case, combine: bool = False) -> int:
    """Return the time of a pipeline through all ranks, segment by segment."""
    assert isinstance(case.algorithm, (ChainBroadcast, ChainReduce))
    segments = segments_of(case.message_bytes, case.algorithm.segment_bytes)
    costs = message(case, block_bytes(case.message_bytes, segments), combine=combine)
    # Between two segments: a rank in the middle receives and sends.
    cpu = costs.send + costs.receive if case.ranks > 2 else max(costs.send, costs.receive)
    return (case.ranks - 1) * costs.time + (segments - 1) * max(cpu, costs.gap)


def _reduce_and_broadcast(case: Case, combine: bool) -> int:
    """A reduce, and a broadcast of the result."""
    algorithm = case.algorithm
    if isinstance(algorithm, ReduceBroadcastAllreduce) and (
        algorithm.reduce != BinomialReduce() or algorithm.broadcast != BinomialBroadcast()
    ):
        raise ValueError(
            "reduce and broadcast must be binomial for this closed form; Result.noise_free has "
            "the value"
        )
    there = message(case, case.message_bytes, combine=combine)
    back = message(case, case.message_bytes)
    if there.gap > there.time + back.send + back.way:
        raise Waits
    return _reduce(case, combine) + _broadcast(case)


def _check_parts(case: Case, usual: Algorithm) -> None:
    """Raise ValueError where an algorithm has other parts than the usual ones."""
    if case.algorithm != usual:
        raise ValueError(
            f"the parts of {type(usual).__name__} must be the usual ones for this closed form; "
            "Result.noise_free has the value"
        )


def _in_two_parts(before: int, after: Message, last: int) -> int:
    """Return the time of two parts, of which the other one's messages find free links."""
    if after.gap > after.send + after.way:
        raise Waits
    return before + last


def _gather_broadcast(case: Case) -> int:
    """Return the time of a gather to rank 0, and of a broadcast of all blocks from there."""
    _check_parts(case, GatherBroadcastAllgather())
    whole = message(case, case.ranks * case.message_bytes)
    down = _down_a_tree(case.ranks, lambda _: whole, _knomial)
    return _in_two_parts(_gather(case, _knomial), whole, down)


def _reduce_and_scatter(case: Case) -> int:
    """Return the time of a reduce to rank 0, and of a scatter of its blocks from there."""
    _check_parts(case, NonoverlappingReduceScatter())
    block = message(case, block_bytes(case.message_bytes, case.ranks))
    down = _down_a_tree(case.ranks, lambda _: block, _star)
    return _in_two_parts(_reduce(case), block, down)


def _binary_tree(case: Case) -> int:
    """Return the time of segments down a binary tree, or up: longest path, then slowest stage.

    A rank, and its link in, take segments one by one, all alike. Where such stages follow each
    other, the last of S segments leaves S - 1 times the slowest one's time after the first.
    """
    algorithm = case.algorithm
    assert isinstance(algorithm, (BinaryTreeBroadcast, BinaryTreeReduce))
    up = isinstance(algorithm, BinaryTreeReduce)
    segments = segments_of(case.message_bytes, algorithm.segment_bytes)
    costs = message(case, block_bytes(case.message_bytes, segments), combine=up)
    send, receive, gap = costs.send, costs.receive, costs.gap
    levels = list(algorithm.levels(case.ranks))
    children = np.bincount(np.concatenate([above for _, above, _ in levels]), minlength=case.ranks)
    if up:
        slowest = np.maximum(children * gap, children * receive + send)
        slowest = np.maximum(slowest, gap)
        path_of_turn = [0, receive, max(2 * receive, gap + receive)]  # 2: before another child
        path_of_turn = [each + send + costs.way for each in path_of_turn]
    else:
        slowest = np.where(children, (children - 1) * costs.spacing + costs.send_interval, receive)
        path_of_turn = [0, costs.time, costs.spacing + costs.time]
    root = levels[0][1][0]
    slowest[root] = children[root] * (max(receive, gap) if up else costs.spacing)
    path, latest = np.zeros(case.ranks, np.int64), 0
    for child, above, turn in levels:
        path[child] = path[above] + np.array(path_of_turn)[turn]
        slowest[child] = np.maximum(slowest[child], slowest[above])
        latest = max(latest, int((path[child] + (segments - 1) * slowest[child]).max()))
    if isinstance(algorithm, BinaryTreeReduce) and algorithm.in_order:
        latest += message(case, case.message_bytes).time  # to rank 0, which is a leaf
    return latest


def _linear_barrier(case: Case) -> int:
    """Return the time of messages from all ranks to one and back."""
    costs = message(case, case.message_bytes)
    up, down = (tree(case.ranks, lambda _: costs, _star) for tree in (_up_a_tree, _down_a_tree))
    return up + down


def _double_ring(case: Case) -> int:
    """Return the time of a message around the ring of all ranks, twice."""
    costs = message(case, case.message_bytes)
    if costs.gap > case.ranks * costs.time:
        raise Waits
    return 2 * case.ranks * costs.time


def _scatter_allgather(case: Case) -> int:
    """The time of a broadcast of a long vector."""
    block = block_bytes(case.message_bytes, case.ranks)

    def scatter(size: int) -> int:
        """The time at which the last rank of a subtree may send again."""
        now = latest = 0
        for r in reversed(range(rounds_of(size))):
            below = min(1 << r, size - (1 << r))
            part = message(case, below * block)
            latest = max(latest, now + part.time + scatter(below))
            now += part.spacing
        return max(now, latest)

    assert isinstance(case.algorithm, ScatterAllgatherBroadcast)
    if case.algorithm.allgather == "recursive_doubling":
        _check_power_of_two(case)
        rounds = [message(case, block << r) for r in range(case.log2_ranks)]
        if rounds[0].gap > rounds[0].time:
            raise Waits
        return scatter(case.ranks) + in_a_row(rounds)
    costs = message(case, block)
    if costs.gap > costs.time:
        raise Waits
    return scatter(case.ranks) + (case.ranks - 1) * costs.time


def _check_power_of_two(case: Case) -> None:
    """Raise ValueError for other numbers of ranks."""
    if power_below(case.ranks) != case.ranks:
        raise ValueError(
            f"ranks must be a power of two for this closed form, got {case.ranks}; "
            "Result.noise_free has the value"
        )


def _doubling(case: Case, combine: bool = True, occupies: bool = True) -> int:
    """Return the time of recursive doubling, with the fold before and after."""
    costs = message(case, case.message_bytes, combine=combine, occupies=occupies)
    back = message(case, case.message_bytes, occupies=occupies)
    return _rounds(case, costs, [(costs, r) for r in range(case.log2_ranks)], back)


def _rounds(case: Case, before: Message, rounds: list[tuple[Message, int]], after: Message) -> int:
    """Return the time of rounds among a power of two of ranks, with the fold of others."""
    extra = case.ranks - power_below(case.ranks)
    return folded(before, rounds, after, extra) if extra else in_a_row([m for m, _ in rounds])


def _butterfly(case: Case) -> int:
    """Return the time of a butterfly without copies."""
    for name in ("copy_levels", "on_demand"):
        if getattr(case.algorithm, name, None):
            raise ValueError(f"{name} must be None for this closed form")
    return _doubling(case, occupies=False)


def _halving_and_doubling(case: Case) -> tuple[list[Message], list[Message]]:
    """The messages over distances 1, 2, 4, ... among P ranks, and those of the way back."""
    power = power_below(case.ranks)
    block = block_bytes(case.message_bytes, power)
    sizes = [(power >> r + 1) * block for r in range(case.log2_ranks)]
    halving = [message(case, size, combine=True) for size in sizes]
    return halving, [message(case, size) for size in reversed(sizes)]


def _rabenseifner(case: Case) -> int:
    """Return the time of recursive halving, then doubling, with the fold before and after."""
    _check_radix(case)
    n = case.message_bytes
    halving, doubling = _halving_and_doubling(case)
    rounds = [*enumerate(halving), *zip(reversed(range(len(doubling))), doubling, strict=True)]
    there_and_back = [(costs, r) for r, costs in rounds]
    return _rounds(case, message(case, n, combine=True), there_and_back, message(case, n))


def _swing(case: Case) -> int:
    """Return the time of swing: Rabenseifner's sizes of messages, between other pairs of ranks."""
    _check_power_of_two(case)
    halving, doubling = _halving_and_doubling(case)
    return in_a_row(halving + doubling)


def _rabenseifner_reduce(case: Case) -> int:
    """Return the time of recursive halving with the fold before it, and of gathering to rank 0.

    A path from the last rank that begins crosses every round, also of the gather: the sum of all.
    """
    halving, doubling = _halving_and_doubling(case)
    fold = [message(case, case.message_bytes, combine=True)]
    rounds = (fold if power_below(case.ranks) < case.ranks else []) + halving + doubling
    if any(m.gap > m.time for m in rounds):
        raise Waits
    return in_a_row(rounds)


def _butterfly_reduce_scatter(case: Case) -> int:
    """Return the time of recursive halving, and of the exchange of blocks on four ranks or more."""
    _check_power_of_two(case)
    halving, _ = _halving_and_doubling(case)
    last = [message(case, block_bytes(case.message_bytes, case.ranks))]
    return in_a_row(halving + (last if case.ranks > 2 else []))


def _neighbor_exchange(case: Case) -> int:
    """Return the time of a block to one neighbour, then of pairs of blocks to both in turn."""
    n = case.message_bytes
    if case.ranks % 2:
        return _ring(case, n)
    return in_a_row([message(case, n), *[message(case, 2 * n)] * (case.ranks // 2 - 1)])


def _pat(case: Case, block: int, *, combine: bool = False) -> int:
    """Return the time of shifted binomial trees, with `block` bytes a block."""
    return in_a_row([
        message(case, tree_blocks(case.ranks, 1 << r) * block, combine=combine)
        for r in range(rounds_of(case.ranks))[:: 1 if combine else -1]
    ])  # fmt: skip


def _circulant_allgather(case: Case) -> int:
    """Return the time of rounds over a circulant graph, of all segments that go there."""
    assert isinstance(case.algorithm, CirculantAllgather)
    segments = segments_of(case.message_bytes, case.algorithm.segment_bytes)
    size = block_bytes(case.message_bytes, segments)
    return in_a_row([
        message(case, int(one.receives.sum()) * size)
        for one in circulant_rounds(case.ranks, segments)
    ])  # fmt: skip


def _allgather(case: Case) -> int:
    """Return the time of recursive doubling with blocks, with the fold before and after."""
    n = case.message_bytes
    rounds = [(message(case, blocks * n), r) for r, blocks in enumerate(_blocks_held(case))]
    return _rounds(case, message(case, n), rounds, message(case, (case.ranks - 1) * n))


def _reduce_scatter(case: Case) -> int:
    """Return the time of recursive halving with the fold before it and after it."""
    n, block = case.message_bytes, block_bytes(case.message_bytes, case.ranks)
    rounds = [
        (message(case, blocks * block, combine=True), r)
        for r, blocks in enumerate(_blocks_held(case))
    ]
    return _rounds(case, message(case, n, combine=True), rounds[::-1], message(case, block))


def _blocks_held(case: Case) -> list[int]:
    """The blocks that a rank has before each round of doubling, with those of folded ranks."""
    extra = case.ranks - power_below(case.ranks)
    return [(1 << r) + min(1 << r, extra) for r in range(case.log2_ranks)]


def _bruck(case: Case, blocks: Callable[[int, int], int]) -> int:
    """The time of rounds in which `blocks` are sent: how many, of the ranks and the round."""
    _check_radix(case)
    sizes = [case.message_bytes * blocks(case.ranks, r) for r in range(rounds_of(case.ranks))]
    return in_a_row([message(case, size) for size in sizes])


def _check_radix(case: Case) -> None:
    """Raise ValueError where a rank has several messages under way."""
    radix = getattr(case.algorithm, "radix", 2)
    if radix != 2:
        raise ValueError(
            f"radix must be 2 for this closed form, got {radix}; Result.noise_free has the value"
        )


def _at_once(costs: Message, counts: Sequence[int]) -> int:
    """Return the time of rounds in which every rank sends so many messages, then receives as many.

    All are alike. The next round waits for its receives, and for the link of its last send.
    """
    ends = [
        max(
            costs.send + costs.way + count * costs.receive,
            (count - 1) * costs.spacing + costs.time,
            (count - 1) * costs.spacing + costs.send + count * costs.receive,
        )
        for count in counts
    ]
    links = [(count - 1) * costs.spacing + costs.gap for count in counts]
    return sum(map(max, ends[:-1], links[:-1])) + ends[-1]


def _dissemination(case: Case) -> int:
    """Return the time of messages over the multiples of 1, k, k^2, ... for the radix k."""
    assert isinstance(case.algorithm, DisseminationBarrier)
    ranks, radix = case.ranks, case.algorithm.radix
    counts = [(min(s * radix, ranks) - 1) // s for s in rounds_of_radix(ranks, radix)]
    return _at_once(message(case, case.message_bytes), counts)


def _linear_alltoall(case: Case) -> int:
    """Return the time of windows of blocks to all others."""
    assert isinstance(case.algorithm, LinearAlltoall)
    whole, left = divmod(case.ranks - 1, case.algorithm.window)
    counts = [case.algorithm.window] * whole + [left] * (left > 0)
    return _at_once(message(case, case.message_bytes), counts)


def _sparbit(case: Case) -> int:
    """Return the time of rounds of blocks, of 1024 at most before some are received."""
    counts: list[int] = []
    for r in reversed(range(rounds_of(case.ranks))):
        whole, left = divmod(tree_blocks(case.ranks, 1 << r), MAX_WINDOW)
        counts += [MAX_WINDOW] * whole + [left] * (left > 0)
    return _at_once(message(case, case.message_bytes), counts)


def _recursive_multiplying(case: Case) -> int:
    """Return the time of rounds in groups of as many ranks as the radix, on powers of it."""
    assert isinstance(case.algorithm, RecursiveMultiplyingAllreduce)
    radix = case.algorithm.radix
    rounds = len(rounds_of_radix(case.ranks, radix))
    if radix**rounds != case.ranks:
        raise ValueError(
            f"ranks must be a power of the radix {radix} for this closed form, got {case.ranks}; "
            "Result.noise_free has the value"
        )
    return _at_once(message(case, case.message_bytes, combine=True), [radix - 1] * rounds)


def _through_switches(case: Case, switch_time: float, up: int, down: int, levels: int) -> int:
    """Return the time of `up` bytes to so many levels of switches, and of `down` bytes back."""
    post, result = message(case, up), message(case, down)
    ticks = levels * to_ticks(switch_time)
    return post.send + post.way + result.way + result.receive + 2 * ticks


def _in_network_half(case: Case) -> int:
    """Return the time to the switch of a node and back, with all vectors up or all blocks down."""
    algorithm, ranks, n = case.algorithm, case.ranks, case.message_bytes
    assert isinstance(algorithm, (InNetworkReduceScatter, InNetworkAllgather))
    up, down = n, min(block_bytes(n, ranks), algorithm.chunk_bytes)
    if isinstance(algorithm, InNetworkAllgather):
        up, down = min(n, algorithm.chunk_bytes), ranks * n
    return _through_switches(case, algorithm.switch_time, up, down, 1)


def _in_network(case: Case) -> int:
    """Return the time to switches and back, between nodes and, before and after that, in them."""
    algorithm = case.algorithm
    assert isinstance(algorithm, InNetworkAllreduce)
    through = partial(_through_switches, case, algorithm.switch_time)
    width = min(algorithm.node_ranks, case.ranks)
    part = block_bytes(case.message_bytes, width)
    chunk = min(part, algorithm.chunk_bytes)
    nodes, levels, total = case.ranks // width, 1, 0
    if width > 1:
        if algorithm.intra_node != "nvls":
            raise ValueError("intra_node must be nvls for this closed form")
        total = through(case.message_bytes, chunk, 1) + through(chunk, case.message_bytes, 1)
    if nodes > 1:
        if algorithm.inter_node != "sharp":
            raise ValueError("inter_node must be sharp for this closed form")
        while algorithm.radix**levels < nodes:
            levels += 1
        total += through(part, chunk, levels)
    return total


def _ring(case: Case, size: int, combine: bool = False) -> int:
    """Return the time in which a block reaches all other ranks of a ring, one after the other."""
    costs = message(case, size, combine=combine)
    return (case.ranks - 2) * max(costs.time, costs.gap) + costs.time


def _ring_reduce_scatter(case: Case) -> int:
    return _ring(case, block_bytes(case.message_bytes, case.ranks), combine=True)


def _ring_allreduce(case: Case) -> int:
    """Return the time of a ring: reduce-scatter, then allgather."""
    block = block_bytes(case.message_bytes, case.ranks)
    costs = message(case, block, combine=True)
    return (case.ranks - 1) * max(costs.time, costs.gap) + _ring(case, block)


def _scan(case: Case) -> int:
    """Return the time of rounds of the vector, to and from ranks that may lack a partner."""
    return in_a_row([message(case, case.message_bytes, combine=True)] * rounds_of(case.ranks))


def _segmented_ring(case: Case) -> int:
    """Return the time of a ring whose blocks are combined in segments, then passed on whole."""
    assert isinstance(case.algorithm, SegmentedRingAllreduce)
    block, rest = block_bytes(case.message_bytes, case.ranks), case.ranks - 1
    segments = segments_of(block, case.algorithm.segment_bytes)
    part = message(case, block_bytes(block, segments), combine=True)
    whole = message(case, block)
    in_a_row([part, part, whole, whole])  # which says where there is no closed form
    return segments * rest * max(part.time, part.gap) + _ring(case, block)


def _of_others(form: Callable[[Case], int]) -> Callable[[Case], int]:
    """A form of another algorithm, which takes as long on powers of two of ranks."""

    def bine(case: Case) -> int:
        _check_power_of_two(case)
        return form(case)

    return bine


_FORMS: dict[str, Callable[[Case], int]] = {
    "binary_tree_broadcast": _binary_tree,
    "binary_tree_reduce": _binary_tree,
    "bine_allgather": _of_others(_allgather),
    "bine_allreduce": _of_others(_doubling),
    "bine_broadcast": _of_others(_broadcast),
    "bine_gather": _of_others(partial(_gather, subtrees=_knomial)),
    "bine_reduce": _of_others(_reduce),
    "bine_reduce_scatter": _of_others(_reduce_scatter),
    "bine_scatter": _of_others(partial(_scatter, subtrees=_knomial)),
    "binomial_broadcast": _broadcast,
    "binomial_gather": partial(_gather, subtrees=_knomial),
    "binomial_reduce": _reduce,
    "binomial_scatter": partial(_scatter, subtrees=_knomial),
    "bruck_allgather": lambda case: _bruck(case, lambda n, r: min(1 << r, n - (1 << r))),
    "bruck_alltoall": partial(_bruck, blocks=lambda n, r: blocks_with_digit(n, 1 << r)),
    "butterfly": _butterfly,
    "butterfly_reduce_scatter": _butterfly_reduce_scatter,
    "chain_broadcast": _chain,
    "chain_reduce": partial(_chain, combine=True),
    "circulant_allgather": _circulant_allgather,
    "dissemination_barrier": _dissemination,
    "double_ring_barrier": _double_ring,
    "gather_broadcast_allgather": _gather_broadcast,
    "in_network_allgather": _in_network_half,
    "in_network_allreduce": _in_network,
    "in_network_reduce_scatter": _in_network_half,
    "knomial_broadcast": _broadcast,
    "knomial_reduce": _reduce,
    "linear_alltoall": _linear_alltoall,
    "linear_barrier": _linear_barrier,
    "linear_exscan": lambda case: (
        (case.ranks - 2) * message(case, case.message_bytes, combine=True).time
        + message(case, case.message_bytes).time
    ),
    "linear_gather": partial(_gather, subtrees=_star),
    "linear_scan": lambda case: (
        (case.ranks - 1) * message(case, case.message_bytes, combine=True).time
    ),
    "linear_scatter": partial(_scatter, subtrees=_star),
    "neighbor_exchange_allgather": _neighbor_exchange,
    "nonoverlapping_reduce_scatter": _reduce_and_scatter,
    "pairwise_alltoall": lambda case: _ring(case, case.message_bytes),
    "pairwise_reduce_scatter": _ring_reduce_scatter,
    "pat_allgather": lambda case: _pat(case, case.message_bytes),
    "pat_reduce_scatter": lambda case: _pat(
        case, block_bytes(case.message_bytes, case.ranks), combine=True
    ),
    "rabenseifner_allreduce": _rabenseifner,
    "rabenseifner_reduce": _rabenseifner_reduce,
    "recursive_doubling_allgather": _allgather,
    "recursive_doubling_allreduce": _doubling,
    "recursive_doubling_barrier": partial(_doubling, combine=False),
    "recursive_doubling_exscan": _scan,
    "recursive_doubling_scan": _scan,
    "recursive_halving_reduce_scatter": _reduce_scatter,
    "recursive_multiplying_allreduce": _recursive_multiplying,
    "reduce_broadcast_allreduce": partial(_reduce_and_broadcast, combine=True),
    "ring_allgather": lambda case: _ring(case, case.message_bytes),
    "ring_allreduce": _ring_allreduce,
    "ring_reduce_scatter": _ring_reduce_scatter,
    "scatter_allgather_broadcast": _scatter_allgather,
    "segmented_ring_allreduce": _segmented_ring,
    "sparbit_allgather": _sparbit,
    "swing_allreduce": _swing,
    "tree_barrier": partial(_reduce_and_broadcast, combine=False),
}
