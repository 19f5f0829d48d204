"""Steps that algorithms share: fold of a non-power-of-two, trees, pipelines, stages of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..fields import Converted, Int, IntOrText, as_integer, check_choice, check_integer, shorten
from ..network import MAX_BYTES
from ..steps import (
    MAX_WINDOW,
    MESSAGE,
    OBSERVE,
    RECEIVES_ONLY,
    SENDS_ONLY,
    START,
    BinomialTree,
    Listed,
    PairArray,
    Partners,
    Range,
    Shift,
    Sized,
    Step,
    Xor,
    power_below,
    rounds_of,
)
from ..syntax import read_size
from .algorithm import (
    COLLECTIVES,
    IRREGULAR,
    MAX_LISTED_RANKS,
    MAX_ROUNDS,
    Algorithm,
    Forwarding,
    checked_steps,
    is_kind_of,
)

MAX_PAIRED_RANKS = 2**13
"""Of an algorithm that lists messages of each rank in as many steps as ranks, with their sizes."""
MAX_STEPS = 2**18
"""Of an algorithm with steps in proportion to ranks or segments: each takes memory."""


_MAX_CIRCULANT_RANKS = 2**17
"""Of more, each case would take many seconds to make."""
MAX_RADIX = 256
"""The most ranks that exchange messages at once, where that is a parameter."""
assert MAX_RADIX <= MAX_WINDOW


FOLD_IN, FOLD_OUT = 62, 63
"""Draws of the messages from and to the ranks beyond a power of two: out of the way of the rounds'
(at most 60), so that these see the same noise in every algorithm."""


class Count(Converted[Int, int]):
    """A field of a dataclass: a whole number in a range, such as the radix of a tree."""

    def __init__(self, usual: int, least: int, most: int) -> None:
        super().__init__("int", usual)
        self._range = least, most

    def __set__(self, instance: object, value: Int) -> None:
        instance.__dict__[self._name] = check_integer(value, self._name, *self._range)


class SegmentBytes(Converted[IntOrText, int]):
    """A field of a dataclass: the most bytes of a segment of a vector, 8 KiB by default."""

    def __init__(self, usual: int = 2**13) -> None:
        super().__init__("int | str", usual)

    def __set__(self, instance: object, value: IntOrText) -> None:
        instance.__dict__[self._name] = read_size(value, self._name, 1, MAX_BYTES)


class AlgorithmOf(Converted[str | Mapping[str, Any] | Algorithm, Algorithm]):
    """A field of a dataclass: an algorithm of messages, as itself, a table of it, or its kind."""

    def __init__(self, collective: str, usual: Algorithm, such_as: str = "") -> None:
        super().__init__("Algorithm | dict | str", usual)
        self._collective = collective
        self._such_as = such_as or type(usual).__name__

    def __set__(self, instance: object, value: str | Mapping[str, Any] | Algorithm) -> None:
        name, kinds = self._name, _message_kinds(self._collective)
        if isinstance(value, str):
            value = {"kind": value}
        if isinstance(value, Mapping):
            if "kind" in value:
                check_choice(value["kind"], f"{name}: kind", kinds)
            value = Algorithm.from_dict(value, name)
        if not isinstance(value, Algorithm) or value.kind not in kinds:
            article = "an" if self._collective[0] == "a" else "a"
            raise ValueError(
                f"{name} must be {article} {self._collective} of messages such as {self._such_as}, "
                f"got {shorten(value)}"
            )
        if isinstance(value, Forwarding) and value.exchanges_after:
            raise ValueError(
                f"{name}: exchanges_after must be 0 between nodes, got {value.exchanges_after!r}"
            )
        instance.__dict__[name] = value


def _message_kinds(collective: str) -> list[str]:
    """The kinds of algorithm that can be one of messages, and what users made."""
    others = [one for one in (*COLLECTIVES, *IRREGULAR) if one != collective]
    return [
        kind
        for kind in Algorithm.kinds()
        if kind != "butterfly" and not any(is_kind_of(kind, one) for one in others)
    ]


def block_bytes(message_bytes: int, blocks: int) -> int:
    """The size of a block of a vector that is cut into `blocks`, rounded up."""
    return -(-message_bytes // blocks)


def segments_of(message_bytes: int, segment_bytes: int) -> int:
    """The number of segments of at most `segment_bytes` that a vector is cut into, at least one."""
    return max(block_bytes(message_bytes, segment_bytes), 1)


def check_ranks(algorithm: Algorithm, ranks: int, most: int = MAX_LISTED_RANKS) -> None:
    """Raise ValueError for more ranks than messages are listed of."""
    if ranks > most:
        name = type(algorithm).__name__
        raise ValueError(f"ranks must be from 1 to {most} for {name}, got {ranks}")


def check_step_count(algorithm: Algorithm, count: int, how: str) -> None:
    """Raise ValueError for more steps than are listed; `how` says what to change."""
    if count > MAX_STEPS:
        raise ValueError(
            f"{how} for {type(algorithm).__name__}: at most {MAX_STEPS} steps fit, got {count}"
        )


def message(
    partners: Partners,
    draw: int,
    size: int | npt.NDArray[np.int64],
    label: str,
    *,
    combine: bool = False,
    repeat: int = 1,
    occupies: bool = True,
) -> Step:
    """A step in which messages of `size` bytes are sent; an array has the size of each.

    The sizes are in the order of the messages of `partners`; one without bytes is sent as the
    smallest message that a network knows.

    `draw`: which of its messages' random draws it takes, counted from 0. Steps in which one rank
    sends, or receives, need different numbers; a step with `repeat` = n takes n of them, from
    `draw` on. 62 and 63 are those of `FOLD_IN` and `FOLD_OUT`.

    Raises
    ------
    ValueError
        `partners` is no map of them; `draw`, `size` or `repeat` is no integer, or negative.
    """
    if not isinstance(partners, Partners):
        raise ValueError(
            f"partners must be Shift, Xor, BinomialTree, Range or Listed, got {shorten(partners)}"
        )
    if isinstance(size, np.ndarray) and size.ndim:
        partners, size = _read_sizes(partners, size)
    given: list[tuple[str, Any]] = [("draw", draw), ("size", size), ("repeat", repeat)]
    draw, size, repeat = (_read_count(name, value) for name, value in given)
    return Step(MESSAGE, draw, 0, label, None, partners, size, combine, repeat, occupies)


def _read_sizes(partners: Partners, sizes: npt.NDArray[np.int64]) -> tuple[Partners, int]:
    """Return the messages of a map with the size of each, where these differ, and the largest."""
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or sizes.min(initial=0) < 0:
        raise ValueError(
            f"size must be an integer of at least 0, or an array of such, got {shorten(sizes)}"
        )
    largest = int(sizes.max(initial=0))
    if len(sizes) and sizes.min() == largest > 0:
        return partners, largest
    return Sized(partners, sizes.astype(np.int64, copy=False)), largest


def _read_count(name: str, value: int) -> int:
    """Return an integer of at least 0; anything else is a ValueError."""
    number = as_integer(value)
    if number is None or number < 0:
        hint = " (// divides integers)" if isinstance(value, float) else ""
        raise ValueError(f"{name} must be an integer of at least 0, got {shorten(value)}{hint}")
    return number


def bytes_of_counts(counts: npt.NDArray[np.int64], message_bytes: int) -> npt.NDArray[np.int64]:
    """The bytes of each count of elements.

    Raises
    ------
    ValueError
        Together they have more bytes than a message can.
    """
    total = float(counts.sum(dtype=np.float64)) * message_bytes
    if total > MAX_BYTES:
        raise ValueError(
            f"counts, times the {message_bytes} bytes of an element (message_bytes), must be at "
            f"most 2^62 bytes together, got {total:.3g}"
        )
    return counts * message_bytes


def sized_messages(
    partners: Partners,
    ranks: int,
    draw: int,
    sizes: npt.NDArray[np.int64],
    *,
    skip_empty: bool = False,
    combine: bool = False,
) -> list[Step]:
    """The step of messages of these sizes, in the order of the pairs; none without any message.

    With `skip_empty` those without bytes are not sent.
    """
    if skip_empty and not sizes.all():
        partners = Listed(partners.pair_array(ranks)[sizes > 0])
        sizes = sizes[sizes > 0]
    return [message(partners, draw, sizes, "", combine=combine)] if len(sizes) else []


def all_sent_first(messages: list[Step]) -> list[Step]:
    """Ranks send the messages of all these steps, and then receive those of all, in this order.

    As nonblocking sends and receives of a library, whose receives are waited for in this order.
    """
    if len(messages) == 1:
        return messages
    sent = [
        step._replace(flags=step.flags | SENDS_ONLY, place=place, label="")
        for place, step in enumerate(messages)
    ]
    received = [
        step._replace(flags=step.flags | RECEIVES_ONLY, place=place)
        for place, step in enumerate(messages)
    ]
    return sent + received


def rounds_of_radix(ranks: int, radix: int) -> list[int]:
    """The distances 1, k, k^2, ... below `ranks`."""
    strides = [1]
    while strides[-1] * radix < ranks:
        strides.append(strides[-1] * radix)
    return strides if ranks > 1 else []


def shifts_at_once(
    ranks: int, radix: int, size_of: Callable[[int, int], int], *, back: bool = False
) -> list[Step]:
    """Rounds in which a rank sends over distances s, 2 s, ... (k - 1) s and then receives as many.

    Parameters
    ----------
    ranks, radix : int
        The distances s are 1, k, k^2, ...; nothing goes over N or more.
    size_of : callable
        The bytes of a message, of s and the multiple of it.
    back : bool
        Whether to ranks with lower numbers.
    """
    steps = []
    for r, stride in enumerate(rounds_of_radix(ranks, radix)):
        window = []
        for turn, d in enumerate(range(stride, min(stride * radix, ranks), stride)):
            draw, size = r * (radix - 1) + turn, size_of(stride, turn + 1)
            window.append(message(Shift(ranks - d if back else d), draw, size, ""))
        steps += in_one_row(all_sent_first(window), f"round {r + 1}")
    return steps


def collective(messages: list[Step]) -> list[Step]:
    """Put the row "start" before messages, the last of which completes the collective."""
    start = Step(OBSERVE, label=START)
    if not messages:
        return [start._replace(redundancy=0)]
    return [start, *messages[:-1], messages[-1]._replace(redundancy=0)]


def fold_in(ranks: int, size: int, *, combine: bool, occupies: bool = True) -> list[Step]:
    """The first step of a fold: rank i beyond the largest power of two P sends to ``i - P``."""
    power = power_below(ranks)
    if power == ranks:
        return []
    partners = Range(power, ranks, -power)
    return [message(partners, FOLD_IN, size, "fold in", combine=combine, occupies=occupies)]


def fold_out(ranks: int, size: int, *, occupies: bool = True) -> list[Step]:
    """The last step of a fold: rank i beyond P gets the result from ``i - P`` (see `fold_in`)."""
    power = power_below(ranks)
    if power == ranks:
        return []
    return [message(Range(0, ranks - power, power), FOLD_OUT, size, "fold out", occupies=occupies)]


def halving_steps(power: int, block: int) -> list[Step]:
    """Reduce-scatter a vector of `power` blocks, a power of two, over distances 1, 2, 4, ...

    Each round exchanges half of the blocks that are left: distance doubling, vector halving.
    """
    return [
        message(
            Xor(1 << r, power), r, (power >> r + 1) * block, f"reduce-scatter {r + 1}", combine=True
        )
        for r in range(power.bit_length() - 1)
    ]


def doubling_steps(ranks: int, block: int, first: int = 0) -> list[Step]:
    """Allgather blocks over distances 1, 2, 4, ..., with a fold before and after.

    Some groups of ranks hold blocks of ranks beyond the power of two: a message takes as long as
    the longest of its round. `first` is the number of the draws of the first round.
    """
    power = power_below(ranks)
    messages = fold_in(ranks, block, combine=False)
    for r in range(power.bit_length() - 1):
        held = (1 << r) + min(1 << r, ranks - power)
        messages.append(message(Xor(1 << r, power), first + r, held * block, f"round {r + 1}"))
    return messages + fold_out(ranks, (ranks - 1) * block)


def swing_partners(power: int) -> list[npt.NDArray[np.int64]]:
    """The partner of each rank, of a power of two, over distances 1, -1, 3, -5, 11, ...

    In round s even ranks have rank ``i + d`` and odd ones ``i - d`` (modulo P), with d = ``(1 -
    (-2)^(s + 1)) / 3``: in base -2 d is s + 1 ones.
    """
    rank = np.arange(power)
    side = np.where(rank % 2, -1, 1)
    rounds = power.bit_length() - 1
    return [(rank + side * ((1 - (-2) ** (s + 1)) // 3)) % power for s in range(rounds)]


def swings(partners: npt.NDArray[np.int64]) -> Listed:
    """Messages of all ranks to their partners."""
    return Listed(np.stack([np.arange(len(partners)), partners], axis=1))


def swing_blocks(ranks: int) -> list[int]:
    """The most blocks that any rank sends in each round of swings, folded ranks included.

    In a reduce-scatter it sends the blocks of its partner, and of every rank that the partner
    reaches in later rounds. In an allgather, whose rounds go the other way, it sends all that it
    has.
    """
    power, most = power_below(ranks), []
    held = 1 + (np.arange(power) < ranks - power)
    for partners in reversed(swing_partners(power)):
        most.append(int(held.max()))
        held = held + held[partners]
    return most[::-1]


def bine_tree(power: int) -> list[PairArray]:
    """Parents and children of a Bine tree from rank 0, round by round, the farthest first.

    A rank that has been reached swings to its partner of each round that is left.
    """
    reached, levels = np.zeros(1, np.int64), []
    for partners in reversed(swing_partners(power)):
        levels.append(np.stack([reached, partners[reached]], axis=1))
        reached = levels[-1].T.reshape(-1)
    return levels


def bine_blocks(ranks: int, block: int, *, down: bool = False) -> list[Step]:
    """Blocks of all ranks go up a Bine tree, or down: a message has those of the child's subtree.

    Every message of a round takes as long as the longest of that round.
    """
    power = power_below(ranks)
    held, levels = 1 + (np.arange(power) < ranks - power), []
    for edges in reversed(bine_tree(power)):
        parent, child = edges.T
        levels.append((edges if down else edges[:, ::-1], int(held[child].max()) * block))
        held[parent] += held[child]
    name = "scatter" if down else "gather"
    return [
        message(Listed(edges), r, size, f"{name} {r + 1}")
        for r, (edges, size) in enumerate(reversed(levels) if down else levels)
    ]


def circulant_skips(ranks: int) -> list[int]:
    """The distances of a circulant graph, 1, ... about N/4, N/2, each rounded up, and N.

    There are as many distances as rounds in which a message can reach all ranks (Träff 2025).
    """
    skips = [ranks]
    while skips[-1] > 1:
        skips.append(-(-skips[-1] // 2))
    return skips[::-1]


@lru_cache(maxsize=8)
def circulant_blocks(ranks: int) -> npt.NDArray[np.int8]:
    """The block that each rank receives in each of q rounds of a broadcast, in the steady state.

    Shape (rounds q, ranks). In round k of q a rank receives from the one over distance k. Each rank
    receives one block of those that rank 0 sends in these rounds, 0 to q - 1; all others are of the
    q rounds before, and below 0. What rank 0 has is without meaning.
    """
    skips = circulant_skips(ranks)
    rounds = len(skips) - 1
    blocks = np.zeros((rounds, ranks), np.int8)
    for rank in range(1, ranks):
        blocks[:, rank] = _received_blocks(rank, skips)
    return blocks


def _received_blocks(rank: int, skips: list[int]) -> list[int]:
    """The blocks that one rank receives (Träff 2025): in each round the last distance of a way.

    A way goes over falling distances, N among them, to a number that is in round k less than the
    next distance below ``rank + N``, and at least this one. The longest are tried first, and a
    distance that ended a way ends no other. That which ends the way from 0 to this rank is left
    out: it is the block that rank 0 sends it in these rounds, where N ends the way.
    """
    q, left = len(skips) - 1, rank
    own = q
    while left:
        own = bisect_right(skips, left) - 1
        left -= skips[own]
    ends = (2 << q) - 1 & ~(1 << own)  # a bit for each distance that can still end a way
    last, reached, way, found = q, skips[q], [q], []
    for k in range(q):
        low, high = rank + skips[q] - skips[k + 1], rank + skips[q] - skips[k]
        while True:
            shorter = ends & (1 << last) - 1
            if reached < low or (reached == low and shorter):
                last = shorter.bit_length() - 1
                way.append(last)
                reached += skips[last]
            elif reached > high:
                reached -= skips[way.pop()]
            else:
                break
        last = way.pop()
        reached -= skips[last]
        ends &= ~(1 << last)
        found.append(own if last == q else last - q)
    return found


class CirculantRound(NamedTuple):
    """A round of a broadcast over a circulant graph: its distance, and who receives a segment."""

    distance: int
    receives: npt.NDArray[np.bool_]


def circulant_rounds(ranks: int, segments: int) -> list[CirculantRound]:
    """The rounds in which rank 0 broadcasts `segments` segments: q - 1 more (Träff 2025).

    Round k of every q, the logarithm of the ranks, sends over distance k. A rank receives in a
    round what `circulant_blocks` says, once that segment has left rank 0.
    """
    skips = circulant_skips(ranks)
    q = len(skips) - 1
    if not q:
        return []
    ahead = -(segments - 1) % q  # rounds that are left out, so that the last ones are whole
    blocks = circulant_blocks(ranks) if ahead else None
    rounds = []
    for t in range(ahead, ahead + segments - 1 + q):
        cycle, k = divmod(t, q)
        receives = np.arange(ranks) > 0
        if cycle < 2 and blocks is not None:  # a block below `ahead` is no segment
            receives &= blocks[k] + cycle * q >= ahead
        elif not cycle:  # as long as not all ranks have been reached
            receives &= (np.arange(ranks) >= skips[k]) & (np.arange(ranks) < skips[k + 1])
        rounds.append(CirculantRound(skips[k], receives))
    return rounds


def check_segments(algorithm: Algorithm, ranks: int, size: int, segment_bytes: int) -> int:
    """Return how many segments go over a circulant graph; ValueError for too many, or ranks."""
    check_ranks(algorithm, ranks, _MAX_CIRCULANT_RANKS)
    segments = segments_of(size, segment_bytes)
    check_step_count(algorithm, segments + rounds_of(ranks) - 1, "segment_bytes must be larger")
    return segments


def circulant_segments(
    algorithm: Algorithm, ranks: int, size: int, segment_bytes: int
) -> tuple[list[PairArray], int]:
    """Sender and receiver in each round of a broadcast, and the bytes of a segment.

    Arrays that are the same are one.
    """
    segments = check_segments(algorithm, ranks, size, segment_bytes)
    rank = np.arange(ranks)
    known: dict[tuple[int, bytes], PairArray] = {}
    pairs = []
    for distance, receives in circulant_rounds(ranks, segments):
        key = distance, receives.tobytes()
        if key not in known:
            to = rank[receives]
            known[key] = np.stack([(to - distance) % ranks, to], axis=1)
        pairs.append(known[key])
    return pairs, block_bytes(size, segments)


def gather_up(ranks: int, size: int, *, combine: bool) -> list[Step]:
    """A binomial tree towards rank 0: strides 1, 2, 4, ... (as MPICH)."""
    return [
        message(BinomialTree(1 << r, ranks, down=False), r, size, f"up {r + 1}", combine=combine)
        for r in range(rounds_of(ranks))
    ]


def spread_down(ranks: int, size: int, *, first: int = 0) -> list[Step]:
    """A binomial tree from rank 0: strides ..., 4, 2, 1 (as MPICH)."""
    rounds = rounds_of(ranks)
    return [
        message(
            BinomialTree(1 << (rounds - 1 - r), ranks, down=True), first + r, size, f"down {r + 1}"
        )
        for r in range(rounds)
    ]


def blocks_over_tree(ranks: int, block: int, *, down: bool) -> list[Step]:
    """A binomial tree with root 0, as a scatter down or a gather up: each rank has a block.

    Over stride s go the blocks of s ranks, or of those that are left (a step of its own, of that
    one pair). The strides are ..., 4, 2, 1 down, and 1, 2, 4, ... up (as MPICH).
    """
    strides = [1 << r for r in range(rounds_of(ranks))]
    steps = []
    for r, stride in enumerate(reversed(strides) if down else strides):
        cut = ranks // (2 * stride) * (2 * stride)  # the subtree from here on is not whole
        left = ranks - cut - stride
        label, short = f"{'scatter' if down else 'gather'} {r + 1}", 0 < left < stride
        if cut:
            whole = BinomialTree(stride, cut, down=down)
            steps.append(message(whole, r, stride * block, "" if short else label))
        if short:  # the same draws: no rank is in both
            first = cut if down else cut + stride
            pair = Range(first, first + 1, stride if down else -stride)
            steps.append(message(pair, r, left * block, label))
    return steps


def tree_blocks(ranks: int, distance: int) -> int:
    """Count the edges over a power of two in a binomial tree: odd multiples of it below `ranks`."""
    return (ranks - 1 + distance) // (2 * distance)


def knomial_steps(
    algorithm: Algorithm, ranks: int, radix: int, size: int, *, up: bool
) -> list[Step]:
    """The messages of a k-nomial tree with root 0, up to it and combined there, or down from it.

    In the number of a rank to the base `radix`, the lowest level has the edges from the ranks whose
    last digit is 0 to those that differ from them in that digit; and so on. In a step each parent
    of a level has a message with one child.

    Raises
    ------
    ValueError
        More ranks or steps than are listed; it names the algorithm.
    """
    check_ranks(algorithm, ranks)
    strides = [radix**level for level in range(MAX_ROUNDS) if radix**level < ranks]
    levels = [range(stride, min(stride * radix, ranks), stride) for stride in strides]
    check_step_count(algorithm, sum(map(len, levels)), "radix must be lower")
    tree = list(zip(strides, levels, strict=True))
    steps = []
    for number, (stride, firsts) in enumerate(tree if up else reversed(tree)):
        for child, first in enumerate(firsts, 1):
            children = np.arange(first, ranks, stride * radix)
            ends = [children, children - first] if up else [children - first, children]
            label = f"{'up' if up else 'down'} {number + 1}" if child == len(firsts) else ""
            draw = number * (radix - 1) + child - 1
            steps.append(message(Listed(np.stack(ends, axis=1)), draw, size, label, combine=up))
    return steps


def in_one_row(steps: list[Step], label: str) -> list[Step]:
    """The steps, with the row of all of them at the last."""
    return [
        *(step._replace(label="") if step.label else step for step in steps[:-1]),
        *(step._replace(label=label) for step in steps[-1:]),
    ]


def pairwise_steps(
    algorithm: Algorithm, ranks: int, size: int, *, combine: bool = False
) -> list[Step]:
    """The steps d = 1, 2, ...: rank i sends to ``i + d`` and receives from ``i - d`` (modulo N).

    Raises
    ------
    ValueError
        More steps than are listed; it names the algorithm.
    """
    check_step_count(algorithm, ranks - 1, "ranks must be fewer")
    steps = [message(Shift(d), d - 1, size, "", combine=combine) for d in range(1, ranks)]
    return in_one_row(steps, "pairwise")


def linear_steps(
    algorithm: Algorithm, ranks: int, size: int | npt.NDArray[np.int64], *, to_root: bool
) -> list[Step]:
    """Messages between rank 0 and ranks 1, 2, 3, ..., one after the other.

    `size`: of all, or of each rank's, of which those without bytes are not sent.

    Raises
    ------
    ValueError
        More steps than are listed; it names the algorithm.
    """
    check_step_count(algorithm, ranks - 1, "ranks must be fewer")
    each = size.tolist() if isinstance(size, np.ndarray) else [size] * ranks
    steps = [
        message(Range(r, r + 1, -r) if to_root else Range(0, 1, r), r - 1, each[r], "")
        for r in range(1, ranks)
        if each[r] or isinstance(size, int)
    ]
    return in_one_row(steps, "linear")


Level = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Ranks of a level of a tree, their parents, and how many steps before these they send: 1, or 2 if
another child does between."""


def tree_levels(ranks: int) -> Iterator[Level]:
    """The levels of a tree whose levels have 1, 2, 4, ... ranks, from the root down."""
    above = 1  # the ranks of the level above
    while 2 * above - 1 < ranks:
        child = np.arange(2 * above - 1, min(4 * above - 1, ranks))
        second = (child - (2 * above - 1)) // above
        parent = child - above * (1 + second)
        yield child, parent, np.where((second == 0) & (parent + 2 * above < ranks), 2, 1)
        above *= 2


def pipelined(
    edges: PairArray,
    first: npt.NDArray[np.int64],
    segments: int,
    draw: int,
    size: int,
    label: str,
    *,
    combine: bool = False,
) -> list[Step]:
    """Segments over the edges of a tree: each edge carries one in every second step.

    Parameters
    ----------
    edges : array of shape (edges, 2)
        Sender and receiver of each.
    first : array of shape (edges,)
        The step of its first segment.
    segments : int
    draw : int
        The number of the draws of step 0.
    size : int
        Bytes of a segment.
    label : str
        Of the last step.
    combine : bool
        Whether receivers combine.
    """
    last = first + 2 * (segments - 1)
    steps: list[Step] = []
    lists: dict[bytes, Listed] = {}  # most steps have the messages of the last but one
    for t in range(int(last.max()) + 1):
        sends = (first <= t) & (t <= last) & ((t - first) % 2 == 0)
        if sends.any():
            partners = lists.setdefault(sends.tobytes(), Listed(edges[sends]))
            steps.append(message(partners, draw + t, size, "", combine=combine))
    steps[-1] = steps[-1]._replace(label=label)
    return steps


def message_steps(algorithm: Algorithm, field: str, ranks: int, size: int) -> list[Step]:
    """The MESSAGE steps of an algorithm that is a part of another one.

    Raises
    ------
    ValueError
        It has other steps as well; `field` says whose parameter it is.
    """
    steps = [s for s in checked_steps(algorithm, ranks, size) if s.kind != OBSERVE]
    if any(step.kind != MESSAGE or step.partners is None for step in steps):
        raise ValueError(
            f"{field} must be an algorithm of messages, got {algorithm!r}: it has other steps as "
            "well"
        )
    return [step._replace(redundancy=None) for step in steps]


def stage(
    algorithm: Algorithm, field: str, label: str, size: int, groups: Sequence[PairArray]
) -> list[Step]:
    """The steps of an algorithm that each group of ranks does by itself, in one row.

    Parameters
    ----------
    algorithm : Algorithm
    field : str
        The parameter that it is, for errors.
    label : str
        Of the row.
    size : int
        Bytes of a message, as the algorithm has them.
    groups : list of arrays of shape (groups, ranks)
        Groups of equal sizes, in arrays; a rank is in one of all at most.
    """
    parts = []
    for members in groups:
        ranks = members.shape[1]
        try:
            inside = message_steps(algorithm, field, ranks, size)
        except ValueError as error:
            raise ValueError(f"{field}, of {ranks} ranks: {error}") from None
        parts.append(in_groups(inside, members))
    return in_one_row(numbered(parts), label)


def in_groups(steps: Sequence[Step], members: PairArray) -> list[Step]:
    """The steps of an algorithm, done by each group of ranks; `members`: shape (groups, ranks)."""
    lists: dict[Partners, Partners] = {}  # a ring has one for all its steps
    done = []
    for step in steps:
        assert step.partners is not None
        if step.partners not in lists:
            pairs = members[:, step.partners.pair_array(members.shape[1])]
            listed: Partners = Listed(pairs.reshape(-1, 2))
            if isinstance(step.partners, Sized):
                listed = Sized(listed, np.tile(step.partners.sizes, len(members)))
            lists[step.partners] = listed
        done.append(step._replace(partners=lists[step.partners]))
    return done


def leaders_of(ranks: int, width: int) -> list[PairArray]:
    """The first rank of each node, as one group."""
    return [np.arange(0, ranks, width)[np.newaxis]]


def nodes_of(ranks: int, width: int) -> list[PairArray]:
    """The ranks of each node, which are consecutive: of the whole nodes, and of one that is not."""
    whole = ranks // width * width
    groups = [np.arange(whole).reshape(-1, width), np.arange(whole, ranks).reshape(1, -1)]
    return [group for group in groups if group.shape[1] and len(group)]


def node_stages(
    algorithm: Any, ranks: int, within: int, between: int
) -> tuple[list[Step], list[Step]]:
    """Return the steps of `intra_node` in nodes, and those of `inter_node` among their first ranks.

    Parameters
    ----------
    algorithm : Algorithm
        With these two fields, and `node_ranks`.
    ranks : int
    within, between : int
        Bytes of a message of either.
    """
    check_ranks(algorithm, ranks)
    nodes, leaders = (of(ranks, algorithm.node_ranks) for of in (nodes_of, leaders_of))
    return (
        stage(algorithm.intra_node, "intra_node", "intra-node", within, nodes),
        stage(algorithm.inter_node, "inter_node", "inter-node", between, leaders),
    )


def numbered(stages: list[list[Step]]) -> list[Step]:
    """The stages one after the other, with draws of their own, in the order in which they come up.

    Steps of a stage that share draws, such as the halves of one, still do.
    """
    steps, used = [], 0
    for stage in stages:
        longest: dict[int, int] = {}
        for step in stage:
            longest[step.round] = max(longest.get(step.round, 0), step.repeat)
        first = {}
        for draw, count in longest.items():
            first[draw] = used
            used += count
        steps += [step._replace(round=first[step.round]) for step in stage]
    return steps
