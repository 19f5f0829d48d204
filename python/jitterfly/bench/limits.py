"""The limit of a case on a core or a GPU: instructions and bytes per rank-round against capacity.

What the limit is: no program that executes these instructions can be faster than the core issues
them, and none with this much state can move less than `passes` says. What it is not: a bound for
every program (fewer instructions may do), nor what is within reach (multiplications and shuffles
use fewer ports than the additions that were measured, and instructions wait for each other).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..case import Case
from ..engine import core
from ..program import compile_case, rank_rounds
from .measure import NOISES, SEED, programs

COUNTED = 2**12
"""Rank-rounds of a realization whose instructions are counted, at most: a virtual machine may take
a second for ten thousand steps of a child process. The case that the goals are about is counted at
its own size."""
EXACT = 2**12, "butterfly", "periodic"
MOST, MOST_EXACT = 2**18, 2**22
"""Steps of a child process at most. Copies under network jitter can take more."""


def counted_ranks(program: str, noise: str, ranks: int) -> int:
    """At how many ranks the instructions of a case are counted: fewer where it is a large one."""
    if ranks >= EXACT[0] and (program, noise) == EXACT[1:]:
        return EXACT[0]
    while ranks > 4 and rank_rounds(programs(ranks, [])[program]) > COUNTED:
        ranks //= 2
    return ranks


class Counter:
    """Instructions per rank-round of the CPU engine on one thread, each case counted once."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell
        self.problem = core.cannot_count()
        if not self.problem and (sanitizers := core.build_info()["sanitize"]):
            self.problem = f"no instructions are counted in a build with sanitizers ({sanitizers})"
        self._known: dict[tuple[str, str, int], dict[str, Any] | None] = {}

    def count(self, program: str, noise: str, ranks: int) -> dict[str, Any] | None:
        """Per rank-round "all" and "vector" instructions, at "ranks"; None if that is impossible.

        A realization is what two have more than one: starting a thread costs none. None too for a
        case that would take more than `MOST` steps.
        """
        key = program, noise, counted_ranks(program, noise, ranks)
        if key not in self._known and not self.problem:
            self.tell(f"instructions, one by one: {program}, {noise}, {key[2]} ranks")
            case = programs(key[2], NOISES[noise])[program]
            engine = compile_case(case)
            try:
                most = MOST_EXACT if key[2] == EXACT[0] else MOST
                one, two = (core.count_instructions(engine, SEED, n, most) for n in (1, 2))
            except RuntimeError as error:
                self._known[key] = None
                if "too many" not in str(error):
                    self.problem = str(error)
                return None
            everything, vector = (
                (b - a) / rank_rounds(case) for a, b in zip(one, two, strict=True)
            )
            self._known[key] = {"all": everything, "vector": vector, "ranks": key[2]}
        return self._known.get(key)


def passes(ranks: int, rounds: int, per_rank: float, holds: float) -> int:
    """How often the state must go through a cache that holds so many bytes, at least.

    A block of 2^m ranks in the cache can do m rounds (as in an FFT: Hong & Kung 1981), so K rounds
    take K / m passes; 1 if everything fits.
    """
    inside = min(max(int(math.log2(max(holds / per_rank, 2.0))), 1), int(math.log2(ranks)))
    return max(math.ceil(rounds / inside), 1) if ranks * per_rank > holds else 1


def bytes_limits(
    case: Case, per_rank: float, levels: list[dict[str, Any]]
) -> list[tuple[str, float, float]]:
    """Name of each level that the state has to go through, bytes per rank-round, rank-rounds/s.

    The first pass need not read and the last need not write. `per_rank` is the engine's account.
    """
    work = rank_rounds(case)
    found = []
    for level in levels:
        times = passes(case.ranks, work // case.ranks, per_rank, level["holds"])
        if times > 1:
            moved = 2 * (times - 1) * per_rank * case.ranks / work
            found.append((level["name"], moved, max(level["read"], level["copy"]) / moved))
    return found


def core_limit(
    case: Case, per_rank: float, counted: dict[str, Any] | None, capacity: dict[str, Any] | None
) -> dict[str, Any]:
    """The limit of a case on one core, in rank-rounds per second, with what it is made of.

    Returns
    -------
    dict
        "rank_rounds_per_second" (None where not known), "by": what sets it. "instructions": as
        counted, with the rate that they allow. "bytes": per rank-round at each level that they
        have to come from, with the rate that its bandwidth allows.
    """
    rates: dict[str, float] = {}
    limit: dict[str, Any] = {"rank_rounds_per_second": None, "by": None, "instructions": None,
                             "bytes": []}  # fmt: skip
    if not capacity:
        return limit
    issue = capacity["instructions"]
    if counted and issue and counted["all"] > 0:
        times = counted["vector"] / issue["vector"], counted["all"] / max(issue.values())
        name = "vector instructions" if times[0] > times[1] else "instructions"
        rates[name] = 1 / max(times)
        limit["instructions"] = counted | {"rank_rounds_per_second": 1 / max(times)}
    for name, moved, rate in bytes_limits(case, per_rank, capacity["levels"]):
        rates[f"bytes, {name}"] = rate
        limit["bytes"].append({"level": name, "bytes_per_rank_round": moved,
                               "rank_rounds_per_second": rate})  # fmt: skip
    # Without a count of instructions nobody knows whether they or bytes are the limit.
    if limit["instructions"]:
        limit["by"] = min(rates, key=rates.__getitem__)
        limit["rank_rounds_per_second"] = rates[limit["by"]]
    return limit
