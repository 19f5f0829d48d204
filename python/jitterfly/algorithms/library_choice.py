"""The algorithm that Open MPI, MPICH or NCCL would run (`LibraryRules`): fixed rules by version.

Each table says which version's source it is from. What a library runs and `algorithms` does not
have is stood in for by the nearest one, which `LibraryChoice.differs` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from ..fields import IntOrText, check_choice, did_you_mean, parameter, shorten
from ..hierarchy import Hierarchy
from ..imbalance import Counts, read_counts
from ..network import MAX_BYTES, Network, check_network
from ..steps import MAX_WINDOW, power_below, rounds_of
from ..syntax import read_count, read_size
from . import Algorithm, Butterfly, RecursiveDoublingAllreduce
from .algorithm import COLLECTIVES, IRREGULAR, MAX_LISTED_RANKS, MAX_ROUNDS
from .candidates import in_network, nccl_tree
from .shared_steps import MAX_STEPS, block_bytes, tree_blocks

DEFAULT_LIBRARY = "mpich-5"
"""The library whose choice is meant where a collective is named, and neither it nor an algorithm:
its rules on several nodes are made of algorithms that are here, nearly without stand-ins."""

_ELEMENT_BYTES = 8  # where a rule counts elements, they are numbers of double precision


class LibraryChoice(NamedTuple):
    """The choice of a library.

    Attributes
    ----------
    algorithm : Algorithm
        The same, or the nearest that there is.
    called : str
        The library's name of what it runs.
    differs : str
        What `algorithm` does otherwise; "" where it is the same.
    """

    algorithm: Algorithm
    called: str
    differs: str = ""


class _Machine(NamedTuple):
    """The facts that rules look at: ranks, those of a node, network and bytes of a message."""

    ranks: int
    node_ranks: int  # the last node may have fewer
    network: Network
    size: int
    combining: bool = True  # whether it has switches that combine
    counts: Counts | None = None  # of those whose messages differ; `size` is that of all together

    @property
    def counted(self) -> dict[str, Any]:
        """The field `counts` of an algorithm that has one."""
        return {} if self.counts is None else {"counts": self.counts}

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.node_ranks)

    @property
    def has_levels(self) -> bool:
        """Return whether there are several nodes of several ranks."""
        return 1 < self.node_ranks < self.ranks

    @property
    def elements(self) -> int:
        return -(-self.size // _ELEMENT_BYTES)


# Open MPI, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c: the same file in 4.1.0 to 4.1.8 and in
# 5.0.0 to 5.0.10. A row holds below its number of ranks, "BYTES:ALGORITHM" below its bytes; an
# algorithm without bytes is that of all larger messages. Operations commute. Bytes are those that
# `message_bytes` counts in each collective.
_TUNED = {
    "allreduce": """
        4     8:4 4096:3 8192:4 16384:3 65536:4 262144:5 6
        8     16:4 8192:3 6
        16    8192:3 6
        32    64:5 4096:3 6
        64    128:5 6
        128   262144:3 6
        256   131072:2 262144:3 6
        512   4096:2 6
        2048  2048:2 16384:3 6
        4096  2048:2 4096:5 16384:3 6
        inf   2048:2 16384:5 32768:3 6""",
    "barrier": """
        4     3
        8     1
        64    3
        256   4
        512   6
        1024  4
        4096  6
        inf   4""",
    "broadcast": """
        4     32:3 256:5 512:3 1024:7 32768:1 131072:5 262144:2 524288:1 1048576:6 5
        8     64:5 128:6 2048:5 8192:6 1048576:1 2
        16    8:7 64:5 4096:7 16384:5 32768:6 1
        32    4096:7 1048576:6 8
        64    2048:6 7
        128   7
        256   2:6 16384:5 32768:1 65536:5 7
        1024  16384:7 32768:4 7
        2048  524288:7 8
        4096  262144:7 8
        inf   8192:7 16384:5 262144:7 8""",
    "reduce": """
        4     8:7 16:4 32:3 262144:1 524288:3 1048576:2 3
        8     4096:4 65536:2 262144:5 524288:1 1048576:5 1
        16    8192:4 5
        32    4096:4 5
        256   5
        512   8192:5 16384:6 5
        2048  5
        4096  512:5 1024:6 8192:5 16384:6 5
        inf   16:5 32:6 1024:5 2048:6 8192:5 16384:6 5""",
    "reduce_scatter": """
        4     65536:3 131072:4 3
        8     8:1 262144:2 3
        32    262144:2 3
        64    64:1 2048:2 524288:4 3
        128   256:1 512:2 2048:4 4096:2 4
        256   256:1 512:2 4
        512   256:1 1024:2 4
        1024  512:1 2048:2 8192:4 16384:2 4
        2048  512:1 4096:2 16384:4 32768:2 4
        4096  512:1 4096:2 4
        inf   1024:1 8192:2 4""",
    "allgather": """
        3     6
        32    3
        64    1024:3 65536:5 4
        128   512:3 65536:5 4
        256   512:3 131072:5 524288:4 1048576:5 4
        512   32:3 128:2 1024:3 131072:5 524288:4 1048576:5 4
        1024  64:3 256:2 2048:3 5
        2048  4:3 8:2 16:3 32:2 256:3 512:2 4096:3 5
        4096  32:2 128:3 512:2 4096:3 5
        inf   2:3 8:2 16:3 512:2 4096:3 5""",
    "alltoall": """
        3     2:2 4:5 16:2 64:5 256:2 4096:5 32768:2 262144:4 1048576:5 2
        8     8192:4 16384:1 65536:4 524288:1 1048576:2 1
        16    262144:4 1
        32    4:4 512:3 8192:4 32768:1 262144:4 524288:1 4
        64    512:3 524288:1 4
        128   1024:3 2048:1 4096:4 262144:1 2
        256   1024:3 2048:4 262144:1 2
        512   1024:3 8192:4 32768:1 2
        1024  512:3 8192:4 16384:1 131072:4 262144:1 2
        2048  512:3 1024:4 2048:1 16384:4 262144:1 4
        4096  1024:3 4096:4 8192:1 131072:4 1
        inf   2048:3 8192:4 16384:1 32768:4 65536:1 4""",
    "gather": """
        4     2:3 4:1 32768:2 65536:1 131072:2 3
        8     1024:2 8192:1 32768:2 262144:1 3
        256   2
        512   2048:2 8192:1 2
        inf   2""",
    "scatter": """
        4     2:3 131072:1 262144:3 1
        8     2048:2 4096:1 8192:2 32768:1 1048576:3 1
        16    16384:2 1048576:3 1
        32    16384:2 32768:1 3
        64    512:2 8192:3 16384:2 3
        inf   512:2 3""",
    # Of the next two, coll_tuned_alltoallv_intra_dec_fixed and ..._allgatherv_intra_dec_fixed;
    # bytes are the mean of all ranks' blocks.
    "alltoallv": """
        4     2
        64    1
        128   2
        256   1
        1024  2
        inf   1""",
    "allgatherv": """
        3     2048:3 4096:5 8192:3 5
        8     256:1 4096:4 8192:3 16384:4 262144:2 4
        16    1024:1 2
        32    128:1 262144:2 3
        64    256:1 8192:2 3
        128   256:1 4096:2 3
        256   1024:2 65536:4 3
        512   1024:2 3
        1024  512:2 1024:1 4096:2 1048576:4 3
        inf   4096:2 4""",
    # coll/basic's two scans, gatherv and scatterv, as tuned has none without rules of a file.
    "scan": "inf 1",
    "exscan": "inf 1",
    "gatherv": "inf 1",
    "scatterv": "inf 1",
}
_TUNED["reduce_scatterv"] = _TUNED["reduce_scatter"]
# Names of the numbers, in coll_tuned_*_decision.c.
_TUNED_NAMES = {
    "allreduce": "basic_linear nonoverlapping recursive_doubling ring segmented_ring rabenseifner",
    "barrier": "linear double_ring recursive_doubling bruck two_proc tree",
    "broadcast": "basic_linear chain pipeline split_binary_tree binary_tree binomial knomial "
    "scatter_allgather scatter_allgather_ring",
    "reduce": "linear chain pipeline binary binomial in-order_binary rabenseifner",
    "reduce_scatter": "non-overlapping recursive_halving ring butterfly",
    "allgather": "linear bruck recursive_doubling ring neighbor two_proc",
    "alltoall": "linear pairwise modified_bruck linear_sync two_proc",
    "gather": "basic_linear binomial linear_sync",
    "scatter": "basic_linear binomial linear_nb",
    "scan": "linear recursive_doubling",
    "exscan": "linear recursive_doubling",
    "alltoallv": "basic_linear pairwise",
    "allgatherv": "default bruck ring neighbor two_proc",
    "gatherv": "linear",
    "scatterv": "linear",
}
_TUNED_NAMES["reduce_scatterv"] = _TUNED_NAMES["reduce_scatter"]
# MPICH, maint/tuning/coll/mpir/generic.json: the same in 4.1 to 5.0.2 (in 4.0 as well, but for the
# name of the barrier). As above; "pow2" holds for powers of two of ranks. Where the source has
# "<= BYTES", here is one more; so it is for the "comm_size<8" of alltoall, which the library reads
# as "<= 8". In allgather and allgatherv bytes are those of all ranks together.
_MPIR = {
    "allreduce": "inf 9:recursive_doubling reduce_scatter_allgather",
    "barrier": "inf k_dissemination",
    "broadcast": """
        8     binomial
        pow2  12289:binomial 524289:scatter_recursive_doubling_allgather scatter_ring_allgather
        inf   12289:binomial scatter_ring_allgather""",
    "reduce": "inf 2049:binomial reduce_scatter_gather",
    "reduce_scatter": "inf 524288:recursive_halving pairwise",
    "allgather": """
        pow2  524288:recursive_doubling ring
        inf   81920:brucks ring""",
    "alltoall": """
        9     32769:scattered pairwise
        inf   257:brucks 32769:scattered pairwise""",
    "gather": "inf binomial",
    "scatter": "inf binomial",
    "scan": "inf recursive_doubling",
    "exscan": "inf recursive_doubling",
    "alltoallv": "inf scattered",
    "gatherv": "inf linear",
    "scatterv": "inf linear",
}
_MPIR |= {f"{name}v": _MPIR[name] for name in ("allgather", "reduce_scatter")}


@cache
def _rows(table: str) -> list[tuple[str, list[tuple[float, str]]]]:
    """The rows of a table: below which ranks each holds, and the algorithm below each size."""
    rows = []
    for head, *words in (line.split() for line in table.strip().splitlines()):
        pairs = [word.rpartition(":") for word in words]
        rows.append((head, [(float(size or math.inf), name) for size, _, name in pairs]))
    return rows


def _looked_up(table: str, ranks: int, size: int) -> str:
    """The algorithm of a table for a number of ranks and bytes."""
    for head, pairs in _rows(table):
        fits = power_below(ranks) == ranks if head == "pow2" else ranks < float(head)
        if fits:
            return next(name for most, name in pairs if size < most)
    raise AssertionError("the last row holds for any number of ranks")


def _of_kind(kind: str, **fields: Any) -> Algorithm:
    """Return an algorithm of a kind that is here."""
    return Algorithm.from_dict({"kind": kind, **fields})


def _whole(machine: _Machine) -> dict[str, Any]:
    """Return one segment, which holds the whole vector."""
    return {"segment_bytes": max(machine.size, 1)}


def _whole_by_levels(machine: _Machine) -> dict[str, Any]:
    """Return one segment, down a tree with the numbers of Open MPI."""
    return _whole(machine) | {"numbering": "levels"}


def _whole_in_order(machine: _Machine) -> dict[str, Any]:
    """Return one segment, combined in the order of ranks."""
    return _whole(machine) | {"in_order": True}


def _by_doubling(machine: _Machine) -> dict[str, Any]:
    """Return the field of an algorithm that gathers what was scattered by recursive doubling."""
    return {"allgather": "recursive_doubling"}


def _to_all(machine: _Machine) -> dict[str, Any]:
    """A tree in which the root has all other ranks below it."""
    return {"radix": max(machine.ranks, 2)}


def _all_at_once(machine: _Machine) -> dict[str, Any]:
    """Return a window of all other ranks, as far as one can be."""
    return {"window": MAX_WINDOW}


_BUFFER = 2**19  # of NCCL's protocol Simple: 4 MiB in 8 parts


def _in_buffers(machine: _Machine) -> dict[str, Any]:
    """Return segments that fill a part of NCCL's buffers."""
    return {"segment_bytes": _BUFFER}


_Fields = Callable[[_Machine], dict[str, Any]] | None
# Kinds of what is the same, by the names that libraries give them.
_SAME = {
    ("Open MPI", "allreduce"): {
        "recursive_doubling": "recursive_doubling",
        "ring": "ring", "rabenseifner": "rabenseifner",
    },
    ("Open MPI", "barrier"): {
        "linear": "linear", "double_ring": "double_ring",
        "recursive_doubling": "recursive_doubling", "bruck": "dissemination", "tree": "tree",
        "two_proc": "recursive_doubling",
    },
    ("Open MPI", "broadcast"): {
        "binomial": "binomial", "knomial": "knomial", "scatter_allgather_ring": "scatter_allgather",
    },
    ("Open MPI", "reduce"): {"binomial": "binomial", "rabenseifner": "rabenseifner"},
    ("Open MPI", "allgather"): {
        "bruck": "bruck", "recursive_doubling": "recursive_doubling", "ring": "ring",
        "neighbor": "neighbor_exchange", "two_proc": "recursive_doubling",
    },
    ("Open MPI", "reduce_scatter"): {
        "recursive_halving": "recursive_halving", "ring": "ring", "butterfly": "butterfly",
    },
    ("Open MPI", "alltoall"): {
        "pairwise": "pairwise", "modified_bruck": "bruck", "two_proc": "pairwise",
    },
    ("Open MPI", "gather"): {"basic_linear": "linear", "binomial": "binomial"},
    ("Open MPI", "scatter"): {
        "basic_linear": "linear", "binomial": "binomial",
        "linear_nb": "linear",  # here no send waits for its receiver anyway
    },
    ("Open MPI", "scan"): {"linear": "linear"},
    ("Open MPI", "exscan"): {"linear": "linear"},
    ("Open MPI", "alltoallv"): {"pairwise": "pairwise"},
    ("Open MPI", "allgatherv"): {
        "bruck": "bruck", "ring": "ring", "neighbor": "neighbor_exchange", "two_proc": "ring",
    },
    ("Open MPI", "reduce_scatterv"): {"recursive_halving": "recursive_halving", "ring": "ring"},
    ("Open MPI", "gatherv"): {"linear": "linear"},
    ("Open MPI", "scatterv"): {"linear": "linear"},
    ("MPICH", "allreduce"): {
        "recursive_doubling": "recursive_doubling", "reduce_scatter_allgather": "rabenseifner",
    },
    ("MPICH", "barrier"): {"k_dissemination": "dissemination"},
    ("MPICH", "broadcast"): {"binomial": "binomial", "scatter_ring_allgather": "scatter_allgather"},
    ("MPICH", "reduce"): {"binomial": "binomial", "reduce_scatter_gather": "rabenseifner"},
    ("MPICH", "allgather"): {
        "recursive_doubling": "recursive_doubling", "brucks": "bruck", "ring": "ring",
    },
    ("MPICH", "reduce_scatter"): {
        "recursive_halving": "recursive_halving", "pairwise": "pairwise",
    },
    ("MPICH", "alltoall"): {"brucks": "bruck", "scattered": "linear"},  # 32 messages at a time
    ("MPICH", "gather"): {"binomial": "binomial"},
    ("MPICH", "scatter"): {"binomial": "binomial"},
    ("MPICH", "scan"): {"recursive_doubling": "recursive_doubling"},
    ("MPICH", "exscan"): {"recursive_doubling": "recursive_doubling"},
    ("MPICH", "alltoallv"): {"scattered": "linear"},
    ("MPICH", "allgatherv"): {"brucks": "bruck", "ring": "ring"},
    ("MPICH", "reduce_scatterv"): {
        "recursive_halving": "recursive_halving", "pairwise": "pairwise",
    },
    ("MPICH", "gatherv"): {"linear": "linear"},
    ("MPICH", "scatterv"): {"linear": "linear"},
    ("NCCL", "allreduce"): {"Ring": "ring"},
    ("NCCL", "allgather"): {"Ring": "ring", "PAT": "pat"},
    ("NCCL", "reduce_scatter"): {"Ring": "ring", "PAT": "pat"},
    ("NCCL", "alltoall"): {"sends and receives": "linear"},
    ("NCCL", "alltoallv"): {"sends and receives": "linear"},
}  # fmt: skip
# Of the others the kind, its fields, and what is otherwise, if anything is.
_NEAREST: dict[tuple[str, str, str], tuple[str, _Fields, str]] = {
    ("Open MPI", "broadcast", "basic_linear"): ("knomial_broadcast", _to_all, ""),
    ("Open MPI", "broadcast", "chain"): ("chain_broadcast", _whole, ""),
    ("Open MPI", "broadcast", "pipeline"): ("chain_broadcast", _whole, ""),
    ("Open MPI", "broadcast", "split_binary_tree"): ("split_binary_tree_broadcast", _whole, ""),
    ("Open MPI", "broadcast", "binary_tree"): ("binary_tree_broadcast", _whole_by_levels, ""),
    ("Open MPI", "broadcast", "scatter_allgather"): ("scatter_allgather_broadcast", _by_doubling,
        ""),
    ("Open MPI", "reduce", "linear"): ("knomial_reduce", _to_all, ""),
    ("Open MPI", "reduce", "chain"): ("chain_reduce", _whole, ""),
    ("Open MPI", "reduce", "pipeline"): ("chain_reduce", _whole, ""),
    ("Open MPI", "reduce", "binary"): ("binary_tree_reduce", _whole, ""),
    ("Open MPI", "reduce", "in-order_binary"): ("binary_tree_reduce", _whole_in_order, ""),
    ("Open MPI", "alltoall", "linear"): ("linear_alltoall", _all_at_once, ""),
    ("Open MPI", "gather", "linear_sync"): ("linear_gather", None,
        "the root asks each rank for its block; here it does not"),
    ("Open MPI", "alltoallv", "basic_linear"): ("linear_alltoallv", _all_at_once,
        "each rank begins with its message for rank 0; here with that for the next rank"),
    ("Open MPI", "reduce_scatterv", "non-overlapping"): ("recursive_halving_reduce_scatterv", None,
        "it reduces to rank 0, which scatters the result; here vectors are halved"),
    ("Open MPI", "reduce_scatterv", "butterfly"): ("recursive_halving_reduce_scatterv", None,
        "it halves vectors from the nearest ranks on, and then exchanges blocks; here from the "
        "farthest on"),
    ("MPICH", "allgatherv", "recursive_doubling"): ("bruck_allgatherv", None,
        "ranks i and i xor 1, 2, 4, ... exchange their blocks; here rank i sends as many to i - 1, "
        "2, 4, ..."),
    ("MPICH", "broadcast", "scatter_recursive_doubling_allgather"): ("scatter_allgather_broadcast",
        _by_doubling, ""),
    ("MPICH", "alltoall", "pairwise"): ("pairwise_alltoall", lambda _: {"partners": "xor"}, ""),
    ("NCCL", "broadcast", "Ring"): ("chain_broadcast", _in_buffers, ""),
    ("NCCL", "reduce", "Ring"): ("chain_reduce", _in_buffers, ""),
}  # fmt: skip


def _choice(library: str, collective: str, called: str, machine: _Machine) -> LibraryChoice:
    """Return our algorithm for the one that a library calls `called`: the same, or the nearest."""
    same = _SAME.get((library, collective), {}).get(called)
    if same is not None:
        return LibraryChoice(_of_kind(f"{same}_{collective}", **machine.counted), called)
    kind, fields, differs = _NEAREST[library, collective, called]
    if fields is _all_at_once and machine.ranks > MAX_WINDOW:
        limited = f"it has all messages under way; here {MAX_WINDOW:,}"
        differs = f"{differs}; {limited}" if differs else limited
    own = machine.counted | (fields(machine) if fields else {})
    return LibraryChoice(_of_kind(kind, **own), called, differs)


_FREE_LINK = 0.05  # of a round: a link that a message occupies for less is as good as free


def _in_turn(
    kind: str, called: str, parts: dict[str, LibraryChoice], **fields: Any
) -> LibraryChoice:
    """Return an algorithm of parts, each chosen by itself."""
    differs = "; ".join(dict.fromkeys(one.differs for one in parts.values() if one.differs))
    found = {name: one.algorithm for name, one in parts.items()}
    return LibraryChoice(_of_kind(kind, **fields, **found), called, differs)


def _without_links(found: LibraryChoice, network: Network, size: int) -> LibraryChoice:
    """Return recursive doubling of short messages as a butterfly.

    It sends the same messages. Its engine knows no links, and is several times as fast.
    """
    if found.algorithm != RecursiveDoublingAllreduce() or network.has_levels:
        return found
    costs = network.costs(size)
    if network.gap(size) > max(costs.send, _FREE_LINK * sum(costs)):
        return found
    return found._replace(algorithm=Butterfly())


def _tuned(collective: str, machine: _Machine) -> LibraryChoice:
    """The choice of Open MPI's component tuned, over all ranks alike."""
    ranks, elements = machine.ranks, machine.elements
    size = machine.size // ranks if collective == "allgatherv" else machine.size
    number = int(_looked_up(_TUNED[collective], ranks, size))
    called = _TUNED_NAMES[collective].split()[number - 1]
    runs, odd = called, ranks & (ranks - 1)
    # What the algorithms do by themselves, in coll_base_*.c.
    if collective == "allreduce":
        if runs == "segmented_ring":  # the rules give no length of a segment
            runs = "ring"
        if runs == "ring" and elements < ranks:
            runs = "recursive_doubling"
        elif runs == "rabenseifner" and elements < power_below(ranks):
            runs = "basic_linear"
    elif collective == "allgather":
        if runs == "recursive_doubling" and odd:
            runs = "bruck"
        elif runs == "neighbor" and ranks % 2:
            runs = "ring"
    elif runs == "neighbor" and ranks % 2:  # of an allgatherv, too
        runs = "ring"
    elif runs == "scatter_allgather" and elements < ranks:
        runs = "basic_linear"
    elif collective == "reduce":
        if runs == "rabenseifner" and elements < power_below(ranks):
            runs = "linear"
    elif runs == "linear_sync" and collective == "alltoall":  # no limit of messages under way
        runs = "linear"
    if collective == "allreduce" and runs in ("nonoverlapping", "basic_linear"):
        parts = {
            name: _tuned(name, machine)
            if runs == "nonoverlapping"
            else _choice("Open MPI", name, linear, machine)
            for name, linear in (("reduce", "linear"), ("broadcast", "basic_linear"))
        }
        choice = _in_turn("reduce_broadcast_allreduce", runs, parts)
    elif runs == "non-overlapping" and collective == "reduce_scatter":
        parts = {
            "reduce": _tuned("reduce", machine),
            "scatter": _choice("Open MPI", "scatter", "basic_linear", machine),
        }
        choice = _in_turn("nonoverlapping_reduce_scatter", runs, parts)
    elif runs == "default":
        parts = {"broadcast": _tuned("broadcast", machine._replace(counts=None))}
        choice = _in_turn("linear_allgatherv", runs, parts, **machine.counted)
    else:
        choice = _choice("Open MPI", collective, runs, machine)
    if runs == "rabenseifner" and odd:
        choice = choice._replace(
            differs="ranks beyond a power of two and neighbours halve their vectors between them; "
            "here whole ones are sent"
        )
    if runs == "scatter_allgather" and odd:
        choice = choice._replace(
            differs="ranks without a partner get all blocks of others' at the end of each round; "
            "here ranks beyond a power of two fold"
        )
    return choice._replace(called=called if runs == called else f"{called}, which runs {runs}")


_WITHOUT_HAN = ("alltoall", "reduce_scatter", "scan", "exscan", *IRREGULAR)


def _openmpi_5(collective: str, machine: _Machine) -> LibraryChoice:
    """The choice of Open MPI 5.0: han on several nodes of equally many ranks, else tuned.

    ompi/mca/coll/han/coll_han_module.c says what han does, coll_han_component.c its defaults:
    segments of 64 KiB, tuned within nodes, libnbc between them.
    """
    uneven = machine.ranks % machine.node_ranks and collective != "barrier"
    if not machine.has_levels or uneven or collective in _WITHOUT_HAN:
        return _tuned(collective, machine)
    if collective == "allreduce":
        long = machine.size > _HAN_SEGMENT
        return LibraryChoice(
            _of_kind(
                "hierarchical_allreduce",
                node_ranks=machine.node_ranks,
                inter_node="reduce_broadcast_allreduce",
            ),
            "han",
            "segments of 64 KiB are reduced in a node, reduced to one node, broadcast from it and "
            "in each node, each while others are at other stages; here the whole vector is at one "
            "stage, along binomial trees" + _STAGE_BY_STAGE * long,
        )
    return _han(collective, machine)


_HAN_SEGMENT = 2**16
_STAGE_BY_STAGE = ", which takes several times as long, so that noise seems to matter less"


def _han(collective: str, machine: _Machine) -> LibraryChoice:
    """The choice of Open MPI's component han for what it does stage by stage.

    ompi/mca/coll/han/coll_han_*.c: tuned within nodes, and between them what blocks; a reduce
    between nodes is libnbc's (ompi/mca/coll/libnbc/nbc_ireduce.c).
    """
    width, nodes, size = machine.node_ranks, machine.nodes, machine.size
    segmented = collective in ("broadcast", "reduce")
    part = min(size, _HAN_SEGMENT) if segmented else size

    def inside(name: str, part: int = part) -> LibraryChoice:
        return _tuned(name, machine._replace(ranks=width, size=part))

    of_node = width * size if collective in ("gather", "scatter", "allgather") else part
    stages = {"inter_node": _tuned(collective, machine._replace(ranks=nodes, size=of_node))}
    more: dict[str, Any] = {}
    if collective == "allgather":
        stages |= {
            "gather": inside("gather"),
            "broadcast": inside("broadcast", size * machine.ranks),
        }
    else:
        stages["intra_node"] = inside(collective)
    if collective == "barrier":
        more["release"] = "barrier"
    if collective == "reduce":
        fields: dict[str, Any] = {"kind": "binomial_reduce"}
        if nodes <= 4 and part == _HAN_SEGMENT:
            fields = {"kind": "chain_reduce", "segment_bytes": 2**13}
        stages["inter_node"] = LibraryChoice(Algorithm.from_dict(fields), "libnbc")
    found = _in_turn(f"hierarchical_{collective}", "han", stages, node_ranks=width, **more)
    if segmented and size > _HAN_SEGMENT:
        return found._replace(
            differs="segments of 64 KiB are within nodes while others are between them; here the "
            "whole vector is at one stage" + _STAGE_BY_STAGE
        )
    return found


def _mpir(collective: str, machine: _Machine) -> str:
    """MPICH's name of its choice over all ranks alike."""
    size = machine.size * (machine.ranks if collective == "allgather" else 1)  # of all ranks
    called = _looked_up(_MPIR[collective], machine.ranks, size)
    few = machine.elements < power_below(machine.ranks)
    if few and called in ("reduce_scatter_allgather", "reduce_scatter_gather"):
        return "recursive_doubling" if collective == "allreduce" else "binomial"
    return called


_SHARED_MEMORY = "ranks of a node combine through shared memory; here along binomial trees"


def _mpich(collective: str, machine: _Machine) -> LibraryChoice:
    """The choice of MPICH 4 and 5 with the device ch4: in two levels on several nodes.

    maint/tuning/coll/ch4/generic.json (the same in 4.1 to 5.0.2) composes a collective of those
    within nodes, through shared memory (posix_generic.json), and between their first ranks.
    """
    size, ranks = machine.size, machine.ranks
    if machine.node_ranks == ranks > 1 and collective in (
        "allreduce",
        "broadcast",
        "reduce",
        "barrier",
    ):
        kind = {"allreduce": "reduce_broadcast_allreduce", "barrier": "tree_barrier"}
        algorithm = _of_kind(kind.get(collective, f"binomial_{collective}"))
        return LibraryChoice(algorithm, "release_gather", _SHARED_MEMORY)
    if machine.counts is not None:
        return _mpich_with_counts(collective, machine)
    if not machine.has_levels:
        return _choice("MPICH", collective, _mpir(collective, machine), machine)
    leaders = machine._replace(ranks=machine.nodes, node_ranks=1)
    between = _mpir(collective, leaders)
    in_two = f"{between} between nodes"
    if collective == "allreduce":
        inter = _choice("MPICH", collective, between, leaders).algorithm
        algorithm = _of_kind(
            "hierarchical_allreduce", node_ranks=machine.node_ranks, inter_node=inter
        )
        return LibraryChoice(algorithm, in_two, _SHARED_MEMORY)
    power = ranks == power_below(ranks)
    composed = collective in ("reduce", "barrier") or (
        collective == "broadcast" and (ranks < 8 or size < 12288 or (power and size < 524288))
    )
    if composed:
        inter = _choice("MPICH", collective, between, leaders).algorithm
        algorithm = _of_kind(
            f"hierarchical_{collective}", node_ranks=machine.node_ranks, inter_node=inter
        )
        return LibraryChoice(algorithm, in_two, _SHARED_MEMORY)
    if collective == "scan":
        algorithm = _of_kind("hierarchical_scan", node_ranks=machine.node_ranks)
        differs = "a rank combines what is broadcast after it sent it on; here before that"
        return LibraryChoice(algorithm, in_two, differs)
    return _choice("MPICH", collective, _mpir(collective, machine), machine)


_MPICH_SEGMENT = 2**15  # MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE


def _mpich_with_counts(collective: str, machine: _Machine) -> LibraryChoice:
    """The choice of MPICH where messages differ in size: over all ranks alike."""
    found = _choice("MPICH", collective, _mpir(collective, machine), machine)
    if (collective, found.called) != ("allgatherv", "ring"):
        return found
    assert machine.counts is not None
    counts = machine.counts.of_ranks(machine.ranks)
    longest = int(counts.max()) * machine.size // max(int(counts.sum()), 1)
    if longest <= _MPICH_SEGMENT and counts.min() > 0:
        return found
    return found._replace(
        differs="blocks go in parts of 32 KiB, empty ones not at all; here all go whole"
    )


# NCCL 2.30.7, src/graph/tuning.cc: microseconds; of protocols LL, LL128, Simple.
_PROTOCOLS = ("LL", "LL128", "Simple")
_BASE_LATENCY = {"Tree": (6.8, 14.0, 8.4), "Ring": (6.6, 14.0, 8.4), "PAT": (8.0, 8.0, 8.0)}
_NVLINK_LATENCY = {"Tree": (0.6, 1.25, 4.0), "Ring": (0.6, 1.9, 3.4), "PAT": (0, 0, 4.0)}
_NET_LATENCY = {"Tree": (5.0, 8.5, 14.0), "Ring": (2.7, 4.0, 14.0), "PAT": (0, 0, 14.0)}
# GB/s, of H100 and CPUs of Intel, by 1, 2 and more nodes.
_LL_BANDWIDTH = (141.0, 39.0, 20.4)
_RING_LL128_OF_CHANNEL = 36.7
_TREE_LL128_OF_CHANNEL = (36.7, 36.7, 29.0)
_TREE_OF_CHANNEL = (38.7, 41.4, 36.0)
_CHANNELS = 16
_NET_OVERHEAD = 1.0  # microseconds, of a CPU of Intel
_PLATEAU = 1.4  # of a ring between nodes whose ranks have 64 bytes or more in a channel
# Of powers of two from 64 bytes on.
_TREE_CORRECTION = (
    (1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0),
    (1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0),
    (0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9),
)  # fmt: skip
# Of the protocol Simple, which these have alone; there is no base.
_SWITCH_LATENCY = {
    "CollNetDirect": (3.7, 31.0),
    "CollNetChain": (2.8, 30.0),
    "NVLS": (25.0, 18.0),
    "NVLSTree": (25.0, 20.9),
}
_NVLS_EFFICIENCY = 0.85
_NVLS_TREE_OF_CHANNEL = (0.0, 57.7, 45.5)
_DIRECT_SERIAL = 0.4  # microseconds of each other rank of a node
_DIRECT_BANDWIDTH = 0.85
_MAX_COLLNET_RANKS = 8  # of a node
_STAGES = {
    "CollNetDirect": in_network("direct", "sharp"),
    "CollNetChain": in_network("chain", "sharp"),
    "NVLS": in_network("nvls", "sharp"),
    "NVLSTree": in_network("nvls", "tree"),
}
_NCCL = {
    "allreduce": ("Tree", "Ring"),
    "broadcast": ("Ring",),
    "reduce": ("Ring",),
    "allgather": ("Ring", "PAT"),
    "reduce_scatter": ("Ring", "PAT"),
}


_NVLINK, _CARD = 18 * 20.6, 50.0  # GB/s, where the network says none: links of topo.h, 400 Gb/s


def _gigabytes(network: Network, usual: float) -> float:
    """The bandwidth of a network, GB/s."""
    return 1e-9 / getattr(network, network.per_byte_field) if network.has_bandwidth else usual


def _bandwidths(machine: _Machine) -> tuple[float, float]:
    """The bandwidth within a node, GB/s, and that of all cards of a node."""
    network = machine.network
    if not isinstance(network, Hierarchy):
        return (_gigabytes(network, _CARD),) * 2
    inside = _gigabytes(network.networks[0], _NVLINK)
    outside = _gigabytes(network.networks[-1], _CARD)
    return inside, outside * (1 if network.shared_card else machine.node_ranks)


def _bandwidth(machine: _Machine) -> float:
    """The bandwidth of a ring, GB/s: over all cards of a node, where there are several nodes."""
    inside, outside = _bandwidths(machine)
    if machine.node_ranks == 1:
        return outside
    return inside if machine.nodes == 1 else min(inside, outside)


def _time_with_switches(algorithm: str, machine: _Machine) -> float:
    """The time of an allreduce in which switches combine, as `nccl_time`."""
    ranks, nodes, width = machine.ranks, machine.nodes, machine.node_ranks
    inside, outside = _bandwidths(machine)
    near, far = _SWITCH_LATENCY[algorithm]
    hops = nodes.bit_length() - 1
    if width == 1:
        far = _NET_LATENCY["Tree"][_PROTOCOLS.index("Simple")]
    if algorithm.startswith("NVLS"):
        # Each rank pulls a part through NVSwitch: as many channels. Two operations at once.
        within = 2 * _NVLS_EFFICIENCY * inside * (width - 1) / width
        bandwidth = min(within, inside if nodes == 1 else outside)
        latency = near + (far if nodes > 1 else 0)
        if algorithm == "NVLSTree":
            each = 2 * outside if nodes == 2 else outside
            of_channels = width * _NVLS_TREE_OF_CHANNEL[min(nodes, 3) - 1]
            bandwidth = min(within, each, of_channels)
            latency = near + 2 * hops * far
        bandwidth *= ranks / (2 * (ranks - 1))
    else:
        bandwidth = 0.5 * _bandwidth(machine)
        latency = 2 * (width - 1) * near + far
        if algorithm == "CollNetDirect":
            shared = isinstance(machine.network, Hierarchy) and machine.network.shared_card
            of_card = width if shared else 1
            bandwidth *= _DIRECT_BANDWIDTH / (of_card - (of_card - 1) / 2)
            latency = 2 * (min(1, width - 1) * near + (width - 1) * _DIRECT_SERIAL) + far
    return latency + machine.size / (1000 * bandwidth)


def _with_switches(machine: _Machine, *, collnet: bool) -> list[str]:
    """The allreduces of NCCL that a machine has switches for: NVSwitch in nodes of several ranks.

    `collnet`: whether those between nodes combine as well.
    """
    nodes, width = machine.nodes, machine.node_ranks
    if not machine.combining or machine.ranks == 1:
        return []
    if machine.ranks != nodes * width:
        return []  # each rank of a node has a part
    found = []
    if width > 1 and (nodes == 1 or collnet):
        found.append("NVLS")
    if width > 1 and nodes > 1:
        found.append("NVLSTree")
    if collnet and nodes > 1 and width <= _MAX_COLLNET_RANKS:
        found += ["CollNetDirect", "CollNetChain"] if width > 1 else ["CollNetChain"]
    return found


def nccl_time(collective: str, algorithm: str, protocol: str, machine: _Machine) -> float:
    """The time that NCCL's tuning model expects, in microseconds; infinite where it has none."""
    ranks, nodes, size = machine.ranks, machine.nodes, machine.size
    place, which = _PROTOCOLS.index(protocol), min(nodes, 3) - 1
    if ranks == 1:
        return 0.0
    if algorithm in _SWITCH_LATENCY:
        of_switches = protocol == "Simple" and collective == "allreduce"
        return _time_with_switches(algorithm, machine) if of_switches else math.inf
    bandwidth = _bandwidth(machine)
    base, near, far = (
        table[algorithm][place] for table in (_BASE_LATENCY, _NVLINK_LATENCY, _NET_LATENCY)
    )
    if nodes == ranks:
        far = _NET_LATENCY["Tree"][place]
    steps = {"allreduce": 2 * (ranks - 1), "broadcast": ranks, "reduce": ranks}.get(
        collective, ranks - 1
    )
    hops = nodes.bit_length() - 1
    if collective == "allgather":
        size *= ranks  # NCCL counts those of all ranks
    if algorithm == "Ring":
        if protocol == "LL":
            bandwidth = min(_LL_BANDWIDTH[which], bandwidth * 0.5)
        elif protocol == "LL128":
            bandwidth = min(bandwidth * 0.92, _CHANNELS * _RING_LL128_OF_CHANNEL)
        bandwidth *= ranks / steps
        if collective in ("broadcast", "reduce"):
            latency = base + (near if nodes == 1 else far)
        else:
            overhead = 0.0
            if nodes > 1:
                overhead = _NET_OVERHEAD * (3 if protocol == "Simple" else 1)
            across = 0 if nodes == 1 else (2 if collective == "allreduce" else 1) * (nodes - 1)
            latency = base + (steps - across) * max(near, overhead) + across * far
        if (protocol == "Simple" and nodes > 1 and collective == "allreduce"
                and size / (_CHANNELS * ranks) >= 64):  # fmt: skip
            latency *= _PLATEAU
    elif algorithm == "Tree":
        bandwidth = min(bandwidth * 0.92, _CHANNELS * _TREE_OF_CHANNEL[which])
        if protocol == "LL":
            bandwidth = min(bandwidth / 3.8, _LL_BANDWIDTH[which])
        elif protocol == "LL128":
            part = 7 / 9 if nodes == 1 else 120 / 128
            bandwidth = min(bandwidth * part, _CHANNELS * _TREE_LL128_OF_CHANNEL[which])
        bandwidth *= 0.5
        latency = base + 2 * ((ranks // nodes - 1) * near + hops * far)
        power = (size >> 6).bit_length() - 1
        if 0 <= power < 23:
            bandwidth *= _TREE_CORRECTION[place][power]
    else:
        if protocol != "Simple" or nodes != ranks:
            return math.inf
        bandwidth *= 0.75
        latency = base + hops * (far / 3.5) + ranks * 2.8
    return latency + size / (1000 * bandwidth)


def _chunk_bytes(protocol: str, machine: _Machine) -> int:
    """The size of a chunk in a tree: a part of a buffer, or less where that keeps a tree busy.

    src/enqueue.cc, calcCollChunking: of a buffer of 4 MiB, of 512 KiB in LL, half of whose bytes
    are flags, and of 4,800 KiB in LL128, where 1/16 are; each in 8 parts.
    """
    if protocol == "Simple":
        return _BUFFER
    if protocol == "LL":
        return 2**15
    chunk, ranks_of_node = 576000, machine.ranks / machine.nodes
    steps = 1 + (machine.nodes.bit_length() - 1) + 0.1 * ranks_of_node
    for each, least in ((64, 2**17), (16, 2**15)):
        while machine.size // (_CHANNELS * chunk) < steps * each / ranks_of_node and chunk > least:
            chunk //= 2
    return chunk


def _nccl(collective: str, machine: _Machine, *, collnet: bool = False) -> LibraryChoice:
    """The choice of NCCL 2.30 on H100 with NVLink in a node: what its model expects to be fastest.

    Bandwidths are those of the network. NVLS of an allgather or reduce-scatter is left out: on 8
    H100 the model finds a ring faster.
    """
    if collective in ("alltoall", "alltoallv"):
        return _choice("NCCL", collective, "sends and receives", machine)
    if collective not in _NCCL:
        raise ValueError(f"collective must be one that NCCL has: {', '.join(_NCCL)}, alltoall, "
                         f"alltoallv; got {shorten(collective)}")  # fmt: skip
    names = list(_NCCL[collective])
    if collective == "allreduce":
        names += _with_switches(machine, collnet=collnet)
    pairs = [(one, protocol) for one in names for protocol in _PROTOCOLS]
    best = min(pairs, key=lambda one: nccl_time(collective, one[0], one[1], machine))
    if best[0] in _STAGES:
        algorithm = _STAGES[best[0]](machine.ranks, machine.network, machine.size)
        return LibraryChoice(algorithm, "/".join(best))
    if best[0] == "Tree":
        chunk = _chunk_bytes(best[1], machine)
        tree = nccl_tree(machine.ranks, machine.network, machine.size, chunk)
        return LibraryChoice(tree, "/".join(best))
    found = _choice("NCCL", collective, best[0], machine)
    if best[0] == "Ring" and collective == "reduce" and machine.has_levels:
        found = found._replace(
            differs="its ring ends from rank N - 1 to 0, between nodes; here that goes from rank 1"
        )
    elif best[0] == "PAT":
        block = (
            machine.size if collective == "allgather" else block_bytes(machine.size, machine.ranks)
        )
        longest = max(tree_blocks(machine.ranks, 1 << r) for r in range(rounds_of(machine.ranks)))
        if longest * block > _BUFFER:
            found = found._replace(
                differs="messages beyond a buffer of 512 KiB go in parts; here in one"
            )
    return found._replace(called="/".join(best))


_LIBRARIES: dict[str, tuple[str, Callable[[str, _Machine], LibraryChoice]]] = {
    "openmpi-4.1": ("Open MPI 4.1", _tuned),
    "openmpi-5": ("Open MPI 5", _openmpi_5),
    "mpich-4": ("MPICH 4", _mpich),
    "mpich-5": ("MPICH 5", _mpich),
    "nccl-2.30-collnet": ("NCCL 2.30 with CollNet", partial(_nccl, collnet=True)),
    "nccl-2.30": ("NCCL 2.30", _nccl),
}
# Of more ranks than an algorithm can list: how many it can, and what stands in.
_BEYOND = {
    "binary_tree_reduce": (MAX_LISTED_RANKS, "binomial_reduce"),
    "butterfly_reduce_scatter": (MAX_LISTED_RANKS, "recursive_halving_reduce_scatter"),
    "neighbor_exchange_allgather": (2 * MAX_STEPS, "ring_allgather"),
    "nonoverlapping_reduce_scatter": (MAX_STEPS, "recursive_halving_reduce_scatter"),
    "reduce_broadcast_allreduce": (MAX_LISTED_RANKS, "reduce_broadcast_allreduce"),
}
_NEWEST = {name.partition("-")[0]: name for name in _LIBRARIES}
LIBRARY_NAMES = (*_LIBRARIES, *_NEWEST)
"""Libraries with their versions; without one, the newest is meant."""


@dataclass(frozen=True)
class LibraryRules:
    """The rules by which a library chooses the algorithm of a collective.

    They are the `algorithm` of a question:
    ``jf.slowdown(noise, 64, algorithm=jf.LibraryRules(...))``.

    Parameters
    ----------
    name : str
        "openmpi-5", "openmpi-4.1", "mpich-5", "mpich-4", "nccl-2.30" or "nccl-2.30-collnet", with
        switches between nodes that combine; "openmpi", "mpich" and "nccl" are the newest.
    collective : str
        "allreduce", "barrier", "broadcast" and so on; "alltoallv", "allgatherv", "gatherv",
        "scatterv" and "reduce_scatterv" (MPI_Reduce_scatter) with `counts`.
    counts : Counts, array of int, dict, str or Path, optional
        Elements of each rank, or of each pair of ranks: see `imbalance.Counts`.

    Raises
    ------
    ValueError
        No such library or collective; counts that are missing, or for a collective without any.

    Notes
    -----
    Without tuning files and parameters of a site, of an operation that commutes. Ranks of a node
    are those of the first level of a `Hierarchy` with block placement; on any other network each
    rank is on a node of its own. Where a rule counts elements, they have 8 bytes.

    Examples
    --------
    >>> import jitterfly as jf
    >>> network = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
    >>> found = LibraryRules("openmpi").choice(64, network, 2**20)
    >>> found.called, found.algorithm.kind
    ('rabenseifner', 'rabenseifner_allreduce')
    """

    name: str = DEFAULT_LIBRARY
    collective: str = "allreduce"
    counts: Any = None

    def __post_init__(self) -> None:
        name = _NEWEST.get(self.name, self.name)
        check_choice(name, "library", list(LIBRARY_NAMES))
        if self.collective in IRREGULAR:
            if self.counts is None:
                raise ValueError(
                    f"collective {self.collective} has a count for each rank, or pair of ranks: "
                    f"give {parameter('counts')}, such as 'lognormal(mean=64,sigma=1)' or the path "
                    "of a file"
                )
            object.__setattr__(self, "counts", read_counts(self.counts))
        else:
            check_choice(self.collective, "collective", (*COLLECTIVES, *IRREGULAR))
            if self.counts is not None:
                raise ValueError(
                    f"{parameter('counts')} must be left out for collective {self.collective}; "
                    f"those with counts are {', '.join(IRREGULAR)}"
                )
        object.__setattr__(self, "name", name)

    @property
    def title(self) -> str:
        """The library in words, such as "MPICH 5"."""
        return _LIBRARIES[self.name][0]

    def choice(
        self,
        ranks: IntOrText,
        network: Network | str,
        message_bytes: IntOrText,
        *,
        switches: bool = True,
    ) -> LibraryChoice:
        """Return what the library would run.

        Parameters
        ----------
        ranks, network, message_bytes
            As in `Case`, also as text.
        switches : bool
            Whether switches may combine. Without them what the library would run next stands in for
            an `InNetworkAllreduce`, which a case under noise of each message or step refuses.

        Raises
        ------
        ValueError
            The library does not have the collective; `ranks` or `message_bytes` is out of range, or
            ranks are too many to be listed.
        """
        ranks = read_count(ranks, "ranks", 1, 2**MAX_ROUNDS)
        network = check_network(network)
        least = network.smallest_message
        message_bytes = read_size(message_bytes, "message_bytes", least, MAX_BYTES)
        width = 1
        if isinstance(network, Hierarchy) and network.spans:
            width = min(network.spans[0], ranks)
        scattered = width > 1 and getattr(network, "placement", "block") != "block"
        machine = _Machine(ranks, 1 if scattered else width, network, message_bytes)
        if self.collective in ("allgatherv", "reduce_scatterv"):  # of which rules look at all bytes
            elements = int(self.counts.of_ranks(ranks).sum())
            machine = machine._replace(size=elements * message_bytes)
        machine = machine._replace(counts=self.counts)
        found = _LIBRARIES[self.name][1](self.collective, machine)
        if not switches and found.algorithm.kind == "in_network_allreduce":
            called = found.called
            found = _LIBRARIES[self.name][1](self.collective, machine._replace(combining=False))
            found = LibraryChoice(
                found.algorithm,
                f"{called}, without switches {found.called}",
                "noise of each message or step would hit what its switches do, too; here no switch "
                "combines",
            )
        found = _without_links(found, network, message_bytes)
        if found.algorithm.kind.startswith("hierarchical_") and ranks > MAX_LISTED_RANKS:
            if self.collective == "allreduce":
                raise ValueError(
                    f"ranks must be from 1 to 2^22 for what {self.title} runs on nodes of several "
                    f"({found.algorithm.kind}), got {ranks}: for more give "
                    f"{parameter('algorithm')} butterfly"
                )
            flat = _LIBRARIES[self.name][1](self.collective, machine._replace(node_ranks=1))
            return found._replace(
                algorithm=flat.algorithm,
                differs="within nodes and between them; here over all ranks, as they are too many "
                "to be listed",
            )
        most, instead = _BEYOND.get(found.algorithm.kind, (ranks, ""))
        if ranks > most:
            return found._replace(
                algorithm=_of_kind(instead),
                differs=f"it is listed for {most:,} ranks at most; here {instead}",
            )
        if scattered and self.counts is None:
            return found._replace(
                differs="it knows nodes; as their ranks are not consecutive here, its choice is "
                "that for nodes of one rank"
            )
        return found

    def whose(self, choices: Iterable[LibraryChoice]) -> str:
        """Return whose algorithms are run, and whether some only stand in for them, as text."""
        if any(one.differs for one in choices):
            return f"{self.collective} nearest to that of {self.title}"
        return f"{self.collective} as {self.title} runs it"

    def in_words(
        self, ranks: int, network: Network, message_bytes: int, *, switches: bool = True
    ) -> str:
        """Return what it runs, and what stands for that, as text; `switches` as in `choice`."""
        found = self.choice(ranks, network, message_bytes, switches=switches)
        differs = f" ({found.differs})" if found.differs else ""
        return f"algorithm: {self.title} runs {found.called}: {found.algorithm.kind}{differs}"

    def to_dict(self) -> dict[str, Any]:
        """The plain values, for JSON."""
        counts = {} if self.counts is None else {"counts": self.counts.to_dict()}
        return {"library": self.name, "collective": self.collective, **counts}


def is_library(name: str) -> bool:
    """Return whether a name is that of a library; ValueError for a version that is not known."""
    if name not in LIBRARY_NAMES and name.partition("-")[0] in _NEWEST:
        known_ones = list(LIBRARY_NAMES)
        raise ValueError(
            f"algorithm {name}: there are the rules of {', '.join(_LIBRARIES)}"
            f"{did_you_mean(name, known_ones)}"
        )
    return name in LIBRARY_NAMES


def algorithm_for(
    algorithm: Algorithm | LibraryRules,
    ranks: int,
    network: Network,
    message_bytes: int,
    *,
    switches: bool = True,
) -> Algorithm:
    """Return the algorithm that is run: itself, or what a library chooses, as in `choice`."""
    if isinstance(algorithm, LibraryRules):
        return algorithm.choice(ranks, network, message_bytes, switches=switches).algorithm
    return algorithm
