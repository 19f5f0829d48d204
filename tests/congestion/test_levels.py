"""Message levels of each algorithm, and these as patterns of congestion."""

import numpy as np
import pytest
from bench.collectives import SHAPES
from support.scale import some

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly.congestion.case import BY_NAME
from jitterfly.program import message_count

MORE = {
    "recursive doubling barrier": jf.RecursiveDoublingBarrier(),
    "recursive doubling allgather": jf.RecursiveDoublingAllgather(),
    "ring allgather": jf.RingAllgather(),
    "forwards": jf.RingAllreduce(exchanges_after="all"),
    "butterfly, forwards": jf.Butterfly(exchanges_after="all"),
}
ALGORITHMS = {**SHAPES, **MORE}
TO_ALL = [name for name in ALGORITHMS if "nomial" not in name and "halving" not in name]
RANKS = (1, 2, 3, 4, *some(range(5, 20), 5), 24, 31, 32, 33, 40)


def messages(algorithm, ranks):
    return [[(int(a), int(b)) for a, b in level] for level in algorithm.message_levels(ranks)]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_as_many_as_are_sent(name):
    algorithm = ALGORITHMS[name]
    for ranks in RANKS:
        levels = messages(algorithm, ranks)
        assert all(level for level in levels)
        assert all(0 <= rank < ranks for level in levels for pair in level for rank in pair)
        assert all(a != b for level in levels for a, b in level)
        steps = jf.Case(
            ranks, algorithm=algorithm, network=jf.Hockney(1e-6, 1e-9), message_bytes=ranks
        ).cycle_steps()
        if ranks & ranks - 1 == 0 or not algorithm.forwards(ranks):  # else some have no partner
            count = sum(message_count(step, ranks) for step in steps)
            assert sum(len(level) for level in levels) == count


@pytest.mark.parametrize("name", TO_ALL)
def test_everybody_hears_of_rank_0(name):
    for ranks in RANKS:
        informed = {0}
        for level in messages(ALGORITHMS[name], ranks):
            informed |= {b for a, b in level if a in informed}
        assert informed == set(range(ranks))


def test_those_of_orcs():
    for ranks in RANKS:
        bruck = [level.tolist() for level in BY_NAME["bruck"](ranks)]
        assert [
            level.tolist() for level in jf.DisseminationBarrier().message_levels(ranks)
        ] == bruck
    for ranks in (2, 8, 64):
        doubling = [set(map(tuple, level.tolist())) for level in BY_NAME["recdbl"](ranks)]
        assert [set(level) for level in messages(jf.Butterfly(), ranks)] == doubling
    reduce = messages(jf.BinomialReduce(), 21)
    broadcast = messages(jf.BinomialBroadcast(), 21)
    assert reduce == [[(b, a) for a, b in level] for level in reversed(broadcast)]


def test_copies_and_forwards():
    plain, copies = (
        jf.Butterfly(),
        jf.Butterfly(copy_levels=[1, 2], mirrors=[1, 3], exchanges_after=1),
    )
    levels = [set(level) for level in messages(copies, 8)]
    own = [set(level) for level in messages(plain, 8)]
    mirrors = {m: {(i, i ^ m) for i in range(8)} for m in (1, 3)}
    # Those of level 1 go with the second exchange; rank xor 3 does not hold the same data then.
    assert levels == [own[0], own[1] | mirrors[1], own[2] | mirrors[1] | mirrors[3], own[0]]
    assert [len(level) for level in messages(jf.Butterfly(exchanges_after=2), 6)][-2:] == [6, 4]
    with pytest.raises(ValueError, match="on demand"):
        jf.Butterfly(on_demand="all", patience="1us").message_levels(8)


def test_as_a_pattern():
    """Ring: each message of the shift has the link of its host, and w as the routes have it."""
    tree = jc.FatTree.of(144)
    case = jc.CongestionCase(tree, pattern=jf.RingAllreduce().message_levels(72), rule="ready")
    assert case == jc.CongestionCase.from_dict(case.to_dict())
    with_others = jc.simulate_congestion(case, realizations=50, seed=1)
    alone = jc.simulate_congestion(case.unperturbed(), realizations=50, seed=1)
    assert np.all(alone.samples >= 2 * 71)  # as many levels, of at least one message's time
    assert jc.slowdown_percent(with_others, alone).value > 100
