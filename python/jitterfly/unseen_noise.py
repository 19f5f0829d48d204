"""The rules for what samples do not show: noise too rare to be met, and scarce recordings.

A sample can not tell of noise that it did not meet beside other, more frequent noise. The case can:
it knows how often each of its sources hits, and for how long (`expected_hits` of each, in noise/).
What follows for a study is decided in observables/targets.py.

A recording of noise is a sample, too. The one place where what it is known to lack enters a number
is `RecordedNoise.allow`. How large that is, each source says (`noise.recorded_delays`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .noise import MessageNoise, NetworkJitter, Noise, StepNoise, TraceNoise
from .noise.recorded_delays import UNSEEN, SamplingError
from .noise.source import ExpectedWork, Hits, IntervalNoise, name_in_case
from .stats import ENOUGH_EVENTS, Estimate
from .stats.intervals import allowing_for_recording
from .units import TICKS_PER_SECOND, show_seconds
from .workload import NO_WORK, RankWork, Work, Workload

_TELL_LONGER = 2
"""On fewer recorded detours a mean has no upper end: longer ones may be missing."""
_STAGES = 3
"""In which all ranks wait for the longest detour: within nodes, between them, and within again."""
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
    hits_at_least_as_long : float
        Expected hits, over all sources, that last at least as long as this one's. If longer hits
        are rare, the sample itself shows how sure its mean is; if they meet every realization, they
        hide shorter ones.
    """

    place: int
    noise: Noise
    hits: Hits | None
    hits_at_least_as_long: float

    @property
    def name(self) -> str:
        """The name in a study and in messages: `noise.1 (step)`."""
        return name_in_case(self.place, self.noise.kind)

    @property
    def most(self) -> float:
        """The largest time that its hits add to the mean completion, in ticks; 0 if not known."""
        return 0.0 if self.hits is None else self.hits.most

    def is_unmet(self, realizations: int, half_width: float) -> bool:
        """Return whether hits as long as its own are too rare in `realizations`, and would matter.

        It does where its hits may move the mean completion by a tenth of `half_width`, in ticks.
        """
        return (
            self.most > MATTERS * half_width
            and realizations * self.hits_at_least_as_long < ENOUGH_EVENTS
        )


def hits_of(sources: Iterable[tuple[int, Noise]], work: ExpectedWork) -> list[SourceHits]:
    """Return what to expect of random sources, each with its place, that meet such work."""
    found = []
    for place, one in sources:
        hits = one.expected_hits(work)
        if hits is not None:  # of all hosts
            hits = hits._replace(number=hits.number * one.part_of_groups(work.ranks))
        found.append(SourceHits(place, one, hits, math.inf))
    return in_part(found, 1.0)


def in_part(
    sources: Sequence[SourceHits], share: float, work: Work = NO_WORK, until: Work = NO_WORK
) -> list[SourceHits]:
    """Return what to expect in a part of the run, such as one cycle of ten: `share` of all hits.

    Where the `work` of the part is known, a row such as those of `until` (`Workload.work_until`),
    what hits messages and calculations hits it by the number of them in it.
    """
    parts = []
    for one in sources:
        own = share
        if len(work) and isinstance(one.noise, (StepNoise, MessageNoise, NetworkJitter)):
            during = getattr(one.noise, "during", "communication")
            hit = [during != "compute", during != "communication"]
            own = float(work @ hit) / max(float(until[-1] @ hit), 1.0)
        parts.append(one.hits and one.hits.in_part(own))
    return [
        one._replace(hits=hits, hits_at_least_as_long=_count_as_long(hits, parts))
        for one, hits in zip(sources, parts, strict=True)
    ]


def expected_hits(
    case: Workload, duration: float, share: float = 1.0, cycles: Sequence[int] = ()
) -> list[SourceHits]:
    """Return what to expect of each random source that acts in a case.

    Parameters
    ----------
    case : Case
    duration : float
        How long a realization lasts on average, in ticks: the mean completion.
    share : float
        The part of the run that counts, such as one cycle of ten, and so of all hits.
    cycles : sequence of int, shape (2,), optional
        After which cycle (0: the start) that part begins, and with which one it ends: the work in
        it counts, where the case knows it (`work_until`).

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = jf.StepNoise(delay="1ms", probability=1e-6)
    >>> case = jf.Case(64, network=jf.LogGOPS(L="1us", o="200ns"), noise=[noise])
    >>> [source] = expected_hits(case, duration=8.4e6)
    >>> round(source.hits.number / 1e-6), source.hits.delay  # 64 ranks, 6 rounds
    (384, 1000000000.0)
    """
    acting = [one for one in enumerate(case.placed_noise) if case.random_sources[one[0]]]
    hits = hits_of(acting, case.expected_work()._replace(duration=float(duration)))
    until = case.work_until() if cycles else NO_WORK
    if not len(until):
        return in_part(hits, share)
    begin, end = np.vstack([[0, 0], until])[list(cycles)]
    return in_part(hits, share, end - begin, until)


def _count_as_long(own: Hits | None, all_hits: list[Hits | None]) -> float:
    """Return how many hits of all sources are at least as long as a source's own."""
    if own is None:
        return math.inf
    return sum(hits.number for hits in all_hits if hits is not None and hits.delay >= own.delay)


def hidden(sources: Collection[SourceHits]) -> list[SourceHits]:
    """List the sources beside which another one hits more often and for a shorter time.

    Only these can be missing from a sample that looks as if it rested on many events. Where a
    source is alone, or all hits are as long as its own, the sample tells how many it met. A source
    that acts in another phase of the cycle in another variant is the same: it is drawn alike.
    """
    return [one for one in sources if any(_hides(other, one) for other in sources)]


def _hides(frequent: SourceHits, rare: SourceHits) -> bool:
    """Return whether a frequent source can hide in samples that a rare one was not met."""
    if rare.hits is None:
        return False
    if frequent.hits is not None and not (
        frequent.hits.delay < rare.hits.delay and frequent.hits.number > rare.hits_at_least_as_long
    ):
        return False
    return not _are_same(frequent.noise, rare.noise)


def _are_same(one: Noise, other: Noise) -> bool:
    """Return whether two are equal, but for the phase of the cycle in which they act."""
    if one == other or type(one) is not type(other) or not hasattr(one, "during"):
        return one == other
    alike: Noise = dataclasses.replace(one, during=other.during)  # type: ignore
    return alike == other


def unmet_sources(
    case: Workload, mean: float, half_width: float, realizations: int
) -> list[SourceHits]:
    """The hidden sources whose expected hits in `realizations` are too few for a mean.

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
    return unmet_among(expected_hits(case, mean), half_width, realizations)


def unmet_among(
    sources: Collection[SourceHits], half_width: float, realizations: int
) -> list[SourceHits]:
    """The hidden sources of a list whose expected hits are too few; as `unmet_sources`."""
    return [one for one in hidden(sources) if one.is_unmet(realizations, half_width)]


def undersampling_bound(unmet: Collection[SourceHits]) -> float:
    """Return what a mean may lack of unmet sources, seconds."""
    return sum(source.most for source in unmet) / TICKS_PER_SECOND


def ratio_with_lacks(low: float, high: float, above: float, below: float) -> tuple[float, float]:
    """The ends of a ratio of means whose sides may lack something of rare noise.

    `above`, `below`: what the numerator and the denominator may lack, as parts of the denominator.
    """
    return low / (1 + below), high + above


def expectation(source: SourceHits, realizations: int, words: str = "") -> str:
    """Say how often a source is expected to hit `realizations`; `words` describe it."""
    name = name_in_case(source.place, words) if words else source.name
    count = realizations * source.hits_at_least_as_long
    times = f"{count:.2g} times in {realizations:,} realizations"
    return f"hits as long as those of {name} are expected {times}"


class OneSided(NamedTuple):
    """Hits of a source that only one of two sides had, which too few realizations show.

    Attributes
    ----------
    source : SourceHits
    seen, realizations : int
        In how many of them a hit moved the difference of the sides.
    most : float
        How far more of them may move the mean difference, in ticks.
    """

    source: SourceHits
    seen: int
    realizations: int
    most: float

    def __str__(self) -> str:
        return (
            f"a hit of {self.source.name} on one side alone is in {self.seen} of "
            f"{self.realizations:,} realizations"
        )


def one_sided_hits(
    differences: npt.NDArray[Any],
    sources: Collection[SourceHits],
    half_width: float,
    *,
    realizations: int = 0,
    confidence: float = 0.95,
) -> list[OneSided]:
    """The sources that may hit one of two sides alone, as too few realizations show.

    The two sides meet the same intervals. So a small change of one moves most realizations a
    little, and a few by a whole hit that only one side meets. Those few may be most of the mean
    difference, and the sample does not tell of them before it has met some: with three in n
    realizations none is met once in twenty times (the rule of three). Where a tenth of all have
    such a hit, the sample tells, however small it is.

    Parameters
    ----------
    differences : array, shape (realizations,)
        Of the two sides, in ticks.
    sources : collection of SourceHits
        Those of either side.
    half_width : float
        Of the interval of the mean difference, in ticks. Less than a tenth of it does not matter.
    realizations : int
        Of the mean, of which the differences are the first ones. 0: these are all.
    confidence : float
        With which more of them are no more frequent than is said.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(64, network=jf.LogGOPS(L="1us", o="200ns"),
    ...                noise=[jf.PeriodicNoise("1ms", "5us")])
    >>> differences = np.arange(10_000, 10_200)
    >>> [one] = one_sided_hits(differences, expected_hits(case, 8.4e6), half_width=1000.0)
    >>> print(one, round(one.most))
    a hit of noise.0 (periodic) on one side alone is in 0 of 200 realizations 74893
    """
    moved = np.abs(differences - np.median(differences))
    kept = len(moved)
    n = max(realizations, kept)
    found: list[OneSided] = []
    if not moved.any():  # the mean rests on no event at all, which its interval says
        return found
    for source in sources:
        hits = source.hits
        if hits is None or not isinstance(source.noise, IntervalNoise):
            continue  # other delays change no more than the times do that they are added to
        seen = int((moved >= MATTERS * hits.delay).sum()) * n // kept
        most = min(-math.log(1 - confidence) / n, hits.number) * hits.delay
        if seen < min(ENOUGH_EVENTS, n / 10) and most > MATTERS * half_width:
            found.append(OneSided(source, seen, n, most))
    found.sort(key=lambda one: -one.most)
    # Both sides have the same source: a hit that one of them met alone counts once.
    return [
        one
        for at, one in enumerate(found)
        if not any(_is_one_source(one.source, other.source) for other in found[:at])
    ]


def _is_one_source(one: SourceHits, other: SourceHits) -> bool:
    return one.place == other.place and _are_same(one.noise, other.noise)


class RecordedNoise(NamedTuple):
    """The recordings that a case replays, and the work that they act on.

    Attributes
    ----------
    sources : tuple of TraceNoise
        Without those that are made up, or replayed from given places.
    work : RankWork or None
        None without recordings.
    others : tuple of Noise
        That act beside them.
    meets : ExpectedWork or None
        What the others meet; None where that is not known.
    """

    sources: tuple[TraceNoise, ...] = ()
    work: RankWork | None = None
    others: tuple[Noise, ...] = ()
    meets: ExpectedWork | None = None

    @classmethod
    def of(cls, noise: Iterable[Noise], work: RankWork) -> RecordedNoise:
        """Find the recordings among the noise of ranks that work for `work` seconds."""
        every = tuple(noise)
        found = tuple(
            one
            for one in every
            if isinstance(one, TraceNoise) and one.is_sample() and work.met(one) > 0
        )
        return cls(found, work, tuple(one for one in every if one not in found))

    @classmethod
    def of_case(cls, case: Workload) -> RecordedNoise:
        """Find the recordings of a case."""
        if not any(isinstance(one, TraceNoise) for one in case.noise):
            return cls()
        found = cls.of(case.placed_noise, case.work_per_cycle())
        return found._replace(meets=case.expected_work() if found.sources else None)

    def others_add(self, noise_free: float) -> float:
        """Return about what other noise adds to the mean at most, seconds; infinite if unknown."""
        if self.meets is None:
            return math.inf
        work = self.meets._replace(duration=noise_free * TICKS_PER_SECOND)
        hits = [one.hits for one in hits_of(enumerate(self.others), work)]
        most = sum(math.inf if one is None else one.most for one in hits)
        return float(most) / TICKS_PER_SECOND

    def apart_from(self, other: RecordedNoise) -> RecordedNoise:
        """Return these without recordings that are in the other ones, too, however replayed."""
        known = {one.recording for one in other.sources}
        own = tuple(one for one in self.sources if one.recording not in known)
        rest = tuple(one for one in self.sources if one not in own)
        return self._replace(sources=own, others=(*self.others, *rest))

    def in_words(self) -> list[str]:
        """A line on what intervals allow for, and on what no recording tells; none without one."""
        if not self.sources:
            return []
        seconds = min(
            sum(part.length for part in one.replayed()) / TICKS_PER_SECOND for one in self.sources
        )
        rarest = show_seconds(seconds / UNSEEN, 2)
        return [
            "the intervals allow for what another recording of the same machine would hold, as far "
            f"as this one tells; noise that comes less often than every {rarest} may be missing "
            "from it"
        ]

    def error(self, confidence: float, share: float | None = None) -> SamplingError | None:
        """Return the error of the mean completion, or of a quantile; None without recordings."""
        if self.work is None or not self.sources:
            return None
        errors = []
        for one in self.sources:
            cycles = self.work.cycles
            delays = one.recorded_delays(self.work.met(one), cycles)
            ranks = one.independent_ranks(self.work.ranks)
            if share is not None:
                errors.append(delays.quantile_error(share, ranks, confidence))
                continue
            phases = {self.work._replace(compute=0.0).met(one), self.work.met(one)}
            others = [one.recorded_delays(time, cycles) for time in sorted(phases)[:-1] if time > 0]
            errors.append(delays.mean_error(ranks, confidence, others))
        return SamplingError(
            min(one.events for one in errors),
            *(sum(column) for column in zip(*(one[1:] for one in errors), strict=True)),
        )

    def allow(self, estimate: Estimate, noise_free: float, share: float | None = None) -> Estimate:
        """Widen the interval of a mean completion, or of a quantile (`share`), to the machine's.

        Both ends move away from the value, by the root of the sum of squares of their distance and
        of what is due to the recording. Seconds.
        """
        error = self.error(float(estimate.confidence), share)
        if error is None:
            return estimate
        # The recording tells by which factor delays may differ, and the simulation how long they
        # are: ranks do not wait for each other at once. Other noise is no part of that.
        excess = max(float(estimate.value) - noise_free, 0.0)
        part = excess
        if self.others:  # all that they can not be, or more: they make no recording better known
            rest = excess - self.others_add(noise_free)
            part = max(rest, min(_STAGES * error.delay, excess))
        scale = 1.0
        if error.delay > 0 and (share is None or self.work is None or self.work.cycles == 1):
            scale = max(min(1.0, excess / error.delay), part / error.delay)
        below = min(scale * error.below, excess)
        above = error.above if math.isinf(error.above) else scale * error.above
        # Of longer detours than these few, which may be there, nothing is known.
        decides = not self.others or part > excess / 2
        if decides and share is None and error.events < _TELL_LONGER:
            above = math.inf
        return allowing_for_recording(estimate, below, above)
