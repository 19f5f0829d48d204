"""The same noise for all algorithms: what a step draws depends on its cycle and its number alone.

So differences between algorithms on one seed are paired differences, in every cycle.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from reference import philox
from reference.collectives import GOALS

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import program
from jitterfly.algorithms import Algorithm
from jitterfly.algorithms.own import Listed, collective, message

DELAY = jf.Exponential("3us")
LATE = jf.LateArrival(jf.Exponential("100us"))
RANDOM_ROUTES = jc.FatTree.of(144, routing="random")
NOISES = {
    "arrival": [LATE],
    "compute": [jf.StepNoise(DELAY, during="compute")],
    "receive": [jf.StepNoise(DELAY)],
    "send": [jf.StepNoise(DELAY, at="send", shared=2)],
    "message": [jf.MessageNoise(DELAY)],
    "jitter": [jf.NetworkJitter("1us", "500ns")],
    "several": [
        LATE,
        jf.LateArrival("1us", probability=0.5),
        jf.StepNoise("1us", probability=0.01),
        jf.StepNoise(DELAY, during="communication"),
        jf.NetworkJitter("5us", "1us"),
        jf.NetworkJitter("2us", "1us", begin="5us"),
        jf.PeriodicNoise("50us", "1us"),
    ],
    "traffic": [jf.Congestion(jc.FatTree.of(144), ratio=0.5)],
    "routes": [jf.Congestion(RANDOM_ROUTES, ratio=0.9, perturbation="bisect")],
}
NETWORK = jf.LogGOPS(L="1us", o="100ns", G="1ns")


@pytest.fixture(scope="module")
def pairs():
    """An algorithm in which ranks 0 and 1 exchange messages, and then ranks 2 and 3 do."""

    @dataclass(frozen=True)
    class Pairs(Algorithm, kind="pairs_of_same_draws"):
        first: int
        more: int

        def steps(self, ranks, message_bytes):
            both = [Listed(np.array(pair)) for pair in ([(0, 1), (1, 0)], [(2, 3), (3, 2)])]
            return collective([
                message(both[number >= self.first], number, 1000, f"{number}")
                for number in range(self.first + self.more)
            ])  # fmt: skip

    yield Pairs
    del Algorithm._kinds["pairs_of_same_draws"]  # other tests look at all kinds


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("first", "more"), [(6, 120), (130, 870), (64, 1)])
def test_more_steps_change_no_draw_of_the_others(first, more, noise, pairs):
    """Ranks that take no part in them are where they were, to the tick, in every cycle."""
    found = []
    for algorithm in (pairs(first, 0), pairs(first, more)):
        case = jf.Case(4, algorithm=algorithm, network=NETWORK, noise=NOISES[noise], cycles=6,
                       compute_time="10us", message_bytes=8)  # fmt: skip
        rows = jf.ready_times(case, seed=5, realization=2)
        found.append(dict(zip(program.row_labels(case), rows[:, :2].tolist(), strict=True)))
    short, long = found
    assert {label: long[label] for label in short} == short
    ends = [short[f"cycle {cycle}, end"] for cycle in range(1, 7)]
    assert len({tuple(each) for each in np.diff(ends, axis=0)}) > 1  # cycles differ in their draws


NUMBERS = [0, 1, 62, 63, 64, 127, 2**17 - 1, 2**17, 2**17 + 65, 2**29 + 76]


@pytest.mark.parametrize("what", ["receive", "send", "message"])
def test_draws_are_those_of_the_reference(what):
    """Purpose, cycle and step of a counter, also where they are large: a message to and fro."""

    @dataclass(frozen=True)
    class ToAndFro(Algorithm, kind=f"to_and_fro_{what}"):
        def steps(self, ranks, message_bytes):
            to = [Listed(np.array([pair])) for pair in [(0, 1), (1, 0)]]
            return collective([message(to[k % 2], n, 8, f"{n}") for k, n in enumerate(NUMBERS)])

    delay = {"delay": "1us", "probability": 0.5}
    noise = jf.MessageNoise(**delay) if what == "message" else jf.StepNoise(**delay, at=what)
    purpose = {"receive": philox.STEP_RECEIVE, "send": philox.STEP_SEND,
               "message": philox.MESSAGE["original"]}[what]  # fmt: skip
    network = jf.LogGOPS(L="5us", o="1us")
    case = jf.Case(2, algorithm=ToAndFro(), network=network, noise=[noise], cycles=3)
    labels = program.row_labels(case)
    for realization in range(8):
        rows = np.rint(jf.ready_times(case, seed=7, realization=realization) * 1e12)
        now, expected = 0, []
        for cycle, (k, number) in product(range(3), enumerate(NUMBERS)):
            receiver = 1 - k % 2
            rank = 1 - receiver if what == "send" else receiver
            draw = philox.draw_of_step(cycle, number)
            u = philox.uniform64(7, purpose, rank, realization, draw)
            now += 7_000_000 + 1_000_000 * (u < 1 << 63)
            expected.append(now)
            assert rows[labels.index(f"cycle {cycle + 1}, {number}"), receiver] == now
        assert len(set(np.diff(expected))) == 2


def test_no_two_steps_share_a_draw():
    """As far as cases go: 100,000 cycles; 2^31 steps; 8 mirrors, which draw beyond all cycles."""
    steps = [*range(130), 2**17 - 1, 2**17, 2**30, 2**31 - 1]
    cycles = [*range(5), 63, 64, 65, 2**16, 99_999]
    found = [philox.draw_of_step(cycle, step) for cycle, step in product(cycles, steps)]
    assert len(set(found)) == len(found)
    blocks = {philox.block_of(draw, 0xD00)[::2] for draw in found}
    assert {purpose & 0xFFFF for _, purpose in blocks} == {0xD00}
    assert max(purpose for _, purpose in blocks) < philox.LOW_HALVES
    copies = [philox.draw_of_step(c, r + k * philox.MIRROR_STEPS)
              for c, r, k in product(cycles, range(30), range(8))]  # fmt: skip
    assert len(set(copies)) == len(copies)
    assert all(copy == (k << 24) + 64 * c + r
               for copy, (c, r, k) in zip(copies, product(cycles, range(30), range(8)), strict=True)
               )  # fmt: skip


WAITING = [kind for kind, goal in GOALS.items()
           if goal in ("allreduce", "allgather", "alltoall", "barrier")]  # fmt: skip


@pytest.mark.parametrize("source", [LATE, jf.StepNoise(DELAY, during="compute")], ids=repr)
@pytest.mark.parametrize("ranks", [32, 509])
def test_starts_of_every_cycle_are_the_same_in_all_collectives(ranks, source):
    """Where messages take no time, a collective that waits for all ends with the last start."""
    free = jf.Hockney(0, 0)
    ends = {}
    for kind in WAITING:
        width = {"node_ranks": 2} if kind == "hierarchical_allreduce" else {}
        algorithm = Algorithm.from_dict({"kind": kind} | width)
        if kind == "butterfly" and ranks & (ranks - 1):
            continue
        case = jf.Case(ranks, algorithm=algorithm, network=free, noise=[source], cycles=10,
                       compute_time="1us")  # fmt: skip
        ends[kind] = jf.simulate(case, 3, seed=2).ticks
    one = ends.pop("ring_allreduce")
    assert {kind for kind, each in ends.items() if not np.array_equal(each, one)} == set()
    assert len(ends) >= 12
    assert len(np.unique(np.diff(one, axis=1))) == np.diff(one, axis=1).size


@pytest.mark.parametrize(
    "source", [LATE, jf.StepNoise(jf.Exponential("100us"), during="compute")], ids=repr
)
def test_differences_of_algorithms_are_paired_in_every_cycle(source):
    """40 ranks: a ring has 78 steps, recursive doubling 7."""
    samples, network = [], jf.LogGOPS(L="1us", o="200ns")
    for algorithm in (jf.RingAllreduce(), jf.RecursiveDoublingAllreduce()):
        case = jf.Case(40, algorithm=algorithm, network=network, noise=[source], cycles=10,
                       compute_time="100us", message_bytes=8)  # fmt: skip
        samples.append(jf.simulate(case, 1000, seed=1).samples[:, -1])
    assert np.corrcoef(*samples)[0, 1] > 0.99


def code_of(algorithm, noise, cycles, ranks=40):
    case = jf.Case(ranks, algorithm=algorithm, network=NETWORK, noise=noise, cycles=cycles,
                   compute_time="10us", message_bytes=8)  # fmt: skip
    return "draws" in case.identity()


STEPS = [jf.StepNoise("3us", probability=0.5)]
COMPUTE = NOISES["compute"]
TRAFFIC = NOISES["traffic"]
RING, SHORT = jf.RingAllreduce(), jf.RecursiveDoublingAllreduce()


@pytest.mark.parametrize(
    ("algorithm", "noise", "cycles", "other"),
    [
        (RING, [], 5, False),
        (RING, [jf.PeriodicNoise("1ms", "10us")], 5, False),
        (RING, [jf.LateArrival("1us", probability=0.5, each="realization")], 5, False),
        (RING, [jf.SpeedNoise(1.1, probability=0.5)], 5, False),
        (RING, STEPS, 1, True),
        (RING, NOISES["message"], 1, True),
        (RING, NOISES["jitter"], 1, True),
        (RING, [LATE], 1, False),
        (RING, [LATE], 2, True),
        (RING, COMPUTE, 1, False),
        (RING, COMPUTE, 2, True),
        (RING, [LATE, *COMPUTE], 1, False),
        (RING, [LATE, *STEPS], 1, True),
        (SHORT, [LATE, *STEPS, *NOISES["message"], *NOISES["jitter"]], 5, False),
        (jf.Butterfly(exchanges_after=2), [LATE, *STEPS], 5, False),
        (RING, TRAFFIC, 1, True),
        (jf.DisseminationBarrier(), TRAFFIC, 1, False),
        (jf.DisseminationBarrier(), TRAFFIC, 2, True),
        (jf.Butterfly(exchanges_after=1), TRAFFIC, 1, True),
        (SHORT, TRAFFIC, 1, True),
        (SHORT, [jf.Congestion(jc.FatTree.of(144), ratio=0.5, perturbation="bisect_fb")], 3, False),
        (SHORT, [jf.Congestion(RANDOM_ROUTES, perturbation="none")], 3, True),
    ],
)
def test_records_of_other_draws_are_no_records_of_a_case(algorithm, noise, cycles, other):
    """Those of version 0.1 are found where draws are the same, and only there."""
    assert code_of(algorithm, noise, cycles) == other
