"""`Hierarchy`: which ranks share a node, a rack (block, cyclic, listed placement; ranks per node).

It gives message costs by level. Which level a message crosses, such as shared memory or the
network, is found here. `cycle` gives a message of a collective the costs of its level, and
`schedule.compile` one of a GOAL schedule. `Torus` and `Dragonfly` say how far its outermost parts
are from each other.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .fields import (
    Component,
    Converted,
    IntField,
    Ints,
    check_choice,
    check_integer,
    did_you_mean,
    frozen_dataclass,
    shorten,
)
from .network import Network, check_network
from .steps import Costs
from .syntax import read_network, read_part
from .units import ShortSeconds

MAX_LEVELS = 8
_MAX_RANKS = 2**30
_MAX_HOPS = 4096
_MAX_LISTED = 2**24
"""Ranks of a case: each message of each step is listed, with its level, which takes memory."""
_PLACEMENTS = ("block", "cyclic")
_DEFAULT_NAMES = ("node", "rack")
"""Of the first levels, where they are given none."""
_NUMBERED = re.compile(r"level ?([1-7])")
_SIZES = re.compile(r"[0-9]+(x[0-9]+)*")
_NAME = re.compile(r"(?!level ?\d|machine$)[A-Za-z][A-Za-z0-9_-]{0,39}")

Ranks = npt.NDArray[np.int64]


class Distances(Component, ABC):
    """Base of how far hosts are from each other: what that adds to the latency of the nearest.

    Hosts are numbered from 0 in the order of their slots: the parts of the level below the
    outermost one of a `Hierarchy`, such as nodes, or its ranks where it has one level.
    """

    goes_to = "It is the `distances` of a `Hierarchy`"
    example = "jf.Hierarchy([(8, inner), outer], distances={})"

    @property
    @abstractmethod
    def hosts(self) -> int:
        """The number of hosts that there are."""

    @property
    @abstractmethod
    def latencies(self) -> list[float]:
        """The latency that each class of distance adds, in seconds: nothing for the nearest."""

    @abstractmethod
    def classes(self, senders: Ranks, receivers: Ranks) -> Ranks:
        """The class of distance of each pair of hosts.

        Parameters
        ----------
        senders, receivers : array of int, shape (pairs,)
            Hosts.

        Returns
        -------
        array of int64, shape (pairs,)
            Places in `latencies`.
        """


class _Sizes(Converted[Ints, tuple[int, ...]]):
    """A required field with the sizes of dimensions: a list, one number, or text: "8x8x4"."""

    def __init__(self) -> None:
        super().__init__("list of int | int | str")

    def __set__(self, instance: object, value: Any) -> None:
        rule = "sizes must be 1 to 8 whole numbers of at least 1, such as 8x8x4"
        parts = value.replace("x", " ").split() if isinstance(value, str) else value
        try:
            parts = [parts] if np.ndim(parts) == 0 else parts  # of one dimension
            sizes = tuple(
                check_integer(int(part) if isinstance(part, str) else part, "sizes", 1, _MAX_LISTED)
                for part in parts
            )
        except (TypeError, ValueError):
            raise ValueError(f"{rule}, got {shorten(value)}") from None
        if not 1 <= len(sizes) <= MAX_LEVELS or math.prod(sizes) > _MAX_LISTED:
            raise ValueError(f"{rule}, for at most 2^24 hosts, got {shorten(value)}")
        if sum(size // 2 for size in sizes) > _MAX_HOPS:  # each number of them is a network
            raise ValueError(
                f"sizes must have no two hosts further apart than {_MAX_HOPS:,} hops, "
                f"got {shorten(value)}"
            )
        super().__set__(instance, sizes)


@frozen_dataclass()
class Torus(Distances, kind="torus"):
    """A torus: a host is joined with its two neighbours in each dimension, the last with the first.

    A message takes the fewest hops. The latency of the network is that of one hop.

    Parameters
    ----------
    sizes : list of int, int or str
        Hosts in each dimension, such as ``[8, 8, 4]``, 64 or ``"8x8x4"``; no two further apart
        than 4,096 hops. Consecutive hosts are neighbours in the last dimension.
    hop : float or str
        The latency of each further hop, seconds.

    Raises
    ------
    ValueError
        A parameter out of range; there are fewer hosts than a case has, when that is made.

    Notes
    -----
    Messages do not share the links on their way. On a torus of one dimension with 2^K hosts the
    messages of `SwingAllreduce` go 1, 1, 3, 5, 11, ... hops, about two thirds of the 1, 2, 4, 8,
    ... of `RabenseifnerAllreduce`.

    References
    ----------
    De Sensi, Bonato, Saam & Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce",
    NSDI 2024.

    Examples
    --------
    >>> torus = Torus("4x4", hop="100ns")
    >>> (torus.classes(np.array([0, 0, 0]), np.array([3, 5, 10])) + 1).tolist()  # hops
    [1, 2, 4]
    """

    sizes: _Sizes
    hop: ShortSeconds

    @property
    def hosts(self) -> int:
        return math.prod(self.sizes)

    @property
    def latencies(self) -> list[float]:
        most = sum(size // 2 for size in self.sizes)
        return [further * self.hop for further in range(max(most, 1))]

    def classes(self, senders: Ranks, receivers: Ranks) -> Ranks:
        hops = np.zeros(len(senders), dtype=np.int64)
        for size in reversed(self.sizes):
            senders, first = np.divmod(senders, size)
            receivers, second = np.divmod(receivers, size)
            apart = np.abs(first - second)
            hops += np.minimum(apart, size - apart)
        return np.maximum(hops - 1, 0)


@frozen_dataclass()
class Dragonfly(Distances, kind="dragonfly"):
    """A dragonfly: routers of a group are all joined, and each two groups by one global link.

    The latency of the network is that of two hosts at one router. Another router of the group is a
    local hop away. To another group a message goes on its global link: one global hop, and a local
    hop before it, or after it, where another router has the link. Each router has the same number
    of global links, but for the last ones where they do not divide evenly: router 0 has those to
    the groups with the lowest numbers, router 1 the next, and so on.

    Parameters
    ----------
    groups, routers, router_hosts : int
        Groups, routers of a group, and hosts of a router. Consecutive hosts are at a router.
    local_hop, global_hop : float or str
        What a hop within a group, and one between groups, adds to the latency, seconds.

    Raises
    ------
    ValueError
        A parameter out of range; there are fewer hosts than a case has, when that is made.

    Notes
    -----
    The routes are minimal ones (Kim et al. 2008), and messages do not share their links. Bine trees
    and butterflies send less over global links than binomial ones where blocks of ranks are groups
    (De Sensi et al. 2025).

    References
    ----------
    Kim, Dally, Scott & Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008.

    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Host 0 and one at its router, in its group, and in two others:

    >>> fly = Dragonfly(5, routers=2, router_hosts=2, local_hop="100ns", global_hop="500ns")
    >>> which = fly.classes(np.zeros(4, int), np.array([1, 2, 4, 17]))
    >>> [round(fly.latencies[one] * 1e9) for one in which]
    [0, 100, 500, 600]
    """

    groups: IntField
    routers: IntField
    router_hosts: IntField
    local_hop: ShortSeconds
    global_hop: ShortSeconds

    def __post_init__(self) -> None:
        for name in ("groups", "routers", "router_hosts"):
            value = check_integer(getattr(self, name), name, 1, _MAX_LISTED)
            object.__setattr__(self, name, value)
        if self.hosts > _MAX_LISTED:
            raise ValueError(f"groups must be of at most 2^24 hosts in all, got {self.hosts}")

    @property
    def hosts(self) -> int:
        return self.groups * self.routers * self.router_hosts

    @property
    def latencies(self) -> list[float]:
        local, far = self.local_hop, self.global_hop
        return [0.0, local, far, far + local, far + 2 * local]

    def classes(self, senders: Ranks, receivers: Ranks) -> Ranks:
        first, second = senders // self.router_hosts, receivers // self.router_hosts
        here, there = first // self.routers, second // self.routers
        local = (first != second).astype(np.int64)
        before = first % self.routers != self._gateway(here, there)
        after = second % self.routers != self._gateway(there, here)
        return np.where(here == there, local, 2 + before.astype(np.int64) + after)

    def _gateway(self, group: Ranks, other: Ranks) -> Ranks:
        """The router of each group that has the link to the other one."""
        each = -(-(self.groups - 1) // self.routers) or 1  # global links of a router
        return (other - (other > group)) // each


class Level(NamedTuple):
    """One level of a machine: how many parts of the level below it has, and its network.

    `size` is None for the outermost level, the whole machine. `name`: the word for the level in
    `shared` of a noise source, such as "rack"; "" leaves the usual one.
    """

    size: int | None
    network: Network
    name: str = ""


@frozen_dataclass()
class Hierarchy(Network, kind="hierarchy"):
    """A machine of nodes, racks and so on: a message costs what the level costs that it crosses.

    The first level is that of two ranks in the same node, the next that of two ranks in different
    nodes of one rack, and the last one that of all others.

    Parameters
    ----------
    levels : sequence of (int, Network) or (int, Network, str), the last one a Network
        ``[(8, node), (16, rack), machine]``: 8 ranks are a node, 16 nodes a rack. A network is one
        such as `LogGOPS`, or its text. From 1 to 8 levels; the number of ranks need not be a
        multiple of theirs. Also as text: ``"8: L=300ns,o=100ns; L=1us,o=200ns"``.

        A level may have a name, by which noise may be shared: ``(4, network, "socket")``, in a
        table ``name = "socket"``, as text ``"socket=4: L=100ns,o=50ns; ..."``. Without it the first
        level is "node" and the second one "rack", if no other level has that name. Level N is also
        "level N".
    placement : "block", "cyclic" or list of int
        Where ranks are. "block": ranks 0 to 7 are the first node, and so on (Slurm's
        ``--distribution=block``). "cyclic": consecutive ranks are in consecutive nodes, and start
        again with the first one (round robin). A list has the slot of each rank, from 0; slots 0
        to 7 are the first node.
    shared_card : bool
        Whether the ranks of a node share its network card: of the messages of one step that leave
        a node, or enter it, each has an equal part of the bandwidth (``1 / G``, ``1 / beta``) of
        its level. Messages of other steps at the same time are not counted, so that a card carries
        up to as many times its bandwidth as steps overlap there, at most as many times as the node
        has ranks: also on quiet ranks, in trees and linear gathers (docs/model.md, *Limits*). As
        text it is a key of the outermost level:
        ``"8: L=300ns,o=100ns; L=1us,o=200ns,G=50GB/s,shared_card=true"``.
    distances : Torus, Dragonfly, dict or str, optional
        How far the parts of the outermost level are from each other, such as nodes: what that adds
        to the latency of messages between them. As text ``torus(sizes=8x8,hop=100ns)``, also a key
        of the outermost level, which may be the only one:
        ``"L=1us,o=200ns,distances=torus(sizes=8x8,hop=100ns)"``.

    Raises
    ------
    ValueError
        Names the level, the placement or the distances that are out of range; or a case has more
        than 2^24 ranks, or more hosts than `distances`.

    Notes
    -----
    All messages of `algorithms`, and of schedules, have the costs of their level, and wait for the
    links of their two ranks as always. Without `shared_card` each rank of a node has the bandwidth
    between nodes to itself. `Butterfly` runs without what is redundant: its exchanges
    are such messages that do not wait for links. Redundant exchanges (`exchanges_after`) of other
    allreduces, where they have any, take the way of their level.

    Examples
    --------
    >>> from jitterfly import LogGOPS
    >>> machine = Hierarchy([(8, LogGOPS(L="300ns", o="100ns")), LogGOPS(L="1us", o="200ns")])
    >>> machine.levels_between(np.array([0, 0]), np.array([7, 8]), 64).tolist()
    [0, 1]
    """

    levels: Converted[Sequence[Any], tuple[Level, ...]] = Converted("list of (int, Network)", ())
    placement: Literal["block", "cyclic"] | Sequence[int] = "block"
    shared_card: bool = False
    distances: Any = None
    has_levels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _read_levels(self.levels))
        object.__setattr__(self, "placement", _read_placement(self.placement))
        object.__setattr__(self, "distances", _read_distances(self.distances))
        if self.distances is not None and not self.levels[-1].network.latency_field:
            raise ValueError("distances must be left out on a network without a latency")
        if not isinstance(self.shared_card, bool):
            raise ValueError(f"shared_card must be true or false, got {shorten(self.shared_card)}")
        if self.shared_card and not self.spans:
            raise ValueError("shared_card must be left out on a network without nodes")
        if self.shared_card and not any(one.network.has_bandwidth for one in self.levels[1:]):
            raise ValueError(
                "shared_card must be left out where a byte between nodes takes no time (G or beta "
                "of their levels)"
            )

    @property
    def networks(self) -> list[Network]:
        """The network of each level, the innermost first; then those of the farther hosts."""
        own = [level.network for level in self.levels]
        further = [] if self.distances is None else self.distances.latencies[1:]
        return own + [own[-1].farther(seconds) for seconds in further]

    @property
    def spans(self) -> list[int]:
        """The numbers of ranks that a node has, a rack, and so on; one fewer than levels."""
        sizes = [level.size for level in self.levels if level.size is not None]
        return [int(span) for span in np.cumprod(np.array(sizes, dtype=object))]

    @property
    def smallest_message(self) -> int:  # type: ignore[override]
        return max(network.smallest_message for network in self.networks)

    @property
    def largest_message(self) -> int:
        return min(network.largest_message for network in self.networks)

    def costs(self, message_bytes: int) -> Costs:
        """Costs of a message that crosses the outermost level, between the nearest hosts."""
        return self.levels[-1].network.costs(message_bytes)

    def gap(self, message_bytes: int) -> int:
        return self.levels[-1].network.gap(message_bytes)

    def load(self, message_bytes: int) -> int:
        return self.levels[-1].network.load(message_bytes)

    def check_gap(self, send_gap: int) -> None:
        for network in self.networks:
            network.check_gap(send_gap)

    def check_ranks(self, ranks: int) -> None:
        """Refuse more ranks than can be listed."""
        if ranks > _MAX_LISTED:
            raise ValueError(f"ranks must be from 1 to 2^24 on a Hierarchy, got {ranks}")
        if self.distances is not None:
            last = ranks - 1 if isinstance(self.placement, str) else max(self.placement)
            hosts = last // self._host_ranks + 1
            if hosts > self.distances.hosts:
                raise ValueError(
                    f"distances: {self.distances.kind} has {self.distances.hosts} hosts, "
                    f"{ranks} ranks are on {hosts}"
                )

    @property
    def _host_ranks(self) -> int:
        """The ranks of a part of the outermost level."""
        return self.spans[-1] if self.spans else 1

    def slots(self, ranks: int) -> Ranks:
        """The slot of each rank: slots 0 to ``spans[0] - 1`` are the first node, and so on.

        Parameters
        ----------
        ranks : int
            How many there are.

        Returns
        -------
        array of int64, shape (ranks,)

        Raises
        ------
        ValueError
            A given placement is for another number of ranks; or there are more than 2^24.
        """
        self.check_ranks(ranks)
        if self.placement == "block" or (self.placement == "cyclic" and not self.spans):
            return np.arange(ranks, dtype=np.int64)
        if self.placement == "cyclic":
            width = self.spans[0]
            nodes = -(-ranks // width)
            rank = np.arange(ranks, dtype=np.int64)
            return (rank % nodes) * width + rank // nodes
        if len(self.placement) != ranks:
            raise ValueError(
                f"placement must have one slot for each of the {ranks} ranks, got "
                f"{len(self.placement)} slots"
            )
        return np.array(self.placement, dtype=np.int64)

    @property
    def level_names(self) -> list[str]:
        """The name of each level below the machine, the innermost first."""
        names = [level.name for level in self.levels if level.size is not None]
        usual = [*_DEFAULT_NAMES, *("" for _ in names)]
        return [
            name or (usual[i] if usual[i] and usual[i] not in names else f"level {i + 1}")
            for i, name in enumerate(names)
        ]

    def level_named(self, name: str) -> int:
        """The number of the level of that name, from 1.

        Raises
        ------
        ValueError
            There is none; it lists those that there are.
        """
        if found := _NUMBERED.fullmatch(name):
            return int(found[1])
        names = self.level_names
        if name not in names:
            allowed = [*names, "machine"]
            raise ValueError(
                f"shared must be one of {', '.join(map(repr, allowed))} on this network, where it "
                f"names a level, got {shorten(name)}{did_you_mean(name, allowed)}"
            )
        return names.index(name) + 1

    def shared_ranks(self, level: int, ranks: int) -> int:
        """Return how many consecutive ranks are in one part of a level, for noise that they share.

        Parameters
        ----------
        level : int
            1 is a node, 2 a rack, and so on.
        ranks : int
            How many there are.

        Raises
        ------
        ValueError
            There is no such level, or its ranks are not consecutive.
        """
        if level > len(self.spans):
            raise ValueError(
                f"shared names level {level}, the network has {len(self.spans)} below the machine"
            )
        span = self.spans[level - 1]
        if span >= ranks:
            return ranks
        if self.placement != "block" and span > 1:
            raise ValueError(
                f"shared names level {level}: that needs placement 'block', where its ranks are "
                f"consecutive, got {shorten(self.placement)}"
            )
        return span

    def levels_between(self, senders: Ranks, receivers: Ranks, ranks: int) -> Ranks:
        """The level that each message crosses.

        Parameters
        ----------
        senders, receivers : array of int, shape (messages,)
            Ranks.
        ranks : int
            How many there are.

        Returns
        -------
        array of int64, shape (messages,)
            0 is within a node. With `distances` those between hosts that are farther than the
            nearest have numbers beyond that of the outermost level, as in `networks`.
        """
        slots = self.slots(ranks)
        sender, receiver = slots[senders], slots[receivers]
        level = np.zeros(len(sender), dtype=np.int64)
        for span in self.spans:
            level += sender // span != receiver // span
        if self.distances is not None:
            far = level == len(self.spans)
            width = self._host_ranks
            level[far] += self.distances.classes(sender[far] // width, receiver[far] // width)
        return level

    def sharers(self, senders: Ranks, receivers: Ranks, ranks: int) -> Ranks:
        """Count for each message those at a network card with it, if all are sent at once.

        Parameters
        ----------
        senders, receivers : array of int, shape (messages,)
            Ranks.
        ranks : int
            How many there are.

        Returns
        -------
        array of int64, shape (messages,)
            1 within a node. Else the number of messages that leave the sender's node or that enter
            the receiver's, whichever is larger.
        """
        count = np.ones(len(senders), dtype=np.int64)
        node = self.slots(ranks) // self.spans[0]
        from_node, to_node = node[senders], node[receivers]
        between = from_node != to_node
        leave, enter = np.bincount(from_node[between]), np.bincount(to_node[between])
        count[between] = np.maximum(leave[from_node[between]], enter[to_node[between]])
        return count

    def to_dict(self) -> dict[str, Any]:
        levels = [
            ({} if size is None else {"size": size})
            | ({"name": name} if name else {})
            | network.to_dict()
            for size, network, name in self.levels
        ]
        placement = self.placement if isinstance(self.placement, str) else list(self.placement)
        table = {"kind": self.kind, "levels": levels, "placement": placement}
        if self.distances is not None:
            table["distances"] = self.distances.to_dict()
        return table | ({"shared_card": True} if self.shared_card else {})

    def leave_out_defaults(self, values: dict[str, Any]) -> None:
        super().leave_out_defaults(values)
        for level, table in zip(self.levels, values["levels"], strict=True):
            level.network.leave_out_defaults(table)

    def identity(self) -> dict[str, Any]:
        """Return what decides the results, as plain values: not how levels are called."""
        table = self.to_dict()
        for level in table["levels"]:
            level.pop("name", None)
        return table


def _read_levels(value: Any) -> tuple[Level, ...]:
    """Return the levels of a hierarchy from a list of (size, network), the innermost first."""
    rule = "levels must be a list of (ranks, network), (nodes, network), ..., and a network at last"
    if isinstance(value, (str, bytes, Mapping, Network)):
        raise ValueError(f"{rule}, got {shorten(value)}")
    try:
        entries = list(value)
    except TypeError:
        raise ValueError(f"{rule}, got {shorten(value)}") from None
    if not 1 <= len(entries) <= MAX_LEVELS:
        raise ValueError(f"levels must be from 1 to {MAX_LEVELS}, got {len(entries)}")
    levels = [_read_level(entry, f"levels[{i}]") for i, entry in enumerate(entries)]
    for i, level in enumerate(levels):
        if (level.size is None) != (i + 1 == len(levels)):
            what = "no size" if level.size is not None else "a size, (size, network)"
            last = "the outermost level holds all ranks" if level.size is not None else "a node's"
            raise ValueError(f"levels[{i}] must have {what}: {last}")
    names = [level.name for level in levels if level.name]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"levels must have names of their own, got {twice[0]!r} twice")
    spans = 1
    for level in levels:
        spans *= level.size or 1
    if spans > _MAX_RANKS:
        raise ValueError(f"levels must hold at most 2^30 ranks together, got {spans}")
    return tuple(levels)


def _read_level(entry: Any, name: str) -> Level:
    """Read a level: a network, a tuple with its size and name, or a table."""
    size, network, given = None, entry, ""
    if isinstance(entry, Mapping):
        table = dict(entry)
        size, given = table.pop("size", None), table.pop("name", "")
        network = Network.from_dict(table, name)
    elif isinstance(entry, (tuple, list)):
        if len(entry) not in (2, 3):
            raise ValueError(
                f"{name} must be (size, network) or (size, network, name), got {shorten(entry)}"
            )
        size, network, given = entry if len(entry) == 3 else (*entry, "")
        if isinstance(network, Mapping):
            network = Network.from_dict(read_network(network), name)
    if size is not None:
        size = check_integer(size, f"{name}: size", 1, _MAX_RANKS)
    try:
        network = check_network(network)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if isinstance(network, Hierarchy):
        raise ValueError(f"{name} must be a network of one level, got {shorten(network)}")
    if given != "" and not (isinstance(given, str) and _NAME.fullmatch(given)):
        raise ValueError(
            f"{name}: name must be a letter and then letters, digits, - and _, up to 40 in all, "
            f"and not 'machine', which is the outermost level, got {shorten(given)}"
        )
    if given and size is None:
        raise ValueError(f"{name} must have no name: the outermost level is the 'machine'")
    return Level(size, network, given)


def _read_distances(value: Any) -> Distances | None:
    """Return the distances between hosts: an object, its table or its text; None without any."""
    if value is None or isinstance(value, Distances):
        return value
    keyed = isinstance(value, str) and "=" in value
    table = read_part(value, "distances") if keyed else value
    if isinstance(table, Mapping):
        return Distances.from_dict(table, "distances")
    sizes = value if isinstance(value, str) and _SIZES.fullmatch(value) else "8x8"
    raise ValueError(
        f"distances must be a Torus or a Dragonfly, or text such as "
        f"'torus(sizes={sizes},hop=100ns)', got {shorten(value)}"
    )


def _read_placement(value: Any) -> Any:
    """Return how ranks are placed: "block", "cyclic", or the slot of each rank."""
    if isinstance(value, str):
        return check_choice(value, "placement", _PLACEMENTS)
    rule = "placement must be 'block', 'cyclic' or a list of distinct slots from 0"
    try:
        slots = tuple(check_integer(slot, "slots", 0, _MAX_RANKS - 1) for slot in value)
    except (TypeError, ValueError):
        raise ValueError(f"{rule}, got {shorten(value)}") from None
    if len(set(slots)) != len(slots):
        raise ValueError(f"{rule}, got {shorten(value)}")
    return slots
