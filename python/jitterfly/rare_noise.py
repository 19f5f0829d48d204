"""Expected hits of each noise source in a realization: which of them too few realizations meet.

A sample can not tell of noise that it did not meet beside other, more frequent noise. The case can:
it knows how often each of its sources hits, and for how long. What follows for a study is decided
in observables/targets.py.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from functools import lru_cache, singledispatch
from typing import NamedTuple

from .case import AnyCase, Case, random_sources
from .cycle import Cycle
from .noise import Noise
from .noise.source import Exposure, Hits, name_in_case
from .program import message_count
from .stats import ENOUGH_EVENTS
from .steps import EXCHANGE, MESSAGE
from .units import to_ticks

MATTERS = 0.1
"""From which part of an interval's half width on it matters what a source may move a mean by."""


class SourceHits(NamedTuple):
    """A source of random noise that acts in a case, with its place in it, and its expected hits.

    Attributes
    ----------
    place : int
    noise : Noise
    hits : Hits or None
        None where they can not be told simply.
    as_long : float
        Expected hits, over all sources, that last at least as long as this one's. If longer hits
        are rare, the sample itself shows how sure its mean is; if they meet every realization, they
        hide shorter ones.
    """

    place: int
    noise: Noise
    hits: Hits | None
    as_long: float

    @property
    def name(self) -> str:
        """As in a study and in messages: `noise.1 (step)`."""
        return name_in_case(self.place, self.noise.kind)

    @property
    def most(self) -> float:
        """How much its hits add to the mean completion, at most, in ticks; 0: nobody knows."""
        return 0.0 if self.hits is None else self.hits.most

    def is_unmet(self, realizations: int, half_width: float) -> bool:
        """Whether so many realizations expect too few hits as long as its own, and it matters.

        It does where its hits may move the mean completion by a tenth of `half_width`, in ticks.
        """
        return self.most > MATTERS * half_width and realizations * self.as_long < ENOUGH_EVENTS


def expected_hits(case: AnyCase, duration: float, share: float = 1.0) -> list[SourceHits]:
    """What is to be expected of each random source that acts in a case.

    Parameters
    ----------
    case : Case
    duration : float
        How long a realization lasts on average, in ticks: the mean completion.
    share : float
        The part of it that counts, such as one cycle of ten: so much of all hits.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = jf.StepNoise(delay="1ms", probability=1e-6)
    >>> case = jf.Case(64, network=jf.LogGOPS(L="1us", o="200ns"), noise=[noise])
    >>> [source] = expected_hits(case, duration=8.4e6)
    >>> round(source.hits.number / 1e-6), source.hits.delay  # 64 ranks, 6 rounds
    (384, 1000000000.0)
    """
    acting, met = random_sources(case), exposure(case)._replace(duration=float(duration))
    found = [
        (place, noise, hits and hits.in_part(share))
        for place, noise in enumerate(case.placed_noise)
        if acting[place]
        for hits in [noise.expected_hits(met)]
    ]
    return [SourceHits(*one, _as_long(one[2], [hits for _, _, hits in found])) for one in found]


def _as_long(own: Hits | None, all_hits: list[Hits | None]) -> float:
    if own is None:
        return math.inf
    return sum(hits.number for hits in all_hits if hits is not None and hits.delay >= own.delay)


def hidden(sources: Collection[SourceHits]) -> list[SourceHits]:
    """Those beside which another source hits more often and for a shorter time.

    Only these can be missing from a sample that looks as if it rested on many events. Where a
    source is alone, or all hits are as long as its own, the sample tells how many it met. A source
    that acts in another phase of the cycle in another variant is the same: it is drawn alike.
    """
    return [one for one in sources if any(_hides(other, one) for other in sources)]


def _hides(frequent: SourceHits, rare: SourceHits) -> bool:
    if rare.hits is None:
        return False
    if frequent.hits is not None and not (
        frequent.hits.delay < rare.hits.delay and frequent.hits.number > rare.as_long
    ):
        return False
    return not _are_same(frequent.noise, rare.noise)


def _are_same(one: Noise, other: Noise) -> bool:
    """Whether they are equal, but for the phase of the cycle in which they act."""
    if one == other or type(one) is not type(other) or not hasattr(one, "during"):
        return one == other
    alike: Noise = dataclasses.replace(one, during=other.during)  # type: ignore
    return alike == other


def unmet_sources(
    case: AnyCase, mean: float, half_width: float, realizations: int
) -> list[SourceHits]:
    """The hidden sources of which so many realizations expect too few hits for their mean.

    Parameters
    ----------
    case : Case
    mean, half_width : float
        The mean completion, and half its interval, in ticks. Where that is not known, infinite or
        NaN, the interval says itself that too little was met.
    realizations : int
    """
    if not math.isfinite(half_width):
        return []
    sources = hidden(expected_hits(case, mean))
    return [source for source in sources if source.is_unmet(realizations, half_width)]


def expectation(source: SourceHits, realizations: int, words: str = "") -> str:
    """How often a source is expected to hit so many realizations; `words` describe it."""
    name = name_in_case(source.place, words) if words else source.name
    count = realizations * source.as_long
    times = f"{count:.2g} times in {realizations:,} realizations"
    return f"hits as long as those of {name} are expected {times}"


@singledispatch
def exposure(case: AnyCase) -> Exposure:
    """What noise meets in a case whose duration is not known yet."""
    raise NotImplementedError


@exposure.register
@lru_cache(maxsize=256)
def _exposure_of_collective(case: Case) -> Exposure:
    cycle, ranks, cycles = case.lowered, case.ranks, case.cycles
    rounds: list[tuple[int, float, int | None]] = []
    messages = work = combining = 0
    for number, (step, costs) in enumerate(zip(cycle.steps, cycle.table.costs(), strict=True)):
        count = message_count(step, ranks)
        if step.kind == EXCHANGE:
            each = cycle.costs.send + cycle.costs.receive + cycle.costs.combine
            combining += cycle.costs.combine
            rounds.append((count, 1, cycle.costs.transit))
        elif step.kind == MESSAGE and costs is not None:
            each = costs.send + costs.receive
            combining += cycle.table.combine(number) * step.repeat * step.receives
            if count:  # of two halves of a step, the one that sends
                rounds.append((count // step.repeat, step.repeat, _way(cycle, number)))
        else:  # what is sent after the collective only spares time
            continue
        messages += count
        work += count * each
    own = case.rank_work()
    compute = to_ticks(case.compute_time) if own is None else float(own.mean())
    return Exposure(
        ranks=ranks,
        cycles=cycles,
        duration=0.0,
        compute=float(cycles * compute),
        work=cycles * work / ranks,
        stretches=2 * cycles * messages / ranks,
        rounds=tuple(rounds),
        combining=float(cycles * combining),
    )


def _way(cycle: Cycle, step: int) -> int | None:
    """How long the messages of a step are on their way, in ticks; None where they differ."""
    ways = {cycle.table.entries[entry].transit for entry in cycle.table.of_step[step]}
    return ways.pop() if len(ways) == 1 else None
