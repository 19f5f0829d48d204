"""Effective bisection bandwidth (Hoefler, Schneider, Lumsdaine 2008)."""

from __future__ import annotations

from typing import Any

from ..stats import Estimate
from .case import CongestionCase
from .simulate import simulate_congestion
from .topology import Topology


def bisection_bandwidth(
    network: Topology, realizations: int = 1000, seed: int = 0, confidence: float = 0.95, **run: Any
) -> Estimate:
    """Mean of 1 / w over random bisections: half of the hosts send to the other half.

    Parameters
    ----------
    network : Topology
    realizations, seed, **run
        As `simulate_congestion`'s.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Estimate
        A share of a link's bandwidth, 1 where nothing is ever shared.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> bisection_bandwidth(FatTree((8,), (1,)), 10).value
    1.0
    """
    case = CongestionCase(network, pattern="none", perturbation="bisect", ratio=1, rule="bandwidth")
    return simulate_congestion(case, realizations, seed, **run).mean(confidence)
