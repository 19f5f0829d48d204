"""Mean, quantiles ("p99"), win probability of a study's observable, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from ..fields import shorten
from ..stats import CrossMoments, Estimate, Moments, cross_moments, paired, win_probability
from ..stats.intervals import RareEvents, binomial_ranks, changed, check_confidence, quantile_rank
from ..syntax import quantile_share
from ..units import TICKS_PER_SECOND
from ..unseen_noise import RecordedNoise
from .measure import Column, LinearForm, Measure, MeasureFamily
from .summary import RATIO_ONE, CellData

STATISTICS = (
    "mean", "standard error", "min", "p5", "p50", "p95", "p99", "p99.9", "p99.99", "max",
)  # fmt: skip
"""What is shown unless something else is asked for."""

WITH_INTERVAL = ("mean", "win probability")
"""What can be a target, beside quantiles."""

_WORDS = (*WITH_INTERVAL, "standard error", "min", "max")


def check_statistic(name: str, where: str) -> str:
    """Raise unless it is the name of a statistic."""
    if isinstance(name, str) and (name in _WORDS or quantile_share(name) is not None):
        return name
    raise ValueError(
        f"{where} must be one of {', '.join(_WORDS)}, or a quantile such as p50 or p99.9, "
        f"got {shorten(name)}"
    )


def rare_events_of(measure: Measure, data: CellData, moments: Moments) -> RareEvents:
    """Return what a cell's realizations show of rare events that the mean of a measure rests on.

    Of a ratio of means, those of ``numerator - ratio * denominator``. Beyond the raw realizations
    they follow from exact sums.
    """
    below = measure.denominator
    if data.exact:
        return _of_raw_samples(measure, data, moments)
    third = data.third_moments(measure)
    if not isinstance(below, LinearForm):
        return third.rare_events(moments, below, measure.noise_free)
    if not measure.distribution:
        return third.rare_events_of_ratio(moments)
    quotients = data.histogram(measure)
    ends = (quotients.min - 0.5) / RATIO_ONE, (quotients.max + 0.5) / RATIO_ONE  # they are rounded
    return third.rare_events_of_ratio(moments, ends)


def _of_raw_samples(measure: Measure, data: CellData, moments: Moments) -> RareEvents:
    """Return `rare_events_of` of the raw realizations, scaled to all realizations."""
    values = data.forms(measure)
    if not measure.is_ratio:
        samples = measure.of_forms(values)
        return RareEvents.of(samples, samples.mean(), noise_free=measure.noise_free)
    top, bottom = (value.astype(float) for value in values)
    found = RareEvents.of_ratio(top, bottom, moments.x / (moments.y or 1))
    return found._replace(count=found.count * data.count / data.raw_count)


def _ranks(count: int, q: float, confidence: float) -> tuple[int, int | None, int | None]:
    """Return the rank of a quantile, and those that enclose it."""
    return quantile_rank(count, q), *binomial_ranks(count, q, confidence)


@lru_cache(maxsize=16)
def _usual_ranks(count: int, confidence: float) -> frozenset[int]:
    """Return the ranks of all quantiles that are shown unless something else is asked for."""
    shares = filter(None, map(quantile_share, STATISTICS))
    ranks = (rank for share in shares for rank in _ranks(count, share, confidence))
    return frozenset(rank for rank in ranks if rank is not None)


class Observed:
    """Statistics of an observable over the realizations of one cell.

    Values are in the observable's unit. A bound that the sample does not give is infinite; a
    statistic that the observable does not have is NaN.

    Parameters
    ----------
    family : MeasureFamily
    data : CellData
    noisy : bool
        Whether realizations can differ. If so, the interval of a mean allows for rare events that
        few realizations met, or none.
    """

    def __init__(self, family: MeasureFamily, data: CellData, noisy: bool = True) -> None:
        self.family = family
        self.data = data
        self.noisy = noisy
        self.name = family.name
        self.unit = family.unit

    def __repr__(self) -> str:
        raw = self.data.raw_count if self.has_distribution else 0
        count = raw or self.realizations
        samples = f", samples of the first {count:,}" * (count < self.realizations)
        return f"Observed({self.name!r}, realizations={self.realizations}, T={self.T}{samples})"

    @property
    def realizations(self) -> int:
        """The number of realizations."""
        return self.data.count

    @property
    def exact(self) -> bool:
        """Return whether quantiles are samples, and not known to the bucket of a histogram only."""
        return self.data.exact

    # --- which member

    @property
    def is_best_T(self) -> bool:
        """Return whether the observable is the best T itself."""
        return self.family.pick == "set"

    @cached_property
    def _compared_forms(self) -> list[tuple[int, ...]]:
        """The forms by which the members are compared: the side that has a T."""
        below = self.family.pick == "smallest denominator"
        forms = [m.denominator if below else m.numerator for m in self.family.members]
        return [f.vector(self.family.columns) for f in forms if isinstance(f, LinearForm)]

    @cached_property
    def _chosen_member(self) -> int:
        if len(self.family.members) == 1:
            return 0
        moments = self._cross_moments
        totals = [moments.total(rival) for rival in self._compared_forms]
        return totals.index(min(totals))

    @property
    def measure(self) -> Measure:
        """The member that is meant."""
        return self.family.members[self._chosen_member]

    @property
    def T(self) -> int | None:
        """The T of the member that the data chose; None where there was no choice."""
        return self.family.labels[self._chosen_member] if self.family.pick != "only" else None

    # --- the data

    @property
    def _cross_moments(self) -> CrossMoments:
        return self.data.cross_moments(self.family.columns)

    @cached_property
    def _moments(self) -> Moments:
        columns = self.family.columns
        below = self.measure.denominator
        return self._cross_moments.moments(
            self.measure.numerator.vector(columns),
            below.vector(columns) if isinstance(below, LinearForm) else None,
        )

    @property
    def samples(self) -> npt.NDArray[np.float64] | None:
        """The values of the raw realizations, in their order; None where there are none.

        Those beyond `raw_bytes` of the study's budget are in statistics only: the first ones are
        here, and `realizations` counts all.
        """
        return self.data.samples(self.measure) if self.has_distribution else None

    @property
    def has_distribution(self) -> bool:
        """Return whether single realizations have a value."""
        return not self.is_best_T and self.measure.distribution

    @cached_property
    def _rare_events(self) -> RareEvents:
        return self.data.once(  # type: ignore[no-any-return]
            ("rare events", self.measure.key, self.measure.noise_free),
            lambda: rare_events_of(self.measure, self.data, self._moments),
        )

    @property
    def events(self) -> float:
        """The number of rare events of the mean (see `rare_events_of`); 0: none."""
        return float(self._rare_events.count)

    def mean_ticks(self, columns: Sequence[Column]) -> list[float]:
        """Means of some of its columns, in ticks."""
        moments, known = self._cross_moments, self.family.columns
        ones = np.eye(len(known) + 1, dtype=int)
        return [moments.total(ones[known.index(c)].tolist()) / moments.count for c in columns]

    # --- statistics

    def mean(self, confidence: float = 0.95) -> Estimate:
        """Mean with Student's interval; ratio of means with Fieller's; wider for rare events.

        It does not reach below the measure's `lower_bound`. It has no ends where the mean of one of
        its parts has none, since no realization was delayed there.

        Of the best T: the smallest T that can not be told from it, between the ends of the set.
        """
        found = self.unwidened_mean(confidence)
        certain = self.measure.numerator == self.measure.denominator
        if self.is_best_T or not self.noisy or certain or found.too_small:
            return found
        found = replace(self._rare_events.widen(found), events=None)
        if any(self._is_unmet(*part) for part in self.measure.parts):
            found = replace(found, low=-math.inf, high=math.inf)
        return found.bounded(self.measure.lower_bound)

    def _is_unmet(self, form: LinearForm, noise_free: int | None) -> bool:
        """Return whether no realization shows what noise does to a part: no interval then."""
        moments = self._cross_moments.moments(form.vector(self.family.columns))
        same = moments.count * moments.xx == moments.x * moments.x
        return same and (noise_free is None or moments.x == moments.count * noise_free)

    def unwidened_mean(self, confidence: float = 0.95) -> Estimate:
        """Return the mean with an interval not widened for few rare events, nor for a bound."""
        if self.is_best_T:
            chosen = self.confidence_set(confidence)
            low, high = float(min(chosen)), float(max(chosen))
            return Estimate(low, low, high, confidence, self.realizations)
        below = self.measure.denominator
        if isinstance(below, LinearForm):
            return paired.ratio_of(self._moments, confidence)
        return cross_moments.mean_of(self._moments, confidence, below)

    def standard_error(self) -> float:
        """Return the standard error of the mean; NaN for one realization."""
        if self.is_best_T:
            return math.nan
        below = self.measure.denominator
        if isinstance(below, LinearForm):
            return paired.ratio_error_of(self._moments)
        return cross_moments.standard_error_of(self._moments, below)

    def confidence_set(self, confidence: float = 0.95) -> tuple[int, ...]:
        """Every T whose mean can not be distinguished from the smallest."""
        confidence = check_confidence(confidence)
        found = paired.confidence_set(self._cross_moments, self._compared_forms, confidence)
        return tuple(self.family.labels[i] for i in found.members)

    def quantile(self, q: float, confidence: float = 0.95) -> Estimate:
        """Estimate a quantile between two order statistics, whatever the distribution."""
        confidence = check_confidence(confidence)
        n = self.realizations
        if not self.has_distribution:
            return self._without_interval(math.nan, confidence)
        at, low, high = _ranks(n, q, confidence)
        return Estimate(
            self._order_statistic(at, confidence)[1],
            -math.inf if low is None else self._order_statistic(low, confidence)[0],
            math.inf if high is None else self._order_statistic(high, confidence)[2],
            confidence,
            n,
        )

    def _order_statistic(
        self, rank: int, confidence: float | None = None
    ) -> tuple[float, float, float]:
        """Return where the sample of that rank is: low, middle, high.

        With a confidence it is found together with those of the usual quantiles: who asks for one
        asks for the others, too.
        """
        # In ticks, or quotients of two forms: measures of other units share them.
        forms, numbers = self.measure.forms, self.data.computed.numbers
        key = ("order statistic", *forms, rank)
        if self.exact and key not in numbers:
            n = self.realizations
            usual = _usual_ranks(n, confidence) if confidence is not None else ()
            ranks = sorted({1, rank, *usual, n})
            found = map(float, self.data.order_statistics(self.measure, ranks))
            for each, x in zip(ranks, found, strict=True):
                numbers[("order statistic", *forms, each)] = x, x, x
        low, middle, high = self.data.once(key, lambda: self._order_statistic_of_buckets(rank))
        below = self.measure.denominator
        scale = 1 if isinstance(below, LinearForm) else below
        return low / scale, middle / scale, high / scale

    def _order_statistic_of_buckets(self, rank: int) -> tuple[float, float, float]:
        low, middle, high = self.data.histogram(self.measure).order_statistic(rank)
        if self.measure.is_ratio:  # rounded to a whole multiple
            return (low - 0.5) / RATIO_ONE, middle / RATIO_ONE, (high + 0.5) / RATIO_ONE
        return float(low), middle, float(high)

    def minimum(self) -> float:
        """The smallest sample."""
        return self._order_statistic(1)[1] if self.has_distribution else math.nan

    def maximum(self) -> float:
        """The largest sample."""
        n = self.realizations
        return self._order_statistic(n)[1] if self.has_distribution else math.nan

    def win_probability(self, confidence: float = 0.95) -> Estimate:
        """P(numerator > denominator), a tie counts half; NaN if there is no such comparison."""
        confidence = check_confidence(confidence)
        if not self.has_distribution or not self.measure.is_ratio:
            return self._without_interval(math.nan, confidence)
        less, equal, larger = self.data.win_counts(self.measure)
        return win_probability(larger, equal, less, confidence)

    def for_recordings(
        self,
        found: Estimate,
        share: float | None = None,
        recorded: RecordedNoise | None = None,
    ) -> Estimate:
        """Return a mean, or the quantile `share`, whose interval allows for other recordings.

        `recorded`: those alone, in place of all that the run replays.
        """
        measure, below = self.measure, self.measure.denominator
        recorded = recorded or measure.recorded
        if recorded is None or isinstance(below, LinearForm):
            return found
        added = measure.numerator.constant
        time = changed(found, lambda value: (value * below - added) / TICKS_PER_SECOND)
        time = recorded.allow(time, measure.noise_free_time, share)
        wide = changed(time, lambda end: (end * TICKS_PER_SECOND + added) / below)
        return replace(found, low=wide.low, high=wide.high, caveats=wide.caveats).bounded(
            measure.lower_bound
        )

    def statistic(self, name: str, confidence: float = 0.95) -> Estimate:
        """Return a statistic by its name; what has no interval has NaN for its ends."""
        check_statistic(name, "statistic")
        if name == "mean":
            return self.mean(confidence)
        if name == "win probability":
            return self.win_probability(confidence)
        share = quantile_share(name)
        if share is not None:
            return self.quantile(share, confidence)
        alone = {"min": self.minimum, "max": self.maximum, "standard error": self.standard_error}
        return self._without_interval(alone[name](), confidence)

    def _without_interval(self, value: float, confidence: float) -> Estimate:
        """A value without an interval."""
        return Estimate(value, math.nan, math.nan, confidence, self.realizations)
