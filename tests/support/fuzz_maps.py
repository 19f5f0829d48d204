"""Fuzzer of the parsers of networks; in tests/: ``python -m support.fuzz_maps``.

Every input is a mutated sample. Reading it must end soon in routes that end, or in a ValueError of
one line that names the file and the line. All else is a finding, printed with what repeats it
(``--only``).
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from jitterfly import _core
from jitterfly.congestion.network_map import NO_EDGE, forwarding, parse_links
from support.in_time import Finding, in_time

DIGRAPH = """digraph network {
  "S1" -> "H1" [ key="S1_p1", comment="H1" ];
  "S1" -> H2 [ key="S1_p2", comment="H2" ]; // a cable
  S1 -> S2 [ comment="H3, H4" ];
  /* and
     back */
  S2 -> S1 [ comment="H1,H2" ];
  "S2" -> "H3" [ comment="H3" ];
  S2 -> H4 [ comment="H4" ];
  H1 -> S1 [comment="*"]; H2 -> S1 [comment="*"];
  H3 -> S2 [comment="*"]; H4 -> S2 [comment="*"];
}
"""
LOOP = """digraph network {
  H1 -> a [comment="*"]; H2 -> b [comment="*"]; H3 -> b [comment="*"];
  a -> H1 [comment="H1"]; a -> b [comment="H2, H3"];
  b -> H2 [comment="H2"]; b -> a [comment="H1, H3"];
}"""
DISCOVERED = """#
# Topology file: generated on Sun Oct  5 21:59:42 2014
#
vendid=0x2c9
switchguid=0xa1(a1)
Switch\t4 "S-00000000000000a1"\t\t# "MF0;a:X/U1" enhanced port 0 lid 9 lmc 0
[1]\t"H-00000000000000b0"[1](b1) \t\t# "n1 mlx4_0" lid 1 4xQDR
[2]\t"H-00000000000000c0"[2](c2) \t\t# "n2 mlx4_0" lid 2 4xQDR
[4]\t"S-00000000000000a2"[3]\t\t# "MF0;b:X/U1" lid 8 4xFDR10

switchguid=0xa2(a2)
Switch\t4 "S-00000000000000a2"\t\t# "MF0;b:X/U1" base port 0 lid 8 lmc 0
[1]\t"H-00000000000000d0"[1](d1) \t\t# "n3 mlx4_0" lid 3 4xQDR
[3]\t"S-00000000000000a1"[4]\t\t# "MF0;a:X/U1" lid 9 4xFDR10

caguid=0xb0
Ca\t1 "H-00000000000000b0"\t\t# "n1 mlx4_0"
[1](b1) \t"S-00000000000000a1"[1]\t\t# lid 1 lmc 0 "MF0;a:X/U1" lid 9 4xQDR

caguid=0xc0
Ca\t2 "H-00000000000000c0"\t\t# "n2 mlx4_0"
[2](c2) \t"S-00000000000000a1"[2]\t\t# lid 2 lmc 0 "MF0;a:X/U1" lid 9 4xQDR

caguid=0xd0
Ca\t1 "H-00000000000000d0"\t\t# "n3 mlx4_0"
[1](d1) \t"S-00000000000000a2"[1]\t\t# lid 3 lmc 0 "MF0;b:X/U1" lid 8 4xQDR
"""
PORTS = """SW     9  4 0x00000000000000a1 4x FDR10 - SW     8  3 0x00000000000000a2 ( 'MF0;a:X/U1' - 'MF0;b:X/U1' )
SW     9  3 0x00000000000000a1 4x SDR                                    'MF0;a:X/U1'
SW     9  2 0x00000000000000a1 4x QDR - CA     2  2 0x00000000000000c2 ( 'MF0;a:X/U1' - 'n2 mlx4_0' )
SW     9  1 0x00000000000000a1 4x QDR - CA     1  1 0x00000000000000b1 ( 'MF0;a:X/U1' - 'n1 mlx4_0' )
SW     8  3 0x00000000000000a2 4x FDR10 - SW     9  4 0x00000000000000a1 ( 'MF0;b:X/U1' - 'MF0;a:X/U1' )
SW     8  1 0x00000000000000a2 4x QDR - CA     3  1 0x00000000000000d1 ( 'MF0;b:X/U1' - 'n3 mlx4_0' )
CA     1  1 0x00000000000000b1 4x QDR - SW     9  1 0x00000000000000a1 ( 'n1 mlx4_0' - 'MF0;a:X/U1' )
CA     2  2 0x00000000000000c2 4x QDR - SW     9  2 0x00000000000000a1 ( 'n2 mlx4_0' - 'MF0;a:X/U1' )
CA     0  1 0x00000000000000c1 4x SDR                                    'n2 mlx4_0'
CA     3  1 0x00000000000000d1 4x QDR - SW     8  1 0x00000000000000a2 ( 'n3 mlx4_0' - 'MF0;b:X/U1' )
"""  # noqa: E501
TABLES = """Unicast lids [0x0-0x9] of switch Lid 9 guid 0x00000000000000a1 (MF0;a:X/U1):
  Lid  Out   Destination
       Port     Info
0x0001 001 : (Channel Adapter portguid 0x00000000000000b1: 'n1 mlx4_0')
0x0002 002 : (Channel Adapter portguid 0x00000000000000c2: 'n2 mlx4_0')
0x0003 004 : (Channel Adapter portguid 0x00000000000000d1: 'n3 mlx4_0')
0x0009 000 : (Switch portguid 0x00000000000000a1: 'MF0;a:X/U1')
4 valid lids dumped
Unicast lids [0-9] of switch Lid 8 guid 0x00000000000000a2 ('MF0;b:X/U1'):
0x0001 003 # Channel Adapter portguid 0x00000000000000b1: 'n1 mlx4_0'
0x0002 003 # Channel Adapter portguid 0x00000000000000c2: 'n2 mlx4_0'
0x0003 001 # Channel Adapter portguid 0x00000000000000d1: 'n3 mlx4_0'
9 lids dumped
"""
PIECES = [
    *('"', "'", "{", "}", "[", "]", "->", "--", ";", ",", "=", "*", "#", "//", "/*"),
    *("*/", "\\", "<a>"),
    *(" ", "\t", "\n", "\r\n", "\x00", "\x0b", "\u2028", "\ufeff", "\u0663", "0", "-1"),
    *("1e9", "9" * 30),
    *("H1", "H2", "H9", "S1", "comment", "digraph", "strict", "subgraph", "edge", "node", "graph"),
    *("Switch", "Ca", "Rt", "lid 1", "lid 2", "[1]", "[2]", "(b1)", "0x0001", "0xfffff"),
    *("255", "004"),
    *("switchguid=", "switchguid=0xa1", "Unicast lids [] of switch guid 0xa1", "Chassis 1"),
]  # fmt: skip
NO_LINE = re.compile(
    "neither a Graphviz digraph nor|has no forwarding table|tables must be left out: the digraph"
)
"""Of a file as a whole."""
Sample = tuple[str, str | None]
SAMPLES: list[Sample] = [(DIGRAPH, None), (LOOP, None), (DISCOVERED, TABLES), (PORTS, TABLES)]


def mutated(chance: random.Random, text: str) -> str:
    """A text with a few changes: characters, pieces, lines."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
        at = chance.randrange(len(text) + 1)
        way = chance.randrange(6)
        if way == 0:
            text = text[:at] + text[at + chance.randrange(1, 4) :]
        elif way == 1:
            text = text[:at] + chance.choice(PIECES) + text[at + chance.randrange(3) :]
        elif way == 2:
            text = text[:at] + chr(chance.randrange(1, 300)) + text[at:]
        elif way == 3:
            other = chance.randrange(len(text) + 1)
            text = text[:at] + text[other : other + chance.randrange(40)] + text[at:]
        else:
            lines = text.split("\n")
            one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
            if way == 4:
                lines[one], lines[two] = lines[two], lines[one]
            else:
                lines.insert(one, lines.pop(two)) if chance.random() < 0.5 else lines.pop(two)
            text = "\n".join(lines)
    return text


def _parsed(text: str, tables: str | None) -> tuple[Any, Any, Any] | None:
    """Links, table and what no route joins; None where it is refused as it should be."""
    try:
        links = parse_links(text, "map", None if tables is None else (tables, "tables"))
        return links, *forwarding(links)
    except ValueError as error:
        message = str(error)
        if "\n" in message or not ("map" in message or "tables" in message) or len(message) > 600:
            raise Finding(f"message {message!r}") from None
        if not re.search(r", line \d+\b", message) and not NO_LINE.search(message):
            raise Finding(f"no line in {message!r}") from None
        return None


def check(text: str, tables: str | None) -> str:
    """What became of it: "read", "loop" or "error"; raises Finding."""
    parsed = in_time(lambda: _parsed(text, tables))
    if parsed is None:
        return "error"
    links, table, dropped = parsed
    count = len(links.hosts)
    program = _core.CongestionProgram(
        hosts=count, used=count, ranks=count, perturbation=0, offsets=[0], senders=[],
        receivers=[], chain=[],
    )  # fmt: skip
    program.set_table(links.nodes, table, np.array(links.heads, np.uint32))
    following, lost = table.tolist(), set(dropped)
    reaches = [None if reach is None else set(reach) for reach in links.reach]
    for a, b in itertools.permutations(range(count), 2):
        node, steps = a, 0
        while node != b and (edge := following[node][b]) != NO_EDGE:
            reach = reaches[edge]
            if links.tails[edge] != node or not (reach is None or b in reach):
                raise Finding("an edge that does not forward to the destination")
            node, steps = links.heads[edge], steps + 1
        if (node != b) != ((a, b) in lost) or (node != b and steps):
            raise Finding(f"the route {a} -> {b} ends at {node}")
    return "loop" if dropped else "read"


def run(
    numbers: Iterable[int], seed: int, samples: list[Sample] = SAMPLES
) -> tuple[dict[str, int], list[str]]:
    """How many inputs ended how, and the findings."""
    ends, findings = {"read": 0, "loop": 0, "error": 0}, []
    for number in numbers:
        chance = random.Random(f"{seed} {number}")
        text, tables = chance.choice(samples)
        if tables is not None and chance.random() < 0.5:
            tables = mutated(chance, tables)
        else:
            text = mutated(chance, text)
        try:
            ends[check(text, tables)] += 1
        except Exception as error:  # whatever comes is what is looked for
            findings.append(f"--seed {seed} --only {number}: {type(error).__name__}: {error}")
    return ends, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    numbers = (
        range(options.count) if options.only is None else range(options.only, options.only + 1)
    )
    ends, findings = run(numbers, options.seed)
    print(ends, *findings[:20], sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
