"""Algorithms: one module each, with a class that compiles its description to steps.

A new one is a module beside these and a line here, which is also what registers its `kind`.
"""

from .algorithm import Algorithm
from .binomial_broadcast import BinomialBroadcast
from .binomial_reduce import BinomialReduce
from .bruck_allgather import BruckAllgather
from .butterfly import Butterfly
from .dissemination_barrier import DisseminationBarrier
from .hierarchical_allreduce import HierarchicalAllreduce
from .rabenseifner_allreduce import RabenseifnerAllreduce
from .recursive_doubling_allgather import RecursiveDoublingAllgather
from .recursive_doubling_allreduce import RecursiveDoublingAllreduce
from .recursive_doubling_barrier import RecursiveDoublingBarrier
from .recursive_halving_reduce_scatter import RecursiveHalvingReduceScatter
from .reduce_broadcast_allreduce import ReduceBroadcastAllreduce
from .ring_allgather import RingAllgather
from .ring_allreduce import RingAllreduce
from .scatter_allgather_broadcast import ScatterAllgatherBroadcast
from .tree_barrier import TreeBarrier

__all__ = [
    "Algorithm",
    "BinomialBroadcast",
    "BinomialReduce",
    "BruckAllgather",
    "Butterfly",
    "DisseminationBarrier",
    "HierarchicalAllreduce",
    "RabenseifnerAllreduce",
    "RecursiveDoublingAllgather",
    "RecursiveDoublingAllreduce",
    "RecursiveDoublingBarrier",
    "RecursiveHalvingReduceScatter",
    "ReduceBroadcastAllreduce",
    "RingAllgather",
    "RingAllreduce",
    "ScatterAllgatherBroadcast",
    "TreeBarrier",
]


def __dir__() -> list[str]:
    return sorted(__all__)
