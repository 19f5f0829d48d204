"""Parsers of networks: Graphviz DOT as ORCS reads it; InfiniBand's ibnetdiscover with its tables.

In DOT there is one edge per direction per cable. A node whose name begins with ``H`` is a host, any
other a switch; hosts are numbered in the order of their names. The attribute ``comment`` of an edge
lists the hosts that it forwards to, ``*`` for all. The DOT language
(graphviz.org/doc/info/lang.html) without subgraphs, ports, HTML and joined strings.

Of InfiniBand, every adapter (``Ca``) is a host. Where several of its ports are connected, its
messages leave and arrive by the first: to its LID the switches forward. The order of hosts is that
of the file. Linear forwarding tables (LFT) are text as ``ibroute`` prints it, hence
``dump_lfts.sh`` and ``dump_fts``::

    Unicast lids [0x0-0x9b] of switch Lid 128 guid 0xf4521403001165a0 (MF0;ib5:SX6036/U1):
      Lid  Out   Destination
           Port     Info
    0x0002 021 : (Channel Adapter portguid 0x24be05ffff984da1: 'stage66 mlx4_0')
    1 valid lids dumped

or as OpenSM dumps it (``opensm-lfts.dump``), with ``#`` in place of the colon.
"""

from __future__ import annotations

import gzip
import io
import itertools
import re
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from ..fields import shorten
from ..files import read_whole

_MOST_BYTES = 2**28


@dataclass
class ParsedNetwork:
    """A network as a parser found it. Nodes are the hosts and then the switches.

    `reach` of an edge: numbers of the hosts to which it forwards, None for all. A node takes the
    first of its edges, in this order, that reaches the destination. `lines`: of each node, where
    the file first names it.
    """

    file: str
    hosts: list[str]
    switches: list[str]
    lines: list[int]
    tails: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    reach: list[Collection[int] | None] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        return len(self.hosts) + len(self.switches)

    def name(self, node: int) -> str:
        count = len(self.hosts)
        return self.hosts[node] if node < count else self.switches[node - count]


def parse_links(text: str, name: str, tables: tuple[str, str] | None = None) -> ParsedNetwork:
    """The network in a text, and its tables' text and name; `name` is for messages.

    Raises
    ------
    ValueError
        It is neither a digraph nor the output of ibnetdiscover, or malformed; with its line.
    """
    if looks_like_dot(text):
        if tables is not None:
            raise ValueError(f"tables must be left out: the digraph {name} has its own")
        return parse_dot(text, name)
    if looks_like_infiniband(text):
        if tables is None:
            raise ValueError(
                f"{name} is the output of ibnetdiscover, which has no routes: give tables, "
                "such as those of dump_lfts.sh"
            )
        return parse_infiniband(text, name, *tables)
    raise ValueError(f"{name} is neither a Graphviz digraph nor the output of ibnetdiscover")


def read_text(file: Path) -> str:
    """The text of a file of at most 256 MiB, unpacked."""
    data = read_whole(file, _MOST_BYTES)
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as packed:
                data = packed.read(_MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{file}: damaged gzip file: {error}") from None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{file}: larger than 256 MiB, unpacked")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{file}, line {line}: not text (byte {error.start})") from None


_DIGRAPH = re.compile(
    r"(?:\s|//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*(?:strict\s+)?digraph\b", re.I
)
_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|^\#[^\n]*)+)
    |"(?P<quoted>(?:[^"\\]|\\.)*)"
    |(?P<word>[A-Za-z_\x80-\U0010ffff][\w]*|-?(?:\.\d+|\d+(?:\.\d*)?)(?![\w.]))
    |(?P<mark>->|[\[\]{}=;,])""",
    re.X | re.S | re.M,
)
_SPACES = re.compile(r"[, \t\n]+")  # as ORCS does
_Token = tuple[str, str, int]  # kind ("id", "mark", "end"), text, line


def looks_like_dot(text: str) -> bool:
    """Return whether a text begins as a digraph does."""
    return _DIGRAPH.match(text) is not None


def parse_dot(text: str, name: str) -> ParsedNetwork:
    """The network in the text of a digraph.

    Raises
    ------
    ValueError
        What is malformed, with its line.
    """
    return _DotParser(text, name).parse()


class _DotParser:
    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens = self._read(text)
        self.kind, self.text, self.line = next(self.tokens)
        self.nodes: dict[str, int] = {}  # and the line that names it first
        self.edges: list[tuple[str, str, str, int]] = []  # tail, head, comment, line

    def _read(self, text: str) -> Iterator[_Token]:
        """Yield the tokens of the text, and its end without end."""
        place, line = 0, 1
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                self._fail(f"unexpected {shorten(text[place : place + 20])}", line)
            kind = found.lastgroup
            if kind == "mark":
                yield "mark", found["mark"], line
            elif kind == "word":
                yield "id", found["word"], line
            else:  # only these have several lines
                if kind == "quoted":
                    yield "id", found["quoted"].replace("\\\n", "").replace('\\"', '"'), line
                line += text.count("\n", place, found.end())
            place = found.end()
        while True:
            yield "end", "the end of the file", line

    def _fail(self, what: str, line: int | None = None) -> NoReturn:
        raise ValueError(f"{self.name}, line {line or self.line}: {what}")

    def _next(self) -> None:
        self.kind, self.text, self.line = next(self.tokens)

    def _is(self, *marks: str) -> bool:
        return self.kind == "mark" and self.text in marks

    def _take(self, mark: str) -> None:
        """Take a mark such as "[" from the text."""
        if not self._is(mark):
            self._fail(f"expected {mark!r}, got {shorten(self.text)}")
        self._next()

    def _word(self, what: str) -> str:
        """Take a word from the text; an error says what was expected."""
        if self.kind != "id":
            self._fail(f"expected {what}, got {shorten(self.text)}")
        word = self.text
        self._next()
        return word

    def parse(self) -> ParsedNetwork:
        if self.text.lower() == "strict":
            self._fail("strict: parallel cables would become one")
        self._word("digraph")
        if self.kind == "id":
            self._next()  # its name
        self._take("{")
        comment = ""  # of edges that have none
        while not self._is("}"):
            if self._is(";"):
                self._next()
                continue
            line = self.line
            word = self._word("a node")
            if word.lower() in ("graph", "node", "edge") and self._is("["):
                attributes = self._attributes()
                if word.lower() == "edge":
                    comment = attributes.get("comment", comment)
            elif word.lower() == "subgraph":
                self._fail("subgraphs are not supported", line)
            elif self._is("="):
                self._next()
                self._word("a value")
            else:
                self._statement(word, line, comment)
        self._next()
        if self.kind != "end":
            self._fail(f"expected the end of the file, got {shorten(self.text)}")
        return self._links()

    def _statement(self, word: str, line: int, comment: str) -> None:
        """Take the rest of a statement that begins with a node: edges, attributes."""
        chain = [word]
        while self._is("->"):
            self._next()
            chain.append(self._word("a node"))
        attributes = self._attributes() if self._is("[") else {}
        for node in chain:
            if not node:
                self._fail("a node without a name", line)
            self.nodes.setdefault(node, line)
        reach = attributes.get("comment", comment)
        self.edges += [(a, b, reach, line) for a, b in itertools.pairwise(chain)]

    def _attributes(self) -> dict[str, str]:
        """Take attributes in brackets."""
        found: dict[str, str] = {}
        while self._is("["):
            self._next()
            while not self._is("]"):
                key = self._word("an attribute")
                self._take("=")
                found[key] = self._word("a value")
                if self._is(",", ";"):
                    self._next()
            self._next()
        return found

    def _links(self) -> ParsedNetwork:
        """Return the network of the edges that were read."""
        hosts = sorted(node for node in self.nodes if node.startswith("H"))
        switches = [node for node in self.nodes if not node.startswith("H")]
        names = hosts + switches
        number = {node: i for i, node in enumerate(names)}
        links = ParsedNetwork(self.name, hosts, switches, [self.nodes[node] for node in names])
        if not hosts:
            self._fail("there is no host: no node whose name begins with H", 1)
        count = len(hosts)
        for tail, head, comment, line in self.edges:
            if tail == head:
                self._fail(f"an edge from {shorten(tail)} to itself", line)
            links.tails.append(number[tail])
            links.heads.append(number[head])
            if comment == "*":
                links.reach.append(None)
                continue
            reach = {number.get(word, count): word for word in _SPACES.split(comment) if word}
            if reach and max(reach) >= count:
                word = reach[max(reach)]
                self._fail(f"comment names {shorten(word)}, which is no host of the graph", line)
            links.reach.append(list(reach))
        return links


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
class _Device:
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


def looks_like_infiniband(text: str) -> bool:
    """Return whether a text has a node as ibnetdiscover prints it."""
    return re.search(r'^(?:Switch|Ca|Hca|Rt)\s+\d+\s+"', text, re.M) is not None


def parse_infiniband(text: str, name: str, tables: str, tables_name: str) -> ParsedNetwork:
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
    switch: _Device, tables: Tables, host_of_lid: dict[int, int], name: str, tables_name: str
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


def _read_nodes(text: str, name: str) -> dict[str, _Device]:
    """Return all devices in the output of ibnetdiscover, by name, with their links."""
    nodes: dict[str, _Device] = {}
    here: _Device | None = None
    guid: int | None = None
    again: list[_Device] = []  # with -g, switches of a chassis are there twice
    for line, entry in enumerate(text.split("\n"), 1):
        entry = entry.strip()
        if not entry or _SKIPPED.match(entry):
            continue

        def fail(what: str, line: int = line) -> ValueError:
            return ValueError(f"{name}, line {line}: {what}")

        if match := _NODE.fullmatch(entry):
            kind = {"Switch": "switch", "Rt": "router"}.get(match[1], "host")
            here = _Device(kind, match[3], int(match[2]), line, guid)
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
