"""Extreme values: mean and distribution of the largest of N independent delays (AGV05).

`completion_bound`: the delay that no redundancy can remove, since one rank is late from the start.

N goes up to 2^62, so nothing here subtracts numbers that are nearly equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..case import Case, check_case
from ..fields import Dataclass, check_integer, check_numbers, frozen_dataclass, shorten
from ..optional_packages import special
from ..units import (
    TICKS_PER_SECOND,
    PositiveSeconds,
    Seconds,
    Time,
    from_ticks,
    parse_seconds,
    to_ticks,
)
from .closed_forms import noise_free_completion
from .probability_laws import Bracket, Floats, Mesh, RandomDelay, check_probability

MAX_DRAWS = 2**62
_TIMES, _SHARES = "t must be times in seconds", "shares must be numbers from 0 to 1"


def largest_exponential(count: int, mean: Time) -> float:
    """The mean of the largest of `count` exponential delays, seconds: ``mean * H_count``.

    Parameters
    ----------
    count : int
        N, from 1; H_N = 1 + 1/2 + ... + 1/N.
    mean : float or str
        Seconds.

    Examples
    --------
    >>> largest_exponential(2, "1s")
    1.5
    """
    count = check_integer(count, "count", 1, MAX_DRAWS)
    return float(parse_seconds(mean, "mean") * (special.digamma(count + 1.0) + np.euler_gamma))


def largest_pareto(count: int, scale: Time, shape: float) -> float:
    """The mean of the largest of `count` Pareto delays, seconds.

    ``scale * Gamma(1 - 1/shape) * N! / Gamma(N + 1 - 1/shape)``; infinite for a shape up to 1.

    Parameters
    ----------
    count : int
        N, from 1.
    scale : float or str
        Smallest delay, seconds.
    shape : float
        P(delay > t) = (scale / t)^shape.

    Examples
    --------
    >>> round(largest_pareto(1, "1s", 3.0), 12)
    1.5
    """
    count = check_integer(count, "count", 1, MAX_DRAWS)
    least = parse_seconds(scale, "scale")
    if not shape > 0:
        raise ValueError(f"shape must be above 0, got {shorten(shape)}")
    if shape <= 1:
        return math.inf
    part = 1.0 / shape
    # poch(z, m) = Gamma(z + m) / Gamma(z): the two logarithms alone would cancel for large N.
    return float(least * special.gamma(1 - part) * special.poch(count + 1.0 - part, part))


def largest_bernoulli(count: int, probability: float, duration: Time) -> float:
    """The mean of the largest of `count` Bernoulli delays, seconds: ``D (1 - (1 - p)^N)``.

    Examples
    --------
    >>> largest_bernoulli(2, 0.5, "4s")
    3.0
    """
    count = check_integer(count, "count", 1, MAX_DRAWS)
    check_probability(probability)
    if probability == 1:
        return parse_seconds(duration, "duration")
    return -parse_seconds(duration, "duration") * math.expm1(count * math.log1p(-probability))


def largest_residual(count: int, period: Time, duration: Time) -> float:
    """The mean of the largest residual noise that `count` independent processors are in.

    With stationary periodic noise a processor is inside an interval with probability q =
    duration / period, anywhere in it alike. The mean of the largest residual is
    ``duration * (1 - (1 - (1 - q)**(count + 1)) / (q * (count + 1)))`` (the setting of Agarwal,
    Garg & Vishnoi 2005).

    Parameters
    ----------
    count : int
        From 1.
    period, duration : float or str
        Seconds, duration < period.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> round(largest_residual(1, 1.0, 0.5), 12)  # q * duration / 2
    0.125
    """
    count = check_integer(count, "count", 1, MAX_DRAWS)
    p = parse_seconds(period, "period", positive=True)
    d = parse_seconds(duration, "duration")
    if d >= p:
        raise ValueError(f"duration must be shorter than period = {p} s, got {d}")
    q = d / p
    n = count + 1
    if q * n < 1e-3:  # the terms cancel: the series of 1 - (1 - (1 - q)^n) / (q n)
        x = q * count
        return d * (x / 2 - x * q * (count - 1) / 6 + x * q * q * (count - 1) * (count - 2) / 24)
    return d * (1 + math.expm1(n * math.log1p(-q)) / (q * n))


_STEPS, _POINTS = 2**10, 2**14  # of the grid for means that have no closed form


@frozen_dataclass()
class Residual(Dataclass):
    """The rest of a stationary periodic interruption at a random moment, or 0 outside.

    Parameters
    ----------
    period, duration : float or str
        Seconds, duration < period.

    Examples
    --------
    >>> round(Residual("10us", "1us").survival(0.0).item(), 12)
    0.1
    """

    period: PositiveSeconds
    duration: Seconds

    def __post_init__(self) -> None:
        if self.duration >= self.period:
            raise ValueError(
                f"duration must be shorter than period = {self.period} s, got {self.duration}"
            )

    def survival(self, t: npt.ArrayLike) -> Floats:
        """P(residual > t), for t in seconds, any shape."""
        at = check_numbers(t, _TIMES).astype(float)
        share = np.clip(self.duration - at, 0.0, None) / self.period
        return np.where(at < 0, 1.0, np.minimum(share, 1.0))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The smallest t in seconds with P(residual <= t) >= q."""
        above = 1 - check_numbers(q, _SHARES)
        found: Floats = np.maximum(self.duration - above * self.period, 0.0)
        return found

    def expected(self) -> float:
        """The mean, seconds."""
        return self.duration**2 / (2 * self.period)

    def longest_ticks(self) -> int:
        """The `duration` in ticks."""
        return to_ticks(self.duration)


@dataclass(frozen=True)
class Largest:
    """The distribution of the largest of `count` independent delays.

    Parameters
    ----------
    count : int
        N, from 1 to 2^62.
    delay
        A distribution such as `Exponential`, or `Residual`.
    probability : float
        Each is `delay` with this probability, and else 0.

    Examples
    --------
    >>> import jitterfly as jf
    >>> largest = Largest(2**20, jf.Exponential(mean="1us"))
    >>> round(largest.mean() * 1e6, 3), round(float(largest.isf(1e-9)) * 1e6, 3)
    (14.44, 34.586)
    """

    count: int
    delay: Any
    probability: float = 1.0

    def __post_init__(self) -> None:
        check_integer(self.count, "count", 1, MAX_DRAWS)
        check_probability(self.probability)

    def survival(self, t: npt.ArrayLike) -> Floats:
        """P(largest > t), for t in seconds, any shape; accurate in relative terms."""
        one = self.probability * np.asarray(self.delay.survival(t), dtype=float)
        with np.errstate(divide="ignore"):
            return np.where(np.asarray(t) < 0, 1.0, -np.expm1(self.count * np.log1p(-one)))

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """P(largest <= t), for t in seconds, any shape."""
        one = self.probability * np.asarray(self.delay.survival(t), dtype=float)
        with np.errstate(divide="ignore"):
            return np.where(np.asarray(t) < 0, 0.0, np.exp(self.count * np.log1p(-one)))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The smallest t with P(largest <= t) >= q, in seconds, for q in [0, 1)."""
        with np.errstate(divide="ignore"):
            return self._quantile(-np.expm1(np.log(check_numbers(q, _SHARES)) / self.count))

    def isf(self, share: npt.ArrayLike) -> Floats:
        """The smallest t with P(largest > t) <= share, in seconds: for far tails."""
        with np.errstate(divide="ignore"):
            return self._quantile(-np.expm1(np.log1p(-check_numbers(share, _SHARES)) / self.count))

    def _quantile(self, each: Floats) -> Floats:
        """The first tick that each of the delays exceeds with at most the probability `each`."""
        part = RandomDelay(self.delay, self.probability)
        low, high = np.full(each.shape, -1), np.full(each.shape, part.longest)
        while (low + 1 < high).any():  # by halves: quantile(1 - each) would round far tails off
            middle = low + (high - low) // 2
            enough = part.survival(middle) <= each
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return from_ticks(high)

    def mean(self) -> float:
        """The mean, seconds: a closed form, or the sum of `survival` over a fine grid."""
        if self.probability == 1 and (known := self._closed_form()) is not None:
            return known
        part = RandomDelay(self.delay, self.probability)
        if not part.longest:
            return 0.0
        mesh = Mesh.to(part.longest, max(1, part.typical // _STEPS), _POINTS)
        law = Bracket.of(mesh, part).largest_of(self.count)
        return sum(law.mean()) / 2 / TICKS_PER_SECOND

    def _closed_form(self) -> float | None:
        """Return the mean by a formula; None where there is none."""
        delay, n = self.delay, self.count
        if isinstance(delay, Residual):
            return largest_residual(n, delay.period, delay.duration)
        kind = getattr(delay, "kind", "")
        if kind == "exponential":
            return largest_exponential(n, delay.expected())
        if kind == "pareto" and delay.longest is None:
            return largest_pareto(n, delay.scale, delay.shape)
        if kind == "bernoulli":
            return largest_bernoulli(n, delay.probability, delay.duration)
        return None


def completion_bound(case: Case) -> float:
    """A lower bound on the mean completion of one collective, whatever its redundancy.

    Where sending costs CPU time, a rank that is held by noise before its first send delays every
    rank: mean completion >= noise-free completion + mean of the largest residual at entry. Other
    noise can only add to that. Of several periodic sources that the bound applies to, the largest
    residual of all is taken.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    ValueError
        The bound does not apply. It needs one cycle with no `compute_time`, a send cost above 0,
        two ranks or more, and stationary periodic noise with drawn phases in the communication
        phase, that acts from the start to the end.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(
    ...     ranks=1024,
    ...     network=jf.LogGOPS(L="1us", o="1ns"),
    ...     noise=[jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")],
    ... )
    >>> round(completion_bound(case) * 1e6, 3), round(noise_free_completion(case) * 1e6, 3)
    (19.044, 10.02)
    """
    periodic: list[Any] = [
        source for source in check_case(case).placed_noise if source.kind == "periodic"
    ]
    conditions = {
        "cycles must be 1": case.cycles == 1,
        "compute_time must be 0": case.compute_time == 0,
        "ranks must be at least 2": case.ranks >= 2,
        "the network's send cost must be above 0": case.costs.send > 0,
        "noise must hold a PeriodicNoise": bool(periodic),
    }
    useful = [source for source in periodic if all(_conditions_of_source(source).values())]
    if periodic and not useful:
        conditions |= _conditions_of_source(periodic[0])
    for rule, holds in conditions.items():
        if not holds:
            raise ValueError(f"{rule} for this bound to apply")
    groups = [(-(-case.ranks // s.node_ranks(case.ranks)), s.period, s.duration) for s in useful]
    return noise_free_completion(case) + _largest_of_all(groups)


def _conditions_of_source(source: Any) -> dict[str, bool]:
    """Return the conditions of the formula on a source in words, each with whether it is met."""
    return {
        "start must be 'stationary'": source.start == "stationary",
        "phases must be None": source.phases is None,
        "during must not be 'compute'": source.during != "compute",
        "begin must be 0 and end None": source.begin == 0 and source.end is None,
        "hosts must be None": source.hosts is None,
        "bursts must be None": source.bursts is None,
    }


def _largest_of_all(groups: list[tuple[int, float, float]]) -> float:
    """The mean of the largest residual over groups of (count, period, duration), in seconds.

    P(all <= x) is the product of ``(1 - (D - x)^+ / P)^count``; its complement is integrated.
    """
    if len(groups) == 1:
        return largest_residual(*groups[0])
    longest = max(duration for _, _, duration in groups)
    # The integrand changes within P / count of each end of a group: octaves from there.
    ends = {longest - duration for _, _, duration in groups}
    octaves = longest * 2.0 ** -np.arange(0.0, 80.0)
    edges = np.unique(np.concatenate([end + octaves for end in ends] + [[0.0, longest]]))
    edges = edges[edges <= longest]
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2
    y = edges[:-1, None] + half * (1 + nodes)  # y = longest - x
    log = np.zeros_like(y)
    for count, period, duration in groups:
        log += count * np.log1p(-np.clip(y - (longest - duration), 0.0, None) / period)
    return float(np.sum(half * weights * -np.expm1(log)))
