"""Textbook collective algorithms: what each rank sends, receives and combines.

One function an algorithm, written from the literature and not from the simulator's. It yields a
round at a time: its name, and what one rank does in it, in order. `me` is the rank, `size` the
number of ranks, n the message bytes of a case. Data are blocks with numbers; what a block holds is
the set of ranks whose input is in it.

Thakur, Rabenseifner & Gropp, IJHPCA 2005 (recursive doubling and halving, Rabenseifner, binomial
trees, ring, pairwise exchange); Bruck et al., IEEE TPDS 1997; Hensgen, Finkel & Manber, IJPP 1988
(dissemination); Bayatpour et al., SC 2017 (several leaders in a node); Pjesivac-Grbovic et al.,
Cluster Computing 2007 (chain, binary tree, segments); Sanders, Speck & Träff, Parallel Computing
2009 (two trees); Cho et al., MLSys 2019 (rings in nodes and between them).
"""

import json
from dataclasses import dataclass, replace
from functools import cache

FOLD_IN, FOLD_OUT = 62, 63  # numbers of their draws


@dataclass(frozen=True)
class Send:
    """To rank `peer`: these blocks, in a message of `bytes`; `number` is that of its draws."""

    peer: int
    blocks: tuple[int, ...]
    bytes: int
    number: int
    occupies: bool = True


@dataclass(frozen=True)
class Receive:
    """From rank `peer`. `how`: "combine" with what is held, "take" it, or "learn" (a barrier).

    "put together": combined, where a block is what one rank has put in (of a prefix reduction).
    """

    peer: int
    bytes: int
    number: int
    how: str = "take"
    occupies: bool = True

    @property
    def combines(self):
        """Whether its receiver computes."""
        return self.how in ("combine", "put together")


HYPERCUBE = "hypercube"  # instead of a list: the butterfly with its copies, of another machine


def log2_up(size):
    """Rounds that it takes to double from 1 to `size`."""
    rounds = 0
    while 1 << rounds < size:
        rounds += 1
    return rounds


def largest_power(size):
    """The largest 2^k that is not above `size`, and k."""
    k = 0
    while 2 << k <= size:
        k += 1
    return 1 << k, k


def cut(n, parts):
    """Bytes of a block."""
    return (n + parts - 1) // parts


def exchange(peer, blocks, size, number, how):
    return [Send(peer, tuple(blocks), size, number), Receive(peer, size, number, how)]


def fold(me, size, label, message, *, way_out, how="take", **options):
    """Ranks above the power of two hand over to those as far below, or get it back."""
    power, _ = largest_power(size)
    if power == size:
        return
    blocks, length = message
    number = FOLD_OUT if way_out else FOLD_IN
    ops = []
    if me >= power:
        there = me - power
        ops = [Receive(there, length, number, how, **options)] if way_out else \
            [Send(there, tuple(blocks(me)), length, number, **options)]  # fmt: skip
    elif me + power < size:
        there = me + power
        ops = [Send(there, tuple(blocks(there)), length, number, **options)] if way_out else \
            [Receive(there, length, number, how, **options)]  # fmt: skip
    yield label, ops


def butterfly(me, size, n):
    whole = (lambda _: (0,)), n
    yield from fold(me, size, "fold in", whole, way_out=False, how="combine", occupies=False)
    yield HYPERCUBE, []
    yield from fold(me, size, "fold out", whole, way_out=True, occupies=False)


def _doubling(me, size, n, how):
    power, k = largest_power(size)
    whole = (lambda _: (0,)), n
    yield from fold(me, size, "fold in", whole, way_out=False, how=how)
    for r in range(k):
        partner = me ^ 2**r
        yield f"round {r + 1}", exchange(partner, [0], n, r, how) if me < power else []
    yield from fold(me, size, "fold out", whole, way_out=True)


def recursive_doubling_allreduce(me, size, n):
    yield from _doubling(me, size, n, "combine")


def recursive_doubling_barrier(me, size, n):
    yield from _doubling(me, size, n, "learn")


def dissemination_barrier(me, size, n):
    for r in range(log2_up(size)):
        there, back = (me + 2**r) % size, (me - 2**r) % size
        yield f"round {r + 1}", [Send(there, (0,), n, r), Receive(back, n, r, "learn")]


def ring_allreduce(me, size, n):
    block = cut(n, size)
    right, left = (me + 1) % size, (me - 1) % size
    for name, shift, how in (("reduce-scatter", 0, "combine"), ("allgather", 1, "take")):
        ops = []
        for step in range(size - 1):
            number = step + shift * (size - 1)
            ops.append(Send(right, ((me - step + shift) % size,), block, number))
            ops.append(Receive(left, block, number, how))
        if ops:
            yield name, ops


def rabenseifner_allreduce(me, size, n):
    """Vector halving with distance doubling, and back."""
    power, k = largest_power(size)
    block = cut(n, power)
    whole = (lambda _: tuple(range(power))), n
    yield from fold(me, size, "fold in", whole, way_out=False, how="combine")
    mine, halves = list(range(power)), []
    for r in range(k):
        ops = []
        if me < power:
            lower, upper = mine[: len(mine) // 2], mine[len(mine) // 2 :]
            keep, give = (upper, lower) if me & 2**r else (lower, upper)
            ops = exchange(me ^ 2**r, give, len(give) * block, r, "combine")
            halves.append(give)
            mine = keep
        yield f"reduce-scatter {r + 1}", ops
    for r in reversed(range(k)):
        ops, number = [], 2 * k - 1 - r
        if me < power:
            ops = exchange(me ^ 2**r, mine, len(mine) * block, number, "take")
            mine = sorted(mine + halves[r])
        yield f"allgather {k - r}", ops
    yield from fold(me, size, "fold out", whole, way_out=True)


def _up(me, size, n, how):
    for r in range(log2_up(size)):
        stride, ops = 2**r, []
        if me % (2 * stride) == stride:
            ops = [Send(me - stride, (0,), n, r)]
        elif me % (2 * stride) == 0 and me + stride < size:
            ops = [Receive(me + stride, n, r, how)]
        yield f"up {r + 1}", ops


def _down(me, size, n, first):
    rounds = log2_up(size)
    for r in range(rounds):
        stride, ops = 2 ** (rounds - 1 - r), []
        if me % (2 * stride) == stride:
            ops = [Receive(me - stride, n, first + r)]
        elif me % (2 * stride) == 0 and me + stride < size:
            ops = [Send(me + stride, (0,), n, first + r)]
        yield f"down {r + 1}", ops


def reduce_broadcast_allreduce(me, size, n):
    yield from _up(me, size, n, "combine")
    yield from _down(me, size, n, log2_up(size))


def tree_barrier(me, size, n):
    yield from _up(me, size, n, "learn")
    yield from _down(me, size, n, log2_up(size))


def binomial_reduce(me, size, n):
    yield from _up(me, size, n, "combine")


def binomial_broadcast(me, size, n):
    yield from _down(me, size, n, 0)


def scatter_allgather_broadcast(me, size, n):
    """van de Geijn's: in a tree, ranks hand on the blocks of the upper half of their subtree."""
    block, rounds = cut(n, size), log2_up(size)
    for r in range(rounds):
        stride, ops = 2 ** (rounds - 1 - r), []
        if me % (2 * stride) == 0 and me + stride < size:
            blocks = [b for b in range(me + stride, me + 2 * stride) if b < size]
            ops = [Send(me + stride, tuple(blocks), len(blocks) * block, r)]
        elif me % (2 * stride) == stride:
            ops = [Receive(me - stride, (min(me + stride, size) - me) * block, r)]
        yield f"scatter {r + 1}", ops
    right, left, ops = (me + 1) % size, (me - 1) % size, []
    for step in range(size - 1):
        number = rounds + step
        ops += [Send(right, ((me - step) % size,), block, number), Receive(left, block, number)]
    if ops:
        yield "allgather", ops


def _digits_of(size, radix):
    """How many digits the largest rank has to this base."""
    digits = 0
    while radix**digits < size:
        digits += 1
    return digits


def _knomial(me, size, n, radix, towards_root):
    """To the parent the last digit of `me` that is not 0 is missing, by which it is which child."""
    height = _digits_of(size, radix)
    for r in range(height):
        place = r if towards_root else height - 1 - r
        one = radix**place
        above, digit = me // one // radix, me // one % radix
        ops = []
        if me % one == 0 and digit == 0:
            for child in range(1, radix):
                peer, number = me + child * one, r * (radix - 1) + child - 1
                if peer < size:
                    ops.append(Receive(peer, n, number, "combine") if towards_root else
                               Send(peer, (0,), n, number))  # fmt: skip
        elif me % one == 0:
            peer, number = above * radix * one, r * (radix - 1) + digit - 1
            ops = [Send(peer, (0,), n, number) if towards_root else Receive(peer, n, number)]
        yield f"{'up' if towards_root else 'down'} {r + 1}", ops


def knomial_broadcast(me, size, n, radix=4):
    yield from _knomial(me, size, n, radix, False)


def knomial_reduce(me, size, n, radix=4):
    yield from _knomial(me, size, n, radix, True)


def chain_broadcast(me, size, n, segment_bytes=8192):
    """A segment is received from the left and sent to the right, then the next one is."""
    segments = max(cut(n, segment_bytes), 1)
    length, ops = cut(n, segments), []
    for segment in range(segments):
        if me > 0:
            ops.append(Receive(me - 1, length, me - 1 + segment))
        if me < size - 1:
            ops.append(Send(me + 1, (segment,), length, me + segment))
    if ops:
        yield "chain", ops


def segmented_ring_allreduce(me, size, n, segment_bytes=8192):
    """Segment s of block b has the number ``b S + s``."""
    block = cut(n, size)
    segments = max(cut(block, segment_bytes), 1)
    right, left, ops = (me + 1) % size, (me - 1) % size, []
    for segment in range(segments):
        for step in range(size - 1):
            number, mine = segment * (size - 1) + step, (me - step) % size * segments + segment
            ops.append(Send(right, (mine,), cut(block, segments), number))
            ops.append(Receive(left, cut(block, segments), number, "combine"))
    if ops:
        yield "reduce-scatter", ops
    ops = []
    for step in range(size - 1):
        number, whole = segments * (size - 1) + step, (me - step + 1) % size
        blocks = tuple(range(whole * segments, whole * segments + segments))
        ops += [Send(right, blocks, block, number), Receive(left, block, number)]
    if ops:
        yield "allgather", ops


def pairwise_alltoall(me, size, n):
    """The block from rank a to rank b has the number ``a N + b``."""
    ops = []
    for d in range(1, size):
        there, source = (me + d) % size, (me - d) % size
        ops += [Send(there, (me * size + there,), n, d - 1), Receive(source, n, d - 1)]
    if ops:
        yield "pairwise", ops


def linear_alltoall(me, size, n, window=32):
    """Nonblocking sends to the next `window` ranks, and then as many receives, in their order."""
    ops = []
    for first in range(1, size, window):
        distances = range(first, min(first + window, size))
        for d in distances:
            there = (me + d) % size
            ops.append(Send(there, (me * size + there,), n, d - 1))
        ops += [Receive((me - d) % size, n, d - 1) for d in distances]
    if ops:
        yield "linear", ops


def recursive_multiplying_allreduce(me, size, n, radix=4):
    """Ruefenacht, Bull & Booth 2017: a digit of the rank's number to the base `radix` a round."""
    power, rounds = 1, 0
    while power * radix <= size:
        power, rounds = power * radix, rounds + 1
    numbers = max(FOLD_IN, rounds * (radix - 1))
    folds = range(power, size, power)  # ranks beyond, as many at a time as there are inside

    def folded(way_out):
        for turn, first in enumerate(folds):
            number = numbers + 2 * turn + way_out
            ops = []
            if first <= me < first + power:
                there = me - first
                ops = [Receive(there, n, number)] if way_out else [Send(there, (0,), n, number)]
            elif me < power and me + first < size:
                there = me + first
                ops = ([Send(there, (0,), n, number)] if way_out else
                       [Receive(there, n, number, "combine")])  # fmt: skip
            name = f" {turn + 1}" if len(folds) > 1 else ""
            yield f"fold {'out' if way_out else 'in'}{name}", ops

    yield from folded(False)
    for r in range(rounds):
        ops = []
        if me < power:
            digit = me // radix**r % radix
            others = [me + (other - digit) * radix**r for other in range(radix)]
            for j in range(1, radix):
                there = others[(digit + j) % radix]
                ops.append(Send(there, (0,), n, r * (radix - 1) + j - 1))
            for j in range(1, radix):
                back = others[(digit - j) % radix]
                ops.append(Receive(back, n, r * (radix - 1) + j - 1, "combine"))
        yield f"round {r + 1}", ops
    yield from folded(True)


def bruck_alltoall(me, size, n):
    """A block that has d to go is in place d. What is sent in round r is in the same place there:
    the bits of d below r say which way it has come.
    """
    for r in range(log2_up(size)):
        blocks = []
        for place in range(size):
            if place & 2**r:
                source = (me - place % 2**r) % size
                blocks.append(source * size + (source + place) % size)
        there, back = (me + 2**r) % size, (me - 2**r) % size
        length = len(blocks) * n
        yield f"round {r + 1}", [Send(there, tuple(blocks), length, r), Receive(back, length, r)]


def binary_tree_broadcast(me, size, n, segment_bytes=8192):
    """Numbers of draws: rank 2 i + 1 has a segment one step after rank i, rank 2 i + 2 two."""
    segments = max(cut(n, segment_bytes), 1)
    length, ops = cut(n, segments), []

    def had(rank):
        return -1 if rank == 0 else had((rank - 1) // 2) + (1 if rank % 2 else 2)

    for segment in range(segments):
        if me > 0:
            ops.append(Receive((me - 1) // 2, length, had(me) + 2 * segment))
        for child in (2 * me + 1, 2 * me + 2):
            if child < size:
                ops.append(Send(child, (segment,), length, had(child) + 2 * segment))
    if ops:
        yield "binary tree", ops


@cache
def two_trees(size):
    """Parents in two trees that complement each other, and in which step an edge has its turn.

    Of each tree: {child: parent}, {child: step up}, {child: step down}. The first tree is in order:
    the root of ranks 1 ... m is the largest power of two, on its left is a full tree and on its
    right one of the rest; rank 0 is above. Steps: Sanders, Speck & Träff 2009, with colours of the
    edges that differ where edges meet.
    """
    first = {}

    def grow(begin, end, above):
        if begin < end:
            top = begin - 1 + largest_power(end - begin)[0]
            first[top] = above
            grow(begin, top, top)
            grow(top + 1, end, top)

    grow(1, size, 0)
    turn = (lambda i: (i + 1) % size) if size % 2 else (lambda i: size - 1 - i)
    trees = [first, {turn(child): turn(parent) for child, parent in first.items()}]
    edges = [(tree, child) for tree in (0, 1) for child in sorted(trees[tree])]
    colour = {}

    def paint(edge, paints):
        if edge in colour:
            assert colour[edge] == paints, "two edges of one colour meet"
            return
        colour[edge] = paints
        tree, child = edge
        for other in edges:
            same = trees[other[0]][other[1]] == trees[tree][child] or other[1] == child
            if other != edge and same:
                paint(other, 1 - paints)

    for edge in edges:
        if edge not in colour:
            paint(edge, 0)

    def turn_of(edge, earliest):
        return earliest + (earliest + colour[edge]) % 2

    def up(tree, child):
        below = [c for c, parent in trees[tree].items() if parent == child]
        return turn_of((tree, child), max((up(tree, c) + 1 for c in below), default=0))

    def down(tree, child):
        parent = trees[tree][child]
        return turn_of((tree, child), down(tree, parent) + 1 if parent in trees[tree] else 0)

    return [(parents, {c: up(t, c) for c in parents}, {c: down(t, c) for c in parents})
            for t, parents in enumerate(trees)]  # fmt: skip


def double_binary_tree_allreduce(me, size, n, segment_bytes=8192):
    """Segment s of half t is block ``t S + s``; a rank does what has its turn, step by step."""
    half = cut(n, 2)
    segments = max(cut(half, segment_bytes), 1)
    length, begin = cut(half, segments), 0
    for name, way in (("reduce", 1), ("broadcast", 2)):
        turns = []
        for t, tree in enumerate(two_trees(size)):
            for child, first in tree[way].items():
                for s in range(segments):
                    ends = (child, tree[0][child]) if way == 1 else (tree[0][child], child)
                    turns.append((first + 2 * s, ends, t * segments + s))
        ops = []
        for step, (sender, receiver), block in sorted(turns):
            if sender == me:
                ops.append((step, 0, Send(receiver, (block,), length, begin + step)))
            if receiver == me:
                how = "combine" if way == 1 else "take"
                ops.append((step, 1, Receive(sender, length, begin + step, how)))
        if turns:
            yield name, [op for _, _, op in sorted(ops, key=lambda op: op[:2])]
            begin += max(turns)[0] + 1


def ring_allgather(me, size, n):
    right, left, ops = (me + 1) % size, (me - 1) % size, []
    for step in range(size - 1):
        ops += [Send(right, ((me - step) % size,), n, step), Receive(left, n, step)]
    if ops:
        yield "ring", ops


def bruck_allgather(me, size, n):
    held = [me]
    for r in range(log2_up(size)):
        there, source = (me - 2**r) % size, (me + 2**r) % size
        blocks = held[: size - len(held)]
        yield f"round {r + 1}", [
            Send(there, tuple(blocks), len(blocks) * n, r), Receive(source, len(blocks) * n, r)
        ]  # fmt: skip
        held = held + [(b + 2**r) % size for b in blocks]


def recursive_doubling_allgather(me, size, n):
    """With the fold, groups hold unequal numbers of blocks: messages are padded to the longest."""
    power, k = largest_power(size)

    def group(rank, width):
        first = rank // width * width
        return [b for i in range(first, first + width) for b in (i, i + power) if b < size]

    yield from fold(me, size, "fold in", ((lambda extra: (extra,)), n), way_out=False)
    for r in range(k):
        longest = max(len(group(first, 2**r)) for first in range(0, power, 2**r))
        ops = exchange(me ^ 2**r, group(me, 2**r), longest * n, r, "take") if me < power else []
        yield f"round {r + 1}", ops
    lacking = (lambda extra: tuple(b for b in range(size) if b != extra)), (size - 1) * n
    yield from fold(me, size, "fold out", lacking, way_out=True)


def recursive_halving_reduce_scatter(me, size, n):
    """Distance halving; padded as the allgather above."""
    power, k = largest_power(size)
    block = cut(n, size)

    def group(rank, width):
        first = rank // width * width
        return [b for i in range(first, first + width) for b in (i, i + power) if b < size]

    everything = (lambda _: tuple(range(size))), n
    yield from fold(me, size, "fold in", everything, way_out=False, how="combine")
    for r in range(k):
        distance = power >> r + 1
        longest = max(len(group(first, distance)) for first in range(0, power, distance))
        ops, partner = [], me ^ distance
        if me < power:
            ops = exchange(partner, group(partner, distance), longest * block, r, "combine")
        yield f"round {r + 1}", ops
    own = (lambda extra: (extra,)), block
    yield from fold(me, size, "fold out", own, way_out=True)


def binomial_gather(me, size, n):
    """The lowest bit of `me` that is set says to which rank it sends all that it has by then."""
    for r in range(log2_up(size)):
        stride, ops = 2**r, []
        if me % (2 * stride) == stride:
            blocks = tuple(range(me, min(me + stride, size)))
            ops = [Send(me - stride, blocks, len(blocks) * n, r)]
        elif me % (2 * stride) == 0 and me + stride < size:
            ops = [Receive(me + stride, min(stride, size - me - stride) * n, r)]
        yield f"gather {r + 1}", ops


def binomial_scatter(me, size, n):
    """The way back of a gather."""
    rounds = log2_up(size)
    for number, r in enumerate(reversed(range(rounds))):
        stride, ops = 2**r, []
        if me % (2 * stride) == stride:
            ops = [Receive(me - stride, min(stride, size - me) * n, number)]
        elif me % (2 * stride) == 0 and me + stride < size:
            blocks = tuple(range(me + stride, min(me + 2 * stride, size)))
            ops = [Send(me + stride, blocks, len(blocks) * n, number)]
        yield f"scatter {number + 1}", ops


def linear_gather(me, size, n):
    if size > 1:
        peers = range(1, size)
        yield "linear", [Send(0, (me,), n, me - 1)] if me else \
            [Receive(peer, n, peer - 1) for peer in peers]  # fmt: skip


def linear_scatter(me, size, n):
    if size > 1:
        peers = range(1, size)
        yield "linear", [Receive(0, n, me - 1)] if me else \
            [Send(peer, (peer,), n, peer - 1) for peer in peers]  # fmt: skip


def recursive_doubling_scan(me, size, n):
    """Block r is rank r's vector: a message of n bytes is the combination of all that are held."""

    def held(rank, r):
        if r == 0:
            return [rank]
        peer = rank ^ 2 ** (r - 1)
        return held(rank, r - 1) + (held(peer, r - 1) if peer < size else [])

    for r in range(log2_up(size)):
        peer = me ^ 2**r
        ops = exchange(peer, held(me, r), n, r, "put together") if peer < size else []
        yield f"round {r + 1}", ops


def linear_scan(me, size, n):
    ops = []
    if me > 0:
        ops.append(Receive(me - 1, n, me - 1, "put together"))
    if me < size - 1:
        ops.append(Send(me + 1, tuple(range(me + 1)), n, me))
    if ops:
        yield "chain", ops


def ring_reduce_scatter(me, size, n):
    block, ops = cut(n, size), []
    right, left = (me + 1) % size, (me - 1) % size
    for step in range(size - 1):
        ops.append(Send(right, ((me - step - 1) % size,), block, step))
        ops.append(Receive(left, block, step, "combine"))
    if ops:
        yield "ring", ops


def pairwise_reduce_scatter(me, size, n):
    block, ops = cut(n, size), []
    for d in range(1, size):
        there, source = (me + d) % size, (me - d) % size
        ops += [Send(there, (there,), block, d - 1), Receive(source, block, d - 1, "combine")]
    if ops:
        yield "pairwise", ops


def hierarchical_allreduce(
    me, size, n, node_ranks=8, leaders=1, intra_node="tree", inter_node=None
):
    """Up in each node, across by another algorithm, down; part l of the vector over leader l.

    The blocks of an algorithm between nodes are of a part: (part, block).
    """
    nodes = [range(size)[first : first + node_ranks] for first in range(0, size, node_ranks)]
    own = next(i for i, node in enumerate(nodes) if me in node)
    mine = me - nodes[own][0]  # which leader I am, if any
    written = json.dumps(inter_node or {"kind": "recursive_doubling_allreduce"})
    across, options = _as_written(written)
    leaders = len(nodes[0]) if intra_node == "ring" else leaders
    length = cut(n, leaders)
    numbers, blocks = _numbers_and_blocks(written, len(nodes), length)
    stages = _up_and_down_a_ring if intra_node == "ring" else _up_and_down_trees
    up, down, height = stages(list(nodes[own]), me, length, leaders, blocks, len(nodes[0]))
    yield from up
    part = (mine + 1) % leaders if intra_node == "ring" else mine
    for i, (label, ops) in enumerate(across(own, len(nodes), length, **options)):
        moved = []
        for op in ops if mine < leaders else []:
            there = nodes[op.peer][mine]
            number = height + numbers[i, op.number]
            if isinstance(op, Send):
                sent = tuple((part, block) for block in op.blocks)
                moved.append(Send(there, sent, op.bytes, number))
            else:
                moved.append(Receive(there, op.bytes, number, op.how))
        plain = across is recursive_doubling_allreduce
        yield label if plain else f"inter-node {label}", moved
    for label, ops in down:
        first = height + len(numbers)
        yield label, [replace(op, number=first + op.number) for op in ops]


def _as_written(between):
    options = json.loads(between)
    return globals()[options.pop("kind")], options


@cache
def _numbers_and_blocks(between, size, n):
    """Draws of all ranks one by one, in the order of their rounds; and all blocks."""
    (algorithm, options), numbers, blocks = _as_written(between), set(), set()
    for rank in range(size):
        for i, (_, ops) in enumerate(algorithm(rank, size, n, **options)):
            numbers |= {(i, op.number) for op in ops}
            blocks |= {block for op in ops if isinstance(op, Send) for block in op.blocks}
    return {draw: place for place, draw in enumerate(sorted(numbers))}, sorted(blocks) or [0]


def _up_and_down_trees(node, me, length, leaders, blocks, width):
    """Part by part, up a binomial tree to its leader; and the same way back."""
    height = log2_up(width)
    up, down = [], []
    for leader in range(leaders):
        places = node[leader:] + node[:leader]  # the leader first
        place = places.index(me)
        part = tuple((leader, block) for block in blocks)
        name = f", part {leader + 1}" if leaders > 1 else ""
        for r in range(height):
            back = height - 1 - r
            climbed, descended = [], []
            for level, ops in ((r, climbed), (back, descended)):
                gap, number = 2**level, leader * height + r
                upper = place % (2 * gap) == 0 and place + gap < len(places)
                lower = place % (2 * gap) == gap
                if upper or lower:
                    peer = places[place + gap if upper else place - gap]
                    how = "combine" if ops is climbed else "take"
                    sends = lower if ops is climbed else upper
                    ops.append(Send(peer, part, length, number) if sends else
                               Receive(peer, length, number, how))  # fmt: skip
            up.append((f"up {r + 1}{name}", climbed))
            down.append((f"down {r + 1}{name}", descended))
    return up, down, leaders * height


def _up_and_down_a_ring(node, me, length, leaders, blocks, width):
    """As `ring_allreduce`, of which this is each half; a block is a part."""
    found = []
    for label, ops in ring_allreduce(node.index(me), width, length * width):
        moved = []
        for op in ops:
            number, peer = op.number % (width - 1), node[op.peer]
            if isinstance(op, Send):
                part = tuple((op.blocks[0], block) for block in blocks)
                moved.append(Send(peer, part, op.bytes, number))
            else:
                moved.append(Receive(peer, op.bytes, number, op.how))
        found.append((f"intra-node {label}", moved))
    return found[:1], found[1:], width - 1
