"""GPU tile and segment kernels, emulated on the CPU, against the CPU backend; barrier mutants.

The kernels' source and the host code that runs them pass by pass are those of the CUDA engine.
Every block runs its threads in a seeded order, and shared and fresh memory hold garbage, so that
what depends on a missing barrier or on memory that nobody wrote shows. That it does is tested too,
on copies of the kernels with one barrier taken out.
"""

import random
from dataclasses import replace

import pytest
from reference import noise_cases
from reference.cases import random_case, redundant_case
from reference.random_noise import ROLES
from support.emulated_kernels import (
    BLOCKS,
    LAUNCHES,
    ORDERS,
    REAL_LIMITS,
    Run,
    build_once,
    caught,
    check,
    choices,
    execute,
    sensitive_runs,
    varied,
)
from support.kernel_cases import (
    ALL_NOISES,
    BURSTS,
    GENERAL_NOISES,
    HOSTS,
    NODES,
    PROGRAMS,
    WEATHERS,
    make,
)
from support.kernel_mutants import OTHERS, barriers, mutants_once, numbers
from support.message_cases import MESSAGE_PROGRAMS, make_messages
from support.scale import scaled, some


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build_once(tmp_path_factory)


def test_every_source_is_in_a_case():
    here = {source.role for noise in ALL_NOISES.values() for source in noise(16)}
    assert here >= set(ROLES)


def drawn(make_case, name, number):
    """A random case that leaves room for a few realizations, not too large for emulated threads."""
    case = make_case(random.Random(f"kernels {name} {number}"))
    return replace(case, realization=min(case.realization, 2**32 - 8))


@pytest.mark.parametrize("noise", ALL_NOISES)
def test_programs(kernels, noise):
    sizes = [3, 6, 5, 7, 4, 2, 1, 0]
    general = (*GENERAL_NOISES, *NODES, *HOSTS, *WEATHERS, *BURSTS)
    shifts = [len(noise)] if noise in general else [0, 3]
    check(kernels, [varied(make(program, noise, sizes[(number + shift) % 8]), number + shift)
                    for number, program in some(enumerate(PROGRAMS), 3)
                    for shift in shifts])  # fmt: skip


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("family", [random_case, redundant_case], ids=["any", "copies"])
def test_random_cases(kernels, family, part):
    numbers = some(range(part * 15, part * 15 + 15), 3)
    check(kernels, [varied(drawn(family, family.__name__, n), n) for n in numbers])


LISTS = [noise_cases.any_case, noise_cases.tie_case, noise_cases.copy_case,
         noise_cases.zero_transit_case, noise_cases.dense_case,
         noise_cases.recorded_work_case]  # fmt: skip


@pytest.mark.parametrize("family", LISTS, ids=lambda family: family.__name__)
def test_random_lists_of_noise(kernels, family):
    check(kernels, [varied(drawn(family, family.__name__, n), n) for n in range(scaled(12, 3))])


@pytest.mark.parametrize("log2_ranks", some(range(9), 3))
def test_several_tiles_in_a_block(kernels, log2_ranks):
    """Blocks hold 256 ranks or more; realizations that fill some blocks and part of one."""
    count = 300 >> log2_ranks
    runs = [varied(make(program, noise, log2_ranks), 0, count=count + 1, batch=1000)
            for program, noise in [("after", "fresh, jitter"), ("sparse set", "fresh, jitter"),
                                   ("cycles", "two periodic")]]  # fmt: skip
    check(kernels, runs)


# Tiles with several ranks a thread: whole machines, and windows in larger ones.
LARGE = [(9, REAL_LIMITS), (10, REAL_LIMITS), (11, REAL_LIMITS), (12, REAL_LIMITS), (11, (9, 5)),
         (12, (10, 6)), (13, (9, 3)), (13, REAL_LIMITS)]  # fmt: skip


@pytest.mark.parametrize(("log2_ranks", "limits"), some(LARGE, 3))
def test_several_ranks_in_a_thread(kernels, log2_ranks, limits):
    quiet = {"hidden": frozenset(range(1, log2_ranks - 1))}  # observing is what takes time
    names = ["after", "both", "forward cost"] if log2_ranks < 12 else ["both"]
    cases = [make(name, "fresh", log2_ranks, **quiet) for name in names]
    cases.append(make("butterfly", "fresh, jitter", log2_ranks, **quiet))
    cases.append(make("everything", "stationary", log2_ranks, cycles=1, within=(2, 3), **quiet))
    if log2_ranks < 13:
        cases.append(make("butterfly", "everything", log2_ranks, **quiet))
    if log2_ranks < 12:
        cases.append(make("both", "trace, nodes", log2_ranks, **quiet))
    check(kernels, [Run(case, limits=limits, order=n % ORDERS, count=1 + (log2_ranks < 11),
                        statistics=["max", "all"][n % 2])
                    for n, case in enumerate(cases)])  # fmt: skip


def test_orders_of_threads(kernels):
    """Any order in which a GPU may run threads gives the same bits."""
    cases = [make("forward cost", "fresh", 7), make("both", "nodes", 6),
             make("sparse set", "fresh, jitter", 5), make("both", "fresh", 9)]  # fmt: skip
    check(kernels, [Run(case, count=2, limits=limits, order=order, seed=seed)
                    for case in cases for limits in (REAL_LIMITS, (9, 2))
                    for order in range(ORDERS) for seed in range(scaled(3))])  # fmt: skip
    cases = [make("everything", "everything", 5), make("both", "trace", 6)]
    check(kernels, [Run(case, count=2, order=order, seed=seed)
                    for case in cases for order in range(ORDERS)
                    for seed in range(scaled(2))])  # fmt: skip


def test_batches_and_statistics(kernels):
    programs = [("after", 6, REAL_LIMITS), ("everything", 4, (3, 1))]
    runs = [Run(make(program, "fresh, jitter", bits), count=7, limits=limits, batch=batch,
                statistics=statistics)
            for program, bits, limits in programs
            for batch in (1, 3, 7) for statistics in ("max", "all")]  # fmt: skip
    runs += [Run(make(program, "everything", bits), count=7, limits=limits, batch=3)
             for program, bits, limits in programs]  # fmt: skip
    check(kernels, runs)


@pytest.mark.parametrize("noise", ["fresh", "everything"])
def test_one_rank(kernels, noise):
    """Rows that see rank 0 only."""
    runs = [varied(make(program, noise, bits), bits, statistics="max", one_rank=True)
            for program in ("after", "cycles", "everything") for bits in (0, 3, 6)]  # fmt: skip
    check(kernels, runs)


def test_last_realization(kernels):
    check(kernels, [Run(make("full set", noise, 5, realization=2**32 - 3), count=3, batch=2)
                    for noise in ("fresh, jitter", "everything")])  # fmt: skip


def launched(program, runs):
    """Of each run, whose results are checked: launches, and steps of ranks in the largest."""
    check(program, runs)
    found = execute(program, [run.text() for run in runs])
    return [tuple(map(int, text.split()[1:3])) for text in found]


# Tiles of the step kernel and of the lean kernel, segments by neighbours and by far mirrors.
CUT = [("cycles", "fresh, jitter", 6), ("after", "fresh", 6), ("forward cost", "two periodic", 5),
       ("on demand", "fresh", 6), ("sparse set", "fresh, jitter", 7), ("far mirrors", "nodes", 7),
       ("everything", "everything", 5)]  # fmt: skip


def test_no_launch_is_long(kernels):
    """A launch has no more steps of ranks than it may, or one block; the bits stay the same.

    As many launches as that takes: nothing is left out, nothing done twice.
    """
    for names in some(CUT, 2):
        case = make(*names)
        whole = Run(case, count=16, limits=(4, 2))
        cut = replace(whole, launch=2**16)
        (launches, steps), (more, largest) = launched(kernels, [whole, cut])
        assert largest <= max(cut.launch, 2**8 * 32 * 16)  # or a block: its ranks, steps
        assert largest <= steps
        if largest < steps:
            assert more > launches


def test_no_pass_is_long(kernels):
    """Many cycles on one block are passes that leave their state in memory."""
    programs = ("butterfly", "full set", "forward cost", "on demand", "after")
    noises = ("fresh", "none", "two periodic", "everything")
    cases = [make(name, noise, 4, cycles=5) for name in some(programs, 2)
             for noise in some(noises, 1)]  # fmt: skip
    for steps in (1, 7):
        runs = [Run(case, count=2, limits=(4, 2), steps=steps) for case in cases]
        whole = [replace(run, steps=0) for run in runs]
        for (_, cut), (_, long), run in zip(launched(kernels, runs), launched(kernels, whole), runs,
                                            strict=True):  # fmt: skip
            if run.case.within:
                continue
            assert cut <= 16 * 16 * steps * 3
            assert cut < long


def test_memory_that_is_not_there(kernels):
    """Half as many realizations, as often as it takes; not even one is an error."""
    runs = []
    for names in some(CUT[1:], 1):
        run = Run(make(*names), count=5, limits=(4, 2))
        [short] = execute(kernels, [replace(run, room=1).text()])
        assert "full" in short
        rooms = [2**bits for bits in range(10, 24)]
        found = execute(kernels, [replace(run, batch=1, room=room).text() for room in rooms])
        least = min(room for room, text in zip(rooms, found, strict=True) if "full" not in text)
        assert "full" in execute(kernels, [replace(run, room=least // 2).text()])[0]
        runs += [replace(run, room=room) for room in (least, 3 * least // 2, 2 * least)]
    check(kernels, runs)


@pytest.mark.parametrize(("noise", "cursors"), [("fresh", 0), ("trace", 1), ("two periodic", 2)])
def test_memory_of_a_realization(kernels, noise, cursors):
    """As test_gpu.py asks of a device: bytes for each rank, and a little for the program.

    With mirrors, one segment has nearly all ranks, and guesses of many messages for each.
    """
    butterflies = [make(name, noise, 18) for name in PROGRAMS if name != "mirrors"]
    messages = [make_messages(name, noise, 200_000) for name in MESSAGE_PROGRAMS]
    for cases, of_rank in ((butterflies, 24), (messages, 64)):
        for case, found in zip(cases, choices(kernels, *map(Run, cases)), strict=True):
            assert 0 < found.bytes <= (of_rank + 32 * cursors) * case.ranks + 2**17


@pytest.fixture(scope="module")
def mutants(tmp_path_factory):
    return mutants_once(tmp_path_factory)


def runs_with_cursors():
    """Blocks with threads that have no tile, segments, several ranks a thread; many batches."""
    runs = [
        ("cycles", "renewal", 3, REAL_LIMITS),
        ("everything", "everything", 5, (4, 2)),
        ("butterfly", "renewal", 9, REAL_LIMITS),
        ("sparse set", "trace, nodes", 6, (4, 2)),
    ]
    runs = [(make(program, noise, bits), limits) for program, noise, bits, limits in runs]
    runs = [Run(case, limits=limits) for case, limits in runs]
    runs += [Run(make_messages(program, "two periodic", 13), limits=(4, 2), way=way)
             for program in ("ring", "fold") for way in (LAUNCHES, BLOCKS)]  # fmt: skip
    return [replace(run, count=3, batch=2, order=order) for run in runs for order in range(ORDERS)]


@pytest.mark.full_scale
def test_nothing_removed(mutants):
    check(mutants, sensitive_runs())


@pytest.mark.full_scale
def test_no_two_threads_use_the_same_cursors(mutants):
    check(mutants, runs_with_cursors())


@pytest.mark.full_scale
@pytest.mark.parametrize(("name", "which"), barriers())
def test_a_missing_barrier_is_caught(mutants, name, which):
    assert caught(mutants, numbers()[name, which], sensitive_runs())


@pytest.mark.full_scale
@pytest.mark.parametrize("what", OTHERS)
def test_missing_cursors_are_caught(mutants, what):
    assert caught(mutants, numbers()[what], runs_with_cursors())
