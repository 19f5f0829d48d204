"""Times of a case without noise: the baseline of overhead and slowdown; algorithms faster there."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, singledispatch
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .algorithms import Algorithm, Butterfly
from .algorithms.algorithm import checked_steps
from .algorithms.candidates import known, table_of_kind
from .backends import core
from .case import AnyCase, Case, delays, random_sources
from .cycle import NEVER, is_symmetric, symmetric_timeline
from .fields import counted
from .hierarchy import Hierarchy
from .memory import check_allocation
from .network import Network
from .noise import SpeedNoise
from .program import (
    OVER_RANKS,
    compile_case,
    join_loops,
    max_min_mean,
    message_count,
    rank_rounds,
    ranks_of_rows,
    rows_of_steps,
)
from .steps import ASK, COPY
from .units import from_ticks, show_seconds, show_size, to_ticks

Poll = Callable[[int], object]
"""Called now and then, a few times a second; what it raises ends the computation."""

FAR_SLOWER = 2.0
"""Times the best candidate without noise: from there on a butterfly is no library's choice."""
_MOST_KEPT = 1024
# Of a candidate whose messages differ in their costs, which takes as long as they are many: a
# second, or beside more ranks so many times as many as the butterfly's. Those that list their
# messages (two stages) take longer; beyond so many ranks they are left out.
_MOST_MESSAGES, _TIMES_MESSAGES, _MOST_LISTED = 2**21, 4, 2**14
_kept: dict[Case, npt.NDArray[np.int64]] = {}  # the oldest first


@singledispatch
def noise_free_ticks(case: AnyCase, poll: Poll | None = None) -> npt.NDArray[np.int64]:
    """Noise-free time of the last rank in each row that the case observes, in ticks.

    Rank 0's where the case observes that alone. Shape (rows,). On very many ranks that are not
    alike this takes minutes: `poll` can end it.
    """
    assert isinstance(case, Case), f"no version for {type(case).__name__}"
    return _max_min_mean(_without_noise(case), poll)[:, 0]


def noise_free_observations(case: AnyCase) -> npt.NDArray[np.int64]:
    """The same for each column of `Result.ticks`: latest, earliest and mean where they are."""
    if isinstance(case, Case) and case.observe in OVER_RANKS:
        return _max_min_mean(_without_noise(case)).ravel()
    return noise_free_ticks(case)


@singledispatch
def noise_only_delays(case: AnyCase) -> bool:
    """Return whether no realization can be earlier than without noise, in any row.

    All noise adds to times, but for speeds that are drawn: they may be faster. What a rank waits
    for is a maximum, with redundant exchanges after the collective a minimum, of times to which
    costs are added, in an order that noise does not change: none of these falls where another time
    grows. Copies inside a collective, at given levels or on demand, are the exception: a rank that
    adopts one does not combine it, and sends none itself.
    """
    assert isinstance(case, Case), f"no version for {type(case).__name__}"
    copies = any(step.flags & (COPY | ASK) for step in case.lowered.steps)
    return not copies and not any(noise.hastens for noise in case.noise)


@lru_cache(maxsize=256)  # each statistic of its data asks
def has_one_random_source(case: AnyCase) -> bool:
    """Return whether one source alone acts, and is drawn.

    Then a realization that differs from the noise-free one was met by it. Beside a source that is
    not drawn all realizations differ from that, and beside another one a rare one may be unmet.
    """
    return any(random_sources(case)) and sum(delays(noise, case) for noise in case.noise) == 1


@lru_cache(maxsize=256)  # of a study's case, each batch asks
def _without_noise(case: Case) -> Case:
    if not case.noise:
        return case
    quiet = copy.copy(case)  # what is allowed with noise is allowed without: nothing to check again
    # Drawn speeds change the steps of a butterfly, and so which ranks its rows hold.
    object.__setattr__(quiet, "noise", (SpeedNoise(1),) if case.draws_speeds else ())
    return quiet


def _max_min_mean(case: Case, poll: Poll | None = None) -> npt.NDArray[np.int64]:
    """Latest, earliest and mean of each row of a case without noise; shape (rows, 3). Kept."""
    found = _kept.get(case)
    if found is None:
        loops = (_of_loop(loop, poll).ravel() for loop in reversed(case.loops))
        found = join_loops(case, loops).reshape(-1, 3)
        found.setflags(write=False)
        if len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[case] = found
    return found


def _of_loop(case: Case, poll: Poll | None) -> npt.NDArray[np.int64]:
    """The rows of one program; shape (rows, 3)."""
    cycle = case.lowered
    alike = case.is_even and not cycle.table.differs_within_steps
    if alike and is_symmetric(cycle.steps, case.ranks, cycle.forward):
        return np.repeat(_by_one_rank(case)[:, None], 3, axis=1)
    return _by_engine(case, poll)


def _by_engine(case: Case, poll: Poll | None) -> npt.NDArray[np.int64]:
    """Ask the engine: ranks differ, but without noise one realization is like any other."""
    with check_allocation(f"one realization of {case.ranks} ranks"):
        raw = core.simulate(compile_case(case), 0, 0, 1, "all", "cpu", 0, poll)
    return max_min_mean(raw, ranks_of_rows(case)).reshape(-1, 3)


def _by_one_rank(case: Case) -> npt.NDArray[np.int64]:
    """One rank stands for all. Cycles differ until its links are found as in the one before."""
    rows = rows_of_steps(case, case.observe == "rounds") >= 0
    cycle = case.lowered
    messages = cycle.table.costs()
    costs = cycle.costs, to_ticks(case.compute_time), cycle.forward
    found: list[npt.NDArray[np.int64]] = []
    begin, links, known = 0, (0, NEVER), False
    while len(found) < case.cycles and not known:
        line = symmetric_timeline(
            cycle.steps, *costs, messages=messages, asking=cycle.asking, links=links
        )
        found.append(begin + np.array(line.ready, dtype=np.int64))
        begin += line.end
        late = max(line.sends - line.end, 0), max(line.receives - line.end, NEVER)
        known, links = late == links, late
    more = np.arange(1, case.cycles - len(found) + 1)[:, None] * line.end
    ready = np.concatenate([np.array(found), found[-1] + more])
    return ready[rows]


class FasterCandidate(NamedTuple):
    """The best candidate of `advise` where a butterfly takes far longer; times in seconds."""

    ranks: int
    message_bytes: int
    butterfly: float
    name: str
    noise_free: float


def faster_candidate(case: AnyCase) -> FasterCandidate | None:
    """The best candidate of `advise` without noise, if the case is a butterfly far slower than it.

    Both times are those of one collective alone. None where the butterfly takes less than
    `FAR_SLOWER` times as long, and of any other algorithm, which somebody chose. On a `Hierarchy`,
    candidates of too many messages to be simulated in passing are left out: rings on thousands of
    ranks, and those of two stages beyond 2^14.
    """
    if not isinstance(case, Case) or case.algorithm != Butterfly() or case.ranks == 1:
        return None
    return _faster_than_butterfly(case.ranks, case.network, case.message_bytes)


@lru_cache(maxsize=1024)  # cells of a study, and table, notes and picture of an answer, ask
def _faster_than_butterfly(ranks: int, network: Network, size: int) -> FasterCandidate | None:
    butterfly = Case(ranks, network=network, message_bytes=size)
    short = replace(butterfly, message_bytes=network.smallest_message)
    own, shortest = (float(from_ticks(noise_free_ticks(one)[-1])) for one in (butterfly, short))
    if own <= FAR_SLOWER * shortest:  # nothing has fewer rounds
        return None
    levels = isinstance(network, Hierarchy) and bool(network.spans)
    most = max(_MOST_MESSAGES, _TIMES_MESSAGES * rank_rounds(butterfly))
    best, best_name = math.inf, ""
    for name, candidate in known("allreduce").items():
        if candidate.against_noise or not candidate.is_usual(levels=levels):
            continue
        if ranks > _MOST_LISTED and not candidate.usual:
            continue
        try:
            algorithm = candidate.make(ranks, network, size)
            steps = checked_steps(algorithm, ranks, size)
            if levels and sum(message_count(step, ranks) for step in steps) > most:
                continue
            time = float(from_ticks(noise_free_ticks(replace(butterfly, algorithm=algorithm))[-1]))
        except ValueError:  # it does not fit
            continue
        if time < best:
            plain = Algorithm.from_dict(table_of_kind(algorithm.kind, network)) == algorithm
            best, best_name = time, algorithm.kind if plain else name
    if own <= FAR_SLOWER * best:
        return None
    return FasterCandidate(ranks, size, own, best_name, best)


def algorithm_cautions(cases: Iterable[AnyCase]) -> list[str]:
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
        f"{show_seconds(worst.noise_free, 4)}; for that give `algorithm` {worst.name}"
    ]
