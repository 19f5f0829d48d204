"""Textbook collective algorithms: what each rank sends, receives and combines.

One function an algorithm, written from the literature and not from the simulator's. It yields a
round at a time: its name, and what one rank does in it, in order. `me` is the rank, `size` the
number of ranks, n the message bytes of a case. Data are blocks with numbers; what a block holds is
the set of ranks whose input is in it.

Thakur, Rabenseifner & Gropp, IJHPCA 2005 (recursive doubling and halving, Rabenseifner, binomial
trees, ring, pairwise exchange); Bruck et al., IEEE TPDS 1997; Hensgen, Finkel & Manber, IJPP 1988
(dissemination); Bayatpour et al., SC 2017 (several leaders in a node); Pjesivac-Grbovic et al.,
Cluster Computing 2007 (chain, binary tree, segments); Sanders, Speck & Träff, Parallel Computing
2009 (two trees); Cho et al., MLSys 2019 (rings in nodes and between them); Chen
et al., HPC-Asia 2005 (neighbor exchange); Träff, EuroPVM/MPI 2005 (butterfly); Jeaugey 2025 (PAT);
De Sensi et al., SC 2025 (Bine); Loch & Koslovski, SBAC-PAD 2021 (Sparbit);
Träff, TOPC 2025 (circulant graphs).
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product

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

    "put together": combined, where a block is what one rank has put in (of a prefix reduction);
    "put together again": the same, of what it may have from others before.
    """

    peer: int
    bytes: int
    number: int
    how: str = "take"
    occupies: bool = True

    @property
    def combines(self):
        """Whether its receiver computes."""
        return self.how in ("combine", "put together", "put together again")


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


def dissemination_barrier(me, size, n, radix=2):
    for r in range(_digits_of(size, radix)):
        first = r * (radix - 1)
        distances = [d for d in range(radix**r, radix ** (r + 1), radix**r) if d < size]
        sends = [Send((me + d) % size, (0,), n, first + i) for i, d in enumerate(distances)]
        receives = [Receive((me - d) % size, n, first + i, "learn")
                    for i, d in enumerate(distances)]  # fmt: skip
        yield f"round {r + 1}", sends + receives


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


def rabenseifner_allreduce(me, size, n, radix=2):
    """Vector halving with distance doubling, and back."""
    if radix != 2:
        yield from _by_digits(me, size, n, radix)
        return
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


def _by_digits(me, size, n, k):
    """The same with a k-th of what is left in each round (MPICH's k_reduce_scatter_allgather)."""
    power, rounds = 1, 0
    while power * k <= size:
        power, rounds = power * k, rounds + 1
    block, turns = cut(n, power), rounds * (2 * k - 3)
    numbers = max(FOLD_IN, turns + rounds * (k - 1))
    whole = tuple(range(power))
    yield from _folds(me, size, power, (whole, n, numbers), False)
    mine, before = list(whole), []
    for r in range(rounds):
        ops, digit = [], me // k**r % k
        part = len(mine) // k
        for other in range(k) if me < power else []:
            if other != digit:
                peer, give = me + (other - digit) * k**r, mine[other * part :][:part]
                number = r * (2 * k - 3) + digit + other - 1
                ops += exchange(peer, give, part * block, number, "combine")
        before.append(mine)
        mine = mine[digit * part :][:part]
        yield f"reduce-scatter {r + 1}", ops
    for turn, r in enumerate(reversed(range(rounds))):
        ops, digit, first = [], me // k**r % k, turns + turn * (k - 1) - 1
        if me < power:
            length = len(mine) * block
            peers = [me + ((digit + j) % k - digit) * k**r for j in range(k)]
            ops = [Send(peers[j], tuple(mine), length, first + j) for j in range(1, k)]
            ops += [Receive(peers[-j], length, first + j) for j in range(1, k)]
        mine = before[r]
        yield f"allgather {turn + 1}", ops
    yield from _folds(me, size, power, (whole, n, numbers), True)


def _folds(me, size, power, message, way_out):
    """Ranks beyond a power, as many at a time as there are inside; message: blocks, bytes, draw."""
    blocks, n, numbers = message
    folds = range(power, size, power)
    for turn, first in enumerate(folds):
        number, ops = numbers + 2 * turn + way_out, []
        if first <= me < first + power:
            there = me - first
            ops = [Receive(there, n, number)] if way_out else [Send(there, blocks, n, number)]
        elif me < power and me + first < size:
            there = me + first
            ops = ([Send(there, blocks, n, number)] if way_out else
                   [Receive(there, n, number, "combine")])  # fmt: skip
        name = f" {turn + 1}" if len(folds) > 1 else ""
        yield f"fold {'out' if way_out else 'in'}{name}", ops


def swing_allreduce(me, size, n):
    """De Sensi et al. 2024: a rank sends the blocks of those whom its partner comes to later."""
    power, k = largest_power(size)
    block = cut(n, power)
    whole = (lambda _: tuple(range(power))), n

    def partner(rank, s):
        distance = sum((-2) ** i for i in range(s + 1))
        return (rank + distance if rank % 2 == 0 else rank - distance) % power

    def comes_to(rank, s):
        """The rank itself, and all whom it reaches from round s on."""
        if s == k:
            return [rank]
        return comes_to(rank, s + 1) + comes_to(partner(rank, s), s + 1)

    yield from fold(me, size, "fold in", whole, way_out=False, how="combine")
    for back in (False, True):
        for turn in range(k):
            s, ops = k - 1 - turn if back else turn, []
            if me < power:
                peer = partner(me, s)
                blocks = sorted(comes_to(me if back else peer, s + 1))
                number = k + turn if back else s
                how = "take" if back else "combine"
                ops = exchange(peer, blocks, len(blocks) * block, number, how)
            yield f"{'allgather' if back else 'reduce-scatter'} {turn + 1}", ops
    yield from fold(me, size, "fold out", whole, way_out=True)


def _base_minus_two(value, digits):
    """The digits of a number to the base -2, the lowest first; None where they are more."""
    found = []
    while value:
        value, digit = -(value // 2), value % 2
        found.append(digit)
    return found + [0] * (digits - len(found)) if len(found) <= digits else None


def _bine_digits(rank, size):
    """De Sensi et al. 2025, of 2^k ranks: those of the rank, or of the rank less their number."""
    _, k = largest_power(size)
    return _base_minus_two(rank, k) or _base_minus_two(rank - size, k)


def _flipped(rank, m, size):
    """The rank whose m lowest digits are the others."""
    digits = _bine_digits(rank, size)
    digits = [1 - digit for digit in digits[:m]] + digits[m:]
    return sum(digit * (-2) ** place for place, digit in enumerate(digits)) % size


def _bine_height(rank, size):
    """How many lowest digits are equal: the rank is reached as these are flipped; 0 is the root."""
    digits = _bine_digits(rank, size)
    if rank == 0:
        return len(digits) + 1
    return next((m for m, digit in enumerate(digits) if digit != digits[0]), len(digits))


@cache
def _bine_below(rank, size):
    """The ranks of a subtree."""
    below = [rank]
    for m in range(1, _bine_height(rank, size)):
        below += _bine_below(_flipped(rank, m, size), size)
    return below


def _bine_tree(me, size, down):
    """Rounds of the tree among a power of two of ranks: what it is called, peer, who sends."""
    power, k = largest_power(size)
    for r in range(k):
        m = k - r if down else r + 1
        ends = None
        if me < power and _bine_height(me, power) >= m:
            ends = _flipped(me, m, power), (_bine_height(me, power) > m) == down
        yield r, ends


def _with_folded(ranks, size):
    """Blocks of these ranks and of those that are folded to them."""
    power, _ = largest_power(size)
    return [b for rank in ranks for b in (rank, rank + power) if b < size]


def bine_broadcast(me, size, n):
    for r, ends in _bine_tree(me, size, True):
        ops = []
        if ends:
            ops = [Send(ends[0], (0,), n, r) if ends[1] else Receive(ends[0], n, r)]
        yield f"down {r + 1}", ops
    yield from fold(me, size, "fold out", (lambda _: (0,), n), way_out=True)


def bine_reduce(me, size, n):
    yield from fold(me, size, "fold in", (lambda _: (0,), n), way_out=False, how="combine")
    for r, ends in _bine_tree(me, size, False):
        ops = []
        if ends:
            ops = [Send(ends[0], (0,), n, r) if ends[1] else Receive(ends[0], n, r, "combine")]
        yield f"up {r + 1}", ops


@cache
def _longest_below(size, m):
    """The most blocks of a subtree that is reached as m digits are flipped."""
    power, _ = largest_power(size)
    return max(len(_with_folded(_bine_below(rank, power), size))
               for rank in range(power) if _bine_height(rank, power) == m)  # fmt: skip


def _bine_blocks(me, size, n, down):
    power, k = largest_power(size)
    for r, ends in _bine_tree(me, size, down):
        m, ops = k - r if down else r + 1, []
        if ends:
            peer, sends = ends
            blocks = _with_folded(_bine_below(peer if down else me, power), size)
            length = _longest_below(size, m) * n
            ops = [Send(peer, tuple(blocks), length, r) if sends else Receive(peer, length, r)]
        yield f"{'scatter' if down else 'gather'} {r + 1}", ops


def bine_gather(me, size, n):
    yield from fold(me, size, "fold in", (lambda extra: (extra,), n), way_out=False)
    yield from _bine_blocks(me, size, n, False)


def bine_scatter(me, size, n):
    yield from _bine_blocks(me, size, n, True)
    yield from fold(me, size, "fold out", (lambda extra: (extra,), n), way_out=True)


def _bine_partner(rank, s, power):
    """One side or the other, by s + 1 ones to the base -2."""
    distance = sum((-2) ** place for place in range(s + 1))
    return (rank - distance if rank % 2 else rank + distance) % power


@cache
def _bine_reached(rank, s, power):
    """The rank itself, and all whom it reaches in rounds s, s + 1, ..."""
    if 1 << s == power:
        return [rank]
    there = _bine_partner(rank, s, power)
    return _bine_reached(rank, s + 1, power) + _bine_reached(there, s + 1, power)


@cache
def _longest_reached(size, s):
    power, _ = largest_power(size)
    return max(len(_with_folded(_bine_reached(rank, s, power), size)) for rank in range(power))


def bine_allreduce(me, size, n):
    power, k = largest_power(size)
    whole = (lambda _: (0,)), n
    yield from fold(me, size, "fold in", whole, way_out=False, how="combine")
    for s in range(k):
        ops = exchange(_bine_partner(me, s, power), [0], n, s, "combine") if me < power else []
        yield f"round {s + 1}", ops
    yield from fold(me, size, "fold out", whole, way_out=True)


def bine_allgather(me, size, n):
    """Distances from the farthest to the nearest: a rank sends all that it has."""
    power, k = largest_power(size)
    yield from fold(me, size, "fold in", (lambda extra: (extra,), n), way_out=False)
    for r, s in enumerate(reversed(range(k))):
        ops = []
        if me < power:
            blocks = _with_folded(_bine_reached(me, s + 1, power), size)
            length = _longest_reached(size, s + 1) * n
            ops = exchange(_bine_partner(me, s, power), blocks, length, r, "take")
        yield f"round {r + 1}", ops
    lacking = (lambda extra: tuple(b for b in range(size) if b != extra)), (size - 1) * n
    yield from fold(me, size, "fold out", lacking, way_out=True)


def bine_reduce_scatter(me, size, n):
    """Distances from the nearest to the farthest: a partner gets what it and those whom it reaches
    later need.
    """
    power, k = largest_power(size)
    block = cut(n, size)
    everything = (lambda _: tuple(range(size))), n
    yield from fold(me, size, "fold in", everything, way_out=False, how="combine")
    for s in range(k):
        ops = []
        if me < power:
            peer = _bine_partner(me, s, power)
            blocks = _with_folded(_bine_reached(peer, s + 1, power), size)
            ops = exchange(peer, blocks, _longest_reached(size, s + 1) * block, s, "combine")
        yield f"round {s + 1}", ops
    yield from fold(me, size, "fold out", (lambda extra: (extra,), block), way_out=True)


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


def reduce_broadcast_allreduce(me, size, n, reduce=None, broadcast=None):
    reduce, broadcast = reduce or {}, broadcast or {}
    if {reduce.get("kind"), broadcast.get("kind")} <= {
        None,
        "binomial_reduce",
        "binomial_broadcast",
    }:
        yield from _up(me, size, n, "combine")
        yield from _down(me, size, n, log2_up(size))
        return
    yield from _stages(me, [
        ("reduce", reduce or {"kind": "binomial_reduce"}, n, [range(size)]),
        ("broadcast", broadcast or {"kind": "binomial_broadcast"}, n, [range(size)]),
    ])  # fmt: skip


def nonoverlapping_reduce_scatter(me, size, n, reduce=None, scatter=None):
    yield from _stages(me, [
        ("reduce", reduce or {"kind": "binomial_reduce"}, n, [range(size)]),
        ("scatter", scatter or {"kind": "linear_scatter"}, cut(n, size), [range(size)]),
    ])  # fmt: skip


def hierarchical_broadcast(me, size, n, node_ranks=8, intra_node=None, inter_node=None):
    usual = {"kind": "binomial_broadcast"}
    nodes = [range(size)[first : first + node_ranks] for first in range(0, size, node_ranks)]
    yield from _stages(me, [
        ("inter-node", inter_node or usual, n, [range(0, size, node_ranks)]),
        ("intra-node", intra_node or usual, n, nodes),
    ])  # fmt: skip


def hierarchical_reduce(me, size, n, node_ranks=8, intra_node=None, inter_node=None):
    usual = {"kind": "binomial_reduce"}
    nodes = [range(size)[first : first + node_ranks] for first in range(0, size, node_ranks)]
    yield from _stages(me, [
        ("intra-node", intra_node or usual, n, nodes),
        ("inter-node", inter_node or usual, n, [range(0, size, node_ranks)]),
    ])  # fmt: skip


def hierarchical_barrier(
    me, size, n, node_ranks=8, intra_node=None, inter_node=None, release="broadcast"
):
    within = intra_node or {"kind": "tree_barrier"}
    nodes = [range(size)[first : first + node_ranks] for first in range(0, size, node_ranks)]
    across = inter_node or {"kind": "dissemination_barrier"}
    yield from _stages(me, [
        ("intra-node", within, n, nodes),
        ("inter-node", across, n, [range(0, size, node_ranks)]),
        ("release", {"kind": "binomial_broadcast"} if release == "broadcast" else within, n, nodes),
    ])  # fmt: skip


def hierarchical_gather(me, size, n, node_ranks=8, intra_node=None, inter_node=None):
    usual = {"kind": "binomial_gather"}
    within, between = _of_nodes(size, n, node_ranks)
    yield from _moving(me, [("intra-node", intra_node or usual, *within),
                            ("inter-node", inter_node or usual, *between)])  # fmt: skip


def hierarchical_scatter(me, size, n, node_ranks=8, intra_node=None, inter_node=None):
    usual = {"kind": "binomial_scatter"}
    within, between = _of_nodes(size, n, node_ranks)
    yield from _moving(me, [("inter-node", inter_node or usual, *between),
                            ("intra-node", intra_node or usual, *within)])  # fmt: skip


def hierarchical_allgather(me, size, n, node_ranks=8, gather=None, inter_node=None, broadcast=None):
    """In the end all blocks are one vector, which the broadcast cuts as it likes."""
    within, between = _of_nodes(size, n, node_ranks)
    down = broadcast or {"kind": "binomial_broadcast"}
    yield from _moving(me, [
        ("gather", gather or {"kind": "binomial_gather"}, *within),
        ("inter-node", inter_node or {"kind": "recursive_doubling_allgather"}, *between),
        ("broadcast", down, size * n, within[1], _parts_of_all(size, n, down)),
    ])  # fmt: skip


def _parts_of_all(size, n, down):
    """Which ranks' blocks are in a block of the vector of all, as a broadcast cuts it."""

    def part(group, block):
        blocks = _numbers_and_blocks(json.dumps(down), len(group), size * n)[1]
        place = blocks.index(block)
        return [rank for rank in range(size) if rank * len(blocks) // size == place]

    return part


def _of_nodes(size, n, node_ranks):
    """Bytes of a block, groups, and blocks of the whole in a block: within nodes and between."""
    width = min(node_ranks, size)
    nodes = [range(size)[first : first + width] for first in range(0, size, width)]
    between = width * n, [range(0, size, width)], lambda group, block: list(nodes[block])
    return (n, nodes, lambda group, block: [group[block]]), between


def _moving(me, stages):
    """Others one after the other, of blocks that are moved: name, what it is, bytes, groups, and
    which blocks of the whole are in a block of theirs.
    """
    used = 0
    for name, written, length, groups, inside in stages:
        ops, used = _done_by_groups(me, json.dumps(written), length, groups, used, inside)
        if max(map(len, groups)) > 1:
            yield name, ops


def _done_by_groups(me, text, length, groups, used, inside):
    """Sends and receives of a rank in an algorithm that its group does; draws count from `used`."""
    ops = []
    for size in sorted({len(group) for group in groups}, reverse=True):
        numbers, _ = _numbers_and_blocks(text, size, length)
        algorithm, options = _as_written(text)
        for group in groups:
            if len(group) != size or me not in group:
                continue
            for i, (_, done) in enumerate(algorithm(group.index(me), size, length, **options)):
                for op in done:
                    moved = replace(op, peer=group[op.peer], number=used + numbers[i, op.number])
                    if isinstance(op, Send):
                        whole = [w for block in op.blocks for w in inside(group, block)]
                        moved = replace(moved, blocks=tuple(whole))
                    ops.append(moved)
        used += len(numbers)
    return ops, used


def _stages(me, stages):
    """Others one after the other, each done by all groups of its ranks at once: name, what it is
    (a table), bytes, groups. A stage of single ranks has no messages, and no row.

    Groups of each size cut the vector in their own way: a block of the whole is one of each.
    """
    parts, cuts = [], []  # by stage and size of its groups
    for _, written, length, groups in stages:
        for size in sorted({len(group) for group in groups}, reverse=True):
            parts.append((json.dumps(written), length, [g for g in groups if len(g) == size]))
            cuts.append(_numbers_and_blocks(parts[-1][0], size, length)[1])
            if written["kind"].endswith("_scatter"):  # its own block the root sends to nobody
                cuts[-1] = list(range(size))
    used = place = 0
    for name, _, _, groups in stages:
        ops = []
        for _ in {len(group) for group in groups}:

            def of_all(group, block, place=place):
                return product(*cuts[:place], [block], *cuts[place + 1 :])

            done, used = _done_by_groups(me, *parts[place], used, of_all)
            ops, place = ops + done, place + 1
        if max(map(len, groups)) > 1:
            yield name, ops


def linear_barrier(me, size, n):
    for label, first in (("up", 0), ("down", size - 1)):
        ops = []
        for peer in range(1, size) if me == 0 else [0]:
            number = first + max(me, peer) - 1
            sends = (me == 0) == (label == "down")
            ops.append(Send(peer, (0,), n, number) if sends else Receive(peer, n, number, "learn"))
        if size > 1:
            yield label, ops


def double_ring_barrier(me, size, n):
    for lap in range(2 if size > 1 else 0):
        send = Send((me + 1) % size, (0,), n, lap * size + me)
        back = Receive((me - 1) % size, n, lap * size + (me - 1) % size, "learn")
        yield f"lap {lap + 1}", [send, back] if me == 0 else [back, send]


def tree_barrier(me, size, n):
    yield from _up(me, size, n, "learn")
    yield from _down(me, size, n, log2_up(size))


def binomial_reduce(me, size, n):
    yield from _up(me, size, n, "combine")


def binomial_broadcast(me, size, n):
    yield from _down(me, size, n, 0)


def scatter_allgather_broadcast(me, size, n, allgather="ring"):
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
    if allgather == "recursive_doubling":
        for label, ops in recursive_doubling_allgather(me, size, block):
            yield label, [op if op.number >= FOLD_IN else replace(op, number=op.number + rounds)
                          for op in ops]  # fmt: skip
        return
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


def rabenseifner_reduce(me, size, n):
    """Reduce-scatter as in the allreduce; then a rank hands on all that it has, farthest first."""
    power, k = largest_power(size)
    block = cut(n, power)
    whole = (lambda _: tuple(range(power))), n
    yield from fold(me, size, "fold in", whole, way_out=False, how="combine")
    mine = list(range(power))
    for r in range(k):
        ops = []
        if me < power:
            lower, upper = mine[: len(mine) // 2], mine[len(mine) // 2 :]
            mine, give = (upper, lower) if me & 2**r else (lower, upper)
            ops = exchange(me ^ 2**r, give, len(give) * block, r, "combine")
        yield f"reduce-scatter {r + 1}", ops

    def reduced(rank):
        """The block that a rank has after the first half: its highest bit says the last choice."""
        return sum(2 ** (k - 1 - r) for r in range(k) if rank & 2**r)

    def gathered(rank, r):
        """The blocks that it has when all farther ranks have sent."""
        if r == k:
            return [reduced(rank)]
        return gathered(rank, r + 1) + gathered(rank + 2**r, r + 1)

    for turn, r in enumerate(reversed(range(k))):
        ops, number = [], k + turn
        if 2**r <= me < 2 ** (r + 1):
            blocks = gathered(me, r + 1)
            ops = [Send(me - 2**r, tuple(blocks), len(blocks) * block, number)]
        elif me < 2**r:
            ops = [Receive(me + 2**r, 2**turn * block, number)]
        yield f"gather {turn + 1}", ops


def chain_reduce(me, size, n, segment_bytes=8192):
    """The chain of a broadcast the other way: rank N - 1 has nothing to wait for."""
    segments = max(cut(n, segment_bytes), 1)
    length, ops, place = cut(n, segments), [], size - 1 - me
    for segment in range(segments):
        if me < size - 1:
            ops.append(Receive(me + 1, length, place - 1 + segment, "combine"))
        if me > 0:
            ops.append(Send(me - 1, (segment,), length, place + segment))
    if ops:
        yield "chain", ops


@cache
def reducing_tree(size, in_order):
    """{child: (parent, steps from its send to its parent's)}: a parent sends after the second one.

    In order: the subtree of ranks a ... b has the root b, and the upper half of the others, which
    are one more where they are odd, are those of its first child. Else level by level: a child in
    a level has the same place there as its parent has in its own, or as far on as there are of
    these.
    """
    tree = {}
    if in_order:

        def grow(begin, root):
            others = root - begin
            lower = (others + 1) // 2 if others > 1 else 0
            parts = (begin + lower, root - 1, 1 + (others > 1)), (begin, begin + lower - 1, 1)
            for first, last, waits in parts:
                if first <= last:
                    tree[last] = root, waits
                    grow(first, last)

        grow(0, size - 1)
        return tree
    above, level = [0], []
    rest = list(range(1, size))
    while rest:
        level, rest = rest[: 2 * len(above)], rest[2 * len(above) :]
        for place, rank in enumerate(level):
            second, at = divmod(place, len(above))
            tree[rank] = above[at], 1 if second or place + len(above) >= len(level) else 2
        above = level
    return tree


def binary_tree_reduce(me, size, n, segment_bytes=8192, in_order=False):
    """Numbers of draws: those of a broadcast down the same tree, the other way round."""
    segments = max(cut(n, segment_bytes), 1)
    length, ops = cut(n, segments), []
    tree = reducing_tree(size, in_order)

    def before_end(rank):
        if rank not in tree:
            return 0
        parent, waits = tree[rank]
        return before_end(parent) + waits

    longest = max(map(before_end, tree), default=0)
    children = sorted((-waits, child) for child, (parent, waits) in tree.items() if parent == me)
    for segment in range(segments):
        for _, child in children:
            number = longest - before_end(child) + 2 * segment
            ops.append(Receive(child, length, number, "combine"))
        if me in tree:
            number = longest - before_end(me) + 2 * segment
            ops.append(Send(tree[me][0], (segment,), length, number))
    if ops:
        yield "binary tree", ops
    if in_order and size > 1:
        number = longest + 2 * segments - 2
        ops = {size - 1: [Send(0, tuple(range(segments)), n, number)],
               0: [Receive(size - 1, n, number)]}  # fmt: skip
        yield "to rank 0", ops.get(me, [])


def neighbor_exchange_allgather(me, size, n):
    """Chen et al. 2005: a pair of blocks goes on, from the one side to the other."""
    if size % 2:
        yield from ring_allgather(me, size, n)
        return
    sides = ((me + 1) % size, (me - 1) % size)
    if me % 2:
        sides = sides[::-1]
    ops = exchange(sides[0], [me], n, 0, "take")
    for r in range(1, size // 2):
        ops += exchange(sides[r % 2], _last_pair(me, size, r), 2 * n, r, "take")
    yield "neighbor exchange", ops


def _last_pair(me, size, r):
    """What a rank has received in the round before, or made in round 0."""
    if r == 1:
        return [me - me % 2, me - me % 2 + 1]
    peer = me + 1 if me % 2 == (r - 1) % 2 else me - 1
    return _last_pair(peer % size, size, r - 1)


def pat_allgather(me, size, n):
    """Jeaugey 2025: Bruck's with the dimensions in reverse; a block goes down its rank's tree."""
    for turn, r in enumerate(reversed(range(log2_up(size)))):
        blocks = [(me - way) % size for way in range(size) if way % 2 ** (r + 1) == 0
                  and way + 2**r < size]  # fmt: skip
        back = (me - 2**r) % size
        ops = [Send((me + 2**r) % size, tuple(blocks), len(blocks) * n, turn),
               Receive(back, len(blocks) * n, turn)]  # fmt: skip
        yield f"round {turn + 1}", ops


def pat_reduce_scatter(me, size, n):
    """The same trees, up: a rank hands on what it has combined of those whose root is that far."""
    block = cut(n, size)
    for r in range(log2_up(size)):
        roots = [(me - way) % size for way in range(size) if way % 2 ** (r + 1) == 2**r]
        length = len(roots) * block
        ops = [Send((me - 2**r) % size, tuple(roots), length, r),
               Receive((me + 2**r) % size, length, r, "combine")]  # fmt: skip
        yield f"round {r + 1}", ops


def butterfly_reduce_scatter(me, size, n):
    """Träff 2005. Part p of the vector is block p, and that of rank p + P if there is one."""
    power, k = largest_power(size)
    block, extra = cut(n, size), size - power

    def blocks(parts):
        return [b for p in parts for b in (p, p + power) if b < size]

    whole = (lambda _: tuple(range(size))), n
    yield from fold(me, size, "fold in", whole, way_out=False, how="combine")
    mine = list(range(power))
    for r in range(k):
        ops, half = [], len(mine) // 2
        if me < power:
            lower, upper = mine[:half], mine[half:]
            mine, give = (upper, lower) if me & 2**r else (lower, upper)
            longest = len(blocks(range(half)))  # of any rank: the first parts have two blocks
            ops = exchange(me ^ 2**r, blocks(give), longest * block, r, "combine")
        yield f"round {r + 1}", ops
    part = int(f"{me:0{k}b}"[::-1], 2) if k > 0 and me < power else me
    if extra:
        ops = []
        if me >= power:
            there = int(f"{me - power:0{k}b}"[::-1], 2) if k else 0
            ops = [Receive(there, block, FOLD_OUT)]
        elif part < extra:
            ops = [Send(part + power, (part + power,), block, FOLD_OUT)]
        yield "fold out", ops
    if power > 2:
        ops = exchange(part, [part], block, k, "take") if me < power and part != me else []
        yield "exchange of blocks", ops


@cache
def circulant_schedule(size):
    """Träff 2025: the distances, and which block each rank receives in each of q rounds.

    Blocks of these rounds are 0 ... q - 1, those of the q rounds before -q ... -1. In round k a
    rank searches ways over falling distances (`size` is one), the longest first, to numbers that
    are less than the next distance below rank + size, and at least this one; the last distance of
    the way is the block, and no other way ends with it.
    """
    skips = [size]
    while skips[0] > 1:
        skips.insert(0, (skips[0] + 1) // 2)
    q = len(skips) - 1
    schedule = [[None] * q]
    for rank in range(1, size):
        left, own = rank, q
        for e in reversed(range(q)):
            if skips[e] <= left:
                left, own = left - skips[e], e
        used, found = {own}, []

        def search(last, reached, rank=rank, used=used, found=found):
            below = last
            while len(found) < q:
                k = len(found)
                low, high = (rank + size - skips[i] for i in (k + 1, k))
                free = [e for e in range(below) if e not in used]
                if reached > high:
                    return
                if reached < low or (reached == low and free):
                    below = max(free)
                    search(below, reached + skips[below])
                else:
                    used.add(last)
                    found.append(last)
                    return

        search(q + 1, 0)
        schedule.append([own if e == q else e - q for e in found])
    return skips, schedule


def _circulant(size, segments):
    """Rounds of a broadcast from rank 0: (distance, {receiver: segment})."""
    skips, schedule = circulant_schedule(size)
    q = len(skips) - 1
    rounds, i = [], 0
    while q and len(rounds) < segments - 1 + q:
        begins = -(segments - 1) % q
        if i >= begins:
            blocks = {rank: schedule[rank][i % q] - begins + i // q * q for rank in range(1, size)}
            inside = {rank: min(b, segments - 1) for rank, b in blocks.items() if b >= 0}
            rounds.append((skips[i % q], inside))
        i += 1
    return rounds


def circulant_broadcast(me, size, n, segment_bytes=8192):
    segments = max(cut(n, segment_bytes), 1)
    length, ops = cut(n, segments), []
    for t, (d, blocks) in enumerate(_circulant(size, segments)):
        there = (me + d) % size
        if there in blocks:
            ops.append(Send(there, (blocks[there],), length, t))
        if me in blocks:
            ops.append(Receive((me - d) % size, length, t))
    if size > 1:
        yield "circulant graph", ops


def circulant_reduce(me, size, n, segment_bytes=8192):
    """All rounds backwards."""
    segments = max(cut(n, segment_bytes), 1)
    length, ops = cut(n, segments), []
    for t, (d, blocks) in enumerate(reversed(_circulant(size, segments))):
        if me in blocks:
            ops.append(Send((me - d) % size, (blocks[me],), length, t))
        if (me + d) % size in blocks:
            ops.append(Receive((me + d) % size, length, t, "combine"))
    if size > 1:
        yield "circulant graph", ops


def circulant_allgather(me, size, n, segment_bytes=8192):
    """Segment s of rank r's block is block (r, s), unless it is the only one."""
    segments = max(cut(n, segment_bytes), 1)
    length, ops = cut(n, segments), []
    for t, (d, blocks) in enumerate(_circulant(size, segments)):
        # Rank `root` broadcasts as if it were rank 0.
        sent = [(root, blocks[(me + d - root) % size]) for root in range(size)
                if (me + d - root) % size in blocks]  # fmt: skip
        if segments == 1:
            sent = [root for root, _ in sent]
        ops.append(Send((me + d) % size, tuple(sent), len(sent) * length, t))
        ops.append(Receive((me - d) % size, len(blocks) * length, t))
    if size > 1:
        yield "circulant graph", ops


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


def pairwise_alltoall(me, size, n, partners="shift"):
    """The block from rank a to rank b has the number ``a N + b``."""
    ops = []
    for d in range(1, size):
        there, source = (me + d) % size, (me - d) % size
        if partners == "xor" and largest_power(size)[0] == size:
            there = source = me ^ d
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
    folded = (0,), n, max(FOLD_IN, rounds * (radix - 1))
    yield from _folds(me, size, power, folded, False)
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
    yield from _folds(me, size, power, folded, True)


def bruck_alltoall(me, size, n, radix=2):
    """A block that has d to go is in place d. What is sent in round r is in the same place there:
    the digits of d below r say which way it has come.
    """
    for r in range(_digits_of(size, radix)):
        stride, sends, receives = radix**r, [], []
        for digit in range(1, radix):
            blocks = []
            for place in range(size):
                if place // stride % radix == digit:
                    source = (me - place % stride) % size
                    blocks.append(source * size + (source + place) % size)
            if blocks:
                d, number = digit * stride, r * (radix - 1) + digit - 1
                sends.append(Send((me + d) % size, tuple(blocks), len(blocks) * n, number))
                receives.append(Receive((me - d) % size, len(blocks) * n, number))
        yield f"round {r + 1}", sends + receives


def binary_tree_broadcast(me, size, n, segment_bytes=8192, numbering="heap"):
    """Numbers of draws: the first child has a segment one step after its parent, the second two."""
    segments = max(cut(n, segment_bytes), 1)
    length, ops = cut(n, segments), []

    def children_of(rank):
        level = largest_power(rank + 1)[0]  # ranks in its level
        both = (rank + level, rank + 2 * level) if numbering == "levels" else \
            (2 * rank + 1, 2 * rank + 2)  # fmt: skip
        return [child for child in both if child < size]

    above = {child: (rank, turn) for rank in range(size)
             for turn, child in enumerate(children_of(rank), 1)}  # fmt: skip

    def had(rank):
        return -1 if rank == 0 else had(above[rank][0]) + above[rank][1]

    for segment in range(segments):
        if me > 0:
            ops.append(Receive(above[me][0], length, had(me) + 2 * segment))
        for child in children_of(me):
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


@cache
def nccl_tree(size, width, tree, begin):
    """The parent of each rank, and its children by what they are: next in its chain, or a node.

    The ranks of a node are a chain from its head on, `begin` places behind its first rank. Of a
    node's two nodes below, the one that has its name from the right of it (or all that rank 0 has)
    is below its head, the other one below the second of its chain.
    """
    nodes = cut(size, width)
    chains = []
    for node in range(nodes):
        members = list(range(node * width, min((node + 1) * width, size)))
        at = begin % len(members)
        chains.append(members[at:] + members[:at])
    turn = (lambda i: i) if not tree else \
        (lambda i: (i + 1) % nodes) if nodes % 2 else (lambda i: nodes - 1 - i)  # fmt: skip
    parents, kinds = {}, {}
    for chain in chains:
        for above, below in pairwise(chain):
            parents[below], kinds[below] = above, 0
    for child, above in two_trees(nodes)[0][0].items():
        left, chain = child < above, chains[turn(above)]
        head = chains[turn(child)][0]
        parents[head] = chain[1] if left and len(chain) > 1 else chain[0]
        kinds[head] = 1 if left else 2
    return parents, kinds


def nccl_tree_allreduce(me, size, n, chunk_bytes=2**19, channels=2, node_ranks=1):
    """As many rounds as the last chunk takes; in each all sends, then all receives."""
    if size == 1:
        return
    part = cut(n, channels)
    chunks = max(cut(part, chunk_bytes), 1)
    length = cut(part, chunks)
    connections = []  # in the order of a rank's program: sender, receiver, first round
    half = cut(channels, 2)
    for channel in range(channels):
        tree, begin = channel // half, channel % half
        parents, kinds = nccl_tree(size, min(node_ranks, size), tree, begin)
        waits, below = {}, dict.fromkeys(range(size), 0)
        for rank in range(size):  # how far above each of its leaves a rank is, at most
            above, far = rank, 0
            while above in parents:
                above, far = parents[above], far + 1
                below[above] = max(below[above], far)
            waits[rank] = far
        root = max(below.values())
        for kind in range(3):
            mine = [child for child in sorted(parents) if kinds[child] == kind]
            connections.append((0, channel, kind, {
                child: (child, parents[child], below[child]) for child in mine}))  # fmt: skip
            connections.append((1, channel, kind, {
                child: (parents[child], child, root + waits[child] - 1) for child in mine
            }))  # fmt: skip
    connections = [one for one in sorted(connections, key=lambda one: one[:3]) if one[3]]
    last = max(first for *_, links in connections for _, _, first in links.values()) + chunks
    ops = []
    for t in range(last):
        sends, receives = [], []
        for number, (down, channel, _, links) in enumerate(connections):
            for sender, receiver, first in links.values():
                if not 0 <= t - first < chunks:
                    continue
                block, draw = channel * chunks + t - first, t * len(connections) + number
                if sender == me:
                    sends.append(Send(receiver, (block,), length, draw))
                if receiver == me:
                    how = "take" if down else "combine"
                    receives.append(Receive(sender, length, draw, how))
        ops += sends + receives
    yield "tree", ops


def ring_allgather(me, size, n):
    right, left, ops = (me + 1) % size, (me - 1) % size, []
    for step in range(size - 1):
        ops += [Send(right, ((me - step) % size,), n, step), Receive(left, n, step)]
    if ops:
        yield "ring", ops


def bruck_allgather(me, size, n, radix=2):
    held = [me]
    for r in range(_digits_of(size, radix)):
        sends, receives, more = [], [], []
        for j in range(1, radix):
            d = j * len(held)
            blocks = held[: max(size - d, 0)]
            if blocks:
                number = r * (radix - 1) + j - 1
                sends.append(Send((me - d) % size, tuple(blocks), len(blocks) * n, number))
                receives.append(Receive((me + d) % size, len(blocks) * n, number))
                more += [(block + d) % size for block in blocks]
        held += more
        yield f"round {r + 1}", sends + receives


def sparbit_allgather(me, size, n):
    """Loch & Koslovski 2021: every block that goes over a distance is a message of its own."""
    number = 0
    for turn, r in enumerate(reversed(range(log2_up(size)))):
        blocks = [(me - way) % size for way in range(0, size - 2**r, 2 ** (r + 1))]
        there, back = (me + 2**r) % size, (me - 2**r) % size
        ops = [Send(there, (block,), n, number + i) for i, block in enumerate(blocks)]
        ops += [Receive(back, n, number + i) for i in range(len(blocks))]
        number += len(blocks)
        yield f"round {turn + 1}", ops


def gather_broadcast_allgather(me, size, n, gather=None, broadcast=None):
    down = broadcast or {"kind": "binomial_broadcast"}
    yield from _moving(me, [
        ("gather", gather or {"kind": "binomial_gather"}, n, [range(size)], lambda g, b: [b]),
        ("broadcast", down, size * n, [range(size)], _parts_of_all(size, n, down)),
    ])  # fmt: skip


@cache
def _last_in_tree(size, n, segment_bytes):
    """The last number of draws."""
    return max(op.number for rank in range(size)
               for _, ops in binary_tree_broadcast(rank, size, n, segment_bytes, "levels")
               for op in ops)  # fmt: skip


def split_binary_tree_broadcast(me, size, n, segment_bytes=8192):
    """Odd ranks are below rank 1 and get half 0; segment s of half h is block ``h S + s``."""
    half = cut(n, 2)
    segments, ops = max(cut(half, segment_bytes), 1), []
    for _, done in binary_tree_broadcast(me, size, half, segment_bytes, "levels"):
        for op in done:
            if isinstance(op, Send):
                first = 0 if op.peer % 2 else segments
                op = replace(op, blocks=(first + op.blocks[0],))
            ops.append(op)
    if size > 1:
        last = _last_in_tree(size, half, segment_bytes) + 1
        yield "binary tree", ops
        halves = [tuple(range(segments)), tuple(range(segments, 2 * segments))]
        if me == 0 or (me == size - 1 and size % 2 == 0):
            ends = {0: [Send(size - 1, halves[1], half, last)], size - 1: [Receive(0, half, last)]}
            yield "exchange", ends[me] if size % 2 == 0 else []
        else:
            peer = me + 1 if me % 2 else me - 1
            yield "exchange", exchange(peer, halves[1 - me % 2], half, last, "take")


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


def hierarchical_scan(me, size, n, node_ranks=8, intra_node=None, inter_node=None, broadcast=None):
    """MPICH's scan_intra_smp: blocks of a rank are those of all ranks up to it."""
    usual, down = {"kind": "recursive_doubling_scan"}, broadcast or {"kind": "binomial_broadcast"}
    (_, nodes, own), (_, leaders, of_node) = _of_nodes(size, n, node_ranks)
    node = next(one for one in nodes if me in one)
    place = nodes.index(node)
    ops, used = _done_by_groups(me, json.dumps(intra_node or usual), n, nodes, 0, own)
    if len(nodes[0]) > 1:
        yield "intra-node", ops
        ops = []
        if me == node[-1] != node[0]:
            ops = [Send(node[0], tuple(node), n, used)]
        elif me == node[0] != node[-1]:
            ops = [Receive(node[-1], n, used)]
        yield "last to first", ops
        used += 1
    ops, used = _done_by_groups(me, json.dumps(inter_node or usual), n, leaders, used, of_node)
    if len(nodes) == 1:
        return
    yield "inter-node", ops
    ops = []
    if me == node[0] and place + 1 < len(nodes):
        ops.append(Send(nodes[place + 1][0], tuple(range(node[-1] + 1)), n, used))
    if me == node[0] and place > 0:
        ops.append(Receive(nodes[place - 1][0], n, used, "put together again"))
    yield "to the next", ops

    def before(group, block):
        """A part of what all nodes before have put in."""
        blocks = _numbers_and_blocks(json.dumps(down), len(group), n)[1]
        return [b for b in range(group[0]) if b * len(blocks) // group[0] == blocks.index(block)]

    ops, _ = _done_by_groups(me, json.dumps(down), n, nodes[1:], used + 1, before)
    if len(nodes[1]) > 1:
        yield "broadcast", [replace(op, how="put together again") if isinstance(op, Receive)
                            else op for op in ops]  # fmt: skip


def linear_scan(me, size, n):
    ops = []
    if me > 0:
        ops.append(Receive(me - 1, n, me - 1, "put together"))
    if me < size - 1:
        ops.append(Send(me + 1, tuple(range(me + 1)), n, me))
    if ops:
        yield "chain", ops


def recursive_doubling_exscan(me, size, n):
    """The messages of a scan; a rank leaves out its own vector, which it holds, in its result."""
    yield from recursive_doubling_scan(me, size, n)


def linear_exscan(me, size, n):
    """The last rank has its result with what it receives, and combines nothing."""
    ops = []
    if me > 0:
        how = "put together" if me < size - 1 else "take"
        ops.append(Receive(me - 1, n, me - 1, how))
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
    return {draw: place for place, draw in enumerate(sorted(numbers))}, sorted(
        blocks, key=repr
    ) or [0]


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


# Irregular collectives: counts of elements of n bytes, one for each rank, or of an all-to-all a row
# for each. MPI 4.1 §6.5 to 6.10; the order of messages, and which empty ones are sent, as in the
# libraries' sources: Open MPI's coll/base and MPICH's src/mpi/coll.


def pairwise_alltoallv(me, size, n, counts):
    ops = []
    for d in range(1, size):
        to, source = (me + d) % size, (me - d) % size
        ops.append(Send(to, (me * size + to,), counts[me][to] * n, d - 1))
        ops.append(Receive(source, counts[source][me] * n, d - 1))
    if ops:
        yield "pairwise", ops


def linear_alltoallv(me, size, n, counts, window=32):
    """Neither a send nor a receive is posted for no elements; and no row where nobody sends any."""
    ops = []
    for first in range(1, size, window):
        near = range(first, min(first + window, size))
        for d in near:
            to = (me + d) % size
            if counts[me][to]:
                ops.append(Send(to, (me * size + to,), counts[me][to] * n, d - 1))
        for d in near:
            source = (me - d) % size
            if counts[source][me]:
                ops.append(Receive(source, counts[source][me] * n, d - 1))
    if any(counts[a][b] for a in range(size) for b in range(size) if a != b):
        yield "linear", ops


def ring_allgatherv(me, size, n, counts):
    ops = []
    for step in range(size - 1):
        mine, coming = (me - step) % size, (me - step - 1) % size
        ops.append(Send((me + 1) % size, (mine,), counts[mine] * n, step))
        ops.append(Receive((me - 1) % size, counts[coming] * n, step))
    if ops:
        yield "ring", ops


def bruck_allgatherv(me, size, n, counts):
    def blocks(rank, r):
        return [(rank + i) % size for i in range(min(2**r, size - 2**r))]

    for r in range(log2_up(size)):
        to, source = (me - 2**r) % size, (me + 2**r) % size
        mine, coming = blocks(me, r), blocks(source, r)
        yield (
            f"round {r + 1}",
            [
                Send(to, tuple(mine), sum(counts[b] for b in mine) * n, r),
                Receive(source, sum(counts[b] for b in coming) * n, r),
            ],
        )


def neighbor_exchange_allgatherv(me, size, n, counts):
    if size % 2:
        yield from ring_allgatherv(me, size, n, counts)
        return

    def of(blocks):
        return sum(counts[b] for b in blocks) * n

    sides = (
        ((me + 1) % size, (me - 1) % size) if me % 2 == 0 else ((me - 1) % size, (me + 1) % size)
    )
    ops = [Send(sides[0], (me,), of([me]), 0), Receive(sides[0], of([sides[0]]), 0)]
    for r in range(1, size // 2):
        peer = sides[r % 2]
        mine, coming = _last_pair(me, size, r), _last_pair(peer, size, r)
        ops += [Send(peer, tuple(mine), of(mine), r), Receive(peer, of(coming), r)]
    yield "neighbor exchange", ops


def linear_allgatherv(me, size, n, counts):
    """To rank 0, one rank after the other, and down a binomial tree."""
    peers = [peer for peer in range(1, size) if counts[peer]]
    numbers = {peer: number for number, peer in enumerate(peers)}
    ops = [Receive(peer, counts[peer] * n, numbers[peer]) for peer in peers if me == 0]
    if me in numbers:
        ops = [Send(0, (me,), counts[me] * n, numbers[me])]
    if peers:
        yield "gather", ops
    if not sum(counts) or size == 1:
        return
    everything, ops = (tuple(b for b in range(size) if counts[b]), sum(counts) * n), []
    for r, stride in enumerate(2**k for k in reversed(range(log2_up(size)))):
        if me % (2 * stride) == 0 and me + stride < size:
            ops.append(Send(me + stride, *everything, len(peers) + r))
        elif me % (2 * stride) == stride:
            ops.append(Receive(me - stride, everything[1], len(peers) + r))
    yield "broadcast", ops


def ring_reduce_scatterv(me, size, n, counts):
    ops = []
    for step in range(size - 1):
        mine, coming = (me - step - 1) % size, (me - step - 2) % size
        ops.append(Send((me + 1) % size, (mine,), counts[mine] * n, step))
        ops.append(Receive((me - 1) % size, counts[coming] * n, step, "combine"))
    if ops:
        yield "ring", ops


def pairwise_reduce_scatterv(me, size, n, counts):
    ops = []
    for d in range(1, size):
        to, source = (me + d) % size, (me - d) % size
        ops.append(Send(to, (to,), counts[to] * n, d - 1))
        ops.append(Receive(source, counts[me] * n, d - 1, "combine"))
    if ops:
        yield "pairwise", ops


def recursive_halving_reduce_scatterv(me, size, n, counts):
    """Of the first ranks two neighbours are one, the odd one; nothing is sent for no elements."""
    power, k = largest_power(size)
    extra = size - power
    groups = [(2 * i, 2 * i + 1) for i in range(extra)] + [(i,) for i in range(2 * extra, size)]

    def of(blocks):
        return sum(counts[b] for b in blocks) * n

    def blocks(first, last):
        return [b for group in groups[first:last] for b in group]

    own, ops = next(i for i, group in enumerate(groups) if me in group), []
    away = len(groups[own]) == 2 and me == groups[own][0]
    if extra and sum(counts):
        if len(groups[own]) == 2:
            everything = tuple(range(size))
            ops = [Send(me + 1, everything, of(everything), FOLD_IN)] if away else \
                [Receive(me - 1, of(everything), FOLD_IN, "combine")]  # fmt: skip
        yield "fold in", ops
    for r in range(k):
        half = power >> r + 1
        first = own // (2 * half) * 2 * half
        low, high = blocks(first, first + half), blocks(first + half, first + 2 * half)
        keeps, gives = (low, high) if own < first + half else (high, low)
        peer = groups[own ^ half][-1]
        ops = []
        if not away and of(gives):
            ops.append(Send(peer, tuple(gives), of(gives), r))
        if not away and of(keeps):
            ops.append(Receive(peer, of(keeps), r, "combine"))
        if sum(counts):
            yield f"round {r + 1}", ops
    if any(counts[2 * i] for i in range(extra)):
        ops = []
        if len(groups[own]) == 2 and counts[groups[own][0]]:
            there, length = groups[own][0], of([groups[own][0]])
            ops = [Receive(me + 1, length, FOLD_OUT)] if away else \
                [Send(there, (there,), length, FOLD_OUT)]  # fmt: skip
        yield "fold out", ops


def linear_gatherv(me, size, n, counts):
    peers = [peer for peer in range(1, size) if counts[peer]]
    if peers:
        ops = [Receive(peer, counts[peer] * n, peer - 1) for peer in peers]
        alone = [Send(0, (me,), counts[me] * n, me - 1)] if me in peers else []
        yield "linear", alone if me else ops


def linear_scatterv(me, size, n, counts):
    peers = [peer for peer in range(1, size) if counts[peer]]
    if peers:
        ops = [Send(peer, (peer,), counts[peer] * n, peer - 1) for peer in peers]
        alone = [Receive(0, counts[me] * n, me - 1)] if me in peers else []
        yield "linear", alone if me else ops
