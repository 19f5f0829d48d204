"""Budget of a recording: by which factor its detours must become rarer to keep a latency limit.

A step that takes L meets a detour of the measured rate r with probability 1 - exp(-r L), and is
then delayed by one of the measured durations. The question is for which smaller (or larger)
probability the limit is just kept; that many times rarer the detours must become, if they stay as
long as they are.

The mean delay lies between two that are exact: it is at most the sum of all hits, and at least the
longest of them. Where the long detours that carry much of the noise are too rare to be simulated
often enough, these two give the interval, and nothing is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jitterfly.answer import Report, show_interval
from jitterfly.distributions import Distribution, Empirical
from jitterfly.fields import counted
from jitterfly.measured import Detours, FormatError, Histogram, load
from jitterfly.noise_limit import ALWAYS, AT_MOST, NEVER, crossing
from jitterfly.stats import ENOUGH_EVENTS, realizations_needed
from jitterfly.stats.intervals import clopper_pearson, normal, student_t
from jitterfly.units import TICKS_PER_SECOND, Time, parse_seconds, show_seconds, to_ticks

from .budget import (
    BudgetQuestion,
    check_precision,
    limit_in_words,
    under_way_note,
)
from .fit import Bounds
from .hit_tables import UNIT, SearchProgress, simulated_extra
from .step_noise_models import ASSUMED

_PILOT = 100  # realizations that plan the rest
_MAX_STEPS = 2e9
_LEVELS = 20_001  # of probability, each 0.12 % below the last
_HALF_A_TICK = 0.5 / TICKS_PER_SECOND
_STEP = 0.3  # of ln p, over which the pilot tells the slope


@dataclass(frozen=True)
class RecordingBudget(Report):
    """The answer: p at most, the measured p, and their ratio.

    `events` are the detours measured, `rate` per second of a CPU; their mean is as skewed as that
    of `long_events` equal ones among them. Without `realizations` the interval is of exact bounds.
    """

    question: BudgetQuestion
    file: str
    state: str
    probability: Bounds
    events: int
    long_events: float
    rate: float
    realizations: int
    confidence: float

    @property
    def measured(self) -> float:
        """The probability that a step of L meets a detour of the measured rate."""
        return -math.expm1(-self.rate * float(self.question.step))

    def rarer(self, probability: float) -> float:
        """The measured rate over that with which a step meets a detour with this probability."""
        if probability >= 1:
            return 0.0
        return self.rate * float(self.question.step) / -math.log1p(-probability)

    def title(self) -> str:
        """Return the limit, and what keeps it."""
        return " ".join(self.report()[1 : self._head])

    def notes(self) -> list[str]:
        """Say what was measured, and how sure the answer is."""
        lines = self.report()
        return [lines[0], *lines[self._head :]]

    @property
    def _head(self) -> int:
        return 3 if self.state == AT_MOST else 2  # after the lines that are the answer itself

    def report(self) -> list[str]:
        """The lines of text: what was measured, the answer, and how sure it is."""
        asked = limit_in_words(self.question)
        step = show_seconds(float(self.question.step), 4)
        head = (f"{self.file}: {self.events:,} detours, {self.rate:.4g} a second; a step of "
                f"L = {step} meets one with p = {self.measured:.3g}")  # fmt: skip
        if self.state == NEVER:
            quiet = show_seconds(self.question.quiet, 4)
            if self.question.room == 0:
                return [head, f"only without any noise: {asked} is just that time, {quiet}"]
            return [
                head,
                f"impossible: {asked} is less than the time without noise, {quiet}; "
                "raise the limit, or shorten the step",
            ]
        if self.state == ALWAYS:
            return [head, f"always met: {asked} holds even with a detour in every step"]
        p = self.probability
        least, value, most = sorted(map(self.rarer, p[:3]))
        lines = [head, f"to keep {asked}:",
                 f"at most p = {show_interval(p[:3], 3)}"]  # fmt: skip
        if value > 1:
            message = f"detours must become {show_interval((value, least, most), 3)} times rarer"
            if least <= 1:
                message += ": the measured rate is about at the limit"
        else:
            often = [1 / x if x else math.inf for x in (value, most, least)]
            met = "met as it is" if most < 1 else "about at the limit"
            message = f"{met}: detours may become {show_interval(often, 3)} times as frequent"
        if self.realizations:
            how = (f"{100 * self.confidence:g} % interval of the Monte Carlo error, "
                   f"{self.realizations:,} realizations, and for few detours")  # fmt: skip
        else:
            how = (
                "exact bounds, no simulation: the mean delay is at most the sum of all hits and at "
                "least the longest; wider for how few detours were measured"
            )
        few = []
        if self.long_events < ENOUGH_EVENTS:
            about = counted(max(round(self.long_events), 1), "long detour")
            few = [
                f"{self.file}: the mean of its detours rests on about {about}, and longer ones may "
                "be missing; record longer or on more CPUs"
            ]
        under_way = under_way_note(self.question)
        return [*lines, message, how, *few, *under_way, f"{ASSUMED} they may be more frequent"]


def budget_of_recording(
    path: Path,
    ranks: int,
    latency: Time,
    step: Time,
    rank: str = "last",
    statistic: str = "mean",
    *,
    confidence: float = 0.95,
    precision: float | None = None,
    seed: int = 1,
) -> RecordingBudget:
    """The largest probability of a measured detour in a step that keeps a limit.

    Parameters as of `BudgetQuestion` and `budget`; the mean rank's quantiles have no interval here.

    Raises
    ------
    ValueError
        A value out of range, or a file without detours or without the time observed.
    """
    aim, seed = check_precision(statistic, confidence, precision, seed)
    delay = Empirical(file=str(path), part="all")
    events, rate = _rate(path)
    parse_seconds(step, "step", positive=True)
    longest = delay.longest_ticks() / TICKS_PER_SECOND
    question = BudgetQuestion(ranks, latency, step, longest, rank, statistic)
    share = question.share
    if rank == "mean" and share is not None:
        raise ValueError("statistic must be mean for measured noise with rank 'mean'")
    left = to_ticks(float(question.latency)) - question.rounds * to_ticks(float(question.step))
    room = left / TICKS_PER_SECOND
    bounds, long_share = _mean_bounds(delay)

    def answer(state: str, p: Bounds, count: int = 0) -> RecordingBudget:
        known = (events, long_share * events, rate)
        if state == AT_MOST:  # rate and durations of the machine are as sure as so many events
            more = math.exp(normal(confidence) / math.sqrt(max(known[1], 1.0)))
            p = Bounds(p.value, p.low / more, min(p.high * more, 1.0))
        return RecordingBudget(question, path.name, state, p, *known, count, confidence)

    if question.state == NEVER:
        return answer(NEVER, Bounds(0.0, 0.0, 0.0))
    # Steps on paths to one rank, which are a tree, or to the last one.
    steps = ranks - 1 if rank == "mean" else ranks * question.rounds
    affordable = max(int(_MAX_STEPS / (question.rounds * ranks)), _PILOT)
    needed = 0
    if share is None:
        rarest = room / bounds(1.0, steps)[1]
        if rarest >= 1:
            return answer(ALWAYS, Bounds(1.0, 1.0, 1.0))
        often = crossing(lambda p: bounds(p, steps)[0] - room, rarest, room, rarest / 2, aim / 8)
        needed = math.ceil(ENOUGH_EVENTS / (steps * rarest * long_share))
        if often <= rarest * (1 + aim) or needed > affordable:
            return answer(AT_MOST, Bounds(math.sqrt(rarest * often), rarest, often))

    def evaluated(count: int, first: int) -> Callable[[float], tuple[float, float, float]]:
        numbered = SearchProgress("" if first else "pilot, ")

        @cache
        def statistic_at(p: float) -> tuple[float, float, float]:
            with numbered(count):
                sample = UNIT * simulated_extra(
                    ranks, delay, p, count, rank=rank, seed=seed, first_realization=first
                )
            found = _statistic(sample, room, share, confidence)
            if share is not None:
                return found
            value, low, high = np.clip(found, *bounds(p, steps)).tolist()
            return value, low, high

        return statistic_at

    limit = room if share is None else 1 - share
    low = 1e-9 / ranks
    pilot = max(_PILOT, 0 if share is None else 2 * realizations_needed(share, confidence))
    rough = evaluated(pilot, 0)
    if rough(1.0)[2] < limit:
        return answer(ALWAYS, Bounds(1.0, 1.0, 1.0), pilot)
    scale = limit if share is None else 1.0
    mean = max(float(delay.expected()), 1e-12)
    start = min(max(room / (ranks * mean), low), 0.5)
    guess = crossing(lambda p: (rough(p)[0] - limit) / scale, start, 1.0, low, 0.1)
    ends = [rough(min(guess * math.exp(x), 1.0)) for x in (-_STEP, _STEP)]
    slope = max((ends[1][0] - ends[0][0]) / (2 * _STEP), 1e-3 * scale)
    wide = (rough(guess)[2] - rough(guess)[1]) / 2 / slope
    count = int(min(max(pilot * (wide / aim) ** 2, pilot, needed), max(affordable, pilot)))
    final = evaluated(count, pilot)  # fresh: the pilot decided how many
    value, least, most = (
        crossing(lambda p, i=i: final(p)[i] - limit, guess, slope, low, aim / 4)  # type: ignore[misc]
        for i in (0, 2, 1)
    )
    return answer(AT_MOST, Bounds(value, min(least, value), max(most, value)), count)


def _mean_bounds(
    delay: Distribution,
) -> tuple[Callable[[float, int], tuple[float, float]], float]:
    """The bounds of the mean delay, seconds, for p and a number of steps; the share of long hits.

    With n steps the longest hit exceeds t with 1 - (1 - p P(X > t))^n, whose integral is its mean.
    A sum of k hits is as skewed as that of k (E X^2)^3 / (E X^3)^2 equal ones
    (`stats.effective_events`).
    """
    above = np.geomspace(1, 1e-10, _LEVELS)
    times = np.asarray(delay.quantile(1 - above))
    gaps, weights = np.diff(times, prepend=0.0), -np.diff(above)
    squares, cubes = (float(weights @ (times[1:] / times[-1]) ** k) for k in (2, 3))
    mean = float(delay.expected())

    def bounds(p: float, steps: int) -> tuple[float, float]:
        with np.errstate(divide="ignore"):
            longest = float(gaps @ -np.expm1(steps * np.log1p(-p * above)))
        return min(longest, steps * p * mean), steps * p * mean

    return bounds, squares**3 / cubes**2


def _statistic(
    sample: Any, room: float, share: float | None, confidence: float
) -> tuple[float, float, float]:
    if share is not None:
        beyond = int((sample > room + _HALF_A_TICK).sum())
        return beyond / len(sample), *clopper_pearson(beyond, len(sample), confidence)
    value = float(sample.mean())
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample))
    half = student_t(confidence, len(sample) - 1) * error
    return value, value - half, value + half


def _rate(path: Path) -> tuple[int, float]:
    """Count the detours, and how many of them a second of one CPU has."""
    events, observed = 0, 0
    for part in load(path).parts:
        if isinstance(part, Detours):
            events, observed = events + len(part.starts), observed + part.length
        elif isinstance(part, Histogram) and part.what == "detour" and part.observed:
            events, observed = events + part.total, observed + part.observed
        else:
            raise FormatError(path.name, None, "no detours with the time observed, so no rate")
    if not events:
        raise FormatError(path.name, None, "no detours")
    return events, events / (observed / TICKS_PER_SECOND)
