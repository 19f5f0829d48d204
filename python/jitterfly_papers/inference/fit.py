"""`fit`: noise from a measured scaling curve by least squares; intervals; goodness of fit.

The squares are weighted, L and D in closed form for each p, so that p is the only search. Intervals
are of the profile likelihood: all values that some choice of the other parameters brings within
chi2(1) of the best misfit, or within F(1, freedom) where errors are not given and estimated from
the misfit. What the curve can not tell shows as an interval without an end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from jitterfly import optional_packages
from jitterfly.answer import Report, ShownTable, show_time
from jitterfly.distributions import Exponential
from jitterfly.fields import counted, parameter, shorten
from jitterfly.noise import StepNoise
from jitterfly.optional_packages import special
from jitterfly.stats.intervals import check_confidence, interval_digits
from jitterfly.units import (
    Time,
    common_unit,
    exact_text,
    parse_seconds,
    show_seconds,
)

from .scaling_curves import Curve
from .step_noise_models import ASSUMED, IN_STEP, Model, make_model

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

FITS, NO_FIT, NOT_TESTED = "fit", "no fit", "not tested"
WITHOUT_ERRORS = (
    "no errors are given and none can be estimated: the ranges hold all that fits as well to 0.1 %"
)
_TICK = 1e-12  # seconds: a shorter delay is none
_NO_NOISE = 1e-6  # of the latency: less noise is none

SIGNIFICANCE = 1e-3
"""A curve with errors is not explained where chance alone misses it as far this rarely."""
TOLERANCE = 0.1
"""A curve without errors is not explained where the misfit is more than this share (rms)."""
_ALIKE = 1e-3  # with too few points to test: parameters that fit to this share are alike
RARE_HITS = 1e-4  # p * ranks from which on a smaller p only means a larger D
_COARSE_GRID, _FINE_GRID, _GRID_PASSES = 240, 100, 3
_ROUNDING = 1e-9  # relative
_FLAT = 1e-12  # a curvature below this share of its largest possible value is rounding
_RARE_EXAMPLE = 0.01  # p of "rare" noise, where a needed duration is told


class Bounds(NamedTuple):
    """An estimate and its interval; `fixed` where it was given, and not estimated."""

    value: float
    low: float
    high: float
    fixed: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class CurveFit(Report):
    """The common part of fits of one source of noise and of two; attributes as of `Fit`."""

    curve: Curve
    model: Model
    confidence: float
    predicted: Floats
    chi2: float
    freedom: int

    @property
    def misfit(self) -> float:
        """The root mean square of measured over predicted latency, less 1."""
        predicted = np.maximum(self.predicted, 1e-15)
        return float(np.sqrt(np.mean((self.curve.latency / predicted - 1) ** 2)))

    @property
    def chance(self) -> float:
        """The probability that chance alone gives a larger chi2; NaN without errors.

        As many parameters as points leave a misfit only where the model cannot come near. Of the
        points alone chi2 has as many degrees of freedom as there are points: an upper bound there.
        """
        if self.curve.error is None:
            return math.nan
        freedom = self.freedom if self.freedom > 0 else len(self.curve)
        return float(special.chdtrc(freedom, self.chi2))

    @property
    def verdict(self) -> str:
        """One of FITS, NO_FIT, NOT_TESTED; `misfit` decides where no errors are given."""
        if self.misfit > TOLERANCE if self.curve.error is None else self.chance < SIGNIFICANCE:
            return NO_FIT
        return FITS if self.freedom > 0 else NOT_TESTED

    @property
    def intervals(self) -> bool:
        """Return whether bounds are confidence intervals: from errors that are given, or the
        misfit.
        """
        return self.verdict != NO_FIT and (self.freedom > 0 or self.curve.error is not None)

    @property
    def hits(self) -> tuple[tuple[float, float], ...]:
        """The delay, seconds, and the probability of each source of the best fit."""
        raise NotImplementedError

    @property
    def noise(self) -> tuple[StepNoise, ...]:
        """The noise of the best fit, in six digits; none where there is none, or no fit."""
        if self.verdict == NO_FIT:
            return ()
        drawn = self.model.name != "bernoulli"
        hits = [(float(f"{d:.6g}"), float(f"{p:.6g}")) for d, p in self.hits]
        return tuple(
            StepNoise(Exponential(d) if drawn else d, p) for d, p in hits if d >= _TICK and p
        )

    @property
    def noise_options(self) -> tuple[str, ...]:
        """The same `noise` as texts, which `slowdown` and others take (``--noise``)."""
        return tuple(map(_noise_text, self.noise))

    def report(self) -> list[str]:
        """The lines of text: model, parameters, points, verdict, notes."""
        model, verdict, *notes = self.notes()
        tables = [line for table in self.shown_tables()
                  for line in ("", *(f"  {row}" for row in table.lines()))]  # fmt: skip
        return [self.title(), model, *tables, "", verdict, *(f"  {note}" for note in notes)]

    def title(self) -> str:
        """Return the curve's name, points and ranks."""
        ranks, name = self.curve.ranks, self.curve.name or "curve"
        span = f"{ranks[0]:,}" if len(ranks) == 1 else f"{ranks[0]:,} to {ranks[-1]:,}"
        return f"{name}: {counted(len(ranks), 'point')}, {span} ranks"

    def points_table(self) -> ShownTable:
        """Make the table of the points, measured and as the model has them."""
        curve = self.curve
        unit = common_unit([*map(float, curve.latency), *map(float, self.predicted)])
        header = ("ranks", f"measured, {unit}", f"model, {unit}", "measured / model")
        rows = [
            (
                f"{ranks:,}",
                *(show_time(float(time), unit) for time in (seen, model)),
                f"{seen / model:.3f}" if model > 0 else "-",
            )
            for ranks, seen, model in zip(curve.ranks, curve.latency, self.predicted, strict=True)
        ]
        return ShownTable("", header, tuple(rows), left=0)

    def noise_lines(self, step: Bounds) -> list[str]:
        """Say what to paste, where there is noise."""
        pasted = " ".join(f"--noise '{text}'" for text in self.noise_options)
        half = exact_text(float(f"{step.value / 2:.6g}"))
        told = f"in `slowdown` and others: {pasted} (L of this model: --network L=0,o={half})"
        return [told] if pasted else []


@dataclass(frozen=True, eq=False, repr=False)
class Fit(CurveFit):
    """The parameters that explain a curve best.

    Attributes
    ----------
    verdict : "fit", "no fit" or "not tested"
        Whether the model explains the curve; not tested: as many parameters as points.
    step, delay, probability, load : Bounds
        Latency of a step and scale of the delay (Bernoulli: the duration of a hit), seconds;
        probability of a hit; probability * delay, the mean delay of a step.
    predicted : float array, shape (points,)
        Seconds.
    misfit : float
        Root mean square of measured / predicted - 1.
    chi2, freedom, chance : float, int, float
        Weighted sum of squares, points minus parameters (degrees of freedom), and how often chance
        alone gives more (the p-value); `chance` is NaN without errors, and an upper bound without
        freedom.
    region : float array, shape (3, probabilities)
        p, and the least and the largest delay that belong to it, NaN where p fits none.
    """

    step: Bounds
    delay: Bounds
    probability: Bounds
    load: Bounds
    region: Floats

    def __repr__(self) -> str:
        parameters = ", ".join(" ".join(row) for row in _parameter_rows(self))
        return f"Fit({self.verdict!r}: {parameters}; {len(self.curve)} points)"

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each parameter: step, delay, probability, load; seconds.

        Columns are parameter, value, low, high (NaN where the model does not fit), and given.

        Raises
        ------
        ValueError
            pandas is not installed.
        """
        columns = ("parameter", "value", "low", "high", "given")
        rows = []
        for name, one in self.bounds.items():
            ends = (one.low, one.high) if self.intervals else (np.nan, np.nan)
            rows.append(dict(zip(columns, (name, one.value, *ends, one.fixed), strict=True)))
        return optional_packages.data_frame(rows, columns)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The curve and what fits it; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or `path` does not end in .png, .pdf or .svg.
        """
        module = "jitterfly_papers.plots.inference"
        return optional_packages.picture(module, self, function="draw_fit", path=path)

    def shown_tables(self) -> list[ShownTable]:
        """Return the tables of parameters and of points."""
        rows = tuple(_parameter_rows(self))
        return [ShownTable("", (), rows, left=3), self.points_table()]

    def notes(self) -> list[str]:
        """Say which model it is, whether it explains the curve, and what that means."""
        first = [_model_line(self), _verdict_line(self)]
        return [*first, *_explanations(self), *self.noise_lines(self.step)]

    @property
    def hits(self) -> tuple[tuple[float, float], ...]:
        """The delay of a step, seconds, and its probability."""
        return () if self.quiet else ((self.delay.value, self.probability.value),)

    def latency(self, rounds: npt.ArrayLike) -> Floats:
        """The model's latency at any log2(ranks), seconds."""
        extra = self.model.extra(rounds, self.probability.value)[0]
        latencies: Floats = np.asarray(rounds) * self.step.value + self.delay.value * extra
        return latencies

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The parameters by name: step, delay, probability, load."""
        names = ("step", "delay", "probability", "load")
        return {name: getattr(self, name) for name in names}

    @property
    def quiet(self) -> bool:
        """Return whether the best fit has no noise, so that its p means nothing."""
        noise = self.predicted - self.curve.rounds * self.step.value
        return bool((noise < _NO_NOISE * self.predicted).all())


def fit(
    curve: Curve,
    model: str = "bernoulli",
    rank: str = "last",
    *,
    step: Time | None = None,
    delay: Time | None = None,
    probability: float | None = None,
    confidence: float = 0.95,
) -> Fit:
    """Estimate the latency of a step and the noise per step from a scaling curve.

    All of the latency of a step is taken to follow a delay, as the CPU time of a message does.
    Where it is mostly time on the wire, the partner's message comes during the delay, and the
    estimate of the delay is too short: 10.4 µs for 14 µs with `LogGOPS(L="2.45us", o="500ns")`.

    Parameters
    ----------
    curve : Curve
        Measured.
    model : "bernoulli", "exponential" or "rare-exponential"
        Delay of a step: D with probability p (HM18, AGV05); exponential, every step or with
        probability p.
    rank : "last" or "mean"
        Whose completion the latency is.
    step, delay, probability : float or str, optional
        Known values: latency of a step, scale of the delay, probability of a hit.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        Names what is out of range.

    Examples
    --------
    >>> curve = Curve([2, 4, 8, 16], [5e-6, 11e-6, 18e-6, 26e-6])
    >>> found = fit(curve, rank="mean")
    >>> found.verdict, found.freedom
    ('fit', 1)
    """
    confidence = check_confidence(confidence)
    chosen = make_model(model, rank)
    known = _GivenParameters(
        None if step is None else parse_seconds(step, "step"),
        None if delay is None else parse_seconds(delay, "delay", positive=True),
        _check_probability(probability, chosen),
    )
    weight = 1 / (curve.latency if curve.error is None else curve.error) ** 2
    fitted = _search(curve, chosen, known, weight, confidence)
    if curve.error is None:
        return fitted
    # The simulation behind the model has an error, too: small, and now its size is known.
    own = fitted.delay.value * chosen.error(curve.rounds, fitted.probability.value)
    return _search(curve, chosen, known, 1 / (curve.error**2 + own**2), confidence)


class _GivenParameters(NamedTuple):
    step: float | None
    delay: float | None
    probability: float | None

    @property
    def free(self) -> int:
        return sum(value is None for value in self)


def _check_probability(value: float | None, model: Model) -> float | None:
    if not model.free:
        if value is not None:
            raise ValueError(f"probability must not be given for {model.name!r}: every step is "
                             "delayed")  # fmt: skip
        return 1.0
    ok = value is None or (isinstance(value, (int, float)) and 0 < value <= 1)
    if not ok:
        raise ValueError(f"probability must be above 0 and at most 1, got {shorten(value)}")
    return value


def _search(
    curve: Curve, model: Model, known: _GivenParameters, weight: Floats, confidence: float
) -> Fit:
    k, y = curve.rounds, curve.latency
    start = math.log(RARE_HITS / float(curve.ranks.max()))
    grid = np.linspace(start, 0.0, _COARSE_GRID) if known.probability is None else np.log(
        [known.probability])  # fmt: skip
    freedom = len(curve) - known.free
    for _ in range(_GRID_PASSES):
        sums = Sums.of(weight, k, model.extra(k, np.exp(grid)), y)
        steps, scales, misfits = best_parameters(sums, known.step, known.delay)
        limit = misfit_limit(float(misfits.min()), freedom, curve, confidence)
        within = np.flatnonzero(misfits <= limit)
        if len(grid) == 1:
            break
        ends = grid[[max(within[0] - 1, 0), min(within[-1] + 1, len(grid) - 1)]]
        grid = np.unique(np.concatenate([grid, np.linspace(ends[0], ends[1], _FINE_GRID)]))
    sums = Sums.of(weight, k, model.extra(k, np.exp(grid)), y)
    steps, scales, misfits = best_parameters(sums, known.step, known.delay)
    least = float(misfits.min())
    # Where D hits every path, more p changes nothing: then p is 1.
    at = int(np.flatnonzero(misfits <= least * (1 + 1e-12))[-1])
    limit = misfit_limit(float(misfits[at]), freedom, curve, confidence)
    p = np.exp(grid)
    predicted = k * steps[at] + scales[at] * model.extra(k, p[at : at + 1])[0]
    ranges = _profile_ranges(sums, limit, known, misfits)
    within = np.flatnonzero(misfits <= limit)
    lowest, highest = grid[[within[0], within[-1]]]
    rare = known.probability is None and within[0] == 0  # and there p * D is all that counts
    if known.probability is not None:
        given = known.probability
        probability = Bounds(given, given, given, fixed=True)
    else:
        low = 0.0 if rare else math.exp(lowest)
        probability = Bounds(float(p[at]), low, math.exp(highest))
    return Fit(
        curve, model, confidence, predicted, float(misfits[at]), freedom,
        _bounds(float(steps[at]), *ranges[0], known.step),
        _bounds(float(scales[at]), *ranges[1], known.delay, endless=rare),
        probability,
        _bounds(float(scales[at] * p[at]), ranges[1][0] * p, ranges[1][1] * p, None),
        np.stack([p, *ranges[1]]),
    )  # fmt: skip


def _profile_ranges(
    sums: Sums, limit: float, known: _GivenParameters, misfits: Floats
) -> list[tuple[Floats, Floats]]:
    """The least and largest L, then D, that fit, for each p."""
    ranges = []
    for own, other, view in (
        (known.step, known.delay, sums.swapped()), (known.delay, known.step, sums),
    ):  # fmt: skip
        if own is None:
            ranges.append(scales_within(view, limit, other))
        else:
            fixed = np.where(misfits <= limit, own, np.nan)
            ranges.append((fixed, fixed))
    return ranges


def _bounds(
    value: float, lows: Floats, highs: Floats, known: float | None, *, endless: bool = False
) -> Bounds:
    if known is not None:
        return Bounds(known, known, known, fixed=True)
    if np.isnan(lows).all():
        return Bounds(value, value, value)
    high = math.inf if endless and np.nanmax(highs) > 0 else float(np.nanmax(highs))
    return Bounds(value, min(float(np.nanmin(lows)), value), max(high, value))


def misfit_limit(least: float, freedom: int, curve: Curve, confidence: float) -> float:
    if curve.error is not None:
        return least + float(special.chdtri(1, 1 - confidence))
    if freedom <= 0:
        return least + len(curve) * _ALIKE**2
    allowed = float(special.fdtri(1, freedom, confidence))
    return least + max(least * allowed / freedom, 1e-12 * len(curve))


class Sums(NamedTuple):
    """The weighted sums over the points: kk (one number), km, mm, ky (one number), my, yy (one).

    For each p the misfit ``sum w (y - L k - D m)^2`` is a quadratic form in the latency L and the
    scale D, given by them.
    """

    kk: Floats
    km: Floats
    mm: Floats
    ky: Floats
    my: Floats
    yy: Floats

    @classmethod
    def of(cls, weight: Floats, k: Floats, m: Floats, y: Floats) -> Sums:
        """Make the sums; `m` has shape (probabilities, points), the others (points,)."""
        one = np.ones(len(m))
        return cls(
            (weight * k * k).sum() * one, m @ (weight * k), m**2 @ weight,
            (weight * k * y).sum() * one, m @ (weight * y), (weight * y * y).sum() * one,
        )  # fmt: skip

    def misfit(self, step: Floats, scale: Floats) -> Floats:
        """The weighted sum of squares at L = step, D = scale."""
        found = self.yy - 2 * step * self.ky - 2 * scale * self.my
        found = found + step**2 * self.kk + 2 * step * scale * self.km + scale**2 * self.mm
        return np.maximum(found, 0.0)

    def swapped(self) -> Sums:
        """The sums with L and D exchanged."""
        return Sums(self.mm, self.km, self.kk, self.my, self.ky, self.yy)


def best_parameters(
    sums: Sums, step: float | None, scale: float | None
) -> tuple[Floats, Floats, Floats]:
    """The L, D and misfit where this is smallest, for each p; what is given stays."""
    one = np.ones_like(sums.kk)
    if step is not None and scale is not None:
        return _with_misfit(sums, step * one, scale * one)
    if step is not None:
        return _with_misfit(sums, step * one, _one_parameter(sums.mm, sums.my - sums.km * step))
    if scale is not None:
        return _with_misfit(sums, _one_parameter(sums.kk, sums.ky - sums.km * scale), scale * one)
    edges = [
        _with_misfit(sums, _one_parameter(sums.kk, sums.ky), 0 * one),
        _with_misfit(sums, 0 * one, _one_parameter(sums.mm, sums.my)),
    ]
    determinant = sums.kk * sums.mm - sums.km**2
    solid = determinant > _FLAT * sums.kk * sums.mm
    safe = np.where(solid, determinant, 1.0)
    free_step = (sums.ky * sums.mm - sums.km * sums.my) / safe
    free_scale = (sums.kk * sums.my - sums.km * sums.ky) / safe
    inside = solid & (free_step >= 0) & (free_scale >= 0)
    middle = _with_misfit(sums, np.where(inside, free_step, 0), np.where(inside, free_scale, 0))
    choices = [np.stack(parts) for parts in zip(middle, *edges, strict=True)]
    choices[2][0] = np.where(inside, choices[2][0], np.inf)
    pick = choices[2].argmin(axis=0)[None]
    found = [np.take_along_axis(part, pick, axis=0)[0] for part in choices]
    return found[0], found[1], found[2]


def scales_within(sums: Sums, limit: float, step: float | None) -> tuple[Floats, Floats]:
    """The least and the largest D >= 0 that some L >= 0 brings to a misfit of at most `limit`.

    NaN where there is none, inf where D has no upper end.
    """
    if step is not None:
        residual = sums.yy - 2 * step * sums.ky + step**2 * sums.kk - limit
        return _roots(sums.mm, sums.my - sums.km * step, residual, sums.mm, 0.0, np.inf)
    # L = (ky - km D) / kk as long as that is not negative, from there on 0.
    turn = np.where(sums.km > 0, sums.ky / np.where(sums.km > 0, sums.km, 1), np.inf)
    free = _roots(
        sums.mm - sums.km**2 / sums.kk, sums.my - sums.km * sums.ky / sums.kk,
        sums.yy - sums.ky**2 / sums.kk - limit, sums.mm, 0.0, turn,
    )  # fmt: skip
    none = _roots(sums.mm, sums.my, sums.yy - limit, sums.mm, turn, np.inf)
    return np.fmin(free[0], none[0]), np.fmax(free[1], none[1])


def _with_misfit(sums: Sums, step: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    return step, scale, sums.misfit(step, scale)


def _one_parameter(square: Floats, product: Floats) -> Floats:
    return np.maximum(np.divide(product, square, out=np.zeros_like(square), where=square > 0), 0)


def _roots(
    a: Floats, b: Floats, c: Floats, size: Floats, low: float | Floats, high: float | Floats
) -> tuple[Floats, Floats]:
    """The ends of ``a x^2 - 2 b x + c <= 0`` in [low, high]; `size`: what a could be at most."""
    bent = a > _FLAT * size
    safe = np.where(bent, a, 1.0)
    under = b**2 - a * c
    reach = np.sqrt(np.maximum(under, 0.0))
    start = np.where(bent, (b - reach) / safe, -np.inf)
    end = np.where(bent, (b + reach) / safe, np.inf)
    there = np.where(bent, under >= 0, c <= 0)
    start, end = np.maximum(start, low), np.minimum(end, high)
    there = there & (start <= end)
    return np.where(there, start, np.nan), np.where(there, end, np.nan)


def _noise_text(noise: StepNoise) -> str:
    """Return a source as an option takes it, with all digits."""
    delay = noise.delay
    text = exact_text(delay.mean if isinstance(delay, Exponential) else delay.expected())
    text = f"exponential(mean={text})" if isinstance(delay, Exponential) else text
    share = f",probability={noise.probability!r}" if noise.probability < 1 else ""
    return f"kind=step,delay={text}{share}"


def _model_line(fitted: Fit) -> str:
    law = {
        "bernoulli": "each step is delayed by D with probability p",
        "exponential": "each step is delayed by an exponential time of mean D",
        "rare-exponential": "with probability p a step is delayed by an exponential time of mean D",
    }[fitted.model.name]
    whose = f"{fitted.model.rank} rank"
    return f"model: a step takes L, {law}; latency is the mean completion of the {whose}"


def _parameter_rows(fitted: Fit) -> list[tuple[str, str, str]]:
    """The name, sign and value of each parameter."""
    rows = [("latency of a step", "L", fitted.step, "s"),
            (fitted.model.scale, "D", fitted.delay, "s")]  # fmt: skip
    if fitted.model.free:
        rows += [("probability of a hit", "p", fitted.probability, ""),
                 ("mean delay of a step", "p D", fitted.load, "s")]  # fmt: skip
    return [(name, sign, _shown_bounds(value, unit, fitted)) for name, sign, value, unit in rows]


def _shown_bounds(value: Bounds, unit: str, fitted: Fit) -> str:
    """An estimate, and its interval where it has one."""
    if value.fixed:
        return f"{shown_amount(value.value, unit)}  (given)"
    if fitted.verdict == NO_FIT:
        return f"{shown_amount(value.value, unit)}  (the closest)"
    shown, low, high = shown_bounds(value, unit)
    return f"{shown}  [{low}, {high}]"


def shown_bounds(bounds: Bounds, unit: str) -> list[str]:
    """A value and its ends, with as many digits as show that they differ."""
    digits = interval_digits(bounds[:3], 3)
    return ["no upper end" if math.isinf(one) else shown_amount(one, unit, digits)
            for one in bounds[:3]]  # fmt: skip


def shown_amount(value: float, unit: str, digits: int = 3) -> str:
    """A time with its unit, or a number."""
    return show_seconds(value, digits) if unit == "s" else f"{value:.{digits}g}"


def _verdict_line(fitted: Fit) -> str:
    """Say whether the model explains the curve, and how that was decided."""
    if not math.isnan(fitted.chance):
        how = (
            f"chi2 = {fitted.chi2:.3g} with {max(fitted.freedom, 0)} degrees of freedom; chance "
            f"alone gives as much {'at most ' * (fitted.freedom <= 0)}{_percent(fitted.chance)} of "
            "the time"
        )
        if fitted.verdict == NO_FIT:
            how += f" (below {100 * SIGNIFICANCE:g} % counts as no fit)"
    else:
        how = f"rms of measured / model - 1 is {_percent(fitted.misfit)}"
        if fitted.verdict == NO_FIT:
            how += f" (above {100 * TOLERANCE:g} % counts as no fit)"
    if fitted.verdict == NOT_TESTED:
        how = "as many parameters as points, or more, so this tests nothing"
    return f"{fitted.verdict}: {how}"


def _explanations(fitted: Fit) -> list[str]:
    """Say what the intervals are, what the curve can not tell, what does not fit and what could."""
    lines = _about_no_fit(fitted) if fitted.verdict == NO_FIT else _about_intervals(fitted)
    if not lines:
        other = f"the mean rank ({parameter('rank', 'mean')})"
        if fitted.model.rank == "mean":
            other = f"the last rank ({parameter('rank', 'last')})"
        return [
            "no L, D and p of this model give a curve of this shape: in the model a delay holds up "
            "all of L, as if L were CPU time",
            "a likely reason is that L is mostly time on the wire, during which delays pass: "
            "`jitterfly slowdown` with your network and a noise that you suppose has that",
            f"others are a second source of noise, which {parameter('model', 'two-bernoulli')} "
            f"looks for (`fit_two_sources`), and that this is the latency of {other}, not of the "
            f"{fitted.model.rank} one",
            *fitted.curve.notes,
        ]
    larger = "p" if fitted.delay.fixed and fitted.model.free else "D"
    return [*lines, f"{ASSUMED} {larger} is larger than this", IN_STEP, *fitted.curve.notes]


def _about_intervals(fitted: Fit) -> list[str]:
    share = f"{100 * fitted.confidence:g} %"
    if fitted.curve.error is not None:
        lines = [f"{share} intervals: profile likelihood, with the errors of the file"]
    elif fitted.freedom > 0:
        lines = [f"{share} intervals: profile likelihood, errors estimated from the misfit and "
                 "taken as an equal share of each latency; better give them"]  # fmt: skip
    else:
        lines = [WITHOUT_ERRORS]
    if math.isinf(fitted.delay.high):
        lines.append("D has no upper end: longer and rarer noise fits as well; the curve tells the "
                     "mean delay of a step alone, which is p times D")  # fmt: skip
    if fitted.delay.low == 0 and not fitted.delay.fixed:
        lines.append("D may be 0: the curve shows no noise that can be told from none")
    if fitted.step.low == 0 and fitted.probability.high == 1 and not fitted.step.fixed:
        lines.append("noise that hits every step is the same as a larger L")
    if fitted.verdict == NOT_TESTED:
        lines += _beyond_saturation(fitted)[:1]
    partial = fitted.curve.ranks & (fitted.curve.ranks - 1) != 0
    if partial.any():
        lines.append("between powers of two the model is interpolated over log2(ranks)")
    return lines


def _about_no_fit(fitted: Fit) -> list[str]:
    curve, lines, step = fitted.curve, _beyond_saturation(fitted), fitted.step.value
    if curve.latency[-1] <= curve.latency[0] and (np.diff(curve.latency) < 0).any():
        lines.append("the latency falls with the number of ranks; in the model it can only rise")
    if fitted.step.fixed and (curve.latency < curve.rounds * step).any():
        at = int(np.argmin(curve.latency / curve.rounds))
        least = show_seconds(float(curve.rounds[at]) * step, 4)
        lines.append(f"at {curve.ranks[at]:,} ranks it is below K L = {least}, the time without "
                     "noise")  # fmt: skip
    return lines


def _beyond_saturation(fitted: Fit) -> list[str]:
    """Explain a latency above K (L + D), which no p reaches, if there is one."""
    curve = fitted.curve
    at = int(np.argmax(curve.latency / np.maximum(fitted.predicted, 1e-15)))
    k, seen, ranks = float(curve.rounds[at]), float(curve.latency[at]), f"{curve.ranks[at]:,} ranks"
    quiet = k * fitted.step.value
    reach = quiet + k * fitted.model.most * fitted.delay.value
    if not fitted.delay.fixed or seen <= reach * (1 + _ROUNDING):
        return []
    step, delay = (show_seconds(x.value, 3) for x in (fitted.step, fitted.delay))
    rare = float(fitted.model.extra([k], [_RARE_EXAMPLE])[0, 0])
    every_step, rare_hits = (seen - quiet) / k, (seen - quiet) / rare
    return [
        f"at {ranks} the model reaches at most K (L + D) = {k:.4g} ({step} + {delay}) = "
        f"{show_seconds(reach, 4)}, with every step hit; measured: {show_seconds(seen, 4)}",
        f"{show_seconds(seen - reach, 4)} remain unexplained by any p",
        "what could explain them: longer noise (D of "
        f"{show_seconds(every_step, 3)} if it hits every step, {show_seconds(rare_hits, 3)} at "
        f"p = {_RARE_EXAMPLE:g}), detours of a heavy tail, of which the last rank sees the "
        "longest,",
        "or noise that is not independent: daemons that stop all ranks of a node or of the "
        "machine at once add their whole time",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
