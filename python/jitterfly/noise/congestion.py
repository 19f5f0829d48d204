"""`Congestion`: network noise by other jobs' traffic on shared links (HSL09)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..congestion import PERTURBATIONS, NetworkMap, Topology
from ..congestion.case import check_ratio
from ..congestion.topology import program_on
from ..fields import Converted, RealOrText, check_choice, frozen_dataclass, shorten
from ..files import find_file
from .source import MaxWork, Noise

_MAX_MESSAGES = 2**16 - 1  # under way together: the engine counts in 16 bits
_MAX_SENT_IN_ROUND = 9  # sent in one round: the original and copies to eight mirrors


class _TopologyOrTable(Converted[Topology | Mapping[str, Any], Topology]):
    def __init__(self) -> None:
        super().__init__("Topology | dict")


@frozen_dataclass()
class Congestion(Noise, kind="congestion"):
    """Messages go over a network, on whose links those of other applications are, too.

    A rank is a host: in every realization the ranks are placed on hosts of the network at random,
    and a `Hierarchy` of nodes of several ranks is refused. The messages of a
    round are routed together with the perturbing pattern of that round; w of a message is the
    largest number of messages on a link of its route. It takes ``alpha + w beta n``
    instead of ``alpha + beta n``, with LogGOPS ``L + (w n - 1) G``: it needs the links for n G, as
    each of the others does.

    Originals of a round, and the redundant copies that leave right after them, are under way
    together, so that copies add to the load of all; forwards after the collective are rounds of
    their own. All ranks count as sending at once, and every copy as sent: which rank adopts
    one, and sends none, depends on times, which depend on loads.

    Parameters
    ----------
    network : Topology
        Such as ``jf.congestion.FatTree.of(1152)`` or ``jf.congestion.NetworkMap("map.dot.gz")``,
        with its routing; or its table, such as ``{"kind": "fat_tree", "m": [4, 4], "w": [1, 4]}``.
        Files of a map are relative to the study's file in a study.
    ratio : float, optional
        Perturbing hosts / all hosts, from 0 to 1, or such as "50%": round(hosts * ratio) hosts,
        halves to even, send the perturbing pattern; they must be 0 or at least 2, and leave a host
        to every rank. All others are idle. None: all hosts that the ranks leave.
    perturbation : "rand", "bisect", "bisect_fb" or "none"
        "rand": a permutation without fixed points, new in every round. "bisect": disjoint pairs,
        one way, new in every round. "bisect_fb": disjoint pairs, both ways, the same in all rounds.
        "none": the ranks' own messages alone, no `ratio`.

    Raises
    ------
    ValueError
        A parameter out of range; a map with routes that lead into a loop; when the case is made:
        more ranks than hosts, a network of the case without time per byte (beta, G), or copies on
        demand.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> Congestion(FatTree.of(144), ratio=0.5).perturbing_hosts(ranks=64)
    72
    """

    network: _TopologyOrTable
    ratio: Converted[RealOrText | None, float | None] = Converted("float | str | None", None)
    perturbation: str = "rand"

    def __post_init__(self) -> None:
        object.__setattr__(self, "network", _read_topology(self.network))
        check_choice(self.perturbation, "perturbation", PERTURBATIONS)
        if self.ratio is not None:
            object.__setattr__(self, "ratio", check_ratio(self.ratio))
            if self.ratio and self.perturbation == "none":
                raise ValueError(
                    f"ratio must be None or 0 with perturbation 'none', got {self.ratio}"
                )

    def perturbing_hosts(self, ranks: int) -> int:
        """The number of hosts of the perturbing pattern beside this many ranks."""
        if self.perturbation == "none":
            return 0
        hosts = self.network.hosts
        return hosts - ranks if self.ratio is None else round(hosts * self.ratio)

    @property
    def draws_each(self) -> tuple[str, ...]:
        traffic = self.perturbation in ("rand", "bisect") and self.ratio != 0
        routes = getattr(self.network, "routing", "") == "random"
        return ("load",) if traffic or routes else ()

    def check(self, ranks: int, transit: int) -> None:
        hosts = self.network.hosts
        if ranks > hosts:
            raise ValueError(
                f"ranks must be from 1 to {hosts}, the hosts of the network (in Congestion), "
                f"got {ranks}"
            )
        others = self.perturbing_hosts(ranks)
        if others > hosts - ranks:
            raise ValueError(
                f"ratio must be at most {(hosts - ranks) / hosts:.6g} for {ranks} ranks on {hosts} "
                f"hosts (in Congestion), got {self.ratio}; in a study, an axis with zip changes "
                "ranks and ratio together"
            )
        if others == 1:
            raise ValueError(
                f"ratio {self.ratio} leaves one perturbing host of {hosts} beside {ranks} ranks "
                "(in Congestion), which has no partner"
            )

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        used, pattern = ranks + self.perturbing_hosts(ranks), PERTURBATIONS.index(self.perturbation)
        # With copies a rank sends several messages at once: then every link counts.
        network = program_on(self.network, used, ranks, pattern, whole=program.has_copies)
        program.add_congestion(network)

    def why_ineffective(self, work: MaxWork) -> str:
        return "" if work.exchanges else "no messages are exchanged; take more ranks"

    def longest_wait(self, load: int) -> int:
        return load * min(_MAX_SENT_IN_ROUND * self.network.hosts, _MAX_MESSAGES)

    @property
    def read_files(self) -> dict[str, Path]:
        """The files of the network: by name, where they are."""
        return {name: path for name, path, _ in _files_of_network(self.network)}

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        found = _files_of_network(self.network)
        if found:
            keys = (("file", "sha256"), ("tables", "tables_sha256"))
            for (name, digest), (file, _, sha256) in zip(keys, found, strict=False):
                values["network"] |= {name: file, digest: sha256}
        return values

    def identity(self) -> dict[str, Any]:
        values = super().identity()
        if "tables" in values["network"]:
            values["network"] = {k: v for k, v in values["network"].items() if k != "tables"}
        return values


def _read_topology(value: Any) -> Topology:
    """A network as it is, or made of its table.

    Raises
    ------
    ValueError
        It is neither, its file can not be read or has changed, or has lost routes.
    """
    if isinstance(value, Mapping):
        table = dict(value)
        if table.get("kind") != NetworkMap.kind:
            return Topology.from_dict(table, "network")
        expected = [table.pop(key, None) for key in ("sha256", "tables_sha256")]
        named = [table.get("file"), table.get("tables")]
        content = []
        for number, (key, sha256) in enumerate(zip(("file", "tables"), expected, strict=True)):
            file = named[number]
            if file is not None:
                name, found = find_file(file, sha256)
                table[key], named[number] = str(name.path), name
                content.append(found)
            elif sha256 is not None:
                raise ValueError(f"network: {key} is missing, whose sha256 is given")
        if table.keys() - {"kind", "file", "tables"}:  # says which it does not know
            return Topology.from_dict(table, "network")
        network: Topology = _network_map(tuple(table.items()), tuple(named), tuple(content))
    elif isinstance(value, Topology):
        network = value
    else:
        raise ValueError(
            f"network must be a Topology such as FatTree(...), or its table, got {shorten(value)}"
        )
    if getattr(network, "dropped", 0):
        raise ValueError(
            f"network: {getattr(network, 'dropped', 0)} routes of this map lead into a loop; its "
            "messages would never arrive"
        )
    return network


@lru_cache(maxsize=8)  # every cell of a study has the same one
def _network_map(
    table: tuple[Any, ...], named: tuple[Any, ...], content: tuple[str, ...]
) -> Topology:
    """Return the network of a file, once it is sure that the file is the one that was hashed."""
    network = NetworkMap.from_dict(dict(table), "network")
    if network.sha256 != content:
        raise ValueError(f"network: {named[0]} changed while it was read; try again")
    object.__setattr__(network, "named", named)  # where they lie is not what they are
    return network


def _files_of_network(network: Topology) -> list[tuple[str, Path, str]]:
    """The name of each file of a map, where it is, and its SHA-256."""
    if not isinstance(network, NetworkMap):
        return []
    named = [name for name in getattr(network, "named", (network.file, network.tables)) if name]
    names = [
        name if isinstance(name, str) else str(name) for name in named
    ]  # and no `FileName` lost
    return list(zip(names, network.paths, network.sha256, strict=True))
