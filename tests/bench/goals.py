"""Performance goals of the engine, and how one run meets them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import congestion
from .measure import CPU, CUDA, NOISES, bytes_in_flight, programs

SMALL, LARGE, BIG = 2**12, 2**23, 2**20
CARD = 2**13


class Goal(NamedTuple):
    """A bound; `least`: it is the least that will do, else the most."""

    what: str
    bound: float
    least: bool
    unit: str = ""


def goals(
    rows: Sequence[dict[str, Any]],
    sizes: Sequence[dict[str, Any]],
    network: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Each goal with what was found and whether it is met; None where it was not measured.

    Parameters
    ----------
    rows : sequence of dict
        Measurements, as in a result.
    sizes : sequence of dict
        "ranks", "bytes_per_rank" and "case" of cases that were not all measured.
    network : dict, optional
        What `congestion.measured` found.
    """
    one = {(r["name"], r["program"], r["noise"], r["ranks"]): r for r in rows
           if r["threads"] in (1, None)}  # fmt: skip

    def engine(ranks: int, program: str = "butterfly", name: str = CPU) -> dict[str, Any] | None:
        return one.get((name, program, "periodic", ranks))

    found: list[tuple[Goal, float | None]] = [
        (Goal("butterfly, periodic noise, 2^12 ranks, one core", 2e9, True, "rank-rounds/s"),
         _rate(engine(SMALL))),
        (Goal("butterfly, periodic noise, 2^23 ranks, one core", 1e9, True, "rank-rounds/s"),
         _rate(engine(LARGE))),
    ]  # fmt: skip
    for program in ("MS12, all T", "CS14, full set"):
        for ranks in (SMALL, LARGE):
            goal = Goal(f"{program}, periodic noise, 2^{ranks.bit_length() - 1} ranks: time of a "
                        "rank-round over that of the butterfly", 1.5, False)  # fmt: skip
            found.append((goal, _times(engine(ranks, program), engine(ranks))))
    found.append((Goal("time of a rank-round at 2^23 ranks over that at 2^12", 2.0, False),
                  _times(engine(LARGE), engine(SMALL))))  # fmt: skip
    large = [size for size in sizes if size["ranks"] >= BIG]
    worst = max(large, key=lambda size: float(size["bytes_per_rank"]), default=None)
    where = f" (most: {worst['case']})" if worst else ""
    found.append((Goal(f"bytes per rank and realization in flight, from 2^20 ranks{where}", 16.0,
                       False), worst and worst["bytes_per_rank"]))  # fmt: skip
    small, big = engine(CARD, name=CUDA), engine(LARGE, name=CUDA)
    found += [
        (Goal("GPU: butterfly, periodic noise, 2^13 ranks", 5e11, True, "rank-rounds/s"),
         _rate(small)),
        (Goal("GPU: butterfly, periodic noise, 2^23 ranks", 2e11, True, "rank-rounds/s"),
         _rate(big)),
        (Goal("GPU: share of the limit, 2^13 ranks", 0.4, True), small and small["share"]),
    ]  # fmt: skip
    return [_judged(goal, value) for goal, value in [*found, *_congestion_goals(network)]]


def _rate(row: dict[str, Any] | None) -> float | None:
    return row and row["rank_rounds_per_second"]["median"]


def times_of(row: dict[str, Any]) -> list[float]:
    """Seconds per rank-round, one for each repeat; CPU time of one thread, else by the clock."""
    seconds = row["cpu_seconds"] if row["threads"] == 1 else row["seconds"]
    work = row["rank_rounds_per_realization"] * row["realizations"]
    return [s / work for s in seconds]


def _times(slow: dict[str, Any] | None, fast: dict[str, Any] | None) -> float | None:
    """Median of the ratios within a repeat: neighbours in time share the machine's state."""
    if not slow or not fast:
        return None
    pairs = zip(times_of(slow), times_of(fast), strict=True)
    return statistics.median(a / b for a, b in pairs)


def _judged(goal: Goal, found: float | None) -> dict[str, Any]:
    met = None if found is None else found >= goal.bound if goal.least else found <= goal.bound
    return {"goal": goal.what, "at_least" if goal.least else "at_most": goal.bound,
            "unit": goal.unit, "found": found, "met": met}  # fmt: skip


def lines(judged: Sequence[dict[str, Any]]) -> list[str]:
    """A goal a line: its bound, what was found, whether it is met."""
    words = {True: "met", False: "NOT met", None: "not measured"}
    texts = ["goals, in this run:"]
    for goal in judged:
        sign, bound = (">=", goal["at_least"]) if "at_least" in goal else ("<=", goal["at_most"])
        found = "-" if goal["found"] is None else f"{goal['found']:.3g}"
        unit = f" {goal['unit']}" if goal["unit"] else ""
        texts.append(f"  {words[goal['met']]:<12} {found:>9}  {sign} {bound:.4g}{unit}  "
                     f"{goal['goal']}")  # fmt: skip
    return texts


def _congestion_goals(found: dict[str, Any] | None) -> list[tuple[Goal, float | None]]:
    """The goals of congestion, and what was found of each; without `measured`, None."""
    walk = Goal(
        f"congestion, {congestion.GOAL_HOSTS} hosts: times as fast as a walk of the graph, per "
        "core",
        congestion.GOAL_TIMES_AS_FAST,
        True,
    )
    large = Goal(
        f"congestion, {congestion.GOAL_LARGE_HOSTS} hosts x 1,000 realizations: CPU time for each "
        "of two cores",
        congestion.GOAL_LARGE_SECONDS,
        False,
        "s",
    )
    return [
        (walk, found and found["times_as_fast"]),
        (large, found and found["large_cpu_seconds"] / 2),
    ]


def sizes(rows: list[dict[str, Any]], left_out: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each case on one thread holds per rank, also those that were too long to measure."""
    found = [r for r in rows if r["bytes_per_rank"] is not None and r["threads"] == 1]
    for left in left_out:
        if left["threads"] == 1:
            case = programs(left["ranks"], NOISES[left["noise"]])[left["program"]]
            found.append(left | {"bytes_per_rank": bytes_in_flight(case, "cpu", 1) / case.ranks})
    return [{"ranks": r["ranks"], "bytes_per_rank": r["bytes_per_rank"],
             "case": f"{r['program']}, {r['noise']}, 2^{r['ranks'].bit_length() - 1} ranks"}
            for r in found]  # fmt: skip
