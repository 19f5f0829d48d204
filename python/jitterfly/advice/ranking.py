"""Ranking of the algorithms of one cell: the best, the undecided (not told apart), time ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..answer import Note
from ..stats import Estimate, win_probability
from ..stats.intervals import changed
from ..units import TICKS_PER_SECOND, show_seconds
from ..unseen_noise import RecordedNoise, expectation
from .race import CandidateRuns, Race

WINNER, ALONE, EQUAL, NEAR, OPEN, NOBODY, NOT_RUN = (
    "winner",
    "alone",
    "equal",
    "near best",
    "no winner",
    "none fits",
    "not run",
)
"""Outcomes of a cell: one is best; there is one alone, compared with none; several are told to
equal each other within the tolerance; the first is told to be within the tolerance of the best one,
whichever that is, but others may be slower by more; none of these is known; no candidate fits the
machine; nothing was looked at yet."""

BEST, CLOSE, PERHAPS, SLOWER, TOO_SLOW = (
    "best",
    "equal",
    "perhaps",
    "slower",
    "slower without noise",
)
"""States of a candidate: `PERHAPS` it is the best; `TOO_SLOW`: without noise it takes longer than
another one with it, so that it was never simulated, and all that is known are bounds."""


@dataclass(frozen=True)
class RankedCandidate:
    """One candidate of a cell.

    Attributes
    ----------
    name : str
    state : str
        "best", "equal", "perhaps", "slower" or "slower without noise".
    value : Estimate
        Of the statistic, seconds. NaN where the candidate was not simulated.
    noise_free : float
        Completion without noise, seconds.
    slowdown : Estimate
        By noise: `value` over `noise_free`. NaN where the candidate was not simulated.
    versus : str
        What it is compared with: the first of the ranking, or, where it is slower and the data do
        not tell this against the first, the one that it was told to be slower than. "" for the
        first itself.
    ratio, difference : Estimate
        To `versus`, on the same noise: how many times as long, and how many seconds longer. The
        intervals hold together, over all candidates, cells and looks, and agree with `state`:
        of one that is slower they lie above 1 and 0, of one that may be the best they hold 1 and
        0, and of one that is equal they end by the tolerance. Nothing is clipped. Of one that is
        slower without noise both are the least that they can be, with its noise-free time for its
        own: values to the estimate of `versus`, `low` to its upper bound, and no upper end.
    faster : Estimate
        How often it is faster than `versus` on the same noise (a tie counts half), with the
        interval of this number alone. NaN for the first, and where it was not simulated.
    realizations : int
        That it was judged by; 0 where it was not simulated.
    look, told_at : int
        Number (from 1) and realizations of the look at which its state was told; 0 where noise-free
        times are all there is to know.
    lacks : float
        What its mean may lack of noise that is too rare for so few realizations, seconds: so much
        higher is its upper end.
    """

    name: str
    state: str
    value: Estimate
    noise_free: float
    slowdown: Estimate
    versus: str
    ratio: Estimate
    difference: Estimate
    faster: Estimate
    realizations: int
    look: int
    told_at: int
    lacks: float = 0.0

    @property
    def known_from(self) -> str:
        """The origin of the numbers."""
        if self.is_bound:
            return "bound"
        return "simulated" if self.realizations else "noise-free time"

    @property
    def is_bound(self) -> bool:
        """Return whether only bounds of its time are known, as it was never simulated."""
        return self.state == TOO_SLOW


@dataclass(frozen=True)
class AdviceCell:
    """Ranks and message size, and what was found.

    Attributes
    ----------
    ranks, message_bytes : int
    outcome : str
        "winner", "alone", "equal", "near best", "no winner", "none fits" or "not run".
    ranking : tuple of Ranked
        The best first; last those of which only bounds are known, which may be in another order.
    left_out : dict
        Candidates that do not fit, and why.
    realizations : int
        Of those that were looked at longest.
    noise_free : dict
        Completion without noise by name, seconds; of all candidates that fit, but for those whose
        time was not known yet when the search ended.
    at_most : float
        How many times as long as the best one, whichever that is, the first of the ranking takes at
        most; NaN where there is no ranking, infinite where that is not known.
    rare_noise : str
        The source of which the realizations expect too few hits, and what a mean may lack for that;
        "" for none. All intervals of means allow for it.
    recordings : tuple of str
        What measured noise leaves open, in words.
    unseen_changes : tuple of Note
        Sources that change within what has one draw, of the first candidate that has any: the
        times of those that have it are too long.
    """

    ranks: int
    message_bytes: int
    outcome: str
    ranking: tuple[RankedCandidate, ...]
    left_out: dict[str, str]
    realizations: int
    noise_free: dict[str, float] = field(default_factory=dict)
    at_most: float = math.nan
    rare_noise: str = ""
    recordings: tuple[str, ...] = ()
    unseen_changes: tuple[Note, ...] = ()

    @property
    def best(self) -> str:
        """The candidate to take; "" where there is no winner."""
        return self.ranking[0].name if self.outcome in (WINNER, ALONE, EQUAL, NEAR) else ""

    @property
    def among(self) -> tuple[str, ...]:
        """Names of those that may be the best, or equal it."""
        return tuple(
            candidate.name
            for candidate in self.ranking
            if candidate.state in (BEST, CLOSE, PERHAPS)
        )

    @property
    def runner_up(self) -> RankedCandidate | None:
        """The best of those that are shown to be slower; without any, the second."""
        others = self.ranking[1:]
        slower = [candidate for candidate in others if candidate.state in (SLOWER, TOO_SLOW)]
        return next(iter(slower if self.best and slower else others), None)


def cell_of_race(race: Race, confidence: float) -> AdviceCell:
    """Return what a race says after its last look."""
    noise_free = {
        candidate.name: candidate.noise_free
        for candidate in race.candidates
        if not math.isnan(candidate.noise_free)
    }
    if not race.ready or (race.candidates and race.look < 0 and not race.exact):
        return AdviceCell(race.ranks, race.message_bytes, NOT_RUN, (), race.left_out, 0, noise_free)
    if not race.candidates:
        return AdviceCell(race.ranks, race.message_bytes, NOBODY, (), race.left_out, 0)
    left = race.left
    if race.exact:  # known to the tick: all that take the shortest time are the best
        least = left[0].noise_free
        left = [candidate for candidate in left if candidate.noise_free == least]
    others = [candidate for candidate in race.candidates if candidate not in left]
    order = [*left, *sorted(others, key=lambda candidate: _order_of_dropped(race, candidate))]
    ranking = _consistent_order([_ranked(race, candidate, left, confidence) for candidate in order])
    outcome = _outcome({candidate.state for candidate in ranking[1:]}, ranking[0].state)
    count = 0 if race.exact else max(candidate.judged_by for candidate in race.candidates)
    return AdviceCell(
        race.ranks,
        race.message_bytes,
        outcome,
        ranking,
        race.left_out,
        count,
        noise_free,
        _largest_ratio(race, left),
        _rare_noise(race),
        _recordings(ranking[0], race),
        next(filter(None, (tuple(one.case.unseen_changes()) for one in race.candidates)), ()),
    )


def _recordings(first: RankedCandidate, race: Race) -> tuple[str, ...]:
    """Say what the first candidate's recordings of noise leave open."""
    case = next(one.case for one in race.candidates if one.name == first.name)
    text = RecordedNoise.of_case(case).in_words()
    if text:
        text.append("what is said of two candidates is of the noise as it was recorded")
    return (*text, *case.measured_doubts())


def _rare_noise(race: Race) -> str:
    """The source that a mean may lack most of, where that matters, in words."""
    if race.exact or race.statistic.share is not None:
        return ""
    unmet = []
    for one in race.candidates:
        if one.judged_by:
            found = race.statistic.estimate(one.samples[: one.judged_by], race.error)
            half = float(found.high) - float(found.value)
            unmet += [(source, one.judged_by) for source in one.unmet(one.judged_by, half)]
    if not unmet:
        return ""
    source, count = max(unmet, key=lambda one: one[0].most)
    most = show_seconds(source.most / TICKS_PER_SECOND, 3)
    return f"{expectation(source, count)}: a mean may lack up to {most}"


def _outcome(others: set[str], first: str) -> str:
    """Return what a cell's race decided, from the states of the first candidate and the others."""
    if not others:
        return ALONE
    if first == BEST:
        return EQUAL if CLOSE in others else WINNER
    if first == CLOSE:
        return NEAR if PERHAPS in others else EQUAL
    return OPEN


def _order_of_dropped(race: Race, candidate: CandidateRuns) -> tuple[bool, float]:
    """Return the key that sorts candidates that are dropped: by the statistic; bounds last."""
    unknown = not race.exact and not candidate.judged_by
    return unknown, candidate.noise_free if unknown else race.value(candidate)


def _consistent_order(order: list[RankedCandidate]) -> tuple[RankedCandidate, ...]:
    """Return the order, changed so that no candidate precedes one that is shown to be faster.

    Estimates of dropped candidates are of different numbers of realizations, so they may tell
    another order than a comparison on the same noise.
    """
    rest, ordered = list(order), list[RankedCandidate]()
    while rest:
        waiting = {candidate.name for candidate in rest}
        ordered.append(
            next((candidate for candidate in rest if candidate.versus not in waiting), rest[0])
        )
        rest.remove(ordered[-1])
    return tuple(ordered)


def _largest_ratio(race: Race, left: list[CandidateRuns]) -> float:
    """Return how many times as long as the best of those left the first takes at most."""
    if race.exact:
        return 1.0
    ratios = [
        race.statistic.ratio(*race.paired(left[0], other), race.error, race.within,
                             race.beyond(left[0], other))
        for other in left[1:]
    ]  # fmt: skip
    return max([1.0, *(float(ratio.high) for ratio in ratios)])


def _ranked(
    race: Race, candidate: CandidateRuns, left: list[CandidateRuns], confidence: float
) -> RankedCandidate:
    """Return a candidate with its statistic, and its comparison with the first or a rival."""
    first, count, level = left[0], candidate.judged_by, 1 - 2 * race.error
    state = _state(race, candidate, left)
    nothing = Estimate(math.nan, math.nan, math.nan, confidence, 0)
    lacks = 0.0
    if race.exact:
        value = _exact_estimate(candidate.noise_free, level)
    elif count:
        bound = candidate.noise_free if candidate.never_early else 0.0
        beyond = race.beyond(candidate)
        lacks = beyond.lacks_a
        value = race.statistic.estimate(candidate.samples[:count], race.error, bound, beyond)
        recorded = RecordedNoise.of_case(candidate.case)
        value = recorded.allow(value, candidate.noise_free, race.statistic.share).bounded(bound)
    else:
        value = nothing
    if candidate is first:
        versus, often = "", nothing
        ratio, apart = _exact_estimate(1.0, level, count), _exact_estimate(0.0, level, count)
    else:
        other = _rival(race, candidate, first, state)
        versus = other.name
        ratio, apart, often = _compared(race, candidate, other, confidence)
    slowdown = changed(value, lambda time: _time_ratio(time, candidate.noise_free))
    look = 0 if race.exact else (candidate.dropped if candidate.dropped >= 0 else race.look) + 1
    told_at = race.sizes[look - 1] if look else 0
    return RankedCandidate(
        candidate.name,
        state,
        value,
        candidate.noise_free,
        slowdown,
        versus,
        ratio,
        apart,
        often,
        count,
        look,
        told_at,
        lacks,
    )


def _exact_estimate(value: float, level: float, count: int = 0) -> Estimate:
    return Estimate(value, value, value, level, count)


def _time_ratio(time: float, other: float) -> float:
    """A ratio of times, of which both may be 0."""
    if other or math.isnan(time):
        return time / other if other else math.nan
    return math.inf if time else 1.0


def _state(race: Race, candidate: CandidateRuns, left: list[CandidateRuns]) -> str:
    """Return how a candidate stands against the others that are left."""
    if left == [candidate]:
        return BEST
    if not race.exact and not candidate.judged_by:
        return TOO_SLOW
    if all(race.close(candidate, other) for other in left if other is not candidate):
        return CLOSE
    return PERHAPS if candidate in left else SLOWER


def _rival(race: Race, candidate: CandidateRuns, first: CandidateRuns, state: str) -> CandidateRuns:
    """Choose what a candidate is compared with, so that the intervals say what its state says."""
    if candidate.slower_than is None:
        return first
    if candidate.ceiling is not None:
        return candidate.slower_than
    if state == SLOWER:
        a, b = race.paired(candidate, first)
        if not race.statistic.above(a, b, race.error, beyond=race.beyond(candidate, first)):
            return candidate.slower_than
    return first


def _compared(
    race: Race, candidate: CandidateRuns, other: CandidateRuns, confidence: float
) -> tuple[Estimate, Estimate, Estimate]:
    """Ratio, difference, and how often it is faster."""
    level, mine = 1 - 2 * race.error, candidate.noise_free
    if race.exact:
        often = _exact_estimate(0.5 if mine == other.noise_free else 0.0, level)
        ratio = _exact_estimate(_time_ratio(mine, other.noise_free), level)
        return ratio, _exact_estimate(mine - other.noise_free, level), often
    ceiling, value = candidate.ceiling, race.value(other)
    if ceiling is not None and not candidate.judged_by:
        ratio = Estimate(mine / value, mine / ceiling, math.inf, level, 0)
        apart = Estimate(mine - value, mine - ceiling, math.inf, level, 0)
        return ratio, apart, Estimate(math.nan, math.nan, math.nan, confidence, 0)
    a, b = race.paired(candidate, other)
    beyond = race.beyond(candidate, other)
    ratio = race.statistic.ratio(a, b, race.error, race.within, beyond)
    apart = race.statistic.difference(a, b, race.error, beyond)
    if ceiling is not None:  # its noise-free time was told to be above the other's after that
        ratio = changed(ratio, lambda end: max(end, mine / ceiling))
        apart = changed(apart, lambda end: max(end, mine - ceiling))
    wins, losses = int((a < b).sum()), int((a > b).sum())
    often = win_probability(wins, len(a) - wins - losses, losses, confidence)
    return ratio, apart, often
