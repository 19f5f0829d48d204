r"""Parser of networks in Graphviz DOT, as ORCS reads them.

One edge per direction per cable. A node whose name begins with ``H`` is a host, any other a switch;
hosts are numbered in the order of their names.
The attribute ``comment`` of an edge lists the hosts that it forwards to, ``*`` for all. The DOT
language (graphviz.org/doc/info/lang.html) without subgraphs, ports, HTML and joined strings.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NoReturn

from ..fields import shorten
from .forwarding import ParsedNetwork

_START = re.compile(
    r"(?:\s|//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*(?:strict\s+)?digraph\b", re.I
)
_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|^\#[^\n]*)+)
    |"(?P<quoted>(?:[^"\\]|\\.)*)"
    |(?P<word>[A-Za-z_\x80-\U0010ffff][\w]*|-?(?:\.\d+|\d+(?:\.\d*)?)(?![\w.]))
    |(?P<mark>->|[\[\]{}=;,])""",
    re.X | re.S | re.M,
)
_SPLIT = re.compile(r"[, \t\n]+")  # as ORCS does
_Token = tuple[str, str, int]  # kind ("id", "mark", "end"), text, line


def looks_like(text: str) -> bool:
    """Return whether a text begins as a digraph does."""
    return _START.match(text) is not None


def parse(text: str, name: str) -> ParsedNetwork:
    """The network in the text of a digraph.

    Raises
    ------
    ValueError
        What is malformed, with its line.
    """
    return _Parser(text, name).parse()


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens = self._read(text)
        self.kind, self.text, self.line = next(self.tokens)
        self.nodes: dict[str, int] = {}  # and the line that names it first
        self.edges: list[tuple[str, str, str, int]] = []  # tail, head, comment, line

    def _read(self, text: str) -> Iterator[_Token]:
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
        if not self._is(mark):
            self._fail(f"expected {mark!r}, got {shorten(self.text)}")
        self._next()

    def _word(self, what: str) -> str:
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
            reach = {number.get(word, count): word for word in _SPLIT.split(comment) if word}
            if reach and max(reach) >= count:
                word = reach[max(reach)]
                self._fail(f"comment names {shorten(word)}, which is no host of the graph", line)
            links.reach.append(list(reach))
        return links
