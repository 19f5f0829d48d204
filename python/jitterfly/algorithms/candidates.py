"""Candidates of `advise` for each collective, and their names in MPI libraries (registry).

A candidate is what makes an `Algorithm` for a machine, so that what a copy costs can follow from
it. An algorithm that is in `algorithms`, and its `__init__.py`, becomes a candidate by an entry of
`_PLAIN`; a program of the user's is registered by `register`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..fields import check_choice, counted, did_you_mean, option_of, parameter, shorten
from ..hierarchy import Hierarchy
from ..imbalance import read_counts
from ..network import Network
from ..steps import MAX_WINDOW, rounds_of
from ..units import TICKS_PER_SECOND, show_seconds
from . import Algorithm, InNetworkAllreduce, NcclTreeAllreduce, is_kind_of
from .algorithm import COLLECTIVES, IRREGULAR, check_collective_name, has_counts

_MAX_LINK_SHARE = 0.05  # of a round: copies need not wait for a message that occupies a link less

Maker = Callable[[int, Network, int], Algorithm]
"""From ranks, a network and the bytes of a message to an algorithm."""

LIBRARIES = ("Open MPI", "MPICH", "NCCL")
"""Libraries whose names of an algorithm are listed."""
_REGISTERED: dict[str, dict[str, Candidate]] = {name: {} for name in COLLECTIVES}


# By collective and name: what the `LIBRARIES` call an algorithm, "" where it is not one of the
# library's choices, or not just this; and what it does. Its kind is NAME_COLLECTIVE. Message
# programs: a send waits for the one before it. Numbers and names are those of
# `coll_tuned_*_algorithm` in Open MPI's coll_tuned_*_decision.c, of `MPIR_CVAR_*_INTRA_ALGORITHM`
# in MPICH, and of `NCCL_ALGO`.
_PLAIN = {
    "allreduce": {
        "recursive_doubling": (("3 recursive_doubling", "recursive_doubling", ""),
            "whole vectors between i and i xor 1, 2, 4, ...: for short messages"),
        "ring": (("4 ring", "ring", "Ring"),
            "blocks around a ring, to reduce and to gather: long messages, few ranks"),
        "rabenseifner": (("6 rabenseifner", "reduce_scatter_allgather", ""),
            "halves to reduce-scatter, doubled to allgather: long messages, many ranks"),
        "reduce_broadcast": (("2 nonoverlapping", "", ""),
            "a binomial reduce to rank 0, then a binomial broadcast from it"),
    },
    "barrier": {
        "dissemination": (("4 bruck", "dissemination", ""),
            "rank i tells i + 1, 2, 4, ... (modulo N): the fewest rounds"),
        "recursive_doubling": (("3 recursive_doubling", "", ""),
            "i and i xor 1, 2, 4, ... tell each other"),
        "tree": (("6 tree", "", ""),
            "up a binomial tree to rank 0, and down again: the fewest messages"),
    },
    "broadcast": {
        "binomial": (("6 binomial", "binomial", ""),
            "down a binomial tree from rank 0: for short messages"),
        "scatter_allgather": (("9 scatter_allgather_ring", "scatter_ring_allgather", ""),
            "scattered down a tree, gathered around a ring: for long messages"),
    },
    "reduce": {
        "binomial": (("5 binomial", "binomial", ""),
            "up a binomial tree to rank 0: for short vectors"),
        "rabenseifner": (("7 rabenseifner", "reduce_scatter_gather", ""),
            "halves to reduce-scatter, gathered by rank 0: long vectors, many ranks"),
    },
    "allgather": {
        "recursive_doubling": (("3 recursive_doubling", "recursive_doubling", ""),
            "all that is held between i and i xor 1, 2, 4, ...: for powers of two"),
        "bruck": (("2 bruck", "brucks", ""),
            "all that is held to i - 1, 2, 4, ... (modulo N): short messages, any number"),
        "ring": (("4 ring", "ring", "Ring"),
            "blocks around a ring: for long messages"),
        "neighbor_exchange": (("5 neighbor", "", ""),
            "pairs of blocks with both neighbours in turn: long messages, even numbers"),
        "pat": (("", "", "PAT"),
            "down shifted binomial trees, the fewest blocks farthest: short messages"),
    },
    "reduce_scatter": {
        "recursive_halving": (("2 recursive_halving", "recursive_halving", ""),
            "the half that the other half of the group needs, halved each round"),
        "ring": (("3 ring", "", "Ring"),
            "blocks around a ring, combined on the way: for long vectors"),
        "pairwise": (("", "pairwise", ""),
            "its own block to each of i + 1, i + 2, ... (modulo N): for long vectors"),
        "butterfly": (("4 butterfly", "", ""),
            "halves with i xor 1, 2, 4, ..., then a block home: in the order of ranks"),
        "pat": (("", "", "PAT"),
            "up shifted binomial trees, the fewest blocks farthest: short messages"),
    },
    "alltoall": {
        "bruck": (("3 modified_bruck", "brucks", ""),
            "blocks by way of i + 1, 2, 4, ... (modulo N): short messages"),
        "pairwise": (("2 pairwise", "", ""),
            "a block to i + 1, i + 2, ... (modulo N), each after the one before"),
    },
    "gather": {
        "binomial": (("2 binomial", "binomial", ""),
            "up a binomial tree to rank 0, with all blocks from below: short messages"),
        "linear": (("1 basic_linear", "", ""),
            "from each rank to rank 0, one after the other: long messages"),
    },
    "scatter": {
        "binomial": (("2 binomial", "binomial", ""),
            "down a binomial tree from rank 0, with all blocks of those below: short messages"),
        "linear": (("1 basic_linear", "", ""),
            "from rank 0 to each rank, one after the other: long messages"),
    },
    "scan": {
        "recursive_doubling": (("2 recursive_doubling", "recursive_doubling", ""),
            "vectors of whole groups between i and i xor 1, 2, 4, ...: the fewest rounds"),
        "linear": (("1 linear", "", ""),
            "from rank to rank, combined on the way: the fewest messages"),
    },
}  # fmt: skip
_PLAIN["exscan"] = _PLAIN["scan"]
_IN_TWO_LEVELS = ("barrier", "broadcast", "reduce", "allgather", "gather", "scatter", "scan")
_OF_KIND = {
    "double_binary_tree_allreduce": "double_binary_tree",
    "nccl_tree_allreduce": "nccl_tree",
} | dict.fromkeys((f"hierarchical_{one}" for one in ("allreduce", *_IN_TWO_LEVELS)), "hierarchical")
"""Kinds that mean the candidate, where a command or a question names one: with its segments, and
with the nodes of the machine."""
_MADE_FOR_MACHINES = ("double_binary_tree_allreduce", "nccl_tree_allreduce")
"""Of these, those whose candidate says more than the nodes of the machine."""


@dataclass(frozen=True)
class Candidate:
    """An algorithm to be considered.

    Attributes
    ----------
    name : str
    make : callable
        ``make(ranks, network, message_bytes)`` gives the `Algorithm`; a `ValueError` from it, or
        from the case, leaves the candidate out there, with the message as the reason.
    usual : bool
        Whether it is among those considered when none are named.
    usual_on_levels : bool, optional
        The same on a machine of several levels (`Hierarchy`); None: as `usual`.
    against_noise : bool
        Whether all that it adds to another one is help against noise: on a quiet machine it is
        considered only if it is named.
    summary : str
        What it does, in a line.
    called : dict
        What a library (of `LIBRARIES`) calls it, where it has just this algorithm.
    in_network : bool
        Whether switches combine, which few machines have: considered only if it is named.
    """

    name: str
    make: Maker
    usual: bool = True
    usual_on_levels: bool | None = None
    against_noise: bool = False
    summary: str = ""
    called: Mapping[str, str] = field(default_factory=dict)
    in_network: bool = False

    def is_usual(self, *, levels: bool) -> bool:
        """Return whether this algorithm is usual on one level, or on several."""
        on_levels = self.usual if self.usual_on_levels is None else self.usual_on_levels
        return on_levels if levels else self.usual


def register(collective: str, candidate: Candidate) -> None:
    """Add a candidate of a collective; one of the same name is replaced.

    Examples
    --------
    >>> import jitterfly as jf
    >>> mine = Candidate("my_copies", lambda *_: jf.Butterfly(exchanges_after=3), usual=False)
    >>> register("allreduce", mine)
    >>> _ = _REGISTERED["allreduce"].pop("my_copies")
    """
    check_collective_name(collective)
    _REGISTERED[collective][candidate.name] = candidate


def known(collective: str) -> dict[str, Candidate]:
    """The candidates of a collective by name.

    Examples
    --------
    >>> sorted(known("allreduce"))[:3]
    ['bine', 'butterfly', 'butterfly_after_1']
    """
    return dict(_REGISTERED[check_collective_name(collective)])


def _always(kind: str, **fields: Any) -> Maker:
    """An algorithm with these fields, whatever the machine is."""
    return lambda ranks, network, size: Algorithm.from_dict({"kind": kind, **fields})


def _forwarded(after: int | str) -> Maker:
    """Forwards of the result that cost as much as a message; in the model (MS12) they cost 0.

    Links do not matter to them there, so a long one takes the CPU for as long as it would a link.
    """

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        most = rounds_of(ranks)
        if after != "all" and int(after) > most:
            raise ValueError(f"{ranks} ranks have {most} partners to forward to, not {after}")
        costs = network.costs(size)
        cost = _time_with_unit(max(costs.send + costs.receive, network.gap(size)))
        return Algorithm.from_dict(
            {"kind": "butterfly", "exchanges_after": after, "forward_cost": cost}
        )

    return make


def _node_ranks(network: Network) -> int:
    """The ranks of a node of the machine; ValueError if there are none, or not consecutive ones."""
    if not isinstance(network, Hierarchy) or not network.spans:
        raise ValueError(
            "network must be a Hierarchy of two levels or more: elsewhere there are no nodes"
        )
    if network.placement != "block":
        raise ValueError(
            "placement must be 'block': the ranks of a node are consecutive in it, "
            f"got {shorten(network.placement)}"
        )
    return network.spans[0]


def table_of_kind(kind: str, network: Network) -> dict[str, Any]:
    """The table of a kind on a machine, as its name means it in a question.

    One with levels has the nodes of a `Hierarchy`, and one with a candidate made for machines has
    that candidate's segments and channels.

    Raises
    ------
    ValueError
        The ranks of a node are not consecutive there.
    """
    table: dict[str, Any] = {"kind": kind}
    if kind in _MADE_FOR_MACHINES:
        made = _REGISTERED["allreduce"][_OF_KIND[kind]].make(2, network, 1)  # the same for all
        usual = Algorithm.from_dict(table).to_dict()
        return table | {name: v for name, v in made.to_dict().items() if v != usual[name]}
    has_nodes = kind.startswith("hierarchical_") or kind == "in_network_allreduce"
    if has_nodes and isinstance(network, Hierarchy) and network.spans:
        table["node_ranks"] = _node_ranks(network)
    return table


def _in_one_node(ranks: int) -> str:
    """Return the text of an error: all ranks are in one node."""
    return f"{counted(ranks, 'rank')} {'is' if ranks == 1 else 'are'} in one node"


def _node_among_several(ranks: int, network: Network) -> int:
    """The ranks of a node; ValueError if all ranks are in one node."""
    node = _node_ranks(network)
    if ranks <= node:
        raise ValueError(f"{_in_one_node(ranks)}, of {node}")
    if node == 1:
        raise ValueError("a node has one rank: there is nothing to do within it")
    return node


def _in_two_levels(collective: str) -> Candidate:
    """A collective within nodes and between their first ranks, along binomial trees, and so on."""

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        node = _node_among_several(ranks, network)
        return Algorithm.from_dict({"kind": f"hierarchical_{collective}", "node_ranks": node})

    return Candidate(
        "hierarchical",
        make,
        usual=False,
        usual_on_levels=True,
        summary=f"{collective} within nodes, and between their first ranks",
    )


def _hierarchical(leaders: int | str) -> Maker:
    """Two stages, whose nodes are those of the first level of the machine.

    `leaders`: how many a node has, "all", or "rings", which all ranks of a node form.
    """

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        node = _node_among_several(ranks, network)
        smallest = ranks % node or node
        has = (
            f"the last node has {smallest} of {node} ranks"
            if smallest > 1
            else (f"the last node has 1 rank, the others {node}")
        )
        table: dict[str, Any] = {"kind": "hierarchical_allreduce", "node_ranks": node}
        if leaders == "rings":
            if smallest < node:
                raise ValueError(f"{has}: rings of all nodes are of one length")
            return Algorithm.from_dict(
                table | {"intra_node": "ring", "inter_node": "ring_allreduce"}
            )
        if leaders == "all" and smallest < node:
            raise ValueError(f"{has}: there are as many leaders in each node")
        if smallest == node and leaders != "all" and int(leaders) >= node:
            raise ValueError(f"a node has {node} ranks: all are leaders then")
        if leaders != "all" and int(leaders) > smallest:
            raise ValueError(f"{has}, and there would be {leaders} leaders in each node")
        return Algorithm.from_dict(table | {"leaders": node if leaders == "all" else leaders})

    return make


_MAX_CARDS = 8
"""Of a node, that NCCL's channels are spread over here; more steps take time to make."""


def _consecutive_ranks(network: Network) -> int:
    """The ranks of a node; 1 where there are no nodes, or where these are not consecutive."""
    if isinstance(network, Hierarchy) and network.spans and network.placement == "block":
        return _node_ranks(network)
    return 1


def nccl_tree(ranks: int, network: Network, size: int, chunk_bytes: int = 2**19) -> Algorithm:
    """NCCL's trees on a machine: two channels for each card of a node, with chains within nodes."""
    node = _consecutive_ranks(network)
    shared = isinstance(network, Hierarchy) and network.shared_card
    cards = 1 if shared else min(node, _MAX_CARDS)
    return NcclTreeAllreduce(node_ranks=node, channels=2 * cards, chunk_bytes=chunk_bytes)


def in_network(
    intra_node: Literal["nvls", "direct", "chain"], inter_node: Literal["sharp", "tree"]
) -> Maker:
    """Switches that combine: within the nodes of the machine ("nvls"), between them ("sharp")."""

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        node = _consecutive_ranks(network)
        if intra_node == "nvls" and node == 1:
            raise ValueError("a node has one rank: no switch within it combines")
        if ranks > node and ranks % node:
            raise ValueError(f"{ranks} ranks are no multiple of a node's {node}")
        if ranks <= node and (intra_node, inter_node) != ("nvls", "sharp"):
            raise ValueError(f"{_in_one_node(ranks)}: no switch between nodes combines")
        return InNetworkAllreduce(node_ranks=node, intra_node=intra_node, inter_node=inter_node)

    return make


def _at_one_switch(kind: str) -> Maker:
    """The switch of a node combines or gathers: all ranks are on it."""

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        node = _consecutive_ranks(network)
        if node == 1:
            raise ValueError("a node has one rank: no switch within it combines")
        if ranks > node:
            raise ValueError(f"{ranks} ranks are not at one switch, which has the {node} of a node")
        return Algorithm.from_dict({"kind": kind})

    return make


def _nvls(collective: str, summary: str) -> Candidate:
    """A candidate of NCCL in which the switch of a node combines or gathers."""
    return Candidate(
        "nvls",
        _at_one_switch(f"in_network_{collective}"),
        usual=False,
        summary=summary,
        called={"NCCL": "NVLS"},
        in_network=True,
    )


def _with_copies(ranks: int, network: Network, size: int) -> Algorithm:
    """Return a butterfly with redundant copies on all levels inside of it."""
    if ranks < 4:
        raise ValueError(
            "copy_levels needs at least 4 ranks: there is no level inside the butterfly"
        )
    _check_free_links(network, size)
    return Algorithm.from_dict({"kind": "butterfly", "copy_levels": "all"})


def _on_demand(ranks: int, network: Network, size: int) -> Algorithm:
    """Return a butterfly whose ranks ask for a copy after waiting for as long as a message takes.

    Without noise no rank asks.
    """
    if ranks < 2:
        raise ValueError("on_demand needs at least 2 ranks: nobody waits for a message")
    _check_free_links(network, size)
    patience = _time_with_unit(network.costs(size).transit)
    table = {"kind": "butterfly", "on_demand": "all", "patience": patience}
    return Algorithm.from_dict(table)


def _time_with_unit(ticks: int) -> str:
    """A time with its unit, so that it gives no warning of a long one."""
    return f"{float(ticks) / TICKS_PER_SECOND!r} s"


def _check_free_links(network: Network, size: int) -> None:
    """Raise ValueError where copies would wait for links."""
    gap, costs = network.gap(size), network.costs(size)
    if gap > max(costs.send, _MAX_LINK_SHARE * sum(costs)):
        seconds = float(gap) / TICKS_PER_SECOND
        raise ValueError(
            f"message_bytes = {size} occupy a link for {show_seconds(seconds, 3)}: "
            "what copies would wait for it is not modelled"
        )


_OTHER_ALLREDUCES = [
    # The schedule of recursive_doubling in an engine of its own, which knows no gap between
    # messages: considered only if it is named.
    Candidate(
        "butterfly",
        _always("butterfly"),
        usual=False,
        summary="recursive_doubling on links that are never busy, as in MS12",
    ),
    # What it can do against noise by sending more than it must.
    *(
        Candidate(
            f"butterfly_after_{after}",
            _forwarded(after),
            usual_on_levels=False,  # the engine of the butterfly knows one level
            against_noise=True,
            summary=f"butterfly, then each rank forwards the result to {partners}",
        )
        for after, partners in ((1, "1 partner"), (4, "4 partners"), ("all", "all partners"))
    ),
    # A rank that adopts a copy sends none itself: it may be earlier than without noise.
    Candidate(
        "butterfly_within_all",
        _with_copies,
        usual_on_levels=False,
        against_noise=True,
        summary="butterfly; each message of a round goes to a second rank as well",
    ),
    Candidate(
        "butterfly_on_demand",
        _on_demand,
        usual_on_levels=False,
        against_noise=True,
        summary="butterfly; a rank that waits as long as a message takes asks for a copy",
    ),
    # Within nodes, and between their leaders.
    *(
        Candidate(
            f"hierarchical{suffix}",
            _hierarchical(leaders),
            usual=False,
            usual_on_levels=True,
            summary=f"reduced within nodes, {words}, broadcast within nodes",
        )
        for leaders, suffix, words in (
            (1, "", "recursive_doubling between their leaders"),
            (4, "_4_leaders", "a quarter of the vector between each of 4 leaders"),
            ("all", "_all_leaders", "a part of the vector between each of all ranks"),
        )
    ),
    Candidate(
        "hierarchical_rings",
        _hierarchical("rings"),
        usual=False,
        usual_on_levels=True,
        summary="reduce-scatter around a ring in each node, rings between nodes, allgather in each",
    ),
    Candidate(  # MPICH's has a radix of its own, which a tuning file would have to name
        "recursive_multiplying",
        _always("recursive_multiplying_allreduce"),
        usual=False,
        summary="whole vectors among 4 ranks in a round: the fewest rounds, more messages",
    ),
    Candidate(
        "rabenseifner_4",
        _always("rabenseifner_allreduce", radix=4),
        usual=False,
        summary="rabenseifner among 4 ranks in a round: fewer rounds, more messages",
    ),
    Candidate(
        "swing",
        _always("swing_allreduce"),
        usual=False,
        summary="rabenseifner with partners on both sides, nearer to each other",
    ),
    Candidate(
        "bine",
        _always("bine_allreduce"),
        usual=False,
        summary="recursive_doubling with partners on both sides, nearer to each other",
    ),
    Candidate(  # NCCL's buffers of 4 MiB have 8 parts (`NCCL_BUFFSIZE`, `NCCL_STEPS`)
        "double_binary_tree",
        _always("double_binary_tree_allreduce", segment_bytes="512KiB"),
        usual=False,
        summary="up and down two binary trees, half of the vector each, in parts of 512 KiB",
        called={"NCCL": "Tree"},
    ),
    Candidate(
        "nccl_tree",
        nccl_tree,
        usual=False,
        summary="up and down two binary trees of nodes at the same time, in chunks of 512 KiB",
        called={"NCCL": "Tree"},
    ),
    *(
        Candidate(
            name,
            make,
            usual=False,
            summary=f"{within} within nodes, {between} between them",
            called={"NCCL": called},
            in_network=True,
        )
        for name, called, make, within, between in (
            (
                "collnet_direct",
                "CollNetDirect",
                in_network("direct", "sharp"),
                "parts to each other",
                "switches that combine",
            ),
            (
                "collnet_chain",
                "CollNetChain",
                in_network("chain", "sharp"),
                "parts along chains",
                "switches that combine",
            ),
            (
                "nvls",
                "NVLS",
                in_network("nvls", "sharp"),
                "a switch that combines",
                "switches that combine",
            ),
            (
                "nvls_tree",
                "NVLSTree",
                in_network("nvls", "tree"),
                "a switch that combines",
                "two binary trees",
            ),
        )
    ),
]
"""Beside those of `_PLAIN`."""


def _linear(window: int) -> Maker:
    """Linear all-to-all with a window; the largest one must hold the messages of all ranks."""

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        if window == MAX_WINDOW and ranks - 1 > window:
            raise ValueError(f"a rank has at most {window:,} messages under way, not {ranks - 1:,}")
        return Algorithm.from_dict({"kind": "linear_alltoall", "window": window})

    return make


def _in_one_segment(kind: str, **fields: Any) -> Maker:
    """An algorithm with the whole vector as its only segment, as libraries have it by default."""

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        return Algorithm.from_dict({"kind": kind, "segment_bytes": max(size, 1), **fields})

    return make


def _bine(collective: str, summary: str, *, on_levels: bool = False) -> Candidate:
    """A candidate whose partners are on both sides, which no library has yet."""
    kind = f"bine_{collective}"
    return Candidate("bine", _always(kind), usual=False, usual_on_levels=on_levels, summary=summary)


_OTHERS = {
    "allgather": (
        _bine(
            "allgather",
            "all that is held with partners on both sides, the fewest blocks farthest",
            on_levels=True,
        ),
        Candidate(
            "circulant",
            _always("circulant_allgather", segment_bytes="64KiB"),
            usual=False,
            summary="parts of 64 KiB of all blocks, over 1, ... N/4, N/2 ranks in turn",
        ),
        Candidate(
            "sparbit",
            _always("sparbit_allgather"),
            usual=False,
            summary="pat with a message for each block, so that none is copied",
            called={"Open MPI": "7 sparbit"},
        ),
        Candidate(
            "gather_broadcast",
            _always("gather_broadcast_allgather"),
            usual=False,
            summary="a binomial gather to rank 0, then a binomial broadcast from it",
        ),
        Candidate(  # a tuning file would have to name the radix, as in the other two
            "bruck_4",
            _always("bruck_allgather", radix=4),
            usual=False,
            summary="bruck among 4 ranks in a round, of 3 messages at once: fewer rounds",
        ),
        _nvls("allgather", "a switch that passes each block to all ranks of a node"),
    ),
    "reduce_scatter": (
        _bine(
            "reduce_scatter",
            "halves with partners on both sides, the fewest blocks farthest",
            on_levels=True,
        ),
        _nvls("reduce_scatter", "a switch that combines, from which each rank takes its block"),
    ),
    "gather": (
        _bine("gather", "up a binomial tree with children on both sides, with all blocks below"),
    ),
    "scatter": (
        _bine("scatter", "down a binomial tree with children on both sides, with all blocks below"),
    ),
    "barrier": (
        Candidate(
            "dissemination_4",
            _always("dissemination_barrier", radix=4),
            usual=False,
            summary="rank i tells 3 others in a round: fewer rounds, more messages",
        ),
        Candidate(
            "linear",
            _always("linear_barrier"),
            usual=False,
            summary="from each rank to rank 0, and back to each: few ranks",
            called={"Open MPI": "1 linear"},
        ),
        Candidate(
            "double_ring",
            _always("double_ring_barrier"),
            usual=False,
            summary="a message that goes twice around all ranks: one at a time",
            called={"Open MPI": "2 double_ring"},
        ),
    ),
    "broadcast": (
        Candidate(
            "circulant",
            _always("circulant_broadcast", segment_bytes="64KiB"),
            usual=False,
            summary="parts of 64 KiB over 1, ... N/4, N/2 ranks in turn: the fewest rounds",
        ),
        _bine("broadcast", "down a binomial tree with children on both sides, and so nearer"),
        Candidate(
            "scatter_doubling",
            _always("scatter_allgather_broadcast", allgather="recursive_doubling"),
            summary="scattered down a tree, gathered by recursive doubling: medium messages",
            called={
                "Open MPI": "8 scatter_allgather",
                "MPICH": "scatter_recursive_doubling_allgather",
            },
        ),
        *(
            Candidate(
                name,
                _in_one_segment(kind, **fields),
                usual=False,
                summary=f"whole vectors {words}",
                called={"Open MPI": called},
            )
            for name, kind, fields, words, called in (
                ("chain", "chain_broadcast", {}, "from rank to rank", "3 pipeline"),
                (
                    "binary_tree",
                    "binary_tree_broadcast",
                    {"numbering": "levels"},
                    "down a binary tree",
                    "5 binary_tree",
                ),
                (
                    "split_binary_tree",
                    "split_binary_tree_broadcast",
                    {},
                    "halved: each half down a half of a binary tree",
                    "4 split_binary_tree",
                ),
            )
        ),
        Candidate(
            "pipeline",
            _always("chain_broadcast", segment_bytes="512KiB"),
            usual=False,
            summary="from rank to rank, in parts of 512 KiB: long messages, few ranks",
            called={"NCCL": "Ring"},
        ),
    ),
    "reduce": (
        Candidate(
            "circulant",
            _always("circulant_reduce", segment_bytes="64KiB"),
            usual=False,
            summary="parts of 64 KiB from N/2, N/4, ... 1 ranks away in turn: the fewest rounds",
        ),
        _bine("reduce", "up a binomial tree with children on both sides, and so nearer"),
        Candidate(
            "pipeline",
            _always("chain_reduce", segment_bytes="512KiB"),
            summary="from rank to rank, in parts of 512 KiB: long vectors, few ranks",
            called={"NCCL": "Ring"},
        ),
        *(
            Candidate(
                name,
                _in_one_segment(kind, **fields),
                usual=False,
                summary=f"whole vectors {words}",
                called={"Open MPI": called},
            )
            for name, kind, fields, words, called in (
                ("chain", "chain_reduce", {}, "from rank to rank", "3 pipeline"),
                ("binary_tree", "binary_tree_reduce", {}, "up a binary tree", "4 binary"),
                (
                    "in_order_binary_tree",
                    "binary_tree_reduce",
                    {"in_order": True},
                    "up a binary tree, combined in the order of ranks",
                    "6 in-order_binary",
                ),
            )
        ),
    ),
    # Open MPI's has all messages under way, MPICH's 32 unless it is told another number.
    "alltoall": (
        Candidate(
            "bruck_4",
            _always("bruck_alltoall", radix=4),
            usual=False,
            summary="bruck with 3 messages in a round at once: fewer rounds, fewer bytes",
        ),
        *(
            Candidate(
                name,
                _linear(window),
                summary=f"a block to i + 1, i + 2, ... (modulo N), {words}",
                called=called,
            )
            for name, window, words, called in (
                ("linear", MAX_WINDOW, "all at once", {"Open MPI": "1 linear"}),
                ("scattered", 32, "32 at a time", {"MPICH": "scattered"}),
            )
        ),
        Candidate(
            "pairwise_xor",
            _always("pairwise_alltoall", partners="xor"),
            usual=False,
            summary="a block with i xor 1, 2, 3, ... on powers of two, each after the one before",
            called={"MPICH": "pairwise"},
        ),
    ),
}
"""The same of other collectives."""


def _register_all() -> None:
    """Register all candidates of jitterfly, by collective."""
    for collective, names in _PLAIN.items():
        for name, (called_by, summary) in names.items():
            make = _always(f"{name}_{collective}")
            pairs = zip(LIBRARIES, called_by, strict=True)
            called = {library: word for library, word in pairs if word}
            register(collective, Candidate(name, make, summary=summary, called=called))
    for collective in _IN_TWO_LEVELS:
        register(collective, _in_two_levels(collective))
    for collective, candidates in (("allreduce", _OTHER_ALLREDUCES), *_OTHERS.items()):
        for candidate in candidates:
            register(collective, candidate)


_register_all()


def algorithm_named(
    name: str,
    collective: str | None,
    ranks: Iterable[int],
    network: Network,
    message_bytes: int,
    counts: Any = None,
) -> Algorithm:
    """The algorithm of a name: a kind, such as "ring_allreduce", or a candidate, such as "ring".

    Both mean the same: "double_binary_tree_allreduce" is in the candidate's segments of 512 KiB,
    which are 8 KiB where a study or the class says nothing of them, "hierarchical_allreduce" has
    the nodes of a `Hierarchy`, and "nccl_tree_allreduce" its nodes and cards.

    Parameters
    ----------
    name : str
    collective : str, optional
        Whose candidate it is; without it that of an allreduce. A kind says it itself.
    ranks, network, message_bytes
        What a candidate is made for; it has to fit all numbers of ranks.
    counts : Counts, array of int, dict, str or Path, optional
        Of an algorithm with a count for each rank or pair of ranks, such as "ring_allgatherv".

    Raises
    ------
    ValueError
        No such name; counts that are missing, or for an algorithm without any; a kind or a
        candidate of another collective; a candidate that does not fit.

    Examples
    --------
    >>> import jitterfly as jf
    >>> machine = jf.LogGOPS(L="1us", o="200ns")
    >>> algorithm_named("ring", "allgather", [8], machine, 8)
    RingAllgather()
    >>> algorithm_named("butterfly_after_4", None, [64, 1024], machine, 8).exchanges_after
    4
    """
    kinds = Algorithm.kinds()
    if collective in IRREGULAR:  # which have no candidates
        own_kinds = [kind for kind in kinds if is_kind_of(kind, collective)]
        name = f"{name}_{collective}" if f"{name}_{collective}" in own_kinds else name
        check_choice(name, f"algorithm of {collective}", own_kinds)
    elif collective is not None:
        check_collective_name(collective)
    _check_counted(name, kinds, counts)
    if counts is not None:
        counts = read_counts(counts)  # here, so that errors begin with it, not with the algorithm
    # A butterfly is an allreduce, unless it is asked of reduce-scatters, which have one as well.
    own_name = collective is not None and name in _REGISTERED.get(collective, {})
    if name in kinds and not (own_name and not is_kind_of(name, str(collective))):
        if collective is not None and not is_kind_of(name, collective):
            others = ", ".join(kind for kind in kinds if is_kind_of(kind, collective))
            raise ValueError(f"algorithm {name} is not for {collective}, which has {others}")
        table = table_of_kind(name, network) | ({} if counts is None else {"counts": counts})
        return Algorithm.from_dict(table, "algorithm")
    having = [one for one in COLLECTIVES if name in _REGISTERED[one]]
    wanted = collective or "allreduce"
    if having and wanted not in having:
        own = list(_REGISTERED[wanted])
        which = (
            "" if collective else f"; for it give {parameter('collective')} {' or '.join(having)}"
        )
        raise ValueError(
            f"algorithm {name} is there for {' and for '.join(having)}, not for {wanted}, "
            f"which has {', '.join(own)}{did_you_mean(name, own)}{which}"
        )
    if not having:
        short = [word for one in COLLECTIVES for word in _REGISTERED[one]]
        raise ValueError(
            f"algorithm must be one of {len(kinds)} kinds such as ring_allgather "
            "(docs/collectives.md), or a candidate of `jitterfly advise` such as ring, "
            f"got {shorten(name)}{did_you_mean(name, [*kinds, *short])}"
        )
    candidate = _REGISTERED[wanted][name]
    try:
        made = [candidate.make(count, network, message_bytes) for count in ranks]
    except ValueError as error:
        raise ValueError(f"algorithm {name} does not fit: {error}") from None
    if any(one != made[0] for one in made):
        raise ValueError(f"algorithm {name} differs between these numbers of ranks: take one")
    return made[0]


def _check_counted(name: str, kinds: list[str], counts: Any) -> None:
    """Raise ValueError if an algorithm lacks its counts, or has counts that it does not take."""
    counted = [kind for kind in kinds if has_counts(kind)]
    if name in counted and counts is None:
        such = "'lognormal(mean=64,sigma=1)' or the path of a file"
        made = f"jf.{Algorithm._kinds[name].__name__}(counts), with counts"
        option = option_of("counts")
        raise ValueError(
            f"algorithm {name} has a count for each rank, or pair of ranks: give "
            f"{option or made}{',' * bool(option)} such as {such}"
        )
    if counts is not None and name not in counted:
        raise ValueError(
            f"{parameter('counts')} must be left out for algorithm {name}; those with counts are "
            f"{', '.join(counted)}"
        )


def choose_candidates(
    collective: str, names: Iterable[str] | None, own: Mapping[str, Any], *, levels: bool = False
) -> list[Candidate]:
    """The candidates of a question: those named (else the usual ones) and the user's own.

    Parameters
    ----------
    collective : str
    names : list of str, optional
        Of the collective, also by the kinds of their algorithms (`ring_allreduce`), or of `own`;
        where some of `own` are named, the others are left out.
    own : mapping
        By name, an `Algorithm` or its table, such as ``{"kind": "butterfly", "exchanges_after":
        3}``.
    levels : bool
        Whether the machine has several levels (`Hierarchy`).

    Raises
    ------
    ValueError
        An unknown name or one given twice, a bad table, an algorithm of `own` whose kind is of
        another collective, or none at all.
    """
    there = known(collective)
    if isinstance(names, (str, bytes)):
        raise ValueError(f"candidates must be a list of names, got {shorten(names)}")
    if not isinstance(own, Mapping):
        raise ValueError(f"own must be a table of names and algorithms, got {shorten(own)}")
    mine = {str(name): _own_candidate(collective, str(name), one) for name, one in own.items()}
    if names is None:
        chosen = [one for one in there.values() if one.is_usual(levels=levels)]
    else:
        every = mine | there
        by_kind = {f"{name}_{collective}": name for name in _PLAIN[collective]} | _OF_KIND
        names = [name if name in every else by_kind.get(name, name) for name in names]
        chosen = [every[check_choice(name, "candidates", list(every))] for name in names]
    own_ones = list(mine.values())
    if not any(one in own_ones for one in chosen):
        chosen += own_ones
    found = [one.name for one in chosen]
    twice = sorted({name for name in found if found.count(name) > 1})
    if taken := [name for name in twice if name in mine and name in there]:
        raise ValueError(
            f"own: {collective} has a candidate {taken[0]!r} already: give yours another name, "
            f"such as my_{taken[0]}"
        )
    if twice:
        raise ValueError(f"candidates must differ, {twice[0]!r} is given twice")
    if not found:
        raise ValueError(f"candidates must name at least one; {collective} has {', '.join(there)}")
    return chosen


def _own_candidate(collective: str, name: str, value: Any) -> Candidate:
    """Make a candidate of a user's algorithm, an object or a table, and check its collective."""
    if not isinstance(value, Algorithm):
        value = Algorithm.from_dict(value, f"own.{name}")
    # A user's class need not tell its collective by its kind, and a barrier may be an allreduce.
    kind = getattr(value, "kind", "")
    others = [one for one in COLLECTIVES if is_kind_of(kind, one)]
    if others and collective not in others and (others, collective) != (["allreduce"], "barrier"):
        raise ValueError(
            f"own.{name} must be an algorithm for {collective}, and the name of its kind, {kind}, "
            f"says {others[0]}: give {parameter('collective')}, take another algorithm, or rename "
            "a kind of your own"
        )
    return Candidate(name, lambda ranks, network, size: value)
