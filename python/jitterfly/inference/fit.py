"""From a scaling curve to the latency of a step and the noise that explain it, with intervals.

Weighted least squares, L and D in closed form for each p, so that p is the only search. Intervals
are of the profile likelihood: all values that some choice of the other parameters brings within
chi2(1) of the best misfit, or within F(1, freedom) where errors are not given and estimated from
the misfit. What the curve can not tell shows as an interval without an end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..fields import shorten
from ..stats.distributions import special
from ..stats.estimates import check_confidence
from ..units import Time, parse_seconds
from . import quadratic, verdict
from .curve import Curve
from .found import Bounds, Fit
from .model import Model, make_model
from .quadratic import Sums

Floats = npt.NDArray[np.float64]

_ALIKE = 1e-3  # with too few points to test: parameters that fit to this share are alike
_RARE = 1e-4  # p * ranks from which on a smaller p only means a larger D
_COARSE, _FINE, _PASSES = 240, 100, 3


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
    check_confidence(confidence)
    chosen = make_model(model, rank)
    known = _Known(
        None if step is None else parse_seconds(step, "--step"),
        None if delay is None else parse_seconds(delay, "--delay", positive=True),
        _check_probability(probability, chosen),
    )
    weight = 1 / (curve.latency if curve.error is None else curve.error) ** 2
    found = _search(curve, chosen, known, weight, confidence)
    if curve.error is None:
        return found
    # The simulation behind the model has an error, too: small, and now its size is known.
    own = found.scale.value * chosen.error(curve.rounds, found.probability.value)
    return _search(curve, chosen, known, 1 / (curve.error**2 + own**2), confidence)


class _Known(NamedTuple):
    step: float | None
    scale: float | None
    probability: float | None

    @property
    def free(self) -> int:
        return sum(value is None for value in self)


def _check_probability(value: float | None, model: Model) -> float | None:
    if not model.free:
        if value is not None:
            raise ValueError(f"--probability must not be given for {model.name!r}: every step is "
                             "delayed")  # fmt: skip
        return 1.0
    ok = value is None or (isinstance(value, (int, float)) and 0 < value <= 1)
    if not ok:
        raise ValueError(f"--probability must be above 0 and at most 1, got {shorten(value)}")
    return value


def _search(curve: Curve, model: Model, known: _Known, weight: Floats, confidence: float) -> Fit:
    k, y = curve.rounds, curve.latency
    start = math.log(_RARE / float(curve.ranks.max()))
    grid = np.linspace(start, 0.0, _COARSE) if known.probability is None else np.log(
        [known.probability])  # fmt: skip
    freedom = len(curve) - known.free
    for _ in range(_PASSES):
        sums = Sums.of(weight, k, model.extra(k, np.exp(grid)), y)
        steps, scales, misfits = quadratic.best(sums, known.step, known.scale)
        limit = _limit(float(misfits.min()), freedom, curve, confidence)
        within = np.flatnonzero(misfits <= limit)
        if len(grid) == 1:
            break
        ends = grid[[max(within[0] - 1, 0), min(within[-1] + 1, len(grid) - 1)]]
        grid = np.unique(np.concatenate([grid, np.linspace(*ends, _FINE)]))
    sums = Sums.of(weight, k, model.extra(k, np.exp(grid)), y)
    steps, scales, misfits = quadratic.best(sums, known.step, known.scale)
    least = float(misfits.min())
    # Where D hits every path, more p changes nothing: then p is 1.
    at = int(np.flatnonzero(misfits <= least * (1 + 1e-12))[-1])
    limit = _limit(float(misfits[at]), freedom, curve, confidence)
    p = np.exp(grid)
    predicted = k * steps[at] + scales[at] * model.extra(k, p[at : at + 1])[0]
    misfit = float(np.sqrt(np.mean((y / np.maximum(predicted, 1e-15) - 1) ** 2)))
    chance = verdict.chance(float(misfits[at]), freedom, curve)
    ranges = _ranges(sums, limit, known, misfits)
    within = np.flatnonzero(misfits <= limit)
    lowest, highest = grid[[within[0], within[-1]]]
    rare = known.probability is None and within[0] == 0  # and there p * D is all that counts
    if known.probability is not None:
        probability = Bounds(*(3 * [known.probability]), fixed=True)
    else:
        low = 0.0 if rare else math.exp(lowest)
        probability = Bounds(float(p[at]), low, math.exp(highest))
    return Fit(
        curve, model, confidence, verdict.verdict(curve, freedom, misfit, chance),
        _bounds(float(steps[at]), *ranges[0], known.step),
        _bounds(float(scales[at]), *ranges[1], known.scale, endless=rare),
        probability,
        _bounds(float(scales[at] * p[at]), ranges[1][0] * p, ranges[1][1] * p, None),
        predicted, misfit, float(misfits[at]), freedom, chance,
        np.stack([p, *ranges[1]]),
    )  # fmt: skip


def _ranges(
    sums: Sums, limit: float, known: _Known, misfits: Floats
) -> list[tuple[Floats, Floats]]:
    """Least and largest L, then D, that fit, for each p."""
    found = []
    for own, other, view in (
        (known.step, known.scale, sums.swapped()), (known.scale, known.step, sums),
    ):  # fmt: skip
        if own is None:
            found.append(quadratic.scales_within(view, limit, other))
        else:
            fixed = np.where(misfits <= limit, own, np.nan)
            found.append((fixed, fixed))
    return found


def _bounds(
    value: float, lows: Floats, highs: Floats, known: float | None, *, endless: bool = False
) -> Bounds:
    if known is not None:
        return Bounds(known, known, known, fixed=True)
    if np.isnan(lows).all():
        return Bounds(value, value, value)
    high = math.inf if endless and np.nanmax(highs) > 0 else float(np.nanmax(highs))
    return Bounds(value, min(float(np.nanmin(lows)), value), max(high, value))


def _limit(least: float, freedom: int, curve: Curve, confidence: float) -> float:
    if curve.error is not None:
        return least + float(special().chdtri(1, 1 - confidence))
    if freedom <= 0:
        return least + len(curve) * _ALIKE**2
    allowed = float(special().fdtri(1, freedom, confidence))
    return least + max(least * allowed / freedom, 1e-12 * len(curve))
