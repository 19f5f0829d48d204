"""The CUDA kernels, emulated on the CPU (tests/emulation), against the CPU backend: every bit.

The kernels' source and the host code that runs them pass by pass are those of the CUDA engine.
Every block runs its threads in a seeded order, and shared and fresh memory hold garbage, so that
what depends on a missing barrier or on memory that nobody wrote shows. That it does is tested too,
on copies of the kernels with one barrier taken out. Noise is handed over as the calls that build it
(jf::Program::add_*), recorded from those which the CPU backend gets.
"""

import fcntl
import os
import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import GENERAL_NOISES, NOISES, PROGRAMS, make
from message_cases import make_messages
from reference import noise_cases
from reference.cases import COPY, random_case, redundant_case
from reference.delays import MOST
from reference.noise import MAX, MIN
from test_emulation import FLAGS, SOURCE, compiler

from jitterfly import _core

CUDA = Path(__file__).parent.parent / "cuda"
PTX = Path(__file__).parent / "ptx"
PROCESSES = 2
ORDERS = 4  # jf_emu::kAllOrders: random, warp by warp, ascending, descending
REAL_LIMITS = (0, 0)  # those of gpu/lean.h and jobs.h: tiles of 2^11 to 2^13 ranks
STEPS, LEAN64, LEAN32 = range(3)  # jf::gpu::TileKernel
CHOSEN, LAUNCHES, BLOCKS = range(3)  # how messages are run: gpu/message_pass.h


class Delay:
    """In place of `_core.Delay`: the words of kernels.cpp that make the same delay there."""

    def __init__(self, kind, last, *arguments):
        self.kind, self.last, self.arguments = kind, last, arguments

    def with_last(self, last):
        return Delay(self.kind, last, *self.arguments)

    @property
    def words(self):
        return [self.kind, self.last, *self.arguments]

    @staticmethod
    def constant(value):
        return Delay("constant", MOST, value)

    @staticmethod
    def smooth(words):
        return Delay("smooth", MOST, *counted(words))

    @staticmethod
    def samples(values):
        return Delay("samples", MOST, *counted(values))

    @staticmethod
    def pieces(edges, top, drop):
        return Delay("pieces", MOST, *counted(edges), *counted(top), *counted(drop))

    @staticmethod
    def counts(value, survival):
        return Delay("counts", MOST, value, *counted(survival))


def counted(values):
    values = () if values is None else values
    return [len(values), *(int(value) for value in values)]


class Recorder:
    """In place of `_core` and its `Program`: takes sources of noise, keeps the calls as words."""

    Delay = Delay

    def __init__(self):
        self.words = []
        self.count = 0

    def _add(self, role, scope, *arguments):
        options = {"node_ranks": 1, "in_compute": True, "in_communication": True, "begin": MIN,
                   "end": MAX}  # fmt: skip
        assert scope.keys() <= options.keys()
        self.count += 1
        self.words += [role, *(options | scope).values(), *arguments]

    def add_periodic(self, period, duration, stationary, phases, **scope):
        self._add("periodic", scope, period, duration, stationary, *counted(phases))

    def add_renewal(self, gap, duration, stationary, **scope):
        words = [*gap.words, *duration.words, stationary is not None]
        if stationary is not None:
            share, busy, idle = stationary
            words += [share, *busy.words, *idle.words]
        self._add("renewal", scope, *words)

    def add_trace(self, starts, ends, length, offsets, **scope):
        words = [*counted(starts), *counted(ends), length, *counted(offsets)]
        self._add("trace", scope, *words)

    def add_traces(self, recordings, of_ranks, **scope):
        words = [len(recordings)]
        for starts, ends, length in recordings:
            words += [*counted(starts), *counted(ends), length]
        self._add("traces", scope, *words, *counted(of_ranks))

    def add_step(self, delay, at_send, **scope):
        self._add("step", scope, at_send, *delay.words)

    def add_message(self, delay, **scope):
        self._add("message", scope, *delay.words)

    class CongestionProgram:
        """A network, as the words of read_congestion."""

        def __init__(self, hosts, used, ranks, perturbation, **_):
            self.words = [hosts, used, ranks, perturbation]

        def set_fat_tree(self, m, w, p, key, salt, whole):
            self.words += [*counted(m), *counted(w), *counted(p), key, salt, whole]

    def add_congestion(self, network):
        self._add("congestion", {}, *network.words)

    def add_jitter(self, duration, survival, cost=-1, **scope):
        self._add("jitter", scope, cost, duration, *counted(survival))


def as_text(words):
    return " ".join(word if isinstance(word, str) else str(int(word)) for word in words)


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
    one_rank: bool = False
    most: int = LEAN32  # the kernels that may run the tiles, up to this one
    launch: int = 0  # steps of ranks in a launch, at most; 0: as many as on a device
    steps: int = 0  # of a pass over tiles of these limits; 0: any number
    room: int = 2**30  # bytes that the device turns out to have
    way: int = CHOSEN  # of running messages
    rounds: int = 0  # turns of a block with messages in one launch; 0: as on a device

    def words(self):
        """What read_case.h reads."""
        case, costs = self.case, self.case.costs
        steps, noise = case.steps(), Recorder()
        if steps.shape[1] == 5:  # no messages
            others = np.tile([0, 0, 0, 0, 0, 1], (len(steps), 1))
            steps = np.concatenate([steps, others], axis=1)
        noise.ranks, noise.has_copies = case.ranks, bool((steps[:, 2] & COPY).any())
        case.add_noise(Recorder, noise)
        return [case.log2_ranks, len(case.rows), self.one_rank, costs.send, costs.receive,
                costs.transit, costs.combine, costs.work, costs.forward,
                costs.patience, costs.ask, costs.request, *counted(case.mirrors), case.ranks,
                *counted(steps.ravel()), *counted(np.ravel(case.messages)), costs.load,
                *counted(case.loads), noise.count,
                *noise.words, case.seed, case.realization, self.count,
                self.statistics == "all"]  # fmt: skip

    def text(self, removed=-1):
        """The input of kernels.cpp."""
        return as_text(
            [
                *self.words(),
                *self.limits,
                self.batch,
                self.order,
                self.seed,
                removed,
                self.most,
                self.launch,
                self.steps,
                self.room,
                self.way,
                self.rounds,
            ]
        )

    def expected(self):
        case = self.case
        program = case.program(_core)
        if self.one_rank:  # the ready times of rank 0
            assert self.statistics == "max"
            numbers = range(case.realization, case.realization + self.count)
            return np.concatenate([_core.ready_times(program, case.seed, n)[:, 0] for n in numbers])
        return _core.simulate(program, case.seed, case.realization, self.count, self.statistics,
                              "cpu", 1).ravel()  # fmt: skip


def build(folder, cuda, name="kernels", ptx="absent.cpp"):
    """A program of tests/emulation; with machine.cpp it also runs PTX (test_ptx.py)."""
    program = folder / name
    host = ["core/host_program.cpp", "noise/host_noise.cpp", "noise/host_delay.cpp",
            "congestion/loads.cpp", "congestion/program.cpp",
            "congestion/vector_isa.cpp"]  # fmt: skip
    source = [f"-I{SOURCE}", f"-I{cuda}", str(SOURCE / f"{name}.cpp"), str(PTX / ptx)]
    source += [str(cuda / part) for part in host]
    command = [
        *compiler(),
        *FLAGS,
        "-Wno-unknown-pragmas",
        "-DJF_ISA=portable",
        "-rdynamic",  # a program asks for the names of its kernels
        *source,
        "-o",
        str(program),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return program


def build_once(tmp_path_factory, name="kernels"):
    """The kernels as they are, for all files of tests and all processes of pytest-xdist."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # then it is the process's own, in that of the session
        folder = folder.parent
    folder /= name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "built").exists():
            return folder / name
        program = build(folder, CUDA, name, "machine.cpp")
        (folder / "built").touch()
        return program


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build_once(tmp_path_factory)


def execute(program, lines, timeout=60, arguments=()):
    """What the program writes for each case; None where it died or did not end."""

    def part(start):
        text = "\n".join(lines[start::PROCESSES])
        try:
            result = subprocess.run([program, *arguments], input=text, capture_output=True,
                                    text=True, timeout=timeout, check=False)  # fmt: skip
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
        and found.split()[4:] == [str(tick) for tick in run.expected()]
    )


def check(program, runs):
    """Every result is that of the CPU backend. Returns which kernels ran the tiles."""
    kernels = []
    for run, found in zip(runs, execute(program, [run.text() for run in runs]), strict=True):
        assert found is not None, f"no result for {run}"
        assert "error" not in found, f"{found} for {run}"
        kernel, _launches, _largest, _threads, *ticks = map(int, found.split())
        kernels.append(kernel)
        np.testing.assert_array_equal(ticks, run.expected(), err_msg=str(run))
    return kernels


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
    shifts = [len(noise)] if noise in GENERAL_NOISES else [0, 3]
    check(kernels, [varied(make(program, noise, sizes[(number + shift) % 8]), number + shift)
                    for number, program in enumerate(PROGRAMS) for shift in shifts])  # fmt: skip


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("family", [random_case, redundant_case], ids=["any", "copies"])
def test_random_cases(kernels, family, part):
    numbers = range(part * 15, part * 15 + 15)
    check(kernels, [varied(drawn(family, family.__name__, n), n) for n in numbers])


LISTS = [noise_cases.any_case, noise_cases.tie_case, noise_cases.copy_case,
         noise_cases.zero_transit_case, noise_cases.dense_case]  # fmt: skip


@pytest.mark.parametrize("family", LISTS, ids=lambda family: family.__name__)
def test_random_lists_of_noise(kernels, family):
    check(kernels, [varied(drawn(family, family.__name__, n), n) for n in range(12)])


@pytest.mark.parametrize("log2_ranks", range(9))
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


@pytest.mark.parametrize(("log2_ranks", "limits"), LARGE)
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
                    for order in range(ORDERS) for seed in range(3)])  # fmt: skip
    cases = [make("everything", "everything", 5), make("both", "trace", 6)]
    check(kernels, [Run(case, count=2, order=order, seed=seed)
                    for case in cases for order in range(ORDERS) for seed in range(2)])  # fmt: skip


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
    for names in CUT:
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
    cases = [make(name, noise, 4, cycles=5) for name in ("butterfly", "full set", "forward cost",
                                                        "on demand", "after")
             for noise in ("fresh", "none", "two periodic", "everything")]  # fmt: skip
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
    for names in CUT[1:]:
        run = Run(make(*names), count=5, limits=(4, 2))
        [short] = execute(kernels, [replace(run, room=1).text()])
        assert "full" in short
        rooms = [2**bits for bits in range(10, 24)]
        found = execute(kernels, [replace(run, batch=1, room=room).text() for room in rooms])
        least = min(room for room, text in zip(rooms, found, strict=True) if "full" not in text)
        assert "full" in execute(kernels, [replace(run, room=least // 2).text()])[0]
        runs += [replace(run, room=room) for room in (least, 3 * least // 2, 2 * least)]
    check(kernels, runs)


BARRIER = "__syncthreads();"
KERNELS = ["block.cuh", "lean_kernel.cuh", "message_kernel.cuh"]


def barriers():
    return [(name, k) for name in KERNELS
            for k in range((CUDA / "gpu" / name).read_text().count(BARRIER))]  # fmt: skip


# What else a copy of the kernels can be made to do without: a number in place of REMOVED.
OTHERS = {
    "cursors of their own for threads without a tile": (
        "gpu/tile_kernel.cuh",
        "slot <= last ? realization : job.",
        "slot <= last || removed == REMOVED ? realization : job.",
    ),
    "cursors that belong to nobody": (
        "gpu/run.cuh",
        "    device.fill(cursors_",
        "    if (removed != REMOVED) device.fill(cursors_",
    ),
}
WATCHED = {
    '#include "noise/step_delay.h"\n': '#include "watch.h"\n',
    "meets(mine, t, rank, compute, next);\n": (
        "if (interval_count > 0) jf_emu::watch.touch(mine);\n"
    ),
}


def change(folder, name, old, new):
    path = folder / name
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is not in {name}"
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def kernels_without(tmp_path_factory):
    """The kernels, with all that can be taken out numbered: the case says what is not there.

    All uses of cursors are watched (emulation/watch.h).
    """
    folder = tmp_path_factory.mktemp("mutant")
    copy = folder / "cuda"
    shutil.copytree(CUDA, copy)
    number = 0
    for name in KERNELS:
        path = copy / "gpu" / name
        before, *parts = path.read_text().split(BARRIER)
        assert parts, f"no barrier in {name}"
        for part in parts:
            before += f"if (removed != {number}) {BARRIER}{part}"
            number += 1
        path.write_text(before)
    assert number == len(barriers())
    for name, old, new in OTHERS.values():
        change(copy, name, old, new.replace("REMOVED", str(number)))
        number += 1
    for old, addition in WATCHED.items():
        change(copy, "noise/sources.h", old, old + addition)
    return build(folder, copy)


def sensitive_runs():
    """Runs in which each barrier matters, in every order of threads."""
    cases = [
        make("after", "fresh", 8),
        make("both", "fresh", 10),
        make("sparse set", "fresh", 6),
        make("butterfly", "fresh", 11),
    ]
    runs = [Run(case, count=2) for case in cases]
    messages = [make_messages("ring", "fresh", 100), make_messages("trees", "none", 600)]
    runs += [Run(case, count=2, way=BLOCKS, rounds=rounds) for case in messages
             for rounds in (0, 3)]  # fmt: skip
    return [replace(run, order=order) for run in runs for order in range(ORDERS)]


def runs_with_cursors():
    """Blocks with threads that have no tile, segments, several ranks a thread; many batches."""
    runs = [
        ("cycles", "two periodic", 3, REAL_LIMITS),
        ("everything", "everything", 5, (4, 2)),
        ("butterfly", "renewal", 9, REAL_LIMITS),
        ("sparse set", "trace, nodes", 6, (4, 2)),
    ]
    runs = [(make(program, noise, bits), limits) for program, noise, bits, limits in runs]
    runs = [Run(case, limits=limits) for case, limits in runs]
    runs += [Run(make_messages(program, "two periodic", 13), limits=(4, 2), way=way)
             for program in ("ring", "fold") for way in (LAUNCHES, BLOCKS)]  # fmt: skip
    return [replace(run, count=3, batch=2, order=order) for run in runs for order in range(ORDERS)]


def test_nothing_removed(kernels_without):
    check(kernels_without, sensitive_runs())


def test_no_two_threads_use_the_same_cursors(kernels_without):
    check(kernels_without, runs_with_cursors())


def caught(kernels_without, number, runs):
    found = (execute(kernels_without, [run.text(number)], timeout=5) for run in runs)
    return not all(same(run, text) for run, [text] in zip(runs, found, strict=True))


@pytest.mark.parametrize(("name", "which"), barriers())
def test_a_missing_barrier_is_caught(kernels_without, name, which):
    assert caught(kernels_without, barriers().index((name, which)), sensitive_runs())


@pytest.mark.parametrize("what", OTHERS)
def test_missing_cursors_are_caught(kernels_without, what):
    number = len(barriers()) + list(OTHERS).index(what)
    assert caught(kernels_without, number, runs_with_cursors())
