"""What advice says about one cell: who is best, who equals it, and how much slower others are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..stats import Estimate, win_probability
from .entrants import Entrant
from .race import Race

WINNER, EQUAL, OPEN, NOBODY, NOT_RUN = "winner", "equal", "no winner", "none fits", "not run"
"""Outcomes of a cell: one is best; the first is told to be within the tolerance of the best one,
whichever that is; neither is known; no candidate fits the machine; nothing was looked at yet."""

BEST, CLOSE, PERHAPS, SLOWER, TOO_SLOW = (
    "best",
    "equal",
    "perhaps",
    "slower",
    "slower without noise",
)
"""States of a candidate: `PERHAPS` it is the best; `TOO_SLOW`: without noise it takes longer than
another one with it, and was not simulated to the end."""


@dataclass(frozen=True)
class Ranked:
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
    ratio, difference : Estimate
        Paired, to the best one, whichever of those that may be it is: how many times as long, and
        how many seconds longer. Values are to the first of the ranking; the intervals hold
        together, over all candidates, cells and looks. Of one that is slower without noise both
        are the least that they can be, with its noise-free time for its own: values to the
        estimate of the best one, `low` to its upper bound, and no upper end.
    faster : Estimate
        How often it is faster than the first of the ranking on the same noise (a tie counts half),
        with the interval of this number alone.
    realizations : int
    """

    name: str
    state: str
    value: Estimate
    noise_free: float
    ratio: Estimate
    difference: Estimate
    faster: Estimate
    realizations: int


@dataclass(frozen=True)
class Cell:
    """Ranks and message size, and what was found.

    Attributes
    ----------
    ranks, message_bytes : int
    outcome : str
        "winner", "equal", "no winner", "none fits" or "not run".
    ranking : tuple of Ranked
        The best first.
    left_out : dict
        Candidates that do not fit, and why.
    realizations : int
        Of those that were looked at longest.
    noise_free : dict
        Completion without noise by name, seconds; of all candidates that fit, but for those whose
        time was not known yet when the search ended.
    """

    ranks: int
    message_bytes: int
    outcome: str
    ranking: tuple[Ranked, ...]
    left_out: dict[str, str]
    realizations: int
    noise_free: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """Whom to take; "" where there is no winner."""
        return self.ranking[0].name if self.outcome in (WINNER, EQUAL) else ""

    @property
    def among(self) -> tuple[str, ...]:
        """Names of those that may be the best, or equal it."""
        return tuple(one.name for one in self.ranking if one.state in (BEST, CLOSE, PERHAPS))

    @property
    def runner_up(self) -> Ranked | None:
        """The best of those that are told to be slower; where there is none, the second."""
        others = self.ranking[1:]
        slower = [one for one in others if one.state in (SLOWER, TOO_SLOW)]
        return next(iter(slower if self.best and slower else others), None)


def cell_of(race: Race, confidence: float) -> Cell:
    """What a race says after its last look."""
    quiet = {one.name: one.quiet for one in race.entrants if not math.isnan(one.quiet)}
    if not race.ready or (race.entrants and race.look < 0 and not race.exact):
        return Cell(race.ranks, race.message_bytes, NOT_RUN, (), race.left_out, 0, quiet)
    if not race.entrants:
        return Cell(race.ranks, race.message_bytes, NOBODY, (), race.left_out, 0)
    left = race.left
    if race.exact:  # known to the tick: all that take the shortest time are the best
        least = left[0].quiet
        left = [one for one in left if one.quiet == least]
    others = [one for one in race.entrants if one not in left]
    ranking = [_ranked(race, one, left, confidence) for one in [*left, *others]]
    order = sorted(range(len(ranking)), key=lambda i: (i >= len(left), _place(ranking[i]), i))
    ranking = [ranking[i] for i in order]
    alone = ranking[0].state == BEST and all(one.state != CLOSE for one in ranking)
    outcome = WINNER if alone else EQUAL if ranking[0].state in (BEST, CLOSE) else OPEN
    count = 0 if race.exact else max(race.realizations(one) for one in race.entrants)
    return Cell(
        race.ranks, race.message_bytes, outcome, tuple(ranking), race.left_out, count, quiet
    )


def _place(one: Ranked) -> float:
    value = float(one.ratio.value)
    return math.inf if math.isnan(value) else value


def _ranked(race: Race, one: Entrant, left: list[Entrant], confidence: float) -> Ranked:
    first = left[0]
    level, count = 1 - 2 * race.error, race.realizations(one)

    def fixed(value: float) -> Estimate:
        return Estimate(value, value, value, level, count)

    nothing = Estimate(math.nan, math.nan, math.nan, confidence, 0)
    if race.exact:
        state = _state(race, one, left)
        ratio = one.quiet / first.quiet if first.quiet else (1.0 if not one.quiet else math.inf)
        faster = 0.5 if one.quiet == first.quiet else 0.0
        return Ranked(one.name, state, fixed(one.quiet), one.quiet, fixed(ratio),
                      fixed(one.quiet - first.quiet), fixed(faster), 0)  # fmt: skip
    if not count:  # slower without noise than the best with it
        ceiling, value = race.ceiling(), race.value(first)
        ratio = Estimate(one.quiet / value, one.quiet / ceiling, math.inf, level, 0)
        apart = Estimate(one.quiet - value, one.quiet - ceiling, math.inf, level, 0)
        return Ranked(one.name, TOO_SLOW, nothing, one.quiet, ratio, apart, nothing, 0)
    x = one.samples[:count]
    return Ranked(
        one.name,
        _state(race, one, left),
        race.statistic.estimate(x, race.error),
        one.quiet,
        _to_best(race, one, left, "ratio", 1.0),
        _to_best(race, one, left, "difference", 0.0),
        _faster(race, one, first, confidence),
        count,
    )


def _state(race: Race, one: Entrant, left: list[Entrant]) -> str:
    if left == [one]:
        return BEST
    if all(race.close(one, other) for other in left if other is not one):
        return CLOSE
    return PERHAPS if one in left else SLOWER


def _to_best(race: Race, one: Entrant, left: list[Entrant], what: str, least: float) -> Estimate:
    """To the true best, which is one of those left: nobody is better than it by definition."""
    level, count = 1 - 2 * race.error, race.realizations(one)
    if left == [one]:
        return Estimate(least, least, least, level, count)
    found = []
    for other in left:
        if other is not one:
            a, b = race.paired(one, other)
            found.append(getattr(race.statistic, what)(a, b, race.error))
    low = least if one in left else max(min(float(f.low) for f in found), least)
    high = max(max(float(f.high) for f in found), least)
    value = least if one is left[0] else float(found[0].value)
    return Estimate(value, low, high, level, count)


def _faster(race: Race, one: Entrant, first: Entrant, confidence: float) -> Estimate:
    a, b = race.paired(one, first)
    wins, losses = int((a < b).sum()), int((a > b).sum())
    return win_probability(wins, len(a) - wins - losses, losses, confidence)
