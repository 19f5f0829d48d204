"""The algorithm that is far faster than a butterfly without noise; the caution that says so."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from .algorithms import Algorithm, Butterfly
from .algorithms.algorithm import checked_steps
from .algorithms.candidates import known, table_of_kind
from .case import Case
from .fields import counted, parameter
from .hierarchy import Hierarchy
from .network import Network
from .program import message_count
from .units import from_ticks, show_seconds, show_size
from .workload import Workload

FAR_SLOWER = 2.0
"""Times the best candidate without noise: from there on a butterfly is no library's choice."""
# A candidate whose messages differ in their costs takes time in proportion to their number. It is
# evaluated up to `_MAX_MESSAGES` (a second), or `_TIMES_MESSAGES` times those of the butterfly.
# Candidates that list their messages (two stages) take longer: none beyond `_MAX_LISTED` ranks.
_MAX_MESSAGES, _TIMES_MESSAGES, _MAX_LISTED = 2**21, 4, 2**14


class FasterCandidate(NamedTuple):
    """The best candidate of `advise` where a butterfly takes far longer; times in seconds."""

    ranks: int
    message_bytes: int
    butterfly: float
    name: str
    noise_free: float


def faster_candidate(case: Workload) -> FasterCandidate | None:
    """The best candidate of `advise` without noise, if the case is a butterfly far slower than it.

    Both times are those of one collective alone. None where the butterfly takes less than
    `FAR_SLOWER` times as long, and of any other algorithm, which somebody chose. On a `Hierarchy`,
    candidates of too many messages to be simulated in passing are left out: rings on thousands of
    ranks, and those of two stages beyond 2^14.
    """
    if not isinstance(case, Case) or case.algorithm != Butterfly() or case.ranks == 1:
        return None
    return _faster_than_butterfly(case.ranks, case.network, case.message_bytes)


@lru_cache(maxsize=1024)  # table, notes and picture of an answer ask for the same cells
def _faster_than_butterfly(ranks: int, network: Network, size: int) -> FasterCandidate | None:
    """Return the fastest candidate without noise; None unless a butterfly is far slower."""
    butterfly = Case(ranks, network=network, message_bytes=size)
    short = replace(butterfly, message_bytes=network.smallest_message)
    own, shortest = (float(from_ticks(one.noise_free_ticks()[-1])) for one in (butterfly, short))
    if own <= FAR_SLOWER * shortest:  # nothing has fewer rounds
        return None
    levels = isinstance(network, Hierarchy) and bool(network.spans)
    most = max(_MAX_MESSAGES, _TIMES_MESSAGES * butterfly.rank_rounds())
    best, best_name = math.inf, ""
    for name, candidate in known("allreduce").items():
        if candidate.against_noise or not candidate.is_usual(levels=levels):
            continue
        if ranks > _MAX_LISTED and not candidate.usual:
            continue
        try:
            algorithm = candidate.make(ranks, network, size)
            steps = checked_steps(algorithm, ranks, size)
            if levels and sum(message_count(step, ranks) for step in steps) > most:
                continue
            other = replace(butterfly, algorithm=algorithm)
            time = float(from_ticks(other.noise_free_ticks()[-1]))
        except ValueError:  # it does not fit
            continue
        if time < best:
            plain = Algorithm.from_dict(table_of_kind(algorithm.kind, network)) == algorithm
            best, best_name = time, algorithm.kind if plain else name
    if own <= FAR_SLOWER * best:
        return None
    return FasterCandidate(ranks, size, own, best_name, best)


def algorithm_cautions(cases: Iterable[Workload]) -> list[str]:
    """A line where a butterfly is run at sizes at which no library would; of the worst one."""
    slow = [found for case in cases if (found := faster_candidate(case)) is not None]
    if not slow:
        return []
    worst = max(slow, key=lambda one: one.butterfly / one.noise_free)
    other = len(slow) - 1
    more = f" (and in {counted(other, 'other row')})" if other else ""
    return [
        f"a butterfly is a bad choice for {show_size(worst.message_bytes)} on {worst.ranks:,} "
        f"ranks{more}: without noise it takes {show_seconds(worst.butterfly, 4)}, {worst.name} "
        f"{show_seconds(worst.noise_free, 4)}; for that give {parameter('algorithm')} {worst.name}"
    ]
