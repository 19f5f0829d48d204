"""`Topology` and `FatTree`: fat trees (XGFT, PGFT) with d-mod-k, s-mod-k and random routing.

Fat trees are XGFT and PGFT with routing by a key. XGFT: Oehring et al. 1995; PGFT, with parallel
cables: Zahavi 2012. A node of level l is (H, T), H < N / M_l, T < W_l; its parent number u is
(H / m_{l+1}, T + u W_l).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import (
    MAX_SEED,
    Component,
    Converted,
    Int,
    IntegersLike,
    IntField,
    IntListField,
    as_integer,
    check_choice,
    check_integer,
    frozen_dataclass,
    shorten,
    show_bound,
)

MAX_HOSTS = 2**20


class Topology(Component, ABC):
    """Base of all networks; its routing is part of it."""

    goes_to = "It is the `network` of a `CongestionCase`, and of the noise `Congestion`"
    example = "jf.congestion.CongestionCase({})"

    @property
    @abstractmethod
    def hosts(self) -> int:
        """The number of endpoints, which count from 0."""

    @property
    @abstractmethod
    def routing_name(self) -> str:
        """The name of the routing, for tables and pictures."""

    @abstractmethod
    def give(self, program: core.CongestionProgram, whole: bool = False) -> None:
        """Hand the routes to a program of the engine; `whole`: with a counter for every edge."""


def program_on(
    network: Topology,
    used: int,
    ranks: int,
    perturbation: int = 0,
    levels: Sequence[npt.NDArray[np.uint32]] = (),
    chain: Sequence[int] = (),
    whole: bool = False,
) -> core.CongestionProgram:
    """A program of messages between `ranks` ranks; the other `used` hosts perturb them."""
    pairs = np.concatenate([*levels, np.zeros((0, 2), np.uint32)])
    program = core.CongestionProgram(
        hosts=network.hosts,
        used=used,
        ranks=ranks,
        perturbation=perturbation,
        offsets=np.cumsum([0, *map(len, levels)]).astype(np.uint32),
        senders=np.ascontiguousarray(pairs[:, 0]),
        receivers=np.ascontiguousarray(pairs[:, 1]),
        chain=np.array(chain, np.uint32),
    )
    network.give(program, whole)
    return program


ROUTINGS = ("d-mod-k", "s-mod-k", "hash", "random")
"""By destination (OpenSM's ftree), source, a hash of the destination, or at random per message.

Their order is that of `KeyKind` in cuda/congestion/routes.h, where routes are chosen.
"""
NAMED = {
    144: ((12, 12), (1, 12)),
    1152: ((12, 12, 8), (1, 12, 12)),
    1728: ((12, 12, 12), (1, 12, 12)),
    3456: ((12, 12, 24), (1, 12, 12)),
    20736: ((12, 12, 12, 12), (1, 12, 12, 12)),
}
"""Trees of radix-24 switches with full bisection bandwidth, by their number of hosts."""
_MAX_HEIGHT = 8


@frozen_dataclass()
class FatTree(Topology, kind="fat_tree"):
    """PGFT(h; m; w; p): h levels of switches above the hosts.

    Parameters
    ----------
    m : list of int
        Children of a node of level 1 ... h. Their product is the number of hosts, at most 2^20.
    w : list of int
        Parents of a node of level 0 ... h - 1.
    p : list of int, optional
        Parallel cables to each parent; None: 1 everywhere (an XGFT).
    routing : "d-mod-k", "s-mod-k", "hash" or "random"
        The key K of a message: its destination, its source, a hash of its destination, or drawn
        for every message. It goes up from (H, T) to parent tree ``K mod W_{l+1}`` by cable
        ``K / W_{l+1} mod p_{l+1}`` as far as it must, and down likewise.
    salt : int
        Of the hash, from 0 to 2^64 - 1: another salt is another routing. Only with "hash".

    Raises
    ------
    ValueError
        A parameter out of range.

    Examples
    --------
    >>> FatTree.of(1152)
    FatTree(m=(12, 12, 8), w=(1, 12, 12), p=(1, 1, 1), routing='d-mod-k', salt=0)
    >>> FatTree.of(1152).hosts, FatTree.of(1152).switches
    (1152, 336)
    """

    m: IntListField
    w: IntListField
    p: Converted[IntegersLike | None, tuple[int, ...]] = Converted("list of int | None", None)
    routing: str = "d-mod-k"
    salt: IntField = IntField(0)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("m", _read_integers(self.m, "m"))
        height = len(self.m)
        put("w", _read_integers(self.w, "w", height))
        put("p", (1,) * height if self.p is None else _read_integers(self.p, "p", height))
        check_choice(self.routing, "routing", ROUTINGS)
        put("salt", check_integer(self.salt, "salt", 0, MAX_SEED))
        if self.salt and self.routing != "hash":
            raise ValueError(f"salt must be 0 with routing {self.routing!r}: nothing is hashed")
        if self.hosts > MAX_HOSTS:
            raise ValueError(
                f"the product of m must be at most {show_bound(MAX_HOSTS)}, got {self.hosts}"
            )
        above = [math.prod(self.w[: i + 1]) * p for i, p in enumerate(self.p)]
        if max(above) > MAX_HOSTS:
            raise ValueError(
                "the links of one level above a host, the product of w and p, must be at most "
                f"{show_bound(MAX_HOSTS)}, got {max(above)}"
            )
        if self.routing in ("hash", "random") and math.lcm(*above) > MAX_HOSTS:
            raise ValueError(
                f"with routing {self.routing!r} the least common multiple of the links above a "
                f"host must be at most {show_bound(MAX_HOSTS)}, got {math.lcm(*above)}"
            )
        if 2 * sum(self.links()) >= 2**31:
            raise ValueError("the tree must have fewer than 2^31 directed links")

    @classmethod
    def of(cls, hosts: Int, **options: Any) -> FatTree:
        """A tree of 24-port switches with full bisection bandwidth: 144 to 20736 hosts.

        Examples
        --------
        >>> FatTree.of(144, routing="random").m
        (12, 12)
        """
        if as_integer(hosts) not in NAMED:
            words = ", ".join(map(str, NAMED))
            raise ValueError(
                f"hosts must be one of {words}, got {shorten(hosts)}; any other tree is made of "
                "the children and parents of its levels, such as FatTree([16, 12, 24], [1, 8, 12])"
            )
        m, w = NAMED[int(hosts)]
        return cls(m, w, **options)

    @property
    def hosts(self) -> int:
        return math.prod(self.m)

    @property
    def switches(self) -> int:
        """The number of switches of all levels."""
        return sum(
            self.hosts // math.prod(self.m[:level]) * math.prod(self.w[:level])
            for level in range(1, len(self.m) + 1)
        )

    @property
    def edges(self) -> int:
        """The number of directed links: two for each cable."""
        return 2 * sum(self.links())

    @property
    def routing_name(self) -> str:
        return self.routing

    def links(self) -> list[int]:
        """The number of cables above each level of nodes, from the hosts on."""
        return [
            self.hosts // math.prod(self.m[:level]) * math.prod(self.w[: level + 1]) * cables
            for level, cables in enumerate(self.p)
        ]

    def give(self, program: core.CongestionProgram, whole: bool = False) -> None:
        key = ROUTINGS.index(self.routing)
        m, w, p = list(self.m), list(self.w), list(self.p)
        program.set_fat_tree(m, w, p, key, self.salt, whole)

    def routes(
        self, senders: npt.ArrayLike, receivers: npt.ArrayLike, keys: npt.ArrayLike
    ) -> npt.NDArray[np.uint32]:
        """The edges of messages between hosts, by their keys; 2^32 - 1 fills short routes up.

        Edges of each level l = 0, 1, ... in turn: first its links up, numbered
        ``(s / M_l * W_{l+1} + K mod W_{l+1}) p_{l+1} + cable``, then those down likewise.
        """
        program = program_on(self, self.hosts, self.hosts, whole=True)
        return core.congestion_routes(program, senders, receivers, keys)


def _read_integers(value: Any, name: str, length: int | None = None) -> tuple[int, ...]:
    """Return the integers of a list, of `length` where it is given; others are a ValueError."""
    rule = f"a list of {length or f'1 to {_MAX_HEIGHT}'} integers from 1 to 2^20"
    if isinstance(value, (str, bytes, dict)):
        raise ValueError(f"{name} must be {rule}, got {shorten(value)}")
    try:
        found = tuple(check_integer(number, f"{name} numbers", 1, MAX_HOSTS) for number in value)
    except TypeError:  # nothing to go through
        raise ValueError(f"{name} must be {rule}, got {shorten(value)}") from None
    if len(found) != length if length else not 1 <= len(found) <= _MAX_HEIGHT:
        raise ValueError(f"{name} must be {rule}, got {shorten(value)}")
    return found
