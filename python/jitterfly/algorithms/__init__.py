"""Collective algorithms (allreduce, ...): a module a collective, no C++; where to add a new one.

There are those of allreduce, allgather, reduce-scatter, alltoall, gather, scatter, both scans,
broadcast, reduce and barrier, some with a count for each rank. The engine runs any list of steps
that an algorithm makes (`steps`). A new one is a class in the module of its collective and a name
here, which is also what registers its `kind`; `jitterfly advise` considers it once it is in
algorithms/candidates.py.
"""

from . import own as own
from .algorithm import Algorithm
from .algorithm import is_kind_of as is_kind_of

# isort: off
# Messages name the kinds in this order: first those of the usual collective.
from .butterfly import Butterfly
from .allreduce import (
    BineAllreduce,
    DoubleBinaryTreeAllreduce,
    NcclTreeAllreduce,
    RabenseifnerAllreduce,
    RecursiveDoublingAllreduce,
    RecursiveMultiplyingAllreduce,
    ReduceBroadcastAllreduce,
    RingAllreduce,
    SegmentedRingAllreduce,
    SwingAllreduce,
)
from .hierarchical_allreduce import (
    HierarchicalAllreduce,
    InNetworkAllgather,
    InNetworkAllreduce,
    InNetworkReduceScatter,
)
from .barrier import (
    DisseminationBarrier,
    DoubleRingBarrier,
    HierarchicalBarrier,
    LinearBarrier,
    RecursiveDoublingBarrier,
    TreeBarrier,
)
from .broadcast import (
    BinaryTreeBroadcast,
    BineBroadcast,
    BinomialBroadcast,
    ChainBroadcast,
    CirculantBroadcast,
    HierarchicalBroadcast,
    KnomialBroadcast,
    ScatterAllgatherBroadcast,
    SplitBinaryTreeBroadcast,
)
from .reduce import (
    BinaryTreeReduce,
    BineReduce,
    BinomialReduce,
    ChainReduce,
    CirculantReduce,
    HierarchicalReduce,
    KnomialReduce,
    RabenseifnerReduce,
)
from .allgather import (
    BineAllgather,
    BruckAllgather,
    BruckAllgatherv,
    CirculantAllgather,
    GatherBroadcastAllgather,
    HierarchicalAllgather,
    LinearAllgatherv,
    NeighborExchangeAllgather,
    NeighborExchangeAllgatherv,
    PatAllgather,
    RecursiveDoublingAllgather,
    RingAllgather,
    RingAllgatherv,
    SparbitAllgather,
)
from .reduce_scatter import (
    BineReduceScatter,
    ButterflyReduceScatter,
    NonoverlappingReduceScatter,
    PairwiseReduceScatter,
    PairwiseReduceScatterv,
    PatReduceScatter,
    RecursiveHalvingReduceScatter,
    RecursiveHalvingReduceScatterv,
    RingReduceScatter,
    RingReduceScatterv,
)
from .alltoall import (
    BruckAlltoall,
    LinearAlltoall,
    LinearAlltoallv,
    PairwiseAlltoall,
    PairwiseAlltoallv,
)
from .gather_scatter import (
    BineGather,
    BineScatter,
    BinomialGather,
    BinomialScatter,
    HierarchicalGather,
    HierarchicalScatter,
    LinearGather,
    LinearGatherv,
    LinearScatter,
    LinearScatterv,
)
from .scan import (
    HierarchicalScan,
    LinearExscan,
    LinearScan,
    RecursiveDoublingExscan,
    RecursiveDoublingScan,
)
# isort: on

__all__ = [
    "Algorithm",
    "BinaryTreeBroadcast",
    "BinaryTreeReduce",
    "BineAllgather",
    "BineAllreduce",
    "BineBroadcast",
    "BineGather",
    "BineReduce",
    "BineReduceScatter",
    "BineScatter",
    "BinomialBroadcast",
    "BinomialGather",
    "BinomialReduce",
    "BinomialScatter",
    "BruckAllgather",
    "BruckAllgatherv",
    "BruckAlltoall",
    "Butterfly",
    "ButterflyReduceScatter",
    "ChainBroadcast",
    "ChainReduce",
    "CirculantAllgather",
    "CirculantBroadcast",
    "CirculantReduce",
    "DisseminationBarrier",
    "DoubleBinaryTreeAllreduce",
    "DoubleRingBarrier",
    "GatherBroadcastAllgather",
    "HierarchicalAllgather",
    "HierarchicalAllreduce",
    "HierarchicalBarrier",
    "HierarchicalBroadcast",
    "HierarchicalGather",
    "HierarchicalReduce",
    "HierarchicalScan",
    "HierarchicalScatter",
    "InNetworkAllgather",
    "InNetworkAllreduce",
    "InNetworkReduceScatter",
    "KnomialBroadcast",
    "KnomialReduce",
    "LinearAllgatherv",
    "LinearAlltoall",
    "LinearAlltoallv",
    "LinearBarrier",
    "LinearExscan",
    "LinearGather",
    "LinearGatherv",
    "LinearScan",
    "LinearScatter",
    "LinearScatterv",
    "NcclTreeAllreduce",
    "NeighborExchangeAllgather",
    "NeighborExchangeAllgatherv",
    "NonoverlappingReduceScatter",
    "PairwiseAlltoall",
    "PairwiseAlltoallv",
    "PairwiseReduceScatter",
    "PairwiseReduceScatterv",
    "PatAllgather",
    "PatReduceScatter",
    "RabenseifnerAllreduce",
    "RabenseifnerReduce",
    "RecursiveDoublingAllgather",
    "RecursiveDoublingAllreduce",
    "RecursiveDoublingBarrier",
    "RecursiveDoublingExscan",
    "RecursiveDoublingScan",
    "RecursiveHalvingReduceScatter",
    "RecursiveHalvingReduceScatterv",
    "RecursiveMultiplyingAllreduce",
    "ReduceBroadcastAllreduce",
    "RingAllgather",
    "RingAllgatherv",
    "RingAllreduce",
    "RingReduceScatter",
    "RingReduceScatterv",
    "ScatterAllgatherBroadcast",
    "SegmentedRingAllreduce",
    "SparbitAllgather",
    "SplitBinaryTreeBroadcast",
    "SwingAllreduce",
    "TreeBarrier",
]


def __dir__() -> list[str]:
    return sorted(__all__)
