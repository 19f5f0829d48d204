"""Benchmark of network congestion, beside a straightforward walk of the graph as in ORCS.

The baseline (graph_walk.h) walks edge by edge as ORCS does, with numbers in place of
names. The messages are given to it; the engine draws them, too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from reference.fat_tree_graph import FatTreeGraph

from jitterfly.congestion import (
    CongestionCase,
    FatTree,
    Realization,
    congestion_realization,
    simulate_congestion,
)

from .measure import DisagreementError
from .peer_library import GraphWalk

GOAL_TIMES_AS_FAST = 50.0
GOAL_HOSTS = 1152
GOAL_LARGE_HOSTS = 20736
GOAL_LARGE_SECONDS = 120.0
"""For 1,000 realizations on two cores."""
_SEED = 5
Numbers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class CongestionContest:
    """CPU seconds a realization of both, one thread each; medians over turns.

    `times_as_fast` is the median over turns of the ratio within a turn.
    """

    hosts: int
    engine: float
    walk: float
    times_as_fast: float
    same: bool


def contest(hosts: int = GOAL_HOSTS, turns: int = 5, realizations: int = 200) -> CongestionContest:
    """Both in turn on the same realizations: tree against rand, ratio 0.5, D-mod-K, rule orcs.

    Examples
    --------
    >>> contest(144, turns=1, realizations=20).same
    True
    """
    tree = FatTree.of(hosts)
    case, nodes = CongestionCase(tree), FatTreeGraph(tree.m, tree.w, tree.p)
    graph = GraphWalk(len(nodes.nodes), nodes.tables())
    engine, walk, same = [], [], True
    for turn in range(turns):
        drawn = congestion_realization(case, turn, _SEED)
        raw = _arrays(drawn)
        own = [level.own for level in drawn.levels]
        spent, found = _seconds(lambda: graph.longest_delay(*raw, own))  # noqa: B023
        walk.append(spent)
        spent, result = _seconds(
            lambda: simulate_congestion(case, realizations, _SEED, "cpu", 1, first_realization=turn)  # noqa: B023
        )
        engine.append(spent / realizations)
        same = same and result.samples[0] == found
    ratios = [w / e for w, e in zip(walk, engine, strict=True)]
    median = statistics.median
    return CongestionContest(hosts, median(engine), median(walk), median(ratios), bool(same))


def large(realizations: int = 20) -> float:
    """CPU seconds that 1,000 realizations of 20,736 hosts take, one thread."""
    case = CongestionCase(FatTree.of(GOAL_LARGE_HOSTS))
    spent, _ = _seconds(lambda: simulate_congestion(case, realizations, _SEED, "cpu", 1))
    return 1000 * spent / realizations


def measured() -> dict[str, Any]:
    """What the goals are about, as plain values.

    Raises
    ------
    DisagreementError
        The walk does not give the engine's results.
    """
    found = contest()
    if not found.same:
        raise DisagreementError(
            f"the walk of a network's graph does not give the engine's results at {found.hosts} "
            "hosts"
        )
    return {
        **asdict(found),
        "large_hosts": GOAL_LARGE_HOSTS,
        "large_cpu_seconds": large(),
    }


def _arrays(drawn: Realization) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    pairs = np.concatenate([level.pairs for level in drawn.levels])
    offsets = np.cumsum([0, *(len(level.pairs) for level in drawn.levels)])
    return drawn.host_of_rank, offsets, pairs[:, 0].copy(), pairs[:, 1].copy()


def _seconds(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
