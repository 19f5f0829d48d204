"""Parser of disassembled GPU code (SASS, `nvdisasm -c`): shortest path through a kernel."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field

_KERNEL = re.compile(r"^\.text\.(\S+):$")
_LABEL = re.compile(r"^(\.L_x_\d+):$")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;")
_TARGET = re.compile(r"`\((\.L_x_\d+)\)")


@dataclass
class Kernel:
    """Instructions in their order, and where the labels among them stand."""

    name: str
    code: list[str] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def successors(self, at: int) -> list[int]:
        """Indices of the instructions that may follow."""
        text = self.code[at]
        always = not text.startswith("@")
        word = re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].split(".")[0]
        following = [at + 1] if at + 1 < len(self.code) else []
        if word == "BRA":
            target = _TARGET.search(text)
            if target is None:
                raise ValueError(f"{self.name}: where does '{text}' go?")
            conditional = not always or ".DIV" in text or re.search(r"BRA\S* !?U?P\w+,", text)
            return [self.labels[target.group(1)], *(following if conditional else [])]
        if word in ("EXIT", "RET", "KILL"):
            return [] if always else following
        if word == "BRX" and "BRANCH_TARGETS" in text:
            targets = re.findall(r"\.L_x_\d+", text.split("BRANCH_TARGETS")[1])
            return [*(self.labels[target] for target in targets), *([] if always else following)]
        if word in ("BRX", "JMX", "JMP"):
            raise ValueError(f"{self.name}: where does '{text}' go?")
        return following

    def distances(self, start: int) -> dict[int, int]:
        """Instructions on the shortest way from one to each other, both counted."""
        best = {start: 1}
        queue = [(1, start)]
        while queue:
            count, at = heapq.heappop(queue)
            if count > best[at]:
                continue
            for following in self.successors(at):
                if count + 1 < best.get(following, count + 2):
                    best[following] = count + 1
                    heapq.heappush(queue, (count + 1, following))
        return best

    def shortest(self, start: int = 0) -> int:
        """Instructions on the shortest way from there to an EXIT.

        Where nothing rare happens, a kernel without loops takes it: what is rare is more code.
        Calls count as one instruction.
        """
        ways = self.distances(start)
        ends = [count for at, count in ways.items() if "EXIT" in self.code[at]]
        if not ends:
            raise ValueError(f"{self.name}: no way to an EXIT")
        return min(ends)

    def shortest_through(self, word: str) -> int:
        """The same, over an instruction of that name."""
        ways = self.distances(0)
        over = [at for at in ways if re.search(rf"\b{word}\b", self.code[at])]
        return min(ways[at] + self.shortest(at) - 1 for at in over)

    def shortest_cycle(self, pattern: str) -> int:
        """Instructions of the shortest loop through one that matches."""
        lengths = []
        for start, text in enumerate(self.code):
            if re.search(pattern, text):
                ways = self.distances(start)
                lengths += [ways[at] for at in ways if start in self.successors(at)]
        return min(lengths)


def kernels(text: str) -> dict[str, Kernel]:
    """The kernels of a disassembly, by mangled name."""
    found: dict[str, Kernel] = {}
    kernel = None
    for line in text.splitlines():
        if match := _KERNEL.match(line):
            kernel = found.setdefault(match.group(1), Kernel(match.group(1)))
        elif kernel is None:
            continue
        elif match := _LABEL.match(line):
            kernel.labels[match.group(1)] = len(kernel.code)
        elif match := _INSTRUCTION.match(line):
            kernel.code.append(match.group(1))
    return found
