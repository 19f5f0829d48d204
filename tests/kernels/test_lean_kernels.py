"""Lean GPU kernel (cuda/gpu/lean.h), emulated on the CPU, against the CPU backend; mutants.

On programs that it takes, with 32 and with 64 bits a time, and on those that it just does not take.
That the kernels would be told from wrong ones is tested on copies with an error in each.
"""

import random
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from reference import Costs, Jitter, PeriodicNoise, TraceNoise
from reference.cases import EngineCase
from support.emulated_kernels import (
    LEAN32,
    LEAN64,
    ORDERS,
    REAL_LIMITS,
    STEPS,
    Run,
    build_once,
    caught,
    check,
    execute,
    lean_runs,
)
from support.kernel_cases import NOISES, PERIODIC, PROGRAMS, make
from support.kernel_mutants import lean_errors, mutants_once, numbers
from support.lean_cases import (
    IN_TURN,
    LIMIT32,
    at_the_edge,
    gap_in_the_tail,
    is_lean_recording,
    is_list,
    kernel,
    latest,
    longest_recorded,
    on_the_edge,
    periodic,
    random_lean_case,
    random_list_case,
    random_recording_case,
    random_renewal_case,
    recording_at_the_edge,
    renewal_at_the_edge,
    renewal_beyond_words,
    renewal_with_more_left,
)
from support.scale import at_most, scaled, some

WORDS = {"uint32": LEAN32, "int64": LEAN64, "steps": STEPS}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build_once(tmp_path_factory)


@pytest.mark.parametrize("most", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("part", range(at_most(4, 1)))
def test_random_programs(kernels, most, part):
    cases = [random_lean_case(random.Random(f"lean {part} {n}")) for n in range(scaled(40, 20))]
    runs = lean_runs(cases, most, part)
    used = check(kernels, runs)
    assert used == [kernel(run.case, most, run.limits[0] or 30) for run in runs]
    if most == LEAN32:
        assert {STEPS, LEAN64, LEAN32} == set(used)


@pytest.mark.parametrize("most", [LEAN64, LEAN32])
@pytest.mark.parametrize("part", range(at_most(4, 1)))
def test_random_lists(kernels, most, part):
    cases = [random_list_case(random.Random(f"list {part} {n}")) for n in range(scaled(40, 20))]
    runs = lean_runs(cases, most, part)
    used = check(kernels, runs)
    assert used == [kernel(run.case, most, run.limits[0] or 30) for run in runs]
    assert {STEPS, most} <= set(used)


@pytest.mark.parametrize("most", [LEAN64, LEAN32])
@pytest.mark.parametrize("part", range(at_most(4, 1)))
def test_random_renewal_noise(kernels, most, part):
    cases = [random_renewal_case(random.Random(f"renewal {part} {n}"))
             for n in range(scaled(40, 20))]  # fmt: skip
    runs = lean_runs(cases, most, part)
    used = check(kernels, runs)
    assert used == [kernel(run.case, most, run.limits[0] or 30) for run in runs]
    assert {STEPS, most} <= set(used)


@pytest.mark.parametrize("most", [LEAN64, LEAN32])
@pytest.mark.parametrize("part", range(at_most(4, 1)))
def test_random_recordings(kernels, most, part):
    cases = [random_recording_case(random.Random(f"recording {part} {n}"))
             for n in range(scaled(40, 20))]  # fmt: skip
    runs = lean_runs(cases, most, part)
    used = check(kernels, runs)
    assert used == [kernel(run.case, most, run.limits[0] or 30) for run in runs]
    assert {STEPS, most} <= set(used)


@pytest.mark.parametrize("at_the_edge", [renewal_at_the_edge, recording_at_the_edge])
def test_what_is_too_long_for_32_bits_is_run_again(kernels, at_the_edge):
    """Intervals in turn may make a time longer than any bound; the batch is run with 64 bits."""
    runs = [Run(at_the_edge(over), count=4, batch=2) for over in (0, 1)]
    assert check(kernels, runs) == [LEAN32] * 2  # as planned
    fits, again = (launches(kernels, run) for run in runs)
    assert (fits, again) == (2, 3)
    # Whole warps; all their statistics.
    larger = replace(at_the_edge(1), log2_ranks=8)
    for statistics in ("all", "max"):
        check(kernels, [Run(larger, count=2, statistics=statistics)])


def launches(kernels, run):
    [found] = execute(kernels, [run.text()])
    return int(found.split()[1])


@pytest.mark.parametrize("over", [0, 1])
def test_the_longest_detour(kernels, over):
    assert check(kernels, [Run(longest_recorded(over), count=4)]) == [STEPS if over else LEAN64]


@pytest.mark.parametrize("over", [0, 1])
def test_detours_that_crowd(kernels, over):
    """Where a thousand detours may end while a rank waits, also at the end of the recording."""
    half = IN_TURN // 2
    first = [(2 * i, 2 * i + 1) for i in range(half)]
    last = [(10**9 - 2 * i, 10**9 - 2 * i + 1) for i in range(half + 1, 0, -1)]
    noise = TraceNoise((*first, *last), 10**9, (0,) * 16)
    case = EngineCase(4, Costs(0, 0, 251, 0, work=3 + over, forward=0), others=(noise,))
    assert latest(case) == IN_TURN + over
    assert check(kernels, [Run(case, count=4)]) == [STEPS if over else LEAN32]


@pytest.mark.parametrize("most", [LEAN64, LEAN32])
def test_the_low_half_of_a_gap_decides(kernels, most):
    runs = [Run(gap_in_the_tail(random.Random(f"gap {n}")), most=most) for n in range(3)]
    assert check(kernels, runs) == [most] * 3


@pytest.mark.parametrize("over", [0, 1])
def test_the_last_times_of_32_bits_under_a_list(kernels, over):
    """Every message meets a whole interval of each source."""
    duration, costs = LIMIT32 // 20, Costs(0, 0, 1, 1, work=0, forward=0)
    noises = tuple(PeriodicNoise(duration * times, duration, stationary, in_compute=False)
                   for times, stationary in ((30, False), (40, True), (50, False)))  # fmt: skip
    case = EngineCase(4, costs, others=noises, seed=over)
    case = replace(case, costs=replace(costs, work=LIMIT32 - 1 + over - latest(case)))
    assert latest(case) == LIMIT32 - 1 + over
    assert latest(case) > case.costs.work + 4 * 3 * duration
    assert check(kernels, [Run(case, count=3)]) == [LEAN64 if over else LEAN32]


def test_which_kernel_runs_the_known_cases(kernels):
    """Every program under every noise; the lean kernel takes no more than it can."""
    runs = [Run(make(*names, 5)) for names in some(product(PROGRAMS, NOISES), 75)]
    used = Counter()
    for run, which in zip(runs, check(kernels, runs), strict=True):
        case = run.case
        kinds = Counter(map(type, case.others))
        lean = kinds.keys() <= {PeriodicNoise, Jitter} and max(kinds.values(), default=0) <= 1
        lean |= len(periodic(case)) == len(case.others) and is_list(periodic(case))
        lean |= is_lean_recording(case)
        lean &= not case.within and not (case.after and case.cycles > 1)
        if which != STEPS:
            assert lean
        used[which] += 1
    assert used[LEAN32] > scaled(10)


@pytest.mark.parametrize("over", [0, 1])
def test_the_last_times_of_32_bits(kernels, over):
    rng = random.Random(f"edge {over}")
    cases = []
    for _ in range(12):
        case, missing = at_the_edge(rng, LIMIT32, over)
        work = case.costs.work + missing  # noise in computing is none of this case
        noise = replace(case.periodic, in_compute=False)
        case = replace(case, periodic=noise, costs=replace(case.costs, work=work))
        assert latest(case) == LIMIT32 - 1 + over
        cases.append(case)
    used = check(kernels, [Run(case, count=3) for case in cases])
    assert used == [LEAN64 if over else LEAN32] * len(cases)


def test_the_last_number_of_intervals(kernels):
    """64 intervals may be met: one more, and no kernel goes from one to the next."""
    for period, which in ((1001, LEAN32), (1000, STEPS)):
        case = EngineCase(4, Costs(0, 0, 16_000, 0, work=0, forward=0),
                          periodic=PeriodicNoise(period, 999))  # fmt: skip
        assert latest(case) == 64_000
        assert check(kernels, [Run(case, count=4)]) == [which]


@pytest.mark.parametrize("most", [LEAN64, LEAN32])
@pytest.mark.parametrize("events", [0, 1, 2])
def test_the_low_half_of_a_draw_decides(kernels, events, most):
    rng = random.Random(f"low half {events}")
    runs = [Run(on_the_edge(rng, bits, events), most=most) for bits in (4, 5, 7)]
    assert check(kernels, runs) == [most] * 3


@pytest.mark.parametrize("over", [0, 1])
def test_the_last_delay_of_32_bits(kernels, over):
    """Every message that can be is delayed by two events, nearly all by one."""
    jitter = Jitter(10**8, (2**64 - 1, 2**30))
    case = EngineCase(6, Costs(0, 0, 1000, 0, work=0, forward=0), jitter=jitter)
    work = LIMIT32 - 1 + over - latest(case)
    case = replace(case, costs=replace(case.costs, work=work))
    assert latest(case) == LIMIT32 - 1 + over
    assert check(kernels, [Run(case, count=3)]) == [LEAN64 if over else LEAN32]


@pytest.mark.parametrize("log2_ranks", some([3, 4, 5, 6, 8], 2))
def test_several_tiles_in_a_block(kernels, log2_ranks):
    """Blocks hold 2^13 ranks, or 2^12: realizations that fill some and part of one."""
    count = (3 << 12 >> log2_ranks) + 1
    quiet = {"hidden": frozenset(range(log2_ranks))}
    for most in (LEAN64, LEAN32):
        check(kernels, [Run(make(*names, log2_ranks, **quiet), count=count, most=most)
                        for names in (("butterfly", "fresh"), ("after", "none"),
                                      ("after", "fresh, jitter"),
                                      ("butterfly", "two periodic"),
                                      ("butterfly", "gaps"),
                                      ("after", "trace"))])  # fmt: skip


LARGE = [(9, REAL_LIMITS), (12, REAL_LIMITS), (13, REAL_LIMITS), (14, REAL_LIMITS), (13, (10, 3)),
         (13, (12, 5))]  # fmt: skip


@pytest.mark.parametrize(("log2_ranks", "limits"), some(LARGE, 3))
@pytest.mark.parametrize("most", [LEAN64, LEAN32])
def test_large_tiles(kernels, log2_ranks, limits, most):
    quiet = {"hidden": frozenset(range(1, log2_ranks - 1))}
    cases = [make("butterfly", "stationary", log2_ranks, **quiet),
             make("after", "nodes", log2_ranks, **quiet)]  # fmt: skip
    cases.append(make("after", "fresh, jitter", log2_ranks, **quiet))
    cases.append(make("after", "two periodic", log2_ranks, **quiet))
    cases.append(make("after", "gaps, nodes", log2_ranks, **quiet))
    cases.append(make("after", "trace, nodes", log2_ranks, **quiet))
    runs = [Run(case, limits=limits, most=most, order=number % ORDERS)
            for number, case in enumerate(cases)]  # fmt: skip
    runs.append(replace(runs[0], order=2, statistics="max"))  # by warps
    assert check(kernels, runs) == [most] * 7


@pytest.mark.parametrize("most", [LEAN64, LEAN32])
def test_one_rank(kernels, most):
    sizes = [(4, REAL_LIMITS), (6, (4, 2)), (9, (5, 3)), (10, REAL_LIMITS)]
    runs = [Run(make("after", "fresh", bits), limits=limits, count=5, statistics="max",
                one_rank=True, most=most)
            for bits, limits in sizes]  # fmt: skip
    assert set(check(kernels, runs)) == {most}


def plan(kernels, *words):
    """What plan.h says of a machine: numbers by name."""
    result = subprocess.run([kernels, "plan", *map(str, words)], capture_output=True, text=True,
                            check=True)  # fmt: skip
    pairs = (line.split() for line in result.stdout.splitlines())
    return {name: int(value) for name, value in pairs}


@pytest.mark.parametrize(
    ("log2_ranks", "passes"), [(4, 1), (13, 1), (14, 2), (23, 2), (24, 3), (30, 3)]
)
def test_passes_and_memory(kernels, log2_ranks, passes):
    """As few passes as a tile of 2^13 ranks and 8 neighbours allow; 8 bytes a rank between them."""
    found = plan(kernels, log2_ranks, 10**12)
    assert found["kernel"] == LEAN32
    assert found["passes"] == passes
    assert found["neighbours"] >= 8 or log2_ranks < 13
    assert 0 < found["blocks"] < 2**31
    if passes > 1:
        assert 8 * 2**log2_ranks <= found["bytes"] < 8.1 * 2**log2_ranks + 2**12


def test_a_billion_ranks_under_every_kernel(kernels):
    """64-bit times take no more memory, nor does a machine that fills the memory."""
    for noise in ("1000000000000", "0"):
        found = plan(kernels, 30, noise)
        assert found["bytes"] < 16 * 2**30
    found = plan(kernels, 30, 10**12, 9 * 2**30)
    assert found["batch"] == 1
    with pytest.raises(subprocess.CalledProcessError):
        plan(kernels, 30, 10**12, 8 * 2**30)


@pytest.fixture(scope="module")
def mutants(tmp_path_factory):
    return mutants_once(tmp_path_factory)


def sensitive_runs():
    rng = random.Random("errors")
    runs = lean_runs([random_lean_case(rng) for _ in range(40)])
    runs += [Run(make("butterfly", "fresh", 9), order=order, count=2) for order in range(ORDERS)]
    case = make("forward cost", "stationary", 6)
    runs.append(Run(replace(case, costs=replace(case.costs, forward=0)), count=8))
    runs.append(Run(make("butterfly", "fresh", 11), count=2, statistics="max"))  # several warps
    runs.append(Run(make("after", "fresh", 6), count=5, statistics="max"))
    runs.append(Run(make("after", "fresh", 10), count=2, statistics="max", one_rank=True))
    runs += [Run(at_the_edge(rng, 4 * LIMIT32, 0)[0], count=4) for _ in range(8)]
    runs += [Run(on_the_edge(rng, bits, events)) for bits in (4, 5) for events in range(3)]
    case = make("butterfly", "fresh, jitter", 6)  # two rounds of another block in the last window
    runs.append(Run(replace(case, costs=replace(case.costs, send=0)), limits=(5, 2), count=4))
    runs.append(Run(make("after", "fresh, jitter", 6), count=4))
    jitter = Jitter(LIMIT32 // 3, (2**63,))
    case = EngineCase(6, Costs(0, 0, 2, 0, work=0, forward=0), jitter=jitter)
    runs.append(Run(case, count=4))
    runs += runs_of_lists()
    for random_case in (random_list_case, random_renewal_case, random_recording_case):
        for most in (LEAN32, LEAN64):
            runs += lean_runs([random_case(rng) for _ in range(30)], most)
    cases = [renewal_beyond_words(), renewal_with_more_left(), gap_in_the_tail(rng)]
    runs += [Run(case) for case in cases]
    late = PeriodicNoise(PERIODIC.period * 10**6, PERIODIC.duration)
    runs.append(Run(make("butterfly", "none", 9, periodic=late), count=9))
    return runs


def runs_of_lists():
    costs = Costs(0, 0, 1, 1, work=0, forward=0)
    # In each round a rank goes over four intervals in turn: longer than 32 bits, all together.
    duration = LIMIT32 // 7
    turns = [PeriodicNoise(4 * duration + 1, duration, phases=(turn * duration,) * 64)
             for turn in range(4)]  # fmt: skip
    long = [PeriodicNoise(4 * LIMIT32, LIMIT32 // 20), PeriodicNoise(LIMIT32, LIMIT32 // 20)]
    cases = [EngineCase(6, costs, others=tuple(noises)) for noises in (turns, long)]
    phases = (PeriodicNoise(100, 10, in_compute=False), PeriodicNoise(170, 20))
    cases.append(EngineCase(5, replace(costs, work=50), others=phases, cycles=2))
    return [Run(case, count=4) for case in cases] + [
        Run(make("butterfly", "two periodic", 3), count=3, most=LEAN64)
    ]


@pytest.mark.full_scale
def test_no_error(mutants):
    check(mutants, sensitive_runs())


@pytest.mark.full_scale
@pytest.mark.parametrize("what", lean_errors())
def test_an_error_is_caught(mutants, what):
    assert caught(mutants, numbers()[what], sensitive_runs())
