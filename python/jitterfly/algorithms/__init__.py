"""Collective algorithms (allreduce, ...): one Python module each, no C++; where to add a new one.

There are those of allreduce, allgather, reduce-scatter, alltoall, gather, scatter, scan, broadcast,
reduce and barrier. The engine runs any list of steps that an algorithm makes (`steps`). A new one
is a module beside these and a line here, which is also what registers its `kind`; `jitterfly
advise` considers it once it is in algorithms/candidates.py.
"""

from . import own as own
from .algorithm import Algorithm
from .algorithm import is_kind_of as is_kind_of
from .binary_tree_broadcast import BinaryTreeBroadcast
from .binomial_broadcast import BinomialBroadcast
from .binomial_gather import BinomialGather
from .binomial_reduce import BinomialReduce
from .binomial_scatter import BinomialScatter
from .bruck_allgather import BruckAllgather
from .bruck_alltoall import BruckAlltoall
from .butterfly import Butterfly
from .chain_broadcast import ChainBroadcast
from .dissemination_barrier import DisseminationBarrier
from .double_binary_tree_allreduce import DoubleBinaryTreeAllreduce
from .hierarchical_allreduce import HierarchicalAllreduce
from .knomial_broadcast import KnomialBroadcast
from .knomial_reduce import KnomialReduce
from .linear_alltoall import LinearAlltoall
from .linear_gather import LinearGather
from .linear_scan import LinearScan
from .linear_scatter import LinearScatter
from .pairwise_alltoall import PairwiseAlltoall
from .pairwise_reduce_scatter import PairwiseReduceScatter
from .rabenseifner_allreduce import RabenseifnerAllreduce
from .recursive_doubling_allgather import RecursiveDoublingAllgather
from .recursive_doubling_allreduce import RecursiveDoublingAllreduce
from .recursive_doubling_barrier import RecursiveDoublingBarrier
from .recursive_doubling_scan import RecursiveDoublingScan
from .recursive_halving_reduce_scatter import RecursiveHalvingReduceScatter
from .recursive_multiplying_allreduce import RecursiveMultiplyingAllreduce
from .reduce_broadcast_allreduce import ReduceBroadcastAllreduce
from .ring_allgather import RingAllgather
from .ring_allreduce import RingAllreduce
from .ring_reduce_scatter import RingReduceScatter
from .scatter_allgather_broadcast import ScatterAllgatherBroadcast
from .segmented_ring_allreduce import SegmentedRingAllreduce
from .tree_barrier import TreeBarrier

__all__ = [
    "Algorithm",
    "BinaryTreeBroadcast",
    "BinomialBroadcast",
    "BinomialGather",
    "BinomialReduce",
    "BinomialScatter",
    "BruckAllgather",
    "BruckAlltoall",
    "Butterfly",
    "ChainBroadcast",
    "DisseminationBarrier",
    "DoubleBinaryTreeAllreduce",
    "HierarchicalAllreduce",
    "KnomialBroadcast",
    "KnomialReduce",
    "LinearAlltoall",
    "LinearGather",
    "LinearScan",
    "LinearScatter",
    "PairwiseAlltoall",
    "PairwiseReduceScatter",
    "RabenseifnerAllreduce",
    "RecursiveDoublingAllgather",
    "RecursiveDoublingAllreduce",
    "RecursiveDoublingBarrier",
    "RecursiveDoublingScan",
    "RecursiveHalvingReduceScatter",
    "RecursiveMultiplyingAllreduce",
    "ReduceBroadcastAllreduce",
    "RingAllgather",
    "RingAllreduce",
    "RingReduceScatter",
    "ScatterAllgatherBroadcast",
    "SegmentedRingAllreduce",
    "TreeBarrier",
]


def __dir__() -> list[str]:
    return sorted(__all__)
