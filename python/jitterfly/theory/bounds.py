"""Bounds: delay that no redundancy can remove; saturation, the latest time under bounded delays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..case import Case, check_case
from ..units import from_ticks
from .closed_forms import noise_free_completion
from .largest import largest_residual
from .step_delays import StepModel, delays_of


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
    return {
        "start must be 'stationary'": source.start == "stationary",
        "phases must be None": source.phases is None,
        "during must not be 'compute'": source.during != "compute",
        "begin must be 0 and end None": source.begin == 0 and source.end is None,
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


def saturation(what: Case | StepModel) -> float:
    """The latest completion that delays of bounded length can cause, in seconds: ``K (L + D)``.

    HM18: with 14 µs at each step and 3.45 µs a round, 4096 ranks never take longer than 209 µs,
    whatever the probability: a measured 671 µs has another cause.

    Parameters
    ----------
    what : Case or StepModel
        As of `one_rank`. A delay of unbounded distribution counts with the longest that the engine
        ever draws, of probability 2^-64.

    Raises
    ------
    ValueError
        As `one_rank`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> saturation(StepModel(12, "3.45us", jf.Bernoulli(0.001, "14us")))
    0.0002094
    """
    draws, offset = delays_of(what)
    return float(from_ticks(offset + draws.longest))
