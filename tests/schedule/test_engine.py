"""Schedule engine against an event-driven reference and LogGOPSim: every operation, to the tick."""

import os
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from reference.delays import core_delay
from reference.noise import RankDelay
from reference.random_noise import random_delay
from reference.schedules import ArrivalOrder, Costs, InOrder, Operation, as_text, random_schedule
from support.grouped import parametrize_in_groups
from support.scale import at_most, scaled
from support.schedule_cases import OPTIONS, Case, check_deadlock, times_of

import jitterfly as jf
from jitterfly import _core

SIMULATOR = os.environ.get("JITTERFLY_LOGGOPSIM", "")


NUMBERS = [(kind, number) for kind in OPTIONS for number in range(at_most(400, 10))]


@parametrize_in_groups("kind, number", NUMBERS)
def test_without_noise_it_is_the_order_of_coming(kind, number, tmp_path):
    rng = random.Random(f"quiet schedule {kind} {number}")
    case = Case(rng, tmp_path, noisy=False, **OPTIONS[kind])
    quiet = case.quiet()
    if quiet is None:
        check_deadlock(case)
        return
    kept, arrived = InOrder(quiet), case.in_order_of_arrival(matched=quiet.matched)
    assert kept.execute() == quiet.last
    if case.speed is None:  # both orders are LogGOPSim's
        np.testing.assert_array_equal(*(times_of(run, case.schedule) for run in (kept, arrived)))
    for order, run, last in (("noise-free", kept, quiet.last), ("arrival", arrived, arrived.last)):
        compiled, options = case.compiled(order=order), {"arrival_order": order == "arrival"}
        assert compiled.plan.completion == last
        found = case.times(compiled, **options)
        np.testing.assert_array_equal(found, times_of(run, case.schedule))
        raw = _core.simulate_schedule(*compiled, case.seed, case.realization, 1, **options)
        assert raw[0, 0] == last


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@parametrize_in_groups("kind, number", NUMBERS)
def test_under_noise(kind, number, tmp_path):
    """In the order without noise, and in that of arrival."""
    rng = random.Random(f"noisy schedule {kind} {number}")
    case = Case(rng, tmp_path, **OPTIONS[kind])
    quiet = case.quiet()
    if quiet is None:
        check_deadlock(case)
        return
    compiled = case.compiled()
    meant = case.meant
    for _ in range(rng.choice([0, 0, 1, 2])):
        late = RankDelay(random_delay(rng, 10**6), 1, rng.random() < 0.5)
        compiled.program.add_rank_delay(delay=core_delay(_core, late.delay), node_ranks=1,
                                        once=late.once)  # fmt: skip
        meant = (*meant, late)
    draw = meant, case.seed, case.realization
    run = InOrder(quiet, *draw)
    last = run.execute()
    np.testing.assert_array_equal(case.times(compiled), times_of(run, case.schedule))
    raw = _core.simulate_schedule(*compiled, case.seed, case.realization, 1)
    assert raw[0, 0] == last

    free = ArrivalOrder(case.ranks, case.machine, *draw, matched=quiet.matched)
    last = free.execute()
    found = case.times(compiled, arrival_order=True)
    np.testing.assert_array_equal(found, times_of(free, case.schedule))
    raw = _core.simulate_schedule(*compiled, case.seed, case.realization, 1, arrival_order=True)
    assert raw[0, 0] == last


@parametrize_in_groups("number", range(scaled(100)))
def test_given_speeds_keep_the_order_as_drawn_ones_do(number, tmp_path):
    """All ranks twice as slow, always: given, or by noise that is sure."""
    rng = random.Random(f"twice as slow {number}")
    case = Case(rng, tmp_path, noisy=False, **OPTIONS[rng.choice(["one CPU", "CPUs"])])
    if case.quiet() is None:
        return
    case.written = [jf.SpeedNoise(2)]
    drawn = case.times(case.compiled())
    case.written, case.speed = [], jf.imbalance.GivenSpeed([2] * len(case.ranks))
    given = case.compiled()
    np.testing.assert_array_equal(case.times(given), drawn)
    assert given.plan.completion == drawn.max(initial=0)


def times_of_loggopsim(ranks, costs, folder):
    """When LogGOPSim's last rank is done, in ns; costs are whole ns, S is below 2^31."""
    text, binary = folder / "schedule.goal", folder / "schedule.bin"
    text.write_text(as_text(ranks))
    converter = Path(SIMULATOR).with_name("txt2bin")
    subprocess.run([converter, "-i", text, "-o", binary], check=True, capture_output=True)
    words = [SIMULATOR, "-f", binary, "-b", "-S", str(costs.S)]
    words += [word for name in "LogGO" for word in (f"-{name}", str(getattr(costs, name) // 1000))]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"Maximum finishing time at host \d+: (\d+)", printed)[1])


@pytest.mark.skipif(not SIMULATOR, reason="JITTERFLY_LOGGOPSIM names no LogGOPSim")
@parametrize_in_groups("number", range(scaled(1000)))
def test_loggopsim_agrees(number, tmp_path):
    """To the ns, without noise, where ranks have one CPU; see docs/from_loggopsim.md for others.

    It sorts more than 16 operations of a rank that become free at once as it likes, and never
    ends where a receive is of another size than its message, on the other side of S.
    """
    rng = random.Random(f"loggopsim {number}")
    values = {"L": [0, 1, 1000], "o": [0, 1, 100], "g": [0, 0, 250], "G": [0, 0, 1], "O": [0, 2]}
    values = {name: 1000 * rng.choice(some) for name, some in values.items()}
    costs = Costs(**values, S=rng.choice([2**31 - 1, 2**31 - 1, 8, 1000]))
    ranks = random_schedule(rng, rng.choice([1, 2, 3, 5, 8, 13]), rng.randint(1, 60))
    for operations in ranks:
        for op in operations:
            op.size = max(op.size, 1)  # it knows no messages of 0 bytes
    run = ArrivalOrder(ranks, costs)
    try:
        last = run.execute()
    except AssertionError:
        return
    if run.freed_at_once > 16:
        return
    for (sender, i), receive in run.matched.items():
        send = ranks[sender][i]
        if (send.size > costs.S) != (ranks[send.peer][receive].size > costs.S):
            return
    ranks = [operations or [Operation("calc", 0)] for operations in ranks]
    assert times_of_loggopsim(ranks, costs, tmp_path) * 1000 == last
