"""Point-to-point message steps: LogGOPS rules, the plain engine, and the SIMD engine against it."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from reference import Costs, Jitter, PeriodicNoise
from reference.cases import EngineCase
from reference.messages import (
    MESSAGE,
    RANGE,
    SHIFT,
    TREE,
    XOR,
    MessageCase,
    Steps,
    random_partners,
)
from support.grouped import parametrize_in_groups
from support.instruction_sets import check_instruction_sets
from support.kernel_cases import ALL_NOISES, COSTS, GENERAL_NOISES, RENEWAL
from support.message_cases import (
    check_rules,
    message_case,
    noisy_case,
    with_clocks,
    with_windows,
    without_exchanges,
)
from support.scale import crossed, scaled, some

from jitterfly import _core

LANES = {"avx512": 8, "avx2": 4, "portable": 2}


def results(case):
    """Maxima, all statistics and, where that is not much, every ready time."""
    run = case.program(_core), case.seed, min(case.realization, 2**31), 9  # a register and a part
    found = [_core.simulate(*run, which, "cpu", 1, None) for which in ("max", "all")]
    found.append(_core.ready_times(run[0], case.seed, case.realization))
    return found


@pytest.mark.parametrize("kind", ["whole steps", "halves", "clocks"])
@pytest.mark.parametrize("part", range(4))
def test_the_rules_of_a_message(part, kind, monkeypatch):
    monkeypatch.setenv("JITTERFLY_ISA", "plain")
    for number in range(part, scaled(150), 4):
        case = message_case(number, "rules", largest=300)
        if kind == "halves":
            case = with_windows(case, random.Random(f"windows {number}"))
        if kind == "clocks":
            case = with_clocks(case, random.Random(f"clocks {number}"))
        check_rules(without_exchanges(case), f"case {number}")


def windows_case(number):
    """Under every kind of noise, with ranks that send several messages before they receive."""
    return with_windows(noisy_case(number), random.Random(f"windows {number}"))


def clocks_case(number):
    """Under every kind of noise, with the time of each rank since its clock started."""
    return with_clocks(noisy_case(number), random.Random(f"clocks {number}"))


@pytest.mark.parametrize(
    "family",
    [message_case, noisy_case, windows_case, clocks_case],
    ids=["periodic", "every noise", "halves", "clocks"],
)
@pytest.mark.parametrize("part", range(4))
def test_as_the_plain_way(family, part, monkeypatch):
    for number in range(part, scaled(200), 4):
        case = family(number)
        check_instruction_sets(results, case, monkeypatch, f", case {number}")


@pytest.mark.parametrize(
    "ranks", some([9, 65, 511, 513, 1500, 4096, 5000, 2**18 + 3, 2**19 + 9], 5)
)
@pytest.mark.parametrize("links", [False, True])
def test_trees_as_the_plain_way(ranks, links, monkeypatch):
    """Nobody looks between many tree steps, up, down and in any order, some of them repeated."""
    rng = random.Random(f"trees {ranks} {links}")
    entries = ((40, 90, 1000, 300 * links), (0, 70, 200, 500 * links))
    strides = [1 << r for r in range((ranks - 1).bit_length())]
    noise = PeriodicNoise(20_000, 900)
    for sources in ((), (noise,), (noise, Jitter(50, (2**62, 2**60)))):
        steps = Steps(ranks)
        orders = [(1, strides[::-1]), (0, strides), (1, strides[::-1])]
        if ranks < 10_000:
            orders.append((0, rng.sample(strides, len(strides))))
        number = 0
        for down, order in orders:
            for stride in order:
                below = rng.choice([ranks, ranks, rng.randint(stride + 1, ranks)])
                repeat = rng.choice([1, 1, 1, 2, 70 if ranks < 600 else 3])
                partners = (TREE, stride, below, down)
                steps.message(partners, rng.randrange(2), number, repeat=repeat)
                number += repeat
        steps.add(4, row=True)
        jitters = [(cost, s) for cost in (0, 1) for s in sources if s.role == "jitter"]
        case = MessageCase(ranks, tuple(steps.made), entries, COSTS, sources, tuple(jitters), 3, 1)
        for each in (case, with_clocks(case, rng)):
            run = each.program(_core), case.seed, case.realization
            check_instruction_sets(lambda run: [_core.ready_times(*run)], run, monkeypatch)


@pytest.mark.parametrize(("noise", "transit"), crossed(GENERAL_NOISES, [1000, 30_000, 500_000]))
def test_trees_that_are_over_before_their_noise(noise, transit, monkeypatch):
    """Most ranks meet none, and a few the first intervals of some sources: beyond a chunk, too."""
    rng = random.Random(f"short trees {noise} {transit}")
    for ranks in some([5, 64, 600, 1030, 4099], 3):
        sources = GENERAL_NOISES[noise](ranks)
        jitters = [(0, source) for source in sources if source.role == "jitter"]
        strides = [1 << r for r in range((ranks - 1).bit_length())]
        for links, orders in itertools.product(
            (False, True), ([1], [0], [0, 1], [1, 0, rng.randint(0, 1)])
        ):
            steps = Steps(ranks)
            for number, down in enumerate(orders):
                for r, stride in enumerate(strides[::-1] if down else strides):
                    steps.message((TREE, stride, ranks, down), 0, number * len(strides) + r)
                steps.add(4, row=True)
            entries = ((40, 90, transit, links * transit // 2),)
            case = MessageCase(ranks, tuple(steps.made), entries, COSTS, sources, tuple(jitters),
                               rng.getrandbits(64), 2**31)  # fmt: skip

            def maxima(case):
                run = case.program(_core), case.seed, case.realization, 19
                return [_core.simulate(*run, "all", "cpu", 1, None)]

            check_instruction_sets(maxima, case, monkeypatch, f", {ranks} ranks, {links}, {orders}")


@pytest.mark.parametrize("bits", [*range(4, 60, 5), 58])
def test_waits_of_any_number_of_periods(bits, monkeypatch):
    """Each rank of a chain waits for the one before it: some periods of its noise, or very many."""
    rng = random.Random(f"waits {bits}")
    for _ in range(scaled(40)):
        ranks = rng.randint(3, 6)
        period = rng.randint(2, 2 ** rng.randint(2, min(bits, 40)))
        noise = PeriodicNoise(period, rng.choice([1, period - 1, rng.randint(1, period - 1)]))
        transit = rng.choice([2**bits, rng.randint(1, 2**bits), 2**bits // period * period])
        entries = ((rng.randint(0, 3), rng.randint(1, 3), transit, 0),)
        steps = Steps(ranks)
        steps.message((RANGE, 0, ranks - 1, 1), 0, 0)
        steps.add(4, row=True)
        case = MessageCase(ranks, tuple(steps.made), entries, COSTS, (noise,), (),
                           rng.getrandbits(64), rng.randrange(1000))  # fmt: skip
        check_instruction_sets(results, case, monkeypatch, f", {case}")


@parametrize_in_groups("noise, log2_ranks", crossed(ALL_NOISES, [1, 2, 3, 5, 8, 12]))
def test_messages_as_exchanges(noise, log2_ranks):
    """Links that are never occupied: recursive doubling is the butterfly, to the tick."""
    sources = ALL_NOISES[noise](1 << log2_ranks)
    butterfly = EngineCase(log2_ranks, COSTS, others=sources, seed=5, realization=7, cycles=2)
    steps = Steps(1 << log2_ranks)
    for steps.cycle in range(2):
        steps.add(0, row=steps.cycle == 0)
        for r in range(log2_ranks):
            steps.message((XOR, 1 << r, 1 << log2_ranks, 0), 0, r, row=True)
        steps.add(4, row=True)
    of_cost = [s for s in sources if s.role == "jitter" or getattr(s, "way", None) is not None]
    jitters = [(0, source) for source in of_cost]
    received = COSTS.receive + COSTS.combine
    case = MessageCase(1 << log2_ranks, tuple(steps.made),
                       ((COSTS.send, received, COSTS.transit, 0),),
                       COSTS, sources, tuple(jitters), 5, 7)  # fmt: skip
    expected = _core.ready_times(butterfly.program(_core), 5, 7)
    np.testing.assert_array_equal(_core.ready_times(case.program(_core), 5, 7), expected)
    run = case.program(_core), 5, 0, 3
    expected = _core.simulate(butterfly.program(_core), *run[1:], "all", "cpu", 1, None)
    np.testing.assert_array_equal(_core.simulate(*run, "all", "cpu", 1, None), expected)
    # Several threads: over realizations, or in one of them.
    np.testing.assert_array_equal(_core.simulate(*run, "all", "cpu", 2, None), expected)


def test_every_map_occurs():
    seen = {random_partners(random.Random(n), ranks)[0] for n in range(50) for ranks in (5, 64)}
    assert seen == {SHIFT, XOR, TREE, RANGE}


def test_ranks_that_take_no_part():
    """Rows of exchanges hold nothing of the ranks that these leave alone."""
    steps = Steps(6)
    steps.message((RANGE, 4, 6, -4), 0)
    steps.butterfly(row=True)
    steps.message((RANGE, 0, 2, 4), 0, row=True)
    case = MessageCase(6, tuple(steps.made), ((1, 2, 10, 0),), Costs(1, 2, 10, 0, 0, 0))
    rows = _core.ready_times(case.program(_core), 0, 0)
    assert (rows[:-1, 4:] == np.iinfo(np.int64).min).all()
    assert (rows[:-1, :4] >= 0).all()
    assert (rows[-1] >= 26).all()
    everything = _core.simulate(case.program(_core), 0, 0, 1, "all")[0]
    assert everything[1].tolist()[:2] == [rows[1, :4].max(), rows[1, :4].min()]


GOOD = (MESSAGE, 0, 0, 0, 0, XOR, 1, 4, 0, 0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({5: 5}, "map must be 0 to 4"),
        ({5: -1}, "map must be 0 to 4"),
        ({5: SHIFT, 6: 6}, "distance must lie"),
        ({5: SHIFT, 6: -1}, "distance must lie"),
        ({6: 0}, "0 < mask < below"),
        ({6: 4}, "0 < mask < below"),
        ({7: 8}, "0 < mask < below"),
        ({7: 3}, "0 < mask < below"),
        ({5: TREE, 6: 3}, "power of two as its stride"),
        ({5: TREE, 7: 7}, "power of two as its stride"),
        ({5: TREE, 8: 2}, "power of two as its stride"),
        ({5: RANGE}, "a range needs"),
        ({5: RANGE, 6: 3, 7: 5, 8: 2}, "a range needs"),
        ({5: RANGE, 6: 3, 7: 2, 8: 1}, "a range needs"),
        ({5: RANGE, 6: 1, 7: 2, 8: -2}, "a range needs"),
        ({9: 1}, "not an entry of messages"),
        ({9: -1}, "not an entry of messages"),
        ({10: 0}, "repeat must be at least 1"),
        ({3: -1}, "draws must lie"),
        ({3: 2**23}, "draws must lie"),
        ({3: 32}, "draws must lie"),
        ({1: -1}, "rounds must lie"),
        ({1: 2**31 - 1, 10: 2}, "rounds must lie"),
        ({0: 6}, "unknown kind of step"),
        ({2: 48}, "either sends or receives"),
        ({2: 16, 5: TREE, 8: 0}, "needs a shift, an xor or a list"),
        ({2: 16, 10: 2}, "is not repeated"),
        ({2: 16, 8: 1024}, "holds up to 1024"),
        ({2: 16, 8: -1}, "holds up to 1024"),
        ({2: 16}, "sent that are not received"),
        ({2: 32}, "only what was sent is received"),
        ({0: 4, 2: 16}, "only message steps have halves"),
        ({0: 3, 1: 3}, "round is out of range"),
        ({0: 2, 1: 1}, "an exchange needs a collective"),
    ],
)
def test_bad_steps(change, message):
    assert MessageCase(6, (GOOD,), ((0, 0, 0, 0),)).program(_core).ranks == 6
    step = tuple(change.get(place, value) for place, value in enumerate(GOOD))
    with pytest.raises(ValueError, match=message):
        MessageCase(6, (step,), ((0, 0, 0, 0),)).program(_core)


def test_halves_belong_together():
    """Both are of the same messages, one after the other, with no step of another kind between."""
    sends, receives = (*GOOD[:2], 16, *GOOD[3:4], -1, *GOOD[5:]), (*GOOD[:2], 32, *GOOD[3:])
    good = MessageCase(6, (sends, receives), ((0, 0, 0, 0),))
    assert good.program(_core).ranks == 6
    observe = (4, 0, 0, 0, -1, 0, 0, 0, 0, 0, 1)
    assert replace(good, program_steps=(sends, observe, receives)).program(_core).ranks == 6
    other = (*receives[:6], 2, *receives[7:])
    compute, whole = (0, *observe[1:]), (*GOOD[:4], -1, *GOOD[5:])
    for steps, words in (
        ((sends, sends), "must be free"),
        ((sends, other), "of the same messages"),
        ((sends, compute, receives), "before any other step"),
        ((sends, whole, receives), "before any other step"),
        ((sends, receives, receives), "only what was sent"),
    ):
        with pytest.raises(ValueError, match=words):
            replace(good, program_steps=steps).program(_core)


def program(**changes):
    arguments = {"log2_ranks": 2, "rows": 1, "one_rank": False, "ranks": 6,
                 "steps": np.array([GOOD], dtype=np.int32),
                 "messages": np.zeros((1, 4), dtype=np.int64)}  # fmt: skip
    costs = dict.fromkeys(("send", "receive", "transit", "combine", "work", "forward"), 0)
    return _core.Program(**{**arguments, **costs, **changes})


def test_bad_programs():
    for ranks in (3, 8, 0, -1):
        with pytest.raises(ValueError, match="ranks must lie in"):
            program(ranks=ranks)
    with pytest.raises(ValueError, match="at most 2\\^30"):
        program(log2_ranks=30, ranks=2**30 + 1)
    with pytest.raises(ValueError, match="shape \\(m, 4\\)"):
        program(messages=np.zeros((1, 3), dtype=np.int64))
    with pytest.raises(ValueError, match="shape \\(n, 11\\)"):
        program(steps=np.array([GOOD[:5]], dtype=np.int32))
    with pytest.raises(ValueError, match="negative costs"):
        program(messages=np.array([[0, 0, -1, 0]], dtype=np.int64))
    with pytest.raises(ValueError, match="not an entry of messages"):
        program(messages=None)
    good = program()
    survival = np.array([2**62], dtype=np.uint64)
    for cost in (-2, 1):
        with pytest.raises(ValueError, match="jitter's cost"):
            good.add_jitter(1, survival, cost=cost)
    with pytest.raises(ValueError, match="phases must have one entry per rank"):
        good.add_periodic(10, 1, False, phases=np.zeros(4, dtype=np.int64))
    good.add_periodic(10, 1, False, node_ranks=6)
    for size in (0, -1, -(2**63), 7, 2**31, 2**63 - 1):
        with pytest.raises(ValueError, match="node_ranks must be from 1 to the number of ranks"):
            good.add_periodic(10, 1, False, node_ranks=size)


def test_each_cost_entry_has_its_jitter():
    """A message meets the jitter of its cost entry, and no other."""
    steps = Steps(2)
    steps.message((SHIFT, 1, 0, 0), 1, row=True)
    steps.message((SHIFT, 1, 0, 0), 0, row=True)
    always = (2**64 - 1,)
    jitters = ((0, Jitter(7, always)), (1, Jitter(1000, always)), (0, Jitter(50, always)))
    case = MessageCase(2, tuple(steps.made), ((0, 0, 10, 0), (0, 0, 20, 0)),
                       sources=(Jitter(10**6, always),), jitters=jitters)  # fmt: skip
    assert case.add_noise is not None
    rows = _core.ready_times(case.program(_core), 1, 0)
    assert rows.tolist() == [[1020, 1020], [1087, 1087]]


def test_noise_of_a_machine_of_any_size():
    for size, firsts in ((6, [0] * 6), (5, [0] * 5 + [5]), (4, [0] * 4 + [4] * 2)):
        noise = PeriodicNoise(1000, 100, node_ranks=size)
        case = MessageCase(6, (GOOD,), ((5, 5, 5, 5),), sources=(noise,), seed=3)
        phases = _core.phases(case.program(_core), 3, 0)
        assert phases.shape == (6,)
        np.testing.assert_array_equal(phases, phases[firsts])
        assert len(set(phases.tolist())) == len(set(firsts))


@pytest.mark.parametrize(("gap", "ticks"), [(5, 3), (6, 5)])
def test_memory(gap, ticks):
    """Of a rank: its time, its noise, what it sends in this turn; and its links, where they can
    matter. Of as many realizations as a register has lanes.
    """
    steps = Steps(100_003)
    steps.message((SHIFT, 1, 0, 0), 0, row=True, repeat=3)
    case = MessageCase(100_003, tuple(steps.made), ((5, 5, 5, gap),))
    memory = _core.memory(case.program(_core), "cpu", 1, 10)
    lanes = LANES.get(_core.build_info()["instruction_set"], 1)
    each = 8 * ticks * 100_003 * lanes
    assert each <= memory <= each + 2**14
    assert abs(_core.memory(case.program(_core), "cpu", 2, 10) - 2 * memory) < 2**14


@pytest.mark.parametrize("sources", [(), (RENEWAL,)], ids=["quiet", "renewal"])
def test_memory_of_trees(sources):
    """Of 2^20 ranks that a tree joins, it takes those of a chunk, and the first ones of chunks."""
    steps = Steps(2**20)
    for number in range(20):
        steps.message((TREE, 1 << number, 2**20, 0), 0, number, row=number == 19)
    case = MessageCase(2**20, tuple(steps.made), ((5, 5, 5, 5),), sources=sources)
    assert _core.memory(case.program(_core), "cpu", 1, 10) < 2**22
