"""`fit_two_sources`: two noise sources, frequent short and rare long, from a scaling curve.

Each adds its own mean to the latency, ``K L + D1 E(p1, K) + D2 E(p2, K)``. The mean over the last
rank of a sum is at most that, and as much where one of them is rare: at HM18's values (14 µs with
p = 0.004, 1.75 ms with p = 8e-6) up to 4096 ranks no simulation tells the two apart.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from jitterfly import optional_packages
from jitterfly.answer import ShownTable
from jitterfly.fields import shorten
from jitterfly.stats.intervals import check_confidence
from jitterfly.units import Time, parse_seconds, show_seconds

from .fit import (
    NO_FIT,
    NOT_TESTED,
    RARE_HITS,
    WITHOUT_ERRORS,
    Bounds,
    CurveFit,
    misfit_limit,
    shown_amount,
    shown_bounds,
)
from .scaling_curves import Curve
from .step_noise_models import ASSUMED, IN_STEP, Model, make_model

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]

MODEL = "two-bernoulli"
_LONGER = f"{ASSUMED} delays are longer than these"
_GRID, _PASSES = 64, 3  # values of each probability, and how often the grid closes in
_DETERMINED = 10.0  # a parameter whose interval spans more than this factor is not determined
_NAMES = {
    "step": ("latency of a step", "L"),
    "delay": ("delay of the frequent source", "D1"),
    "probability": ("its probability", "p1"),
    "rare_delay": ("delay of the rare source", "D2"),
    "rare_probability": ("its probability", "p2"),
    "load": ("mean delay of a step by the frequent", "p1 D1"),
    "rare_load": ("by the rare", "p2 D2"),
}


@dataclass(frozen=True, eq=False, repr=False)
class TwoSourceFit(CurveFit):
    """The parameters of two sources of noise that explain a curve best.

    Attributes
    ----------
    verdict : "fit", "no fit" or "not tested"
        As of `Fit`.
    bounds : dict of Bounds
        By name: step, delay, probability, rare_delay, rare_probability, load and rare_load (the
        probability times the delay). Seconds.
    predicted : float array, shape (points,)
        Seconds.
    misfit, chi2, freedom, chance
        As of `Fit`.
    """

    bounds: dict[str, Bounds]

    def __repr__(self) -> str:
        parameters = ", ".join(
            f"{_NAMES[name][1]} {shown_amount(one.value, _unit(name))}"
            for name, one in self.bounds.items()
        )
        return f"TwoSourceFit({self.verdict!r}: {parameters}; {len(self.curve)} points)"

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The names of parameters whose interval spans more than a factor of 10, or has no end.

        Without errors, or more points than parameters to estimate them, all that are free.
        """
        if self.verdict == NO_FIT:
            return ()
        return tuple(
            name
            for name, one in self.bounds.items()
            if not one.fixed
            and (not self.intervals or one.low <= 0 or one.high > _DETERMINED * one.low)
        )

    @property
    def hits(self) -> tuple[tuple[float, float], ...]:
        """The delay of a step, seconds, and the probability of each source."""
        names = (("delay", "probability"), ("rare_delay", "rare_probability"))
        return tuple((self.bounds[d].value, self.bounds[p].value) for d, p in names)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each of `bounds`: parameter, value, low, high, given, determined.

        Raises
        ------
        ValueError
            pandas is not installed.
        """
        columns = ("parameter", "value", "low", "high", "given", "determined")
        rows = [
            dict(zip(columns, (name, *one, name not in self.undetermined), strict=True))
            for name, one in self.bounds.items()
        ]
        return optional_packages.data_frame(rows, columns)

    def shown_tables(self) -> list[ShownTable]:
        """Return the tables of parameters and of points."""
        rows = []
        for name, one in self.bounds.items():
            value, low, high = shown_bounds(one, _unit(name))
            ends = "(given)" if one.fixed else f"[{low}, {high}]"
            if self.verdict == NO_FIT and not one.fixed:
                ends = "(the closest)"
            rows.append((*_NAMES[name], f"{value}  {ends}"))
        return [ShownTable("", (), tuple(rows), left=3), self.points_table()]

    def notes(self) -> list[str]:
        """Say which model it is, its verdict, and what the curve does not determine."""
        how = f"rms of measured / model - 1 is {100 * self.misfit:.2g} %"
        if self.verdict == NOT_TESTED:
            how = "as many parameters as points, or more, so this tests nothing"
        lines = [
            "model: a step takes L, each step is delayed by D1 with probability p1 and by D2 with "
            f"probability p2 < p1; latency is the mean completion of the {self.model.rank} rank",
            f"{self.verdict}: {how}",
        ]
        if self.verdict == NO_FIT:
            return [*lines, _LONGER, *self.curve.notes]
        share = f"{100 * self.confidence:g} %"
        lines.append(f"{share} intervals: profile likelihood" if self.intervals else WITHOUT_ERRORS)
        free = [name for name, one in self.bounds.items() if not one.fixed]
        lost = [_NAMES[name][1] for name in self.undetermined]
        kept = [_NAMES[name][1] for name in free if name not in self.undetermined]
        if lost:
            why = f"from nothing, or over more than a factor of {_DETERMINED:g}"
            why = why if self.intervals else "give errors, or more points"
            lines.append(f"not determined ({why}): {', '.join(lost)}")
        lines.append(f"determined: {', '.join(kept) or 'nothing'}")
        return [*lines, _LONGER, IN_STEP, *self.curve.notes,
                *self.noise_lines(self.bounds["step"])]  # fmt: skip


def fit_two_sources(
    curve: Curve,
    rank: str = "last",
    *,
    step: Time | None = None,
    delay: Time | None = None,
    rare_delay: Time | None = None,
    confidence: float = 0.95,
) -> TwoSourceFit:
    """Estimate a step and two sources of noise per step from a scaling curve.

    A step is paid after a delay, as in `fit`, so that delays are too short where it is mostly time
    on the wire.

    Parameters
    ----------
    curve : Curve
        Measured.
    rank : "last" or "mean"
        Whose completion the latency is.
    step, delay, rare_delay : float or str, optional
        Known values: latency of a step, delay of the frequent and of the rare source.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    TwoSourceFit
        Intervals are of the profile likelihood on a grid of both probabilities. A curve seldom
        determines all five parameters: `undetermined` has the names of the others.

    Raises
    ------
    ValueError
        Names what is out of range.

    Examples
    --------
    >>> curve = Curve([32, 4096], [21.16e-6, 671e-6])  # HM18, 24 nodes taken as 32
    >>> found = fit_two_sources(curve, step="2.81us", delay="14us", rare_delay="1.75ms")
    >>> found.verdict, found.freedom
    ('not tested', 0)
    """
    confidence = check_confidence(confidence)
    given = (
        None if step is None else parse_seconds(step, "step"),
        None if delay is None else parse_seconds(delay, "delay", positive=True),
        None if rare_delay is None else parse_seconds(rare_delay, "rare_delay", positive=True),
    )
    if given[1] is not None and given[2] is not None and given[2] <= given[1]:
        raise ValueError(
            f"rare_delay must be above delay = {show_seconds(given[1])}, got {shorten(rare_delay)}"
        )
    model = make_model("bernoulli", rank)
    weight = 1 / (curve.latency if curve.error is None else curve.error)
    freedom = len(curve) - 2 - sum(one is None for one in given)
    start = math.log(RARE_HITS / float(curve.ranks.max()))
    ends = [(start, 0.0), (start, 0.0)]
    for _ in range(_PASSES):
        axes = [np.linspace(low, high, _GRID) for low, high in ends]
        grid = _Grid.of(curve, model, weight, given, np.exp(axes[0]), np.exp(axes[1]))
        limit = misfit_limit(float(grid.misfit.min()), freedom, curve, confidence)
        within = grid.misfit <= limit
        inside = [np.asarray(within.any(axis=other)) for other in (1, 0)]
        ends = [_around(axes[0], inside[0]), _around(axes[1], inside[1])]
    endless = [fits[0] and axis[0] <= start for fits, axis in zip(inside, axes, strict=True)]
    return _fitted(curve, model, confidence, given, freedom, grid, limit, endless)


@dataclass(frozen=True)
class _Grid:
    """The best L, D1 and D2 for each pair of probabilities, and how far each may be from it."""

    p: Floats  # (n,)
    rare_p: Floats  # (m,)
    misfit: Floats  # (n, m)
    best: Floats  # (n, m, 3), none below 0
    free: Floats  # (n, m, 3), as if they could be
    inverse: Floats  # (n, m, 3), diagonal of the inverse of the normal equations
    least: Floats  # (n, m), misfit of `free`
    extra: Floats  # (n + m, points), delays in units of D1, D2

    @classmethod
    def of(
        cls,
        curve: Curve,
        model: Model,
        weight: Floats,
        given: tuple[float | None, ...],
        p: Floats,
        rare_p: Floats,
    ) -> _Grid:
        n, m, points = len(p), len(rare_p), len(curve)
        extra = model.extra(curve.rounds, np.concatenate([p, rare_p]))
        columns = np.empty((n, m, points, 3))
        columns[..., 0] = curve.rounds
        columns[..., 1] = extra[:n, None, :]
        columns[..., 2] = extra[None, n:, :]
        columns *= weight[:, None]
        y = np.broadcast_to(curve.latency * weight, (n, m, points)).copy()
        known = np.array([0.0 if one is None else one for one in given])
        y -= columns @ known
        open_ = [i for i, one in enumerate(given) if one is None]
        best = np.broadcast_to(known, (n, m, 3)).copy()
        misfit = (y * y).sum(axis=-1)
        free, inverse, least = best.copy(), np.zeros((n, m, 3)), misfit.copy()
        for size in range(1, len(open_) + 1):
            for chosen in itertools.combinations(open_, size):
                part = columns[..., chosen]
                scale = np.sqrt((part * part).sum(axis=-2)) + 1e-300
                unit = part / scale[..., None, :]
                normal = np.swapaxes(unit, -1, -2) @ unit
                inverted = np.linalg.pinv(normal, hermitian=True)
                found = (inverted @ (np.swapaxes(unit, -1, -2) @ y[..., None]))[..., 0]
                residual = y - (unit @ found[..., None])[..., 0]
                square = (residual * residual).sum(axis=-1)
                found = found / scale
                better = (found >= 0).all(axis=-1) & (square < misfit)
                misfit = np.where(better, square, misfit)
                values = np.broadcast_to(known, (n, m, 3)).copy()
                values[..., chosen] = found
                best = np.where(better[..., None], values, best)
                if size == len(open_):
                    free, least = values, square
                    diagonal = np.diagonal(inverted, axis1=-2, axis2=-1) / scale**2
                    inverse[..., chosen] = diagonal
        rarer = p[:, None] > rare_p[None, :]
        longer = best[..., 2] >= best[..., 1]
        misfit = np.where(rarer & (longer | (best[..., 2] == 0)), misfit, np.inf)
        return cls(p, rare_p, misfit, best, free, inverse, least, extra)


def _around(axis: Floats, within: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The part of a grid that fits, and a value more on each side."""
    at = np.flatnonzero(within)
    return float(axis[max(at[0] - 1, 0)]), float(axis[min(at[-1] + 1, len(axis) - 1)])


def _fitted(
    curve: Curve,
    model: Model,
    confidence: float,
    given: tuple[float | None, ...],
    freedom: int,
    grid: _Grid,
    limit: float,
    endless: list[bool],
) -> TwoSourceFit:
    """Make the fit; `endless`: whether the smallest p fits, so that a longer delay does as well."""
    i, j = np.unravel_index(int(np.argmin(grid.misfit)), grid.misfit.shape)
    within = grid.misfit <= limit
    reach = np.sqrt(np.maximum(limit - grid.least, 0.0)[..., None] * grid.inverse)
    low = np.minimum(np.maximum(grid.free - reach, 0.0), grid.best)
    high = np.maximum(grid.free + reach, grid.best)
    values = grid.best[i, j]
    bounds: dict[str, Bounds] = {}
    for at, name in enumerate(("step", "delay", "rare_delay")):
        known = given[at]
        if known is not None:
            bounds[name] = Bounds(known, known, known, fixed=True)
        else:
            least, upper = float(low[within][:, at].min()), float(high[within][:, at].max())
            if at and endless[at - 1] and upper > 0:
                upper = math.inf
            bounds[name] = Bounds(float(values[at]), least, upper)
    shape = grid.misfit.shape
    sources = (
        ("delay", "probability", "load", np.broadcast_to(grid.p[:, None], shape), 1),
        ("rare_delay", "rare_probability", "rare_load",
         np.broadcast_to(grid.rare_p[None, :], shape), 2),
    )  # fmt: skip
    for delay, name, load, p, at in sources:
        inside = p[within]
        least, most = float(inside.min()), float(inside.max())
        # Without a delay any probability is as good.
        if bounds[delay].low == 0 and not bounds[delay].fixed:
            least, most = 0.0, 1.0
        elif endless[at - 1]:
            least = 0.0
        bounds[name] = Bounds(float(p[i, j]), least, most)
        ends = (low[within][:, at] * inside).min(), (high[within][:, at] * inside).max()
        bounds[load] = Bounds(float(values[at] * p[i, j]), float(ends[0]), float(ends[1]))
    predicted = curve.rounds * values[0] + values[1] * grid.extra[i]
    predicted = predicted + values[2] * grid.extra[len(grid.p) + j]
    in_order = {name: bounds[name] for name in _NAMES}
    chi2 = float(grid.misfit[i, j])
    return TwoSourceFit(curve, model, confidence, predicted, chi2, freedom, in_order)


def _unit(name: str) -> str:
    return "" if name.endswith("probability") else "s"
