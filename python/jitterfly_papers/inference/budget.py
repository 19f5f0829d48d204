"""`budget`: largest hit probability p allowed by a latency limit; root finding with intervals.

Where the answer is not exact it takes the root of a simulated mean or tail, on the same noise for
every p: a hit that happens at p happens at every larger p (same seed), so mean and tail rise with p
in every single realization and the root is found with few evaluations. The interval inverts the
test: its ends are the p at which the limit lies at an end of the interval of the statistic
(Student's for a mean, Clopper and Pearson's for a tail) of the same realizations. A mean that rests
on few realizations with two hits is wider, as any mean of few rare events (`stats.mean`), up to
bounds that are known: see `_known_mean`.

This is of HM18's model of steps. How long periodic noise may last under any collective, up to a
slowdown, is in `noise_limit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jitterfly import optional_packages
from jitterfly.answer import Report, ShownTable, show_interval, show_time
from jitterfly.distributions import Constant
from jitterfly.fields import MAX_SEED, check_choice, check_integer, check_power_of_two, shorten
from jitterfly.noise_limit import ALWAYS, AT_MOST, NEVER, crossing
from jitterfly.stats import ENOUGH_EVENTS, mean, realizations_needed
from jitterfly.stats.intervals import (
    check_confidence,
    clopper_pearson,
    rare_event_margin,
    student_t,
)
from jitterfly.units import Time, common_unit, parse_seconds, show_seconds, to_ticks

from .fit import Bounds
from .hit_tables import (
    UNIT,
    HitTable,
    SearchProgress,
    any_hit,
    hit_table,
    one_rank_tail,
    pairs_of_steps,
    simulated_extra,
)
from .step_noise_models import ASSUMED, MAX_ROUNDS, RANKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P_IS_MORE = f"{ASSUMED} p may be larger"
STATISTICS = {"mean": None, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
EXACT, SIMULATED, TABULATED = "exact", "simulated", "tabulated"

_MAX_STEPS = 5e9  # steps of a rank simulated at each p: more takes minutes
_SLOPE_STEP = 0.05  # of ln p, over which the slope is taken from the table
_CURVE_PER_DECADE = 32  # points of a curve over D
_CURVE_START, _CURVE_END = 0.05, 20.0  # times D: the ends of the curve
_STAIR_GAP = 1e-5  # relative, on both sides of a stair of the curve: p jumps there
_SHORT = 10  # times a detour: so long a collective hardly meets more than begins in it
_LOWEST_LOG_P = -300.0  # ln p: a tick of room and the longest delay take 1e-19 hits


@dataclass(frozen=True)
class BudgetQuestion:
    """The question: the limit on a statistic of the latency, and what a step costs.

    Parameters
    ----------
    ranks : int
        A power of two, from 2 to 2^20.
    latency, step, delay : float or str
        Seconds: the limit; latency of a step; how long a hit delays it.
    rank : "last" or "mean"
        Whose completion; a quantile of the mean rank is one over ranks and realizations.
    statistic : str
        "mean" or a quantile: p50, p90, p95, p99, p99.9.

    Raises
    ------
    ValueError
        Names what is out of range.
    """

    ranks: int
    latency: Time
    step: Time
    delay: Time
    rank: str = "last"
    statistic: str = "mean"

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        try:
            put("ranks", check_power_of_two(self.ranks, "ranks", 2**MAX_ROUNDS))
        except ValueError as error:
            raise ValueError(f"{error}; `jitterfly slowdown --at-most` takes all numbers") from None
        if self.ranks < 2:
            raise ValueError(f"ranks must be at least 2, got {shorten(self.ranks)}")
        for name in ("latency", "step", "delay"):
            positive = name != "step"
            seconds = parse_seconds(getattr(self, name), name, positive=positive)
            to_ticks(seconds, name, positive=positive)
            put(name, seconds)
        check_choice(self.rank, "rank", RANKS)
        check_choice(self.statistic, "statistic", list(STATISTICS))

    @property
    def rounds(self) -> int:
        """log2(ranks)."""
        return self.ranks.bit_length() - 1

    @property
    def quiet(self) -> float:
        """The latency without noise, seconds."""
        return self.rounds * float(self.step)

    @property
    def saturation(self) -> float:
        """The latency with every step delayed, seconds."""
        return self.quiet + self.rounds * float(self.delay)

    @property
    def room(self) -> float:
        """The mean number of hits on the path that decides, if the limit is to be kept."""
        left = to_ticks(float(self.latency)) - self.rounds * to_ticks(float(self.step))
        return left / to_ticks(float(self.delay))

    @property
    def share(self) -> float | None:
        """The share of a quantile; None for the mean."""
        return STATISTICS[self.statistic]

    @property
    def hits(self) -> int:
        """The most hits on the path that decides with which the limit is kept."""
        return math.floor(self.room)

    @property
    def state(self) -> str:
        """Return whether the limit can be kept for some p only, for none, or for all."""
        if self.room < 0 or (self.room == 0 and self.statistic == "mean"):
            return NEVER
        return ALWAYS if self.room >= self.rounds else AT_MOST


@dataclass(frozen=True, repr=False)
class Budget(Report):
    """The answer: p at most, its interval, and how it was found.

    `how` is "exact", "simulated" (`realizations` for each p that was tried) or "tabulated"; exact
    answers have an interval without length, or the bracket that they are known in.
    """

    question: BudgetQuestion
    state: str
    probability: Bounds
    confidence: float
    how: str
    realizations: int = 0

    def __repr__(self) -> str:
        p, asked = self.probability, self.question
        return (
            f"Budget({self.state} p = {show_interval(p[:3], 4)}: {asked.statistic} of the "
            f"{asked.rank} of {asked.ranks:,} ranks up to "
            f"{show_seconds(float(asked.latency))})"
        )

    def plot(self, path: str | Path | None = None) -> Figure:
        """The largest p over the duration D of a hit; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or `path` does not end in .png, .pdf or .svg; no D near the
            asked one has a p that is neither 0 nor 1.
        """
        found = curves_over_delays(self.question, self.confidence)
        if not any(one.state == AT_MOST for curve in found for one in curve):
            raise ValueError("nothing to draw: the limit is kept for all p or for none")
        return optional_packages.picture(
            "jitterfly_papers.plots.inference", self, found, function="draw_budget", path=path
        )

    def title(self) -> str:
        """Return the limit, and what keeps it."""
        return " ".join(self.report()[: self._head])

    def notes(self) -> list[str]:
        """Say how sure the answer is."""
        return self.report()[self._head :]

    @property
    def _head(self) -> int:
        return 2 if self.state == AT_MOST else 1  # lines that are the answer itself

    def report(self) -> list[str]:
        """The lines of text: the answer, and how sure it is."""
        question = self.question
        k = question.rounds
        step, delay = (show_seconds(float(t), 4) for t in (question.step, question.delay))
        limit = limit_in_words(question)
        if self.state == NEVER and question.room == 0:
            return [f"only without any noise: {limit} is just K L = {k} x {step}"]
        if self.state == NEVER:
            return [
                f"impossible: to keep {limit} takes less than no noise: K L = {k} x {step} = "
                f"{show_seconds(question.quiet, 4)} without any; raise the limit, or shorten the "
                "step"
            ]
        if self.state == ALWAYS:
            return [
                f"always met: {limit} holds for every p at D = {delay}: with every step hit "
                f"it is K (L + D) = {k} ({step} + {delay}) = {show_seconds(question.saturation, 4)}"
            ]
        p = self.probability
        return [
            f"to keep {limit}, with L = {step} a step:",
            f"at most p = {show_interval(p[:3], 4)} at D = {delay}",
            _basis_of_interval(self),
            *under_way_note(question),
            P_IS_MORE,
        ]


def _simulated(question: BudgetQuestion, confidence: float, precision: float, seed: int) -> Budget:
    """The answer from fresh realizations, as many as the table says that the precision takes."""
    k, share = question.rounds, question.share
    guess = tabulated_budget(question, confidence).probability.value
    limit = question.room if share is None else 1 - share
    slope, spread = _slope_and_spread(question, guess)
    reach = student_t(confidence, 1000)
    wanted = (reach * spread / (slope * precision)) ** 2
    count = int(min(math.ceil(wanted), _MAX_STEPS / (k * 2.0**k)))
    # A tail without any hit must have an upper end below the limit.
    if share is None:
        count = max(count, 50, _for_few_events(question, guess, slope * precision, confidence))
    else:
        count = max(count, 3 * realizations_needed(share, confidence))
    unit, numbered = Constant(UNIT), SearchProgress()

    @cache
    def statistic_at(p: float) -> tuple[float, float, float]:
        """The statistic and its interval."""
        with numbered(count):
            sample = np.rint(simulated_extra(question.ranks, unit, p, count, seed=seed))
        if share is not None:
            beyond = int((sample > question.hits).sum())
            return beyond / count, *clopper_pearson(beyond, count, confidence)
        # P(M >= 1) is known, so only what is beyond one hit has an error.
        more = mean(np.maximum(sample - 1, 0), confidence)
        least, most = _known_mean(p, k)
        known = float(any_hit(p, k))
        return (
            known + float(more.value),
            max(known + float(more.low), least),
            min(known + float(more.high), most),
        )

    def excess(which: int) -> Callable[[float], float]:
        return lambda p: statistic_at(p)[which] - limit

    low = 1e-9 / (k * 2.0**k)
    tolerance = precision / 8
    value = crossing(excess(0), guess, slope, low, tolerance)
    half = reach * spread / math.sqrt(count) / slope
    least = crossing(excess(2), value * math.exp(-half), slope, low, 2 * tolerance)
    upper = crossing(excess(1), min(value * math.exp(half), 1.0), slope, low, 2 * tolerance)
    bounds = Bounds(value, min(least, value), max(upper, value))
    return Budget(question, AT_MOST, bounds, confidence, SIMULATED, count)


def _known_mean(p: float, rounds: int) -> tuple[float, float]:
    """The bounds of E[M] of the last rank: P(M >= 1), and that plus (K - 1) P(M >= 2).

    The second probability is at most the mean number of pairs of hits on a path.
    """
    least = float(any_hit(p, rounds))
    return least, least + (rounds - 1) * p * p * pairs_of_steps(rounds)


def _for_few_events(
    question: BudgetQuestion, guess: float, half_width: float, confidence: float
) -> int:
    """The realizations that give the interval of a mean its width, though few have two hits.

    30 such realizations are expected (`ENOUGH_EVENTS`), or the interval is made wider for their
    lack by no more than half of the `half_width` that is wanted of E[M].
    """
    two_hits = max(float(hit_table(question.rounds).above(1, guess)), 1e-12)
    # The margin falls as 1 / (n - 1), so that of two realizations is n times that of n, about.
    widened = 2 * float(rare_event_margin(1e-9, 2, confidence)) / half_width
    wanted = math.ceil(min(ENOUGH_EVENTS / two_hits, widened))
    k = question.rounds
    return min(wanted, int(_MAX_STEPS / (k * 2.0**k)))


def _slope_and_spread(question: BudgetQuestion, guess: float) -> tuple[float, float]:
    """The rise of the statistic with ln p, and its standard deviation in one realization."""
    known, share = hit_table(question.rounds), question.share
    p = np.minimum(guess * np.exp([-_SLOPE_STEP, _SLOPE_STEP]), 1.0)
    if share is None:
        values = known.mean(p)
        spread = _table_error(known, guess) * math.sqrt(known.realizations)
    else:
        values = known.above(question.hits, p)
        spread = math.sqrt(share * (1 - share))
    rise = float(values[1] - values[0]) / float(np.log(p[1] / p[0]))
    return max(rise, 1e-9), max(spread, 1e-9)


def budget(
    question: BudgetQuestion,
    *,
    confidence: float = 0.95,
    precision: float | None = None,
    seed: int = 1,
) -> Budget:
    """The largest p that keeps the limit, to a relative precision.

    All of a step is taken to follow a delay, as CPU time does. Where it is mostly time on the wire,
    the partner's message comes during the delay, and a larger p keeps the limit, too.

    Parameters
    ----------
    question : BudgetQuestion
    confidence : float
        Of the interval, which is of the Monte Carlo error.
    precision : float, optional
        Half the interval over p; 0.03 for a mean and 0.08 for a quantile. It decides the number
        of realizations beforehand, from a table, so that no look at the data stops the run.
    seed : int
        From 0 to 2^64 - 1.

    Returns
    -------
    Budget

    Examples
    --------
    >>> asked = BudgetQuestion(4096, "105us", "3.45us", "14us", rank="mean")
    >>> f"{budget(asked).probability.value:.4f}"
    '0.0811'
    """
    precision, seed = check_precision(question.statistic, confidence, precision, seed)
    known = _exact(question, confidence, precision)
    if known is not None:
        return known

    return _simulated(question, confidence, precision, seed)


def check_precision(
    statistic: str, confidence: float, precision: float | None, seed: int
) -> tuple[float, int]:
    """Check precision and seed of a simulated answer, and `confidence`; return the first two."""
    confidence = check_confidence(confidence)
    if precision is None:
        precision = 0.03 if statistic == "mean" else 0.08
    if not isinstance(precision, float) or not 1e-4 <= precision <= 0.5:
        raise ValueError(f"precision must be from 0.0001 to 0.5, got {shorten(precision)}")
    return precision, check_integer(seed, "seed", 0, MAX_SEED)


def _exact(question: BudgetQuestion, confidence: float, precision: float = 0.03) -> Budget | None:
    """The answer where it takes none: no p, every p, one rank, or hits that hardly meet."""

    def answer(value: float, *ends: float) -> Budget:
        low, high = ends or (value, value)
        return Budget(question, question.state, Bounds(value, low, high), confidence, EXACT)

    if question.state != AT_MOST:
        return answer(0.0 if question.state == NEVER else 1.0)
    k, share, hits = question.rounds, question.share, question.hits
    if question.rank == "mean":
        if share is None:
            return answer(_root(lambda p: float(one_rank_tail(p, k).sum()) - question.room))
        return answer(_root(lambda p: float(one_rank_tail(p, k)[hits]) - (1 - share)))
    if share is not None:
        if hits > 0:
            return None
        return answer(_root(lambda p: float(any_hit(p, k)) - (1 - share)))
    low = _root(lambda p: _known_mean(p, k)[1] - question.room)
    high = _root(lambda p: _known_mean(p, k)[0] - question.room)
    if high / low - 1 > precision:  # half of it on either side would do
        return None
    return answer(math.sqrt(low * high), low, high)


def tabulated_budget(question: BudgetQuestion, confidence: float = 0.95) -> Budget:
    """The answer from the table of hits: at once, a little less precise than `budget`."""
    known = _exact(question, confidence)
    if known is not None:
        return known
    hits = hit_table(question.rounds)
    reach = student_t(confidence, hits.realizations - 1)
    value, low, high = (
        _root(lambda p, z=z: _excess_of_table(question, hits, p, z))  # type: ignore[misc]
        for z in (0.0, reach, -reach)
    )
    bounds = Bounds(value, min(low, value), max(high, value))
    return Budget(question, AT_MOST, bounds, confidence, TABULATED, hits.realizations)


def _excess_of_table(question: BudgetQuestion, hits: HitTable, p: float, z: float) -> float:
    """The excess of a statistic over the limit, z standard errors added."""
    if question.share is None:
        least, most = _known_mean(p, question.rounds)
        mean = float(hits.mean(p)) + z * _table_error(hits, p)
        return min(max(mean, least), most) - question.room
    above = float(hits.above(question.hits, p))
    return above + z * math.sqrt(above * (1 - above) / hits.realizations) - (1 - question.share)


def _table_error(hits: HitTable, p: float) -> float:
    """The standard error of E[M] in a table, also where hardly any realization has two hits.

    There its own says nothing. No whole number with a mean e below 1 has a smaller variance than
    e (1 - e).
    """
    beyond = min(float(hits.mean(p)) - float(any_hit(p, hits.rounds)), 0.5)
    least = math.sqrt(max(beyond * (1 - beyond), 0.0) / hits.realizations)
    return max(float(hits.error(p)), least)


def _root(rising: Any) -> float:
    """The root of an exact function of p; 1 where it does not become positive."""
    from scipy.optimize import brentq

    if rising(1.0) <= 0:
        return 1.0
    return math.exp(brentq(lambda x: rising(math.exp(x)), _LOWEST_LOG_P, 0.0, xtol=1e-10))


def curves_over_delays(question: BudgetQuestion, confidence: float = 0.95) -> list[list[Budget]]:
    """The answers for durations of a hit around the asked one: for the last and the mean rank."""
    decades = math.log10(_CURVE_END / _CURVE_START)
    middle = max(float(question.delay), 1e-12 / _CURVE_START)  # no delay is below a tick
    delays = middle * np.geomspace(_CURVE_START, _CURVE_END, round(decades * _CURVE_PER_DECADE) + 1)
    if question.statistic != "mean":  # a stair: one hit less from D = limit / hits on
        edges = (float(question.latency) - question.quiet) / np.arange(1, question.rounds + 1)
        edges = np.concatenate([edges * (1 - _STAIR_GAP), edges * (1 + _STAIR_GAP)])
        inside = (edges > delays[0]) & (edges < delays[-1])
        delays = np.sort(np.concatenate([delays, edges[inside]]))
    return [
        over_delays(replace(question, rank=rank), delays, confidence) for rank in ("last", "mean")
    ]


def over_delays(
    question: BudgetQuestion, delays: npt.ArrayLike, confidence: float = 0.95
) -> list[Budget]:
    """The same question for other durations of a hit, seconds: a curve, from the table."""
    return [
        tabulated_budget(replace(question, delay=float(d)), confidence) for d in np.ravel(delays)
    ]


def limit_in_words(question: BudgetQuestion) -> str:
    """The limit to be kept: `the mean completion of the last of 8,192 ranks at or below 120 us`."""
    what = f"{question.statistic}{' of the' * (question.statistic != 'mean')} completion"
    whose = "last" if question.rank == "last" else "mean"
    limit = show_seconds(float(question.latency), 4)
    return f"the {what} of the {whose} rank of {question.ranks:,} at or below {limit}"


def under_way_note(question: BudgetQuestion) -> list[str]:
    """A line where detours are no longer short beside a collective that meets one at its start."""
    longest = float(question.delay)
    if longest <= question.quiet / _SHORT:
        return []
    return [
        "of collectives that begin on all ranks at once: detours count where they begin. One on a "
        f"running machine also meets what is under way, of up to {show_seconds(longest, 3)} beside "
        f"its own {show_seconds(question.quiet, 3)}: `slowdown` has that"
    ]


def _basis_of_interval(found: Budget) -> str:
    """Say where the interval comes from."""
    share = f"{100 * found.confidence:g} %"
    if found.how == SIMULATED:
        return (
            f"{share} interval of the Monte Carlo error: {found.realizations:,} realizations, the "
            "same for every p that was tried"
        )
    if found.how == EXACT:
        if found.question.rank == "mean":
            return "exact: the recursion of one rank's distribution, no simulation"
        if found.probability.low < found.probability.high:
            return "exact bounds: so few hits are allowed that they hardly meet; no simulation"
        return "exact: so few hits are allowed that they do not meet; no simulation"
    return f"{share} interval, from a table of {found.realizations:,} realizations"


def delays_table(curves: Sequence[Sequence[Budget]]) -> ShownTable:
    """A table: at most p for each D, a column for each rank of the questions."""
    names = [f"at most p, {curve[0].question.rank} rank" for curve in curves]
    unit = common_unit(float(found.question.delay) for found in curves[0])
    rows = [
        (show_time(float(row[0].question.delay), unit, 3), *map(_shown_probability, row))
        for row in zip(*curves, strict=True)
    ]
    return ShownTable("", (f"D, {unit}", *names), tuple(rows), left=0)


def _shown_probability(found: Budget) -> str:
    if found.state == NEVER:
        return "none"
    if found.state == ALWAYS:
        return "any"
    p = found.probability
    if found.how == EXACT:
        return f"{p.value:.3g}"
    return show_interval(p[:3], 3)
