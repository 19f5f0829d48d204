"""What Open MPI, MPICH and NCCL choose: by their sources, and by the libraries themselves."""

import csv
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from support.mpi_libraries import mpichs
from support.paths import NOISE_SAMPLES
from support.tuning_cases import taken_from_tree

import jitterfly as jf
from jitterfly.advice.tuning.mpich import MPICH
from jitterfly.algorithms import library_choice
from jitterfly.algorithms.algorithm import COLLECTIVES, IRREGULAR, is_kind_of
from jitterfly.algorithms.library_choice import LIBRARY_NAMES, LibraryRules, is_library
from jitterfly.cli import main
from jitterfly.slowdown import SlowdownQuestion

FLAT = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
NODES = jf.Hierarchy([(48, FLAT), FLAT])
# Algorithms by their numbers, as the functions ompi_coll_tuned_*_intra_dec_fixed of Open MPI 5.0.9
# give them where they are compiled alone: a word for each number of ranks, a digit for each size.
RANKS = (2, 6, 24, 48, 100, 400, 1500, 3000, 6000)
SIZES = (1, 8, 100, 1500, 5000, 20_000, 100_000, 300_000, 700_000, 2_000_000)
NUMBERS = {
    "allreduce": """
        4333445666 4433366666 5533666666 5556666666 3333333666
        2222666666 2222366666 2222366666 2222536666""",
    "barrier": """
        3333333333 1111111111 3333333333 3333333333 4444444444
        6666666666 6666666666 6666666666 4444444444""",
    "broadcast": """
        3351115165 5565611112 7777666668 6666777777 7777777777
        7777747777 7777777788 7777777888 7777777888""",
    "reduce": """
        7411111323 4444225151 4444555555 5555555555 5555555555
        5555555555 5555555555 5555555555 5556555555""",
    "reduce_scatter": """
        3333334333 1222222333 2222222333 1122444433 1114444444
        1114444444 1112424444 1112444444 1112244444""",
    "allgather": """
        6666666666 3333333333 3333333333 3335554444 3335554444
        3325555454 3333555555 2233555555 3323555555""",
    "alltoall": """
        2225224552 4444441121 4334414144 3331111144 3331111222
        3334412222 3331411444 3334144111 3333444444""",
    "gather": """
        3222222333 2221121333 2222222222 2222222222 2222222222
        2222122222 2222222222 2222222222 2222222222""",
    "alltoallv": """
        2222222222 1111111111 1111111111 1111111111 2222222222
        2222222222 1111111111 1111111111 1111111111""",
    "allgatherv": """
        3333355555 1114322444 1112222333 1112233333 1112333333
        2223333333 2222444444 2222444444 2222444444""",
    "scatter": """
        3111111111 2222213331 2222213333 2223333333 2223333333
        2223333333 2223333333 2223333333 2223333333""",
}


def test_open_mpis_tables_are_those_of_its_source():
    count = 0
    for collective, words in NUMBERS.items():
        for ranks, digits in zip(RANKS, words.split(), strict=True):
            for size, digit in zip(SIZES, digits, strict=True):
                table = library_choice._TUNED[collective]
                assert library_choice._looked_up(table, ranks, size) == digit, (collective, ranks)
                count += 1
    assert count == 990


# A choice and the nearest algorithm, where that is another one with a note.
OPEN_MPI = [
    ("allreduce", 64, 262143, "recursive_doubling", jf.RecursiveDoublingAllreduce(), ""),
    ("allreduce", 64, 262144, "rabenseifner", jf.RabenseifnerAllreduce(), ""),
    ("allreduce", 3072, 2**20, "rabenseifner", jf.RabenseifnerAllreduce(), "halve their vectors"),
    ("allreduce", 2, 2**17, "segmented_ring, which runs ring", jf.RingAllreduce(), ""),
    # Fewer elements of 8 bytes than ranks.
    ("allreduce", 24, 32, "segmented_ring, which runs recursive_doubling",
     jf.Butterfly(), ""),
    ("allreduce", 48, 255, "rabenseifner", jf.RabenseifnerAllreduce(), "halve their vectors"),
    ("allreduce", 48, 248, "rabenseifner, which runs basic_linear",
     jf.ReduceBroadcastAllreduce(reduce=jf.KnomialReduce(48), broadcast=jf.KnomialBroadcast(48)),
     ""),
    ("allreduce", 400, 100, "nonoverlapping", jf.ReduceBroadcastAllreduce(
        broadcast=jf.KnomialBroadcast()), ""),
    ("reduce_scatter", 48, 48, "non-overlapping", jf.NonoverlappingReduceScatter(), ""),
    ("allgather", 24, 8, "recursive_doubling, which runs bruck", jf.BruckAllgather(), ""),
    ("allgather", 16, 8, "recursive_doubling", jf.RecursiveDoublingAllgather(), ""),
    ("allgather", 33, 2000, "neighbor, which runs ring", jf.RingAllgather(), ""),
    ("allgather", 34, 2000, "neighbor", jf.NeighborExchangeAllgather(), ""),
    ("broadcast", 6, 8192, "basic_linear", jf.KnomialBroadcast(radix=6), ""),
    ("broadcast", 100, 8, "knomial", jf.KnomialBroadcast(radix=4), ""),
    ("broadcast", 6, 1000, "binary_tree",
     jf.BinaryTreeBroadcast(segment_bytes=1000, numbering="levels"), ""),
    ("broadcast", 6, 2**20, "chain", jf.ChainBroadcast(segment_bytes=2**20), ""),
    ("alltoall", 24, 100, "modified_bruck", jf.BruckAlltoall(), ""),
    ("alltoall", 2000, 2**20, "linear_sync, which runs linear", jf.LinearAlltoall(window=1024),
     "1,024"),
    ("barrier", 6, 8, "linear", jf.LinearBarrier(), ""),
    ("barrier", 100, 8, "bruck", jf.DisseminationBarrier(), ""),
    ("scan", 100, 8, "linear", jf.LinearScan(), ""),
    ("exscan", 100, 8, "linear", jf.LinearExscan(), ""),
    ("reduce", 6, 100, "binary", jf.BinaryTreeReduce(segment_bytes=100), ""),
    ("reduce", 6, 8192, "chain", jf.ChainReduce(segment_bytes=8192), ""),
    ("reduce", 3000, 600, "in-order_binary",
     jf.BinaryTreeReduce(segment_bytes=600, in_order=True), ""),
    ("reduce_scatter", 48, 4096, "butterfly", jf.ButterflyReduceScatter(), ""),
    ("scatter", 100, 1024, "linear_nb", jf.LinearScatter(), ""),
    ("broadcast", 1000, 20000, "split_binary_tree",
     jf.SplitBinaryTreeBroadcast(segment_bytes=20000), ""),
    ("broadcast", 16, 2**20, "scatter_allgather",
     jf.ScatterAllgatherBroadcast(allgather="recursive_doubling"), ""),
    ("broadcast", 24, 2**20, "scatter_allgather",
     jf.ScatterAllgatherBroadcast(allgather="recursive_doubling"), "without a partner"),
]  # fmt: skip


@pytest.mark.parametrize(("collective", "ranks", "size", "called", "algorithm", "differs"),
                         OPEN_MPI)  # fmt: skip
def test_what_open_mpi_runs_on_one_level(collective, ranks, size, called, algorithm, differs):
    for name in ("openmpi-4.1", "openmpi-5", "openmpi"):
        found = LibraryRules(name, collective).choice(ranks, FLAT, size)
        assert found[:2] == (algorithm, called)
        assert (differs in found.differs) if differs else found.differs == ""


def test_open_mpis_han_takes_over_on_several_nodes():
    """In 5.0, of several ranks each; not of what it does not have."""
    trees = jf.HierarchicalAllreduce(48, inter_node="reduce_broadcast_allreduce")
    five, four = LibraryRules("openmpi-5"), LibraryRules("openmpi-4.1")
    assert five.choice(3072, NODES, 2**20)[:2] == (trees, "han")
    assert four.choice(3072, NODES, 2**20)[:2] == (jf.RabenseifnerAllreduce(), "rabenseifner")
    for machine, ranks in ((NODES, 48), (FLAT, 3072), (jf.Hierarchy([(1, FLAT), FLAT]), 64)):
        assert five.choice(ranks, machine, 2**20) == four.choice(ranks, machine, 2**20)
    without = ("alltoall", "reduce_scatter", "scan", "exscan")
    for collective in COLLECTIVES:
        called = LibraryRules("openmpi-5", collective).choice(96, NODES, 2**10).called
        assert (called == "han") == (collective not in without)


def test_han_has_tuned_within_nodes_and_between_them():
    """But a reduce between nodes is libnbc's; what is longer than a segment goes in segments."""

    def of(collective, ranks, size):
        return LibraryRules("openmpi-5", collective).choice(ranks, NODES, size)

    knomial = jf.HierarchicalBroadcast(48, inter_node="knomial_broadcast")
    assert of("broadcast", 3072, 2**10) == (knomial, "han", "")
    assert of("broadcast", 3072, 2**16 + 1).differs.startswith("segments of 64 KiB")
    assert of("reduce", 3072, 2**16) == (jf.HierarchicalReduce(48), "han", "")
    assert of("reduce", 192, 2**16).algorithm.inter_node == jf.ChainReduce()
    twice = jf.HierarchicalBarrier(48, "recursive_doubling_barrier", release="barrier")
    assert of("barrier", 3072, 8) == (twice, "han", "")
    assert of("gather", 3072, 2**10) == (jf.HierarchicalGather(48), "han", "")
    assert of("scatter", 3072, 2**10).algorithm == jf.HierarchicalScatter(
        48, intra_node="linear_scatter", inter_node="linear_scatter")  # fmt: skip
    assert of("allgather", 3072, 2**10).algorithm == jf.HierarchicalAllgather(
        48, "binomial_gather", "neighbor_exchange_allgather", "knomial_broadcast")  # fmt: skip
    # Where a node has fewer ranks than others, tuned does it all, but for a barrier.
    for collective in COLLECTIVES:
        flat = LibraryRules("openmpi-4.1", collective).choice(100, NODES, 2**10)
        assert (of(collective, 100, 2**10) == flat) == (collective != "barrier")


def test_mpich_composes_levels():
    """An allreduce in a node, between nodes, in a node (`composition_alpha` of ch4)."""
    rules = LibraryRules("mpich-5")
    for ranks, size, inter in (
        (3072, 2**20, "rabenseifner_allreduce"),
        (3072, 8, "recursive_doubling_allreduce"),
        (3072, 504, "recursive_doubling_allreduce"),  # 63 elements, for 64 nodes
        (3072, 512, "rabenseifner_allreduce"),
        (100, 2**20, "rabenseifner_allreduce"),  # nodes of 48, 48 and 4
    ):
        found = rules.choice(ranks, NODES, size)
        assert found.algorithm == jf.HierarchicalAllreduce(48, inter_node=inter), (ranks, size)
        assert "shared memory" in found.differs
    assert rules.choice(48, NODES, 8).called == "release_gather"
    assert rules.choice(64, FLAT, 8)[1:] == ("recursive_doubling", "")
    assert rules.choice(64, FLAT, 2**20)[0] == jf.RabenseifnerAllreduce()
    for collective, ranks, size, algorithm in (
        ("reduce", 100, 2049, jf.RabenseifnerReduce()),
        ("broadcast", 64, 2**19, jf.ScatterAllgatherBroadcast(allgather="recursive_doubling")),
        ("alltoall", 64, 32769, jf.PairwiseAlltoall(partners="xor")),
    ):
        found = LibraryRules("mpich-5", collective).choice(ranks, FLAT, size)
        assert (found.algorithm, found.differs) == (algorithm, "")
    assert LibraryRules("mpich-4").choice(64, FLAT, 9) == rules.choice(64, FLAT, 9)
    for collective, size, algorithm in (
        ("broadcast", 100, jf.HierarchicalBroadcast(48)),
        ("reduce", 2049, jf.HierarchicalReduce(48, inter_node="rabenseifner_reduce")),
        ("barrier", 8, jf.HierarchicalBarrier(48)),
    ):
        found = LibraryRules("mpich-5", collective).choice(3072, NODES, size)
        assert found.algorithm == algorithm
        assert "shared memory" in found.differs
    scan = LibraryRules("mpich-5", "scan").choice(3072, NODES, 8)
    assert scan.algorithm == jf.HierarchicalScan(48)
    assert scan.differs.startswith("a rank combines what is broadcast")
    assert LibraryRules("mpich-5", "scan").choice(64, FLAT, 8).differs == ""
    # By broadcast's own thresholds, of which those of the device come first.
    broadcast = LibraryRules("mpich", "broadcast")
    assert [broadcast.choice(96, NODES, size).called for size in (12287, 12288)] == [
        "binomial between nodes", "binomial"]  # fmt: skip
    assert broadcast.choice(96, NODES, 12289).called == "scatter_ring_allgather"


def test_more_ranks_than_are_listed_are_on_one_level():
    """But for an allreduce, which says so: its butterfly has no levels."""
    for name, collective, algorithm in (
        ("mpich", "barrier", jf.DisseminationBarrier()),
        ("mpich", "broadcast", jf.BinomialBroadcast()),
        ("mpich", "reduce", jf.BinomialReduce()),
        ("openmpi", "gather", jf.BinomialGather()),
    ):
        found = LibraryRules(name, collective).choice(48 * 2**17, NODES, 8)
        assert found.algorithm == algorithm
        assert "too many to be listed" in found.differs
        assert algorithm.steps(48 * 2**17, 8)
    for collective, size in (("allgather", 5000), ("reduce_scatter", 9000), ("reduce_scatter", 9),
                             ("reduce", 17), ("allreduce", 9)):  # fmt: skip
        ranks = 48 * 2**17
        found = LibraryRules("openmpi", collective).choice(ranks, FLAT, size)
        assert found.differs.startswith("it is listed for")
        assert found.algorithm.steps(ranks, size)
        few = LibraryRules("openmpi", collective).choice(4096, FLAT, size)
        assert few.algorithm != found.algorithm
    with pytest.raises(
        ValueError, match=r"from 1 to 2\^22 .* got 6291456: for more give `algorithm`"
    ):
        LibraryRules("mpich").choice(48 * 2**17, NODES, 8)


def _mpich_grid():
    """Numbers of ranks and sizes, at which a plain tree decides."""
    for collective in (*COLLECTIVES, *IRREGULAR):
        for ranks in (2, 7, 8, 12, 64, 3072):
            for size in (8, 9, 256, 257, 2048, 2049, 12288, 12289, 32769, 2**19, 2**19 + 1):
                yield collective, ranks, size


def test_mpichs_tables_are_those_of_the_library_that_is_installed():
    """Of its own tree of decisions, which the library holds, in 1056 places."""
    libraries = [one.libmpi for one in mpichs() if Path(one.libmpi).is_file()]
    if not libraries:
        pytest.skip("MPICH is not installed (mpiexec, and libmpi.so.12 or libmpich.so.12)")
    for libmpi in libraries:
        tree = MPICH().settings("a.json", libmpi=libmpi).tree
        places = list(_mpich_grid())
        for collective, ranks, size in places:
            others = {"broadcast": "bcast", "reduce_scatterv": "reduce_scatter"}
            name = others.get(collective, collective)
            total = size * (ranks if collective == "allgather" else 1)
            own = taken_from_tree(
                tree, name, comm_size=ranks, avg_msg_size=size, total_msg_size=total,
                count=-(-size // 8), comm_hierarchy="flat", is_sendbuf_inplace="no",
                is_node_consecutive="no",
            )  # fmt: skip
            own = re.split("_(?:intra|allcomm)_", own)[1]
            machine = library_choice._Machine(ranks, 1, FLAT, size)
            ours = library_choice._mpir(collective, machine)
            assert own == ours, (collective, ranks)
        assert len(places) == 1056


# Microseconds, from the formulas and constants of NCCL 2.30.7's ncclTopoTuneModel by hand, on 16
# nodes of 8 with 400 GB/s in a node and 8 cards of 50 GB/s, or on one node.
DGX = jf.Hierarchy([(8, jf.LogGOPS(L="1us", o="1us", G="400GB/s")),
                    jf.LogGOPS(L="5us", o="1us", G="50GB/s")])  # fmt: skip
EXPECTED = [
    # 6.6 + (254 - 30) * max(0.6, 1.0) + 30 * 2.7, and 20.4 GB/s * 128 / 254
    ("Ring", "LL", 128, 2**20, 6.6 + 224 + 81 + 2**20 / (1000 * 20.4 * 128 / 254)),
    # 8.4 + 224 * max(3.4, 3) + 30 * 14, times 1.4, and 400 GB/s
    ("Ring", "Simple", 128, 2**30, 1.4 * (8.4 + 761.6 + 420) + 2**30 / (400e3 * 128 / 254)),
    # 6.8 + 2 * (7 * 0.6 + 4 * 5), and min(0.92 * 400 / 3.8, 20.4) / 2 GB/s, of 1 MiB times 0.5
    ("Tree", "LL", 128, 2**20, 6.8 + 48.4 + 2**20 / (1000 * 10.2 * 0.5)),
    ("Ring", "LL", 8, 64, 6.6 + 14 * 0.6 + 64 / (1000 * 141 * 8 / 14)),
    # 25, and min(2 * 0.85 * 400 * 7 / 8, 400) GB/s
    ("NVLS", "Simple", 8, 2**30, 25 + 2**30 / (400e3 * 8 / 14)),
    ("NVLS", "Simple", 128, 2**20, 25 + 18 + 2**20 / (400e3 * 128 / 254)),
    # 25 + 2 * 4 * 20.9, and min(595, 400, 8 * 45.5); of two nodes min(595, 800, 8 * 57.7)
    ("NVLSTree", "Simple", 128, 2**30, 25 + 167.2 + 2**30 / (364e3 * 128 / 254)),
    ("NVLSTree", "Simple", 16, 2**30, 25 + 41.8 + 2**30 / (461.6e3 * 16 / 30)),
    # 2 * (3.7 + 7 * 0.4) + 31, and 400 * 0.85 / 2; 2 * 7 * 2.8 + 30, and 400 / 2
    ("CollNetDirect", "Simple", 128, 2**20, 44 + 2**20 / 170e3),
    ("CollNetChain", "Simple", 128, 2**20, 69.2 + 2**20 / 200e3),
    ("NVLS", "LL", 128, 2**20, float("inf")),
]


@pytest.mark.parametrize(("algorithm", "protocol", "ranks", "size", "time"), EXPECTED)
def test_nccls_model(algorithm, protocol, ranks, size, time):
    machine = library_choice._Machine(ranks, 8, DGX, size)
    found = library_choice.nccl_time("allreduce", algorithm, protocol, machine)
    assert found == pytest.approx(time, rel=1e-9)


def test_nccl_takes_what_its_model_finds_fastest():
    rules = LibraryRules("nccl")
    assert rules.choice(128, DGX, 64).called == "Tree/LL"
    assert rules.choice(8, DGX, 2**20) == (jf.RingAllreduce(), "Ring/LL", "")
    # Of 1 MiB on 16 channels, in chunks of 576,000 bytes halved until these are short: LL128.
    tree = jf.NcclTreeAllreduce(chunk_bytes=18000, channels=16, node_ranks=8)
    assert rules.choice(128, DGX, 2**20) == (tree, "Tree/LL128", "")
    chunks = {one: library_choice._chunk_bytes(one, library_choice._Machine(128, 8, DGX, 2**33))
              for one in ("LL", "LL128", "Simple")}  # fmt: skip
    assert chunks == {"LL": 2**15, "LL128": 576000, "Simple": 2**19}
    assert LibraryRules("nccl", "allgather").choice(8, DGX, 2**20).algorithm == jf.RingAllgather()
    # Its allgather and reduce-scatter by trees (PAT) are for one rank a node.
    one = LibraryRules("nccl", "reduce_scatter").choice(64, FLAT, 2**10)
    assert one == (jf.PatReduceScatter(), "PAT/Simple", "")
    # Of 16 blocks of 32 KiB, the longest message has 8; of twice as much it is beyond a buffer.
    for collective, size in (("allgather", 2**16), ("reduce_scatter", 2**20)):
        rules = LibraryRules("nccl", collective)
        assert [rules.choice(16, FLAT, n).differs for n in (size, size + 16)] == [
            "", "messages beyond a buffer of 512 KiB go in parts; here in one"]  # fmt: skip
    chain = jf.ChainReduce(segment_bytes="512KiB")
    assert LibraryRules("nccl", "reduce").choice(64, FLAT, 2**20)[::2] == (chain, "")
    assert "between nodes" in LibraryRules("nccl", "reduce").choice(64, DGX, 2**20).differs
    with pytest.raises(ValueError, match=r"one that NCCL has: allreduce.*got 'barrier'"):
        LibraryRules("nccl", "barrier").choice(8, DGX, 8)


@pytest.mark.parametrize("place", range(3))
def test_networks_by_name_have_the_latencies_of_nccls_model(place):
    """The time of a message within a node and between nodes is that of a step of a ring."""
    protocol = library_choice._PROTOCOLS[place]
    network = jf.Case(2, network=f"nccl-h100-{protocol.lower()}").network
    for level, latency in zip(
        network.networks, (library_choice._NVLINK_LATENCY, library_choice._NET_LATENCY), strict=True
    ):
        costs = level.costs(1)
        ticks = costs.send + costs.transit + costs.receive
        assert ticks == pytest.approx(latency["Ring"][place] * 1e6, rel=1e-12)
    part = {"LL": 0.5, "LL128": 0.92, "Simple": 1}[protocol]
    usual = library_choice._NVLINK, library_choice._CARD
    for level, bandwidth in zip(network.networks, usual, strict=True):
        assert level.G * part * bandwidth == pytest.approx(1e-9)
    assert list(network.spans) == [8]
    with pytest.raises(ValueError, match=r"network must be one of nccl-h100-ll, .* got 'nccl-h1'"):
        jf.Case(2, network="nccl-h1")


def test_nccl_takes_switches_that_combine_where_there_are_any():
    """NVSwitch within nodes of several ranks; others if CollNet is enabled, on whole nodes."""
    nccl, collnet = LibraryRules("nccl"), LibraryRules("nccl-2.30-collnet")
    nvls = jf.InNetworkAllreduce(node_ranks=8)
    assert nccl.choice(8, DGX, 2**30) == (nvls, "NVLS/Simple", "")
    tree = replace(nvls, inter_node="tree")
    assert nccl.choice(16, DGX, 2**30) == (tree, "NVLSTree/Simple", "")
    assert collnet.choice(128, DGX, 2**20) == (nvls, "NVLS/Simple", "")
    flat = jf.InNetworkAllreduce(intra_node="chain")
    assert collnet.choice(64, FLAT, 8) == (flat, "CollNetChain/Simple", "")
    shared = replace(DGX, shared_card=True)  # which is what limits it
    machines = [library_choice._Machine(128, 8, network, 2**30) for network in (DGX, shared)]
    fast, slow = (library_choice.nccl_time("allreduce", "CollNetDirect", "Simple", machine)
                  for machine in machines)  # fmt: skip
    assert slow - 44 == pytest.approx((fast - 44) * 8 * 4.5)
    for rules in (nccl, collnet):  # the last node is not whole
        assert rules.choice(127, DGX, 2**30).algorithm.kind != "in_network_allreduce"
    assert collnet.title == "NCCL 2.30 with CollNet"
    without = collnet.choice(128, DGX, 2**20, switches=False)
    assert without.called == "NVLS/Simple, without switches Tree/LL128"
    assert without.algorithm == nccl.choice(128, DGX, 2**20).algorithm
    assert nccl.choice(128, DGX, 2**20, switches=False).differs == ""
    assert LibraryRules("nccl-2.30-collnet", "broadcast").choice(8, FLAT, 8) == LibraryRules(
        "nccl", "broadcast"
    ).choice(8, FLAT, 8)


# With counts: elements of 8 bytes of each rank, or of each pair, and the choice with its note.
V = "linear_alltoallv"
WITH_COUNTS = [
    ("openmpi", "alltoallv", 3, 9, "pairwise", "pairwise_alltoallv", ""),
    ("openmpi", "alltoallv", 64, 9, "pairwise", "pairwise_alltoallv", ""),
    ("openmpi", "alltoallv", 63, 9, "basic_linear", V, "begins with its message for rank 0"),
    ("openmpi", "alltoallv", 2000, 9, "basic_linear", V, "1,024"),
    ("openmpi", "allgatherv", 24, 15, "default", "linear_allgatherv", ""),
    ("openmpi", "allgatherv", 24, 16, "bruck", "bruck_allgatherv", ""),
    ("openmpi", "allgatherv", 24, 2**15, "ring", "ring_allgatherv", ""),
    ("openmpi", "allgatherv", 6, 100, "neighbor", "neighbor_exchange_allgatherv", ""),
    ("openmpi", "allgatherv", 7, 100, "neighbor, which runs ring", "ring_allgatherv", ""),
    ("openmpi", "allgatherv", 2, 256, "two_proc", "ring_allgatherv", ""),
    (
        "openmpi",
        "reduce_scatterv",
        8,
        4095,
        "recursive_halving",
        "recursive_halving_reduce_scatterv",
        "",
    ),
    ("openmpi", "reduce_scatterv", 8, 4096, "ring", "ring_reduce_scatterv", ""),
    (
        "openmpi",
        "reduce_scatterv",
        100,
        9,
        "butterfly",
        "recursive_halving_reduce_scatterv",
        "exchanges blocks",
    ),
    ("openmpi", "gatherv", 8, 9, "linear", "linear_gatherv", ""),
    ("mpich", "alltoallv", 64, 9, "scattered", V, ""),
    ("mpich", "allgatherv", 12, 853, "brucks", "bruck_allgatherv", ""),
    ("mpich", "allgatherv", 12, 854, "ring", "ring_allgatherv", ""),
    ("mpich", "allgatherv", 12, 4097, "ring", "ring_allgatherv", "in parts of 32 KiB"),
    ("mpich", "allgatherv", 8, 8191, "recursive_doubling", "bruck_allgatherv", "i xor 1"),
    ("mpich", "reduce_scatterv", 8, 8192, "pairwise", "pairwise_reduce_scatterv", ""),
    ("mpich", "scatterv", 8, 9, "linear", "linear_scatterv", ""),
    ("nccl", "alltoallv", 8, 9, "sends and receives", V, ""),
]


@pytest.mark.parametrize(
    ("library", "collective", "ranks", "each", "called", "kind", "differs"), WITH_COUNTS
)
def test_choices_with_counts(library, collective, ranks, each, called, kind, differs):
    """By all bytes or their mean; on nodes as on one level, as neither han nor ch4 has any."""
    counts = f"lognormal(mean={each},sigma=0)"
    rules = LibraryRules(library, collective, counts)
    found = rules.choice(ranks, FLAT, 8)
    assert (found.called, found.algorithm.kind) == (called, kind)
    assert (differs in found.differs) if differs else found.differs == ""
    assert found.algorithm.counts == rules.counts
    assert rules.choice(ranks, NODES, 8)[0] == found[0]


def test_the_broadcast_behind_a_gatherv_is_chosen_anew():
    """By all bytes: 48 KiB on 24 ranks, where tuned has a binomial tree up to 1 KiB or so."""
    rules = LibraryRules("openmpi", "allgatherv", [15] * 24)
    broadcast = LibraryRules("openmpi", "broadcast").choice(24, FLAT, 15 * 24 * 8).algorithm
    assert rules.choice(24, FLAT, 8).algorithm.broadcast == broadcast
    assert broadcast != jf.BinomialBroadcast()


def test_counts_belong_to_collectives_with_counts():
    with pytest.raises(ValueError, match="collective alltoallv has a count for each rank, or pair"):
        LibraryRules("mpich", "alltoallv")
    with pytest.raises(ValueError, match="`counts` must be left out for collective allreduce"):
        LibraryRules("mpich", "allreduce", [1, 2])
    with pytest.raises(ValueError, match=r"one that NCCL has: .*alltoallv; got 'gatherv'"):
        LibraryRules("nccl", "gatherv", [1, 2]).choice(2, FLAT, 8)
    rules = LibraryRules("openmpi", "gatherv", [1, 2])
    plain = {"library": "openmpi-5", "collective": "gatherv",
             "counts": {"kind": "given", "counts": [1, 2]}}  # fmt: skip
    assert rules.to_dict() == plain
    again = SlowdownQuestion(ranks=[2], noise="period=1ms,duration=1us", algorithm=rules).to_dict()
    assert again["algorithm"] == plain
    assert SlowdownQuestion.from_dict(again).algorithm == rules


def test_every_choice_is_an_algorithm_that_runs():
    """Also at 1 rank and with no bytes, which a Hockney network takes."""
    for network in (NODES, FLAT, DGX, jf.Hockney("1us", "1ns")):
        for name in LIBRARY_NAMES:
            for collective in COLLECTIVES:
                rules = LibraryRules(name, collective)
                if rules.name.startswith("nccl") and collective not in library_choice._NCCL:
                    continue
                for ranks in (1, 2, 5, 49, 100):
                    for size in (network.smallest_message, 100, 2**15):
                        found = rules.choice(ranks, network, size)
                        jf.Case(
                            ranks, algorithm=found.algorithm, network=network, message_bytes=size
                        )
                        assert is_kind_of(found.algorithm.kind, collective)


def test_ranks_that_are_not_consecutive_have_a_note():
    cyclic = jf.Hierarchy([(48, FLAT), FLAT], placement="cyclic")
    found = LibraryRules("mpich").choice(96, cyclic, 2**20)
    assert found.algorithm == jf.RabenseifnerAllreduce()
    assert "not consecutive" in found.differs


def test_a_case_has_an_algorithm_of_its_own():
    """Its ranks may be replaced, by an axis of a study: the choice would stay."""
    with pytest.raises(ValueError, match=r"give LibraryRules\('mpich'\)\.choice\(ranks, network"):
        jf.Case(8, network=FLAT, algorithm="mpich")


def test_names():
    assert LibraryRules("nccl").name == "nccl-2.30"
    assert (LibraryRules().name, LibraryRules().title) == ("mpich-5", "MPICH 5")
    assert LibraryRules("openmpi", "scan").to_dict() == {
        "library": "openmpi-5", "collective": "scan"}  # fmt: skip
    assert is_library("mpich")
    assert not is_library("ring")
    with pytest.raises(
        ValueError, match=r"algorithm openmpi-3: there are the rules of openmpi-4\.1"
    ):
        is_library("openmpi-3")
    with pytest.raises(ValueError, match="library must be one of"):
        LibraryRules("lam")
    with pytest.raises(ValueError, match="collective must be one of"):
        LibraryRules("mpich", "allreduced")


# As an operator asks: an MPI_Allreduce of 1 MiB on 64 nodes of 48, whose ranks share a card.
MACHINE = (
    "48: L=300ns,o=100ns,G=0.05ns; L=1us,o=200ns,G=25GB/s,shared_card=true"
)  # fmt: skip
NOISE = "kind=renewal,gap=100ms,duration=4ms,start=stationary"
ASKED = ["--noise", NOISE, "--bytes", "1MiB", "--network", MACHINE, "--realizations", "20"]


def test_an_operator_names_a_collective(capsys):
    assert main(["slowdown", "--ranks", "3072", "--collective", "allreduce", *ASKED, "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["algorithm"] == {"library": "mpich-5", "collective": "allreduce"}
    (row,), (chosen,) = found["rows"], found["algorithms"]
    assert (chosen["kind"], chosen["inter_node"]["kind"]) == (
        "hierarchical_allreduce", "rabenseifner_allreduce")  # fmt: skip
    assert row["noise_free"] == pytest.approx(0.9e-3, rel=0.2)
    # The same answer as of the algorithm that it names, given by its fields.
    rabenseifner = jf.HierarchicalAllreduce(48, inter_node="rabenseifner_allreduce")
    same = jf.slowdown(NOISE, 3072, algorithm=rabenseifner, network=MACHINE, message_bytes="1MiB",
                       realizations=20)  # fmt: skip
    assert row["slowdown"]["value"] == pytest.approx(float(same.rows[0].slowdown.value), rel=1e-12)
    # That of leaders who exchange whole vectors is about as late, a butterfly hardly.
    whole = jf.slowdown(NOISE, 3072, algorithm=jf.HierarchicalAllreduce(48), network=MACHINE,
                        message_bytes="1MiB", realizations=20)  # fmt: skip
    late = float(whole.rows[0].mean.value) - whole.rows[0].noise_free
    assert row["mean"]["value"] - row["noise_free"] == pytest.approx(late, rel=0.2)
    assert "library" in found["note_codes"]


def test_the_first_line_says_which_algorithm_each_row_has(capsys):
    words = ["slowdown", "--ranks", "16,64,96", "--algorithm", "openmpi", *ASKED]
    words[words.index("1MiB")] = "64KiB"
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0].startswith(
        "allreduce nearest to that of Open MPI 5: rabenseifner_allreduce on 16 ranks; "
        "recursive_doubling_allreduce on 64 ranks; hierarchical_allreduce, node_ranks = 48, "
        "inter_node = reduce_broadcast_allreduce on 96 ranks, 64 KiB, under noise"
    )
    assert "\nOpen MPI 5 runs han: segments of 64 KiB" in captured.out
    assert "algorithm:" not in captured.err
    answer = jf.slowdown(NOISE, "16,64,96", algorithm="openmpi", network=MACHINE, realizations=5,
                         message_bytes="64KiB")  # fmt: skip
    rows = list(csv.DictReader(answer.to_csv().splitlines()))
    assert [row["algorithm"].partition(",")[0] for row in rows] == [
        "rabenseifner_allreduce",
        "recursive_doubling_allreduce",
        "hierarchical_allreduce",
    ]


def test_the_first_line_has_nccls_own_names(capsys):
    asked = ["--algorithm", "nccl", "--network", "nccl-h100-simple", "--bytes", "64MiB"]
    noise = ["--noise", "period=1ms,duration=25us", "--realizations", "5"]
    assert main(["slowdown", "--ranks", "8,64", *asked, *noise]) == 0
    assert capsys.readouterr().out.startswith(
        "allreduce as NCCL 2.30 runs it: NVLS/Simple (in_network_allreduce, node_ranks = 8) on 8 "
        "ranks; NVLSTree/Simple (in_network_allreduce, node_ranks = 8, inter_node = tree) on 64 "
    )


@pytest.mark.parametrize("noise", [
    "kind=message,delay=1us,probability=0.01", "kind=step,delay=1us,probability=0.01",
    "kind=weather,delay=exponential(mean=1us)",
])  # fmt: skip
def test_under_noise_of_messages_no_switch_combines(noise, capsys):
    """What switches do is no message of a rank: the next algorithm stands in, and it is said."""
    asked = ["--ranks", "16", "--noise", noise, "--algorithm", "nccl", "--bytes", "64MiB",
             "--network", "nccl-h100-simple", "--realizations", "5"]  # fmt: skip
    assert main(["slowdown", *asked]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "allreduce nearest to that of NCCL 2.30: NVLSTree/Simple, without switches Ring/LL128 "
        "(ring_allreduce), 64 MiB"
    )
    differs = "noise of each message or step would hit what its switches do, too; here no switch"
    assert f"NCCL 2.30 runs NVLSTree/Simple, without switches Ring/LL128: {differs}" in out
    assert main(["explain", *asked]) == 0
    assert f"Ring/LL128: ring_allreduce ({differs} combines)" in capsys.readouterr().out
    if "weather" in noise:  # of rates it is like jitter
        assert "NVLSTree/Simple (in_network_allreduce, " in jf.slowdown(
            "kind=weather,longer=2", 16, algorithm="nccl", message_bytes="64MiB",
            network="nccl-h100-simple", realizations=5).title()  # fmt: skip


def test_a_noise_limit_and_an_explanation_take_it_as_well(capsys):
    limit = jf.noise_limit("period=1ms,duration=max,start=stationary", "16,64", at_most=1.5,
                           algorithm=LibraryRules("nccl"), realizations=20)  # fmt: skip
    assert limit.title().startswith("allreduce as NCCL 2.30 runs it: ")
    assert limit.to_dict()["library"] == "nccl-2.30"
    words = ["explain", "--ranks", "96", "--collective", "broadcast", *ASKED]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("scatter_allgather_broadcast on 96 ranks")
    told = "algorithm: MPICH 5 runs scatter_ring_allgather: scatter_allgather_broadcast"
    assert f"\n{told}\n" in captured.out  # also with --quiet
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["library"] == "mpich-5"
    assert told in found["notes"]


def test_each_row_of_a_measured_table_has_the_choice_for_its_size(capsys):
    words = ["compare-measured", str(NOISE_SAMPLES / "osu_allreduce.txt"), "--ranks", "64",
             "--noise", "period=1ms,duration=25us", "--realizations", "5", "--json"]  # fmt: skip
    means = []
    for name in ([], ["--algorithm", "butterfly"], ["--algorithm", "rabenseifner_allreduce"]):
        assert main([*words, *name]) == 0
        found = json.loads(capsys.readouterr().out)
        means.append([row["simulated"]["value"] for row in found["rows"] if row["what"] == "mean"])
        told = "MPICH 5 runs butterfly for 4 B, 8 B; rabenseifner_allreduce for 1 MiB"
        assert (told in found["notes"]) == (name == [])
    chosen, butterfly, rabenseifner = means
    assert chosen == [*butterfly[:2], rabenseifner[2]]
    assert butterfly[2] > 2 * rabenseifner[2]


def test_a_question_is_the_same_after_json():
    question = SlowdownQuestion(NOISE, 4, algorithm=LibraryRules("mpich", "barrier"))
    values = question.to_dict()
    assert values["algorithm"] == {"library": "mpich-5", "collective": "barrier"}
    again = SlowdownQuestion.from_dict(json.loads(json.dumps(values)))
    assert again.algorithm == question.algorithm
    assert again.cases == question.cases
    with pytest.raises(ValueError, match="algorithm: unknown key 'kind'"):
        SlowdownQuestion.from_dict(values | {"algorithm": {"library": "mpich", "kind": "x"}})


def test_a_schedule_takes_it_for_its_group(tmp_path):
    def text(algorithm):
        builder = jf.ScheduleBuilder(8)
        builder.collective(algorithm, "1MiB")
        builder.write(tmp_path / "app.goal")
        return (tmp_path / "app.goal").read_text()

    assert text("openmpi") == text("rabenseifner_allreduce")
    assert text(LibraryRules("nccl", "allgather")) == text("ring_allgather")


def test_recursive_doubling_of_short_messages_is_a_butterfly():
    """The same messages, where links do not matter; on nodes, and of long ones, they do."""
    rules = LibraryRules("openmpi-4.1")
    for network, size, algorithm in (
        (FLAT, 8, jf.Butterfly()),
        (FLAT, 2001, jf.Butterfly()),  # 200 ns on a link, as long as on the CPU
        (FLAT, 2002, jf.RecursiveDoublingAllreduce()),
        (NODES, 8, jf.RecursiveDoublingAllreduce()),
        (jf.Hockney("1us", "1ns"), 50, jf.Butterfly()),
        (jf.Hockney("1us", "1ns"), 60, jf.RecursiveDoublingAllreduce()),
    ):
        assert rules.choice(64, network, size)[:2] == (algorithm, "recursive_doubling")
    one, other = (
        jf.Case(64, algorithm=algorithm, network=FLAT, message_bytes=8)
        for algorithm in (jf.Butterfly(), jf.RecursiveDoublingAllreduce())
    )
    levels = [case.algorithm.message_levels(64) for case in (one, other)]
    for one_level, other_level in zip(*levels, strict=True):
        assert sorted(map(tuple, one_level)) == sorted(map(tuple, other_level))


def test_the_default_is_what_a_library_runs(capsys):
    """Of an allreduce: of the question that names neither algorithm nor collective."""
    question = SlowdownQuestion(NOISE, 3072, network=MACHINE, message_bytes="1MiB")
    assert question.algorithm == LibraryRules() == LibraryRules("mpich-5", "allreduce")
    (case,) = question.cases
    assert case.algorithm == jf.HierarchicalAllreduce(48, inter_node="rabenseifner_allreduce")
    words = ["slowdown", "--ranks", "96", *ASKED, "--json"]
    found = []
    for more in ([], ["--collective", "allreduce"], ["--algorithm", "mpich"]):
        assert main([*words, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
        assert shlex.split(found[-1].pop("command_line"))[1:] == [*words, *more]
    assert found[0] == found[1] == found[2]
    short = jf.slowdown(NOISE, 16, realizations=50)
    same = jf.slowdown(NOISE, 16, realizations=50, algorithm="butterfly")
    assert short.samples.tolist() == same.samples.tolist()  # as it was before


@pytest.mark.parametrize(("words", "error"), [
    (["--algorithm", "mpich-9"], "--algorithm mpich-9: there are the rules of openmpi-4.1"),
    (["--algorithm", "nccl", "--collective", "scan"], "--collective must be one that NCCL has"),
    (["--algorithm", ""], "--algorithm must be one of "),
    (["--ranks", str(2**22 + 1)], "got 4194305: for more give --algorithm butterfly"),
    (["--collective", "gatherv"], "--collective gatherv has a count for each rank, or pair of"),
])  # fmt: skip
def test_what_there_is_no_rule_for(words, error, capsys):
    ranks = [] if "--ranks" in words else ["--ranks", "8"]
    assert main(["slowdown", *ranks, *ASKED, *words]) != 0
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("library", ["openmpi-4.1", "openmpi-5", "mpich-5", "nccl-2.30"])
def test_a_choice_takes_text_as_a_case_does(library):
    rules, nodes = LibraryRules(library), "48: L=1us,o=200ns,G=0.1ns; L=1us,o=200ns,G=0.1ns"
    assert rules.choice("96", nodes, "64KiB") == rules.choice(96, NODES, 65536)
    for size in (-5, 8.5, "8kb"):
        with pytest.raises(ValueError, match=r"^message_bytes must be an integer"):
            rules.choice(96, NODES, size)
    with pytest.raises(ValueError, match=r"^network must be a Network"):
        rules.choice(96, None, 8)
