"""Times without noise: one round, and whole collectives."""

from __future__ import annotations

from ..algorithms import Butterfly
from ..case import Case, check_case
from ..fields import check_integer, shorten
from ..units import from_ticks, to_ticks


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
        algorithm is no butterfly (`collective_completion` knows others), ranks are no power of
        two, copies take longer to send than a message takes to arrive, or
        forwards cost CPU time and delay the next cycle. `Result.noise_free` has the value.
    """
    cycle = check_integer(cycle, "cycle", 1, check_case(case).cycles)
    algorithm, costs = case.algorithm, case.costs
    if not isinstance(algorithm, Butterfly):
        raise ValueError(
            f"algorithm must be a Butterfly for this closed form, got {shorten(algorithm)}"
        )
    if case.ranks & (case.ranks - 1):
        raise ValueError(f"ranks must be a power of two for this closed form, got {case.ranks}")
    if algorithm.levels(case.ranks) and len(algorithm.copied_to) * costs.send > costs.transit:
        raise ValueError("within must be None for this closed form: a send outlasts the transit")
    asking = algorithm.asking(case.network)
    if algorithm.asked(case.ranks) and asking.patience + asking.ask > costs.transit:
        raise ValueError("on_demand must be None for this closed form: asking outlasts the transit")
    if algorithm.forward_cost and cycle > 1:
        raise ValueError("forward_cost must be 0 for this closed form from cycle 2 on")
    return float(from_ticks(cycle * (to_ticks(case.work) + case.log2_ranks * sum(costs))))
