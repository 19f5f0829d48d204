"""Precision targets and early stopping: when a cell, or study, has enough realizations and ends.

Which noise has hardly been met is in unseen_noise.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy.typing as npt

from ..fields import Converted, Real, RealField, as_float, is_number, shorten
from ..stats import Estimate, sequential
from ..stats.intervals import ENOUGH_EVENTS, check_confidence
from ..units import TICKS_PER_SECOND, parse_seconds, show_seconds
from ..unseen_noise import OneSided, SourceHits, expectation, expected_hits, hidden, one_sided_hits
from ..workload import Workload
from .measure import LinearForm, MeasureFamily
from .statistics import WITH_INTERVAL, Observed, check_statistic, quantile_share
from .summary import CellData

_FORM = "such as 'mean of gain ± 1 % at 95 %' or 'p99 of completion ± 2us'"
_TEXT = re.compile(
    r"\s*(?P<statistic>.+?)\s+of\s+(?P<observable>.+?)\s*(?:±|\+/?-)\s*(?P<width>.*?)"
    r"(?:\s+at\s+(?P<confidence>[^%]*?)\s*%)?\s*"
)
_PERCENT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3}))?\s*%?")
_MARGIN = 1.15  # more than the data ask for, so that one deciding look is enough as a rule
_ROUGH_MARGIN = 1.5  # where few realizations tell: of quantiles and rare events
_TELLING_EVENTS = 8  # from this many on the data can say how many realizations a mean takes
_TELLING_TAIL = 24  # the same for a quantile: realizations beyond it
_FIRST = 1024  # realizations that mostly show whether two sides are hit differently
_UNKNOWN = 4  # times as many realizations, where the data can not even say when they can


@dataclass(frozen=True)
class Target:
    """A statistic of an observable is wanted within this, with this confidence.

    It is one of the `targets` of a `Study`:
    ``jf.Study("mine", case=case, targets=[jf.Target(...)])``.

    Attributes
    ----------
    statistic : str
        "mean", a quantile such as "p99", or "win probability".
    observable : str
        Its name in the study.
    relative, absolute : float or None
        Half the width of the interval: a share of the value, or in the unit of the observable.
        One of them.
    confidence : float
    unit : "s" or ""
        "s" if `absolute` was written with a unit of time.

    Examples
    --------
    >>> target = Target.parse("p99 of completion +- 2 %")
    >>> target.relative, str(target)
    (0.02, 'p99 of completion ± 2 % at 95 %')
    >>> str(Target.parse("mean of completion ± 1us at 99 %"))
    'mean of completion ± 1e-06 s at 99 %'
    """

    statistic: str
    observable: str
    relative: Converted[Real | None, float | None] = Converted("float | None", None)
    absolute: Converted[Real | None, float | None] = Converted("float | None", None)
    confidence: RealField = RealField(0.95)
    unit: str = ""

    def __post_init__(self) -> None:
        check_statistic(self.statistic, "target: statistic")
        if self.statistic not in WITH_INTERVAL and quantile_share(self.statistic) is None:
            raise ValueError(
                f"target: statistic must have an interval, got {shorten(self.statistic)}"
            )
        if (self.relative is None) == (self.absolute is None):
            raise ValueError("target: one of relative and absolute must be given")
        for name in ("relative", "absolute"):
            width = getattr(self, name)
            if width is None:
                continue
            if not (is_number(width) and 0 < as_float(width) < math.inf):
                raise ValueError(f"target: {name} must be above 0, got {shorten(width)}")
            object.__setattr__(self, name, float(width))
        if self.unit not in ("", "s"):
            raise ValueError(f"target: unit must be '' or 's', got {shorten(self.unit)}")
        confidence = check_confidence(self.confidence, "target: confidence")
        object.__setattr__(self, "confidence", confidence)

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read ``"STATISTIC of OBSERVABLE ± WIDTH at CONFIDENCE %"``; +- and +/- do as well.

        WIDTH is a percentage, a time with a unit, or a number in the unit of the observable.
        Without "at" it is 95 %.

        Raises
        ------
        ValueError
            Names the part that can not be read.
        """
        match = _TEXT.fullmatch(text) if isinstance(text, str) and len(text) < 1000 else None
        if match is None:
            raise ValueError(f"target must be {_FORM}, got {shorten(text)}")
        confidence = 0.95
        if match["confidence"] is not None:
            share = _read_number(match["confidence"], "confidence", text) / 100
            confidence = as_float(share)
            if not 0 < confidence < 1:
                raise ValueError(
                    f"target {text!r}: confidence must be above 0 % and below 100 %, "
                    f"got {match['confidence']} %"
                )
        width, relative, absolute, unit = match["width"], None, None, ""
        first, _, level = width.partition(" at ")
        if level:
            raise ValueError(
                f"target {text!r}: a confidence must be in %: '{first.strip()} at {level} %'"
            )
        if width.endswith("%"):
            value = relative = as_float(_read_number(width[:-1].rstrip(), "width", text) / 100)
        elif _PERCENT.fullmatch(width):
            value = absolute = as_float(_read_number(width, "width", text))
        else:
            value = absolute = parse_seconds(width, f"target {text!r}: width", positive=True)
            unit = "s"
        if not 0 < value < math.inf:
            rule = "finite" if value > 0 else "above 0"
            raise ValueError(f"target {text!r}: width must be {rule}, got {width}")
        return cls(match["statistic"], match["observable"], relative, absolute, confidence, unit)

    @property
    def column(self) -> str:
        """The name of its statistic beside the observables, whose means have 95 % intervals.

        Examples
        --------
        >>> Target.parse("p99 of gain ± 2 %").column, Target.parse("mean of gain ± 2 %").column
        ('p99 of gain', 'gain')
        >>> Target.parse("mean of gain ± 2 % at 99 %").column
        'mean of gain at 99 %'
        """
        if self.confidence != 0.95:
            return f"{self.statistic} of {self.observable} at {_percent(self.confidence)} %"
        if self.statistic == "mean":
            return self.observable
        return f"{self.statistic} of {self.observable}"

    def __str__(self) -> str:
        if self.relative is not None:
            width = f"{_percent(self.relative)} %"
        else:
            width = f"{self.absolute!r} {self.unit}".rstrip()
        level = _percent(self.confidence)
        return f"{self.statistic} of {self.observable} ± {width} at {level} %"


@dataclass(frozen=True)
class TargetState:
    """The state of a target.

    Attributes
    ----------
    target : Target
    met : bool
    error : float
        Half the width of the interval (the longer side), relative or absolute as the target.
        Infinite if it is not known.
    estimate : Estimate
        With the interval that holds although the data decided when to stop.
    why : str
        Why it is not met; empty if it is.
    unseen : str
        What of that is rare noise: a source of which too few hits are to be expected, or too few
        were met by one of two sides alone.
    """

    target: Target
    met: bool
    error: float
    estimate: Estimate
    why: str
    unseen: str = ""

    @property
    def narrow_enough(self) -> bool:
        """Return whether the interval is as narrow as wanted, met or not."""
        return self.error <= _wanted_half_width(self.target)


@dataclass(frozen=True)
class Decision:
    """The decision that the looks so far lead to.

    Attributes
    ----------
    look : int
        Number of the last look; -1 before the first.
    realizations : int
        Of that look; before the first one, and where a run ended between two, what there is.
    next : int or None
        Realizations of the next look. None: finished.
    states : tuple of TargetState
        One for each target that the cell has.
    share : float
        Of the error rate, that the intervals of the targets have.
    """

    look: int
    realizations: int
    next: int | None
    states: tuple[TargetState, ...]
    share: float = 1.0

    @property
    def met(self) -> bool:
        """Return whether it is finished and all targets are met."""
        return self.next is None and all(state.met for state in self.states)

    def level(self, confidence: float = 0.95) -> float:
        """Return the level at which intervals hold with `confidence` though data chose the end."""
        return level_of(confidence, self.share)

    def shown(
        self,
        observed: Observed,
        statistic: str,
        confidence: float,
        cases: Mapping[str, Workload],
    ) -> Estimate:
        """Return a statistic as it is shown: its interval allows for all that a sample may lack.

        Those are other recordings of the noise and, for a mean, noise met too rarely. A target does
        not ask for the former: no number of realizations makes it narrower.
        """
        found = observed.statistic(statistic, self.level(confidence))
        share = quantile_share(statistic)
        if statistic == "mean":
            unmet = undersampled_noise(observed, cases, found.half_width) if observed.noisy else []
            found = shown_mean(found, observed, unmet)
        elif share is not None:
            found = observed.for_recordings(found, share)
        return found if found.confidence == confidence else replace(found, confidence=confidence)


def decide(
    targets: Sequence[Target],
    families: Mapping[str, MeasureFamily],
    data_at: Callable[[int], CellData],
    available: int,
    least: int,
    limit: int,
    noisy: bool = True,
    cases: Mapping[str, Workload] | None = None,
) -> Decision:
    """Go through the looks that the data at hand allow.

    Parameters
    ----------
    targets : sequence of Target
        Those whose observable the cell does not have are left out. All have to be met at the
        same look. Without any there is one look, at `limit` (at `least` if all were left out).
    families : mapping of str to MeasureFamily
        The cell's observables by name.
    data_at : callable
        The data of the first n realizations.
    available : int
        Realizations there are, from 0 on without a gap.
    least, limit : int
        Realizations to stop at, at the earliest and at the latest.
    noisy : bool
        Whether realizations can differ. If so, a mean over too few events is not believed.
    cases : mapping of str to Case or ScheduleCase, optional
        The cell's cases by variant. With them a mean is not believed either before each source of
        noise that may move it was met often enough, as far as that is to be expected
        (`expected_hits`): a sample does not tell of what is too rare to be in it.
    """
    here = [target for target in targets if target.observable in families]
    if not here:
        aim = least if targets else limit
        done = available >= aim
        return Decision(0 if done else -1, min(available, aim), None if done else aim, ())
    look = sequential.first_look(least, limit)
    decision = Decision(-1, available, look.realizations, ())

    def observe(count: int) -> tuple[dict[str, Observed], list[list[UndersampledNoise]]]:
        data = data_at(count)
        observed = {t.observable: Observed(families[t.observable], data, noisy) for t in here}
        return observed, [_not_met(t, observed[t.observable], cases or {}, noisy) for t in here]

    def states_at(share: float, undecided: str) -> tuple[TargetState, ...]:
        return tuple(
            _state(t, observed[t.observable], share, undecided, noisy, own)
            for t, own in zip(here, unmet, strict=True)
        )

    while look.realizations <= available:
        observed, unmet = observe(look.realizations)
        decision = Decision(look.number, look.realizations, None, (), look.share)
        if look.decides:
            decision = replace(decision, states=states_at(look.share, ""))
            if look.last or decision.met:
                return decision
        ahead = sequential.share(look.decisions + look.decides)
        ways = [
            _realizations_needed(t, observed[t.observable], ahead, noisy, own)
            for t, own in zip(here, unmet, strict=True)
        ]
        # What is not known yet comes first: a target that needs more may turn out to be another.
        known = all(known for _, known in ways)
        needed = max(needed for needed, told in ways if told == known)
        look = sequential.next_look(look, needed, known, least, limit)
        decision = replace(decision, next=look.realizations)
    if decision.look >= 0 and decision.realizations < available:
        # A run was stopped here, whatever its data are. What the next look may spend holds the
        # intervals, and only that look decides.
        observed, unmet = observe(available)
        states = states_at(look.share, f"decided at {look.realizations:,} realizations")
        decision = replace(decision, realizations=available, states=states, share=look.share)
    elif decision.look >= 0 and not decision.states:
        decision = replace(decision, states=states_at(decision.share, "a pilot only"))
    return decision


def level_of(confidence: float, share: float) -> float:
    """The level of an interval that may be wrong in a share of 1 - confidence."""
    return 1 - (1 - check_confidence(confidence)) * share


def _read_number(text: str, part: str, target: str) -> Fraction:
    match = _PERCENT.fullmatch(text)
    if match is None or text.endswith("%"):
        raise ValueError(f"target {target!r}: {part} must be a number, got {text!r}")
    return Fraction(match[1]) * Fraction(10) ** int(match[2] or 0)


def _percent(share: float) -> str:
    """A share in percent, so that it reads back as the same float."""
    text = format(Decimal(repr(share)) * 100, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _state(
    target: Target,
    observed: Observed,
    share: float,
    undecided: str,
    noisy: bool,
    unmet: Sequence[UndersampledNoise],
) -> TargetState:
    """Return the state of a target; `undecided`: why it can not be met yet, though all else is."""
    estimate = _interval(target, observed, share)
    error = _half_width(target, estimate)
    why = undecided
    if not math.isfinite(error) and math.isfinite(float(estimate.high - estimate.low)):
        why = f"the {target.statistic} is 0, of which no ± is a share: an absolute ± is needed"
    elif not math.isfinite(error):
        why = f"too few realizations for an interval of {target.statistic}"
    elif error > _wanted_half_width(target):
        why = f"± {_show_half_width(target, error)}"
    elif _wants_events(target, observed, noisy) and observed.events < ENOUGH_EVENTS:
        why = f"the mean rests on about {observed.events:.0f} rare events"
    unseen = ""
    if unmet:
        unseen = f"{unmet[0].words}, {ENOUGH_EVENTS} wanted"
        why = f"{why}; {unseen}" if why else unseen
    return TargetState(target, not why, error, estimate, why, unseen)


def _interval(target: Target, observed: Observed, share: float) -> Estimate:
    """Estimate at the level of one look; over all looks the target's confidence holds."""
    found = observed.statistic(target.statistic, level_of(target.confidence, share))
    return replace(found, confidence=target.confidence)


def _wanted_half_width(target: Target) -> float:
    [width] = [width for width in (target.relative, target.absolute) if width is not None]
    return width


def _half_width(target: Target, estimate: Estimate) -> float:
    """Return the half width that a target bounds: as a share of the value, if the target is one."""
    value, low, high = float(estimate.value), float(estimate.low), float(estimate.high)
    half = max(high - value, value - low)
    if math.isnan(half):
        return math.inf
    if target.relative is None or half == 0:
        return half
    return half / abs(value) if value else math.inf


def _wants_events(target: Target, observed: Observed, noisy: bool) -> bool:
    return noisy and target.statistic == "mean" and not observed.is_best_T


class UndersampledNoise(NamedTuple):
    """Noise that may move a mean, and that too few realizations met.

    Attributes
    ----------
    words : str
        How often it was met, or is expected to be.
    effect : str
        What that does; ``{}`` stands for how much.
    most : float
        How much of it, at most, in ticks of a completion or of a difference of two.
    adds : float
        How much of it to the mean, in the unit of the measure.
    needed : float or None
        Realizations that tell; None where these do not say how many.
    """

    words: str
    effect: str
    most: float
    adds: float
    needed: float | None


def _not_met(
    target: Target, observed: Observed, cases: Mapping[str, Workload], noisy: bool
) -> list[UndersampledNoise]:
    """Return what may move the mean of a target, and was met too rarely."""
    if not (cases and _wants_events(target, observed, noisy)):
        return []
    value = abs(float(observed.unwidened_mean().value))
    wanted = _wanted_half_width(target) * (1.0 if target.relative is None else value)
    return undersampled_noise(observed, cases, wanted)


def undersampled_in_words(undersampled: Sequence[UndersampledNoise]) -> str:
    """Say what a mean may lack: the rarest, and the largest of all effects; "" where nothing."""
    if not undersampled:
        return ""
    most = max(one.most for one in undersampled) / TICKS_PER_SECOND
    rarest = undersampled[0]
    return f"{rarest.words}, and {rarest.effect.format(show_seconds(most, digits=3))}"


def shown_mean(
    mean: Estimate, observed: Observed, undersampled: Sequence[UndersampledNoise]
) -> Estimate:
    """Return a mean as it is shown: it allows for other recordings, and noise met too rarely.

    The latter makes a completion longer; a difference or ratio may become larger or smaller.
    """
    most = sum(one.adds for one in undersampled)
    wide = observed.for_recordings(mean)
    return wide.lacking(most, most if observed.measure.is_paired else 0.0)


def undersampled_noise(
    observed: Observed, cases: Mapping[str, Workload], half_width: float
) -> list[UndersampledNoise]:
    """Find noise met too rarely that may move a mean by a tenth of its half width; rarest first.

    A source's hits add to a completion; what they add to a measure follows from its coefficients.
    Where the width is infinite, the interval says itself that too little was met.
    """
    if observed.is_best_T or not math.isfinite(half_width):
        return []
    measure, columns, n = observed.measure, observed.measure.columns, observed.realizations
    variants = {column.variant for column in columns}
    if not measure.is_paired and sum(sum(cases[one].random_sources) for one in variants) < 2:
        return []  # none is hidden by another
    ratio = float(observed.unwidened_mean().value)
    below = measure.denominator
    if isinstance(below, LinearForm):
        vector, times = below.vector(columns), observed.mean_ticks(columns)
        size = abs(sum(c * t for c, t in zip(vector, times, strict=False)) + vector[-1])
    else:
        size = float(below)
    acting = acting_sources(observed, cases)
    suspected = hidden(list(chain(*acting.values())))
    rare = []
    for variant, sources in acting.items():
        weight = float(_weight(measure.numerator, variant))
        if isinstance(below, LinearForm):
            weight += abs(ratio) * _weight(below, variant)
        for source in sources if weight else ():
            if source in suspected and source.is_unmet(n, half_width * size / weight):
                rare.append((source, weight))
    rare.sort(key=lambda one: one[0].hits_at_least_as_long)
    found = [
        UndersampledNoise(expectation(source, n), "add up to {} to a completion", source.most,
                          source.most * weight / (size or math.inf),
                          _MARGIN * ENOUGH_EVENTS / source.hits_at_least_as_long)
        for source, weight in rare
    ]  # fmt: skip
    if found or not measure.is_paired:
        return found
    data = observed.data
    if not data.raw_count:
        return found

    def differences(count: int) -> npt.NDArray[Any]:
        assert data.ticks is not None
        return measure.difference(data.ticks.first(count), ratio)

    # A table and a CSV ask for the same; what acts follows from the cell and from these.
    key = "hits of one side", measure.key, tuple(measure.spans.items()), half_width
    return data.once(
        key,
        lambda: hits_of_one_side(
            list(chain(*acting.values())),
            differences,
            data.raw_count,
            size,
            half_width,
            realizations=n,
        ),
    )


def acting_sources(
    observed: Observed, cases: Mapping[str, Workload]
) -> dict[str, list[SourceHits]]:
    """The sources that can move an observable, with their expected hits, by variant."""
    measure, columns = observed.measure, observed.measure.columns
    times = observed.mean_ticks(columns)
    found = {}
    for variant in dict.fromkeys(column.variant for column in columns):
        longest = max(t for t, c in zip(times, columns, strict=True) if c.variant == variant)
        begin, end, *cycles = measure.spans.get(variant, (0.0, 1.0))
        found[variant] = expected_hits(cases[variant], longest / end, end - begin, cycles)
    return found


def hits_of_one_side(
    acting: Collection[SourceHits],
    differences: Callable[[int], npt.NDArray[Any]],
    kept: int,
    size: float,
    half_width: float,
    *,
    realizations: int,
    confidence: float = 0.95,
) -> list[UndersampledNoise]:
    """Hits that one of two sides met alone, in too few realizations; the most harmful first.

    Parameters
    ----------
    acting : collection of SourceHits
        Of both sides.
    differences : callable
        Those of the first n realizations, in ticks.
    kept : int
        Of how many realizations there are differences; they stand for all.
    size : float
        What the mean difference is divided by, in ticks.
    half_width : float
        Of the interval of the quotient.
    realizations : int
        All that the mean is of.
    confidence : float
        As of `one_sided_hits`.
    """
    unmet: list[OneSided] = []
    # Mostly the first realizations show enough of them.
    for count in dict.fromkeys((min(_FIRST, kept), kept)) if acting else ():
        of_mean = realizations if count == kept else count
        unmet = one_sided_hits(differences(count), acting, half_width * size,
                               realizations=of_mean, confidence=confidence)  # fmt: skip
        if not unmet:
            break
    return [
        UndersampledNoise(str(one), "more may move the difference by up to {}", one.most,
                          one.most / (size or math.inf),
                          _ROUGH_MARGIN * realizations * ENOUGH_EVENTS / one.seen
                          if one.seen >= _TELLING_EVENTS else None)
        for one in unmet
    ]  # fmt: skip


def _weight(form: LinearForm, variant: str) -> int:
    """Return how many times a delay of completions of a variant, all or some, counts in a form."""
    own = [coefficient for coefficient, column in form.terms if column.variant == variant]
    return max(sum(c for c in own if c > 0), -sum(c for c in own if c < 0))


def _realizations_needed(
    target: Target,
    observed: Observed,
    share: float,
    noisy: bool,
    unmet: Sequence[UndersampledNoise],
) -> tuple[float, bool]:
    """Realizations that meet the target at that share of the error rate, and True.

    As long as the data can not tell: those that may be able to, and False.
    """
    n = observed.realizations
    needed = 0.0
    if _wants_events(target, observed, noisy):
        if observed.events < _TELLING_EVENTS:
            return n * min(2 * _TELLING_EVENTS / max(observed.events, 1), _UNKNOWN), False
        needed = _ROUGH_MARGIN * n * ENOUGH_EVENTS / observed.events
    for one in unmet:
        if one.needed is None:
            return float(_UNKNOWN * n), False
        needed = max(needed, one.needed)
    q = quantile_share(target.statistic)
    if q is not None and n * min(q, 1 - q) < _TELLING_TAIL:
        return _TELLING_TAIL / min(q, 1 - q), False
    found = _interval(target, observed, share)
    if target.statistic == "mean":  # what few events add to it will be gone by then
        found = observed.unwidened_mean(level_of(target.confidence, share))
    error = _half_width(target, found)
    if not math.isfinite(error):
        return float(_UNKNOWN * n), False
    margin = _MARGIN if q is None else _ROUGH_MARGIN
    return max(needed, n * margin * (error / _wanted_half_width(target)) ** 2), True


def _show_half_width(target: Target, error: float) -> str:
    if target.relative is not None:
        return f"{100 * error:.3g} %, {100 * target.relative:.3g} % wanted"
    if target.unit:
        return f"{show_seconds(error, digits=3)}, {show_seconds(target.absolute or 0.0)} wanted"
    return f"{error:.3g}, {target.absolute:.3g} wanted"
