"""Parser of disassembled GPU code (SASS, `nvdisasm -c`): shortest paths, loops, accesses."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

_KERNEL = re.compile(r"^\.text\.(\S+):$")
_LABEL = re.compile(r"^([.$\w]+):$")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;")
_TARGET = re.compile(r"`\(([.$\w]+)\)")
GENERIC = ("LD", "ST", "ATOM")
"""Accesses by an address that may be of any memory: the hardware has to find out of which."""
LOCAL = ("LDL", "STL")
"""Accesses to the memory of a thread: its stack, and registers that were spilled."""


@cache
def word(text: str) -> str:
    """The name of an instruction, without its predicate and its modifiers."""
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].split(".")[0]


@dataclass
class Kernel:
    """Instructions in their order, and where the labels among them stand.

    Functions that the kernel calls follow it. A call counts as itself and the shortest way through
    the function.
    """

    name: str
    code: list[str] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    _successors: dict[int, list[int]] = field(default_factory=dict, repr=False)

    def successors(self, at: int) -> list[int]:
        """Indices of the instructions that may follow, after a call those behind it."""
        if at not in self._successors:
            self._successors[at] = self._find_successors(at)
        return self._successors[at]

    def _find_successors(self, at: int) -> list[int]:
        text = self.code[at]
        always = not text.startswith("@")
        name = word(text)
        following = [at + 1] if at + 1 < len(self.code) else []
        if name == "BRA":
            target = _TARGET.search(text)
            if target is None:
                raise ValueError(f"{self.name}: where does '{text}' go?")
            conditional = not always or ".DIV" in text or re.search(r"BRA\S* !?U?P\w+,", text)
            return [self.labels[target.group(1)], *(following if conditional else [])]
        if name in ("EXIT", "RET", "KILL"):
            return [] if always else following
        if name == "BRX" and "BRANCH_TARGETS" in text:
            targets = re.findall(r"\.L_x_\d+", text.split("BRANCH_TARGETS")[1])
            return [*(self.labels[target] for target in targets), *([] if always else following)]
        if name in ("BRX", "JMX", "JMP"):
            raise ValueError(f"{self.name}: where does '{text}' go?")
        return following

    def called(self, at: int) -> int | None:
        """Where the function begins that an instruction calls; None: it calls none."""
        text = self.code[at]
        if word(text) != "CALL":
            return None
        target = _TARGET.search(text)
        if target is None or target.group(1) not in self.labels:
            raise ValueError(f"{self.name}: what does '{text}' call?")
        return self.labels[target.group(1)]

    @cached_property
    def costs(self) -> list[int]:
        """Of each instruction: 1, and for a call what the function takes at least."""
        found: dict[int, int] = {}

        def of(function: int) -> int:
            if function not in found:
                found[function] = self._to_end(function, cost, "RET")
            return found[function]

        def cost(at: int) -> int:
            function = self.called(at)
            return 1 if function is None else 1 + of(function)

        return [cost(at) for at in range(len(self.code))]

    def _to_end(self, start: int, cost, end: str) -> int:
        ways = self._distances(start, cost, end)
        ends = [count for at, count in ways.items() if word(self.code[at]) == end]
        if not ends:
            raise ValueError(f"{self.name}: no way to {end}")
        return min(ends)

    def _distances(self, start: int, cost, end: str = "") -> dict[int, int]:
        """Find the shortest ways from one to each other; `end`: to the nearest of this name."""
        best = {start: cost(start)}
        queue = [(best[start], start)]
        while queue:
            count, at = heapq.heappop(queue)
            if count > best[at]:
                continue
            if end and word(self.code[at]) == end:
                break
            for following in self.successors(at):
                whole = count + cost(following)
                if whole < best.get(following, whole + 1):
                    best[following] = whole
                    heapq.heappush(queue, (whole, following))
        return best

    def distances(self, start: int) -> dict[int, int]:
        """Instructions on the shortest way from one to each other, both counted."""
        return self._distances(start, self.costs.__getitem__)

    def shortest(self, start: int = 0) -> int:
        """Instructions on the shortest way from there to an EXIT.

        Where nothing rare happens, a kernel without loops takes it: what is rare is more code.
        """
        return self._to_end(start, self.costs.__getitem__, "EXIT")

    def shortest_through(self, places: Collection[int]) -> int:
        """The same, over one of the instructions at these indices."""
        ways = self.distances(0)
        return min(ways[at] + self.shortest(at) - self.costs[at] for at in places if at in ways)

    def shortest_cycles(self, pattern: str) -> list[int]:
        """Instructions of the shortest loop through each that matches; those of a loop have one."""
        lengths = []
        for start, text in enumerate(self.code):
            if re.search(pattern, text):
                ways = self.distances(start)
                lengths.append(min((ways[at] for at in ways if start in self.successors(at)),
                                   default=0))  # fmt: skip
        return [length for length in lengths if length]

    def shortest_cycle_over(self, pattern: str, other: str) -> int:
        """Instructions of the shortest loop through both a match and a match of `other`."""
        lengths = []
        ends = [at for at, text in enumerate(self.code) if re.search(other, text)]
        back = {end: self.distances(end) for end in ends}
        for start, text in enumerate(self.code):
            if re.search(pattern, text):
                ways = self.distances(start)
                lengths += [ways[end] + back[end][start] - self.costs[start] - self.costs[end]
                            for end in ends if end in ways and start in back[end]]  # fmt: skip
        return min(lengths)

    @cached_property
    def in_loops(self) -> set[int]:
        """Indices of the instructions that may be executed again and again.

        Those on a way that comes back to where it was, and all of the functions that are called
        there.
        """
        edges = [(at, after) for at in range(len(self.code)) for after in self.successors(at)]
        size = len(self.code)
        graph = coo_array((np.ones(len(edges)), tuple(zip(*edges, strict=True))), (size, size))
        _, part = connected_components(graph, directed=True, connection="strong")
        large = np.bincount(part)[part] > 1
        found = {
            at for at, after in edges if at == after or (large[at] and part[at] == part[after])
        }
        waiting = [self.called(at) for at in found]
        while waiting:
            function = waiting.pop()
            if function is None or function in found:
                continue
            more = set(self._distances(function, lambda at: 1)) - found
            found |= more
            waiting += [self.called(at) for at in more]
        return found

    def count(self, names: Collection[str], where: Collection[int] | None = None) -> int:
        """How many instructions have one of these names; `where`: of those at these indices."""
        places = range(len(self.code)) if where is None else where
        return sum(word(self.code[at]) in names for at in places)


def kernels(text: str) -> dict[str, Kernel]:
    """The kernels of a disassembly, by mangled name."""
    found: dict[str, Kernel] = {}
    kernel = None
    for line in text.splitlines():
        if match := _KERNEL.match(line):
            kernel = found.setdefault(match.group(1), Kernel(match.group(1)))
        elif line.startswith("\t.section") or line.startswith(".section"):
            kernel = None
        elif kernel is None:
            continue
        elif match := _LABEL.match(line):
            kernel.labels[match.group(1)] = len(kernel.code)
        elif match := _INSTRUCTION.match(line):
            kernel.code.append(match.group(1))
    return found
