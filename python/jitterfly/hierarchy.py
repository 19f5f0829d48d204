"""`Hierarchy`: which ranks share a node, a rack (block, cyclic, listed placement; ranks per node).

It gives message costs by level. Which level a message crosses, such as shared memory or the
network, is found here. `cycle` gives a message of a collective the costs of its level, and
`schedule.compile` one of a GOAL schedule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .fields import Converted, check_choice, check_integer, did_you_mean, frozen_dataclass, shorten
from .network import Network, check_network
from .steps import Costs
from .syntax import read_network

MAX_LEVELS = 8
_MAX_RANKS = 2**30
_MAX_LISTED = 2**24
"""Ranks of a case: each message of each step is listed, with its level, which takes memory."""
_PLACEMENTS = ("block", "cyclic")
_DEFAULT_NAMES = ("node", "rack")
"""Of the first levels, where they are given none."""
_NUMBERED = re.compile(r"level ?([1-7])")
_NAME = re.compile(r"(?!level ?\d|machine$)[A-Za-z][A-Za-z0-9_-]{0,39}")

Ranks = npt.NDArray[np.int64]


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

    Raises
    ------
    ValueError
        Names the level or the placement that is out of range; or a case has more than 2^24 ranks.

    Notes
    -----
    All messages of `algorithms`, and of schedules, have the costs of their level, and wait for the
    links of their two ranks as always. Without `shared_card` each rank of a node has the bandwidth
    between nodes to itself. `Butterfly` runs without what is redundant: its exchanges
    are such messages that do not wait for links. Redundant exchanges (`exchanges_after`) of all
    other allreduces take the way of their level.

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
    has_levels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _read_levels(self.levels))
        object.__setattr__(self, "placement", _read_placement(self.placement))
        if not isinstance(self.shared_card, bool):
            raise ValueError(f"shared_card must be true or false, got {shorten(self.shared_card)}")
        if self.shared_card and not self.spans:
            raise ValueError("shared_card must be left out on a network without nodes")
        if self.shared_card and not any(one.has_bandwidth for one in self.networks[1:]):
            raise ValueError(
                "shared_card must be left out where a byte between nodes takes no time (G or beta "
                "of their levels)"
            )

    @property
    def networks(self) -> list[Network]:
        """The network of each level, the innermost first."""
        return [level.network for level in self.levels]

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
        """Costs of a message that crosses the outermost level."""
        return self.networks[-1].costs(message_bytes)

    def gap(self, message_bytes: int) -> int:
        return self.networks[-1].gap(message_bytes)

    def load(self, message_bytes: int) -> int:
        return self.networks[-1].load(message_bytes)

    def check_gap(self, send_gap: int) -> None:
        for network in self.networks:
            network.check_gap(send_gap)

    def check_ranks(self, ranks: int) -> None:
        """Refuse more ranks than can be listed."""
        if ranks > _MAX_LISTED:
            raise ValueError(f"ranks must be from 1 to 2^24 on a Hierarchy, got {ranks}")

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
            0 is within a node.
        """
        slots = self.slots(ranks)
        sender, receiver = slots[senders], slots[receivers]
        level = np.zeros(len(sender), dtype=np.int64)
        for span in self.spans:
            level += sender // span != receiver // span
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
        return table | ({"shared_card": True} if self.shared_card else {})

    def leave_out_defaults(self, values: dict[str, Any]) -> None:
        super().leave_out_defaults(values)
        for network, table in zip(self.networks, values["levels"], strict=True):
            network.leave_out_defaults(table)

    def identity(self) -> dict[str, Any]:
        """Return what decides the results, as plain values: not how levels are called."""
        table = self.to_dict()
        for level in table["levels"]:
            level.pop("name", None)
        return table


def _read_levels(value: Any) -> tuple[Level, ...]:
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


def _read_placement(value: Any) -> Any:
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
