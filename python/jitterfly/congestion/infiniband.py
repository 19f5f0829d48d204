"""Parser of InfiniBand networks: ibnetdiscover, and linear forwarding tables (LFT) of OpenSM.

Every adapter (``Ca``) is a host. Where several of its ports are connected, its messages leave and
arrive by the first: to its LID the switches forward. The order of hosts is that of the file.

Forwarding tables are text as ``ibroute`` prints it, hence ``dump_lfts.sh`` and ``dump_fts``::

    Unicast lids [0x0-0x9b] of switch Lid 128 guid 0xf4521403001165a0 (MF0;ib5:SX6036/U1):
      Lid  Out   Destination
           Port     Info
    0x0002 021 : (Channel Adapter portguid 0x24be05ffff984da1: 'stage66 mlx4_0')
    1 valid lids dumped

or as OpenSM dumps it (``opensm-lfts.dump``), with ``#`` in place of the colon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..fields import shorten
from .forwarding import ParsedNetwork

Tables = dict[int, dict[int, tuple[int, int]]]
"""By the switch's GUID and the LID: the port, and the line that says so."""

_SWITCH_OF_TABLE = re.compile(r"Unicast lids \[.*?\] of switch .*?\bguid (0x[0-9a-fA-F]{1,16})\b.*")
_ENTRY_OF_TABLE = re.compile(r"0x([0-9a-fA-F]{1,4})\s+(\d{1,3})(?:\s*[:#].*)?")
_SKIPPED_IN_TABLES = re.compile(r"#|Lid\s+Out\s+Destination|Port\s+Info|\d+ (?:valid )?lids dumped")
_NO_PATH = 255


def parse_tables(text: str, name: str) -> Tables:
    """The tables of all switches in a text.

    Raises
    ------
    ValueError
        What is malformed, with its line; or there is no table at all.
    """
    tables: Tables = {}
    here: dict[int, tuple[int, int]] | None = None
    for line, entry in enumerate(text.split("\n"), 1):
        entry = entry.strip()
        if match := _SWITCH_OF_TABLE.fullmatch(entry):
            guid = int(match[1], 16)
            if guid in tables:
                raise ValueError(f"{name}, line {line}: a second table of switch {match[1]}")
            here = tables[guid] = {}
        elif match := _ENTRY_OF_TABLE.fullmatch(entry):
            lid, port = int(match[1], 16), int(match[2])
            if here is None:
                raise ValueError(f"{name}, line {line}: an entry before any 'Unicast lids'")
            if lid in here:
                raise ValueError(f"{name}, line {line}: a second entry of lid {lid}")
            if port > _NO_PATH:
                raise ValueError(f"{name}, line {line}: port must be 0 to 255, got {port}")
            if port != _NO_PATH:
                here[lid] = port, line
        elif entry and not _SKIPPED_IN_TABLES.match(entry):
            raise ValueError(f"{name}, line {line}: unexpected {shorten(entry)}")
    if not tables:
        raise ValueError(f"{name} has no forwarding table: no line 'Unicast lids ...'")
    return tables


_NODE = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d{1,5})\s+"([^"]+)"(.*)')
_OF_PORT = r"\[(\d{1,5})\](?:\[ext \d{1,5}\])?(?:\([^)]*\))?"  # -g adds the port on the chassis
_PORT = re.compile(rf'{_OF_PORT}\s+"([^"]+)"{_OF_PORT}(.*)')
_LID = re.compile(r"#\s*lid (\d{1,5})\b")  # of the port itself, in front of the peer's
_KEY = re.compile(r"(\w+)=(\S+)(?:\s+#.*)?")
_SKIPPED = re.compile(r"#|(Chassis|Non-Chassis Nodes|Spine|Line|DR path|External|Hostname:)")


@dataclass
class _Node:
    kind: str
    name: str
    ports: int
    line: int
    guid: int | None
    links: dict[int, tuple[str, int, int | None, int]] = field(default_factory=dict)
    """Of each connected port: the other node and its port, the LID on the line, the line."""

    def content(self) -> tuple[object, ...]:
        """The content of a node's entry, without its place in the file."""
        links = {port: link[:3] for port, link in self.links.items()}
        return self.kind, self.ports, self.guid, links


def looks_like(text: str) -> bool:
    """Return whether a text has a node as ibnetdiscover prints it."""
    return re.search(r'^(?:Switch|Ca|Hca|Rt)\s+\d+\s+"', text, re.M) is not None


def parse(text: str, name: str, tables: str, tables_name: str) -> ParsedNetwork:
    """The network in the output of ibnetdiscover, with forwarding tables for its switches.

    Raises
    ------
    ValueError
        What is malformed or missing in either, with its line.
    """
    nodes = _read_nodes(text, name)
    routes = parse_tables(tables, tables_name)
    hosts = [node for node in nodes.values() if node.kind == "host" and node.links]
    switches = [node for node in nodes.values() if node.kind == "switch"]
    if not hosts:
        raise ValueError(f"{name}, line 1: there is no host: no connected Ca")
    number = {node.name: i for i, node in enumerate([*hosts, *switches])}
    links = ParsedNetwork(name, [h.name for h in hosts], [s.name for s in switches],
                  [node.line for node in [*hosts, *switches]])  # fmt: skip
    host_of_lid: dict[int, int] = {}
    for host in hosts:
        port = min(host.links)
        peer, _, lid, line = host.links[port]
        if lid is None or peer not in number:
            raise ValueError(
                f"{name}, line {line}: the first port of a Ca must have a lid and lead to a switch "
                "or another Ca"
            )
        if host_of_lid.setdefault(lid, number[host.name]) != number[host.name]:
            raise ValueError(f"{name}, line {line}: lid {lid} is another adapter's too")
        links.tails.append(number[host.name])
        links.heads.append(number[peer])
        links.reach.append(None)
    for switch in switches:
        reach = _reach(switch, routes, host_of_lid, name, tables_name)
        for port, (peer, _, _, _) in sorted(switch.links.items()):
            if peer not in number:
                continue  # a router: it leads to another network
            links.tails.append(number[switch.name])
            links.heads.append(number[peer])
            links.reach.append(reach.get(port, ()))
    return links


def _reach(
    switch: _Node, tables: Tables, host_of_lid: dict[int, int], name: str, tables_name: str
) -> dict[int, list[int]]:
    """The hosts to which each port of a switch forwards."""
    if switch.guid not in tables:
        raise ValueError(
            f"{tables_name} has no table of switch {shorten(switch.name)} "
            f"({name}, line {switch.line})"
        )
    reach: dict[int, list[int]] = {}
    for lid, (port, line) in tables[switch.guid].items():
        if lid not in host_of_lid:
            continue  # of a switch, or of another port
        if port not in switch.links:
            raise ValueError(
                f"{tables_name}, line {line}: lid {lid} goes to port {port} of "
                f"{shorten(switch.name)}, to which nothing is connected"
            )
        reach.setdefault(port, []).append(host_of_lid[lid])
    return reach


def _read_nodes(text: str, name: str) -> dict[str, _Node]:
    nodes: dict[str, _Node] = {}
    here: _Node | None = None
    guid: int | None = None
    again: list[_Node] = []  # with -g, switches of a chassis are there twice
    for line, entry in enumerate(text.split("\n"), 1):
        entry = entry.strip()
        if not entry or _SKIPPED.match(entry):
            continue

        def fail(what: str, line: int = line) -> ValueError:
            return ValueError(f"{name}, line {line}: {what}")

        if match := _NODE.fullmatch(entry):
            kind = {"Switch": "switch", "Rt": "router"}.get(match[1], "host")
            here = _Node(kind, match[3], int(match[2]), line, guid)
            if match[3] in nodes:
                again.append(here)
            nodes.setdefault(match[3], here)
            guid = None
        elif match := _PORT.fullmatch(entry):
            port = int(match[1])
            if here is None:
                raise fail("a port without a node")
            if not 1 <= port <= here.ports or port in here.links:
                raise fail(f"{shorten(here.name)} has no port {port}, or it is there twice")
            lid = _LID.match(match[4].strip())
            here.links[port] = (match[2], int(match[3]), int(lid[1]) if lid else None, line)
        elif match := _KEY.fullmatch(entry):
            if match[1] == "switchguid":
                guid = _guid(match[2])
                if guid is None:
                    raise fail(f"switchguid must be a hexadecimal number, got {shorten(match[2])}")
        else:
            raise fail(f"unexpected {shorten(entry)}")
    for node in again:
        if node.content() != nodes[node.name].content():
            raise ValueError(
                f"{name}, line {node.line}: {shorten(node.name)} is there twice, and not the same"
            )
    for node in nodes.values():
        for port, (peer, other, _, line) in node.links.items():
            there = nodes.get(peer)
            if there is None:
                raise ValueError(f"{name}, line {line}: unknown node {shorten(peer)}")
            if there.links.get(other, ("", 0))[:2] != (node.name, port):
                raise ValueError(
                    f"{name}, line {line}: port {other} of {shorten(peer)} does not lead back to "
                    f"port {port} of {shorten(node.name)}"
                )
    return nodes


def _guid(text: str) -> int | None:
    match = re.match(r"0x([0-9a-fA-F]{1,16})\b", text)
    return int(match[1], 16) if match else None
