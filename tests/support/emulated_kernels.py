"""Compiles the CUDA kernels with the emulation, runs cases on them and on the CPU; mutants.

Noise is handed over as the calls that build it (jf::Program::add_*), recorded from those which the
CPU backend gets.
"""

import fcntl
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from reference.cases import COPY
from reference.delays import MOST
from reference.noise import MAX, MIN

from jitterfly import _core
from support import scale
from support.compiler import FLAGS, compiler
from support.kernel_cases import make
from support.message_cases import make_messages
from support.paths import CUDA, EMULATION, PTX

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
                   "end": MAX, "hosts": None, "holds": 0, "bursts": None}  # fmt: skip
        assert scope.keys() <= options.keys()
        *options, hosts, holds, bursts = (options | scope).values()
        words = [bursts is not None]
        if bursts is not None:
            on, off, (share, busy, idle), node_ranks = bursts
            words += [*on.words, *off.words, share, *busy.words, *idle.words, node_ranks]
        self.count += 1
        self.words += [role, *options, *counted(hosts), holds, *words, *arguments]

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

    def add_rank_delay(self, delay, once, **scope):
        self._add("rank_delay", scope, once, *delay.words)

    def add_rank_speed(self, factor, **scope):
        self._add("rank_speed", scope, *factor.words)

    def add_message(self, delay, links=0, **scope):
        self._add("message", scope, links, *delay.words)

    def add_weather(self, delay, way=0, cost=-1, **scope):
        self._add("weather", scope, cost, way, *delay.words)

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
        noise.ranks, noise.has_copies = case.ranks, bool((steps[:, 2] & COPY).any())
        case.add_noise(Recorder, noise)
        return [case.log2_ranks, len(case.rows), self.one_rank, costs.send, costs.receive,
                costs.transit, costs.combine, costs.work, costs.forward,
                costs.patience, costs.ask, costs.request, *counted(case.mirrors), case.ranks,
                *counted(steps.ravel()), *counted(np.ravel(case.messages)),
                *counted(np.ravel(case.listed)), *counted(case.rank_times), costs.load,
                *counted(case.loads), *counted(case.combines), noise.count,
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


HOST, WITHOUT_PTX = EMULATION / "host.cpp", PTX / "absent.cpp"


def compiled(cuda, arguments):
    """Run the compiler with the flags of all programs of tests/emulation."""
    command = [*compiler(), *FLAGS, "-Wno-unknown-pragmas", "-DJF_ISA=portable",
               f"-I{EMULATION}", f"-I{cuda}", *map(str, arguments)]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def linked(folder, cuda, name, parts):
    """A program of tests/emulation, with sources or objects of what does not depend on it."""
    program = folder / name
    # A program asks for the names of its kernels.
    compiled(cuda, ["-rdynamic", EMULATION / f"{name}.cpp", *parts, "-o", program])
    return program


def build(folder, cuda, name="kernels"):
    """A program of tests/emulation, of sources that may be changed ones."""
    return linked(folder, cuda, name, [WITHOUT_PTX, HOST])


def once(tmp_path_factory, name, make):
    """A folder in which `make` was called once by all processes of pytest-xdist."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # then it is the process's own, in that of the session
        folder = folder.parent
    folder /= name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            make(folder)
            (folder / "built").touch()
    return folder


def parts_once(tmp_path_factory):
    """The objects of what all programs share. At full scale they run PTX, too (test_ptx.py)."""
    # What runs PTX runs billions of instructions.
    machine = (PTX / "machine.cpp", ["-O2"]) if scale.FULL else (WITHOUT_PTX, [])
    sources = [(HOST, []), machine]

    def make(folder):
        for source, flags in sources:
            compiled(CUDA, [*flags, "-c", source, "-o", folder / f"{source.stem}.o"])

    folder = once(tmp_path_factory, "parts", make)
    return [folder / f"{source.stem}.o" for source, _ in sources]


def build_once(tmp_path_factory, name="kernels"):
    """The kernels as they are, for all files of tests and all processes of pytest-xdist."""
    parts = parts_once(tmp_path_factory)
    folder = once(tmp_path_factory, name, lambda folder: linked(folder, CUDA, name, parts))
    return folder / name


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


class Choices(NamedTuple):
    """How a device would run a case: print_choices in kernels.cpp."""

    bytes: int  # of one realization
    batch: int
    blocks: int  # whether messages are run in blocks
    side_by_side: int
    batches: list[int]


def choices(program, *runs, multiprocessors=132, room=2**36, least=0, each=0):
    """`least`, `each`: nanoseconds of a batch, and of each of its realizations."""
    device = f" {multiprocessors} {room} {least} {each}"
    found = execute(program, [as_text(run.words()) + device for run in runs], arguments=["choices"])
    numbers = [list(map(int, line.split())) for line in found]
    return [Choices(*line[:4], line[4:]) for line in numbers]


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


BARRIER = "__syncthreads();"


def change(folder, name, old, new):
    path = folder / name
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is not in {name}"
    path.write_text(text.replace(old, new))


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


def caught(kernels_without, number, runs):
    found = (execute(kernels_without, [run.text(number)], timeout=5) for run in runs)
    return not all(same(run, text) for run, [text] in zip(runs, found, strict=True))


def varied_messages(case, number):
    """A run whose limits, batches, order of threads and way of running go with a number."""
    limits = [REAL_LIMITS, (3, 1), (2, 1), (4, 2)][number % 4]
    return Run(case, limits=limits, count=1 + number % 7, batch=1 + number % 5,
               order=number % ORDERS, seed=number, statistics="all" if number % 3 else "max",
               one_rank=case.one_rank, way=[LAUNCHES, BLOCKS][number % 2],
               rounds=[0, 1, 7][number % 3])  # fmt: skip


def lean_runs(cases, most=LEAN32, start=0):
    """Runs of cases with everything varied: tiles, realizations, batches, order of threads."""
    runs = []
    for number, case in enumerate(cases, start):
        choices = [REAL_LIMITS, (4, 2), (5, 4), REAL_LIMITS, (6, 3), (7, 5), (3, 1)]
        limits = choices[number % len(choices)]
        runs.append(Run(case, limits=limits, count=1 + number % 5, batch=1 + number % 3,
                        order=number % ORDERS, seed=number, most=most,
                        statistics="all" if number % 3 else "max"))  # fmt: skip
    return runs
