"""The CUDA kernels, emulated on the CPU (tests/emulation), against the CPU backend: every bit.

The kernels' source and the host code that runs them pass by pass are those of the CUDA engine.
Every block runs its threads in a seeded order, and shared and fresh memory hold garbage, so that
what depends on a missing barrier or on memory that nobody wrote shows. That it does is tested too,
on copies of the kernels with one barrier taken out.
"""

import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import NOISES, PROGRAMS, make
from reference.cases import random_case, redundant_case
from test_emulation import FLAGS, SOURCE, compiler

from jitterfly import _core

CUDA = Path(__file__).parent.parent / "cuda"
PROCESSES = 2
ORDERS = 4  # jf_emu::kAllOrders: random, warp by warp, ascending, descending
REAL_LIMITS = (12, 5)  # kLimits of gpu/pass_job.h


@dataclass(frozen=True)
class Run:
    """A case, and how it is run: limits of a tile, realizations in a batch, order of threads."""

    case: object
    count: int = 1
    limits: tuple[int, int] = REAL_LIMITS
    batch: int = 1000
    statistics: str = "all"
    order: int = 0
    seed: int = 0

    def text(self, removed_barrier=-1):
        """The input of kernels.cpp."""
        case, costs = self.case, self.case.costs
        noise, jitter = case.periodic, case.jitter
        numbers = [case.log2_ranks, len(case.rows), costs.send, costs.receive, costs.transit,
                   costs.combine, costs.work, costs.forward]  # fmt: skip
        if noise:
            phases = noise.phases or ()
            numbers += [1, noise.period, noise.duration, noise.stationary, noise.node_ranks,
                        noise.in_compute, noise.in_communication, len(phases), *phases]  # fmt: skip
        else:
            numbers += [0, 1, 0, 0, 1, 1, 1, 0]
        survival = jitter.survival if jitter else ()
        steps = case.steps().ravel()
        numbers += [jitter.duration if jitter else 0, len(survival), *survival]
        numbers += [len(steps), *steps, case.seed, case.realization, self.count]
        numbers += [self.statistics == "all", *self.limits, self.batch, self.order, self.seed]
        return " ".join(str(int(number)) for number in [*numbers, removed_barrier])

    def expected(self):
        case = self.case
        return _core.simulate(case.program(_core), case.seed, case.realization, self.count,
                              self.statistics, "cpu", 1).ravel()  # fmt: skip


def build(folder, cuda):
    program = folder / "kernels"
    source = [
        f"-I{SOURCE}",
        f"-I{cuda}",
        str(SOURCE / "kernels.cpp"),
        str(cuda / "host_program.cpp"),
    ]
    command = [*compiler(), *FLAGS, "-Wno-unknown-pragmas", *source, "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return program


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), CUDA)


def execute(program, lines, timeout=60):
    """What the program writes for each case; None where it died or did not end."""

    def part(start):
        text = "\n".join(lines[start::PROCESSES])
        try:
            result = subprocess.run([program], input=text, capture_output=True, text=True,
                                    timeout=timeout, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return []
        return result.stdout.splitlines()

    found = [None] * len(lines)
    with ThreadPoolExecutor(PROCESSES) as pool:
        for start, results in enumerate(pool.map(part, range(PROCESSES))):
            for number, text in enumerate(results):
                found[start + number * PROCESSES] = text
    return found


def same(run, found):
    return (
        found is not None
        and "error" not in found
        and found.split() == [str(tick) for tick in run.expected()]
    )


def check(program, runs):
    for run, found in zip(runs, execute(program, [run.text() for run in runs]), strict=True):
        assert found is not None, f"no result for {run}"
        assert "error" not in found, f"{found} for {run}"
        ticks = np.array(found.split(), dtype=np.int64)
        np.testing.assert_array_equal(ticks, run.expected(), err_msg=str(run))


def varied(case, number, **changes):
    """A run whose limits, batches and order of threads go with a number."""
    bits = case.log2_ranks
    choices = [REAL_LIMITS, (3, 1), REAL_LIMITS, (2, 1), (4, 2), (5, 4), (7, 5)]
    limits = choices[number % len(choices)] if bits <= 8 else choices[0]
    options = {"limits": limits, "count": 1 + number % 4, "batch": 1 + number % 3,
               "order": number % ORDERS, "seed": number,
               "statistics": "all" if number % 3 else "max"}  # fmt: skip
    return Run(case, **{**options, **changes})


def drawn(make_case, name, number):
    """A random case that leaves room for a few realizations, not too large for emulated threads."""
    case = make_case(random.Random(f"kernels {name} {number}"))
    return replace(case, realization=min(case.realization, 2**32 - 8))


@pytest.mark.parametrize("noise", NOISES)
def test_programs(kernels, noise):
    sizes = [3, 6, 5, 7, 4, 2, 1, 0]
    check(kernels, [varied(make(program, noise, sizes[(number + shift) % 8]), number + shift)
                    for number, program in enumerate(PROGRAMS) for shift in (0, 3)])  # fmt: skip


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("family", [random_case, redundant_case], ids=["any", "copies"])
def test_random_cases(kernels, family, part):
    numbers = range(part * 15, part * 15 + 15)
    check(kernels, [varied(drawn(family, family.__name__, n), n) for n in numbers])


@pytest.mark.parametrize("log2_ranks", range(9))
def test_several_tiles_in_a_block(kernels, log2_ranks):
    """Blocks hold 256 ranks or more; realizations that fill some blocks and part of one."""
    count = 300 >> log2_ranks
    runs = [varied(make(program, "fresh, jitter", log2_ranks), 0, count=count + 1, batch=1000)
            for program in ("after", "sparse set")]  # fmt: skip
    check(kernels, runs)


# Tiles with several ranks a thread: whole machines, and windows in larger ones.
LARGE = [(9, (12, 5)), (10, (12, 5)), (11, (12, 5)), (12, (12, 5)), (11, (9, 5)), (12, (10, 6)),
         (13, (9, 3)), (13, (12, 5))]  # fmt: skip


@pytest.mark.parametrize(("log2_ranks", "limits"), LARGE)
def test_several_ranks_in_a_thread(kernels, log2_ranks, limits):
    quiet = {"hidden": frozenset(range(1, log2_ranks - 1))}  # observing is what takes time
    names = ["after", "both", "forward cost"] if log2_ranks < 12 else ["both"]
    cases = [make(name, "fresh", log2_ranks, **quiet) for name in names]
    cases.append(make("butterfly", "fresh, jitter", log2_ranks, **quiet))
    cases.append(make("everything", "stationary", log2_ranks, cycles=1, within=(2, 3), **quiet))
    check(kernels, [Run(case, limits=limits, order=n % ORDERS, count=1 + (log2_ranks < 11),
                        statistics=["max", "all"][n % 2])
                    for n, case in enumerate(cases)])  # fmt: skip


def test_orders_of_threads(kernels):
    """Any order in which a GPU may run threads gives the same bits."""
    cases = [make("forward cost", "fresh", 7), make("both", "nodes", 6),
             make("sparse set", "fresh, jitter", 5), make("both", "fresh", 9)]  # fmt: skip
    check(kernels, [Run(case, count=2, limits=limits, order=order, seed=seed)
                    for case in cases for limits in (REAL_LIMITS, (9, 2))
                    for order in range(ORDERS) for seed in range(3)])  # fmt: skip


def test_batches_and_statistics(kernels):
    runs = [Run(make(program, "fresh, jitter", bits), count=7, limits=limits, batch=batch,
                statistics=statistics)
            for program, bits, limits in [("after", 6, REAL_LIMITS), ("everything", 4, (3, 1))]
            for batch in (1, 3, 7) for statistics in ("max", "all")]  # fmt: skip
    check(kernels, runs)


def test_last_realization(kernels):
    case = make("full set", "fresh, jitter", 5, realization=2**32 - 3)
    check(kernels, [Run(case, count=3, batch=2)])


BARRIER = "__syncthreads();"
KERNELS = ["block.cuh", "segment_kernel.cuh"]


def barriers():
    return [(name, k) for name in KERNELS
            for k in range((CUDA / "gpu" / name).read_text().count(BARRIER))]  # fmt: skip


@pytest.fixture(scope="module")
def kernels_without(tmp_path_factory):
    """The kernels, with all their barriers numbered: the case says which one is not there."""
    folder = tmp_path_factory.mktemp("mutant")
    copy = folder / "cuda"
    shutil.copytree(CUDA, copy)
    number = 0
    for name in KERNELS:
        path = copy / "gpu" / name
        before, *parts = path.read_text().split(BARRIER)
        assert parts, f"no barrier in {name}"
        for part in parts:
            before += f"if (removed_barrier != {number}) {BARRIER}{part}"
            number += 1
        path.write_text(before)
    assert number == len(barriers())
    return build(folder, copy)


def sensitive_runs():
    """Runs in which each barrier matters, in every order of threads."""
    cases = [
        make("after", "fresh", 8),
        make("both", "fresh", 10),
        make("sparse set", "fresh", 6),
    ]
    return [Run(case, order=order, count=2) for case in cases for order in range(ORDERS)]


def test_barriers_present(kernels_without):
    check(kernels_without, sensitive_runs())


@pytest.mark.parametrize(("name", "which"), barriers())
def test_a_missing_barrier_is_caught(kernels_without, name, which):
    number = barriers().index((name, which))
    found = (execute(kernels_without, [run.text(number)], timeout=5) for run in sensitive_runs())
    assert not all(same(run, text) for run, [text] in zip(sensitive_runs(), found, strict=True))
