"""Largest numbers of ranks, steps and messages: draws are numbered without overflow."""

import numpy as np
import pytest
from reference.collectives import IRREGULAR, plain_table
from support import scale
from support.scale import scaled, some

import jitterfly as jf
from jitterfly import _core, program
from jitterfly.algorithms import Algorithm
from jitterfly.steps import MESSAGE, numbers_per_cycle

NETWORK = jf.LogGOPS("1ps", 0)
ROUND, DRAW, REPEAT = 1, 3, 10


def case_of(kind, ranks, cycles=1):
    algorithm = Algorithm.from_dict(plain_table(kind))
    return jf.Case(ranks, network=NETWORK, algorithm=algorithm, cycles=cycles, message_bytes=1)


def steps_of(case, monkeypatch):
    """The steps that the engine is given."""
    given = []

    def engine(**fields):
        given.append(fields["steps"])
        return made(**fields)

    made = _core.Program
    with monkeypatch.context() as patch:
        patch.setattr(program.core, "Program", engine)
        program.compile_case(case)
    return given[0]


MOST = [2**30, 2**30 - 1, 2**29 + 1]
# Messages that are listed, or steps in proportion to ranks: some do not take more.
FEWER = {
    "hierarchical_allreduce": 2**22,
    "binary_tree_broadcast": 2**20,
    "bine_allgather": 2**16,
    "bine_allreduce": 2**16,
    "bine_broadcast": 2**16,
    "bine_gather": 2**16,
    "bine_reduce": 2**16,
    "bine_reduce_scatter": 2**16,
    "bine_scatter": 2**16,
    "double_binary_tree_allreduce": 2**12,
    "nccl_tree_allreduce": 2**12,
    "in_network_allgather": 2**22,
    "in_network_allreduce": 2**22,
    "in_network_reduce_scatter": 2**22,
    "knomial_broadcast": 2**20,
    "knomial_reduce": 2**20,
    "binary_tree_reduce": 2**20,
    "butterfly_reduce_scatter": 2**20,
    "chain_broadcast": 2**12,
    "chain_reduce": 2**12,
    "circulant_allgather": 2**16,
    "circulant_broadcast": 2**16,
    "circulant_reduce": 2**16,
    "double_ring_barrier": 2**12,
    "hierarchical_allgather": 2**22,
    "hierarchical_barrier": 2**22,
    "hierarchical_broadcast": 2**22,
    "hierarchical_gather": 2**22,
    "hierarchical_reduce": 2**22,
    "hierarchical_scan": 2**20,
    "hierarchical_scatter": 2**22,
    "linear_barrier": 2**12,
    "neighbor_exchange_allgather": 2**12,
    "nonoverlapping_reduce_scatter": 2**12,
    "pairwise_alltoall": 2**12,
    "pairwise_reduce_scatter": 2**12,
    "linear_alltoall": 2**12,
    "linear_gather": 2**12,
    "linear_scatter": 2**12,
    "linear_scan": 2**12,
    "linear_exscan": 2**12,
    "recursive_doubling_scan": 2**20,
    "recursive_doubling_exscan": 2**20,
    "recursive_multiplying_allreduce": 2**20,
    "sparbit_allgather": 2**10,
    "split_binary_tree_broadcast": 2**16,
    "swing_allreduce": 2**20,
} | {
    kind: 2**12 if kind.startswith(("bruck", "linear_gather", "linear_scatter", "recursive"))
    else 2**7 for kind in IRREGULAR
}  # fmt: skip


CASES = [
    (kind, ranks)
    for kind in Algorithm.kinds()
    for ranks in ([scaled(FEWER[kind])] if kind in FEWER else some(MOST, 1))
]


@pytest.mark.parametrize(("kind", "ranks"), CASES)
def test_draws_of_the_largest_machines(kind, ranks, monkeypatch):
    steps = case_of(kind, ranks).cycle_steps()
    most = 2**31 // numbers_per_cycle(steps)
    for cycles in {1, min(2, most), min(most, 300)}:
        found = steps_of(case_of(kind, ranks, cycles), monkeypatch).astype(np.int64)
        within = [0 if step.kind == MESSAGE else step.round for step in steps]
        expected = [64 * cycle + place for cycle in range(cycles) for place in within]
        assert found[:, DRAW].tolist() == expected
        assert found[:, ROUND].tolist() == cycles * [step.round for step in steps]
        if found.shape[1] > REPEAT:
            assert (found[:, ROUND] + found[:, REPEAT]).max() <= 2**31
    if most < 100_000:
        with pytest.raises(ValueError, match=f"^cycles must be from 1 to {most} for "):
            case_of(kind, ranks, most + 1)


def test_as_many_draws_as_there_are(monkeypatch):
    """Cycles times numbers of a cycle is 2^31: the cycle's draws do not depend on it."""
    case = case_of("ring_allreduce", 2**14, 2**16)
    assert numbers_per_cycle(case.cycle_steps()) * case.cycles == 2**31
    steps = steps_of(case, monkeypatch).astype(np.int64)
    assert steps[:, DRAW].min() == 0
    assert steps[:, DRAW].max() == 64 * (2**16 - 1)


def test_time_without_noise_of_the_largest_ring():
    """2 (N - 1) messages of 1 ps in a row."""
    case = case_of("ring_allreduce", 2**30)
    assert jf.theory.collective_completion(case) == pytest.approx(2 * (2**30 - 1) * 1e-12)
    program.compile_case(case)


@pytest.mark.parametrize(
    ("algorithm", "most", "words"),
    [
        (jf.KnomialBroadcast(), 2**22, "ranks must be from 1 to 4194304 for KnomialBroadcast"),
        (jf.KnomialReduce(), 2**22, "ranks must be from 1 to 4194304 for KnomialReduce"),
        (jf.BinaryTreeBroadcast(), 2**22, "ranks must be from 1 to 4194304 for BinaryTree"),
        (jf.DoubleBinaryTreeAllreduce(), 2**18, "ranks must be from 1 to 262144 for DoubleBinary"),
        (jf.NcclTreeAllreduce(), 2**18, "ranks must be from 1 to 262144 for NcclTree"),
        (jf.PairwiseAlltoall(), 2**18 + 1, "ranks must be fewer for PairwiseAlltoall: at most 262"),
        (jf.ChainBroadcast(), 2**18 + 1, "ranks must be fewer, or segment_bytes larger, for Chain"),
    ],
    ids=lambda value: value.kind if isinstance(value, Algorithm) else "",
)
def test_more_ranks_than_steps_or_lists_fit_are_refused(algorithm, most, words):
    """Before they take memory."""
    if scale.FULL:  # as many lists as fit take seconds to make
        assert algorithm.steps(most, 8)
    for ranks in (most + 1, 2**30):
        with pytest.raises(ValueError, match=words):
            jf.Case(ranks, network=NETWORK, algorithm=algorithm)


def test_more_steps_than_fit_are_refused():
    with pytest.raises(ValueError, match="radix must be lower for KnomialReduce: at most 262144"):
        jf.Case(2**19, network=NETWORK, algorithm=jf.KnomialReduce(2**20))
    for algorithm in (
        jf.BinaryTreeBroadcast(segment_bytes=1),
        jf.ChainBroadcast(segment_bytes=1),
        jf.DoubleBinaryTreeAllreduce(segment_bytes=1),
        jf.NcclTreeAllreduce(chunk_bytes=1),
        jf.SegmentedRingAllreduce(segment_bytes=1),
    ):
        with pytest.raises(ValueError, match=r"(segment|chunk)_bytes (must be )?larger"):
            jf.Case(2, network=NETWORK, algorithm=algorithm, message_bytes="1GiB")


def test_steps_with_the_same_messages_share_their_list(monkeypatch):
    """In a pipeline the messages of most steps are those of the last but one."""
    listed = []

    def engine(**fields):
        listed.append(fields["listed"])
        return made(**fields)

    made = _core.Program
    with monkeypatch.context() as patch:
        patch.setattr(program.core, "Program", engine)
        for count in (10, 100):
            algorithm = jf.BinaryTreeBroadcast(segment_bytes=1)
            program.compile_case(
                jf.Case(64, network=NETWORK, algorithm=algorithm, message_bytes=count)
            )
        for gamma in ("0s", "1ns"):  # the second half of a ring does not combine
            near, far = (jf.LogGOPS(L, 0, gamma=gamma) for L in ("1us", "2us"))
            machine = jf.Hierarchy([(4, near), far])
            program.compile_case(jf.Case(64, network=machine, algorithm=jf.RingAllreduce()))
    short, long, equal, different = map(len, listed)
    assert short == long
    assert (equal, different) == (64, 128)
