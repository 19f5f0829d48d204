"""What is known without simulation: noise-free values, and what no redundancy can repair.

The engine has to agree with these (the model's §7).
"""

from __future__ import annotations

import math
from typing import Any

from .algorithms import Butterfly
from .case import Case, check_case
from .fields import check_integer, shorten
from .units import Time, from_ticks, parse_seconds, to_ticks


def round_time(case: Case) -> float:
    """One round without noise, in seconds: send + transit + receive + combine.

    Examples
    --------
    >>> import jitterfly as jf
    >>> round_time(jf.Case(8, network=jf.Hockney(1e-7, 1e-9, 1e-10)))
    1.088e-07
    """
    return float(from_ticks(sum(check_case(case).costs)))


def noise_free_completion(case: Case, cycle: int = 1) -> float:
    """End of a cycle without noise, in seconds: ``cycle * (work + K * round_time)``.

    Matsumoto & Suda 2012: ``K (alpha + beta n + gamma n)`` for any T; Chen & Suda:
    ``K (o + L + (n - 1) G + o + gamma n)``.

    Raises
    ------
    ValueError
        `cycle` not from 1 to the cycles of the case; or there is no such closed form: the
        algorithm is no butterfly, copies take longer to send than a message takes to arrive, or
        forwards cost CPU time and delay the next cycle. `Result.noise_free` has the value.
    """
    cycle = check_integer(cycle, "cycle", 1, check_case(case).cycles)
    algorithm, costs = case.algorithm, case.costs
    if not isinstance(algorithm, Butterfly):
        raise ValueError(
            f"algorithm must be a Butterfly for this closed form, got {shorten(algorithm)}"
        )
    if algorithm.levels(case.log2_ranks) and costs.send > costs.transit:
        raise ValueError("within must be None for this closed form: a send outlasts the transit")
    if algorithm.forward_cost and cycle > 1:
        raise ValueError("forward_cost must be 0 for this closed form from cycle 2 on")
    return float(from_ticks(cycle * (to_ticks(case.work) + case.log2_ranks * sum(costs))))


def largest_residual(count: int, period: Time, duration: Time) -> float:
    """Mean of the largest residual noise that `count` independent processors are in.

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
    count = check_integer(count, "count", 1, 2**62)
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


def completion_bound(case: Case) -> float:
    """A lower bound on the mean completion of one collective, whatever its redundancy.

    Where sending costs CPU time, a rank that is held by noise before its first send delays every
    rank: mean completion >= noise-free completion + mean of the largest residual at entry.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    ValueError
        The bound does not apply. It needs one cycle without work, a send cost above 0, two ranks
        or more, and stationary periodic noise with drawn phases in the communication phase.

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
    sources = check_case(case).noise
    noise: Any = next((source for source in sources if source.kind == "periodic"), None)
    conditions = {
        "cycles must be 1": case.cycles == 1,
        "work must be 0": case.work == 0,
        "ranks must be at least 2": case.ranks >= 2,
        "the network's send cost must be above 0": case.costs.send > 0,
        "noise must hold a PeriodicNoise": noise is not None,
    }
    if noise is not None:
        conditions |= {
            "start must be 'stationary'": noise.start == "stationary",
            "phases must be None": noise.phases is None,
            "during must not be 'compute'": noise.during != "compute",
        }
    for rule, holds in conditions.items():
        if not holds:
            raise ValueError(f"{rule} for this bound to apply")
    independent = case.ranks // noise.node_ranks(case.ranks)
    residual = largest_residual(independent, noise.period, noise.duration)
    return noise_free_completion(case) + residual
