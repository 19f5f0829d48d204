"""Network congestion: slowdown of a collective by other jobs' traffic on shared links (HSL09).

A network routes messages over directed edges; messages that share an edge share its bandwidth. The
pattern of a collective and the traffic of others are placed on random hosts, routed and counted.

>>> import jitterfly.congestion as jc
>>> case = jc.CongestionCase(jc.FatTree.of(144), pattern="tree", perturbation="rand", ratio=0.5)
>>> result = jc.simulate_congestion(case, realizations=100, seed=7)
>>> result.samples.shape
(100,)
"""

from .case import PATTERNS, PERTURBATIONS, RULES, CongestionCase
from .network_map import NetworkMap
from .simulate import (
    CongestionResult,
    Level,
    Realization,
    bisection_bandwidth,
    congestion_realization,
    route_messages,
    simulate_congestion,
    slowdown_percent,
)
from .topology import ROUTINGS, FatTree, Topology

__all__ = [
    "PATTERNS",
    "PERTURBATIONS",
    "ROUTINGS",
    "RULES",
    "CongestionCase",
    "CongestionResult",
    "FatTree",
    "Level",
    "NetworkMap",
    "Realization",
    "Topology",
    "bisection_bandwidth",
    "congestion_realization",
    "route_messages",
    "simulate_congestion",
    "slowdown_percent",
]


def __dir__() -> list[str]:
    return sorted(__all__)
