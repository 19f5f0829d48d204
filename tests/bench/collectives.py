"""Benchmark of each collective algorithm: CPU time per message, beside the butterfly's.

Each measurement comes between two of the butterfly, as in sources.py: of one collective beside
one, and of several in a row, as the papers run them, beside as many. A collective that begins at
time 0 can be evaluated in less than one whose ranks come from another. Costs are net of nothing: a
realization draws a phase for each rank and looks at all results, which an algorithm of few messages
shares among few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitterfly.algorithms import (
    Algorithm,
    BinaryTreeBroadcast,
    BinomialBroadcast,
    BinomialReduce,
    BruckAllgather,
    BruckAllgatherv,
    Butterfly,
    ChainBroadcast,
    DisseminationBarrier,
    DoubleBinaryTreeAllreduce,
    HierarchicalAllreduce,
    KnomialBroadcast,
    KnomialReduce,
    RabenseifnerAllreduce,
    RecursiveDoublingAllreduce,
    RecursiveHalvingReduceScatter,
    RecursiveMultiplyingAllreduce,
    ReduceBroadcastAllreduce,
    RingAllreduce,
    ScatterAllgatherBroadcast,
    TreeBarrier,
)
from jitterfly.case import Case
from jitterfly.network import LogGOPS, Network
from jitterfly.program import message_count

from .beside import (
    INTERVAL,
    ComparedContestant,
    compared_engine,
    interval,
    ratios,
    table_head,
)
from .measure import NOISES, spread

CYCLES = 1, 10
"""Collectives in a row."""

FEWEST = 8
"""Realizations of a measurement. Fewer than a register has lanes, 4 or 8, leave some of it idle."""

BUTTERFLY = "butterfly"
NOISE = "periodic"
# One on which every message takes CPU time: noise could not matter else, and is not drawn.
NETWORK: Network = LogGOPS(L=1e-6, o=1e-9, G=1e-9, gamma=1e-10)

SHAPES: dict[str, Algorithm] = {
    BUTTERFLY: Butterfly(),  # first: the others are measured beside it
    "recursive doubling allreduce": RecursiveDoublingAllreduce(),
    "recursive multiplying allreduce": RecursiveMultiplyingAllreduce(),
    "recursive halving reduce-scatter": RecursiveHalvingReduceScatter(),
    "Rabenseifner allreduce": RabenseifnerAllreduce(),
    "dissemination barrier": DisseminationBarrier(),
    "Bruck allgather": BruckAllgather(),
    "Bruck allgather with counts": BruckAllgatherv(counts="lognormal(mean=8,sigma=1)"),
    "ring allreduce": RingAllreduce(),
    "scatter + allgather broadcast": ScatterAllgatherBroadcast(),
    "reduce + broadcast allreduce": ReduceBroadcastAllreduce(),
    "hierarchical allreduce": HierarchicalAllreduce(),
    "tree barrier": TreeBarrier(),
    "binomial broadcast": BinomialBroadcast(),
    "binomial reduce": BinomialReduce(),
    "k-nomial broadcast": KnomialBroadcast(),
    "k-nomial reduce": KnomialReduce(),
    "chain broadcast": ChainBroadcast(segment_bytes=1),  # eight segments
    "binary tree broadcast": BinaryTreeBroadcast(segment_bytes=1),
    "double binary tree allreduce": DoubleBinaryTreeAllreduce(segment_bytes=1),
}
"""One of each shape."""


def sizes(anchor: int) -> tuple[int, int]:
    """Ranks to measure at: the anchor, and three quarters of it, which are no power of two."""
    return anchor, anchor // 4 * 3


def messages(case: Case) -> int:
    """How many messages a realization sends."""
    return case.cycles * sum(message_count(step, case.ranks) for step in case.cycle_steps())


def contestants(
    anchor: int, name: str, backend: str, threads: int | None
) -> list[ComparedContestant]:
    """The engine on every shape at both sizes, once and in a row, under periodic noise.

    All beside as many butterflies at the larger size, a power of two, where it has no fold.
    """
    found = []
    for cycles in CYCLES:
        butterfly = None
        for ranks in sizes(anchor):
            for shape, algorithm in SHAPES.items():
                case = Case(ranks, network=NETWORK, algorithm=algorithm, noise=NOISES[NOISE],
                            cycles=cycles)  # fmt: skip
                contestant = compared_engine(name, shape, NOISE, case, backend, threads)
                contestant.realizations = FEWEST
                contestant.beside = butterfly
                butterfly = butterfly or contestant
                found.append(contestant)
    return found


def times_butterfly(contestant: ComparedContestant) -> list[float]:
    """What a message takes, over one of the butterfly beside it; one for each repeat."""
    own, other = contestant.case, (contestant.beside or contestant).case
    assert own
    assert other
    each = messages(other) / messages(own)
    return [each * t for t in contestant.times_beside()]


def _nanoseconds(contestant: ComparedContestant) -> list[float]:
    """Of a realization, one for each repeat; of a GPU by the clock."""
    return [1e9 * s / contestant.realizations for s in contestant.times()]


def compared(measured: Sequence[ComparedContestant]) -> list[dict[str, Any]]:
    """Each shape's cost per message, and its ratio to that of the butterfly beside it."""
    rows = []
    for c in measured:
        assert c.case
        count = messages(c.case)
        rows.append({
            "name": c.name,
            "shape": c.program,
            "ranks": c.case.ranks,
            "cycles": c.case.cycles,
            "threads": c.threads,
            "realizations": c.realizations,
            "messages": count,
            "nanoseconds_per_message": spread([t / count for t in _nanoseconds(c)]),
            "times_butterfly": ratios(times_butterfly(c)),
        })  # fmt: skip
    return rows


def _cycles(row: dict[str, Any]) -> int:
    """Results of before there was a choice do not say so."""
    return int(row.get("cycles", 1))


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of text: a shape, a number of ranks and of cycles a line."""
    lines = []
    for name in dict.fromkeys(row["name"] for row in rows):
        what = f"ns per message with noise drawn, times the butterfly's {INTERVAL}"
        lines.append(f"{table_head(name)}, {what}")
        for row in rows:
            if row["name"] != name:
                continue
            cost, times = row["nanoseconds_per_message"]["median"], row["times_butterfly"]
            cycles = f"{_cycles(row)} cycle{'s' * (_cycles(row) > 1)}"
            lines.append(f"{row['shape']:<33}{row['ranks']:>9}{cycles:>11}{cost:9.3f} "
                         f"{times['median']:8.2f}{interval(times)}")  # fmt: skip
    return lines
